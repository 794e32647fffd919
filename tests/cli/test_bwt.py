"""The commands on k-mers say what counting letter by letter says."""

from __future__ import annotations

import gzip
import io
import json
import re
import subprocess
import sys
from collections import Counter
from types import SimpleNamespace

import pytest

from genoviz import read_fm_index, read_gfa
from genoviz.backend import cuda_is_available
from genoviz.io.sequences.gvfm_file import ArrayFile
from tests.conftest import count_gpus, real_data
from tests.oracles.paths import path_sequence
from tests.oracles.two_bit import write_two_bit

COMMAND = ("bwt",)

RECORDS = [
    ("chr1", "ACGTACGTTTGATTACANNNNgattacaGGATCCACGT" * 3),
    ("chr2", "TGTAATCTGTAATC"),
    ("empty", ""),
    ("chr4", "NNACGT"),
]
TURNED = str.maketrans("ACGT", "TGCA")


@pytest.fixture
def fasta(tmp_path):
    path = tmp_path / "genome.fa"
    path.write_text("".join(f">{name} of tests\n{letters}\n" for name, letters in RECORDS))
    return path


@pytest.fixture
def index(run, fasta, tmp_path):
    assert run("build", fasta, "-o", tmp_path / "made.gvfm")[0] == 0
    return tmp_path / "made.gvfm"


def turned(kmer):
    return kmer.translate(TURNED)[::-1]


def places(kmer, strand="both", records=RECORDS):
    """Return contig, start, end and strand of each place of a k-mer, letter by letter."""
    found = []
    for name, letters in records:
        for start in range(len(letters) - len(kmer) + 1):
            here = letters[start : start + len(kmer)].upper()
            if here == kmer:
                found.append((name, start, start + len(kmer), "+"))
            elif here == turned(kmer) and strand != "forward":
                found.append((name, start, start + len(kmer), "-"))
    return found


def kmers_of(letters, k):
    """Return the k-mer that begins at each base, or None."""
    found = [letters[start : start + k].upper() for start in range(len(letters))]
    return [kmer if len(kmer) == k and set(kmer) <= set("ACGT") else None for kmer in found]


def table(out):
    header, *rows = [line.split("\t") for line in out.splitlines()]
    assert header[0].startswith("#")
    return header, rows


@pytest.mark.parametrize("strand", ["forward", "both", "canonical"])
def test_counts_are_those_of_the_letters(run, index, strand):
    kmers = ["GATTACA", "acgt", "T", "GGATCC", "TTTTTT", "ACGTACGTTTGATTACA"]
    code, out, err = run("count", index, *kmers, "--strand", strand)
    assert (code, err) == (0, "")
    header, rows = table(out)
    assert header == ["#name", "kmer", "count"]
    wanted = [kmer.upper() for kmer in kmers]
    assert rows == [[".", kmer, str(len(places(kmer, strand)))] for kmer in wanted]


def test_iupac_codes_stand_for_their_bases(run, index):
    wanted = sum(len(places(f"A{base}G")) for base in "CT")
    assert table(run("count", index, "AYG")[1])[1] == [[".", "AYG", str(wanted)]]
    code, _, err = run("count", index, "NNNNNN", "--max-branches", "5")
    assert code == 1
    assert "more than the 5 allowed" in err


def test_sequences_are_indexed_on_the_way(run, fasta, index, tmp_path, monkeypatch):
    wanted = run("count", index, "GATTACA", "AC")
    two_bit = tmp_path / "genome.2bit"
    two_bit.write_bytes(write_two_bit(RECORDS))
    packed = tmp_path / "genome.fa.gz"
    packed.write_bytes(gzip.compress(fasta.read_bytes()))
    for path in (fasta, two_bit, packed):
        assert run("count", path, "GATTACA", "AC") == wanted
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(fasta.read_bytes())))
    assert run("count", "-", "GATTACA", "AC") == wanted


