"""Off-targets on the paths of the open graph: the page's parts, and the page without a browser."""

from __future__ import annotations

import random
from dataclasses import replace
from html import unescape
from types import SimpleNamespace

import numpy as np
import pytest

from genoviz import (
    cfd_scores,
    compare_with_reference,
    design_guides,
    find_guides,
    find_offtargets,
    find_offtargets_on_graph,
    path_sequences,
    read_gfa,
)
from genoviz.analyses.graph.query.path_positions import find_region_steps
from genoviz.analyses.offtargets import pangenome
from genoviz.analyses.offtargets.path_hits import PathPlanes
from genoviz.errors import GenovizError
from genoviz.io.intervals.annotations import read_annotations
from genoviz.model import PathRegion
from genoviz_app.opening.companions import AnnotationFile
from genoviz_app.opening.genome_files import Genome, OpenGenome
from genoviz_app.opening.graph_files import OpenGraph
from genoviz_app.pages.offtargets import OffTargetsPage
from genoviz_app.pages.offtargets.hits import card
from genoviz_app.pages.offtargets.hits.card import (
    MAX_LISTED,
    card_html,
    flank_of,
    haplotypes_html,
)
from genoviz_app.pages.offtargets.hits.exports import iter_write_found
from genoviz_app.pages.offtargets.hits.filter import HitFilter, filter_hits
from genoviz_app.pages.offtargets.hits.heat_maps import make_matrix
from genoviz_app.pages.offtargets.hits.listing import hit_rows
from genoviz_app.pages.offtargets.hits.order import HitOrder
from genoviz_app.pages.offtargets.hits.place_bins import CONTIGS, GENOME, PlaceView, make_place_bins
from genoviz_app.pages.offtargets.link import LinkedHits
from genoviz_app.pages.offtargets.search import running
from genoviz_app.pages.offtargets.search.genes import _best_words, find_genes
from genoviz_app.pages.offtargets.search.guide_table import guide_rows
from genoviz_app.pages.offtargets.search.query import Guide, OffTargetQuery, Pam
from genoviz_app.pages.offtargets.search.running import iter_compare, iter_search_graph
from genoviz_app.pages.offtargets.search.words import lost_words, result_words
from genoviz_app.session.address import Address
from tests.app.conftest import poll_until
from tests.conftest import real_data

SPACER = "GACCTGTCGCTGACGCATTC"
COMPLEMENTS = str.maketrans("ACGT", "TGCA")
REFERENCE = "GRCh38"


def turned(text):
    return text.translate(COMPLEMENTS)[::-1]


def make_gfa():
    """Six haplotypes: two have the target, two an allele of it, two a site that others lack."""
    numbers = random.Random(8)

    def letters(n):
        return "".join(numbers.choice("ACGT") for _ in range(n))

    site = SPACER[:3] + "T" + SPACER[4:]
    nodes = {
        "a": letters(400), "b": SPACER[:12], "c": SPACER[12], "d": "T", "e": SPACER[13:] + "TGG",
        "f": letters(300), "g": turned(site + "AGG"), "h": letters(250),
    }  # fmt: skip
    walks = {
        f"{REFERENCE}#0#chr1:1000-2000": "a+ b+ c+ e+ f+ h+",
        "S1#1#x": "a+ b+ c+ e+ f+ h+",
        "S1#2#y": "a+ b+ d+ e+ f+ h+",
        "S2#1#x": "h- f- e- d- b- a-",
        "S2#2#y": "a+ b+ c+ e+ f+ g+ h+",
        "S3#1#x": "h- g- f- e- c- b- a- f+ g+ h+",
    }
    lines = ["H\tVN:Z:1.0", *(f"S\t{name}\t{text}" for name, text in nodes.items())]
    lines += [f"P\t{name}\t{walk.replace(' ', ',')}\t*" for name, walk in walks.items()]
    spelled = {
        name: "".join(
            nodes[step[0]] if step[1] == "+" else turned(nodes[step[0]]) for step in walk.split()
        )
        for name, walk in walks.items()
    }
    return "\n".join(lines) + "\n", spelled


GFA, SPELLED = make_gfa()
QUERY = OffTargetQuery((Guide("one", SPACER), Guide("two", "ACGTTGCATTAGGCATTACA")), Pam("NGG"), 6)


