"""Models of BLUPF90's parameter files: published solutions, and dense ones of random models.

The solutions with a source are those of Y. Masuda, Introduction to BLUPF90 suite programs (2019),
chapters "Quick tour" and "Numerical examples from Mrode (2014)".
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from genoviz import (
    GenomicRules,
    QualityRules,
    iter_solve_mixed_model,
    read_blupf90,
    solve_mixed_model,
)
from genoviz.cli.main import main
from genoviz.errors import FileFormatError, ParameterError
from tests.oracles.genomic_rules import PUBLISHED
from tests.oracles.pedigree import relationships as relate

QUICK = """
3.0 1 1 1.0  6   4.5
2.0 1 2 1.0  9   7.5
4.0 1 1 2.0 12   3.5
6.0 2 2 2.0  7  -0.5
3.0 2 1 1.0 10   5.5
6.0 2 2 2.0 13   1.5
6.0 3 1 2.0  8  -1.5
6.0 3 2 1.0 11   2.5
8.0 3 1 1.0 14   0.5
4.0 3 2 2.0 15   4.5
"""
QUICK_PEDIGREE = """
1 0 0
2 0 0
3 0 0
4 0 0
5 0 0
6 0 0
7 2 5
8 1 4
9 2 3
10 7 6
11 7 4
12 11 8
13 11 10
14 9 13
15 11 10
"""
MRODE = "4 1 1 0 4.5\n5 2 3 2 2.9\n6 2 1 2 3.9\n7 1 4 5 3.5\n8 1 3 6 5.0\n"
MRODE_PEDIGREE = "1 0 0\n2 0 0\n3 0 0\n4 1 0\n5 3 2\n6 1 2\n7 4 5\n8 3 6\n"


def parameters(effects, residual, groups, *, observations="1", traits=1, weights="", options=()):
    """The text of a parameter file."""
    lines = ["# comment", "DATAFILE", "data.txt", "NUMBER_OF_TRAITS", str(traits)]
    lines += ["NUMBER_OF_EFFECTS", str(len(effects)), "OBSERVATION(S)", observations]
    lines += ["WEIGHT(S)", weights, "EFFECTS: POSITIONS_IN_DATAFILE NUMBER_OF_LEVELS", *effects]
    lines += ["RANDOM_RESIDUAL VALUES  # of all traits", residual]
    for numbers, kind, file, covariance in groups:
        lines += ["RANDOM_GROUP", numbers, "RANDOM_TYPE", kind, "FILE", file]
        lines += ["(CO)VARIANCES", covariance]
    return "\n".join([*lines, *(f"OPTION {option}" for option in options), ""])


@pytest.fixture
def solve(tmp_path):
    """Write the files of a model, and return its solution by trait, effect and level from 1."""

    def run(data, text, **files):
        (tmp_path / "data.txt").write_text(data)
        for name, content in files.items():
            (tmp_path / f"{name}.txt").write_text(content)
        (tmp_path / "model.par").write_text(text)
        asked = read_blupf90(tmp_path / "model.par")
        found = solve_mixed_model(asked.model, standard_errors=asked.standard_errors)
        assert found.is_converged
        keys = zip(found.traits + 1, found.effects + 1, found.levels + 1, strict=True)
        values = found.values.tolist()
        if asked.standard_errors:
            values = list(zip(values, found.standard_errors.tolist(), strict=True))
        return dict(zip(((int(t), int(e), int(k)) for t, e, k in keys), values, strict=True))

    return run


def test_a_covariate_and_an_effect_without_relationships(solve):
    text = parameters(["2 3 cross", "3 2 cross", "4 1 cov"], "2.0", [("2", "diagonal", "", "1.0")])
    expected = {
        (1, 1, 1): 2.30434783, (1, 1, 2): 4.26086957, (1, 1, 3): 5.28260870,
        (1, 2, 1): 0.17391304, (1, 2, 2): -0.17391304, (1, 3, 1): 0.47826087,
    }  # fmt: skip
    assert solve(QUICK, text) == pytest.approx(expected, abs=1e-7)


def test_an_animal_model(solve):
    text = parameters(
        ["2 3 cross", "3 2 cross", "4 1 cov", "5 15 cross"],
        "2.0",
        [("4", "add_animal", "animals.txt", "0.5")],
        options=["solv_method FSPAK"],
    )
    found = solve(QUICK, text, animals=QUICK_PEDIGREE)
    animals = [
        -0.03487115, 0.08280493, 0.03843921, 0.04492008, 0.04436203, -0.17565609, 0.10794668,
        -0.02984646, 0.09906236, -0.25282594, 0.15622415, 0.10874296, 0.16426465, 0.34296714,
        -0.25707431,
    ]  # fmt: skip
    # That program had stopped at a larger residual.
    assert [found[1, 4, k + 1] for k in range(15)] == pytest.approx(animals, abs=2e-5)
    assert found[1, 3, 1] == pytest.approx(0.52442755, abs=2e-6)
    # Of two fixed effects only differences can be told.
    assert found[1, 1, 2] - found[1, 1, 1] == pytest.approx(2.21996461 - 0.20259645, abs=2e-6)
    assert found[1, 2, 1] + found[1, 1, 1] == pytest.approx(2.27537292 + 0.20259645, abs=2e-6)


def test_two_traits(solve):
    text = parameters(
        ["2 2 3 cross", "3 3 2 cross", "4 4 1 cov", "5 5 15 cross"],
        "2.0 1.0\n1.0 1.5",
        [("4", "add_animal", "animals.txt", "0.50 -0.25\n-0.25 1.00")],
        observations="1 6",
        traits=2,
    )
    found = solve(QUICK, text, animals=QUICK_PEDIGREE)
    first = [-0.02253416, 0.10792661, -0.02682949, 0.03164894, 0.13475233, -0.22496602, 0.25609198,
             -0.01797409, 0.01371895, -0.84143020, 0.19804880, 0.03355559, 0.10550434, 0.52502266,
             -1.00156891]  # fmt: skip
    second = [-0.04249548, -0.13113037, 0.09896514, -0.02495242, -0.23009750, 0.32971990,
              -0.41070894, -0.07622271, 0.08288296, 1.63889151, -0.20028530, 0.06720834, 0.07202442,
              -0.66337381, 2.01449847]  # fmt: skip
    for trait, expected in ((1, first), (2, second)):
        values = [found[trait, 4, k + 1] for k in range(15)]
        assert values == pytest.approx(expected, abs=2e-4)
    assert found[2, 3, 1] == pytest.approx(-2.42030677, abs=2e-4)


def test_standard_errors_of_an_animal_model(solve):
    """Mrode, example 3.1."""
    text = parameters(
        ["2 2 cross", "1 8 cross"], "40.0", [("2", "add_animal", "animals.txt", "20.0")],
        observations="5", options=["sol se"],
    )  # fmt: skip
    found = solve(MRODE, text, animals=MRODE_PEDIGREE)
    expected = {
        (1, 1, 1): (4.35850233, 4.88082357), (1, 1, 2): (3.40443010, 5.66554023),
        (1, 2, 1): (0.09844458, 4.34094096), (1, 2, 2): (-0.01877010, 4.43664612),
        (1, 2, 3): (-0.04108420, 4.27297922), (1, 2, 4): (-0.00866312, 4.13608581),
        (1, 2, 5): (-0.18573210, 4.13814812), (1, 2, 6): (0.17687209, 4.20610397),
        (1, 2, 7): (-0.24945855, 4.20407502), (1, 2, 8): (0.18261469, 4.11029997),
    }  # fmt: skip
    assert found.keys() == expected.keys()
    for key, pair in expected.items():
        assert found[key] == pytest.approx(pair, abs=1e-7)


def test_a_sire_model(solve):
    """Mrode, example 3.2: sire 2 is in no file, and has 0."""
    text = parameters(
        ["2 2 cross", "3 4 cross"], "55.0", [("2", "add_sire", "sires.txt", "5.0")],
        observations="5",
    )  # fmt: skip
    expected = {
        (1, 1, 1): 4.33567107, (1, 1, 2): 3.38198579, (1, 2, 1): 0.02200220, (1, 2, 2): 0.0,
        (1, 2, 3): 0.01402640, (1, 2, 4): -0.04304180,
    }  # fmt: skip
    assert solve(MRODE, text, sires="1 0 0\n3 0 0\n4 1 0\n") == pytest.approx(expected, abs=1e-7)


def test_groups_of_unknown_parents(solve):
    """Mrode, example 3.4, in differences; unknown sires are of group 9, dams of group 10."""
    pedigree = "1 9 10 3\n2 9 10 3\n3 9 10 3\n4 1 10 2\n5 3 2 1\n6 1 2 1\n7 4 5 1\n8 3 6 1\n"
    text = parameters(
        ["2 2 cross", "1 10 cross"], "40.0", [("2", "add_an_upg", "animals.txt", "20.0")],
        observations="5", options=["sol se"],
    )  # fmt: skip
    found = solve(MRODE, text, animals=pedigree)
    expected = [0.33201730, 0.17597293, 0.13611581, -0.16882873, 0.0, 0.37131040, -0.23933070,
                0.33117127, 1.09907877, -0.66967475]  # fmt: skip
    values = np.array([found[1, 2, k + 1][0] for k in range(10)])
    assert values - values[4] == pytest.approx(expected, abs=1e-6)
    # None of the effects can be estimated alone.
    assert all(np.isnan(error) for _, error in found.values())


def dense_solution(model):
    """Best linear unbiased estimates and predictions by the covariance V of all observations."""
    n, n_traits = model.observations.shape
    starts, sizes, end = [], [], 0
    for effect in model.effects:
        starts.append(end)
        end += 0 if effect.is_part_of_next else effect.n_levels
    for number in range(len(model.effects)):
        following = number
        while model.effects[following].is_part_of_next:
            following += 1
        sizes.append(model.effects[following].n_levels)
    design = np.zeros((n * n_traits, end * n_traits))
    for start, effect in zip(starts, model.effects, strict=True):
        for record, trait in np.argwhere(effect.levels >= 0):
            value = 1.0 if effect.covariates is None else effect.covariates[record, trait]
            place = (start + effect.levels[record, trait]) * n_traits + trait
            design[record * n_traits + trait, place] += value
    genetic = np.zeros((end * n_traits, end * n_traits))
    is_random = np.zeros(end * n_traits, bool)
    for group in model.random:
        size = sizes[group.effects[0]]
        relations = relationships(group.structure, size)
        places = [(starts[e] * n_traits + t, size) for e in group.effects for t in range(n_traits)]
        for (a, (first, _)), (b, (second, _)) in (
            (x, y) for x in enumerate(places) for y in enumerate(places)
        ):
            rows = first + n_traits * np.arange(size)
            columns = second + n_traits * np.arange(size)
            genetic[np.ix_(rows, columns)] = relations * group.covariance[a, b]
            is_random[rows] = True
    weights = np.ones(n) if model.weights is None else model.weights
    residual = np.kron(np.diag(1 / weights), model.residual)
    y = model.observations.ravel()
    seen = ~np.isnan(y)
    fixed, random = design[seen][:, ~is_random], design[seen][:, is_random]
    among = genetic[np.ix_(is_random, is_random)]
    v = random @ among @ random.T + residual[np.ix_(seen, seen)]
    weighted = np.linalg.solve(v, fixed)
    b = np.linalg.pinv(fixed.T @ weighted) @ (weighted.T @ y[seen])
    u = among @ random.T @ np.linalg.solve(v, y[seen] - fixed @ b)
    solution = np.zeros(end * n_traits)
    solution[~is_random], solution[is_random] = b, u
    return solution, design, is_random


def relationships(structure, size):
    """The covariances of levels, by the definition of the structure."""
    if structure is None:
        return np.eye(size)
    if hasattr(structure, "animals"):
        found = np.zeros((size, size))
        done = []
        rows = dict(zip(structure.animals.tolist(), range(size), strict=False))
        waiting = list(rows)
        while waiting:
            for animal in list(waiting):
                parents = structure.parents[rows[animal]]
                known = [(p, s) for p, s in zip(parents, structure.shares, strict=True) if p >= 0]
                if any(p not in done for p, _ in known):
                    continue
                of_others = sum((s * found[p] for p, s in known), np.zeros(size))
                found[animal, done] = found[done, animal] = of_others[done]
                of_parents = sum(s * of_others[p] for p, s in known)
                found[animal, animal] = of_parents + 1 / structure.precisions[rows[animal]]
                done.append(animal)
                waiting.remove(animal)
        return found
    matrix = np.zeros((size, size))
    matrix[structure.rows, structure.columns] = structure.values
    matrix[structure.columns, structure.rows] = structure.values
    return np.linalg.inv(matrix) if structure.is_inverse else matrix


def positive(generator, size):
    half = generator.normal(size=(size, size))
    return half @ half.T + np.eye(size)


def as_text(matrix):
    return "\n".join(" ".join(f"{value:.6f}" for value in row) for row in matrix)


@pytest.mark.parametrize("seed", range(8))
def test_random_models_have_the_solutions_of_dense_algebra(tmp_path, seed):
    """Maternal effects, regressions nested in animals, pen mates, weights, missing traits."""
    generator = np.random.default_rng(seed)
    n, n_animals, traits = 40, 25, 1 + seed % 2
    parents = [[generator.integers(0, k + 1), generator.integers(0, k + 1)] for k in
               range(n_animals)]  # fmt: skip
    pedigree = [f"{k + 1} {s if s <= k else 0} {d if d <= k else 0}" for k, (s, d) in
                enumerate(parents)]  # fmt: skip
    (tmp_path / "animals.txt").write_text("\n".join(generator.permutation(pedigree)) + "\n")
    matrix = positive(generator, 3)
    elements = [f"{i + 1} {j + 1} {matrix[i, j]:.6f}" for i in range(3) for j in range(i, 3)]
    (tmp_path / "matrix.txt").write_text("\n".join(elements) + "\n")
    y = generator.normal(size=(n, 2)) + 10
    y[generator.random((n, 2)) < 0.2] = -99
    columns = [
        generator.integers(1, n_animals + 1, n),  # 1 animal
        generator.integers(0, n_animals + 1, n),  # 2 dam, not always known
        generator.integers(1, 4, n),  # 3 herd
        generator.integers(1, 3, n),  # 4 sex
        generator.normal(size=n).round(3),  # 5 age
        generator.integers(1, n_animals + 1, n),  # 6 pen mates
        generator.integers(1, n_animals + 1, n),  # 7
        generator.uniform(0.5, 3, n).round(3),  # 8 weight
        y[:, 0].round(4), y[:, 1].round(4),
    ]  # fmt: skip
    data = "\n".join(" ".join(f"{x:g}" for x in row) for row in zip(*columns, strict=True))
    (tmp_path / "data.txt").write_text(data + "\n")

    def each(place, levels, kind, nested=""):
        again = f" {nested} {nested}" if traits == 2 else f" {nested}"
        places = f"{place} {place}" if traits == 2 else f"{place}"
        return f"{places} {levels} {kind}{again if nested else ''}"

    second = each(5, 1, "cov") if traits == 1 else "0 5 1 cov"
    effects = [
        each(4, 2, "cross"), second, each(1, n_animals, "cross"), each(2, n_animals, "cross"),
        each(3, 3, "cross"), each(5, n_animals, "cov", "1"), each(6, 0, "cross"),
        each(7, n_animals, "cross"),
    ]  # fmt: skip
    kind = ("user_file", "user_file_i")[seed // 2 % 2]
    groups = [
        ("3 4", "add_animal", "animals.txt", as_text(positive(generator, 2 * traits))),
        ("5", kind, "matrix.txt", as_text(positive(generator, traits))),
        ("6", "diagonal", "", as_text(positive(generator, traits))),
        ("7", "add_animal", "animals.txt", as_text(positive(generator, traits))),
    ]
    text = parameters(
        effects, as_text(positive(generator, traits)), groups,
        observations="9 10" if traits == 2 else "9", traits=traits,
        weights="8" if seed > 3 else "", options=["missing -99"],
    )  # fmt: skip
    (tmp_path / "model.par").write_text(text)
    model = read_blupf90(tmp_path / "model.par").model
    assert np.isnan(model.observations).any()
    found = solve_mixed_model(model, tolerance=1e-22)
    expected, design, is_random = dense_solution(model)
    starts = {0: 0, 1: 2, 2: 3, 3: 28, 4: 53, 5: 56, 7: 81}
    places = np.array([starts[e] for e in found.effects.tolist()]) + found.levels
    solution = np.zeros(len(expected))
    solution[places * traits + found.traits] = found.values
    assert set(found.effects.tolist()) == set(starts)
    assert np.allclose(solution[is_random], expected[is_random], atol=1e-8)
    fitted = design[:, ~is_random]
    assert np.allclose(fitted @ solution[~is_random], fitted @ expected[~is_random], atol=1e-7)


def test_files_of_other_systems_are_read(solve):
    text = parameters(
        ["2 2 cross", "1 8 cross"], "40.0", [("2", "add_animal", "animals.txt", "20.0")],
        observations="5",
    )  # fmt: skip
    plain = solve(MRODE, text, animals=MRODE_PEDIGREE)
    strange = ("\ufeff" + MRODE).replace("\n", "\r\n").replace(" ", "\t")
    again = solve(strange, text.replace("\n", "\r\n"), animals=MRODE_PEDIGREE + "\n\n")
    assert again == pytest.approx(plain, abs=1e-12)


def test_parents_without_a_line_are_founders(solve, tmp_path):
    text = parameters(
        ["2 2 cross", "1 8 cross"], "40.0", [("2", "add_animal", "animals.txt", "20.0")],
        observations="5",
    )  # fmt: skip
    whole = solve(MRODE, text, animals=MRODE_PEDIGREE)
    short = MRODE_PEDIGREE.replace("1 0 0\n2 0 0\n", "")
    assert solve(MRODE, text, animals=short) == pytest.approx(whole, abs=1e-9)
    (note,) = read_blupf90(tmp_path / "model.par").notes
    assert note == "animals.txt has no line of 2 parents, such as 1, taken as founders"


def test_inbreeding_comes_with_the_codes_of_a_pedigree(solve):
    """Codes of two known parents, not inbred, are 2000, of one 1333, and of none 1000."""
    effects, groups = ["2 2 cross", "1 8 cross"], [("2", "add_animal", "animals.txt", "20.0")]
    plain = solve(MRODE, parameters(effects, "40.0", groups, observations="5"),
                  animals=MRODE_PEDIGREE)  # fmt: skip
    codes = [1000, 1000, 1000, 4000 / 3, 2000, 2000, 2000, 2000]
    lines = zip(MRODE_PEDIGREE.splitlines(), codes, strict=True)
    with_codes = "".join(f"{line} {code:.9f}\n" for line, code in lines)
    groups = [("2", "add_an_upginb", "animals.txt", "20.0")]
    text = parameters(effects, "40.0", groups, observations="5")
    assert solve(MRODE, text, animals=with_codes) == pytest.approx(plain, abs=1e-7)


GOOD = parameters(
    ["2 2 cross", "1 8 cross"], "40.0", [("2", "add_animal", "animals.txt", "20.0")],
    observations="5",
)  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("40.0", "x", "model.par, line 16: has 'x', needs a number"),
        ("40.0", "4 0", "line 15: has 2 numbers, needs 1 x 1"),
        ("2 2 cross", "2 1 cross", "data.txt, line 2: column 2 has 2, needs a level of at most 1"),
        ("2 2 cross", "5 9 cross", "data.txt, line 1: column 5 has 4.5, needs a whole number"),
        ("2 2 cross", "7 2 cross", "line 13: names column 7 of data.txt, which has 5"),
        ("2 2 cross", "2 2 crossed", "line 13: has '2 2 crossed', needs 1 column, how many levels"),
        ("2 2 cross", "2 2 cross 1", "needs 1 column, how many levels"),
        ("1 8 cross", "1 7 cross", "column 1 has 8, needs a level of at most 7"),
        ("1 8 cross", "1 0 cross", "line 14: the last effect has 0 levels, needs more"),
        ("NUMBER_OF_EFFECTS\n2", "NUMBER_OF_EFFECTS\n3", "line 12: has 2 effects, not 3"),
        ("NUMBER_OF_TRAITS\n1", "NUMBER_OF_TRAITS\n2", "has 1 column for 2 traits"),
        ("NUMBER_OF_TRAITS\n1", "NUMBER_OF_TRAITS\n1.5", "line 5: has '1.5', needs a whole number"),
        ("add_animal", "par_domin", "has 'par_domin', needs one of diagonal, add_animal"),
        ("RANDOM_GROUP\n2", "RANDOM_GROUP\n3", "line 17: needs numbers of effects, from 1 to 2"),
        ("RANDOM_GROUP\n2", "RANDOM_GROUP", "needs numbers of effects"),
        ("FILE\nanimals.txt\n", "FILE\n", "line 21: FILE names no file"),
        ("DATAFILE\ndata.txt\n", "", "model.par: has no DATAFILE"),
        ("OBSERVATION(S)\n5", "OBSERVATION(S)\n0", "OBSERVATION(S) names column 0"),
        (
            "WEIGHT(S)\n",
            "WEIGHT(S)\n4\n",
            "line 1: column 4 has 0, needs a weight of more",
        ),
        ("# comment", "comment", "line 1: has 'comment', needs a keyword"),
        ("# comment", "FILE", "line 1: has FILE before RANDOM_GROUP"),
        ("# comment", "OPTION cat 3", "line 1: has OPTION cat 3, which is not supported"),
        ("# comment", "OPTION high_correlation", "AlphaBeta, tunedG and those of quality control"),
        ("# comment", "OPTION verify_parentage 2", "verify_parentage 2, which is not supported"),
        ("# comment", "OPTION callrate 90", "has OPTION callrate 90, needs 0 to 1"),
        ("# comment", "OPTION minfreq -1", "has '-1', needs a number of at least 0"),
        ("# comment", "OPTION tunedG 3", "OPTION tunedG 3, can do 0, 1, 2, and 9 with two numbers"),
        ("# comment", "OPTION tunedG 9 0.1", "tunedG 9 0.1, needs two numbers after 9"),
        ("# comment", "OPTION AlphaBeta 0.9", "AlphaBeta 0.9, needs two numbers of more than 0"),
        ("# comment", "OPTION TauOmega 0 1", "OPTION TauOmega 0 1, needs a number of more than 0"),
        ("# comment", "OPTION GammaDelta 0.1 0", "OPTION GammaDelta 0.1 0, can do 0 0"),
        ("# comment", "OPTION omit_ainv", "OPTION omit_ainv, needs SNP_file and a TauOmega"),
        ("# comment", "OPTION thrStopCorAG x", "line 1: has 'x', needs a number"),
        ("# comment", "OPTION sex_chr 30", "has OPTION sex_chr, whose markers are no conflicts of"),
        ("# comment", "OPTION maxrounds 0", "has maxrounds 0, needs more than 0"),
        ("# comment", "OPTION conv_crit 1", "has conv_crit 1, needs more than 0 and less than 1"),
        ("# comment", "OPTION missing 99999\nOPTION conv_crit nan", "has 'nan', needs a number"),
        ("# comment", "OPTION sol se\nDATAFILE\ndata.txt", "has DATAFILE a second time"),
    ],
)
def test_a_wrong_file_is_one_sentence(tmp_path, old, new, sentence):
    (tmp_path / "data.txt").write_text(MRODE)
    (tmp_path / "animals.txt").write_text(MRODE_PEDIGREE)
    (tmp_path / "model.par").write_text(GOOD)
    read_blupf90(tmp_path / "model.par")
    assert GOOD.count(old) == 1
    (tmp_path / "model.par").write_text(GOOD.replace(old, new))
    with pytest.raises(FileFormatError) as error:
        read_blupf90(tmp_path / "model.par")
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("animals", "1 0 0\n2 0\n", "animals.txt, line 2: has 2 numbers, others have 3"),
        ("animals", "1 0 x\n", "animals.txt, line 1: has 'x', needs numbers"),
        ("animals", "1 0\n", "animals.txt: has 2 columns, add_animal needs 3"),
        ("animals", "1 0 0\n1 0 0\n", "animals.txt: has animal 1 twice"),
        ("animals", "1 0 9\n", "animals.txt: has animal 9, and the effect 8 levels"),
        ("animals", "0 0 0\n", "needs whole numbers of animals and parents"),
        ("animals", "1 0 1\n", "animals.txt: animal '1' is its own ancestor (1 < ...)"),
        ("animals", "1 2 0\n3 0 0\n2 0 1\n", "is its own ancestor (1 < 2 < ...)"),
        ("data", "4 1 1 0 0\n", "model.par: no record has an observation, needs at least one"),
        ("data", "1 1 0 0 nan\n", "data.txt: needs lines of numbers"),
        ("data", "1 1 0 0 1_0\n", "data.txt: needs lines of numbers between blanks"),
        ("data", "", "data.txt"),
        ("data", "\n", "data.txt: has blank lines only, needs lines of numbers between blanks"),
        ("data", f"{10**30} 1 0 0 1\n", "data.txt, line 1: column 1 has 1"),
        ("animals", "1 0 " + 9999 * "x" + "\n", "xxx ... xxx"),
    ],
)
def test_a_wrong_table_is_one_sentence(tmp_path, name, text, sentence):
    (tmp_path / "data.txt").write_text(MRODE)
    (tmp_path / "animals.txt").write_text(MRODE_PEDIGREE)
    (tmp_path / "model.par").write_text(GOOD)
    (tmp_path / f"{name}.txt").write_text(text)
    with pytest.raises(FileFormatError) as error:
        read_blupf90(tmp_path / "model.par")
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("20.0", "-1", "the covariance of effect 2 is not positive definite"),
        ("40.0", "0", "the covariance of residuals is not positive definite"),
    ],
)
def test_covariances_that_are_none(tmp_path, old, new, sentence):
    (tmp_path / "data.txt").write_text(MRODE)
    (tmp_path / "animals.txt").write_text(MRODE_PEDIGREE)
    (tmp_path / "model.par").write_text(GOOD.replace(old, new))
    with pytest.raises(ParameterError, match=sentence):
        next(iter_solve_mixed_model(read_blupf90(tmp_path / "model.par").model))


def test_an_animal_with_records_and_no_line_in_the_pedigree_is_a_founder(solve, tmp_path):
    wanted = solve(MRODE, GOOD, animals=MRODE_PEDIGREE.replace("8 3 6", "8 0 0"))
    found = solve(MRODE, GOOD, animals=MRODE_PEDIGREE.replace("8 3 6\n", ""))
    assert found == pytest.approx(wanted)
    told = ("animals.txt has no line of recorded animal 8, taken as a founder",)
    assert read_blupf90(tmp_path / "model.par").notes == told
    lines = "4 0 0 3\n5 0 0 3\n6 0 0 3\n7 0 0 3\n"
    with pytest.raises(FileFormatError, match="no line of 8, which has records, as groups have"):
        solve(MRODE, GOOD.replace("add_animal", "add_an_upg"), animals=lines)
    elements = "".join(f"{k} {k} 1\n" for k in range(1, 8))
    for kind in ("user_file", "user_file_i"):
        with pytest.raises(FileFormatError, match="no diagonal element of 8, which has records"):
            solve(MRODE, GOOD.replace("add_animal", kind), animals=elements)


def test_observations_that_are_none(tmp_path):
    (tmp_path / "data.txt").write_text(MRODE)
    (tmp_path / "animals.txt").write_text(MRODE_PEDIGREE)
    (tmp_path / "model.par").write_text(GOOD)
    model = read_blupf90(tmp_path / "model.par").model
    with pytest.raises(ParameterError, match="observations are infinite"):
        replace(model, observations=np.where(model.observations > 4, np.inf, model.observations))
    for unit in (1e-99, 1e99):
        with pytest.raises(ParameterError, match=r"trait 1 is .* at most, needs 1e-60 to"):
            replace(model, observations=model.observations * unit)


def test_the_command_writes_a_table(tmp_path, capfd):
    (tmp_path / "data.txt").write_text(MRODE)
    (tmp_path / "animals.txt").write_text(MRODE_PEDIGREE)
    (tmp_path / "model.par").write_text(GOOD + "OPTION sol se\nOPTION blksize 1\n")
    with pytest.raises(SystemExit, match="0"):
        main(["geno", "blupf90", str(tmp_path / "model.par")])
    out, err = capfd.readouterr()
    rows = [line.split("\t") for line in out.splitlines()]
    assert rows[0] == ["#TRAIT", "EFFECT", "LEVEL", "SOLUTION", "SE", "CONVERGED"]
    assert rows[1][:3] == ["1", "1", "1"]
    assert float(rows[1][3]) == pytest.approx(4.35850233, abs=1e-7)
    assert float(rows[1][4]) == pytest.approx(4.88082357, abs=1e-7)
    assert "OPTION blksize is passed over" in err
    (tmp_path / "model.par").write_text(GOOD + "OPTION maxrounds 2\n")
    with pytest.raises(SystemExit, match="3"):
        main(["geno", "blupf90", str(tmp_path / "model.par"), "-o", str(tmp_path / "out.tsv")])
    assert (tmp_path / "out.tsv").read_text().splitlines()[1].endswith("\tno")
    assert "not converged; OPTION conv_crit and OPTION maxrounds" in capfd.readouterr().err


GENOMIC = ("SNP_file snp.txt", "no_quality_control", "tunedG 0", "thrStopCorAG -1")


def genomic(tmp_path, effects=("2 3 cross", "3 12 cross"), options=GENOMIC, traits=1):
    """Files of animals 1 to 12, parents and progeny in any order, six of them with markers."""
    generator = np.random.default_rng(7)
    number = 1 + generator.permutation(12)
    parents = np.array([[-1, -1]] * 6 + [[0, 1], [2, 3], [4, 5], [0, 3], [2, 5], [4, 1]])
    named = np.where(parents < 0, 0, number[parents])
    rows = [f"{animal} {sire} {dam}" for animal, (sire, dam) in zip(number, named, strict=True)]
    (tmp_path / "animals.txt").write_text("\n".join(generator.permutation(rows)) + "\n")
    chosen = np.array([1, 3, 6, 8, 9, 11])
    dosages = generator.binomial(2, generator.uniform(0.2, 0.8, 60), (6, 60))
    dosages[2, 5] = 5
    lines = [f"cow{k:03d}   " + "".join(map(str, row)) for k, row in enumerate(dosages)]
    (tmp_path / "snp.txt").write_text("\n".join(lines) + "\n")
    lines = [f"{number[k]} cow{row:03d}" for row, k in enumerate(chosen)]
    (tmp_path / "snp.txt_XrefID").write_text("\n".join(lines) + "\n")
    own, herd = generator.integers(0, 12, 30), generator.integers(1, 4, 30)
    y = generator.normal(size=(30, traits)) + herd[:, None]
    data = np.column_stack([y, herd, number[own]])
    (tmp_path / "data.txt").write_text("\n".join(" ".join(map(str, row)) for row in data) + "\n")
    groups = [("2", "add_animal", "animals.txt", "0.7")]
    (tmp_path / "model.par").write_text(parameters(effects, "2.0", groups, options=options))
    shares = np.where(dosages == 5, np.nan, dosages)
    means = np.nanmean(shares, axis=0)
    centred = np.where(np.isnan(shares), 0, shares - means)
    return number, parents, chosen, centred, means / 2, y[:, 0], herd, own


@pytest.mark.parametrize(("option", "weight"), [("tunedG 0", 0.05), ("AlphaBeta 0.8 0.2", 0.2)])
def test_genotypes_make_it_single_step(tmp_path, option, weight):
    """As by V, with H of dense matrices."""
    options = (*GENOMIC, option, "sol se")
    number, parents, chosen, centred, shares, y, herd, own = genomic(tmp_path, options=options)
    asked = read_blupf90(tmp_path / "model.par")
    assert asked.notes == ()
    assert asked.standard_errors
    found = solve_mixed_model(asked.model, standard_errors=True, tolerance=1e-24)
    related = relate(*parents.T)
    among = related[np.ix_(chosen, chosen)]
    genomic_part = centred @ centred.T / (2 * shares @ (1 - shares))
    inverse = np.linalg.inv(related)
    blended = (1 - weight) * genomic_part + weight * among
    inverse[np.ix_(chosen, chosen)] += np.linalg.inv(blended) - np.linalg.inv(among)
    covariance = 0.7 * np.linalg.inv(inverse)
    variance = covariance[np.ix_(own, own)] + 2 * np.eye(30)
    fixed = (herd[:, None] == np.arange(1, 4)).astype(float)
    weighted = np.linalg.solve(variance, fixed)
    means = np.linalg.solve(fixed.T @ weighted, weighted.T @ y)
    expected = covariance[:, own] @ np.linalg.solve(variance, y - fixed @ means)
    is_animal = found.effects == 1
    told = dict(zip(found.levels[is_animal] + 1, found.values[is_animal], strict=True))
    assert [told[k] for k in number] == pytest.approx(expected, abs=1e-8)
    assert found.values[found.effects == 0] == pytest.approx(means, abs=1e-8)
    of_means = np.linalg.inv(fixed.T @ weighted)
    projection = np.linalg.inv(variance) - weighted @ of_means @ weighted.T
    shared = covariance[:, own]
    of_animals = np.diag(covariance - shared @ projection @ shared.T)
    errors = found.standard_errors
    told = dict(zip(found.levels[is_animal] + 1, errors[is_animal], strict=True))
    assert [told[k] for k in number] == pytest.approx(np.sqrt(of_animals), abs=1e-8)
    assert errors[found.effects == 0] == pytest.approx(np.sqrt(np.diag(of_means)), abs=1e-8)


def test_the_command_solves_a_single_step(tmp_path, capfd):
    number, *_ = genomic(tmp_path)
    with pytest.raises(SystemExit, match="0"):
        main(["geno", "blupf90", str(tmp_path / "model.par")])
    out = capfd.readouterr().out.splitlines()
    assert len(out) == 1 + 3 + len(number)
    genomic(tmp_path, options=GENOMIC[:-1])
    with pytest.raises(SystemExit, match="1"):
        main(["geno", "blupf90", str(tmp_path / "model.par")])
    assert "needs 0.3 (thrStopCorAG): genotypes or pedigree are" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("file", "old", "new", "sentence"),
    [
        ("snp.txt_XrefID", "cow001", "cow009", "needs a number and cow001, as snp.txt has it"),
        ("snp.txt_XrefID", "cow005", "cow005\n1 cow006", "has 7 animals, and snp.txt 6"),
        ("snp.txt", "cow000   ", "cow000   4", "digits of 0, 1, 2 and 5"),
        ("snp.txt", "cow003   ", "cow003   1", "needs 60 digits"),
        ("snp.txt", "cow003   ", "cow003 1 ", "has 3 fields, needs an ID and digits"),
        ("model.par", "add_animal", "add_sire", "has add_sire with SNP_file, can do add_animal"),
    ],
)
def test_what_is_wrong_with_genotypes_is_said(tmp_path, file, old, new, sentence):
    genomic(tmp_path)
    text = (tmp_path / file).read_text()
    assert old in text
    (tmp_path / file).write_text(text.replace(old, new))
    with pytest.raises(FileFormatError, match=sentence):
        read_blupf90(tmp_path / "model.par")


def test_genotypes_by_default_as_published(tmp_path, capfd):
    """Example of "Trivial analyses for single-step GBLUP": controlled, blended and tuned.

    Two of the animals conflict with their parents: the files of the example, unlike the text, give
    the genotypes to other animals.
    """
    rows = [line.split() for line in PUBLISHED.split("\n") if line]
    rows = [row for row in rows if row[0] != "15"]
    (tmp_path / "snp.txt").write_text("".join(f"ID{k:>03} {digits}\n" for k, digits in rows))
    (tmp_path / "index.txt").write_text("".join(f"{k} ID{k:>03}\n" for k, _ in rows))
    (tmp_path / "data.txt").write_text(QUICK)
    (tmp_path / "animals.txt").write_text(QUICK_PEDIGREE)
    effects = ["2 3 cross", "3 2 cross", "4 1 cov", "5 15 cross"]
    groups = [("4", "add_animal", "animals.txt", "0.5")]
    options = ("SNP_file snp.txt index.txt",)
    text = parameters(effects, "2.0", groups, options=options)
    (tmp_path / "model.par").write_text(text)
    found = solve_mixed_model(read_blupf90(tmp_path / "model.par").model, tolerance=1e-24)
    assert found.values[found.effects == 3] == pytest.approx(
        [
            0.00700521, 0.08747780, -0.01954304, 0.02639925, 0.07679027, -0.18438116, 0.15271384,
            -0.09012753, 0.01442435, -0.23558188, 0.22278505, 0.10730577, 0.20708267, 0.32362808,
            -0.21760840,
        ],
        abs=5e-7,
    )  # fmt: skip
    of_first, of_second, (slope,) = (found.values[found.effects == k] for k in range(3))
    assert np.diff(of_first) == pytest.approx([1.95974021, 0.97072136], abs=1e-6)
    assert np.diff(of_second) == pytest.approx([-0.58805124], abs=1e-6)
    assert slope == pytest.approx(0.52196308, abs=1e-6)
    removed = tmp_path / "removed.tsv"
    with pytest.raises(SystemExit, match="0"):
        main(["geno", "blupf90", str(tmp_path / "model.par"), "--removed", str(removed)])
    out, err = capfd.readouterr()
    assert float(out.splitlines()[7].split("\t")[3]) == pytest.approx(0.00700521, abs=1e-6)
    assert "note: 21 of 100 markers are removed for only one allele." in err
    assert "note: 2 of 8 animals are removed for conflicts with a parent at more than 1 %" in err
    assert "note: G is tuned to 0.114782 + 1.02086 G, so" in err
    assert "correlation" not in err  # it is 0.509
    lines = [line.split("\t") for line in removed.read_text().splitlines()]
    assert lines[0] == ["#KIND", "ID", "REASON"]
    assert [line[:2] for line in lines[-2:]] == [["animal", "12"], ["animal", "7"]]
    assert len(lines) == 1 + 21 + 2


def test_options_of_quality_control_are_followed(tmp_path):
    options = (
        "SNP_file snp.txt", "minfreq 0.1", "callrate 0.8", "callrateAnim 0.7", "monomorphic 0",
        "hwe", "verify_parentage 1", "exclusion_threshold 2", "exclusion_threshold_snp 20",
        "number_parent_progeny_evaluations 50", "tunedG 1", "AlphaBeta 0.8 0.3", "saveCleanSNPs",
        "TauOmega 1.2 0", "omit_ainv", "thrStopCorAG 0.2", "thrWarnCorAG 0.4", "thrCorAG 0.1",
    )  # fmt: skip
    genomic(tmp_path, options=options)
    asked = read_blupf90(tmp_path / "model.par")
    assert asked.notes == ("OPTION saveCleanSNPs is passed over: it does not change the model",)
    quality = QualityRules(0.8, 0.1, False, 0.15, 0.7, "report", 0.02, 0.2, 50)
    (group,) = asked.model.random
    rules = GenomicRules(quality, (0.8, 0.3), "unrelated", (0.0, 1.0), (1.2, 0.0), 0.2, 0.4, 0.1)
    assert group.structure.rules == rules
    assert not group.structure.has_ancestry
    genomic(tmp_path, options=("SNP_file snp.txt", "tunedG 9 0.1 0.9", "no_quality_control"))
    (group,) = read_blupf90(tmp_path / "model.par").model.random
    assert group.structure.rules == GenomicRules(None, targets=None, line=(0.1, 0.9))
    genomic(tmp_path, options=("SNP_file snp.txt",))
    (group,) = read_blupf90(tmp_path / "model.par").model.random
    assert group.structure.rules == GenomicRules()


GENOTYPED = """
2 1212020111001211212000102001202022201112000110020102011001012212110122100001210101112200210010022220
11 2211121200121111220211011210112121111201000120011202020002002222000222000021221000021200110010101220
5 1201121111012200221100012210201010110111000211011112120112101221110122100012211000022200110010012220
12 2122020101100221112111202101202022202222000000021111102000111201211022200101210000022200210010111120
10 2111121101111210121211112210202021211211000110021211111001101211101122100111221000022200120020101120
6 2122020101100221121111212100112111112212000101012211111001201211112022100201220110022200220020111120
4 2222020200110122210121001100022221102111000010011202020002002222000222000020120000020200200000200220
13 2122020101210121121222101200112122102212000010012211111001101211101122100110220000021200210010200120
14 2222020200110122210121001100022221102111000010011202020002002222000222000020120000020200200000200220
3 2122020210000221111111112010011100011112000202002112120112201221121022100111220110111200210010111220
7 1201121111012200221100012110202021210101000220020202020002002222000222000011221101112200120020012220
9 2222020200000222211000212001112111112212000101011102011001112212121022100102210110022200210010022220
1 1211121200011211220201121220102021210101000220020211021011002222000222000012211001112100120020012220
15 2122020101210121121222101200112122102212000010012211111001101211101122100110220000021200210010200120
8 1211121200011211210111111110012121201011000110020211021011002222000222000011110001111100210010111220
"""  # noqa: E501


def test_genomic_prediction_as_published(tmp_path):
    """Example of "Performing GBLUP": a pedigree without parents, quality control and no tuning."""
    rows = [line.split() for line in GENOTYPED.split("\n") if line]
    (tmp_path / "snp.txt").write_text("".join(f"ID{k} {digits}\n" for k, digits in rows))
    (tmp_path / "snp.txt_XrefID").write_text("".join(f"{k} ID{k}\n" for k, _ in rows))
    (tmp_path / "animals.txt").write_text("".join(f"{k} 0 0\n" for k in range(1, 16)))
    y = [-1.28, -1.78, 0.54, 1.36, 0.47, 0.04, 0.68, -0.89, -0.48, 0.89, -1.16]
    weights = [1, 0.98, 0.9, 1, 0.93, 1, 1, 0.85, 0.88, 0.99, 0.97]
    lines = [f"{y[k]} {weights[k]} 1 {k + 1}\n" for k in range(11)]
    (tmp_path / "data.txt").write_text("".join(lines))
    groups = [("2", "add_animal", "animals.txt", "0.3")]
    options = ("SNP_file snp.txt", "AlphaBeta 0.95 0.05", "tunedG 0")
    text = parameters(["3 1 cross", "4 15 cross"], "0.7", groups, weights="2", options=options)
    (tmp_path / "model.par").write_text(text)
    found = solve_mixed_model(read_blupf90(tmp_path / "model.par").model, tolerance=1e-24)
    assert found.values == pytest.approx(
        [
            -0.08090772, -0.42220198, -0.44672494, 0.26450865, 0.24686356, 0.05496292, 0.16937536,
            -0.17601451, -0.24385662, -0.25750923, 0.13351286, 0.03869522, -0.10858569, 0.26284875,
            0.22127690, 0.26284875,
        ],
        abs=2e-8,
    )  # fmt: skip
