"""Suffix arrays and common prefixes by comparing suffixes, symbol by symbol."""

from __future__ import annotations

import numpy as np


def sort_suffixes(symbols: np.ndarray) -> list[int]:
    """Sort by comparison; a symbol 4 is an exception, and a later one is smaller."""
    keys = [base if base < 4 else -place - 1 for place, base in enumerate(symbols.tolist())]
    return sorted(range(len(keys)), key=lambda start: keys[start:])


def common_prefixes(symbols: np.ndarray, order: list[int]) -> list[int]:
    """Count the equal bases at the beginning of each suffix and the one before it."""
    lengths = [0] * len(order)
    for row in range(1, len(order)):
        pairs = zip(symbols[order[row - 1] :], symbols[order[row] :], strict=False)
        for first, second in pairs:
            if first != second or first == 4:
                break
            lengths[row] += 1
    return lengths


def sort_by_prefix(symbols: np.ndarray, length: int = 18) -> np.ndarray:
    """Sort suffixes by so many symbols alone and leave ties in the order of the text.

    This is what a block-wise sort without refinement returns; on a text with longer repeats it is
    no suffix array.
    """
    n = len(symbols)
    keys = np.where(symbols < 4, symbols.astype(np.int64), -np.arange(n) - 1)
    columns = np.full((length, n), -n - 1, np.int64)
    for offset in range(min(length, n)):
        columns[offset, : n - offset] = keys[offset:]
    return np.lexsort(columns[::-1])
