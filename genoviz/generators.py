"""Generators that yield their progress, and return the result or yield it last.

While compiled code runs, Python cannot handle signals or update a display. Kernel calls of more
than about a second are therefore split into slices, between which a program can be stopped.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import Any, ParamSpec, TypeVar

Step = TypeVar("Step")
Said = TypeVar("Said")
Found = TypeVar("Found")
Options = ParamSpec("Options")

SLICE_SECONDS = 0.2
_MAX_GROWTH = 4
_WAIT_SECONDS = 0.1


def finish(steps: Generator[object, None, Found]) -> Found:
    """Run a generator to its end; return what it returns."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def last_of(steps: Iterable[Step]) -> Step:
    """Return the last step; those before are not kept."""
    return deque(steps, maxlen=1).pop()


def report(
    steps: Generator[Step, None, Found], say: Callable[[Step], Said]
) -> Generator[Said, None, Found]:
    """Yield a message for each step of a generator; return its result."""
    while True:
        try:
            step = next(steps)
        except StopIteration as end:
            return end.value
        yield say(step)


@dataclass(frozen=True)
class Progress:
    """A step of a long analysis.

    Attributes
    ----------
    what
        The current activity, in a few words.
    fraction
        Share of the whole that is done, 0 to 1.
    result
        The result in the last step; before, None or what is known of it.
    """

    what: str
    fraction: float
    result: Any = None


def report_steps(
    steps: Generator[float, None, Found], what: str, start: float = 0.0, end: float = 1.0
) -> Generator[Progress, None, Found]:
    """Report the progress of steps as a part of the whole, and return their result.

    Parameters
    ----------
    steps
        Generator that yields the share of it that is done, 0 to 1.
    what
        The current activity.
    start, end
        The part of the whole that the steps make up.
    """
    return report(steps, lambda done: Progress(what, start + (end - start) * done))


def report_last(
    steps: Iterator[Progress], start: float = 0.0, end: float = 1.0, *, what: str | None = None
) -> Generator[Progress, None, Any]:
    """Report the steps of one analysis as a part of another, and return its result.

    Parameters
    ----------
    steps
        The steps of the one analysis, with its result in the last; None, for no news, is passed on.
    start, end
        The part of the whole that the steps make up.
    what
        The current activity; that of each step if None.
    """
    last = None
    for step in steps:
        if step is not None:
            last = step
            step = Progress(what or step.what, start + (end - start) * step.fraction)
        yield step
    return last.result


def in_one_go(
    iterate: Callable[Options, Iterator[Any]],
) -> Callable[[Callable[[Any], Found]], Callable[Options, Found]]:
    """Return a decorator that makes a function run a generator function to its end.

    The decorated function has the parameters of the generator function. Its body receives the
    generator's return value, or the last step if that is None, and returns the result.

    Examples
    --------
    >>> def iter_sum(numbers, *, start=0):
    ...     for number in numbers:
    ...         start += number
    ...         yield start
    >>> @in_one_go(iter_sum)
    ... def sum_up(last: int) -> int:
    ...     return last
    >>> sum_up([1, 2], start=3)
    6
    """

    def decorate(take: Callable[[Any], Found]) -> Callable[Options, Found]:
        @wraps(take)
        def run(*arguments: Options.args, **options: Options.kwargs) -> Found:
            steps, last = iterate(*arguments, **options), None
            while True:
                try:
                    last = next(steps)
                except StopIteration as end:
                    return take(last if end.value is None else end.value)

        shown = signature(iterate).replace(return_annotation=signature(take).return_annotation)
        run.__signature__ = shown  # type: ignore[attr-defined]
        return run

    return decorate


def iter_slices(
    run: Callable[[int, int], Found],
    n_items: int,
    *,
    first_size: int,
    multiple: int = 1,
    seconds: float = SLICE_SECONDS,
) -> Iterator[tuple[int, Found]]:
    """Run work in slices of about equal time; yield the end and the result of each.

    The results must not depend on the slice boundaries, which depend on timing.

    Parameters
    ----------
    run
        Processes the items from the first number to before the second.
    n_items
        Number of items.
    first_size
        Items of the first slice, which should take less than a second anywhere.
    multiple
        Slices begin at multiples of this.
    seconds
        Target duration of a slice.
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


def iter_side_by_side(generators: Sequence[Generator[Step, None, None]]) -> Iterator[Step]:
    """Yield the items of several generators as they arrive; the first error stops all.

    Each generator runs in a single thread. The number of waiting items is limited to the number of
    generators.
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

    def run(generator: Generator[Step, None, None]) -> None:
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
