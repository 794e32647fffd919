"""Dosages that are not whole, in blocks of variants as dense numbers, and sums of them.

Most variants of imputed genotypes have such dosages. A block of them is dense for a moment; the
rest of the variants stays packed, and is counted and multiplied as hard calls.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from genoviz.analyses.genotypes.matrix_parts import module_of
from genoviz.analyses.genotypes.sex_chromosomes import haploid_samples
from genoviz.backend import Backend, array_module, to_host
from genoviz.model.genotypes.chromosomes import DIPLOID, Kind
from genoviz.model.genotypes.dosages import COPY, MISSING_DOSAGE
from genoviz.model.genotypes.genotypes import HETEROZYGOUS_CODE, MISSING_CODE, Genotypes

BLOCK_DOSAGES = {"numpy": 1 << 21, "cupy": 1 << 26}
"""Dosages of a block, 8 bytes each."""
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class DosageSums:
    """Sums of the dosages of the variants that have stored ones.

    Males have one copy at X and Y, and everybody one at MT, which is a dosage of 2. At Y only males
    count.

    Attributes
    ----------
    variants
        int64, shape (m,): indices of these variants.
    n_samples, n_alleles
        int64, shape (m,): samples with a dosage, and their copies.
    a1_copies
        float64, shape (m,): copies of A1 among these.
    mach_r2
        float64, shape (n_variants,), of all variants: variance of the dosages over that expected
        from the allele frequency, as MACH_R2 of PLINK 2. With one copy, at Y, twice as much is
        expected. NaN at X and MT, and where a variant is constant.

    References
    ----------
    Li et al. 2010, MaCH: using sequence and genotype data to estimate haplotypes and unobserved
    genotypes, doi:10.1002/gepi.20533
    """

    variants: np.ndarray
    n_samples: np.ndarray
    n_alleles: np.ndarray
    a1_copies: np.ndarray
    mach_r2: np.ndarray


def iter_dosage_blocks(
    genotypes: Genotypes, *, backend: Backend = "cpu"
) -> Iterator[tuple[np.ndarray, Any]]:
    """Yield blocks of the variants that have stored dosages.

    Parameters
    ----------
    genotypes
        The genotypes.
    backend
        Where the dosages are needed.

    Yields
    ------
    tuple
        int64, shape (m,): indices of the variants; float64, shape (m, n_samples), of NumPy or CuPy:
        their dosages, NaN where missing.
    """
    if genotypes.stored_dosages is None:
        return
    xp = array_module(backend)
    variants = np.flatnonzero(genotypes.has_stored_dosages)
    step = max(1, BLOCK_DOSAGES[xp.__name__] // max(genotypes.n_samples, 1))
    for first in range(0, len(variants), step):
        block = variants[first : first + step]
        stored = xp.asarray(genotypes.stored_dosages.read(block))
        dosages = stored.astype(np.float64) / COPY
        dosages[stored == MISSING_DOSAGE] = np.nan
        yield block, dosages


@dataclass(frozen=True, eq=False)
class CentredDosages:
    """Dosages of m variants minus their means.

    Attributes
    ----------
    values
        float64, shape (m, n_samples), of NumPy or CuPy: 0 where missing.
    is_missing
        bool, the same shape, in the same memory.
    means, squares
        float64, shape (m,): means of the dosages, and sums of squares of ``values``; 0 if constant.
    n_called
        int64, shape (m,): samples that have a dosage.
    """

    values: Any
    is_missing: Any
    means: np.ndarray
    squares: np.ndarray
    n_called: np.ndarray

    @classmethod
    def of(cls, dosages: Any, weights: np.ndarray | None = None) -> CentredDosages:
        """Centre dosages (m, n_samples), NaN where missing, times weights (n_samples,)."""
        xp = module_of(dosages)
        is_missing = xp.isnan(dosages)
        n_called = dosages.shape[1] - is_missing.sum(1)
        values = xp.where(is_missing, 0.0, dosages)
        if weights is not None:
            values *= xp.asarray(weights)
        means = values.sum(1) / xp.maximum(n_called, 1)
        values -= means[:, None]
        values[is_missing] = 0.0
        squares = xp.einsum("ij,ij->i", values, values)
        # Dosages are multiples of 1/16384, so less is the rounding error of the mean.
        squares[squares < ROUNDING] = 0.0
        return cls(values, is_missing, to_host(means), to_host(squares), to_host(n_called))


def iter_dosage_sums(
    genotypes: Genotypes, counts: np.ndarray
) -> Generator[float, None, DosageSums]:
    """Add up the stored dosages in blocks; yields the share done.

    Parameters
    ----------
    genotypes
        The genotypes.
    counts
        int64, shape (n_variants, 4): samples of each code, males only at Y.
    """
    kinds, samples = genotypes.kinds, genotypes.samples
    n_alleles = np.zeros(genotypes.n_variants, np.int64)
    a1_copies = np.zeros(genotypes.n_variants)
    n_samples = counts.sum(1) - counts[:, MISSING_CODE]
    sums, squares = (2.0**power * counts[:, 0] + counts[:, HETEROZYGOUS_CODE] for power in (1, 2))
    for block, dosages in iter_dosage_blocks(genotypes):
        is_missing = np.isnan(dosages)
        dosages[is_missing] = 0.0
        for kind in np.unique(kinds[block]).tolist():
            rows = kinds[block] == kind
            # A slice copies nothing.
            rows = slice(None) if rows.all() else rows
            variants, of_kind, lack = block[rows], dosages[rows], is_missing[rows]
            takes_part = samples.is_male if kind == Kind.Y else np.ones(len(samples), bool)
            copies = np.where(haploid_samples(genotypes, Kind(kind)), 1.0, 2.0) * takes_part
            columns = np.column_stack([takes_part, copies])
            n_there = columns.sum(0) - lack.astype(np.float64) @ columns
            n_samples[variants], n_alleles[variants] = n_there.T
            sums[variants], of_copies = (of_kind @ columns).T
            a1_copies[variants] = of_copies / 2
            squares[variants] = np.square(of_kind, out=of_kind) @ columns[:, 0]
        yield (int(block[-1]) + 1) / genotypes.n_variants
    n_there = np.maximum(n_samples, 1)
    mean = sums / n_there
    expected = mean * (1 - mean / 2) * np.where(kinds == Kind.Y, 2, 1)
    is_varied = np.isin(kinds, (*DIPLOID, Kind.Y)) & (expected > 0)
    mach_r2 = np.full(genotypes.n_variants, np.nan)
    np.divide(squares / n_there - mean**2, expected, out=mach_r2, where=is_varied)
    stored = np.flatnonzero(genotypes.has_stored_dosages)
    return DosageSums(stored, n_samples[stored], n_alleles[stored], a1_copies[stored], mach_r2)
