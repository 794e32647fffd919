"""Oracle: guides, their efficiency and their repair, written like the papers' own programs."""

from __future__ import annotations

import bisect
import collections
import itertools
import math

import numpy as np

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


class Haplotypes:
    """Paths of a graph, written out; what stands on the same bases of the same nodes is one site.

    Parameters
    ----------
    graph
        What `tests.oracles.gfa.read_gfa_text` returns.
    reference
        Name of the path that tells which sites are alleles of the target.
    """

    def __init__(self, graph, reference: str) -> None:
        bases = dict(zip(graph.names, graph.sequences, strict=True))
        self.names, self.walks, self.starts, self.texts = [], [], [], []
        for name, steps in graph.paths:
            parts = [reverse_complement(bases[v]) if turned else bases[v] for v, turned in steps]
            self.names.append(name)
            self.walks.append(steps)
            self.starts.append([0, *itertools.accumulate(map(len, parts))])
            self.texts.append("".join(parts).upper())
        self.reference = self.names.index(reference)
        self._visits = collections.defaultdict(list)
        for step, (node, turned) in enumerate(self.walks[self.reference]):
            self._visits[node].append((step, turned))

    def places(self, guide: str, limit: int) -> list[tuple]:
        """Return path, leftmost base, strand and mismatches of all windows with PAM NGG."""
        found = []
        for path, text in enumerate(self.texts):
            letters = np.frombuffer(text.encode(), np.uint8)
            for strand, pam, word in ((1, "GG", guide), (-1, "CC", reverse_complement(guide))):
                is_pam = (letters[1:] == ord(pam[0])) & (letters[:-1] == ord(pam[0]))
                starts = np.flatnonzero(is_pam) - (21 if strand > 0 else 0)
                starts = starts[(starts >= 0) & (starts <= len(text) - 23)]
                rows = starts + (0 if strand > 0 else 3)
                n = np.zeros(len(rows), int)
                for place, letter in enumerate(word.encode()):
                    n += letters[rows + place] != letter
                found += [
                    (path, int(starts[k]), strand, int(n[k])) for k in np.flatnonzero(n <= limit)
                ]
        return found

    def site_at(self, path: int, start: int, strand: int) -> tuple:
        """Return the bases of a place: its nodes as the guide reads them, and where it begins."""
        bounds, stop = self.starts[path], start + 23
        first, last = bisect.bisect_right(bounds, start) - 1, bisect.bisect_left(bounds, stop)
        nodes = list(self.walks[path][first:last])
        if strand > 0:
            return start - bounds[first], tuple(nodes)
        return bounds[last] - stop, tuple((node, not turned) for node, turned in nodes[::-1])

    def letters_at(self, path: int, start: int, strand: int) -> str:
        """Return the letters of a place, as the guide reads them."""
        text = self.texts[path][start : start + 23]
        return text if strand > 0 else reverse_complement(text)

    def on_reference(self, guide: str, path: int, start: int, strand: int) -> tuple | None:
        """Return start and strand of the best match among places that shared nodes give."""
        bounds, text = self.starts[path], self.texts[self.reference]
        step, best = bisect.bisect_right(bounds, start) - 1, None
        while bounds[step] < start + 23:
            node, turned = self.walks[path][step]
            for visit, is_turned in self._visits[node]:
                begin, end = self.starts[self.reference][visit : visit + 2]
                at = start - bounds[step]
                is_same = turned == is_turned
                at = begin + at if is_same else end - at - 23
                if 0 <= at <= len(text) - 23:
                    sign = strand if is_same else -strand
                    n = count_misfits(guide + "NGG", self.letters_at(self.reference, at, sign))
                    if best is None or n < best[0]:
                        best = (n, at, sign)
            step += 1
        return best and best[1:]

    def profile(self, guide: str, start: int, strand: int, limit: int, cfd) -> tuple:
        """Return figures of a guide that stands at a place of the reference.

        They are: other sites by mismatches, the worst CFD of all haplotypes and of the reference,
        the lowest specificity, and the number of haplotypes with the target.
        """
        sites, first = collections.defaultdict(list), {}
        for path, at, sign, n in self.places(guide, limit):
            sites[self.site_at(path, at, sign)].append((path, at, sign, n))
        for site, places in sites.items():
            mine = [place[1:3] for place in places if place[0] == self.reference]
            first[site] = mine[0] if mine else self.on_reference(guide, *places[0][:3])
        target = self.site_at(self.reference, start, strand)
        counts = [0] * (limit + 1)
        counts[0] = -1
        scores = [([], []) for _ in self.names]
        with_target = set()
        for site, places in sites.items():
            counts[places[0][3]] += 1
            is_allele = first[site] is not None and first[site] == first[target]
            for path, at, sign, n in places:
                score = cfd(guide, self.letters_at(path, at, sign))
                scores[path][is_allele].append(score)
                if is_allele and n == 0:
                    with_target.add(path)
        others = [away + sorted(alleles)[:-1] for away, alleles in scores]
        worst = [max(each, default=0) for each in others]
        specificity = 1 / (1 + max(map(sum, others)))
        return counts, max(worst), worst[self.reference], specificity, len(with_target)
