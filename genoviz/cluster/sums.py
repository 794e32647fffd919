"""Sum of the workers' results for blocks, added up by the workers as a tree."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any

from genoviz.cluster.connection import open_client
from genoviz.cluster.run import Run
from genoviz.errors import ParameterError

if TYPE_CHECKING:
    from distributed import Client, Future


def iter_sum(
    function: Callable[..., Any],
    blocks: Sequence[tuple],
    *,
    scheduler: str | Client,
    common: tuple = (),
) -> Generator[float, None, Any]:
    """Return the sum of a function's results for blocks; yields the share done, 0 to 1.

    Workers add pairs of neighbours, then pairs of these sums, and so on. The tree depends only on
    the number of blocks, so rounding is reproducible. Only the total is sent back. Parameters are
    those of `iter_results`.
    """
    if not blocks:
        raise ParameterError("there are no blocks to add up, needs one at least")
    with open_client(scheduler) as client:
        run = Run(client, function, blocks, common)
        try:
            return (yield from _add_up(run))
        finally:
            run.cancel()


def _add_up(run: Run) -> Generator[float, None, Any]:
    n_blocks, n_added = run.n_blocks, 0
    top = max(n_blocks - 1, 0).bit_length()
    sums: dict[tuple[int, int], Future] = {}
    while True:
        for node, future in run.iter_done():
            level, place = (0, node) if isinstance(node, int) else node
            if future.status != "finished":
                run.check(future, node)
                # A sum covers all blocks below it.
                first, stop = place << level, min((place + 1) << level, n_blocks)
                for each in [each for each in sums if first <= each[1] << each[0] < stop]:
                    if each[0] <= level:
                        del sums[each]
                run.repeat(range(first, stop))
                continue
            while level < top and place == (n_blocks - 1) >> level and not place & 1:
                level, place = level + 1, place >> 1  # the last one may have no neighbour
            sums[level, place] = future
            left, right = sums.get((level, place & ~1)), sums.get((level, place | 1))
            if level < top and left is not None and right is not None:
                run.send((level + 1, place >> 1), _add, left, right)
            for below in (2 * place, 2 * place + 1):
                sums.pop((level - 1, below), None)
            n_added += 1
            yield min(n_added / (2 * n_blocks - 1), 1.0)
        found = run.fetch((top, 0), sums.pop((top, 0)))
        if found is not None:
            return found[0]
        run.repeat(range(n_blocks))


def _add(left: Any, right: Any) -> Any:
    return left + right
