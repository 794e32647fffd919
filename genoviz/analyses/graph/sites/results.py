"""What a search for variation sites finds: the sites along a path and their alleles, as arrays."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from genoviz.analyses.graph.sites.kinds import SiteKind
from genoviz.errors import n_words


@dataclass(frozen=True, eq=False, repr=False)
class VariationSites:
    """The variation sites of a graph along one path, sorted by start, outer before inner.

    Attributes
    ----------
    reference
        Index of the reference path.
    starts, ends
        int64, shape (n_sites,), bp from the reference path's own first base, 0-based half-open:
        what lies between the boundary nodes where the path first traverses the site. They are
        equal where the reference allele is empty.
    sources, sinks
        uint32: the handles that bound the site, as the reference path has them.
    n_nodes
        int64: number of nodes between source and sink.
    levels, parents
        int64: how many sites lie around the site, and which is the innermost of them, or -1.
    n_alleles, n_paths, n_traversals
        int64: number of alleles with different sequences, of paths that traverse the site from one
        boundary to the other, and of their traversals, of which a path may make several.
    reference_lengths, min_lengths, max_lengths
        int64, bp: length of the reference allele, and of the shortest and the longest allele.
    kinds
        uint8: the `SiteKind` of each site.
    n_reference_visits
        int64: how often the reference path traverses the site.
    allele_offsets
        int64, shape (n_sites + 1,): site ``i`` has the alleles ``allele_offsets[i]`` to
        ``allele_offsets[i + 1]`` of the following arrays, the reference allele first, then by
        falling number of traversals.
    allele_counts, allele_n_paths, allele_lengths
        int64: traversals that have the allele, paths among them, bp.
    allele_n_walks
        int64: how many walks over different nodes read the allele; 1 in a graph without sequences.
    allele_steps
        int64: the step (of all paths) at which the first traversal enters, or ``~step`` where it
        enters by the sink, on the other strand. Its walk stands for the allele.
    gap_starts, gap_ends
        int64, bp on the reference: stretches where the graph leaves a choice but no site is: in
        cycles, at inversions, at tips, or where the reference begins or ends within a superbubble.
    notes
        What the user should know, one sentence each.
    """

    reference: int
    starts: np.ndarray
    ends: np.ndarray
    sources: np.ndarray
    sinks: np.ndarray
    n_nodes: np.ndarray
    levels: np.ndarray
    parents: np.ndarray
    n_alleles: np.ndarray
    n_paths: np.ndarray
    n_traversals: np.ndarray
    reference_lengths: np.ndarray
    min_lengths: np.ndarray
    max_lengths: np.ndarray
    kinds: np.ndarray
    n_reference_visits: np.ndarray
    allele_offsets: np.ndarray
    allele_counts: np.ndarray
    allele_n_paths: np.ndarray
    allele_n_walks: np.ndarray
    allele_lengths: np.ndarray
    allele_steps: np.ndarray
    gap_starts: np.ndarray
    gap_ends: np.ndarray
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    def __len__(self) -> int:
        return len(self.starts)

    def __repr__(self) -> str:
        return (
            f"VariationSites({n_words(len(self), 'site')}, "
            f"{n_words(len(self.allele_counts), 'allele')}, "
            f"{n_words(len(self.gap_starts), 'stretch', 'stretches')} without a site)"
        )

    def count_kinds(self, chosen: np.ndarray | None = None) -> dict[str, int]:
        """Return how many sites, or of those with some indices, are of each kind that occurs."""
        kinds = self.kinds if chosen is None else self.kinds[chosen]
        counts = np.bincount(kinds, minlength=len(SiteKind)).tolist()
        return {kind.label: counts[kind] for kind in SiteKind if counts[kind]}


@dataclass(frozen=True)
class SitesProgress:
    """Progress of the search.

    Attributes
    ----------
    stage
        Current stage.
    n_done, n_total
        What the stage has behind it and has in all; ``n_total`` is None where that is unknown.
    sites
        The sites, in the last report only.
    """

    stage: str
    n_done: int = 0
    n_total: int | None = None
    sites: VariationSites | None = None


def no_sites(reference: int) -> VariationSites:
    """Return the result of a search that found none."""
    dtypes = {"sources": np.uint32, "sinks": np.uint32, "kinds": np.uint8}
    arrays = {
        field.name: np.empty(0, dtypes.get(field.name, np.int64))
        for field in fields(VariationSites)
        if field.name not in ("reference", "notes")
    }
    return VariationSites(reference, **{**arrays, "allele_offsets": np.zeros(1, np.int64)})
