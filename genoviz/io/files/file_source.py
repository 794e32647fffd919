"""What a file was when it was read, and where the cache keeps what was made of it."""

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
    """What a file was when it was read; ``sha256`` is of samples of it, of all when small."""

    path: str
    size: int
    mtime_ns: int
    sha256: str

    @classmethod
    def of(cls, path: Path) -> Source:
        """Return what a file is now."""
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


def entry_folder(group: str, path: str | Path) -> Path:
    """Return the folder of what the cache has of a file or folder, in a group of entries."""
    path = str(path)
    key = hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return cache_folder(group) / f"{re.sub('[^A-Za-z0-9._-]', '_', Path(path).name[:60])}-{key}"


def cache_folder(group: str) -> Path:
    """Return the folder of a group of entries; the variable ``GENOVIZ_CACHE_DIR`` moves all."""
    chosen = os.environ.get("GENOVIZ_CACHE_DIR")
    if chosen:
        return Path(chosen) / group
    import platformdirs

    return Path(platformdirs.user_cache_dir("genoviz")) / group


def find_source(path: Path) -> Source | None:
    """Return what a file is, or None when it cannot be cached or is too small to be worth it."""
    with contextlib.suppress(OSError):
        if path.is_file() and path.stat().st_size >= MIN_BYTES:
            return Source.of(path)
    return None
