"""Intervals from tables (Parquet, Arrow, CSV, data frames), and the genes of rows of GFF."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from genoviz.errors import FileFormatError, ParameterError
from genoviz.io.files.content import missing, open_for_library
from genoviz.io.files.optional import import_reader
from genoviz.io.text.encoding import check_utf8
from genoviz.io.text.text_file import read_bytes
from genoviz.model import ByteStrings, Intervals

if TYPE_CHECKING:
    import polars as pl

# Common column names of other tools, ignoring case.
_NAMES = {
    "contig": ("contig", "chrom", "chr", "chromosome", "seqname", "seqnames", "seqid", "rname"),
    "start": ("start", "chromstart", "chrom_start", "begin", "pos_start"),
    "end": ("end", "chromend", "chrom_end", "stop", "pos_end"),
    "strand": ("strand",),
    "name": ("name", "gene_name", "id"),
    "score": ("score", "value"),
}

_GTF = r'^\s*[^\s=;"]+ +"'
# A semicolon that may be within quotes: not behind a value that ends.
_INNER_SEMICOLON = r'(?:[^"\d]|[^ \d]\d+| ");'
# Attributes before another one.
_BEFORE_IN_GTF = r'^(?:[^";]*(?:"[^"]*"[^";]*)*;)*?\s*'
MAX_DOUBLINGS = 5
"""Features have at most 2^5 ancestors; a circle of parents, which is wrong, ends somewhere."""


def are_titles(start: str, end: str) -> bool:
    """Return whether two words are usual titles of the columns of starts and ends."""
    return start.lower() in _NAMES["start"] and end.lower() in _NAMES["end"]


def intervals_from_table(table: Any, *, one_based: bool = False) -> Intervals:
    """Return the intervals of a data frame or another table of columns.

    Parameters
    ----------
    table
        Object with columns by name: a polars or pandas frame, an Arrow table, a dictionary of
        arrays. The columns ``chrom``, ``start`` and ``end``, or common synonyms, are required;
        ``strand``, ``name`` and ``score`` are optional.
    one_based
        Whether starts count from 1 and ends are closed.

    Raises
    ------
    ParameterError
        If a column is missing or has the wrong type, or a row is not a valid interval.

    Examples
    --------
    >>> intervals_from_table({"chrom": ["chr1", "chr1"], "start": [0, 5], "end": [9, 7]})
    Intervals(2 intervals on 1 contigs)
    """
    found = _find_columns(_column_names(table))
    contigs, ids = _number_contigs(_values(table, found["contig"]))
    starts, ends = (_integers(table, found[name]) for name in ("start", "end"))
    starts = starts - 1 if one_based else starts
    wrong = np.flatnonzero((starts < 0) | (ends < starts))
    if len(wrong):
        row = int(wrong[0])
        shown = int(starts[row]) + one_based
        raise ParameterError(
            f"row {row:,} starts at {shown:,} and ends at {int(ends[row]):,}, needs a start from "
            f"{int(one_based)} on and an end that is not before it"
        )
    return Intervals(
        contigs,
        ids,
        starts,
        ends,
        strands=_strands(table, found.get("strand")),
        names=_names(table, found.get("name")),
        scores=_scores(table, found.get("score")),
    )


def read_interval_table(path: Path, kind: str) -> Intervals:
    """Return the intervals of a Parquet, Arrow or CSV file with named columns.

    Raises
    ------
    FileFormatError
        If the file cannot be read, or required columns are missing or invalid.
    """
    pl = import_reader("polars", "Parquet, Arrow and CSV files")
    if not path.is_file():
        raise missing(path)
    try:
        with open_for_library(path) as readable:
            if kind == "parquet":
                table = pl.read_parquet(readable)
            elif kind == "arrow":
                table = pl.read_ipc(readable)
            else:
                table = _read_text(path, "," if kind == "csv" else "\t")
    except pl.exceptions.NoDataError:
        return Intervals.from_columns([], [], [])
    except (pl.exceptions.PolarsError, OSError) as error:
        if kind in ("csv", "tsv"):
            _refuse_ragged(path, "," if kind == "csv" else "\t")
        reason = str(error).splitlines()[0]
        raise FileFormatError(path, f"is no {kind} table that can be read: {reason}") from error
    try:
        return intervals_from_table(table)
    except ParameterError as error:
        raise FileFormatError(path, str(error)) from error


def _read_text(path: Path, separator: str) -> Any:
    """Return the columns of a CSV file as polars reads them, but names of contigs as written.

    Numbers would lose zeros (contig 01), and the first rows do not tell that X follows 22.
    """
    pl = import_reader("polars", "Parquet, Arrow and CSV files")
    text = read_bytes(path, may_be_empty=True).tobytes()
    check_utf8(path, text)
    text = _from_header(text, separator)
    options = {"separator": separator, "comment_prefix": "#", "infer_schema_length": None}
    names = pl.read_csv(io.BytesIO(text), n_rows=0, **options).columns
    known = {*_NAMES["contig"], *_NAMES["name"]}
    overrides = {name: pl.String for name in names if name.lower() in known}
    return pl.read_csv(io.BytesIO(text), schema_overrides=overrides, **options)


def _refuse_ragged(path: Path, separator: str) -> None:
    """Raise for the first row that has more fields than the header."""
    text = read_bytes(path, may_be_empty=True).tobytes()
    body = _from_header(text, separator)
    n_before = text[: len(text) - len(body)].count(b"\n")
    rows = csv.reader(body.decode(errors="replace").splitlines(), delimiter=separator)
    header = next(rows, [])
    for row in rows:
        if len(row) > len(header) and not row[0].startswith("#"):
            found = f"has {len(row)} fields, and the header has {len(header)}"
            raise FileFormatError(path, found, line=n_before + rows.line_num)


def _from_header(text: bytes, separator: str) -> bytes:
    """Return a table from its header on, without the # that the header may begin with."""
    at = 0
    while text.startswith(b"#", at):
        stop = text.find(b"\n", at) + 1 or len(text)
        names = text[at:stop].decode(errors="replace").strip("# \r\n").lower().split(separator)
        if not {*_NAMES["start"]}.isdisjoint(names) and not {*_NAMES["end"]}.isdisjoint(names):
            return text[at:].lstrip(b"# ")
        at = stop
    return text


