"""Oracle: k-mers found by checking each position of each sequence."""

from __future__ import annotations

CODES = {
    "A": "A", "C": "C", "G": "G", "T": "T", "U": "T", "R": "AG", "Y": "CT", "S": "CG", "W": "AT",
    "K": "GT", "M": "AC", "B": "CGT", "D": "AGT", "H": "ACT", "V": "ACG", "N": "ACGT",
}  # fmt: skip
PAIRS = dict(zip("ACGTRYSWKMBDHVN", "TGCAYRSWMKVHDBN", strict=True))


def reverse_complement(kmer: str) -> str:
    return "".join(PAIRS[letter] for letter in reversed(kmer.upper().replace("U", "T")))


def find_forward(sequences: list[str], kmer: str) -> list[tuple[int, int]]:
    """Return contig and start of each position where all IUPAC letters of a k-mer match."""
    kmer = kmer.upper()
    return [
        (contig, start)
        for contig, sequence in enumerate(sequences)
        for start in range(len(sequence) - len(kmer) + 1)
        if all(
            base in "ACGT" and base in CODES[letter]
            for base, letter in zip(
                sequence[start : start + len(kmer)].upper().replace("U", "T"), kmer, strict=True
            )
        )
    ]


def find_both(sequences: list[str], kmer: str) -> list[tuple[int, int, int]]:
    """Return contig, start and strand of each match of a k-mer or its reverse complement."""
    found = dict.fromkeys(find_forward(sequences, kmer), 1)
    for place in find_forward(sequences, reverse_complement(kmer)):
        found.setdefault(place, -1)
    return sorted((*place, strand) for place, strand in found.items())


def sort_suffixes(symbols: list[int]) -> list[int]:
    """Sort suffixes of 0 to 3 for A C G T and 4 for exceptions; later exceptions are smaller."""
    ranks = [symbol if symbol < 4 else -1 - i for i, symbol in enumerate(symbols)]
    return sorted(range(len(ranks)), key=lambda i: ranks[i:])
