"""What one browser tab has open, and the region and highlights that its pages share."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import param

from app.address import Region
from app.files import OpenGraph, OpeningProgress, iter_open, iter_open_file
from app.jobs import FILES, KERNELS, Job, JobState, JobThread
from genoviz.errors import GenovizError

GRAPH_SUFFIXES = (".gfa", ".gfa.gz", ".gfa.bgz")


class Session(param.Parameterized):
    """One browser tab.

    Pages follow `opened`, `region` and `highlights` and publish to the last two; `poll` brings the
    session up to date with its jobs and is called some twenty times a second.

    Parameters
    ----------
    files
        Files that the server was started with, for everybody to choose from.
    folders
        When given, only files below these folders are opened.
    """

    opened = param.ClassSelector(class_=OpenGraph, allow_None=True, doc="The graph that is open.")
    opening = param.ClassSelector(
        class_=OpeningProgress, allow_None=True, doc="How far the opening is; None when idle."
    )
    problem = param.String(doc="What went wrong last, as one sentence; empty when nothing.")
    region = param.ClassSelector(class_=Region, allow_None=True, doc="The stretch that pages show.")
    highlights = param.ClassSelector(class_=tuple, default=(), doc="Regions that pages highlight.")

    def __init__(
        self, *, files: tuple[Path, ...] = (), folders: tuple[Path, ...] = (), **params: Any
    ) -> None:
        super().__init__(**params)
        self.files = files
        self._folders = folders
        self._jobs: list[Job] = []
        self._opening_job: Job | None = None
        self._wanted_region: Region | None = None
        self._uploads: Path | None = None
        self.is_closed = False

    def submit(self, steps: Iterator[Any], *, title: str, thread: JobThread = KERNELS) -> Job:
        """Run a generator in a job thread; it is cancelled when the tab closes."""
        job = thread.submit(steps, title=title)
        self._jobs = [*(other for other in self._jobs if not other.has_ended), job]
        return job

    def open(self, source: str, *, region: Region | None = None) -> None:
        """Begin to open a sample by name or a file on the server by path, and a region of it."""
        self._begin_opening(iter_open(source, folders=self._folders), source)
        self._wanted_region = region

    def open_upload(self, name: str, content: bytes | str) -> None:
        """Begin to open an uploaded file; it is kept until the tab closes."""
        name = Path(name).name
        if not name.lower().endswith(GRAPH_SUFFIXES):
            self.problem = f"{name} was not opened: its name needs to end in .gfa or .gfa.gz."
            return
        if self._uploads is None:
            self._uploads = Path(tempfile.mkdtemp(prefix="genoviz-upload-"))
        self._begin_opening(_iter_open_upload(self._uploads / name, content), name)

    def cancel_opening(self) -> None:
        """Stop the opening that is under way; what was open stays open."""
        if self._opening_job is not None:
            self._opening_job.cancel()
            self._opening_job = None
        self.opening = None

    def _begin_opening(self, steps: Iterator[Any], source: str) -> None:
        self.cancel_opening()
        self._wanted_region = None
        self.problem = ""
        self.opening = OpeningProgress(f"Opening {source}")
        self._opening_job = self.submit(steps, title=f"open {source}", thread=FILES)

    def poll(self) -> None:
        """Take over what the opening job has come to."""
        job = self._opening_job
        if job is None:
            return
        has_ended, progress = job.has_ended, job.snapshot
        if not has_ended:
            if progress is not None:
                self.opening = progress
            return
        self._opening_job = None
        self.opening = None
        if job.state is JobState.FAILED:
            self.problem = describe_problem(job.error)
        elif job.state is JobState.FINISHED:
            self._take_opened(progress.opened)

    def _take_opened(self, opened: OpenGraph) -> None:
        region = self._wanted_region
        if region is not None and region.path not in opened.graph.path_names:
            self.problem = f"{opened.title} has no path {region.path!r}."
            region = None
        self.param.update(opened=opened, region=region, highlights=())

    @property
    def is_busy(self) -> bool:
        """Whether a job of this tab runs or waits for its turn."""
        return any(job.can_run for job in self._jobs)

    def close(self) -> None:
        """Cancel the jobs of the tab and remove its uploads."""
        self.is_closed = True
        for job in self._jobs:
            job.cancel()
        self._jobs = []
        if self._uploads is not None:
            shutil.rmtree(self._uploads, ignore_errors=True)


def _iter_open_upload(path: Path, content: bytes | str) -> Iterator[OpeningProgress | None]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    del content
    yield from iter_open_file(path, title=path.name)


def describe_problem(error: Exception | None) -> str:
    """Return an error as one sentence for a person, never a traceback."""
    if isinstance(error, GenovizError):
        text = str(error)
        return text if text.endswith((".", "!", "?")) else f"{text}."
    if isinstance(error, MemoryError):
        return "There is not enough memory on the server for this."
    name = type(error).__name__
    return f"Something unexpected went wrong ({name}); the server's log has the details."
