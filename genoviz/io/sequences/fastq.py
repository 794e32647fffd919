"""Reads of FASTQ files, block by block; a file is never in memory as a whole."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from os import PathLike
from pathlib import Path

import numba
import numpy as np
from numba import njit

from genoviz.errors import FileFormatError
from genoviz.generators import finish
from genoviz.io.files.content import forget, open_content, refuse_zeros
from genoviz.io.text.line_errors import show
from genoviz.io.text.text_file import decompress, is_gzip, read_start

BLOCK_BYTES = 4 << 20
# What has no record in so many blocks is not read ahead as one piece.
_MAX_BLOCKS, _MAX_THREADS = 4, 16
_HEADER, _BASES, _PLUS, _QUALITIES = range(4)
# State of the line loop: kind of the line, place in it, bases, qualities, lines before it.
_STATE = np.array([_HEADER, 0, 0, 0, 0], np.int64)
_NO_HEADER, _NO_PLUS, _NO_LETTER, _OTHER_LENGTH = 1, 2, 3, 4
_PROBLEMS = {
    _NO_HEADER: "begins with {}, needs '@' and a name: a record of FASTQ has four lines",
    _NO_PLUS: "begins with {}, needs '+': a record of FASTQ has four lines",
    _NO_LETTER: "has {}, needs A C G T N or another letter of nucleotides",
    _OTHER_LENGTH: "has another number of qualities than its read has bases",
}
_IS_LETTER = np.zeros(256, bool)
_IS_LETTER[np.frombuffer(b"ACGTUNRYSWKMBDHVacgtunryswkmbdhv.-", np.uint8)] = True


def is_fastq(path: str | PathLike[str]) -> bool:
    """Return whether a file looks like FASTQ, plain or gzipped.

    Raises
    ------
    FileFormatError
        If it cannot be read.
    """
    return read_start(path, 1) == b"@"


def iter_fastq_blocks(path: str | PathLike[str]) -> Iterator[tuple[float, np.ndarray]]:
    """Yield the reads of a FASTQ file, some megabytes at a time, and the fraction read.

    Parameters
    ----------
    path
        FASTQ with four lines a record, plain or gzipped.

    Yields
    ------
    share, letters
        0 to 1; and uint8, shape (n,): the letters of reads as the file has them, with a newline
        after each read. A read may go on in the next block.

    Raises
    ------
    FileFormatError
        If the file cannot be read, is damaged, or is not FASTQ; names the line.
    """
    path, state = Path(path), _STATE.copy()
    content = finish(open_content(path, needs="reads in FASTQ"))
    if is_gzip(path, content):
        for share, text in _iter_unpacked(path, content):
            yield share, _take_letters(path, text, 0, len(text), state)
    else:
        yield from _iter_plain(path, content, state)
    kind, column, n_bases, n_qualities, line = state.tolist()
    if kind == _QUALITIES and n_bases == n_qualities:
        return
    if kind != _HEADER or column:
        raise FileFormatError(
            path, "the file ends within a record, needs four lines for each", line=line + 1
        )


def _iter_plain(
    path: Path, content: np.ndarray, state: np.ndarray
) -> Iterator[tuple[float, np.ndarray]]:
    """Yield letters and shares of a plain file. Threads read ahead from what look like records.

    What they read counts only where the text before it ends with a record. Otherwise, or if they
    found something wrong, it is read again in order, so that they change no result and no message.
    """
    n_threads = min(numba.config.NUMBA_NUM_THREADS, _MAX_THREADS)
    with ThreadPoolExecutor(n_threads) as pool:
        waiting: deque[tuple[int, int, Future | None]] = deque()
        first = 0
        for last in _iter_cuts(content):
            is_short = last - first <= _MAX_BLOCKS * BLOCK_BYTES
            future = pool.submit(_read_ahead, content, first, last) if is_short else None
            waiting.append((first, last, future))
            first = last
            if len(waiting) > 2 * n_threads:
                yield from _finish(path, content, state, *waiting.popleft())
        while waiting:
            yield from _finish(path, content, state, *waiting.popleft())


def _iter_cuts(content: np.ndarray) -> Iterator[int]:
    """Yield where what looks like a record begins, at most once a block, and the end."""
    for first in range(BLOCK_BYTES, len(content), BLOCK_BYTES):
        cut = _find_record(content, first, min(first + BLOCK_BYTES, len(content)))
        if cut > 0:
            yield cut
    yield len(content)


def _read_ahead(content: np.ndarray, first: int, last: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the letters of records and the state after them, or None if something is wrong."""
    state = _STATE.copy()
    try:
        return _take_letters(Path(), content, first, last, state), state
    except FileFormatError:
        return None


