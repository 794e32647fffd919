"""The cache of parsed files: their arrays, so that a file opens at once the next time.

An entry is a folder with one ``.npy`` file per array, and ``manifest.json`` with the kind and
version of the entry, the source (path, size, time, hash), further facts, and dtype, shape and
checksum of each array. An entry is used only if all of this matches; otherwise it is ignored and
replaced. Entries are renamed into place, so they appear complete.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numba import njit

MAX_CACHE_BYTES = 20 << 30
"""Of entries of one kind; more if that is less than half of the free disk space for them."""
MAX_ENTRIES = 1000
SPARED = 0.05
"""Share of full limits that is freed at once."""

_MANIFEST = "manifest.json"
_SLICE = 64 << 20
_SECONDS_PER_DAY = 86_400

Progress = tuple[int, int]
_SLICE_BYTES = 64 << 20
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(32)
T = TypeVar("T")


@dataclass(frozen=True)
class Entry:
    """The contents of an entry.

    Parameters
    ----------
    facts
        What its arrays are of, as plain JSON values.
    arrays
        By name, memory-mapped if loaded.
    """

    facts: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray]


def load_entry(
    folder: Path, facts: Mapping[str, Any], *, wants: Callable[[str], bool] = lambda _: True
) -> Generator[Progress, None, Entry | None]:
    """Return an entry, memory-mapped and checked, or None; yield bytes done and in all.

    Parameters
    ----------
    folder
        Its folder.
    facts
        What the entry must say of itself to be used.
    wants
        Selects the arrays to load, by name.
    """
    try:
        return (yield from _load(folder, facts, wants))
    # Whatever is wrong with an entry, the source file can still be read.
    except Exception:
        return None


def load_facts(folder: Path, facts: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return all facts of an entry without reading its arrays, or None.

    Parameters
    ----------
    folder, facts
        As for `load_entry`.
    """
    try:
        return _load_manifest(folder, facts)
    except Exception:  # as in `load_entry`
        return None


def _load_manifest(folder: Path, facts: Mapping[str, Any]) -> dict[str, Any] | None:
    manifest = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
    if manifest.pop("checksum") != checksum_of_manifest(manifest):
        return None
    return manifest if all(manifest[name] == value for name, value in facts.items()) else None


def _load(
    folder: Path, facts: Mapping[str, Any], wants: Callable[[str], bool]
) -> Generator[Progress, None, Entry | None]:
    manifest = _load_manifest(folder, facts)
    if manifest is None:
        return None
    entries = manifest.pop("arrays")
    arrays = {}
    for name in filter(wants, entries):
        entry = entries[name]
        mode = "r" if 0 not in entry["shape"] else None
        array = np.asarray(np.load(folder / f"{name}.npy", mmap_mode=mode, allow_pickle=False))
        if array.dtype.str != entry["dtype"] or list(array.shape) != entry["shape"]:
            return None
        arrays[name] = array
    done, total = 0, sum(array.nbytes for array in arrays.values())
    for name, array in arrays.items():
        checksum = yield from find_checksum(array, (done, total))
        if checksum != entries[name]["checksum"]:
            return None
        done += array.nbytes
    with contextlib.suppress(OSError):
        os.utime(folder / _MANIFEST)
    return Entry(manifest, arrays)


def store_entry(folder: Path, entry: Entry) -> Generator[Progress, None, bool]:
    """Store an entry, and return whether that succeeded; yield bytes done and in all."""
    total = sum(array.nbytes for array in entry.arrays.values())
    new = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        if shutil.disk_usage(folder.parent).free < 2 * total:
            return False
        new = Path(tempfile.mkdtemp(prefix=".new-", dir=folder.parent))
        yield from _write(new, entry, total)
        _replace(folder, new)
        _make_room(folder)
        return True
    except OSError:
        return False
    finally:
        if new is not None:
            shutil.rmtree(new, ignore_errors=True)


def _write(new: Path, entry: Entry, total: int) -> Generator[Progress, None, None]:
    done = 0
    written = {}
    for name, array in entry.arrays.items():
        array = np.ascontiguousarray(array)
        with (new / f"{name}.npy").open("wb") as file:
            header = np.lib.format.header_data_from_array_1_0(array)
            np.lib.format.write_array_header_1_0(file, header)
            content = array.reshape(-1).view(np.uint8)
            for start in range(0, len(content), _SLICE):
                piece = content[start : start + _SLICE]
                file.write(piece.data)
                done += len(piece)
                yield done, total
        checksum = yield from find_checksum(array, (done, total))
        shape = list(array.shape)
        written[name] = {"dtype": array.dtype.str, "shape": shape, "checksum": checksum}
    manifest = {**entry.facts, "arrays": written}
    manifest["checksum"] = checksum_of_manifest(manifest)
    text = json.dumps(manifest, indent=1)
    (new / _MANIFEST).write_text(text + "\n", encoding="utf-8")


