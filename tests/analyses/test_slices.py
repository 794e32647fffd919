"""Slices of work cover it once, in order, and keep to their time."""

import pytest

from genoviz.analyses import slices
from genoviz.analyses.slices import iter_slices


@pytest.mark.parametrize(
    ("n_items", "first_size", "multiple"), [(0, 5, 1), (1, 8, 8), (1000, 7, 3)]
)
def test_slices_cover_all_items_once(n_items, first_size, multiple):
    ran = []
    ends = [
        stop
        for stop, _ in iter_slices(
            lambda first, stop: ran.append((first, stop)),
            n_items,
            first_size=first_size,
            multiple=multiple,
        )
    ]
    assert [item for first, stop in ran for item in range(first, stop)] == list(range(n_items))
    assert all(first % multiple == 0 for first, _ in ran)
    assert ends == [stop for _, stop in ran]


def test_slices_become_as_long_as_they_should_take(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(slices.time, "perf_counter", lambda: clock[0])

    def run(first, stop):
        clock[0] += (stop - first) * (0.001 if first < 5000 else 0.01)
        return stop - first

    sizes = [size for _, size in iter_slices(run, 10_000, first_size=10, seconds=1.0)]
    assert sizes[:4] == [10, 40, 160, 640]
    assert 990 <= max(sizes) <= 1000
    assert 90 <= sizes[-2] <= 100