@pytest.fixture
def gfa(tmp_path):
    path = tmp_path / "six.gfa"
    path.write_text(GFA)
    return path


def search(graph, query, reference):
    genome = OpenGenome("graph", "test", Genome(PathPlanes.of(graph)))
    steps = list(iter_search_graph(genome, query, reference))
    assert all(0 <= step.fraction <= 1 for step in steps)
    return steps[-1].result


@pytest.fixture
def result(gfa):
    return search(read_gfa(gfa), QUERY, REFERENCE)


@pytest.mark.parametrize("dna_bulge", [0, 1])
def test_what_is_found_of_some_guides_is_what_they_find_alone(gfa, monkeypatch, dna_bulge):
    monkeypatch.setattr(pangenome, "_FIRST_GUIDES", 1)
    monkeypatch.setattr(pangenome, "_BATCH_SECONDS", np.inf)
    monkeypatch.setattr(running, "SHOWN_EVERY", 0.0)
    monkeypatch.setattr(running, "COSTS", 0.0)
    guides = (*QUERY.guides, Guide("three", SPACER[:3] + "T" + SPACER[4:]), Guide("four", SPACER))
    query = replace(QUERY, guides=guides, max_mismatches=5, dna_bulge=dna_bulge)
    gfa.write_text(f"{GFA}P\tS1#1#z\ta+,b+,c+,e+,f+,h+\t*\n")  # a haplotype of two paths
    graph = read_gfa(gfa)
    genome = OpenGenome("graph", "test", Genome(PathPlanes.of(graph)))
    shown = [step.result for step in iter_search_graph(genome, query, REFERENCE) if step.result]
    assert [(part.n_guides, part.is_growing) for part in shown] == [
        (1, True), (3, True), (None, False)
    ]  # fmt: skip
    letters, pattern = query.patterns
    for part in shown:
        n = len(guides) if part.n_guides is None else part.n_guides
        alone = find_offtargets_on_graph(
            graph, letters[:n], pattern, max_mismatches=5, dna_bulge=dna_bulge
        )
        assert len(part) == len(alone) > 0
        for name in ("guide_ids", "mismatches", "strands", "bulge_types", "bulge_places"):
            np.testing.assert_array_equal(getattr(part.hits, name), getattr(alone.hits, name))
        rows, places = np.arange(len(part)), part.sites.found.places()
        for name in ("sites", "paths", "starts", "strands"):
            np.testing.assert_array_equal(getattr(places, name), getattr(alone.places(), name))
        n_with = alone.presence(rows, by="haplotype").sum(axis=1)
        assert n_with.tolist() != alone.presence(rows).sum(axis=1).tolist()
        np.testing.assert_array_equal(part.sites.n_with, n_with)
        present = compare_with_reference(alone, REFERENCE).is_present
        np.testing.assert_array_equal(part.sites.reference.sites.is_present, present)
        listed = guide_rows(part)
        assert len(listed.frame) == len(listed.words) == n, "of the others nothing is known"
        assert part.is_whole == (n == len(guides))
    assert shown[0].searched_words == "the first 1 of 4 guides"
    assert "the first 3 of 4 guides" in result_words(replace(shown[1], is_growing=False))


def test_paths_read_as_they_are_spelled(gfa):
    planes = PathPlanes.of(read_gfa(gfa))
    text = "".join(SPELLED.values())
    assert planes.names == tuple(SPELLED)
    assert planes.n_bases == len(text)
    for start, stop in ((0, len(text)), (399, 436), (700, 1_900), (5, 6), (9, 9)):
        assert planes.cut(start, stop).tobytes().decode() == text[start:stop]
    assert planes.references == (REFERENCE, "S1", "S2", "S3")
    assert planes.usual_reference == REFERENCE


