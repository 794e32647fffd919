"""The commands that look positions up and cut parts out say what the library says."""

from __future__ import annotations

import gzip
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from genoviz import read_gfa, write_gfa
from genoviz.analyses.graph.query.extract import extract_region
from genoviz.analyses.graph.query.path_positions import find_node_visits
from genoviz.analyses.graph.query.position_lift import locate_path_positions
from genoviz.io.graph.gbz import read_gbz
from genoviz.io.graph.gbz_writer import write_gbz
from genoviz.io.graph.reader import read_graph
from tests.conftest import real_data
from tests.graphs import make_graph
from tests.oracles.gbz_base import write_gbz_base
from tests.oracles.paths import path_sequence, walk_bases

C4A = "grch38#chr6:31982057-32002681"


@pytest.fixture(scope="module")
def c4_path():
    return real_data("gfa/chr6.C4.gfa.gz")


@pytest.fixture(scope="module")
def c4(c4_path):
    return read_gfa(c4_path, cache=False)


def rows_of(out):
    header, *lines = [line.split("\t") for line in out.splitlines()]
    assert header[0] == "#query"
    return [dict(zip(["query", *header[1:]], line, strict=True)) for line in lines]


def sentence(text):
    return re.sub(r"[\s│╭╮╰╯─]+", " ", text)


def test_position_of_a_contig_has_its_node(run, c4_path, c4):
    code, out, err = run("position", c4_path, "--path", "grch38#chr6:31,982,057")
    assert (code, err) == (0, "")
    (row,) = rows_of(out)
    base = walk_bases(c4, c4.find_path("grch38#chr6:31972046-32055647"))[10_011]
    assert row == {
        "query": "grch38#chr6:31,982,057",
        "path": "grch38#chr6:31972046-32055647",
        "position": "10011",
        "contig": "grch38#chr6",
        "contig_position": "31982057",
        "node": c4.node_names[base[0]],
        "offset": str(base[1]),
        "strand": "-" if base[2] else "+",
    }


@pytest.mark.parametrize(
    ("suffix", "offset"),
    [("", 0), (":3", 3), (":3+", 3), (":0-", -1), ("+", 0), ("-", -1), (":1-", -2)],
)
def test_positions_of_a_node_are_those_of_its_base(run, c4_path, c4, suffix, offset):
    rows = rows_of(run("position", c4_path, "--node", f"255{suffix}")[1])
    node = c4.node_names.find("255")
    offset %= int(c4.node_lengths[node])
    assert len(rows) == len(find_node_visits(c4, [node]).paths) > 50
    for row in rows[::9]:
        bases = walk_bases(c4, c4.find_path(row["path"]))
        assert bases[int(row["position"])][:3] == (node, offset, row["strand"] == "-")
        assert row["offset"] == str(offset)
        start = int(row["path"].rsplit(":")[-1].split("-")[0])
        assert int(row["contig_position"]) == start + int(row["position"])


def test_positions_of_a_file_and_on_another_path(run, c4_path, c4, tmp_path):
    file = tmp_path / "positions.txt"
    places = [31_982_057, *range(31_972_046, 32_055_647, 5_000)]
    lines = [f"grch38#chr6\t{place:,}\r\n" for place in places]
    file.write_text("# places\n\n" + "".join(lines).replace("\t", ":", 1))
    target = "HG00438#2#JAHBCA010000042.1"
    code, out, _ = run("position", c4_path, "--file", file, "--to", target, "--json")
    rows = json.loads(out)["positions"]
    assert code == 0
    assert [row["contig_position"] for row in rows] == places
    there = walk_bases(c4, c4.find_path(f"{target}:24398231-24449090"))
    for row in rows:
        node, offset, is_reverse, _ = there[row["to_position"]]
        assert row["to_contig_position"] == 24_398_231 + row["to_position"]
        if row["distance"] == 0:
            assert (c4.node_names[node], offset) == (row["node"], row["offset"])
            assert row["to_strand"] == ("+" if (row["strand"] == "-") == is_reverse else "-")
    assert {row["strand"] for row in rows} == {"+"}
    assert {row["to_strand"] for row in rows} == {"-"}
    assert sum(row["distance"] == 0 for row in rows) > 10

    back = ["--path", f"{target}:{rows[0]['to_contig_position']}", "--to", "grch38"]
    (row,) = rows_of(run("position", c4_path, *back)[1])
    assert (row["to_contig_position"], row["strand"], row["to_strand"], row["distance"]) == (
        *("31982057", "-", "-"),
        "0",
    )


