"""Long kernel calls cut into short ones, between which a program can be told to stop.

While compiled code runs, Python answers no signal and shows nothing. So whoever calls a kernel for
longer than about a second calls it in slices.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TypeVar

Found = TypeVar("Found")

SLICE_SECONDS = 0.2
_MAX_GROWTH = 4


def iter_slices(
    run: Callable[[int, int], Found],
    n_items: int,
    *,
    first_size: int,
    multiple: int = 1,
    seconds: float = SLICE_SECONDS,
) -> Iterator[tuple[int, Found]]:
    """Run work in slices of about equal time; yield where each ends and what it gave.

    What is run must not depend on where the slices end, for they end by the clock.

    Parameters
    ----------
    run
        Does the items from the first number to before the second.
    n_items
        How many there are.
    first_size
        Items of the first slice, which should take less than a second anywhere.
    multiple
        Slices begin at multiples of this.
    seconds
        How long a slice should take.
    """
    n_done, size = 0, first_size
    while n_done < n_items:
        size = max(int(size) // multiple, 1) * multiple
        stop = min(n_done + size, n_items)
        began = time.perf_counter()
        found = run(n_done, stop)
        took = max(time.perf_counter() - began, 1e-9)
        yield stop, found
        size = (stop - n_done) * min(seconds / took, _MAX_GROWTH)
        n_done = stop
