"""Tests of sets of variants against dense projections, exact mixtures, and properties."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, stats

import genoviz
from genoviz import (
    Intervals,
    ParameterError,
    associate_sets,
    set_statistics,
    sets_of_ids,
    sets_of_regions,
)
from genoviz.analyses.genotypes.association import set_scores, set_variants
from genoviz.analyses.genotypes.association import set_statistics as set_statistics_of
from genoviz.analyses.genotypes.association.p_values import log_p_of_mixture
from genoviz.analyses.genotypes.association.set_statistics import combine_cauchy
from tests.genotype_sets import genotypes_of
from tests.oracles import set_tests

VALUES = (
    "n_variants", "n_carriers", "beta", "standard_error", "burden_log10_p", "skat_q",
    "skat_log10_p", "acat_log10_p", "acat_v_log10_p",
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


@pytest.mark.parametrize("is_binary", [False, True])
@pytest.mark.parametrize("weights", ["beta", "none"])
def test_asymptotic_values_are_those_of_a_dense_projection(is_binary, weights, monkeypatch):
    monkeypatch.setattr(set_variants, "_BLOCK_VALUES", 600)
    monkeypatch.setattr(set_scores, "_NORMAL_FROM", 0.0)
    for module in (set_scores, set_statistics_of):
        monkeypatch.setattr(module, "NORMAL_BELOW", np.inf)
    genotypes, rng = rare_genotypes(203, 1), np.random.default_rng(2)
    dosages = genotypes.dosages(slice(None)).astype(float)
    dosages[dosages < 0] = np.nan
    age = rng.normal(size=(203, 2))
    y = np.nan_to_num(dosages[:, :6]) @ np.array([1, -1, 1, 0, 0, 1]) + age[:, 0]
    y += rng.normal(size=203)
    y = (y > 0.3).astype(float) + 1 if is_binary else y
    y[[3, 70]], age[8, 1] = np.nan, np.nan
    options = {"max_maf": 0.06, "weights": weights, "model": "logistic" if is_binary else "linear"}
    found = associate_sets(genotypes, y, SETS, covariates=age, **options)
    assert found.names.tolist() == [*SETS]
    assert found.n_samples == 200
    assert found.notes[-1].startswith("Not tested: 2 of 6 sets, with no variants that vary")
    kept = np.isfinite(y) & np.isfinite(age).all(1)
    y, x = y[kept], np.column_stack([np.ones(200), age[kept]])
    v, scale = None, 1.0
    if not is_binary:
        scale = ((y - x @ np.linalg.lstsq(x, y, rcond=None)[0]) ** 2).sum() / (200 - 3)
        v = scale * np.eye(200)
    for k, (name, rows) in enumerate(SETS.items()):
        values = [getattr(found, each)[k] for each in VALUES]
        if name in ("constant", "empty"):
            assert values[:2] == [0, 0]
            assert np.isnan(values[2:]).all()
            continue
        wanted, u, s = set_tests.statistics_of(
            y - is_binary, x, dosages[np.ix_(kept, rows)], 0.06, weights == "beta", v
        )
        wanted[5] *= scale  # the units of R's SKAT
        np.testing.assert_allclose(values, wanted, rtol=1e-6, err_msg=name)
        of_scores = set_statistics(u, s)
        assert found.skat_o_log10_p[k] == pytest.approx(of_scores.skat_o_log10_p, rel=1e-6)
        assert found.skat_o_rho[k] == of_scores.skat_o_rho


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


@pytest.mark.parametrize(
    ("q", "weights", "shifts"),
    [
        (149.07, (1.0, 7.7779e-3), (0.0197, 18776.8)),
        (6.5, (1.0, 0.0378863), (0.18, 91.57)),
        (212.2, (1.0, 0.0721371), (0.0533, 1336.9)),
        (45.0, (1.0, 0.5), (0.5, 60.0)),
        (117.36, (1.0, 7.4e-4), (0.147, 148972.0)),
    ],
)
def test_a_mixture_with_large_noncentralities_is_a_convolution(q, weights, shifts):
    (first, second), (one, other) = weights, shifts
    mean, spread = second * (1 + other), second * np.sqrt(2 + 4 * other)
    ends = max(mean - 12 * spread, 0.0), mean + 12 * spread

    def product(x):
        beyond = stats.ncx2.sf((q - x) / first, 1, one) if x < q else 1.0
        return stats.ncx2.pdf(x / second, 1, other) / second * beyond

    p = integrate.quad(product, *ends, limit=500, epsabs=0, epsrel=1e-9, points=[min(q, ends[1])])
    found = log_p_of_mixture(q, np.array(weights), np.array(shifts))
    assert np.exp(found) == pytest.approx(p[0], rel=1e-6)


def scores_with_covariance(m, size, seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(m, m + 3)) / np.sqrt(m)
    return root @ rng.normal(size=m + 3) * size, root @ root.T


@pytest.mark.parametrize(("m", "size"), [(4, 1.4), (6, 1.4)])
def test_skat_o_is_the_probability_of_the_lowest_p(m, size):
    u, s = scores_with_covariance(m, size, 3)
    found = set_statistics(u, s)
    p, rho = set_tests.skat_o(u, s)
    np.testing.assert_allclose(10**-found.skat_o_log10_p, p, rtol=1e-4)
    assert found.skat_o_rho == rho


def test_skat_o_holds_its_level_in_draws():
    _, s = scores_with_covariance(5, 1, 4)
    drawn = np.random.default_rng(5).multivariate_normal(np.zeros(5), s, 150)
    p = 10 ** -np.array([set_statistics(u, s).skat_o_log10_p for u in drawn])
    assert stats.kstest(p, "uniform").pvalue > 0.01


def test_skat_o_of_tiny_p_and_of_special_covariances():
    u, s = scores_with_covariance(5, 40, 6)
    found = set_statistics(u, s)
    assert found.skat_o_log10_p > 320
    lowest = max(found.skat_log10_p, found.burden_log10_p)
    assert found.skat_o_log10_p > lowest - np.log10(8)
    # Equal variants: all kernels are the same. Opposite ones: there is no burden.
    same = set_statistics(np.ones(3), np.ones((3, 3)))
    assert same.skat_o_log10_p == pytest.approx(same.burden_log10_p, rel=1e-9)
    sign = np.array([1.0, -1.0])
    none = set_statistics(2 * sign, np.outer(sign, sign))
    assert np.isnan(none.burden_log10_p)
    assert none.skat_o_log10_p == none.skat_log10_p == pytest.approx(-np.log10(0.0455003), rel=1e-6)
    assert np.isnan(set_statistics(np.zeros(2), np.zeros((2, 2))).skat_log10_p)
    with pytest.raises(ParameterError, match=r"scores have shape \(2,\)"):
        set_statistics(np.zeros(2), np.eye(3))


def test_acat_v_of_scores_far_in_the_tail_and_of_none():
    """A tiny p of one variant of two equal ones is doubled; a p of 1 is Bonferroni's."""
    known = {"frequencies": np.full(2, 0.01), "counts": np.full(2, 40.0)}
    for other in (0.5, 0.0):
        found = set_statistics(np.array([40.0, other]), np.eye(2), **known)
        wanted = -stats.norm.logsf(40) / np.log(10) - 2 * np.log10(2)
        assert found.acat_v_log10_p == pytest.approx(wanted, rel=1e-9)
    assert np.isnan(set_statistics(np.ones(2), np.eye(2)).acat_v_log10_p)
    # The share of a variant is w^2 f (1 - f); of the rarest ones, of their means.
    u, s, w = np.array([2.0, 0.3, -1.0, 1.5]), np.diag([1.0, 2.0, 3.0, 4.0]), np.arange(1, 5)
    known = {"frequencies": np.array([1, 2, 9, 10]) / 100, "counts": np.array([2, 10, 11, 50])}
    found = set_statistics(u, s, w, **known)
    wanted = set_tests.acat_v(w * u, w[:, None] * s * w, w, *known.values())
    assert found.acat_v_log10_p == pytest.approx(wanted, rel=1e-12)


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
    np.testing.assert_allclose(found.acat_v_log10_p, found.burden_log10_p, rtol=1e-9)
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
    np.testing.assert_allclose(combine_cauchy(np.log([1e-12, 0.4])), np.log(2e-12), rtol=1e-6)
    np.testing.assert_allclose(combine_cauchy(np.array([-40.0, -1.0])), np.log(2) - 40, rtol=1e-9)
    np.testing.assert_allclose(combine_cauchy(np.array([-9e4, -9e4])), -9e4, rtol=1e-12)
    np.testing.assert_allclose(
        combine_cauchy(np.array([-33.9, -3])), combine_cauchy(np.array([-34.1, -3])) + 0.2
    )
    assert combine_cauchy(np.array([-30.0, 0.0])) == np.log(2) - 30
    assert combine_cauchy(np.array([-0.1, 0.0])) == 0


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
    spelled = replace(variants, contigs=("chr1", "2", "01"))
    spelled = replace(spelled, contig_ids=np.where(np.arange(22) == 1, 2, spelled.contig_ids))
    found = sets_of_regions(spelled, regions)
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
        ({"min_variants": 0}, "min_variants is 0, needs at least 1"),
        ({"sets": {}}, "there are no sets of variants"),
        ({"sets": {"a": np.array([22])}}, "set a has an index beyond the 22 variants"),
        ({"sets": {"a": np.array([0.5])}}, "set a is float64 of 1 dimension, needs integers"),
        ({"model": "logistic"}, "a logistic model needs two"),
    ],
)
def test_options_that_cannot_be_are_told(options, words):
    options = {"sets": SETS, **options}
    with pytest.raises(ParameterError, match=words):
        associate_sets(rare_genotypes(20, 1), np.arange(20.0), **options)


