"""Basic statistics of variants and samples: frequencies, missing rates, heterozygosity."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from genoviz.analyses.genotypes.code_values import frequencies_of_counts
from genoviz.analyses.genotypes.hardy_weinberg import iter_hardy_weinberg_p
from genoviz.analyses.genotypes.products import allele_counts, iter_allele_counts
from genoviz.analyses.genotypes.sex_chromosomes import count_groups, variants_of
from genoviz.analyses.genotypes.variant_blocks import (
    iter_tasks,
    product_blocks,
    variants_at_a_time,
)
from genoviz.backend import Backend, Scheduler, load_kernel, to_host
from genoviz.generators import Progress, iter_slices, last_of, report_last
from genoviz.model.genotypes.chromosomes import DIPLOID, Kind
from genoviz.model.genotypes.genotypes import Genotypes

IS_MISSING = np.array([0.0, 1.0, 0.0, 0.0])
IS_HETEROZYGOUS = np.array([0.0, 0.0, 1.0, 0.0])
IS_CALLED = 1 - IS_MISSING
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class VariantStatistics:
    """Statistics of each variant, defined as in PLINK 2.

    Males have one copy at X and Y, and everybody one at MT. A heterozygous call with one copy
    counts as half of each allele. At Y only males count.

    Attributes
    ----------
    counts
        int64, shape (n_variants, 4): numbers of samples that are homozygous A1, missing,
        heterozygous, homozygous A2; males only at Y.
    haploid_counts
        The same for the samples among them with one copy; None if there are none.
    hwe_counts, hwe_male_counts
        The same for the samples in the Hardy-Weinberg test: founders of both sexes, and at X
        females, with males separate. Rows of Y and MT are -1. Equal to `counts` if None.
    """

    counts: np.ndarray
    haploid_counts: np.ndarray | None = None
    hwe_counts: np.ndarray | None = None
    hwe_male_counts: np.ndarray | None = None

    @cached_property
    def n_called(self) -> np.ndarray:
        """Number of samples with a genotype: int64, shape (n_variants,)."""
        return self.counts.sum(1) - self.counts[:, 1]

    @cached_property
    def n_alleles(self) -> np.ndarray:
        """Number of called allele copies: int64, shape (n_variants,)."""
        return 2 * self.n_called - (self._haploid.sum(1) - self._haploid[:, 1])

    @cached_property
    def a1_frequency(self) -> np.ndarray:
        """Frequency of A1 among called copies: float64, NaN if none is called."""
        return _share(self._a1_copies, self.n_alleles)

    @cached_property
    def minor_allele_frequency(self) -> np.ndarray:
        """Frequency of the rarer allele: float64, 0 to 0.5, NaN if none is called."""
        # From counts: 1 - 0.9 is below 0.1 in floats, and a variant at the threshold must pass.
        rarer = np.minimum(self._a1_copies, self.n_alleles - self._a1_copies)
        return _share(rarer, self.n_alleles)

    @cached_property
    def missing_rate(self) -> np.ndarray:
        """Share of samples without a genotype: float64; 0 if there are no samples."""
        return self.counts[:, 1] / np.maximum(self.counts.sum(1), 1)

    @cached_property
    def heterozygosity(self) -> np.ndarray:
        """Share of heterozygotes among diploid calls: float64, NaN if there are none."""
        diploid = self.counts - self._haploid
        return _share(diploid[:, 2], diploid.sum(1) - diploid[:, 1])

    @cached_property
    def hwe_p(self) -> np.ndarray:
        """Exact p value of Hardy-Weinberg proportions: float64; see `hardy_weinberg_p`.

        NaN at Y and MT, and where no sample can be tested, as at X if no sex is known.
        """
        return last_of(self.iter_hwe_p()).result

    def iter_hwe_p(self) -> Iterator[Progress]:
        """Test blocks of variants; the last step has `hwe_p`, which is cached."""
        if self.hwe_counts is None:
            p = yield from report_last(iter_hardy_weinberg_p(self.counts))
        else:
            p = np.full(len(self.counts), np.nan)
            has_males = self.hwe_male_counts.any(1)
            of_both = np.flatnonzero((self.hwe_counts[:, 0] >= 0) & has_males)
            others = np.flatnonzero((self.hwe_counts > 0).any(1) & ~has_males)
            share = len(others) / max(len(others) + len(of_both), 1)
            steps = iter_hardy_weinberg_p(self.hwe_counts[others])
            p[others] = yield from report_last(steps, 0.0, share)
            of_males = self.hwe_male_counts[of_both]
            steps = iter_hardy_weinberg_p(self.hwe_counts[of_both], of_males=of_males)
            p[of_both] = yield from report_last(steps, share, 1.0)
        self.__dict__["hwe_p"] = p  # where cached_property has it
        yield Progress("testing Hardy-Weinberg proportions", 1.0, p)

    @cached_property
    def _a1_copies(self) -> np.ndarray:
        """Copies of A1 among the called: float64, multiples of one half, so exact."""
        halves = 4 * self.counts[:, 0] + 2 * self.counts[:, 2]
        halves -= 2 * self._haploid[:, 0] + self._haploid[:, 2]
        return halves / 2

    @cached_property
    def _haploid(self) -> np.ndarray:
        none = np.zeros_like(self.counts)
        return none if self.haploid_counts is None else self.haploid_counts


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
        return _share(self.n_heterozygous, self.n_autosomal)

    @cached_property
    def inbreeding(self) -> np.ndarray:
        """Method-of-moments F, as in ``plink --het``: float64, NaN if nothing varies.

        (observed - expected homozygous) / (called - expected homozygous), over autosomes.
        """
        n_homozygous = self.n_autosomal - self.n_heterozygous
        n_mixed = self.n_autosomal - self.n_expected_homozygous
        is_rounding = n_mixed < ROUNDING * self.n_variants
        return _share(n_homozygous - self.n_expected_homozygous, np.where(is_rounding, 0, n_mixed))


def variant_statistics(
    genotypes: Genotypes,
    *,
    nonfounders: bool = False,
    scheduler: Scheduler = None,
    backend: Backend = "auto",
) -> VariantStatistics:
    """Return frequencies, missing rates and Hardy-Weinberg p values of variants.

    Parameters
    ----------
    genotypes
        The genotypes. Contig names determine what is on X, Y and MT, see `Genotypes.kinds`.
    nonfounders
        Whether to include samples with a known parent in the Hardy-Weinberg tests. Frequencies and
        missing rates always include them, as PLINK does with ``--nonfounders``.
    scheduler
        As for `iter_associate`; the statistics are the same.
    backend
        Where to compute.

    Raises
    ------
    ParameterError
        If a contig is not a chromosome of the species.

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
    options = {"nonfounders": nonfounders, "scheduler": scheduler, "backend": backend}
    return last_of(iter_variant_statistics(genotypes, **options)).result


