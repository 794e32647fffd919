"""What a benchmark returns: one row for each thing measured."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NotRequired, TypedDict

import numba


class Row(TypedDict):
    """One line of a table; ``ratio`` is how many times better than the peer we are."""

    benchmark: str
    case: str
    ours: float
    peer: float | None
    ratio: float | None
    unit: str
    note: str
    in_readme: NotRequired[bool]


def make_row(
    benchmark: str,
    case: str,
    *,
    ours: float,
    unit: str,
    peer: float | None = None,
    higher_is_better: bool = True,
    note: str = "",
    in_readme: bool = False,
) -> Row:
    """Return a row with its ratio.

    Parameters
    ----------
    benchmark
        What is measured and against what, e.g. ``"Layout, against odgi 0.9"``: a table's title.
    case
        Data and settings, e.g. ``"MHC_4, 2 threads"``.
    ours, peer
        The medians, in ``unit``; ``peer`` is None where nothing can be compared.
    higher_is_better
        True for rates, False for times and bytes.
    note
        What bounds it, how to repeat the peer's figure, where the figure is from.
    in_readme
        Whether the README's table shows the row.
    """
    ratio = None
    if peer is not None:
        ratio = ours / peer if higher_is_better else peer / ours
    return Row(
        benchmark=benchmark,
        case=case,
        ours=ours,
        peer=peer,
        ratio=ratio,
        unit=unit,
        note=note,
        in_readme=in_readme,
    )


def median_seconds(function: Callable[[], Any], *, n_runs: int = 5, n_warm_ups: int = 1) -> float:
    """Return the median time of a call, after calls that compile and fill caches.

    A function for the GPU has to wait for it before it returns.
    """
    for _ in range(n_warm_ups):
        function()
    seconds = []
    for _ in range(n_runs):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


@contextmanager
def threads(n: int) -> Iterator[None]:
    """Let kernels use some threads for a while."""
    before = numba.get_num_threads()
    numba.set_num_threads(n)
    try:
        yield
    finally:
        numba.set_num_threads(before)
