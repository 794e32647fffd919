"""Models of MiXBLUP's instruction files: published solutions, and those of BLUPF90's files.

The syntax is that of the MiXBLUP User's Guide 3.2, the small examples are Mrode's, Linear Models
for the Prediction of Animal Breeding Values.
"""

from __future__ import annotations

import numpy as np
import pytest

from genoviz import read_blupf90, read_mixblup, solve_mixed_model
from genoviz.cli.main import main
from genoviz.errors import FileFormatError
from tests.io.genotypes.test_blupf90 import MRODE_PEDIGREE, as_text, parameters, positive
from tests.oracles.pedigree import relationships

WEANING = """TITLE Example 4.1 - Simple Animal Model

# Data File
DATAFILE data.txt !MISSING 0 !STATS NDHL # descriptive statistics
  ID A
  Sex A
  Sire A
  Dam A
  WWG T
  PWG T

PEDFILE ped.txt !CALCINBR  # Inbreeding calculated
  ID A
  Sire A
  Dam A

PARFILE par.txt

MODEL
  WWG ~ Sex !RANDOM G(ID)

SOLVING
  !MAXIT 1000
"""
BOTH = WEANING.replace(
    "  WWG ~ Sex !RANDOM G(ID)\n", "  WWG ~ Sex !RANDOM G(ID)\n  PWG ~ Sex !RANDOM G(ID)\n"
)
WEANING_DATA = """4 Male 1 0 4.5 6.8
5 Female 3 2 2.9 5.0
6 Female 1 2 3.9 6.8
7 Male 4 5 3.5 6.0
8 Male 3 6 5.0 7.5
"""
PARENTS = "4 1 0\n5 3 2\n6 1 2\n7 4 5\n8 3 6\n"
COVARIANCES = """G
WWG(ID) 20
PWG(ID) 18 40

Res
WWG 40
PWG 11 30
"""


@pytest.fixture
def write(tmp_path):
    """Write the files of a model, and return the path of its instructions."""

    def run(text, data=WEANING_DATA, par=COVARIANCES, ped=PARENTS):
        for name, content in (("data", data), ("ped", ped), ("par", par)):
            (tmp_path / f"{name}.txt").write_text(content)
        (tmp_path / "model.mix").write_text(text)
        return tmp_path / "model.mix"

    return run


def solve(path, **options):
    """The run, and its solution by trait, effect and level."""
    asked = read_mixblup(path)
    found = solve_mixed_model(asked.model, tolerance=1e-24, **options)
    assert found.is_converged
    places = zip(found.traits, found.effects, found.levels, found.values, strict=True)
    return asked, {
        (asked.traits[t], asked.effects[e], str(asked.levels[e][k])): value
        for t, e, k, value in places
    }


def predict(y, fixed, covariance, variance):
    """Return fixed effects and predictions by V: y (n,), X, cov(u, y) of shape (k, n), and V."""
    weighted = np.linalg.solve(variance, fixed)
    estimates = np.linalg.lstsq(fixed.T @ weighted, weighted.T @ y)[0]
    return estimates, covariance @ np.linalg.solve(variance, y - fixed @ estimates)


def relate(text, n=8):
    """Return A of animals numbered from 1, by the tabular method."""
    parents = np.full((2, n), -1)
    for row in text.splitlines():
        animal, sire, dam = map(int, row.split())
        parents[:, animal - 1] = sire - 1, dam - 1
    return relationships(*parents)


def test_an_animal_model(write):
    asked, found = solve(write(WEANING))
    assert asked.max_iterations == 1000
    assert asked.notes == ("3 parents without a row of their own are founders.",)
    assert found["WWG", "Sex", "Male"] == pytest.approx(4.35850233, abs=1e-7)
    assert found["WWG", "Sex", "Female"] == pytest.approx(3.40443010, abs=1e-7)
    animals = [0.09844458, -0.01877010, -0.04108420, -0.00866312, -0.18573210, 0.17687209,
               -0.24945855, 0.18261469]  # fmt: skip
    told = [found["WWG", "ID", str(k + 1)] for k in range(8)]
    assert told == pytest.approx(animals, abs=1e-7)