def test_paths_that_share_nothing_have_no_position(run):
    graph = real_data("gfa/micb-kir3dl1.gfa.gz")
    query = "GRCh38#0#chr6:31498150"
    (row,) = rows_of(run("position", graph, "--path", query, "--to", "CHM13#0#chr19")[1])
    assert (row["position"], row["to_path"], row["to_position"], row["distance"]) == (
        *("10", ".", "."),
        ".",
    )


def test_node_without_path_is_noted(run, tmp_path):
    graph = tmp_path / "g.gfa"
    graph.write_text("S\ta\tACGT\nS\tb\tA\nP\tp\ta+\t*\n")
    code, out, err = run("position", graph, "--node", "b", "--node", "a:1")
    assert (code, err) == (0, "note: no path visits node b\n")
    assert [row["query"] for row in rows_of(out)] == ["a:1"]


@pytest.mark.parametrize("name", ["c4a.gfa", "c4a.gfa.gz"])
def test_extracted_graph_is_that_of_the_library(run, c4_path, c4, tmp_path, name):
    options = ["--detour-bp", 500, "--context-steps", 1]
    code, out, _ = run("extract", c4_path, "--region", C4A, *options, "-o", tmp_path / name)
    part = read_gfa(tmp_path / name, cache=False)
    expected = extract_region(c4, C4A, detour_bp=500, context_steps=1)
    assert code == 0
    assert out.startswith(f"{part.n_nodes:,} nodes, {part.n_edges:,} edges, ")
    assert out.endswith(f"wrote {tmp_path / name}\n")
    assert list(part.node_names) == list(expected.node_names)
    assert list(part.node_sequences) == list(expected.node_sequences)
    assert part.edges.tolist() == expected.edges.tolist()
    assert part.path_names == expected.path_names
    assert part.steps.tolist() == expected.steps.tolist()


def read_fasta(path):
    records = [record.split("\n", 1) for record in path.read_text().split(">")[1:]]
    return {name: text.replace("\n", "") for name, text in records}


def test_extracted_sequences(run, c4_path, c4, tmp_path):
    file = tmp_path / "a.fa"
    whole = path_sequence(c4, c4.find_path("grch38#chr6:31972046-32055647"))
    assert run("extract", c4_path, "--region", C4A, "-o", file)[0] == 0
    assert read_fasta(file) == {C4A: whole[10_011:30_635]}
    run("extract", c4_path, "--nodes", "17,18", "-o", file)
    assert read_fasta(file) == {
        name: c4.node_sequences[c4.node_names.find(name)] for name in ("17", "18")
    }
    run("extract", c4_path, "--region", C4A, "--detour-bp", 9999, "--fasta", "paths", "-o", file)
    found = read_fasta(file)
    assert len(found) > 90
    assert all(text in whole for name, text in found.items() if name.startswith("grch38"))


