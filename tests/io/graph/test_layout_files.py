from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from genoviz.analyses.graph.layout.path_records import initial_coordinates
from genoviz.errors import FileFormatError, ParameterError
from genoviz.io.graph.layout_files import read_layout, write_layout
from genoviz.model import ByteStrings, GraphLayout, PangenomeGraph


def graph_of(n_nodes):
    return PangenomeGraph(
        node_names=ByteStrings.from_integers(1, n_nodes),
        node_lengths=np.ones(n_nodes, np.int64),
        edges=np.empty((0, 2), np.uint32),
        path_names=(),
        path_offsets=np.zeros(1, np.int64),
        steps=np.empty(0, np.uint32),
    )


LAYOUT = GraphLayout(np.arange(12.0).reshape(3, 2, 2) + 1000, np.array([0, 0, 1], np.int32))


@pytest.mark.parametrize("name", ["x.lay", "x.tsv", "x.tsv.gz", "X.LAY"])
@pytest.mark.parametrize("read_as", [None, "renamed.layout"])
def test_kind_is_told_from_the_content(tmp_path, name, read_as):
    path = tmp_path / name
    write_layout(LAYOUT, path)
    if read_as:
        path = path.rename(tmp_path / read_as)
    layout = read_layout(path, graph_of(3))
    np.testing.assert_array_equal(layout.coordinates, LAYOUT.coordinates)
    has_components = "tsv" in name
    assert (layout.components is not None) == has_components


@pytest.mark.parametrize("name", ["x.lay", "x.tsv"])
def test_layout_of_another_graph_is_refused(tmp_path, name):
    write_layout(LAYOUT, tmp_path / name)
    assert read_layout(tmp_path / name).n_nodes == 3
    with pytest.raises(FileFormatError, match="lays out 3 nodes, but the graph has 1,004"):
        read_layout(tmp_path / name, graph_of(1004))


def line_of_nodes(n_nodes=300):
    """Return the layout of nodes of 1 bp in a line."""
    ends = np.arange(n_nodes)[:, None] + np.array([0.0, 1.0])
    return np.stack([ends, np.zeros_like(ends)], axis=2)


def write_bandage(coordinates, path):
    """Write Bandage's TSV or JSON."""
    if path.suffix == ".json":
        lines = {f"{node + 1}+": ends.tolist() for node, ends in enumerate(coordinates)}
        path.write_text(json.dumps(lines))
    else:
        rows = [f"{node + 1}+\t{ends[1, 0]}\t{ends[1, 1]}" for node, ends in enumerate(coordinates)]
        path.write_text("\n".join(rows) + "\n")


@pytest.mark.parametrize("name", ["x.lay", "x.tsv", "bandage.tsv", "bandage.json"])
@pytest.mark.parametrize("place", [1e12, -1e12, 1e300])
def test_places_that_no_layout_comes_to_are_refused(tmp_path, name, place):
    coordinates = line_of_nodes()
    coordinates[17, 1, 0] = place
    path = tmp_path / name
    if name.startswith("b"):
        write_bandage(coordinates, path)
    else:
        write_layout(GraphLayout(coordinates), path)
    with pytest.raises(FileFormatError, match=r"node '18' at .* too far for a layout of 300 bp"):
        read_layout(path, graph_of(300))


@pytest.mark.parametrize("name", ["x.lay", "x.tsv"])
@pytest.mark.parametrize(
    ("end", "words"),
    [
        (18.0, ""),
        (90.0, ""),  # of an extent of 300, and a quarter of that is 75
        (93.5, "drawn 76 bp long, 26% of"),
        (12_345.0, "drawn 12,328 bp long, 100% of"),
        (-12_345.0, "drawn 12,362 bp long, 98% of"),
    ],
)
def test_a_node_far_longer_than_its_bp_is_noted(tmp_path, name, end, words):
    coordinates = line_of_nodes()
    coordinates[17, 1, 0] = end
    write_layout(GraphLayout(coordinates), tmp_path / name)
    sentence = (
        f"Node '18' of 1 bp is {words} the layout's extent: {name} may be damaged, or its layout"
        " unfinished."
    )
    assert read_layout(tmp_path / name, graph_of(300)).note == (sentence if words else "")


@pytest.mark.parametrize("start", list("dugrh"))
def test_no_start_of_a_layout_looks_damaged(tmp_path, start):
    graph = graph_of(300)
    layout = GraphLayout(initial_coordinates(graph, start, seed=3))
    write_layout(layout, tmp_path / "x.lay")
    assert read_layout(tmp_path / "x.lay", graph).note == ""


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("x.lay", b"", "x.lay: is empty, needs a layout"),
        ("x.tsv.gz", gzip.compress(b"", mtime=0), "x.tsv.gz: is empty, needs a layout"),
        ("x.lay", b"short", "has 5 bytes, needs at least 16 to be a .lay"),
        ("x.tsv", b"1\t2\t3\n", "neither odgi's .lay nor its TSV; if it is Bandage's, it needs"),
        ("x.tsv.gz", b"\x1f\x8b" + bytes(20), "the gzip data are damaged"),
        ("x.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(99), "it is not a .lay file"),
    ],
)
def test_other_files_are_refused(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(FileFormatError, match=message):
        read_layout(tmp_path / name)


def test_unknown_ending_is_refused(tmp_path):
    with pytest.raises(ParameterError, match=r"x.png needs the ending .lay, .tsv, .tsv.gz"):
        write_layout(LAYOUT, tmp_path / "x.png")


def test_missing_file_is_named(tmp_path):
    with pytest.raises(FileFormatError, match=r"x.tsv: there is no such file in"):
        read_layout(tmp_path / "x.tsv")