def test_sites_are_those_of_each_path_alone(result):
    guides, pattern = QUERY.patterns
    alone = find_offtargets(
        guides, path_sequences(result.sites.found.graph), pattern, max_mismatches=6
    )
    expected = {}
    for row in range(len(alone)):
        place = int(alone.contig_ids[row]), int(alone.starts[row]), int(alone.strands[row])
        expected[(int(alone.guide_ids[row]), *place)] = int(alone.mismatches[row])
    places = result.sites.found.places()
    got = {}
    for site, path, start, strand in zip(
        places.sites.tolist(), places.paths.tolist(), places.starts.tolist(),
        places.strands.tolist(), strict=True,
    ):  # fmt: skip
        guide = int(result.hits.guide_ids[site])
        got[guide, path, start, strand] = int(result.hits.mismatches[site])
    assert got == expected
    for row in range(len(result)):
        own = np.flatnonzero(places.sites == row)
        first = min((int(places.paths[i]), int(places.starts[i])) for i in own.tolist())
        assert (int(result.hits.contig_ids[row]), int(result.hits.starts[row])) == first
        haplotypes = {tuple(SPELLED)[path].rsplit("#", 1)[0] for path in places.paths[own]}
        assert result.sites.n_with[row] == len(haplotypes)


def test_letters_and_flanks_are_of_the_first_place(result):
    hits, names = result.hits, list(SPELLED)
    for row in range(len(result)):
        text = SPELLED[names[int(hits.contig_ids[row])]]
        start = int(hits.starts[row])
        window = text[start : start + 23]
        window = turned(window) if hits.strands[row] < 0 else window
        assert hits.take(np.array([row])).sites()[0].upper() == window
        flank = flank_of(result, row, 10)
        assert flank.site == window
        assert window in card_html(result, row, flank)


def test_rows_say_which_haplotypes_and_what_the_reference_has(result):
    found = filter_hits(result, HitFilter(guide=0, mismatches=(0, 1)), HitOrder())
    rows = hit_rows(found, 0)
    frame = rows.frame
    assert set(rows.hidden) >= {"Cut", "Bulge"}
    assert not {"Has it", "In reference"} & set(rows.hidden)
    says = {
        (mismatches, haplotypes, reference)
        for mismatches, haplotypes, reference in zip(
            frame["Mismatches"], frame["Has it"], frame["In reference"], strict=True
        )
    }
    assert says == {
        (0, "4/6", "yes"),
        (1, "2/6", "with 0 mm"),
        (1, "2/6", "no"),
    }


@pytest.mark.parametrize("column", ["Has it", "In reference"])
@pytest.mark.parametrize("is_descending", [False, True])
def test_sites_are_sorted_by_haplotypes_and_reference(result, column, is_descending):
    rows = filter_hits(result, HitFilter(), HitOrder(column, is_descending)).rows
    assert sorted(rows.tolist()) == list(range(len(result)))
    if column == "Has it":
        keys = result.sites.n_with[rows]
    else:
        words = result.sites.reference_words(rows)
        keys = np.array([{"yes": -1, "no": 99}.get(w) or int(w.split()[1]) for w in words])
    assert (np.diff(keys) * (-1 if is_descending else 1) >= 0).all()


def test_the_matrix_counts_places_of_haplotypes(result):
    found = filter_hits(result, HitFilter(), HitOrder("Has it"))
    matrix = make_matrix(found)
    graph = result.sites.found.graph
    haplotypes = [name.rsplit("#", 1)[0] for name in graph.path_names]
    assert matrix.columns == list(dict.fromkeys(haplotypes))
    expected = np.zeros(matrix.counts.shape, int)
    for line, row in enumerate(found.rows.tolist()):
        for path in result.sites.found.places([row]).paths.tolist():
            expected[line, matrix.columns.index(haplotypes[path])] += 1
    assert matrix.counts.tolist() == expected.tolist()
    assert expected.max() == 2
    presence = result.sites.found.presence(found.rows, by="haplotype")
    assert ((matrix.counts > 0) == presence).all()


