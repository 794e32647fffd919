"""``genoviz offtarget`` gives the rows of Cas-OFFinder, and what its options ask for."""

from __future__ import annotations

import csv
import gzip
import io
import json
import shutil
from types import SimpleNamespace

import numpy as np
import polars
import pytest
import typer

from genoviz import Sequences, find_offtargets
from genoviz.cli.offtargets import paths, query
from genoviz.cli.offtargets.query import Device, parse_device
from genoviz.cli.offtargets.results import print_summary
from genoviz.io.files import file_source
from tests.conftest import real_data
from tests.oracles.offtargets import find_sites

COMMAND = ("offtarget",)

CASES = (
    "01_basic_ngg", "03_genomeN_protospacer", "04_genomeN_pam", "05_talen_allN", "06_allN_guide",
    "08_softmask", "09_contig_edges", "10_short_contigs", "11_end_overrun", "12_overlaps",
    "12b_pam_middle", "14_cas12a_tttn", "15_sacas9_nngrrt", "17_guide_with_pam",
    "18_input_quirks", "18b_input_noid_blank", "18c_uniform_mm_ids", "19_twobit", "21_headers",
    "22_bulge_1_1_ngg", "22b_bulge_1_1_nrg", "23_bulge_2_2_nrg", "25b_bulge_dup_guides",
    "26_guide_unknown_letters", "27b_long_lines", "28_bulk_nrg_mm6", "47_single_file_path",
)  # fmt: skip
ERRORS = {
    "40_err_length": ("line 3", "has 22 letters and the pattern 23"),
    "41_err_nodir": ("line 1", "no file or folder 'nowhere'"),
    "42_err_mixed_ids": ("line 4", "has no id and line 3 has one"),
    "43_err_badmm": ("line 3", "'x' stands for the mismatches"),
    "44_err_negmm": ("line 3", "'-1' stands for the mismatches"),
    "45_err_noguides": ("line 3", "has no guide"),
}
WRAPPER = "#Bulge type\tcrRNA\tDNA\tChromosome\tPosition\tDirection\tMismatches\tBulge Size"
GUIDE = "GGCCGACCTGTCGCTGACGC"
CONTIGS = {
    "c1 the first": f"TTACCATGCA{GUIDE}TGGAATTNNGGCCGACCTGTCGCTGAgGCAGGTT".upper(),
    "c2": "CCAGCGTCAGCGACAGGTCGGCC" + "ACGT" * 10 + "GGCCGACTGTCGCTGACGCCGG",
}


@pytest.fixture
def genome(tmp_path):
    path = tmp_path / "genome.fa"
    path.write_text("".join(f">{name}\n{letters}\n" for name, letters in CONTIGS.items()))
    return path


def search(**options):
    sequences = Sequences.from_records(CONTIGS.items())
    return find_offtargets([GUIDE + "NNN"], sequences, "N" * 21 + "GG", **options)


@pytest.mark.parametrize("case", CASES)
def test_rows_are_those_of_cas_offinder(run, monkeypatch, case):
    folder = real_data(f"offtarget/cases/{case}")
    monkeypatch.chdir(folder)
    code, out, err = run("input.txt", "C", "-")
    assert code == 0
    rows = out.splitlines()
    if len((folder / "input.txt").read_text().splitlines()[1].split()) == 3:
        assert rows.pop(0) == WRAPPER
    assert sorted(rows) == sorted((folder / "expected.tsv").read_text().splitlines())
    assert f"{len(rows):,} hit" in err or "dup" in case


@pytest.mark.parametrize("case", ERRORS)
def test_wrong_input_is_told_with_its_line_and_nothing_is_lost(run, tmp_path, case):
    folder = real_data(f"offtarget/cases/{case}")
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / "out.txt").write_text("of before")
    code, out, err = run("input.txt", "C", "out.txt")
    line, words = ERRORS[case]
    assert (code, out) == (1, "")
    assert err.startswith(f"genoviz: input.txt, {line}: ")
    assert words in err
    assert err.count("\n") == 1
    assert (tmp_path / "out.txt").read_text() == "of before"


