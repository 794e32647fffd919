"""Clumping: groups of linked associated variants, each represented by the strongest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from genoviz.analyses.genotypes.linkage import (
    MEASURES,
    Measure,
    check_linkage_options,
    has_position,
)
from genoviz.analyses.genotypes.variant_blocks import find_near
from genoviz.errors import ParameterError
from genoviz.generators import Progress, in_one_go
from genoviz.model.genotypes.genotypes import Genotypes

WHAT = "Clumping"
INDEXES_TOGETHER = 256
"""Index variants whose r^2 are computed at once; some may turn out to be members of others."""
BLOCK_GENOTYPES = 1 << 26
"""Genotypes of the variants near them, roughly."""


@dataclass(frozen=True, eq=False)
class Clumps:
    """Clumps of linked variants, each with an index variant.

    Attributes
    ----------
    index_variants
        int64, shape (n_clumps,): index variant of each clump, the lowest p first.
    offsets
        int64, shape (n_clumps + 1,): start of each clump in ``members``.
    members
        int64: the other variants of each clump, whatever their p, by contig and position.
    r2
        float64, same length: r^2 of each member with its index variant.
    """

    index_variants: np.ndarray
    offsets: np.ndarray
    members: np.ndarray
    r2: np.ndarray

    def __len__(self) -> int:
        return len(self.index_variants)

    def of(self, clump: int) -> np.ndarray:
        """Return the other variants of a clump: int64."""
        return self.members[self.offsets[clump] : self.offsets[clump + 1]]


def iter_clump(
    genotypes: Genotypes,
    p: np.ndarray,
    *,
    minus_log10_p: np.ndarray | None = None,
    index_p: float = 1e-4,
    min_r2: float = 0.5,
    max_distance: int = 250_000,
    measure: Measure = "haplotype",
) -> Iterator[Progress]:
    """Clump variants by p; the last step has the `Clumps`.

    As ``plink --clump``: variants with p up to ``index_p`` are visited in order of p. A variant
    that is in no clump yet starts a new one. Its members are all unassigned variants with a p that
    lie within the distance and have at least the minimum r^2 with it. Ties in p are broken by
    contig and position.

    Parameters
    ----------
    genotypes
        The genotypes, with variants in any order. A variant without a position is its own clump.
    p
        p values, shape (n_variants,); variants with NaN are skipped.
    minus_log10_p
        -log10 p, shape (n_variants,), which ranks variants whose p is below 1e-308, hence 0.
    index_p
        Largest p of an index variant.
    min_r2
        Smallest r^2 of a member with the index variant, 0 to 1.
    max_distance
        Largest distance of a member from the index variant in bp.
    measure
        As for `iter_linked_pairs`; PLINK uses ``"haplotype"``.

    Raises
    ------
    ParameterError
        If shapes do not match, a number is out of range, or no variant has a position.

    References
    ----------
    Purcell et al. 2007, PLINK: a tool set for whole-genome association and population-based linkage
    analyses, doi:10.1086/519795.
    """
    p = np.asarray(p, np.float64)
    if p.shape != (genotypes.n_variants,):
        raise ParameterError(f"p has shape {p.shape}, needs ({genotypes.n_variants},)")
    if ((p < 0) | (p > 1)).any():
        raise ParameterError(f"p has {p[(p < 0) | (p > 1)][0]:g}, needs to be 0 to 1")
    if minus_log10_p is not None and np.shape(minus_log10_p) != p.shape:
        raise ParameterError(
            f"minus_log10_p has shape {np.shape(minus_log10_p)}, needs {p.shape} as p"
        )
    if not 0 <= index_p <= 1:
        raise ParameterError(f"index_p is {index_p}, needs to be 0 to 1")
    check_linkage_options(max_distance, min_r2, measure)
    is_placed = has_position(genotypes)
    contigs, positions = genotypes.chromosome_ids, genotypes.variants.positions
    order = np.lexsort((positions, contigs))
    order = order[np.isfinite(p[order])]
    contigs, positions, p = contigs[order], positions[order], p[order]
    is_placed = is_placed[order]
    logs = np.zeros(len(p)) if minus_log10_p is None else np.asarray(minus_log10_p)[order]
    ranked = np.lexsort((-logs, p))
    ranked = ranked[p[ranked] <= index_p]
    is_free = np.ones(len(order), bool)

    starts, ends = find_near(contigs, positions, max_distance)
    pairs_together = max(1, BLOCK_GENOTYPES // max(genotypes.n_samples, 1))

    def neighbours(index: int) -> np.ndarray:
        """Return the free variants near one, by place."""
        near = slice(starts[index], ends[index])
        is_near = is_free[near] & is_placed[near] & is_placed[index]
        return starts[index] + np.flatnonzero(is_near)

    found: list[tuple[int, np.ndarray, np.ndarray]] = []
    start = 0
    while start < len(ranked):
        block, places, n_pairs = [], [], 0
        for index in ranked[start : start + INDEXES_TOGETHER].tolist():
            if n_pairs >= pairs_together:
                break
            start += 1
            if is_free[index]:
                block.append(index)
                places.append(neighbours(index))
                n_pairs += len(places[-1])
        if not block:
            continue
        last = np.cumsum([len(each) for each in places])
        joined = np.concatenate(places)
        first = np.repeat(order[block], np.diff(last, prepend=0))
        r2 = MEASURES[measure](genotypes, first, order[joined], at_least=min_r2)
        of_each = np.split(r2, last[:-1])
        for index, near, r2 in zip(block, places, of_each, strict=True):
            if is_free[index]:  # no member of a clump of this block
                is_free[index] = False
                is_in = is_free[near] & (r2 >= min_r2)
                is_free[near[is_in]] = False
                found.append((order[index], order[near[is_in]], r2[is_in]))
        yield Progress(WHAT, start / len(ranked))
    sizes = [len(members) for _, members, _ in found]
    clumps = Clumps(
        np.array([index for index, _, _ in found], np.int64),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.concatenate([np.empty(0, np.int64), *(members for _, members, _ in found)]),
        np.concatenate([np.empty(0), *(r2 for _, _, r2 in found)]),
    )
    yield Progress(WHAT, 1.0, clumps)


@in_one_go(iter_clump)
def clump(last: Progress) -> Clumps:
    """Return clumps of linked variants; see `iter_clump`.

    Examples
    --------
    >>> from genoviz import simulate_genotypes
    >>> p = np.full(50, 0.9)
    >>> p[[7, 30]] = 1e-6, 1e-8
    >>> clump(simulate_genotypes(100, 50, seed=1), p, min_r2=1).index_variants.tolist()
    [30, 7]
    """
    return last.result
