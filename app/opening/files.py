"""Files that tabs open: samples, server files and uploads; one copy in memory for all tabs."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from genoviz.collection.members import GraphMember
from genoviz.errors import FileFormatError, GenovizError, ParameterError
from genoviz.io.files.file_source import file_at
from genoviz.samples import Sample, iter_get_sample, list_samples
from genoviz_app.opening.apart import iter_apart
from genoviz_app.opening.memory import MEMORY
from genoviz_app.opening.served_files import FileKind, file_kind, is_genomic_file
from genoviz_app.parts.words import shorten
from genoviz_app.server.jobs import owner_of_turn
from genoviz_app.server.settings import SETTINGS
from genoviz_app.server.watching import record

OPENING = "open a file"
"""Public title of the job."""
MAX_SHOWN = 200


@dataclass(frozen=True)
class OpeningProgress:
    """How far the opening of a file has come.

    Attributes
    ----------
    text
        The current step.
    fraction
        Share of the work done, 0 to 1, or None if unknown.
    opened
        The result, in the last progress.
    """

    text: str
    fraction: float | None = None
    opened: Any = None


class FileCache:
    """File contents shared between tabs: opening an open file returns the same object.

    A file is identified by path, modification time and size, so an edited file is reread. The last
    few contents are kept for a while; others only while a tab has them open.

    Parameters
    ----------
    iter_content
        Called with a path; yields progress, and the content in the last one.
    n_kept
        Number of contents kept that no tab has open.
    estimate
        Called with a path; returns the approximate memory of its content in bytes.
    is_apart
        Called with a path; returns whether a server reads it in a separate process.
    advise
        Called with a path whose content is too large; returns what else its message says.
    """

    _all: ClassVar[weakref.WeakSet[FileCache]] = weakref.WeakSet()

    def __init__(
        self,
        iter_content: Callable[[Path], Iterator[OpeningProgress]],
        n_kept: int,
        *,
        estimate: Callable[[Path], int] = lambda _: 0,
        is_apart: Callable[[Path], bool] = lambda _: True,
        advise: Callable[[Path], str] = lambda _: "",
    ) -> None:
        self._all.add(self)
        self._estimate, self._is_apart, self._advise = estimate, is_apart, advise
        self._iter_content = iter_content
        self._contents: weakref.WeakValueDictionary = weakref.WeakValueDictionary()
        self._kept: OrderedDict[tuple, Any] = OrderedDict()
        self._being_read: set[tuple] = set()
        self._lock = threading.RLock()  # reentrant: garbage collection may release contents
        self._n_kept = n_kept

    def iter_read(self, path: Path) -> Iterator[Any]:
        """Yield progress, and finally the content; None while another tab reads it."""
        key = file_key(path)
        while not self._may_read(key):
            yield None
        with self._lock:
            content = self._contents.get(key)
        try:
            if content is None:
                content = yield from self._iter_open(path)
            else:
                shares = getattr(owner_of_turn(), "shares", ())
                MEMORY.check_shares(path, MEMORY.bytes_of(content), shares, content)
            self._keep(key, content)
        finally:
            with self._lock:
                self._being_read.discard(key)
        yield content

    def iter_opened(
        self, path: Path, describe: Callable[[Any], Any]
    ) -> Iterator[OpeningProgress | None]:
        """Yield progress as `iter_read`; the last one has ``describe`` applied to the content."""
        for step in self.iter_read(path):
            if step is None or isinstance(step, OpeningProgress):
                yield step
            else:
                yield OpeningProgress("Ready", 1.0, describe(step))

    def _iter_open(self, path: Path) -> Generator[OpeningProgress | None, None, Any]:
        """Return a content, with memory claimed for it until no tab has it open."""
        needed = 0
        with contextlib.suppress(OSError, GenovizError):  # the reader reports the problem
            needed = self._estimate(path)
        owner = owner_of_turn()
        tab = owner if hasattr(owner, "shares") else None
        try:
            claim = MEMORY.claim(path, needed, self.forget_all, tab)
        except FileFormatError as error:
            error.args = (f"{error}{self._advise(path)}",)
            raise
        content = None
        try:
            if self._is_apart(path):
                steps = iter_apart(self._iter_content, path, max_bytes=claim.max_bytes)
            else:
                steps = self._iter_content(path)
            for progress in steps:
                if progress is None:
                    yield None
                    continue
                content = progress.opened
                yield replace(progress, opened=None)
        finally:
            if content is None:
                claim.release()
            else:
                claim.keep(content)
        return content

    @classmethod
    def forget_all(cls) -> None:
        """Drop all contents without users, in all caches."""
        for cache in tuple(cls._all):
            with cache._lock:
                cache._kept.clear()

    @classmethod
    def all_kept(cls) -> list[tuple[OrderedDict[tuple, Any], threading.RLock]]:
        """Return the kept contents of each cache, and its lock."""
        return [(cache._kept, cache._lock) for cache in tuple(cls._all)]

    @classmethod
    def forget(cls, path: Path) -> None:
        """Drop the content of a file from all caches, unless a tab has it open."""
        for cache in tuple(cls._all):
            with cache._lock:
                for key in [key for key in cache._kept if key[0] == str(path)]:
                    del cache._kept[key]

    @classmethod
    def forget_below(cls, folder: Path) -> None:
        """Drop the contents of files below a folder from all caches."""
        for cache in tuple(cls._all):
            with cache._lock:
                for key in [key for key in cache._kept if Path(key[0]).is_relative_to(folder)]:
                    del cache._kept[key]

    def _may_read(self, key: tuple) -> bool:
        with self._lock:
            if key in self._being_read:
                return False
            self._being_read.add(key)
            return True

    def _keep(self, key: tuple, content: Any) -> None:
        with self._lock:
            self._contents[key] = content
            self._kept[key] = content
            self._kept.move_to_end(key)
            while len(self._kept) > self._n_kept:
                self._kept.popitem(last=False)


def find_sample(name: str) -> Sample | None:
    """Return the sample with this name, ignoring case, or None."""
    name = name.strip().lower()
    return next((sample for sample in list_samples() if sample.name.lower() == name), None)


def iter_open_source(
    source: str, folders: tuple[Path, ...], iter_open: Callable[..., Iterator[Any]]
) -> Iterator[Any]:
    """Open a sample by name, downloading it if needed, or a file by path within ``folders``.

    ``iter_open`` opens a path with a ``source`` and a ``title``; its last progress has the result.
    """
    sample = find_sample(source)
    if sample is None:
        path = check_path(source, folders)
        yield from iter_open(path, source=str(path), title=GraphMember.at(path).title)
        return
    for progress in iter_get_sample(sample.name):
        if progress.path is None:
            fraction = progress.n_bytes_done / max(progress.n_bytes_total, 1)
            yield OpeningProgress(f"Fetching {sample.title}", fraction)
        else:
            yield from iter_open(progress.path, source=sample.name, title=sample.title)


def check_path(text: str, folders: tuple[Path, ...] = ()) -> Path:
    """Return the file, or the chromosome of one, that a user named; raises if it cannot be opened.

    Parameters
    ----------
    text
        Text from the user or a link.
    folders
        If given, the file and everything read with it must be one of these or lie below one, after
        resolving links.
    """
    address = resolve_below(text, folders, "read")
    path = file_at(address)
    if file_kind(path.name) is not FileKind.GRAPH:  # only these have parts that can be opened
        path = address
    if path.is_dir():
        raise ParameterError(f"{path} is a folder; a file is needed")
    if not path.exists():
        raise ParameterError(
            f"{path} does not exist on the server, nor is it a sample's name; correct the path"
        )
    if not path.is_file():
        raise ParameterError(f"{path} is a pipe or a device; a file is needed")
    if path not in SETTINGS.offered and not is_genomic_file(path):
        if path.name.lower().removesuffix(".gz").endswith((".fq", ".fastq")):
            raise ParameterError(
                f"{shorten(path.name, MAX_SHOWN)} has reads (FASTQ), which no page opens; "
                "genoviz bwt spectrum counts their k-mers"
            )
        raise ParameterError(
            f"{shorten(path.name, MAX_SHOWN)} does not end as the name of a genomic file does "
            "(.gfa, .gbz, .bed, .bam, .fa, .vcf, .csv and others), so it is not read"
        )
    if folders:
        _check_companions(path, folders)
    record("opened", person=getattr(folders, "person", ""), file=str(address))
    return address


def resolve_below(text: str, folders: tuple[Path, ...], what_for: str) -> Path:
    """Return the resolved path that a user named; raises if it is outside the folders."""
    if not text.strip():
        raise ParameterError("no file is named; a path on the server is needed")
    shown = shorten(text.strip(), MAX_SHOWN)
    try:
        path = Path(text.strip()).expanduser().resolve()
        path.is_file()
    except (OSError, RuntimeError, ValueError) as error:
        raise ParameterError(f"{shown!r} cannot be a path on this machine") from error
    if folders and not _is_below(path, folders):
        names = ", ".join(str(folder) for folder in folders if folder.is_dir())
        where = f"below {names}, where" if names else "among the files that"
        raise ParameterError(f"{shown} is not {where} this server may {what_for}")
    return path


def _is_below(path: Path, folders: tuple[Path, ...]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _check_companions(path: Path, folders: tuple[Path, ...]) -> None:
    """Reject a file whose index or companion table is a link outside the permitted folders."""
    stem = path.name.partition(".")[0] + "."
    with os.scandir(path.parent) as beside:
        links = [each.path for each in beside if each.is_symlink() and each.name.startswith(stem)]
    for link in links:
        try:
            to = Path(link).resolve()
        except (OSError, RuntimeError):
            continue  # a dangling link
        if to.parent != path.parent and not _is_below(to, folders):
            name = Path(link).name
            raise ParameterError(
                f"{path.name} is not read, as {name} beside it is a link to where this server "
                "may not read"
            )


def file_key(path: Path) -> tuple:
    """Return what identifies the contents of a file: path, time and size."""
    try:
        stat = file_at(path).stat()
    except OSError as error:
        raise GenovizError(f"{path.name} cannot be read: {error.strerror}") from error
    return (str(path), stat.st_mtime_ns, stat.st_size)


def iter_after_writing(
    path: Path, content: bytes | str, steps: Iterator[OpeningProgress | None]
) -> Iterator[OpeningProgress | None]:
    """Yield from the opening of an uploaded file, once it is written."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    del content
    yield from steps