def test_guides_have_their_worst_in_any_haplotype_and_in_the_reference(result):
    rows = guide_rows(result)
    risks = result.sites.reference.risks
    assert np.array_equal(rows.frame["Worst CFD"], risks.worst_cfd, equal_nan=True)
    assert np.array_equal(rows.frame["CFD in reference"], risks.reference_cfd, equal_nan=True)
    assert rows.frame["Worst CFD"][0] > rows.frame["CFD in reference"][0]
    assert "Specificity" in rows.hidden
    sites = result.sites
    perfect = sites.found.hits.mismatches == 0
    owners = [sites.found.hits.guide_ids == guide for guide in range(len(rows.frame))]
    copies = [sites.count_copies(np.flatnonzero(perfect & own)).sum(axis=0) for own in owners]
    assert rows.frame["Target in"].tolist() == [f"{(each > 0).sum()}/6" for each in copies]
    assert rows.frame["Target in"][0] not in ("0/6", "6/6")
    *_, last = iter_compare(result, "")
    assert {"Worst CFD", "CFD in reference", "Specificity"} <= set(guide_rows(last.result).hidden)
    found = filter_hits(last.result, HitFilter(), HitOrder())
    assert "In reference" in hit_rows(found, 0).hidden


def test_a_guide_without_a_site_has_no_worst(gfa):
    query = OffTargetQuery((Guide("one", SPACER), Guide("lost", "ACGT" * 5)), Pam("NGG"), 2)
    found = search(read_gfa(gfa), query, REFERENCE)
    frame = guide_rows(found).frame
    assert np.isnan(frame[["Worst CFD", "CFD in reference"]].to_numpy()).tolist() == [
        [False] * 2,
        [True] * 2,
    ]
    assert np.isnan(found.sites.reference.risks.risks).tolist() == [False, True]
    assert lost_words(found) == "not found on the paths of this graph: lost"


def test_files_have_haplotypes_and_reference(result, tmp_path):
    found = filter_hits(result, HitFilter(guide=0, mismatches=(0, 1)), HitOrder())
    list(iter_write_found(tmp_path / "hits.tsv", found))
    header, *lines = (tmp_path / "hits.tsv").read_text().splitlines()
    tables = [dict(zip(header.split("\t"), line.split("\t"), strict=True)) for line in lines]
    assert [table["haplotypes"] for table in tables] == [
        str(n) for n in result.sites.n_with[found.rows].tolist()
    ]
    assert {table["of_haplotypes"] for table in tables} == {"6"}
    is_present = [table["in_reference"] == "1" for table in tables]
    assert is_present == [words == "yes" for words in result.sites.reference_words(found.rows)]
    for ending in ("bed", "txt", "csv"):
        list(iter_write_found(tmp_path / f"hits.{ending}", found))
        assert len((tmp_path / f"hits.{ending}").read_text().splitlines()) >= len(found)


def test_the_card_lists_places(result, monkeypatch):
    row = int(np.flatnonzero(result.sites.found.n_places == result.sites.found.n_places.max())[0])
    text = haplotypes_html(result, row)
    places = result.sites.found.places([row])
    assert text.count("<li>") == len(places) <= MAX_LISTED
    assert f"In {int(result.sites.n_with[row])} of 6 haplotypes" in text
    start = int(places.starts[0])
    assert f"{start + 1:,}-{start + 23:,}" in text
    assert "are listed" not in text
    monkeypatch.setattr(card, "MAX_LISTED", 2)
    text = haplotypes_html(result, row)
    assert (text.count("<li>"), "the first 2 are listed" in text) == (2, len(places) > 2)


def test_a_graph_without_sequences_or_paths_is_refused(gfa, tmp_path):
    with pytest.raises(GenovizError, match="without its sequences"):
        PathPlanes.of(read_gfa(gfa, sequences=False))
    alone = tmp_path / "alone.gfa"
    alone.write_text("S\ta\tACGT\n")
    with pytest.raises(GenovizError, match="no paths"):
        PathPlanes.of(read_gfa(alone))


