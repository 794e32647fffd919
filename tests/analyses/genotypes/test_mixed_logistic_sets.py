"""Tests of sets in a logistic mixed model against dense ones, plain tests, and families."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg, stats

from genoviz import (
    ParameterError,
    associate_sets,
    mixed_associate_sets,
    mixed_logistic_associate,
    set_statistics,
)
from genoviz.analyses.genotypes.association import logistic_null, set_scores
from genoviz.analyses.genotypes.association import set_statistics as set_statistics_of
from tests.analyses.genotypes.test_mixed_logistic import (
    AGE,
    CONTIGS,
    DESIGN,
    DOSAGES,
    GENOTYPES,
    ILL,
    NOISE,
    USED,
    Y,
    draw_cases,
    draw_families,
    relationships,
)
from tests.oracles import mixed_models, set_tests

PLACES = [np.flatnonzero(k == CONTIGS) for k in range(3)]
SETS = {"a": PLACES[0][3:9], "b": PLACES[2][:7], "c": PLACES[0][5:20], "d": PLACES[1][[4]]}
PLAIN = {"covariates": AGE[:, None], "max_maf": 0.45}
OPTIONS = {**PLAIN, "model": "logistic", "backend": "cpu"}
NAMES = (
    "n_variants", "n_carriers", "beta", "standard_error", "burden_log10_p", "skat_q",
    "skat_log10_p", "acat_log10_p", "acat_v_log10_p",
)  # fmt: skip
TESTED = "burden_log10_p", "skat_log10_p", "skat_o_log10_p", "acat_v_log10_p"


def wanted_of(rows, tau, others):
    """Return the asymptotic tests by P of the working response, u, s, and the fitted p."""
    k = relationships(others)
    _, p, _, working = mixed_models.logistic_mixed(Y, DESIGN, k, tau)
    covariance = np.diag(1 / (p * (1 - p))) + tau * k
    dosages = DOSAGES[np.ix_(USED, rows)]
    return *set_tests.statistics_of(working, DESIGN, dosages, 0.45, True, covariance), p


@pytest.fixture
def is_normal(monkeypatch):
    """Take the distribution of all scores for normal."""
    monkeypatch.setattr(set_scores, "_NORMAL_FROM", 0.0)
    for module in (set_scores, set_statistics_of):
        monkeypatch.setattr(module, "NORMAL_BELOW", np.inf)


@pytest.mark.parametrize("leave_out", ["chromosome", "none"])
@pytest.mark.usefixtures("is_normal")
def test_exact_tests_have_the_covariance_of_dense_models(leave_out, monkeypatch, backend):
    monkeypatch.setattr(logistic_null, "_EXACTLY", 1e-9)
    options = {**OPTIONS, "backend": backend, "leave_out": leave_out}
    found = mixed_associate_sets(GENOTYPES, ILL, SETS, **options)
    scan = mixed_logistic_associate(
        GENOTYPES, ILL, covariates=AGE[:, None], leave_out=leave_out, backend="cpu"
    )
    for k, rows in enumerate(SETS.values()):
        chromosome = CONTIGS[rows[0]] if leave_out == "chromosome" else 0
        tau = scan.nulls[chromosome].variance
        assert tau > 0.1
        others = chromosome != CONTIGS if leave_out == "chromosome" else CONTIGS >= 0
        wanted, u, s, _ = wanted_of(rows, tau, others)
        values = [getattr(found, name)[k] for name in NAMES]
        np.testing.assert_allclose(values, wanted, rtol=1e-6)
        skat_o = set_statistics(u, s).skat_o_log10_p
        assert found.skat_o_log10_p[k] == pytest.approx(skat_o, rel=1e-6)
    assert "on the scale of log odds of models without variants" in found.notes[0]
    assert "tests are exact" in found.notes[0]
    assert found.n_samples == len(USED)
    assert not any("few cases" in note for note in found.notes)


def test_few_cases_have_the_p_of_draws_with_the_covariance_of_the_model():
    """Draws of all samples, not of carriers alone, scaled to P's covariance by matrix roots."""
    found = mixed_associate_sets(GENOTYPES, ILL, SETS, **OPTIONS)
    nulls = mixed_logistic_associate(GENOTYPES, ILL, covariates=AGE[:, None], backend="cpu").nulls
    for k, rows in list(enumerate(SETS.values()))[:3]:
        chromosome = CONTIGS[rows[0]]
        wanted, u, s, p = wanted_of(rows, nulls[chromosome].variance, chromosome != CONTIGS)
        g, independent = set_tests.adjusted_of(p, DESIGN, DOSAGES[np.ix_(USED, rows)], 0.45)
        sizes = np.sqrt(np.diagonal(independent))
        root = linalg.sqrtm(independent / np.outer(sizes, sizes))
        middle = linalg.sqrtm(root @ (s / np.outer(sizes, sizes)) @ root)
        turn = np.linalg.inv(root) @ middle @ np.linalg.inv(root)
        np.testing.assert_allclose(set_scores.nearest_map(independent, s), turn, atol=1e-8)
        turn = turn * sizes / sizes[:, None]
        drawn = np.random.default_rng(k).random((100_000, len(p))) < p
        drawn = (drawn - p) @ g @ turn
        shares = ((drawn**2).sum(1) >= u @ u).mean(), (drawn.sum(1) ** 2 >= u.sum() ** 2).mean()
        for name, share in zip(("skat_log10_p", "burden_log10_p"), shares, strict=True):
            mine = 10 ** -getattr(found, name)[k]
            assert abs(mine - share) < 4 * max(mine * 0.1, 3e-3)
        assert found.beta[k] == pytest.approx(wanted[2], rel=1e-5)


