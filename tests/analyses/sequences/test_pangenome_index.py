from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genoviz import read_gfa
from genoviz.analyses.graph.query import hit_nodes, path_places
from genoviz.analyses.graph.query.path_places import count_few_per_path, locate_few_on_paths
from genoviz.analyses.sequences import pangenome_queries
from genoviz.analyses.sequences.kmers import Kmer
from genoviz.analyses.sequences.pangenome_index import (
    build_pangenome_index,
    iter_build_pangenome_index,
)
from genoviz.analyses.sequences.pangenome_queries import count_per_path, locate_on_paths
from genoviz.errors import ParameterError
from genoviz.model.graph import indexes as graph_indexes
from tests.analyses.sequences.test_shared_stretches import spelled_graphs
from tests.conftest import real_data
from tests.graphs import make_graph, make_spelled_graph
from tests.oracles.paths import TURN, spell_path, walk_bases

SETS = {"A": "A", "C": "C", "G": "G", "T": "T", "N": "ACGT", "R": "AG", "Y": "CT", "W": "AT"}
kmers = st.one_of(
    st.text("ACGT", min_size=1, max_size=9),
    st.text("AC", min_size=1, max_size=14),
    st.text("ACGTRYWN", min_size=1, max_size=4),
)


def find_all(text, kmer):
    """Return where a k-mer is in a text, which N matches nowhere."""
    pattern = "".join(f"[{SETS[letter]}]" for letter in kmer)
    return {match.start() for match in re.finditer(f"(?={pattern})", text)}


def places_of(graph, kmer, strand):
    """Return path, start, strand and nodes of each hit, from searching each path."""
    found = []
    if strand == "canonical":
        kmer = min(kmer, kmer[::-1].translate(TURN))
    for path in range(graph.n_paths):
        text, bases = spell_path(graph, path), walk_bases(graph, path)
        here = find_all(text, kmer)
        there = set() if strand == "forward" else find_all(text, kmer[::-1].translate(TURN)) - here
        for start in sorted(here | there):
            visited = bases[start : start + len(kmer)]
            steps = dict.fromkeys((step, node) for node, _, _, step in visited)
            nodes = [node for _, node in steps]
            found.append((path, start, 1 if start in here else -1, nodes))
    return found


def as_places(hits):
    columns = (hits.paths.tolist(), hits.starts.tolist(), hits.strands.tolist())
    nodes = np.split(hits.nodes, hits.node_offsets[1:-1]) if len(hits.paths) else []
    return list(zip(*columns, [part.tolist() for part in nodes], strict=True))


def check_kmers(graph, index, words):
    for strand in ("forward", "both", "canonical"):
        expected = [places_of(graph, word, strand) for word in words]
        counts = count_per_path(index, words, strand=strand, backend="cpu")
        assert counts.shape == (len(words), graph.n_paths)
        for word, places, row in zip(words, expected, counts.tolist(), strict=True):
            paths = [path for path, *_ in places]
            assert row == [paths.count(path) for path in range(graph.n_paths)]
            hits = locate_on_paths(index, word, strand=strand, backend="cpu")
            assert (hits.n_hits, hits.is_sorted) == (len(places), True)
            assert as_places(hits) == places
            page = locate_on_paths(index, word, strand=strand, limit=3, offset=2, backend="cpu")
            assert page.n_hits == len(places)
            assert as_places(page) == places[2:5]
        check_few(index, words, expected, counts, strand)


def check_few(index, words, expected, counts, strand):
    """What is found without compiled code is the same."""
    few = [Kmer(word) for word in words]
    is_plain = [set(word) <= set("ACGT") for word in words]
    found = count_few_per_path(index, few, strand=strand)
    assert (found is not None) == all(is_plain)
    if found is not None:
        np.testing.assert_array_equal(found, counts)
    few = [kmer for kmer, plain in zip(few, is_plain, strict=True) if plain]
    answers = locate_few_on_paths(index, few, strand=strand)
    wanted = [places for places, plain in zip(expected, is_plain, strict=True) if plain]
    assert [as_places(hits) for hits in answers] == wanted
    assert [hits.n_hits for hits in answers] == [len(places) for places in wanted]
    some = locate_few_on_paths(index, few, strand=strand, limit=4)
    given = [place for hits in some for place in as_places(hits)]
    assert given == [place for places in wanted for place in places][:4]
    assert [hits.n_hits for hits in some] == [len(places) for places in wanted]


@given(spelled_graphs(), st.lists(kmers, min_size=1, max_size=4), st.integers(14, 20), st.data())
def test_each_path_has_what_searching_it_alone_finds(graph, words, max_k, data):
    rate = data.draw(st.sampled_from([1, 2, 8, 64]))
    index = build_pangenome_index(graph, max_k=max_k, sample_rate=rate, backend="cpu")
    texts = [spell_path(graph, path) for path in range(graph.n_paths)]
    present = [text for text in texts if set(text) & set("ACGT")]
    if present:
        text = data.draw(st.sampled_from(present))
        start = data.draw(st.integers(0, len(text) - 1))
        word = text[start : start + data.draw(st.integers(1, max_k))]
        words = [*words, word.replace("N", "A")]
    check_kmers(graph, index, words)


