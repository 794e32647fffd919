"""Analyses of genotypes in slices give what one call gives, and say how far they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from genoviz import FilterOptions, GenotypeMatrix, simulate_genotypes
from genoviz.analyses.genotypes import hardy_weinberg, variant_blocks
from genoviz.analyses.genotypes.block_products import iter_product
from genoviz.analyses.genotypes.filters import filter_genotypes, iter_filter_genotypes
from genoviz.analyses.genotypes.products import allele_counts, iter_allele_counts
from genoviz.analyses.genotypes.sample_statistics import iter_sample_statistics, sample_statistics
from genoviz.analyses.genotypes.selection import iter_select_samples, select_samples
from genoviz.analyses.genotypes.statistics import (
    iter_variant_statistics,
    variant_statistics,
)

N_SAMPLES, N_VARIANTS = 61, 400


@pytest.fixture(scope="module")
def genotypes():
    """Return genotypes of autosomes, X, Y and MT, of which some samples have parents."""
    made = simulate_genotypes(N_SAMPLES, N_VARIANTS, n_contigs=4, missing_rate=0.05, seed=3)
    variants = replace(made.variants, contigs=("1", "X", "Y", "MT"))
    father_ids = np.array(["0"] * 50 + ["sample1"] * 11)
    return replace(made, variants=variants, samples=replace(made.samples, father_ids=father_ids))


@pytest.fixture
def sliced(monkeypatch):
    """Let slices have some ten variants."""

    def sliced():
        for name in ("CPU_GENOTYPES", "CUDA_GENOTYPES", "PRODUCT_GENOTYPES"):
            monkeypatch.setattr(variant_blocks, name, 10 * N_SAMPLES)
        monkeypatch.setattr(hardy_weinberg, "_FIRST_VARIANTS", 10)

    return sliced


def result_of(steps):
    """Return the last result; there are several steps, and their fractions ascend to 1."""
    steps = list(steps)
    fractions = [step.fraction for step in steps]
    assert len(steps) > 3
    assert fractions == sorted(fractions)
    assert 0 < fractions[0] < 1
    assert fractions[-1] == 1
    assert all(step.result is None for step in steps[:-1])
    return steps[-1].result


def test_counts_in_slices_are_those_of_one_call(genotypes, sliced, backend):
    whole = allele_counts(genotypes, backend=backend)
    sliced()
    found = result_of(iter_allele_counts(genotypes, backend=backend))
    assert found.tolist() == whole.tolist()
    assert found.sum(1).tolist() == [N_SAMPLES] * N_VARIANTS


@pytest.mark.parametrize("nonfounders", [False, True])
def test_variants_in_slices_are_those_of_one_call(genotypes, sliced, backend, nonfounders):
    options = {"nonfounders": nonfounders, "backend": backend}
    whole = variant_statistics(genotypes, **options)
    p = whole.hwe_p
    sliced()
    found = result_of(iter_variant_statistics(genotypes, **options))
    for name in ("counts", "haploid_counts", "hwe_counts", "hwe_male_counts", "a1_frequency"):
        np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))
    np.testing.assert_array_equal(result_of(found.iter_hwe_p()), p)
    assert np.isnan(p).any()
    assert np.isfinite(p).any()


def test_samples_in_slices_are_those_of_one_call(genotypes, sliced, backend):
    whole = sample_statistics(genotypes, backend=backend)
    sliced()
    found = result_of(iter_sample_statistics(genotypes, backend=backend))
    for name in ("n_variants", "n_called", "n_autosomal", "n_heterozygous"):
        np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))
    expected = whole.n_expected_homozygous
    np.testing.assert_allclose(found.n_expected_homozygous, expected, rtol=1e-12)


def test_samples_are_taken_in_slices_as_in_one_call(genotypes, sliced):
    indices = np.random.default_rng(1).permutation(N_SAMPLES)[:40]
    whole = select_samples(genotypes, indices)
    sliced()
    found = result_of(iter_select_samples(genotypes, indices))
    np.testing.assert_array_equal(found.packed, whole.packed)
    assert found.samples.ids.tolist() == whole.samples.ids.tolist()


def test_filters_in_slices_are_those_of_one_call(genotypes, sliced, backend):
    options = FilterOptions(0.05, 0.08, 0.065, 0.01)
    who = np.arange(1, N_SAMPLES)
    whole = filter_genotypes(genotypes, options, samples=who, backend=backend)
    sliced()
    steps = iter_filter_genotypes(genotypes, options, samples=who, backend=backend)
    found = result_of(steps)
    assert found.sentence == whole.sentence
    assert found.sample_indices.tolist() == whole.sample_indices.tolist()
    assert found.variant_indices.tolist() == whole.variant_indices.tolist()
    np.testing.assert_array_equal(found.genotypes.packed, whole.genotypes.packed)
    assert len(found.sample_indices) < len(who)
    assert 0 < len(found.variant_indices) < N_VARIANTS


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("scale", [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("shape", [(), (3,)])
def test_products_in_blocks_are_those_of_the_matrix(
    genotypes, sliced, backend, transpose, scale, shape
):
    n = N_SAMPLES if transpose else N_VARIANTS
    dense = np.random.default_rng(2).normal(size=(n, *shape))
    options = {"centre": scale[0], "standardise": scale[1], "backend": backend}
    matrix = GenotypeMatrix(genotypes, **options)
    whole = matrix.T @ dense if transpose else matrix @ dense
    sliced()
    found = result_of(iter_product(genotypes, dense, transpose=transpose, **options))
    assert found.shape == whole.shape
    np.testing.assert_allclose(found, whole, rtol=0, atol=1e-12 * np.abs(whole).max())
