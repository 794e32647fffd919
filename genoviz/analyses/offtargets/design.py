"""Guides of a region, ranked by the worst that they do elsewhere, in any haplotype of a graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
    """All guides of a region, by cut site; arrays and tuples are of one length.

    Attributes
    ----------
    pam, is_pam_first
        The PAM in letters of IUPAC, and whether it is at the 5' end.
    guides, pams
        Protospacers and the PAMs beside them, 5' to 3'.
    starts, cuts
        int64, bp, 0-based: leftmost base of the site with its PAM, and the base before which it is
        cut; see `cut_sites`.
    strands
        int8: 1 or -1.
    contexts
        The target with the bases that `rule_set_1_scores` needs; "" at the end of a contig, and
        for other guides than those of 20 nt with a PAM of 3 behind them.
    flanks
        What `microhomology_scores` needs; "" at the end of a contig.
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
        The PAM in letters of IUPAC, and whether it is at the 5' end.
    length
        Letters of a guide, nt; those with others than A, C, G and T are left out.
    start, end
        The region, 0-based half-open; all of the contig by default.

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
    """Return where windows begin whose PAM fits and whose other letters are plain."""
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
    """Return letters; "" where they are not all within the text."""
    return text[first:last].tobytes().decode("latin-1") if 0 <= first <= last <= len(text) else ""


@dataclass(frozen=True, eq=False)
class GuideDesign:
    """What guides of a region do elsewhere; arrays of shape (n_guides,) unless said.

    Attributes
    ----------
    candidates
        The guides.
    order
        int64: rows of the candidates, the best first: targets that the most haplotypes have, then
        the lowest `worst_cfd`, then the fewest sites with 0, 1, 2 ... mismatches, then the highest
        efficiency.
    counts
        int64, shape (n_guides, max_mismatches + 1): sites by mismatches, the target not counted.
        Of a graph, sites that differ between haplotypes count each, also alleles of the target;
        what stands on the same nodes is one site, however often a haplotype visits them.
    worst_cfd
        float64: the highest CFD of a site but the target, and of a graph but its alleles, in any
        haplotype; a haplotype that has the target twice counts as cut elsewhere. 0 of guides
        without such a site, NaN of those without scores.
    reference_worst_cfd
        float64: likewise of those sites that the reference has; NaN of a genome.
    cfd_specificity
        float64: see `GuideSummaries`; of a graph, in the haplotype where it is lowest.
    n_haplotypes
        int64: of a graph, haplotypes that read the target as the guide does; -1 of a genome, and
        where the target is not in the graph.
    of_haplotypes
        How many haplotypes there are; 0 of a genome.
    efficiency
        float64: `rule_set_1_scores` of guides for NGG; NaN of others.
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
    """Return what guides of a region do elsewhere in a genome, or in any haplotype of a graph.

    Parameters
    ----------
    candidates
        What `find_guides` returns.
    genome
        Where they are searched for: a genome, or a graph with sequences.
    contig
        The contig of the genome, or the path of the graph, whose letters the candidates are of.
        None where they are of a sequence that is not in it, such as a transgene: then every site
        is one elsewhere.
    max_mismatches
        Of sites that count.
    reference
        Of a graph: the path or sample that sites are compared with; by default the contig.

    Raises
    ------
    ParameterError
        As `find_offtargets`; if the genome has no such contig or the candidates do not stand
        there; or if a graph comes with neither contig nor reference.
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
            n_with = _count_haplotypes(found, compared, targets)
    else:
        hits = find_offtargets(guides, genome, pattern, **options)
        targets = _find_in_genome(candidates, hits, contig)
        summary = summarise_guides(hits, on_targets=targets)
        worst, specificity = summary.worst_cfd, summary.cfd_specificity
        in_reference = np.full(len(guides), np.nan)
    if has_scores(pattern):
        # Letters that stand nowhere do nothing.
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
    """Return the row of the hit where each candidate stands; int64, -1 for those of no contig."""
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
    """Return the row of the site where each candidate stands; int64, -1 for those of no path."""
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
    """Return how many haplotypes read each target, or a site at its place, as the guide does."""
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
