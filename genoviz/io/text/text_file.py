"""Text files, plain or gzipped: reading as one array (mapped, in memory or on disk), and writing.

Files are written atomically. Gzip output consists of small members of known size (BGZF), which
threads can compress and decompress in parallel; any gzip tool can read it.

References
----------
SAM specification, section 4.1, https://samtools.github.io/hts-specs/SAMv1.pdf
"""

from __future__ import annotations

import io
import struct
import zlib
from codecs import BOM_UTF8
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from os import PathLike
from pathlib import Path

import numba
import numpy as np

from genoviz.errors import FileFormatError
from genoviz.generators import finish
from genoviz.io.files.content import open_content, refuse_zeros, unreadable
from genoviz.io.files.reading_rules import RULES, show_bytes
from genoviz.io.files.replace_file import replace_file
from genoviz.model.temporary_file import TemporaryFile

MAX_BYTES_IN_MEMORY = 256 << 20
_SLICE, _COMPRESSED_SLICE = 8 << 20, 1 << 20
_GZIP_MAGIC = b"\x1f\x8b"
_OTHER_COMPRESSIONS = {
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"PK\x03\x04": "zip",
}
_MAX_START = 1 << 16
COMPRESSED_ENDINGS = (".gz", ".bgz")
_MIN_BYTES_TO_COMPRESS = 1 << 20
Chunk = bytes | memoryview
MAX_BLOCK_BYTES = 65_280
BGZF_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
_HEADER = bytes.fromhex("1f8b08040000000000ff060042430200")
_BLOCKS_PER_THREAD, _LEVEL = 64, 6


def open_text(
    path: Path,
    *,
    may_be_empty: bool = False,
    may_be_binary: bool = False,
    needs: str = "at least one line",
    n_threads: int | None = None,
) -> Generator[tuple[int, int], None, np.ndarray]:
    """Return the text of a plain or gzip-compressed file; uint8, read-only, shape (n_bytes,).

    A generator that yields bytes done and total bytes while it copies, or decompresses with all of
    Numba's threads or ``n_threads``; more than 256 MB into an unnamed temporary file.
    ``may_be_binary`` allows other content than text. An empty file is told what it ``needs``.

    Raises
    ------
    FileFormatError
        If it is missing, no regular file, unreadable or damaged, has a zero byte, or is empty.
    """
    content = yield from open_content(path, needs=needs, may_be_empty=may_be_empty)
    if not is_gzip(path, content):
        if not may_be_binary:
            refuse_zeros(path, content)
        return content
    sink = _Sink(path)
    yield from decompress(path, content, sink.write, n_threads)
    text = sink.to_array()
    if len(text) == 0 and not may_be_empty:
        raise FileFormatError(path, f"the file is empty once decompressed, needs {needs}")
    if not may_be_binary:
        refuse_zeros(path, text)
    return text


def is_gzip(path: Path, content: np.ndarray) -> bool:
    """Return whether content is gzipped; rejects other compression formats."""
    for magic, name in _OTHER_COMPRESSIONS.items():
        if content[: len(magic)].tobytes() == magic:
            raise FileFormatError(path, f"is compressed with {name}, needs to be plain or gzip")
    return content[:2].tobytes() == _GZIP_MAGIC


class _Sink:
    """A buffer in memory that moves to disk when it is large."""

    def __init__(self, path: Path) -> None:
        self._path, self._memory = path, io.BytesIO()
        self._file: TemporaryFile | None = None

    def write(self, content: bytes) -> None:
        if self._file is not None:
            self._file.append(content)
        elif self._memory.tell() + len(content) <= MAX_BYTES_IN_MEMORY:
            self._memory.write(content)
        else:
            self._file = TemporaryFile(path=self._path)
            self._file.append(self._memory.getvalue())
            self._file.append(content)
            self._memory.close()

    def to_array(self) -> np.ndarray:
        if self._file is None:
            return np.frombuffer(self._memory.getvalue(), np.uint8)
        with self._file as file:
            return file.map(np.uint8)


def decompress(
    path: Path,
    content: np.ndarray,
    write: Callable[[bytes], object],
    n_threads: int | None = None,
) -> Generator[tuple[int, int], None, None]:
    """Write the text of gzip-compressed content in parts; yields bytes done and total."""
    n, position, lacks_end_mark = len(content), 0, False
    gauge = _Gauge(path, n)
    n_threads = n_threads or numba.config.NUMBA_NUM_THREADS
    with ThreadPoolExecutor(n_threads) as pool:
        while position < n:
            blocks = find_blocks(content, position, n_threads * _BLOCKS_PER_THREAD)
            views = [content[start:stop].data for start, stop in pairwise(blocks)]
            for view, text in zip(views, pool.map(decompress_block, views), strict=True):
                if text is None:
                    break
                position += len(view)
                gauge.check(text, position)
                write(text)
                lacks_end_mark = bool(text)
            yield position, n
            if position < blocks[-1] or len(blocks) == 1:
                position = yield from _decompress_member(path, content, position, write, gauge)
                lacks_end_mark = False
    if lacks_end_mark:
        raise FileFormatError(
            path, "the gzip blocks end without an end mark (truncated file), need the whole file"
        )


