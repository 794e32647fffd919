"""Single step of several traits against Henderson's equations with all matrices dense."""

from __future__ import annotations

import numpy as np
import pytest

from genoviz import iter_multi_trait, multi_trait, simulate_pedigree, single_step, snp_blup
from genoviz.analyses.genotypes.prediction.mixed_solution import MixedSolution
from genoviz.cli.main import main
from genoviz.errors import ParameterError
from genoviz.model.genotypes.genotypes import Genotypes, SampleTable
from tests.analyses.genotypes.test_single_step import (
    AGE,
    EVERYBODY,
    GENOTYPED,
    GENOTYPES,
    PEDIGREE,
    PHENOTYPE,
    gamma_of,
    in_groups,
    metafounder_inverse,
)
from tests.genotype_sets import draw_half
from tests.oracles import mixed_models
from tests.oracles.genotypes import dosages_of, pack
from tests.oracles.pedigree import group_shares, metafounder_relationships, relationships

WEIGHT = 0.3
GENETIC, RESIDUAL = np.array([[0.6, 0.2], [0.2, 0.5]]), np.array([[0.9, -0.3], [-0.3, 0.5]])
PERMANENT = np.array([[0.3, 0.1], [0.1, 0.2]])


def test_solutions_of_an_effect_are_by_level_and_trait():
    solution = MixedSolution(
        np.array([0, 1]), np.array([0, 0]), np.array([0, 2]), np.array([1.0, 2.0]), None,
        np.ones(2), is_converged=True, seconds=0.0,
    )  # fmt: skip
    nothing = np.nan
    np.testing.assert_array_equal(
        solution.of_effect(0, 2), [[1, nothing], [nothing, nothing], [nothing, 2]]
    )
    assert solution.of_effect(1, 2).shape == (0, 2)


def positive(generator, size=2):
    half = generator.normal(size=(size, size))
    return half @ half.T + 0.3 * np.eye(size)


def henderson(values, design, owners, shares, inverse, covariances, weights):
    """Fixed effects with those of groups, breeding values without these, and permanent effects.

    Rows of records and columns of effects have the traits within them; inverse is that of H.
    """
    w = np.eye(len(inverse))[owners]
    fixed, animals, permanent = mixed_models.solve_traits(
        values, np.hstack([design, w @ shares]), w, w, covariances, weights, inverse
    )
    return *np.split(fixed, [design.shape[1]]), animals, permanent


