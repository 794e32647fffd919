"""Generators that yield how far they are and return what they found."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeVar

Step = TypeVar("Step")
Said = TypeVar("Said")
Found = TypeVar("Found")


def finish(steps: Generator[object, None, Found]) -> Found:
    """Run a generator to its end; return what it returns."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def report(
    steps: Generator[Step, None, Found], say: Callable[[Step], Said]
) -> Generator[Said, None, Found]:
    """Yield what is to be said of each step of a generator; return what it returns."""
    while True:
        try:
            step = next(steps)
        except StopIteration as end:
            return end.value
        yield say(step)
