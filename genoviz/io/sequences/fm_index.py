"""Files (``.gvfm``) of k-mer indexes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from genoviz.errors import FileFormatError, ParameterError
from genoviz.generators import last_of, report
from genoviz.io.files.replace_file import replace_file
from genoviz.io.sequences.gvfm_check import iter_check_arrays
from genoviz.io.sequences.gvfm_file import (
    BLOCKS,
    MAGIC,
    ArrayFile,
    ArrayWriter,
    open_array_file,
    write_arrays,
)
from genoviz.model import IndexText
from genoviz.model.sequences.fm_index import (
    LINE_BYTES,
    FMIndex,
    IndexInParts,
    IndexPart,
    shapes_of_index,
)

if TYPE_CHECKING:
    from genoviz.model.sequences.pangenome_index import PangenomeIndex

KIND, ENDING = "FM-index", ".gvfm"
PATHS_KIND = "FM-index of the paths of a graph"
_TEXT_NUMBERS, _INDEX_NUMBERS = ("n_symbols",), ("super_shift", "sample_rate")
_TEXT_ARRAYS = tuple(
    field.name for field in fields(IndexText) if field.name not in ("n_symbols", "contig_names")
)
_INDEX_ARRAYS = ("lines", "super_counts", "exception_ids", "start_table", "samples")
INDEX_ARRAYS = (*_TEXT_ARRAYS, *_INDEX_ARRAYS)


@dataclass(frozen=True)
class IndexFileProgress:
    """Number of bytes written or checked, and their total.

    ``index`` is the index in the last report of `iter_read_fm_index`.
    """

    n_bytes_done: int
    n_bytes_total: int
    index: FMIndex | PangenomeIndex | None = None


def is_fm_index(path: str | PathLike[str]) -> bool:
    """Return whether a file is an index, by its ending ``.gvfm`` or its first bytes."""
    if Path(path).name.lower().endswith(ENDING):
        return True
    try:
        with Path(path).open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def has_paths(path: str | PathLike[str]) -> bool:
    """Return whether an index file says that it indexes the paths of a graph.

    Raises
    ------
    FileFormatError
        As :func:`read_fm_index`.
    """
    return ArrayFile(Path(path)).about.get("kind") == PATHS_KIND


def write_fm_index(
    index: FMIndex,
    path: str | PathLike[str],
    *,
    extra: Mapping[str, np.ndarray] | None = None,
) -> None:
    """Write an index to a file; see :func:`iter_write_fm_index`."""
    for _ in iter_write_fm_index(index, path, extra=extra):
        pass


def iter_write_fm_index(
    index: FMIndex,
    path: str | PathLike[str],
    *,
    extra: Mapping[str, np.ndarray] | None = None,
) -> Iterator[IndexFileProgress]:
    """Write an index to a file, and yield the progress; an existing file is replaced atomically.

    Parameters
    ----------
    index
        The index.
    path
        The file; an existing one stays until the new one is complete.
    extra
        Further arrays to store, such as ``{"lcp": common_prefixes}``; uint8, int32, uint32, int64
        or uint64.

    Raises
    ------
    FileFormatError
        If the file cannot be written.
    ParameterError
        If a further array has the name of an array of the index.
    """
    arrays = with_extra(arrays_of_index(index), extra or {})
    with replace_file(path) as file:
        for n_done, n_total in write_arrays(file, describe_index(index), arrays):
            yield IndexFileProgress(n_done, n_total)


def with_extra(arrays: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arrays of a file with further ones, whose names must not clash."""
    for name in extra:
        if name in (*arrays, BLOCKS):
            raise ParameterError(f"{name!r} is an array of the index itself, needs another name")
    return {**arrays, **extra}


def arrays_of_index(index: FMIndex) -> dict[str, np.ndarray]:
    """Return the arrays of an index by section name."""
    arrays = {name: getattr(index.text, name) for name in _TEXT_ARRAYS}
    return arrays | {name: getattr(index, name) for name in _INDEX_ARRAYS}


