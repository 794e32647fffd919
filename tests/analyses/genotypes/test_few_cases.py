"""Tests for few cases: R's brglm2, PLINK 2, a dense maximum, exact distributions."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.special import gammaln

from genoviz import ParameterError, associate, firth_logistic, pack_dosages, simulate_genotypes
from genoviz.analyses.genotypes.association.scan import CASE_MODELS
from tests.analyses.genotypes.test_statistics import genotypes_of
from tests.oracles.genotypes import dosages_of
from tests.plink import Plink, numbers, plink_files, read_real, write_table

# Controls and cases of a study of urinary tract infections (Foxman et al. 1997), data set sex2 of
# logistf, by age, oc, vic, vicl, vis and dia.
SEX2 = {
    "000010": (1, 1), "001000": (2, 14), "001010": (1, 3), "001100": (8, 10), "001110": (18, 12),
    "010000": (42, 44), "010010": (1, 0), "011000": (1, 15), "011100": (5, 7), "011110": (6, 3),
    "101100": (2, 1), "101110": (4, 0), "110000": (14, 5), "110010": (1, 0), "111000": (1, 3),
    "111110": (2, 0), "001111": (0, 1), "010001": (0, 3), "011001": (0, 1), "011010": (0, 2),
    "101000": (0, 2), "101010": (0, 1), "101011": (0, 1), "101111": (0, 1),
}  # fmt: skip


def penalised(b, columns, y):
    """Return Firth's likelihood."""
    logits = columns @ b
    p = 1 / (1 + np.exp(-logits))
    information = (columns * (p * (1 - p))[:, None]).T @ columns
    return (y * logits - np.logaddexp(0, logits)).sum() + np.linalg.slogdet(information)[1] / 2


def fit_by_search(columns, y):
    """Return coefficient, standard error and chi-square of the last column."""

    def best(free):
        def loss(b):
            return -penalised(np.append(b, np.zeros(columns.shape[1] - len(b))), columns, y)

        found = optimize.minimize(loss, np.zeros(free), options={"gtol": 1e-8})
        return found.x, -found.fun

    b, full = best(columns.shape[1])
    _, without = best(columns.shape[1] - 1)
    p = 1 / (1 + np.exp(-columns @ b))
    information = (columns * (p * (1 - p))[:, None]).T @ columns
    return b[-1], np.sqrt(np.linalg.inv(information)[-1, -1]), 2 * (full - without)


def test_it_is_what_r_says_of_the_example_of_logistf():
    """R 4.2.2 has the numbers: brglm2 0.9 the coefficients and errors, optim the chi-squares.

    ``glm(cbind(cases, controls) ~ ., binomial, method = "brglmFit", type = "AS_mean", epsilon =
    1e-12)`` solves Firth's equations. Each chi-square is twice the difference of the penalised
    likelihood (with the determinant of all columns, as in logistf) from its maximum without that
    column, by ``optim(method = "BFGS", reltol = 1e-16)``; p is its ``pchisq``. firthmodels 0.8.2
    (``lrt``) has the same p in 12 digits. logistf, which stops earlier, prints 3.09601166 for dia.
    """
    rows = [
        (is_case, *map(int, pattern))
        for pattern, counts in SEX2.items()
        for is_case, n in enumerate(counts)
        for _ in range(n)
    ]
    y, columns = np.array(rows)[:, 0], np.array(rows)[:, 1:]
    assert (len(y), y.sum()) == (239, 130)
    found = firth_logistic(columns, y)
    wanted = [-1.10598133, -0.06881673, 2.26887465, -2.11140819, -0.78831695, 3.09601183]
    np.testing.assert_allclose(found.coefficients, wanted, rtol=2e-7)
    wanted = [0.4236601, 0.4437934, 0.5484160, 0.5430824, 0.4173676, 1.6750084]
    np.testing.assert_allclose(found.standard_errors, wanted, rtol=2e-7)
    wanted = [7.50773092, 0.02467044, 22.93139022, 19.10407252, 3.69740975, 7.89693139]
    np.testing.assert_allclose(found.chi_squares, wanted, rtol=2e-7)
    wanted = [
        6.1434718e-03, 8.7519106e-01, 1.6788770e-06, 1.2378048e-05, 5.4497008e-02, 4.9518734e-03,
    ]  # fmt: skip
    np.testing.assert_allclose(found.p, wanted, rtol=5e-8)