def _finish(
    path: Path, content: np.ndarray, state: np.ndarray, first: int, last: int, future: Future | None
) -> Iterator[tuple[float, np.ndarray]]:
    """Yield the letters of a part of a file and the fraction read, and update the state."""
    found = None if future is None else future.result()
    if found is not None and not state[:-1].any():
        letters, after = found
        after[-1] += state[-1]
        state[:] = after
        yield last / len(content), letters
    else:
        for start in range(first, last, BLOCK_BYTES):
            stop = min(start + BLOCK_BYTES, last)
            yield stop / len(content), _take_letters(path, content, start, stop, state)
    forget(content, first, last)


def _iter_unpacked(path: Path, content: np.ndarray) -> Iterator[tuple[float, np.ndarray]]:
    """Yield the text of a gzipped file in blocks, and the fraction read."""
    parts: list[bytes] = []
    for n_done, n_total in decompress(path, content, parts.append):
        for part in parts:
            yield n_done / max(n_total, 1), np.frombuffer(part, np.uint8)
        parts.clear()
    for part in parts:
        yield 1.0, np.frombuffer(part, np.uint8)


def _take_letters(
    path: Path, text: np.ndarray, first: int, last: int, state: np.ndarray
) -> np.ndarray:
    """Return the letters of reads in a piece of text, and update the state."""
    refuse_zeros(path, text[first:last], int(state[4]))
    letters = np.empty(last - first + 1, np.uint8)
    words = text[: len(text) // 8 * 8].view(np.uint64)
    n, problem, at = _copy_letters(text, words, first, last, state, _IS_LETTER, letters)
    if problem:
        shown = show(text[at : at + 24].tobytes().split(b"\n")[0])
        if problem == _NO_LETTER:
            shown = show(text[at : at + 1].tobytes())
        raise FileFormatError(path, _PROBLEMS[problem].format(shown), line=int(state[4]) + 1)
    return letters[:n]


@njit(nogil=True, cache=True)
def _find_record(text, first, last):
    """Return the start of the first line of a range that looks like a header, or -1.

    It begins with @, and the second line after it with +. Qualities that begin with @ are followed
    by a header and by bases, which have no +.
    """
    i = first
    while i < last:
        if text[i - 1] == 10 and text[i] == 64:
            n_lines, k = 0, i
            while k < len(text) and n_lines < 2:
                n_lines += text[k] == 10
                k += 1
            if n_lines == 2 and k < len(text) and text[k] == 43:
                return i
        i += 1
    return -1


@njit(nogil=True, cache=True)
def _copy_letters(text, words, first, last, state, is_letter, letters):
    """Copy the letters of reads; return their number, and kind and place of an error.

    ``words`` are the bytes of the text, eight at a time: most lines are only scanned for their end.
    """
    kind, column, n_bases, n_qualities, line = state
    n, i = 0, first
    problem, at = 0, last
    while i < last:
        end = _find_newline(text, words, i, last)
        stop = end - 1 if end > i and text[end - 1] == 13 else end
        if kind == 1:
            is_right = True
            for place in range(i, stop):
                byte = text[place]
                is_right &= is_letter[byte]
                letters[n + place - i] = byte
            if not is_right:
                problem, at = 3, i
                while is_letter[text[at]]:
                    at += 1
                break
            n += stop - i
            n_bases += stop - i
        elif kind == 3:
            n_qualities += stop - i
        elif column == 0 and stop > i and text[i] != (64 if kind == 0 else 43):
            problem, at = kind // 2 + 1, i
            break
        column += stop - i
        if end == last:
            break
        if kind == 3 and n_bases != n_qualities:
            problem, at = 4, end
            break
        if kind == 2 and column == 0:
            problem, at = 2, end
            break
        line += 1
        i = end + 1
        if kind == 0 and column == 0:
            continue
        if kind == 1:
            letters[n] = 10
            n += 1
        elif kind == 3:
            n_bases = n_qualities = 0
        kind = (kind + 1) & 3
        column = 0
    state[:] = kind, column, n_bases, n_qualities, line
    return n, problem, at


@njit(nogil=True, cache=True)
def _find_newline(text, words, i, last):
    """Return the position of the newline of the line, or the end of the piece."""
    while i < last and i & 7:
        if text[i] == 10:
            return i
        i += 1
    if i >= last:
        return last
    word = i >> 3
    while word < last >> 3:
        # XOR turns newlines into zero bytes, and a zero byte borrows from its highest bit.
        others = words[word] ^ np.uint64(0x0A0A0A0A0A0A0A0A)
        borrows = (others - np.uint64(0x0101010101010101)) & ~others
        if borrows & np.uint64(0x8080808080808080):
            break
        word += 1
    i = word << 3
    while i < last and text[i] != 10:
        i += 1
    return i
