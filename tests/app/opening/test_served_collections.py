"""Folders and lists of graphs that a server offers, each graph with its layout."""

from __future__ import annotations

from pathlib import Path

import pytest

from genoviz.analyses.simulation.graphs import simulate_pangenome
from genoviz.collection.layouts import layout_collection
from genoviz.collection.members import read_collection
from genoviz.collection.records import LayoutPlan
from genoviz.errors import FileFormatError, ParameterError
from genoviz.io.graph.gfa_writer import write_gfa
from genoviz_app.opening.served_files import ServedGraph, expand_collections, group_files

NAMES = ("chr2", "chr10")


@pytest.fixture(autouse=True)
def genome(tmp_path, monkeypatch):
    monkeypatch.setenv("GENOVIZ_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    Path("genome").mkdir()
    for name in NAMES:
        write_gfa(simulate_pangenome(20, 3, contig=name), f"genome/{name}.gfa")
    return Path("genome")


def lay_out(source, folder):
    plan = LayoutPlan(options={"n_rounds": 2}, stress_samples=0)
    return layout_collection(read_collection(source), folder, plan, backend="cpu")


def offered(*names):
    return group_files(expand_collections(map(Path, names)))


def test_a_folder_stands_for_its_graphs_each_with_its_layout(genome):
    lay_out(genome, "layouts")
    chr2, chr10 = offered("x.gfa", "genome", "layouts", "y.gfa")[1:3]
    assert chr2 == ServedGraph(Path("genome/chr2.gfa"), (Path("layouts/chr2.lay"),))
    assert chr10 == ServedGraph(Path("genome/chr10.gfa"), (Path("layouts/chr10.lay"),))
    assert [graph.path.name for graph in offered("x.gfa", "genome", "layouts", "y.gfa")] == [
        "x.gfa", "chr2.gfa", "chr10.gfa", "y.gfa",
    ]  # fmt: skip


def test_layouts_may_be_beside_the_graphs_or_not_be_there(genome):
    assert [graph.companions for graph in offered("genome")] == [(), ()]
    lay_out(genome, "genome")
    assert [graph.companions for graph in offered("genome")] == [
        (Path("genome/chr2.lay"),),
        (Path("genome/chr10.lay"),),
    ]


def test_a_layout_of_another_file_is_left_out(genome):
    lay_out(genome, "layouts")
    write_gfa(simulate_pangenome(20, 3, seed=1, contig="chr2"), "genome/chr2.gfa")
    assert [len(graph.companions) for graph in offered("genome", "layouts")] == [0, 1]


def test_a_list_names_whole_files(genome):
    Path("list.toml").write_text('[graphs]\nten = "genome/chr10.gfa"\n')
    lay_out("list.toml", "layouts")
    (graph,) = offered("list.toml", "layouts")
    assert graph.path.samefile("genome/chr10.gfa")
    assert [path.name for path in graph.companions] == ["ten.lay"]
    Path("list.toml").write_text('[graphs]\nten = {file = "genome/chr10.gfa", part = "chr10"}\n')
    with pytest.raises(ParameterError, match=r"list\.toml names chr10 of chr10\.gfa, and only who"):
        offered("list.toml")


def test_a_folder_without_graphs_is_refused(genome):
    Path("empty").mkdir()
    with pytest.raises(FileFormatError, match="empty: has no graph, needs files that end in"):
        offered("genome", "empty")
