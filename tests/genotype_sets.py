"""Genotypes for tests: random ones, and whether two are the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from genoviz import Genotypes, Pedigree, SampleTable, VariantTable
from genoviz.model.genotypes.dosages import StoredDosages
from tests.oracles.genotypes import dosages_of, pack

SAMPLE_NAMES = ("family_ids", "ids", "father_ids", "mother_ids", "sexes")
VARIANT_NAMES = ("positions", "ids", "allele1", "allele2", "centimorgans")

CODES = hnp.arrays(
    np.uint8, st.tuples(st.integers(1, 9), st.integers(0, 5)), elements=st.integers(0, 3)
)
"""2-bit codes of samples (rows) at variants (columns)."""


def genotypes_of(codes: np.ndarray) -> Genotypes:
    """Return genotypes of 2-bit codes (n_samples, n_variants), with two contigs and two alleles."""
    n_samples, n_variants = codes.shape
    numbers = np.arange(n_variants)
    n_first = -(-n_variants // 2)
    variants = VariantTable(
        ("1", "2")[: 1 + (n_variants > 1)],
        (numbers >= n_first).astype(np.int32),
        10 * numbers,
        np.array([f"rs{number}" for number in numbers], np.str_),
        np.where(numbers % 2, "A", "TTG"),
        np.where(numbers % 2, "C", "T"),
        numbers / 8,
    )
    samples = SampleTable.from_ids([f"s{number}" for number in range(n_samples)])
    return Genotypes(pack(codes), samples, variants)


def genotypes_of_dosages(dosages: np.ndarray, ids: np.ndarray) -> Genotypes:
    """Return autosomal genotypes of A1 dosages, of shape (n_samples, n_variants), NaN if missing.

    The variants are m0, m1, ...
    """
    m = dosages.shape[1]
    names, positions = np.array([f"m{k}" for k in range(m)], np.str_), np.arange(m)
    letters = np.full(m, "A"), np.full(m, "G")
    variants = VariantTable(("1",), np.zeros(m, np.int32), positions, names, *letters, np.zeros(m))
    codes = np.where(np.isnan(dosages), 1, np.array([3, 2, 0])[np.nan_to_num(dosages).astype(int)])
    return Genotypes(pack(codes.astype(np.uint8)), SampleTable.from_ids(list(ids)), variants)


def draw_genotypes(
    n_samples: int, n_variants: int, seed: int, *, n_contigs: int = 1, n_populations: int = 1,
    missing_rate: float = 0.0,
) -> Genotypes:  # fmt: skip
    """Return genotypes of unlinked variants, by NumPy alone; samples are of populations in turn.

    What is made while tests are collected must need no kernel: each process would compile it.
    """
    generator = np.random.default_rng(seed)
    spread = 0.2 * (n_populations > 1)
    frequencies = generator.normal(0, spread, (n_populations, n_variants))
    frequencies = np.clip(frequencies + generator.uniform(0.1, 0.9, n_variants), 0.1, 0.9)
    dosages = generator.binomial(2, frequencies[np.arange(n_samples) % n_populations])
    dosages[generator.random(dosages.shape) < missing_rate] = -1
    return with_contigs(np.array([3, 2, 0, 1])[dosages], n_contigs)


def with_contigs(codes: np.ndarray, n_contigs: int) -> Genotypes:
    """Return genotypes of 2-bit codes whose contigs have equally many variants."""
    found = genotypes_of(codes)
    n_variants = codes.shape[1]
    contig_ids = (np.arange(n_variants) * n_contigs // n_variants).astype(np.int32)
    contigs = tuple(str(number + 1) for number in range(n_contigs))
    return replace(found, variants=replace(found.variants, contigs=contigs, contig_ids=contig_ids))


def draw_half(
    pedigree: Pedigree, generator: np.random.Generator, variants: VariantTable
) -> tuple[np.ndarray, Genotypes]:
    """Return half of the animals, in any order, and genotypes of theirs."""
    genotyped = generator.permutation(len(pedigree))[: len(pedigree) // 2]
    shape, shares = (len(genotyped), len(variants)), [0.3, 0.05, 0.4, 0.25]
    codes = generator.choice([0, 1, 2, 3], shape, p=shares)
    samples = SampleTable.from_ids(pedigree.ids[genotyped])
    return genotyped, Genotypes(pack(codes), samples, variants)


def draw_trait(
    genotypes: Genotypes, seed: int, *, heritability: float = 0.5, n_causal: int = 30
) -> tuple[np.ndarray, np.ndarray]:
    """Return a phenotype of each sample and its genetic part, float64 both, by NumPy alone."""
    generator = np.random.default_rng(seed)
    dosages = dosages_of(genotypes.packed, genotypes.n_samples)
    causal = generator.choice(genotypes.n_variants, n_causal, replace=False)
    z = np.nan_to_num(dosages - np.nanmean(dosages, axis=0))[:, causal]
    values = z @ generator.standard_normal(n_causal)
    values *= np.sqrt(heritability) / values.std()
    noise = generator.standard_normal(genotypes.n_samples) * np.sqrt(1 - heritability)
    return values + noise, values


def assert_same(found: Genotypes, wanted: Genotypes, *, but: tuple[str, ...] = ()) -> None:
    """See that two have the same genotypes, samples and variants, but for some columns."""
    np.testing.assert_array_equal(found.dosages(slice(None)), wanted.dosages(slice(None)))
    for name in SAMPLE_NAMES:
        if name not in but:
            np.testing.assert_array_equal(
                getattr(found.samples, name), getattr(wanted.samples, name)
            )
    for name in VARIANT_NAMES:
        if name not in but:
            values = getattr(found.variants, name), getattr(wanted.variants, name)
            np.testing.assert_array_equal(*values, err_msg=name)
    contigs = [
        np.array(genotypes.variants.contigs, np.str_)[genotypes.variants.contig_ids]
        for genotypes in (found, wanted)
    ]
    np.testing.assert_array_equal(*contigs)


def with_dosages(genotypes: Genotypes, seed: int, *, whole: bool = False) -> Genotypes:
    """Return genotypes of which two thirds of the variants have stored dosages, some missing.

    They are any dosages, or those of the hard calls.
    """
    generator = np.random.default_rng(seed)
    n, m = genotypes.n_samples, genotypes.n_variants
    has_rows = np.arange(m) % 3 > 0
    calls = dosages_of(genotypes.packed, n).T[has_rows] * 16384
    values = np.where(generator.random(calls.shape) < 0.05, np.nan, np.nan_to_num(calls, nan=9000))
    values = np.abs(values - generator.integers(0, 12_000, calls.shape))
    values = np.nan_to_num(calls if whole else values, nan=65535)
    order = generator.permutation(len(values))
    rows = np.full(m, -1)
    rows[has_rows] = np.argsort(order)
    stored = StoredDosages(values[order].astype(np.uint16), rows)
    return replace(genotypes, stored_dosages=stored)
