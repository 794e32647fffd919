"""Off-targets on all paths at once against a search of each path alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genoviz import read_gfa
from genoviz.analyses.graph.query.sequences import path_sequences
from genoviz.analyses.offtargets import pangenome
from genoviz.analyses.offtargets import paths as path_offtargets
from genoviz.analyses.offtargets.carriers import (
    count_haplotypes,
    group_shares,
    haplotype_names,
)
from genoviz.analyses.offtargets.finding import find_offtargets
from genoviz.analyses.offtargets.pangenome import (
    find_offtargets_on_graph,
    iter_find_offtargets_on_graph,
)
from genoviz.analyses.offtargets.path_hits import PathPlanes, PlacedHits
from genoviz.errors import ParameterError
from genoviz.model.offtargets.hits import COLUMNS
from genoviz.model.sequences.sequences import Sequences
from tests.analyses.sequences.test_shared_stretches import spelled_graphs
from tests.conftest import real_data
from tests.graphs import make_graph, make_spelled_graph
from tests.oracles.paths import spell_path, walk_bases

ALIGNED = ("guide_ids", "mismatches", "bulge_types", "bulge_sizes", "bulge_places")


def rows_of(hits, rows, *columns):
    aligned = [getattr(hits, name)[rows].tolist() for name in ALIGNED]
    return sorted(zip(*(column.tolist() for column in columns), *aligned, strict=True))


def places_of(found):
    """Return path, start, strand and alignment of all places."""
    places = found.places()
    return rows_of(found.hits, places.sites, places.paths, places.starts, places.strands)


def search_alone(sequences, guides, pattern, **options):
    hits = find_offtargets(guides, sequences, pattern, backend="cpu", **options)
    return rows_of(hits, slice(None), hits.contig_ids, hits.starts, hits.strands)


def check_sites(graph, found):
    """Check that a site is what its places read, and each set of bases is one site of a guide."""
    places = found.places()
    walks = [walk_bases(graph, path) for path in range(graph.n_paths)]
    offsets, nodes = found.nodes(places)
    letters = found.hits.sites()
    read = {}
    for row in range(len(places)):
        site = int(places.sites[row])
        start, length = int(places.starts[row]), int(found.hits.lengths[site])
        visited = walks[places.paths[row]][start : start + length]
        steps = dict.fromkeys((step, node) for node, _, _, step in visited)
        assert nodes[offsets[row] : offsets[row + 1]].tolist() == [node for _, node in steps]
        bases = [(node, at, is_reverse) for node, at, is_reverse, _ in visited]
        if places.strands[row] < 0:
            bases = [(node, at, not is_reverse) for node, at, is_reverse in reversed(bases)]
        aligned = tuple(int(getattr(found.hits, name)[site]) for name in ALIGNED)
        assert len(letters[site]) == length
        read.setdefault(site, set()).add((tuple(bases), aligned))
    assert all(len(seen) == 1 for seen in read.values())
    assert len({next(iter(seen)) for seen in read.values()}) == len(read) == len(found)
    assert (found.n_places == np.bincount(places.sites, minlength=len(found))).all()
    first = found.first_places()
    keys = list(zip(found.hits.guide_ids, first.paths, first.starts, strict=True))
    assert keys == sorted(keys)


def check_presence(graph, found):
    places = found.places()
    for by in ("path", "haplotype", "sample"):
        groups = found.groups(by)
        expected = np.zeros((len(found), len(groups.names)), bool)
        for site, path in zip(places.sites.tolist(), places.paths.tolist(), strict=True):
            expected[site, groups.of_path[path]] = True
        assert (found.presence(by=by) == expected).all()
        assert (found.count_groups(by=by) == expected.sum(axis=1)).all()
        backward = np.arange(len(found))[::-1]
        assert (found.presence(backward, by=by) == expected[::-1]).all()


def check_parts(graph, found, most):
    """Check that places and hits come in parts of at most so many, or those on one path."""
    numbers, parts = zip(*found.iter_places(most), strict=True)
    columns = ("sites", "paths", "starts", "strands")
    rows = [np.concatenate([getattr(part, name) for part in parts]) for name in columns]
    everywhere = found.places()
    order = np.lexsort(rows[2::-1])
    for name, values in zip(columns, rows, strict=True):
        assert (values[order] == getattr(everywhere, name)).all()
    kept = np.arange(len(order)) if found.is_kept is None else np.flatnonzero(found.is_kept)
    assert sorted(np.concatenate(numbers).tolist()) == kept.tolist()
    assert all(len(part) <= most or len({*part.paths.tolist()}) == 1 for part in parts)
    planes = PathPlanes.of(graph)
    hits = PlacedHits.everywhere(found, planes)
    some = [*PlacedHits.iter_everywhere(found, planes, most)]
    for name in COLUMNS:
        values = np.concatenate([getattr(part, name) for part in some])
        assert (values == getattr(hits, name)).all()


@settings(max_examples=60)
@given(graph=spelled_graphs(), data=st.data())
def test_each_path_has_what_searching_it_alone_finds(graph, data):
    n = data.draw(st.integers(4, 7))
    words = st.text("ACGT", min_size=n, max_size=n)
    is_pam_first = data.draw(st.booleans())
    guides, pattern = data.draw(st.lists(words, min_size=1, max_size=3)), "N" * n + "NG"
    guides = [word + "NN" for word in guides]
    if is_pam_first:
        guides, pattern = [word[-2:] + word[:-2] for word in guides], "RN" + "N" * n
    options = {
        "max_mismatches": data.draw(st.integers(0, 3)),
        "dna_bulge": data.draw(st.integers(0, 2)),
        "rna_bulge": data.draw(st.integers(0, 2)),
        "placements": data.draw(st.sampled_from(["best", "all"])),
    }
    texts = Sequences.from_records(
        (str(path), spell_path(graph, path)) for path in range(graph.n_paths)
    )
    found = find_offtargets_on_graph(graph, guides, pattern, backend="cpu", **options)
    assert places_of(found) == search_alone(texts, guides, pattern, **options)
    check_sites(graph, found)
    check_presence(graph, found)
    if graph.n_paths:
        check_parts(graph, found, data.draw(st.integers(1, 9)))
    rows = data.draw(st.permutations(range(len(found))))[: data.draw(st.integers(0, 5))]
    some = found.take(np.array(rows, int))
    assert (some.presence() == found.presence()[rows]).all()


@pytest.mark.parametrize(
    "paths",
    [
        [],
        [[]],
        [[1]],
        [[-1], [1], [1, 1, 1, 1]],
        [[1, 2, 4], [1, 3, 4], [-4, -2, -1], [4, 1, 2, 4, 1, 2, 4]],
        [[2, -2, 2, -2], [-4, -3, -1, -4, -3, -1], [5, 1, 5]],
        [[1, -1], [-1, 1], [4, -4, 4]],
    ],
)
def test_small_graphs(monkeypatch, paths):
    monkeypatch.setattr(path_offtargets, "PLACES_AT_ONCE", 3)
    monkeypatch.setattr(pangenome, "PLACES_AT_ONCE", 3)
    monkeypatch.setattr(pangenome, "_FIRST_GUIDES", 1)
    graph = make_spelled_graph(["ACGTTGCARG", "A", "CG", "TTGACCATGG", "*4"], paths)
    texts = Sequences.from_records((str(i), spell_path(graph, i)) for i in range(graph.n_paths))
    guides, pattern = ["ACGTTNN", "TGACCNN", "AAAAANN"], "NNNNNRG"
    for bulge, limits in ((0, 3), (1, 3), (0, [1, 3, 2])):
        options = {"max_mismatches": limits, "dna_bulge": bulge, "rna_bulge": bulge}
        found = find_offtargets_on_graph(graph, guides, pattern, backend="cpu", **options)
        assert places_of(found) == search_alone(texts, guides, pattern, **options)
        check_sites(graph, found)
        check_presence(graph, found)


def test_a_bulge_reaches_beyond_a_node_that_paths_share():
    # The window without a bulge would end with the node, and what follows is not the same.
    nodes = ["T" * 20 + "ACGTTACGTAG", "GTTTTTTTTTTTTTT", "CTTTTTTTTTTTTTT"]
    graph = make_spelled_graph(nodes, [[1, 2], [1, 3], [-3, -1], [-2, -1]])
    found = find_offtargets_on_graph(
        graph, ["ACGTACGTNNN"], "N" * 9 + "GG", max_mismatches=0, dna_bulge=1, backend="cpu"
    )
    places = found.places()
    assert places.paths.tolist() == [0, 3]
    assert places.starts.tolist() == [20, 14]
    assert places.strands.tolist() == [1, -1]
    assert found.presence().tolist() == [[True, False, False, True]]


@pytest.mark.parametrize(("name", "sharing"), [("chr6.C4", 25), ("DRB1-3123", 2)])
@pytest.mark.parametrize("bulge", [0, 1])
def test_real_graphs_have_what_searching_each_path_finds(name, sharing, bulge):
    graph = read_gfa(real_data(f"gfa/{name}.gfa.gz"))
    texts = path_sequences(graph)
    has_pam = np.flatnonzero((texts.bases[22:] == ord("G")) & (texts.bases[21:-1] == ord("G")))
    starts = np.random.default_rng(4).choice(has_pam, 20 if bulge == 0 else 3)
    guides = [texts.bases[start : start + 20].tobytes().decode() + "NNN" for start in starts]
    options = {"max_mismatches": 4 - bulge, "dna_bulge": bulge, "rna_bulge": bulge}
    found = find_offtargets_on_graph(graph, guides, "N" * 21 + "RG", backend="cpu", **options)
    assert found.sharing > sharing
    expected = search_alone(texts, guides, "N" * 21 + "RG", **options)
    assert places_of(found) == expected
    assert len(expected) > len(found) > 0
    matrix = found.presence()
    assert matrix.any(axis=1).all()
    assert int(found.n_places.sum()) == len(expected)


def test_progress_rises_and_tells_of_stages():
    graph = make_spelled_graph(["ACGTTGCAGG", "A", "CG"], [[1, 2, 3], [1, 3]])
    reports = list(
        iter_find_offtargets_on_graph(
            graph, ["ACGTTGCANNN"], "NNNNNNNNNGG", max_mismatches=3, backend="cpu"
        )
    )
    fractions = [report.fraction for report in reports]
    assert fractions == sorted(fractions)
    assert (fractions[0], fractions[-1]) == (0, 1)
    assert [report.result is None for report in reports] == [True] * (len(reports) - 1) + [False]
    stages = list(dict.fromkeys(report.stage for report in reports))
    assert stages == list(reports[-1].result.seconds)
    assert "sites of 1 guide on 2 paths" in repr(reports[-1].result)


def test_what_cannot_be_searched_is_said():
    spelled = make_spelled_graph(["ACGT"], [[1]])
    with pytest.raises(ParameterError, match="opened without its sequences"):
        find_offtargets_on_graph(make_graph([3], [[1]]), ["ANN"], "NGG", max_mismatches=0)
    with pytest.raises(ParameterError, match="placements is 'one'"):
        find_offtargets_on_graph(spelled, ["ANN"], "NGG", max_mismatches=0, placements="one")
    with pytest.raises(ParameterError, match="dna_bulge is -1"):
        find_offtargets_on_graph(spelled, ["ANN"], "NGG", max_mismatches=0, dna_bulge=-1)
    with pytest.raises(ParameterError, match="the pattern has 0 letters"):
        find_offtargets_on_graph(spelled, [], "", max_mismatches=0)


def test_a_site_is_counted_among_haplotypes_that_have_its_chromosome():
    """Haplotype 2 of a male has no X; who has it in pieces has it."""
    names = ["m#1#chr1", "m#2#chr1", "f#1#chr1", "f#2#ctg4", "m#1#chrX", "f#1#chrX", "f#2#ctg9"]
    walks = [[1], [1], [1], [1], [2], [2, 3], [3]]
    graph = make_spelled_graph(["ACGTTGCAAGG", "CCCTTAAGGTCGG", "TT"], walks)
    edges = np.array([[2, 4]], graph.edges.dtype)
    graph = replace(graph, path_names=names, edges=edges)
    guides, pattern = ["ACGTTGCANNN", "CTTAAGGTNNN"], "N" * 9 + "GG"
    found = find_offtargets_on_graph(graph, guides, pattern, max_mismatches=0, backend="cpu")
    assert found.hits.guide_ids.tolist() == [0, 1]
    assert count_haplotypes(found).tolist() == [4, 3]
    counts, totals, texts = haplotype_names(found)
    assert counts.tolist() == [4, 2]
    assert totals.tolist() == [4, 3]
    assert texts[1] == "m#1,f#1"
    shares = group_shares(found, {"m": "north", "f": "south"})
    assert shares["frequency_north"].tolist() == [1.0, 1.0]
    assert shares["frequency_south"].tolist() == [1.0, 0.5]