def test_input_comes_by_a_pipe_and_rows_go_to_a_file(run, genome, tmp_path, monkeypatch):
    text = f"genome.fa\n{'N' * 21}GG\n{GUIDE}NNN 4\n"
    (tmp_path / "input.txt").write_text(text)
    code, wanted, _ = run("input.txt", "C", "-")
    assert code == 0
    assert len(wanted.splitlines()) == 3
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
    assert run("-", "C0", "-")[:2] == (0, wanted)
    assert run("input.txt", "A", "rows.txt")[:2] == (0, "")
    assert (tmp_path / "rows.txt").read_text() == wanted
    assert run("input.txt", "--backend", "cpu", "-o", "rows.txt.gz")[:2] == (0, "")
    assert gzip.decompress((tmp_path / "rows.txt.gz").read_bytes()).decode() == wanted


def test_a_closed_output_is_told(run, genome, monkeypatch):
    monkeypatch.setattr("sys.stdout", None)
    code, _, err = run("--guide", GUIDE, "--genome", genome)
    assert code == 1
    assert err.startswith("genoviz: standard output is closed")


def test_options_ask_for_the_same_as_an_input_file(run, genome, tmp_path):
    (tmp_path / "input.txt").write_text(f"genome.fa\n{'N' * 21}GG\n{GUIDE}NNN 4\n")
    wanted = run("input.txt", "C", "-")[1]
    options = ("--guide", GUIDE.lower(), "--genome", genome, "--backend", "cpu")
    code, out, err = run(*options)
    assert (code, out) == (0, wanted)
    assert "3 hits of 1 guide in 2 contigs" in err
    assert run("--guide", GUIDE.replace("T", "U"), *options[2:])[1] == wanted
    (tmp_path / "folder").mkdir()
    genome.rename(tmp_path / "folder" / "genome.fa")
    assert run(*options[:3], "folder", *options[4:], "--pam", "ngg")[1] == wanted
    fewer = run(*options[:3], "folder", "--mismatches", 0, "--strand", "+")[1].splitlines()
    assert [row.split("\t")[4:] for row in fewer] == [["+", "0"]]


def test_a_guide_with_its_pam_finds_what_it_finds_without(run, genome, tmp_path, monkeypatch):
    code, bare, _ = run("--guide", GUIDE, "--genome", genome)
    assert (code, bare != "") == (0, True)
    for guide in (f"{GUIDE}TGG", f"{GUIDE}NNN"):
        found = run("--guide", guide, "--genome", genome)
        assert found[:2] == (0, bare)
        assert f"note: 1 guide ends in the PAM NGG, which is left out of it: {guide}" in found[2]
    # Rows as of CRISPOR: identifier, guide with its PAM, then scores.
    (tmp_path / "guides.tsv").write_text(
        f"#guideId\ttargetSeq\tmitSpecScore\n21forw\t{GUIDE}TGG\t50\n7rev\t{'ACTA' * 5}AGG\t9\n"
    )
    code, out, err = run("--guides", "guides.tsv", "--genome", genome, "--json", "-o", "hits.csv")
    assert code == 0
    assert "2 guides end in the PAM NGG, which is left out of them: 21forw, 7rev" in err
    rows = json.loads(out)["guides"]
    assert [(row["id"], row["is_found"]) for row in rows] == [("21forw", True), ("7rev", False)]
    _, hits, err = run("--guides", "guides.tsv", "--genome", genome)
    assert [line for line in err.splitlines() if line.startswith("7rev")] == [
        "7rev                0  0  not found in this genome"
    ]
    monkeypatch.setattr("genoviz.cli.offtargets.results._SHOWN", 1)
    _, out, err = run("--guides", "guides.tsv", "--genome", genome)
    assert out == hits
    assert "1 of 2 guides: not found in this genome" in err


def test_a_table_whose_guides_do_not_parse_is_refused(run, genome, tmp_path):
    (tmp_path / "guides.csv").write_text(f"A,{GUIDE[:9]}X{GUIDE[10:]}\nC,{GUIDE[:9]}X\n")
    code, out, err = run("--guides", "guides.csv", "--genome", genome)
    assert (code, out) == (1, "")
    words = "guides.csv, line 1: letter 10 of the guide GGCCGACCTXTCGCTGACGC is 'X'"
    assert words in " ".join(err.split())


def test_a_short_guide_of_a_fasta_file_is_refused_as_one_of_a_table(run, genome, tmp_path):
    (tmp_path / "guides.fa").write_text(f">long\n{GUIDE}\n>short\nACG\nTAC\n")
    code, out, err = run("--guides", "guides.fa", "--genome", genome)
    assert (code, out) == (1, "")
    assert "guides.fa, line 3: the guide ACGTAC has 6 nt, needs 8" in " ".join(err.split())