def _replace(folder: Path, new: Path) -> None:
    if folder.exists():
        old = Path(tempfile.mkdtemp(prefix=".old-", dir=folder.parent))
        folder.replace(old / folder.name)
        new.replace(folder)
        shutil.rmtree(old, ignore_errors=True)
    else:
        new.replace(folder)


@dataclass
class _Held:
    """Estimates what a folder of entries holds, since listing 1,000 of them takes 0.05 s.

    Replaced entries count twice, and those of other processes not at all, until it is listed.
    """

    n_entries: int
    n_bytes: int


_HELD: dict[Path, _Held] = {}


def _make_room(kept: Path) -> None:
    """Remove the least recently used entries if this process may have filled their folder.

    Some more are removed than necessary, so that the next entries need no listing.
    """
    n_bytes = _size_of(kept)
    held = _HELD.get(kept.parent)
    if held is not None:
        held.n_entries += 1
        held.n_bytes += n_bytes
        if held.n_entries <= MAX_ENTRIES and held.n_bytes <= _limit(kept.parent, held.n_bytes):
            return
    entries = sorted(_list_others(kept), reverse=True)
    total = n_bytes + sum(size for _, size, _ in entries)
    most, most_bytes = MAX_ENTRIES, _limit(kept.parent, total)
    if 1 + len(entries) > most or total > most_bytes:
        most, most_bytes = most - int(SPARED * most), most_bytes - int(SPARED * most_bytes)
    for n_entries, (_, size, folder) in enumerate(entries, start=2):
        n_bytes += size
        if n_entries > most or n_bytes > most_bytes:
            shutil.rmtree(folder, ignore_errors=True)
    _HELD[kept.parent] = _Held(min(1 + len(entries), most), min(n_bytes, most_bytes))


def _limit(parent: Path, n_bytes: int) -> int:
    """Return how many bytes entries may take that now take ``n_bytes``."""
    # The chromosomes of a human pangenome take 20 GB and more; they should not evict each other.
    return max(MAX_CACHE_BYTES, (shutil.disk_usage(parent).free + n_bytes) // 2)


def _list_others(kept: Path) -> Iterator[tuple[float, int, Path]]:
    """Yield last use, size and folder of the other entries, and remove old partial ones."""
    for folder in kept.parent.iterdir():
        if folder.name.startswith((".new-", ".old-")):
            if time.time() - folder.stat().st_mtime > _SECONDS_PER_DAY:
                shutil.rmtree(folder, ignore_errors=True)
        elif (folder / _MANIFEST).exists() and folder != kept:
            yield (folder / _MANIFEST).stat().st_mtime, _size_of(folder), folder


def _size_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


def checksum_of_manifest(manifest: dict) -> str:
    """Return the checksum of a manifest without its checksum item."""
    rest = {key: value for key, value in manifest.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def find_checksum(array: np.ndarray, progress: T) -> Generator[T, None, str]:
    """Return the checksum of an array; yield ``progress`` at intervals."""
    content = array.reshape(-1).view(np.uint8)
    words = content[: len(content) & ~7].view(np.uint64)
    digest = hashlib.sha256(content[len(words) * 8 :].tobytes())
    for start in range(0, len(words), _SLICE_BYTES // 8):
        digest.update(_mix(words[start : start + _SLICE_BYTES // 8]).tobytes())
        yield progress
    return digest.hexdigest()


@njit(nogil=True, cache=True)
def _mix(words):
    """Return four sums of words; a change of any word changes at least one; uint64, shape (4,)."""
    sums = np.full(4, _FACTOR)
    n = len(words) & ~3
    for i in range(0, n, 4):
        for lane in range(4):
            mixed = (sums[lane] ^ words[i + lane]) * _FACTOR
            sums[lane] = mixed ^ (mixed >> _SHIFT)
    for i in range(n, len(words)):
        mixed = (sums[i - n] ^ words[i]) * _FACTOR
        sums[i - n] = mixed ^ (mixed >> _SHIFT)
    return sums