def describe_index(index: FMIndex | IndexInParts) -> dict:
    """Return the header entries that describe the arrays of an index."""
    return {
        "kind": KIND,
        "contig_names": index.text.contig_names,
        **{name: int(getattr(index.text, name)) for name in _TEXT_NUMBERS},
        **{name: int(getattr(index, name)) for name in _INDEX_NUMBERS},
    }


def write_index_in_parts(index: IndexInParts, path: str | PathLike[str]) -> None:
    """Write an index while it is built; see :func:`iter_write_index_in_parts`."""
    for _ in iter_write_index_in_parts(index, path):
        pass


def iter_write_index_in_parts(
    index: IndexInParts, path: str | PathLike[str]
) -> Iterator[IndexPart]:
    """Write an index while it is built, and yield its parts as they are written.

    The file is identical to that of `iter_write_fm_index` for the index in memory. An existing file
    is replaced atomically when the new one is complete.

    Parameters
    ----------
    index
        Result of `build_index_in_parts`; its parts are consumed.
    path
        The file.

    Raises
    ------
    FileFormatError
        If the file cannot be written.
    """
    text = {name: getattr(index.text, name) for name in _TEXT_ARRAYS}
    shapes = {name: (array.dtype, array.shape) for name, array in text.items()}
    numbers = index.super_shift, index.table_k, index.sample_rate
    with replace_file(path) as file:
        found = shapes_of_index(index.text, *numbers)
        shapes |= {name: found[name] for name in _INDEX_ARRAYS}
        writer = ArrayWriter(file, describe_index(index), shapes)
        for part in itertools.chain([IndexPart("text", 0.0, text)], index.parts):
            for name, items in part.arrays.items():
                for _ in writer.append(name, items):
                    yield replace(part, arrays={})
            yield part
        writer.finish()


def read_fm_index(path: str | PathLike[str], *, mmap: bool = True) -> FMIndex:
    """Return the index of a file.

    Parameters
    ----------
    path
        A file written by :func:`write_fm_index`.
    mmap
        Whether to memory-map large arrays, so that opening takes no time. They are then not
        checked, and searching a damaged index gives wrong counts or crashes the process. Otherwise
        they are read into memory and checked, as `iter_read_fm_index` does.

    Raises
    ------
    FileFormatError
        If the file cannot be read, is not an index, has another version, or is damaged.
    """
    if not mmap:
        return last_of(iter_read_fm_index(path, mmap=False)).index
    file = ArrayFile(Path(path))
    about = check_about(file)
    return make_index(file, about, {name: file.array(name) for name in INDEX_ARRAYS})


def iter_read_fm_index(
    path: str | PathLike[str], *, mmap: bool = True
) -> Iterator[IndexFileProgress]:
    """Check every byte of an index file; yields progress, and the index in the last report.

    Parameters
    ----------
    path
        A file written by :func:`write_fm_index`.
    mmap
        Whether to memory-map large arrays; otherwise they are in memory, and later changes of the
        file do not affect them.

    Raises
    ------
    FileFormatError
        If the file cannot be read, is not an index, has another version, or is damaged.
    """
    file = yield from iter_open_index_file(path)
    yield from iter_check_fm_index(file, mmap=mmap)


def iter_open_index_file(
    path: str | PathLike[str],
) -> Generator[IndexFileProgress, None, ArrayFile]:
    """Return an array file opened for this process; yields the progress."""
    opening = open_array_file(Path(path))
    content = yield from report(opening, lambda step: IndexFileProgress(*step))
    return ArrayFile(Path(path), content)


def iter_check_fm_index(file: ArrayFile, *, mmap: bool) -> Iterator[IndexFileProgress]:
    """Check an open index file completely; otherwise as `iter_read_fm_index`."""
    about = check_about(file)
    checking = iter_check_arrays(file, INDEX_ARRAYS, mmap=mmap)
    found = yield from report(checking, lambda step: IndexFileProgress(*step))
    n_total = sum(section.n_bytes for section in file.sections.values())
    yield IndexFileProgress(n_total, n_total, make_index(file, about, found))


