"""Quantiles of p-values, against the distributions of order statistics."""

from __future__ import annotations

import numpy as np
import pytest

from genoviz.analyses.genotypes.association.p_values import (
    inflation_factor,
    log_p_of_z,
    scan_quantiles,
)
from genoviz.errors import ParameterError

special, stats = pytest.importorskip("scipy.special"), pytest.importorskip("scipy.stats")


def test_ranks_have_the_quantiles_of_beta():
    p = np.random.default_rng(0).uniform(size=50)
    found = scan_quantiles(-np.log10(p), level=0.9)
    ranks = np.arange(1, 51)
    assert found.tests.tolist() == np.argsort(p).tolist()
    np.testing.assert_allclose(10**-found.observed, np.sort(p))
    np.testing.assert_allclose(10**-found.expected, (ranks - 0.5) / 50)
    np.testing.assert_allclose(10**-found.low, stats.beta.ppf(0.95, ranks, 51 - ranks))
    np.testing.assert_allclose(10**-found.high, stats.beta.ppf(0.05, ranks, 51 - ranks))


def test_most_of_what_chance_gives_is_in_the_band():
    random = np.random.default_rng(3)
    inside = []
    for _ in range(40):
        found = scan_quantiles(-np.log10(random.uniform(size=200)))
        inside.append((found.low <= found.observed) & (found.observed <= found.high))
    assert np.mean(inside) == pytest.approx(0.95, abs=0.03)


def test_of_many_tests_the_strongest_are_all_shown():
    values = np.random.default_rng(1).exponential(size=100_000)
    values[7] = np.nan
    found = scan_quantiles(values, n_points=300)
    assert len(found.tests) <= 301
    assert found.n_tests == 99_999
    assert found.observed[:150].tolist() == np.sort(values[~np.isnan(values)])[::-1][:150].tolist()
    assert found.observed[-1] == np.nanmin(values)


def test_nothing_tested_has_no_quantiles():
    assert len(scan_quantiles(np.full(3, np.nan)).tests) == 0


@pytest.mark.parametrize(("options", "words"), [({"level": 1.0}, "level"), ({"n_points": 0}, "n_")])
def test_what_is_wrong_is_said(options, words):
    with pytest.raises(ParameterError, match=words):
        scan_quantiles(np.ones(3), **options)


def test_normal_p_values_and_inflation_are_those_of_scipy():
    z = np.concatenate([np.linspace(-45, 45, 2001), [0.0, 1e5, np.inf, -np.inf, np.nan]])
    wanted = np.log(2) + special.log_ndtr(-np.abs(z))
    np.testing.assert_allclose(log_p_of_z(z), wanted, rtol=1e-13, atol=1e-15)
    assert log_p_of_z(-1.5) == log_p_of_z(np.array([1.5]))[0]
    for n in (1, 2, 7, 1000):
        p = np.random.default_rng(n).random(n)
        chi_squares = special.ndtri(p / 2) ** 2
        np.testing.assert_allclose(
            inflation_factor(p), np.median(chi_squares) / 0.454936423119572, rtol=1e-12
        )
    assert inflation_factor(np.array([0.0, 0.0, 1.0])) == np.inf
