"""Reading of annotations from BED, GFF3 and GTF files."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import numpy as np

from genoviz.errors import FileFormatError, n_words
from genoviz.io.intervals.tables import are_titles, attribute_reader, find_genes
from genoviz.io.text.encoding import check_lines, is_ascii
from genoviz.io.text.text_file import read_bytes, refuse_returns
from genoviz.model import Annotations, ByteStrings, Categories

if TYPE_CHECKING:
    import polars as pl

_KINDS = {".bed": "BED", ".gff": "GFF", ".gff3": "GFF", ".gtf": "GFF", ".gff2": "GFF"}
_HEADER = re.compile(r"\S+\s+[A-Za-z_]\w*\s+[A-Za-z_]\w*(\s|$)")
_NO_FEATURE = r"^(#|track(\s|$)|browser(\s|$))"
_GFF_NAMES = ("Name", "gene_name", "ID", "gene_id")
_STRANDS = {"+": 1, "-": -1}
_RGB = r"^\s*(\d{1,3}),(\d{1,3}),(\d{1,3}),?\s*$"
_NAME_WITH_COLOUR = r"^(.*)#([0-9A-Fa-f]{6})$"
_GFF_COLOUR = r"(?i)\bcolou?r[= ]\"?#([0-9a-f]{6})"


def read_annotations(path: str | PathLike[str]) -> Annotations:
    """Return the annotations of a BED (3 to 12 columns), GFF3 or GTF file, plain or gzipped.

    The file name ending determines the format; if the first feature contradicts it, the feature
    does. GFF and GTF coordinates are converted to 0-based half-open. Lines ``track``, ``browser``
    and ``#`` are skipped, as is everything after ``##FASTA``. A header row is skipped with a note.

    Names in GFF and GTF are the first of ``Name``, ``gene_name``, ``ID`` or ``gene_id`` that a
    feature has. Colours are ``itemRgb`` (0 and 0,0,0 mean none) or ``name#RRGGBB`` in BED, and
    ``color`` in GFF. Inconsistent block columns are dropped with a note. For genes, see
    `find_genes`.

    Raises
    ------
    FileFormatError
        If the file cannot be read or a feature violates the format; the message says where and why.

    References
    ----------
    BED, https://samtools.github.io/hts-specs/BEDv1.pdf; GFF3,
    https://github.com/The-Sequence-Ontology/Specifications/blob/master/gff3.md
    """
    path = Path(path)
    lines, notes = _read_lines(path), ()
    dialect = _find_dialect(path, lines)
    titles = lines["line"][0].split() if dialect.may_have_spaces and len(lines) else []
    is_header = titles and _HEADER.match(lines["line"][0])
    if is_header and (len(lines) > 1 or are_titles(*titles[1:3])):
        notes = (f"The first row, '{' '.join(titles)}', was taken for names.",)
        lines = lines.tail(-1)
    table = _split_columns(lines, dialect)
    _refuse_wrong_row(path, table, dialect)
    found = to_annotations(table, dialect)
    return replace(found, notes=(*notes, *found.notes))


def _read_lines(path: Path) -> pl.DataFrame:
    """Return the feature lines and their 1-based numbers."""
    import polars as pl

    text = read_bytes(path, may_be_empty=True, may_be_binary=True)
    if (text <= 1).any():
        raise FileFormatError(path, "holds bytes that no text has, needs to be BED, GFF3 or GTF")
    refuse_returns(path, text)
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
    lines = lines.filter(line.str.contains("^(##FASTA|>)").cast(pl.UInt32).cum_sum() == 0)
    lines = lines.filter((line.str.strip_chars() != "") & ~line.str.contains(_NO_FEATURE))
    if not is_ascii(text):
        odd = lines.filter(line.str.contains("\ufffd", literal=True))
        check_lines(path, text, odd["number"].to_list())
    return lines


def _find_dialect(path: Path, lines: pl.DataFrame) -> Dialect:
    name = path.name.lower()
    for ending in (".gz", ".bgz", ".bgzf"):
        name = name.removesuffix(ending)
    kind = _KINDS.get(Path(name).suffix)
    if kind is None:
        fields = lines["line"][0].split("\t") if len(lines) else []
        is_gff = len(fields) >= 8 and fields[3].isdigit() and fields[4].isdigit()
        kind = "GFF" if is_gff and not fields[1].isdigit() else "BED"
    return DIALECTS[kind]


def _split_columns(lines: pl.DataFrame, dialect: Dialect) -> pl.DataFrame:
    """Return the columns of lines as text, with start and end as numbers."""
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
    """Raise an error for the first feature that violates the format, if any."""
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
            f"{dialect.name} feature has {n_words(row['n_columns'], 'column')}, "
            f"needs {dialect.n_needed} at least ({needed})"
        )
    if not row["contig"]:
        return f"{dialect.name} feature names no contig, needs one in its first column"
    for name, number, minimum in (("start", "first", dialect.first_base), ("end", "last", 0)):
        if row[number] is None or row[number] < 0:
            return (
                f"{dialect.name} feature has the {name} '{row[name][:40]}', "
                f"needs an integer of at least {minimum} and below 2^63"
            )
    return (
        f"{dialect.name} feature ends at {row['last']:,}, before its start "
        f"{row['first'] + dialect.first_base:,}"
    )


@dataclass(frozen=True)
class Dialect:
    """Column layout of a feature format.

    Attributes
    ----------
    name
        Name shown to users.
    columns
        Its columns; names shared by both formats have the same meaning.
    n_needed
        Number of required columns.
    first_base
        Coordinate of a contig's first base; with 1, ends are closed.
    may_have_spaces
        Whether spaces may replace tabs.
    """

    name: str
    columns: tuple[str, ...]
    n_needed: int
    first_base: int
    may_have_spaces: bool


DIALECTS = {
    "BED": Dialect(
        "BED",
        (
            *("contig", "start", "end", "name", "score", "strand", "thick_start", "thick_end"),
            *("colour", "n_blocks", "block_sizes", "block_starts"),
        ),
        n_needed=3,
        first_base=0,
        may_have_spaces=True,
    ),
    "GFF": Dialect(
        "GFF",
        ("contig", "source", "type", "start", "end", "score", "strand", "phase", "attributes"),
        n_needed=8,
        first_base=1,
        may_have_spaces=False,
    ),
}


def to_annotations(table: pl.DataFrame, dialect: Dialect) -> Annotations:
    """Return annotations from a table of texts with validated positions."""
    import polars as pl

    notes = [] if len(table) else ["The file has no annotations."]
    none = pl.lit("").alias
    if dialect.name == "BED":
        table = _add_bed_names(table).with_columns(none("type"))
        block_offsets, blocks = _read_blocks(table, notes)
    else:
        read = attribute_reader(table)
        table = _add_gff_names(table, read)
        block_offsets, blocks = np.zeros(len(table) + 1, np.int64), np.empty((0, 2), np.int64)
    columns = table.select(
        pl.col("first", "last"),
        pl.col("score").str.strip_chars().cast(pl.Float64, strict=False).fill_null(np.nan),
        pl.col("strand")
        .str.strip_chars()
        .replace_strict(_STRANDS, default=0, return_dtype=pl.Int8)
        .fill_null(0),
        _colour_number().alias("rgb"),
    )
    return Annotations(
        contigs=_categories(table["contig"], is_escaped=dialect.name == "GFF"),
        starts=columns["first"].to_numpy().astype(np.int64),
        ends=columns["last"].to_numpy().astype(np.int64),
        names=_byte_strings(table["label"]),
        types=_categories(table["type"]),
        strands=columns["strand"].to_numpy().astype(np.int8),
        scores=columns["score"].to_numpy().astype(np.float64),
        colours=columns["rgb"].to_numpy().astype(np.int32),
        block_offsets=block_offsets,
        blocks=blocks,
        notes=tuple(notes),
        genes=None if dialect.name == "BED" else find_genes(table, read),
    )


def _add_bed_names(table: pl.DataFrame) -> pl.DataFrame:
    """Add the columns ``label``, and ``red``, ``green`` and ``blue`` or ``hex`` as text."""
    import polars as pl

    name = pl.col("name").fill_null("").str.strip_chars()
    has_rgb = pl.col("colour").str.contains(_RGB).fill_null(False)
    has_hex = name.str.contains(_NAME_WITH_COLOUR) & ~has_rgb
    return table.with_columns(
        pl.when(has_hex)
        .then(name.str.extract(_NAME_WITH_COLOUR, 1))
        .otherwise(pl.when(name == ".").then(pl.lit("")).otherwise(name))
        .alias("label"),
        pl.when(has_hex).then(name.str.extract(_NAME_WITH_COLOUR, 2)).alias("hex"),
    )


def _add_gff_names(table: pl.DataFrame, read: Callable[[str, str], pl.Expr]) -> pl.DataFrame:
    """Add the columns ``label`` and ``hex`` as text."""
    import polars as pl

    found = [read(name, mark) for name in _GFF_NAMES for mark in "= "]
    table = table.with_columns(
        pl.coalesce(*found, pl.lit("")).alias("label"),
        pl.col("attributes").fill_null("").str.extract(_GFF_COLOUR).alias("hex"),
        pl.lit(None, pl.String).alias("colour"),
    )
    is_escaped = pl.col("label").str.contains("%", literal=True)
    if table.select(is_escaped.any()).item():
        table = table.with_columns(pl.Series("label", [unquote(name) for name in table["label"]]))
    return table


def _colour_number() -> pl.Expr:
    """Return ``colour`` (red,green,blue) or ``hex`` as 0xRRGGBB, -1 if there is none."""
    import polars as pl

    parts = [pl.col("colour").str.extract(_RGB, k).cast(pl.Int32, strict=False) for k in (1, 2, 3)]
    number = parts[0] * 65536 + parts[1] * 256 + parts[2]
    is_colour = (pl.max_horizontal(parts) <= 255) & (number > 0)
    from_hex = pl.col("hex").str.to_integer(base=16, strict=False).cast(pl.Int32)
    return pl.coalesce(pl.when(is_colour).then(number), from_hex, pl.lit(-1, pl.Int32))


def _read_blocks(table: pl.DataFrame, notes: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return offsets and bounds of BED12 blocks."""
    import polars as pl

    def numbers(name: str) -> pl.Expr:
        texts = pl.col(name).str.strip_chars(" ,").str.split(",")
        return texts.cast(pl.List(pl.Int64), strict=False).list.drop_nulls()

    sizes, starts = numbers("block_sizes"), numbers("block_starts")
    count = _to_integer("n_blocks")
    fits = (sizes.list.len() == count) & (starts.list.len() == count)
    has_blocks = pl.col("block_starts").is_not_null()
    read = table.select(
        "first",
        "last",
        pl.when(fits & has_blocks).then(count).otherwise(0).fill_null(0).alias("count"),
        sizes.alias("sizes"),
        starts.alias("starts"),
        has_blocks.alias("has_blocks"),
    )
    counts = read["count"].to_numpy().astype(np.int64)
    is_given = read["has_blocks"].to_numpy()
    read = read.with_row_index("row").filter(pl.col("count") > 0).explode("sizes", "starts")
    begins = (read["first"] + read["starts"]).to_numpy().astype(np.int64)
    bounds = np.stack([begins, begins + read["sizes"].to_numpy()], axis=1).astype(np.int64)
    rows = read["row"].to_numpy()
    is_outside = (begins < read["first"].to_numpy()) | (bounds[:, 1] > read["last"].to_numpy())
    counts[rows[is_outside | (bounds[:, 1] < begins)]] = 0
    n_wrong = int((is_given & (counts == 0)).sum())
    if n_wrong:
        notes.append(f"Block columns of {n_words(n_wrong, 'feature')} do not fit: left out.")
    return np.append(0, np.cumsum(counts)), bounds[counts[rows] > 0]


def _categories(texts: pl.Series, *, is_escaped: bool = False) -> Categories:
    import polars as pl

    different = texts.unique(maintain_order=True)
    codes = texts.replace_strict(different, pl.Series(range(len(different)), dtype=pl.Int32))
    names = [unquote(name) if is_escaped else name for name in different.to_list()]
    return Categories(tuple(names), codes.to_numpy().astype(np.int32))


def _byte_strings(texts: pl.Series) -> ByteStrings:
    offsets = np.append(0, np.cumsum(texts.str.len_bytes().to_numpy(), dtype=np.int64))
    joined = texts.str.join("").item().encode() if len(texts) else b""
    return ByteStrings(np.frombuffer(joined, np.uint8).copy(), offsets)