def test_kmers_come_from_a_file_too(run, index, tmp_path):
    (tmp_path / "kmers.fa").write_text(">one primer\nGATT\nACA\n>two\nAC\n")
    _, rows = table(run("count", index, "TTG", "--file", "kmers.fa")[1])
    assert [row[:2] for row in rows] == [[".", "TTG"], ["one primer", "GATTACA"], ["two", "AC"]]
    assert [int(row[2]) for row in rows] == [len(places(row[1])) for row in rows]
    code, out, err = run("count", index, "AC", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["counts"] == [{"name": "", "kmer": "AC", "count": len(places("AC"))}]


@pytest.mark.parametrize("strand", ["forward", "both"])
def test_hits_are_those_of_the_letters(run, index, strand):
    wanted = []
    for kmer in ("GATTACA", "ACGT", "CCC"):
        wanted += [[".", kmer, *map(str, place)] for place in places(kmer, strand)]
    code, out, err = run("locate", index, "GATTACA", "ACGT", "CCC", "--strand", strand)
    assert (code, err) == (0, "")
    header, rows = table(out)
    assert header == ["#name", "kmer", "contig", "start", "end", "strand"]
    assert rows == wanted


def test_hits_are_written_as_bed(run, index, tmp_path):
    wanted = [f"{a}\t{b}\t{c}\tGATTACA\t0\t{d}" for a, b, c, d in places("GATTACA")]
    assert run("locate", index, "GATTACA", "--format", "bed")[1].splitlines() == wanted
    assert run("locate", index, "GATTACA", "-o", "hits.bed.gz") == (0, "", "")
    assert gzip.decompress((tmp_path / "hits.bed.gz").read_bytes()).decode().splitlines() == wanted


def test_hits_have_what_is_around_them(run, index):
    letters = dict(RECORDS)
    _, rows = table(run("locate", index, "GATTACA", "--context", "5")[1])
    assert len(rows) == len(places("GATTACA"))
    for row in rows:
        start, end = int(row[3]), int(row[4])
        whole = letters[row[2]]
        assert row[6:] == [whole[max(start - 5, 0) : start], whole[start:end], whole[end : end + 5]]


def test_a_limit_is_said(run, index):
    n = len(places("AC"))
    code, out, err = run("locate", index, "AC", "--limit", "2")
    assert (code, err) == (0, f"note: 2 of {n} hits are given (--limit)\n")
    assert len(table(out)[1]) == 2
    assert run("locate", index, "AC", "--limit", n)[2] == ""


@pytest.mark.parametrize("k", [1, 3, 7, 34])
@pytest.mark.parametrize("canonical", [False, True])
def test_the_spectrum_is_that_of_the_letters(run, index, k, canonical):
    kmers = [kmer for _, letters in RECORDS for kmer in kmers_of(letters, k) if kmer]
    if canonical:
        kmers = [min(kmer, turned(kmer)) for kmer in kmers]
    wanted = Counter(Counter(kmers).values())
    options = ["--canonical"] if canonical else []
    header, rows = table(run("spectrum", index, "-k", k, *options)[1])
    assert header == ["#multiplicity", "n_kmers"]
    assert rows == [[str(m), str(wanted[m])] for m in sorted(wanted)]
    shown = json.loads(run("spectrum", index, "-k", k, "--json", *options)[1])
    assert (shown["n_total"], shown["n_distinct"]) == (len(kmers), len(set(kmers)))


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (("spectrum", "-k"), "-k"),
        (("spectrum", "--canonical", "-k"), "-k"),
        (("spectrum", "--every-k"), "--every-k"),
        (("multiplicity", "-k"), "-k"),
    ],
)
@pytest.mark.parametrize("k", [35, 1_000])
def test_a_k_beyond_the_longest_stretch_is_refused(run, index, options, name, k):
    command, *rest = options
    code, out, err = run(command, index, *rest, k)
    assert (code, out) == (1, "")
    words = f"{name} is {k:,}, and the longest stretch of A C G T has 34 bases; needs 1 to 34"
    assert words in " ".join(err.split())
    assert run(command, index, *rest, 34)[0] == 0


def test_distinct_kmers_are_counted_for_every_k(run, index):
    header, rows = table(run("spectrum", index, "--every-k", "9")[1])
    assert header == ["#k", "n_distinct", "n_unique", "n_total"]
    for k, row in enumerate(rows, start=1):
        counts = Counter(kmer for _, letters in RECORDS for kmer in kmers_of(letters, k) if kmer)
        n_unique = sum(n == 1 for n in counts.values())
        assert row == [str(k), str(len(counts)), str(n_unique), str(counts.total())]


@pytest.mark.parametrize("with_lcp", [False, True])
def test_multiplicities_are_those_of_the_letters(run, fasta, tmp_path, with_lcp):
    path = tmp_path / "lcp.gvfm"
    assert run("build", fasta, "-o", path, *(["--lcp"] if with_lcp else []))[0] == 0
    assert run("multiplicity", path, "-k", "4", "-o", "out.bedgraph.gz") == (0, "", "")
    lines = gzip.decompress((tmp_path / "out.bedgraph.gz").read_bytes()).decode().splitlines()
    found = {name: [0] * len(letters) for name, letters in RECORDS}
    for name, start, end, value in (line.split("\t") for line in lines):
        found[name][int(start) : int(end)] = [int(value)] * (int(end) - int(start))
    counts = Counter(kmer for _, letters in RECORDS for kmer in kmers_of(letters, 4))
    for name, letters in RECORDS:
        wanted = [counts[kmer] if kmer else 0 for kmer in kmers_of(letters, 4)]
        assert found[name] == wanted
    only = run("multiplicity", path, "-k", "4", "--contig", "chr4")[1]
    assert only == "".join(f"{line}\n" for line in lines if line.startswith("chr4\t"))


