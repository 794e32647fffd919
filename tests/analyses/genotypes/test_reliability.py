"""Reliabilities against the inverse of Henderson's equations, and draws against these."""

from __future__ import annotations

import numpy as np
import pytest

from genoviz import iter_reliability, reliability, simulate_pedigree
from genoviz.cli.main import main
from genoviz.errors import ParameterError
from genoviz.model.genotypes.genotypes import Genotypes, SampleTable
from tests.analyses.genotypes.test_single_step import gamma_of, in_groups, metafounder_inverse
from tests.genotype_sets import draw_genotypes
from tests.oracles import mixed_models
from tests.oracles.genotypes import dosages_of, pack
from tests.oracles.pedigree import group_shares, relationships

N, M = 60, 90
GENOTYPES = draw_genotypes(N, M, 1, missing_rate=0.02)
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


def single_step_case(seed, kind):
    """Arguments of `reliability`, and what Henderson's equations have: design, H^-1, H_ii."""
    generator = np.random.default_rng(seed)
    pedigree = simulate_pedigree(9, 3, seed=seed)
    n_groups = 0 if kind == "no groups" else 2
    if n_groups:
        is_whole = kind != "some groups"
        pedigree = in_groups(pedigree, generator, n_groups, all_of_them=is_whole)
    if kind == "metafounders":
        pedigree = pedigree.with_gamma(gamma_of(generator, n_groups))
    n = len(pedigree)
    genotyped = generator.permutation(n)[: n // 2]
    codes = generator.choice([0, 1, 2, 3], (n // 2, 40), p=[0.3, 0.05, 0.4, 0.25])
    names = SampleTable.from_ids(pedigree.ids[genotyped])
    genotypes = Genotypes(pack(codes), names, GENOTYPES.variants.take(np.arange(40)))
    owners = generator.integers(0, n, 3 * n)
    ages, phenotype = generator.normal(size=(2, 3 * n))
    weights = generator.uniform(0.3, 3, 3 * n)
    arguments = {
        "genotypes": genotypes, "pedigree": pedigree, "phenotype": phenotype, "samples": owners,
        "covariates": ages, "weights": weights, "heritability": 0.3, "repeatability": 0.5,
        "backend": "cpu",
    }  # fmt: skip
    design = np.column_stack([np.ones(3 * n), ages])
    if kind == "metafounders":
        inverse, _ = metafounder_inverse(pedigree, genotyped, genotypes)
    else:
        table = relationships(pedigree.sires, pedigree.dams)
        z, scale = mixed_models.centred(dosages_of(genotypes.packed, n // 2))
        inverse, _ = mixed_models.single_step_inverse(table, genotyped, z, scale, 0.2)
        if n_groups:
            shares = group_shares(pedigree.sires, pedigree.dams, n_groups)
            design = np.hstack([design, shares[owners]])
    incidence = np.eye(n, len(inverse))[owners]
    truth = of_henderson(design, incidence, owners, weights, inverse, 0.3, 0.5)[:n]
    return arguments, truth, genotyped


def of_henderson(design, incidence, owners, weights, inverse, h2, repeatability):
    """1 - PEV / (H_ii vg), by the inverse of the equations of fixed, random, permanent effects."""
    ve, vp = 1 - repeatability, repeatability - h2
    n, m, n_animals = design.shape[1], len(inverse), owners.max() + 1
    rows = np.hstack([design, incidence, np.eye(n_animals)[owners]])
    left = rows.T @ (weights[:, None] * rows) / ve
    left[n : n + m, n : n + m] += inverse / h2
    left[n + m :, n + m :] += np.eye(n_animals) / vp
    errors = np.diag(np.linalg.pinv(left, rcond=1e-12))[n : n + m]
    return 1 - errors / (np.diag(np.linalg.inv(inverse)) * h2)


KINDS = ["no groups", "all groups", "some groups", "metafounders"]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", KINDS)
def test_single_step_has_those_of_the_inverse(kind, seed):
    arguments, truth, genotyped = single_step_case(seed, kind)
    found = reliability(**arguments)
    assert not found.standard_errors.any()
    np.testing.assert_allclose(found.reliabilities, truth, atol=1e-9)
    assert found.reliabilities.min() > -1e-9
    assert found.reliabilities[genotyped].mean() > 0.1


@pytest.mark.parametrize("kind", KINDS)
def test_draws_of_single_step_come_to_the_same_within_their_error(kind):
    arguments, truth, _ = single_step_case(1, kind)
    found = reliability(**arguments, method="random", n_draws=400, tolerance=1e-10)
    assert found.is_converged
    assert found.standard_errors.max() < 0.36 * np.sqrt(2 / 400)
    errors = (found.reliabilities - truth) / found.standard_errors
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
    [
        ({"method": "some"}, "method is 'some'"),
        ({"n_draws": 1}, "n_draws is 1, needs at least 2"),
        ({"polygenic_weight": 1.0}, "polygenic_weight is 1.0, needs more than 0 and less than 1"),
    ],
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
    assert "--reliability takes no --cross-validate" in " ".join(capfd.readouterr().err.split())


def test_the_command_adds_a_column_to_single_step(tmp_path, capfd):
    from genoviz import write_plink

    arguments, _, _ = single_step_case(1, "all groups")
    pedigree, owners = arguments["pedigree"], arguments["samples"]
    write_plink(arguments["genotypes"], tmp_path / "herd")
    names = np.append(pedigree.ids, pedigree.groups[::-1])  # a group's number counts from the end
    numbers = [np.where(c < 0, c + 1, c) for c in (pedigree.sires, pedigree.dams)]
    rows = zip(pedigree.ids, names[numbers[0]], names[numbers[1]], strict=True)
    (tmp_path / "herd.ped").write_text("".join(" ".join(row) + "\n" for row in rows))
    columns = [pedigree.ids[owners]]
    columns += [arguments[name] for name in ("phenotype", "covariates", "weights")]
    rows = [f"{name},{y!r},{x!r},{w!r}" for name, y, x, w in
            zip(*(column.tolist() for column in columns), strict=True)]  # fmt: skip
    (tmp_path / "milk.csv").write_text("\n".join(["IID,milk,age,n", *rows]) + "\n")
    command = ["geno", "blup", str(tmp_path / "herd.bed"), "--pheno", str(tmp_path / "milk.csv")]
    command += ["--pedigree", str(tmp_path / "herd.ped")]
    options = "--method ssGTABLUP --h2 0.3 --repeatability 0.5 --weight n --covariate age"
    with pytest.raises(SystemExit, match="0"):
        main([*command, *options.split(), "--reliability"])
    out, err = capfd.readouterr()
    header, *lines = (line.split("\t") for line in out.splitlines())
    told = [line[header.index("RELIABILITY")] for line in lines]
    assert told[len(pedigree) :] == ["NA", "NA"]
    truth = reliability(**arguments).reliabilities
    assert np.allclose(np.array(told[: len(pedigree)], float), truth, atol=1e-6)
    assert "mean reliability" in err
