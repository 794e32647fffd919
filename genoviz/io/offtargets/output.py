"""Off-target hits as files: rows of Cas-OFFinder, BED, CSV, TSV and Parquet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import Literal

import numpy as np

from genoviz.errors import ParameterError
from genoviz.io.offtargets.hit_table import HitTable
from genoviz.io.offtargets.output_rows import columns, header
from genoviz.io.offtargets.parquet import write_parquet
from genoviz.io.text.columns import join_columns
from genoviz.io.text.writer import write_text
from genoviz.model.offtargets.hits import OffTargetHits

__all__ = ["FORMATS", "HitFormat", "HitTable", "iter_rows", "write_offtargets", "write_tables"]

HitFormat = Literal["v2", "bulge", "v3", "bed", "csv", "tsv", "parquet"]
FORMATS: tuple[str, ...] = ("v2", "bulge", "v3", "bed", "csv", "tsv", "parquet")


def write_offtargets(
    hits: OffTargetHits,
    path: str | PathLike[str],
    *,
    format: HitFormat = "v2",
    ids: Sequence[str] | None = None,
    scores: Mapping[str, np.ndarray] | None = None,
) -> None:
    """Write hits as a file, some at a time; text is gzipped where ``path`` ends in ``.gz``.

    ============ ==================================================================================
    ``"v2"``     Cas-OFFinder 2: guide, whole header of the contig, leftmost base (0-based), site
                 as the guide reads it with mismatches in lower case, strand, mismatches, and the
                 id if there are some; no header, no bulges
    ``"bulge"``  cas-offinder-bulge: type (X, DNA, RNA), guide with gaps and the letters of the
                 PAM, site with gaps, header, leftmost base, strand, mismatches, size of the
                 bulge; guides that come twice give their rows once
    ``"v3"``     the same behind an id, the number of the guide where it has none
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
        As of `HitTable`.
    path
        The file.
    format
        One of ``FORMATS``.

    Raises
    ------
    ParameterError
        If the format is unknown, or has no place for bulges that there are.
    FileFormatError
        If the file cannot be written.
    """
    write_tables([HitTable(hits, ids, scores or {})], path, format=format)


def write_tables(
    tables: Sequence[HitTable], path: str | PathLike[str], *, format: HitFormat
) -> None:
    """Write the hits of several searches one after the other; see :func:`write_offtargets`."""
    if format == "parquet":
        names = {name: values.dtype for name, values in tables[0].scores.items()}
        write_parquet(path, iter_rows(tables, "tsv"), names)
    else:
        write_text(path, iter_rows(tables, format))


def iter_rows(tables: Sequence[HitTable], format: HitFormat) -> Iterator[bytes]:
    """Yield the text of the hits of searches, its header first; not of Parquet.

    Raises
    ------
    ParameterError
        As :func:`write_offtargets`.
    """
    known = [name for name in FORMATS if name != "parquet"]
    if format not in known:
        raise ParameterError(f"the format is {format!r}, needs one of {', '.join(known)}")
    if format == "v2" and any(table.hits.bulge_sizes.any() for table in tables):
        raise ParameterError("rows of v2 have no bulges, which there are; needs another format")
    return _iter_rows(tables, format)


def _iter_rows(tables: Sequence[HitTable], format: HitFormat) -> Iterator[bytes]:
    mark = "," if format == "csv" else "\t"
    for cells in header(format, tables[0]):
        yield (mark.join(cells) + "\n").encode()
    for table in tables:
        if format == "bulge":
            table = table.without_repeats()
        for part in table.iter_parts():
            yield join_columns(columns(format, part), mark)