def test_no_file_of_the_genome_is_written_over(run, tmp_path):
    """Files that lie in a folder, or that INPUT names, are on no command line."""
    folder = tmp_path / "folder"
    folder.mkdir()
    text = "".join(f">{name}\n{letters}\n" for name, letters in CONTIGS.items())
    (folder / "a.txt").write_text(text)
    (tmp_path / "in.txt").write_text(f"folder\n{'N' * 21}GG\n{GUIDE}NNN 3\n")
    for words in (
        ("--genome", "folder", "--guide", GUIDE, "-o", "folder/a.txt"),
        ("in.txt", "C", "folder/a.txt"),
    ):
        code, _, err = run(*words)
        assert code == 1
        assert "is read by this command, which must not write over it" in " ".join(err.split())
        assert (folder / "a.txt").read_text() == text
    # What lies beside the sequences is not read.
    for _ in range(2):
        code, _, err = run("--genome", "folder", "--guide", GUIDE, "-o", "folder/hits.csv")
        assert code == 0, err


def test_hits_of_any_pam_and_length_are_those_of_a_slow_search(run, genome, tmp_path):
    (tmp_path / "guides.csv").write_text("name,guide,mismatches\na,CCATGCAC,3\nb,CCATGCACG,4\n")
    code, out, _ = run(
        "--guides", "guides.csv", "--pam", "TTN", "--pam-first", "--genome", genome, "-m", "9"
    )
    assert code == 0
    contigs = [*CONTIGS.values()]
    wanted = []
    for name, guide, limit in (("a", "NNNCCATGCAC", 3), ("b", "NNNCCATGCACG", 4)):
        pattern = "TTN" + "N" * (len(guide) - 3)
        for _, contig, start, strand, n in find_sites(contigs, pattern, [guide], [limit]):
            wanted.append([guide, [*CONTIGS][contig], str(start), strand, str(n), name])
    rows = [line.split("\t") for line in out.splitlines()]
    assert sorted(row[:3] + row[4:] for row in rows) == sorted(wanted)
    assert wanted


@pytest.mark.parametrize("placements", ["best", "all"])
def test_bulges_have_rows_of_the_wrapper(run, genome, placements):
    options = ("--guide", GUIDE, "--genome", genome, "-m", 1, "--dna-bulge", 1, "--rna-bulge", 1)
    code, out, _ = run(*options, "--placements", placements)
    sizes = {"max_mismatches": 1, "dna_bulge": 1, "rna_bulge": 1}
    hits = search(**sizes, placements=placements)
    header, *rows = out.splitlines()
    assert (code, header) == (0, WRAPPER)
    shown = [(row.split("\t")[1], row.split("\t")[2]) for row in rows]
    assert shown == [(line.guide, line.site) for line in hits.alignments()]
    assert {row.split("\t")[0] for row in rows} >= {"X", "RNA"}
    if placements == "best":
        assert run(*options)[1] == out


def test_formats_go_by_the_name_of_the_file(run, genome, tmp_path):
    options = ("--guide", GUIDE, "--genome", genome, "--scores")
    hits = search(max_mismatches=4)
    for name in ("hits.csv", "hits.tsv", "hits.bed", "hits.parquet", "hits.csv.gz"):
        assert run(*options, "-o", name)[0] == 0
    rows = [*csv.DictReader((tmp_path / "hits.csv").read_text().splitlines())]
    assert [int(row["start"]) for row in rows] == hits.starts.tolist()
    assert {row["contig"] for row in rows} == {"c1", "c2"}
    assert {row["header"] for row in rows} == {"c1 the first", "c2"}
    # Blunt cut 3 bp before the PAM.
    assert [int(row["cut_site"]) for row in rows] == [
        start + (17 if strand > 0 else 6)
        for start, strand in zip(hits.starts.tolist(), hits.strands.tolist(), strict=True)
    ]
    assert [float(row["cfd"]) for row in rows if row["mismatches"] == "0"] == [1, 1]
    packed = gzip.decompress((tmp_path / "hits.csv.gz").read_bytes())
    assert packed == (tmp_path / "hits.csv").read_bytes()
    assert run(*options[:-1], "-o", "plain.csv")[0] == 0
    names = (tmp_path / "plain.csv").read_text().splitlines()[0].split(",")
    assert set(rows[0]) - set(names) == {"cfd", "mit", "cctop"}, "scores are there when asked for"
    scores = [line.split("\t")[4] for line in (tmp_path / "hits.bed").read_text().splitlines()]
    assert scores == [str(round(1000 * float(row["cfd"]))) for row in rows]
    assert (tmp_path / "hits.parquet").read_bytes()[:4] == b"PAR1"
    assert "have scores" in run("-g", "ACGTACGT", "--genome", genome, "-o", "x.csv", "--scores")[2]
    assert "v2 has no scores" in run(*options)[2]


