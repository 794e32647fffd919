"""Design of guides for a region, ranked by their worst off-target in any haplotype of a graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genoviz.analyses.offtargets.carriers import count_haplotypes
from genoviz.analyses.offtargets.cuts import CUT_BEFORE_PAM, CUT_BEHIND_PAM
from genoviz.analyses.offtargets.finding import find_offtargets, guide_with_pam
from genoviz.analyses.offtargets.guide_properties import (
    CONTEXT,
    CONTEXT_BEFORE,
    FLANK,
    rule_set_1_scores,
)
from genoviz.analyses.offtargets.haplotype_risks import (
    GROUP,
    find_alleles,
    haplotype_risks,
    haplotype_specificities,
)
from genoviz.analyses.offtargets.pangenome import find_offtargets_on_graph
from genoviz.analyses.offtargets.paths import PathOffTargets
from genoviz.analyses.offtargets.reference import ReferenceSites, compare_with_reference
from genoviz.analyses.offtargets.scores import has_scores
from genoviz.analyses.offtargets.summaries import summarise_guides
from genoviz.backend import Backend
from genoviz.errors import ParameterError
from genoviz.model import PangenomeGraph
from genoviz.model.offtargets.genome_planes import GenomePlanes
from genoviz.model.offtargets.hits import OffTargetHits
from genoviz.model.offtargets.letters import LETTER_MASKS
from genoviz.model.sequences.bases import COMPLEMENTS
from genoviz.model.sequences.sequences import Sequences

_PLAIN = np.isin(np.arange(256), list(b"ACGT"))


@dataclass(frozen=True, eq=False)
class GuideCandidates:
    """All guides of a region, sorted by cut site; arrays and tuples have the same length.

    Attributes
    ----------
    pam, is_pam_first
        The PAM in IUPAC letters, and whether it is at the 5' end.
    guides, pams
        Protospacers and their PAMs, 5' to 3'.
    starts, cuts
        int64, bp, 0-based: leftmost base of the site with its PAM, and the position that it is cut
        before; see `cut_sites`.
    strands
        int8: 1 or -1.
    contexts
        Target with flanks for `rule_set_1_scores`; "" at a contig end, and unless the guide has
        20 nt and is followed by a PAM of 3.
    flanks
        Input of `microhomology_scores`; "" at a contig end.
    """

    pam: str
    is_pam_first: bool
    guides: tuple[str, ...]
    pams: tuple[str, ...]
    starts: np.ndarray
    cuts: np.ndarray
    strands: np.ndarray
    contexts: tuple[str, ...]
    flanks: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.guides)


def find_guides(
    letters: np.ndarray,
    pam: str,
    *,
    length: int = 20,
    is_pam_first: bool = False,
    start: int = 0,
    end: int | None = None,
) -> GuideCandidates:
    """Return the guides that cut within a region, on both strands.

    Parameters
    ----------
    letters
        uint8, shape (n,): the contig, in upper case.
    pam, is_pam_first
        The PAM in IUPAC letters, and whether it is at the 5' end.
    length
        Guide length, nt; guides with letters other than A, C, G and T are skipped.
    start, end
        The region, 0-based half-open; the whole contig by default.

    Raises
    ------
    ParameterError
        If the length or the region is out of range.
    """
    end = len(letters) if end is None else end
    if length < 1:
        raise ParameterError(f"guides have {length} letters, need 1 at least")
    if not 0 <= start <= end <= len(letters):
        raise ParameterError(
            f"the region is {start:,} to {end:,}, needs to be within 0 to {len(letters):,}"
        )
    found = []
    width, distance = length + len(pam), CUT_BEHIND_PAM if is_pam_first else CUT_BEFORE_PAM
    inside = len(pam) + min(distance, length)
    turned = COMPLEMENTS[letters[::-1]]
    for strand, text in ((1, letters), (-1, turned)):
        firsts = _find_windows(text, pam, length, is_pam_first)
        cuts = firsts + (inside if is_pam_first else width - inside)
        starts = firsts
        if strand < 0:
            starts, cuts = len(text) - firsts - width, len(text) - cuts
        kept = (cuts >= start) & (cuts < end)
        rows = zip(cuts[kept], starts[kept], firsts[kept], strict=True)
        found += [(int(cut), int(at), strand, int(first), text) for cut, at, first in rows]
    found.sort(key=lambda row: row[:3])
    at_pam = (0, len(pam)) if is_pam_first else (length, width)
    at_guide = (len(pam), width) if is_pam_first else (0, length)
    fits_context = not is_pam_first and (length, len(pam)) == (20, 3)
    before, behind = CONTEXT_BEFORE, CONTEXT - CONTEXT_BEFORE
    return GuideCandidates(
        pam,
        is_pam_first,
        tuple(_cut(text, first + at_guide[0], first + at_guide[1]) for *_, first, text in found),
        tuple(_cut(text, first + at_pam[0], first + at_pam[1]) for *_, first, text in found),
        np.array([row[1] for row in found], np.int64),
        np.array([row[0] for row in found], np.int64),
        np.array([row[2] for row in found], np.int8),
        tuple(
            _cut(text, first - before, first + behind) if fits_context else ""
            for *_, first, text in found
        ),
        tuple(_cut(letters, row[0] - FLANK, row[0] + FLANK) for row in found),
    )


def _find_windows(text: np.ndarray, pam: str, length: int, is_pam_first: bool) -> np.ndarray:
    """Return the starts of windows with a matching PAM and only A, C, G, T elsewhere."""
    n = max(len(text) - length - len(pam) + 1, 0)
    fits = np.ones(n, bool)
    first = 0 if is_pam_first else length
    bases = np.where(_PLAIN[text], LETTER_MASKS[text], 0)
    for k, letter in enumerate(pam.encode()):
        fits &= (bases[first + k : first + k + n] & LETTER_MASKS[letter]) > 0
    wrong = np.append(0, np.cumsum(~_PLAIN[text]))
    first = len(pam) if is_pam_first else 0
    return np.flatnonzero(fits & (wrong[first + length :][:n] == wrong[first:][:n]))


def _cut(text: np.ndarray, first: int, last: int) -> str:
    """Return a range of letters; "" if it exceeds the text."""
    return text[first:last].tobytes().decode("latin-1") if 0 <= first <= last <= len(text) else ""


@dataclass(frozen=True, eq=False)
class GuideDesign:
    """Off-target profile of the guides of a region; arrays of shape (n_guides,) unless stated.

    Attributes
    ----------
    candidates
        The guides.
    order
        int64: rows of the candidates, best first: by most haplotypes with the target, then lowest
        `worst_cfd`, then fewest sites with 0, 1, 2 ... mismatches, then highest efficiency.
    counts
        int64, shape (n_guides, max_mismatches + 1): off-target sites by mismatches. On a graph,
        sites that differ between haplotypes count separately, including alleles of the target.
        Copies on the same nodes are one site, however often a haplotype visits them.
    worst_cfd
        float64: highest CFD of a site other than the target (and, on a graph, its alleles) in any
        haplotype. A second copy of the target in a haplotype counts as an off-target. 0 for guides
        without such a site, NaN for guides without scores.
    reference_worst_cfd
        float64: the same for sites of the reference; NaN for a genome.
    cfd_specificity
        float64: see `GuideSummaries`; on a graph, the lowest over haplotypes.
    n_haplotypes
        int64: on a graph, haplotypes whose target matches the guide exactly; -1 for a genome, and
        if the target is not in the graph.
    of_haplotypes
        Number of haplotypes that have the chromosome of the targets; 0 for a genome.
    efficiency
        float64: `rule_set_1_scores` for guides with PAM NGG; NaN for others.
    """

    candidates: GuideCandidates
    order: np.ndarray
    counts: np.ndarray
    worst_cfd: np.ndarray
    reference_worst_cfd: np.ndarray
    cfd_specificity: np.ndarray
    n_haplotypes: np.ndarray
    of_haplotypes: int
    efficiency: np.ndarray


def design_guides(
    candidates: GuideCandidates,
    genome: Sequences | GenomePlanes | PangenomeGraph,
    *,
    contig: str | None,
    max_mismatches: int = 3,
    reference: str | None = None,
    backend: Backend = "auto",
) -> GuideDesign:
    """Return the off-targets of a region's guides in a genome, or in all haplotypes of a graph.

    Parameters
    ----------
    candidates
        Result of `find_guides`.
    genome
        Where to search: a genome, or a graph with sequences.
    contig
        Contig of the genome, or path of the graph, from which the candidates were taken. None if
        they come from another sequence, such as a transgene; every site is then an off-target.
    max_mismatches
        Maximum number of mismatches of counted sites.
    reference
        For a graph: path or sample to compare sites with; by default the contig.

    Raises
    ------
    ParameterError
        As `find_offtargets`; if the genome has no such contig or the candidates do not match it; or
        if a graph is given with neither contig nor reference.
    """
    padded = [
        guide_with_pam(word, candidates.pam, is_pam_first=candidates.is_pam_first)
        for word in candidates.guides
    ]
    guides = [guide for guide, _ in padded]
    pattern = padded[0][1] if padded else "N" + candidates.pam
    options = {"max_mismatches": max_mismatches, "backend": backend}
    n_with, n_haplotypes = np.full(len(guides), -1, np.int64), 0
    if isinstance(genome, PangenomeGraph):
        reference = reference or contig
        if reference is None:
            raise ParameterError("a graph needs the path or sample that sites are compared with")
        found = find_offtargets_on_graph(genome, guides, pattern, **options)
        hits, compared = found.hits, compare_with_reference(found, reference)
        targets = _find_on_graph(candidates, found, contig)
        risks = haplotype_risks(found, compared, on_targets=targets)
        worst, in_reference = risks.worst_cfd, risks.reference_cfd
        specificity = haplotype_specificities(found, compared, targets).cfd
        n_haplotypes = len(found.groups(GROUP).names)
        if contig is not None:
            n_haplotypes = int(count_haplotypes(found)[targets].max(initial=0))
            n_with = _count_haplotypes(found, compared, targets)
    else:
        hits = find_offtargets(guides, genome, pattern, **options)
        targets = _find_in_genome(candidates, hits, contig)
        summary = summarise_guides(hits, on_targets=targets)
        worst, specificity = summary.worst_cfd, summary.cfd_specificity
        in_reference = np.full(len(guides), np.nan)
    if has_scores(pattern):
        # Letters without any occurrence have no effect.
        is_lost = np.bincount(hits.guide_ids, minlength=len(guides)) == 0
        worst, specificity = np.where(is_lost, 0.0, worst), np.where(is_lost, 1.0, specificity)
    counts = np.zeros((len(guides), max_mismatches + 1), np.int64)
    by_mismatches = hits.count_by_mismatches()
    counts[:, : by_mismatches.shape[1]] = by_mismatches
    counts[:, 0] -= targets >= 0
    efficiency = np.full(len(candidates), np.nan)
    if candidates.pam == "NGG":
        efficiency = rule_set_1_scores(candidates.contexts)
    keys = (-np.nan_to_num(efficiency), *counts.T[::-1], np.nan_to_num(worst), -n_with)
    return GuideDesign(
        candidates, np.lexsort(keys), counts, worst, in_reference, specificity, n_with,
        n_haplotypes, efficiency,
    )  # fmt: skip


def _find_in_genome(
    candidates: GuideCandidates, hits: OffTargetHits, contig: str | None
) -> np.ndarray:
    """Return the hit at each candidate's position; int64, -1 for candidates without a contig."""
    if contig is None:
        return np.full(len(candidates), -1, np.int64)
    if contig not in hits.planes.names:
        raise ParameterError(f"no contig is named {contig!r}")
    owners = hits.guide_ids
    is_there = hits.contig_ids == list(hits.planes.names).index(contig)
    is_there &= (hits.starts == candidates.starts[owners]) & (hits.mismatches == 0)
    rows = np.flatnonzero(is_there & (hits.strands == candidates.strands[owners]))
    return _rows_of_all(candidates, owners[rows], rows, contig)


