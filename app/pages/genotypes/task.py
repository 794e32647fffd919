"""The long computation of a panel: one at a time, with its progress, and cancelled by a button."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import param

from genoviz.analyses.genotypes.progress import Progress
from genoviz_app.opening.files import OpeningProgress
from genoviz_app.server.jobs import Job, JobState, describe_problem
from genoviz_app.session.session import Session


class Task(param.Parameterized):
    """Runs one generator of the library after the other; a new one ends the one before.

    `genoviz_app.pages.genotypes.task_bar.TaskBar` shows how far it is.

    Parameters
    ----------
    session
        Whose job it is, and where problems are told.
    take
        Called from `poll` with the result of the last `Progress`. A generator that yields other
        snapshots, such as those of a solver, has each new one given to ``take``.
    """

    opening = param.ClassSelector(
        class_=OpeningProgress, allow_None=True, doc="How far it is; None when idle."
    )

    def __init__(self, session: Session, take: Callable[[Any], None], **params: Any) -> None:
        super().__init__(**params)
        self._session, self._take = session, take
        self._job: Job | None = None
        self._n_seen = 0

    @property
    def is_running(self) -> bool:
        """Whether a computation goes on."""
        return self._job is not None

    def run(self, steps: Iterator[Any], title: str) -> None:
        """Begin a computation, named by what it computes."""
        self.cancel()
        self._n_seen = 0
        self.opening = OpeningProgress(f"{title[:1].upper()}{title[1:]}")
        self._job = self._session.submit(steps, title=title)

    def ask(self, answer: Callable[..., Any], *args: Any, title: str) -> None:
        """Compute ``answer(*args)``, which has no steps; its value is given to ``take``."""

        def steps() -> Iterator[Progress]:
            yield Progress(title, 1.0, answer(*args))

        self.run(steps(), title)

    def cancel(self) -> None:
        """Stop the computation; what it has come to is not taken."""
        if self._job is not None:
            self._job.cancel()
        self._job = self.opening = None

    def poll(self) -> None:
        """Take over what the computation has come to; called some twenty times a second."""
        job = self._job
        if job is None:
            return
        has_ended, snapshot, n = job.has_ended, job.snapshot, job.n_snapshots
        if has_ended:
            self._job = self.opening = None
        if job.state is JobState.FAILED:
            self._session.problem = describe_problem(job.error)
        elif isinstance(snapshot, Progress):
            self._follow(snapshot)
        elif snapshot is not None and n != self._n_seen:
            self._n_seen = n
            self._take(snapshot)

    def _follow(self, progress: Progress) -> None:
        """Show how far it is, or take the result once the computation has ended."""
        if self._job is not None:
            words = f"{progress.what[:1].upper()}{progress.what[1:]}"
            self.opening = OpeningProgress(words, progress.fraction)
        elif progress.result is not None:
            self._take(progress.result)
