"""Long sequences are where searching each path by itself finds them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genoviz.analyses.sequences.pangenome_index import build_pangenome_index
from genoviz.analyses.sequences.path_sequences import count_sequences, locate_sequence
from genoviz.errors import ParameterError
from tests.analyses.sequences.test_pangenome_index import as_places, places_of
from tests.analyses.sequences.test_shared_stretches import spelled_graphs
from tests.graphs import make_spelled_graph
from tests.oracles.paths import TURN, spell_path


def check(graph, index, words):
    for strand in ("forward", "both", "canonical"):
        wanted = [places_of(graph, word, strand) for word in words]
        counts = count_sequences(index, words, strand=strand, backend="cpu")
        for word, places, row in zip(words, wanted, counts.tolist(), strict=True):
            paths = [path for path, *_ in places]
            assert row == [paths.count(path) for path in range(graph.n_paths)]
            hits = locate_sequence(index, word, strand=strand, backend="cpu")
            assert (hits.n_hits, as_places(hits)) == (len(places), places)
            page = locate_sequence(index, word, strand=strand, limit=2, backend="cpu")
            assert (page.n_hits, as_places(page)) == (len(places), places[:2])


@given(spelled_graphs(), st.integers(1, 6), st.data())
def test_they_are_where_each_path_has_them(graph, max_k, data):
    index = build_pangenome_index(graph, max_k=max_k, backend="cpu")
    texts = [spell_path(graph, path) for path in range(graph.n_paths)]
    words = data.draw(st.lists(st.text("ACGT", min_size=1, max_size=9), max_size=3))
    for text in texts:
        if set(text) & set("ACGT"):
            start = data.draw(st.integers(0, len(text) - 1))
            word = text[start : start + data.draw(st.integers(1, 40))].replace("N", "A")
            words.append(word[::-1].translate(TURN) if data.draw(st.booleans()) else word)
    check(graph, index, words)


def test_palindromes_repeats_and_codes():
    graph = make_spelled_graph(
        ["ACGTACGTACGT", "A", "TTTTTTTTTTT", "*4"],
        [[1, 1, 2, 3], [-3, -1], [3, 3, 4, 1], []],
    )
    index = build_pangenome_index(graph, max_k=4, backend="cpu")
    check(
        graph, index, ["ACGTACGT", "ACGTACGTA", "TTTTTT", "AAAAAAA", "NNNNNN", "ACRTAYGT", "GGGGG"]
    )
    lower = count_sequences(index, ["acguacgu"], backend="cpu")
    assert (lower == count_sequences(index, ["ACGTACGT"], backend="cpu")).all()
    assert count_sequences(index, [], backend="cpu").shape == (0, 4)


def test_what_cannot_be_found_is_said():
    graph = make_spelled_graph(["ACGTTGCA"], [[1]])
    index = build_pangenome_index(graph, max_k=3, backend="cpu")
    with pytest.raises(ParameterError, match="'X' stands for no base"):
        locate_sequence(index, "ACGTX")
    with pytest.raises(ParameterError, match="strand is 'up'"):
        locate_sequence(index, "ACGTA", strand="up")
