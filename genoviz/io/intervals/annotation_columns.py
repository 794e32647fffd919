"""The columns of BED and GFF as those of `Annotations`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

import numpy as np

from genoviz.model import Annotations, ByteStrings, Categories

if TYPE_CHECKING:
    import polars as pl

_GFF_NAMES = ("Name", "gene_name", "ID", "gene_id")
_STRANDS = {"+": 1, "-": -1}
_RGB = r"^\s*(\d{1,3}),(\d{1,3}),(\d{1,3}),?\s*$"
_NAME_WITH_COLOUR = r"^(.*)#([0-9A-Fa-f]{6})$"
_GFF_COLOUR = r"(?i)\bcolou?r[= ]\"?#([0-9a-f]{6})"


@dataclass(frozen=True)
class Dialect:
    """How a kind of file writes features.

    Attributes
    ----------
    name
        What people call it.
    columns
        Its columns; names that both kinds have mean the same.
    n_needed
        Columns that a feature needs.
    first_base
        What the first base of a contig is called; with 1, ends are closed.
    may_have_spaces
        Whether spaces may stand for tabs.
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
    """Return the annotations of a table of texts; its places are checked already."""
    import polars as pl

    notes = [] if len(table) else ["The file has no annotations."]
    none = pl.lit("").alias
    if dialect.name == "BED":
        table = _add_bed_names(table).with_columns(none("type"))
        block_offsets, blocks = _read_blocks(table, notes)
    else:
        table = _add_gff_names(table)
        block_offsets = np.zeros(len(table) + 1, np.int64)
        blocks = np.empty((0, 2), np.int64)
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


def _add_gff_names(table: pl.DataFrame) -> pl.DataFrame:
    """Add the columns ``label`` and ``hex`` as text."""
    import polars as pl

    text = pl.col("attributes").fill_null("")
    found = [
        part
        for name in _GFF_NAMES
        for part in (
            text.str.extract(rf"(?:^|;)\s*{name}=([^;]*)"),
            text.str.extract(rf'(?:^|;)\s*{name} +"?([^";]*)'),
        )
    ]
    table = table.with_columns(
        pl.coalesce(*(pl.when(part != "").then(part) for part in found), pl.lit("")).alias("label"),
        text.str.extract(_GFF_COLOUR).alias("hex"),
        pl.lit(None, pl.String).alias("colour"),
    )
    is_escaped = pl.col("label").str.contains("%", literal=True)
    if table.select(is_escaped.any()).item():
        names = table["label"].to_list()
        table = table.with_columns(pl.Series("label", [unquote(name) for name in names]))
    return table


def _colour_number() -> pl.Expr:
    """Return ``colour`` (red,green,blue) or ``hex`` as 0xRRGGBB, -1 where there is none."""
    import polars as pl

    parts = [pl.col("colour").str.extract(_RGB, k).cast(pl.Int32, strict=False) for k in (1, 2, 3)]
    number = parts[0] * 65536 + parts[1] * 256 + parts[2]
    is_colour = (pl.max_horizontal(parts) <= 255) & (number > 0)
    from_hex = pl.col("hex").str.to_integer(base=16, strict=False).cast(pl.Int32)
    return pl.coalesce(pl.when(is_colour).then(number), from_hex, pl.lit(-1, pl.Int32))


def _read_blocks(table: pl.DataFrame, notes: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return offsets and bounds of the blocks of BED12."""
    import polars as pl

    def numbers(name: str) -> pl.Expr:
        texts = pl.col(name).str.strip_chars(" ,").str.split(",")
        return texts.cast(pl.List(pl.Int64), strict=False).list.drop_nulls()

    sizes, starts = numbers("block_sizes"), numbers("block_starts")
    count = pl.col("n_blocks").str.strip_chars().cast(pl.Int64, strict=False)
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
    has_blocks_column = read["has_blocks"].to_numpy()
    read = read.with_row_index("row").filter(pl.col("count") > 0).explode("sizes", "starts")
    begins = (read["first"] + read["starts"]).to_numpy().astype(np.int64)
    bounds = np.stack([begins, begins + read["sizes"].to_numpy()], axis=1).astype(np.int64)
    rows = read["row"].to_numpy()
    is_outside = (begins < read["first"].to_numpy()) | (bounds[:, 1] > read["last"].to_numpy())
    counts[rows[is_outside | (bounds[:, 1] < begins)]] = 0
    n_wrong = int((has_blocks_column & (counts == 0)).sum())
    if n_wrong:
        notes.append(f"{n_wrong:,} features have block columns that do not fit; they are left out.")
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets, bounds[counts[rows] > 0]


def _categories(texts: pl.Series, *, is_escaped: bool = False) -> Categories:
    import polars as pl

    different = texts.unique(maintain_order=True)
    codes = texts.replace_strict(different, pl.Series(range(len(different)), dtype=pl.Int32))
    names = [unquote(name) if is_escaped else name for name in different.to_list()]
    return Categories(tuple(names), codes.to_numpy().astype(np.int32))


def _byte_strings(texts: pl.Series) -> ByteStrings:
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(texts.str.len_bytes().to_numpy(), out=offsets[1:])
    joined = texts.str.join("").item().encode() if len(texts) else b""
    return ByteStrings(np.frombuffer(joined, np.uint8).copy(), offsets)