@pytest.mark.parametrize("seed", range(20))
def test_two_traits_equal_an_inverted_h(seed):
    """Groups of unknown parents, repeated records, weights, and records without a trait."""
    generator = np.random.default_rng(seed)
    n_groups, all_of_them = seed % 4, seed % 3 > 0
    pedigree = simulate_pedigree(9, 3, seed=seed)
    if n_groups:
        pedigree = in_groups(pedigree, generator, n_groups, all_of_them=all_of_them)
    n = len(pedigree)
    variants = EVERYBODY.variants.take(np.arange(30))
    genotyped, genotypes = draw_half(pedigree, generator, variants)
    n_records = 4 * n
    animals = generator.integers(0, n, n_records)
    covariate = 5 + generator.normal(size=n_records)
    values = np.array([0, 3]) + generator.normal(size=(n_records, 2))
    values[generator.random((n_records, 2)) < 0.2] = np.nan
    covariate[::13] = np.nan
    weights = generator.uniform(0.2, 5, n_records)
    weights[::11] = np.nan
    covariances = [positive(generator) for _ in range(3)]
    shares = group_shares(pedigree.sires, pedigree.dams, n_groups) if n_groups else np.empty((n, 0))
    found = multi_trait(
        genotypes, pedigree, values, genetic=covariances[0], residual=covariances[1],
        permanent=covariances[2], covariates=covariate, animals=animals, weights=weights,
        form=("ssSNPBLUP", "ssGTABLUP")[seed % 2], polygenic_weight=WEIGHT, tolerance=1e-22,
        backend="cpu",
    )  # fmt: skip
    z, scale = mixed_models.centred(dosages_of(genotypes.packed, n // 2))
    table = relationships(pedigree.sires, pedigree.dams)
    inverse, genomic = mixed_models.single_step_inverse(table, genotyped, z, scale, WEIGHT)
    used = ~np.isnan(covariate) & ~np.isnan(weights) & ~np.isnan(values).all(axis=1)
    design = np.column_stack([np.ones(n_records), covariate])[used]
    fixed, of_groups, without, permanent = henderson(
        values[used], design, animals[used], shares, inverse, covariances, weights[used]
    )
    assert found.is_converged
    breeding = without + shares @ of_groups
    if n_groups and all_of_them:  # the intercept has what all have in common
        common = found.breeding_values.mean(axis=0) - breeding.mean(axis=0)
        breeding, of_groups = breeding + common, of_groups + common
        fixed[0] -= common
        assert np.abs(found.group_effects.mean(axis=0)).max() < 1e-12
    assert np.allclose(found.breeding_values, breeding, atol=1e-8)
    assert np.allclose(found.fixed_effects, fixed, atol=1e-8)
    assert np.allclose(found.permanent_effects, permanent, atol=1e-8)
    if n_groups:
        assert np.allclose(found.group_effects, of_groups, atol=1e-8)
    effects = (1 - WEIGHT) / scale * z.T @ (genomic @ without[genotyped])
    assert np.allclose(found.effects, effects, atol=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_a_pedigree_alone_equals_an_inverted_a(seed):
    generator = np.random.default_rng(seed)
    n_groups, all_of_them = seed, seed % 2 > 0
    pedigree = simulate_pedigree(9, 3, seed=seed)
    if n_groups:
        pedigree = in_groups(pedigree, generator, n_groups, all_of_them=all_of_them)
    n = len(pedigree)
    animals = generator.integers(0, n, 4 * n)
    values = generator.normal(5, 1, size=(4 * n, 3))
    values[generator.random(values.shape) < 0.3] = np.nan
    weights = generator.uniform(0.2, 5, 4 * n)
    covariances = [positive(generator, 3) for _ in range(3)]
    found = multi_trait(
        None, pedigree, values, genetic=covariances[0], residual=covariances[1],
        permanent=covariances[2], animals=animals, weights=weights, tolerance=1e-24,
    )  # fmt: skip
    shares = group_shares(pedigree.sires, pedigree.dams, n_groups)
    inverse = np.linalg.inv(relationships(pedigree.sires, pedigree.dams))
    fixed, groups, animal_values, permanent = henderson(
        values, np.ones((4 * n, 1)), animals, shares, inverse, covariances, weights
    )
    if n_groups and all_of_them:
        fixed, groups = fixed + groups.mean(axis=0), groups - groups.mean(axis=0)
    assert found.is_converged
    assert found.effects.shape == (0, 3)
    np.testing.assert_allclose(found.fixed_effects, fixed, atol=1e-8)
    np.testing.assert_allclose(found.group_effects, groups, atol=1e-8)
    np.testing.assert_allclose(found.breeding_values, animal_values + shares @ groups, atol=1e-8)
    np.testing.assert_allclose(found.permanent_effects, permanent, atol=1e-8)


@pytest.mark.parametrize("seed", range(6))
def test_genotypes_alone_equal_hendersons_equations_of_effects(seed):
    """Of variants with the inverse covariance s G0^-1, with records, or one of each sample."""
    generator = np.random.default_rng(seed)
    n, m, is_repeated = 30, 45, seed % 2 > 0
    codes = generator.choice([0, 1, 2, 3], (n, m), p=[0.3, 0.05, 0.4, 0.25])
    samples = SampleTable.from_ids(np.arange(n).astype(np.str_))
    genotypes = Genotypes(pack(codes), samples, EVERYBODY.variants.take(np.arange(m)))
    animals = generator.integers(0, n, 4 * n) if is_repeated else np.arange(n)
    covariate = generator.normal(size=len(animals))
    values = np.array([0, 3, -1]) + generator.normal(size=(len(animals), 3))
    values[generator.random(values.shape) < 0.3] = np.nan
    weights = generator.uniform(0.2, 5, len(animals))
    genetic, residual, permanent = (positive(generator, 3) for _ in range(3))
    found = multi_trait(
        genotypes, None, values, genetic=genetic, residual=residual,
        permanent=permanent if is_repeated else None, covariates=covariate, weights=weights,
        animals=animals if is_repeated else None, tolerance=1e-24, backend="cpu",
    )  # fmt: skip
    z, scale = mixed_models.centred(dosages_of(genotypes.packed, n))
    # The oracle's animals are variants, whose rows of the incidence matrix are those of Z.
    design = np.column_stack([np.ones(len(animals)), covariate])
    fixed, effects, expected = mixed_models.solve_traits(
        values, design, z[animals], np.eye(n)[animals] if is_repeated else None,
        (genetic / scale, residual, permanent), weights,
    )  # fmt: skip
    assert found.is_converged
    np.testing.assert_allclose(found.fixed_effects, fixed, atol=1e-8)
    np.testing.assert_allclose(found.effects, effects, atol=1e-8)
    np.testing.assert_allclose(found.breeding_values, z @ effects, atol=1e-8)
    if is_repeated:
        np.testing.assert_allclose(found.permanent_effects, expected, atol=1e-8)
    else:
        assert found.permanent_effects is None
    assert found.group_effects.shape == (0, 3)


def test_one_trait_of_genotypes_alone_has_the_values_of_snp_blup(backend):
    own = PHENOTYPE[GENOTYPED]
    options = {"covariates": AGE[GENOTYPED], "tolerance": 1e-22, "backend": backend}
    one = snp_blup(GENOTYPES, own, heritability=0.4, **options)
    found = multi_trait(GENOTYPES, None, own[:, None], genetic=[[0.8]], residual=[[1.2]], **options)
    np.testing.assert_allclose(found.breeding_values[:, 0], one.breeding_values, atol=1e-9)
    np.testing.assert_allclose(found.effects[:, 0], one.effects, atol=1e-9)
    np.testing.assert_allclose(found.fixed_effects[:, 0], one.fixed_effects, atol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_metafounders_equal_an_inverted_h(seed):
    """With genotypes and without; metafounders are random effects with no group beside them."""
    generator = np.random.default_rng(seed)
    n_groups, has_genotypes = 1 + seed % 3, seed % 2 > 0
    pedigree = in_groups(
        simulate_pedigree(9, 3, seed=seed), generator, n_groups, all_of_them=seed % 3 > 0
    ).with_gamma(gamma_of(generator, n_groups))
    n = len(pedigree)
    variants = EVERYBODY.variants.take(np.arange(30))
    genotyped, genotypes = draw_half(pedigree, generator, variants)
    animals = generator.integers(0, n, 4 * n)
    values = np.array([0, 3]) + generator.normal(size=(4 * n, 2))
    values[generator.random(values.shape) < 0.2] = np.nan
    weights = generator.uniform(0.2, 5, 4 * n)
    covariances = [positive(generator) for _ in range(3)]
    found = multi_trait(
        genotypes if has_genotypes else None, pedigree, values, genetic=covariances[0],
        form=("ssSNPBLUP", "ssGTABLUP")[seed % 4 // 2], residual=covariances[1],
        permanent=covariances[2], animals=animals, weights=weights,
        polygenic_weight=0.2, tolerance=1e-24, backend="cpu",
    )  # fmt: skip
    if has_genotypes:
        inverse, to_effects = metafounder_inverse(pedigree, genotyped, genotypes)
    else:
        order = np.roll(np.arange(n_groups + n), -n_groups)
        table = metafounder_relationships(pedigree.sires, pedigree.dams, pedigree.gamma)
        inverse = np.linalg.inv(table[np.ix_(order, order)])
    design, no_groups = np.ones((4 * n, 1)), np.empty((n + n_groups, 0))
    fixed, _, breeding, permanent = henderson(
        values, design, animals, no_groups, inverse, covariances, weights
    )
    assert found.is_converged
    np.testing.assert_allclose(found.fixed_effects, fixed, atol=1e-8)
    np.testing.assert_allclose(found.breeding_values, breeding[:n], atol=1e-8)
    np.testing.assert_allclose(found.group_effects, breeding[n:], atol=1e-8)
    np.testing.assert_allclose(found.permanent_effects, permanent[:n], atol=1e-8)
    if has_genotypes:
        np.testing.assert_allclose(found.effects, to_effects @ breeding[genotyped], atol=1e-8)


def test_groups_that_a_trait_does_not_tell_apart_are_named():
    generator = np.random.default_rng(1)
    pedigree = in_groups(simulate_pedigree(9, 3, seed=1), generator, 3, all_of_them=True)
    values = generator.normal(size=(len(pedigree), 2))
    shares = group_shares(pedigree.sires, pedigree.dams, 3)
    values[shares[:, 2] > 0, 1] = np.nan  # of the third group the second trait has nothing
    options = {"genetic": GENETIC, "residual": RESIDUAL, "max_iterations": 1}
    found = multi_trait(None, pedigree, values, **options)
    assert len(found.notes) == 1
    assert found.notes[0].startswith("Trait 2: Records cannot tell these groups")
    assert "fixed effects: -3; breeding values" in found.notes[0]
    found = multi_trait(None, pedigree, values[:, 1:], genetic=[[1]], residual=[[1]])
    assert found.notes[0].startswith("Records cannot tell these groups of unknown parents from")
    related = pedigree.with_gamma(gamma_of(generator, 3))
    assert multi_trait(None, related, values, **options).notes == ()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"phenotypes": [[1, np.inf], [2, 3], [3, 1]]}, "trait 2 has an infinite value, needs"),
        ({"phenotypes": [[1, 7], [2, 7], [3, 7]]}, "trait 2 is 7 in all 3 records that have it"),
        (
            {"phenotypes": [[1, 7], [2, np.nan], [3, np.nan]]},
            "trait 2 is 7 in the only record of it: there is nothing to learn",
        ),
        (
            {"phenotypes": [[1, 2e-99], [2, 0], [3, 1e-99]]},
            "trait 2 is .*e-99 at most, needs 1e-60",
        ),
        ({"animals": np.array([0.5, 1, 2])}, "animals are float64, need integers, one a record"),
    ],
)
def test_values_that_teach_nothing(change, sentence):
    arguments = {"phenotypes": [[1, 2], [2, 3], [3, 1]], "animals": np.arange(3)} | change
    phenotypes = np.array(arguments.pop("phenotypes"), float)
    with pytest.raises(ParameterError, match=sentence):
        multi_trait(None, PEDIGREE, phenotypes, genetic=GENETIC, residual=RESIDUAL, **arguments)


def test_one_trait_has_the_values_of_single_step():
    one = single_step(
        GENOTYPES, PEDIGREE, PHENOTYPE, covariates=AGE, heritability=0.4, polygenic_weight=WEIGHT,
        tolerance=1e-22, backend="cpu",
    )  # fmt: skip
    found = multi_trait(
        GENOTYPES, PEDIGREE, PHENOTYPE[:, None], genetic=[[0.8]], residual=[[1.2]],
        covariates=AGE, polygenic_weight=WEIGHT, tolerance=1e-22, backend="cpu",
    )  # fmt: skip
    assert np.allclose(found.breeding_values[:, 0], one.breeding_values, atol=1e-9)
    assert np.allclose(found.effects[:, 0], one.effects, atol=1e-9)
    assert np.allclose(found.fixed_effects[:, 0], one.fixed_effects, atol=1e-9)
    assert found.permanent_effects is None


def test_traits_that_have_nothing_in_common_are_predicted_as_alone(backend):
    both = np.column_stack([PHENOTYPE, np.roll(PHENOTYPE, 3)])
    apart = multi_trait(
        GENOTYPES, PEDIGREE, both, genetic=np.diag([0.8, 0.3]), residual=np.diag([1.2, 0.7]),
        tolerance=1e-20, backend=backend,
    )  # fmt: skip
    for trait, ratio in ((0, 0.8 / 2.0), (1, 0.3 / 1.0)):
        alone = single_step(
            GENOTYPES, PEDIGREE, both[:, trait], heritability=ratio, tolerance=1e-20,
            backend=backend,
        )  # fmt: skip
        assert np.allclose(apart.breeding_values[:, trait], alone.breeding_values, atol=1e-7)


def test_units_of_traits_change_nothing_but_units():
    both, units = np.column_stack([PHENOTYPE, np.roll(PHENOTYPE, 3)]), np.array([1.0, 2.0**13])
    # A power of two, so that nothing is rounded otherwise.
    plain = multi_trait(GENOTYPES, PEDIGREE, both, genetic=GENETIC, residual=RESIDUAL,
                        backend="cpu")  # fmt: skip
    scale = units[:, None] * units
    found = multi_trait(
        GENOTYPES, PEDIGREE, both * units, genetic=GENETIC * scale, residual=RESIDUAL * scale,
        backend="cpu",
    )  # fmt: skip
    assert found.iteration == plain.iteration
    assert np.allclose(found.breeding_values / units, plain.breeding_values, atol=1e-9)
    assert np.allclose(found.effects / units, plain.effects, atol=1e-9)


def test_a_trait_informs_the_other_and_iterates_are_told():
    """Animals without a value of the second trait are told apart by the first."""
    both = np.column_stack([PHENOTYPE, np.where(np.arange(len(PHENOTYPE)) < 9, PHENOTYPE, np.nan)])
    options = {"genetic": GENETIC, "residual": RESIDUAL, "backend": "cpu"}
    *_, last = iter_multi_trait(GENOTYPES, PEDIGREE, both, **options)
    alone = multi_trait(GENOTYPES, PEDIGREE, both[:, 1:], genetic=[[0.5]], residual=[[0.5]],
                        backend="cpu")  # fmt: skip
    assert last.breeding_values[:, 1].var() > alone.breeding_values[:, 0].var()
    assert last.sentence.startswith(f"{last.iteration} iterations, squared relative residual")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"phenotypes": PHENOTYPE}, r"phenotypes have shape \(\d+,\), need"),
        ({"phenotypes": np.ones((3, 2))}, "phenotypes have shape"),
        ({"genetic": np.eye(3)}, r"genetic has shape \(3, 3\), needs \(2, 2\)"),
        ({"genetic": -np.eye(2)}, "genetic is not positive definite"),
        (
            {"residual": np.array([[1, 2], [0, 1.0]])},
            "residual is not symmetric",
        ),
        ({"weights": np.ones(3)}, "weights have shape"),
        ({"weights": np.zeros(len(PEDIGREE))}, "weights have values that are not more than 0"),
        ({"animals": np.full(len(PEDIGREE), 10**6)}, "animals have numbers that are not from 0"),
        ({"covariates": np.ones(3)}, r"covariates have shape \(3, 1\), need"),
        ({"polygenic_weight": 0.0}, "polygenic_weight is 0.0"),
        ({"form": "GBLUP"}, "form is 'GBLUP', needs one of ssSNPBLUP, ssGTABLUP"),
        ({"genotypes": None, "pedigree": None}, "needs genotypes, a pedigree, or both"),
        ({"phenotypes": np.column_stack([PHENOTYPE, PHENOTYPE * np.nan])}, "trait 2 has no value"),
    ],
)
def test_what_cannot_be(change, sentence):
    both = np.column_stack([PHENOTYPE, PHENOTYPE])
    options = {"genotypes": GENOTYPES, "pedigree": PEDIGREE, "phenotypes": both} | change
    options = {"genetic": GENETIC, "residual": RESIDUAL} | options
    with pytest.raises(ParameterError, match=sentence):
        multi_trait(**options, backend="cpu")