def few_cases(n, n_cases, seed):
    """Return genotypes of 4 rare variants, and a phenotype."""
    rng = np.random.default_rng(seed)
    dosages = rng.binomial(2, [0.01, 0.015, 0.02, 0.03], (n, 4))
    y = np.zeros(n)
    y[np.argsort(dosages @ [1, 0, 1, 1] + rng.gumbel(size=n))[-n_cases:]] = 1
    return genotypes_of(np.array([3, 2, 0], np.uint8)[dosages]), dosages, y


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_few_cases_have_the_p_of_permutations(seed):
    genotypes, dosages, y = few_cases(300, 12, seed)
    options = {"max_maf": 0.1, "weights": "none", "model": "logistic"}
    found = associate_sets(genotypes, y, {"gene": np.arange(4)}, **options)
    centred = dosages - dosages.mean(0)
    rng, u = np.random.default_rng(seed), y @ centred
    shuffled = rng.permuted(np.tile(y, (40_000, 1)), axis=1) @ centred
    # Of equal statistics, the draws count about half: the other samples decide between them.
    squares, sums = (shuffled**2).sum(1) / (u @ u), shuffled.sum(1) ** 2 / u.sum() ** 2
    p = (squares > 1 + 1e-9).mean() + (abs(squares - 1) <= 1e-9).mean() / 2
    assert found.skat_log10_p[0] == pytest.approx(-np.log10(p), abs=0.15)
    # Burden has few values.
    p = 10 ** -found.burden_log10_p[0]
    assert 0.7 * (sums > 1 + 1e-9).mean() < p < (sums > 1 - 1e-9).mean() / 0.7
    again = associate_sets(genotypes, y, {"gene": np.arange(4)}, **options)
    assert again.skat_log10_p == found.skat_log10_p


