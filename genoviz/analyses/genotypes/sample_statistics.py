"""Basic statistics of samples: missing rates, heterozygosity, inbreeding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from genoviz.analyses.genotypes.code_values import frequencies_of_counts
from genoviz.analyses.genotypes.products import iter_allele_counts
from genoviz.analyses.genotypes.statistics import share
from genoviz.analyses.genotypes.variant_blocks import product_blocks
from genoviz.backend import Backend, load_kernel, to_host
from genoviz.generators import Progress, last_of, report_last
from genoviz.model.genotypes.chromosomes import DIPLOID, Kind
from genoviz.model.genotypes.genotypes import MISSING_CODE, Genotypes

IS_MISSING = np.array([0.0, 1.0, 0.0, 0.0])
IS_HETEROZYGOUS = np.array([0.0, 0.0, 1.0, 0.0])
IS_CALLED = 1 - IS_MISSING
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class SampleStatistics:
    """Statistics of each sample.

    Attributes
    ----------
    n_variants
        int64, shape (n_samples,): number of variants; without those of Y unless male.
    n_called
        int64, shape (n_samples,): number of these with a genotype.
    n_autosomal
        int64, shape (n_samples,): called variants of autosomes and pseudoautosomal regions.
    n_heterozygous
        int64, shape (n_samples,): heterozygous ones among ``n_autosomal``.
    n_expected_homozygous
        float64, shape (n_samples,): sum of 1 - 2p(1 - p) over ``n_autosomal`` variants.
    """

    n_variants: np.ndarray
    n_called: np.ndarray
    n_autosomal: np.ndarray
    n_heterozygous: np.ndarray
    n_expected_homozygous: np.ndarray

    @cached_property
    def missing_rate(self) -> np.ndarray:
        """Share of variants without a genotype: float64; 0 if there are no variants."""
        return (self.n_variants - self.n_called) / np.maximum(self.n_variants, 1)

    @cached_property
    def heterozygosity(self) -> np.ndarray:
        """Share of heterozygotes among called autosomal variants: float64, NaN if none."""
        return share(self.n_heterozygous, self.n_autosomal)

    @cached_property
    def inbreeding(self) -> np.ndarray:
        """Method-of-moments F, as in ``plink --het``: float64, NaN if nothing varies.

        (observed - expected homozygous) / (called - expected homozygous), over autosomes.
        """
        n_homozygous = self.n_autosomal - self.n_heterozygous
        n_mixed = self.n_autosomal - self.n_expected_homozygous
        is_rounding = n_mixed < ROUNDING * self.n_variants
        return share(n_homozygous - self.n_expected_homozygous, np.where(is_rounding, 0, n_mixed))


def sample_statistics(
    genotypes: Genotypes, *, counts: np.ndarray | None = None, backend: Backend = "auto"
) -> SampleStatistics:
    """Return missing rates, heterozygosity and inbreeding of the samples.

    Heterozygosity and inbreeding use autosomes and pseudoautosomal regions. Missing genotypes at Y
    count for males only.

    Parameters
    ----------
    genotypes
        The genotypes.
    counts
        `VariantStatistics.counts` of the same genotypes, if already known.
    backend
        Where to compute.

    Raises
    ------
    ParameterError
        If a contig is not a chromosome of the species.
    """
    return last_of(iter_sample_statistics(genotypes, counts=counts, backend=backend)).result


def iter_sample_statistics(
    genotypes: Genotypes, *, counts: np.ndarray | None = None, backend: Backend = "auto"
) -> Iterator[Progress]:
    """Sum up blocks of variants; the last step has the result of `sample_statistics`."""
    start = 0.0
    if counts is None:
        start = 0.5
        steps = iter_allele_counts(genotypes, backend=backend)
        counts = yield from report_last(steps, 0.0, start)
    is_autosomal = np.isin(genotypes.kinds, DIPLOID).astype(np.float64)
    is_of_y = (genotypes.kinds == Kind.Y).astype(np.float64)
    p = frequencies_of_counts(counts)
    homozygous = (1 - 2 * p * (1 - p)) * is_autosomal
    ones = np.ones(genotypes.n_variants)
    weights = np.column_stack([ones, homozygous, is_autosomal, is_of_y])
    missing = np.zeros((genotypes.n_samples, 4))
    heterozygous = np.zeros((genotypes.n_samples, 1))
    # The counts of Y are those of males alone.
    is_holed = (counts[:, MISSING_CODE] > 0) | (is_of_y > 0)
    n_samples = genotypes.n_samples
    for block in product_blocks(genotypes, backend=backend):
        packed = np.ascontiguousarray(genotypes.packed[block])
        of_block = is_autosomal[block, None]
        heterozygous += sums_of_codes(packed, n_samples, IS_HETEROZYGOUS, of_block, backend)
        holed = np.flatnonzero(is_holed[block])
        if len(holed):
            packed = packed if len(holed) == len(packed) else packed[holed]
            of_block = weights[block][holed]
            missing += sums_of_codes(packed, n_samples, IS_MISSING, of_block, backend)
        yield Progress("adding up samples", start + (1 - start) * block.stop / len(ones))
    n_missing = np.rint(missing).astype(np.int64)
    has_no_y = ~genotypes.samples.is_male
    n_variants = genotypes.n_variants - has_no_y * int(is_of_y.sum())
    result = SampleStatistics(
        n_variants=n_variants,
        n_called=n_variants - (n_missing[:, 0] - has_no_y * n_missing[:, 3]),
        n_autosomal=int(is_autosomal.sum()) - n_missing[:, 2],
        n_heterozygous=np.rint(heterozygous[:, 0]).astype(np.int64),
        n_expected_homozygous=homozygous.sum() - missing[:, 1],
    )
    yield Progress("adding up samples", 1.0, result)


def sums_of_codes(
    packed: np.ndarray, n_samples: int, of_code: np.ndarray, weights: np.ndarray, backend: Backend
) -> np.ndarray:
    """Return sums over variants of weights (n_variants, k) times the value of each code."""
    values = np.tile(of_code, (len(packed), 1))
    kernel = load_kernel("genotype_product", backend)
    return to_host(kernel.multiply(packed, n_samples, values, np.ascontiguousarray(weights)))