def test_two_traits(write):
    _, found = solve(write(BOTH))
    first = [0.151, -0.015, -0.078, -0.010, -0.270, 0.276, -0.316, 0.244]
    second = [0.280, -0.008, -0.170, -0.013, -0.478, 0.517, -0.479, 0.392]
    for trait, means, expected in (("WWG", (4.361, 3.397), first), ("PWG", (6.800, 5.880), second)):
        told = [found[trait, "Sex", sex] for sex in ("Male", "Female")]
        assert told == pytest.approx(means, abs=6e-4)
        told = [found[trait, "ID", str(k + 1)] for k in range(8)]
        assert told == pytest.approx(expected, abs=6e-4)
    genetic, residual = np.array([[20, 18], [18, 40]]), np.array([[40, 11], [11, 30]])
    rows = [row.split() for row in WEANING_DATA.splitlines()]
    y = np.array([row[4:] for row in rows], float).T.ravel()
    is_male = np.array([row[1] == "Male" for row in rows], float)
    fixed = np.kron(np.eye(2), np.column_stack([is_male, 1 - is_male]))
    related, own = relate(PARENTS), [int(row[0]) - 1 for row in rows]
    variance = np.kron(genetic, related[np.ix_(own, own)]) + np.kron(residual, np.eye(5))
    means, values = predict(y, fixed, np.kron(genetic, related[:, own]), variance)
    for t, trait in enumerate(("WWG", "PWG")):
        told = [found[trait, "Sex", sex] for sex in ("Male", "Female")]
        assert told == pytest.approx(means[2 * t : 2 * t + 2], abs=1e-8)
        told = [found[trait, "ID", str(k + 1)] for k in range(8)]
        assert told == pytest.approx(values[8 * t : 8 * t + 8], abs=1e-8)


def test_repeated_records(write):
    data = """4 4 1 1 201
4 4 2 3 280
5 5 1 1 150
5 5 2 4 200
6 6 1 2 160
6 6 2 3 190
7 7 1 1 180
7 7 2 3 250
8 8 1 2 285
8 8 2 4 300
"""
    fields = "  ID A\n  ID2 A\n  Parity A\n  HYS A\n  FY T\n"
    start, rest = WEANING.index("  ID A"), WEANING.index("\nPEDFILE")
    text = WEANING[:start] + fields + WEANING[rest:]
    text = text.replace("WWG ~ Sex !RANDOM G(ID)", "FY ~ HYS Parity !RANDOM G(ID) ID2")
    par, ped = "G\nFY(ID) 20\n\nID2\nFY 12\n\nRes\nFY 28\n", "4 1 2\n5 3 2\n6 1 5\n7 3 4\n8 1 7\n"
    _, found = solve(write(text, data, par, ped))
    animals = [10.148, -3.084, -7.063, 13.581, -18.207, -18.387, 9.328, 24.194]
    told = [found["FY", "ID", str(k + 1)] for k in range(8)]
    assert told == pytest.approx(animals, abs=6e-4)
    permanent = [8.417, -7.146, -17.229, -1.390, 17.347]
    told = [found["FY", "ID2", str(k + 4)] for k in range(5)]
    assert told == pytest.approx(permanent, abs=6e-4)
    rows = np.array([row.split() for row in data.splitlines()], int)
    own, y = rows[:, 0] - 1, rows[:, 4]
    fixed = np.column_stack([rows[:, 3, None] == np.arange(1, 5), rows[:, 2] == 2]).astype(float)
    related = relate(ped)
    is_same = (own[:, None] == own).astype(float)
    variance = 20 * related[np.ix_(own, own)] + 12 * is_same + 28 * np.eye(10)
    covariance = np.vstack([20 * related[:, own], 12 * (np.arange(3, 8)[:, None] == own)])
    _, values = predict(y, fixed, covariance, variance)
    told = [found["FY", "ID", str(k + 1)] for k in range(8)]
    told += [found["FY", "ID2", str(k + 4)] for k in range(5)]
    assert told == pytest.approx(values, abs=1e-8)


def test_groups_of_unknown_parents(write):
    pedigree = "1 -1 -2\n2 -1 -2\n3 -1 -2\n4 1 -2\n5 3 2\n6 1 2\n7 4 5\n8 3 6\n"
    text = WEANING.replace("!CALCINBR", "!GROUPS 0.0 !CalcInbr M")
    _, found = solve(write(text, ped=pedigree))
    expected = [0.33201730, 0.17597293, 0.13611581, -0.16882873, 0.0, 0.37131040, -0.23933070,
                0.33117127, 1.09907877, -0.66967475]  # fmt: skip
    names = [*map(str, range(1, 9)), "-1", "-2"]
    told = np.array([found["WWG", "ID", name] for name in names])
    assert told - told[4] == pytest.approx(expected, abs=1e-6)
    # A large value on the diagonal leaves groups no effect.
    _, found = solve(write(text.replace("0.0", "1e9"), ped=pedigree))
    _, without = solve(write(WEANING, ped=pedigree.replace("-1", "0").replace("-2", "0")))
    assert found["WWG", "ID", "-1"] == pytest.approx(0, abs=1e-6)
    assert found["WWG", "ID", "8"] == pytest.approx(without["WWG", "ID", "8"], abs=1e-6)


