"""Tables of variants are read whatever lies between their fields."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from genoviz import FileFormatError
from genoviz.io.genotypes.variant_tables import (
    ID_TITLES,
    P_TITLES,
    read_id_list,
    read_variant_sets,
    read_variant_table,
)


@pytest.mark.parametrize("separator", ["\t", ",", ";", "  "])
@pytest.mark.parametrize("before", ["", "##any\n", "###PGS\n#trait=height and more\n"])
def test_fields_and_comments_of_any_kind(tmp_path, separator, before):
    lines = [["#SNP", "pval", "note"], ["rs1", "1e-8", "x"], ["rs2", "NA", "y"]]
    text = before + "".join(separator.join(line) + "\n" for line in lines)
    path = tmp_path / "t.txt.gz"
    path.write_bytes(gzip.compress(text.encode()))
    table = read_variant_table(path)
    assert table.titles == ("SNP", "pval", "note")
    assert table.texts(table.find(None, ID_TITLES, "IDs")) == ["rs1", "rs2"]
    np.testing.assert_array_equal(table.numbers(table.find(None, P_TITLES, "p")), [1e-8, np.nan])
    assert table.find("NOTE", (), "a note") == "note"
    with pytest.raises(FileFormatError, match=r"t.txt.gz: has columns SNP, pval, note, needs 'q'"):
        table.find("q", P_TITLES, "p")
    with pytest.raises(FileFormatError, match=r"needs A or B for alleles"):
        table.find(None, ("A", "B"), "alleles")
    n_before = before.count("\n")
    with pytest.raises(FileFormatError, match=f"line {n_before + 2}: column note has 'x', needs a"):
        table.numbers("note")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ID\tP\trs1\n", "has no row below its header"),
        ("\n\n", "has no row below its header"),
        ("ID\tP\n\n", "has no row below its header"),
        ("\n#a=b\n\nID\tP\nrs1\n", "line 5: has 1 field, and the first row has 2"),
        ("ID\tID\nrs1\t2\n", "line 1: column 'ID' is there twice"),
        ("ID\tP\nrs1\t2\t3\n", "line 2: has 3 fields, and the first row has 2"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path, text, words):
    path = tmp_path / "t.tsv"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=words):
        read_variant_table(path)


def test_quotes_protect_separators(tmp_path):
    path = tmp_path / "scan.csv"
    path.write_text('"SNP","p, wald","gene"\n"v0",0.25,"A, B"\n"v1",0.5,C\n')
    table = read_variant_table(path)
    assert table.titles == ("SNP", "p, wald", "gene")
    assert table.texts("gene") == ["A, B", "C"]


def test_a_list_has_an_id_a_line(tmp_path):
    path = tmp_path / "list.txt"
    path.write_bytes(b"\xef\xbb\xbfrs1\n\nrs2\tmore of it\r\nrs1\n")
    assert read_id_list(path) == {"rs1", "rs2"}


def test_numbers_are_those_that_python_reads(tmp_path):
    texts = ["1e-320", "0.1", "-1.7976931348623157e308", "5", "+.5", "inf", "-nan", "1_0", "1e400"]
    texts += [repr(float(value)) for value in np.random.default_rng(1).normal(size=200) ** 9]
    path = tmp_path / "t.tsv"
    path.write_text("ID\tP\n" + "".join(f"x\t {text}\n" for text in texts) + "x\tNA\nx\t\n")
    found = read_variant_table(path).numbers("P")
    wanted = [np.nan if text == "-nan" else float(text) for text in texts]
    np.testing.assert_array_equal(found, [*wanted, np.nan, np.nan])


@pytest.mark.parametrize("separator", ["\t", "  "])
def test_sets_have_a_variant_a_line(tmp_path, separator):
    lines = [["Gene", "ID"], ["b", "rs2"], ["a", "rs1"], ["b", "rs1", "more"], ["b", "id"]]
    text = "# made by hand\n" + "".join(separator.join(line) + "\n\n" for line in lines)
    path = tmp_path / "sets.tsv.gz"
    path.write_bytes(gzip.compress(text.encode()))
    assert read_variant_sets(path) == {"b": ["rs2", "rs1", "id"], "a": ["rs1"]}
    path = tmp_path / "wrong.tsv"
    for text, words in (
        ("a\trs1\n\nalone\n", "line 3: has 'alone', needs the name of a set and the ID of a"),
        ("a\t\n", "line 1: has 'a', needs"),
        ("set\tvariant\n", "has no sets, needs lines of a set and a variant"),
    ):
        path.write_text(text)
        with pytest.raises(FileFormatError, match=words):
            read_variant_sets(path)
