"""Contigs of a genome and their lengths: ``.genome``, ``.chrom.sizes`` and ``.fai`` files."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from pathlib import Path

import numpy as np

from genoviz.errors import FileFormatError
from genoviz.io.files.file_bytes import read_bytes
from genoviz.io.text.line_errors import show
from genoviz.model import Intervals
from genoviz.model.intervals.contig_names import map_contigs


def read_genome(path: str | PathLike[str]) -> dict[str, int]:
    """Return the length of each contig by name, in the order of the file, bp.

    Raises
    ------
    FileFormatError
        If a line has not a name and a length, or a contig is there twice.
    """
    path = Path(path)
    lengths: dict[str, int] = {}
    for number, line in enumerate(read_bytes(path).tobytes().splitlines(), 1):
        if not line.strip() or line.startswith(b"#"):
            continue
        fields = line.split(b"\t") if b"\t" in line else line.split()
        if len(fields) < 2 or not fields[1].strip().isdigit():
            raise FileFormatError(
                path, f"has {show(line)}, needs a contig, a tab and its length", line=number
            )
        name = fields[0].decode(errors="replace")
        if name in lengths:
            raise FileFormatError(path, f"has contig {name!r} a second time", line=number)
        lengths[name] = int(fields[1])
    return lengths


def on_genome(
    intervals: Intervals, lengths: dict[str, int], *, file: Path, genome: Path
) -> Intervals:
    """Return the intervals with the contigs of a genome, in its order, and their lengths.

    Contigs are known under their other names, too, and intervals may reach beyond an end.

    Parameters
    ----------
    file, genome
        Where the intervals and the lengths are from, for messages.

    Raises
    ------
    FileFormatError
        If an interval lies on a contig that the genome has not, or beyond its end as a whole.
    """
    intervals = map_contigs(intervals, lengths)
    ranks = {name: rank for rank, name in enumerate(lengths)}
    renumbered = np.array([ranks.get(name, -1) for name in intervals.contigs], np.int32)
    ids = renumbered[intervals.contig_ids] if len(intervals) else intervals.contig_ids
    missing = np.flatnonzero(ids < 0)
    if len(missing):
        name = intervals.contigs[intervals.contig_ids[missing[0]]]
        raise FileFormatError(
            file,
            f"has intervals on {name!r}, which {genome.name} has not: "
            "give a genome file with all contigs",
        )
    sizes = np.array([*lengths.values()], np.int64)
    is_outside = (intervals.starts > sizes[ids]) if len(intervals) else missing
    outside = np.flatnonzero(is_outside)
    if len(outside):
        row = int(outside[0])
        name = intervals.contigs[intervals.contig_ids[row]]
        raise FileFormatError(
            file,
            f"has an interval from {intervals.starts[row]:,} to {intervals.ends[row]:,} on "
            f"{name!r}, which has {lengths[name]:,} bp in {genome.name}: "
            "give the genome file of the same assembly",
        )
    return replace(intervals, contigs=tuple(lengths), contig_ids=ids, contig_lengths=sizes)