def _find_on_graph(
    candidates: GuideCandidates, found: PathOffTargets, contig: str | None
) -> np.ndarray:
    """Return the site at each candidate's position; int64, -1 for candidates without a path."""
    if contig is None:
        return np.full(len(candidates), -1, np.int64)
    path, owners = found.graph.find_path(contig), found.hits.guide_ids
    perfect, rows = np.flatnonzero(found.hits.mismatches == 0), [np.empty(0, np.int64)]
    for part in found.iter_batches(perfect):
        places = found.places(perfect[part])
        of = owners[places.sites]
        is_there = (places.paths == path) & (places.starts == candidates.starts[of])
        rows.append(places.sites[is_there & (places.strands == candidates.strands[of])])
    sites = np.concatenate(rows)
    return _rows_of_all(candidates, owners[sites], sites, contig)


def _rows_of_all(
    candidates: GuideCandidates, owners: np.ndarray, rows: np.ndarray, contig: str
) -> np.ndarray:
    targets = np.full(len(candidates), -1, np.int64)
    targets[owners] = rows
    if (targets < 0).any():
        guide = candidates.guides[int(np.flatnonzero(targets < 0)[0])]
        raise ParameterError(f"guide {guide} does not stand at its place on {contig}")
    return targets


def _count_haplotypes(
    found: PathOffTargets, reference: ReferenceSites, targets: np.ndarray
) -> np.ndarray:
    """Return how many haplotypes match each guide exactly at its target or an allele of it."""
    owners = found.hits.guide_ids
    is_target = find_alleles(reference, targets[owners]) | (
        targets[owners] == np.arange(len(owners))
    )
    rows = np.flatnonzero(is_target & (found.hits.mismatches == 0))
    presence = np.zeros((len(targets), len(found.groups(GROUP).names)), bool)
    for part in found.iter_batches(rows):
        some = found.presence(rows[part], by=GROUP)
        np.logical_or.at(presence, owners[rows[part]], some)
    return presence.sum(axis=1)
