"""``genoviz count --graph``: intervals on the paths of a graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from genoviz.cli.graph.graph_file import read_graph
from genoviz.cli.intervals import options as io
from genoviz.cli.progress import ProgressBar
from genoviz.cli.results import print_notes

if TYPE_CHECKING:
    import numpy as np

    from genoviz.analyses.graph.query.path_depth import PlacedIntervals
    from genoviz.model import Intervals, PangenomeGraph

_ROWS = 1 << 14


@dataclass(frozen=True, eq=False)
class GraphCounts:
    """What was counted for intervals on paths.

    Attributes
    ----------
    placed
        Where the intervals lie.
    columns
        Numbers of each place, by name; floats have six decimals.
    """

    placed: PlacedIntervals
    columns: dict[str, np.ndarray]

    def lines(self) -> Iterator[bytes]:
        """Yield a line for each place: path, start, end, name, and its numbers."""
        intervals = self.placed.intervals
        for first in range(0, len(intervals), _ROWS):
            rows = range(first, min(first + _ROWS, len(intervals)))
            yield "".join(self._line(intervals, row) for row in rows).encode()

    def _line(self, intervals: Intervals, row: int) -> str:
        name = intervals.names[row] if intervals.names is not None else ""
        fields = [
            intervals.contigs[intervals.contig_ids[row]],
            str(intervals.starts[row]),
            str(intervals.ends[row]),
            name or ".",
        ]
        for values in self.columns.values():
            is_whole = values.dtype.kind == "i"
            fields.append(str(values[row]) if is_whole else f"{values[row]:.6f}")
        return "\t".join(fields) + "\n"


def count_on_graph(
    graph_file: Path,
    queries: Path,
    subjects: Path | None,
    of: list[str] | None,
    options: dict[str, object],
    bar: ProgressBar,
) -> GraphCounts:
    """Return how many intervals, or paths, lie over intervals on the paths of a graph."""
    from genoviz.analyses.graph.query.path_depth import depths_of_intervals
    from genoviz.analyses.intervals.count import count_overlaps

    graph = read_graph(graph_file, bar, cache=True)
    strand = None if subjects is None else options["strand"]
    placed = _place(graph, queries, bar, names=True, strand=strand)
    bar.update("Counting", 0, None, "")
    if subjects is None:
        depths = depths_of_intervals(graph, placed.intervals, of or None)
        return GraphCounts(placed, {"n_paths": depths.n_paths, "mean_depth": depths.mean_depths})
    others = _place(graph, subjects, bar, names=False, strand=strand)
    counts = count_overlaps(placed.intervals, others.intervals, **options)
    return GraphCounts(placed, {"count": counts})


def _place(
    graph: PangenomeGraph, path: Path, bar: ProgressBar, *, names: bool, strand: str | None
) -> PlacedIntervals:
    from genoviz.analyses.graph.query.path_depth import place_intervals

    intervals = io.read(path, bar, names=names, blocks=False)
    io.need_strands(strand, path, intervals)
    placed = place_intervals(graph, intervals)
    print_notes(*placed.intervals.notes[len(intervals.notes) :])
    return placed
