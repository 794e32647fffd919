"""Reads on the command line are counted as a dictionary counts them, and fitted."""

from __future__ import annotations

import gzip
import io
import json
from collections import Counter
from types import SimpleNamespace

import pytest

from genoviz.analyses.sequences.genome_model import fit_genome_model
from genoviz.analyses.sequences.kmer_spectrum import read_spectrum
from tests.analyses.sequences.test_genome_model import simulate_reads
from tests.analyses.sequences.test_kmer_parts import count
from tests.cli.test_bwt import sentence, table

COMMAND = ("bwt",)
READS = ["GATTACAGATTACA", "TGTAATC", "ACGTNNACGTACG", "TTTTTTTTTTTT"]


def write_fastq(path, reads):
    text = "".join(f"@read{n}\n{read}\n+\n{'I' * len(read)}\n" for n, read in enumerate(reads))
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


@pytest.mark.parametrize("k", [1, 5, 12])
def test_reads_of_several_files_are_counted_together(run, tmp_path, k, monkeypatch):
    write_fastq(tmp_path / "one.fq.gz", READS[:2])
    write_fastq(tmp_path / "two.fastq", READS[2:])
    (tmp_path / "two.fastq").write_bytes((tmp_path / "two.fastq").read_bytes().rstrip())
    wanted = Counter(count(READS, k).values())
    code, out, err = run("spectrum", "one.fq.gz", "two.fastq", "-k", k)
    assert (code, err) == (0, "")
    header, rows = table(out)
    assert header == ["#multiplicity", "n_kmers"]
    assert rows == [[str(n), str(wanted[n])] for n in sorted(wanted)]
    shown = json.loads(
        run("spectrum", "one.fq.gz", "two.fastq", "-k", k, "--json", "--memory", "900M")[1]
    )
    assert (shown["strand"], shown["n_distinct"]) == ("canonical", wanted.total())
    content = (tmp_path / "two.fastq").read_bytes()
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    assert run("spectrum", "-", "-k", k) == run("spectrum", "two.fastq", "-k", k)


def test_the_genome_of_reads_is_fitted(run, tmp_path):
    blocks = list(simulate_reads(50_000, 0.01, 40, 0.005, 0.0, seed=1))
    reads = [read for _, letters in blocks for read in letters.tobytes().decode().split()]
    write_fastq(tmp_path / "reads.fq", reads)
    code, out, err = run("spectrum", "reads.fq", "--fit", "-o", "spectrum.tsv")
    assert (code, err) == (0, "")
    spectrum = read_spectrum(lambda: blocks, 21)
    model = fit_genome_model(spectrum)
    assert f"genome size\t{model.size:,.0f} bp\t" in out
    assert f"heterozygosity\t{100 * model.heterozygosity:.4g} %\t" in out
    assert f"residual\t{model.residual:,.1f} k-mers" in out
    rows = table((tmp_path / "spectrum.tsv").read_text())[1]
    assert [int(row[1]) for row in rows] == spectrum.n_kmers.tolist()
    found = json.loads(run("spectrum", "reads.fq", "--fit", "--json")[1])["fit"]
    assert found["has_converged"]
    assert found["coverage"] == pytest.approx(model.coverage)


def test_another_genome_that_fits_is_noted(run, tmp_path):
    blocks = list(simulate_reads(50_000, 0.0, 40, 0.002, 0.4, seed=2))
    reads = [read for _, letters in blocks for read in letters.tobytes().decode().split()]
    write_fastq(tmp_path / "reads.fq", reads)
    model = fit_genome_model(read_spectrum(lambda: blocks, 21))
    size, heterozygosity = model.other
    code, _, err = run("spectrum", "reads.fq", "--fit")
    share = f"{100 * heterozygosity:.3g} %"
    assert code == 0
    assert err == f"note: {size:,.0f} bp with a heterozygosity of {share} fit the reads as well\n"


