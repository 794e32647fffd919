"""Features as BED with as many columns as they need: 3, 6, 9 with colours, 12 with blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from genoviz.model import Intervals

SIGNS = (".", "+", "-")


@dataclass(frozen=True, eq=False)
class BedExtras:
    """What BED has beyond intervals.

    Attributes
    ----------
    colours
        int32, shape (n,): 0xRRGGBB, -1 for none; or None.
    block_offsets, blocks
        Interval i has the blocks (start and end, bp) from ``block_offsets[i]`` to
        ``block_offsets[i + 1]``; both None without blocks.
    """

    colours: np.ndarray | None = None
    block_offsets: np.ndarray | None = None
    blocks: np.ndarray | None = None


NO_EXTRAS = BedExtras()


def iter_bed(intervals: Intervals, extras: BedExtras = NO_EXTRAS) -> Iterator[bytes]:
    """Yield the lines of intervals as BED, each with all columns that one of them needs.

    A score is written as a whole number from 0 to 1000, as BED has it, 0 where there is none. An
    interval without blocks is one block.

    Examples
    --------
    >>> genes = Intervals.from_columns(["c"], [5], [30], names=["g"], strands=["-"])
    >>> blocks = BedExtras(None, np.array([0, 2]), np.array([[5, 9], [20, 30]]))
    >>> b"".join(iter_bed(genes, blocks)).decode().split()[6:]
    ['5', '30', '0', '2', '4,10', '0,15']
    """
    intervals.check_whole("BED")
    n_columns = _n_columns(intervals, extras)
    columns = (intervals.contig_ids, intervals.starts, intervals.ends)
    for row, (contig, start, end) in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
        fields = [intervals.contigs[contig], str(start), str(end)]
        if n_columns >= 6:
            fields += _name_score_strand(intervals, row)
        if n_columns >= 9:
            fields += [str(start), str(end), _colour(extras, row)]
        if n_columns >= 12:
            fields += _blocks(extras, row, start, end)
        yield ("\t".join(fields) + "\n").encode()


def _n_columns(intervals: Intervals, extras: BedExtras) -> int:
    if extras.blocks is not None and len(extras.blocks):
        return 12
    if extras.colours is not None and (extras.colours >= 0).any():
        return 9
    return 3 if intervals.names is None and intervals.strands is None else 6


def _name_score_strand(intervals: Intervals, row: int) -> list[str]:
    name = intervals.names[row] if intervals.names is not None else ""
    score = np.nan if intervals.scores is None else float(intervals.scores[row])
    whole = 0 if np.isnan(score) else round(min(max(score, 0), 1000))
    strand = 0 if intervals.strands is None else int(intervals.strands[row])
    return [name or ".", str(whole), SIGNS[strand]]


def _colour(extras: BedExtras, row: int) -> str:
    colour = -1 if extras.colours is None else int(extras.colours[row])
    return "0" if colour < 0 else f"{colour >> 16},{colour >> 8 & 255},{colour & 255}"


def _blocks(extras: BedExtras, row: int, start: int, end: int) -> list[str]:
    """Return number, lengths and relative starts; BED wants blocks from end to end."""
    found = extras.blocks[extras.block_offsets[row] : extras.block_offsets[row + 1]]
    blocks = found.tolist() or [[start, end]]
    if blocks[0][0] != start or blocks[-1][1] != end:
        blocks = [[start, end]]
    lengths = ",".join(str(stop - begin) for begin, stop in blocks)
    return [str(len(blocks)), lengths, ",".join(str(begin - start) for begin, _ in blocks)]