RICH = """TITLE all that is read
DATAFILE data.txt !MISSING -99 !SKIP 1
 animal I
 dam A
 herd A
 sex I
 age R
 mate1 I
 mate2 I
 n R
 fat T
 protein T
 block I !BLOCK
PEDFILE ped.txt
 animal I
 sire I
 dam I
PARFILE par.txt
MODEL
 fat !WEIGHT n ~ sex sex*age &
   !RANDOM herd G(animal, dam, age*animal, mate1 AND mate2)
 protein !WEIGHT n ~ age sex !RANDOM G(animal,dam,animal*age,mate1 AND mate2)
SOLVING
 !STOPCRIT 1.0E-06
 !MAXIT 500
TMPDIR ./temp/
"""


def test_all_kinds_of_effects_are_as_in_a_file_of_blupf90(write, tmp_path):
    generator = np.random.default_rng(1)
    n, n_animals = 60, 25
    parents = [(generator.integers(0, k + 1), generator.integers(0, k + 1)) for k in range(25)]
    ped = "".join(f"{k + 1} {s * (s <= k)} {d * (d <= k)}\n" for k, (s, d) in enumerate(parents))
    y = generator.normal(size=(n, 2)) + 10
    y[generator.random((n, 2)) < 0.2] = -99
    draw = [generator.integers(1, n_animals + 1, n) for _ in range(4)]
    herd, sex = generator.integers(1, 4, n), generator.integers(1, 3, n)
    age, weight = generator.normal(size=n), generator.uniform(0.5, 3, n)
    columns = [draw[0], draw[1], herd, sex, age, draw[2], draw[3], weight, *y.T, np.ones(n)]
    rows = [" ".join(f"{x:.6g}" for x in row) for row in zip(*columns, strict=True)]
    data = "\n".join(rows) + "\n"
    of_genes, of_herds, residual = (positive(generator, k) for k in (8, 1, 2))

    def triangle(name, labels, matrix):
        lines = [" ".join([label, *(f"{x:.6f}" for x in matrix[k, : k + 1])])
                 for k, label in enumerate(labels)]  # fmt: skip
        return "\n".join([name, *lines, ""])

    terms = ("animal", "dam", "animal*age", "mate1")
    labels = [f"{trait}({term})" for term in terms for trait in ("fat", "protein")]
    order = [5, 0, 3, 1, 2, 4, 7, 6]  # rows may come in any order
    par = triangle("Res", ["protein", "fat"], residual[::-1, ::-1])
    par += triangle("herd", ["fat"], of_herds)
    par += triangle("G", [labels[k] for k in order], of_genes[np.ix_(order, order)])
    asked, found = solve(write(RICH, "a header\n" + data, par, ped))
    assert asked.max_iterations == 500
    assert any("!STOPCRIT 1.0E-06 is passed over" in note for note in asked.notes)

    both = np.zeros((2, 2))
    both[0, 0] = of_herds[0, 0]
    text = parameters(
        ["4 4 2 cross", "5 0 2 cov 4 0", "0 5 1 cov", "3 0 3 cross", "1 1 25 cross",
         "2 2 25 cross", "5 5 25 cov 1 1", "6 6 0 cross", "7 7 25 cross"],
        as_text(residual),
        [("4", "diagonal", "", as_text(both)),
         ("5 6 7 9", "add_animal", "animals.txt", as_text(of_genes))],
        observations="9 10", traits=2, weights="8", options=["missing -99"],
    )  # fmt: skip
    (tmp_path / "data.txt").write_text(data)
    (tmp_path / "animals.txt").write_text(ped)
    (tmp_path / "model.par").write_text(text)
    other = solve_mixed_model(read_blupf90(tmp_path / "model.par").model, tolerance=1e-24)
    effects = ["sex", "sex*age", "age", "herd", "animal", "dam", "animal*age", None,
               "mate1 AND mate2"]  # fmt: skip
    expected = {}
    for t, e, k, value in zip(other.traits, other.effects, other.levels, other.values, strict=True):
        name = effects[e] or effects[e + 1]
        expected[asked.traits[t], name, str(k + 1)] = value
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        assert found[key] == pytest.approx(value, abs=1e-7), key


