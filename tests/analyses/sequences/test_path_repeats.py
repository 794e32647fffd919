"""Spectra and multiplicities of paths are those of the paths spelled one by one."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genoviz import read_gfa
from genoviz.analyses.sequences.pangenome_index import build_pangenome_index
from genoviz.analyses.sequences.path_repeats import make_path_repeats
from genoviz.errors import ParameterError
from genoviz.generators import finish
from tests.analyses.sequences.test_shared_stretches import spelled_graphs
from tests.conftest import real_data
from tests.graphs import make_spelled_graph
from tests.oracles.paths import TURN, spell_path


def kmers_of(text, k, strand):
    """Return the k-mer that begins at each base, or None."""
    found = [text[start : start + k] for start in range(len(text))]
    found = [kmer if len(kmer) == k and set(kmer) <= set("ACGT") else None for kmer in found]
    if strand == "canonical":
        found = [kmer and min(kmer, kmer[::-1].translate(TURN)) for kmer in found]
    return found


def check(graph, repeats, k):
    for strand in ("forward", "canonical"):
        on_paths = [kmers_of(spell_path(graph, path), k, strand) for path in range(graph.n_paths)]
        counts = Counter(kmer for kmers in on_paths for kmer in kmers if kmer)
        if not counts:
            with pytest.raises(ParameterError, match=f"k is {k}, and the longest stretch"):
                repeats.spectrum(k, strand)
            continue
        spectrum = repeats.spectrum(k, strand)
        wanted = Counter(counts.values())
        assert spectrum.multiplicities.tolist() == sorted(wanted)
        assert spectrum.n_kmers.tolist() == [wanted[n] for n in sorted(wanted)]
        track = repeats.track(k, strand)
        for path, kmers in enumerate(on_paths):
            wanted = [counts[kmer] if kmer else 0 for kmer in kmers]
            assert track.cut(path).tolist() == wanted


@given(spelled_graphs(), st.integers(3, 12), st.data())
def test_they_are_those_of_spelled_paths(graph, max_k, data):
    index = build_pangenome_index(graph, max_k=max_k, backend="cpu")
    check(graph, make_path_repeats(index, backend="cpu"), data.draw(st.integers(1, max_k)))


@pytest.mark.parametrize("at_once", [3, 1 << 22])
@pytest.mark.parametrize("k", [1, 2, 4, 7, 10])
def test_turned_paths_palindromes_and_gaps(k, at_once, monkeypatch):
    monkeypatch.setattr("genoviz.analyses.sequences.path_repeats._BASES_AT_ONCE", at_once)
    graph = make_spelled_graph(
        ["ACGTTGCA", "A", "CG", "TTGACCATG", "*4"],
        [[1, 2, 4], [-4, -3, -1], [-4, -2, -1, 3, 5, 4], [], [2, -2, 2], [1, 1, 1]],
    )
    index = build_pangenome_index(graph, max_k=10, backend="cpu")
    assert index.shared.is_turned.any()
    check(graph, make_path_repeats(index, backend="cpu"), k)


def test_distinct_kmers_and_steps():
    graph = make_spelled_graph(["ACGTTGCA", "A", "CG"], [[1, 2, 3], [-3, -2, -1], [1, 3, 1]])
    repeats = make_path_repeats(build_pangenome_index(graph, max_k=6, backend="cpu"))
    shares = list(repeats.iter_distinct(6))
    assert shares == sorted(shares)
    distinct = finish(repeats.iter_distinct(6))
    for row, k in enumerate(range(1, 7)):
        spectrum = repeats.spectrum(k)
        assert distinct.n_distinct[row] == spectrum.n_distinct
        assert distinct.n_unique[row] == spectrum.n_unique
        assert distinct.n_total[row] == spectrum.n_total
    track = repeats.track(3)
    for path, steps in enumerate(track.iter_steps()):
        values = np.zeros(int(graph.path_lengths[path]), np.int64)
        for start, stop, value in zip(steps.starts, steps.ends, steps.multiplicities, strict=True):
            values[start:stop] = value
        assert values.tolist() == track.cut(path).tolist()


def test_what_cannot_be_told_is_said():
    graph = make_spelled_graph(["ACGTTGCA"], [[1]])
    repeats = make_path_repeats(build_pangenome_index(graph, max_k=6), backend="cpu")
    with pytest.raises(ParameterError, match=r"k is 7, and the index of paths finds up to 6"):
        repeats.spectrum(7)
    with pytest.raises(ParameterError, match="strand is 'up'"):
        repeats.track(3, "up")
    with pytest.raises(ParameterError, match="no path is named 'y'"):
        repeats.track(3).find("y")
    sampled = build_pangenome_index(graph, max_k=6, sample_rate=4)
    with pytest.raises(ParameterError, match=r"the index keeps every 4\. row"):
        make_path_repeats(sampled, backend="cpu")


def test_real_haplotypes_have_their_spectra():
    graph = read_gfa(real_data("gfa/DRB1-3123.gfa.gz"), cache=False)
    index = build_pangenome_index(graph, max_k=64, backend="cpu")
    repeats = make_path_repeats(index, backend="cpu")
    for k in (21, 40):
        check(graph, repeats, k)
