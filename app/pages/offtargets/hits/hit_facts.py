"""What there is to say of one hit."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import numpy as np

from genoviz.analyses.offtargets.cuts import cut_sites
from genoviz.analyses.offtargets.differences import count_seed_mismatches
from genoviz.analyses.offtargets.scores import mit_scores
from genoviz.model.offtargets.hits import OffTargetHits
from genoviz.model.sequences.bases import COMPLEMENTS
from genoviz_app.pages.offtargets.hits.alignment_html import protospacers_of, stacked_html
from genoviz_app.pages.offtargets.hits.bulge_kinds import kind_of, kinds_of
from genoviz_app.pages.offtargets.hits.hit_places import region_of
from genoviz_app.pages.offtargets.search.genes import UNKNOWN, HitGenes
from genoviz_app.pages.offtargets.search.guide_groups import for_each_hit
from genoviz_app.pages.offtargets.search.search import SearchResult


@dataclass(frozen=True)
class Flank:
    """The bases around a hit, on the strand of the hit.

    Attributes
    ----------
    before, site, after
        Letters; soft-masked ones are in lower case.
    """

    before: str
    site: str
    after: str

    @property
    def text(self) -> str:
        """All of it."""
        return self.before + self.site + self.after


def flank_of(result: SearchResult, row: int, n_bases: int) -> Flank:
    """Return the bases of a hit and up to ``n_bases`` on both sides, within its contig."""
    hits, planes = result.hits, result.genome.planes
    contig, start = int(hits.contig_ids[row]), int(hits.positions[row])
    end = start + int(hits.lengths[row])
    low = max(start - n_bases, int(planes.offsets[contig]))
    high = min(end + n_bases, int(planes.offsets[contig + 1]))
    letters = planes.cut(low, high)
    is_masked = masked_in(planes.masked, low, high)
    if hits.strands[row] < 0:
        letters, is_masked = COMPLEMENTS[letters][::-1], is_masked[::-1]
        n_before = high - end
    else:
        n_before = start - low
    text = np.where(is_masked, letters | 32, letters).astype(np.uint8).tobytes().decode("latin-1")
    stop = n_before + end - start
    return Flank(text[:n_before], text[n_before:stop], text[stop:])


def masked_in(masked: np.ndarray, low: int, high: int) -> np.ndarray:
    """Return which bases of a stretch are soft-masked; bool, shape (high - low,)."""
    is_masked = np.zeros(high - low, bool)
    first = int(np.searchsorted(masked[:, 1], low, side="right"))
    last = int(np.searchsorted(masked[:, 0], high, side="left"))
    for start, stop in masked[first:last].tolist():
        is_masked[max(start - low, 0) : max(stop - low, 0)] = True
    return is_masked


def card_html(result: SearchResult, row: int, flank: Flank, genes: HitGenes | None = None) -> str:
    """Return the facts of a hit as HTML."""
    hits, query = result.hits, result.query
    rows = np.array([row])
    part = hits.take(rows)
    alignment = part.alignments()[0]
    guide = query.guides[int(hits.guide_ids[row])]
    place = protospacers_of(query)[int(hits.guide_ids[row])]
    region = region_of(result, row)
    strand = "+" if hits.strands[row] > 0 else "−"
    facts = {
        "Place (from 1)": f"{region.start + 1:,}-{region.end:,}, strand {strand}",
        "0-based, half-open": f"{region.start} to {region.end}",
    }
    if query.pam.letters:
        cut = int(for_each_hit(part, cut_sites)[0])
        facts["Cut"] = f"after base {cut:,} (from 1)"
    facts["Mismatches"] = str(int(hits.mismatches[row]))
    if query.pam.letters:
        n_seed = int(for_each_hit(part, count_seed_mismatches)[0])
        facts["Mismatches"] += f", of them {n_seed} in the seed"
    kind = int(kind_of(result, rows)[0])
    if kind:
        facts["Bulge"] = kinds_of(query)[kind]
    facts |= gene_facts(genes, row) | _scores(result, row, part)
    n_masked = sum(map(str.islower, flank.site))
    if len(result.genome.planes.masked):
        facts["Soft-masked"] = f"{n_masked} of {len(flank.site)} bp"
    items = "".join(f"<dt>{name}</dt><dd>{escape(value)}</dd>" for name, value in facts.items())
    return (
        f"<h4>{escape(guide.name)} in {escape(region.path)}</h4>"
        f"<pre>{stacked_html(alignment, place)}</pre>"
        f'<dl class="numbers">{items}</dl>'
        f'<p class="flank">{flank.before}<b>{flank.site}</b>{flank.after}</p>'
    )


def gene_facts(genes: HitGenes | None, row: int) -> dict[str, str]:
    """Return the gene of a hit in words; none without genes."""
    if genes is None:
        return {}
    where, name = genes.labels(np.array([row]))[0], genes.names(np.array([row]))[0]
    if genes.classes[row] == UNKNOWN:
        return {"Gene": where}
    distance = int(genes.annotation.distances[row])
    if distance < 0:
        return {"Gene": "none on this contig"}
    name = name or "without a name"
    if distance > 0:
        return {"Gene": f"{where}, {name} {distance:,} bp away"}
    n_more = int(genes.annotation.n_genes[row]) - 1
    return {"Gene": f"{where} of {name}{f', and {n_more:,} more' if n_more > 0 else ''}"}


def _scores(result: SearchResult, row: int, part: OffTargetHits) -> dict[str, str]:
    if result.cfd is None:
        return {}
    cfd, mit = float(result.cfd[row]), float(for_each_hit(part, mit_scores)[0])
    says = {"CFD": "none" if np.isnan(cfd) else f"{cfd:.4g}"}
    if not np.isnan(mit):
        says["MIT"] = f"{mit:.4g} of 100"
    return says
