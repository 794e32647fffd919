"""Basic statistics of variants: frequencies, missing rates, heterozygosity."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from genoviz.analyses.genotypes.dosage_blocks import DosageSums, iter_dosage_sums
from genoviz.analyses.genotypes.hardy_weinberg import iter_hardy_weinberg_p
from genoviz.analyses.genotypes.products import allele_counts
from genoviz.analyses.genotypes.sex_chromosomes import count_groups, variants_of
from genoviz.analyses.genotypes.variant_blocks import (
    iter_tasks,
    variants_at_a_time,
)
from genoviz.backend import Backend, Scheduler
from genoviz.generators import Progress, iter_slices, last_of, report_last, report_steps
from genoviz.model.genotypes.chromosomes import Kind
from genoviz.model.genotypes.genotypes import Genotypes


@dataclass(frozen=True, eq=False)
class VariantStatistics:
    """Statistics of each variant, defined as in PLINK 2.

    Males have one copy at X and Y, and everybody one at MT. A heterozygous call with one copy
    counts as half of each allele. At Y only males count. Frequencies are those of dosages where a
    variant has stored ones; all else is counted from hard calls.

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
    dosage_sums
        Sums of stored dosages; None if there are none.
    """

    counts: np.ndarray
    haploid_counts: np.ndarray | None = None
    hwe_counts: np.ndarray | None = None
    hwe_male_counts: np.ndarray | None = None
    dosage_sums: DosageSums | None = None

    @cached_property
    def n_called(self) -> np.ndarray:
        """Number of samples with a hard call: int64, shape (n_variants,)."""
        return self.counts.sum(1) - self.counts[:, 1]

    @cached_property
    def n_alleles(self) -> np.ndarray:
        """Number of allele copies with a dosage: int64, shape (n_variants,)."""
        found = 2 * self.n_called - (self._haploid.sum(1) - self._haploid[:, 1])
        if self.dosage_sums is not None:
            found[self.dosage_sums.variants] = self.dosage_sums.n_alleles
        return found

    @cached_property
    def a1_frequency(self) -> np.ndarray:
        """Frequency of A1 among these copies: float64, NaN if there are none."""
        return share(self._a1_copies, self.n_alleles)

    @cached_property
    def minor_allele_frequency(self) -> np.ndarray:
        """Frequency of the rarer allele: float64, 0 to 0.5, NaN if none is called."""
        # From counts: 1 - 0.9 is below 0.1 in floats, and a variant at the threshold must pass.
        rarer = np.minimum(self._a1_copies, self.n_alleles - self._a1_copies)
        return share(rarer, self.n_alleles)

    @cached_property
    def missing_rate(self) -> np.ndarray:
        """Share of samples without a genotype: float64; 0 if there are no samples."""
        return self.counts[:, 1] / np.maximum(self.counts.sum(1), 1)

    @cached_property
    def heterozygosity(self) -> np.ndarray:
        """Share of heterozygotes among diploid calls: float64, NaN if there are none."""
        diploid = self.counts - self._haploid
        return share(diploid[:, 2], diploid.sum(1) - diploid[:, 1])

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
        """Copies of A1 among these: float64, multiples of 1/32768, so exact."""
        halves = 4 * self.counts[:, 0] + 2 * self.counts[:, 2]
        halves -= 2 * self._haploid[:, 0] + self._haploid[:, 2]
        copies = halves / 2
        if self.dosage_sums is not None:
            copies[self.dosage_sums.variants] = self.dosage_sums.a1_copies
        return copies

    @cached_property
    def _haploid(self) -> np.ndarray:
        none = np.zeros_like(self.counts)
        return none if self.haploid_counts is None else self.haploid_counts


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
        yield from _with_dosages(genotypes, tables)
        return

    def count(first: int, stop: int) -> None:
        part = genotypes.take_variants(slice(first, stop))
        tables[:, first:stop] = _count_part(part, is_tested, len(tables), backend)

    first_size = variants_at_a_time(genotypes, backend=backend)
    for n_done, _ in iter_slices(count, genotypes.n_variants, first_size=first_size):
        yield Progress("counting genotypes", n_done / genotypes.n_variants)
    yield from _with_dosages(genotypes, tables)


def _with_dosages(genotypes: Genotypes, tables: np.ndarray) -> Iterator[Progress]:
    """Add up stored dosages; the last step has the statistics."""
    what, sums = "counting genotypes", None
    if genotypes.stored_dosages is not None:
        sums = yield from report_steps(iter_dosage_sums(genotypes, tables[0]), "adding up dosages")
    yield Progress(what, 1.0, VariantStatistics(*tables, dosage_sums=sums))


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


def share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Return part / whole: float64, NaN where the whole is 0."""
    shares = np.full(len(part), np.nan)
    return np.divide(part, whole, out=shares, where=whole > 0)
