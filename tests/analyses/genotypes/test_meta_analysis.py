"""Meta-analysis is what a slow loop finds, whatever alleles and strands the files write."""

from __future__ import annotations

import subprocess

import numpy as np
import polars
import pytest
from scipy import stats

from genoviz import ParameterError, meta_analyse, read_associations
from tests.oracles import meta_analysis as oracle
from tests.plink import Plink

ROW = {"contig": "1", "position": 5, "id": "rs1", "a1": "A", "a2": "G", "beta": 1.0, "se": 1.0}
ROW |= {"n": 10.0}


def tables(*files):
    names = [f"{letter}.tsv" for letter in "abcdefgh"]
    frames = [polars.DataFrame(rows, infer_schema_length=None) for rows in files]
    return list(zip(names, frames, strict=False))


def make_files(seed, n_files, n_sites=150):
    """Files of different sites, with alleles that are swapped and of either strand."""
    rng = np.random.default_rng(seed)
    pairs = [("A", "G"), ("C", "A"), ("T", "G"), ("A", "T"), ("C", "G"), ("AT", "A"), ("g", "T")]
    sites = [
        (str(rng.integers(1, 4)), int(at), *pairs[rng.integers(7)]) for at in range(1, n_sites)
    ]
    sites += [("X", 7, "A", "G"), ("X", 7, "A", "C"), ("X", 7, "A", "ATT"), ("2", 1000, "G", "GA")]
    files = []
    for _ in range(n_files):
        rows = []
        for contig, position, a1, a2 in sites:
            if rng.random() < 0.3:
                continue
            beta, se = rng.normal(0, 2), rng.uniform(0.05, 1)
            if rng.random() < 0.5:
                a1, a2 = a2, a1
            is_ambiguous = oracle.OTHER.get(a1.upper()) == a2.upper()
            if len(a1 + a2) == 2 and not is_ambiguous and rng.random() < 0.3:
                a1, a2 = (oracle.OTHER[each.upper()] for each in (a1, a2))
            se = rng.choice([se, 0.0, np.nan], p=[0.9, 0.05, 0.05])
            beta = rng.choice([beta, 0.0, 40 * beta, np.nan], p=[0.8, 0.05, 0.1, 0.05])
            rows.append({"contig": contig, "position": position, "id": f"{contig}_{position}",
                         "a1": a1, "a2": a2, "beta": beta, "se": se, "n": 100.0})  # fmt: skip
        files.append([rows[k] for k in rng.permutation(len(rows))])
    return files


@pytest.mark.parametrize("n_files", [1, 2, 5])
@pytest.mark.parametrize("genomic_control", [False, True])
def test_every_number_is_that_of_the_loop(n_files, genomic_control):
    files = make_files(n_files, n_files)
    found = meta_analyse(
        tables(*files), random_effects=True, genomic_control=genomic_control, min_files=1
    )
    wanted = oracle.meta_analyse(files, genomic_control=genomic_control)
    by_site = {
        (row["#CHROM"], row["POS"], row["A1"], row["A2"]): row for row in found.frame.to_dicts()
    }
    assert len(by_site) == len(wanted) == found.frame.height
    for row in wanted:
        first = row.pop("first")
        got = by_site[first["contig"], first["position"], first["a1"].upper(), first["a2"].upper()]
        assert got["ID"] == first["id"]
        for name, value in row.items():
            value = np.nan if value is None else value
            if name != "DIRECTION":
                value = pytest.approx(value, rel=1e-9, abs=1e-9, nan_ok=True)
            assert got[name] == value, (name, first)
    places = found.frame.select("#CHROM", "POS").rows()
    assert places == sorted(places)
    assert len(found.lambdas) == n_files


