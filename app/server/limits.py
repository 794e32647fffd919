"""Resource limits of a tab, and of all tabs of a group together.

By default only uploads are limited. What exceeds a limit is rejected or stopped, with a sentence
that says what to do. A job above its group's limit waits for other jobs of the group.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

GB = 10**9
UPLOAD_MEGABYTES = 500
KEPT_MINUTES = 10
"""Covers a reload or another user soon after; then the memory is freed."""


@dataclass(frozen=True)
class Limits:
    """Resource limits; None for no limit.

    Attributes
    ----------
    upload_megabytes
        Total size of uploads.
    memory_gigabytes
        Memory of open files.
    jobs
        Number of concurrent layouts, analyses and index builds.
    job_minutes
        Computing time of one job or question.
    rows
        Number of rows of one result.
    """

    upload_megabytes: int | None = None
    memory_gigabytes: int | None = None
    jobs: int | None = None
    job_minutes: int | None = None
    rows: int | None = None

    def over(self, others: Limits) -> Limits:
        """Return these limits, with others' where these have none."""
        own = {name: limit for name, limit in asdict(self).items() if limit is not None}
        return replace(others, **own)


TAB = Limits(upload_megabytes=UPLOAD_MEGABYTES)
"""Default limits of one tab."""


@dataclass(frozen=True)
class Quota:
    """Limits of all tabs of a group together.

    Attributes
    ----------
    name
        Name of the group.
    people
        Members of the group.
    limits
        Their limits; time and rows apply to each job.
    """

    name: str
    people: frozenset[str]
    limits: Limits

    @property
    def words(self) -> str:
        """The group's name in a sentence."""
        return f"the group {self.name}"


@dataclass(frozen=True)
class Share:
    """Memory budget of some tabs for their open files.

    Attributes
    ----------
    words
        Owner of the budget, as part of a sentence.
    n_bytes
        The limit.
    tabs
        The tabs.
    remedy
        Advice on how to free memory.
    """

    words: str
    n_bytes: int
    tabs: tuple[Any, ...]
    remedy: str


def minimum(*limits: int | None) -> int | None:
    """Return the smallest limit; None if there is none.

    Examples
    --------
    >>> minimum(None, 3, 2), minimum(None)
    (2, None)
    """
    return min((limit for limit in limits if limit is not None), default=None)


def too_long(minutes: float) -> str:
    """Return the message for a job that exceeded its computing time."""
    return (
        f"This was ended as it had computed for {minutes:g} minutes, and a job on this server may "
        "take no longer: ask for less, or have whoever runs it raise job_minutes."
    )


def iter_while(is_turn: Callable[[], bool], steps: Iterator[Any]) -> Generator[Any, None, Any]:
    """Yield from ``steps``, but None while it is not its turn; return the result of ``steps``."""
    try:
        while True:
            while not is_turn():
                yield None
            try:
                item = next(steps)
            except StopIteration as end:
                return end.value
            yield item
    finally:
        close = getattr(steps, "close", None)
        if close is not None:
            close()


def first_jobs(jobs: Iterable[Any], n: int) -> list[Any]:
    """Return the jobs that may run under a limit of ``n``: the earliest active ones."""
    going = [job for job in jobs if job.can_run]
    return sorted(going, key=lambda job: job.number)[:n]
