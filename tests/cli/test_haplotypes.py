"""``genoviz construct``, and guides searched in the haplotypes of a phased VCF file."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from genoviz import path_sequences, read_graph
from genoviz.analyses.offtargets import pangenome, pieces
from tests.oracles.haplotype_texts import write_out

GUIDE = "GGCCGACCTGTCGCTGACGC"
GENOME = {
    "c1": f"TTACCATGCA{GUIDE}TGGAATTGGCCGACCTGTCGCTGAGGCAGGTT",
    "c2": "CCAGCGTCAGCGACAGGTCGGCCAA",
}
# The PAM of c1's first site is lost, its second site becomes better, c2's loses two letters.
LINES = [
    ("c1", 32, "G", ["C"], [[1, 0], [0, 0], [0, 1]]),
    ("c1", 56, "G", ["C"], [[1, 1], [0, 0], [0, 0]]),
    ("c2", 3, "AG", ["A", "AGG"], [[0, 1], [2, 0], [0, 0]]),
]
SAMPLES = ("a", "b", "c")


@pytest.fixture(autouse=True)
def files(tmp_path):
    (tmp_path / "genome.fa").write_text("".join(f">{n}\n{text}\n" for n, text in GENOME.items()))
    rows = [
        [contig, str(at), ".", reference, ",".join(others), ".", ".", ".", "GT",
         *("|".join(map(str, each)) for each in genotypes)]
        for contig, at, reference, others, genotypes in LINES
    ]  # fmt: skip
    head = "#CHROM POS ID REF ALT QUAL FILTER INFO FORMAT".split()
    text = "".join("\t".join(row) + "\n" for row in [[*head, *SAMPLES], *rows])
    (tmp_path / "phased.vcf").write_text(
        "##fileformat=VCFv4.3\n##contig=<ID=c1>\n##contig=<ID=c2>\n"
        f'##FORMAT=<ID=GT,Number=1,Type=String,Description="G">\n{text}'
    )
    (tmp_path / "samples.tsv").write_text("sample\tgroup\na\tnorth\nb\tsouth\nc\tsouth\n")
    (tmp_path / "two.tsv").write_text("a\tnorth\na\tsouth\n")


def written_out(samples=SAMPLES):
    found = {f"reference#0#{name}": text for name, text in GENOME.items()}
    for number, sample in enumerate(SAMPLES):
        texts = write_out(GENOME, LINES, number) if sample in samples else {}
        found |= {f"{sample}#{copy}#{name}": text for (copy, name), text in texts.items()}
    return found


@pytest.mark.parametrize("ending", ["gfa", "gfa.gz", "gbz"])
def test_a_graph_of_a_genome_and_its_haplotypes_is_written(run, tmp_path, ending):
    (tmp_path / "chosen.txt").write_text("#IID\nb\na\n")
    made = ("construct", "genome.fa", "--vcf", "phased.vcf", "--samples", "chosen.txt")
    code, out, err = run(*made, "-o", f"graph.{ending}", "--json")
    assert code == 0, err
    graph = read_graph(tmp_path / f"graph.{ending}", sequences=True)
    sequences = path_sequences(graph)
    found = {
        name: sequences.cut(name, 0, int(length)).tobytes().decode()
        for name, length in zip(sequences.names, sequences.lengths, strict=True)
    }
    found = {name.split(":")[0]: text for name, text in found.items()}
    assert found == written_out(("a", "b"))
    assert json.loads(out)["graph"]["n_paths"] == len(found) == 10


@pytest.mark.parametrize(
    "form", [("--format", "v2"), ("--format", "bulge", "--dna-bulge", "1", "--rna-bulge", "1")]
)
def test_rows_are_those_of_searching_each_haplotype_alone(run, tmp_path, form):
    (tmp_path / "paths.fa").write_text("".join(f">{n}\n{t}\n" for n, t in written_out().items()))
    guides = ("offtarget", "-g", GUIDE, "--pam", "NRG", "-m", "4", *form)
    code, out, err = run(*guides, "--genome", "genome.fa", "--vcf", "phased.vcf")
    assert code == 0, err
    # Paths are by sample here, and by sequence of each sample in the other file.
    alone = run(*guides, "--genome", "paths.fa")[1]
    assert sorted(out.splitlines()) == sorted(alone.splitlines())
    assert len(out.splitlines()) > 12


def test_a_table_has_the_share_of_each_population_and_what_the_genome_has(run):
    made = ("offtarget", "-g", GUIDE, "-m", "2", "--genome", "genome.fa", "--vcf", "phased.vcf")
    code, out, err = run(*made, "--populations", "samples.tsv", "--format", "tsv")
    assert code == 0, err
    rows = [*csv.DictReader(out.splitlines(), delimiter="\t")]
    texts = written_out()
    people = [name.rsplit("#", 1)[0] for name in texts if not name.startswith("reference")]
    people = [*dict.fromkeys(people)]
    groups = {"a": "north", "b": "south", "c": "south"}
    letters = str.maketrans("ACGT", "TGCA")
    assert len(rows) >= 4
    for row in rows:
        site = row["dna"].upper()
        turned = site.translate(letters)[::-1]
        contig = row["contig"].rsplit("#", 1)[1]
        have = [
            person
            for person in people
            if any(word in texts[f"{person}#{contig}"] for word in (site, turned))
        ]
        assert row["haplotypes"].split(",") == have or not (have or row["haplotypes"])
        assert row["of_haplotypes"] == "6"
        assert float(row["frequency"]) == pytest.approx(len(have) / 6, rel=1e-5)
        for group in ("north", "south"):
            of_group = [person for person in people if groups[person[0]] == group]
            share = np.mean([person in have for person in of_group])
            assert float(row[f"frequency_{group}"]) == pytest.approx(share, rel=1e-5)
        is_in = any(word in GENOME[contig] for word in (site, turned))
        assert row["in_reference"] == str(int(is_in))
    made_by_alleles = [row for row in rows if row["in_reference"] == "0"]
    lost = [row for row in rows if row["in_reference"] == "1" and float(row["frequency"]) < 1]
    assert made_by_alleles
    assert lost


def test_populations_may_be_in_quotes(run, tmp_path):
    made = ("offtarget", "-g", GUIDE, "-m", "2", "--genome", "genome.fa", "--vcf", "phased.vcf")
    plain = run(*made, "--populations", "samples.tsv", "--format", "tsv")
    rows = [line.split("\t") for line in (tmp_path / "samples.tsv").read_text().splitlines()]
    with (tmp_path / "samples.csv").open("w", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows(rows)
    quoted = run(*made, "--populations", "samples.csv", "--format", "tsv")
    assert quoted[:2] == plain[:2]


def test_who_has_no_second_copy_of_a_contig_is_not_counted_there(run, tmp_path):
    text = (tmp_path / "phased.vcf").read_text()
    rows = "c1 32 . G C . . . GT 0|1 0|0 1|0\nc2 25 . A C . . . GT 0 0|1 1\n"
    (tmp_path / "male.vcf").write_text(text[: text.index("c1\t")] + rows.replace(" ", "\t"))
    made = ("offtarget", "-g", GUIDE, "-m", "0", "--genome", "genome.fa", "--vcf", "male.vcf")
    code, out, err = run(*made, "--populations", "samples.tsv", "--format", "tsv")
    assert code == 0, err
    names = ("contig", "of_haplotypes", "frequency", "frequency_north", "frequency_south")
    rows = [*csv.DictReader(out.splitlines(), delimiter="\t")]
    assert [[row[name].removeprefix("reference#0#") for name in names] for row in rows] == [
        ["c1", "6", "0.666667", "0.5", "0.75"],
        ["c2", "4", "1", "1", "1"],
    ]


def test_alleles_of_unknown_phase_make_possible_sites(run, tmp_path):
    """The site of c1 may have another letter, or lose its PAM, or both; of c it is not known."""
    text = (tmp_path / "phased.vcf").read_text()
    rows = "c1 19 . T A . . . GT 0/0 1|0 0/1\nc1 32 . G C . . . GT 0/1 1|0 0|1\n"
    (tmp_path / "mixed.vcf").write_text(text[: text.index("c1\t")] + rows.replace(" ", "\t"))
    made = ("offtarget", "-g", GUIDE, "-m", "1", "--genome", "genome.fa", "--vcf", "mixed.vcf")
    code, out, err = run(*made, "--populations", "samples.tsv", "--format", "tsv", "--scores")
    assert code == 0, err
    assert "2 genotypes of two alleles are not phased: each is a phase set of its own." in err
    assert "1 times alleles of a sample are within 23 bases and not phased with each other" in err
    names = ("start", "mismatches", "haplotypes", "frequency_south", "possible", "n_possible")
    rows = [*csv.DictReader(out.splitlines(), delimiter="\t")]
    found = {row["contig"]: tuple(map(row.get, names)) for row in rows if row["start"] == "10"}
    assert found == {
        "reference#0#c1": ("10", "0", "a#1,b#2", "0.25", "c", "1"),
        "c#possible2#c1:0-62": ("10", "1", "", "0", "c", "1"),
    }
    assert [row["n_possible"] for row in rows].count("0") == len(rows) - 2 > 0
    out = run(*made)[1]
    assert [line.split("\t")[1] for line in out.splitlines() if "possible" in line] == [
        "c#possible2#c1:0-62"
    ]
    code, _, err = run("construct", "genome.fa", "--vcf", "mixed.vcf", "-o", "graph.gfa")
    assert code == 1
    assert "c1:19: the genotype of c, 0/1, is not phased" in err


@pytest.mark.parametrize(
    "form",
    [
        ("--format", "csv", "--scores", "--populations", "samples.tsv"),
        ("--format", "bulge", "--rna-bulge", "1"),
        ("--format", "tsv", "--every-place", "--scores", "--rna-bulge", "1"),
        ("--count-only",),
        ("--scores", "--json"),
    ],
)
def test_sites_are_the_same_where_memory_has_those_of_a_guide_alone(
    run, tmp_path, monkeypatch, form
):
    guides = [GUIDE, "CCTGCCTCAGCGACAGGTCG", GUIDE, "ACGTACGTACGTACGTACGT"]
    (tmp_path / "guides.txt").write_text("".join(f"{guide}\n" for guide in guides))
    made = ("offtarget", "--guides", "guides.txt", "--genome", "genome.fa", "--vcf", "phased.vcf")
    found = []
    for most in (1 << 20, 1):
        for module, name in (
            (pangenome, "PLACES_IN_MEMORY"),
            (pangenome, "MIN_IN_MEMORY"),
            (pieces, "RUN_HITS"),
        ):
            monkeypatch.setattr(module, name, most)
        code, out, err = run(*made, "-m", "4", "--pam", "NRG", *form)
        assert code == 0, err
        found.append(out)
        if "--json" in form:
            found[-1] = json.loads(out)["guides"]
    assert found[0] == found[1]
    assert len(found[0]) > 3


BY_PEOPLE = ("--vcf", "phased.vcf", "--populations", "samples.tsv")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--samples", "a"), "--samples are those of --vcf"),
        (("--populations", "samples.tsv"), "are for graphs (GFA) and --vcf"),
        (("--vcf", "phased.vcf", "--samples", "z"), "phased.vcf has no sample 'z'"),
        (("--vcf", "genome.fa"), "genome.fa: is not a VCF or BCF file"),
        (("--vcf", "phased.vcf", "--populations", "genome.fa"), "genome.fa, line 1: '>c1' has no"),
        (("--vcf", "phased.vcf", "--populations", "two.tsv"), "two.tsv, line 2: sample 'a' is of"),
        ((*BY_PEOPLE,), "--populations needs a table: --format csv, tsv, parquet"),
        ((*BY_PEOPLE, "--format", "bed"), "--populations needs a table: --format csv"),
        ((*BY_PEOPLE, "--count-only"), "--populations needs a table: --format csv"),
        ((*BY_PEOPLE, "--format", "tsv", "--every-place"), "without --every-place"),
        (("--genes", "genome.fa", "--count-only"), "--genes needs a table: --format csv"),
        (("--vcf", "phased.vcf", "--samples", ","), "--samples names no sample; leave it out to"),
        # Longer than any file's name.
        (
            ("--vcf", "phased.vcf", "--samples", ",".join(["z"] * 3000)),
            "phased.vcf has no sample 'z'",
        ),
    ],
)
def test_wrong_calls_are_told(run, arguments, words):
    code, _, err = run("offtarget", "-g", GUIDE, "--genome", "genome.fa", *arguments)
    assert code in (1, 2)
    assert words in " ".join(err.replace("│", " ").split())