def iter_variant_statistics(
    genotypes: Genotypes,
    *,
    nonfounders: bool = False,
    scheduler: Scheduler = None,
    backend: Backend = "auto",
) -> Iterator[Progress]:
    """Count blocks of variants; the last step has the result of `variant_statistics`."""
    is_tested = np.full(genotypes.n_samples, True) if nonfounders else genotypes.samples.is_founder
    is_plain = is_tested.all() and not len(variants_of(genotypes, Kind.X, Kind.Y, Kind.MT))
    shape = (1 if is_plain else 4, genotypes.n_variants, 4)
    tables = np.empty(shape, np.int64)
    if scheduler is not None:
        variants, samples = genotypes.variants, genotypes.samples
        common = (
            variants.contigs,
            genotypes.n_autosomes,
            samples.sexes,
            is_tested,
            shape[0],
            backend,
        )
        options = {"common": common, "scheduler": scheduler, "columns": (variants.contig_ids,)}
        for done, block, found in iter_tasks(_count_block, genotypes, **options):
            tables[:, block] = found
            yield Progress("counting genotypes", done)
        yield Progress("counting genotypes", 1.0, VariantStatistics(*tables))
        return

    def count(first: int, stop: int) -> None:
        part = genotypes.take_variants(slice(first, stop))
        tables[:, first:stop] = _count_part(part, is_tested, len(tables), backend)

    first_size = variants_at_a_time(genotypes, backend=backend)
    for n_done, _ in iter_slices(count, genotypes.n_variants, first_size=first_size):
        yield Progress("counting genotypes", n_done / genotypes.n_variants)
    yield Progress("counting genotypes", 1.0, VariantStatistics(*tables))


def _count_part(
    genotypes: Genotypes, is_tested: np.ndarray, n_tables: int, backend: Backend
) -> tuple[np.ndarray, ...]:
    """Return the tables of some variants: one is enough where all samples are alike."""
    if n_tables == 1:
        return (allele_counts(genotypes, backend=backend),)
    return count_groups(genotypes, is_tested, backend)


def _count_block(
    packed: np.ndarray,
    contig_ids: np.ndarray,
    contigs: tuple[str, ...],
    n_autosomes: int | None,
    sexes: np.ndarray,
    is_tested: np.ndarray,
    n_tables: int,
    backend: Backend,
) -> tuple[np.ndarray, ...]:
    """Return the tables of a block of variants; runs on a worker."""
    part = Genotypes.unnamed(packed, sexes, contigs, contig_ids, n_autosomes)
    return _count_part(part, is_tested, n_tables, backend)


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
    for block in product_blocks(genotypes, backend=backend):
        packed = np.ascontiguousarray(genotypes.packed[block])
        missing += _sums(packed, genotypes.n_samples, IS_MISSING, weights[block], backend)
        of_block = is_autosomal[block, None]
        heterozygous += _sums(packed, genotypes.n_samples, IS_HETEROZYGOUS, of_block, backend)
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


def _sums(
    packed: np.ndarray, n_samples: int, of_code: np.ndarray, weights: np.ndarray, backend: Backend
) -> np.ndarray:
    """Return sums over variants of weights (n_variants, k) times the value of each code."""
    values = np.tile(of_code, (len(packed), 1))
    kernel = load_kernel("genotype_product", backend)
    return to_host(kernel.multiply(packed, n_samples, values, np.ascontiguousarray(weights)))


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    shares = np.full(len(part), np.nan)
    return np.divide(part, whole, out=shares, where=whole > 0)
