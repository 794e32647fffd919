"""Generators in threads, against the same ones one after the other."""

from __future__ import annotations

import threading

import pytest

from genoviz.generators import iter_side_by_side
from tests.waiting import PATIENCE


def numbers(first, n, closed):
    try:
        for k in range(n):
            yield first + k
    finally:
        closed.append(first)


def test_all_items_come_and_those_of_one_in_order():
    closed = []
    items = list(iter_side_by_side([numbers(1000 * k, 50 * k, closed) for k in range(4)]))
    assert sorted(items) == [1000 * k + i for k in range(4) for i in range(50 * k)]
    for k in range(4):
        own = [item for item in items if item // 1000 == k]
        assert own == sorted(own)
    assert sorted(closed) == [0, 1000, 2000, 3000]


def test_generators_run_at_once():
    meeting = threading.Barrier(3, timeout=PATIENCE)

    def meet(number):
        meeting.wait()
        yield number

    assert sorted(iter_side_by_side([meet(k) for k in range(3)])) == [0, 1, 2]


def test_an_error_ends_them_all():
    closed = []

    def fail():
        yield 1
        raise ValueError("out of paper")

    with pytest.raises(ValueError, match="out of paper"):
        list(iter_side_by_side([numbers(0, 10**9, closed), fail()]))
    assert closed == [0]


def test_who_stops_listening_ends_them_all():
    closed = []
    items = iter_side_by_side([numbers(0, 10**9, closed), numbers(5, 10**9, closed)])
    next(items)
    items.close()
    assert sorted(closed) == [0, 5]
