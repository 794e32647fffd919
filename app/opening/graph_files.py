"""Graphs that tabs open, each with a layout and annotations; one copy in memory for all tabs."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from genoviz.analyses.graph.query.regions import resolve_region
from genoviz.collection.members import GraphMember
from genoviz.collection.reading import iter_read_member
from genoviz.errors import GenovizError, ParameterError
from genoviz.io.graph.gbz_parts import count_gbz
from genoviz.model import PangenomeGraph, PathRegion
from genoviz_app.opening.companions import (
    AnnotationFile,
    OpenAnnotations,
    OpenLayout,
    iter_open_annotations,
    iter_open_layout,
    iter_place_annotations,
)
from genoviz_app.opening.files import (
    FileCache,
    OpeningProgress,
    check_path,
    iter_after_writing,
    iter_open_source,
)
from genoviz_app.opening.kept_layouts import is_kept_layout, iter_open_kept
from genoviz_app.opening.memory import graph_bytes
from genoviz_app.opening.opening_files import OpeningFiles
from genoviz_app.opening.served_files import FileKind, file_kind
from genoviz_app.parts.words import write_place
from genoviz_app.server.jobs import Job, JobState
from genoviz_app.server.tab import Tab

N_KEPT_GRAPHS = 4


@dataclass(frozen=True)
class OpenGraph:
    """A graph that is open in a tab.

    Attributes
    ----------
    source
        Sample name or path for reopening it; "" for an upload.
    title
        Name shown to users.
    graph
        The graph, shared between tabs.
    """

    source: str
    title: str
    graph: PangenomeGraph


def _iter_graph(path: Path) -> Iterator[OpeningProgress]:
    for progress in iter_read_member(GraphMember.at(path)):
        fraction = progress.n_bytes_done / max(progress.n_bytes_total, 1)
        if progress.graph is not None:
            _ = progress.graph.n_links  # sorted now, in the job, rather than where it is shown
        yield OpeningProgress(progress.stage, fraction, progress.graph)


def _advise(path: Path) -> str:
    """Return how to open a part of a GBZ file; "" for other files."""
    if count_gbz(path) is None:
        return ""
    return (
        f", or open one chromosome by its name, as {path.name}/chr1 (all of them: genoviz serve "
        f"{path.name})"
    )


GRAPHS = FileCache(_iter_graph, N_KEPT_GRAPHS, estimate=graph_bytes, advise=_advise)
"""The graphs of all tabs."""


def iter_open_graph(
    path: Path, *, source: str = "", title: str
) -> Iterator[OpeningProgress | None]:
    """Open a graph; the last progress has the graph."""
    return GRAPHS.iter_opened(path, partial(OpenGraph, source, title))


class GraphFiles(OpeningFiles):
    """Opens the graph of a tab, and then its companions one after another.

    What is open is kept in the session, because the region and the picked nodes change with it.

    Parameters
    ----------
    session
        The `Session`, which runs the jobs, and keeps the graph, its layout and its annotations.
    """

    contents = "a graph"
    iter_open = staticmethod(iter_open_graph)

    def __init__(self, session: Tab, **params: Any) -> None:
        super().__init__(session, **params)
        self._is_companion, self._source = False, ""
        self._next: deque[str] = deque()
        self._queued: deque[tuple[str, bytes | str]] = deque()
        self._left: tuple[str, OpenLayout | None] = ("", None)
        self._wanted_region: PathRegion | None = None
        self._needs_region = True

    @property
    def is_opening(self) -> bool:
        """Whether a file is being opened or queued."""
        return super().is_opening or bool(self._next)

    @property
    def awaits_layout(self) -> bool:
        """Whether a layout is being opened, or waits for its graph."""
        opening = [self._source] if super().is_opening else []
        return any(
            is_kept_layout(source) or file_kind(source) is FileKind.LAYOUT
            for source in (*opening, *self._next)
        )

    def open(
        self,
        source: str,
        kind: FileKind | None,
        *,
        region: PathRegion | None = None,
        needs_region: bool = True,
        companions: tuple[str, ...] = (),
    ) -> None:
        """Open a graph, or a layout or annotations of the open one; see `Session.open`."""
        if kind in (FileKind.LAYOUT, FileKind.ANNOTATIONS):
            self.begin(self._iter_open_companion(source), source)
            return
        if not companions:
            companions = next(
                (
                    served.companions
                    for served in (*self._session.genome, *self._session.files)
                    if str(served.path) == source
                ),
                (),
            )
        self._forget_left(source)
        self.begin(iter_open_source(source, self._session.folders, self.iter_open), source)
        self._wanted_region, self._needs_region = region, needs_region
        self._next.extend(str(companion) for companion in companions)

    def open_upload(self, name: str, content: bytes | str) -> None:
        """Open an uploaded graph, layout or file of annotations."""
        path, kind = self._session.upload_path(name), file_kind(name)
        if kind is FileKind.GRAPH:
            steps = self.iter_open(path, title=name)
        else:
            steps = self._iter_open_kind(kind, path, title=name)
        self.begin(iter_after_writing(path, content, steps), name)

    def queue_uploads(self, contents: Mapping[str, bytes | str]) -> None:
        """Open uploaded files one after another."""
        self._queued.extend(contents.items())
        self._session.watched[self] = None

    def look(self) -> None:
        """Open the next queued upload once nothing is being opened."""
        if self._queued and self.opening is None:
            self._session.open_upload(*self._queued.popleft())
        if not self._queued:
            self._session.watched.pop(self, None)

    def begin(self, steps: Iterator[Any], title: str) -> None:
        """Start an opening in place of the current one."""
        self.cancel()
        self._wanted_region = None
        self._session.forget_problem()
        self._is_companion, self._source = False, title
        self._submit(steps, title)

    def cancel(self) -> None:
        """Cancel the current opening; open files stay open."""
        self._next.clear()
        super().cancel()

    def close(self) -> None:
        """Close the graph, for example to show all chromosomes of a genome.

        A chromosome stays in memory until another is opened or the tab is closed.
        """
        self.cancel()
        self._session.forget_problem()
        self._keep_graph(None)
        self._session.free_results()

    def close_annotations(self, file: AnnotationFile) -> None:
        """Start removing a file of annotations."""
        session = self._session
        files = tuple(other for other in session.annotation_files.files if other is not file)
        if session.opened is not None:
            steps = iter_place_annotations(session.opened.graph, files)
            self.begin(steps, f"the annotations without {file.title}")

    def forget(self) -> None:
        """Free the memory of the open graph and of the chromosome that was closed last."""
        self._note_left()
        self._forget_left()

    def _on_job(self, job: Job) -> None:
        if job is self._job and job.state is JobState.FAILED and not self._is_companion:
            self._next.clear()  # companions of the graph that failed to open
        super()._on_job(job)
        if self._next and self._job is None:
            self._is_companion, self._source = True, self._next.popleft()
            self._submit(self._iter_open_companion(self._source), self._source)

    def _iter_open_companion(self, source: str) -> Iterator[OpeningProgress | None]:
        if is_kept_layout(source) and self._session.opened is not None:
            yield from iter_open_kept(source, self._session.opened.graph)
            return
        path = check_path(source, self._session.folders)
        kind = file_kind(path.name)
        yield from self._iter_open_kind(kind, path, source=str(path), title=path.name)

    def _iter_open_kind(
        self, kind: FileKind, path: Path, *, source: str = "", title: str
    ) -> Iterator[OpeningProgress]:
        """Yield the opening of something that belongs to the open graph."""
        opened = self._session.opened
        if opened is None:
            raise GenovizError(f"{title} holds the {kind} of a graph; open the graph first")
        graph = opened.graph
        if kind is FileKind.LAYOUT:
            served = (each for each in self._session.files if str(each.path) == opened.source)
            stress = next((each.stress_of(path) for each in served), None)
            yield from iter_open_layout(path, graph, source=source, title=title, stress=stress)
        else:
            others = self._session.annotation_files.files
            yield from iter_open_annotations(path, graph, others=others, source=source, title=title)

    def keep(self, opened: OpenGraph | OpenLayout | OpenAnnotations) -> None:
        """Show what was opened in the tab."""
        if isinstance(opened, OpenLayout):
            self._session.layout = opened
        elif isinstance(opened, OpenAnnotations):
            before = self._session.annotation_files.files
            self._session.annotation_files = opened
            for file in opened.files:
                if file not in before and not len(file.annotations):
                    self._session.complain(f"{file.title} is open, and has no annotations to show.")
        else:
            self._keep_graph(opened)

    def _keep_graph(self, opened: OpenGraph | None) -> None:
        self._queued.clear()  # belongs to the previous graph
        self._note_left()
        region, unclear = None if opened is None else self._wanted_region, ""
        if region is not None and region.path not in opened.graph.path_names:
            try:
                region = resolve_region(opened.graph, str(region))[0]
            except ParameterError as error:
                is_unclear = len(opened.graph.path_directory.meanings(region.path)) > 1
                if self._needs_region and is_unclear:
                    unclear = write_place(region)
                elif self._needs_region:
                    self._session.complain(f"The link's region is not shown: {error}.")
                region = None
        self._session.param.update(
            opened=opened,
            layout=None,
            annotation_files=OpenAnnotations(),
            region=region,
            picked=np.empty(0, np.int64),
        )
        self._session.unclear = unclear
        if opened is not None:
            self._forget_left(opened.source)

    def _note_left(self) -> None:
        """Keep the chromosome that is closed, with its layout."""
        left = "" if self._session.opened is None else self._session.opened.source
        if any(str(served.path) == left for served in self._session.genome):
            self._left = left, self._session.layout

    def _forget_left(self, next_source: str = "") -> None:
        """Free the memory of the chromosome that was closed last, unless it is opened again."""
        left, _ = self._left
        if left != next_source:
            FileCache.forget(Path(left))
            self._left = ("", None)
