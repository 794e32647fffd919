"""Chromosomes of a GBZ file that are decoded alone are those of the whole graph."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from genoviz.analyses.graph.query.chromosomes import find_chromosomes, take_chromosome
from genoviz.collection import gbz_file
from genoviz.collection.gbz_file import GbzFile
from genoviz.collection.members import GraphMember, read_collection
from genoviz.collection.reading import MemberReader, read_member
from genoviz.errors import FileFormatError
from genoviz.generators import finish, last_of
from genoviz.io.files import file_source
from genoviz.io.graph.gbz_open import OpenGbz
from genoviz.io.graph.reader import read_graph
from tests.graphs import write_genome


@pytest.fixture(autouse=True)
def every_component_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("GENOVIZ_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(gbz_file, "MIN_VISITS", 1)
    monkeypatch.setattr(file_source, "MIN_BYTES", 1)


def listed(graph):
    """Return all of a graph as plain values."""
    return (
        list(graph.node_names),
        graph.node_lengths.tolist(),
        graph.edges.tolist(),
        [(name, graph.path_steps(k).tolist()) for k, name in enumerate(graph.path_names)],
        [] if graph.node_sequences is None else list(graph.node_sequences),
        [] if graph.walks is None else graph.walks.tolist(),
    )


def whole(path):
    """Return the chromosomes of the graph that is read at once."""
    graph = read_graph(path, cache=False)
    chromosomes = find_chromosomes(graph)
    return {name: take_chromosome(graph, chromosomes, name) for name in chromosomes.names}, (
        dict(zip(chromosomes.names, chromosomes.sizes(graph), strict=True))
    )


@pytest.mark.parametrize("cache", [False, True])
@pytest.mark.parametrize(
    ("seed", "n_components", "is_mixed", "long_nodes", "n_ranges"),
    [
        (1, 3, False, False, [1, 1, 1]),
        (2, 7, False, False, [3, 2, 2]),
        (3, 7, True, False, []),
        (4, 6, False, True, [2, 2, 2]),
    ],
)
def test_a_chromosome_alone_is_that_of_the_whole_graph(
    cache, seed, n_components, is_mixed, long_nodes, n_ranges, tmp_path
):
    path = tmp_path / "genome.gbz"
    write_genome(path, seed, n_components, is_mixed=is_mixed, long_nodes=long_nodes)
    graphs, sizes = whole(path)
    assert len(graphs) == 3
    parts = finish(GbzFile(path, sequences=True, cache=cache).iter_list())
    assert [len(part.ranges) for part in parts] == n_ranges
    members = read_collection(path, cache=cache)
    assert {each.name: (each.n_nodes, each.n_steps, each.length) for each in members} == sizes
    reader = MemberReader(cache=cache)
    for name in ("chr3", "chr1", "chr2"):
        found = last_of(reader.iter_read(members[name])).graph
        assert listed(found) == listed(graphs[name])
        assert found.notes == graphs[name].notes


def test_without_sequences_and_by_a_name_that_it_does_not_have(tmp_path):
    path = tmp_path / "genome.gbz"
    write_genome(path, 5, 4, is_mixed=False)
    graphs, _ = whole(path)
    file = GbzFile(path, sequences=False, cache=False)
    found = last_of(file.iter_read("chr2")).graph
    assert found.node_sequences is None
    assert listed(found)[:4] == listed(graphs["chr2"])[:4]
    with pytest.raises(FileFormatError, match=r"no chromosome .* 'chr9'; there are chr1, chr2"):
        last_of(file.iter_read("chr9"))


def test_a_file_of_too_many_chromosomes_is_read_at_once(tmp_path, monkeypatch):
    path = tmp_path / "genome.gbz"
    write_genome(path, 10, 3, is_mixed=False)
    graphs, _ = whole(path)
    monkeypatch.setattr(gbz_file, "MAX_PARTS", 2)
    assert finish(GbzFile(path, sequences=True, cache=True).iter_list()) == []
    members = read_collection(path)
    assert members.names == ("chr1", "chr2", "chr3")
    assert listed(read_member(members["chr3"])) == listed(graphs["chr3"])


def test_a_chromosome_that_left_the_cache_is_decoded_alone(tmp_path, monkeypatch):
    path = tmp_path / "genome.gbz"
    write_genome(path, 6, 3, is_mixed=False)
    graphs, _ = whole(path)
    assert read_collection(path).names == ("chr1", "chr2", "chr3")
    shutil.rmtree(next((tmp_path / "cache" / "graphs").glob("chr2-*")))
    taken = []
    take = OpenGbz.take
    monkeypatch.setattr(OpenGbz, "take", lambda self, *own: taken.append(own) or take(self, *own))
    reader = MemberReader()
    for name in ("chr1", "chr2", "chr2"):
        found = last_of(reader.iter_read(GraphMember(name, path, name))).graph
        assert listed(found) == listed(graphs[name])
    assert len(taken) == 1


def test_a_file_that_was_rewritten_is_read_anew(tmp_path):
    path = tmp_path / "genome.gbz"
    write_genome(path, 7, 3, is_mixed=False)
    read_collection(path)
    write_genome(path, 8, 3, is_mixed=False)
    graphs, sizes = whole(path)
    members = read_collection(path)
    assert {each.name: (each.n_nodes, each.n_steps, each.length) for each in members} == sizes
    assert listed(read_member(members["chr1"])) == listed(graphs["chr1"])


def test_a_damaged_file_is_refused_or_has_the_same_chromosomes(tmp_path):
    path = tmp_path / "genome.gbz"
    write_genome(path, 9, 5, is_mixed=False)
    content = path.read_bytes()
    expected = {name: listed(graph) for name, graph in whole(path)[0].items()}
    numbers = np.random.default_rng(9)
    n_refused = 0
    for _ in range(150):
        damaged = bytearray(content)
        damaged[numbers.integers(len(damaged))] ^= 1 << int(numbers.integers(8))
        path.write_bytes(damaged)
        file = GbzFile(path, sequences=True, cache=False)
        try:
            parts = finish(file.iter_list())
            found = {part.name: listed(last_of(file.iter_read(part.name)).graph) for part in parts}
        except FileFormatError:
            n_refused += 1
            continue
        # Letters of names and bases, which are stored once, may differ.
        assert shapes(found.values()) == shapes(expected.values())
    assert n_refused > 50


def shapes(graphs):
    """Return lengths, links and steps of graphs, without any letter."""
    return [
        (lengths, edges, [steps for _, steps in paths]) for _, lengths, edges, paths, *_ in graphs
    ]