def test_variants_in_too_few_files_are_counted_and_left_out():
    files = make_files(9, 3)
    found = meta_analyse(tables(*files))
    wanted = [row for row in oracle.meta_analyse(files) if row["N_FILES"] >= 2]
    assert found.frame.height == len(wanted)
    assert any("are in fewer than 2 files, and left out; " in note for note in found.notes)
    other = ROW | {"a2": "C"}
    place = ROW | {"position": 9}
    found = meta_analyse(tables([ROW, place], [other, place | {"a1": "C", "a2": "T"}]))
    assert found.frame["DIRECTION"].to_list() == ["+-"]
    assert found.notes == (
        "b.tsv: 1 variant has the alleles of the other strand",
        "2 variants are in fewer than 2 files, and left out; 2 of them have the position, but "
        "not the alleles, of another variant",
    )


def test_ambiguous_alleles_match_as_written_and_are_told():
    row = ROW | {"a1": "A", "a2": "T"}
    found = meta_analyse(tables([row], [row | {"a1": "T", "a2": "A"}]))
    assert found.frame["DIRECTION"].to_list() == ["+-"]
    assert found.notes == ("1 variant is A/T or C/G, of unknown strand, and matched as written",)


def test_p_values_below_all_numbers_have_a_logarithm():
    row = ROW | {"beta": 1.0, "se": 0.01}
    frame = meta_analyse(tables([row], [row], [row])).frame
    z = 100 * np.sqrt(3)
    assert frame["P"].to_list() == [0.0]
    wanted = -(stats.norm.logsf(z) + np.log(2)) / np.log(10)
    assert frame["NEG_LOG10_P"][0] == pytest.approx(wanted, rel=1e-12)
    assert wanted > 6000


def test_rows_that_cannot_be_used_are_counted():
    bad = [ROW | {"position": k + 10} | change for k, change in enumerate((
        {"se": 0.0}, {"se": None}, {"beta": float("-inf")}, {"contig": "chr0"}, {"a1": None},
        {"a2": "A"}, {"position": 0}, {"se": 1e-200},
    ))]  # fmt: skip
    found = meta_analyse(tables([ROW, *bad], [ROW]))
    assert found.frame.height == 1
    assert [note for note in found.notes if note.startswith("a.tsv")] == [
        "a.tsv: 2 rows have no position; left out",
        "a.tsv: 2 rows have no alleles; left out",
        "a.tsv: 1 row has no effect; left out",
        "a.tsv: 3 rows have no standard error above 0; left out",
    ]


def test_names_of_contigs_and_missing_sizes():
    rows = [ROW | {"contig": name} for name in ("chr1", "01", 1)]
    frame = meta_analyse(tables(*([row] for row in rows))).frame
    assert frame.select("#CHROM", "N_FILES", "OBS_CT").rows() == [("chr1", 3, 30)]
    rows[1]["n"] = None
    frame = meta_analyse(
        tables([rows[0]], [rows[1], ROW | {"position": 6}], [ROW | {"position": 6}])
    )
    assert frame.frame["OBS_CT"].to_list() == [None, 20]
    contigs = ("X", "10", "chr2", "MT", "scaffold_3")
    frame = meta_analyse(tables([ROW | {"contig": name} for name in contigs])).frame
    assert frame["#CHROM"].to_list() == ["chr2", "10", "X", "MT", "scaffold_3"]


def test_numbers_of_sex_chromosomes_are_those_of_the_species():
    rows = [[ROW | {"contig": name}] for name in ("chrX", "23", 23)]
    assert meta_analyse(tables(*rows)).frame["N_FILES"].to_list() == [3]
    rows.append([ROW | {"contig": "30"}])
    found = meta_analyse(tables(*rows), n_autosomes=29)
    assert found.frame.select("#CHROM", "DIRECTION").rows() == [("23", "?++?"), ("chrX", "+??+")]
    with pytest.raises(ParameterError, match="contig '30' is not a chromosome of humans"):
        meta_analyse(tables(*rows))


