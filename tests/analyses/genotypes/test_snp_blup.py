from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genoviz import (
    gblup,
    iter_gblup,
    iter_snp_blup,
    simulate_genotypes,
    snp_blup,
)
from genoviz.analyses.genotypes.prediction import blup_run
from genoviz.analyses.genotypes.prediction.conjugate_gradient import iter_conjugate_gradient
from genoviz.errors import ParameterError
from tests.genotype_sets import draw_genotypes, draw_trait
from tests.oracles import mixed_models
from tests.oracles.genotypes import dosages_of

GENOTYPES = draw_genotypes(90, 130, 1, n_populations=2, missing_rate=0.05)
TRAIT, _ = draw_trait(GENOTYPES, 1, n_causal=20)
COVARIATES = np.random.default_rng(2).standard_normal((90, 2))
PHENOTYPE = TRAIT + COVARIATES @ [1.0, -2.0] + 10
PHENOTYPE[::9] = np.nan
COVARIATES[5, 1] = np.nan
HERITABILITY = 0.4


def expected():
    """Return fixed effects, effects and breeding values by dense equations of all of them."""
    z, scale = mixed_models.centred(dosages_of(GENOTYPES.packed, 90))
    design = np.column_stack([np.ones(90), COVARIATES])
    ridge = scale * (1 - HERITABILITY) / HERITABILITY
    fixed_effects, effects = mixed_models.solve(PHENOTYPE, design, z, np.eye(130), ridge)
    return fixed_effects, effects, z @ effects


@pytest.mark.parametrize("blup", [snp_blup, gblup])
@pytest.mark.parametrize("preconditioner", ["diagonal", "block", "none"])
def test_solutions_equal_those_of_dense_equations(blup, preconditioner, backend):
    found = blup(
        GENOTYPES,
        PHENOTYPE,
        covariates=COVARIATES,
        heritability=HERITABILITY,
        preconditioner=preconditioner,
        tolerance=1e-22,
        backend=backend,
    )
    fixed_effects, effects, breeding_values = expected()
    assert found.is_converged
    np.testing.assert_allclose(found.fixed_effects, fixed_effects, atol=1e-8)
    np.testing.assert_allclose(found.effects, effects, atol=1e-8)
    np.testing.assert_allclose(found.breeding_values, breeding_values, atol=1e-8)


@pytest.mark.parametrize("preconditioner", ["diagonal", "block"])
def test_repeated_records_are_predicted_as_by_the_inverse_of_their_covariance(
    preconditioner, backend
):
    rng = np.random.default_rng(3)
    samples = rng.integers(0, 90, 200)
    phenotype = TRAIT[samples] + rng.normal(size=200)
    phenotype[::9] = np.nan
    age, weights = rng.normal(size=200), rng.uniform(0.5, 4, 200)
    weights[7] = np.nan
    found = snp_blup(
        GENOTYPES, phenotype, covariates=age, samples=samples, weights=weights,
        heritability=HERITABILITY, repeatability=0.7, preconditioner=preconditioner,
        tolerance=1e-22, backend=backend,
    )  # fmt: skip
    used = np.flatnonzero(~np.isnan(phenotype) & ~np.isnan(weights))
    z, scale = mixed_models.centred(dosages_of(GENOTYPES.packed, 90))
    owners = np.eye(90)[samples[used]]
    genetic, permanent = HERITABILITY * owners @ z @ z.T / scale, (0.7 - HERITABILITY) * owners
    v = genetic @ owners.T + permanent @ owners.T + np.diag(0.3 / weights[used])
    design = np.column_stack([np.ones(len(used)), age[used]])
    inverse = np.linalg.inv(v)
    y = phenotype[used]
    fixed_effects = np.linalg.solve(design.T @ inverse @ design, design.T @ inverse @ y)
    rest = inverse @ (y - design @ fixed_effects)
    assert found.is_converged
    np.testing.assert_allclose(found.fixed_effects, fixed_effects, atol=1e-8)
    np.testing.assert_allclose(found.breeding_values, genetic.T @ rest, atol=1e-8)
    np.testing.assert_allclose(found.permanent_effects, permanent.T @ rest, atol=1e-8)


@pytest.mark.parametrize("blup", [snp_blup, gblup])
def test_covariates_that_others_determine_are_left_out_and_told(blup):
    first, second = COVARIATES.T
    more = np.column_stack([first, np.full(90, 2.0), second, first - second])
    options = {"heritability": HERITABILITY, "tolerance": 1e-22, "backend": "cpu"}
    found = blup(GENOTYPES, PHENOTYPE, covariates=more, **options)
    fixed_effects, _, breeding_values = expected()
    np.testing.assert_allclose(found.fixed_effects[[0, 1, 3]], fixed_effects, atol=1e-8)
    assert not found.fixed_effects[[2, 4]].any()
    np.testing.assert_allclose(found.breeding_values, breeding_values, atol=1e-8)
    assert found.notes[0].startswith("Covariates number 2, number 4 are left out: each is ")