def test_a_table_of_four_fields_has_half_a_sample_more_in_each():
    x, y = np.repeat([0.0, 0.0, 1.0, 1.0], [30, 0, 5, 4]), np.repeat([0, 1, 0, 1], [30, 0, 5, 4])
    found = firth_logistic(x[:, None], y)
    wanted = np.log(4.5 / 5.5) - np.log(0.5 / 30.5)
    np.testing.assert_allclose(found.coefficients, [wanted], rtol=1e-7)


@pytest.mark.parametrize("n_carriers", [1, 2, 5])
def test_rare_genotypes_have_an_answer_whatever_the_share_of_cases(n_carriers):
    """Steps by the information alone swing from side to side of the maximum, of some for ever."""
    n = 120
    x = (np.arange(n) < n_carriers).astype(float)
    for n_cases in (*range(2, n - n_carriers, 3), 24):
        y = (np.arange(n) >= n - n_cases).astype(float)
        found = firth_logistic(x[:, None], y)
        odds = (n_cases + 0.5) / (n - n_carriers - n_cases + 0.5)
        wanted = np.log(0.5 / (n_carriers + 0.5) / odds)
        np.testing.assert_allclose(found.coefficients, [wanted], rtol=1e-5, atol=1e-5)
        assert 0 < found.p[0] <= 1


def test_columns_that_say_nothing_are_told():
    x = np.arange(8.0)
    with pytest.raises(ParameterError, match="each column needs numbers that say something new"):
        firth_logistic(np.column_stack([x, 2 * x]), x > 3)
    with pytest.raises(ParameterError, match="a logistic model needs two"):
        firth_logistic(x[:, None], x)


def few_cases(seed):
    """Return genotypes with missing ones and covariates, and few cases, some told apart."""
    rng = np.random.default_rng(seed)
    genotypes = simulate_genotypes(150, 25, missing_rate=0.05, seed=seed)
    codes = np.full((150, 2), 3)
    y = (rng.random(150) < 0.08).astype(float)
    codes[np.flatnonzero(y == 1)[:4], 0] = 2  # cases alone have it
    codes[np.flatnonzero(y == 0)[:30], 1] = 2  # controls alone have it
    made = genotypes_of(codes)
    variants = genotypes.variants.take(np.arange(25))
    packed = np.vstack([genotypes.packed[:23], made.packed])
    covariates = rng.normal(size=(150, 2))
    y[7] = np.nan
    return replace(genotypes, packed=packed, variants=variants), y, covariates


@pytest.mark.parametrize("seed", [1, 2])
def test_firths_model_is_the_maximum_of_its_likelihood(seed, backend):
    genotypes, y, covariates = few_cases(seed)
    scan = associate(genotypes, y, covariates=covariates, model="firth", backend=backend)
    dosages = dosages_of(genotypes.packed, 150)
    assert np.isfinite(scan.beta[-2:]).all()
    for variant in (*range(6), 23, 24):
        kept = np.isfinite(dosages[:, variant]) & np.isfinite(y)
        columns = [np.ones(150), *covariates.T, dosages[:, variant]]
        wanted = fit_by_search(np.column_stack(columns)[kept], y[kept])
        beta, error = scan.beta[variant], scan.standard_error[variant]
        np.testing.assert_allclose([beta, error], wanted[:2], rtol=2e-4, atol=1e-5)
        assert scan.statistic[variant] ** 2 == pytest.approx(wanted[2], rel=1e-4, abs=1e-6)
        assert np.sign(scan.statistic[variant]) == np.sign(beta)
        assert scan.p[variant] == pytest.approx(stats.chi2.sf(scan.statistic[variant] ** 2, 1))