def _column_names(table: Any) -> list[str]:
    if isinstance(table, dict):
        return [*table]
    names = getattr(table, "column_names", None)
    names = getattr(table, "columns", None) if names is None else names
    if names is None:
        raise ParameterError(f"a {type(table).__name__} has no columns, needs a table with names")
    return [str(name) for name in names]


def _find_columns(names: Sequence[str]) -> dict[str, str]:
    """Return the column for each meaning."""
    by_lower: dict[str, str] = {}
    for name in names:
        by_lower.setdefault(name.lower().lstrip("#"), name)
    found = {}
    for what, known in _NAMES.items():
        for name in known:
            if name in by_lower:
                found[what] = by_lower[name]
                break
    missing = [
        _NAMES[what][what == "contig"] for what in ("contig", "start", "end") if what not in found
    ]
    if missing:
        there = ", ".join(names[:8]) or "no columns"
        raise ParameterError(f"the table has no column {missing[0]!r}, it has {there}")
    return found


def _values(table: Any, name: str) -> np.ndarray:
    column = table[name]
    return np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)


def _number_contigs(values: np.ndarray) -> tuple[tuple[str, ...], np.ndarray]:
    ranks: dict[Any, int] = {}
    found = np.fromiter((ranks.setdefault(v, len(ranks)) for v in values.tolist()), np.int32)
    for value in ranks:
        if value is None or value != value or value == "":
            row = int(np.argmax(found == ranks[value]))
            raise ParameterError(f"row {row:,} has no contig, needs a name")
    names = [str(value) for value in ranks]
    return tuple(names), found


def _integers(table: Any, name: str) -> np.ndarray:
    values = _values(table, name)
    if values.dtype.kind in "iu" and (values.dtype != np.uint64 or values.max(initial=0) < 2**63):
        return values.astype(np.int64)
    if values.dtype.kind == "f":
        wrong = np.flatnonzero(~np.isfinite(values) | (values != np.floor(values)))
        if len(wrong) == 0:
            return values.astype(np.int64)
        row = int(wrong[0])
        raise ParameterError(f"row {row:,} has {values[row]} as {name!r}, needs a whole number")
    if len(values) == 0:
        return np.empty(0, np.int64)
    found = values.tolist()
    row = next((k for k, value in enumerate(found) if not str(value).strip().isdigit()), 0)
    raise ParameterError(f"row {row:,} has {found[row]!r} as {name!r}, needs a whole number")


