"""What is said of a graph at a glance, against its statistics and what is known by hand."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from genoviz.analyses.graph.query.statistics import graph_statistics
from genoviz.analyses.simulation.graphs import simulate_pangenome
from genoviz.collection import overview as overviews
from genoviz.collection.layouts import layout_collection
from genoviz.collection.members import GraphMember, read_collection
from genoviz.collection.overview import (
    HEIGHT,
    WIDTH,
    GraphFacts,
    draw_small,
    iter_overview,
    karyotype_order,
    load_overview,
    measure_graph,
)
from genoviz.collection.records import LayoutPlan, find_layout_files, read_record
from genoviz.errors import FileFormatError
from genoviz.io.files import file_source
from genoviz.io.graph import gfa
from genoviz.io.graph.gfa import read_gfa
from genoviz.io.graph.gfa_writer import write_gfa
from genoviz.io.graph.lay import read_lay, write_lay
from genoviz.model import GraphLayout

GFA = """S\ts1\tACGT
S\ts2\tAC
S\ts3\tGGGTTT
P\tHG1#1#chr7:0-6\ts1+,s2+\t*
P\tREF#0#chr7:100-106\ts1+,s2+\t*
P\tREF#0#chr7:106-112\ts3+\t*
P\tREF#0#chr9:0-600\ts1+,s1-\t*
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("GENOVIZ_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def last(path, *arguments):
    *_, end = iter_overview(GraphMember.at(path), *arguments)
    assert end.share == 1
    return end.overview


def test_numbers_are_those_of_the_statistics(place):
    graph = simulate_pangenome(300, 6, contig="chr7")
    found, wanted = measure_graph(graph), graph_statistics(graph)
    assert (found.n_nodes, found.n_steps, found.n_paths) == (
        wanted.n_nodes, wanted.n_steps, wanted.n_paths,
    )  # fmt: skip
    assert (found.length, found.depth) == (
        wanted.total_length,
        pytest.approx(wanted.mean_base_depth),
    )


def test_the_reference_is_haplotype_0_with_all_its_parts(place):
    Path("a.gfa").write_text(GFA)
    # Paths of 6, 6, 6 and 8 bp over nodes of 12; the reference's last part ends at 106 + 6.
    facts = measure_graph(read_gfa("a.gfa"))
    names = ["HG1#1#chr7", "REF#0#chr7", "REF#0#chr9"]
    assert facts == GraphFacts(3, 7, 4, 12, 26 / 12, "REF", 112, "\n".join(names))
    for name in (*names, "chr7", "0#chr9", "HG1#1#chr7:2-5"):
        assert facts.has_path(name), name
    for name in ("chr", "hr7", "REF", "REF#0", "REF#1#chr7", "chr7\nREF#0#chr7", ""):
        assert not facts.has_path(name), name
    assert facts.find_paths("CHR7", 9) == names[:2]
    assert facts.find_paths("ref", 1) == names[1:2]
    assert facts.find_paths("", 9) == facts.find_paths("x", 9) == []
    Path("none.gfa").write_text("S\ts1\tACGT\n")
    assert measure_graph(read_gfa("none.gfa")) == GraphFacts(1, 0, 0, 4, 0.0, "", 0)


def test_a_picture_rises_in_colour_along_a_straight_layout():
    """Nodes from left to right: colours rise with the column, and all is within one row."""
    x = np.arange(1001.0)
    ends = np.stack([x[:-1], x[1:]], axis=1)
    coordinates = np.stack([ends, np.zeros_like(ends)], axis=2)
    picture = draw_small(GraphLayout(coordinates))
    assert picture.shape == (HEIGHT, WIDTH)
    rows, columns = np.nonzero(picture)
    assert np.ptp(rows) <= 2
    assert np.ptp(columns) >= 0.9 * WIDTH
    colours = picture[rows.min() + 1, columns.min() : columns.max() + 1].astype(int)
    assert (np.diff(colours) >= 0).all()
    assert (colours[0], colours[-1]) == (1, 255)


def test_of_a_large_layout_some_nodes_are_drawn_all_over_it(monkeypatch):
    angles = np.linspace(0, 2 * np.pi, 20_001)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    layout = GraphLayout(np.stack([circle[:-1], circle[1:]], axis=1))
    whole = draw_small(layout) > 0
    monkeypatch.setattr(overviews, "MAX_DRAWN", 2_000)
    some = draw_small(layout) > 0
    assert not (some & ~whole).any()
    assert some.sum() > 0.95 * whole.sum()
    assert not draw_small(GraphLayout(np.empty((0, 2, 2)))).any()


def test_a_graph_is_read_once_for_its_overview(place, monkeypatch):
    graph = simulate_pangenome(50, 3, contig="chr7")
    write_gfa(graph, "chr7.gfa")
    path, lay = Path("chr7.gfa"), Path("chr7.lay")
    layout = GraphLayout(np.random.default_rng(0).random((graph.n_nodes, 2, 2)))
    write_lay(layout, lay)
    assert last(path).picture is None
    first = last(path, lay)
    np.testing.assert_array_equal(first.picture, draw_small(layout))
    assert first.facts == measure_graph(graph)
    with monkeypatch.context() as patch:
        patch.setattr(overviews, "iter_read_member", None)
        patch.setattr(overviews, "read_lay", None)
        again = last(path, lay)
    assert again.facts == first.facts
    np.testing.assert_array_equal(again.picture, first.picture)
    write_lay(GraphLayout(layout.coordinates * [1, 100]), lay)
    assert (last(path, lay).picture != first.picture).any()


def test_facts_of_a_record_save_the_reading(place, monkeypatch):
    Path("genome").mkdir()
    graph = simulate_pangenome(60, 4, contig="chr7")
    write_gfa(graph, "genome/chr7.gfa")
    collection = read_collection("genome")
    plan = LayoutPlan(options={"n_rounds": 2}, stress_samples=0)
    (made,) = layout_collection(collection, "layouts", plan, backend="cpu")
    file = find_layout_files(collection, "layouts")["chr7"]
    record = read_record(collection["chr7"], file)
    assert record.facts == made.facts == measure_graph(graph)
    monkeypatch.setattr(overviews, "iter_read_member", None)
    assert last(collection["chr7"].path, file, record.facts).facts == record.facts
    # One of a version without the names of paths leaves them to be read.
    assert not replace(record.facts, names="").is_whole
    # A record that was written before there were facts counts as it did.
    beside = file.with_suffix(".json")
    content = json.loads(beside.read_text())
    assert content.pop("facts") == asdict(made.facts)
    beside.write_text(json.dumps(content))
    old = read_record(collection["chr7"], file, plan)
    assert (old.facts, old.n_nodes) == (None, graph.n_nodes)


def test_a_page_opens_from_the_cache_what_was_laid_out(place, monkeypatch):
    """With its sequences, and with its picture: neither the text nor the layout is read again."""
    monkeypatch.setattr(file_source, "MIN_BYTES", 1)
    Path("genome").mkdir()
    graph = simulate_pangenome(60, 4, contig="chr7", sequences=True)
    write_gfa(graph, "genome/chr7.gfa")
    collection = read_collection("genome")
    plan = LayoutPlan(options={"n_rounds": 2}, stress_samples=0)
    (made,) = layout_collection(collection, "layouts", plan, backend="cpu")
    with monkeypatch.context() as patch:
        patch.setattr(gfa, "parse_gfa", None)
        opened = read_gfa("genome/chr7.gfa")
    assert list(opened.node_sequences) == list(graph.node_sequences)
    known = load_overview(collection["chr7"], made.path)
    assert known.facts == made.facts
    np.testing.assert_array_equal(known.picture, draw_small(read_lay(made.path)))
    # Without the cache nothing is kept.
    (made,) = layout_collection(collection, "others", plan, backend="cpu", cache=False)
    assert load_overview(collection["chr7"], made.path) is None


def test_what_cannot_be_read_is_said(place):
    Path("bad.gfa").write_text("S\tonly\n")
    with pytest.raises(FileFormatError, match=r"bad\.gfa, line 1"):
        last(Path("bad.gfa"))


def test_chromosomes_are_in_the_order_of_a_karyotype():
    names = ["chrUn_10", "chrM", "chr10", "X", "chrY", "chr1", "2", "chrUn_2", "chrX", "chr3"]
    assert sorted(names, key=karyotype_order) == [
        "chr1", "2", "chr3", "chr10", "X", "chrX", "chrY", "chrM", "chrUn_2", "chrUn_10",
    ]  # fmt: skip