@pytest.fixture
def herd(tmp_path):
    """Files of a herd, and the command that predicts two traits."""
    from genoviz import write_plink

    write_plink(GENOTYPES, tmp_path / "herd")
    parents = [("0" if p < 0 else str(PEDIGREE.ids[p])) for p in (*PEDIGREE.sires, *PEDIGREE.dams)]
    lines = zip(PEDIGREE.ids.tolist(), parents[: len(PEDIGREE)], parents[len(PEDIGREE) :],
                strict=True)  # fmt: skip
    (tmp_path / "herd.ped").write_text("".join(f"{a} {s} {d}\n" for a, s, d in lines))
    values = np.column_stack([PHENOTYPE, np.roll(PHENOTYPE, 5)])
    rows = [
        f"{name},{fat:.9g},{protein:.9g},{age:.9g}".replace("nan", "NA")
        for name, (fat, protein), age in zip(PEDIGREE.ids.tolist(), values, AGE, strict=True)
    ]
    (tmp_path / "milk.csv").write_text("\n".join(["IID,fat,protein,age", *rows]) + "\n")
    rows = ["#COMPONENT\tTRAIT1\tTRAIT2\tCOVARIANCE"]
    for component, matrix in (("genotypes", GENETIC), ("residual", RESIDUAL)):
        for pair in ((0, 0), (0, 1), (1, 1)):
            names = [("fat", "protein")[k] for k in pair]
            rows.append("\t".join([component, *names, str(matrix[pair])]))
    (tmp_path / "covariances.tsv").write_text("\n".join(rows) + "\n")
    command = ["geno", "multiblup", str(tmp_path / "herd.bed")]
    command += ["--pedigree", str(tmp_path / "herd.ped"), "--pheno", str(tmp_path / "milk.csv")]
    command += ["--trait", "fat", "--with", "protein", "--covariate", "age"]
    return values, [*command, "--covariances", str(tmp_path / "covariances.tsv")]