def test_counts_alone_are_those_of_the_hits(run, genome, tmp_path):
    options = ("--guide", GUIDE, "--guide", "A" * 20, "--genome", genome)
    for more in ((), ("--rna-bulge", 1, "-m", 2), ("--rna-bulge", 1, "--placements", "all")):
        found = json.loads(run(*options, *more, "--json")[1])
        code, out, _ = run(*options, *more, "--count-only")
        header, *rows = [line.split("\t") for line in out.splitlines()]
        assert code == 0
        assert header[:4] == ["#id", "guide", "hits", "0"]
        assert [row[:3] for row in rows] == [
            [".", row["guide"], str(row["n_hits"])] for row in found["guides"]
        ]
        for row, wanted in zip(rows, found["guides"], strict=True):
            counts = [int(cell) for cell in row[3:]]
            n = len(wanted["by_mismatches"])
            assert counts[:n] == wanted["by_mismatches"]
            assert not any(counts[n:])
        assert found["n_hits"] > 0
    assert run(*options, *more, "--count-only", "-o", "counts.tsv.gz")[:2] == (0, "")
    assert gzip.decompress((tmp_path / "counts.tsv.gz").read_bytes()).decode() == out


def test_a_part_of_a_search_has_the_limits_and_names_of_its_guides():
    guides, limits, names = ("AC", "GT", "CA"), (1, 2, 3), ("a", "b", "c")
    part = paths._take(query.Search("NN", guides, limits, names), slice(1, 3))
    assert part == query.Search("NN", guides[1:], limits[1:], names[1:])
    assert paths._take(query.Search("NN", guides, limits, None), slice(0, 1)).ids is None


def test_the_summary_has_as_many_columns_as_the_guide_with_most_mismatches(capsys):
    guides = [
        {"id": "a", "guide": "ACGT", "is_found": True, "by_mismatches": [1, 0, 20]},
        {"id": None, "guide": "GATTACA", "is_found": True, "by_mismatches": [3]},
    ]
    sizes = {"n_hits": 24, "n_guides": 2, "n_contigs": 1, "n_bases": 900, "is_graph": False}
    seconds = dict.fromkeys(("genome", "search", "writing"), 0.0)
    print_summary({"guides": guides, "seconds": seconds, **sizes})
    rows = [line.split() for line in capsys.readouterr().err.splitlines()]
    assert rows[0][-3:] == ["0", "1", "2"]
    assert rows[1:3] == [["a", "1", "0", "20"], ["GATTACA", "3", "0", "0"]]


def test_the_closest_are_the_first_with_the_fewest_mismatches(run, genome):
    options = ("--guide", GUIDE, "--guide", "ACGTACGTACGTACGTACGT", "--genome", genome, "-m", 18)
    rows = [line.split("\t") for line in run(*options)[1].splitlines()]
    for limit in (1, 2, 5):
        found = [line.split("\t") for line in run(*options, "--closest", limit)[1].splitlines()]
        wanted = []
        for guide in dict.fromkeys(row[0] for row in rows):
            of_guide = [row for row in rows if row[0] == guide]
            chosen = sorted(of_guide, key=lambda row: int(row[5]))[:limit]
            wanted += [row for row in of_guide if row in chosen]
        assert found == wanted
    assert len(rows) > 5


def test_a_second_search_opens_the_saved_genome(run, genome, monkeypatch):
    monkeypatch.setattr(file_source, "MIN_BYTES", 1)
    options = ("--guide", GUIDE, "--genome", genome)
    first = run(*options)
    folder = file_source.cache_folder("genomes")
    assert len([*folder.iterdir()]) == 1
    monkeypatch.setattr("genoviz.io.offtargets.genome_planes.iter_read_genome", None)
    assert run(*options)[:2] == first[:2]
    shutil.rmtree(folder)
    monkeypatch.undo()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("C", Device("cpu")),
        ("C0,1", Device("cpu")),
        ("A", Device("cpu")),
        ("G", Device("cuda")),
        ("G1", Device("cuda", (1,))),
        ("G0,2", Device("cuda", (0, 2))),
        ("G0:2", Device("cuda", (0, 1))),
        ("G0:4:2,1", Device("cuda", (0, 2, 1))),
    ],
)
def test_devices_are_those_of_cas_offinder(monkeypatch, text, expected):
    monkeypatch.setattr(query, "cuda_is_available", lambda: False)
    assert parse_device(text) == expected