def test_a_missing_covariate_takes_the_observation_out(write):
    text = WEANING.replace("Sire A", "age R", 1).replace("~ Sex", "~ Sex age", 1)
    asked, _ = solve(write(text, WEANING_DATA.replace("Male 1", "Male 0")))
    assert "1 observation of WWG left out: a covariate is missing" in asked.notes
    assert np.isnan(asked.model.observations[:, 0]).tolist() == [True, *[False] * 4]


def test_the_command_has_names(write, capfd):
    path = write(BOTH)
    with pytest.raises(SystemExit, match="0"):
        main(["geno", "mixblup", str(path)])
    out, err = capfd.readouterr()
    header, *rows = (line.split("\t") for line in out.splitlines())
    assert header == ["#TRAIT", "EFFECT", "LEVEL", "SOLUTION", "CONVERGED"]
    told = {tuple(row[:3]): float(row[3]) for row in rows}
    assert told["PWG", "Sex", "Female"] == pytest.approx(5.880, abs=6e-4)
    assert len(told) == 2 * (2 + 8)
    assert "3 parents without a row" in err


OF_PEDIGREE = WEANING[WEANING.index("PEDFILE") : WEANING.index("PARFILE")]
DENSE = """8 0
b7 4 8 1 x 3 6 2
2.0
0.5 3.0
0.0 0.0 1.5
1e-1 0 0 1d0
0 -0.5 0 0 2.5
0 0 .25 0 0 1
0.3 0 0 0 0 0 2
0 0 0 0 0 0 -0.2 4
"""
NAMES, TRIANGLE = DENSE.splitlines()[1].split(), [row.split() for row in DENSE.splitlines()[2:]]
# As MiXBLUP's programs would write it: with zeros left out, and a field that nobody needs.
SPARSE = "".join(
    f"{NAMES[min(i, j)]} {NAMES[max(i, j)]} {value} {i}\n"
    for i, row in enumerate(TRIANGLE)
    for j, value in enumerate(row)
    if value not in ("0", "0.0")
)


def with_inverse(words="matrix.txt\n  ID A", text=BOTH):
    """Instructions with an ERMFILE instead of the pedigree."""
    return text.replace(OF_PEDIGREE, f"ERMFILE {words}\n\n")


@pytest.mark.parametrize(
    ("words", "matrix"),
    [
        ("matrix.txt\n  ID A", DENSE),
        ("matrix.txt !SKIP 2 !NOORIG\n  ID A", "a\nheader\n" + DENSE),
        ("matrix.txt !ASIS ID A", SPARSE),
        ("matrix.txt !SKIP 1 ID A", "row column element\n\n" + SPARSE.replace(" ", "\t")),
    ],
)
def test_an_inverse_relationship_matrix(write, tmp_path, words, matrix):
    """Two traits with a missing record, as by V of the inverted matrix."""
    (tmp_path / "matrix.txt").write_text(matrix)
    data = WEANING_DATA.replace("5 Female", "x Female").replace("7 Male", "b7 Male")
    data = data.replace("2.9 5.0", "2.9 0")
    asked, found = solve(write(with_inverse(words), data))
    assert asked.notes == ()
    inverse = np.zeros((8, 8))
    for k, row in enumerate(TRIANGLE):
        inverse[k, : k + 1] = inverse[: k + 1, k] = [float(each.replace("d", "e")) for each in row]
    rows = [row.split() for row in data.splitlines()]
    own = [NAMES.index(row[0]) for row in rows]
    genetic, residual = np.array([[20, 18], [18, 40]]), np.array([[40, 11], [11, 30]])
    related = np.linalg.inv(inverse)
    variance = np.kron(genetic, related[np.ix_(own, own)]) + np.kron(residual, np.eye(5))
    y = np.array([row[4:] for row in rows], float).T.ravel()
    is_male = np.array([row[1] == "Male" for row in rows], float)
    fixed = np.kron(np.eye(2), np.column_stack([is_male, 1 - is_male]))
    has = y != 0
    shared = np.kron(genetic, related[:, own])[:, has]
    means, values = predict(y[has], fixed[has], shared, variance[np.ix_(has, has)])
    for t, trait in enumerate(("WWG", "PWG")):
        told = [found[trait, "ID", name] for name in NAMES]
        assert told == pytest.approx(values[8 * t : 8 * t + 8], abs=1e-8)
    assert found["WWG", "Sex", "Male"] == pytest.approx(means[0], abs=1e-8)


