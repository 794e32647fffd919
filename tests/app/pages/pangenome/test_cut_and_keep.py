"""Parts of the graph are measured before they are written, and the files hold those parts."""

from __future__ import annotations

import gzip
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from genoviz.errors import ParameterError
from genoviz.io.graph.gfa import read_gfa
from genoviz.model import PathRegion
from genoviz_app.pages.pangenome.cut_and_keep import (
    ANNOTATION,
    PICKED,
    REGION,
    SEEN,
    CutAndKeep,
    KeptPart,
    writer_of,
)
from genoviz_app.pages.pangenome.layout_view import LayoutView
from genoviz_app.parts.file_button import write_to_bytes
from tests.app.conftest import poll_until
from tests.graphs import make_graph

BED = "ref\t4\t6\tmiddle\nalt\t10\t11\tend\n"


@pytest.fixture
def kept(session, graph_file, tmp_path):
    """A panel of the small graph, and its annotations."""
    (tmp_path / "a.bed").write_text(BED)
    for source in (graph_file, tmp_path / "a.bed"):
        session.open(str(source))
        poll_until(session.poll, lambda: session.graphs.opening is None)
    view = LayoutView(submit=session.submit)
    panel = CutAndKeep(session, view)
    graph = session.opened.graph
    view.set_graph(graph)
    panel.set_graph(graph)
    return SimpleNamespace(session=session, panel=panel, graph=graph, view=view)


def wait_for(kept, text):
    def poll():
        kept.session.poll()
        kept.panel.poll()

    poll_until(poll, lambda: text in kept.panel.size.object)


def download(kept, kind):
    kept.panel.kind.value = kind
    name, write = kept.panel._prepare()
    return name, write_to_bytes(name, write)


def test_a_region_is_measured_and_written_as_every_kind_of_file(kept, tmp_path):
    wait_for(kept, "No region is set")
    assert kept.panel.download.disabled
    kept.session.region = PathRegion("ref", 3, 5)
    wait_for(kept, "2 nodes, 6 bp, of 2 paths would be kept.")
    assert not kept.panel.download.disabled
    name, content = download(kept, "Graph, GFA")
    assert name == "small_ref_3-5.gfa"
    (tmp_path / "part.gfa").write_bytes(content)
    part = read_gfa(tmp_path / "part.gfa")
    assert list(part.node_names) == ["s1", "s2"]
    assert part.path_names == ("ref:0-6", "alt:0-4")
    name, compressed = download(kept, "Graph, GFA in gzip")
    assert (name, gzip.decompress(compressed)) == ("small_ref_3-5.gfa.gz", content)
    assert download(kept, "Bases of the nodes, FASTA")[1] == b">s1\nACGT\n>s2\nAC\n"
    pieces = download(kept, "Bases of the paths' pieces, FASTA")[1]
    assert [line for line in pieces.splitlines() if not line.startswith(b">")] == [
        b"ACGTAC",
        b"ACGT",
    ]
    assert download(kept, "Names of the nodes, text")[1] == b"s1\ns2\n"


@pytest.mark.parametrize("kind", ["Bases of the nodes, FASTA", "Bases of the paths' pieces, FASTA"])
def test_bases_that_a_graph_has_not_are_not_written(kept, kind):
    graph = replace(kept.graph, node_sequences=None)
    with pytest.raises(ParameterError, match="the graph has no sequences"):
        writer_of(KeptPart(graph, np.arange(2), 6, 2), kind)


def test_another_graph_has_nothing_kept_until_it_is_measured(kept):
    kept.session.region = PathRegion("ref", 3, 5)
    wait_for(kept, "2 nodes, 6 bp")
    kept.panel.set_graph(make_graph([40, 30], [[1, 2]]))
    assert kept.panel.part is None
    assert kept.panel.download.disabled


def test_what_is_around_is_kept_too(kept):
    kept.session.region = PathRegion("ref", 4, 5)
    wait_for(kept, "1 node, 2 bp, of 1 path would be kept.")
    kept.panel.steps.value = 1
    wait_for(kept, "3 nodes, 7 bp, of 2 paths")
    assert kept.panel.part.nodes.tolist() == [0, 1, 3]
    kept.panel.detour.value = 6
    kept.panel.steps.value = 0
    kept.session.region = PathRegion("ref", 0, 7)
    wait_for(kept, "4 nodes, 13 bp")
    kept.panel.detour.value = 5
    wait_for(kept, "3 nodes, 7 bp")


def test_picked_nodes_and_annotations_are_sources(kept):
    kept.panel.source.value = PICKED
    wait_for(kept, "No node is picked")
    kept.session.picked = np.array([3, 2])
    wait_for(kept, "2 nodes, 7 bp, of 2 paths")
    kept.panel.source.value = ANNOTATION
    assert kept.panel.place.visible
    assert list(kept.panel.place.options) == ["middle (ref, 5)", "end (alt, 11)"]
    wait_for(kept, "1 node, 2 bp")
    kept.panel.place.value = 1
    wait_for(kept, "1 node, 1 bp")
    kept.panel.pick()
    assert kept.session.picked.tolist() == [3]


def test_it_turns_to_what_there_is_when_nothing_is_chosen_there(kept):
    kept.session.picked = np.array([2])
    assert kept.panel.source.value == PICKED
    wait_for(kept, "1 node, 6 bp")
    kept.session.region = PathRegion("ref", 0, 4)
    assert kept.panel.source.value == PICKED
    kept.session.picked = np.empty(0, np.int64)
    assert kept.panel.source.value == REGION
    wait_for(kept, "1 node, 4 bp")


def test_what_the_picture_shows_is_kept_unless_it_is_too_much(kept, monkeypatch):
    kept.panel.source.value = SEEN
    wait_for(kept, "There is no picture yet.")
    picture = SimpleNamespace(viewport="a", visible_nodes=lambda _limit: np.array([1, 2]))
    monkeypatch.setattr(kept.view, "picture", picture)
    wait_for(kept, "2 nodes, 8 bp")
    monkeypatch.setattr("genoviz_app.pages.pangenome.cut_and_keep.MAX_SEEN_NODES", 2)
    picture.viewport = "b"
    wait_for(kept, "zoom in to keep fewer")
    assert kept.panel.part is None


def test_a_wrong_region_is_said_where_the_size_would_be(kept):
    kept.session.region = PathRegion("ref", 3, 900)
    wait_for(kept, "Nothing can be kept: region")
    assert kept.panel.part is None
