"""The commands on intervals write what bedtools and samtools write."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

from genoviz.analyses.graph.query.path_depth import path_depth_along
from genoviz.io.graph.gfa import read_gfa
from genoviz.io.intervals.intervals import read_intervals
from tests.conftest import real_data

CHR9 = "intervals/chr9_4-6Mb/bam_chr9_4000000_6000000.bam"
TAGS = ("CTCF_SE_ChIP_chr22_50k.bed.gz", "CTCF_SE_CTRL_chr22_50k.bed.gz")
PAIRS = [
    ("exons_hg19.bed.gz", "fBrain-DS14718_hg19.bed.gz"),
    ("refseq.chr1.exons.bed.gz", "simpleRepeats.chr1.bed.gz"),
    ("dbsnp_chr21_22.bed.gz", "exons_hg19.bed.gz"),
    ("exons_hg19.bed.gz", "dbsnp_chr21_22.bed.gz"),
    ("contigs50k.bed.gz", "contigs50k.bed.gz"),
]


def bedtools(*arguments):
    if shutil.which("bedtools") is None:
        pytest.skip("bedtools is not installed")
    command = ["bedtools", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def files(*names):
    return [real_data(f"intervals/{name}") for name in names]


def lines(text):
    """Return lines, to be compared as a whole: pytest takes minutes to explain large texts."""
    return text.splitlines()


def same(found, wanted):
    found, wanted = lines(found), lines(wanted)
    wrong = [pair for pair in zip(found, wanted, strict=False) if pair[0] != pair[1]]
    return (len(found), wrong[:3]) == (len(wanted), []) and len(wanted) > 0


@pytest.mark.parametrize("pair", PAIRS, ids=" ".join)
def test_counts_are_those_of_bedtools(run, pair):
    a, b = files(*pair)
    code, out, _ = run("count", a, b)
    assert code == 0
    assert same(out, bedtools("intersect", "-c", "-a", a, "-b", b))


@pytest.mark.parametrize("option", ["-s", "-S"])
def test_strands_are_compared_as_by_bedtools(run, option):
    a, b = files(*TAGS)
    assert same(
        run("count", a, b, option)[1], bedtools("intersect", "-c", option, "-a", a, "-b", b)
    )
    found = run("coverage", a, b, option)[1]
    assert same(found, bedtools("coverage", option, "-a", a, "-b", b))


@pytest.mark.parametrize("pair", PAIRS[1:4], ids=" ".join)
def test_coverage_is_that_of_bedtools(run, pair):
    a, b = files(*pair)
    assert same(run("coverage", a, b)[1], bedtools("coverage", "-a", a, "-b", b))
    found = run("coverage", a, b, "--mean")[1]
    assert same(found, bedtools("coverage", "-mean", "-a", a, "-b", b))


def test_coverage_by_blocks_is_that_of_bedtools(run, tmp_path):
    genes = tmp_path / "genes.bed"
    genes.write_text("c\t10\t60\tx\t0\t+\t10\t60\t0\t2\t10,10,\t0,40,\nc\t12\t14\ty\t0\t-\n")
    windows = tmp_path / "windows.bed"
    windows.write_text("c\t0\t100\nc\t15\t25\nc\t20\t50\n")
    assert run("coverage", windows, genes, "--split")[1].splitlines() == [
        "c\t0\t100\t3\t20\t100\t0.2000000",
        "c\t15\t25\t1\t5\t10\t0.5000000",
        "c\t20\t50\t0\t0\t30\t0.0000000",
    ]


@pytest.mark.parametrize("name", ["fly_x.bam", "paired_chr2L.bam"])
def test_depth_of_reads_is_that_of_bedtools(run, name):
    (path,) = files(name)
    found = run("depth", path, "-F", 0)[1]
    assert same(found, bedtools("genomecov", "-bg", "-split", "-ibam", path))
    found = run("depth", path, "-F", 0, "--strand", "-")[1]
    assert same(found, bedtools("genomecov", "-bg", "-split", "-strand", "-", "-ibam", path))
    found = run("depth", path, "-F", 0, "--no-split")[1]
    assert same(found, bedtools("genomecov", "-bg", "-ignoreD", "-ibam", path))


def test_a_region_beyond_its_contig_is_told(run, tmp_path):
    (tmp_path / "a.bed").write_text("c\t5\t10\n")
    (tmp_path / "a.genome").write_text("c\t100\n")
    depth = ("depth", "a.bed", "-g", "a.genome", "--zeros", "--region")
    assert run(*depth, "c:99-200") == (0, "c\t99\t100\t0\n", "")
    code, out, err = run(*depth, "c:100-200")
    assert (code, out) == (0, "")
    assert "note: --region c:100-200 begins beyond c, which has 100 bp" in err


@pytest.mark.parametrize("option", [("--zeros", "-bga"), (None, "-bg")])
def test_depth_of_features_is_that_of_bedtools(run, option, tmp_path):
    path, genome = real_data(f"intervals/{TAGS[0]}"), tmp_path / "chr22.genome"
    genome.write_text("chr22\t51304566\n")
    ours = [option[0]] if option[0] else []
    found = run("depth", path, "-g", genome, *ours)[1]
    assert same(found, bedtools("genomecov", option[1], "-i", path, "-g", genome))


@pytest.mark.parametrize("region", [None, "chr9:4500000-4600000"])
def test_depth_of_bases_is_that_of_samtools(run, region):
    pysam = pytest.importorskip("pysam")
    path = real_data(CHR9)
    ours = ["--region", region] if region else []
    theirs = ["-r", "chr9:4500001-4600000"] if region else []
    wanted = pysam.samtools.depth(*theirs, str(path)).splitlines(keepends=True)
    _, out, err = run("depth", path, "--per-base", *ours)
    assert same(out, "".join(line for line in wanted if not line.endswith("\t0\n")))
    assert "note: Reads: -F 1796, CIGAR cut at D and N, mates not merged" in err


def test_bases_without_depth_are_written_on_demand(run, tmp_path):
    path = tmp_path / "a.bed"
    path.write_text("c\t1\t2\nc\t1\t4\n")
    (tmp_path / "a.genome").write_text("b\t1\nc\t5\n")
    out = run("depth", path, "--per-base", "--zeros", "-g", tmp_path / "a.genome")[1]
    assert out.split() == "b 1 0 c 1 0 c 2 2 c 3 1 c 4 1 c 5 0".split()
    code, _, err = run("depth", path, "--zeros")
    assert (code, "a.bed: does not say how long its contigs are" in err) == (1, True)
    (tmp_path / "a.genome").write_text("c\t3\n")
    code, out, err = run("depth", path, "-g", tmp_path / "a.genome")
    assert (code, out.split()) == (0, "c 1 2 2 c 2 3 1".split())
    assert "a.bed: 1 interval reaches beyond its contig" in err
    (tmp_path / "a.genome").write_text("d\t3\n")
    assert (
        "a.bed: has intervals on 'c', which a.genome has not"
        in run("depth", path, "-g", tmp_path / "a.genome")[2]
    )


def test_reads_are_counted_whole_on_lines_of_gff(run):
    path = real_data("intervals/chr9_4-6Mb/gtf_chr9_4000000_6000000.gtf")
    out = run("count", path, real_data(CHR9))[1].splitlines()
    genes = read_intervals(path)
    reads = read_intervals(real_data(CHR9), blocks=False)
    rank = reads.find_contig("chr9")
    here = reads.contig_ids == rank
    assert [line.rsplit("\t", 1)[0] for line in out] == path.read_text().splitlines()
    for row in range(0, len(genes), 37):
        overlap = here & (reads.starts < genes.ends[row]) & (reads.ends > genes.starts[row])
        assert int(out[row].rsplit("\t", 1)[1]) == overlap.sum()


def test_files_without_lines_are_written_as_bed(run, tmp_path):
    exons = tmp_path / "a.bed"
    exons.write_text("chr9\t0\t999999999\n")
    out = run("count", real_data(CHR9), exons)[1].splitlines()
    reads = read_intervals(real_data(CHR9), blocks=False, names=True)
    assert len(out) == len(reads)
    fields = out[0].split("\t")
    assert fields[1:4] == [str(reads.starts[0]), str(reads.ends[0]), reads.names[0]]
    assert {line.split("\t")[6] for line in out if line.startswith("chr9\t")} == {"1"}


def test_other_names_of_contigs_are_noted(run, tmp_path):
    a, b = tmp_path / "a.bed", tmp_path / "b.bed"
    a.write_text("chr1\t0\t10\r\nchrM\t0\t10\r\n")
    b.write_text("1\t5\t6\nMT\t20\t30\n")
    code, out, err = run("count", a, b)
    assert (code, out) == (0, "chr1\t0\t10\t1\nchrM\t0\t10\t0\n")
    assert err == "note: Contigs are renamed: 1 to chr1, MT to chrM.\n"
    (tmp_path / "b.genome").write_text("chr1\t50\nchrM\t40\n")
    assert err == run("depth", b, "-g", tmp_path / "b.genome")[2]
    code, out, err = run("count", a, b, "--no-map-contigs")
    assert (out, err) == ("chr1\t0\t10\t0\nchrM\t0\t10\t0\n", "")


def test_pipes_are_read(tmp_path):
    path = tmp_path / "a.bed"
    path.write_text("c\t0\t10\nc\t5\t20\n")
    genoviz = f"{sys.executable} -m genoviz"
    command = f"cat {path} | {genoviz} count - <(gzip -c {path}) | {genoviz} depth - | head -1"
    found = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert (found.stdout, found.stderr) == ("c\t0\t5\t1\n", "")


def test_zero_length_rules(run, tmp_path):
    a, b = tmp_path / "a.bed", tmp_path / "b.bed"
    a.write_text("c\t5\t5\nc\t0\t5\n")
    b.write_text("c\t0\t10\nc\t5\t5\nc\t5\t9\n")
    found = {
        rule: [line.rsplit("\t", 1)[1] for line in run("count", a, b, *option)[1].splitlines()]
        for rule, option in {
            "default": [],
            "bedtools": ["--zero-length", "bedtools"],
            "strict": ["--zero-length", "strict"],
            "interior": ["--zero-length", "interior"],
        }.items()
    }
    assert found["default"] == found["bedtools"]
    assert found["bedtools"] == [
        line.rsplit("\t", 1)[1]
        for line in bedtools("intersect", "-c", "-a", a, "-b", b).splitlines()
    ]
    assert (found["strict"], found["interior"]) == (["0", "1"], ["1", "1"])


def test_json_has_the_numbers(run, tmp_path):
    a, b = tmp_path / "a.bed", tmp_path / "b.bed"
    a.write_text("c\t0\t10\nc\t20\t30\n")
    b.write_text("c\t5\t15\nc\t8\t9\n")
    found = json.loads(run("count", a, b, "--json")[1])
    assert (found["counts"], found["n_overlaps"], found["n_queries_with_overlap"]) == ([2, 0], 2, 1)
    found = json.loads(run("count", b, a, "--json")[1])
    assert (found["counts"], found["n_overlaps"], found["n_queries_with_overlap"]) == ([1, 1], 2, 2)
    found = json.loads(run("coverage", a, b, "--json")[1])
    assert (found["fractions"], found["mean_depths"]) == ([0.5, 0], [0.6, 0])
    found = json.loads(run("depth", b, "--json")[1])
    assert (found["n_steps"], found["covered_bases"], found["max_depth"]) == (3, 10, 2)
    (tmp_path / "none.bed").write_text("")
    found = json.loads(run("depth", tmp_path / "none.bed", "--json")[1])
    assert (found["n_steps"], found["covered_bases"], found["max_depth"]) == (0, 0, 0)
    written = tmp_path / "out.bed"
    found = json.loads(run("count", a, b, "--json", "-o", written)[1])
    assert (found["counts"], found["files"]) == ([], [str(written)])
    assert written.read_text() == "c\t0\t10\t2\nc\t20\t30\t0\n"


def test_depth_along_a_path(run):
    path = real_data("gfa/chr6.C4.gfa.gz")
    graph = read_gfa(path, cache=False)
    name, other = graph.path_names[0], graph.path_names[5]
    out = run("depth", path, "--path", name, "--of", other, "--zeros")[1]
    steps = path_depth_along(graph, name, [other])
    wanted = zip(steps.starts, steps.ends, steps.scores.astype(np.int64), strict=True)
    assert out.splitlines() == [f"{name}\t{a}\t{b}\t{c}" for a, b, c in wanted]


def test_what_has_no_place_on_a_graph_is_said_once(run, tmp_path):
    (tmp_path / "g.gfa").write_text("S\ta\tACGTACGT\nP\tref\ta+\t*\n")
    (tmp_path / "a.bed").write_text("ref\t1\t3\nelsewhere\t1\t3\nref\t6\t99\n")
    code, out, err = run("count", tmp_path / "a.bed", "--graph", tmp_path / "g.gfa")
    assert (code, [line.split("\t")[:3] for line in out.splitlines()]) == (
        0,
        [["ref", "1", "3"], ["ref", "6", "8"]],
    )
    notes = [line for line in err.splitlines() if line.startswith("note: ")]
    assert len(notes) == 2
    assert "elsewhere" in notes[0]
    assert "cut off where their paths end" in notes[1]


def test_genes_are_counted_on_the_paths_of_a_graph(run, tmp_path):
    graph, genes = real_data("gfa/chr6.C4.gfa.gz"), real_data("gfa/chr6.C4.bed")
    code, out, _ = run("count", genes, "--graph", graph)
    rows = [line.split("\t") for line in out.splitlines()]
    assert code == 0
    assert ["grch38#chr6:31972046-32055647", "10011", "30635", "C4A"] in [row[:4] for row in rows]
    assert all(1 <= int(row[4]) <= 90 and float(row[5]) > 0 for row in rows)
    local = tmp_path / "local.bed"
    local.write_text("".join("\t".join(row[:3]) + "\n" for row in rows) * 2)
    out = run("count", genes, local, "--graph", graph)[1].splitlines()
    by_hand = [
        2 * sum(a[0] == b[0] and int(a[1]) < int(b[2]) and int(b[1]) < int(a[2]) for b in rows)
        for a in rows
    ]
    assert [int(line.split("\t")[4]) for line in out] == by_hand
    name, start, end = rows[0][:3]
    reads = tmp_path / "x.sam"
    read = f"r\t{{}}\t{name}\t{int(start) + 1}\t{{}}\t1M\t*\t0\t0\tA\t*\n"
    reads.write_text(
        f"@SQ\tSN:{name}\tLN:999999\n"
        + read.format(0, 60)
        + read.format(1024, 60)
        + read.format(0, 5)
    )
    for options, n in (((), 2), (("-F", "0"), 3), (("-q", "20"), 1)):
        out = run("count", genes, reads, "--graph", graph, *options)[1].splitlines()
        assert f"{name}\t{start}\t{end}\t{rows[0][3]}\t{n}" in out
    found = json.loads(run("count", genes, "--graph", graph, "--of", rows[0][0], "--json")[1])
    assert set(found["n_paths"]) <= {0, 1}
    assert found["paths"] == [row[0] for row in rows]


def test_usage_errors(run, tmp_path):
    path = tmp_path / "a.bed"
    path.write_text("c\t0\t1\n")
    assert run("count", path, path, "-s", "-S")[0] == 2
    assert run("depth", path, "--of", "x")[0] == 2
    assert run("count", path)[0] == 2
    assert run("count", path, path, "--of", "x")[0] == 2
    code, _, err = run("count", path, path, "-s")
    assert (code, "a.bed: has no strands" in err) == (1, True)
    code, _, err = run("depth", path, "--strand", "+")
    assert (code, "a.bed: has no strands" in err) == (1, True)
    path.write_text("c\t0\n")
    code, _, err = run("count", path, path)
    assert (code, err) == (1, "genoviz: a.bed, line 1: has 2 columns, BED needs 3\n")
    assert run("count", tmp_path / "none.bed", path)[0] == 1


@pytest.mark.parametrize("command", ["count", "coverage", "depth"])
def test_help_has_examples(run, command):
    code, out, _ = run(command, "--help")
    assert (code, "Examples" in out) == (0, True)
