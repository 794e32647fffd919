"""Reads of FASTQ files, block by block; a file is never in memory as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from pathlib import Path

import numpy as np
from numba import njit

from genoviz.errors import FileFormatError
from genoviz.generators import finish
from genoviz.io.files.content import forget, open_content, refuse_zeros
from genoviz.io.text.line_errors import show
from genoviz.io.text.text_file import decompress, is_gzip, read_start

BLOCK_BYTES = 4 << 20
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
    for share, text in _iter_text(path):
        refuse_zeros(path, text, int(state[4]))
        letters = np.empty(len(text) + 1, np.uint8)
        words = text[: len(text) // 8 * 8].view(np.uint64)
        n, problem, at = _copy_letters(text, words, state, _IS_LETTER, letters)
        if problem:
            shown = show(text[at : at + 24].tobytes().split(b"\n")[0])
            if problem == _NO_LETTER:
                shown = show(text[at : at + 1].tobytes())
            raise FileFormatError(path, _PROBLEMS[problem].format(shown), line=int(state[4]) + 1)
        yield share, letters[:n]
    kind, column, n_bases, n_qualities, line = state.tolist()
    if kind == _QUALITIES and n_bases == n_qualities:
        return
    if kind != _HEADER or column:
        raise FileFormatError(
            path, "the file ends within a record, needs four lines for each", line=line + 1
        )


def _iter_text(path: Path) -> Iterator[tuple[float, np.ndarray]]:
    """Yield a file's text in blocks, and the fraction read."""
    content = finish(open_content(path))
    if not is_gzip(path, content):
        for first in range(0, len(content), BLOCK_BYTES):
            block = content[first : first + BLOCK_BYTES]
            yield (first + len(block)) / len(content), block
            forget(content, first, first + len(block))
        return
    parts: list[bytes] = []
    for n_done, n_total in decompress(path, content, parts.append):
        for part in parts:
            yield n_done / max(n_total, 1), np.frombuffer(part, np.uint8)
        parts.clear()
    for part in parts:
        yield 1.0, np.frombuffer(part, np.uint8)


@njit(nogil=True, cache=True)
def _copy_letters(text, words, state, is_letter, letters):
    """Copy the letters of reads; return their number, and kind and place of an error.

    ``words`` are the bytes of the text, eight at a time: most lines are only scanned for their end.
    """
    kind, column, n_bases, n_qualities, line = state
    n = i = 0
    problem, at = 0, len(text)
    while i < len(text):
        end = _find_newline(text, words, i)
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
        if end == len(text):
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
def _find_newline(text, words, i):
    """Return the position of the newline of the line, or the end of the text."""
    while i < len(text) and i & 7:
        if text[i] == 10:
            return i
        i += 1
    if i == len(text):
        return i
    word = i >> 3
    while word < len(words):
        # XOR turns newlines into zero bytes, and a zero byte borrows from its highest bit.
        others = words[word] ^ np.uint64(0x0A0A0A0A0A0A0A0A)
        borrows = (others - np.uint64(0x0101010101010101)) & ~others
        if borrows & np.uint64(0x8080808080808080):
            break
        word += 1
    i = word << 3
    while i < len(text) and text[i] != 10:
        i += 1
    return i