def test_a_fit_that_is_not_to_be_trusted_is_noted(run, tmp_path):
    reads = ["ACGTGCTTACGAGCTAGCTACGGGAT"] * 9 + ["GGATATCCCTCTAGAGATCTGGGCCTAT"]
    write_fastq(tmp_path / "reads.fq", reads)
    code, out, err = run("spectrum", "reads.fq", "-k", "11", "--fit")
    assert code == 0
    assert "genome size" in out
    assert err.startswith("note: ")
    assert err.endswith("the numbers are not to be trusted\n")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["reads.fq", "--every-k", "5"], 2, "reads are counted with -k, without --every-k"),
        (["reads.fq", "--scheduler", "tcp://x:1"], 2, "reads are counted with -k, without"),
        (["reads.fq", "-k", "33"], 1, "k is 33, needs 1 to 32 for reads"),
        (["reads.fq", "--memory", "4"], 2, "--memory is '4', needs a number and M or G"),
        (["reads.fq", "--memory", "9M"], 1, "memory is 9 MB, needs 64 MB or more"),
        (["reads.fq", "g.fa"], 1, "g.fa, line 1: begins with '>x', needs '@' and a name"),
        (["g.fa", "g.fa"], 2, "several files are counted together only if they are FASTQ"),
        (["g.fa", "--memory", "4G"], 2, "--memory goes with reads (FASTQ)"),
        (["g.fa", "--fit"], 2, "--fit needs reads (FASTQ), or --canonical with -k"),
        (["g.fa", "-k", "3", "--canonical", "--fit"], 1, "needs a peak: reads of more coverage"),
        (["bad.fq"], 1, "bad.fq, line 4: has another number of qualities than its read"),
    ],
)
def test_what_does_not_work_is_one_sentence(run, tmp_path, arguments, code, words):
    write_fastq(tmp_path / "reads.fq", READS)
    (tmp_path / "bad.fq").write_text("@a\nACGT\n+\nIII\n")
    (tmp_path / "g.fa").write_text(">x\nACGTTGCA\n")
    found, out, err = run("spectrum", *arguments)
    assert (found, out) == (code, "")
    assert words in sentence(err)


def test_an_assembly_is_assessed_by_reads(run, tmp_path):
    blocks = list(simulate_reads(20_000, 0.0, 40, 0.002, 0.0, seed=4))
    reads = [read for _, letters in blocks for read in letters.tobytes().decode().split()]
    write_fastq(tmp_path / "reads.fq.gz", reads)
    pieces = sorted({read for read in reads[:40] if "N" not in read})
    wrong = (
        pieces[0][:50] + {"A": "C", "C": "G", "G": "T", "T": "A"}[pieces[0][50]] + pieces[0][51:]
    )
    contigs = [wrong, *pieces[1:]]
    (tmp_path / "asm.fa").write_text("".join(f">c{n}\n{t}\n" for n, t in enumerate(contigs)))
    lines = [f"S\t{n + 1}\t{t}" for n, t in enumerate(contigs)]
    lines += [f"P\tc{n}\t{n + 1}+\t*" for n in range(len(contigs))]
    (tmp_path / "asm.gfa").write_text("\n".join(["H\tVN:Z:1.0", *lines]) + "\n")
    of_reads, of_assembly = count(reads, 21), count(contigs, 21)
    wanted = Counter((of_reads[kmer], min(of_assembly[kmer], 5)) for kmer in of_reads | of_assembly)
    for name in ("asm.fa", "asm.gfa"):
        code, out, err = run("assess", name, "--reads", "reads.fq.gz", "--absent", "bad.bed")
        assert code == 0, err
        header, rows = table(out)
        assert header[:3] == ["#multiplicity", "copies_0", "copies_1"]
        found = {
            (int(row[0]), c): int(n) for row in rows for c, n in enumerate(row[1:]) if n != "0"
        }
        assert found == wanted
        n_absent = sum(n for kmer, n in of_assembly.items() if kmer not in of_reads)
        assert (
            f"{n_absent:,} of {of_assembly.total():,} k-mers of the assembly are in no read" in err
        )
        bed = [line.split("\t") for line in (tmp_path / "bad.bed").read_text().splitlines()]
        assert ["c0", "30", "71"] in bed
    shown = json.loads(
        run("assess", "asm.fa", "--reads", "reads.fq.gz", "--json", "--solid", "9")[1]
    )
    solid = [kmer for kmer, n in of_reads.items() if n >= 9]
    share = sum(kmer in of_assembly for kmer in solid) / len(solid)
    assert shown["completeness"] == pytest.approx(share)
    assert (shown["n_absent"], shown["solid"]) == (n_absent, 9)


