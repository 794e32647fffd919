"""The interval of a stratified mean with a long tail, against SciPy and drawn populations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from genoviz.analyses.graph.layout.stress_results import (
    StratumMoments,
    interval,
    shape_of,
    t_quantile,
)
from genoviz.analyses.graph.layout.stress_sampler import count_terms, find_near, make_strata


def moments_of(values, weight=1.0):
    drawn = values[~np.isnan(values)].astype(np.float64)
    sums = float(drawn.sum()), float((drawn * drawn).sum())
    return StratumMoments(weight, len(values), len(drawn), *sums, *shape_of(values))


@pytest.mark.parametrize("freedom", [4, 5.5, 8, 30, 1e4])
def test_the_quantile_is_that_of_students_t(freedom):
    assert t_quantile(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-2)
    assert t_quantile(0.5) == t_quantile(4)
    assert t_quantile(math.inf) == pytest.approx(stats.norm.ppf(0.975), rel=1e-6)


def test_skewness_and_kurtosis_are_those_of_scipy():
    values = np.random.default_rng(1).lognormal(0, 1.5, 5_000).astype(np.float32)
    values[::7] = np.nan
    drawn = values[~np.isnan(values)].astype(np.float64)
    expected = stats.skew(drawn), stats.kurtosis(drawn, fisher=False)
    assert shape_of(values) == pytest.approx(expected, rel=1e-9)
    assert shape_of(np.full(4, 3e30, np.float32)) == (0.0, 3.0)
    assert shape_of(np.full(4, np.nan, np.float32)) == (0.0, 3.0)
    assert shape_of(np.array([0, 3e38], np.float32)) == pytest.approx((0, 1))


def test_a_normal_sample_has_the_interval_of_the_books():
    """The t-interval of a sample, but for the log scale, which so small an error hardly bends."""
    values = 1000 + np.random.default_rng(2).normal(0, 1, 400)
    low, high = interval(values.mean(), 400.0, [moments_of(values, 400.0)])
    half = stats.t.ppf(0.975, 399) * values.std(ddof=1) / 20
    assert (high - low) / 2 == pytest.approx(half, rel=5e-3)
    assert abs((high + low) / 2 - values.mean()) < 0.15 * half


def test_what_was_taken_whole_has_no_error():
    assert interval(3.0, 5.0, []) == (3.0, 3.0)
    assert interval(0.0, 5.0, [moments_of(np.zeros(9))]) == (0.0, 0.0)


def test_means_of_lognormal_strata_are_held_from_both_sides():
    """An interval of 1.96 standard errors, even on a log scale, is too low far more often."""
    rng = np.random.default_rng(3)
    sigmas, sizes, weights = (1.5, 1.0, 0.5), (600, 300, 300), np.array([1.0, 3.0, 6.0])
    truth = weights @ np.exp(np.square(sigmas) / 2) / 10
    n_above = n_below = n_plain = 0
    for _ in range(1_000):
        drawn = [rng.lognormal(0, s, n) for s, n in zip(sigmas, sizes, strict=True)]
        mean = weights @ [values.mean() for values in drawn] / 10
        low, high = interval(mean, 10.0, list(map(moments_of, drawn, weights)))
        n_above += low > truth
        n_below += high < truth
        errors = [values.std() / math.sqrt(len(values)) for values in drawn]
        error = np.linalg.norm(weights * errors) / 10 / mean
        n_plain += mean * math.exp(1.96 * error) < truth
    assert 930 <= 1_000 - n_above - n_below <= 980
    assert n_plain > 1.5 * n_below


def test_all_pairs_are_taken_that_fit_two_thirds_of_the_samples():
    n_steps = np.array([500, 40, 1])
    for n_samples in (100, 3_000, 10_000, 50_000):
        near = find_near(n_steps, n_samples)
        assert count_terms(n_steps, 1, near).sum() <= n_samples * 2 / 3
        assert count_terms(n_steps, 1, near + 1).sum() > n_samples * 2 / 3
    assert find_near(n_steps, 10**7) == 499
    strata = make_strata(n_steps, "pairs", 3, 9_000)
    assert [(s.shortest, s.longest) for s in strata][:3] == [(4, 6), (7, 12), (13, 24)]
    assert sum(s.n_samples for s in strata) == 9_000
    assert strata[0].n_samples > 1_500
