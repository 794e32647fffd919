"""Sequences as bit planes."""

from __future__ import annotations

import numpy as np
from numba import njit, prange, types
from numba.core import cgutils
from numba.extending import intrinsic

from genoviz.kernels.instructions import spread
from genoviz.model.offtargets.genome_planes import BASES_PER_WORD, PADDING_WORDS, GenomePlanes
from genoviz.model.sequences.sequences import Sequences

ir = cgutils.ir
_CHUNK_WORDS = 1 << 12
_A, _C, _G, _T, _N = (np.uint8(letter) for letter in b"ACGTN")


def make_genome_planes(sequences: Sequences) -> GenomePlanes:
    """Return the planes of sequences, 3 bits a base."""
    n_bases = sequences.total_length
    n_words = n_bases // BASES_PER_WORD + 1 + PADDING_WORDS
    low, high, other = (np.zeros(n_words, np.uint64) for _ in range(3))
    n_whole = n_bases // BASES_PER_WORD
    bases = np.require(sequences.bases, requirements="CA")
    has_letters = np.zeros(n_whole // _CHUNK_WORDS + 1, bool)
    _fill_planes(bases, n_whole, low, high, other, has_letters)
    _fill_last(bases[n_whole * BASES_PER_WORD :], n_whole, low, high, other)
    has_letters[-1] = True
    positions = _find_letters(bases, np.flatnonzero(has_letters) * _CHUNK_WORDS * BASES_PER_WORD)
    return GenomePlanes(
        low,
        high,
        other,
        positions,
        bases[positions],
        sequences.names,
        sequences.descriptions or sequences.names,
        sequences.offsets,
        sequences.masked,
    )


@intrinsic
def _match(typing_context, letters, start, letter):  # noqa: ARG001
    """Return a word of bits: which of 64 letters from ``start`` on equal a letter."""

    def generate(context, builder, signature, arguments):
        wanted = spread(builder, arguments[2], BASES_PER_WORD)
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = builder.bitcast(builder.gep(data, [arguments[1]]), wanted.type.as_pointer())
        found = builder.icmp_unsigned("==", builder.load(place, align=1), wanted)
        return builder.bitcast(found, ir.IntType(64))

    return types.uint64(letters, types.uint64, types.uint8), generate


@njit(nogil=True, cache=True, parallel=True)
def _fill_planes(bases, n_words, low, high, other, has_letters):
    """Fill whole words from letters, and flag chunks with letters other than A C G T N."""
    for chunk in prange((n_words + _CHUNK_WORDS - 1) // _CHUNK_WORDS):
        rest = np.uint64(0)
        for word in range(chunk * _CHUNK_WORDS, min((chunk + 1) * _CHUNK_WORDS, n_words)):
            start = np.uint64(word) << np.uint64(6)
            is_c, is_g = _match(bases, start, _C), _match(bases, start, _G)
            is_t = _match(bases, start, _T)
            no_base = ~(_match(bases, start, _A) | is_c | is_g | is_t)
            low[word], high[word], other[word] = is_c | is_t, is_g | is_t, no_base
            rest |= no_base & ~_match(bases, start, _N)
        has_letters[chunk] = rest != np.uint64(0)


def _find_letters(bases: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the positions of letters other than A C G T N in chunks that begin at given bases."""
    is_letter = np.ones(256, bool)
    is_letter[list(b"ACGTN")] = False
    size = _CHUNK_WORDS * BASES_PER_WORD
    found = [
        np.flatnonzero(is_letter[bases[start : start + size]]) + start for start in starts.tolist()
    ]
    return np.concatenate([np.empty(0, np.int64), *found])


def _fill_last(
    bases: np.ndarray, word: int, low: np.ndarray, high: np.ndarray, other: np.ndarray
) -> None:
    """Fill the last word from fewer than 64 letters."""
    codes = np.full(256, 4, np.uint64)
    codes[list(b"ACGT")] = [0, 1, 2, 3]
    places = np.arange(len(bases), dtype=np.uint64)
    for plane, bit in ((low, 0), (high, 1), (other, 2)):
        bits = (codes[bases] >> np.uint64(bit) & np.uint64(1)) << places
        plane[word] = np.bitwise_or.reduce(bits)
