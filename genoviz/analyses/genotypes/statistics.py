"""What is told of variants and of samples before anything else: frequencies, missing, mixed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from genoviz.analyses.genotypes.code_values import frequencies_of_counts
from genoviz.analyses.genotypes.hardy_weinberg import hardy_weinberg_p
from genoviz.analyses.genotypes.matrix_parts import to_host
from genoviz.analyses.genotypes.products import allele_counts
from genoviz.analyses.genotypes.variant_blocks import packed_rows
from genoviz.backend import Backend, load_kernel
from genoviz.model.genotypes import Genotypes

IS_MISSING = np.array([0.0, 1.0, 0.0, 0.0])
IS_HETEROZYGOUS = np.array([0.0, 0.0, 1.0, 0.0])
IS_CALLED = 1 - IS_MISSING
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class VariantStatistics:
    """Statistics of each variant.

    Attributes
    ----------
    counts
        int64, shape (n_variants, 4): samples homozygous for A1, missing, heterozygous, homozygous
        for A2.
    """

    counts: np.ndarray

    @cached_property
    def n_called(self) -> np.ndarray:
        """Samples that have a genotype: int64, shape (n_variants,)."""
        return self.counts.sum(1) - self.counts[:, 1]

    @cached_property
    def a1_frequency(self) -> np.ndarray:
        """Frequency of A1 among the called: float64, NaN where none is called."""
        frequencies = frequencies_of_counts(self.counts)
        return np.where(self.n_called > 0, frequencies, np.nan)

    @cached_property
    def minor_allele_frequency(self) -> np.ndarray:
        """Frequency of the rarer allele: float64, 0 to 0.5, NaN where none is called."""
        return np.minimum(self.a1_frequency, 1 - self.a1_frequency)

    @cached_property
    def missing_rate(self) -> np.ndarray:
        """Share of samples without a genotype: float64; 0 if there are no samples."""
        return self.counts[:, 1] / np.maximum(self.counts.sum(1), 1)

    @cached_property
    def heterozygosity(self) -> np.ndarray:
        """Share of heterozygotes among the called: float64, NaN where none is called."""
        return _share(self.counts[:, 2], self.n_called)

    @cached_property
    def hwe_p(self) -> np.ndarray:
        """Exact p value of Hardy-Weinberg proportions: float64; see `hardy_weinberg_p`."""
        return hardy_weinberg_p(self.counts)


@dataclass(frozen=True, eq=False)
class SampleStatistics:
    """Statistics of each sample, over all variants as if all were of autosomes.

    Attributes
    ----------
    n_called
        int64, shape (n_samples,): variants at which the sample has a genotype.
    n_heterozygous
        int64, shape (n_samples,): those at which it is heterozygous.
    n_expected_homozygous
        float64, shape (n_samples,): sum of 1 - 2p(1 - p) over the called variants.
    n_variants
        All variants.
    """

    n_called: np.ndarray
    n_heterozygous: np.ndarray
    n_expected_homozygous: np.ndarray
    n_variants: int

    @cached_property
    def missing_rate(self) -> np.ndarray:
        """Share of variants without a genotype: float64; 0 if there are no variants."""
        return (self.n_variants - self.n_called) / max(self.n_variants, 1)

    @cached_property
    def heterozygosity(self) -> np.ndarray:
        """Share of heterozygous genotypes among the called: float64, NaN where none is called."""
        return _share(self.n_heterozygous, self.n_called)

    @cached_property
    def inbreeding(self) -> np.ndarray:
        """Method-of-moments F, as of ``plink --het``: float64, NaN where nothing varies.

        (observed - expected homozygous) / (called - expected homozygous).
        """
        n_homozygous = self.n_called - self.n_heterozygous
        n_mixed = self.n_called - self.n_expected_homozygous
        is_rounding = n_mixed < ROUNDING * self.n_variants
        return _share(n_homozygous - self.n_expected_homozygous, np.where(is_rounding, 0, n_mixed))


def variant_statistics(genotypes: Genotypes, *, backend: Backend = "auto") -> VariantStatistics:
    """Return frequencies, missing rates and Hardy-Weinberg p values of the variants.

    Examples
    --------
    >>> from genoviz import Genotypes, SampleTable, VariantTable
    >>> genotypes = Genotypes(
    ...     np.array([[0b11_10_01_00]], np.uint8), SampleTable.from_ids(["a", "b", "c", "d"]),
    ...     VariantTable(("1",), *(np.array([value]) for value in (0, 41, "rs1", "A", "G", 0.0))))
    >>> statistics = variant_statistics(genotypes)
    >>> statistics.a1_frequency.tolist(), statistics.missing_rate.tolist()
    ([0.5], [0.25])
    """
    return VariantStatistics(allele_counts(genotypes, backend=backend))


def sample_statistics(
    genotypes: Genotypes, *, counts: np.ndarray | None = None, backend: Backend = "auto"
) -> SampleStatistics:
    """Return missing rates, heterozygosity and inbreeding of the samples.

    Parameters
    ----------
    genotypes
        The genotypes.
    counts
        `VariantStatistics.counts` of the same genotypes, if they are known.
    backend
        Where it runs.
    """
    if counts is None:
        counts = allele_counts(genotypes, backend=backend)
    p = frequencies_of_counts(counts)
    homozygous = 1 - 2 * p * (1 - p)
    ones = np.ones(genotypes.n_variants)
    missing = _sums(genotypes, IS_MISSING, np.column_stack([ones, homozygous]), backend)
    heterozygous = _sums(genotypes, IS_HETEROZYGOUS, ones[:, None], backend)
    return SampleStatistics(
        n_called=genotypes.n_variants - np.rint(missing[:, 0]).astype(np.int64),
        n_heterozygous=np.rint(heterozygous[:, 0]).astype(np.int64),
        n_expected_homozygous=homozygous.sum() - missing[:, 1],
        n_variants=genotypes.n_variants,
    )


def _sums(
    genotypes: Genotypes, of_code: np.ndarray, weights: np.ndarray, backend: Backend
) -> np.ndarray:
    """Return the sums of weights (n_variants, k) over variants, times what their code counts."""
    values = np.tile(of_code, (genotypes.n_variants, 1))
    kernel, packed = load_kernel("genotype_product", backend), packed_rows(genotypes)
    return to_host(kernel.multiply(packed, genotypes.n_samples, values, weights))


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    shares = np.full(len(part), np.nan)
    return np.divide(part, whole, out=shares, where=whole > 0)