def _decompress_member(
    path: Path,
    content: np.ndarray,
    position: int,
    write: Callable[[bytes], object],
    gauge: _Gauge,
) -> Generator[tuple[int, int], None, int]:
    """Decompress one gzip member, or skip padding; return its end."""
    n = len(content)
    if content[position : position + 2].tobytes() != _GZIP_MAGIC:
        if not content[position:].any():
            return n
        raise FileFormatError(
            path, f"byte {position + 1:,} starts neither gzip data nor padding, needs one"
        )
    stream = zlib.decompressobj(wbits=31)
    while not stream.eof:
        if position >= n:
            raise FileFormatError(
                path, "the gzip data end too early (truncated file), need the whole file"
            )
        compressed = content[position : position + _COMPRESSED_SLICE].data
        try:
            text = stream.decompress(compressed, _SLICE)
        except zlib.error as error:
            raise FileFormatError(
                path, f"the gzip data are damaged near byte {position + 1:,} ({error})"
            ) from error
        position += len(compressed) - len(stream.unused_data) - len(stream.unconsumed_tail)
        gauge.check(text, position)
        write(text)
        yield position, n
    return position


class _Gauge:
    """Enforces this process's limits on size, line length and compression ratio of text."""

    def __init__(self, path: Path, n_compressed: int) -> None:
        self._path, self._n_compressed = path, n_compressed
        self._n_bytes = self._line_bytes = 0

    def check(self, text: bytes, position: int) -> None:
        """Check a part of the text that ends at a position of the compressed file."""
        self._n_bytes += len(text)
        maximum = RULES.max_text_bytes
        if maximum is not None and self._n_bytes > maximum:
            self._refuse(f"holds more than {show_bytes(maximum)} of text", "max_text_bytes")
        maximum = RULES.max_ratio
        tight = self._n_bytes > MAX_BYTES_IN_MEMORY and self._n_bytes > (maximum or 0) * position
        if maximum is not None and tight:
            self._refuse(
                f"holds {show_bytes(self._n_bytes)} of text in its first {show_bytes(position)}, "
                f"more than {maximum:,} times as much (no genomic file does)",
                "max_ratio",
            )
        maximum = RULES.max_line_bytes
        if maximum is not None:
            end = text.find(b"\n")
            self._line_bytes += len(text) if end < 0 else end
            if self._line_bytes > maximum:
                self._refuse(f"has a line of more than {show_bytes(maximum)}", "max_line_bytes")
            if end >= 0:
                self._line_bytes = len(text) - text.rfind(b"\n") - 1

    def _refuse(self, found: str, limit: str) -> None:
        raise FileFormatError(
            self._path,
            f"{found} once decompressed, and is not read further; decompress its "
            f"{show_bytes(self._n_compressed)} and open that, or have the limit {limit} raised",
        )


def read_bytes(path: str | PathLike[str], **may_be: bool) -> np.ndarray:
    """Return the content of a file as `open_text`, with its options and errors.

    The byte order mark that some editors write before a text is no part of it.
    """
    content = finish(open_text(Path(path), **may_be))
    return content[len(BOM_UTF8) :] if content[: len(BOM_UTF8)].tobytes() == BOM_UTF8 else content


def refuse_returns(path: Path, text: np.ndarray) -> None:
    """Reject a text whose lines end in CR alone, as those of old Macs; it would be one line."""
    start = text[:_MIN_BYTES_TO_COMPRESS].tobytes()
    if b"\r" in start.rstrip() and b"\n" not in start:
        raise FileFormatError(path, "has lines that end in CR alone, needs LF or CR LF (Unix, DOS)")


def read_start(path: str | PathLike[str], n_bytes: int) -> bytes:
    """Return the first ``n_bytes`` bytes of a file's content, or fewer if it is shorter.

    Raises
    ------
    FileFormatError
        If the file cannot be read or decompressed.
    """
    try:
        with Path(path).open("rb") as file:
            start = file.read(_MAX_START)
    except OSError as error:
        raise unreadable(Path(path), error) from error
    if not start.startswith(_GZIP_MAGIC):
        return start[:n_bytes]
    content = b""
    try:  # members may be empty, as the first one of files that were joined
        while len(content) < n_bytes and start.startswith(_GZIP_MAGIC):
            stream = zlib.decompressobj(wbits=31)
            content += stream.decompress(start, n_bytes - len(content))
            start = stream.unused_data
    except zlib.error as error:
        raise FileFormatError(path, f"the gzip data are damaged ({error})") from error
    return content


def write_text(path: str | PathLike[str], chunks: Iterable[Chunk]) -> None:
    """Write chunks of text; as BGZF if ``path`` ends in ``.gz`` or ``.bgz``.

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
    """Yield the chunks, with small ones merged."""
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
    """Return a text as BGZF members; a BGZF file ends with :data:`BGZF_END`."""
    parts = []
    for start in range(0, len(text), MAX_BLOCK_BYTES):
        block = text[start : start + MAX_BLOCK_BYTES]
        content = zlib.compress(block, _LEVEL, wbits=-zlib.MAX_WBITS)
        size = len(_HEADER) + 2 + len(content) + 8
        parts += [_HEADER, struct.pack("<H", size - 1), content]
        parts.append(struct.pack("<II", zlib.crc32(block), len(block)))
    return b"".join(parts)


def find_blocks(content: np.ndarray, position: int, n_blocks: int) -> list[int]:
    """Return the starts of up to ``n_blocks`` BGZF members from ``position`` on, and the last end.

    Only headers are read; without a member the result is ``[position]``.
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
    """Return the text of one member, or None if it is incomplete or damaged."""
    stream = zlib.decompressobj(wbits=31)
    try:
        text = stream.decompress(block, 1 << 16)
        return text if stream.eof and not stream.unused_data else None
    except zlib.error:
        return None