def test_it_stops_at_the_tolerance_with_the_same_values_by_both_ways():
    options = {"covariates": COVARIATES, "heritability": HERITABILITY, "backend": "cpu"}
    by_variants, by_samples = (blup(GENOTYPES, PHENOTYPE, **options) for blup in (snp_blup, gblup))
    for found in (by_variants, by_samples):
        assert found.residuals[-1] <= 1e-13 < found.residuals[-2]
        assert found.residuals[0] == 1
        assert len(found.residuals) == found.iteration + 1
    difference = by_variants.breeding_values - by_samples.breeding_values
    assert difference.std() < 1e-5 * by_variants.breeding_values.std()


@pytest.mark.parametrize("iter_blup", [iter_snp_blup, iter_gblup])
def test_snapshots_are_kept_as_they_were(iter_blup, monkeypatch):
    monkeypatch.setattr(blup_run, "PACE_SECONDS", 0.0)
    snapshots, copies = [], []
    for snapshot in iter_blup(GENOTYPES, PHENOTYPE, max_iterations=6, backend="cpu"):
        snapshots.append(snapshot)
        copies.append((snapshot.effects.copy(), snapshot.breeding_values.copy()))
    assert [snapshot.iteration for snapshot in snapshots] == [0, 1, 2, 3, 4, 5, 6]
    assert not any(snapshot.is_converged for snapshot in snapshots)
    assert snapshots[0].effects.tolist() == [0.0] * 130
    z, _ = mixed_models.centred(dosages_of(GENOTYPES.packed, 90))
    for snapshot, (effects, breeding_values) in zip(snapshots, copies, strict=True):
        assert (snapshot.effects == effects).all()
        assert (snapshot.breeding_values == breeding_values).all()
        np.testing.assert_allclose(z @ effects, breeding_values, atol=1e-12)


def test_few_snapshots_are_taken_of_quick_iterations(monkeypatch):
    monkeypatch.setattr(blup_run, "PACE_SECONDS", 1e9)
    snapshots = [*iter_snp_blup(GENOTYPES, PHENOTYPE, backend="cpu")]
    assert len(snapshots) == 2
    assert snapshots[1].is_converged


@pytest.mark.parametrize(
    ("phenotype", "options", "message"),
    [
        (np.full(90, np.nan), {}, "none of the samples has a phenotype: there is nothing to learn"),
        (np.full(90, 5.0), {}, "the phenotype is 5 in all 90 samples that have one"),
        (np.append(1.5, np.full(89, np.nan)), {}, "one of the samples has a phenotype, needs more"),
        (np.zeros(3), {}, r"phenotype has shape \(3,\), needs \(90,\), a value or NaN for each"),
        (np.append(PHENOTYPE[:89], np.inf), {}, "the phenotype has an infinite value"),
        (PHENOTYPE * 1e-300, {}, r"the phenotype has a range of .*, needs 1e-60 to 1e.60, as its"),
        (PHENOTYPE * 1e300, {}, r"the phenotype has a range of .*, needs 1e-60 to 1e.60, as its"),
        (PHENOTYPE, {"heritability": 0}, "heritability is 0, needs more than 0 and less than 1"),
        (PHENOTYPE, {"heritability": 1.0}, r"heritability is 1\.0, needs more than 0 and less"),
        (PHENOTYPE, {"covariates": np.ones(4)}, r"covariates have shape \(4, 1\), need \(90, c\)"),
        (
            PHENOTYPE,
            {"covariates": np.full(90, np.nan)},
            "none of the samples has a phenotype and all covariates",
        ),
        (
            np.where(np.arange(90) < 3, np.arange(90.0), np.nan),
            {"covariates": COVARIATES},
            "3 samples have a phenotype and all covariates, need more than the 3 fixed effects",
        ),
        (PHENOTYPE, {"preconditioner": "ilu"}, "preconditioner is 'ilu', needs one of diagonal, "),
        (PHENOTYPE, {"tolerance": 0}, "tolerance is 0, needs more than 0"),
        (PHENOTYPE, {"max_iterations": 0}, "max_iterations is 0, needs at least 1"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(phenotype, options, message):
    with pytest.raises(ParameterError, match=message):
        snp_blup(GENOTYPES, phenotype, backend="cpu", **options)


def test_variants_that_do_not_vary_are_no_basis():
    genotypes = simulate_genotypes(8, 3)
    genotypes.packed[:] = 0
    with pytest.raises(ParameterError, match="none of the 3 variants differs between the samples"):
        gblup(genotypes, np.arange(8.0))


def test_numbers_whose_squares_leave_float64_are_refused():
    with pytest.raises(ParameterError, match=r"needs 1e-60 to 1e\+60"):
        snp_blup(GENOTYPES, 1e200 * PHENOTYPE, backend="cpu")


@settings(max_examples=30)
@given(st.integers(1, 12), st.integers(0, 3), st.integers(0, 2**32 - 1))
def test_conjugate_gradients_solve_all_columns(n, k, seed):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((n, n))
    matrix = root @ root.T + np.eye(n)
    right_side = rng.standard_normal((n, k)) if k else rng.standard_normal(n)
    if k == 2:
        right_side[:, 1] = 0
    *_, last = iter_conjugate_gradient(
        lambda values: (matrix @ values, 2 * values),
        right_side,
        lambda residual: residual / 3,
        tolerance=1e-26,
    )
    assert last.is_converged
    np.testing.assert_allclose(last.solution, np.linalg.solve(matrix, right_side), atol=1e-8)
    if last.images:
        np.testing.assert_allclose(last.images[0], 2 * last.solution)
