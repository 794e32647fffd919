"""Relationships of metafounders: estimated from genotypes, read from files, given to commands."""

from __future__ import annotations

import numpy as np
import pytest

from genoviz import (
    base_share,
    drop_genotypes,
    estimate_gamma,
    heritability_in_gamma,
    multi_trait,
    read_gamma,
    simulate_genotypes,
    simulate_pedigree,
    single_step,
    snp_blup,
    write_plink,
)
from genoviz.cli.main import main
from genoviz.errors import FileFormatError, ParameterError
from genoviz.model.genotypes.genotypes import Genotypes
from genoviz.model.genotypes.pedigree import Pedigree
from tests.oracles.genotypes import codes_of, pack

M = 400


def populations(seed, n_groups, n_founders=40):
    """Half of a pedigree with genotypes, its founders of groups, and the gamma of their alleles."""
    rng = np.random.default_rng(seed)
    plain = simulate_pedigree(n_founders, 3, seed=seed)
    group = rng.integers(0, n_groups, len(plain))
    parents = [np.where(column < 0, -2 - group, column) for column in (plain.sires, plain.dams)]
    names = np.array([f"-{k + 1}" for k in range(n_groups)])
    pedigree = Pedigree(plain.ids, *parents, groups=names)
    common = rng.uniform(0.1, 0.9, M)
    frequencies = np.clip(common + rng.normal(0, 0.15, (n_groups, M)), 0.02, 0.98)
    founders = np.flatnonzero(plain.sires < 0)
    dosages = rng.binomial(2, frequencies[group[founders]])
    base = simulate_genotypes(len(founders), M, seed=1)
    codes = np.array([3, 2, 0])[dosages]
    base = Genotypes(pack(codes), base.samples, base.variants)
    everybody = drop_genotypes(pedigree, base, seed=seed)
    chosen = np.sort(rng.permutation(len(plain))[: len(plain) // 2])
    genotypes = Genotypes(
        pack(codes_of(everybody.packed, len(plain))[chosen]),
        everybody.samples.take(chosen), everybody.variants,
    )  # fmt: skip
    return genotypes, pedigree, 8 * (frequencies - 0.5) @ (frequencies - 0.5).T / M


@pytest.mark.parametrize("n_groups", [1, 2])
def test_gamma_is_that_of_the_frequencies(n_groups):
    """Each within 0.08, of sampling; and their mean error within 0.02, as it is not biased."""
    errors = []
    for seed in range(6):
        genotypes, pedigree, truth = populations(seed, n_groups)
        found = estimate_gamma(genotypes, pedigree, backend="cpu")
        errors.append(found - truth)
    assert truth[0, 0] > 0.4
    assert np.abs(errors).max() < 0.08
    assert np.abs(np.mean(errors, axis=0)).max() < 0.02


def test_gamma_does_not_depend_on_the_counted_allele():
    genotypes, pedigree, _ = populations(1, 2)
    codes = codes_of(genotypes.packed, genotypes.n_samples)
    codes[:, ::3] = np.array([3, 1, 2, 0])[codes[:, ::3]]
    flipped = Genotypes(pack(codes), genotypes.samples, genotypes.variants)
    found = [estimate_gamma(each, pedigree, backend="cpu") for each in (genotypes, flipped)]
    np.testing.assert_allclose(*found, atol=1e-12)


def test_groups_that_genotypes_do_not_tell_apart_are_named():
    genotypes, pedigree, _ = populations(2, 2)
    where = [np.where(column == -3, -4, column) for column in (pedigree.sires, pedigree.dams)]
    more = Pedigree(pedigree.ids, *where, groups=np.array(["-1", "-7", "-3"]))
    with pytest.raises(ParameterError, match=r"tell the groups .* apart: -7; join them"):
        estimate_gamma(genotypes, more, backend="cpu")
    genotypes, pedigree, _ = populations(2, 1, n_founders=20)
    of_one = np.random.default_rng(1).integers(-6, -1, (2, len(pedigree)))  # five are not there
    where = [np.where(column < 0, drawn, column) for column, drawn in
             zip((pedigree.sires, pedigree.dams), of_one, strict=True)]  # fmt: skip
    many = Pedigree(pedigree.ids, *where, groups=np.arange(5).astype(np.str_))
    with pytest.raises(ParameterError, match="40 genotyped animals are too few for 5 groups"):
        estimate_gamma(genotypes, many, backend="cpu")


def test_variances_of_founders_and_in_gamma_are_of_the_same_values():
    """The expected variance among founders is the mean of the diagonal less that of all entries."""
    gamma = np.array([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.1, 0.3, 0.9]])
    n = 1500  # a third of each metafounder
    group = np.repeat(np.arange(3), n // 3)
    related = gamma[group[:, None], group]
    related[np.diag_indices(n)] = 1 + gamma[group, group] / 2
    none = np.full(n, -1)
    parents = -2 - group
    pedigree = Pedigree(np.arange(n).astype(str), parents, parents, groups=np.array([*"abc"]))
    share = base_share(pedigree.with_gamma(gamma), "founders")
    assert share == pytest.approx(related.diagonal().mean() - related.mean(), abs=2 / n)
    assert base_share(pedigree.with_gamma(gamma), "metafounders") == 1
    plain = Pedigree(pedigree.ids, none, none)
    assert base_share(plain.with_gamma(0.4), "founders") == pytest.approx(1 - 0.4 / 2)
    with pytest.raises(ParameterError, match="no metafounders"):
        base_share(plain, "founders")
    with pytest.raises(ParameterError, match="base 'genotypes' needs genotypes"):
        base_share(plain.with_gamma(0.4), "genotypes")


def test_the_heritability_of_genotypes_gives_variants_the_same_effects():
    """Of genotyped animals alone single step is SNP-BLUP, but for the weight of the pedigree."""
    genotypes, *_ = populations(5, 1, n_founders=30)
    ids, n = genotypes.samples.ids, genotypes.n_samples
    unknown = np.full(n, -1)
    related = Pedigree(ids, unknown, unknown).with_gamma(0.5)
    values = np.random.default_rng(2).normal(size=n)
    share = base_share(related, "genotypes", genotypes, backend="cpu")
    assert share < 0.95
    expected = snp_blup(genotypes, values, heritability=0.4, backend="cpu").effects
    found = single_step(
        genotypes, related, values, form="ssGTABLUP", polygenic_weight=1e-5,
        heritability=heritability_in_gamma(0.4, share), backend="cpu",
    ).effects  # fmt: skip
    np.testing.assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())


def test_a_heritability_and_a_repeatability_of_another_base():
    genetic, permanent, residual = 3.0, 1.0, 4.0  # of the other base; genetic 5.0 in A^Gamma
    total = genetic + permanent + residual
    given = genetic / total, 0.6
    assert heritability_in_gamma(*given) == pytest.approx(5 / 10)
    together = heritability_in_gamma(*given, (genetic + permanent) / total)
    assert together == pytest.approx(6 / 10)


@pytest.mark.parametrize("form", ["ssSNPBLUP", "ssGTABLUP"])
@pytest.mark.parametrize("n_traits", [1, 2])
def test_metafounders_cost_no_iterations(form, n_traits):
    """They did twice as many: next to nothing is said of a value that all animals have."""
    genotypes, pedigree, truth = populations(4, 2)
    rng = np.random.default_rng(1)
    values = rng.normal(size=(len(pedigree), n_traits))
    plain = Pedigree(
        pedigree.ids, *(np.maximum(column, -1) for column in (pedigree.sires, pedigree.dams))
    )
    related = pedigree.with_gamma(truth)
    if n_traits == 1:
        found = [
            single_step(genotypes, each, values[:, 0], form=form, backend="cpu")
            for each in (plain, related)
        ]
    else:
        covariances = {"genetic": np.array([[0.5, 0.2], [0.2, 0.4]]), "residual": np.eye(2)}
        found = [
            multi_trait(genotypes, each, values, form=form, backend="cpu", **covariances)
            for each in (plain, related)
        ]
    assert all(each.is_converged for each in found)
    assert found[1].iteration < 1.25 * found[0].iteration


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.5 0.1\n0.1 0.6\n", [[0.5, 0.1], [0.1, 0.6]]),
        ("# -2 -1\n-2 0.6 0.1\n-1 0.1 0.5\n", [[0.5, 0.1], [0.1, 0.6]]),
        ("#group\t-3\t-1\t-2\n-3\t1\t0\t0\n-1\t0\t.5\t.1\n-2\t0\t.1\t.6\n",
         [[0.5, 0.1], [0.1, 0.6]]),
    ],
)  # fmt: skip
def test_a_file_of_gamma(tmp_path, text, expected):
    (tmp_path / "gamma.txt").write_text(text)
    found = read_gamma(tmp_path / "gamma.txt", np.array(["-1", "-2"]))
    assert found.tolist() == expected


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("0.5 0.1\n", r"has a table of shape \(1, 2\), needs \(2, 2\)"),
        ("0.5 0.1\n0.1\n", "needs a line of numbers for each group"),
        ("\n", r"has a table of shape \(0,\), needs \(2, 2\)"),
        ("0.5 x\n0.1 1\n", "needs a line of numbers for each group"),
        ("# -1 -2\n-2 1 0\n-1 0 1\n", "names other groups in its first line than before"),
        ("# -1 -3\n-1 1 0\n-3 0 1\n", "has no group -2"),
    ],
)
def test_what_is_no_file_of_gamma(tmp_path, text, sentence):
    (tmp_path / "gamma.txt").write_text(text)
    with pytest.raises(FileFormatError, match=sentence):
        read_gamma(tmp_path / "gamma.txt", np.array(["-1", "-2"]))


