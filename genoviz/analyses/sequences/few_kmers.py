"""A few k-mers counted in an FM-index without compiled code, which takes longer to load.

For a single look-up from the shell: the kernels count millions of k-mers a second, but Numba needs
the better part of a second before the first. The search is that of ``genoviz.kernels.fm_index``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from genoviz.analyses.sequences.kmers import Kmer
from genoviz.model.sequences.fm_index import FMIndex

MAX_LETTERS = 5_000
"""Some 20 milliseconds of steps."""
_COMPLEMENTS = str.maketrans("ACGT", "TGCA")


def are_few(kmers: Sequence[Kmer]) -> bool:
    """Return whether k-mers are few and short enough, and stand for one sequence each."""
    n_letters = sum(len(kmer.letters) for kmer in kmers)
    return n_letters <= MAX_LETTERS and not any(kmer.is_ambiguous for kmer in kmers)


def count_few(index: FMIndex, kmers: Sequence[Kmer], *, strand: str = "both") -> np.ndarray:
    """Return how often k-mers of A C G T occur, as `count_kmers` does; int64, shape (n,)."""
    counts = []
    for kmer in kmers:
        turned = kmer.letters[::-1].translate(_COMPLEMENTS)
        n = _count(index, kmer.letters)
        if strand != "forward" and turned != kmer.letters:
            n += _count(index, turned)
        counts.append(n)
    return np.array(counts, np.int64)


def _count(index: FMIndex, letters: str) -> int:
    first, last = 0, index.n_symbols
    for letter in reversed(letters):
        symbol = "ACGT".index(letter)
        first, last = (_next_row(index, symbol, row) for row in (first, last))
        if first >= last:
            return 0
    return last - first


def _next_row(index: FMIndex, symbol: int, row: int) -> int:
    """Return rows that begin with a smaller symbol, and how often this one is before a row."""
    line, in_line = divmod(row, 128)
    words = index.lines[line].tolist()
    low, high, exception = (words[k] | words[k + 1] << 64 for k in (2, 4, 6))
    found = (low if symbol & 1 else ~low) & (high if symbol & 2 else ~high) & ~exception
    before = words[symbol >> 1] >> 32 * (symbol & 1) & 0xFFFFFFFF
    before += int(index.super_counts[line >> index.super_shift, symbol])
    return before + (found & ((1 << in_line) - 1)).bit_count()
