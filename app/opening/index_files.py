"""The k-mer index of a tab; built or read once, and shared between tabs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import param

from genoviz.analyses.sequences.kmer_repeats import iter_kmer_repeats
from genoviz.analyses.sequences.pangenome_index import check_paths
from genoviz.io.files.content import MAX_BYTES_IN_MEMORY
from genoviz.io.sequences.fm_index import is_fm_index
from genoviz_app.opening.files import FileCache, OpeningProgress
from genoviz_app.opening.graph_files import OpenGraph
from genoviz_app.opening.index_data import BuiltIndex, iter_build_file, iter_build_graph
from genoviz_app.opening.memory import sequences_bytes
from genoviz_app.opening.opening_files import OpeningFile
from genoviz_app.server.jobs import JobPool
from genoviz_app.server.right_of_way import CORES
from genoviz_app.server.tab import Tab

N_KEPT_INDEXES = 3
GRAPH_SOURCE = "graph"
"""Name in links of the index of the open graph."""


def _estimate(path: Path) -> int:
    """Return the memory of building an index, 11 bytes per base; an index file is mapped."""
    return min(path.stat().st_size, MAX_BYTES_IN_MEMORY) if is_fm_index(path) else BUILDING(path)


BUILDING = sequences_bytes(11)
INDEXES = FileCache(iter_build_file, N_KEPT_INDEXES, estimate=_estimate, is_apart=lambda _: False)
"""The indexes of all files and all tabs."""

BUILDERS = JobPool("genoviz-indexes", way=CORES, steps_back=True)
"""Builds indexes concurrently with layouts and questions."""


@dataclass(frozen=True, eq=False)
class OpenIndex:
    """An index that is open in a tab.

    Attributes
    ----------
    source
        Sample name, path, or ``"graph"`` for reopening it; "" for an upload.
    title
        Name shown to users.
    built
        The index with its report.
    """

    source: str
    title: str
    built: BuiltIndex = field(repr=False)


class MadeOnce:
    """Objects derived from others, made once and shared between tabs.

    Parameters
    ----------
    iter_make
        Called with the object; yields progress, and the derived object in the last one.
    holds_owner
        Whether the derived object keeps the original alive. If so, it is dropped when nobody uses
        it, otherwise together with the original.
    """

    def __init__(
        self, iter_make: Callable[[Any], Iterator[OpeningProgress]], *, holds_owner: bool
    ) -> None:
        self._iter_make = iter_make
        self._key = id if holds_owner else lambda owner: owner
        self._made: Any = WeakValueDictionary() if holds_owner else WeakKeyDictionary()
        self._being_made: set[int] = set()
        self._lock = threading.RLock()  # reentrant: garbage collection may release objects

    def iter_make(self, owner: Any) -> Iterator[OpeningProgress | None]:
        """Yield progress and finally the derived object; None while another tab makes it."""
        while not self._may_make(owner):
            yield None
        with self._lock:
            made = self._made.get(self._key(owner))
        try:
            if made is not None:
                yield OpeningProgress("Ready", 1.0, made)
                return
            for progress in self._iter_make(owner):
                if progress.opened is not None:
                    with self._lock:
                        self._made[self._key(owner)] = progress.opened
                yield progress
        finally:
            with self._lock:
                self._being_made.discard(id(owner))

    def _may_make(self, owner: Any) -> bool:
        with self._lock:
            if id(owner) in self._being_made:
                return False
            self._being_made.add(id(owner))
            return True


def _iter_make_repeats(built: BuiltIndex) -> Iterator[OpeningProgress]:
    for progress in iter_kmer_repeats(built.index):
        yield OpeningProgress(progress.stage, None, progress.repeats)


GRAPH_INDEXES = MadeOnce(iter_build_graph, holds_owner=True)
"""The indexes of the graphs of all tabs."""

REPEATS = MadeOnce(_iter_make_repeats, holds_owner=False)
"""The repeats of the indexes of all tabs."""


def iter_open_index(
    path: Path, *, source: str = "", title: str
) -> Iterator[OpeningProgress | None]:
    """Open an index or build that of sequences; the last progress has the `OpenIndex`."""
    return INDEXES.iter_opened(path, partial(OpenIndex, source, title))


class IndexFiles(OpeningFile):
    """The index that a tab has open, or builds.

    Attributes
    ----------
    wanted
        The last name or path opened, also while it is being built; "" for anything else.
    """

    opened = param.ClassSelector(class_=OpenIndex, allow_None=True, doc="The index that is open.")
    pool = BUILDERS
    contents = "sequences"
    iter_open = staticmethod(iter_open_index)

    def __init__(self, session: Tab, **params: Any) -> None:
        super().__init__(session, **params)
        self.wanted = ""

    def open(self, source: str) -> None:
        """Open a sample by name, or sequences or an index on the server by path."""
        self.wanted = source
        super().open(source)

    def open_upload(self, name: str, content: bytes | str) -> None:
        """Open an uploaded file, which is kept until the tab closes."""
        self.wanted = ""
        super().open_upload(name, content)

    def open_graph(self, graph: OpenGraph) -> None:
        """Build the index of a graph's paths."""
        self.wanted = ""
        self.begin(_iter_open_graph(graph), graph.title)


def _iter_open_graph(graph: OpenGraph) -> Iterator[OpeningProgress | None]:
    check_paths(graph.graph)
    for step in GRAPH_INDEXES.iter_make(graph.graph):
        if step is None or step.opened is None:
            yield step
        else:
            title = f"paths of {graph.title}"
            yield OpeningProgress("Ready", 1.0, OpenIndex(GRAPH_SOURCE, title, step.opened))
