"""Fingerprints of source files, and the cache folders of derived data."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

MIN_BYTES = 1 << 20

_WHOLE_HASH_BYTES = 4 << 20
_N_SAMPLES = 64
_SAMPLE_BYTES = 16 << 10


@dataclass(frozen=True)
class Source:
    """Fingerprint of a file; ``sha256`` covers samples of it, or all of a small file."""

    path: str
    size: int
    mtime_ns: int
    sha256: str

    @classmethod
    def of(cls, path: Path) -> Source:
        """Return the current fingerprint of a file."""
        path = path.resolve()
        status = path.stat()
        digest = hashlib.sha256()
        with path.open("rb") as file:
            if status.st_size <= _WHOLE_HASH_BYTES:
                digest.update(file.read())
            else:
                last = status.st_size - _SAMPLE_BYTES
                for sample in range(_N_SAMPLES):
                    file.seek(last * sample // (_N_SAMPLES - 1))
                    digest.update(file.read(_SAMPLE_BYTES))
        return cls(str(path), status.st_size, status.st_mtime_ns, digest.hexdigest())


def file_at(address: Path) -> Path:
    """Return the file at an address: itself, or for ``genome.gbz/chr6`` the file genome.gbz."""
    # Unlike Path.is_file, this raises nothing, whatever the name.
    return address.parent if os.path.isfile(address.parent) else address  # noqa: PTH113


def entry_folder(group: str, path: str | Path) -> Path:
    """Return the cache folder of a file or folder within a group of entries."""
    path = str(path)
    key = hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return cache_folder(group) / f"{re.sub('[^A-Za-z0-9._-]', '_', Path(path).name[:60])}-{key}"


def cache_folder(group: str) -> Path:
    """Return the cache folder of a group of entries; ``GENOVIZ_CACHE_DIR`` changes the root."""
    chosen = os.environ.get("GENOVIZ_CACHE_DIR")
    if chosen:
        return Path(chosen) / group
    import platformdirs

    return Path(platformdirs.user_cache_dir("genoviz")) / group


def find_source(path: Path) -> Source | None:
    """Return the fingerprint of a file, or None if it cannot or need not be cached."""
    with contextlib.suppress(OSError):
        if path.is_file() and path.stat().st_size >= MIN_BYTES:
            return Source.of(path)
    return None
