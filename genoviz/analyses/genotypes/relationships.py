"""Similarity of samples: the genomic relationship matrix, and an order with relatives adjacent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numba import njit
from numpy.typing import DTypeLike

from genoviz.analyses.genotypes.code_values import (
    frequencies_of_counts,
    spare_missing,
    values_of_codes,
)
from genoviz.analyses.genotypes.crossproducts import iter_crossproducts
from genoviz.analyses.genotypes.products import iter_allele_counts
from genoviz.analyses.genotypes.sample_statistics import IS_CALLED
from genoviz.analyses.genotypes.selection import select_samples
from genoviz.analyses.genotypes.sex_chromosomes import Contigs, take_autosomes
from genoviz.backend import Backend, Scheduler
from genoviz.errors import ParameterError, check_choice
from genoviz.generators import Progress, in_one_go, last_of, report_steps
from genoviz.model.genotypes.genotypes import (
    Genotypes,
    SampleTable,
)

METHODS = ("vanraden", "gcta")
WHAT = "Relationship matrix"


@dataclass(frozen=True, eq=False)
class RelationshipMatrix:
    """Genomic relationships of samples.

    Attributes
    ----------
    values
        float64, shape (n_samples, n_samples), symmetric; about 1 + F on the diagonal, and twice
        the kinship elsewhere, for a base population of the frequencies of these samples.
    samples
        The names of the samples.
    method
        ``"vanraden"`` or ``"gcta"``.
    n_variants
        Number of variants that vary; only these count.
    n_shared
        int32, shape (n_samples, n_samples): number of variants with a genotype in both samples,
        if relationships are means over these; None if all n_variants count for each pair.
    """

    values: np.ndarray
    samples: SampleTable
    method: str
    n_variants: int
    n_shared: np.ndarray | None = None

    @property
    def pair_variants(self) -> np.ndarray:
        """Number of variants of each relationship: int32, like `values`, read-only."""
        counts = np.int32(self.n_variants) if self.n_shared is None else self.n_shared
        return np.broadcast_to(counts, self.values.shape)

    def order_by_clusters(self) -> np.ndarray:
        """Return the samples in an order that puts relatives side by side: int64, (n_samples,).

        The order is that of the leaves of a tree by average linkage of 1 - correlation. This takes
        the memory of the matrix again, and time proportional to its size.
        """
        scales = 1 / np.sqrt(np.maximum(np.diag(self.values), 1e-12))
        distances = 1 - np.nan_to_num(self.values) * scales * scales[:, None]
        np.maximum(distances, 0, out=distances)
        return order_by_linkage(distances)


def order_by_linkage(distances: np.ndarray) -> np.ndarray:
    """Return the leaves of a tree by average linkage (UPGMA), with similar ones side by side.

    Parameters
    ----------
    distances
        float64, shape (n, n), symmetric; overwritten.
    """
    from scipy.cluster.hierarchy import leaves_list

    if len(distances) < 3:
        return np.arange(len(distances))
    pairs, heights = _join_nearest(distances)
    return leaves_list(_number_joins(pairs, heights)).astype(np.int64)


# SciPy's `linkage` holds the GIL, which would stop a server for seconds.
@njit(nogil=True, cache=True)
def _join_nearest(distances):
    """Join all clusters by average linkage, in any order; the distances are overwritten.

    A chain of nearest neighbours ends with two that are nearest to each other. They are joined in
    the place of the second, and the chain continues from its remaining members (Murtagh 1983,
    doi:10.1093/comjnl/26.4.354).
    """
    n = len(distances)
    sizes, chain, n_chain = np.ones(n, np.int64), np.empty(n, np.int64), 0
    pairs, heights = np.empty((n - 1, 2), np.int64), np.empty(n - 1)
    for join in range(n - 1):
        if not n_chain:
            chain[0], n_chain = np.argmax(sizes > 0), 1
        while True:
            last = chain[n_chain - 1]
            before = chain[n_chain - 2] if n_chain > 1 else -1
            nearest, height = before, distances[last, before] if n_chain > 1 else np.inf
            for other in range(n):
                if sizes[other] and other != last and distances[last, other] < height:
                    nearest, height = other, distances[last, other]
            if nearest == before:
                break
            chain[n_chain] = nearest
            n_chain += 1
        n_chain -= 2
        gone, kept = min(last, nearest), max(last, nearest)
        pairs[join, 0], pairs[join, 1], heights[join] = gone, kept, height
        n_gone, n_kept = sizes[gone], sizes[kept]
        sizes[gone], sizes[kept] = 0, n_gone + n_kept
        for other in range(n):
            if sizes[other] and other != kept:
                total = n_gone * distances[gone, other] + n_kept * distances[kept, other]
                distances[kept, other] = distances[other, kept] = total / (n_gone + n_kept)
    return pairs, heights


def _number_joins(pairs: np.ndarray, heights: np.ndarray) -> np.ndarray:
    """Return joins in ascending order of height, in the form of SciPy's trees: (n - 1, 4)."""
    n = len(pairs) + 1
    clusters, sizes, tree = list(range(n)), [1] * n, np.empty((n - 1, 4))
    places = np.arange(n)  # of the samples; joined ones point to where they went
    for join, row in enumerate(np.argsort(heights, kind="stable").tolist()):
        gone, kept = (_follow(places, place) for place in pairs[row].tolist())
        places[gone] = kept
        sizes[kept] += sizes[gone]
        first, second = sorted((clusters[gone], clusters[kept]))
        tree[join] = first, second, heights[row], sizes[kept]
        clusters[kept] = n + join
    return tree


