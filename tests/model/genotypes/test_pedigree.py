from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genoviz import ParameterError, Pedigree


@st.composite
def families(draw):
    """Return animals in any order, each with parents among those before it, or none."""
    n = draw(st.integers(0, 12))
    parents = [
        [draw(st.sampled_from(["0", ".", *(f"a{k}" for k in range(i))])) for _ in range(2)]
        for i in range(n)
    ]
    order = draw(st.permutations(range(n)))
    return [(f"a{i}", *parents[i]) for i in order]


@given(families())
def test_parents_come_first_and_stay_parents(rows):
    ids, sires, dams = ([row[k] for row in rows] for k in range(3))
    pedigree = Pedigree.from_parents(ids, sires, dams)
    assert sorted(pedigree.ids.tolist()) == sorted(ids)
    names = [*pedigree.ids.tolist(), "0"]
    found = {
        names[k]: (names[pedigree.sires[k]], names[pedigree.dams[k]]) for k in range(len(pedigree))
    }
    assert found == {i: tuple(p.replace(".", "0") for p in (s, d)) for i, s, d in rows}
    numbers = np.arange(len(pedigree))
    assert (pedigree.sires < numbers).all()
    assert (pedigree.dams < numbers).all()
    again = Pedigree.from_parents(
        *([names[k] for k in column] for column in (numbers, pedigree.sires, pedigree.dams))
    )
    assert again.ids.tolist() == pedigree.ids.tolist()


def test_parents_without_a_row_are_founders():
    pedigree = Pedigree.from_parents(["c", "b"], ["b", "x"], ["y", "NA"])
    assert pedigree.ids.tolist() == ["x", "y", "b", "c"]
    assert pedigree.sires.tolist() == [-1, -1, 0, 2]
    assert pedigree.dams.tolist() == [-1, -1, -1, 1]
    assert pedigree.notes == ("2 parents without a row of their own are founders.",)
    assert repr(pedigree) == "Pedigree(4 animals, 2 founders)"


CODES = ["0", "00", "000000", "0.0", "", ".", "-", "--", "*", "?", "-9", "-9.0", "-0", "NA",
         "na", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "none", "unknown", "Unknown",
         "UNKNOWN", "unk", "missing"]  # fmt: skip


@pytest.mark.parametrize("code", CODES)
def test_codes_of_unknown_parents_are_no_animals(code):
    pedigree = Pedigree.from_parents(["a", "b", "c"], [code, code, "a"], [code, "0", code])
    assert pedigree.ids.tolist() == ["a", "b", "c"]
    assert pedigree.sires.tolist() == [-1, -1, 0]
    assert pedigree.dams.tolist() == [-1, -1, -1]
    assert pedigree.notes == ()


@pytest.mark.parametrize("name", ["007", "10", "Nan", "Nana", "A0", "0a", "unknown7", "-x"])
def test_names_that_look_like_codes_are_animals(name):
    pedigree = Pedigree.from_parents(["a", "b"], [name, name], ["0", "0"])
    assert pedigree.ids.tolist() == [name, "a", "b"]
    assert pedigree.sires.tolist() == [-1, 0, 0]
    assert pedigree.notes == ("1 parent without a row of its own is a founder.",)


def test_negative_numbers_are_groups_of_unknown_parents():
    pedigree = Pedigree.from_parents(
        ["c", "b", "-7", "d"], ["b", "-2", "-10", "-1"], ["-10.0", "0", "-02", "x"]
    )
    assert pedigree.ids.tolist() == ["x", "b", "c", "-7", "d"]
    assert pedigree.groups.tolist() == ["-1", "-2", "-10"]
    assert pedigree.sires.tolist() == [-1, -3, 1, -4, -2]
    assert pedigree.dams.tolist() == [-1, -1, -4, -3, 0]
    assert pedigree.notes == (
        "1 parent without a row of its own is a founder.",
        "Unknown parents are of 3 groups: -1, -2, -10.",
    )
    assert repr(pedigree) == "Pedigree(5 animals, 3 founders, 3 groups)"
    many = Pedigree.from_parents(
        [f"a{k}" for k in range(5)],
        [f"-{k}" for k in range(11, 16)],
        [f"-{k}" for k in range(16, 21)],
    )
    assert many.notes == (
        "Unknown parents are of 10 groups: -11, -12, -13, -14, -15, -16, -17, -18 and 2 more.",
    )


def test_an_animal_may_have_a_code_as_name_that_no_parent_has():
    pedigree = Pedigree.from_parents(["0", "1", "2"], ["NA", "NA", "1"], ["NA", "NA", "NA"])
    assert pedigree.ids.tolist() == ["0", "1", "2"]
    assert pedigree.sires.tolist() == [-1, -1, 1]


def test_a_long_line_of_descent_is_sorted():
    n = 50_000
    ids = [f"a{k}" for k in range(n)]
    pedigree = Pedigree.from_parents(ids, [*ids[1:], "0"], ["0"] * n)
    assert pedigree.ids[0] == f"a{n - 1}"
    assert pedigree.sires.tolist() == list(range(-1, n - 1))


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([("a", "a", "0")], r"animal 'a' is its own ancestor \(a < ...\)"),
        ([("x", "a", "0"), ("a", "0", "b"), ("b", "a", "0")], r"animal '[ab]' is its own ancestor"),
        ([("a", "0", "0"), ("a", "0", "0")], "animal 'a' is there twice, needs one row"),
        ([("0", "0", "0"), ("a", "0", "0")], "animal '0' is named like a parent that is not known"),
        ([("a", "-9", "-12")], "animal 'a' has the sire '-9', which is an unknown parent of no gr"),
        (
            [("a", "-1", "0"), ("b", "0", "-9.0")],
            "animal 'b' has the dam '-9', .* or, as '-1', a g",
        ),
        ([("-3", "0", "0"), ("b", "a", "-3")], "animal '-3' is named like a group of unknown par"),
    ],
)
def test_what_cannot_be_is_refused(rows, words):
    with pytest.raises(ParameterError, match=words):
        Pedigree.from_parents(*zip(*rows, strict=True))


def test_arrays_that_do_not_fit_are_refused():
    none = np.full(2, -1)
    with pytest.raises(ParameterError, match="dams: animal 0 has parent 1, needs -1 or one that"):
        Pedigree(np.array(["a", "b"]), none, np.array([1, -1]))
    with pytest.raises(ParameterError, match="sires: animal 0 has parent -4, needs -3 to -1 or o"):
        Pedigree(np.array(["a"]), none[:1] - 3, none[:1], groups=np.array(["-1", "-2"]))
    with pytest.raises(ParameterError, match=r"sires are int64 of shape \(2,\), need int64 of \(1"):
        Pedigree(np.array(["a"]), none, none)
    with pytest.raises(ParameterError, match="have lengths 2, 1 and 2, need one length"):
        Pedigree.from_parents(["a", "b"], ["0"], ["0", "0"])
