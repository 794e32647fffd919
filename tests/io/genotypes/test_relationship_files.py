"""Relationship matrices of GCTA's format, read back and as PLINK writes them."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from genoviz import read_relationships, relationship_matrix
from genoviz.errors import FileFormatError, ParameterError
from genoviz.io.genotypes.relationship_files import write_relationships
from genoviz.io.genotypes.writers import write_plink
from genoviz.model.genotypes.genotypes import SampleTable
from tests.genotype_sets import draw_genotypes
from tests.plink import Plink

GENOTYPES = draw_genotypes(60, 80, 1, missing_rate=0.05)


@pytest.fixture(scope="module")
def matrix():
    return relationship_matrix(GENOTYPES, method="gcta", backend="cpu")


def test_what_is_written_is_read(matrix, tmp_path):
    path = tmp_path / "g.grm.bin"
    write_relationships(matrix.values, matrix.samples, matrix.pair_variants, path)
    found = read_relationships(path)
    np.testing.assert_array_equal(found.values, matrix.values.astype(np.float32))
    np.testing.assert_array_equal(found.pair_variants, matrix.pair_variants)
    assert found.samples.ids.tolist() == matrix.samples.ids.tolist()
    assert found.samples.family_ids.tolist() == matrix.samples.family_ids.tolist()
    (tmp_path / "g.grm.N.bin").unlink()
    assert read_relationships(path).pair_variants is None


def test_what_plink_writes_is_read(matrix, tmp_path):
    write_plink(GENOTYPES, tmp_path / "g")
    Plink("plink2", tmp_path)(tmp_path / "g", "--make-grm-bin", "--mac", "1")
    found = read_relationships(tmp_path / "out.grm.bin")
    np.testing.assert_allclose(found.values, matrix.values, atol=1e-5)
    np.testing.assert_array_equal(found.pair_variants, matrix.pair_variants)
    assert found.samples.ids.tolist() == matrix.samples.ids.tolist()


def put(folder, names, n_numbers):
    (folder / "g.grm.id").write_text(names)
    np.zeros(n_numbers, "<f4").tofile(folder / "g.grm.bin")
    return folder / "g.grm.bin"


@pytest.mark.parametrize(
    ("names", "n_numbers", "message"),
    [
        ("a\ta\nb\tb\n", 4, "g.grm.bin: has 16 bytes, needs 12 for the 2 samples of its .grm.id"),
        ("a\ta\nb\n", 3, "g.grm.id, line 2: has 1 field, needs FID and IID"),
        ("a\ta\nb\ta\na\ta\n", 6, "line 3: sample a a is there already on line 1, needs one"),
    ],
)
def test_files_that_do_not_fit_are_refused(tmp_path, names, n_numbers, message):
    with pytest.raises(FileFormatError, match=re.escape(message)):
        read_relationships(put(tmp_path, names, n_numbers))


def test_names_with_quotes_and_tabs_are_fields_of_a_table(tmp_path):
    names = ['"ab"', "a\tb", 'a"b', "Ä b"]
    samples, values = SampleTable.from_ids(np.array(names)), np.arange(16.0).reshape(4, 4)
    write_relationships(values, samples, np.ones((4, 4), int), tmp_path / "g.tsv")
    with (tmp_path / "g.tsv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file, delimiter="\t")
    assert header == ["#IID", *names]
    assert [row[0] for row in rows] == names
    np.testing.assert_array_equal([[float(each) for each in row[1:]] for row in rows], values)


def test_names_with_blanks_are_refused(tmp_path):
    samples = SampleTable.from_ids(np.array(["a", "b c"]))
    with pytest.raises(ParameterError, match="sample 'b c' has no name or a blank in it, so GCTA"):
        write_relationships(np.eye(2), samples, np.eye(2), tmp_path / "g.grm.bin")
    assert list(tmp_path.iterdir()) == []


def test_absent_files_are_told(tmp_path):
    path = put(tmp_path, "a\ta\n", 1)
    path.unlink()
    with pytest.raises(FileFormatError, match=r"g\.grm\.bin: there is no such file in"):
        read_relationships(path)
    (tmp_path / "g.grm.id").unlink()
    with pytest.raises(FileFormatError, match=r"g\.grm\.id: is not there, needs a line"):
        read_relationships(path)
    with pytest.raises(
        ParameterError, match=r"g\.npy is not a relationship matrix, needs a \.grm\.bin"
    ):
        read_relationships(Path("g.npy"))