def _strands(table: Any, name: str | None) -> np.ndarray | None:
    if name is None:
        return None
    values = _values(table, name)
    if values.dtype.kind in "iufb":
        return np.sign(np.nan_to_num(values)).astype(np.int8)
    signs = {"+": 1, "-": -1}
    return np.fromiter((signs.get(value, 0) for value in values.tolist()), np.int8, len(values))


def _names(table: Any, name: str | None) -> ByteStrings | None:
    if name is None:
        return None
    values = _values(table, name).tolist()
    return ByteStrings.from_texts("" if v is None or v != v else str(v) for v in values)


def _scores(table: Any, name: str | None) -> np.ndarray | None:
    if name is None:
        return None
    values = _values(table, name)
    return values.astype(np.float64) if values.dtype.kind in "iufb" else None


def attribute_reader(table: pl.DataFrame) -> Callable[[str, str], pl.Expr]:
    """Return what reads an attribute of GFF by its key and mark, null where there is none.

    The mark is ``=`` for ``key=value``, and a blank for ``key "value"`` of GTF, in which quotes
    protect semicolons. In GFF3 quotes are letters.
    """
    import polars as pl

    text = pl.col("attributes").fill_null("")
    is_gtf = text.str.contains(_GTF)
    is_plain = not table.select((is_gtf & text.str.contains(_INNER_SEMICOLON)).any()).item()

    def read(key: str, mark: str) -> pl.Expr:
        end = r"=([^;]*)" if mark == "=" else r' +"?([^";]*)'
        found = text.str.extract(rf"(?:^|;)\s*{key}{end}")
        if not is_plain:
            of_gtf = pl.lit(None, pl.String)
            if mark != "=":
                parts = (r'"([^"]*)', r'([^";]+)')
                of_gtf = pl.coalesce(
                    *(text.str.extract(f"{_BEFORE_IN_GTF}{key} +{part}") for part in parts)
                )
            found = pl.when(is_gtf).then(of_gtf).otherwise(found)
        return pl.when(found != "").then(found)

    return read


def find_genes(table: pl.DataFrame, read: Callable[[str, str], pl.Expr]) -> np.ndarray | None:
    """Return the first row of the gene that each row of GFF is a part of; int64, -1 for none.

    In GFF3 it is found by ``Parent``, from parent to parent; of several parents, the first that the
    file has counts. In a file without ``Parent`` it is found by ``gene_id`` and contig. None if the
    file has neither.

    Parameters
    ----------
    table
        Columns ``contig``, ``type`` and ``attributes`` as in the file.
    read
        What `attribute_reader` returns for the table.
    """
    import polars as pl

    found = table.select(
        "contig",
        read("ID", "=").alias("own"),
        read("Parent", "=").alias("parents"),
        pl.coalesce(read("gene_id", "="), read("gene_id", " ")).alias("gene"),
        pl.col("type").str.to_lowercase().str.ends_with("gene").alias("is_gene"),
        pl.int_range(pl.len()).alias("row"),
    )
    if found["parents"].null_count() == len(found):
        if found["gene"].null_count() == len(found):
            return None
        first = pl.col("row").first().over("contig", "gene")
        return _filled(found.select(pl.when(pl.col("gene").is_not_null()).then(first)))
    # Several rows of one ID are parts of one feature.
    firsts = found.filter(pl.col("own").is_not_null()).unique("own", keep="first")
    firsts = firsts.select("own", pl.col("row").alias("first"))
    parents = found.filter(~pl.col("is_gene") & pl.col("parents").is_not_null())
    parents = parents.select("row", pl.col("parents").str.split(",")).explode("parents")
    parents = parents.with_row_index("place").join(firsts, left_on="parents", right_on="own")
    parents = parents.sort("place").unique("row", keep="first").rename({"first": "parent"})
    steps = found.join(firsts, on="own", how="left").join(parents, on="row", how="left")
    genes = _filled(steps.sort("row").select(pl.coalesce("parent", "first", "row")))
    for _ in range(MAX_DOUBLINGS):
        genes = genes[genes]
    is_alone = np.bincount(genes, minlength=len(genes))[genes] == 1
    return np.where(is_alone & ~found["is_gene"].to_numpy(), -1, genes)


def _filled(frame: pl.DataFrame) -> np.ndarray:
    return frame.to_series().fill_null(-1).to_numpy().astype(np.int64)
