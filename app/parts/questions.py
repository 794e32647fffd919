"""Answers computed in background jobs, acts that wait, and buttons that may be disabled.

Each panel computes only its latest question.
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
    """One kind of question; a new one replaces the previous.

    Parameters
    ----------
    session
        The session that runs the jobs and shows problems. Its poll delivers the answers, also to
        hidden panels.
    title
        The question, for the list of jobs.
    on_answer
        Called with each answer.
    pool
        Where answers are computed.
    takes_all
        Whether ``on_answer`` also receives intermediate items of a generator, and results of
        steps before the last, as time permits.
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
        self._n_taken, self._taken = 0, None
        self._open_since = 0.0

    @property
    def is_open(self) -> bool:
        """Whether an answer is pending."""
        return self._job is not None

    @property
    def seconds_open(self) -> float:
        """Seconds since the first unanswered question; 0 if there is none."""
        return time.monotonic() - self._open_since if self.is_open else 0.0

    def ask(self, answer: Callable[..., Any], *args: Any, title: str = "") -> None:
        """Compute ``answer(*args)`` in a background job.

        The answer of a generator is its return value, or else its last item, or the result of the
        last `Progress`. Between items it can be cancelled, and other jobs take turns.
        """
        now = time.monotonic()
        self._open_since = self._open_since if self.is_open else now
        self.drop()
        title = title or self._title
        self._n_taken, self._taken = 0, None
        self._job = self._session.submit(
            _iter_answer(answer, args),
            title=self._title,
            pool=self._pool,
            follow=self._on_job,
            about=title,
        )
        self.opening = OpeningProgress(f"{title[:1].upper()}{title[1:]}")

    def drop(self) -> None:
        """Cancel the question."""
        if self._job is not None:
            self._job.cancel()
        self._job = self.opening = None

    def _on_job(self, job: Job) -> None:
        """Process the state of the job."""
        if job is not self._job:  # cancelled or replaced
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
        if has_ended or (self._takes_all and progress.result is not self._taken):
            self._taken = progress.result
            if progress.result is not None:
                self._on_answer(progress.result)


class Watched:
    """A function that is called once, as soon as a condition holds.

    The loop of the tab, `Session.poll`, visits it from `start` until the call, and not otherwise.

    Parameters
    ----------
    session
        The session of the tab.
    act
        The function; it may start to wait again.
    is_due
        The condition; by default it always holds.
    view
        A view of a page; without being shown, it waits.
    """

    def __init__(
        self,
        session: Session,
        act: Callable[[], Any],
        is_due: Callable[[], bool] = lambda: True,
        view: Any = None,
    ) -> None:
        self._watched, self._act, self._is_due = session.watched, act, is_due
        self._view = view
        self._rests_until = 0.0

    @property
    def is_waiting(self) -> bool:
        """Whether the call is pending."""
        return self in self._watched

    def start(self, rest: float = 0.0) -> None:
        """Call when the condition holds, and no such ``rest`` is requested for so many seconds."""
        if rest:
            self._rests_until = time.monotonic() + rest
        self._watched[self] = None

    def follow(self, source: param.Parameterized, *names: str) -> None:
        """Start whenever one of these parameters changes."""
        source.param.watch(lambda *_: self.start(), list(names))

    def stop(self) -> None:
        """Do not call."""
        self._watched.pop(self, None)

    def look(self) -> None:
        """Call if it is time; called some twenty times per second while it waits."""
        is_shown = self._view is None or self._view.is_shown
        if is_shown and time.monotonic() >= self._rests_until and self._is_due():
            self.stop()
            self._act()


def _iter_answer(answer: Callable[..., Any], args: tuple) -> Iterator[tuple[Any] | None]:
    """Yield the items of a generator, or a single answer, as tuples; None means waiting."""
    found = answer(*args)
    if isinstance(found, Generator):
        with closing(found):
            found = yield from _iter_wrapped(found)
        if found is None:
            return
    yield (found,)


def _iter_wrapped(steps: Generator) -> Generator[tuple[Any] | None, None, Any]:
    """Yield the items of a generator, and return its return value."""
    while True:
        try:
            item = next(steps)
        except StopIteration as end:
            return end.value
        yield None if item is None else (item,)


def allow(button: Any, why_not: str = "", *, does: str = "") -> None:
    """Enable a button, or disable it with a tooltip that says why.

    The tooltip is available by pointer and by focus (disabled_buttons.js). It is never empty:
    panel-material-ui recreates a button when a description is added or removed, which loses clicks.

    Parameters
    ----------
    button
        A button with a description.
    why_not
        What must be done or finished first, without the button's name and a full stop; "" if it
        can be pressed.
    does
        The button's new action, if it has changed.
    """
    does = _DOES[button] = does or _DOES.get(button) or button.description
    name = getattr(button, "label", "") or does.partition(":")[0]
    words = f"{name}: {why_not}" if why_not else does
    if (button.disabled, button.description) != (
        bool(why_not),
        words,
    ):  # each update reads all other params
        button.param.update(disabled=bool(why_not), description=words)


def says_why_not(button: Any) -> bool:
    """Return whether a disabled button has a reason."""
    return button in _DOES and button.description not in ("", None, _DOES[button])
