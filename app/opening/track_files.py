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
    FileCache,
    OpeningProgress,
)
from genoviz_app.opening.memory import track_bytes
from genoviz_app.opening.opening_files import OpeningFiles
from genoviz_app.opening.track_data import TrackData, iter_read_track
from genoviz_app.server.jobs import Job
from genoviz_app.server.tab import Tab

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


def iter_open_track(
    path: Path, *, source: str = "", title: str
) -> Iterator[OpeningProgress | None]:
    """Open a track file; the last progress has the `TrackFile`.

    A file with a source keeps its own name, also if it is that of a sample.
    """
    return TRACKS.iter_opened(path, partial(TrackFile, source, path.name if source else title))


class TrackFiles(OpeningFiles):
    """The list of a tab's track files, which are opened one after the other.

    Parameters
    ----------
    session
        The session that runs the jobs and shows problems.
    """

    files = param.ClassSelector(class_=tuple, default=(), doc="The files, in order of opening.")
    contents = "a track"
    iter_open = staticmethod(iter_open_track)

    def __init__(self, session: Tab, **params: Any) -> None:
        super().__init__(session, **params)
        self._waiting: deque[tuple[Iterator[Any], str]] = deque()

    @property
    def sources(self) -> tuple[str, ...]:
        """Paths for reopening the files."""
        return tuple(file.source for file in self.files if file.source)

    @property
    def is_opening(self) -> bool:
        """Whether a file is being opened or queued."""
        return super().is_opening or bool(self._waiting)

    def close(self, file: TrackFile) -> None:
        """Remove a file."""
        self.files = tuple(other for other in self.files if other is not file)

    def cancel(self) -> None:
        """Cancel the current opening and clear the queue."""
        self._waiting.clear()
        super().cancel()

    def _on_job(self, job: Job) -> None:
        super()._on_job(job)
        if self._waiting and self._job is None:
            self._submit(*self._waiting.popleft())

    def begin(self, steps: Iterator[Any], title: str) -> None:
        """Open a file after those that are waiting."""
        self._waiting.append((steps, title))
        if self._job is None:
            self._session.forget_problem()
            self._submit(*self._waiting.popleft())

    def keep(self, opened: TrackFile) -> None:
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
