"""Reliabilities against the inverse of Henderson's equations, and draws against these."""

from __future__ import annotations

import numpy as np
import pytest

from genoviz import iter_reliability, reliability, simulate_genotypes
from genoviz.cli.main import main
from genoviz.errors import ParameterError
from tests.oracles import mixed_models
from tests.oracles.genotypes import dosages_of

N, M = 60, 90
GENOTYPES = simulate_genotypes(N, M, missing_rate=0.02, seed=1)
AGE = np.random.default_rng(2).standard_normal(N)
PHENOTYPE = np.random.default_rng(3).standard_normal(N)
PHENOTYPE[::4] = np.nan
Z, SCALE = mixed_models.centred(dosages_of(GENOTYPES.packed, N))
KINSHIP = Z @ Z.T / SCALE


def expected(design, owners, weights, h2, repeatability):
    """1 - PEV / (K_ii vg) by the inverse of the equations of fixed, random, permanent effects.

    Breeding values are Zg, whose effects g have the inverse s / vg I.
    """
    ve, vp = 1 - repeatability, repeatability - h2
    columns = [design, Z[owners]] + ([np.eye(N)[owners]] if vp > 0 else [])
    rows = np.hstack(columns)
    left = rows.T @ (weights[:, None] * rows) / ve
    n = design.shape[1]
    left[n : n + M, n : n + M] += SCALE / h2 * np.eye(M)
    if vp > 0:
        left[n + M :, n + M :] += np.eye(N) / vp
    inverse = np.linalg.pinv(left)[n : n + M, n : n + M]
    errors = np.einsum("ij,jk,ik->i", Z, inverse, Z)
    return 1 - errors / (np.diag(KINSHIP) * h2)


def test_they_are_those_of_the_inverse(backend):
    found = reliability(GENOTYPES, PHENOTYPE, covariates=AGE, heritability=0.4, backend=backend)
    used = np.flatnonzero(~np.isnan(PHENOTYPE))
    design = np.column_stack([np.ones(N), AGE])[used]
    truth = expected(design, used, np.ones(len(used)), 0.4, 0.4)
    assert np.allclose(found.reliabilities, truth, atol=1e-9)
    assert not found.standard_errors.any()
    assert found.reliabilities[~np.isnan(PHENOTYPE)].mean() > found.reliabilities[::4].mean()


def records():
    generator = np.random.default_rng(5)
    owners = generator.integers(0, N, 3 * N)
    ages, weights = generator.normal(size=3 * N), generator.uniform(0.3, 3, 3 * N)
    return owners, ages, weights, generator.normal(size=3 * N)


def test_records_with_weights_and_permanent_effects():
    owners, ages, weights, phenotype = records()
    found = reliability(
        GENOTYPES, phenotype, samples=owners, weights=weights, covariates=ages, heritability=0.3,
        repeatability=0.5, backend="cpu",
    )  # fmt: skip
    design = np.column_stack([np.ones(3 * N), ages])
    assert np.allclose(found.reliabilities, expected(design, owners, weights, 0.3, 0.5), atol=1e-9)


@pytest.mark.parametrize("is_repeated", [False, True])
def test_draws_come_to_the_same_within_their_error(is_repeated, backend):
    phenotype, options = PHENOTYPE, {"covariates": AGE, "heritability": 0.4}
    if is_repeated:
        owners, ages, weights, phenotype = records()
        options = {
            "samples": owners, "covariates": ages, "weights": weights, "heritability": 0.3,
            "repeatability": 0.5,
        }  # fmt: skip
    exact = reliability(GENOTYPES, phenotype, **options, backend=backend)
    found = reliability(
        GENOTYPES, phenotype, **options, method="random", n_draws=400, backend=backend
    )
    assert found.n_draws == 400
    assert found.is_converged
    errors = (found.reliabilities - exact.reliabilities) / found.standard_errors
    assert found.standard_errors.max() < 0.36 * np.sqrt(2 / 400)
    # Of 60 numbers that are drawn together.
    assert np.abs(errors).max() < 5
    assert 0.4 < np.sqrt((errors**2).mean()) < 1.8


def test_more_is_known_with_each_draw():
    options = {"method": "random", "n_draws": 60, "backend": "cpu"}
    steps = list(iter_reliability(GENOTYPES, PHENOTYPE, **options))
    assert np.isnan(steps[0].reliabilities).all()
    assert steps[0].sentence == "reliabilities are not known yet"
    assert sorted({step.n_draws for step in steps}) == [0, 25, 50, 60]
    assert [step.fraction for step in steps] == sorted(step.fraction for step in steps)
    assert "by 60 draws" in steps[-1].sentence
    short = reliability(GENOTYPES, PHENOTYPE, **options, max_iterations=2)
    assert not short.is_converged
    assert "have not converged" in short.sentence


@pytest.mark.parametrize(
    ("options", "sentence"),
    [({"method": "some"}, "method is 'some'"), ({"n_draws": 1}, "n_draws is 1, needs at least 2")],
)
def test_what_cannot_be(options, sentence):
    with pytest.raises(ParameterError, match=sentence):
        reliability(GENOTYPES, PHENOTYPE, **options)


def test_the_command_adds_a_column(tmp_path, capfd):
    from genoviz import write_plink

    write_plink(GENOTYPES, tmp_path / "herd")
    rows = [f"{name},{value:.9g}".replace("nan", "NA") for name, value in
            zip(GENOTYPES.samples.ids.tolist(), PHENOTYPE, strict=True)]  # fmt: skip
    (tmp_path / "milk.csv").write_text("\n".join(["IID,milk", *rows]) + "\n")
    command = ["geno", "blup", str(tmp_path / "herd.bed"), "--pheno", str(tmp_path / "milk.csv")]
    with pytest.raises(SystemExit, match="0"):
        main([*command, "--h2", "0.4", "--reliability"])
    out, err = capfd.readouterr()
    header, *lines = (line.split("\t") for line in out.splitlines())
    told = np.array([line[header.index("RELIABILITY")] for line in lines], float)
    truth = reliability(GENOTYPES, PHENOTYPE, heritability=0.4, backend="cpu")
    assert np.allclose(told, truth.reliabilities, atol=1e-6)
    assert "mean reliability" in err
    with pytest.raises(SystemExit, match="2"):
        main([*command, "--reliability", "--cross-validate", "3"])
    assert "--reliability takes SNP-BLUP or GBLUP" in " ".join(capfd.readouterr().err.split())
