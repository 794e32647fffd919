"""Text files written as a whole or not at all, in gzip where their names say so.

Gzip is in small members whose sizes are known (BGZF), which all threads compress or read at once;
any gzip tool reads such a file.

References
----------
SAM specification, section 4.1, https://samtools.github.io/hts-specs/SAMv1.pdf
"""

from __future__ import annotations

import struct
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from os import PathLike
from pathlib import Path

import numba
import numpy as np

from genoviz.io.files.replace_file import replace_file

COMPRESSED_ENDINGS = (".gz", ".bgz")
_MIN_BYTES_TO_COMPRESS = 1 << 20

Chunk = bytes | memoryview
MAX_BLOCK_BYTES = 65_280
BGZF_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
_HEADER = bytes.fromhex("1f8b08040000000000ff060042430200")
_LEVEL = 6


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
            waiting.append(pool.submit(compress_blocks, chunk))
            if len(waiting) > 2 * n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    yield BGZF_END


def compress_blocks(text: bytes | memoryview) -> bytes:
    """Return a text as BGZF members; a file of them ends with :data:`BGZF_END`."""
    parts = []
    for start in range(0, len(text), MAX_BLOCK_BYTES):
        block = text[start : start + MAX_BLOCK_BYTES]
        compressor = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
        content = compressor.compress(block) + compressor.flush()
        size = len(_HEADER) + 2 + len(content) + 8
        parts += [_HEADER, struct.pack("<H", size - 1), content]
        parts.append(struct.pack("<II", zlib.crc32(block), len(block)))
    return b"".join(parts)


def find_blocks(content: np.ndarray, position: int, n_blocks: int) -> list[int]:
    """Return where up to ``n_blocks`` BGZF members from ``position`` on begin, and the last ends.

    Only the header of each is looked at; without one the list is ``[position]``.
    """
    bounds = [position]
    while len(bounds) <= n_blocks:
        header = content[position : position + 18].tobytes()
        if len(header) < 18 or header[:4] != _HEADER[:4] or header[10:16] != _HEADER[10:16]:
            break
        position += int.from_bytes(header[16:18], "little") + 1
        if position > len(content):
            break
        bounds.append(position)
    return bounds


def decompress_block(block: memoryview) -> bytes | None:
    """Return the text of one member, or None if it is not one whole, sound member."""
    stream = zlib.decompressobj(wbits=31)
    try:
        text = stream.decompress(block, 1 << 16)
        return text if stream.eof and not stream.unused_data else None
    except zlib.error:
        return None
