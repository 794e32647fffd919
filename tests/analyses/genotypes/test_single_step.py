from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from genoviz import (
    iter_single_step,
    simulate_pedigree,
    single_step,
)
from genoviz.analyses.genotypes.prediction import single_step_parts
from genoviz.errors import ParameterError
from genoviz.model.genotypes.genotypes import Genotypes, SampleTable
from genoviz.model.genotypes.pedigree import Pedigree
from tests.genotype_sets import draw_half, draw_trait, genotypes_of
from tests.oracles import mixed_models
from tests.oracles.genotypes import codes_of, dosages_of, pack
from tests.oracles.pedigree import group_shares, metafounder_relationships, relationships

PEDIGREE = simulate_pedigree(14, 4, seed=1)
N = len(PEDIGREE)


def everybody():
    """Genotypes of the pedigree at unlinked variants, by NumPy alone."""
    generator = np.random.default_rng(2)
    alleles = generator.random((N, 2, 90)) < generator.uniform(0.2, 0.8, 90)
    for animal, parents in enumerate(zip(PEDIGREE.sires, PEDIGREE.dams, strict=True)):
        for side, parent in enumerate(parents):
            if parent >= 0:
                chosen = generator.integers(0, 2, 90)
                alleles[animal, side] = alleles[parent, chosen, np.arange(90)]
    found = genotypes_of(np.array([3, 2, 0])[alleles.sum(axis=1)])
    return replace(found, samples=SampleTable.from_ids(PEDIGREE.ids))


EVERYBODY = everybody()
GENOTYPED = np.random.default_rng(4).permutation(N)[:38]
CODES = codes_of(EVERYBODY.packed, N)[GENOTYPED]
GENOTYPES = Genotypes(pack(CODES), EVERYBODY.samples.take(GENOTYPED), EVERYBODY.variants)
AGE = np.random.default_rng(5).standard_normal(N)
PHENOTYPE, BREEDING_VALUES = draw_trait(EVERYBODY, 7)
PHENOTYPE += AGE
PHENOTYPE[::4] = np.nan
WEIGHT, HERITABILITY = 0.2, 0.35


def expected():
    z, scale = mixed_models.centred(dosages_of(GENOTYPES.packed, len(GENOTYPED)))
    table = relationships(PEDIGREE.sires, PEDIGREE.dams)
    inverse, genomic = mixed_models.single_step_inverse(table, GENOTYPED, z, scale, WEIGHT)
    design = np.column_stack([np.ones(N), AGE])
    ratio = (1 - HERITABILITY) / HERITABILITY
    fixed_effects, values = mixed_models.solve(PHENOTYPE, design, np.eye(N), inverse, ratio)
    effects = (1 - WEIGHT) / scale * z.T @ (genomic @ values[GENOTYPED])
    return fixed_effects, values, effects


@pytest.mark.parametrize("form", ["ssSNPBLUP", "ssGTABLUP"])
@pytest.mark.parametrize("preconditioner", ["diagonal", "block", "none"])
def test_both_forms_equal_an_inverted_h(form, preconditioner, backend):
    found = single_step(
        GENOTYPES,
        PEDIGREE,
        PHENOTYPE,
        form=form,
        polygenic_weight=WEIGHT,
        covariates=AGE,
        heritability=HERITABILITY,
        preconditioner=preconditioner,
        tolerance=1e-21,
        backend=backend,
    )
    fixed_effects, values, effects = expected()
    assert found.is_converged
    np.testing.assert_allclose(found.fixed_effects, fixed_effects, atol=1e-8)
    np.testing.assert_allclose(found.breeding_values, values, atol=1e-8)
    np.testing.assert_allclose(found.effects, effects, atol=1e-8)


