from __future__ import annotations

import pytest

from genoviz import path_sequences, read_gfa
from genoviz.errors import ParameterError
from tests.conftest import real_data
from tests.oracles.paths import path_sequence


@pytest.mark.parametrize("name", ["DRB1-3123", "chr6.C4"])
def test_paths_read_their_nodes(name):
    graph = read_gfa(real_data(f"gfa/{name}.gfa.gz"), cache=False)
    found = path_sequences(graph)
    assert found.names == tuple(graph.path_names)
    for number in range(graph.n_paths):
        letters = found.cut(number, 0, int(graph.path_lengths[number])).tobytes().decode()
        assert letters == path_sequence(graph, number).upper()
    some = path_sequences(graph, [graph.path_names[2], graph.path_names[0]])
    assert some.names == (graph.path_names[2], graph.path_names[0])
    assert some.lengths.tolist() == graph.path_lengths[[2, 0]].tolist()


def test_case_reversal_and_missing_nodes(tmp_path):
    path = tmp_path / "g.gfa"
    path.write_text("S\t1\tACgt\nS\t2\tTTN\nS\t3\t*\tLN:i:5\nP\ta\t1+,2-\t*\nP\tb\t3+\t*\n")
    graph = read_gfa(path, cache=False)
    found = path_sequences(graph, ["a"])
    assert found.bases.tobytes() == b"ACGTNAA"
    assert found.masked.tolist() == [[2, 4]]
    with pytest.raises(ParameterError, match="node '3' has no sequence"):
        path_sequences(graph)
    with pytest.raises(ParameterError, match="no path is named 'z'"):
        path_sequences(graph, ["z"])
