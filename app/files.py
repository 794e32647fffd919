"""Opening graphs: samples, files on the server and uploads; one copy in memory for everybody."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from genoviz.errors import GenovizError, ParameterError
from genoviz.io.gfa import iter_read_gfa
from genoviz.model import PangenomeGraph
from genoviz.samples import Sample, iter_get_sample, list_samples

N_KEPT_GRAPHS = 4


@dataclass(frozen=True)
class OpenGraph:
    """A graph that is open in a tab.

    Attributes
    ----------
    source
        What opens it again: a sample's name or a path; "" for an upload.
    title
        What people call it.
    graph
        The graph itself, shared between tabs.
    """

    source: str
    title: str
    graph: PangenomeGraph


@dataclass(frozen=True)
class OpeningProgress:
    """How far the opening of a graph, a layout or annotations has come.

    Attributes
    ----------
    text
        What is going on.
    fraction
        Share of the work that is done, 0 to 1, or None when it cannot be told.
    opened
        The result, in the last progress.
    """

    text: str
    fraction: float | None = None
    opened: Any = None


class GraphCache:
    """Graphs by file: who opens a file that is open elsewhere gets the same object.

    A file is known by its path, time of change and size, so an edited file is read anew. The
    last few graphs are kept, others for as long as a tab has them open.
    """

    def __init__(self, n_kept: int = N_KEPT_GRAPHS) -> None:
        self._graphs: weakref.WeakValueDictionary = weakref.WeakValueDictionary()
        self._kept: OrderedDict[tuple, PangenomeGraph] = OrderedDict()
        self._being_read: set[tuple] = set()
        self._lock = threading.Lock()
        self._n_kept = n_kept

    def iter_read(self, path: Path) -> Iterator[OpeningProgress | PangenomeGraph | None]:
        """Yield progress, and the graph at the end; None means that another tab is reading it."""
        key = _file_key(path)
        while not self._may_read(key):
            yield None
        graph = self._graphs.get(key)
        try:
            if graph is None:
                for progress in iter_read_gfa(path):
                    graph = progress.graph
                    yield OpeningProgress(
                        progress.stage,
                        progress.n_bytes_done / max(progress.n_bytes_total, 1),
                    )
            self._keep(key, graph)
        finally:
            with self._lock:
                self._being_read.discard(key)
        yield graph

    def _may_read(self, key: tuple) -> bool:
        with self._lock:
            if key in self._being_read:
                return False
            self._being_read.add(key)
            return True

    def _keep(self, key: tuple, graph: PangenomeGraph) -> None:
        with self._lock:
            self._graphs[key] = graph
            self._kept[key] = graph
            self._kept.move_to_end(key)
            while len(self._kept) > self._n_kept:
                self._kept.popitem(last=False)


GRAPHS = GraphCache()
"""The graphs of all tabs."""


def find_sample(name: str) -> Sample | None:
    """Return the sample of a name, in whatever case, or None."""
    name = name.strip().lower()
    return next((sample for sample in list_samples() if sample.name.lower() == name), None)


def iter_open(source: str, *, folders: tuple[Path, ...] = ()) -> Iterator[OpeningProgress | None]:
    """Open a sample by name or a file on the server by path; the last progress has the graph.

    Parameters
    ----------
    source
        Name of a sample, or a path.
    folders
        When given, only files below these folders are opened.
    """
    sample = find_sample(source)
    if sample is None:
        path = check_path(source, folders)
        yield from iter_open_file(path, source=str(path), title=path.name)
        return
    for progress in iter_get_sample(sample.name):
        if progress.path is None:
            fraction = progress.n_bytes_done / max(progress.n_bytes_total, 1)
            yield OpeningProgress(f"Fetching {sample.title}", fraction)
        else:
            yield from iter_open_file(progress.path, source=sample.name, title=sample.title)


def iter_open_file(path: Path, *, source: str = "", title: str) -> Iterator[OpeningProgress | None]:
    """Open one file; the last progress has the graph."""
    for step in GRAPHS.iter_read(path):
        if isinstance(step, PangenomeGraph):
            yield OpeningProgress("Ready", 1.0, OpenGraph(source, title, step))
        else:
            yield step


def check_path(text: str, folders: tuple[Path, ...] = ()) -> Path:
    """Return the file that a person named, or say in one sentence why it cannot be opened."""
    if not text.strip():
        raise ParameterError("no file is named; a path on the server is needed")
    try:
        path = Path(text.strip()).expanduser().resolve()
        is_file, is_folder = path.is_file(), path.is_dir()
    except (OSError, RuntimeError, ValueError) as error:
        raise ParameterError(f"{text.strip()!r} cannot be a path on this machine") from error
    if folders and not any(path.is_relative_to(folder) for folder in folders):
        names = ", ".join(str(folder) for folder in folders)
        raise ParameterError(f"{text.strip()} is not below {names}, where this server may read")
    if is_folder:
        raise ParameterError(f"{path} is a folder; a file is needed")
    if not is_file:
        raise ParameterError(f"{path} does not exist on the server, nor is it a sample's name")
    return path


def _file_key(path: Path) -> tuple:
    try:
        stat = path.stat()
    except OSError as error:
        raise GenovizError(f"{path.name} cannot be read: {error.strerror}") from error
    return (str(path), stat.st_mtime_ns, stat.st_size)
