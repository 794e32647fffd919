"""Which segments touch boxes, against clipping in exact numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from genoviz.backend import load_kernel
from tests.oracles.segment_raster import clip


def find_visible(backend, segments, views, limit):
    """Return the first segments that touch a view, and how many do."""
    segments, views = np.asarray(segments, float), np.asarray(views, float).reshape(-1, 4)
    if backend == "cuda":
        import cupy

        segments = cupy.asarray(segments)
    boxes = load_kernel("segment_raster", backend).find_boxes(segments)
    kernel = load_kernel("visible_segments", backend)
    found = kernel.visible_segments(segments, boxes, views, limit)
    return found.tolist(), kernel.count_visible(segments, boxes, views)


def touching(segments, views):
    """Return the segments that touch a view; a side of a view is a part of it."""
    return [
        number
        for number, segment in enumerate(np.reshape(segments, (-1, 4)).tolist())
        if np.isfinite(segment).all()
        and any(
            clip(*map(Fraction, segment), view[0], view[2], view[1], view[3]) is not None
            for view in views
        )
    ]


def test_segments_touch_views_exactly(backend):
    pytest.importorskip("hypothesis")
    from hypothesis import given
    from hypothesis import strategies as st

    number = st.one_of(*[st.integers(-6, 6)] * 12, st.sampled_from([np.nan, np.inf, -np.inf]))
    segment = st.lists(number, min_size=4, max_size=4)
    side = st.tuples(st.integers(-6, 5), st.integers(1, 5))
    view = st.tuples(side, side).map(
        lambda s: (s[0][0], s[1][0], s[0][0] + s[0][1], s[1][0] + s[1][1])
    )

    @given(st.lists(segment, max_size=30), st.lists(view, max_size=3), st.integers(0, 30))
    def check(segments, views, limit):
        segments = np.array(segments, float).reshape(-1, 2, 2)
        expected = touching(segments, views)
        assert find_visible(backend, segments, views, limit) == (expected[:limit], len(expected))

    check()


def test_blocks_are_passed_over_by_their_boxes(backend):
    random = np.random.default_rng(0)
    starts = np.cumsum(random.integers(-3, 4, (5000, 2)), axis=0)
    segments = np.stack([starts, starts + random.integers(-9, 10, (5000, 2))], axis=1).astype(float)
    segments[::17] = np.nan
    for part in (1, 50, 1000):
        x, y = np.nan_to_num(segments[part * 4, 0]).tolist()
        views = [(x - part, y - part, x + part, y + part), (x + 200, y, x + 300, y + 9)]
        expected = touching(segments, views)
        assert 0 < len(expected) < 5000
        assert find_visible(backend, segments, views, 5000) == (expected, len(expected))
        assert find_visible(backend, segments, views, 3)[0] == expected[:3]


def test_many_workers_count_what_one_counts(monkeypatch):
    kernel = load_kernel("visible_segments", "cpu")
    segments = np.random.default_rng(0).normal(0, 10, (9000, 2, 2))
    views = [(-1, -1, 1, 1)]
    alone = find_visible("cpu", segments, views, 0)
    monkeypatch.setattr(kernel, "BLOCKS_PER_WORKER", 1)
    assert find_visible("cpu", segments, views, 0) == alone
