"""Texts as sentences need them: counts with their words, and long ones made short."""

from __future__ import annotations


def n_words(n: int, word: str) -> str:
    """Return a count with its word.

    Examples
    --------
    >>> n_words(1, "SNP"), n_words(1200, "SNP")
    ('1 SNP', '1,200 SNPs')
    """
    return f"{n:,} {word}{'s' * (n != 1)}"


def shorten(text: str, most: int) -> str:
    """Return a text of which at most so many letters are shown.

    Examples
    --------
    >>> shorten("GATTACA", 4), shorten("GATT", 4)
    ('GATT...', 'GATT')
    """
    return text if len(text) <= most else f"{text[:most]}..."