def test_the_inverse_of_a_pedigree_is_the_pedigree(write, tmp_path):
    inverse = np.linalg.inv(relate(PARENTS))
    rows = [" ".join(map(repr, row[: k + 1].tolist())) for k, row in enumerate(inverse)]
    (tmp_path / "matrix.txt").write_text("8 8\n1 2 3 4 5 6 7 8\n" + "\n".join(rows) + "\n")
    _, found = solve(write(with_inverse()))
    _, expected = solve(write(BOTH))
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("words", "matrix", "sentence"),
    [
        ("", DENSE, "line 12: ERMFILE names no file"),
        ("matrix.txt !CONSTRUCT SSmat\n  ID A", DENSE, "which makes a matrix of genotypes"),
        ("matrix.txt\n  ID A\n  !METHOD Yang", DENSE, "has '!METHOD', known here are !SKIP"),
        ("matrix.txt\nPEDFILE ped.txt", DENSE, "ERMFILE and PEDFILE, needs one of them"),
        ("matrix.stream", DENSE, "matrix.stream: is a binary stream, whose layout"),
        ("none.txt", DENSE, "none.txt"),
        ("matrix.txt !SKIP 99", DENSE, "matrix.txt: is empty, needs the inverse"),
        ("matrix.txt", DENSE.replace("8 0", "8 9"), "line 1: has a core of 9, needs at most 8"),
        ("matrix.txt", DENSE.replace("8 0", "0 0"), "line 1: has '0', needs a whole number of at"),
        ("matrix.txt", DENSE.replace("8 0", "7 0"), "line 2: has 8 IDs instead of 7"),
        ("matrix.txt", DENSE.replace("b7", "4"), "line 2: has ID 4 twice"),
        ("matrix.txt", DENSE.replace("0.5 3", "3"), "line 4: has 1 element, needs 2 in row 2 of"),
        ("matrix.txt", DENSE.replace("1.5", "inf"), "line 5: has 'inf', needs a number"),
        ("matrix.txt", DENSE[:60], "line 7: has 1 element, needs 5 in row 5 of the lower"),
        ("matrix.txt", DENSE + "1\n", "line 11: has more than 8 rows"),
        ("matrix.txt", DENSE.replace("1.5", "0"), "no diagonal element of more than 0 for 8"),
        ("matrix.txt", DENSE.replace("b7", "a"), "field ID has 7, which is not in ERMFILE"),
        ("matrix.txt", SPARSE.replace("b7 b7 2.0 0", "b7 b7"), "line 1: has 'b7', needs a number"),
        ("matrix.txt", SPARSE + "4 4\n", "line 15: has 2 fields, needs two IDs and an element"),
        ("matrix.txt", SPARSE + "4 b7 .5\n", "line 15: has the element of b7 and 4 a second time"),
        ("matrix.txt", SPARSE.replace("1d0", "x"), "has 'x', needs a number"),
    ],
)
def test_what_is_no_inverse_is_refused(write, tmp_path, words, matrix, sentence):
    (tmp_path / "matrix.txt").write_text(matrix)
    data = WEANING_DATA.replace("5 Female", "x Female")
    if "field ID" not in sentence:
        data = data.replace("7 Male", "b7 Male")
    path = write(with_inverse(words, WEANING), data)
    with pytest.raises((FileFormatError, FileNotFoundError), match=sentence):
        read_mixblup(path)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "PEDFILE ped.txt",
            "ERMFILE g.txt",
            "line 12: has '!CALCINBR', known here are !SKIP, !ASIS, !NOORIG",
        ),
        ("!CALCINBR", "!MAKEGGCOV", "has '!MAKEGGCOV', known here are !CALCINBR, !GROUPS"),
        ("!STATS NDHL", "!MINMAX x.txt", "has '!MINMAX', known here are !SKIP, !MISSING, !STATS"),
        (
            "!RANDOM G(ID)",
            "!RANDOM G(ID) SNP(01)",
            r"has 'SNP\(' in a model, which is not supported",
        ),
        ("!RANDOM G(ID)", "!RANDOM G(ID) Herd", "has effect 'Herd', needs a class"),
        ("!RANDOM G(ID)", "!RANDOM G(Sex)", "field Sex has Male, which is not in the pedigree"),
        ("!RANDOM G(ID)", "!RANDOM G(Dam)", "field Dam has class 0 where a trait is observed"),
        ("!RANDOM G(ID)", "!RANDOM G(ID) Sex", "par.txt: has no matrix Sex"),
        ("!RANDOM G(ID)", "!THRESHOLD 1", "has '!THRESHOLD' in a model, which is not supported"),
        ("WWG ~", "WWG", r"line 20: has 'WWG Sex !RANDOM G\(ID\)', needs a trait"),
        ("WWG ~", "ID ~", "needs a trait"),
        ("WWG ~", "WWG !WEIGHT Sex ~", "has !WEIGHT Sex, needs a field of numbers above 0"),
        ("PARFILE par.txt", "PARFILE par.txt !SPARSE", "has '!SPARSE', known here are none"),
        ("  WWG T", "  WWG X", "line 9: has 'WWG X', needs a new field and I, A, R or T"),
        ("  PWG T", "  PWG T\n  more T", "data.txt, line 1: has 6 fields, model.mix has 7"),
        ("  Sex A", "  Sex R", "data.txt, line 1: has 'Male' in field Sex, needs a number"),
        ("MODEL", "MODELS", "has no section MODEL"),
        ("!MISSING 0", "!SKIP -1", "line 4: has '-1', needs a whole number of at least 0"),
        ("!MISSING 0", "!SKIP inf", "line 4: has 'inf', needs a number"),
        ("!MISSING 0", "!SKIP 9", "no record has an observation, needs at least one"),
        ("!MAXIT 1000", "!MAXIT 2.5", "has '2.5', needs a whole number of at least 1"),
        ("!MAXIT 1000", "!MAXIT nan", "has 'nan', needs a number"),
        ("!CALCINBR", "!GROUPS -1", "has '-1', needs a number of at least 0"),
        ("ped.txt", "none.txt", "none.txt"),
    ],
)
def test_what_is_not_read_is_refused(write, old, new, sentence):
    assert old in WEANING
    path = write(WEANING.replace(old, new))
    with pytest.raises((FileFormatError, FileNotFoundError), match=sentence):
        read_mixblup(path)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("PWG(ID) 18 40", "PWG(ID) 18", r"par.txt, line 3: has 'PWG\(ID\) 18', needs 2 numbers"),
        ("PWG(ID)", "PWG", r"par.txt: matrix G has no row of PWG\(ID\)"),
        ("WWG 40", "WWG x", "par.txt, line 6: has 'WWG x', needs numbers"),
        ("Res", "Rest", "par.txt: has no matrix Res"),
        ("Res", "G", "par.txt, line 5: has matrix G a second time"),
        ("G\n", "", r"par.txt, line 1: has 'WWG\(ID\) 20', needs a name of a matrix"),
    ],
)
def test_what_is_no_triangle_is_refused(write, old, new, sentence):
    assert old in COVARIANCES
    path = write(BOTH, par=COVARIANCES.replace(old, new, 1))
    with pytest.raises(FileFormatError, match=sentence):
        read_mixblup(path)