def test_firths_model_helps_out_where_the_logistic_one_has_no_answer(backend):
    genotypes, y, covariates = few_cases(3)
    scans = [
        associate(genotypes, y, covariates=covariates, model=model, backend=backend)
        for model in ("logistic", "firth", "firth-fallback")
    ]
    plain, firth, found = scans
    assert np.isnan(plain.beta[23:]).all()
    dosages = dosages_of(genotypes.packed, 150)
    is_alike = [
        any(np.nanmin(some) == np.nanmax(some) for some in (each[y == 0], each[y == 1]))
        for each in dosages.T
    ]
    is_firths = np.isnan(plain.beta) | is_alike
    assert 2 <= is_firths.sum() < 15
    for name in ("beta", "standard_error", "statistic", "p"):
        for variant in range(25):
            source = firth if is_firths[variant] else plain
            wanted = getattr(source, name)[variant]
            assert getattr(found, name)[variant] == pytest.approx(wanted, nan_ok=True, rel=1e-6)


@pytest.mark.parametrize("model", ["linear", *CASE_MODELS])
def test_a_variant_that_covariates_explain_is_not_tested(model):
    tested = []
    for seed in range(4):
        genotypes = simulate_genotypes(60, 8, missing_rate=0.05, seed=seed)
        dosages = dosages_of(genotypes.packed, 60)
        dosages[:, 7] = dosages[:, 5]
        dosages[seed : seed + 9, 7] = np.nan  # a copy that lacks other genotypes
        codes = np.nan_to_num(dosages, nan=-1).astype(np.int8)
        genotypes = pack_dosages(codes, genotypes.samples, genotypes.variants)
        rng = np.random.default_rng(seed)
        covariates = np.column_stack([dosages[:, 5], rng.normal(size=60)])
        y = (rng.random(60) < 0.4).astype(float)
        scan = associate(genotypes, y, covariates=covariates, model=model)
        assert np.isnan(scan.p[5])
        if model != "saddle-point":  # which takes a missing genotype for the mean
            assert np.isnan(scan.p[7])
        tested += np.isfinite(scan.p[[0, 1, 2, 3, 4, 6]]).tolist()
    assert np.mean(tested) > 0.9  # a logistic model may not converge


def test_covariates_that_tell_cases_from_controls_leave_firths_model():
    genotypes, y, covariates = few_cases(2)
    covariates[:, 0] = np.where(y == 1, 9, -9) + covariates[:, 0]
    for options in ({}, {"genetic_model": "dominant"}):
        options |= {"covariates": covariates}
        usual, firth = (associate(genotypes, y, **options, model=m) for m in ("auto", "firth"))
        assert np.isfinite(firth.p).sum() > 20
        np.testing.assert_array_equal(usual.p, firth.p)
    with pytest.raises(ParameterError, match="the covariates tell cases from controls entirely"):
        associate(genotypes, y, covariates=covariates, model="logistic")


