"""Off-target hits as files: Cas-OFFinder's rows, BED, CSV, TSV and Parquet."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Literal

import numpy as np

from genoviz.errors import ParameterError, check_choice
from genoviz.io.files.optional import import_reader
from genoviz.io.files.replace_file import replace_file
from genoviz.io.offtargets.hit_table import HitTable
from genoviz.io.text.columns import (
    TextColumn,
    integer_column,
    join_columns,
    letter_column,
    text_column,
)
from genoviz.io.text.numbers import float_column
from genoviz.io.text.text_file import write_text
from genoviz.model.offtargets.hits import OffTargetHits
from genoviz.model.offtargets.protospacer import BulgeType

FORMATS: tuple[str, ...] = ("v2", "bulge", "v3", "bed", "csv", "tsv", "parquet")
LOST_PER_DIFFERENCE = 100
"""Deduction from the BED score of 1000 for each mismatch or bulged nt."""
_BEGIN_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
_TYPES = tuple(kind.label for kind in BulgeType)
WRAPPER_HEADER = (
    "#Bulge type", "crRNA", "DNA", "Chromosome", "Position", "Direction", "Mismatches",
    "Bulge Size",
)  # fmt: skip
V3_HEADER = (
    "#Id", "Bulge Type", "crRNA", "DNA", "Chromosome", "Location", "Direction", "Mismatches",
    "Bulge Size",
)  # fmt: skip
TABLE_HEADER = (
    "id", "guide", "bulge_type", "crrna", "dna", "contig", "header", "start", "end", "strand",
    "mismatches", "bulge_size",
)  # fmt: skip
_WHOLE = ("start", "end")
_SMALL = ("mismatches", "bulge_size")


__all__ = ["FORMATS", "HitFormat", "HitTable", "iter_rows", "write_offtargets", "write_tables"]

HitFormat = Literal["v2", "bulge", "v3", "bed", "csv", "tsv", "parquet"]


def write_offtargets(
    hits: OffTargetHits,
    path: str | PathLike[str],
    *,
    format: HitFormat = "v2",
    ids: Sequence[str] | None = None,
    scores: Mapping[str, np.ndarray] | None = None,
) -> None:
    """Write hits to a file in batches; text is gzipped if ``path`` ends in ``.gz``.

    ============ ==================================================================================
    ``"v2"``     Cas-OFFinder 2: guide, whole header of the contig, leftmost base (0-based), site
                 as the guide reads it with mismatches in lower case, strand, mismatches, and the
                 id if there are some; no header, no bulges
    ``"bulge"``  cas-offinder-bulge: type (X, DNA, RNA), guide with gaps and the letters of the
                 PAM, site with gaps, header, leftmost base, strand, mismatches, size of the
                 bulge; guides that come twice give their rows once
    ``"v3"``     the same behind an id, the number of the guide if it has none
    ``"bed"``    BED6: first word of the header, start, end, id or guide, score, strand; the score
                 is 1000 times ``cfd`` if that is given, else 1000 less 100 for each mismatch and
                 each nt of a bulge, 0 at least
    ``"csv"``,   one header line; start and end 0-based half-open; first word and whole header of
    ``"tsv"``    the contig; then ``scores``; in CSV a text that begins with =, +, -, @, a tab or a
                 carriage return, which a spreadsheet would run as a formula, has ' before it
    ``"parquet"`` the same columns
    ============ ==================================================================================

    Parameters
    ----------
    hits, ids, scores
        As for `HitTable`.
    path
        The file.
    format
        One of ``FORMATS``.

    Raises
    ------
    ParameterError
        If the format is unknown, or cannot represent the bulges of the hits.
    FileFormatError
        If the file cannot be written.
    """
    write_tables([HitTable(hits, ids, scores or {})], path, format=format)


def write_tables(
    tables: Iterable[HitTable], path: str | PathLike[str], *, format: HitFormat
) -> None:
    """Write the hits of several searches consecutively; see :func:`write_offtargets`.

    ``tables`` may be a generator, and a search may be split over several tables.
    """
    if format == "parquet":
        tables = iter(tables)
        first = next(tables)
        names = {name: values.dtype for name, values in first.scores.items()}
        write_parquet(path, iter_rows(chain([first], tables), "tsv"), names)
    else:
        write_text(path, iter_rows(tables, format))


def iter_rows(tables: Iterable[HitTable], format: HitFormat) -> Iterator[bytes]:
    """Yield the hits of searches as text, with a header; not for Parquet.

    Parameters
    ----------
    tables
        At least one, as for `write_tables`.
    format
        One of ``FORMATS``.

    Raises
    ------
    ParameterError
        As :func:`write_offtargets`.
    """
    known = [name for name in FORMATS if name != "parquet"]
    check_choice("the format", format, known)
    return _iter_rows(tables, format)


def _iter_rows(tables: Iterable[HitTable], format: HitFormat) -> Iterator[bytes]:
    mark = "," if format == "csv" else "\t"
    for number, table in enumerate(tables):
        if format == "v2" and table.hits.bulge_sizes.any():
            raise ParameterError("rows of v2 have no bulges, which there are; needs another format")
        if number == 0:
            for cells in header(format, table):
                yield (mark.join(cells) + "\n").encode()
        if format == "bulge":
            table = table.without_repeats()
        for part in table.iter_parts():
            yield join_columns(columns(format, part), mark)


def header(format: str, table: HitTable) -> list[tuple[str, ...]]:
    """Return the cells of the header lines."""
    if format == "bulge":
        return [WRAPPER_HEADER]
    if format == "v3":
        return [("##Generated by genoviz",), V3_HEADER]
    return [(*TABLE_HEADER, *table.scores)] if format in ("csv", "tsv") else []


def columns(format: str, table: HitTable) -> list[TextColumn]:
    """Return the columns of hits; see :func:`~genoviz.io.offtargets.output.write_offtargets`."""
    if format in ("csv", "tsv"):
        return _table(table, "," if format == "csv" else "\t")
    return {"v2": _v2, "bulge": _wrapper, "v3": _v3, "bed": _bed}[format](table)


def _v2(table: HitTable) -> list[TextColumn]:
    hits = table.hits
    letters = hits.aligned_letters()
    columns = [
        text_column(hits.guides, hits.guide_ids),
        text_column(hits.planes.descriptions, hits.contig_ids),
        integer_column(hits.starts),
        letter_column(letters.sites, letters.lengths),
        _signs(hits),
        integer_column(hits.mismatches),
    ]
    if table.ids is not None:
        columns.append(text_column(table.ids, hits.guide_ids))
    return columns


def _wrapper(table: HitTable) -> list[TextColumn]:
    hits = table.hits
    letters = hits.aligned_letters()
    return [
        text_column(_TYPES, hits.bulge_types),
        letter_column(letters.guides, letters.lengths),
        letter_column(letters.sites, letters.lengths),
        text_column(hits.planes.descriptions, hits.contig_ids),
        integer_column(hits.starts),
        _signs(hits),
        integer_column(hits.mismatches),
        integer_column(hits.bulge_sizes),
    ]


def _v3(table: HitTable) -> list[TextColumn]:
    names = range(len(table.hits.guides)) if table.ids is None else table.ids
    return [text_column(names, table.hits.guide_ids, str), *_wrapper(table)]


def _bed(table: HitTable) -> list[TextColumn]:
    hits = table.hits
    names = hits.guides if table.ids is None else table.ids
    if "cfd" in table.scores:
        scores = np.rint(1000 * np.nan_to_num(table.scores["cfd"])).astype(np.int64)
    else:
        differences = hits.mismatches.astype(np.int64) + hits.bulge_sizes
        scores = np.maximum(1000 - LOST_PER_DIFFERENCE * differences, 0)
    return [
        text_column(hits.planes.names, hits.contig_ids),
        integer_column(hits.starts),
        integer_column(hits.starts + hits.lengths),
        text_column(names, hits.guide_ids, lambda name: " ".join(name.split()) or "."),
        integer_column(scores),
        _signs(hits),
    ]


def _table(table: HitTable, mark: str) -> list[TextColumn]:
    hits = table.hits
    letters = hits.aligned_letters()
    names = hits.guides if table.ids is None else table.ids
    cell = partial(_cell, mark=mark)
    columns = [
        text_column(names, hits.guide_ids, cell),
        text_column(hits.guides, hits.guide_ids, cell),
        text_column(_TYPES, hits.bulge_types),
        letter_column(letters.guides, letters.lengths),
        letter_column(letters.sites, letters.lengths),
        text_column(hits.planes.names, hits.contig_ids, cell),
        text_column(hits.planes.descriptions, hits.contig_ids, cell),
        integer_column(hits.starts),
        integer_column(hits.starts + hits.lengths),
        _signs(hits),
        integer_column(hits.mismatches),
        integer_column(hits.bulge_sizes),
    ]
    return columns + [_further_column(values, cell) for values in table.scores.values()]


def _further_column(values: np.ndarray, cell: Callable[[str], str]) -> TextColumn:
    if values.dtype.kind == "U":
        texts, rows = np.unique(values, return_inverse=True)
        return text_column(texts.tolist(), rows, cell)
    is_whole = np.issubdtype(values.dtype, np.integer)
    return integer_column(values) if is_whole else float_column(values)


def _signs(hits: OffTargetHits) -> TextColumn:
    return text_column("+-", (hits.strands < 0).astype(np.int64))


def _cell(text: str, mark: str) -> str:
    """Return a text as a cell: quoted for CSV if necessary, without tabs for TSV.

    CSV files are opened in spreadsheets, so a text that would be run as a formula gets a leading
    apostrophe (https://owasp.org/www-community/attacks/CSV_Injection).
    """
    if mark == "\t":
        return text.replace("\t", " ")
    if text.startswith(_BEGIN_FORMULAS):
        text = f"'{text}"
    if any(letter in text for letter in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text


def write_parquet(
    path: str | PathLike[str], chunks: Iterable[bytes], scores: Mapping[str, np.dtype]
) -> None:
    """Convert tab-separated text with a header to Parquet, in batches of rows.

    Parameters
    ----------
    path
        The file.
    chunks
        The text, which is buffered in an unnamed temporary file.
    scores
        Dtype of the columns after those that all tables have.

    Raises
    ------
    FileFormatError
        If the file cannot be written.
    """
    polars = import_reader("polars", "Parquet files")
    with replace_file(path) as file, tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "hits.tsv"
        with text.open("wb") as waiting:
            waiting.writelines(chunks)
        with text.open("rb") as waiting:
            names = waiting.readline().decode().rstrip("\n").split("\t")
        types = dict.fromkeys(names, polars.String)
        types |= dict.fromkeys(_WHOLE, polars.Int64) | dict.fromkeys(_SMALL, polars.UInt8)
        for name, dtype in scores.items():
            number = polars.Int64 if np.issubdtype(dtype, np.integer) else polars.Float64
            types[name] = polars.String if dtype.kind == "U" else number
        table = polars.scan_csv(text, separator="\t", quote_char=None, schema=types)
        filled = table.with_columns(polars.col(polars.String).fill_null(""))
        filled.sink_parquet(file.name)