def test_wrong_calls_of_assess_are_told(run, tmp_path):
    (tmp_path / "asm.fa").write_text(">c\nACGTACGTACGATCGATCGATCGATT\n")
    code, _, err = run("assess", "asm.fa", "--reads", "asm.fa")
    assert code == 2
    assert "asm.fa has no reads: --reads needs FASTQ" in sentence(err)
    code, _, err = run("assess", "asm.fa", "--reads", "none.fq")
    assert (code, "none.fq: there is no such file" in err) == (1, True)
    write_fastq(tmp_path / "reads.fq", ["ACGTACGTACGATCGATCGATCGATT"])
    code, _, err = run("assess", "asm.fa", "--reads", "reads.fq")
    assert code == 0
    assert "QV inf: 0 of 6 k-mers of the assembly are in no read" in err
    assert "needs a peak" in err


def test_kmers_of_reads_are_told_by_their_gc_content(run, tmp_path):
    write_fastq(tmp_path / "reads.fq", READS)
    code, out, err = run("spectrum", "reads.fq", "-k", 5, "--gc")
    assert (code, err) == (0, "")
    header, rows = table(out)
    assert header == ["#multiplicity", *(f"gc_{n}" for n in range(6))]
    kmers = count(READS, 5).items()
    wanted = Counter((n, kmer.count("G") + kmer.count("C")) for kmer, n in kmers)
    found = {(int(row[0]), gc): int(n) for row in rows for gc, n in enumerate(row[1:])}
    assert {place: n for place, n in found.items() if n} == wanted
    for arguments, words in (
        (("reads.fq", "--gc", "--fit"), "--gc and --fit are two tables"),
        (("reads.fa", "--gc"), "--gc goes with reads"),
    ):
        (tmp_path / "reads.fa").write_text(">c\nACGT\n")
        code, _, err = run("spectrum", *arguments)
        assert code == 2
        assert words in sentence(err)


def test_inputs_of_all_kinds_are_compared(run, tmp_path):
    text = "GATTACAGATTTACCAGATCCCATTGACA"
    write_fastq(tmp_path / "reads.fq.gz", [text[:20], text[:20]])
    (tmp_path / "asm.fa").write_text(f">c\n{text[4:]}\n")
    gfa = f"H\tVN:Z:1.0\nS\t1\t{text[:9]}\nS\t2\t{text[9:15]}\nL\t1\t+\t2\t+\t0M\nP\tp\t1+,2+\t*\n"
    (tmp_path / "g.gfa").write_text(gfa)
    inputs = ("reads.fq.gz", "asm.fa", "g.gfa")
    counts = [count(reads, 7) for reads in ([text[:20]] * 2, [text[4:]], [text[:15]])]
    code, out, err = run("compare", *inputs, "-k", 7)
    assert (code, err) == (0, "")
    header, rows = table(out)
    assert header == [f"#{inputs[0]}", *inputs[1:], "kmers", "places_1", "places_2", "places_3"]
    everything = set().union(*counts)
    for row in rows:
        has = [cell == "1" for cell in row[:3]]
        of_row = [kmer for kmer in everything if [kmer in c for c in counts] == has]
        assert row[3:] == [
            str(len(of_row)), *(str(sum(c[kmer] for kmer in of_row)) for c in counts)
        ]  # fmt: skip
    assert len(rows) == 7
    shown = json.loads(run("compare", *inputs, "-k", 7, "--json")[1])
    assert [choice["n_kmers"] for choice in shown["choices"]] == [int(row[3]) for row in rows]
    one, two, three = (set(c) for c in counts)
    for operation, wanted in {
        "intersect": one & two & three, "subtract": one - two - three, "union": one | two | three,
    }.items():  # fmt: skip
        code, out, err = run("compare", *inputs, "-k", 7, "--operation", operation)
        assert (code, err) == (0, "")
        header, rows = table(out)
        assert header == ["#kmer", "count_1", "count_2", "count_3"]
        assert [row[0] for row in rows] == sorted(wanted)
        assert [row[1:] for row in rows] == [[str(c[row[0]]) for c in counts] for row in rows]


def test_wrong_calls_of_compare_are_told(run, tmp_path):
    (tmp_path / "asm.fa").write_text(">c\nACGTACGTACGATCGATCGATCGATT\n")
    for arguments, words in (
        (("asm.fa",), "needs 2 to 8 inputs, not 1"),
        (("asm.fa", "asm.fa", "--json", "--operation", "union"), "needs -o, a file for the k-mers"),
        (("asm.fa", "asm.fa", "-k", "33"), "k is 33, needs 1 to 32"),
    ):
        code, _, err = run("compare", *arguments)
        assert code in (1, 2)
        assert words in sentence(err)