@pytest.mark.parametrize("text", ["", "X", "c", "G0,", "G-1", "G2:2", "G0:2:0", "C G", "C0:99999"])
def test_other_devices_are_refused(text):
    with pytest.raises(typer.BadParameter, match="needs C"):
        parse_device(text)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["input.txt", "X", "-"], 2, "needs C"),
        (["input.txt", "C", "out.txt", "-o", "x"], 2, "OUTPUT or -o"),
        (["input.txt", "C", "-", "--pam", "NGG"], 2, "INPUT says"),
        (["input.txt", "C", "-", "-m", "3"], 2, "INPUT says"),
        (["input.txt", "C", "input.txt"], 1, "is read by this command"),
        (["input.txt", "C", "gone/out.txt"], 2, "there is no folder gone"),
        (["input.txt", "C", "."], 2, "is a folder"),
        (["gone.txt", "C", "-"], 1, "gone.txt: there is no such file"),
        (["--guide", "ACGT"], 2, "give --genome"),
        (["--genome", "genome.fa"], 2, "give --guide"),
        (["--guide", "ACGT", "--genome", "gone.fa"], 1, "no such file or folder"),
        (["--guide", "AC-T", "--genome", "genome.fa"], 1, "letter 3 of --guide AC-T is '-'"),
        (["--guide", "", "--genome", "genome.fa"], 1, "--guide is empty"),
        (["--guide", "ACGT", "--genome", "genome.fa", "--pam", "NGZ"], 2, "has 'Z'"),
        (["--guide", "ACGT", "--genome", "genome.fa", "-m", "-1"], 2, "greater than or equal to 0"),
        (["--guide", "A", "--genome", "genome.fa", "--rna-bulge", "1"], 1, "too few for a bulge"),
        (["--guide", "ACGTAC", "--genome", "genome.fa", "--format", "parquet"], 2, "give -o"),
        (["-g", "ACGTAC", "--genome", "genome.fa", "--dna-bulge", "1", "--format", "v2"], 2,
         "v2 has no bulges"),
        (["-g", "ACGTAC", "--genome", "genome.fa", "--count-only", "--format", "csv"], 2,
         "a table of its own"),
        (["-g", "ACGTAC", "--genome", "genome.fa", "--rna-bulge", "1", "--closest", "3"], 2,
         "--closest goes neither"),
        (["-g", "ACGTAC", "--genome", "genome.fa", "--dna-bulge", "999"], 1,
         "dna_bulge is 999 and the pattern has 9 letters"),
        (["-g", "ACGTAC", "--genome", "empty.fa"], 0, "has no bases"),
    ],
)  # fmt: skip
def test_wrong_calls_are_told(run, genome, tmp_path, arguments, code, words):
    (tmp_path / "input.txt").write_text(f"genome.fa\n{'N' * 21}GG\n{GUIDE}NNN 4\n")
    (tmp_path / "empty.fa").write_text(">c\n")
    found, out, err = run(*arguments)
    assert (found, out) == (code, "")
    plain = " ".join(err.replace("│", " ").split())
    assert words in plain


TURN = str.maketrans("ACGT", "TGCA")
NODES = {
    "1": "TTATCATTCTTAACA" + GUIDE[:9], "2": "A", "3": "G", "4": GUIDE[10:] + "AG", "5": "G",
    "6": "C", "7": "CATATATACATTATATCTAACCAGCGTCAGCGACAGGTCGGCTTT",
}  # fmt: skip
WALKS = {
    "REF#0#c": "1+,2+,4+,6+,7+", "HG1#1#c": "1+,3+,4+,5+,7+", "HG1#2#c": "7-,5-,4-,2-,1-",
    "HG2#1#c": "1+,2+,4+,5+,7+,7-", "HG2#2#c": "7+,7+",
}  # fmt: skip