def test_firths_model_is_that_of_plink_and_both_fall_back_to_it(tmp_path):
    files, plink = plink_files("gcta_test"), Plink("plink2", tmp_path)
    genotypes = read_real(files)
    genotypes = genotypes.take_variants(slice(0, 60))
    rng = np.random.default_rng(1)
    n = genotypes.n_samples
    y = (rng.random(n) < 0.01).astype(float)
    age = rng.normal(size=n)
    ids = genotypes.samples.family_ids, genotypes.samples.ids
    pheno = write_table(tmp_path / "pheno", ids, {"y": y + 1})
    covar = write_table(tmp_path / "covar", ids, {"age": age})
    names = tmp_path / "names"
    names.write_text("\n".join(genotypes.variants.ids.tolist()))
    plink(files, "--extract", str(names), "--pheno", str(pheno), "--covar", str(covar),
          "--glm", "firth", "hide-covar", "omit-ref", "cols=+beta,-orbeta")  # fmt: skip
    table = plink.table("y.glm.firth")
    scan = associate(genotypes, y, covariates=age[:, None], model="firth")
    is_counted = table["A1"] == genotypes.variants.allele1
    wanted = np.where(is_counted, 1, -1) * numbers(table["BETA"])
    errors = numbers(table["LOG(OR)_SE" if "LOG(OR)_SE" in table else "SE"])
    # PLINK 2 stops before the maximum: by up to a per cent of the error where many are missing.
    for found, told in ((scan.beta, wanted), (scan.standard_error, errors)):
        gaps = np.abs(found - told) / errors
        assert (gaps < 1e-3).mean() > 0.9
        assert gaps.max() < 0.02

    plink(files, "--extract", str(names), "--pheno", str(pheno), "--covar", str(covar),
          "--glm", "hide-covar", "omit-ref", "cols=+beta,-orbeta")  # fmt: skip
    table = plink.table("y.glm.logistic.hybrid")
    usual = associate(genotypes, y + 1, covariates=age[:, None])
    assert usual.model == "firth-fallback"
    assert "has two values" in usual.notes[0]
    is_firths = table["FIRTH?"] == "Y"
    assert 0 < is_firths.sum() < 60
    np.testing.assert_array_equal(usual.beta == scan.beta, is_firths)
    tested, signs = ~is_firths, np.where(table["A1"] == genotypes.variants.allele1, 1, -1)
    np.testing.assert_allclose((usual.beta * signs)[tested], numbers(table["BETA"])[tested], 1e-3)
    gaps = np.abs(np.log(usual.p / numbers(table["P"])))[tested]
    assert ((gaps < 1e-3).mean() > 0.9, gaps.max() < 0.03) == (True, True)  # it stops early here


# Samples with 1 and 2 of A1; cases with these; all samples and cases.
RARE = [
    (2000, 40, 60, 2, 9, 1),
    (5000, 25, 50, 0, 4, 0),
    (20_000, 50, 200, 3, 5, 1),
    (1000, 30, 400, 60, 19, 4),
    (10_000, 100, 300, 2, 11, 0),
    (4000, 20, 900, 60, 0, 0),
]


def rare_trait(n, n_cases, n1, n2, cases1, cases2):
    dosages, y = np.zeros(n), np.zeros(n)
    dosages[:n1], dosages[n1 : n1 + n2] = 1, 2
    y[:cases1] = y[n1 : n1 + cases2] = 1
    y[n1 + n2 : n1 + n2 + n_cases - cases1 - cases2] = 1
    return dosages, y


def p_by_permutation(dosages, y):
    """Return how many of all orders of cases have a sum of dosages as far from its mean."""

    def log_choose(n, k):
        return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)

    sizes = [int((dosages == d).sum()) for d in range(3)]
    n, n_cases = len(y), int(y.sum())
    mean, found = dosages.mean() * n_cases, 0.0
    distance = abs(dosages @ y - mean) - 1e-9
    for k1, k2 in product(*(range(min(size, n_cases) + 1) for size in sizes[1:])):
        k0 = n_cases - k1 - k2
        if 0 <= k0 <= sizes[0] and abs(k1 + 2 * k2 - mean) >= distance:
            logs = [log_choose(*each) for each in zip(sizes, (k0, k1, k2), strict=True)]
            found += np.exp(sum(logs) - log_choose(n, n_cases))
    return found


@pytest.mark.parametrize("case", RARE)
def test_the_saddle_point_is_near_all_permutations(case, backend):
    dosages, y = rare_trait(*case)
    template = simulate_genotypes(len(y), 1, seed=1)
    genotypes = pack_dosages(dosages[:, None].astype(int), template.samples, template.variants)
    scan = associate(genotypes, y, model="saddle-point", backend=backend)
    exact = -np.log10(p_by_permutation(dosages, y))
    normal = associate(genotypes, y, model="linear").minus_log10_p[0]
    found = scan.minus_log10_p[0]
    assert abs(found - exact) < 0.1 * exact + 0.15
    if exact > 3:
        assert abs(normal - exact) > 2 * abs(found - exact)
    assert scan.statistic[0] == pytest.approx(stats.norm.isf(scan.p[0] / 2) * np.sign(scan.beta[0]))
    assert scan.beta[0] / scan.standard_error[0] == pytest.approx(scan.statistic[0])


