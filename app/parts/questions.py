"""Answers that take a while: the latest question of a panel is worked on beside the page."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from typing import Any

from genoviz_app.server.jobs import FILES, Job, JobState, describe_problem
from genoviz_app.session.session import Session


class Question:
    """One kind of question; a new one takes the place of the one before.

    Parameters
    ----------
    session
        Whose jobs the answers are, and where problems are told.
    title
        What is asked, for the list of jobs.
    on_answer
        Called with each answer, from `poll`.
    """

    def __init__(self, session: Session, title: str, on_answer: Callable[[Any], None]) -> None:
        self._session, self._title, self._on_answer = session, title, on_answer
        self._job: Job | None = None
        self._open_since = 0.0

    @property
    def is_open(self) -> bool:
        """Whether the answer is not here yet."""
        return self._job is not None

    @property
    def seconds_open(self) -> float:
        """How long an answer has been waited for, also while other questions took the place."""
        return time.monotonic() - self._open_since if self.is_open else 0.0

    def ask(self, answer: Callable[..., Any], *args: Any) -> None:
        """Have ``answer(*args)`` computed in a job thread.

        Of a generator the last item is the answer; between items it can be taken back.
        """

        def steps() -> Iterator[Any]:
            found = answer(*args)
            for item in found if isinstance(found, Generator) else (found,):
                yield (item,)

        now = time.monotonic()
        self._open_since = self._open_since if self.is_open else now
        self.drop()
        self._job = self._session.submit(steps(), title=self._title, thread=FILES)

    def drop(self) -> None:
        """Take the question back."""
        if self._job is not None:
            self._job.cancel()
        self._job = None

    def poll(self) -> None:
        """Hand over the answer, if it is here."""
        job = self._job
        if job is None or not job.has_ended:
            return
        self._job = None
        if job.state is JobState.FAILED:
            self._session.problem = describe_problem(job.error)
        elif job.state is JobState.FINISHED:
            self._on_answer(job.snapshot[0])
