"""``genoviz count --split``: overlaps of blocks, counted once for each read or feature."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from genoviz.cli.intervals import options as io
from genoviz.cli.progress import ProgressBar

if TYPE_CHECKING:
    import numpy as np

    from genoviz.io.intervals.rows import IntervalRows
    from genoviz.io.intervals.split import SplitIntervals


class SplitCounts(NamedTuple):
    """Lines of A, number of intervals of B, a count for each line, and seconds of counting."""

    rows: IntervalRows
    n_subjects: int
    counts: np.ndarray
    seconds: float


def count_split(
    queries: Path,
    subjects: Path,
    bar: ProgressBar,
    *,
    map_contigs: bool,
    reads: dict[str, int],
    options: dict[str, Any],
) -> SplitCounts:
    """Count for each interval of A the intervals of B with a block that overlaps one of its own."""
    from genoviz.analyses.intervals.split_overlaps import count_split_overlaps

    queries = io.as_file(queries)
    rows = io.read_rows(queries, bar, **reads)
    of_queries = _read(queries, bar, reads)
    io.need_strands(options["strand"], queries, of_queries.blocks)
    subjects = io.as_file(subjects)
    of_subjects = _read(subjects, bar, reads)
    io.need_strands(options["strand"], subjects, of_subjects.blocks)
    blocks = of_subjects.blocks
    if map_contigs:
        blocks = io.match_contigs(blocks, of_queries.blocks)
    bar.update("Counting", 0, None, "")
    began = time.perf_counter()
    counts = count_split_overlaps(
        of_queries.blocks,
        blocks,
        query_owners=of_queries.owners,
        subject_owners=of_subjects.owners,
        **options,
    )
    n_subjects = int(of_subjects.owners[-1]) + 1 if len(of_subjects.owners) else 0
    return SplitCounts(rows, n_subjects, counts, time.perf_counter() - began)


def _read(path: Path, bar: ProgressBar, reads: dict[str, int]) -> SplitIntervals:
    from genoviz.io.intervals.split import iter_read_split

    for progress in iter_read_split(path, **reads):
        bar.update(f"{progress.stage} of {path.name}", progress.n_bytes_done, None, "B")
    return progress.split
