"""Models of several traits and reliabilities: a GPU finds what the CPU does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from genoviz import (
    GenomicRules,
    MixedModel,
    ModelEffect,
    RandomEffects,
    SingleStep,
    correlate,
    drop_genotypes,
    multi_trait,
    prepare_single_step,
    reliability,
    simulate_genotypes,
    simulate_pedigree,
    solve_mixed_model,
)
from genoviz.analyses.genotypes.prediction.single_step_parts import (
    SingleStepParts,
    iter_factorise,
)
from genoviz.backend import cuda_is_available
from genoviz.generators import last_of
from genoviz.model.genotypes.genotypes import Genotypes
from tests.oracles.genotypes import codes_of, pack

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not cuda_is_available(), reason="no NVIDIA GPU can be used here"),
]
COVARIANCES = {
    "genetic": np.array([[0.6, 0.2, 0.1], [0.2, 0.5, 0.0], [0.1, 0.0, 0.4]]),
    "residual": np.array([[0.9, -0.3, 0.0], [-0.3, 0.5, 0.1], [0.0, 0.1, 0.6]]),
}


def on_both(function, *arguments, **options):
    """Results of the CPU and of the GPU."""
    return [function(*arguments, **options, backend=backend) for backend in ("cpu", "cuda")]


def herd(n_founders, n_genotyped):
    """A pedigree of five generations, and some of its animals with genotypes."""
    pedigree = simulate_pedigree(n_founders, 5, seed=1)
    everybody = drop_genotypes(pedigree, simulate_genotypes(n_founders, 2500, seed=2), seed=3)
    chosen = np.sort(np.random.default_rng(4).permutation(len(pedigree))[:n_genotyped])
    codes = codes_of(everybody.packed, len(pedigree))[chosen]
    return pedigree, Genotypes(pack(codes), everybody.samples.take(chosen), everybody.variants)


def traits(n, n_traits, missing):
    """Values that are in part what all traits have in common, and some that were not measured."""
    generator = np.random.default_rng(7)
    values = generator.normal(size=(n, 1)) + generator.normal(size=(n, n_traits))
    values[generator.random(values.shape) < missing] = np.nan
    return values


@pytest.mark.parametrize(
    ("n_traits", "form"),
    [
        (1, "ssSNPBLUP"),
        (2, "ssSNPBLUP"),
        (3, "ssSNPBLUP"),
        (2, "ssGTABLUP"),
        (2, "genotypes alone"),
    ],
)
def test_several_traits(n_traits, form):
    pedigree, genotypes = herd(400, 1001)
    values = traits(len(pedigree), n_traits, 0.2)
    options = {"tolerance": 1e-18, "form": form}
    if form == "genotypes alone":
        values, pedigree, options = values[:1001], None, {"tolerance": 1e-18}
    cpu, cuda = on_both(
        multi_trait, genotypes, pedigree, values, **options,
        **{name: matrix[:n_traits, :n_traits] for name, matrix in COVARIANCES.items()},
    )  # fmt: skip
    assert cpu.is_converged
    assert cuda.is_converged
    for name in ("breeding_values", "effects", "fixed_effects"):
        one, other = getattr(cpu, name), getattr(cuda, name)
        np.testing.assert_allclose(one, other, atol=1e-6 * np.abs(one).max(), err_msg=name)


@pytest.fixture(scope="module")
def tuned():
    """Single-step structures whose G was tuned to the pedigree, by the CPU and by the GPU."""
    pedigree, genotypes = herd(100, 401)
    structure = SingleStep(pedigree, genotypes, rules=GenomicRules(), has_inbreeding=False)
    cpu, cuda = on_both(prepare_single_step, structure)
    assert abs(cpu.structure.constant) > 0.01
    assert cuda.notes == cpu.notes
    assert cuda.correlation == pytest.approx(cpu.correlation, abs=1e-5)
    for name in ("constant", "genomic_weight", "polygenic_weight"):
        one, other = getattr(cpu.structure, name), getattr(cuda.structure, name)
        assert other == pytest.approx(one, rel=1e-12)
    return cpu.structure


@pytest.mark.parametrize("form", ["ssSNPBLUP", "ssGTABLUP"])
def test_the_inverse_of_tuned_relationships(tuned, form):
    """The constant of tuned relationships is a term of rank one in the inverse."""

    def multiply(backend):
        parts = SingleStepParts(
            tuned.genotypes, tuned.pedigree, None, 1.0, tuned.polygenic_weight, backend,
            genomic_weight=tuned.genomic_weight, constant=tuned.constant,
            frequencies=tuned.frequencies, has_inbreeding=False,
        )  # fmt: skip
        generator = np.random.default_rng(9)
        values = generator.normal(size=(parts.n_rows, 3))
        effects = generator.normal(size=(parts.n_variants, 3))
        if form == "ssSNPBLUP":
            return *parts.multiply(values, effects), parts.dense_inverse()
        return last_of(iter_factorise(parts)).multiply(values)

    for one, other in zip(*on_both(multiply), strict=True):
        np.testing.assert_allclose(other, one, rtol=0, atol=1e-9 * np.abs(one).max())


@pytest.mark.parametrize("form", ["ssSNPBLUP", "ssGTABLUP"])
def test_a_mixed_model_with_tuned_relationships(tuned, form):
    n = len(tuned.pedigree)
    values = traits(n, 2, 0.2)
    effects = (
        ModelEffect(np.zeros((n, 2), np.int64), 1),
        ModelEffect(np.tile(np.arange(n)[:, None], 2), n),
    )
    genetic, residual = (COVARIANCES[name][:2, :2] for name in ("genetic", "residual"))
    random = RandomEffects((1,), genetic, replace(tuned, form=form))
    model = MixedModel(values, effects, (random,), residual)
    cpu, cuda = on_both(solve_mixed_model, model, standard_errors=True, tolerance=1e-24)
    assert cpu.is_converged
    assert cuda.is_converged
    for name in ("values", "standard_errors"):
        one, other = getattr(cpu, name), getattr(cuda, name)
        np.testing.assert_allclose(one, other, atol=1e-9 * np.abs(one).max(), err_msg=name)


@pytest.mark.parametrize(("method", "atol"), [("exact", 1e-9), ("random", 1e-6)])
def test_reliabilities(method, atol):
    genotypes = simulate_genotypes(1501, 3001, missing_rate=0.02, seed=5)
    cpu, cuda = on_both(
        reliability, genotypes, traits(1501, 1, 0.3)[:, 0], heritability=0.4, method=method,
        n_draws=60, tolerance=1e-17,
    )  # fmt: skip
    assert cpu.n_draws == cuda.n_draws == 60 * (method == "random")
    assert cuda.is_converged
    np.testing.assert_allclose(cpu.reliabilities, cuda.reliabilities, atol=atol)
    np.testing.assert_allclose(cpu.standard_errors, cuda.standard_errors, atol=atol)


@pytest.mark.parametrize("has_gamma", [False, True])
def test_reliabilities_of_single_step(has_gamma):
    pedigree, genotypes = herd(150, 400)
    if has_gamma:
        pedigree = pedigree.with_gamma(0.4)
    values = traits(len(pedigree), 1, 0.3)[:, 0]
    for method, tolerance in (("exact", 1e-10), ("random", 1e-5)):
        cpu, cuda = on_both(
            reliability, genotypes, values, pedigree=pedigree, method=method, n_draws=30,
            tolerance=1e-17,
        )  # fmt: skip
        assert cuda.is_converged
        np.testing.assert_allclose(cpu.reliabilities, cuda.reliabilities, atol=tolerance)


@pytest.mark.parametrize(("n", "missing"), [(1001, 0.0), (301, 0.1)])
def test_correlations_of_traits(n, missing):
    genotypes = simulate_genotypes(n, 2001, missing_rate=0.01, seed=6)
    cpu, cuda = on_both(correlate, genotypes, traits(n, 2, missing), tolerance=1e-10)
    assert cpu.is_converged
    assert cuda.is_converged
    for name in ("genetic", "residual", "correlations", "correlation_errors"):
        np.testing.assert_allclose(
            getattr(cpu, name), getattr(cuda, name), rtol=1e-5, atol=1e-6, err_msg=name
        )