def test_paths_of_a_graph_are_counted_and_hit(run):
    path = real_data("gfa/DRB1-3123.gfa.gz")
    graph = read_gfa(path, cache=False)
    records = [
        (name, path_sequence(graph, number).upper()) for number, name in enumerate(graph.path_names)
    ]
    kmers = ["CCTGTCCTG", "GATTACA"]
    header, rows = table(run("count", path, *kmers, "--per-path")[1])
    assert header == ["#name", "kmer", "count", *graph.path_names]
    for kmer, row in zip(kmers, rows, strict=True):
        per_path = Counter(place[0] for place in places(kmer, records=records))
        assert list(map(int, row[3:])) == [per_path[name] for name in graph.path_names]
        assert int(row[2]) == per_path.total()
    header, rows = table(run("locate", path, *kmers)[1])
    assert header == ["#name", "kmer", "path", "start", "end", "strand", "nodes", "offset"]
    wanted = []
    for kmer in kmers:
        wanted += [[kmer, *map(str, place)] for place in places(kmer, records=records)]
    assert [row[1:6] for row in rows] == wanted
    code, out, err = run("locate", path, kmers[0], "--limit", "1", "--format", "bed")
    assert (code, out.count("\n")) == (0, 1)
    assert re.match(r"note: 1 of \d+ hits are given", err)


def test_nodes_without_sequence_are_noted(run, tmp_path):
    (tmp_path / "g.gfa").write_text("#\nS\t1\tACGT\nS\t2\t*\tLN:i:9\nP\tx\t1+,2+\t*\n")
    code, out, err = run("count", "g.gfa", "CG")
    assert (code, table(out)[1]) == (0, [[".", "CG", "1"]])
    assert err == "note: 1 of 2 nodes have no sequence ('*'), and match nothing\n"


def test_paths_of_a_graph_are_hit_as_contigs_are(run, tmp_path):
    (tmp_path / "g.gfa").write_text("S\t1\tACGTTGCA\nP\tx\t1+\t*\n")
    (tmp_path / "kmers.fa").write_text(">one\ttwo\nCGTT\n")
    code, out, _ = run("locate", "g.gfa", "--file", "kmers.fa", "--format", "bed")
    assert (code, out) == (0, "x\t1\t5\tone two\t0\t+\n")
    for command in ("count", "locate"):
        code, out, err = run(command, "g.gfa", "NN", "--max-branches", "3")
        assert (code, out) == (1, "")
        assert "more than the 3 allowed (max_branches)" in err


def test_a_file_of_k_mers_may_begin_with_a_byte_order_mark(run, index, tmp_path):
    (tmp_path / "kmers.txt").write_bytes(b"\xef\xbb\xbfGATTACA\r\nACGT\r\n")
    _, rows = table(run("count", index, "--file", "kmers.txt")[1])
    assert [row[1] for row in rows] == ["GATTACA", "ACGT"]


def test_an_index_is_built_beside_its_sequences(run, fasta, tmp_path):
    code, out, err = run("build", fasta, "--sample-rate", "4", "--table-k", "2", "--json")
    results = json.loads(out)
    assert (code, err, results["files"]) == (0, "", [str(tmp_path / "genome.gvfm")])
    built = read_fm_index(tmp_path / "genome.gvfm")
    assert (built.sample_rate, built.table_k) == (4, 2)
    assert results["n_bases"] == built.text.n_bases
    assert results["total_length"] == sum(len(letters) for _, letters in RECORDS)
    assert table(run("locate", "genome.gvfm", "GATTACA")[1]) == table(
        run("locate", fasta, "GATTACA")[1]
    )


def test_an_index_is_built_of_what_a_pipe_brings(run, fasta, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(fasta.read_bytes())))
    assert run("build", "-", "-o", "piped.gvfm")[0] == 0
    assert run("count", "piped.gvfm", "GATTACA") == run("count", fasta, "GATTACA")
    code, _, err = run("build", "-")
    assert (code, list(tmp_path.glob("*.gvfm"))) == (2, [tmp_path / "piped.gvfm"])
    assert "give that of the index by -o" in sentence(err)