def test_an_absent_allele_is_that_of_the_other_files():
    alone = {"a2": None, "a1": "G", "beta": 3.0}
    several = [ROW | {"position": 7}, ROW | {"position": 7, "a2": "T"}]
    partial = [ROW | alone, ROW | {"position": 7, "a2": None}, ROW | alone | {"position": 8}]
    found = meta_analyse(tables(partial, [ROW, *several]), min_files=1)
    assert found.frame["DIRECTION"].to_list() == ["-+", "?+", "?+"]
    assert found.frame["BETA"][0] == -1
    assert found.notes[0].startswith("a.tsv: 2 variants have no A2, and that of the other files is")
    with pytest.raises(ParameterError, match="no file has a variant with an effect and both"):
        meta_analyse(tables(partial, partial))


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ([[ROW, ROW | {"a1": "C", "a2": "T"}]], r"a.tsv: variant rs1 \(1:5, A/G\) is there twice"),
        ([[ROW], [ROW, ROW | {"a2": None}]], r"b.tsv: variant rs1 \(1:5, A/G\) is there twice"),
        (
            [[ROW], [ROW | {"position": 6}]],
            "no variant is in 2 of the 2 files with the same contig",
        ),
        ([[ROW | {"se": 0.0}]], "no file has a variant with an effect and both alleles"),
        ([], "no file has a variant"),
        ([[{"contig": "1"}]], "a.tsv has no column position, needs contig, position"),
    ],
)
def test_what_cannot_be_combined_is_refused(files, words):
    with pytest.raises(ParameterError, match=words):
        meta_analyse(tables(*files))


def test_a_number_of_files_is_at_least_one():
    with pytest.raises(ParameterError, match="min_files is 0, needs at least 1"):
        meta_analyse(tables([ROW]), min_files=0)


def test_plink_combines_the_same_way(tmp_path):
    program = Plink("plink1.9", tmp_path).program
    files = make_files(4, 3, 400)
    names = []
    for number, rows in enumerate(files):
        rows = [row for row in rows if oracle.is_usable(row) and abs(row["beta"]) < 10]
        for row in rows:  # PLINK matches by ID, and resolves no strands
            row["id"] = f"{row['contig']}_{row['position']}_{min(row['a1'], row['a2'])}"
        rows = [row for row in rows if {*row["a1"] + row["a2"]} == {*"AG"}]
        titles = ("contig", "position", "id", "a1", "a2", "beta", "se")
        lines = ["CHR BP SNP A1 A2 BETA SE P NMISS"]
        lines += [" ".join(str(row[title]) for title in titles) + " 0.5 100" for row in rows]
        names.append(tmp_path / f"{number}.assoc")
        names[-1].write_text("\n".join(lines) + "\n")
    command = [program, "--meta-analysis", *names, "+", "qt", "--out", tmp_path / "out"]
    subprocess.run([str(part) for part in command], check=True, capture_output=True)
    lines = [line.split() for line in (tmp_path / "out.meta").read_text().splitlines()]
    wanted = {row[2]: dict(zip(lines[0], row, strict=True)) for row in lines[1:]}
    frame = meta_analyse(
        [(path.name, read_associations(path)) for path in names], random_effects=True
    ).frame
    assert frame.height == len(wanted) > 5
    for row in frame.to_dicts():
        plink = wanted[row["ID"]]
        sign = 1 if plink["A1"] == row["A1"] else -1
        assert int(plink["N"]) == row["N_FILES"]
        assert float(plink["P"]) == pytest.approx(row["P"], rel=2e-3)
        assert float(plink["P(R)"]) == pytest.approx(row["P_RANDOM"], rel=2e-3)
        assert float(plink["Q"]) == pytest.approx(row["Q_P"], abs=1e-4)
        for title, value in (("BETA", row["BETA"]), ("BETA(R)", row["BETA_RANDOM"])):
            assert float(plink[title]) == pytest.approx(sign * value, abs=2e-4)
        assert float(plink["I"]) == pytest.approx(row["I2"], abs=0.01)
