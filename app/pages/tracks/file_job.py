"""A button whose file takes a while: it is made by a job, with progress, and can be stopped."""

from __future__ import annotations

import asyncio
import io
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import param

from genoviz.errors import GenovizError, ParameterError
from genoviz_app.opening.files import OpeningProgress
from genoviz_app.parts.file_button import FileButton
from genoviz_app.parts.opening_bar import OpeningBar
from genoviz_app.server.jobs import FILES, Job, JobState, describe_problem
from genoviz_app.session.session import Session

POLL_SECONDS = 0.05
MAX_BYTES = 300_000_000

Steps = Iterator[OpeningProgress]
Writer = Callable[[Path], Steps]


class FileJob(param.Parameterized):
    """A button, and how far its file is.

    Parameters
    ----------
    prepare
        Called by the press: returns the file's name, and a generator function that writes it to
        a path and yields progress.

    Attributes
    ----------
    button, progress
        Panel objects.
    """

    opening = param.ClassSelector(
        class_=OpeningProgress, allow_None=True, doc="How far the file is; None when idle."
    )

    def __init__(
        self, session: Session, label: str, prepare: Callable[[], tuple[str, Writer]], **look: Any
    ) -> None:
        super().__init__()
        self._session, self._prepare = session, prepare
        self._job: Job | None = None
        self.button = FileButton(
            callback=self.make, filename="genoviz", label=label, auto=True, size="small", **look
        )
        # Given to the constructor, these two would bring a warning of Panel's about itself.
        self.button.param.update(variant="outlined", color="default")
        bar = OpeningBar(self, self.cancel, (6, 0))
        self.progress = bar.panel

    def cancel(self) -> None:
        """Make no file."""
        if self._job is not None:
            self._job.cancel()

    async def make(self) -> io.BytesIO | None:
        """Return the file; None where there is none, and the session says why."""
        if self._job is not None:
            return None
        try:
            name, write = self._prepare()
            content = await self._content(name, write)
        except GenovizError as error:
            self._session.problem = f"The file was not made: {describe_problem(error)}"
            return None
        finally:
            self._job = self.opening = None
        if content is None:
            return None
        self.button.filename = name
        return io.BytesIO(content)

    async def _content(self, name: str, write: Writer) -> bytes | None:
        steps = _iter_content(name, write)
        self.opening = OpeningProgress(f"Writing {name}")
        self._job = job = self._session.submit(steps, title=f"write {name}", thread=FILES)
        while not job.has_ended:
            if job.snapshot is not None and job.snapshot.opened is None:
                self.opening = job.snapshot
            await asyncio.sleep(POLL_SECONDS)
        if job.state is JobState.FAILED:
            raise ParameterError(describe_problem(job.error))
        return job.snapshot.opened if job.state is JobState.FINISHED else None


def _iter_content(name: str, write: Writer) -> Steps:
    """Yield progress; the last has what was written."""
    with tempfile.TemporaryDirectory(prefix="genoviz-download-") as folder:
        path = Path(folder) / name
        yield from write(path)
        n_bytes = path.stat().st_size
        if n_bytes > MAX_BYTES:
            raise ParameterError(
                f"{name} has {n_bytes / 1e6:,.0f} MB, a download has at most "
                f"{MAX_BYTES / 1e6:,.0f} MB; save the view, or longer bins"
            )
        content = path.read_bytes()
    yield OpeningProgress("Ready", 1.0, content)
