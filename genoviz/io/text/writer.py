"""Text files written as a whole or not at all, in gzip where their names say so."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from os import PathLike
from pathlib import Path

import numba

from genoviz.io.files.replace_file import replace_file
from genoviz.io.text import bgzf

COMPRESSED_ENDINGS = (".gz", ".bgz")
_MIN_BYTES_TO_COMPRESS = 1 << 20

Chunk = bytes | memoryview


def write_text(path: str | PathLike[str], chunks: Iterable[Chunk]) -> None:
    """Write chunks of text, as BGZF where ``path`` ends in ``.gz`` or ``.bgz``.

    Raises
    ------
    FileFormatError
        If the file cannot be written.
    """
    for _ in iter_write_text(path, chunks):
        pass


def iter_write_text(path: str | PathLike[str], chunks: Iterable[Chunk]) -> Iterator[None]:
    """Write chunks of text as `write_text` does; yield after each write."""
    is_compressed = Path(path).suffix.lower() in COMPRESSED_ENDINGS
    with replace_file(path) as file:
        for chunk in _compressed(_joined(chunks)) if is_compressed else chunks:
            file.write(chunk)
            yield


def _joined(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """Yield the chunks with small ones put together."""
    small, n_bytes = [], 0
    for chunk in chunks:
        small.append(chunk)
        n_bytes += len(chunk)
        if n_bytes >= _MIN_BYTES_TO_COMPRESS:
            yield small[0] if len(small) == 1 else b"".join(small)
            small, n_bytes = [], 0
    if small:
        yield b"".join(small)


def _compressed(chunks: Iterable[Chunk]) -> Iterator[bytes]:
    """Yield the chunks as BGZF, compressed in all threads."""
    n_threads = numba.config.NUMBA_NUM_THREADS
    with ThreadPoolExecutor(n_threads) as pool:
        waiting: deque[Future[bytes]] = deque()
        for chunk in chunks:
            waiting.append(pool.submit(bgzf.compress_blocks, chunk))
            if len(waiting) > 2 * n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    yield bgzf.END
