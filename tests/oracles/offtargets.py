"""Oracle: off-target sites by comparing each window with each guide, letter by letter."""

from __future__ import annotations

import numpy as np

BASES = "ACGT"
DEGENERATE = {
    "R": "AG", "Y": "CT", "S": "CG", "W": "AT", "K": "GT", "M": "AC",
    "B": "CGT", "D": "AGT", "H": "ACT", "V": "ACG",
}  # fmt: skip
COMPLEMENT = str.maketrans("ACGTRYSWKMBDHVN", "TGCAYRSWMKVHDBN")


def fits(letter: str, base: str) -> bool:
    """Return whether a letter of a guide or pattern matches a letter of the genome."""
    if letter in BASES:
        return base == letter
    return letter not in DEGENERATE or base not in BASES or base in DEGENERATE[letter]


def count_misfits(word: str, window: str) -> int:
    """Return the number of letters of a word that do not match a window."""
    return sum(not fits(letter, base) for letter, base in zip(word, window, strict=True))


def reverse_complement(text: str) -> str:
    """Return the reverse complement."""
    return text[::-1].translate(COMPLEMENT)


def find_sites(
    contigs: list[str], pattern: str, guides: list[str], limits: list[int]
) -> set[tuple[int, int, int, str, int]]:
    """Return guide, contig, start, strand and mismatches of all sites."""
    found = set()
    for contig, text in enumerate(contigs):
        for start in range(len(text) - len(pattern) + 1):
            window = text[start : start + len(pattern)]
            for strand, seen in (("+", window), ("-", reverse_complement(window))):
                if count_misfits(pattern, seen):
                    continue
                for number, (guide, limit) in enumerate(zip(guides, limits, strict=True)):
                    total = count_misfits(guide, seen)
                    if total <= limit:
                        found.add((number, contig, start, strand, total))
    return found


def letter_masks(word: str) -> np.ndarray:
    """Return the bit masks of a word, with A C G T from the lowest bit; uint8, shape (length,)."""
    masks = {"A": 1, "C": 2, "G": 4, "T": 8}
    masks |= {key: sum(masks[base] for base in bases) for key, bases in DEGENERATE.items()}
    return np.array([masks.get(letter, 15) for letter in word], np.uint8)


def find_bulged_sites(
    contigs: list[str],
    pattern: str,
    guide: str,
    limit: int,
    n_pam: int,
    *,
    dna_bulge: int,
    rna_bulge: int,
) -> set[tuple]:
    """Return contig, start, strand, mismatches, kind, size and place of sites with bulges.

    The last ``n_pam`` letters are the PAM, or the first ``-n_pam`` if it is negative.
    """
    n = len(pattern) - abs(n_pam)
    first = -n_pam if n_pam < 0 else 0
    found = set()

    def search(word: str, sites: str, kind: str, size: int, place: int) -> None:
        for _, contig, start, strand, total in find_sites(contigs, sites, [word], [limit]):
            found.add((contig, start, strand, total, kind, size, place))

    search(guide, pattern, "X", 0, 0)
    middle = first + 1 if n_pam < 0 else 0
    for size in range(1, dna_bulge + 1):
        for place in range(first + 1, first + n):
            word = guide[:place] + "N" * size + guide[place:]
            sites = pattern[:middle] + "N" * size + pattern[middle:]
            search(word, sites, "DNA", size, place)
    for size in range(1, rna_bulge + 1):
        for place in range(first + 1, first + n - size):
            word = guide[:place] + guide[place + size :]
            search(word, pattern[:middle] + pattern[middle + size :], "RNA", size, place)
    return found
