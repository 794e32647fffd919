"""Large analyses of the pages, computed by the workers of a Dask scheduler."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Generator, Iterator
from queue import Empty, SimpleQueue
from typing import Any

from genoviz.analyses.genotypes import variant_blocks
from genoviz.errors import ClusterError
from genoviz.model.genotypes.genotypes import Genotypes
from genoviz_app.server.settings import SETTINGS
from genoviz_app.server.watching import record

log = logging.getLogger(__name__)

_PATIENCE = 0.02


def find_problem(scheduler: str) -> str:
    """Return why a scheduler cannot be used, or "" if it answers.

    Dask's own messages are not logged from now on, as `ClusterError` says in a sentence what is
    wrong.
    """
    from genoviz.cluster.connection import open_client

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        with open_client(scheduler):
            return ""
    except ClusterError as error:
        return str(error)


def is_worth_sharing(genotypes: Genotypes, of_task: int | None = None) -> bool:
    """Return whether an analysis has several tasks, each of so many genotypes and some seconds."""
    n_genotypes = genotypes.n_samples * genotypes.n_variants
    return n_genotypes > (of_task or variant_blocks.TASK_GENOTYPES)


def iter_shared(make: Callable[[str | None], Generator[Any, None, None]]) -> Iterator[Any]:
    """Yield the steps of an analysis, or None if there is no news; `SETTINGS` names the scheduler.

    If the scheduler or its workers go away, the analysis begins anew in this process.

    Parameters
    ----------
    make
        Returns the steps. Called with the address of a scheduler, or None for this process.
    """
    try:
        yield from _iter_aside(make(SETTINGS.scheduler))
    except ClusterError as error:
        record("cluster failed", why=str(error))
        log.warning("%s; an analysis is computed by the server itself", error)
        yield from make(None)


def _iter_aside(steps: Generator[Any, None, None]) -> Iterator[Any]:
    """Yield the steps of a generator that waits in its own thread, or None if there is no news.

    It runs only until the next step, and only once that is asked for, as without a thread. If it is
    left, it is closed after the current step.
    """
    wanted, answers, has_left = threading.Semaphore(0), SimpleQueue(), threading.Event()

    def run() -> None:
        try:
            for step in _when(wanted, has_left, steps):
                answers.put((step, None))
            answers.put((None, StopIteration()))
        except BaseException as error:  # whoever waits for the step gets it
            answers.put((None, error))
        finally:
            steps.close()

    threading.Thread(target=run, name="cluster", daemon=True).start()
    try:
        while True:
            wanted.release()
            while True:
                try:
                    step, error = answers.get(timeout=_PATIENCE)
                    break
                except Empty:
                    yield None
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            yield step
    finally:
        has_left.set()
        wanted.release()


def _when(
    wanted: threading.Semaphore, has_left: threading.Event, steps: Iterator[Any]
) -> Iterator[Any]:
    """Yield each step once it is wanted."""
    while True:
        wanted.acquire()
        if has_left.is_set():
            return
        try:
            step = next(steps)
        except StopIteration:
            return
        yield step
