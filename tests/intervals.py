"""Random intervals for tests that touch, nest and repeat, and Hypothesis strategies."""

from __future__ import annotations

import numpy as np

from genoviz.model.intervals.intervals import Intervals


def random_intervals(
    seed: int,
    n: int,
    *,
    span: int = 60,
    longest: int = 12,
    contigs: tuple[str, ...] = ("chr1", "chr2", "chrX"),
    first: int = 0,
) -> Intervals:
    """Return intervals on several contigs, some of which are empty."""
    generator = np.random.default_rng(seed)
    starts = first + generator.integers(0, span, n)
    lengths = generator.integers(0, longest, n) * generator.integers(0, 3, n)
    return Intervals(
        contigs,
        generator.integers(0, len(contigs), n).astype(np.int32),
        starts,
        starts + lengths,
        strands=generator.integers(-1, 2, n).astype(np.int8),
    )


def interval_strategy(*, max_size: int = 25, max_position: int = 30, min_length: int = 0):
    """Return a Hypothesis strategy of intervals on up to three contigs with strands."""
    from hypothesis import strategies as st

    row = st.tuples(
        st.sampled_from(["chr1", "chr2", "chrX"]),
        st.integers(0, max_position),
        st.integers(min_length, 8),
        st.sampled_from([-1, 0, 1]),
    )

    def build(rows: list[tuple[str, int, int, int]]) -> Intervals:
        return Intervals.from_columns(
            [row[0] for row in rows],
            np.array([row[1] for row in rows], np.int64),
            np.array([row[1] + row[2] for row in rows], np.int64),
            strands=np.array([row[3] for row in rows], np.int8),
        )

    return st.lists(row, max_size=max_size).map(build)
