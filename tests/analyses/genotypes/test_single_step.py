from __future__ import annotations

import numpy as np
import pytest

from genoviz import (
    drop_genotypes,
    iter_single_step,
    simulate_genotypes,
    simulate_pedigree,
    simulate_trait,
    single_step,
)
from genoviz.analyses.genotypes.prediction import single_step as of_animals
from genoviz.errors import ParameterError
from genoviz.model.genotypes.genotypes import Genotypes
from genoviz.model.genotypes.pedigree import Pedigree
from tests.oracles import mixed_models
from tests.oracles.genotypes import codes_of, dosages_of, pack
from tests.oracles.pedigree import relationships

PEDIGREE = simulate_pedigree(14, 4, seed=1)
EVERYBODY = drop_genotypes(PEDIGREE, simulate_genotypes(14, 90, seed=2), seed=3)
N = len(PEDIGREE)
GENOTYPED = np.random.default_rng(4).permutation(N)[:38]
CODES = codes_of(EVERYBODY.packed, N)[GENOTYPED]
GENOTYPES = Genotypes(pack(CODES), EVERYBODY.samples.take(GENOTYPED), EVERYBODY.variants)
AGE = np.random.default_rng(5).standard_normal(N)
PHENOTYPE = simulate_trait(EVERYBODY, seed=6, n_causal=30, backend="cpu").phenotype + AGE
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


def test_genotypes_make_predictions_better_than_the_pedigree_alone():
    truth = simulate_trait(EVERYBODY, seed=6, n_causal=30, backend="cpu").breeding_values
    phenotype = PHENOTYPE - AGE
    phenotype[GENOTYPED[:15]] = np.nan
    found = single_step(GENOTYPES, PEDIGREE, phenotype, polygenic_weight=0.05, backend="cpu")
    young = GENOTYPED[:15]
    table = relationships(PEDIGREE.sires, PEDIGREE.dams)
    _, by_pedigree = mixed_models.solve(
        phenotype, np.ones((N, 1)), np.eye(N), np.linalg.inv(table), 1.0
    )
    accuracy = np.corrcoef(found.breeding_values[young], truth[young])[0, 1]
    assert accuracy > np.corrcoef(by_pedigree[young], truth[young])[0, 1]


def test_a_large_factorisation_is_announced_and_a_huge_one_refused(monkeypatch):
    options = {"form": "ssGTABLUP", "backend": "cpu"}
    snapshots = iter_single_step(GENOTYPES, PEDIGREE, PHENOTYPE, **options)
    first, second, third = (next(snapshots) for _ in range(3))
    assert (first.iteration, second.iteration, third.iteration) == (0, 0, 0)
    assert not first.breeding_values.any()
    assert first.fixed_effects[0] == pytest.approx(np.nanmean(PHENOTYPE))
    monkeypatch.setattr(of_animals, "MAX_VARIANTS", 80)
    with pytest.raises(ParameterError, match=r"a matrix of 90 x 90 variants, can do at most 80"):
        single_step(GENOTYPES, PEDIGREE, PHENOTYPE, **options)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"form": "ssGBLUP"}, "form is 'ssGBLUP', needs one of ssSNPBLUP, ssGTABLUP"),
        ({"polygenic_weight": 0}, "polygenic_weight is 0, needs more than 0 and less than 1"),
        ({"heritability": 2}, "heritability is 2, needs more than 0"),
        ({"phenotype": np.full(N, np.nan)}, "none of the animals has a phenotype"),
        ({"phenotype": np.ones(5)}, r"phenotype has shape \(5,\), needs \(70,\)"),
        (
            {"pedigree": Pedigree.from_parents(["a", "b"], ["0", "0"], ["0", "0"])}
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
