from __future__ import annotations

import csv
import gzip

import numpy as np
import pytest

from genoviz import (
    FileFormatError,
    ParameterError,
    SampleTable,
    read_genotypes,
    read_phenotypes,
    read_trait,
)
from genoviz.io.genotypes.phenotypes import read_own_phenotypes
from genoviz.io.genotypes.sample_tables import read_fam
from tests.conftest import real_data


def read(folder, text, name="x.txt", **options):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_phenotypes(path, **options)


def values(table):
    return {
        name: ["-" if value in ("",) or value != value else value for value in column.tolist()]
        for name, column in table.columns.items()
    }


@pytest.mark.parametrize(
    ("name", "genotypes", "n_found", "columns"),
    [
        ("gcta_test.phen", "gcta_test", 3925, {"phenotype"}),
        ("maize_mdp.pheno.csv", "maize_mdp", 279, {"EarHT", "dpoll", "EarDia"}),
        ("mice_bglr.pheno.csv", "mice_bglr", 1814, {"GENDER", "cage", "Biochem.Urea"}),
        ("wheat_bglr.pheno.csv", "wheat_bglr", 599, {"1", "2", "4", "5"}),
        ("chr21_phase3_start.psam", "1kg_chr21_start", 2504, {"SEX", "SuperPop", "Population"}),
        ("toydata.5chrom.fam", "toydata.5chrom", 500, {"sex", "phenotype"}),
    ],
)
def test_real_tables_fit_their_samples(name, genotypes, n_found, columns):
    table = read_phenotypes(real_data(f"genotypes/{name}"))
    samples = read_genotypes(real_data(f"genotypes/{genotypes}.bed")).samples
    aligned = table.align(samples, by_row_order=genotypes == "wheat_bglr")
    assert columns <= {*aligned.names}
    has_value = np.zeros(len(aligned), bool)
    for title in aligned.names:
        column = aligned.columns[title]
        has_value |= ~np.isnan(column) if column.dtype.kind == "f" else column != ""
    assert has_value.sum() == n_found


def test_mice_have_the_values_of_their_rows():
    path = real_data("genotypes/mice_bglr.pheno.csv")
    table = read_phenotypes(path)
    with path.open() as file:
        rows = list(csv.DictReader(file))
    assert table.sample_ids.tolist() == [row["SUBJECT.NAME"] for row in rows]
    assert "" not in table.names
    for name in table.names:
        if name in table.numeric_names:
            wanted = [float(row[name] or "nan") for row in rows]
            np.testing.assert_array_equal(table.columns[name], wanted)
        else:
            assert table.columns[name].tolist() == [row[name] for row in rows]


