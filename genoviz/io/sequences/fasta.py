"""Parallel reading, and writing, of FASTA files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from os import PathLike
from pathlib import Path
from typing import Any

import numba
import numpy as np

from genoviz.errors import FileFormatError, ParameterError, check_minimum, n_words
from genoviz.io.files.content import is_utf16, refuse_zeros
from genoviz.io.sequences import fasta_loops
from genoviz.io.text.encoding import explain_utf8, words_of
from genoviz.io.text.line_errors import line_number, show
from genoviz.io.text.text_file import write_text
from genoviz.model.sequences.sequences import LETTERS, UPPER_CASE, Sequences, cut_stretches

LINE_WIDTH = 60
_SLICE = 1 << 20
_NOT_IN_NAMES = re.compile(r"[\x00-\x08\x0a-\x1f]")
BLOCK = 1 << 20
_BLOCKS_PER_THREAD = 8
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_OTHERS = {
    b"@": "is FASTQ",
    b"GBZ ": "is a graph (GBZ)",
    b"S\t": "is a graph (GFA)",
    b"H\t": "is a graph (GFA)",
    b"BAM\1": "is BAM",
    b"##fileformat=VCF": "is VCF",
}
"""Starts of other formats, which users confuse with sequences."""
_FINDING, _READING = "Finding sequences", "Reading sequences"


def write_fasta(
    records: Iterable[tuple[str, np.ndarray]],
    path: str | PathLike[str],
    *,
    line_width: int = LINE_WIDTH,
) -> None:
    """Write named sequences as FASTA; gzipped if ``path`` ends in ``.gz``.

    Parameters
    ----------
    records
        Name and uint8 letters of each sequence.
    line_width
        Bases per line; 0 for a single line.

    Raises
    ------
    ParameterError
        If a name contains a line break, or ``line_width`` is negative.
    FileFormatError
        If the file cannot be written.
    """
    check_minimum("line_width", line_width, 0)
    write_text(path, _render(records, line_width))


def _render(records: Iterable[tuple[str, np.ndarray]], line_width: int) -> Iterator[bytes]:
    for name, bases in records:
        if not name or _NOT_IN_NAMES.search(name):
            raise ParameterError(f"a sequence is named {name!r}, needs a name on one line")
        yield f">{name}\n".encode()
        yield from _wrap(bases, line_width)


def _wrap(bases: np.ndarray, line_width: int) -> Iterator[bytes]:
    """Yield the lines of a sequence in chunks of about a megabyte."""
    width = line_width or max(len(bases), 1)
    n_bases = width * max(1, _SLICE // width)
    for start in range(0, len(bases), n_bases):
        part = bases[start : start + n_bases]
        n_full = len(part) // width
        lines = np.full((n_full, width + 1), ord("\n"), np.uint8)
        lines[:, :width] = part[: n_full * width].reshape(n_full, width)
        yield lines.tobytes()
        if n_full * width < len(part):
            yield part[n_full * width :].tobytes() + b"\n"


Progress = tuple[str, int, int]


def read_fasta(path: Path, text: np.ndarray) -> Generator[Progress, None, Sequences]:
    """Return the sequences of a FASTA text; yields stage, bytes done and total bytes.

    Raises
    ------
    FileFormatError
        If the text is not FASTA, or has letters that are not nucleotides; names the line.
    """
    if text[:3].tobytes() == _BYTE_ORDER_MARK:
        text = text[3:]
    _check_start(path, text)
    refuse_zeros(path, text)
    n_threads = numba.config.NUMBA_NUM_THREADS
    with ThreadPoolExecutor(n_threads) as pool:

        def run(stage: str, call: Callable[[int, int], Any]) -> Generator[Progress, None, list]:
            results: list = []
            firsts = range(0, len(text), BLOCK)
            batch = n_threads * _BLOCKS_PER_THREAD
            for row in range(0, len(firsts), batch):
                some = firsts[row : row + batch]
                stops = [min(first + BLOCK, len(text)) for first in some]
                results += pool.map(call, some, stops)
                yield stage, stops[-1], len(text)
            return results

        starts, ends = yield from _find_headers(text, run)
        offsets, bases, masked = yield from _read_letters(path, text, (starts, ends), run)
    headers = [
        _decode_header(path, text, start + 1, end)
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]
    if any("\r" in header for header in headers):
        raise FileFormatError(path, "has lines that end in a carriage return alone, needs newlines")
    names, notes = name_sequences([(words_of(header) or [""])[0] for header in headers])
    return Sequences(names, offsets, bases, masked, notes, tuple(headers))


def _decode_header(path: Path, text: np.ndarray, start: int, end: int) -> str:
    """Return a header; what stands behind the name need not be UTF-8."""
    header = text[start:end].tobytes()
    try:
        return header.decode().rstrip("\r")
    except UnicodeDecodeError as error:
        name = (header.split(maxsplit=1) or [b""])[0]
        if error.start < header.find(name) + len(name):
            line = line_number(text, start)
            raise FileFormatError(path, explain_utf8(error), line=line) from error
    return header.decode("utf-8", "replace").rstrip("\r")


def _check_start(path: Path, text: np.ndarray) -> None:
    start = text[: 1 << 16].tobytes()
    first = start.lstrip()
    if not first:
        raise FileFormatError(path, "has no sequence, needs one at least")
    if not first.startswith(b">"):
        line = 1 + start[: len(start) - len(first)].count(b"\n")
        if is_utf16(start[:400]):
            raise FileFormatError(path, "is text in UTF-16, needs UTF-8")
        others = (words for begin, words in _OTHERS.items() if first.startswith(begin))
        what = next(others, f"begins with {show(first.split()[0], 24)}")
        raise FileFormatError(path, f"{what}, needs to be FASTA ('>') or 2bit", line=line)


def _find_headers(
    text: np.ndarray, run: Callable
) -> Generator[Progress, None, tuple[np.ndarray, np.ndarray]]:
    """Return the starts and ends of headers; each int64, shape (n_sequences,)."""
    found = yield from run(
        _FINDING, lambda first, stop: fasta_loops.find_headers(text, first, stop)
    )
    starts = np.concatenate(found)
    ends = np.empty(len(starts), np.int64)
    fasta_loops.find_line_ends(text, starts, ends)
    return starts, ends


def _read_letters(
    path: Path, text: np.ndarray, headers: tuple[np.ndarray, np.ndarray], run: Callable
) -> Generator[Progress, None, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return offsets, bases and soft-masked intervals."""
    starts, ends = headers
    n_before = np.empty(len(starts), np.int64)

    def count(first: int, stop: int) -> int:
        return fasta_loops.count_letters(text, first, stop, starts, ends, n_before)

    counts = yield from run(_FINDING, count)
    firsts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    offsets = np.append(n_before + firsts[starts // BLOCK], firsts[-1])
    bases = np.empty(firsts[-1], np.uint8)

    def copy(first: int, stop: int) -> tuple[np.ndarray, int]:
        n, n_stop = firsts[first // BLOCK : first // BLOCK + 2].tolist()
        bounds = np.empty(n_stop - n + 1, np.int64)
        n_bounds, wrong = fasta_loops.copy_letters(
            text, first, stop, starts, ends, UPPER_CASE, bases, n, bounds
        )
        return bounds[:n_bounds].copy(), wrong

    copied = yield from run(_READING, copy)
    wrong = [position for _, position in copied if position >= 0]
    if wrong:
        raise _wrong_letter(path, text, min(wrong))
    bounds = np.concatenate([bounds for bounds, _ in copied])
    return offsets, bases, cut_stretches(join_stretches(bounds.reshape(-1, 2)), offsets)


def _wrong_letter(path: Path, text: np.ndarray, position: int) -> FileFormatError:
    letter = show(text[position : position + 1].tobytes())
    return FileFormatError(
        path,
        f"the sequence has {letter}, needs letters of {LETTERS.decode()}",
        line=line_number(text, position),
    )


def join_stretches(stretches: np.ndarray) -> np.ndarray:
    """Merge adjacent ascending stretches; int64, shape (n_stretches, 2)."""
    begins = np.ones(len(stretches), bool)
    begins[1:] = stretches[1:, 0] > stretches[:-1, 1]
    last = np.append(np.flatnonzero(begins), len(stretches))[1:] - 1
    return np.stack([stretches[begins, 0], stretches[last, 1]], axis=1)


def name_sequences(words: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return names and notes; a sequence without a name gets its number."""
    notes = []
    nameless = [rank for rank, word in enumerate(words) if not word]
    names = [word or f"sequence_{rank + 1}" for rank, word in enumerate(words)]
    if nameless:
        notes.append(
            f"{len(nameless):,} of {n_words(len(names), 'sequence')} have no name; the first of "
            "them is "
            f"called {names[nameless[0]]}"
        )
    repeated = [name for name, n in Counter(names).items() if n > 1]
    if repeated:
        which = n_words(len(repeated), "name is that", "names are those")
        notes.append(
            f"{which} of several sequences, which are kept apart; the first is {repeated[0]}"
        )
    return tuple(names), tuple(notes)
