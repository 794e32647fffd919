"""Answers that take a while, worked on beside the page; and buttons that cannot be pressed yet.

Of the questions of a panel only the latest is worked on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, MutableMapping
from contextlib import closing
from typing import Any
from weakref import WeakKeyDictionary

import panel_material_ui as pmui
import param

from genoviz.generators import Progress
from genoviz_app.opening.files import OpeningProgress
from genoviz_app.server.jobs import FILES, Job, JobPool, JobState, describe_problem
from genoviz_app.session.session import Session

BUTTONS = (pmui.Button, pmui.IconButton, pmui.MenuButton)
_DOES: MutableMapping[Any, str] = WeakKeyDictionary()


class Question(param.Parameterized):
    """One kind of question; a new one takes the place of the one before.

    Parameters
    ----------
    session
        Whose jobs the answers are, and where problems are told; it hands over the answers when it
        is polled, also to a panel that is hidden.
    title
        What is asked, for the list of jobs.
    on_answer
        Called with each answer.
    pool
        Where answers are computed.
    takes_all
        Whether ``on_answer`` gets everything that a generator yields, as far as there is time.
    """

    opening = param.ClassSelector(
        class_=OpeningProgress, allow_None=True, doc="How far the answer is; None when idle."
    )

    def __init__(
        self,
        session: Session,
        title: str,
        on_answer: Callable[[Any], None],
        *,
        pool: JobPool = FILES,
        takes_all: bool = False,
    ) -> None:
        super().__init__()
        self._session, self._title, self._on_answer = session, title, on_answer
        self._pool, self._takes_all = pool, takes_all
        self._job: Job | None = None
        self._n_taken = 0
        self._open_since = 0.0

    @property
    def is_open(self) -> bool:
        """Whether an answer is still awaited."""
        return self._job is not None

    @property
    def seconds_open(self) -> float:
        """Seconds since the first question that is still without an answer; 0 without one."""
        return time.monotonic() - self._open_since if self.is_open else 0.0

    def ask(self, answer: Callable[..., Any], *args: Any, title: str = "") -> None:
        """Have ``answer(*args)`` computed beside the page.

        Of a generator the answer is what it returns, or else its last item, or the result of the
        last `Progress`. Between items it can be taken back, and others have their turns.
        """
        now = time.monotonic()
        self._open_since = self._open_since if self.is_open else now
        self.drop()
        title = title or self._title
        self._n_taken = 0
        self._job = self._session.submit(
            _iter_answer(answer, args),
            title=self._title,
            pool=self._pool,
            follow=self._on_job,
            about=title,
        )
        self.opening = OpeningProgress(f"{title[:1].upper()}{title[1:]}")

    def drop(self) -> None:
        """Take the question back."""
        if self._job is not None:
            self._job.cancel()
        self._job = self.opening = None

    def _on_job(self, job: Job) -> None:
        """Take what the job has come to."""
        if job is not self._job:  # it was taken back, or another one took its place
            return
        has_ended, n_snapshots, snapshot = job.has_ended, job.n_snapshots, job.snapshot
        if has_ended:
            self._job = self.opening = None
        if job.state is JobState.FAILED:
            self._session.complain(describe_problem(job.error))
        elif snapshot is not None:
            (item,) = snapshot
            if isinstance(item, Progress):
                self._on_progress(item, has_ended=has_ended)
            elif self._takes_all and n_snapshots != self._n_taken:
                self._n_taken = n_snapshots
                self._on_answer(item)
            elif has_ended and not self._takes_all:
                self._on_answer(item)

    def _on_progress(self, progress: Progress, *, has_ended: bool) -> None:
        if not has_ended:
            words = f"{progress.what[:1].upper()}{progress.what[1:]}"
            self.opening = OpeningProgress(words, progress.fraction)
        elif progress.result is not None:
            self._on_answer(progress.result)


def _iter_answer(answer: Callable[..., Any], args: tuple) -> Iterator[tuple[Any] | None]:
    """Yield what a generator yields, or the one answer, each in a tuple; None waits."""
    found = answer(*args)
    if isinstance(found, Generator):
        with closing(found):
            found = yield from _iter_wrapped(found)
        if found is None:
            return
    yield (found,)


def _iter_wrapped(steps: Generator) -> Generator[tuple[Any] | None, None, Any]:
    """Yield the items of a generator, and return what it returns."""
    while True:
        try:
            item = next(steps)
        except StopIteration as end:
            return end.value
        yield None if item is None else (item,)


def allow(button: Any, why_not: str = "", *, does: str = "") -> None:
    """Let a button be pressed; or disable it, and have its tooltip say why.

    The tooltip is under the pointer and under the focus (disabled_buttons.js). It is never empty:
    panel-material-ui makes a button anew where a description comes or goes, and a click is lost.

    Parameters
    ----------
    button
        A button with a description.
    why_not
        What has to be done or to end first, without its name and without a full stop; "" if it
        can be pressed.
    does
        What it does now, where that has changed.
    """
    does = _DOES[button] = does or _DOES.get(button) or button.description
    name = getattr(button, "label", "") or does.partition(":")[0]
    words = f"{name}: {why_not}" if why_not else does
    if (button.disabled, button.description) != (
        bool(why_not),
        words,
    ):  # an update reads all others
        button.param.update(disabled=bool(why_not), description=words)


def says_why_not(button: Any) -> bool:
    """Return whether a disabled button has been given a reason."""
    return button in _DOES and button.description not in ("", None, _DOES[button])