@pytest.fixture
def graph(tmp_path):
    """A graph, and the FASTA of its paths: an allele in the protospacer, and one in its PAM."""
    lines = ["H\tVN:Z:1.0", *(f"S\t{name}\t{bases}" for name, bases in NODES.items())]
    records = []
    for name, walk in WALKS.items():
        steps = walk.split(",")
        lines.append(f"P\t{name}\t{walk}\t*")
        read = (
            NODES[step[:-1]] if step[-1] == "+" else NODES[step[:-1]][::-1].translate(TURN)
            for step in steps
        )  # fmt: skip
        records.append(f">{name}\n{''.join(read)}\n")
    (tmp_path / "paths.fa").write_text("".join(records))
    (tmp_path / "graph.gfa").write_text("\n".join(lines) + "\n")
    return tmp_path / "graph.gfa"


@pytest.mark.parametrize(
    "form",
    [
        ("--format", "v2"), ("--format", "bed"), ("--format", "v3"), ("--format", "csv"),
        ("--format", "bulge", "--rna-bulge", "1", "--dna-bulge", "1"),
        ("--format", "tsv", "--scores", "--dna-bulge", "1", "--placements", "all"),
    ],
)  # fmt: skip
def test_rows_of_a_graph_are_those_of_searching_each_path_alone(run, graph, form):
    guides = ("-g", GUIDE, "-g", "TATATACATTATATCTAACC", "--pam", "NRG", "-m", "5")
    code, out, err = run(*guides, "--genome", graph, *form, "--every-place")
    assert code == 0, err
    alone = run(*guides, "--genome", "paths.fa", *form)[1]
    assert out == alone
    assert len(out.splitlines()) >= 8


def test_a_table_of_a_graph_has_each_site_once_with_its_haplotypes(run, graph):
    arguments = ("-g", GUIDE, "-m", "2", "--genome", graph, "--format", "tsv", "--reference", "REF")
    code, out, err = run(*arguments)
    assert code == 0
    rows = [*csv.DictReader(out.splitlines(), delimiter="\t")]
    names = ("contig", "start", "strand", "mismatches", "n_haplotypes", "of_haplotypes",
             "frequency", "haplotypes", "places", "in_reference", "reference_mismatches",
             "reference_pam_misfits", "reference_site")  # fmt: skip
    found = {row["dna"]: [row[name] for name in names] for row in rows}
    # The reference has the allele a, and AGC where the others have the PAM AGG.
    assert GUIDE[9] == "G"
    allele = GUIDE[:9] + "a" + GUIDE[10:]
    lost = ["0", "1", "1", f"{allele}AGc"]
    of_path = 24 + 1 + 12 + 1 + len(NODES["7"])
    expected = {
        f"{GUIDE}AGG": ["HG1#1#c", "15", "+", "0", "1", "5", "0.2", "HG1#1", "1", *lost],
        f"{allele}AGG": [
            "HG1#2#c", f"{of_path - 15 - 23}", "-", "1", "2", "5", "0.4", "HG1#2,HG2#1", "2", *lost,
        ],
        f"a{GUIDE[1:]}TGG": [
            "REF#0#c", "58", "-", "1", "5", "5", "1", "REF#0,HG1#1,HG1#2,HG2#1,HG2#2", "7",
            "1", "1", "0", f"a{GUIDE[1:]}TGG",
        ],
    }  # fmt: skip
    assert found == expected
    assert "in 5 paths of" in err
    assert "sites of 1 guide" in err


def test_what_is_not_for_graphs_or_only_for_them_is_told(run, graph, genome):
    for extra in (["--closest", "3"], ["--strand", "+"]):
        assert "are not for graphs" in " ".join(
            run("-g", GUIDE, "--genome", graph, *extra)[2].split()
        )
    for extra in (["--every-place"], ["--reference", "c1"]):
        words = " ".join(run("-g", GUIDE, "--genome", genome, *extra)[2].split())
        assert "are for graphs" in words
    for extra in ("--scores", "--every-place"):
        code, _, err = run("-g", GUIDE, "--genome", graph, "--count-only", extra)
        assert (code, "have no effect with --count-only" in " ".join(err.split())) == (2, True)
    code, _, err = run("-g", GUIDE, "--genome", graph, "--reference", "nobody")
    assert code == 1
    assert "nobody" in err


