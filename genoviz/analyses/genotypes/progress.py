"""How far a long analysis of genotypes is."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

Returned = TypeVar("Returned")


@dataclass(frozen=True)
class Progress:
    """A step of a long analysis.

    Attributes
    ----------
    what
        What is going on, in a few words.
    fraction
        How much of the whole is done, 0 to 1.
    result
        None until the last step.
    """

    what: str
    fraction: float
    result: Any = None


def report_steps(
    steps: Generator[float, None, Returned], what: str, start: float = 0.0, end: float = 1.0
) -> Generator[Progress, None, Returned]:
    """Report how far steps are, as a part of the whole, and return what they return.

    Parameters
    ----------
    steps
        Yields how much of itself is done, 0 to 1.
    what
        What is going on.
    start, end
        The part of the whole that the steps are.
    """
    while True:
        try:
            yield Progress(what, start + (end - start) * next(steps))
        except StopIteration as done:
            return done.value


def report_last(
    steps: Iterator[Progress], start: float = 0.0, end: float = 1.0, *, what: str | None = None
) -> Generator[Progress, None, Any]:
    """Report the steps of one analysis as a part of another, and return its result.

    Parameters
    ----------
    steps
        What the one analysis yields, with its result in the last.
    start, end
        The part of the whole that the steps are.
    what
        What is going on; what the steps say if None.
    """
    for step in steps:
        yield Progress(what or step.what, start + (end - start) * step.fraction)
    return step.result