def test_extracted_nodes_are_listed_and_taken_again(run, c4_path, tmp_path):
    names, around = tmp_path / "a.txt", tmp_path / "b.txt"
    results = json.loads(run("extract", c4_path, "--region", C4A, "-o", names, "--json")[1])
    assert results == {"n_nodes": 362, "files": [str(names)]}
    run("extract", c4_path, "--nodes", names, "--context-bp", 1, "-o", around)
    listed, wider = (set(file.read_text().split()) for file in (names, around))
    assert len(listed) == 362
    assert listed < wider


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["position", "GRAPH"], "give --path, --node or --file"),
        (["extract", "GRAPH", "-o", "x.gfa"], "give --region, --bed or --nodes"),
        (["extract", "GRAPH", "--nodes", "1", "-o", "x.png"], "needs one of the endings .gfa, .fa"),
        (["extract", "GRAPH", "--nodes", "1", "-o", "no/x.gfa"], "there is no folder no"),
        (["extract", "GRAPH", "--nodes", "1", "-o", "x.gfa", "--fasta", "nodes"], "--fasta needs"),
        (["extract", "GRAPH", "--nodes", "1", "-o", "x.fa", "--fasta", "region"], "needs --region"),
        (["extract", "GRAPH", "--nodes", "1", "-o", "x.gfa", "--split"], "--split needs --region"),
        (["extract", "GRAPH", "--region", C4A, "-o", "-", "--split"], "writes several files"),
        (
            ["extract", "GRAPH", "--region", C4A, "--nodes", "1", "-o", "x.gfa", "--split"],
            "by regi",
        ),
        (["extract", "GRAPH", "--nodes", "1", "-o", "x.gfa", "--context-bp", "-1"], "Input should"),
    ],
)
def test_wrong_usage_exits_with_2(run, c4_path, arguments, message):
    code, out, err = run(*[c4_path if word == "GRAPH" else word for word in arguments])
    assert (code, out) == (2, "")
    assert message in sentence(err)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["position", "GRAPH", "--path", "chr7:5"], "no path or contig is named 'chr7'; the"),
        (["position", "GRAPH", "--path", C4A], r"position is '.*', needs one as path:position"),
        (["position", "GRAPH", "--node", "x:5"], "no node is named 'x:5', needs node, node:off"),
        (["position", "GRAPH", "--node", "17:99999"], "'17:99999' is beyond its .* bp, needs an"),
        (
            ["position", "GRAPH", "--node", "17", "--to", "HG00438"],
            "'HG00438' could be any of 2 contigs",
        ),
        (["position", "GRAPH", "--node", "17", "--to", "q"], "no path or contig is named 'q'"),
        (["position", "GRAPH", "--file", "p.txt"], "p.txt, line 2: no path or contig is named"),
        (["position", "GRAPH", "--file", "no.txt"], "no.txt: there is no such file"),
        (["extract", "GRAPH", "--region", "chr6:1-5", "-o", "x.gfa"], "could be any of 2 contigs"),
        (["extract", "GRAPH", "--nodes", "1,x", "-o", "x.gfa"], "--nodes names 'x', which is nei"),
        (["extract", "GRAPH", "--nodes", "", "-o", "x.gfa"], "--nodes '' names no node; give a fi"),
        (["extract", "GRAPH", "--nodes", ",,", "-o", "x.gfa"], "--nodes ',,' names no node; give"),
    ],
)
def test_failure_is_one_sentence_and_exit_code_1(
    run, c4_path, tmp_path, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.txt").write_text("chm13:31825251\nchr9:5\n")
    code, out, err = run(*[c4_path if word == "GRAPH" else word for word in arguments])
    assert (code, out) == (1, "")
    assert re.match(rf"genoviz: .*({message}).*\n\Z", err)
    assert not list(tmp_path.glob("x.*"))


@pytest.mark.parametrize("command", ["position", "extract"])
def test_help_has_examples(run, command):
    code, out, _ = run(command, "--help")
    assert code == 0
    assert f"genoviz {command} " in sentence(out).split("Examples")[1]


@pytest.fixture
def small(tmp_path):
    """Six nodes of 10 bp on a contig from 100 on, the fourth left out by another path."""
    graph = make_graph([10] * 6, [[1, 2, 3, 4, 5, 6], [1, 2, 3, 5, 6]])
    write_gfa(replace(graph, path_names=("a#1#c:100-160", "b#1#c")), tmp_path / "small.gfa")
    return tmp_path / "small.gfa"


@pytest.mark.parametrize(
    ("more", "names"),
    [
        ([], ["2", "3", "5"]),
        (["--region", "b#1#c:41-42"], ["2", "3", "5", "6"]),
        (["--inverse"], ["1", "4", "6"]),
    ],
)
def test_regions_come_from_bed_and_can_be_left_out(run, small, tmp_path, more, names):
    (tmp_path / "regions.bed").write_text("a#1#c\t115\t121\tx\nb#1#c\t30\t35\n")
    out = tmp_path / "out.gfa"
    code, _, err = run("extract", small, "--bed", tmp_path / "regions.bed", "-o", out, *more)
    assert (code, err) == (0, "")
    assert list(read_gfa(out, cache=False).node_names) == names


@pytest.mark.parametrize("more", [[], ["--inverse"], ["--context-steps", "1"]])
def test_split_writes_for_each_region_what_it_alone_would_give(run, small, tmp_path, more):
    (tmp_path / "regions.bed").write_text("a#1#c\t115\t121\nb#1#c\t30\t35\na#1#c\t115\t121\n")
    folder = tmp_path / "parts"
    folder.mkdir()
    options = ["--bed", tmp_path / "regions.bed", "--split", "--json"]
    code, out, err = run("extract", small, "-o", folder / "x.y.gfa.gz", *options, *more)
    assert (code, err) == (0, "")
    regions = {
        "x.y.a_1_c_115-121.gfa.gz": "a#1#c:115-121",
        "x.y.b_1_c_30-35.gfa.gz": "b#1#c:30-35",
        "x.y.a_1_c_115-121.2.gfa.gz": "a#1#c:115-121",
    }
    assert [Path(file).name for file in json.loads(out)["files"]] == list(regions)
    assert {file.name for file in folder.iterdir()} == set(regions)
    for name, region in regions.items():
        alone = tmp_path / "alone.gfa"
        run("extract", small, "--region", region, "-o", alone, *more)
        assert gzip.decompress((folder / name).read_bytes()) == alone.read_bytes()


def test_what_bed_and_inverse_cannot_do_is_said(run, small, tmp_path):
    bed = tmp_path / "regions.bed"
    bed.write_text("elsewhere\t1\t2\n")
    code, _, err = run("extract", small, "--bed", bed, "-o", tmp_path / "out.gfa")
    assert code == 1
    assert "regions.bed: no path or contig is named 'elsewhere'" in err
    bed.write_text("a#1#c\t100\t160\n")
    arguments = ["extract", small, "--bed", bed, "--inverse", "-o"]
    code, _, err = run(*arguments, tmp_path / "out.gfa")
    assert code == 1
    assert "--inverse leaves no node" in err
    code, _, err = run(*arguments, tmp_path / "out.fa")
    assert code == 2
    assert "needs --fasta nodes or --fasta paths" in sentence(err)
    (tmp_path / "names.txt").write_text("# none yet\n\n")
    arguments = ["extract", small, "--nodes", tmp_path / "names.txt", "-o", tmp_path / "out.gfa"]
    code, _, err = run(*arguments)
    assert code == 1
    assert "a graph without nodes cannot be written" in err
    assert run(*arguments, "--inverse")[0] == 0
    assert read_gfa(tmp_path / "out.gfa", cache=False).n_nodes == 6


def test_names_of_nodes_may_end_like_offsets_and_strands(run, tmp_path):
    nodes = "S\tx\tACGTA\nS\tx:3\tCC\nS\ta-\tGGG\n"
    (tmp_path / "odd.gfa").write_text(f"{nodes}P\tp\tx+,x:3+,a-+\t*\n")
    for place, node, position in (
        ("x:3", "x:3", 5), ("x:3-", "x:3", 6), ("x:3:1+", "x:3", 6), ("x:2-", "x", 2),
        ("a-", "a-", 7), ("a--", "a-", 9), ("a-:1-", "a-", 8),
    ):  # fmt: skip
        row = run("position", "odd.gfa", "--node", place)[1].splitlines()[1].split("\t")
        assert (row[5], int(row[2])) == (node, position), place


def test_numbers_of_large_genomes_have_all_digits(run, tmp_path):
    nodes = "S\ta\t*\tLN:i:12345678901\nS\tb\t*\tLN:i:2\n"
    (tmp_path / "large.gfa").write_text(f"{nodes}P\tx\ta+,b+\t*\nP\ty\ta+\t*\nP\tz\t*\t*\n")
    rows = [line.split("\t") for line in run("similarity", "large.gfa")[1].splitlines()]
    assert [row[2:] for row in rows[1:3]] == [
        ["2", "1", "12345678903", "1"],
        ["1", "0.5", "12345678901", "0.9999999998"],
    ]
    assert rows[-1] == ["z", "z", "0", ".", "0", "."]
    rows = [line.split("\t") for line in run("growth", "large.gfa")[1].splitlines()]
    assert rows[-1][:3] == ["3", "12345678903", "0"]


@pytest.fixture
def large_base(tmp_path, monkeypatch):
    """A database of GBZ-base that counts as too large to be read whole, and its graph."""
    gbz = real_data("gbz/micb-kir3dl1.gbz")
    monkeypatch.setattr("genoviz.io.graph.gbz_base.WHOLE_BYTES", 0)
    monkeypatch.setattr("genoviz.io.graph.reader.iter_read_gbz_base", None)
    database = write_gbz_base(gbz, tmp_path / "micb.gbz.db")
    return database, read_gbz(gbz, segments=False, cache=False)


def test_a_part_of_a_large_database_is_cut_out(run, large_base, tmp_path):
    database, graph = large_base
    region = "GRCh38#0#chr6:31,500,000-31,501,000"
    around = ("--detour-bp", 100, "-o", tmp_path / "part.gfa")
    code, _, err = run("extract", database, "--region", region, *around)
    assert code == 0
    assert "of 2,891 nodes of the database" in err
    found, expected = read_gfa(tmp_path / "part.gfa"), extract_region(graph, region, detour_bp=100)
    assert list(found.node_names) == list(expected.node_names)
    assert list(found.node_sequences) == list(expected.node_sequences)
    assert found.n_edges == expected.n_edges
    assert found.path_names[0] == "GRCh38#0#chr6:31499826-31501040"
    assert sorted(found.path_lengths) == sorted(expected.path_lengths)


def test_fasta_and_bed_of_a_large_database(run, large_base, tmp_path):
    database, graph = large_base
    (tmp_path / "a.bed").write_text("GRCh38#0#chr6\t31500000\t31500100\n")
    out = tmp_path / "a.fa"
    assert run("extract", database, "--bed", tmp_path / "a.bed", "-o", out)[0] == 0
    header, *lines = out.read_text().splitlines()
    assert header == ">GRCh38#0#chr6:31500000-31500100"
    whole = path_sequence(graph, graph.find_path("GRCh38#0#chr6:31498140-31511173"))
    assert "".join(lines) == whole[1860:1960]


def test_positions_and_refusals_of_a_large_database(run, large_base):
    database, graph = large_base
    code, out, _ = run("position", database, "--path", "CHM13#0#chr19:18,930,000")
    assert code == 0
    (row,) = rows_of(out)
    expected = locate_path_positions(graph, ["CHM13#0#chr19:18,930,000"])[0]
    assert (row["path"], row["node"], row["strand"]) == (
        expected.path,
        expected.node,
        expected.strand,
    )
    assert (int(row["position"]), int(row["offset"])) == (expected.position, expected.offset)
    other = next(name for name in graph.path_names if not name.startswith(("CHM13", "GRCh38")))
    code, _, err = run("position", database, "--path", f"{other.split(':')[0]}:0")
    assert code == 1
    assert "only indexed paths can be asked for" in sentence(err)


CHR6 = (
    "S\t1\tACGT\nS\t2\tGG\nL\t1\t+\t2\t+\t0M\nL\t2\t+\t2\t+\t0M\nW\tGRCh38\t0\tchr6\t0\t6\t>1>2\n"
)
CHR19 = "S\t3\tA\nS\t4\tCC\nL\t3\t+\t4\t+\t0M\nW\tGRCh38\t0\tchr19\t0\t3\t>3>4\n"


@pytest.mark.parametrize("ending", ["gbz", "gfa", "gfa.gz"])
@pytest.mark.parametrize("given", ["all.gfa", "all.gbz", "-"])
def test_each_chromosome_is_written_to_a_file_of_its_own(given, ending, run, monkeypatch):
    Path("all.gfa").write_text(CHR6 + CHR19)
    whole = read_gfa("all.gfa", cache=False)
    write_gbz(whole, "all.gbz")
    if given == "-":
        content = io.BytesIO(Path("all.gfa").read_bytes())
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=content))
    is_default = ending == ("gbz" if given == "all.gbz" else "gfa.gz")
    format_ = () if is_default else ("--format", ending)
    code, out, err = run("split", given, "-o", "new/parts", *format_, "--json")
    assert code == 0
    rows = json.loads(out)["graphs"]
    assert [(row["name"], row["n_nodes"], row["n_steps"]) for row in rows] == [
        ("chr6", 2, 2),
        ("chr19", 2, 2),
    ]
    # A GBZ has no link that is on no path, and says so when it is written.
    assert ("1 link on no path left out" in err) == (ending == "gbz" and given != "all.gbz")
    parts = [read_graph(row["file"], cache=False) for row in rows]
    assert [row["file"] for row in rows] == [f"new/parts/{c}.{ending}" for c in ("chr6", "chr19")]
    assert [list(part.node_names) for part in parts] == [["1", "2"], ["3", "4"]]
    assert [list(part.node_sequences) for part in parts] == [["ACGT", "GG"], ["A", "CC"]]
    assert [part.path_names for part in parts] == [(name,) for name in whole.path_names]