@pytest.mark.parametrize("options", [(), ("--sample-rate", "4"), ("--table-k", "2")])
def test_an_index_built_within_a_memory_is_the_same_file(run, fasta, tmp_path, options):
    assert run("build", fasta, "-o", "memory.gvfm", *options)[0] == 0
    code, out, err = run("build", fasta, "-o", "m.gvfm", "--memory", "900M", "--json", *options)
    results = json.loads(out)
    assert (code, err, results["n_blocks"]) == (0, "", 1)
    assert 0 < results["needed_memory"] <= 9 * 10**8
    assert (tmp_path / "m.gvfm").read_bytes() == (tmp_path / "memory.gvfm").read_bytes()


@pytest.mark.gpu
@pytest.mark.skipif(not cuda_is_available(), reason="no NVIDIA GPU can be used here")
def test_gpus_build_the_same_file(run, fasta, tmp_path):
    assert run("build", fasta, "-o", "memory.gvfm")[0] == 0
    devices = ",".join(map(str, range(count_gpus())))
    options = ["--memory", "900M", "--backend", "cuda", "--devices", devices]
    assert run("build", fasta, "-o", "m.gvfm", *options)[0] == 0
    assert (tmp_path / "m.gvfm").read_bytes() == (tmp_path / "memory.gvfm").read_bytes()


@pytest.mark.parametrize("options", [(), ("--memory", "1G")])
def test_an_interrupted_build_leaves_nothing(run, fasta, tmp_path, monkeypatch, options):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", interrupt)
    assert run("build", fasta, *options)[0] == 130
    assert [path.name for path in tmp_path.iterdir()] == ["genome.fa"]


@pytest.mark.parametrize("command", ["build", "count", "locate", "spectrum", "multiplicity"])
def test_help_has_examples(run, command):
    code, out, _ = run(command, "--help")
    assert code == 0
    assert f"genoviz bwt {command} " in " ".join(out.split("Examples")[1].split())


def sentence(text):
    return re.sub(r"[\s│╭╮╰╯─]+", " ", text)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["count", "INDEX"], "give a KMER, or --file"),
        (["count", "INDEX", "A", "--per-path"], "--per-path needs a graph"),
        (["locate", "INDEX", "A", "--context", "3", "-o", "x.bed"], "--context needs --format tsv"),
        (["build", "INDEX", "-o", "no/x.gvfm"], "there is no folder no"),
        (["build", "FASTA", "--memory", "4"], "--memory is '4', needs a number and M or G"),
        (["build", "FASTA", "--memory", "4G", "--lcp"], "leave out --memory"),
        (["build", "FASTA", "--memory", "4G", "--devices", "0"], "--devices needs --backend cuda"),
        (["build", "FASTA", "--devices", "0"], "--devices needs --memory"),
        (["build", "FASTA", "FASTA", "--memory", "4G"], "--memory goes with one file"),
        (["spectrum", "INDEX", "--every-k", "5", "--canonical"], "leave out --canonical"),
        (["spectrum", "INDEX", "-k", "0"], "greater than or equal to 1"),
    ],
)
def test_wrong_usage_exits_with_2(run, index, fasta, arguments, words):
    code, out, err = run(*[{"INDEX": index, "FASTA": fasta}.get(word, word) for word in arguments])
    assert (code, out) == (2, "")
    assert words in sentence(err)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["count", "no.gvfm", "A"], "no.gvfm: there is no such file in "),
        (["count", "INDEX", "ACXT"], "k-mer 1, position 3: 'X' stands for no base"),
        (["count", "INDEX", "--file", "wrong.txt"], "wrong.txt: k-mer 2, position 1: '!' stands"),
        (["count", "INDEX", "--file", "no.txt"], "no.txt: there is no such file"),
        (["count", "wrong.txt", "A"], "wrong.txt, line 1: begins with 'ACG', needs to be FASTA"),
        (["count", "cut.gvfm", "A"], r"cut.gvfm: has .* bytes instead of .* \(damaged file\)"),
        (
            ["count", "other.gvfm", "A"],
            "other.gvfm: is not an index of k-mers, needs to be a .gvfm",
        ),
        (["build", "no.gvfm", "-o", "x.gvfm"], "no.gvfm: there is no such file in "),
        (["build", "INDEX"], "made.gvfm is an index already, needs FASTA or 2bit"),
        (["build", "FASTA", "--sample-rate", "3"], "sample_rate is 3, needs a power of two"),
        (
            ["build", "FASTA", "--memory", "9M"],
            "needs .* GB of memory at least, is allowed 0.009 GB",
        ),
        (["spectrum", "graph.gfa"], "-k is 21, and the longest stretch of A C G T has 4 bases"),
        (["multiplicity", "INDEX", "--contig", "chr9"], "no contig is named 'chr9'; there are 4"),
    ],
)
def test_failure_is_one_sentence_and_exit_code_1(run, index, fasta, tmp_path, arguments, words):
    (tmp_path / "wrong.txt").write_text("ACG\n!\n")
    (tmp_path / "graph.gfa").write_text("H\tVN:Z:1.0\nS\t1\tACGT\nP\tx\t1+\t*\n")
    (tmp_path / "cut.gvfm").write_bytes(index.read_bytes()[:-1])
    (tmp_path / "other.gvfm").write_bytes(b"x" + index.read_bytes())
    code, out, err = run(*[{"INDEX": index, "FASTA": fasta}.get(word, word) for word in arguments])
    assert (code, out) == (1, "")
    assert re.match(rf"genoviz: .*({words}).*\n\Z", err)


