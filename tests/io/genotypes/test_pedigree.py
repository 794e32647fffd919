from __future__ import annotations

import csv

import numpy as np
import pytest

from genoviz import FileFormatError, read_pedigree
from tests.conftest import real_data

TEXTS = {
    "plain.txt": "c b y\nb x 0\n",
    "comments.ped": "# animals\nc b y\n\n# more\nb x .\n",
    "commas.csv": "id,sire,dam\nc,b,y\nb,x,\n",
    "order.tsv": "#dam\tyear\tanimal\tsire\ny\t1\tc\tb\nNA\t2\tb\tx\n",
    "semicolons.csv": '"animal";"father";"mother";"sex"\n"c";"b";"y";1\n"b";"x";0;1\n',
    "animals.fam": "f c b y 1 -9\nf b x 0 1 -9\n",
    "padded.txt": "c b y\nb x 00\n",
    "asreml.ped": "c b y\nb x *\n",
    "words.csv": "id,sire,dam\nc,b,y\nb,x,unknown\n",
    "ids.csv": "# of herd 7, all cows\nanimal_id,sire_id,dam_id\nc,b,y\nb,x,\n",
    "ids.tsv": "#animal_id\tsire_id\tdam_id\nc\tb\ty\nb\tx\t\n",
    "tags.csv": "sire_id,dam_id,tag,sex\nb,y,c,1\nx,,b,2\n",
    "quoted.csv": '"id","line, sex","sire","dam"\n"c","a, M","b","y"\n"b","F",x,""\n',
    "quoted.ped": '"c"  "b" "y"\n"b" x 0\n',
    "remark.ped": "# sire and dam of each\nc b y\nb x .\n",
    "other.fam": "f c b y 1 -9\nf b x -9 1 -9\n",
}


@pytest.mark.parametrize("name", TEXTS)
def test_tables_of_any_form_are_read(tmp_path, name):
    path = tmp_path / name
    path.write_text(TEXTS[name])
    pedigree = read_pedigree(path)
    assert pedigree.ids.tolist() == ["b" if k == 2 else v for k, v in enumerate(["x", "y", 0, "c"])]
    assert pedigree.sires.tolist() == [-1, -1, 0, 2]
    assert pedigree.dams.tolist() == [-1, -1, -1, 1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a 0 0\nb a\n", "x.txt, line 2: has 2 fields, needs 3: animal, sire, dam"),
        ("id,sex,sire,dam\na,M,b\n", "x.txt, line 2: has 3 fields, needs 4, as the header has"),
        ("a 0 0\na 0 0\n", "x.txt, line 2: animal 'a' is there twice, needs one row"),
        ("a b 0\nb 0 a\n", "x.txt, line 1: animal 'a' is its own ancestor (a < b < ...), needs"),
        ("id sire dam\n\n# none\n", "x.txt: has no animal, needs one a line: animal, sire, dam"),
        ("a 0 -1\nb -9 a\n", "x.txt, line 2: animal 'b' has the sire '-9', which is an unknown"),
        ("0 0 0\nb 0 a\n", "x.txt, line 1: animal '0' is named like a parent that is not known"),
        (
            "ä 0 0\n".encode() + b"b,M\xfc,M\xf6\n",
            "x.txt, line 2: has a letter that is not UTF-8 (",
        ),
        ("a\0 0 0\n", "x.txt, line 1: has a byte of zero, so it is not text"),
        ("", "x.txt: the file is empty, needs at least one line"),
        (None, "x.txt: there is no such file in "),
    ],
)
def test_bad_tables_are_refused(tmp_path, text, words):
    path = tmp_path / "x.txt"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(FileFormatError) as error:
        read_pedigree(path)
    assert words in str(error.value)


def test_quotes_protect_separators_in_names(tmp_path):
    path = tmp_path / "herd.csv"
    rows = [["Bell, old", "", ""], ["Ada", "Max; II", "Bell, old"]]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    pedigree = read_pedigree(path)
    named = [pedigree.ids[k] for k in (pedigree.sires[-1], pedigree.dams[-1])]
    assert [pedigree.ids[-1], *named] == ["Ada", "Max; II", "Bell, old"]


def test_an_animal_of_both_sexes_is_noted(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("a s d\nb d 0\nc 0 s\nd 0 0\ns 0 0\n")
    assert read_pedigree(path).notes == (
        "2 animals, such as d, are both sire and dam, as only plants can be.",
    )
    path.write_text("a s d\nb s d\nd * 00\ns 00 *\n")
    assert read_pedigree(path).notes == ()


def test_groups_of_unknown_parents_are_read(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("a -1 -2\nb -2 -1\nc a b\n")
    pedigree = read_pedigree(path)
    assert pedigree.groups.tolist() == ["-1", "-2"]
    assert pedigree.sires.tolist() == [-2, -3, 0]
    assert pedigree.notes == ("Unknown parents are of 2 groups: -1, -2.",)


def test_samples_without_parents_are_founders():
    pedigree = read_pedigree(real_data("genotypes/1kg_chr21_start.fam"))
    assert len(pedigree) == 2504
    assert (pedigree.sires == -1).all()
    assert pedigree.ids[:2].tolist() == ["HG00096", "HG00097"]
    assert pedigree.sires.dtype == np.int64