@pytest.mark.parametrize("given", ["all.gfa", "all.gbz"])
def test_a_chromosome_of_a_file_is_read_like_its_own_file(given, run):
    Path("all.gfa").write_text(CHR6 + CHR19)
    write_gbz(read_gfa("all.gfa", cache=False), "all.gbz")
    assert run("split", given, "-o", "new", "--format", "gfa")[0] == 0
    for command in (
        ("extract", "GRAPH", "--region", "GRCh38#0#chr19:1-3", "-o", "part.gfa"),
        ("position", "GRAPH", "--path", "GRCh38#0#chr19:2"),
        ("layout", "GRAPH", "-o", "part.lay", "--threads", "1", "--json"),
        ("bwt", "build", "GRAPH", "-o", "part.gvfm"),
    ):
        said, files = [], []
        for graph in (f"{given}/chr19", "new/chr19.gfa"):
            code, out, err = run(*(graph if word == "GRAPH" else word for word in command))
            assert code == 0, err
            said.append(out)
            files.append([path.read_bytes() for path in sorted(Path().glob("part.*"))])
        assert files[0] == files[1]
        if command[0] == "position":
            assert said[0] == said[1] != ""
    code, _, err = run("position", f"{given}/chr7", "--path", "GRCh38#0#chr19:2")
    assert (code, err) == (
        1,
        f"genoviz: {given}: no chromosome or component is named 'chr7'; there are chr6, chr19\n",
    )


def test_a_folder_is_not_split(run, tmp_path):
    code, _, err = run("split", tmp_path, "-o", "new")
    assert (code, err) == (1, f"genoviz: {tmp_path.name}: is a folder, needs a graph file\n")
    assert list(tmp_path.iterdir()) == []


def test_a_graph_is_not_split_onto_itself(run):
    Path("chr6.gfa").write_text(CHR6)
    code, _, err = run("split", "chr6.gfa", "-o", ".", "--format", "gfa")
    assert (code, Path("chr6.gfa").read_text()) == (1, CHR6)
    assert "chr6.gfa" in err
    assert len(err.splitlines()) == 1
