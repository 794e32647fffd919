"""Haplotypes with the hits of a search on a graph, and a comparison with a reference."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from genoviz.analyses.graph.query.path_groups import PathGroups
from genoviz.analyses.offtargets.carriers import count_haplotypes
from genoviz.analyses.offtargets.haplotype_risks import HaplotypeRisks, haplotype_risks
from genoviz.analyses.offtargets.paths import PathOffTargets
from genoviz.analyses.offtargets.reference import ReferenceSites, compare_with_reference
from genoviz.model.columns import distinct

HAPLOTYPE = "haplotype"


@dataclass(frozen=True, eq=False)
class ReferenceAnswer:
    """The sites in a reference.

    Attributes
    ----------
    name
        Name of the sample or path.
    sites
        State of each site in the reference.
    risks
        Worst site of each guide in any haplotype, and in the reference.
    """

    name: str
    sites: ReferenceSites = field(repr=False)
    risks: HaplotypeRisks = field(repr=False)


@dataclass(frozen=True, eq=False)
class GraphSites:
    """Sites on the paths of a graph, in the order of a result's hits.

    Attributes
    ----------
    found
        The sites and their positions.
    haplotypes
        Paths grouped by haplotype.
    n_with
        int64, shape (n_sites,): number of haplotypes with each site.
    reference
        The sites in the reference, or None without a reference.
    """

    found: PathOffTargets = field(repr=False)
    haplotypes: PathGroups = field(repr=False)
    n_with: np.ndarray
    reference: ReferenceAnswer | None = None

    @property
    def n_haplotypes(self) -> int:
        """Number of haplotypes of the graph."""
        return len(self.haplotypes.names)

    @cached_property
    def n_of_chromosome(self) -> np.ndarray:
        """Number of haplotypes with the chromosome of each site; int64, shape (n_sites,)."""
        return count_haplotypes(self.found)

    @cached_property
    def n_with_target(self) -> np.ndarray:
        """Number of haplotypes with a perfect site of each guide; int64, shape (n_guides,)."""
        hits, n = self.found.hits, self.n_haplotypes
        rows = np.flatnonzero((hits.mismatches == 0) & (hits.bulge_sizes == 0))
        pairs = [np.empty(0, np.int64)]  # guide and haplotype, packed
        for part in self.found.iter_batches(rows):
            places = self.found.places(rows[part])
            groups = self.haplotypes.of_path[places.paths].astype(np.int64)
            own = hits.guide_ids[places.sites].astype(np.int64) * n + groups
            pairs.append(distinct(own[groups >= 0]))
        owners = distinct(np.concatenate(pairs)) // max(n, 1)
        return np.bincount(owners, minlength=len(hits.guides)).astype(np.int64)

    def count_copies(self, rows: np.ndarray) -> np.ndarray:
        """Return the copy number of sites in haplotypes; int64, shape (n_rows, n_haplotypes)."""
        counts = np.zeros((len(rows), self.n_haplotypes), np.int64)
        for part in self.found.iter_batches(rows):
            places = self.found.places(rows[part])
            order = np.argsort(rows[part], kind="stable")
            at = order[np.searchsorted(rows[part], places.sites, sorter=order)] + part.start
            np.add.at(counts, (at, self.haplotypes.of_path[places.paths]), 1)
        return counts

    def reference_words(self, rows: np.ndarray) -> list[str]:
        """Return ``yes``, ``no`` or the number of mismatches; "" without a reference."""
        if self.reference is None:
            return [""] * len(rows)
        return self.reference.sites.labels(rows)


def compare_sites(found: PathOffTargets, name: str, cfd: np.ndarray) -> ReferenceAnswer | None:
    """Compare sites with a reference; None without a reference."""
    if not name:
        return None
    sites = compare_with_reference(found, name)
    return ReferenceAnswer(name, sites, haplotype_risks(found, sites, cfd=cfd))
