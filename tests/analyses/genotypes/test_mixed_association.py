"""Mixed-model association against dense generalised least squares."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from genoviz import (
    associate,
    condition_columns,
    iter_mixed_associate,
    mixed_associate,
    mixed_associate_sets,
    pack_dosages,
    read_genotypes,
    read_phenotypes,
    simulate_genotypes,
)
from genoviz.analyses.genotypes.association import left_out, mixed
from genoviz.analyses.genotypes.association.p_values import inflation_factor
from genoviz.analyses.genotypes.products import allele_counts
from genoviz.analyses.genotypes.selection import select_samples
from genoviz.errors import ParameterError
from tests.conftest import real_data
from tests.genotype_sets import draw_genotypes, draw_trait
from tests.oracles import mixed_models
from tests.oracles.genotypes import dosages_of

N, M = 90, 150
GENOTYPES = draw_genotypes(N, M, 1, n_contigs=3, n_populations=3, missing_rate=0.03)
DOSAGES = dosages_of(GENOTYPES.packed, N)
CONTIGS = GENOTYPES.variants.contig_ids
AGE = np.random.default_rng(2).standard_normal(N)
PHENOTYPE = draw_trait(GENOTYPES, 7, heritability=0.7)[0] + AGE
PHENOTYPE[::9] = np.nan
USED = np.flatnonzero(~np.isnan(PHENOTYPE))
Y = PHENOTYPE[USED]
DESIGN = np.column_stack([np.ones(len(USED)), AGE[USED]])
Z, _ = mixed_models.centred(DOSAGES[USED])

GEMMA_ROWS, GEMMA_IDS = [0, 104, 215], ["PZB00859.1", "PZA00192.7", "PZA01254.2"]
GEMMA_FITS = [
    (2.312442, 1.375783, 0.09440883),
    (-1.03816, 1.518203, 0.4934794),
    (3.07968, 1.301619, 0.0194278),
]


def relationships(columns):
    z, scale = mixed_models.centred(DOSAGES[USED][:, columns])
    return z @ z.T / scale


@pytest.mark.parametrize("leave_out", ["chromosome", "none"])
def test_exact_tests_are_generalised_least_squares(leave_out, backend):
    found = mixed_associate(
        GENOTYPES, PHENOTYPE, covariates=AGE[:, None], leave_out=leave_out, backend=backend
    )
    groups = [CONTIGS == k for k in range(3)] if leave_out == "chromosome" else [CONTIGS >= 0]
    assert found.model == "mixed"
    assert np.isnan(found.calibration)
    assert len(found.chromosomes) == len(groups)
    for group, variances in zip(groups, found.variances, strict=True):
        others = ~group if leave_out == "chromosome" else group
        v = mixed_models.covariance_of(variances, [relationships(others)])
        for j in np.flatnonzero(group).tolist():
            if np.ptp(Z[:, j]) == 0:
                assert np.isnan(found.beta[j])
                continue
            design = np.column_stack([DESIGN, Z[:, j]])
            beta, error = mixed_models.generalised_least_squares(Y, design, v)
            assert found.beta[j] == pytest.approx(beta, rel=1e-6, abs=1e-8)
            assert found.standard_error[j] == pytest.approx(error, rel=1e-6)
    p = 2 * stats.norm.sf(np.abs(found.beta / found.standard_error))
    np.testing.assert_allclose(found.p, p, rtol=1e-9)
    np.testing.assert_array_equal(found.n_samples, (~np.isnan(DOSAGES[USED])).sum(0))
    np.testing.assert_allclose(found.a1_frequency, np.nanmean(DOSAGES[USED], 0) / 2)


def test_rounding_makes_no_variant_of_one_genotype_vary():
    left, squares = np.array([1e-31, 1e-31, 0.5, 1e-12, 90]), np.array([0, 1e-30, 0.5, 0.5, 99])
    assert mixed.find_varied(left, squares).tolist() == [False, False, True, False, True]


def test_variances_are_those_of_each_left_out_chromosome():
    found = mixed_associate(GENOTYPES, PHENOTYPE, covariates=AGE[:, None], backend="cpu")
    for k in range(3):
        variances, _ = mixed_models.reml(Y, DESIGN, [relationships(k != CONTIGS)])
        share = variances[0] / variances.sum()
        assert found.heritabilities[k] == pytest.approx(share, abs=1e-4)
    g, n = relationships(CONTIGS > 0), len(Y)
    v, m = found.variances[0], np.eye(n) - DESIGN @ np.linalg.pinv(DESIGN)
    p = mixed_models.projection(mixed_models.covariance_of(v, [g]), DESIGN)
    parts = [p @ (m @ g @ m), p]  # REML's average information, and the delta method
    information = [[Y @ a @ b @ p @ Y / 2 for a in parts] for b in parts]
    slope = np.array([v[1], -v[0]]) / v.sum() ** 2
    error = np.sqrt(slope @ np.linalg.inv(information) @ slope)
    assert found.heritability_errors[0] == pytest.approx(error, rel=0.01)
    low, high = found.heritabilities.min(), found.heritabilities.max()
    assert f"is {low:.4f} to {high:.4f} (SE " in found.notes[-1]


def test_errors_of_heritabilities_at_a_bound_are_not_known():
    noise = np.random.default_rng(8).normal(size=len(PHENOTYPE))
    found = mixed_associate(GENOTYPES, noise, backend="cpu")
    at_bound = found.heritabilities < 1e-5
    assert at_bound.any()
    np.testing.assert_array_equal(np.isnan(found.heritability_errors), at_bound)
    for errors, words in (
        ([0.1, 0.2], "(SE 0.1000 to 0.2000)"),
        ([0.1, np.nan], "(SE 0.1000, not known for 1 chromosome at a bound)"),
        ([np.nan, np.nan], "(SE not known, at a bound)"),
    ):
        assert words in mixed.describe_model(np.array([0.3, 0]), np.array(errors), np.nan, 0)


@pytest.mark.parametrize("tests", ["exact", "calibrated"])
def test_steps_have_the_chromosomes_that_are_tested(tests):
    options = {"covariates": AGE[:, None], "tests": tests, "refine_below": 0.05, "backend": "cpu"}
    steps = list(iter_mixed_associate(GENOTYPES, PHENOTYPE, **options))
    scans = list(dict.fromkeys(step.result for step in steps if step.result is not None))
    first, last = scans[0], steps[-1].result
    assert [len(scan.chromosomes) for scan in scans[:3]] == [1, 2, 3]
    for scan in scans[:3]:
        is_tested = len(scan.chromosomes) > CONTIGS
        assert np.isnan(scan.beta[~is_tested]).all()
        rows = np.flatnonzero(is_tested & (last.is_exact == scan.is_exact))
        np.testing.assert_array_equal(scan.p[rows], last.p[rows])
        np.testing.assert_array_equal(scan.variances, last.variances[: len(scan.chromosomes)])
    assert first.lambda_gc == inflation_factor(first.p)
    assert (np.diff([step.fraction for step in steps]) >= -1e-12).all()
    assert steps[-1].fraction == 1
    assert last.is_exact.sum() == (M if tests == "exact" else len(scans[-1].is_exact.nonzero()[0]))


def test_a_chromosome_of_two_names_is_left_out_as_one():
    variants = GENOTYPES.variants
    ids = np.where((CONTIGS == 1) & (np.arange(M) % 2 == 1), 3, CONTIGS)
    named = replace(variants, contigs=("1", "02", "3", "chr2"), contig_ids=ids)
    found, one = (
        mixed_associate(replace(GENOTYPES, variants=each), PHENOTYPE, backend="cpu")
        for each in (named, variants)
    )
    assert found.chromosomes == ("1", "02", "3")
    np.testing.assert_array_equal(found.variances, one.variances)
    np.testing.assert_array_equal(found.beta, one.beta)


def test_calibrated_tests_are_scores_over_a_mean_variance(backend):
    options = {"covariates": AGE[:, None], "tests": "calibrated", "refine_below": 0}
    found = mixed_associate(GENOTYPES, PHENOTYPE, backend=backend, **options)
    assert not found.is_exact.any()
    exact = mixed_associate(GENOTYPES, PHENOTYPE, covariates=AGE[:, None], backend=backend)
    m = np.eye(len(USED)) - DESIGN @ np.linalg.pinv(DESIGN)
    ratios = []
    for k in range(3):
        v = mixed_models.covariance_of(found.variances[k], [relationships(k != CONTIGS)])
        p = mixed_models.projection(v, DESIGN)
        z = Z[:, k == CONTIGS]
        varied = np.flatnonzero(np.ptp(z, axis=0) > 0)
        z, rows = z[:, varied], np.flatnonzero(k == CONTIGS)[varied]
        squares = ((m @ z) ** 2).sum(0)
        left = found.calibration * squares
        np.testing.assert_allclose(found.beta[rows], z.T @ p @ Y / left, atol=1e-4)
        np.testing.assert_allclose(found.standard_error[rows], 1 / np.sqrt(left), rtol=1e-9)
        ratios += ((z * (p @ z)).sum(0) / squares).tolist()
    assert min(ratios) < found.calibration < max(ratios)
    assert found.calibration == pytest.approx(np.mean(ratios), rel=0.1)
    tested = np.isfinite(found.beta)
    assert np.corrcoef(found.statistic[tested], exact.statistic[tested])[0, 1] > 0.97
    again = mixed_associate(GENOTYPES, PHENOTYPE, backend=backend, **options)
    np.testing.assert_array_equal(again.p, found.p)


@pytest.mark.parametrize("leave_out", ["chromosome", "none"])
def test_the_strongest_of_calibrated_tests_are_generalised_least_squares(
    leave_out, backend, monkeypatch
):
    monkeypatch.setattr(mixed, "MAX_RETESTED", M)
    options = {"covariates": AGE[:, None], "tests": "calibrated", "leave_out": leave_out}
    rough = mixed_associate(GENOTYPES, PHENOTYPE, refine_below=0, backend=backend, **options)
    found = mixed_associate(GENOTYPES, PHENOTYPE, refine_below=0.3, backend=backend, **options)
    np.testing.assert_array_equal(found.is_exact, rough.p < 0.3)
    assert found.is_exact.sum() > mixed.RETESTED_AT_ONCE
    assert f"exact for the {found.is_exact.sum()} of lowest p" in found.notes[-1]
    others = ~found.is_exact
    np.testing.assert_array_equal(found.beta[others], rough.beta[others])
    for j in np.flatnonzero(found.is_exact).tolist():
        k = CONTIGS[j] if leave_out == "chromosome" else 0
        kept = k != CONTIGS if leave_out == "chromosome" else CONTIGS >= 0
        v = mixed_models.covariance_of(found.variances[k], [relationships(kept)])
        design = np.column_stack([DESIGN, Z[:, j]])
        beta, error = mixed_models.generalised_least_squares(Y, design, v)
        assert found.beta[j] == pytest.approx(beta, rel=1e-6)
        assert found.standard_error[j] == pytest.approx(error, rel=1e-6)
    p = 2 * stats.norm.sf(np.abs(found.beta / found.standard_error))
    np.testing.assert_allclose(found.p, p, rtol=1e-9)


def test_chromosomes_whose_variants_are_mingled_are_left_out_too():
    order = np.random.default_rng(9).permutation(M)
    options = {"covariates": AGE[:, None], "tests": "calibrated", "backend": "cpu"}
    options |= {"refine_below": 1e-3}
    found, mingled = (
        mixed_associate(genotypes, PHENOTYPE, **options)
        for genotypes in (GENOTYPES, GENOTYPES.take_variants(order))
    )
    assert found.is_exact.any()
    scale = mingled.calibration / found.calibration  # of other random variants
    exact = found.is_exact[order] & mingled.is_exact
    scale = np.where(exact, 1.0, scale)
    np.testing.assert_allclose(mingled.beta * scale, found.beta[order], rtol=1e-4, atol=1e-4)


def ending(steps, results):
    """Yield the steps, and append the result."""
    results.append((yield from steps))


def test_equations_that_cannot_be_solved_are_told(monkeypatch):
    monkeypatch.setattr(left_out, "MAX_SOLVING", 2)
    with pytest.raises(ParameterError, match="is not solved after 2 steps"):
        mixed_associate(GENOTYPES, PHENOTYPE, tests="calibrated", backend="cpu")


@pytest.mark.parametrize("residual", [0.5, 1e-4])
@pytest.mark.parametrize("closer", [0.01, 0.0], ids=["rough", "fine"])
def test_models_of_left_out_chromosomes_are_solved(residual, closer, monkeypatch, backend):
    """Also where the residual is so small that rough products come near no solution."""
    monkeypatch.setattr(left_out, "_CLOSER", closer)
    genotypes = select_samples(GENOTYPES, USED)
    counts = allele_counts(genotypes, backend=backend)
    chromosomes = left_out.split_chromosomes(genotypes, counts, "chromosome", backend)
    basis, variances = np.linalg.qr(DESIGN)[0], np.array([1 - residual, residual])
    solve = left_out.Solving(left_out.Relationships(chromosomes, False, backend), basis, variances)
    owners = np.array([2, 0, 1, 0])
    columns = np.random.default_rng(3).standard_normal((len(USED), 4))
    columns *= [1e-60, 1.0, 1e60, 0.0]
    columns -= basis @ (basis.T @ columns)
    ended = []
    steps = list(ending(solve(columns, owners, 1e-10, "", 0.25, 0.5), ended))
    found, rest = ended[0]
    for k, owner in enumerate(owners):
        v = mixed_models.covariance_of(variances, [relationships(owner != CONTIGS)])
        p = mixed_models.projection(v, DESIGN)
        expected = p @ columns[:, k]
        error = np.linalg.norm(found[:, k] - expected)
        assert error <= 2e-5 * np.linalg.norm(columns[:, k]) / residual
        assert np.linalg.norm(rest[:, k]) <= 1e-5 * np.linalg.norm(columns[:, k])
        # The correction of first order leaves errors of second order.
        quadratic = columns[:, k] @ found[:, k] + rest[:, k] @ found[:, k]
        assert quadratic == pytest.approx(columns[:, k] @ expected, rel=1e-6)
    fractions = [step.fraction for step in steps]
    assert 0.25 <= fractions[0]
    assert (np.diff(fractions) >= 0).all()
    assert fractions[-1] <= 0.75


def test_calibrated_tests_refuse_a_trait_without_residual():
    """A trait of one gene, of fewer variants than samples: all p were 0 by the variances of all."""
    genotypes = GENOTYPES.take_variants(np.arange(0, M, 3))
    trait = genotypes.dosages(slice(2, 3))[:, 0].astype(float)
    trait[trait < 0] = trait[trait >= 0].mean()
    with pytest.raises(ParameterError, match="explain the trait entirely"):
        mixed_associate(genotypes, trait, tests="calibrated", backend="cpu")
    p = mixed_associate(genotypes, trait, tests="exact", backend="cpu").p
    assert p[2] < 1e-12
    assert np.nanmedian(p) > 0.05


def test_no_more_than_some_are_tested_exactly_beside_calibrated_ones(monkeypatch):
    monkeypatch.setattr(mixed, "MAX_RETESTED", 3)
    found = mixed_associate(GENOTYPES, PHENOTYPE, tests="calibrated", refine_below=0.5)
    assert np.flatnonzero(found.is_exact).size == 3
    assert found.p[found.is_exact].max() < np.nanmedian(found.p)


def test_null_model_and_effects_are_those_of_gemma():
    """GEMMA 0.98.5, -lmm 3, with relationships by chromosomes 2 to 10, given by -k.

    Its effects are at the maximum of the likelihood, not of the restricted one, and so differ by
    some hundredths of their errors.
    """
    genotypes = read_genotypes(real_data("genotypes/maize_mdp.bed"))
    table = read_phenotypes(real_data("genotypes/maize_mdp.pheno.csv")).align(genotypes.samples)
    ids = np.minimum(genotypes.variants.contig_ids, 1)
    variants = replace(genotypes.variants, contig_ids=ids, contigs=("1", "2"))
    found = mixed_associate(replace(genotypes, variants=variants), table.columns["EarHT"])
    np.testing.assert_allclose(found.variances[0], [137.829, 124.248], rtol=1e-5)
    assert [genotypes.variants.ids[j] for j in GEMMA_ROWS] == GEMMA_IDS
    beta, error, p = np.array(GEMMA_FITS).T
    np.testing.assert_allclose(found.beta[GEMMA_ROWS] / error, beta / error, atol=0.05)
    np.testing.assert_allclose(found.standard_error[GEMMA_ROWS], error, rtol=0.01)
    np.testing.assert_allclose(found.minus_log10_p[GEMMA_ROWS], -np.log10(p), atol=0.02)


def test_a_random_effect_takes_out_what_populations_share():
    genotypes = simulate_genotypes(120, 300, n_contigs=3, n_populations=2, fst=0.2, seed=5)
    populations = np.unique(genotypes.samples.family_ids, return_inverse=True)[1]
    trait = populations + 0.5 * np.random.default_rng(6).standard_normal(120)
    plain = associate(genotypes, trait, backend="cpu")
    mixed = mixed_associate(genotypes, trait, backend="cpu")
    assert plain.lambda_gc > 5
    assert mixed.lambda_gc < 1.5


def test_scans_are_conditional_on_chosen_variants():
    name = GENOTYPES.variants.ids[40]
    columns = condition_columns(GENOTYPES, [name])
    np.testing.assert_array_equal(columns[:, 0], DOSAGES[:, 40])
    found = mixed_associate(GENOTYPES, PHENOTYPE, covariates=columns, backend="cpu")
    called = np.flatnonzero(~np.isnan(PHENOTYPE) & ~np.isnan(DOSAGES[:, 40]))
    assert np.isnan(found.beta[40])
    j = 10
    z, _ = mixed_models.centred(DOSAGES[called])
    others, scale = mixed_models.centred(DOSAGES[called][:, CONTIGS[j] != CONTIGS])
    variances = found.variances[CONTIGS[j]]
    v = mixed_models.covariance_of(variances, [others @ others.T / scale])
    design = np.column_stack([np.ones(len(called)), DOSAGES[called, 40], z[:, j]])
    beta, error = mixed_models.generalised_least_squares(PHENOTYPE[called], design, v)
    assert found.beta[j] == pytest.approx(beta, rel=1e-6)
    assert found.standard_error[j] == pytest.approx(error, rel=1e-6)
    for wrong, words in (("nobody", "is not a variant's ID"), (".", "is not a variant's ID")):
        with pytest.raises(ParameterError, match=words):
            condition_columns(GENOTYPES, [wrong])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"leave_out": "all"}, "leave_out is 'all', needs one of chromosome, none"),
        ({"refine_below": -1}, "refine_below is -1, needs a p from 0 to 1"),
        ({"tests": "some"}, "tests is 'some', needs one of auto, exact, calibrated"),
        ({"phenotype": np.ones(N)}, "the phenotype is 1 for all 90 samples"),
        (
            {"genotypes": GENOTYPES.take_variants(np.flatnonzero(CONTIGS == 0))},
            "vary on another chromosome than the tested one; leave-out 'none'",
        ),
    ],
)
def test_what_does_not_fit_is_refused(changes, message):
    arguments = {"genotypes": GENOTYPES, "phenotype": PHENOTYPE, "backend": "cpu"}
    with pytest.raises(ParameterError, match=message):
        mixed_associate(**{**arguments, **changes})


def test_few_cases_whose_p_is_too_small_are_told():
    n, n_cases, carriers, of_cases = 600, 50, 8, 5
    genotypes = simulate_genotypes(n, 60, n_contigs=2, seed=4)
    dosages = dosages_of(genotypes.packed, n)
    dosages[:, 0] = 0
    dosages[:of_cases, 0] = 1
    dosages[n_cases : n_cases + carriers - of_cases, 0] = 1
    made = pack_dosages(dosages.astype(np.int8), genotypes.samples, genotypes.variants)
    y = np.zeros(n)
    y[:n_cases] = 1
    scan = mixed_associate(made, y)
    by_chance = stats.hypergeom.sf(of_cases - 1, n, n_cases, carriers)
    assert scan.p[0] < by_chance / 100
    expected = 2 * n_cases * np.minimum(dosages.mean(0), 2 - dosages.mean(0)) / 2
    n_rare = ((expected > 0) & (expected < 20)).sum()
    assert 0 < n_rare < 60
    words = f"expected in cases (at {n_rare} of 60 variants). A logistic mixed model"
    assert any("has 50 cases among 600 samples" in note and words in note for note in scan.notes)
    controls = mixed_associate(made, -y).notes
    assert any("has 50 controls among 600" in note for note in controls)
    sets = mixed_associate_sets(made, y, {"all": np.arange(60)}, max_maf=0.5)
    assert any("in cases. A logistic mixed model (mixed-" in note for note in sets.notes)
    for other in (np.arange(n) % 2, AGE.mean() + np.random.default_rng(1).normal(size=n)):
        assert not any(
            "p can be far too small" in note for note in mixed_associate(made, other).notes
        )
