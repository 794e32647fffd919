"""What a reference has at the sites of other haplotypes, by hand and against slow loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genoviz.analyses.offtargets.haplotype_risks import haplotype_risks
from genoviz.analyses.offtargets.pangenome import find_offtargets_on_graph
from genoviz.analyses.offtargets.reference import compare_with_reference, find_reference_paths
from genoviz.analyses.offtargets.scores import cfd_scores
from genoviz.errors import ParameterError
from genoviz.model.offtargets.letters import MISFITS
from tests.analyses.sequences.test_shared_stretches import spelled_graphs
from tests.graphs import make_spelled_graph
from tests.oracles.paths import TURN, spell_path, walk_bases

GUIDE = "GACGCATAAAGATGAGACGC"
LEFT, RIGHT = "TTATCATTCTTAACATACTT", "CATATATACATTATATCTAA"
NRG = "N" * 21 + "RG"


def search(nodes, paths, guide=GUIDE, **options):
    graph = make_spelled_graph(nodes, paths)
    options = {"max_mismatches": 3} | options
    return find_offtargets_on_graph(graph, [guide + "NNN"], NRG, backend="cpu", **options)


def compare(found, path=0):
    return compare_with_reference(found, found.graph.path_names[path])


def test_alleles_are_told_apart():
    # One base of the site, and one of its PAM, differ between the paths.
    nodes = [LEFT + GUIDE[:9], "A", "G", GUIDE[10:] + "AG", "T", "G", RIGHT]
    assert GUIDE[9] == "A"
    found = search(nodes, [[1, 3, 4, 5, 7], [1, 2, 4, 6, 7], [1, 3, 4, 6, 7], [-7, -6, -4, -2, -1]])
    assert len(found) == 2
    assert sorted(found.hits.mismatches.tolist()) == [0, 1]
    assert compare(found).labels() == ["with 1 mismatch, without the PAM"] * 2
    at = compare(found, 1)
    assert at.is_present.tolist() == (found.hits.mismatches == 0).tolist()
    assert sorted(at.labels()) == ["with 0 mismatches", "yes"]
    turned = compare(found, 3)
    assert turned.labels() == at.labels()
    assert (turned.strands == -1).all()
    assert turned.pam_ends.tolist() == [len(RIGHT), len(RIGHT)]
    assert (at.pam_ends == len(LEFT) + 23).all()


def test_what_the_reference_does_not_have():
    found = search([LEFT, GUIDE + "TGG", RIGHT], [[1, 3], [1, 2, 3]])
    reference = compare(found)
    assert reference.labels() == ["no"]
    assert (reference.mismatches.tolist(), reference.pam_ends.tolist()) == ([-1], [-1])
    assert compare(found, 1).labels() == ["yes"]


@settings(max_examples=40)
@given(graph=spelled_graphs(), data=st.data())
def test_places_are_the_best_that_shared_nodes_lead_to(graph, data):
    if graph.n_paths == 0:
        return
    word = data.draw(st.text("ACGT", min_size=4, max_size=6))
    guide, pattern = word + "NN", "N" * len(word) + "NG"
    if is_pam_first := data.draw(st.booleans()):
        guide, pattern = "NN" + word, "GN" + "N" * len(word)
    found = find_offtargets_on_graph(graph, [guide], pattern, max_mismatches=2, backend="cpu")
    path = data.draw(st.integers(0, graph.n_paths - 1))
    reference = compare_with_reference(found, graph.path_names[path])
    assert reference.is_present.tolist() == found.presence()[:, reference.paths[0]].tolist()
    text, there = spell_path(graph, path), walk_bases(graph, path)
    places = found.first_places()
    for site in range(len(found)):
        start, strand = int(places.starts[site]), int(places.strands[site])
        bases = walk_bases(graph, int(places.paths[site]))[start : start + len(pattern)]
        is_left = (strand > 0) == is_pam_first
        fits = []
        for i, (node, at, is_reverse, _) in enumerate(bases):
            for j, (other, where, is_other, _) in enumerate(there):
                if (node, at) != (other, where):
                    continue
                # From the shared base to the PAM's end on the reference.
                to_end = -i if is_left else len(pattern) - i
                same = is_reverse == is_other
                end = j + to_end if same else j + 1 - to_end
                turned = strand if same else -strand
                first = end if (turned > 0) == is_pam_first else end - len(pattern)
                if first < 0 or first + len(pattern) > len(text):
                    continue
                read = text[first : first + len(pattern)]
                read = read if turned > 0 else read[::-1].translate(TURN)
                n, n_pam = (
                    sum(bool(MISFITS[ord(a), ord(b)]) for a, b in zip(letters, read, strict=True))
                    for letters in (guide, pattern)
                )
                fits.append((n + n_pam, n, n_pam, end, turned))
        n, n_pam = int(reference.mismatches[site]), int(reference.pam_misfits[site])
        end, turned = int(reference.pam_ends[site]), int(reference.strands[site])
        if reference.is_present[site]:
            assert (n, n_pam) == (found.hits.mismatches[site], 0)
        if fits:
            assert (n + n_pam, n, n_pam, end, turned) in fits
            assert reference.is_present[site] or n + n_pam == min(fits)[0]
        else:
            assert (n, n_pam, end, turned) == (-1, -1, -1, 0)


def test_risk_is_what_haplotypes_have_beyond_the_reference():
    swapped = GUIDE[:4] + "T" + GUIDE[5:]
    nodes = [
        LEFT, "G", "A", GUIDE[1:] + "AGG" + RIGHT,  # the target and an allele that is cut as well
        LEFT + swapped[:17], "C", "A", swapped[18:] + "TGG" + RIGHT,  # a worse and a better site
    ]  # fmt: skip
    assert (GUIDE[0], GUIDE[4], GUIDE[17]) == ("G", "C", "C")
    # The reference has a second mismatch in the last node but one.
    found = search(nodes, [[1, 2, 4, 5, 7, 8], [1, 3, 4, 5, 6, 8]])
    cfd = cfd_scores(found.hits)
    reference = compare(found)
    risks = haplotype_risks(found, reference)
    sites = found.hits.sites()
    target = risks.on_targets[0]
    assert (sites[target], reference.is_present[target]) == (GUIDE + "AGG", True)
    assert len(found) == 4
    worst, best = risks.worst_sites[0], risks.reference_sites[0]
    assert (found.hits.mismatches[worst], found.hits.mismatches[best]) == (1, 2)
    assert risks.risks.tolist() == [cfd[worst] - cfd[best]]
    assert 0 < risks.worst_cfd[0] < max(cfd[site] for site in range(4) if site != target)
    assert risks.risks[0] > 0
    assert haplotype_risks(found, compare(found, 1), cfd=cfd).risks.tolist() == [0]
    nothing = search([LEFT], [[1]])
    risks = haplotype_risks(nothing, compare(nothing))
    assert np.isnan(risks.risks).tolist() == [True], "what is found nowhere has no risk of 0"
    assert risks.on_targets.tolist() == [-1]
    assert "on-target and its alleles are left out" in risks.definition


def test_references_are_paths_or_samples():
    graph = replace(
        make_spelled_graph(["ACGT"], [[1], [1], [1]]), path_names=("a#1#c", "a#2#c", "b#1#c")
    )
    assert find_reference_paths(graph, "a").tolist() == [0, 1]
    assert find_reference_paths(graph, ["b#1#c", "a"]).tolist() == [0, 1, 2]
    with pytest.raises(ParameterError, match="x"):
        find_reference_paths(graph, "x")
    with pytest.raises(ParameterError, match="no reference is named"):
        find_reference_paths(graph, [])
    assert np.array_equal(find_reference_paths(graph, "b#1#c"), [2])
