"""The track files of a tab; each is read once and shared between tabs."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import param

from genoviz_app.opening.files import (
    OPENING,
    FileCache,
    OpeningProgress,
    Tab,
    iter_after_writing,
    iter_open_source,
)
from genoviz_app.opening.memory import track_bytes
from genoviz_app.opening.track_data import TrackData, iter_read_track
from genoviz_app.server.jobs import FILES, Job, JobState, describe_problem

N_KEPT_TRACKS = 12

TRACKS = FileCache(iter_read_track, N_KEPT_TRACKS, estimate=track_bytes)
"""The tracks of all tabs."""


@dataclass(frozen=True, eq=False)
class TrackFile:
    """A file that is open as a track.

    Attributes
    ----------
    source
        Path for reopening it; "" for an upload.
    title
        Name shown to users.
    data
        Its content.
    """

    source: str
    title: str
    data: TrackData = field(repr=False)


class TrackFiles(param.Parameterized):
    """The list of a tab's track files, and their opening.

    Parameters
    ----------
    session
        The session that runs the jobs and shows problems.
    """

    files = param.ClassSelector(class_=tuple, default=(), doc="The files, in order of opening.")
    opening = param.ClassSelector(
        class_=OpeningProgress, allow_None=True, doc="How far the opening is; None when idle."
    )

    def __init__(self, session: Tab, **params: Any) -> None:
        super().__init__(**params)
        self._session = session
        self._job: Job | None = None
        self._waiting: deque[tuple[Iterator[Any], str]] = deque()

    @property
    def sources(self) -> tuple[str, ...]:
        """Paths for reopening the files."""
        return tuple(file.source for file in self.files if file.source)

    @property
    def is_opening(self) -> bool:
        """Whether a file is being opened or queued."""
        return self._job is not None or bool(self._waiting)

    def open(self, source: str) -> None:
        """Queue a sample by name, or a file on the server by path."""
        steps = iter_open_source(source, self._session.folders, _iter_open_named)
        self._begin(steps, Path(source).name or "a track")

    def open_upload(self, name: str, content: bytes | str) -> None:
        """Open an uploaded file, which is kept until the tab closes."""
        name = Path(name).name
        path = self._session.upload_path(name)
        steps = iter_after_writing(path, content, iter_open_track(path, title=name))
        self._begin(steps, name)

    def close(self, file: TrackFile) -> None:
        """Remove a file."""
        self.files = tuple(other for other in self.files if other is not file)

    def cancel(self) -> None:
        """Cancel the current opening and clear the queue."""
        self._waiting.clear()
        if self._job is not None:
            self._job.cancel()
        self._job = self.opening = None

    def _on_job(self, job: Job) -> None:
        """Store the result of the opening."""
        if job is not self._job:  # cancelled
            return
        if not job.has_ended:
            if job.snapshot is not None:
                self.opening = job.snapshot
            return
        self._job = None
        if job.state is JobState.FAILED:
            self._session.complain(describe_problem(job.error))
        elif job.state is JobState.FINISHED:
            self._on_opened(job.snapshot.opened)
        self._go_on()

    def _begin(self, steps: Iterator[Any], title: str) -> None:
        self._waiting.append((steps, title))
        if self._job is None:
            self._session.forget_problem()
            self._go_on()

    def _go_on(self) -> None:
        if not self._waiting:
            self.opening = None
            return
        steps, title = self._waiting.popleft()
        self.opening = OpeningProgress(f"Opening {Path(title).name}")
        self._job = self._session.submit(
            steps, title=OPENING, pool=FILES, follow=self._on_job, about=f"open {title}"
        )

    def _on_opened(self, opened: TrackFile) -> None:
        """Add a file; a file that is already open is replaced in its position."""
        if not len(opened.data.intervals):
            self._session.complain(f"{opened.title} is open, and has no intervals to show.")
        key = (opened.source, opened.title)
        keys = [(file.source, file.title) for file in self.files]
        if key in keys:
            place = keys.index(key)
            self.files = (*self.files[:place], opened, *self.files[place + 1 :])
        else:
            self.files = (*self.files, opened)


def iter_open_track(
    path: Path, *, source: str = "", title: str
) -> Iterator[OpeningProgress | None]:
    """Open a track file; the last progress has the `TrackFile`."""
    return TRACKS.iter_opened(path, partial(TrackFile, source, title))


def _iter_open_named(path: Path, *, source: str, **_title: str) -> Iterator[OpeningProgress | None]:
    """Open a track file under its own name, which may be that of a sample."""
    return iter_open_track(path, source=source, title=path.name)
