from __future__ import annotations

import numpy as np
import pytest

from genoviz import (
    cross_validate,
    iter_cross_validate,
    read_genotypes,
    snp_blup,
)
from genoviz.errors import ParameterError
from tests.conftest import real_data
from tests.genotype_sets import draw_genotypes, draw_trait

GENOTYPES = draw_genotypes(120, 150, 1, missing_rate=0.02)
AGE = np.random.default_rng(2).standard_normal(120)
PHENOTYPE = draw_trait(GENOTYPES, 1, n_causal=10, heritability=0.8)[0] + 3 * AGE
PHENOTYPE[:10] = np.nan


def test_each_fold_is_predicted_from_the_others(backend):
    found = cross_validate(
        GENOTYPES,
        PHENOTYPE,
        folds=4,
        heritability=0.8,
        covariates=AGE,
        seed=3,
        tolerance=1e-20,
        backend=backend,
    )
    assert (found.folds[:10] == -1).all()
    assert np.isnan(found.predicted[:10]).all()
    sizes = np.bincount(found.folds[10:])
    assert (len(sizes), sizes.min(), sizes.max()) == (4, 27, 28)
    slopes = []
    for fold in range(4):
        is_out = found.folds == fold
        seen = np.where(is_out, np.nan, PHENOTYPE)
        blup = snp_blup(GENOTYPES, seen, heritability=0.8, covariates=AGE, tolerance=1e-20)
        predicted = (blup.fixed_effects[0] + blup.breeding_values)[is_out]
        observed = (PHENOTYPE - blup.fixed_effects[1] * AGE)[is_out]
        np.testing.assert_allclose(found.predicted[is_out], predicted, atol=1e-8)
        np.testing.assert_allclose(found.observed[is_out], observed, atol=1e-8)
        r = np.corrcoef(predicted, observed)[0, 1]
        assert found.accuracies[0, fold] == pytest.approx(r)
        slopes.append(np.polyfit(predicted, observed, 1)[0])
    assert found.accuracy == pytest.approx(found.accuracies.mean())
    assert found.bias == pytest.approx(np.mean(slopes))
    assert found.reliability == pytest.approx(found.accuracy**2 / 0.8)
    assert found.accuracy > 0.4


def test_repeats_divide_anew_and_seeds_repeat():
    options = {"folds": 3, "repeats": 2, "backend": "cpu"}
    steps = [*iter_cross_validate(GENOTYPES, PHENOTYPE, **options)]
    fractions = [step.fraction for step in steps]
    assert fractions == sorted(fractions)
    assert (fractions[0], fractions[-1]) == (0, 1)
    found = steps[-1].result
    assert found.accuracies.shape == (2, 3)
    assert len(set(found.accuracies.ravel())) == 6
    again = cross_validate(GENOTYPES, PHENOTYPE, **options)
    assert (again.accuracies == found.accuracies).all()
    other = cross_validate(GENOTYPES, PHENOTYPE, **options, seed=1)
    assert (other.folds != found.folds).any()


def test_noise_is_not_predicted():
    noise = np.random.default_rng(5).standard_normal(120)
    assert abs(cross_validate(GENOTYPES, noise, repeats=3, backend="cpu").accuracy) < 0.25


def test_wheat_yield_is_predicted_as_published():
    """About 0.5 in environment 1 (Crossa et al. 2010, doi:10.1534/genetics.110.118521)."""
    genotypes = read_genotypes(real_data("genotypes/wheat_bglr.bed"))
    path = real_data("genotypes/wheat_bglr.pheno.csv")
    table = np.genfromtxt(path, delimiter=",", skip_header=1)
    found = cross_validate(genotypes, table[:, 1], heritability=0.5, repeats=2, backend="cpu")
    assert 0.47 < found.accuracy < 0.56
    assert 0.8 < found.bias < 1.1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"folds": 1}, "folds is 1, needs at least 2"),
        ({"repeats": 0}, "repeats is 0, needs at least 1"),
        ({"folds": 40}, "110 samples have a phenotype and all covariates, need at least 120"),
    ],
)
def test_too_many_folds_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        cross_validate(GENOTYPES, PHENOTYPE, **options)