def test_genes_and_specificities_are_given(run, genome, tmp_path):
    (tmp_path / "genes.bed").write_text("c1\t0\t30\tABC1\nc2\t60\t80\tXYZ\n")
    options = ("-g", GUIDE, "--genome", genome, "-m", "3", "--genes", "genes.bed", "--scores")
    code, out, err = run(*options, "--format", "tsv")
    assert code == 0, err
    rows = [*csv.DictReader(out.splitlines(), delimiter="\t")]
    found = [
        (row["contig"], row["start"], row["gene"], row["gene_distance"], row["class"])
        for row in rows
    ]
    assert found == [
        ("c1", "10", "ABC1", "0", "exon"),
        ("c1", "39", "ABC1", "10", "intergenic"),
        ("c2", "0", "XYZ", "38", "intergenic"),
    ]
    assert [row["seed_mismatches"] for row in rows] == ["0", "1", "0"]
    assert "CFD spec." in err
    guide = json.loads(run(*options, "--json", "-o", "x.tsv")[1])["guides"][0]
    scores = [float(row["cfd"]) for row in rows]
    assert guide["n_perfect"] == scores.count(1.0) == 2
    assert guide["cfd_specificity"] == pytest.approx(1 / (1 + sum(scores) - 1))
    assert guide["worst_cfd"] == 1.0
    code, _, err = run(*options, "--format", "bed")
    assert code == 2
    assert "--genes needs a table" in err


@pytest.mark.parametrize("form", ["v2", "bulge", "v3", "bed", "csv", "tsv", "parquet"])
def test_output_that_is_larger_than_memory_is_the_same(run, tmp_path, monkeypatch, form):
    """Guides of two lengths, one of them twice, in several files with ambiguous letters."""
    random = np.random.default_rng(3)
    (tmp_path / "folder").mkdir()
    for number in range(2):
        letters = "".join(random.choice([*"ACGTacgtACGTRN"], 9000))
        text = f">c{2 * number} first\n{letters[:5000]}\n>c{2 * number + 1}\n{letters[5000:]}\n"
        (tmp_path / "folder" / f"{number}.fa").write_text(text)
    (tmp_path / "genes.bed").write_text("c0\t40\t3000\tABC1\nc3\t60\t800\tXYZ\n")
    lines = [f"a{i},{''.join(random.choice([*'ACGT'], 20))},{i + 11}" for i in range(3)]
    lines += [lines[0], "short,ACGTTACCTGACTGACG,8"]
    (tmp_path / "guides.csv").write_text("\n".join(lines) + "\n")
    options = ["--guides", "guides.csv", "--genome", "folder", "--format", form, "--json"]
    options += ["--pam", "NRG"]
    if form != "v2":
        options += ["--dna-bulge", "1"]
    if form in ("bed", "csv", "tsv", "parquet"):
        options += ["--scores"] + ["--genes", "genes.bed"] * (form != "bed")
    ending = form if form in ("bed", "csv", "parquet") else "tsv"
    answers = []
    for name in ("whole", "parts"):
        output = tmp_path / f"{name}.{ending}"
        code, out, err = run(*options, "-o", output)
        assert code == 0, err
        answers.append((output.read_bytes(), json.loads(out)["guides"], err))
        for constant, value in {"PIECE_WORDS": (32, 32), "RUN_HITS": 60, "PART_HITS": 20}.items():
            monkeypatch.setattr(f"genoviz.analyses.offtargets.pieces.{constant}", value)
    (whole, summary, notes), (parts, of_parts, same_notes) = answers
    if form == "parquet":
        tables = [polars.read_parquet(io.BytesIO(content)) for content in (whole, parts)]
        assert tables[0].equals(tables[1])
    else:
        assert parts == whole
    assert sum(guide["n_hits"] for guide in summary) > 200
    assert (of_parts, same_notes) == (summary, notes)


def test_an_enzyme_is_its_pam(run, genome):
    common = ("-g", GUIDE, "--genome", genome)
    assert run(*common, "--enzyme", "SpCas9-NG")[1] == run(*common, "--pam", "NG")[1]
    pam_first = ("-g", GUIDE[4:], "--genome", genome, "-m", "16")
    wanted = run(*pam_first, "--pam", "TTTV", "--pam-first")[1]
    assert run(*pam_first, "--enzyme", "Cas12a")[1] == wanted
    code, _, err = run(*common, "--enzyme", "SpCas9", "--pam", "NGG")
    assert code == 2
    assert "--enzyme has its PAM" in err