def run(command, capfd):
    with pytest.raises(SystemExit) as end:
        main(command)
    out, err = capfd.readouterr()
    header, *lines = (line.split("\t") for line in out.splitlines())
    return end.value.code, {name: [line[k] for line in lines] for k, name in enumerate(header)}, err


def test_the_command_has_columns_for_each_trait(herd, capfd):
    values, command = herd
    code, table, err = run(command, capfd)
    expected = multi_trait(
        GENOTYPES, PEDIGREE, values, genetic=GENETIC, residual=RESIDUAL, covariates=AGE,
        backend="cpu",
    )  # fmt: skip
    assert code == 0
    assert table["#ID"] == PEDIGREE.ids.tolist()
    assert sum(map(int, table["HAS_GENOTYPES"])) == GENOTYPES.n_samples
    for k, name in enumerate(("fat", "protein")):
        told = np.array(table[f"BREEDING_VALUE_{name}"], float)
        assert np.allclose(told, expected.breeding_values[:, k], atol=1e-5)
    assert "traits fat, protein: " in err
    code, table, err = run([*command, "--max-iterations", "3"], capfd)
    assert code == 3
    assert set(table["CONVERGED"]) == {"no"}


def test_the_command_takes_a_pedigree_alone_or_genotypes_alone(herd, capfd, tmp_path):
    values, command = herd
    common = {"genetic": GENETIC, "residual": RESIDUAL, "backend": "cpu"}
    genotypes, pedigree = command.index(str(tmp_path / "herd.bed")), command.index("--pedigree")
    alone = command[:genotypes] + command[genotypes + 1 :]
    code, table, _ = run(alone, capfd)
    expected = multi_trait(None, PEDIGREE, values, covariates=AGE, **common)
    assert code == 0
    assert list(table)[:2] == ["#ID", "BREEDING_VALUE_fat"]
    told = np.array(table["BREEDING_VALUE_protein"], float)
    assert np.allclose(told, expected.breeding_values[:, 1], atol=1e-5)
    alone = command[:pedigree] + command[pedigree + 2 :]
    code, table, _ = run([*alone, "--effects", str(tmp_path / "effects.tsv")], capfd)
    of_samples = {"covariates": AGE[GENOTYPED], **common}
    expected = multi_trait(GENOTYPES, None, values[GENOTYPED], **of_samples)
    assert code == 0
    assert list(table)[:3] == ["#FID", "IID", "BREEDING_VALUE_fat"]
    told = np.array(table["BREEDING_VALUE_protein"], float)
    assert np.allclose(told, expected.breeding_values[:, 1], atol=1e-5)
    header, *lines = (tmp_path / "effects.tsv").read_text().splitlines()
    place = header.split("\t").index("EFFECT_fat")
    told = np.array([line.split("\t")[place] for line in lines], float)
    assert np.allclose(told, expected.effects[:, 0], atol=1e-6)
    place = command.index("--with")
    code, table, err = run(command[:place] + command[place + 2 :], capfd)
    one = {name: common[name][:1, :1] for name in ("genetic", "residual")} | {"backend": "cpu"}
    expected = multi_trait(GENOTYPES, PEDIGREE, values[:, :1], covariates=AGE, **one)
    told = np.array(table["BREEDING_VALUE_fat"], float)
    assert np.allclose(told, expected.breeding_values[:, 0], atol=1e-5)
    assert "trait fat: " in err
    code, table, _ = run([*command, "--form", "ssGTABLUP"], capfd)
    expected = multi_trait(GENOTYPES, PEDIGREE, values, covariates=AGE, **common)
    told = np.array(table["BREEDING_VALUE_fat"], float)
    assert np.allclose(told, expected.breeding_values[:, 0], atol=1e-5)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("", "needs genotypes, --pedigree, or both"),
        ("--pedigree herd.ped", "--pheno is needed where there are no genotypes"),
        ("--pedigree herd.ped --pheno a --effects e.tsv", "--effects are of genotypes"),
        ("herd.bed --gamma 0.5", "--gamma takes a --pedigree"),
    ],
)
def test_inputs_of_the_command_that_do_not_fit(options, sentence, capfd):
    common = "--trait fat --with milk --covariances covariances.tsv"
    with pytest.raises(SystemExit, match="2"):
        main(["geno", "multiblup", *options.split(), *common.split()])
    assert sentence in " ".join(capfd.readouterr().err.split())


