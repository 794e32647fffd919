"""Values that nodes are coloured by, against a walk along the path, step by step."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genoviz.analyses.graph.picture.colour_modes import node_positions
from genoviz.errors import ParameterError
from genoviz.model import ByteStrings, PangenomeGraph


@st.composite
def graphs(draw):
    n_nodes = draw(st.integers(1, 8))
    lengths = draw(st.lists(st.integers(0, 50), min_size=n_nodes, max_size=n_nodes))
    handle = st.integers(0, 2 * n_nodes - 1)
    paths = draw(st.lists(st.lists(handle, max_size=10), min_size=1, max_size=4))
    return PangenomeGraph(
        node_names=ByteStrings.from_integers(1, n_nodes),
        node_lengths=np.array(lengths, np.int64),
        edges=np.empty((0, 2), np.uint32),
        path_names=tuple(f"path{index}" for index in range(len(paths))),
        path_offsets=np.cumsum([0, *map(len, paths)]),
        steps=np.array([step for path in paths for step in path], np.uint32),
    )


@given(graphs())
def test_positions_are_those_of_the_first_visit(graph):
    for path, name in enumerate(graph.path_names):
        expected, position = {}, 0
        for step in graph.path_steps(path).tolist():
            length = int(graph.node_lengths[step >> 1])
            expected.setdefault(step >> 1, position + length / 2)
            position += length
        values = node_positions(graph, name)
        assert values.dtype == np.float32
        for node, value in enumerate(values.tolist()):
            assert value == expected[node] if node in expected else math.isnan(value)


def test_an_unknown_path_is_named():
    graph = PangenomeGraph(
        ByteStrings.from_integers(1, 1),
        np.ones(1, np.int64),
        np.empty((0, 2), np.uint32),
        ("chr1",),
        np.array([0, 1]),
        np.zeros(1, np.uint32),
    )
    with pytest.raises(ParameterError, match="no path is named 'chr2'; the graph has chr1"):
        node_positions(graph, "chr2")
    with pytest.raises(ParameterError, match="path 7 is not one of the graph's 1 paths"):
        node_positions(graph, 7)
