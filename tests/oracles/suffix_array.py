"""Oracle: suffix arrays and common prefixes by comparisons, and a linear-time check."""

from __future__ import annotations

import numpy as np

from genoviz.model.sequences.index_text import EXCEPTION, IndexText


def sort_suffixes(symbols: np.ndarray) -> list[int]:
    """Sort by comparison; symbol 4 is an exception, and later exceptions are smaller."""
    keys = [base if base < 4 else -place - 1 for place, base in enumerate(symbols.tolist())]
    return sorted(range(len(keys)), key=lambda start: keys[start:])


def common_prefixes(symbols: np.ndarray, order: list[int]) -> list[int]:
    """Return the length of the common prefix of each suffix and the previous one."""
    lengths = [0] * len(order)
    for row in range(1, len(order)):
        pairs = zip(symbols[order[row - 1] :], symbols[order[row] :], strict=False)
        for first, second in pairs:
            if first != second or first == 4:
                break
            lengths[row] += 1
    return lengths


def sort_by_prefix(symbols: np.ndarray, length: int = 18) -> np.ndarray:
    """Sort suffixes by a number of symbols only, with ties in text order.

    A block-wise sort without refinement returns this; with longer repeats it is not a suffix array.
    """
    n = len(symbols)
    keys = np.where(symbols < 4, symbols.astype(np.int64), -np.arange(n) - 1)
    columns = np.full((length, n), -n - 1, np.int64)
    for offset in range(min(length, n)):
        columns[offset, : n - offset] = keys[offset:]
    return np.lexsort(columns[::-1])


def is_suffix_array(text: IndexText, suffix_array: np.ndarray) -> bool:
    """Return in O(n) whether an array is the suffix array of a text.

    It has each position once. Of two neighbours, the first has the smaller symbol, or the symbols
    are equal and the suffix after it is in an earlier row.
    """
    n = text.n_symbols
    if suffix_array.shape != (n,):
        return False
    rows = np.full(n + 1, -1, np.int64)
    positions = suffix_array.astype(np.int64)
    if n == 0:
        return True
    if positions.min() < 0 or positions.max() >= n:
        return False
    rows[positions] = np.arange(n)
    if (rows[:n] < 0).any():
        return False
    symbols = text.symbols().astype(np.int64) + 1
    is_exception = symbols == EXCEPTION + 1
    symbols[is_exception] = 0
    # Exceptions are all distinct, and the last one is the smallest.
    following = rows[1:]
    following[text.exceptions] = -text.exceptions - 1
    symbols, following = symbols[positions], following[positions]
    is_less = symbols[:-1] < symbols[1:]
    is_less |= (symbols[:-1] == symbols[1:]) & (following[:-1] < following[1:])
    return bool(is_less.all())
