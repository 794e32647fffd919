"""Oracle: k-mers counted one by one."""

from __future__ import annotations

from collections import Counter

TURN = str.maketrans("ACGT", "TGCA")


def turn(kmer: str) -> str:
    """Return the reverse complement."""
    return kmer[::-1].translate(TURN)


def kmers_of(contigs: list[str], k: int) -> list[list[str | None]]:
    """Return the k-mer at each base of each contig, None if there is none."""
    return [
        [
            contig[i : i + k]
            if i + k <= len(contig) and set(contig[i : i + k]) <= set("ACGT")
            else None
            for i in range(len(contig))
        ]
        for contig in contigs
    ]


def count_all(contigs: list[str], k: int, strand: str) -> Counter[str]:
    """Count k-mers as they are, or as canonical k-mers."""
    found = [kmer for kmers in kmers_of(contigs, k) for kmer in kmers if kmer is not None]
    return Counter(found if strand == "forward" else [min(kmer, turn(kmer)) for kmer in found])
