"""Generators that run side by side, each in a thread of its own."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import TypeVar

Item = TypeVar("Item")
_WAIT_SECONDS = 0.1


def iter_side_by_side(generators: Sequence[Generator[Item, None, None]]) -> Iterator[Item]:
    """Yield what generators yield, as it comes; the first error ends them all.

    Each generator runs in one thread from its beginning to its end. None gets further ahead than
    by one item for each of them.
    """
    items: Queue = Queue(maxsize=len(generators))
    stopped = Event()

    def offer(kind: str, value: object) -> bool:
        while not stopped.is_set():
            try:
                items.put((kind, value), timeout=_WAIT_SECONDS)
            except Full:
                continue
            return True
        return False

    def run(generator: Generator[Item, None, None]) -> None:
        try:
            for item in generator:
                if not offer("item", item):
                    break
        except BaseException as error:
            offer("error", error)
        finally:
            generator.close()
        offer("end", None)

    threads = [Thread(target=run, args=(one,), daemon=True) for one in generators]
    for thread in threads:
        thread.start()
    n_running = len(threads)
    try:
        while n_running:
            try:
                kind, value = items.get(timeout=_WAIT_SECONDS)
            except Empty:
                continue
            if kind == "error":
                raise value
            if kind == "end":
                n_running -= 1
            else:
                yield value
    finally:
        stopped.set()
        for thread in threads:
            thread.join()
