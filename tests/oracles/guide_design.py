"""Oracle: guides, their efficiency and their repair, written like the papers' own programs."""

from __future__ import annotations

import math

from tests.oracles.offtargets import count_misfits, reverse_complement

# Doench et al. 2014, from an independent transcription: 0-based positions, seven digits.
RULE_SET_1 = [
    (1, "G", -0.2753771), (2, "A", -0.3238875), (2, "C", 0.17212887), (3, "C", -0.1006662),
    (4, "C", -0.2018029), (4, "G", 0.24595663), (5, "A", 0.03644004), (5, "C", 0.09837684),
    (6, "C", -0.7411813), (6, "G", -0.3932644), (11, "A", -0.466099), (14, "A", 0.08537695),
    (14, "C", -0.013814), (15, "A", 0.27262051), (15, "C", -0.1190226), (15, "T", -0.2859442),
    (16, "A", 0.09745459), (16, "G", -0.1755462), (17, "C", -0.3457955), (17, "G", -0.6780964),
    (18, "A", 0.22508903), (18, "C", -0.5077941), (19, "G", -0.4173736), (19, "T", -0.054307),
    (20, "G", 0.37989937), (20, "T", -0.0907126), (21, "C", 0.05782332), (21, "T", -0.5305673),
    (22, "T", -0.8770074), (23, "C", -0.8762358), (23, "G", 0.27891626), (23, "T", -0.4031022),
    (24, "A", -0.0773007), (24, "C", 0.28793562), (24, "T", -0.2216372), (27, "G", -0.6890167),
    (27, "T", 0.11787758), (28, "C", -0.1604453), (29, "G", 0.38634258), (1, "GT", -0.6257787),
    (4, "GC", 0.30004332), (5, "AA", -0.8348362), (5, "TA", 0.76062777), (6, "GG", -0.4908167),
    (11, "GG", -1.5169074), (11, "TA", 0.7092612), (11, "TC", 0.49629861), (11, "TT", -0.5868739),
    (12, "GG", -0.3345637), (13, "GA", 0.76384993), (13, "GC", -0.5370252), (16, "TG", -0.7981461),
    (18, "GG", -0.6668087), (18, "TC", 0.35318325), (19, "CC", 0.74807209), (19, "TG", -0.3672668),
    (20, "AC", 0.56820913), (20, "CG", 0.32907207), (20, "GA", -0.8364568), (20, "GG", -0.7822076),
    (21, "TC", -1.029693), (22, "CG", 0.85619782), (22, "CT", -0.4632077), (23, "AA", -0.5794924),
    (23, "AG", 0.64907554), (24, "AG", -0.0773007), (24, "CG", 0.28793562), (24, "TG", -0.2216372),
    (26, "GT", 0.11787758), (28, "GG", -0.69774),
]  # fmt: skip


def rule_set_1(context: str) -> float:
    """Return the efficiency of a 30-base target."""
    n_gc = sum(context[4:24].count(base) for base in "GC")
    score = 0.59763615 + abs(10 - n_gc) * (-0.2026259 if n_gc <= 10 else -0.1665878)
    for place, letters, weight in RULE_SET_1:
        if context[place : place + len(letters)] == letters:
            score += weight
    return 1 / (1 + math.exp(-score))


def microhomology(text: str, cut: int) -> tuple[float, float]:
    """Return the microhomology score of a cut, and its out-of-frame percentage."""
    patterns, sums = [], [0.0, 0.0]
    for length in range(cut - 1, 1, -1):
        for right in range(cut, len(text) - length + 1):
            for left in range(cut - length + 1):
                if text[left : left + length] == text[right : right + length]:
                    patterns.append((left, right, length))
    for number, (left, right, length) in enumerate(patterns):
        is_within = any(
            other_right - other_left == right - left
            and other_left <= left
            and left + length <= other_left + other_length
            for other_left, other_right, other_length in patterns[:number]
        )
        if not is_within:
            bases = text[left : left + length]
            weight = length + bases.count("G") + bases.count("C")
            factor = round(1 / math.exp((right - left) / 20), 3)
            sums[(right - left) % 3 != 0] += 100 * factor * weight
    total = sum(sums)
    return total, 100 * sums[1] / total if total else math.nan


def find_guides(
    text: str, pam: str, length: int, is_pam_first: bool, start: int, end: int
) -> set[tuple]:
    """Return guide, PAM, leftmost base, cut and strand of all guides that cut in a region."""
    found, width = set(), length + len(pam)
    for first in range(len(text) - width + 1):
        for strand in (1, -1):
            site = text[first : first + width]
            if strand < 0:
                site = reverse_complement(site)
            parts = (site[len(pam) :], site[: len(pam)])
            if not is_pam_first:
                parts = (site[:length], site[length:])
            guide, motif = parts
            if {*guide} - {*"ACGT"} or {*motif} - {*"ACGT"} or count_misfits(pam, motif):
                continue
            inside = len(pam) + min(18, length) if is_pam_first else length - min(3, length)
            cut = first + inside if strand > 0 else first + width - inside
            if start <= cut < end:
                found.add((guide, motif, first, cut, strand))
    return found


def longest_stem(guide: str) -> int:
    """Return the length of the longest hairpin of at least 3 bp with a loop of at least 3 bases."""
    best = 0
    for first in range(len(guide)):
        for length in range(3, len(guide)):
            for second in range(first + length + 3, len(guide) - length + 1):
                word = guide[second : second + length]
                if guide[first : first + length] == reverse_complement(word):
                    best = max(best, length)
    return best
