"""How much of the server a tab may take, and all tabs of a group together.

Nobody is limited by default but in uploads. What is over a limit is refused, or ended, with a
sentence that says what to do; a job that a group may not run yet waits for others of the group.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

GB = 10**9
UPLOAD_MEGABYTES = 500
KEPT_MINUTES = 10
"""A reload, or another person who comes soon, finds a file open; then its memory is free."""


@dataclass(frozen=True)
class Limits:
    """What somebody may take; None for no limit.

    Attributes
    ----------
    upload_megabytes
        How much may be uploaded, in all.
    memory_gigabytes
        How much memory open files may take.
    jobs
        How many layouts, analyses and indexes may be computed at once.
    job_minutes
        How long one job or question may compute.
    rows
        How many rows one result may have.
    """

    upload_megabytes: int | None = None
    memory_gigabytes: int | None = None
    jobs: int | None = None
    job_minutes: int | None = None
    rows: int | None = None

    def over(self, others: Limits) -> Limits:
        """Return these limits, and others' if there is none."""
        own = {name: limit for name, limit in asdict(self).items() if limit is not None}
        return replace(others, **own)


TAB = Limits(upload_megabytes=UPLOAD_MEGABYTES)
"""What one tab may take of a server that nobody has told otherwise."""


@dataclass(frozen=True)
class Quota:
    """What all tabs of a group may take together.

    Attributes
    ----------
    name
        Name of the group.
    people
        Who belongs to it.
    limits
        What they may take; time and rows are those of each job.
    """

    name: str
    people: frozenset[str]
    limits: Limits

    @property
    def words(self) -> str:
        """What the group is called in a sentence."""
        return f"the group {self.name}"


@dataclass(frozen=True)
class Share:
    """Memory that some tabs may take with the files that they have open.

    Attributes
    ----------
    words
        Whose it is, in a sentence.
    n_bytes
        How much they may take.
    tabs
        The tabs.
    remedy
        What makes room.
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
    """Return what a person is told whose job has computed for too long."""
    return (
        f"This was ended as it had computed for {minutes:g} minutes, and a job on this server may "
        "take no longer: ask for less, or have whoever runs it raise job_minutes."
    )


def iter_while(is_turn: Callable[[], bool], steps: Iterator[Any]) -> Generator[Any, None, Any]:
    """Yield what ``steps`` yields, and None while it is not its turn; return what it returns."""
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
    """Return the jobs that may run where only so many may: those that came first and go on."""
    going = [job for job in jobs if job.can_run]
    return sorted(going, key=lambda job: job.number)[:n]
