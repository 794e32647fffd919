"""``genoviz stats`` and ``genoviz sites``."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from genoviz.analyses.graph.sites.search import find_sites
from genoviz.analyses.graph.sites.table import COLUMNS, iter_site_lines, site_id
from genoviz.cli.main import main
from genoviz.errors import ParameterError
from genoviz.io.graph.gfa import read_gfa
from tests.conftest import real_data

GFA = """S\ts1\tACGT
S\ts2\tAC
S\ts3\tG
S\ts4\tT
S\ts5\tCC
S\ts6\tA
L\ts1\t+\ts2\t+\t0M
L\ts2\t+\ts3\t+\t0M
L\ts2\t+\ts4\t+\t0M
L\ts3\t+\ts5\t+\t0M
L\ts4\t+\ts5\t+\t0M
L\ts5\t+\ts6\t+\t0M
L\ts1\t+\ts6\t+\t0M
P\tA#1#chr1:1000-1010\ts1+,s2+,s3+,s5+,s6+\t*
P\tB#1#chr1\ts1+,s2+,s4+,s5+,s6+\t*
P\tC#1#chr1\ts6-,s1-\t*
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GENOVIZ_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def graph_path(tmp_path):
    path = tmp_path / "small.gfa"
    path.write_text(GFA)
    return path


@pytest.fixture
def run(capsys):
    def run(*arguments):
        with pytest.raises(SystemExit) as exit_:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return exit_.value.code or 0, captured.out, captured.err

    return run


def test_stats_for_people_and_for_programs(run, graph_path):
    code, out, err = run("stats", graph_path)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "Size"
    assert lines[1].split() == ["Length", "11", "bp"]
    assert "  GC                      54.5 %" in lines
    found = json.loads(run("stats", graph_path, "--json")[1])
    assert (found["n_nodes"], found["n_edges"], found["layout"]) == (6, 7, None)
    assert found["core"] == {"n_nodes": 2, "length": 5}
    table = dict(line.split("\t") for line in run("stats", graph_path, "--tsv")[1].splitlines())
    assert (table["n_nodes"], table["core.length"], table["bases.C"]) == ("6", "5", "4")


def test_stats_of_a_layout_have_its_distances(run):
    graph = real_data("gfa/DRB1-3123.gfa.gz")
    layout = real_data("layouts/DRB1-3123.odgi.lay")
    code, out, _ = run("stats", graph, "--layout", layout)
    assert code == 0
    assert "Layout\n  Mean link               5.692 bp\n" in out


def test_sites_are_written_in_the_coordinates_of_the_contig(run, graph_path, tmp_path):
    path = tmp_path / "sites.tsv"
    code, out, err = run("sites", graph_path, "--reference", "A#1#chr1", "-o", path)
    assert (code, err) == (0, "")
    assert out.startswith("2 sites along A#1#chr1:1000-1010 (1 not within another), 5 alleles\n")
    assert "1 SNP, 1 indel\n0 stretches" in out
    assert out.endswith(f"wrote {path}\n")
    assert path.read_text().splitlines() == [
        "\t".join(COLUMNS),
        "A#1#chr1\t1004\t1009\t>s1>s6\tindel\t0\t.\t3\t3\t3\t5\t0\t5\t4\t1\t5,5,0\t1,1,1\t1,1,1",
        "A#1#chr1\t1006\t1007\t>s2>s5\tSNP\t1\t>s1>s6\t2\t2\t2\t1\t1\t1\t2\t1\t1,1\t1,1\t1,1",
    ]


def test_walks_that_read_the_same_are_one_allele(run, tmp_path):
    graph, path = tmp_path / "same.gfa", tmp_path / "sites.tsv"
    texts = ["ACG", "T", "A", "TA", "TTG"]
    nodes = "".join(f"S\t{n}\t{bases}\n" for n, bases in enumerate(texts, 1))
    walks = ["1+,2+,3+,5+", "1+,4+,5+", "5-,4-,1-"]
    graph.write_text(nodes + "".join(f"P\tp{n}\t{walk}\t*\n" for n, walk in enumerate(walks)))
    found = json.loads(run("sites", graph, "-o", path, "--json")[1])
    assert (found["kinds"], found["n_alleles"]) == ({"monomorphic": 1}, 1)
    assert path.read_text().splitlines()[1].split("\t")[-3:] == ["2", "3", "2"]


