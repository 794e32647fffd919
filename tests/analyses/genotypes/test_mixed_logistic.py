"""Logistic mixed models against dense ones, plain saddle-point tests, and simulated families."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize, stats

from genoviz import (
    Genotypes,
    associate,
    iter_mixed_logistic_associate,
    mixed_associate,
    mixed_logistic_associate,
)
from genoviz.analyses.genotypes.association import logistic_null
from genoviz.analyses.genotypes.association.design import make_design
from genoviz.analyses.genotypes.association.p_values import log_p_of_z
from genoviz.analyses.genotypes.association.saddle_point import SaddlePointModel
from genoviz.errors import ParameterError
from genoviz.generators import finish
from tests.genotype_sets import draw_genotypes, draw_trait, with_contigs
from tests.oracles import mixed_models
from tests.oracles.genotypes import dosages_of
from tests.oracles.set_tests import saddle_point_p

N, M = 150, 210
GENOTYPES = draw_genotypes(N, M, 1, n_contigs=3, n_populations=3, missing_rate=0.03)
DOSAGES = dosages_of(GENOTYPES.packed, N)
CONTIGS = GENOTYPES.variants.contig_ids
AGE = np.random.default_rng(2).standard_normal(N)
ILL = (2 * draw_trait(GENOTYPES, 7, heritability=0.9)[0] + AGE > 1).astype(float)
ILL[::9] = np.nan
USED = np.flatnonzero(~np.isnan(ILL))
Y = ILL[USED]
DESIGN = np.column_stack([np.ones(len(USED)), AGE[USED]])
Z, _ = mixed_models.centred(DOSAGES[USED])
OPTIONS = {"covariates": AGE[:, None], "backend": "cpu"}
NOISE = (np.random.default_rng(5).random(N) < 0.2).astype(float)


def relationships(columns):
    z, scale = mixed_models.centred(DOSAGES[USED][:, columns])
    return z @ z.T / scale


@pytest.mark.parametrize("leave_out", ["chromosome", "none"])
def test_exact_tests_are_those_of_dense_models(leave_out, monkeypatch, backend):
    monkeypatch.setattr(logistic_null, "_EXACTLY", 1e-9)
    found = mixed_logistic_associate(
        GENOTYPES, ILL, **{**OPTIONS, "backend": backend}, leave_out=leave_out
    )
    groups = [CONTIGS == k for k in range(3)] if leave_out == "chromosome" else [CONTIGS >= 0]
    assert (found.model, len(found.nulls)) == ("mixed-logistic", len(groups))
    assert np.isnan(found.calibration)
    n_far = 0
    for group, null in zip(groups, found.nulls, strict=True):
        k = relationships(~group if leave_out == "chromosome" else group)
        tau = mixed_models.logistic_reml(Y, DESIGN, k)
        assert tau > 0.1
        assert null.variance == pytest.approx(tau, rel=1e-7)
        a, p, projection, working = mixed_models.logistic_mixed(Y, DESIGN, k, tau)
        way = k @ projection @ working
        assert null.variance_error == pytest.approx(np.sqrt(2 / (way @ projection @ way)))
        np.testing.assert_allclose(null.coefficients, a, rtol=1e-6)
        np.testing.assert_allclose(null.fitted, p, rtol=1e-6)
        w = p * (1 - p)
        for j in np.flatnonzero(group).tolist():
            z = Z[:, j]
            score, variance = z @ (Y - p), z @ projection @ z
            assert found.beta[j] == pytest.approx(score / variance, rel=1e-6, abs=1e-8)
            if abs(score) < 2 * np.sqrt(variance):
                wanted = 2 * stats.norm.sf(abs(score) / np.sqrt(variance))
                assert found.standard_error[j] == pytest.approx(variance**-0.5, rel=1e-6)
            else:
                g = z - DESIGN @ np.linalg.solve((DESIGN.T * w) @ DESIGN, (DESIGN.T * w) @ z)
                wanted, n_far = saddle_point_p(score, g, p, variance), n_far + 1
            assert found.p[j] == pytest.approx(wanted, rel=1e-5)
    assert n_far > 5
    np.testing.assert_allclose(np.log(found.p), log_p_of_z(found.statistic), rtol=1e-9)
    np.testing.assert_array_equal(np.sign(found.statistic), np.sign(found.beta))
    shares = [each.variance / (each.variance + np.pi**2 / 3) for each in found.nulls]
    np.testing.assert_allclose(found.heritabilities, shares)
    ends = f"{min(shares):.4f}", f"{max(shares):.4f}"
    assert f"on the scale of log odds of models without variants is {ends[0]}" in found.notes[-1]
    assert ends[1] in found.notes[-1]


@pytest.mark.parametrize("tests", ["exact", "calibrated"])
def test_without_variance_of_the_random_effect_it_is_the_saddle_point_test(tests):
    found = mixed_logistic_associate(
        GENOTYPES, NOISE, **OPTIONS, tests=tests, leave_out="none", refine_below=0.1
    )
    np.testing.assert_array_equal(found.variances[:, 0], 0)
    assert np.isnan(found.heritability_errors).all()
    assert "is 0.0000 (SE not known, at a bound)" in found.notes[-1]
    plain = associate(GENOTYPES, NOISE, **OPTIONS, model="saddle-point")
    assert (np.abs(plain.statistic) > 2).sum() > 3
    for name in ("beta", "standard_error", "statistic", "minus_log10_p"):
        np.testing.assert_allclose(getattr(found, name), getattr(plain, name), rtol=1e-6)
    np.testing.assert_array_equal(found.n_samples, plain.n_samples)
    np.testing.assert_allclose(found.a1_frequency, plain.a1_frequency)
    assert tests == "exact" or found.calibration == pytest.approx(1)


@pytest.mark.parametrize("leave_out", ["chromosome", "none"])
def test_calibrated_tests_are_near_exact_ones(leave_out, backend):
    options = {**OPTIONS, "leave_out": leave_out, "backend": backend}
    exact = mixed_logistic_associate(GENOTYPES, ILL, **options)
    found = mixed_logistic_associate(
        GENOTYPES, ILL, **options, tests="calibrated", refine_below=0.02
    )
    assert np.corrcoef(exact.statistic, found.statistic)[0, 1] > 0.99
    assert 3 < found.is_exact.sum() < 40
    assert len({*found.variances[:, 0]}) == 1
    tau, ratios = float(found.variances[0, 0]), []
    # One variance by all variants and random traces is near that of no left-out chromosome.
    whole = mixed_logistic_associate(GENOTYPES, ILL, **OPTIONS, leave_out="none").nulls[0]
    assert abs(tau - whole.variance) < whole.variance_error / 2
    for k, null in enumerate(found.nulls):
        group = k == CONTIGS if leave_out == "chromosome" else CONTIGS >= 0
        related = relationships(~group if leave_out == "chromosome" else group)
        a, p, projection, _ = mixed_models.logistic_mixed(Y, DESIGN, related, tau)
        np.testing.assert_allclose(null.coefficients, a, atol=1e-5)
        np.testing.assert_allclose(null.fitted, p, atol=1e-5)
        z, w = Z[:, group], p * (1 - p)
        g = z - DESIGN @ np.linalg.solve((DESIGN.T * w) @ DESIGN, (DESIGN.T * w) @ z)
        ratio = (g * (projection @ g)).sum(0) / (w @ g**2)
        wanted = g.T @ (Y - p) / (w @ g**2) / found.calibration
        is_exact = found.is_exact[group]
        wanted[is_exact] *= found.calibration / ratio[is_exact]
        np.testing.assert_allclose(found.beta[group], wanted, rtol=1e-4, atol=1e-5)
        ratios += ratio.tolist()
    assert min(ratios) < found.calibration < max(ratios)
    assert found.calibration == pytest.approx(np.mean(ratios), rel=0.05)


@pytest.mark.parametrize("tests", ["exact", "calibrated"])
def test_steps_have_the_chromosomes_that_are_tested(tests):
    steps = list(iter_mixed_logistic_associate(GENOTYPES, ILL, **OPTIONS, tests=tests))
    scans = list(dict.fromkeys(step.result for step in steps if step.result is not None))
    assert [len(scan.nulls) for scan in scans[:3]] == [1, 2, 3]
    for scan in scans[:3]:
        is_tested = len(scan.nulls) > CONTIGS
        assert np.isnan(scan.p[~is_tested]).all()
        np.testing.assert_array_equal(scan.p[is_tested], scans[2].p[is_tested])
    assert (np.diff([step.fraction for step in steps]) >= -1e-12).all()
    assert steps[-1].fraction == 1


def test_a_scaled_score_beyond_all_outcomes_has_the_p_of_the_last_one():
    ill = np.repeat([1.0, 0.0], [3, 11])
    model = SaddlePointModel(make_design(14, ill).of_cases(), "cpu")
    tile, scores, variances = model.score(ill[None] - ill.mean())
    *_, log_p = model.test(scores, variances / 4, variances, lambda far: tile[far])
    assert log_p[0] == pytest.approx(3 * np.log(3 / 14) + 11 * np.log(11 / 14))


def draw_families(n_families, n_children, n_variants, max_frequency, seed):
    """Return genotypes of siblings on two chromosomes, and what cases of their families share."""
    rng = np.random.default_rng(seed)
    frequencies = rng.uniform(0.005, max_frequency, n_variants)
    parents = rng.random((n_families, 4, n_variants)) < frequencies
    chosen = rng.integers(0, 2, (2, n_families, n_children, n_variants))
    families = np.arange(n_families)[:, None, None]
    alleles = np.arange(n_variants)
    dosages = sum(
        parents[families, 2 * side + chosen[side], alleles].astype(np.int8) for side in range(2)
    )
    codes = np.array([3, 2, 0])[dosages.reshape(-1, n_variants)]
    return with_contigs(codes, 2), np.repeat(rng.normal(0, 1.5, n_families), n_children)


def draw_cases(shared, share, seed):
    """Return cases whose log odds have the shared part; their share is that given on average."""
    rng = np.random.default_rng(seed)
    level = optimize.brentq(lambda a: (1 / (1 + np.exp(-a - shared))).mean() - share, -20, 5)
    return (rng.random(len(shared)) < 1 / (1 + np.exp(-level - shared))).astype(float)


def test_few_cases_in_families_hold_the_level():
    """The linear mixed model has far too many low p, the logistic one about as many as it says."""
    levels, logistic, linear = (1e-2, 1e-3), [], []
    for seed in range(2):
        genotypes, shared = draw_families(150, 4, 1500, 0.1, seed)
        ill = draw_cases(shared, 0.02, seed)
        logistic.append(mixed_logistic_associate(genotypes, ill, backend="cpu"))
        linear.append(mixed_associate(genotypes, ill, backend="cpu"))
    n = sum(np.isfinite(each.p).sum() for each in logistic)
    for level in levels:
        few, many = (sum((each.p < level).sum() for each in scans) for scans in (logistic, linear))
        low, high = stats.binom.interval(0.999, n, level)
        assert low <= few <= high < many


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"phenotype": AGE}, "the phenotype has 150 values; a logistic model needs two"),
        ({"leave_out": "all"}, "leave_out is 'all', needs one of chromosome, none"),
        ({"refine_below": 2}, "refine_below is 2, needs a p from 0 to 1"),
        ({"tests": "some"}, "tests is 'some', needs one of auto, exact, calibrated"),
        (
            {"covariates": np.column_stack([np.nan_to_num(ILL) + AGE / 1e3])},
            "the covariates tell cases from controls entirely; leave some out",
        ),
    ],
)
def test_what_does_not_fit_is_refused(changes, message):
    arguments = {"genotypes": GENOTYPES, "phenotype": ILL, **OPTIONS}
    with pytest.raises(ParameterError, match=message):
        mixed_logistic_associate(**{**arguments, **changes})


@pytest.mark.parametrize("trait", [ILL, NOISE], ids=["some", "none"])
def test_models_do_not_depend_on_where_they_start(trait):
    design = make_design(len(USED), trait[USED], AGE[USED][:, None]).of_cases()
    related = relationships(slice(None))
    plain, _ = finish(logistic_null.fit_densely(related, design))
    rng = np.random.default_rng(6)
    for variance, size in ((0.1, 1.0), (4.0, 3.0), (8.0, 9.0)):
        first = replace(plain, variance=variance, logits=rng.normal(0, size, len(USED)))
        found, _ = finish(logistic_null.fit_densely(related, design, first))
        assert found.variance == pytest.approx(plain.variance, rel=1e-5)
        np.testing.assert_allclose(found.fitted, plain.fitted, rtol=1e-5)


def test_relationships_that_say_nothing_beside_covariates_have_no_variance():
    design = make_design(len(USED), Y, AGE[USED][:, None]).of_cases()
    found, _ = finish(logistic_null.fit_densely(np.ones((len(USED), len(USED))), design))
    assert found.variance == 0
    wanted = SaddlePointModel(design, "cpu").fitted
    np.testing.assert_allclose(found.fitted, wanted, rtol=1e-6)


@pytest.mark.parametrize("tests", ["exact", "calibrated"])
def test_a_model_that_does_not_converge_is_told(tests, monkeypatch):
    monkeypatch.setattr(logistic_null, "MAX_STEPS", 2)
    with pytest.raises(ParameterError, match="still changes after 2 steps"):
        mixed_logistic_associate(GENOTYPES, ILL, **OPTIONS, tests=tests)


def test_x_and_constant_variants_are_not_tested():
    codes = np.random.default_rng(4).choice([0, 2, 3], (80, 30))
    codes[:, 3], codes[:, 4] = 0, 1
    made = with_contigs(codes, 3)
    made: Genotypes = replace(made, variants=replace(made.variants, contigs=("1", "2", "X")))
    ill = np.random.default_rng(5).random(80) < 0.3
    for tests in ("exact", "calibrated"):
        found = mixed_logistic_associate(made, ill, tests=tests, backend="cpu")
        is_tested = np.isin(np.arange(30), [3, 4, *range(20, 30)], invert=True)
        np.testing.assert_array_equal(np.isfinite(found.p), is_tested)
        assert "Variants of X, Y or MT are not tested." in found.notes
