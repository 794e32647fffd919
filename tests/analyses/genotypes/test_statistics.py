"""Statistics of variants and samples, against PLINK and slow definitions."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genoviz import (
    GenotypeMatrix,
    Genotypes,
    ParameterError,
    SampleTable,
    VariantTable,
    hardy_weinberg_p,
    sample_statistics,
    variant_statistics,
)
from tests.oracles.genotypes import dosages_of, pack
from tests.plink import Plink, plink_files, read_real

REAL = ("gcta_test", "1kg_chr21_start", "toydata.5chrom")


def genotypes_of(codes):
    """Return genotypes of 2-bit codes, shape (n_samples, n_variants)."""
    n_samples, n_variants = np.shape(codes)
    texts = np.array([f"v{j}" for j in range(n_variants)], np.str_)
    return Genotypes(
        pack(codes),
        SampleTable.from_ids(np.array([f"s{i}" for i in range(n_samples)])),
        VariantTable(
            ("1",),
            np.zeros(n_variants, np.int32),
            np.arange(n_variants),
            texts,
            np.full(n_variants, "A"),
            np.full(n_variants, "G"),
            np.zeros(n_variants),
        ),
    )


def hwe_by_definition(one, both, other, mid_p=False):
    """Return the exact p value by integers: 2^h n! / (a! h! b!) ways, for each h."""
    n, rare = one + both + other, min(2 * one, 2 * other) + both
    ways = {
        h: 2**h * comb(n, h) * comb(n - h, (rare - h) // 2) for h in range(rare % 2, rare + 1, 2)
    }
    less = sum(w for w in ways.values() if w < ways[both])
    ties = sum(w for w in ways.values() if w == ways[both])
    return (2 * less + (1 if mid_p else 2) * ties) / (2 * sum(ways.values()))


@pytest.mark.parametrize("mid_p", [False, True])
@given(st.tuples(*[st.integers(0, 30)] * 3))
@settings(max_examples=60)
def test_exact_test_is_its_definition(mid_p, counts):
    one, both, other = counts
    p = hardy_weinberg_p(np.array([[one, 7, both, other]]), mid_p=mid_p)
    np.testing.assert_allclose(p, hwe_by_definition(one, both, other, mid_p), rtol=1e-12)


def test_exact_test_of_many_samples_and_of_none():
    counts = [[500_000, 0, 0, 500_000], [0, 9, 0, 0], [250_000, 0, 500_000, 250_000]]
    assert hardy_weinberg_p(counts).tolist() == [0, 1, pytest.approx(1)]
    p = hardy_weinberg_p([[400, 0, 30, 400]])[0]
    np.testing.assert_allclose(p, hwe_by_definition(400, 30, 400), rtol=1e-11)
    assert 0 < p < 1e-150
    with pytest.raises(ParameterError, match=r"counts have shape \(3,\), need \(n_variants, 4\)"):
        hardy_weinberg_p([1, 2, 3])


def test_statistics_are_those_of_the_dense_matrix(backend):
    codes = np.random.default_rng(1).integers(0, 4, (37, 23))
    codes[:, 4], codes[5] = 1, 1
    genotypes = genotypes_of(codes)
    dosages = dosages_of(genotypes.packed, 37)
    called = ~np.isnan(dosages)
    variants = variant_statistics(genotypes, backend=backend)
    samples = sample_statistics(genotypes, backend=backend)
    with np.errstate(invalid="ignore", divide="ignore"):
        p = np.nansum(dosages, 0) / (2 * called.sum(0))
        np.testing.assert_allclose(variants.a1_frequency, p)
        np.testing.assert_allclose(variants.minor_allele_frequency, np.minimum(p, 1 - p))
        np.testing.assert_allclose(variants.heterozygosity, (dosages == 1).sum(0) / called.sum(0))
        np.testing.assert_allclose(samples.heterozygosity, (dosages == 1).sum(1) / called.sum(1))
    np.testing.assert_allclose(variants.missing_rate, 1 - called.mean(0))
    np.testing.assert_allclose(samples.missing_rate, 1 - called.mean(1))
    assert variants.n_called.tolist() == called.sum(0).tolist()
    assert np.isnan(variants.a1_frequency[4])
    assert np.isnan(samples.inbreeding[5])


def test_nothing_has_statistics_too(backend):
    none = genotypes_of(np.zeros((3, 0), int))
    assert variant_statistics(none, backend=backend).hwe_p.shape == (0,)
    assert sample_statistics(none, backend=backend).missing_rate.tolist() == [0, 0, 0]


@pytest.mark.parametrize("name", REAL)
def test_frequencies_and_missing_rates_are_plinks(name, tmp_path):
    files, plink = plink_files(name), Plink("plink2", tmp_path)
    genotypes = read_real(files)
    plink(files, "--freq", "--missing", "--hardy")
    variants = variant_statistics(genotypes)
    is_alt = plink.table("afreq")["ALT"] == genotypes.variants.allele1
    assert is_alt.all()
    np.testing.assert_allclose(variants.a1_frequency, plink.column("afreq", "ALT_FREQS"), atol=2e-6)
    assert (2 * variants.n_called == plink.column("afreq", "OBS_CT")).all()
    np.testing.assert_allclose(variants.missing_rate, plink.column("vmiss", "F_MISS"), atol=2e-6)
    np.testing.assert_allclose(variants.hwe_p, plink.column("hardy", "P"), rtol=1e-5)
    np.testing.assert_allclose(
        variants.heterozygosity, plink.column("hardy", "O(HET_A1)"), atol=2e-6
    )
    rates = sample_statistics(genotypes).missing_rate
    np.testing.assert_allclose(rates, plink.column("smiss", "F_MISS"), atol=2e-6)


@pytest.mark.parametrize("name", REAL[:2])
def test_inbreeding_and_mid_p_are_plinks(name, tmp_path):
    files, plink = plink_files(name), Plink("plink1.9", tmp_path)
    genotypes = read_real(files)
    plink(files, "--het", "--hardy", "midp")
    samples = sample_statistics(genotypes)
    variants = variant_statistics(genotypes)
    n_unvaried = (variants.minor_allele_frequency == 0).sum()  # PLINK leaves them out
    n_homozygous = samples.n_called - samples.n_heterozygous - n_unvaried
    assert (n_homozygous == plink.column("het", "O(HOM)")).all()
    expected = samples.n_expected_homozygous - n_unvaried
    np.testing.assert_allclose(expected, plink.column("het", "E(HOM)"), rtol=2e-4)
    np.testing.assert_allclose(samples.inbreeding, plink.column("het", "F"), rtol=1e-3, atol=1e-4)
    p = hardy_weinberg_p(variants.counts, mid_p=True)
    np.testing.assert_allclose(p, plink.column("hwe", "P"), rtol=1e-3)


@pytest.mark.parametrize("missing", ["mean", "zero"])
def test_scores_are_plinks(missing, tmp_path):
    files, plink = plink_files("gcta_test"), Plink("plink2", tmp_path)
    genotypes = read_real(files)
    weights = np.random.default_rng(1).normal(size=genotypes.n_variants)
    rows = zip(genotypes.variants.ids, genotypes.variants.allele1, weights, strict=True)
    table = tmp_path / "weights.txt"
    table.write_text("".join(f"{name} {a1} {weight:.17g}\n" for name, a1, weight in rows))
    how = [] if missing == "mean" else ["no-mean-imputation"]
    plink(files, "--score", str(table), "1", "2", "3", "cols=scoresums", *how)
    matrix = GenotypeMatrix(genotypes, centre=False, missing=missing, backend="cpu")
    sums = plink.column("sscore", "SCORE1_SUM")
    np.testing.assert_allclose(matrix.multiply(weights), sums, rtol=2e-5, atol=1e-4)