def read_index_in_parts(
    path: str | PathLike[str],
) -> tuple[FMIndex, Callable[[int], None]] | None:
    """Return an index whose lines are checked individually before use, whatever its size.

    The second value is a function that checks a line and raises FileFormatError if it is damaged.
    The other large arrays are not checked. Returns None if the file has no block checksums
    (version 1.0).

    Raises
    ------
    FileFormatError
        As :func:`read_fm_index`.
    """
    file = ArrayFile(Path(path))
    about = check_about(file)
    if not file.has_blocks:
        return None
    index = make_index(file, about, {name: file.array(name) for name in INDEX_ARRAYS})
    file.check_bytes("super_counts", 0, index.super_counts.nbytes)
    return index, lambda line: file.check_bytes("lines", LINE_BYTES * line, LINE_BYTES * (line + 1))


def make_index(file: ArrayFile, about: dict, arrays: dict[str, np.ndarray]) -> FMIndex:
    """Return the index of a file; raises FileFormatError if its arrays do not match."""
    text = {name: arrays[name] for name in _TEXT_ARRAYS}
    try:
        _check_exceptions(text, about["n_symbols"])
        return FMIndex(
            IndexText(
                n_symbols=about["n_symbols"], contig_names=tuple(about["contig_names"]), **text
            ),
            **{name: arrays[name] for name in _INDEX_ARRAYS},
            **{name: about[name] for name in _INDEX_NUMBERS},
        )
    except ParameterError as error:
        raise FileFormatError(
            file.path, f"{error} (damaged file); build the index again"
        ) from error


def read_extra_arrays(path: str | PathLike[str]) -> dict[str, np.ndarray]:
    """Return the further arrays stored with an index, memory-mapped.

    Raises
    ------
    FileFormatError
        As :func:`read_fm_index`.
    """
    file = ArrayFile(Path(path))
    check_about(file, PATHS_KIND if file.about.get("kind") == PATHS_KIND else KIND)
    return {name: file.array(name) for name in file.sections if name not in (*INDEX_ARRAYS, BLOCKS)}


def verify_fm_index(path: str | PathLike[str]) -> None:
    """Check an index file completely; see :func:`iter_verify_fm_index`."""
    for _ in iter_verify_fm_index(path):
        pass


def iter_verify_fm_index(path: str | PathLike[str]) -> Iterator[IndexFileProgress]:
    """Check every byte of an index file against its checksums, and yield the progress.

    Raises
    ------
    FileFormatError
        If a checksum differs; the message names the section.
    """
    yield from iter_read_fm_index(path)


def check_about(file: ArrayFile, kind: str = KIND) -> dict:
    """Return the header of a file; raises FileFormatError if the file is of another kind."""
    about = file.about
    if about.get("kind") != kind:
        raise FileFormatError(file.path, f"holds {about.get('kind')!r}, needs an {kind}")
    names = about.get("contig_names")
    numbers = [about.get(name) for name in (*_TEXT_NUMBERS, *_INDEX_NUMBERS)]
    if (
        not isinstance(names, list)
        or not all(isinstance(name, str) for name in names)
        or not all(type(number) is int and number >= 0 for number in numbers)
    ):
        raise FileFormatError(
            file.path, "does not say what it is of (damaged file); build the index again"
        )
    return about


def _check_exceptions(text: dict[str, np.ndarray], n_symbols: int) -> None:
    exceptions = text["exceptions"]
    if n_symbols != (int(exceptions[-1]) + 1 if len(exceptions) else 0):
        raise ParameterError(f"the text of {n_symbols:,} symbols does not end with an exception")
    if len(exceptions) and (exceptions[0] < 0 or (np.diff(exceptions) <= 0).any()):
        raise ParameterError("the exceptions do not ascend")
