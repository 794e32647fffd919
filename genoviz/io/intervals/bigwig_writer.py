"""Writing of bigWig files, and reading of contig lengths."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from os import PathLike
from pathlib import Path

import numpy as np

from genoviz.errors import FileFormatError, ParameterError
from genoviz.io.files.compiled_errors import held_messages, is_failure
from genoviz.io.files.optional import import_reader
from genoviz.io.files.replace_file import replace_file
from genoviz.io.text.encoding import check_utf8
from genoviz.io.text.line_errors import show
from genoviz.io.text.text_file import read_bytes
from genoviz.model import Intervals
from genoviz.model.graph.path_region import MAX_POSITION
from genoviz.model.intervals.intervals import map_contigs

# Positions have 32 bits, and the library does not end where its widest bin (10.5 Mb) passes them.
_MAX_LENGTH = 2**32 - 40 * 4**9
_MAX_DIGITS = 19


def write_bigwig(
    path: str | PathLike[str], steps: Intervals, *, contig_lengths: Iterable[int] | None = None
) -> None:
    """Write non-overlapping intervals with scores as a bigWig file.

    Parameters
    ----------
    path
        The file to write.
    steps
        The signal; stretches with NaN are skipped.
    contig_lengths
        Length of each contig, bp; by default those of ``steps``, or its last ends.

    Raises
    ------
    ParameterError
        If there are no scores, intervals overlap or exceed their contig, or a contig is longer
        than can be written (4.28 Gb).
    FileFormatError
        If the file cannot be written.
    """
    tools = import_reader("pybigtools", "bigWig and bigBed files")
    steps.check_whole("bigWig")
    if steps.scores is None:
        raise ParameterError("bigWig needs intervals with scores, these have none")
    if contig_lengths is None:
        contig_lengths = steps.contig_lengths
    if contig_lengths is None:
        ends = np.zeros(steps.n_contigs, np.int64)
        np.maximum.at(ends, steps.contig_ids, steps.ends)
        contig_lengths = ends
    order = np.lexsort((steps.starts, _by_name(steps)[steps.contig_ids]))
    order = order[~np.isnan(steps.scores[order]) & (steps.lengths[order] > 0)]
    ids, starts, ends = (a[order] for a in (steps.contig_ids, steps.starts, steps.ends))
    if ((ids[1:] == ids[:-1]) & (starts[1:] < ends[:-1])).any():
        raise ParameterError("bigWig needs intervals that do not overlap, these do")
    lengths = np.array([*map(int, contig_lengths)], np.int64)
    _check_lengths(lengths, steps, order)
    by_name = dict(zip(steps.contigs, lengths.tolist(), strict=True))
    with replace_file(path) as into, tempfile.TemporaryDirectory(prefix="genoviz-") as folder:
        written = Path(folder) / "signal.bw"  # the library requires this ending
        try:
            with held_messages():
                file = tools.open(str(written), "w")
                file.write(by_name, _iter_steps(steps, order))
                file.close()
        except BaseException as error:
            if not is_failure(error):
                raise
            raise FileFormatError(path, f"cannot be written: {error}") from error
        with written.open("rb") as content:
            shutil.copyfileobj(content, into)


def _check_lengths(lengths: np.ndarray, steps: Intervals, order: np.ndarray) -> None:
    if len(lengths) != steps.n_contigs:
        raise ParameterError(
            f"{len(lengths):,} contig lengths for {steps.n_contigs:,} contigs, needs one for each"
        )
    if len(order) == 0:
        raise ParameterError("bigWig needs a stretch with a value, there is none")
    is_beyond = steps.ends[order] > lengths[steps.contig_ids[order]]
    if is_beyond.any():
        row = int(order[np.argmax(is_beyond)])
        contig = int(steps.contig_ids[row])
        raise ParameterError(
            f"a stretch of {steps.contigs[contig]} ends at {int(steps.ends[row]):,}, beyond its "
            f"{int(lengths[contig]):,} bp"
        )
    longest = int(lengths.max())
    if longest > _MAX_LENGTH:
        raise ParameterError(
            f"a contig has {longest:,} bp, and bigWig is written of at most {_MAX_LENGTH:,} each"
        )


def _iter_steps(steps: Intervals, order: np.ndarray) -> Iterator[tuple[str, int, int, float]]:
    for row in order.tolist():
        contig = steps.contigs[steps.contig_ids[row]]
        yield contig, int(steps.starts[row]), int(steps.ends[row]), float(steps.scores[row])


def _by_name(steps: Intervals) -> np.ndarray:
    """Return the rank of each contig in name order."""
    ranks = np.empty(steps.n_contigs, np.int64)
    ranks[sorted(range(steps.n_contigs), key=lambda k: steps.contigs[k])] = np.arange(len(ranks))
    return ranks


def read_genome(path: str | PathLike[str]) -> dict[str, int]:
    """Return the length of each contig by name, in file order, bp.

    Raises
    ------
    FileFormatError
        If a line lacks a name or a length, or a contig occurs twice.
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
        check_utf8(path, fields[0], number - 1)
        name = fields[0].decode()
        digits = fields[1].strip().lstrip(b"0") or b"0"
        if len(digits) > _MAX_DIGITS or int(digits) > MAX_POSITION:
            told = f"says that {name!r} has {show(fields[1])} bp, needs {MAX_POSITION:,} at most"
            raise FileFormatError(path, told, line=number)
        if name in lengths:
            raise FileFormatError(path, f"has contig {name!r} a second time", line=number)
        lengths[name] = int(digits)
    return lengths


def on_genome(
    intervals: Intervals, lengths: dict[str, int], *, file: Path, genome: Path
) -> Intervals:
    """Return the intervals on the contigs of a genome, in its order and with its lengths.

    Contigs also match by alternative names. Intervals may extend beyond a contig end.

    Parameters
    ----------
    file, genome
        Sources of the intervals and the lengths, for messages.

    Raises
    ------
    FileFormatError
        If a contig is not in the genome, or an interval starts beyond its end.
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
