from __future__ import annotations

import json

import numpy as np
import pytest

from genoviz.errors import FileFormatError
from genoviz.io.graph.layout_files import read_layout
from genoviz.model import ByteStrings, PangenomeGraph


@pytest.fixture
def graph():
    return PangenomeGraph(
        node_names=ByteStrings.from_texts(["s1", "s2", "x+"]),
        node_lengths=np.array([5, 6, 7]),
        edges=np.empty((0, 2), np.uint32),
        path_names=(),
        path_offsets=np.zeros(1, np.int64),
        steps=np.empty(0, np.uint32),
    )


LINES = {
    "s2+": [[5, 6], [7.5, 8]],
    "s1+": [[1, 2], [9, 9], [3, 4]],
    "s1-": [[0, 0], [1, 1]],
    "x+-": [[12, 13], [10, 11]],
}


def test_json_gives_the_ends_of_each_line(tmp_path, graph):
    path = tmp_path / "graph.layout"
    path.write_text(json.dumps(LINES, indent=4))
    layout = read_layout(path, graph)
    ends = [[[1, 2], [3, 4]], [[5, 6], [7.5, 8]], [[10, 11], [12, 13]]]
    assert layout.coordinates.tolist() == ends
    assert "not in bp" in layout.note


def test_tsv_gives_one_point_for_both_ends(tmp_path, graph):
    path = tmp_path / "graph.tsv"
    path.write_text("s2+\t5\t6e1\ns1+\t1\t2\nx+\t-3\t4\n")
    layout = read_layout(path, graph)
    assert layout.coordinates[:, 0].tolist() == [[1, 2], [5, 60], [-3, 4]]
    np.testing.assert_array_equal(layout.coordinates[:, 0], layout.coordinates[:, 1])
    assert "each node is one point" in layout.note


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{\n"s1+": [[1, 2]]', r"bad.layout, line 2: is not JSON: "),
        ("[1, 2]", "is not an object of node names"),
        ('{"s1+": []}', r"node 's1\+' has no list of points \[x, y\]: \[\]"),
        ('{"s1+": [[1, 2], [3]]}', r"node 's1\+' has no list of points"),
        ('{"s1+": [[1, true]]}', r"node 's1\+' has no list of points"),
        ('{"s1+": {"x": 1}}', r"node 's1\+' has no list of points"),
        ('{"s1+": [[1, NaN]]}', r"node 's1\+' has a point that is not finite"),
        ('{"s1+": [[1, 1' + "0" * 400 + "]]}", r"node 's1\+' has a point that is not finite"),
        ('{"s1+": [[1, 1' + "0" * 5000 + "]]}", "has a number of thousands of digits"),
        ('{"s9+": [[1, 2]]}', r"the graph has no node 's9\+'"),
        ('{"s1": [[1, 2]], "s1+": [[1, 2]]}', r"node 's1\+' is given twice"),
        ('{"s1+": [[1, 2]]}', "lays out 1 of the graph's 3 nodes, needs all; 's2' is missing"),
        ("[" * 100_000, "is not JSON text"),
        ("s1+\t1\n", r"line 1: has 2 columns, needs 3 \(name, x, y\), or an odgi header"),
        ("s1+\t1\t2\ns2+\ta\t2\n", "line 2: x and y are 'a' and '2', need numbers"),
        ("s1+\t1\t2\ns9+\t1\t2\n", r"line 2: the graph has no node 's9\+'"),
        ("s1+\t1\t2\ns1+\t1\t2\n", r"line 2: node 's1\+' is given twice"),
        ("s1+\t1\tinf\n", r"line 1: node 's1\+' has a point that is not finite"),
    ],
)
def test_bad_file_says_what_is_wrong(tmp_path, graph, text, message):
    path = tmp_path / "bad.layout"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=message):
        read_layout(path, graph)