def test_the_page_searches_the_open_graph(session, gfa):
    page = OffTargetsPage(session)

    def poll():
        session.poll()
        page.poll()

    page.graph.open()
    assert "No graph is open" in session.problem
    session.forget_problem()  # a link's search does not
    link = Address(genome="graph", guides=f"one {SPACER}", pam="-NGG", limits="4,0,0",
                   hits="mismatches:0-1")  # fmt: skip
    page.follow(link)
    poll()
    assert page.state.genome is None
    assert not page.take_graph.visible, "there is none to take"
    session.opened = OpenGraph(str(gfa), "six", read_gfa(gfa))
    assert page.take_graph.visible
    poll_until(poll, lambda: page.state.found is not None and len(page.state.found) == 3)
    assert page.state.reference == page.graph.reference.value == REFERENCE
    assert (page.link.genome, page.link.limits) == ("graph", "4,0,0")
    assert page.graph.reference.visible
    assert not page.take_graph.visible
    poll_until(poll, lambda: len(page.hits.table.table.value) == 3)
    page.hits._on_row(1)
    row = int(page.state.found.rows[1])
    region = session.region
    hits = page.state.result.hits
    assert region.path == session.opened.graph.path_names[int(hits.contig_ids[row])]
    assert region.start == int(hits.starts[row])
    poll_until(poll, lambda: "of 6 haplotypes" in page.card.text.object)
    nodes = find_region_steps(session.opened.graph, region).nodes
    poll_until(poll, lambda: session.picked is not None and len(session.picked))
    assert sorted(session.picked.tolist()) == sorted(set(nodes.tolist()))
    page.hits.view.value = "Haplotypes"
    poll_until(poll, lambda: page.hits.haplotypes.shown is not None)
    assert page.hits.haplotypes.panel.visible
    assert not page.hits.table.place.visible
    page.graph.reference.value = "S2"
    poll_until(
        poll,
        lambda: page.state.result.sites.reference.name == "S2" and page.state.found is not None,
    )
    assert len(page.state.found) == 3
    assert page.link.hits == "mismatches:0-1;reference:S2"
    page.graph.reference.value = ""
    poll_until(poll, lambda: page.state.result.sites.reference is None)
    genome = page.state.genome
    assert page.link.hits == "mismatches:0-1;reference:-"
    said = {"reference:S2": "S2", "reference:-": "", "": REFERENCE, "reference:?": REFERENCE}
    for text, name in said.items():
        assert LinkedHits(text).reference_of(genome) == name
    assert session.problem == ""
    assert not page.graph.said.visible
    session.opened = OpenGraph("other.gfa", "other", read_gfa(gfa))
    assert page.graph.said.object == "other is open now; the hits are on the paths of six."
    assert page.graph.button.label == "Search other instead"
    page.graph.open()
    poll_until(poll, lambda: page.state.genome.title == "paths of other")
    assert not page.graph.said.visible
    page.close()


def test_genes_are_those_on_annotated_paths(result, gfa, tmp_path):
    first = next(iter(SPELLED))
    start = SPELLED[first].find(SPACER)
    path = tmp_path / "genes.bed"
    path.write_text(f"{first}\t{start - 5}\t{start + 40}\tTARGET\n")
    genes = find_genes(result, AnnotationFile(str(path), "genes", read_annotations(path)))
    places = result.sites.found.places()
    on_first = places.paths == 0
    for row in range(len(result)):
        starts = places.starts[on_first & (places.sites == row)]
        if not len(starts):
            assert genes.labels([row]) == ["unknown"]
            assert genes.names([row]) == [""]
        else:
            at = int(starts[0])
            touches = at < start + 40 and at + 23 > start - 5
            assert genes.labels([row]) == ["exon" if touches else "intergenic"]
            assert genes.names([row]) == ["TARGET"]
    assert {*genes.labels(np.arange(len(result)))} >= {"unknown", "exon"}


def test_real_haplotypes_have_what_the_library_finds():
    graph = read_gfa(real_data("gfa/chr6.C4.gfa.gz"))
    planes = PathPlanes.of(graph)
    assert planes.usual_reference == "grch38"
    text = planes.cut(0, 60_000).tobytes().decode()
    starts = [i for i in range(1_000, 60_000, 9_000) for i in [text.find("GG", i) - 21]]
    guides = tuple(Guide(f"g{i}", text[i : i + 20]) for i in starts)
    query = OffTargetQuery(guides, Pam("NGG"), 3, 1, 1)
    result = search(graph, query, "grch38")
    words, pattern = query.patterns
    found = find_offtargets_on_graph(
        graph, words, pattern, max_mismatches=3, dna_bulge=1, rna_bulge=1
    )
    assert (found.count_groups(by="haplotype") == result.sites.n_with).all()
    assert (
        result.sites.reference_words(np.arange(len(found)))
        == compare_with_reference(found, "grch38").labels()
    )
    assert np.array_equal(result.cfd, cfd_scores(found.hits), equal_nan=True)
    listed = filter_hits(result, HitFilter(), HitOrder())
    for mode, length in ((CONTIGS, int(graph.path_lengths.max())), (GENOME, planes.n_bases)):
        bins = make_place_bins(listed, PlaceView(mode, 0, length, 400))
        assert bins.columns["n"].sum() <= len(listed)
    chosen = PathRegion(graph.path_names[0], int(starts[0]), int(starts[0]) + 23)
    is_target = (result.hits.contig_ids == 0) & (result.hits.starts == chosen.start)
    assert (result.hits.mismatches[is_target] == 0).any()


