"""Files (``.gvfm``) of path indexes of graphs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path

import numpy as np

from genoviz.errors import FileFormatError, ParameterError, n_words
from genoviz.generators import report
from genoviz.io.files.replace_file import replace_file
from genoviz.io.sequences.fm_index import (
    INDEX_ARRAYS,
    PATHS_KIND,
    IndexFileProgress,
    arrays_of_index,
    check_about,
    describe_index,
    iter_check_fm_index,
    iter_open_index_file,
    make_index,
    with_extra,
)
from genoviz.io.sequences.gvfm_check import iter_check_arrays
from genoviz.io.sequences.gvfm_file import ArrayFile, write_arrays
from genoviz.model import ByteStrings, PangenomeGraph
from genoviz.model.sequences.pangenome_index import PangenomeIndex, SharedStretches

_UNITS = ("steps", "shifts", "lengths", "is_head", "stand_offsets", "stand_steps")
_GRAPH = ("node_names", "node_name_offsets", "node_lengths", "path_offsets", "path_steps")
_SHARED = ("path_is_turned", "unit_starts", *(f"unit_{name}" for name in _UNITS))
_ARRAYS = (*INDEX_ARRAYS, *_GRAPH, *_SHARED)


def write_pangenome_index(
    index: PangenomeIndex,
    path: str | PathLike[str],
    *,
    extra: Mapping[str, np.ndarray] | None = None,
) -> None:
    """Write an index of paths to a file; see :func:`iter_write_pangenome_index`."""
    for _ in iter_write_pangenome_index(index, path, extra=extra):
        pass


def iter_write_pangenome_index(
    index: PangenomeIndex,
    path: str | PathLike[str],
    *,
    extra: Mapping[str, np.ndarray] | None = None,
) -> Iterator[IndexFileProgress]:
    """Write an index of the paths of a graph to a file, and yield the progress.

    The file includes node names and lengths, path names and steps, and the shared stretches, but no
    edges and no bases of nodes that no path visits. Parameters and errors are those of
    `iter_write_fm_index`.
    """
    graph, shared = index.graph, index.shared
    arrays = arrays_of_index(index.index) | {
        "node_names": graph.node_names.data,
        "node_name_offsets": graph.node_names.offsets,
        "node_lengths": graph.node_lengths,
        "path_offsets": graph.path_offsets,
        "path_steps": graph.steps,
        "path_is_turned": shared.is_turned.astype(np.uint8),
        "unit_starts": index.unit_starts,
    }
    for name in _UNITS:
        array = getattr(shared, name)
        arrays[f"unit_{name}"] = array.astype(np.uint8) if array.dtype == bool else array
    arrays = with_extra(arrays, extra or {})
    about = describe_index(index.index) | {
        "kind": PATHS_KIND,
        # Stretches are numbered instead, because there may be millions.
        "contig_names": [],
        "path_names": list(graph.path_names),
        "max_k": index.max_k,
    }
    with replace_file(path) as file:
        for n_done, n_total in write_arrays(file, about, arrays):
            yield IndexFileProgress(n_done, n_total)


def read_pangenome_index(path: str | PathLike[str]) -> PangenomeIndex:
    """Return the index of paths in a file; large arrays are memory-mapped and not checked.

    The graph of the index has no edges and no bases.

    Raises
    ------
    FileFormatError
        If the file cannot be read, is not an index of paths, has another version, or is damaged.
    """
    file = ArrayFile(Path(path))
    check_about(file, PATHS_KIND)
    return _make(file, {name: file.array(name) for name in _ARRAYS})


def iter_read_pangenome_index(
    path: str | PathLike[str], *, mmap: bool = True
) -> Iterator[IndexFileProgress]:
    """Check every byte of an index of paths; yields progress, and the index in the last report.

    Parameters
    ----------
    path
        A file written by :func:`write_pangenome_index`.
    mmap
        As for `iter_read_fm_index`.

    Raises
    ------
    FileFormatError
        As :func:`read_pangenome_index`.
    """
    file = yield from iter_open_index_file(path)
    yield from _iter_check(file, mmap=mmap)


def iter_read_any_index(
    path: str | PathLike[str], *, mmap: bool = True
) -> Iterator[IndexFileProgress]:
    """Check every byte of an index of any kind; the last report has the index.

    The result is a `PangenomeIndex` if the file says that it indexes the paths of a graph,
    otherwise an `FMIndex`. Parameters and errors are those of `iter_read_fm_index`.
    """
    file = yield from iter_open_index_file(path)
    has_paths = file.about.get("kind") == PATHS_KIND
    yield from (_iter_check if has_paths else iter_check_fm_index)(file, mmap=mmap)


def _iter_check(file: ArrayFile, *, mmap: bool) -> Iterator[IndexFileProgress]:
    check_about(file, PATHS_KIND)
    checking = iter_check_arrays(file, _ARRAYS, mmap=mmap)
    found = yield from report(checking, lambda step: IndexFileProgress(*step))
    n_total = sum(section.n_bytes for section in file.sections.values())
    yield IndexFileProgress(n_total, n_total, _make(file, found))


def _make(file: ArrayFile, found: Mapping[str, np.ndarray]) -> PangenomeIndex:
    about = check_about(file, PATHS_KIND)
    names, max_k = about.get("path_names"), about.get("max_k")
    if not isinstance(names, list) or type(max_k) is not int or max_k < 1:
        raise FileFormatError(
            file.path, "does not say what it is of (damaged file); build the index again"
        )
    arrays = {name: found[name] for name in INDEX_ARRAYS}
    stretches = map(str, range(len(arrays["contig_lengths"])))
    index = make_index(file, about | {"contig_names": tuple(stretches)}, arrays)
    try:
        graph = PangenomeGraph(
            ByteStrings(found["node_names"], found["node_name_offsets"]),
            found["node_lengths"],
            np.empty((0, 2), np.uint32),
            tuple(map(str, names)),
            found["path_offsets"],
            found["path_steps"],
        )
        units = {name: found[f"unit_{name}"] for name in _UNITS}
        units["is_head"] = units["is_head"].astype(bool)
        shared = SharedStretches(max_k, found["path_is_turned"].astype(bool), **units)
        unit_starts = found["unit_starts"]
        _check_units(shared, unit_starts, graph, index.text.total_length)
    except ParameterError as error:
        raise FileFormatError(
            file.path, f"{error} (damaged file); build the index again"
        ) from error
    return PangenomeIndex(graph, index, shared, unit_starts)


def _check_units(
    shared: SharedStretches, starts: np.ndarray, graph: PangenomeGraph, n_bases: int
) -> None:
    """Reject units outside the graph, because compiled code does not check bounds."""
    n, offsets = shared.n_units, shared.stand_offsets
    columns = (
        (shared.steps, (n,), graph.n_steps),
        (shared.stand_steps, shared.stand_steps.shape[:1], graph.n_steps),
        (offsets, (n + 1,), len(shared.stand_steps) + 1),
        (starts, (n,), n_bases + 1),
        (shared.shifts, (n,), int(graph.node_lengths.max(initial=0)) + 1),
        (shared.lengths, (n,), n_bases + 1),
    )
    if (
        any(_is_other(*column) for column in columns)
        or shared.is_head.shape != (n,)
        or shared.is_turned.shape != (graph.n_paths,)
        or not all(map(_rises, (offsets, starts, graph.node_names.offsets)))
        or (offsets[0], offsets[-1]) != (0, len(shared.stand_steps))
        or graph.node_names.offsets[0] != 0
    ):
        raise ParameterError(
            f"{n_words(n, 'unit')} of paths do not fit the {n_words(graph.n_steps, 'step')}"
        )


def _is_other(column: np.ndarray, shape: tuple[int, ...], limit: int) -> bool:
    """Return whether a column has the wrong shape or values outside [0, limit)."""
    if column.dtype != np.int64 or column.shape != shape:
        return True
    return len(column) > 0 and (int(column.min()) < 0 or int(column.max()) >= limit)


def _rises(column: np.ndarray) -> bool:
    return bool((np.diff(column) >= 0).all())