def test_groups_that_are_not_asked_for_are_refused(write):
    path = write(WEANING, ped=MRODE_PEDIGREE.replace("4 1 0", "4 1 -1"))
    with pytest.raises(FileFormatError, match="groups of unknown parents and no !GROUPS"):
        read_mixblup(path)


def test_classes_that_are_one_number_are_refused(write):
    text = WEANING.replace("  Sex A", "  Sex I")
    data = WEANING_DATA.replace("Female", "1").replace("Male", "01", 1).replace("Male", "2")
    with pytest.raises(FileFormatError, match="field Sex has classes 01 and 1, one number"):
        read_mixblup(write(text, data))


@pytest.mark.parametrize("n_skipped", [0, 2])
def test_classes_that_are_not_utf8_are_refused(write, tmp_path, n_skipped):
    path = write(WEANING.replace("!MISSING 0", f"!MISSING 0 !SKIP {n_skipped}"))
    before = "a title\n\n" if n_skipped else ""
    data = (before + WEANING_DATA.replace("Female", "Kühe").replace("Male", "Stiere")).encode()
    (tmp_path / "data.txt").write_bytes(data)
    levels = [level for of_effect in read_mixblup(path).levels for level in of_effect]
    assert {"Kühe", "Stiere"} <= {*map(str, levels)}
    (tmp_path / "data.txt").write_bytes(data.decode().encode("latin-1"))
    with pytest.raises(FileFormatError, match=f"data.txt, line {2 + n_skipped}: has a letter that"):
        read_mixblup(path)
