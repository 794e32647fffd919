"""Results of workers for blocks, as they finish."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from genoviz.cluster.connection import open_client
from genoviz.cluster.run import Run

if TYPE_CHECKING:
    from distributed import Client


def iter_results(
    function: Callable[..., Any],
    blocks: Sequence[tuple],
    *,
    scheduler: str | Client,
    common: tuple = (),
    in_order: bool = False,
) -> Iterator[tuple[int, Any]]:
    """Yield the number of each block and the function's result for it, as blocks finish.

    With ``in_order``, blocks that finish before an earlier one are held back, at most four for each
    thread of the workers.

    Parameters
    ----------
    function
        A module-level function of genoviz, called as ``function(*block, *common)``.
    blocks
        Arguments of each call, a task of some seconds. Arrays may be views; they are read when the
        block is sent.
    scheduler
        Address of a Dask scheduler, or a client.
    common
        Arguments common to all calls; sent once.

    Raises
    ------
    ClusterError
        If the scheduler does not answer or disconnects, there are no workers, they run another
        version of genoviz, or a block repeatedly kills workers.
    """
    with open_client(scheduler) as client:
        run = Run(client, function, blocks, common, in_order=in_order)
        waiting: dict[int, Any] = {}
        try:
            for block, future in run.iter_done():
                found = run.fetch(block, future)
                if found is None:
                    continue
                waiting[block] = found[0]
                while waiting:
                    block = run.n_taken if in_order else next(iter(waiting))
                    if block not in waiting:
                        break
                    yield block, waiting.pop(block)
                    run.n_taken += 1
        finally:
            run.cancel()