@pytest.mark.parametrize(
    "paths",
    [
        [],
        [[]],
        [[1]],
        [[-1], [1], [1, 1, 1, 1]],
        [[1, 2, 4], [1, 3, 4], [-4, -2, -1], [4, 1, 2, 4, 1, 2, 4]],
        [[2, -2, 2, -2], [-4, -3, -1, -4, -3, -1], [5, 1, 5]],
    ],
)
@pytest.mark.parametrize("few", [None, -1])
def test_small_graphs(monkeypatch, paths, few):
    if few is not None:  # by the compiled loops
        monkeypatch.setattr(graph_indexes, "FEW_STEPS", few)
        monkeypatch.setattr(graph_indexes, "FEW_PLACES", few)
        monkeypatch.setattr(hit_nodes, "FEW_PLACES", few)

    graph = make_spelled_graph(["ACGTTGCA", "A", "CG", "TTGACCATG", "*4"], paths)
    index = build_pangenome_index(graph, max_k=10, backend="cpu")
    words = ["A", "N", "ACGT", "TGCA", "GCAAT", "GCAACG", "TTGACCATGA", "CATGNNRT", "cgt", "TTUAA"]
    check_kmers(graph, index, [word.upper().replace("U", "T") for word in words])
    counts = count_per_path(index, words, backend="cpu")
    upper = count_per_path(index, [word.upper() for word in words], backend="cpu")
    assert (counts == upper).all()
    assert index.n_path_bases == sum(graph.path_lengths)


def test_hits_beyond_what_is_sorted_are_all_there(monkeypatch):
    graph = make_spelled_graph(["ACGTTGCA", "A", "CG"], [[1, 2, 3], [-3, -2, -1], [1, 3, 1]] * 4)
    index = build_pangenome_index(graph, max_k=6, backend="cpu")
    monkeypatch.setattr(pangenome_queries, "MAX_SORTED", 5)
    monkeypatch.setattr(path_places, "_UNITS_PER_BATCH", 2)
    for strand in ("forward", "both"):
        for word in ("CG", "G", "TGC"):
            expected = places_of(graph, word, strand)
            pages = [
                locate_on_paths(index, word, strand=strand, limit=7, offset=o, backend="cpu")
                for o in range(0, len(expected) + 7, 7)
            ]
            assert {(page.n_hits, page.is_sorted) for page in pages} == {(len(expected), False)}
            assert sorted(place for page in pages for place in as_places(page)) == expected


def test_progress_rises_and_tells_of_stages():
    graph = make_spelled_graph(["ACGTTGCA", "A", "CG"], [[1, 2, 3], [1, 3]])
    reports = list(iter_build_pangenome_index(graph, max_k=6, backend="cpu"))
    fractions = [report.fraction for report in reports]
    assert fractions == sorted(fractions)
    assert (fractions[0], fractions[-1]) == (0, 1)
    assert [report.index is None for report in reports] == [True] * (len(reports) - 1) + [False]
    assert {"Finding what paths share", "Spelling"} < {*reports[-1].seconds}
    assert reports[-1].n_symbols == reports[-1].index.index.text.n_symbols


def test_what_cannot_be_indexed_or_found_is_said():
    graph = make_spelled_graph(["ACGTTGCA"], [[1]])
    index = build_pangenome_index(graph, max_k=6, backend="cpu")
    for word in ("ACGTTGC", "ANNNNNN"):
        with pytest.raises(ParameterError, match="k-mer 2 has 7 bases, and the index of paths"):
            count_per_path(index, ["A", word])
    with pytest.raises(ParameterError, match="position 2: 'X' stands for no base"):
        locate_on_paths(index, "AX")
    with pytest.raises(ParameterError, match="limit is -1"):
        locate_on_paths(index, "A", limit=-1)
    with pytest.raises(ParameterError, match="strand is 'up'"):
        count_per_path(index, ["A"], strand="up")
    with pytest.raises(ParameterError, match="max_k is 0"):
        build_pangenome_index(graph, max_k=0)
    with pytest.raises(ParameterError, match="opened without its sequences"):
        build_pangenome_index(make_graph([3], [[1]]))


def test_real_haplotypes_have_their_kmers():
    graph = read_gfa(real_data("gfa/chr6.C4.gfa.gz"), cache=False)
    index = build_pangenome_index(graph, max_k=64, backend="cpu")
    assert index.sharing > 40
    texts = [spell_path(graph, path) for path in range(graph.n_paths)]
    random = np.random.default_rng(1)
    words = ["ACGTACGTACGTACGT"]
    for path in random.integers(0, graph.n_paths, 12).tolist():
        start, k = int(random.integers(0, len(texts[path]) - 64)), int(random.integers(12, 65))
        words.append(texts[path][start : start + k])
    counts = count_per_path(index, words, backend="cpu")
    for word, row in zip(words, counts.tolist(), strict=True):
        sides = {word, word[::-1].translate(TURN)}
        assert row == [sum(count_in(text, side) for side in sides) for text in texts]


def count_in(text, kmer):
    """Count places, also those that overlap."""
    n, start = 0, text.find(kmer)
    while start >= 0:
        n, start = n + 1, text.find(kmer, start + 1)
    return n


def test_what_is_not_few_is_left_to_compiled_code(monkeypatch):
    graph = make_spelled_graph(["ACGTTGCAAC" * 3, "AC"], [[1, 2, 1], [1, -1]])
    index = build_pangenome_index(graph, max_k=10, sample_rate=16, backend="cpu")
    for word in ("ACG", "A"):
        expected = count_per_path(index, [word], backend="cpu")
        np.testing.assert_array_equal(count_few_per_path(index, [Kmer(word)]), expected)
    for name, most in (("_FEW_ROWS", 5), ("_FEW_PLACES", 5)):
        with monkeypatch.context() as few:
            few.setattr(path_places, name, most)
            assert count_few_per_path(index, [Kmer("A")]) is None
            assert locate_few_on_paths(index, [Kmer("A")]) is None
    for words in (["ACGTTGCAACA"], ["ACN"], ["A" * 6000]):
        assert count_few_per_path(index, [Kmer(word) for word in words]) is None
    assert count_few_per_path(index, []).shape == (0, 2)
