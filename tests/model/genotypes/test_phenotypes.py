from __future__ import annotations

import numpy as np
import pytest

from genoviz import ParameterError, PhenotypeTable, SampleTable
from genoviz.model.genotypes.phenotypes import RowOrderError


def table(ids, families=None):
    n = len(ids)
    columns = {"y": np.arange(1.0, n + 1), "group": np.array(list("abcdef")[:n], np.str_)}
    families = None if families is None else np.array([*families])
    return PhenotypeTable(np.array([*ids], np.str_), ("y", "group"), columns, families)


def samples(ids, families):
    ids = np.array([*ids])
    return SampleTable(np.array([*families]), ids, ids, ids, np.zeros(len(ids), np.uint8))


def test_columns_have_kinds():
    assert table("ab").numeric_names == ("y",)
    assert table("ab").category_names == ("group",)
    assert repr(table("a")) == "PhenotypeTable(1 sample, 2 columns)"


def test_rows_get_the_order_of_the_samples():
    aligned = table("cab").align(SampleTable.from_ids(["a", "x", "c"]))
    np.testing.assert_array_equal(aligned.columns["y"], [2, np.nan, 1])
    assert aligned.columns["group"].tolist() == ["b", "", "a"]
    assert aligned.sample_ids.tolist() == ["a", "x", "c"]
    assert aligned.notes == ("2 of 3 samples are in the table.",)
    assert table("cab").align(SampleTable.from_ids(["a", "c"])).notes == ()


def test_samples_of_two_families_may_have_one_name():
    aligned = table("aab", ["1", "2", "1"]).align(samples("aba", ["2", "1", "1"]))
    assert aligned.columns["y"].tolist() == [2, 3, 1]


def test_names_do_where_families_are_named_otherwise():
    aligned = table("abc", "123").align(samples("cab", "000"))
    assert aligned.columns["y"].tolist() == [3, 1, 2]


def test_a_name_of_several_samples_is_refused_where_families_do_not_tell_them_apart():
    twice = samples("aab", ["1", "2", "1"])
    words = r"^a is the IID of several samples of the genotypes \(FID 1, 2\)"
    for given in (table("ab"), table("ab", "89")):
        with pytest.raises(ParameterError, match=words):
            given.align(twice)
        with pytest.raises(ParameterError, match=words):
            given.find_owners(twice)
    with pytest.raises(ParameterError, match=r"several samples of the table \(FID 1, 2\)"):
        table("aab", "123").align(SampleTable.from_ids(["a", "b"]))
    assert table("b").align(twice).columns["y"][2] == 1
    assert table("aab", "123").align(SampleTable.from_ids(["b"])).columns["y"].tolist() == [3]


def test_records_belong_to_samples_of_their_family():
    records = table("abaab", ["1", "1", "2", "2", "9"])
    taken, owners = records.find_owners(samples("aab", ["1", "2", "1"]))
    assert owners.tolist() == [0, 2, 1, 1]
    assert taken.columns["y"].tolist() == [1, 2, 3, 4]
    known, owners = records.find_owners(SampleTable.from_ids(["b", "a"]))
    assert (owners.tolist(), known.notes) == ([1, 0, 1, 1, 0], ())


def test_rows_without_known_names_are_in_the_order_of_the_samples_if_asked():
    samples = SampleTable.from_ids(["w0", "w1", "w2"])
    with pytest.raises(RowOrderError, match="'w0'; as there are 3 of either, rows can be taken in"):
        table("123").align(samples)
    aligned = table("123").align(samples, by_row_order=True)
    assert aligned.columns["y"].tolist() == [1, 2, 3]
    assert "such as '1', is among those of the genotypes, such as 'w0'" in aligned.notes[0]
    with pytest.raises(ParameterError, match="no sample of the table, such as '1', is among"):
        table("12").align(samples, by_row_order=True)
    aligned = table("213").align(SampleTable.from_ids(["1", "2", "3"]), by_row_order=True)
    assert aligned.columns["y"].tolist() == [2, 1, 3]


def test_columns_stand_beside_those_of_another_table():
    other = PhenotypeTable(np.array(["b"]), ("Y", "z"), {"Y": np.ones(1), "z": np.zeros(1)})
    joined = table("b").beside(other, mark=" (fam)")
    assert joined.names == ("y", "group", "Y (fam)", "z")
    assert joined.columns["Y (fam)"].tolist() == [1]


def test_an_empty_table_has_only_missing_values():
    aligned = table("").align(SampleTable.from_ids(["a"]))
    assert np.isnan(aligned.columns["y"]).all()
    assert aligned.columns["group"].tolist() == [""]


def test_what_does_not_fit_is_refused():
    with pytest.raises(ParameterError, match="column 'y' has 1 of 2 samples"):
        PhenotypeTable(np.array(["a", "b"]), ("y",), {"y": np.zeros(1)})
    with pytest.raises(ParameterError, match=r"names are \['x'\], columns \['y'\]"):
        PhenotypeTable(np.array(["a"]), ("x",), {"y": np.zeros(1)})