TABLES = {
    "header": "FID IID height group\nf a 1.5 x\ng b -9 NA\n",
    "hash": "#fid\tiid\theight\tgroup\nf\ta\t1.5\tx\ng\tb\tnan\t.\n",
    "blanks": "  FID  IID   height group  \r\n f  a 1.5   x\r\n\r\n g b NA  NA \r\n",
    "commas": "IID,FID,height,group\na,f,1.5,x\nb,g,,\n",
    "quotes": '"IID";"FID";"height";"group"\n"a";"f";"1.5";"x"\n"b";"g";"";""\n',
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("packed", [False, True])
def test_tables_of_any_form_are_read(tmp_path, name, packed):
    text = TABLES[name].encode()
    table = read(tmp_path, gzip.compress(text) if packed else text)
    assert table.sample_ids.tolist() == ["a", "b"]
    assert table.family_ids.tolist() == ["f", "g"]
    assert values(table) == {"height": [1.5, "-"], "group": ["x", "-"]}


def test_columns_without_titles_are_numbered(tmp_path):
    assert values(read(tmp_path, "f a 1 2\nf b 3 -9\n", "x.cov")) == {
        "phenotype 1": [1, 3],
        "phenotype 2": [2, "-"],
    }


def test_families_named_for_their_samples_are_no_titles(tmp_path):
    for text in ("a a x\nb b y\n", "a,a,x\nb,b,y\n", '"a"\t"a"\t"x"\n"b"\t"b"\t"y"\n'):
        table = read(tmp_path, text)
        assert table.sample_ids.tolist() == table.family_ids.tolist() == ["a", "b"]
        assert values(table) == {"phenotype": ["x", "y"]}


def test_one_column_of_values_needs_no_title(tmp_path):
    for text in ("f a 1\nf b 2.5\n", "a\t1\nb\t2.5\n"):
        table = read(tmp_path, text)
        assert table.sample_ids.tolist() == ["a", "b"]
        assert values(table) == {"phenotype": [1, 2.5]}


@pytest.mark.parametrize("separator", ",;\t ")
@pytest.mark.parametrize("has_row_names", [False, True])
def test_quotes_protect_separators(tmp_path, separator, has_row_names):
    rows = [["a,b;c", "1.5", "x, y; z"], ["d", "2.5", "w"]]
    titles = ["IID", "height, cm; mean", "group; old, new"]
    path = tmp_path / "x.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter=separator)
        writer.writerow(titles)
        writer.writerows([str(k), *row] if has_row_names else row for k, row in enumerate(rows))
    table = read_phenotypes(path)
    assert table.sample_ids.tolist() == ["a,b;c", "d"]
    assert {name: column.tolist() for name, column in table.columns.items()} == {
        titles[1]: [1.5, 2.5],
        titles[2]: ["x, y; z", "w"],
    }


def test_names_of_rows_that_r_leaves_untitled_are_the_samples(tmp_path):
    table = read(tmp_path, "y z\na 1 u\nb 2 v\n")
    assert (table.sample_ids.tolist(), table.names) == (["a", "b"], ("y", "z"))
    table = read(tmp_path, '"","y"\n"a",1\n"b",2\n', "x.csv")
    assert (table.sample_ids.tolist(), table.names) == (["a", "b"], ("y",))


def test_the_column_of_samples_can_be_chosen(tmp_path):
    text = "id,tag,y\na,t1,5\nb,t2,6\n"
    assert read(tmp_path, text, "x.csv").sample_ids.tolist() == ["a", "b"]
    table = read(tmp_path, text, "x.csv", id_column="tag")
    assert (table.sample_ids.tolist(), table.names) == (["t1", "t2"], ("id", "y"))
    with pytest.raises(FileFormatError, match=r"x\.csv: has no column 'z', it has id, tag, y"):
        read(tmp_path, text, "x.csv", id_column="z")


@pytest.mark.parametrize(
    ("header", "text"),
    [
        ("id,y\n", "a,u\nb,v\nc,u\n"),
        ("name height\n", "a x\nb y\nc x\n"),
        ('"id";"y"\n', '"a";"u"\n"b";"v"\n"c";"u"\n'),
    ],
)
def test_a_first_line_that_is_the_row_of_a_sample_is_told(tmp_path, header, text):
    samples = SampleTable.from_ids(["c", "b", "a"])
    told = (
        "x.txt: the first line is taken for the header, though its field 'a' is the ID of a "
        "sample; put a line with the names of the columns above it."
    )
    aligned = read(tmp_path, text).align(samples)
    assert aligned.notes == ("2 of 3 samples are in the table.", told)
    assert read(tmp_path, header + text).align(samples).notes == ()


def test_a_first_line_of_which_no_other_is_known_is_told(tmp_path):
    with pytest.raises(ParameterError, match=r"; x\.txt: the first line is taken for the header"):
        read(tmp_path, "a,u\nx,v\n").align(SampleTable.from_ids([*"abc"]))


@pytest.mark.parametrize(
    ("text", "ids", "wanted"),
    [
        ("a,1.5\nb,2\n", "ab", {"phenotype": [1.5, 2]}),
        ("a;1.5;NA\nb;2;4\n", "ab", {"phenotype 1": [1.5, 2], "phenotype 2": ["-", 4]}),
        ("f,a,1\ng,b,-9\n", "ab", {"phenotype": [1, "-"]}),
        ("a,a,1\nb,b,2\n", "ab", {"phenotype": [1, 2]}),
        (",1,2\na,3,4\n", "a", {"1": [3], "2": [4]}),
        ("taxa,1,2\na,3,4\n", "a", {"1": [3], "2": [4]}),
        ("IID,1,2\na,3,4\n", "a", {"1": [3], "2": [4]}),
    ],
)
def test_a_first_line_of_numbers_is_a_sample(tmp_path, text, ids, wanted):
    table = read(tmp_path, text, "x.csv")
    assert (table.sample_ids.tolist(), values(table)) == ([*ids], wanted)
    told = any("x.csv: the first line is a sample" in note for note in table.notes)
    assert told == ("phenotype" in "".join(wanted))


def test_infinite_values_are_noted(tmp_path):
    table = read(tmp_path, "IID y z\na inf -inf\nb 2 1\nc 3 Inf\n")
    assert values(table) == {"y": ["-", 2, 3], "z": ["-", 1, "-"]}
    assert table.notes == (
        "y: 1 infinite value is left out.",
        "z: 2 infinite values are left out.",
    )


def test_missing_values_are_noted(tmp_path):
    table = read(tmp_path, "IID y sex\na -9 0\nb 2 1\nc -9 2\n")
    assert values(table) == {"y": ["-", 2, "-"], "sex": ["-", 1, 2]}
    assert table.notes == ("y: -9 stands for a missing value, 2 times.",)


@pytest.mark.parametrize(
    ("name", "sexes", "expected"),
    [
        ("x.tsv", "0 1 -9", [0, 1, "-"]),
        ("x.tsv", "0 1 2", ["-", 1, 2]),
        ("x.tsv", "0 2 2", ["-", 2, 2]),
        ("x.tsv", "0 0 NA", ["-", "-", "-"]),
        ("x.psam", "0 1 1", ["-", 1, 1]),
    ],
)
def test_a_sex_of_0_is_unknown_beside_codes_of_plink_only(tmp_path, name, sexes, expected):
    first = "#IID" if name.endswith("psam") else "IID"
    rows = "".join(f"{i}\t{sex}\n" for i, sex in zip("abc", sexes.split(), strict=True))
    table = read(tmp_path, f"{first}\tSEX\n{rows}", name)
    assert values(table) == {"SEX": expected}
    assert any("0 and 1 are two sexes" in note for note in table.notes) == (0 in expected)


def test_phenotypes_of_cases_and_controls_may_be_missing(tmp_path):
    fam = "f a 0 0 1 0\nf b 0 0 2 1\nf c 0 0 0 2\n"
    found = read(tmp_path, fam, "x.fam")
    assert values(found) == {"sex": [1, 2, "-"], "phenotype": [0, 1, 2]}
    phen = read(tmp_path, "f a 0\nf b 1\nf c 2\n", "x.phen")
    for table in (found, phen, read(tmp_path, "IID,phenotype\na,0\nb,1\nc,2\n", "x.csv")):
        trait = read_trait(table.columns["phenotype"])
        np.testing.assert_array_equal(trait.values, [np.nan, 1, 2])
        assert trait.is_binary


@pytest.mark.parametrize("n_more", [1, 3])
def test_a_fam_file_may_have_more_phenotypes(tmp_path, n_more):
    """As GEMMA's has; PLINK v1.90b6.26 reads the first six fields of it."""
    path = tmp_path / "x.fam"
    names = "abcd"
    rows = [[k * (j + 1) for j in range(n_more)] for k in range(len(names))]
    path.write_text("".join(f"f {name} 0 0 1 -9 {' '.join(map(str, row))}\n"
                            for name, row in zip(names, rows, strict=True)))  # fmt: skip
    assert read_fam(path).ids.tolist() == [*names]
    own = read_own_phenotypes(path)
    assert own.names == (*(f"phenotype {k + 2}" for k in range(n_more)), "sex")
    for k in range(n_more):
        assert values(own)[f"phenotype {k + 2}"] == [row[k] for row in rows]
    path.write_text(path.read_text() + "f e 0 0 1 -9\n")
    with pytest.raises(FileFormatError, match=f"line 5: has 6 fields, needs {6 + n_more}: family"):
        read_fam(path)


@pytest.mark.parametrize(
    ("values", "note"),
    [
        ("1 2.5 heavy -3e2", "y: 'heavy' on line 4 is not a number, needs one such as 1.5"),
        ("1,5 2 3 4", "y: '1,5' on line 2 is not a number, needs one such as 1.5"),
        ("1 light heavy x", None),
        ("NA 1 2 3", None),
    ],
)
def test_words_among_numbers_are_noted(tmp_path, values, note):
    rows = "".join(f"{name}\t{value}\n" for name, value in zip("abcd", values.split(), strict=True))
    table = read(tmp_path, f"IID\ty\n{rows}")
    assert len(table.notes) == (note is not None)
    assert "".join(table.notes).startswith(note or "")


def test_genotypes_have_phenotypes_of_their_own(tmp_path):
    path = tmp_path / "x.fam"
    path.write_text("f a 0 0 1 2\nf b 0 0 2 1\nf c 0 0 0 -9\nf d 0 0 1 0\nf e 0 0 1 NA\n")
    own = read_own_phenotypes(path)
    assert own.names == ("phenotype", "sex")
    assert values(own)["phenotype"] == [2, 1, "-", 0, "-"]
    path.write_text("f a 0 0 0 2.5\nf b 0 0 0 0\n")
    assert values(read_own_phenotypes(path)) == {"phenotype": [2.5, 0]}
    for missing in ("-9", "0", "NA", "1"):
        path.write_text(f"f a 0 0 1 {missing}\nf b 0 0 2 {missing}\n")
        assert read_own_phenotypes(path) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("IID y\na 1\nb 2 3\n", "x.txt, line 3: has 3 fields, and the first row has 2"),
        ('IID y\na "\n' + "b 1\n" * 40_000, "has a very long field, perhaps behind a quote that"),
        ("IID y\na 1\nb 2\na 3\n", "line 4: sample a is there already on line 2, needs one row"),
        ("IID y y\na 1 2\n", "line 1: column 'y' is there twice, needs a name of its own"),
        ("IID\na\n", "line 1: has one column, needs at least two: samples and a value"),
        ("IID y\n", "has no row below its header, needs one a sample"),
        ("IID y\n\n\n", "has no row below its header, needs one a sample"),
        ("\n\r\n", "has no row below its header, needs one a sample"),
        ("\n##\n\nIID y\na 1\nb 2 3\n", "x.txt, line 6: has 3 fields, and the first row has 2"),
        ("", "the file is empty, needs at least one line"),
        (
            b"##\nIID g\na S\xfcd\nb S\xf6d\n",
            "x.txt, line 3: has a letter that is not UTF-8 (perhaps ü",
        ),
        ("IID y\na 1\n".encode("utf-16"), "is text in UTF-16, needs UTF-8"),
        ("IID y\na 1\n".encode("utf-16-be"), "is text in UTF-16, needs UTF-8"),
        ("IID y\na \0\n", "x.txt, line 2: has a byte of zero, so it is not text"),
        ("PK\x03\x04\0\0", "is compressed with zip, needs to be plain or gzip"),
    ],
)
def test_bad_tables_are_refused(tmp_path, text, words):
    with pytest.raises(FileFormatError) as error:
        read(tmp_path, text)
    assert words in str(error.value)
