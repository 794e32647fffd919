"""Generators end in their result, and slices of work cover it once, in order, in their time."""

import inspect
import weakref

import pytest

import genoviz
from genoviz import generators
from genoviz.generators import in_one_go, iter_slices, last_of


class Snapshot:
    pass


def iter_snapshots(n, *, alive):
    for _ in range(n):
        snapshot = Snapshot()
        alive.add(snapshot)
        yield snapshot
        assert len(alive) <= 2, "those before are not kept"


@pytest.mark.parametrize(
    "run",
    [
        in_one_go(iter_snapshots)(lambda last: last),
        lambda n, alive: last_of(iter_snapshots(n, alive=alive)),
    ],
    ids=["in_one_go", "last_of"],
)
def test_one_step_is_kept_at_a_time(run):
    alive = weakref.WeakSet()
    assert run(9, alive=alive) in alive


def test_a_function_has_the_parameters_of_its_generator_and_a_result_of_its_own():
    shown = inspect.signature(genoviz.find_offtargets)
    twin = inspect.signature(genoviz.iter_find_offtargets)
    assert shown.parameters == twin.parameters
    assert (shown.return_annotation, twin.return_annotation) == (
        "OffTargetHits",
        "Iterator[OffTargetProgress]",
    )
    assert genoviz.find_offtargets.__name__ == "find_offtargets"


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
    monkeypatch.setattr(generators.time, "perf_counter", lambda: clock[0])

    def run(first, stop):
        clock[0] += (stop - first) * (0.001 if first < 5000 else 0.01)
        return stop - first

    sizes = [size for _, size in iter_slices(run, 10_000, first_size=10, seconds=1.0)]
    assert sizes[:4] == [10, 40, 160, 640]
    assert 990 <= max(sizes) <= 1000
    assert 90 <= sizes[-2] <= 100