@pytest.mark.parametrize("seed", range(20))
def test_repeated_records_and_weights_equal_hendersons_equations(seed):
    rng = np.random.default_rng(seed)
    pedigree = simulate_pedigree(8, 3, seed=seed)
    n = len(pedigree)
    variants = EVERYBODY.variants.take(np.arange(40))
    genotyped, genotypes = draw_half(pedigree, rng, variants)
    animals = rng.integers(0, n, 3 * n)
    covariate, phenotype = rng.normal(size=(2, 3 * n))
    phenotype[::7] = np.nan
    weights = rng.uniform(0.2, 5, 3 * n)
    weights[::11] = np.nan
    heritability, repeatability = 0.3, 0.3 + 0.4 * rng.uniform()
    found = single_step(
        genotypes, pedigree, phenotype,
        form=("ssSNPBLUP", "ssGTABLUP")[seed % 2], covariates=covariate, animals=animals,
        weights=weights, heritability=heritability, repeatability=repeatability,
        polygenic_weight=WEIGHT, tolerance=1e-22, backend="cpu",
    )  # fmt: skip
    z, scale = mixed_models.centred(dosages_of(genotypes.packed, n // 2))
    table = relationships(pedigree.sires, pedigree.dams)
    inverse, _ = mixed_models.single_step_inverse(table, genotyped, z, scale, WEIGHT)
    residual = 1 - repeatability
    ratios = residual / heritability, residual / (repeatability - heritability)
    design = np.column_stack([np.ones(3 * n), covariate])
    expected = mixed_models.solve_records(
        phenotype, design, np.eye(n)[animals], inverse, ratios, weights
    )
    assert found.is_converged
    results = found.fixed_effects, found.breeding_values, found.permanent_effects
    for value, other in zip(results, expected, strict=True):
        np.testing.assert_allclose(value, other, atol=1e-8)


def in_groups(pedigree, rng, n_groups, *, all_of_them):
    """Return a pedigree whose unknown parents, and a few known ones, are of groups."""
    columns = []
    for parents in (pedigree.sires, pedigree.dams):
        chosen = rng.integers(0, n_groups + (not all_of_them), len(parents))
        unknown = np.where(chosen < n_groups, -2 - chosen, -1)
        columns.append(np.where((parents < 0) | (rng.random(len(parents)) < 0.1), unknown, parents))
    groups = np.array([f"-{k + 1}" for k in range(n_groups)])
    return Pedigree(pedigree.ids, *columns, groups=groups)


@pytest.mark.parametrize("seed", range(20))
def test_groups_of_unknown_parents_are_fixed_effects(seed):
    """Henderson's equations have the groups as columns of the design, and u beside them."""
    rng = np.random.default_rng(seed)
    n_groups, all_of_them = 1 + seed % 4, seed % 3 > 0
    pedigree = in_groups(simulate_pedigree(9, 3, seed=seed), rng, n_groups, all_of_them=all_of_them)
    n = len(pedigree)
    genotyped = rng.permutation(n)[: n // 2]
    genotypes = Genotypes(
        pack(rng.choice([0, 2, 3], (n // 2, 30))), SampleTable.from_ids(pedigree.ids[genotyped]),
        EVERYBODY.variants.take(np.arange(30)),
    )  # fmt: skip
    shares = group_shares(pedigree.sires, pedigree.dams, n_groups)
    animals = rng.integers(0, n, 4 * n)
    covariate, phenotype = rng.normal(size=(2, 4 * n))
    phenotype += 3 * (shares @ np.arange(n_groups))[animals]
    phenotype[::7] = np.nan
    weights = rng.uniform(0.2, 5, 4 * n)
    heritability, repeatability = 0.3, 0.5
    found = single_step(
        genotypes, pedigree, phenotype,
        form=("ssSNPBLUP", "ssGTABLUP")[seed % 2], covariates=covariate, animals=animals,
        weights=weights, heritability=heritability, repeatability=repeatability,
        polygenic_weight=WEIGHT, tolerance=1e-22, backend="cpu",
    )  # fmt: skip
    # Where the intercept has what all have in common, the groups have the sum 0.
    contrasts = np.eye(n_groups)
    if all_of_them:
        contrasts = np.vstack([np.eye(n_groups - 1), -np.ones((1, n_groups - 1))])
    z, scale = mixed_models.centred(dosages_of(genotypes.packed, n // 2))
    table = relationships(pedigree.sires, pedigree.dams)
    inverse, _ = mixed_models.single_step_inverse(table, genotyped, z, scale, WEIGHT)
    design = np.column_stack([np.ones(4 * n), covariate, shares[animals] @ contrasts])
    fixed, values, permanent = mixed_models.solve_records(
        phenotype, design, np.eye(n)[animals], inverse, (0.5 / 0.3, 0.5 / 0.2), weights
    )
    groups = contrasts @ fixed[2:]
    assert found.is_converged
    np.testing.assert_allclose(found.group_effects, groups, atol=1e-8)
    np.testing.assert_allclose(found.breeding_values, values + shares @ groups, atol=1e-8)
    np.testing.assert_allclose(found.fixed_effects, fixed[:2], atol=1e-8)
    np.testing.assert_allclose(found.permanent_effects, permanent, atol=1e-8)


@pytest.mark.parametrize("seed", range(20))
def test_groups_that_records_do_not_tell_apart_are_named(seed):
    """Those that differ from the mean of groups by what no records tell, by ranks of the design."""
    rng = np.random.default_rng(seed)
    n_groups, all_of_them = 2 + seed % 4, seed % 3 > 0
    pedigree = in_groups(simulate_pedigree(4, 2, seed=seed), rng, n_groups, all_of_them=all_of_them)
    n = len(pedigree)
    shares = group_shares(pedigree.sires, pedigree.dams, n_groups)
    owners = rng.integers(0, n, 3 + seed)
    covariates = np.column_stack([rng.normal(size=len(owners)), owners > n / 2])
    genotypes = Genotypes(pack(rng.choice([0, 2, 3], (4, 30))),
                          SampleTable.from_ids(pedigree.ids[:4]),
                          EVERYBODY.variants.take(np.arange(30)))  # fmt: skip
    found = single_step(
        genotypes, pedigree, rng.normal(size=len(owners)), animals=owners, backend="cpu",
        covariates=covariates[:, 1] if seed % 2 else None, max_iterations=1,
    )  # fmt: skip
    design = np.ones((len(owners), 1))
    if seed % 2:
        design = np.column_stack([design, covariates[:, 1]])
    rows = np.hstack([design, shares[owners]])
    weights = (shares[owners] ** 2).sum(axis=0)
    lost = []
    for group in range(n_groups):
        contrast = np.eye(n_groups)[group]
        if all_of_them:
            contrast = contrast - weights / weights.sum()
        asked = np.append(np.zeros(design.shape[1]), contrast)
        if np.linalg.matrix_rank(np.vstack([rows, asked])) > np.linalg.matrix_rank(rows):
            lost.append(pedigree.groups[group])
    told = [note for note in found.notes if "groups" in note]
    expected = "from fixed effects: " + ", ".join(lost) + "; breeding values cannot be compared"
    assert len(told) == (len(lost) > 0)
    assert not lost or expected in told[0]


def gamma_of(rng, n_groups):
    """Relationships of metafounders as populations that drifted apart have them."""
    half = rng.normal(size=(n_groups, 8))
    return 0.2 * half @ half.T / 8 + 0.3 + 0.05 * np.eye(n_groups)


def metafounder_inverse(pedigree, genotyped, genotypes):
    """The inverse of H of animals and, after them, metafounders; G is centred by 1/2."""
    n_groups = len(pedigree.groups)
    order = np.roll(np.arange(n_groups + len(pedigree)), -n_groups)
    table = metafounder_relationships(pedigree.sires, pedigree.dams, pedigree.gamma)
    dosages = dosages_of(genotypes.packed, len(genotyped))
    z, scale = mixed_models.centred_by_half(dosages)
    inverse, genomic = mixed_models.single_step_inverse(
        table[np.ix_(order, order)], genotyped, z, scale, WEIGHT
    )
    return inverse, (1 - WEIGHT) / scale * z.T @ genomic


@pytest.mark.parametrize("seed", range(20))
def test_metafounders_equal_hendersons_equations(seed):
    rng = np.random.default_rng(seed)
    n_groups = 1 + seed % 4
    pedigree = in_groups(
        simulate_pedigree(9, 3, seed=seed), rng, n_groups, all_of_them=seed % 3 > 0
    ).with_gamma(gamma_of(rng, n_groups))
    n = len(pedigree)
    variants = EVERYBODY.variants.take(np.arange(30))
    genotyped, genotypes = draw_half(pedigree, rng, variants)
    animals = rng.integers(0, n, 4 * n)
    covariate, phenotype = rng.normal(size=(2, 4 * n))
    phenotype[::7] = np.nan
    weights = rng.uniform(0.2, 5, 4 * n)
    found = single_step(
        genotypes, pedigree, phenotype,
        form=("ssSNPBLUP", "ssGTABLUP")[seed % 2], covariates=covariate, animals=animals,
        weights=weights, heritability=0.3, repeatability=0.5,
        polygenic_weight=WEIGHT, tolerance=1e-22, backend="cpu",
    )  # fmt: skip
    inverse, to_effects = metafounder_inverse(pedigree, genotyped, genotypes)
    design = np.column_stack([np.ones(4 * n), covariate])
    incidence = np.eye(n, n + n_groups)[animals]
    fixed, values, permanent = mixed_models.solve_records(
        phenotype, design, incidence, inverse, (0.5 / 0.3, 0.5 / 0.2), weights
    )
    assert found.is_converged
    np.testing.assert_allclose(found.breeding_values, values[:n], atol=1e-8)
    np.testing.assert_allclose(found.group_effects, values[n:], atol=1e-8)
    np.testing.assert_allclose(found.fixed_effects, fixed, atol=1e-8)
    np.testing.assert_allclose(found.permanent_effects, permanent[:n], atol=1e-8)
    np.testing.assert_allclose(found.effects, to_effects @ values[genotyped], atol=1e-8)


def test_a_mean_of_measurements_is_as_the_measurements():
    """A record of weight 3 says what three equal ones do, where nothing is permanent."""
    animals = np.flatnonzero(~np.isnan(PHENOTYPE))
    options = {"heritability": HERITABILITY, "tolerance": 1e-22, "backend": "cpu"}
    thrice = single_step(
        GENOTYPES, PEDIGREE, np.repeat(PHENOTYPE[animals], 3), animals=np.repeat(animals, 3),
        **options,
    )  # fmt: skip
    weighted = single_step(GENOTYPES, PEDIGREE, PHENOTYPE, weights=np.full(N, 3.0), **options)
    np.testing.assert_allclose(thrice.breeding_values, weighted.breeding_values, atol=1e-8)
    np.testing.assert_allclose(thrice.effects, weighted.effects, atol=1e-8)
    assert weighted.permanent_effects is None
    plain = single_step(GENOTYPES, PEDIGREE, PHENOTYPE, **options)
    once = single_step(
        GENOTYPES, PEDIGREE, PHENOTYPE[animals], animals=animals, repeatability=HERITABILITY,
        **options,
    )  # fmt: skip
    np.testing.assert_allclose(once.breeding_values, plain.breeding_values, atol=1e-8)


def test_genotypes_make_predictions_better_than_the_pedigree_alone():
    phenotype = PHENOTYPE - AGE
    phenotype[GENOTYPED[:15]] = np.nan
    found = single_step(GENOTYPES, PEDIGREE, phenotype, polygenic_weight=0.05, backend="cpu")
    young = GENOTYPED[:15]
    table = relationships(PEDIGREE.sires, PEDIGREE.dams)
    _, by_pedigree = mixed_models.solve(
        phenotype, np.ones((N, 1)), np.eye(N), np.linalg.inv(table), 1.0
    )
    accuracy = np.corrcoef(found.breeding_values[young], BREEDING_VALUES[young])[0, 1]
    assert accuracy > np.corrcoef(by_pedigree[young], BREEDING_VALUES[young])[0, 1]


def test_a_large_factorisation_is_announced_and_a_huge_one_refused(monkeypatch):
    options = {"form": "ssGTABLUP", "backend": "cpu"}
    snapshots = iter_single_step(GENOTYPES, PEDIGREE, PHENOTYPE, **options)
    first, second, third = (next(snapshots) for _ in range(3))
    assert (first.iteration, second.iteration, third.iteration) == (0, 0, 0)
    assert not first.breeding_values.any()
    assert first.fixed_effects[0] == pytest.approx(np.nanmean(PHENOTYPE))
    monkeypatch.setattr(single_step_parts, "MAX_VARIANTS", 80)
    with pytest.raises(ParameterError, match=r"a matrix of 90 x 90 variants, can do at most 80"):
        single_step(GENOTYPES, PEDIGREE, PHENOTYPE, **options)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"form": "ssGBLUP"}, "form is 'ssGBLUP', needs one of ssSNPBLUP, ssGTABLUP"),
        ({"polygenic_weight": 1}, "polygenic_weight is 1, needs more than 0 and less than 1"),
        ({"polygenic_weight": 0}, "polygenic_weight is 0, needs more than 0 and less than 1"),
        ({"heritability": 2}, "heritability is 2, needs more than 0"),
        ({"phenotype": np.full(N, np.nan)}, "none of the animals has a phenotype"),
        ({"animals": np.zeros(3, int)}, r"phenotype has shape \(70,\), needs \(3,\), a value"),
        ({"animals": np.arange(N) - 1}, "is of number -1 of the animals, needs one from 0 to"),
        ({"animals": np.zeros(N)}, r"animals are float64 of shape \(70,\), need integers"),
        ({"weights": np.ones(3)}, r"weights have shape \(3,\), need \(70,\)"),
        ({"weights": np.zeros(N)}, "weight 0 is 0, needs more than 0, or NaN"),
        ({"repeatability": 0.4}, "repeatability is 0.4, needs at least the heritability, 0.5"),
        ({"repeatability": 1}, "repeatability is 1, needs at least the heritability, 0.5, and"),
        (
            {"animals": np.arange(N), "phenotype": np.full(N, np.nan)},
            "none of the records has a phenotype",
        ),
        ({"phenotype": np.ones(5)}, r"phenotype has shape \(5,\), needs \(70,\)"),
        (
            {"pedigree": Pedigree(np.array(["a", "b"]), np.array([-1, -1]), np.array([-1, -1]))}
            | {"phenotype": np.array([1.0, 2.0])},
            "38 of 38 genotyped samples are not in the pedigree, the first is ",
        ),
        (
            {"genotypes": Genotypes(pack(CODES[[3, 3]]), GENOTYPES.samples.take(np.array([3, 3])),
                                    GENOTYPES.variants)},
            "animal g.* is genotyped more than once",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(changes, message):
    arguments = {"genotypes": GENOTYPES, "pedigree": PEDIGREE, "phenotype": PHENOTYPE}
    with pytest.raises(ParameterError, match=message):
        single_step(**{**arguments, **changes})
