"""Annotations from BED, GFF3 and GTF files."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from genoviz.errors import FileFormatError
from genoviz.io.files.file_bytes import read_bytes
from genoviz.io.intervals.annotation_columns import DIALECTS, Dialect, to_annotations
from genoviz.model import Annotations

if TYPE_CHECKING:
    import polars as pl

_KINDS = {".bed": "BED", ".gff": "GFF", ".gff3": "GFF", ".gtf": "GFF", ".gff2": "GFF"}
_COMPRESSIONS = (".gz", ".bgz", ".bgzf")
_HEADER = re.compile(r"\S+\s+[A-Za-z_]\w*\s+[A-Za-z_]\w*(\s|$)")
_NO_FEATURE = r"^(#|track(\s|$)|browser(\s|$))"


def read_annotations(path: str | PathLike[str]) -> Annotations:
    """Return the annotations of a BED (3 to 12 columns), GFF3 or GTF file, plain or gzipped.

    The ending of the file's name tells which it is, its first feature where that is another.
    Coordinates of GFF and GTF become 0-based half-open. Lines ``track``, ``browser`` and ``#`` are
    passed over, as is what follows ``##FASTA``; so is a first row that names the columns, and a
    note says so.

    Names are ``Name``, ``gene_name``, ``ID`` or ``gene_id`` of GFF and GTF, the first that a
    feature has. Colours are ``itemRgb`` (0 and 0,0,0 stand for none) or ``name#RRGGBB`` of BED,
    ``color`` of GFF. Block columns that do not fit each other are left out, and a note says so.

    Raises
    ------
    FileFormatError
        If the file cannot be read or a feature does not follow the format; says where and why.

    References
    ----------
    BED, https://samtools.github.io/hts-specs/BEDv1.pdf; GFF3,
    https://github.com/The-Sequence-Ontology/Specifications/blob/master/gff3.md
    """
    path = Path(path)
    lines = _read_lines(path)
    dialect = _find_dialect(path, lines)
    notes: tuple[str, ...] = ()
    if dialect.may_have_spaces and len(lines) and _HEADER.match(lines["line"][0]):
        notes = (f"The first row, {lines['line'][0]!r}, was taken for names.",)
        lines = lines.tail(-1)
    table = _split_columns(lines, dialect)
    _refuse_wrong_row(path, table, dialect)
    found = to_annotations(table, dialect)
    return replace(found, notes=(*notes, *found.notes))


def _read_lines(path: Path) -> pl.DataFrame:
    """Return the features' lines and their 1-based numbers."""
    import polars as pl

    text = read_bytes(path, may_be_empty=True)
    if (text <= 1).any():
        raise FileFormatError(path, "holds bytes that no text has, needs to be BED, GFF3 or GTF")
    lines = pl.read_csv(
        io.BytesIO(text.tobytes()),
        has_header=False,
        schema={"line": pl.String},
        separator="\x01",
        quote_char=None,
        truncate_ragged_lines=True,
        encoding="utf8-lossy",
        row_index_name="number",
        row_index_offset=1,
        raise_if_empty=False,
    )
    if "line" not in lines.columns:
        return pl.DataFrame(schema={"number": pl.UInt32, "line": pl.String})
    line = pl.col("line")
    lines = lines.with_columns(line.fill_null("").str.strip_chars_end("\r"))
    is_fasta = line.str.starts_with("##FASTA") | line.str.starts_with(">")
    sequences = lines.select(is_fasta).to_series()
    if sequences.any():
        lines = lines.head(int(sequences.arg_max()))
    return lines.filter((line.str.strip_chars() != "") & ~line.str.contains(_NO_FEATURE))


def _find_dialect(path: Path, lines: pl.DataFrame) -> Dialect:
    name = path.name.lower()
    for ending in _COMPRESSIONS:
        name = name.removesuffix(ending)
    kind = _KINDS.get(Path(name).suffix)
    if kind is None:
        fields = lines["line"][0].split("\t") if len(lines) else []
        is_gff = len(fields) >= 8 and fields[3].isdigit() and fields[4].isdigit()
        kind = "GFF" if is_gff and not fields[1].isdigit() else "BED"
    return DIALECTS[kind]


def _split_columns(lines: pl.DataFrame, dialect: Dialect) -> pl.DataFrame:
    """Return the lines' columns as text, with start and end as numbers."""
    import polars as pl

    line = pl.col("line")
    if len(lines) and dialect.may_have_spaces and "\t" not in lines["line"][0]:
        lines = lines.with_columns(line.str.strip_chars().str.replace_all(r"\s+", "\t"))
    names = dialect.columns
    table = lines.select(
        "number",
        (line.str.count_matches("\t") + 1).alias("n_columns"),
        line.str.split_exact("\t", len(names) - 1).struct.rename_fields(list(names)).alias("all"),
    ).unnest("all")
    return table.with_columns(
        _to_integer("start").alias("first") - dialect.first_base,
        _to_integer("end").alias("last"),
    )


def _to_integer(name: str) -> pl.Expr:
    import polars as pl

    return pl.col(name).str.strip_chars().cast(pl.Int64, strict=False)


def _refuse_wrong_row(path: Path, table: pl.DataFrame, dialect: Dialect) -> None:
    """Raise the error of the first feature that does not follow the format, if there is one."""
    import polars as pl

    is_right = (
        (pl.col("n_columns") >= dialect.n_needed)
        & (pl.col("contig") != "")
        & (pl.col("first") >= 0)
        & (pl.col("last") >= pl.col("first") + dialect.first_base)
    )
    wrong = table.filter(~is_right.fill_null(False)).head(1)
    if len(wrong):
        row = wrong.row(0, named=True)
        raise FileFormatError(path, _explain(row, dialect), line=row["number"])


def _explain(row: dict, dialect: Dialect) -> str:
    if row["n_columns"] < dialect.n_needed:
        needed = ", ".join(dialect.columns[: dialect.n_needed])
        return (
            f"{dialect.name} feature has {row['n_columns']} columns, "
            f"needs {dialect.n_needed} at least ({needed})"
        )
    if not row["contig"]:
        return f"{dialect.name} feature names no contig, needs one in its first column"
    for name, number, least in (("start", "first", dialect.first_base), ("end", "last", 0)):
        if row[number] is None or row[number] < 0:
            return (
                f"{dialect.name} feature has the {name} '{row[name][:40]}', "
                f"needs an integer of at least {least}"
            )
    return (
        f"{dialect.name} feature ends at {row['last']:,}, before its start "
        f"{row['first'] + dialect.first_base:,}"
    )