def test_a_damaged_index_is_searched_only_if_one_insists(run, index, monkeypatch):
    monkeypatch.setattr("genoviz.io.sequences.gvfm_file._CHECKED_AT_ONCE", 0)
    sound = run("count", index, "GATTACA")
    content = bytearray(index.read_bytes())
    content[ArrayFile(index).sections["samples"].offset] ^= 1
    index.write_bytes(content)
    for arguments in (["count", "GATTNCA"], ["locate", "GATTACA"]):
        code, out, err = run(arguments[0], index, *arguments[1:])
        assert (code, out) == (1, "")
        assert "section 'samples' is not what was written (damaged file)" in err
    assert run("spectrum", index, "-k", "3")[0] == 1
    assert run("count", index, "GATTNCA", "--no-check")[0] == 0
    assert run("count", index, "GATTACA") == sound  # does not read that


def test_a_look_up_checks_what_it_reads_of_an_index(run, index, monkeypatch):
    monkeypatch.setattr("genoviz.io.sequences.gvfm_file._CHECKED_AT_ONCE", 0)
    content = bytearray(index.read_bytes())
    content[ArrayFile(index).sections["lines"].offset] ^= 1
    index.write_bytes(content)
    code, out, err = run("count", index, "GATTACA")
    assert (code, out) == (1, "")
    assert "section 'lines' is not what was written (damaged file)" in err
    assert run("count", index, "GATTACA", "--no-check")[0] == 0


def test_repeats_of_an_index_with_few_places_are_refused(run, fasta, tmp_path):
    assert run("build", fasta, "-o", "few.gvfm", "--sample-rate", "8")[0] == 0
    code, _, err = run("spectrum", "few.gvfm")
    assert code == 1
    assert "the index keeps every 8. row of the suffix array" in err
    assert run("build", fasta, "-o", "x.gvfm", "--sample-rate", "8", "--lcp")[0] == 1
    assert not (tmp_path / "x.gvfm").exists()


LOOK_UP = (
    "import sys; from genoviz.cli.main import main\n"
    "try: main(sys.argv[1:])\n"
    "except SystemExit as end:\n"
    "    others = ('numba', 'rich.console', 'genoviz.cli.graph.layout')\n"
    "    print(end.code, [name for name in others if name in sys.modules])"
)


def look_up(folder, *words):
    """Return the lines of a look-up in a process of its own, and what it has loaded."""
    command = [sys.executable, "-c", LOOK_UP, "bwt", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=True)
    *lines, loaded = done.stdout.splitlines()
    return lines, loaded


def test_a_look_up_loads_neither_compiled_code_nor_other_commands(index, tmp_path):
    lines, loaded = look_up(tmp_path, "count", index, "ACG")
    assert lines[0] == "#name\tkmer\tcount"
    assert loaded == "0 []"


@pytest.mark.parametrize(
    "options",
    [["count"], ["count", "--by", "haplotype"], ["locate"], ["locate", "--format", "gaf"]],
)
def test_a_look_up_on_paths_loads_no_compiled_code(run, tmp_path, options):
    (tmp_path / "graph.gfa").write_text(
        "S\t1\tACGTTGC\nS\t2\tGG\nP\tx#1#c\t1+,2+\t*\nP\ty#1#c\t2-,1-\t*\n"
    )
    assert run("build", tmp_path / "graph.gfa", "-o", tmp_path / "graph.gvfm")[0] == 0
    lines, loaded = look_up(tmp_path, options[0], "graph.gvfm", "TTGCG", *options[1:])
    assert loaded == "0 []"
    assert any("TTGCG" in line for line in lines)
    assert lines == run(*options[:1], tmp_path / "graph.gfa", "TTGCG", *options[1:])[1].splitlines()