def test_p_beyond_the_draws_have_variances_of_saddle_points(monkeypatch):
    monkeypatch.setattr(logistic_null, "_EXACTLY", 1e-9)
    monkeypatch.setattr(
        set_scores._Draws, "test", lambda _draws, _u, _within, beyond: (np.array(beyond()), 0.0)
    )
    scan = mixed_logistic_associate(GENOTYPES, ILL, covariates=AGE[:, None], backend="cpu")
    order = np.argsort(-np.abs(scan.statistic))
    sets = {str(k): order[CONTIGS[order] == k][:6] for k in range(3)}
    found = mixed_associate_sets(GENOTYPES, ILL, sets, **OPTIONS)
    n_far = 0
    for k, rows in enumerate(sets.values()):
        _, u, s, p = wanted_of(rows, scan.nulls[k].variance, k != CONTIGS)
        n_far += (np.abs(u) > 2 * np.sqrt(np.diagonal(s))).sum()
        dosages = DOSAGES[np.ix_(USED, rows)]
        of_few = set_tests.statistics_of_few_cases(u, s, p, DESIGN, dosages, 0.45)
        values = [getattr(found, name)[k] for name in TESTED]
        np.testing.assert_allclose([*values[:2], values[3]], of_few, rtol=1e-5)
    assert n_far > 1


@pytest.mark.parametrize("tests", ["exact", "calibrated"])
def test_without_variance_of_the_random_effect_they_are_plain_ones(tests):
    options = {"leave_out": "none", "tests": tests, "seed": 3}
    found = mixed_associate_sets(GENOTYPES, NOISE, SETS, **OPTIONS, **options)
    assert "is 0.0000 (SE not known, at a bound)" in found.notes[0]
    plain = associate_sets(GENOTYPES, NOISE, SETS, **PLAIN, model="logistic", seed=3)
    for name in (*NAMES, "skat_o_log10_p", "skat_o_rho"):
        np.testing.assert_allclose(getattr(found, name), getattr(plain, name), rtol=1e-6)


@pytest.mark.usefixtures("is_normal")
def test_calibrated_tests_are_near_and_refined_ones_exact():
    sets = {f"{k}.{j}": PLACES[k][j : j + 5] for k in range(3) for j in range(0, 50, 5)}
    options = {**OPTIONS, "tests": "calibrated"}
    exact = mixed_associate_sets(GENOTYPES, ILL, sets, **OPTIONS)
    plain = mixed_associate_sets(GENOTYPES, ILL, sets, refine_below=0, **options)
    assert "tests are calibrated by" in plain.notes[0]
    for name in TESTED:
        assert np.corrcoef(getattr(exact, name), getattr(plain, name))[0, 1] > 0.99
    fine = mixed_associate_sets(GENOTYPES, ILL, SETS, refine_below=1, **options)
    assert "exact for the 4 of lowest p" in fine.notes[0]
    scan = mixed_logistic_associate(
        GENOTYPES, ILL, covariates=AGE[:, None], tests="calibrated", backend="cpu"
    )
    for k, rows in enumerate(SETS.values()):
        wanted, u, s, _ = wanted_of(rows, scan.nulls[0].variance, CONTIGS[rows[0]] != CONTIGS)
        values = [getattr(fine, name)[k] for name in NAMES]
        np.testing.assert_allclose(values, wanted, rtol=1e-4, atol=1e-5)
        assert fine.skat_o_log10_p[k] == pytest.approx(set_statistics(u, s).skat_o_log10_p, 1e-4)


def test_few_cases_in_families_hold_the_level():
    """Of 150 sets of six variants; tests of numbers have far too many low p."""
    genotypes, shared = draw_families(150, 4, 900, 0.02, 1)
    ill = draw_cases(shared, 0.03, 1)
    sets = {str(k): np.arange(6 * k, 6 * k + 6) for k in range(150)}
    options = {"max_maf": 0.1, "backend": "cpu"}
    found = mixed_associate_sets(genotypes, ill, sets, model="logistic", **options)
    for name in TESTED:
        for level in (0.01, 0.05):
            low, high = stats.binom.interval(0.999, 150, level)
            assert low <= (10 ** -getattr(found, name) < level).sum() <= high
    linear = mixed_associate_sets(genotypes, ill, sets, **options)
    assert (10**-linear.acat_v_log10_p < 0.01).sum() > stats.binom.ppf(0.9999, 150, 0.01)
    assert "A logistic mixed model (mixed-logistic, GLMM) allows for few cases" in linear.notes[-1]


def test_a_trait_of_many_values_is_refused():
    with pytest.raises(ParameterError, match="the phenotype has 150 values; a logistic model"):
        mixed_associate_sets(GENOTYPES, AGE, SETS, **OPTIONS)
