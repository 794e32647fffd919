"""Sums of single effects, against exact posteriors, the samples themselves, and susieR."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from genoviz import (
    FineMappingOptions,
    ParameterError,
    associate,
    fine_map,
    fine_map_summary,
    iter_fine_map,
    pack_dosages,
    simulate_genotypes,
)
from genoviz.generators import last_of
from tests.oracles import single_effects
from tests.oracles.genotypes import dosages_of


def region(n, m, causal, seed, effect=0.5, missing=0.0):
    """Return genotypes in linkage, and a phenotype of some of them."""
    genotypes = simulate_genotypes(n, m, missing_rate=missing, seed=seed)
    rng = np.random.default_rng(seed)
    dosages = np.maximum(genotypes.dosages(slice(None)), 0)
    return genotypes, effect * dosages[:, causal].sum(1) + rng.normal(size=n)


def standardised(genotypes):
    dosages = dosages_of(genotypes.packed, genotypes.n_samples)
    dosages = np.where(np.isnan(dosages), np.nanmean(dosages, 0), dosages)
    dosages = dosages - dosages.mean(0)
    return dosages / dosages.std(0, ddof=1)


def test_a_single_effect_has_the_exact_posterior(backend):
    genotypes, y = region(120, 15, [6], seed=2, missing=0.05)
    options = FineMappingOptions(n_effects=1, prior_variance=0.3, residual_variance=0.8)
    found = fine_map(genotypes, y, options=options, backend=backend)
    x, centred = standardised(genotypes), y - y.mean()
    noise, variance = 0.8 * y.var(ddof=1), 0.3 * y.var(ddof=1)
    logs = [single_effects.bayes_factor(x[:, j], centred, noise, variance) for j in range(15)]
    wanted = np.exp(logs - np.max(logs))
    np.testing.assert_allclose(found.inclusion, wanted / wanted.sum(), rtol=1e-8)
    np.testing.assert_allclose(found.alpha[0], found.inclusion)
    assert found.is_converged


def test_several_effects_are_those_of_the_samples():
    genotypes, y = region(100, 12, [2, 9], seed=3)
    options = FineMappingOptions(
        n_effects=3, prior_variance=0.2, residual_variance=0.7, tolerance=1e-10,
        max_iterations=1000,
    )  # fmt: skip
    found = fine_map(genotypes, y, options=options)
    scale = y.var(ddof=1)
    alpha, means = single_effects.fit(
        standardised(genotypes), y - y.mean(), 3, 0.7 * scale, 0.2 * scale, n_iterations=60
    )
    np.testing.assert_allclose(found.alpha, alpha, atol=1e-4)
    wanted = (alpha * means).sum(0)
    spread = np.nanstd(dosages_of(genotypes.packed, 100), 0, ddof=1)
    np.testing.assert_allclose(found.effects, wanted / spread, atol=2e-4)
    np.testing.assert_allclose(found.inclusion, 1 - np.prod(1 - alpha, 0), atol=1e-4)


def test_two_effects_have_about_the_posterior_of_all_pairs():
    rng = np.random.default_rng(4)
    template = simulate_genotypes(150, 8, seed=1)
    dosages = rng.binomial(2, 0.4, (150, 8))
    genotypes = pack_dosages(dosages, template.samples, template.variants)
    y = 0.4 * dosages[:, 1] + 0.45 * dosages[:, 5] + rng.normal(size=150)
    options = FineMappingOptions(n_effects=2, prior_variance=0.1, residual_variance=0.9)
    found = fine_map(genotypes, y, options=options)
    scale = y.var(ddof=1)
    wanted = single_effects.posterior_of_pairs(
        standardised(genotypes), y - y.mean(), 0.9 * scale, 0.1 * scale
    )
    np.testing.assert_allclose(found.inclusion, wanted, atol=0.05)
    assert np.argsort(-found.inclusion)[:2].tolist() == np.argsort(-wanted)[:2].tolist()


def test_credible_sets_have_the_variants_with_effects():
    n_sets, n_hits, n_found = 0, 0, 0
    for seed in range(15):
        rng = np.random.default_rng(seed)
        causal = np.sort(rng.choice(150, 2, replace=False))
        genotypes, y = region(800, 150, causal, seed=seed, effect=0.45)
        found = fine_map(genotypes, y)
        assert found.is_converged
        assert (np.diff(found.bounds) > -1e-6).all()
        n_sets += len(found.credible_sets)
        n_hits += sum(np.isin(causal, each.variants).any() for each in found.credible_sets)
        named = np.concatenate([np.empty(0, int), *(s.variants for s in found.credible_sets)])
        n_found += int(np.isin(causal, named).sum())
        x = standardised(genotypes)
        for each in found.credible_sets:
            alpha = found.alpha[each.effect]
            assert each.probability == pytest.approx(alpha[each.variants].sum())
            assert each.probability >= 0.95
            assert each.probability - alpha[each.variants[-1]] < 0.95
            r = np.corrcoef(x[:, each.variants].T).reshape(-1)
            assert each.purity == pytest.approx(np.abs(r).min(), abs=1e-6)
            assert each.purity >= 0.5
    assert n_sets >= 20
    assert stats.binom.cdf(n_hits, n_sets, 0.95) > 0.01
    assert n_found >= 20


def test_a_phenotype_by_chance_has_no_credible_set():
    n_sets, largest = 0, []
    for seed in range(12):
        genotypes, _ = region(500, 80, [0], seed=seed)
        y = np.random.default_rng(100 + seed).normal(size=500)
        found = fine_map(genotypes, y)
        n_sets += len(found.credible_sets)
        largest.append(found.inclusion.max())
        assert found.residual_variance == pytest.approx(y.var(), rel=0.1)
    assert n_sets <= 2
    assert np.median(largest) < 0.1


def test_covariates_are_taken_out(backend):
    genotypes, y = region(300, 20, [4], seed=6)
    covariates = np.random.default_rng(1).normal(size=(300, 2))
    covariates[:, 0] += genotypes.dosages(slice(4, 5))[:, 0]
    y = y + covariates @ [3.0, -2.0]
    y[5] = np.nan
    options = FineMappingOptions(n_effects=1, prior_variance=0.3, residual_variance=0.8)
    found = fine_map(genotypes, y, covariates=covariates, options=options, backend=backend)
    kept = np.isfinite(y)
    basis = np.linalg.qr(np.column_stack([np.ones(299), covariates[kept]]))[0]
    x = dosages_of(genotypes.packed, 300)[kept]
    x, left = x - basis @ (basis.T @ x), y[kept] - basis @ (basis.T @ y[kept])
    x /= np.sqrt((x**2).sum(0) / (299 - 2 - 1))
    scale = left @ left / (299 - 2 - 1)
    logs = [single_effects.bayes_factor(column, left, 0.8 * scale, 0.3 * scale) for column in x.T]
    wanted = np.exp(logs - np.max(logs))
    np.testing.assert_allclose(found.inclusion, wanted / wanted.sum(), rtol=1e-6)
    assert found.n_samples == 299
    collinear = np.column_stack([covariates, covariates[:, 0]])
    again = fine_map(genotypes, y, covariates=collinear, options=options, backend=backend)
    np.testing.assert_allclose(again.inclusion, found.inclusion, rtol=1e-8)
    assert "left out" in again.notes[0]


def test_z_scores_and_correlations_say_what_samples_say():
    genotypes, y = region(400, 40, [10, 30], seed=8)
    options = FineMappingOptions(residual_variance=0.9)
    wanted = fine_map(genotypes, y, options=options)
    scan = associate(genotypes, y)
    r = np.corrcoef(standardised(genotypes).T)
    found = fine_map_summary(scan.statistic, r, 400, options=options)
    np.testing.assert_allclose(found.inclusion, wanted.inclusion, atol=1e-6)
    sets = [each.variants.tolist() for each in found.credible_sets]
    assert sets == [each.variants.tolist() for each in wanted.credible_sets]
    assert len(sets) == 2
    units = dosages_of(genotypes.packed, 400).std(0, ddof=1) / y.std(ddof=1)
    np.testing.assert_allclose(found.effects, wanted.effects * units, atol=1e-6)
    z = scan.statistic.copy()
    z[3] = np.nan
    assert np.flatnonzero(np.isnan(fine_map_summary(z, r, 400).inclusion)).tolist() == [3]


def haplotypes_of_numbers(n, m, seed):
    """Return dosages in linkage and noise, from numbers that a few lines make in any language."""

    def uniform():
        nonlocal seed
        seed = seed * 16807 % 2147483647
        return seed / 2147483647

    dosages = np.zeros((n, m), int)
    for sample in range(n):
        for _ in range(2):
            allele = 0
            for j in range(m):
                if uniform() > 0.8 or j == 0:
                    allele = int(uniform() < 0.4)
                dosages[sample, j] += allele
    return dosages, np.array([sum(uniform() for _ in range(12)) - 6 for _ in range(n)])


# What susieR 0.12.35 (R 4.2.2) gives for these dosages x and this y, with tol = 1e-8: susie(x, y),
# and susie_rss(b / se, cor(x), n = 200) with b and se of univariate_regression(x, y).
# Each set: its variants (from 0), coverage, and smallest absolute correlation.
SUSIE = {
    "inclusion": [
        0.00009748, 0.00175487, 0.01620129, 0.44125953, 0.53929029, 0.00110365, 0.00007165,
        0.00001803, 0.00002619, 0.00000861, 0.00000787, 0.00001070, 0.00000837, 0.00000756,
        0.00000833, 0.00000994, 0.00001524, 0.00003103, 0.00446074, 0.48433574, 0.42795149,
        0.08020451, 0.00301781, 0.00001920, 0.00000908, 0.00000826, 0.00002382, 0.00001439,
        0.00000891, 0.00000725,
    ],
    "effects": [
        0.00002395, 0.00060477, 0.00670494, 0.23052914, 0.27598682, 0.00038012, 0.00001661,
        0.00000245, 0.00000447, 0.00000053, -0.00000036, -0.00000108, -0.00000050, -0.00000014,
        0.00000041, 0.00000062, -0.00000252, -0.00000789, -0.00206345, -0.26219895, -0.24024130,
        -0.04244423, -0.00143552, -0.00000388, 0.00000047, -0.00000043, -0.00000435, -0.00000194,
        -0.00000066, -0.00000012,
    ],
    "residual_variance": 1.080667248,
    "sets": {(3, 4): (0.980549585, 0.781565756), (19, 20, 21): (0.992475185, 0.672650056)},
    "bound": -299.8770230,
    "prior_variances": [0.1571042, 0.1205939, 0, 0, 0, 0, 0, 0, 0, 0],
}  # fmt: skip
SUSIE_RSS = {
    "inclusion": [
        0.00056469, 0.00544367, 0.03205249, 0.43313320, 0.52245557, 0.00386756, 0.00044680,
        0.00015023, 0.00020188, 0.00008534, 0.00008197, 0.00010574, 0.00008653, 0.00007948,
        0.00008306, 0.00009616, 0.00014525, 0.00024822, 0.01139159, 0.46252804, 0.41014076,
        0.10746295, 0.00819818, 0.00017473, 0.00009027, 0.00008730, 0.00020991, 0.00013726,
        0.00009056, 0.00007520,
    ],
    "effects": [
        0.00007915, 0.00110830, 0.00774247, 0.12486615, 0.15222284, 0.00075539, 0.00005828,
        0.00001143, 0.00001979, 0.00000278, -0.00000238, -0.00000634, -0.00000327, -0.00000125,
        0.00000217, 0.00000290, -0.00001344, -0.00003465, -0.00313016, -0.15488072, -0.13662544,
        -0.03363662, -0.00219909, -0.00001948, 0.00000228, -0.00000312, -0.00002273, -0.00001120,
        -0.00000401, -0.00000086,
    ],
    "residual_variance": 1.0,
    "sets": {(3, 4): (0.955583932, 0.781565756), (19, 20, 21): (0.979966172, 0.672650056)},
    "bound": -272.1160825,
    "prior_variances": [0.1142021, 0.0873699, 0, 0, 0, 0, 0, 0, 0, 0],
}  # fmt: skip


def test_it_is_what_susier_gives():
    dosages, noise = haplotypes_of_numbers(200, 30, seed=7)
    y = 0.5 * dosages[:, 4] - 0.6 * dosages[:, 19] + noise
    assert dosages.sum() == 4824
    assert y.sum() == pytest.approx(-22.231000165050)
    template = simulate_genotypes(200, 30, seed=1)
    genotypes = pack_dosages(dosages, template.samples, template.variants)
    options = FineMappingOptions(tolerance=1e-8)
    z = associate(genotypes, y).statistic
    correlations = np.corrcoef(dosages.T)
    for found, wanted in (
        (fine_map(genotypes, y, options=options), SUSIE),
        (fine_map_summary(z, correlations, 200, options=options), SUSIE_RSS),
    ):
        np.testing.assert_allclose(found.inclusion, wanted["inclusion"], rtol=0, atol=2e-8)
        np.testing.assert_allclose(found.effects, wanted["effects"], rtol=0, atol=2e-8)
        np.testing.assert_allclose(found.prior_variances, wanted["prior_variances"], atol=2e-7)
        assert found.residual_variance == pytest.approx(wanted["residual_variance"], rel=1e-8)
        assert found.bounds[-1] == pytest.approx(wanted["bound"], rel=1e-9)
        sets = {tuple(sorted(s.variants.tolist())): s for s in found.credible_sets}
        assert sets.keys() == wanted["sets"].keys()
        for variants, figures in wanted["sets"].items():
            each = sets[variants]
            assert (each.probability, each.purity) == pytest.approx(figures, rel=1e-8)


def test_results_do_not_depend_on_the_unit_of_the_phenotype():
    genotypes, y = region(300, 30, [4, 20], seed=12, effect=0.8)
    wanted = fine_map(genotypes, y)
    assert len(wanted.credible_sets) == 2
    for unit in (1e-6, -1e9):
        found = fine_map(genotypes, y * unit)
        np.testing.assert_allclose(found.inclusion, wanted.inclusion, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(found.effects, wanted.effects * unit, rtol=1e-6, atol=1e-9)
        shares = found.prior_variances / unit**2
        np.testing.assert_allclose(shares, wanted.prior_variances, rtol=1e-5)
        assert found.residual_variance == pytest.approx(wanted.residual_variance * unit**2)
        assert [each.variants.tolist() for each in found.credible_sets] == [
            each.variants.tolist() for each in wanted.credible_sets
        ]
        shifts = found.bounds - wanted.bounds
        np.testing.assert_allclose(shifts, -300 * np.log(abs(unit)), rtol=1e-6)


def test_a_variant_may_explain_everything():
    genotypes, _ = region(100, 10, [3], seed=9)
    found = fine_map(genotypes, dosages_of(genotypes.packed, 100)[:, 3])
    assert found.is_converged
    assert found.inclusion[3] == pytest.approx(1)
    assert found.effects[3] == pytest.approx(1, abs=1e-6)
    assert found.residual_variance > 0


def test_variants_that_do_not_vary_take_no_part():
    genotypes, y = region(200, 10, [3], seed=9)
    dosages = genotypes.dosages(slice(None)).copy()
    dosages[:, 7] = 2
    constant = pack_dosages(dosages, genotypes.samples, genotypes.variants)
    found = fine_map(constant, y)
    assert np.flatnonzero(np.isnan(found.inclusion)).tolist() == [7]
    others = np.delete(np.arange(10), 7)
    wanted = fine_map(genotypes.take_variants(others), y)
    np.testing.assert_allclose(found.inclusion[others], wanted.inclusion)
    assert [each.variants.tolist() for each in found.credible_sets] == [
        others[each.variants].tolist() for each in wanted.credible_sets
    ]
    dosages[:] = 1
    with pytest.raises(ParameterError, match="none of 10 variants varies"):
        fine_map(pack_dosages(dosages, genotypes.samples, genotypes.variants), y)


def test_what_does_not_fit_is_told(monkeypatch):
    for options, words in (
        ({"n_effects": 0}, "n_effects is 0, needs to be 1 to 1000"),
        ({"coverage": 1.0}, "coverage is 1.0, needs to be 1e-06 to 1"),
        ({"prior_variance": -1.0}, "prior_variance is -1.0, needs to be 0 to 1e"),
    ):
        with pytest.raises(ParameterError, match=words):
            FineMappingOptions(**options)
    with pytest.raises(ParameterError, match=r"z has shape \(3,\) and correlations \(2, 2\)"):
        fine_map_summary(np.zeros(3), np.eye(2), 100)
    with pytest.raises(ParameterError, match="not within -1 and 1"):
        fine_map_summary(np.zeros(2), np.array([[1, 2], [2, 1.0]]), 100)
    with pytest.raises(ParameterError, match="n_samples is 2, needs at least 3"):
        fine_map_summary(np.zeros(2), np.eye(2), 2)
    monkeypatch.setattr("genoviz.analyses.genotypes.association.fine_mapping.MAX_VARIANTS", 9)
    genotypes, y = region(50, 10, [3], seed=9)
    with pytest.raises(ParameterError, match="the region has 10 variants, needs at most 9"):
        fine_map(genotypes, y)


def test_steps_tell_how_far_it_is():
    genotypes, y = region(100, 150, [3], seed=9)
    steps = list(iter_fine_map(genotypes, y))
    fractions = [step.fraction for step in steps]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1
    assert last_of(steps).result.is_converged