def test_records_of_the_command_have_permanent_effects(herd, capfd, tmp_path):
    values, command = herd
    with (tmp_path / "covariances.tsv").open("a") as file:
        for pair, value in (("fat\tfat", 0.3), ("fat\tprotein", 0.1), ("protein\tprotein", 0.2)):
            file.write(f"permanent\t{pair}\t{value}\n")
    lines = (tmp_path / "milk.csv").read_text().splitlines()
    (tmp_path / "milk.csv").write_text("\n".join([*lines, *lines[1:9]]) + "\n")
    code, table, _ = run(command, capfd)
    assert code == 0
    animals = np.append(np.arange(len(PEDIGREE)), np.arange(8))
    expected = multi_trait(
        GENOTYPES, PEDIGREE, values[animals], genetic=GENETIC, residual=RESIDUAL,
        permanent=PERMANENT, covariates=AGE[animals], animals=animals, backend="cpu",
    )  # fmt: skip
    told = np.array(table["PERMANENT_EFFECT_protein"], float)
    assert np.allclose(told, expected.permanent_effects[:, 1], atol=1e-5)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("residual", "rest", "line 5: has component 'rest', needs one of genotypes"),
        ("COVARIANCE", "V", "covariances.tsv: has no column COVARIANCE"),
        ("0.6", "x", "covariances.tsv, line 2: has 'x', needs a number"),
        ("fat\tprotein\t0.2", "fat\tprotein", "covariances.tsv, line 3: has 3 fields, needs 4"),
        ("fat\tprotein\t0.2", "fat\tmilk\t1", "has no covariance of fat and protein in component"),
        ("0.6", "-1", "genetic is not positive definite"),
        (
            "genotypes\tfat\tfat",
            "genotypes\tprotein\tfat\t9\ngenotypes\tfat\tfat",
            "line 4: has 0.2 for fat and protein, and 9 above",
        ),
    ],
)
def test_covariances_of_the_command_that_are_none(herd, capfd, tmp_path, old, new, sentence):
    text = (tmp_path / "covariances.tsv").read_text()
    assert old in text
    (tmp_path / "covariances.tsv").write_text(text.replace(old, new))
    with pytest.raises(SystemExit, match="1"):
        main(herd[1])
    assert sentence in capfd.readouterr().err
