"""Principal components, against PLINK 2 and dense eigenvectors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh

from genoviz import (
    ParameterError,
    iter_principal_components,
    principal_components,
    relationship_matrix,
    select_samples,
)
from genoviz.analyses.genotypes import variant_blocks
from tests.analyses.genotypes.test_statistics import genotypes_of
from tests.oracles.genotypes import dosages_of
from tests.plink import Plink, numbers, plink_files, read_real, write_table


def standardised(genotypes):
    """Return Z / sqrt(m), dense."""
    dosages = dosages_of(genotypes.packed, genotypes.n_samples)
    p = np.nanmean(dosages, 0) / 2
    is_varied = (p > 0) & (p < 1)
    scale = np.sqrt(np.where(is_varied, 2 * p * (1 - p), np.inf))
    return np.nan_to_num((dosages - 2 * p) / scale) / np.sqrt(is_varied.sum())


def population_codes(n_samples, n_variants, seed=1):
    rng = np.random.default_rng(seed)
    group = np.arange(n_samples) % 4
    frequencies = rng.uniform(0.02, 0.98, (4, n_variants))
    codes = np.array([3, 2, 0])[rng.binomial(2, frequencies[group])]
    codes[rng.random(codes.shape) < 0.03] = 1
    return codes


def test_components_are_eigenvectors(backend, monkeypatch):
    monkeypatch.setattr(variant_blocks, "CPU_GENOTYPES", 4000)
    monkeypatch.setattr(variant_blocks, "CUDA_GENOTYPES", 4000)
    codes = population_codes(120, 150)
    codes[:, 5] = 3
    genotypes = genotypes_of(codes)
    z = standardised(genotypes)
    values, vectors = np.linalg.eigh(z @ z.T)
    steps = list(
        iter_principal_components(
            genotypes, n_components=3, tolerance=1e-9, n_iterations=30, backend=backend
        )
    )
    found = steps[-1].result
    assert [step.fraction for step in steps] == sorted(step.fraction for step in steps)
    assert len(steps) > 10
    np.testing.assert_allclose(found.eigenvalues, values[:-4:-1])
    np.testing.assert_allclose(found.explained, values[:-4:-1] / values.sum())
    alike = np.abs((found.scores / np.sqrt(found.eigenvalues)).T @ vectors[:, :-4:-1])
    np.testing.assert_allclose(alike, np.eye(3), atol=1e-8)
    np.testing.assert_allclose(found.loadings.T @ found.loadings, np.eye(3), atol=1e-8)
    np.testing.assert_allclose(z @ found.loadings, found.scores, atol=1e-8)
    assert (found.loadings[5] == 0).all()
    assert (found.residuals <= 1e-9).all()


def check_usual_components(genotypes, **contigs):
    """Compare what is found without options of the iteration with a dense decomposition."""
    z = standardised(genotypes)
    n = len(z)
    values, vectors = eigh(z @ z.T, subset_by_index=[n - 10, n - 1])
    found = principal_components(genotypes, **contigs)
    np.testing.assert_allclose(found.eigenvalues, values[::-1], rtol=1e-6)
    alike = np.abs((found.scores / np.sqrt(found.eigenvalues) * vectors[:, ::-1]).sum(0))
    assert (alike > 0.99999).all()
    rest = z @ (z.T @ found.scores) - found.scores * found.eigenvalues
    lengths = np.linalg.norm(rest, axis=0) / found.eigenvalues**1.5
    np.testing.assert_allclose(found.residuals, lengths, rtol=1e-3, atol=1e-9)
    assert found.is_converged
    assert found.residual == found.residuals.max() <= 1e-4


@pytest.mark.parametrize("kind", ["groups", "unrelated"])
def test_usual_components_are_those_of_the_dense_matrix(kind):
    codes = population_codes(200, 600)
    if kind == "unrelated":
        codes = np.random.default_rng(2).choice([0, 2, 3], codes.shape)
    check_usual_components(genotypes_of(codes))


@pytest.mark.parametrize("name", ["mice_bglr", "wheat_bglr", "maize_mdp"])
def test_usual_components_of_real_data_are_those_of_the_dense_matrix(name):
    genotypes = read_real(plink_files(name))
    step = 1 + genotypes.n_variants // 4000
    few = genotypes.take_variants(np.arange(0, genotypes.n_variants, step))
    few = select_samples(few, np.arange(0, few.n_samples, 1 + few.n_samples // 600))
    check_usual_components(few, contigs="all")  # those of mice have X


def test_components_that_are_not_exact_enough_say_so():
    genotypes = genotypes_of(np.random.default_rng(1).choice([0, 2, 3], (200, 60)))
    found = principal_components(genotypes, n_components=2, n_iterations=2)
    assert not found.is_converged
    assert found.n_iterations == 2
    assert found.sentence == (
        f"2 iterations, largest residual {found.residual:.2g}, not converged: the last "
        "components may be far off"
    )
    exact = principal_components(genotypes, n_components=2)
    assert (
        exact.sentence == f"{exact.n_iterations} iterations, largest residual {exact.residual:.2g}"
    )
    assert 2 < exact.n_iterations < 30


def test_residuals_tell_how_exact_components_are():
    genotypes = genotypes_of(np.random.default_rng(1).choice([0, 2, 3], (200, 60)))
    z = standardised(genotypes)
    rough = principal_components(genotypes, n_components=2, n_iterations=1)
    vectors = rough.scores / np.sqrt(rough.eigenvalues)
    rest = z @ (z.T @ vectors) - vectors * rough.eigenvalues
    np.testing.assert_allclose(
        rough.residuals, np.linalg.norm(rest, axis=0) / rough.eigenvalues, rtol=1e-6
    )
    better = principal_components(genotypes, n_components=2, n_iterations=4, tolerance=0)
    assert (better.residuals < rough.residuals / 10).all()


@pytest.mark.parametrize("shape", [(1, 1), (2, 5), (5, 2), (12, 200), (40, 3)])
def test_small_data_have_as_many_components_as_there_are(shape):
    codes = np.random.default_rng(3).choice([0, 2, 3], shape)
    codes[0, 0], codes[-1, 0] = (2, 2) if shape[0] == 1 else (0, 3)
    genotypes = genotypes_of(codes)
    z = standardised(genotypes)
    found = principal_components(genotypes, n_components=50, tolerance=0, n_iterations=40)
    values = np.linalg.eigvalsh(z @ z.T)[::-1]
    rank = int((values > 1e-9).sum())
    assert len(found) == rank
    components = "1 principal component" if rank == 1 else f"{rank} principal components"
    assert found.notes == (f"The genotypes have {components}, fewer than 50.",)
    np.testing.assert_allclose(found.eigenvalues, values[:rank], rtol=1e-8)
    np.testing.assert_allclose(found.scores @ found.scores.T, z @ z.T, atol=1e-8)


@pytest.mark.parametrize("name", ["maize_mdp", "mice_bglr"])
def test_components_are_plinks(name, tmp_path):
    files, plink = plink_files(name), Plink("plink2", tmp_path)
    genotypes = read_real(files)
    contigs = np.array(genotypes.variants.contigs)[genotypes.variants.contig_ids]
    genotypes = genotypes.take_variants(np.flatnonzero(contigs != "X"))
    genotypes = select_samples(genotypes, np.arange(280))
    who = (genotypes.samples.family_ids, genotypes.samples.ids)
    kept = str(write_table(tmp_path / "keep.txt", who, {}))
    plink(files, "--pca", "4", "--mac", "1", "--autosome", "--keep", kept)
    found = principal_components(genotypes, n_components=4, tolerance=1e-6, n_iterations=60)
    np.testing.assert_allclose(found.eigenvalues, plink.matrix("eigenval")[:, 0], rtol=1e-5)
    table = plink.table("eigenvec")
    theirs = np.column_stack([numbers(table[f"PC{k}"]) for k in range(1, 5)])
    signs = np.sign((theirs * found.scores).sum(0))
    ours = found.scores / np.sqrt(found.eigenvalues) * signs
    np.testing.assert_allclose(ours, theirs, atol=2e-5)


def test_relationships_of_components_are_those_of_the_matrix():
    genotypes = genotypes_of(population_codes(60, 90))
    found = principal_components(genotypes, n_components=60, tolerance=0, n_iterations=40)
    no_missing = genotypes_of(np.where(population_codes(60, 90) == 1, 2, population_codes(60, 90)))
    matrix = relationship_matrix(no_missing, method="gcta").values
    whole = principal_components(no_missing, n_components=60, tolerance=0, n_iterations=40)
    np.testing.assert_allclose(whole.scores @ whole.scores.T, matrix, atol=1e-8)
    assert found.explained.sum() == pytest.approx(1)


def test_populations_lie_apart():
    group = np.arange(200) % 4
    scores = principal_components(genotypes_of(population_codes(200, 300)), n_components=3).scores
    between = sum(50 * scores[group == k].mean(0) ** 2 for k in range(4))
    assert (between > 0.9 * (scores**2).sum(0)).all()


def test_what_has_no_components_says_so():
    with pytest.raises(ParameterError, match="none of 1 variant varies among 3 samples"):
        principal_components(genotypes_of([[3], [3], [1]]))
    with pytest.raises(ParameterError, match="n_components is 0, needs to be 1 or more"):
        principal_components(genotypes_of([[3], [0]]), n_components=0)
    with pytest.raises(ParameterError, match="tolerance is nan, needs to be 0 or more"):
        principal_components(genotypes_of([[3], [0]]), tolerance=np.nan)
