from __future__ import annotations

import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genoviz import (
    FileFormatError,
    ParameterError,
    iter_read_genotypes,
    read_genotypes,
    write_dosages,
)
from tests.conftest import real_data
from tests.genotype_sets import CODES, assert_same, genotypes_of

DOSAGES = np.array([[0, 1, 2], [-1, 2, 0]], np.int8)
NOT_IN_TABLES = ("family_ids", "father_ids", "mother_ids", "sexes")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("genotypes")


@settings(max_examples=25)
@given(CODES, st.sampled_from(["npz", "parquet"]))
def test_dosages_come_back(folder, codes, ending):
    genotypes = genotypes_of(codes)
    write_dosages(genotypes, folder / f"any.{ending}")
    assert_same(read_genotypes(folder / f"any.{ending}"), genotypes)


@pytest.mark.parametrize("ending", ["npz", "parquet"])
def test_real_genotypes_come_back(ending, tmp_path):
    genotypes = read_genotypes(real_data("genotypes/wheat_bglr.bed"))
    write_dosages(genotypes, tmp_path / f"x.{ending}")
    but = NOT_IN_TABLES if ending == "parquet" else ()
    assert_same(read_genotypes(tmp_path / f"x.{ending}"), genotypes, but=but)


def test_archives_and_tables_hold_what_is_documented(tmp_path):
    import polars

    genotypes = genotypes_of(np.array([[3, 2], [1, 0]]))
    write_dosages(genotypes, tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz") as archive:
        assert archive["dosages"].tolist() == [[0, 1], [-1, 2]]
        assert archive["contigs"].tolist() == ["1", "2"]
        assert archive["positions"].tolist() == [0, 10]
    write_dosages(genotypes, tmp_path / "x.parquet")
    table = polars.read_parquet(tmp_path / "x.parquet")
    assert table.rows() == [
        ("1", 1, "rs0", "TTG", "T", 0.0, 0, None),
        ("2", 11, "rs1", "A", "C", 0.125, 1, 2),
    ]
    assert table.columns[6:] == ["s0", "s1"]


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float32])
def test_an_array_alone_gets_numbered_names(tmp_path, dtype):
    dosages = DOSAGES.astype(dtype)
    if dtype == np.float32:
        dosages[1, 0] = np.nan
    np.save(tmp_path / "x.npy", dosages)
    found = read_genotypes(tmp_path / "x.npy")
    np.testing.assert_array_equal(found.dosages(slice(None)), DOSAGES)
    assert found.samples.ids.tolist() == ["s1", "s2"]
    assert found.variants.ids.tolist() == ["v1", "v2", "v3"]
    assert found.variants.positions.tolist() == [-1, -1, -1]


def test_names_may_be_numbers_and_positions_are_no_texts(tmp_path):
    np.savez(tmp_path / "x.npz", dosages=DOSAGES, ids=[7, 8, 9], positions=[10, 9, 100])
    found = read_genotypes(tmp_path / "x.npz").variants
    assert (found.ids.tolist(), found.positions.tolist()) == (["7", "8", "9"], [10, 9, 100])


def test_the_steps_of_reading_are_reported(tmp_path):
    np.savez(tmp_path / "x.npz", dosages=DOSAGES, ids=np.array(["a", "b", "c"]))
    *steps, last = iter_read_genotypes(tmp_path / "x.npz")
    assert all(step.genotypes is None and step.n_done <= step.n_total for step in steps)
    assert last.genotypes.variants.ids.tolist() == ["a", "b", "c"]
    assert last.n_done == last.n_total == 3


@pytest.mark.parametrize(
    ("name", "arrays", "words"),
    [
        ("x.npy", np.zeros(3), "x.npy: dosages have 1 dimension, need 2: samples and variants"),
        ("x.npy", np.full((2, 2), 3), "dosage of sample 0 at variant 0 is 3, needs to be 0, 1 or"),
        ("x.npy", np.full((2, 2), "A"), "dosages are <U1, need integers or floats"),
        ("x.npz", {"x": DOSAGES}, "x.npz: has no array 'dosages', it has x"),
        (
            "x.npz",
            {"dosages": DOSAGES, "ids": ["a", "b\tc", "d"]},
            "c' has a tab in it, needs a name without",
        ),
        (
            "x.npz",
            {"dosages": DOSAGES, "ids": np.array(["a"])},
            "ids has shape (1,), needs (3,) for 3 variants",
        ),
        (
            "x.npz",
            {"dosages": DOSAGES, "sample_ids": np.array(["a"])},
            "sample_ids has shape (1,), needs (2,)",
        ),
        ("x.npz", b"no", "is not a NumPy archive that can be read"),
        ("x.npy", b"no", "is not a NumPy array that can be read"),
        ("x.parquet", b"no", "is not a Parquet table that can be read"),
        ("x.npy", None, "there is no such file in "),
        ("x.npz", None, "there is no such file in "),
        ("a\nb.npz", None, r"'a\nb.npz': there is no such file in "),
        (".", None, "is a folder, needs to be a file, or the prefix of some"),
        ("x.parquet", None, "there is no such file in "),
        ("x.txt", None, "is of no known kind, needs one of the endings .bed, .bim"),
    ],
)
def test_bad_files_are_refused(tmp_path, name, arrays, words):
    path = tmp_path / name
    if isinstance(arrays, bytes):
        path.write_bytes(arrays)
    elif isinstance(arrays, dict):
        np.savez(path, **arrays)
    elif arrays is not None:
        np.save(path, arrays)
    with pytest.raises(FileFormatError) as error:
        read_genotypes(path)
    assert words in str(error.value)


def test_bad_tables_are_refused(tmp_path):
    import polars

    path = tmp_path / "x.parquet"
    polars.DataFrame({"id": ["a"], "s1": ["A/G"]}).write_parquet(path)
    with pytest.raises(FileFormatError, match="column 's1' holds no numbers, needs one for each"):
        read_genotypes(path)
    polars.DataFrame({"id": ["a"]}).write_parquet(path)
    with pytest.raises(FileFormatError, match="has no column of dosages, needs one for each"):
        read_genotypes(path)


def test_what_cannot_be_written_is_refused(tmp_path):
    genotypes = genotypes_of(np.zeros((2, 2), int))
    with pytest.raises(ParameterError, match=r"x\.csv ends in '\.csv', needs \.npz or \.parquet"):
        write_dosages(genotypes, tmp_path / "x.csv")
    genotypes.samples.ids[1] = "s0"
    with pytest.raises(ParameterError, match="sample 's0' would be the second column of that"):
        write_dosages(genotypes, tmp_path / "x.parquet")


def test_a_prefix_may_look_like_it_has_an_ending(tmp_path):
    for ending in (".bed", ".bim", ".fam"):
        source = real_data(f"genotypes/wheat_bglr{ending}")
        shutil.copy(source, tmp_path / f"W.B{ending}")
    assert read_genotypes(tmp_path / "W.B").n_variants == 1279
