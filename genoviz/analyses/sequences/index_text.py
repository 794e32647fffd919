"""Sequences as the text of a k-mer index."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, prange

from genoviz.model.sequences.index_text import BASES_PER_WORD, IndexText
from genoviz.model.sequences.sequences import Sequences, cut_stretches

_CHUNK_BASES = 1 << 20
_CHUNK_WORDS = 1 << 14
_BLOCK = 64
_WORD = 32
_A, _C, _G, _T = 65, 67, 71, 84
_ONE, _THREE = np.uint64(1), np.uint64(3)


def make_index_text(sequences: Sequences) -> IndexText:
    """Return the text to index: bases in two bits, other letters as runs, contig ends marked.

    Examples
    --------
    >>> text = make_index_text(Sequences.from_records([("chr1", "ACNNRGT"), ("chr2", "T")]))
    >>> text.symbols().tolist(), text.run_lengths.tolist()
    ([0, 1, 4, 2, 3, 4, 3, 4], [3, 0, 0])
    >>> text.find(0, 5), text.find(0, 3), text.cut(0, 1, 6).tobytes()
    (3, -1, b'CNNRG')
    """
    bases, offsets = sequences.bases, sequences.offsets
    pieces = cut_stretches(find_pieces(bases), offsets)
    found = _find_exceptions(pieces, offsets)
    shifts = np.concatenate([[0], np.cumsum(found.lengths - 1)]).astype(np.int64)
    exceptions = found.starts - shifts[:-1]
    n_symbols = int(exceptions[-1]) + 1 if len(exceptions) else 0
    packed = np.empty(n_symbols // BASES_PER_WORD + 2, np.uint64)
    pack_bases(bases, exceptions, shifts, n_symbols, packed)
    return IndexText(
        packed,
        n_symbols,
        exceptions,
        found.lengths,
        sequences.names,
        sequences.lengths,
        sequences.masked,
        np.concatenate([[0], np.cumsum(found.n_pieces)]).astype(np.int64),
        bases[pieces[:, 0]],
        pieces[:, 1] - pieces[:, 0],
    )


class _Exceptions(NamedTuple):
    """Runs of other letters and ends of sequences in the order of the text; each int64, (n,)."""

    starts: np.ndarray
    lengths: np.ndarray
    n_pieces: np.ndarray


def _find_exceptions(pieces: np.ndarray, offsets: np.ndarray) -> _Exceptions:
    begins_run = np.ones(len(pieces), bool)
    begins_run[1:] = pieces[1:, 0] != pieces[:-1, 1]
    begins_run |= offsets[np.searchsorted(offsets, pieces[:, 0])] == pieces[:, 0]
    rows = np.flatnonzero(begins_run)
    starts, stops = pieces[rows, 0], pieces[np.append(rows, len(pieces))[1:] - 1, 1]

    # The end of a sequence comes after its own runs and before those of the next sequence.
    places = np.searchsorted(starts, offsets[1:], side="left")
    return _Exceptions(
        np.insert(starts, places, offsets[1:]),
        np.insert(stops - starts, places, 0),
        np.insert(np.diff(np.append(rows, len(pieces))), places, 0),
    )


def find_pieces(bases: np.ndarray) -> np.ndarray:
    """Return the runs of one letter other than A C G T; int64, shape (n_pieces, 2)."""
    n_chunks = -(-len(bases) // _CHUNK_BASES)
    n_bounds = np.zeros((n_chunks, 2), np.int64)
    _count_bounds(bases, n_bounds)
    last = np.zeros((n_chunks + 1, 2), np.int64)
    np.cumsum(n_bounds, axis=0, out=last[1:])
    starts = np.empty(last[-1, 0], np.int64)
    stops = np.full(last[-1, 0], len(bases), np.int64)
    _fill_bounds(bases, last, starts, stops)
    return np.stack([starts, stops], axis=1)


@njit(nogil=True, cache=True)
def _is_base(letter):
    return (letter == _A) | (letter == _C) | (letter == _G) | (letter == _T)


@njit(nogil=True, cache=True)
def _has_other(part):
    found = False
    for k in range(len(part)):
        letter = part[k]
        found |= (letter != _A) & (letter != _C) & (letter != _G) & (letter != _T)
    return found


@njit(nogil=True, cache=True, parallel=True)
def _count_bounds(bases, n_bounds):
    """Count in each chunk the letters that begin a run, and those that follow one."""
    for chunk in prange(len(n_bounds)):
        n_starts = n_stops = 0
        first = chunk * _CHUNK_BASES
        for low in range(first, min(first + _CHUNK_BASES, len(bases)), _BLOCK):
            high = min(low + _BLOCK, len(bases))
            before = bases[low - 1] if low else np.uint8(_A)
            if _is_base(before) and not _has_other(bases[low:high]):
                continue
            for k in range(low, high):
                if bases[k] != before:
                    n_starts += not _is_base(bases[k])
                    n_stops += not _is_base(before)
                before = bases[k]
        n_bounds[chunk, 0] = n_starts
        n_bounds[chunk, 1] = n_stops


@njit(nogil=True, cache=True, parallel=True)
def _fill_bounds(bases, last, starts, stops):
    """Fill in what :func:`_count_bounds` counted; the end of an unfinished last run stays."""
    for chunk in prange(len(last) - 1):
        at, stop_at = last[chunk]
        if at == last[chunk + 1, 0] and stop_at == last[chunk + 1, 1]:
            continue
        first = chunk * _CHUNK_BASES
        for low in range(first, min(first + _CHUNK_BASES, len(bases)), _BLOCK):
            high = min(low + _BLOCK, len(bases))
            before = bases[low - 1] if low else np.uint8(_A)
            if _is_base(before) and not _has_other(bases[low:high]):
                continue
            for k in range(low, high):
                if bases[k] != before:
                    if not _is_base(bases[k]):
                        starts[at] = k
                        at += 1
                    if not _is_base(before):
                        stops[stop_at] = k
                        stop_at += 1
                before = bases[k]


@njit(nogil=True, cache=True, parallel=True)
def pack_bases(bases, exceptions, shifts, n_symbols, packed):
    """Fill ``packed`` with two bits a symbol, the first symbol of a word in its highest bits.

    The symbol at a position is ``bases[position + shifts[i]]``, with ``i`` the number of exceptions
    before it.
    """
    for chunk in prange((len(packed) + _CHUNK_WORDS - 1) // _CHUNK_WORDS):
        first = chunk * _CHUNK_WORDS
        row = np.searchsorted(exceptions, first * _WORD)
        for word in range(first, min(first + _CHUNK_WORDS, len(packed))):
            position = word * _WORD
            bits = np.uint64(0)
            next_exception = exceptions[row] if row < len(exceptions) else n_symbols
            if position + _WORD <= next_exception:
                begin = position + shifts[row]
                part = bases[begin : begin + _WORD]
                for k in range(_WORD):
                    bits |= _code(part[k]) << np.uint64(62 - 2 * k)
            else:
                for k in range(min(_WORD, n_symbols - position)):
                    if row < len(exceptions) and exceptions[row] == position + k:
                        row += 1
                        continue
                    code = _code(bases[position + k + shifts[row]])
                    bits |= code << np.uint64(62 - 2 * k)
            packed[word] = bits


@njit(nogil=True, cache=True)
def _code(letter):
    """Return 0 to 3 for A C G T: two bits of the ASCII code, with the last two values swapped."""
    code = (np.uint64(letter) >> _ONE) & _THREE
    return code ^ (code >> _ONE)