@pytest.mark.parametrize(
    ("worst", "of_haplotypes", "words"),
    [
        (1.0, 6, "target in 5 of 6 haplotypes, in some of them twice, and both copies are cut, 3"),
        (0.25, 6, "target in 5 of 6 haplotypes, highest CFD of an off-target in any of them 0.25,"),
        (1.0, 0, "ABC.1: highest CFD of an off-target 1, 3 other sites"),
        (np.nan, 0, "ABC.1: 3 other sites with up to 2 mismatches"),
    ],
)
def test_the_best_guide_is_described(worst, of_haplotypes, words):
    designed = SimpleNamespace(
        order=np.array([1, 0]),
        counts=np.array([[9, 9, 9], [0, 1, 2]]),
        worst_cfd=np.array([0.9, worst]),
        n_haplotypes=np.array([6, 5]),
        of_haplotypes=of_haplotypes,
    )
    said = _best_words(designed, "ABC.1", "ABC")
    assert said.startswith("the best 2 of 2 guides of ABC, by ")
    assert words in said


def test_the_best_guides_of_a_gene_are_written_and_searched(session, gfa, tmp_path):
    """They are those of the library, whose tests compare them with a search of each haplotype."""
    genes = tmp_path / "genes.bed"
    genes.write_text("GRCh38#0#chr1\t1380\t1460\tABC1\t0\t+\n")
    page = OffTargetsPage(session)
    form, designer = page.form, page.form.designer

    def design(text):
        designer.target.param.update(value=text, value_input=text)
        designer.design()
        poll_until(session.poll, lambda: "…" not in designer.said.object)
        return designer.said.object

    assert designer.button.disabled
    session.opened = OpenGraph(str(gfa), "six", read_gfa(gfa))
    page.graph.open()
    poll_until(session.poll, lambda: page.state.genome is not None)
    assert not designer.button.disabled
    assert "No genes are open to find 'ABC1' in" in unescape(design("ABC1"))
    page.state.gene_files.open(str(genes))
    assert "have no 'ABC2'" in unescape(design("ABC2")), "it waits for genes that are being opened"
    assert designer.target.placeholder.startswith("ABC1")
    assert "Enter a gene or a region" in design("")
    assert "<b>" not in design("<b>")
    words = design("abc1")

    path, graph = f"{REFERENCE}#0#chr1:1000-2000", session.opened.graph
    letters = np.frombuffer(SPELLED[path].encode(), np.uint8)
    found = find_guides(letters, "NGG", start=380, end=460)
    best = design_guides(found, graph, contig=path, backend="cpu")
    wanted = [found.guides[row] for row in best.order]
    assert 1 < len(wanted) <= 20
    lines = [f"ABC1.{rank} {guide}" for rank, guide in enumerate(wanted, start=1)]
    assert form.guides.value.splitlines() == lines
    assert f"best {len(wanted)} of {len(wanted)} guides of ABC1" in words
    assert f"target in {best.n_haplotypes[best.order[0]]} of 6 haplotypes" in words
    poll_until(session.poll, lambda: page.state.result is not None)
    assert [guide.letters for guide in page.state.result.query.guides] == wanted

    session.region = PathRegion(path, 380, 460)
    design("")
    lines = [f"region.{rank} {guide}" for rank, guide in enumerate(wanted, start=1)]
    assert form.guides.value.splitlines() == lines
    poll_until(session.poll, lambda: not designer.button.disabled)
    # The name of a path is the whole path, though it has the form of a region.
    n_guides = len(find_guides(letters, "NGG"))
    assert f"of {n_guides} guides of {path}" in design(path)