def _follow(places: np.ndarray, place: int) -> int:
    """Return the current place of a sample's cluster, and compress the path to it."""
    while places[place] != place:
        places[place] = places[places[place]]
        place = int(places[place])
    return place


def iter_relationship_matrix(
    genotypes: Genotypes,
    *,
    method: Literal["vanraden", "gcta"] = "vanraden",
    samples: np.ndarray | None = None,
    contigs: Contigs = "autosomes",
    dtype: DTypeLike = np.float64,
    scheduler: Scheduler = None,
    backend: Backend = "auto",
) -> Iterator[Progress]:
    """Compute the genomic relationship matrix; the last step has the `RelationshipMatrix`.

    For dosages x and frequencies p of A1 among these samples:

    - ``"vanraden"`` (method 1): Z Z' / sum 2p(1 - p), with z = x - 2p, and 0 where missing;
    - ``"gcta"``: Z Z' / m, with z = (x - 2p) / sqrt(2p(1 - p)), for m the variants at which both
      samples have a genotype: the same as ``plink2 --make-rel``.

    Variants that do not vary are left out; PLINK has them in m unless told ``--mac 1``.

    Parameters
    ----------
    genotypes
        The genotypes.
    method
        Which matrix.
    samples
        Numbers of those that it is about, in this order; all if None.
    contigs
        ``"autosomes"``: variants of X, Y and mitochondria are left out; ``"all"``: they are taken
        as they are in the file, with two copies in males too.
    dtype
        float64 or float32: of the products of a block of variants; sums of blocks are float64.
        float32 takes half the time and keeps six digits.
    scheduler
        As of `iter_associate`: workers take blocks of variants, and add their matrices up. The
        order of rounding is then another one.
    backend
        Where it runs.

    Raises
    ------
    ParameterError
        If an option is unknown, no variant varies, or the matrix does not fit into memory.

    References
    ----------
    VanRaden 2008, Efficient methods to compute genomic predictions, doi:10.3168/jds.2007-0980.
    Yang et al. 2011, GCTA: a tool for genome-wide complex trait analysis,
    doi:10.1016/j.ajhg.2010.11.011.
    """
    check_choice("method", method, METHODS)
    genotypes, _ = take_autosomes(genotypes, contigs)
    if samples is not None:
        genotypes = select_samples(genotypes, samples)
    yield Progress(WHAT, 0.0)
    counts = last_of(iter_allele_counts(genotypes, scheduler=scheduler, backend=backend)).result
    p = frequencies_of_counts(counts)
    is_varied = (p > 0) & (p < 1)
    n_variants = int(is_varied.sum())
    if not n_variants:
        raise ParameterError(
            f"none of {genotypes.n_variants:,} variants varies among {genotypes.n_samples:,} "
            "samples; relationships need one that does"
        )
    if n_variants < genotypes.n_variants:
        genotypes = genotypes.take_variants(np.flatnonzero(is_varied))
        p, counts = p[is_varied], counts[is_varied]
    values = spare_missing(values_of_codes(p, standardise=method == "gcta"), counts)
    has_missing = np.flatnonzero(counts[:, 1]) if method == "gcta" else np.empty(0, np.int64)
    share = n_variants / (n_variants + len(has_missing))
    where = {"scheduler": scheduler, "backend": backend}
    steps = iter_crossproducts(genotypes, values, dtype=dtype, **where)
    products = yield from report_steps(steps, WHAT, 0.0, share)
    n_shared = None
    if method == "vanraden":
        products /= (2 * p * (1 - p)).sum()
    elif not len(has_missing):
        products /= n_variants
    else:
        holed = genotypes.take_variants(has_missing)
        called = np.tile(IS_CALLED, (len(has_missing), 1))
        steps = iter_crossproducts(holed, called, dtype=np.float32, **where)
        n_both = yield from report_steps(steps, WHAT, share)
        n_both += n_variants - len(has_missing)
        with np.errstate(invalid="ignore"):
            products /= n_both
        n_shared = n_both.astype(np.int32)
    matrix = RelationshipMatrix(products, genotypes.samples, method, n_variants, n_shared)
    yield Progress(WHAT, 1.0, matrix)


@in_one_go(iter_relationship_matrix)
def relationship_matrix(last: Progress) -> RelationshipMatrix:
    """Return the genomic relationship matrix; see `iter_relationship_matrix`."""
    return last.result