def test_the_command_takes_or_estimates_gamma(tmp_path, capfd):
    genotypes, pedigree, _ = populations(3, 2, n_founders=20)
    n = len(pedigree)
    phenotype = np.random.default_rng(1).normal(size=n).round(6)
    write_plink(genotypes, tmp_path / "herd")
    (tmp_path / "milk.csv").write_text(
        "IID,milk\n" + "".join(f"{a},{p}\n" for a, p in zip(pedigree.ids, phenotype, strict=True))
    )
    names = np.append(pedigree.ids, pedigree.groups[::-1])  # a group's number counts from the end
    numbers = [np.where(c < 0, c + 1, c) for c in (pedigree.sires, pedigree.dams)]
    rows = zip(pedigree.ids, names[numbers[0]], names[numbers[1]], strict=True)
    (tmp_path / "herd.ped").write_text("".join(" ".join(row) + "\n" for row in rows))
    (tmp_path / "gamma.txt").write_text("0.5 0.1\n0.1 0.6\n")
    command = ["geno", "blup", str(tmp_path / "herd.bed"), "--pheno", str(tmp_path / "milk.csv")]
    single = [*command, "--method", "ssSNPBLUP", "--pedigree", str(tmp_path / "herd.ped")]
    given = np.array([[0.5, 0.1], [0.1, 0.6]])
    for gamma, matrix in (
        (str(tmp_path / "gamma.txt"), given),
        ("estimate", estimate_gamma(genotypes, pedigree, backend="cpu")),
    ):
        with pytest.raises(SystemExit, match="0"):
            main([*single, "--gamma", gamma])
        out, err = capfd.readouterr()
        header, *lines = (line.split("\t") for line in out.splitlines())
        told = np.array([line[header.index("BREEDING_VALUE")] for line in lines], float)
        found = single_step(genotypes, pedigree.with_gamma(matrix), phenotype, backend="cpu")
        np.testing.assert_allclose(told, [*found.breeding_values, *found.group_effects], atol=1e-5)
        assert "times that of unrelated founders" in err
    assert "gamma is estimated: " in err
    with pytest.raises(SystemExit, match="0"):
        main([*single, "--gamma", str(tmp_path / "gamma.txt"), "--variance-base", "founders"])
    out, err = capfd.readouterr()
    told = [line.split("\t")[header.index("BREEDING_VALUE")] for line in out.splitlines()[1:]]
    h2 = heritability_in_gamma(0.5, 1 + 0.55 / 2 - 0.325)
    related = pedigree.with_gamma(given)
    found = single_step(genotypes, related, phenotype, heritability=h2, backend="cpu")
    expected = [*found.breeding_values, *found.group_effects]
    np.testing.assert_allclose(np.array(told, float), expected, atol=1e-5)
    assert f"the heritability in A^Gamma is {h2:.4g}" in err
    with pytest.raises(SystemExit, match="2"):
        main([*single, "--variance-base", "founders"])
    assert "--variance-base takes --gamma" in " ".join(capfd.readouterr().err.split())
    with pytest.raises(SystemExit, match="1"):
        main([*single, "--gamma", "0.5"])
    assert "gamma is float64 of shape (1, 1), needs float64 of (2, 2)" in capfd.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main([*command, "--gamma", "0.5"])
    assert "--gamma and --polygenic-weight have no effect without" in " ".join(
        capfd.readouterr().err.split()
    )