def test_p_beyond_the_draws_go_on_from_those_within(monkeypatch):
    genotypes, _, y = few_cases(300, 12, 4)
    options = {"max_maf": 0.1, "weights": "none", "model": "logistic"}
    sets = {"gene": np.arange(4)}
    monkeypatch.setattr(set_scores, "MAX_DRAWS", 256_000)
    found = associate_sets(genotypes, y, sets, **options)
    assert 2 < found.skat_log10_p < 5
    monkeypatch.setattr(set_scores, "MAX_DRAWS", 1000)
    near = associate_sets(genotypes, y, sets, **options)
    normal = set_statistics(*(x for x in _scores(genotypes, y)))
    for name in ("skat_log10_p", "skat_o_log10_p"):
        wanted = getattr(found, name)[0]
        assert getattr(near, name)[0] == pytest.approx(wanted, rel=0.2)
        assert getattr(normal, name) > wanted + 0.5


def _scores(genotypes, y):
    g = genotypes.dosages(slice(None)).astype(float)
    centred, share = g - g.mean(0), y.mean()
    return (y - share) @ centred, share * (1 - share) * centred.T @ centred


@pytest.mark.parametrize("has_covariates", [False, True])
def test_few_cases_hold_the_level(has_covariates):
    rng, p = np.random.default_rng(7), []
    dosages = rng.binomial(2, rng.uniform(0.002, 0.02, 8), (500, 8))
    genotypes = genotypes_of(np.array([3, 2, 0], np.uint8)[dosages])
    age = rng.normal(size=(500, 1))
    sets = {"gene": np.arange(8)}
    for seed in range(250):
        odds = np.exp(age[:, 0] * has_covariates)
        y = np.zeros(500)
        y[np.argsort(rng.exponential(size=500) / odds)[:25]] = 1
        options = {"model": "logistic", "max_maf": 0.1, "seed": seed}
        found = associate_sets(genotypes, y, sets, covariates=age, **options)
        p.append([found.burden_log10_p[0], found.skat_log10_p[0], found.skat_o_log10_p[0]])
    p = 10 ** -np.array(p)
    for level in (0.05, 0.2, 0.5):  # 4 standard deviations
        assert (abs((p <= level).mean(0) - level) < 4 * np.sqrt(level * (1 - level) / 250)).all()