@pytest.mark.parametrize(("n", "n_cases"), [(14, 3), (14, 7), (1000, 200), (600, 31)])
def test_a_perfect_separation_has_the_probability_of_its_one_outcome(n, n_cases, backend):
    y = (np.arange(n) < n_cases).astype(float)
    template = simulate_genotypes(n, 1, seed=1)
    genotypes = pack_dosages(2 * y[:, None].astype(int), template.samples, template.variants)
    scan = associate(genotypes, y, model="saddle-point", backend=backend)
    share = n_cases / n
    expected = n_cases * np.log10(share) + (n - n_cases) * np.log10(1 - share)
    # At equal numbers of cases and controls, the reverse outcome is as far from the mean.
    expected += np.log10(2) * (2 * n_cases == n)
    assert scan.minus_log10_p[0] == pytest.approx(-expected, rel=2e-3)
    assert np.isfinite(scan.statistic[0])


def test_scores_near_their_mean_are_normal_and_covariates_count(backend):
    genotypes, y, covariates = few_cases(4)
    scan = associate(genotypes, y, covariates=covariates, model="saddle-point", backend=backend)
    kept = np.isfinite(y)
    dosages = dosages_of(genotypes.packed, 150)[kept]
    dosages = np.where(np.isnan(dosages), np.nanmean(dosages, 0), dosages)
    columns, y = np.column_stack([np.ones(150), covariates])[kept], y[kept]
    loss = optimize.minimize(
        lambda b: (np.logaddexp(0, columns @ b) - y * (columns @ b)).sum(), np.zeros(3), tol=1e-10
    )
    p = 1 / (1 + np.exp(-columns @ loss.x))
    w = p * (1 - p)
    left = dosages - columns @ np.linalg.solve((columns * w[:, None]).T @ columns,
                                               (columns * w[:, None]).T @ dosages)  # fmt: skip
    score, variance = left.T @ (y - p), (left**2).T @ w
    z = score / np.sqrt(variance)
    is_near = np.abs(z) < 1.99
    assert is_near.sum() > 15
    np.testing.assert_allclose(scan.beta, score / variance, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(scan.p[is_near], 2 * stats.norm.sf(np.abs(z[is_near])), rtol=1e-4)
    assert (scan.p[~is_near] != 2 * stats.norm.sf(np.abs(z[~is_near]))).all()


def test_p_by_the_saddle_point_are_uniform_without_an_effect():
    rng = np.random.default_rng(5)
    genotypes = simulate_genotypes(3000, 2000, seed=5)
    y = np.zeros(3000)
    y[rng.permutation(3000)[:60]] = 1
    p = associate(genotypes, y, model="saddle-point").p
    assert np.isfinite(p).mean() > 0.99
    for level in (0.05, 0.01):
        share = np.nanmean(p < level)
        # Variants are linked, so that the share varies more than that of independent ones.
        assert level / 2.5 < share < 1.8 * level


def test_firths_maximum_is_found_where_steps_towards_it_are_short():
    """Ten samples: the information is far from the curvature of the penalised likelihood."""
    noise = [-1.6636, 0.6584, -1.0923, -1.0786, -0.0148, -0.1014, 1.0043, 1.0817, -0.4469, -0.188]
    columns = np.column_stack(
        [[1, 1, 1, 0, 1, 1, 1, 1, 0, 0], noise, [0, 0, 1, 0, 0, 1, 0, 0, 0, 0]]
    ).astype(float)
    y = np.array([0, 0, 1, 0, 0, 1, 1, 0, 1, 1.0])
    fit = firth_logistic(columns, y)
    beta, error, chi_square = fit_by_search(np.column_stack([np.ones(10), columns]), y)
    np.testing.assert_allclose(fit.coefficients[2], beta, rtol=1e-4)
    np.testing.assert_allclose(fit.standard_errors[2], error, rtol=1e-4)
    np.testing.assert_allclose(fit.chi_squares[2], chi_square, rtol=1e-4)