def test_bed_has_six_columns_and_small_sites_can_be_left_out(run, graph_path, tmp_path):
    path = tmp_path / "sites.bed.gz"
    arguments = ["--reference", "C#1#chr1", "-o", path, "--min-size", 2, "--json"]
    found = json.loads(run("sites", graph_path, *arguments)[1])
    assert (found["n_sites"], found["kinds"]) == (1, {"insertion": 1})
    assert gzip.decompress(path.read_bytes()).decode() == "C#1#chr1\t1\t1\tinsertion\t3\t.\n"


def test_stretches_without_a_site_are_written(run, tmp_path):
    graph, path = tmp_path / "loop.gfa", tmp_path / "gaps.bed"
    graph.write_text("S\ta\tACGT\nS\tb\tAC\nS\tc\tA\nP\tx:10-19\ta+,b+,b+,c+\t*\n")
    found = json.loads(run("sites", graph, "--gaps", path, "--json")[1])
    assert (found["n_sites"], found["n_gaps"], found["gap_length"]) == (0, 1, 4)
    assert path.read_text() == "x\t14\t18\n"


def test_the_first_path_is_the_reference_when_none_is_named(run, graph_path):
    assert json.loads(run("sites", graph_path, "--json")[1])["reference"] == "A#1#chr1:1000-1010"


def test_long_tables_are_written_in_blocks(monkeypatch):
    graph = read_gfa(real_data("gfa/chr6.C4.gfa.gz"))
    sites = find_sites(graph, 0)
    whole = "".join(iter_site_lines(graph, sites))
    monkeypatch.setattr("genoviz.analyses.graph.sites.table.BLOCK_SITES", 100)
    assert "".join(iter_site_lines(graph, sites)) == whole
    rows = [line.split("\t") for line in whole.splitlines()[1:]]
    assert [row[3] for row in rows] == [site_id(graph, sites, i) for i in range(len(sites))]
    counts = np.array([sum(map(int, row[16].split(","))) for row in rows])
    np.testing.assert_array_equal(counts, sites.n_traversals)
    with pytest.raises(ParameterError, match="'vcf', needs 'tsv' or 'bed'"):
        next(iter_site_lines(graph, sites, form="vcf"))


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["sites", "GRAPH", "--reference", "Z"], 1, "no path or contig is named 'Z'"),
        (["sites", "GRAPH", "--reference", "chr1"], 1, "chr1"),
        (
            ["sites", "GRAPH", "-o", "x.vcf"],
            2,
            "needs one of the endings .tsv, .bed, also with .gz",
        ),
        (["sites", "GRAPH", "-o", "no/x.tsv"], 2, "there is no folder no"),
        (["sites", "GRAPH", "--gaps", "x.tsv"], 2, "--gaps x.tsv needs one of the endings .bed"),
        (["stats", "GRAPH", "--tsv", "--json"], 2, "give --tsv or --json, not both"),
        (["stats", "GRAPH", "--layout", "no.lay"], 1, "no.lay"),
    ],
)
def test_what_is_wrong_is_said(run, graph_path, arguments, code, message):
    found, out, err = run(*[graph_path if word == "GRAPH" else word for word in arguments])
    assert (found, out) == (code, "")
    assert message in " ".join(err.replace("│", " ").split())


def test_a_graph_without_paths_has_no_sites(run, tmp_path):
    path = tmp_path / "bare.gfa"
    path.write_text("S\ta\tACGT\n")
    code, _, err = run("sites", path)
    assert code == 1
    assert "genoviz: the graph has no paths; sites need one" in err


@pytest.mark.parametrize("command", ["stats", "sites"])
def test_help_has_examples(run, command):
    code, out, _ = run(command, "--help")
    assert code == 0
    assert f"genoviz {command} graph.gfa" in out
