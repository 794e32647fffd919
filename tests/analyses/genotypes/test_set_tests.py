"""Tests of sets of variants against dense projections, exact mixtures, and properties."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import genoviz
from genoviz import Intervals, ParameterError, associate_sets, sets_of_ids, sets_of_regions
from genoviz.analyses.genotypes.association.p_values import log_p_of_mixture
from genoviz.analyses.genotypes.association.set_tests import _combine
from tests.genotype_sets import genotypes_of

VALUES = (
    "n_variants", "n_carriers", "beta", "standard_error", "burden_log10_p", "skat_q",
    "skat_log10_p", "acat_log10_p",
)  # fmt: skip
SETS = {
    "gene": np.arange(14),
    "shared": np.array([11, 3, 17, 18]),
    "one": np.array([5]),
    "constant": np.array([20, 21]),
    "empty": np.array([], np.int64),
    "common": np.array([19, 4]),
}


def rare_genotypes(n_samples, seed):
    """Return 22 variants: A1 is rare at even ones, A2 at odd ones; 19 is common, 20 is constant."""
    rng = np.random.default_rng(seed)
    frequencies = rng.uniform(0.01, 0.04, 22)
    frequencies[19], frequencies[20:] = 0.4, 0.0
    dosages = rng.binomial(2, frequencies, (n_samples, 22))
    dosages[:, 1::2] = 2 - dosages[:, 1::2]
    dosages[rng.random(dosages.shape) < 0.02] = -1
    return genotypes_of(np.array([3, 2, 0, 1], np.uint8)[dosages])


def tail_by_inversion(q, weights):
    """Return P(sum of weights times chi-squares > q) by inversion.

    It is Imhof's integral by the midpoint rule, as Davies has it; one weight needs none.
    """
    if len(weights) == 1:
        return stats.chi2.sf(q / weights[0], 1)
    step = 2 * np.pi / (60 * (weights.sum() + q))
    places = np.arange(200_000) + 0.5
    logs = -1j * places * step * q
    for weight in weights:
        logs -= np.log(1 - 2j * weight * places * step) / 2
    return 0.5 + (np.exp(logs).imag / places).sum() / np.pi


def dense_test(dosages, y, covariates, rows, *, is_binary, max_maf, has_weights):
    """Return the values of one set by an explicit projection of n samples."""
    kept = np.isfinite(y) & np.isfinite(covariates).all(1)
    g, y = dosages[np.ix_(kept, rows)].astype(float), y[kept]
    g[g < 0] = np.nan
    x = np.column_stack([np.ones(len(y)), covariates[kept]])
    flipped = np.nanmean(g, 0) > 1
    g[:, flipped] = 2 - g[:, flipped]
    maf = np.nanmean(g, 0) / 2
    g, maf = g[:, (maf > 0) & (maf <= max_maf)], maf[(maf > 0) & (maf <= max_maf)]
    n_carriers = (np.nan_to_num(g) > 0).any(1).sum()
    g = np.where(np.isnan(g), 2 * maf, g)
    w = stats.beta.pdf(maf, 1, 25) if has_weights else np.ones(len(maf))
    if is_binary:
        b = np.zeros(x.shape[1])
        for _ in range(50):
            p = 1 / (1 + np.exp(-x @ b))
            b += np.linalg.solve((x.T * (p * (1 - p))) @ x, x.T @ (y - p))
        v, residual = np.diag(p * (1 - p)), y - p
    else:
        b = np.linalg.lstsq(x, y, rcond=None)[0]
        s2 = ((y - x @ b) ** 2).sum() / (len(y) - x.shape[1])
        v, residual = np.eye(len(y)) / s2, (y - x @ b) / s2
    p0 = v - v @ x @ np.linalg.inv(x.T @ v @ x) @ x.T @ v
    burden = g @ w
    variance = burden @ p0 @ burden
    beta, z = burden @ residual / variance, burden @ residual / np.sqrt(variance)
    # SKAT by the kernel of samples, in units in which R's package prints Q.
    scale = 1.0 if is_binary else s2
    q = scale * ((w * (g.T @ residual)) ** 2).sum() / 2
    root = np.linalg.cholesky(p0 + 1e-12 * np.eye(len(y)))
    values = np.linalg.eigvalsh(root.T @ (g * w**2) @ g.T @ root) * scale / 2
    p = 2 * stats.norm.sf(abs(z)), tail_by_inversion(q, values[values > 1e-6 * values.max()])
    both = stats.cauchy.sf(np.mean(stats.cauchy.isf(p)))
    logs = [-np.log10(each) for each in (*p, both)]
    error = 1 / np.sqrt(variance)
    return len(maf), n_carriers, beta, error, logs[0], q, logs[1], logs[2]


@pytest.mark.parametrize("is_binary", [False, True])
@pytest.mark.parametrize("weights", ["beta", "none"])
def test_all_values_are_those_of_a_dense_projection(is_binary, weights, monkeypatch):
    monkeypatch.setattr("genoviz.analyses.genotypes.association.set_tests._BLOCK_VALUES", 600)
    genotypes, rng = rare_genotypes(203, 1), np.random.default_rng(2)
    dosages = genotypes.dosages(slice(None))
    covariates = rng.normal(size=(203, 2))
    y = dosages[:, :6] @ np.array([1, -1, 1, 0, 0, 1]) + covariates[:, 0] + rng.normal(size=203)
    y = (y > 0.3).astype(float) + 1 if is_binary else y
    y[[3, 70]], covariates[8, 1] = np.nan, np.nan
    options = {"max_maf": 0.06, "weights": weights, "model": "logistic" if is_binary else "linear"}
    found = associate_sets(genotypes, y, SETS, covariates=covariates, **options)
    assert found.names.tolist() == [*SETS]
    assert found.n_samples == 200
    assert found.notes[-1].startswith("Not tested: 2 of 6 sets, with no variants that vary")
    y = y - 1 if is_binary else y
    for k, (name, rows) in enumerate(SETS.items()):
        values = [getattr(found, each)[k] for each in VALUES]
        if name in ("constant", "empty"):
            assert values[:2] == [0, 0]
            assert np.isnan(values[2:]).all()
            continue
        wanted = dense_test(
            dosages, y, covariates, rows,
            is_binary=is_binary, max_maf=0.06, has_weights=weights == "beta",
        )  # fmt: skip
        np.testing.assert_allclose(values, wanted, rtol=1e-6, err_msg=name)


def test_a_mixture_is_exact_in_the_body_and_far_in_the_tail():
    for m in (1, 2, 5, 1000):
        for q in m * np.array([1e-6, 0.1, 0.99, 1.0, 1.01, 3.0, 60.0, 1e4]):
            wanted = stats.chi2.logsf(q, m)
            if np.isfinite(wanted):  # scipy's underflows
                got = log_p_of_mixture(3 * q, np.full(m, 3.0))
                np.testing.assert_allclose(got, wanted, rtol=1e-11, atol=1e-12)
    # Pairs of equal weights are exponential variables: a sum of exponentials is known.
    means = np.array([5, 2, 1, 0.3, 0.01]) * 2
    shares = [np.prod([a / (a - b) for b in means if b != a]) for a in means]
    for q in (1.0, 20.0, 3000.0):
        terms = shares * np.exp(-(q - 3000 * (q > 1000)) / means)
        wanted = np.log(terms[:1].sum() if q > 1000 else terms.sum()) - (q > 1000) * 300
        got = log_p_of_mixture(q, np.repeat(means / 2, 2))
        np.testing.assert_allclose(got, wanted, rtol=1e-11)
    assert log_p_of_mixture(0.0, np.ones(3)) == 0


def test_permutations_of_a_null_trait_agree():
    genotypes, rng = rare_genotypes(150, 5), np.random.default_rng(6)
    y = rng.normal(size=150)
    sets = {"gene": np.arange(14)}
    found = associate_sets(genotypes, y, sets, max_maf=0.1)
    g = genotypes.dosages(slice(0, 14)).astype(float)
    g[g < 0] = np.nan
    maf = np.minimum(np.nanmean(g, 0) / 2, 1 - np.nanmean(g, 0) / 2)
    g = np.nan_to_num(g - np.nanmean(g, 0)) * stats.beta.pdf(maf, 1, 25)
    r = y - y.mean()
    shuffled = rng.permuted(np.tile(r, (20_000, 1)), axis=1)
    share = ((shuffled @ g) ** 2).sum(1) >= ((r @ g) ** 2).sum()
    np.testing.assert_allclose(10 ** -found.skat_log10_p[0], share.mean(), atol=0.03)


@pytest.mark.parametrize("model", ["linear", "logistic"])
def test_of_one_variant_both_are_its_score_test(model):
    genotypes, rng = rare_genotypes(400, 7), np.random.default_rng(8)
    y = genotypes.dosages(slice(None))[:, 4] + rng.normal(size=400)
    y = (y > 0.5).astype(float) if model == "logistic" else y
    age = rng.normal(size=(400, 1))
    sets = {str(k): np.array([k]) for k in range(19)}
    options = {"max_maf": 0.5, "weights": "none", "model": model}
    found = associate_sets(genotypes, y, sets, covariates=age, **options)
    assert found.skat_log10_p.max() > 2
    np.testing.assert_allclose(found.skat_log10_p, found.burden_log10_p, rtol=1e-9)
    np.testing.assert_allclose(found.acat_log10_p, found.burden_log10_p, rtol=1e-9)
    z = found.beta / found.standard_error
    if model == "linear":  # t of a scan without missing genotypes is a function of z
        whole = genotypes_of(np.where((c := codes_of(genotypes)) == 1, 3, c).astype(np.uint8))
        found = associate_sets(whole, y, sets, covariates=age, **options)
        z = found.beta / found.standard_error
        scan = genoviz.associate(whole, y, covariates=age)
        t2, degrees = scan.statistic[:19] ** 2, 400 - 3
        np.testing.assert_allclose(z**2, t2 * (degrees + 1) / (t2 + degrees), rtol=1e-9)
        flips = np.where(scan.a1_frequency[:19] > 0.5, -1, 1)
        np.testing.assert_allclose(found.beta, flips * scan.beta[:19], rtol=1e-9)
    else:  # the scan uses the normal approximation up to 2 standard errors
        scan = genoviz.associate(genotypes, y, covariates=age, model="saddle-point")
        near = np.abs(z) < 2
        assert near.sum() > 10
        p = scan.minus_log10_p[:19]
        np.testing.assert_allclose(found.burden_log10_p[near], p[near], rtol=1e-6)


def codes_of(genotypes):
    """Return 2-bit codes (n_samples, n_variants)."""
    return np.array([3, 2, 0, 1])[genotypes.dosages(slice(None))]


def test_flips_of_alleles_and_orders_of_samples_and_variants_change_nothing():
    genotypes, rng = rare_genotypes(120, 9), np.random.default_rng(10)
    y, age = rng.normal(size=120), rng.normal(size=(120, 1))
    found = associate_sets(genotypes, y, SETS, covariates=age, max_maf=0.45)
    codes = codes_of(genotypes)
    flipped = codes.copy()
    flipped[:, ::3] = np.array([3, 1, 2, 0])[codes[:, ::3]]
    order = rng.permutation(120)
    mixed = genotypes_of(flipped[order].astype(np.uint8))
    shuffled = {name: rng.permutation(rows) for name, rows in SETS.items()}
    other = associate_sets(mixed, y[order], shuffled, covariates=age[order], max_maf=0.45)
    for name in VALUES:
        np.testing.assert_allclose(getattr(other, name), getattr(found, name), rtol=1e-9)
    # A covariate that says nothing new is left out and told.
    both = np.column_stack([age, 2 * age + 1])
    other = associate_sets(genotypes, y, SETS, covariates=both, max_maf=0.45)
    assert "is left out" in other.notes[0]
    np.testing.assert_array_equal(other.skat_log10_p, found.skat_log10_p)


def test_sets_that_covariates_explain_or_that_are_small_or_of_x_are_told():
    genotypes = rare_genotypes(120, 11)
    dosages = genotypes.dosages(slice(4, 5)).astype(float)
    y = np.random.default_rng(12).normal(size=120)
    dosages[dosages < 0] = dosages[dosages >= 0].mean()
    sets = {"explained": np.array([4]), "with another": np.array([4, 6])}
    found = associate_sets(genotypes, y, sets, covariates=dosages, max_maf=0.1)
    assert np.isnan(found.skat_q).tolist() == [True, False]
    assert "Not tested: 1 set whose variants the covariates explain." in found.notes
    found = associate_sets(genotypes, y, SETS, max_maf=0.1, min_variants=3)
    assert np.isfinite(found.skat_q).tolist() == [True, True, False, False, False, False]
    assert "4 of 6 sets, with fewer than 3 variants" in found.notes[-1]
    on_x = replace(genotypes, variants=replace(genotypes.variants, contigs=("1", "X")))
    found = associate_sets(on_x, y, SETS, max_maf=0.1)
    assert found.n_variants.tolist()[:2] == [11, 1]
    assert "11 variants of X, Y or MT are left out" in found.notes[0]


def test_small_p_values_combine_without_underflow():
    np.testing.assert_allclose(_combine(np.log([1e-12, 0.4])), np.log(2e-12), rtol=1e-6)
    np.testing.assert_allclose(_combine(np.array([-40.0, -1.0])), np.log(2) - 40, rtol=1e-9)
    np.testing.assert_allclose(_combine(np.array([-9e4, -9e4])), -9e4, rtol=1e-12)
    np.testing.assert_allclose(
        _combine(np.array([-33.9, -3])), _combine(np.array([-34.1, -3])) + 0.2
    )
    assert _combine(np.array([-30.0, 0.0])) == np.log(2) - 30
    assert _combine(np.array([-0.1, 0.0])) == 0


def test_regions_and_ids_name_sets():
    variants = rare_genotypes(20, 1).variants  # 11 of contig 1, at 0, 10 and so on; 11 of contig 2
    order = np.random.default_rng(3).permutation(22)
    names = ["b", "a", "b", "", "c"]
    regions = Intervals.from_columns(
        ["1", "2", "2", "1", "9"], [0, 115, 200, 30, 0], [21, 130, 201, 31, 9], names=names
    )
    found = sets_of_regions(variants, regions)
    wanted = {"b": [0, 1, 2, 20], "a": [12], "1:30-31": [3], "c": []}
    assert {name: rows.tolist() for name, rows in found.items()} == wanted
    found = sets_of_regions(variants.take(order), regions)
    assert {name: sorted(order[rows]) for name, rows in found.items()} == wanted
    ids = variants.ids.copy()
    ids[[4, 5]], ids[6] = "same", "."
    listed = {"x": ["same", "rs1", "nobody"], "y": [".", "rs1", "rs1"]}
    found, n_unknown = sets_of_ids(replace(variants, ids=ids), listed)
    assert {name: rows.tolist() for name, rows in found.items()} == {"x": [1, 4, 5], "y": [1]}
    assert n_unknown == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"model": "firth"}, "model is 'firth', needs one of linear, logistic"),
        ({"weights": "x"}, "weights is 'x', needs one of beta, none"),
        ({"max_maf": 0}, "max_maf is 0, needs to be above 0"),
        ({"min_variants": 0}, "min_variants is 0, needs to be 1"),
        ({"sets": {}}, "there are no sets of variants"),
        ({"sets": {"a": np.array([22])}}, "set a has an index beyond the 22 variants"),
        ({"sets": {"a": np.array([0.5])}}, "set a is float64 of 1 dimensions, needs integers"),
        ({"model": "logistic"}, "a logistic model needs two"),
    ],
)
def test_options_that_cannot_be_are_told(options, words):
    options = {"sets": SETS, **options}
    with pytest.raises(ParameterError, match=words):
        associate_sets(rare_genotypes(20, 1), np.arange(20.0), **options)
