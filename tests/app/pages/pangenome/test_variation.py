"""The table of variation sites leads to the picture, the region and the alleles."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from genoviz.analyses.graph.sites.kinds import SiteKind
from genoviz.analyses.graph.sites.results import SitesProgress
from genoviz.analyses.graph.sites.search import find_sites
from genoviz.errors import ParameterError
from genoviz.io.graph.gfa import read_gfa
from genoviz.model import ByteStrings, PathRegion
from genoviz_app.pages.pangenome.layout_view import LayoutView
from genoviz_app.pages.pangenome.paths import site_rows as site_rows_module
from genoviz_app.pages.pangenome.paths.site_rows import (
    ALL_KINDS,
    NO_SITE,
    kind_options,
    site_detail,
    site_rows,
)
from genoviz_app.pages.pangenome.paths.variation import (
    ALLELE_COLOUR,
    NO_GRAPH,
    NO_PATHS,
    SITE_COLOUR,
    Variation,
)
from genoviz_app.session.session import OpenGraph
from tests.app.conftest import poll_until
from tests.conftest import real_data
from tests.graphs import make_graph, make_spelled_graph


@pytest.fixture
def graph():
    """A SNP (2, 3), a deletion of 6, a loop on 8; the reference begins at 1000 of its contig."""
    paths = [[1, 2, 4, 6, 7, 8, 8, 9], [1, 3, 4, 7, 8, 9], [-9, -8, -7, -4, -2, -1]]
    graph = make_graph([5, 1, 1, 4, 1, 30, 3, 2, 6], paths)
    texts = ["ACGTA", "C", "G", "ACGT", "A", "A" * 30, "GGG", "TT", "CCCCCC"]
    names = ("R#1#c:1000-1053", "A#1#c", "B#1#c")
    return replace(graph, node_sequences=ByteStrings.from_texts(texts), path_names=names)


@pytest.fixture
def opened(session, graph):
    view = LayoutView(submit=session.submit)
    session.opened = OpenGraph("small", "small", graph)
    view.set_graph(graph)
    panel = Variation(session, view)
    panel.set_graph(graph)
    looked_at = []
    view.picture.look_at_nodes = lambda nodes: looked_at.append(nodes.tolist())
    return SimpleNamespace(
        session=session, view=view, panel=panel, graph=graph, looked_at=looked_at
    )


def find(opened):
    opened.panel.find_button.clicks += 1
    poll_until(opened.session.poll, lambda: opened.panel.sites is not None)


def marks_of(opened):
    return {mark.colour: mark for mark in opened.view.picture.notes.marks}


def shown(opened):
    return opened.panel.table.table.value


def test_sites_are_listed_in_the_coordinates_of_the_contig(opened):
    assert opened.panel.find_button.visible
    find(opened)
    frame = shown(opened)
    assert frame["Start (bp)"].tolist() == [1006, 1011]
    assert frame["Kind"].tolist() == ["SNP", "deletion"]
    assert frame["Size (bp)"].tolist() == [1, 30]
    assert frame["Paths"].tolist() == [3, 3]
    assert not opened.panel.find_button.visible
    assert list(opened.panel.kind.options) == [
        "All sites (2)",
        "SNP (1)",
        "deletion (1)",
        "no site (1)",
    ]


def test_a_click_zooms_publishes_the_region_and_shows_the_alleles(opened):
    find(opened)
    opened.panel.choose(1)
    poll_until(opened.session.poll, lambda: opened.panel.detail is not None)
    assert opened.session.region == PathRegion("R#1#c:1000-1053", 10, 40)
    assert opened.looked_at == [[3, 5, 6]]
    mark = marks_of(opened)[SITE_COLOUR]
    assert (mark.nodes.tolist(), mark.label) == ([3, 5, 6], "Deletion at c:1,011-1,040")
    frame = opened.panel.alleles.table.value
    assert frame["Allele"].tolist() == ["reference", "2"]
    assert frame["Length (bp)"].tolist() == [30, 0]
    assert frame["Sequence"].tolist() == ["A" * 30, "–"]
    assert frame["Names of the paths"].tolist() == ["R#1#c:1000-1053", "A#1#c, B#1#c"]
    assert "Walks" in opened.panel.alleles.table.hidden_columns
    assert "2 alleles in 3 traversals" in opened.panel.about.object
    between = site_detail(opened.graph, opened.panel.sites, -1, 8, 8)
    assert between.title == "No site after c:1,008"


def test_an_allele_is_pointed_out_until_another_site_is_chosen(opened):
    find(opened)
    opened.panel.choose(0)
    poll_until(opened.session.poll, lambda: opened.panel.detail is not None)
    opened.panel.mark_allele(1)
    assert marks_of(opened)[ALLELE_COLOUR].nodes.tolist() == [2]
    assert marks_of(opened)[ALLELE_COLOUR].label == "allele 2"
    first = opened.panel.detail
    opened.panel.choose(1)
    poll_until(opened.session.poll, lambda: opened.panel.detail is not first)
    assert ALLELE_COLOUR not in marks_of(opened)


def test_walks_that_read_the_same_are_one_row_and_are_pointed_out_together(session):
    """TA is nodes 2 and 3, or 4; its row says so, and the others have one walk each."""
    texts = ["ACG", "T", "A", "TA", "TC", "TTG"]
    graph = make_spelled_graph(texts, [[1, 2, 3, 6], [1, 4, 6], [1, 5, 6]])
    view = LayoutView(submit=session.submit)
    session.opened = OpenGraph("small", "small", graph)
    view.set_graph(graph)
    panel = Variation(session, view)
    panel.set_graph(graph)
    opened = SimpleNamespace(session=session, view=view, panel=panel)
    find(opened)
    assert shown(opened)["Alleles"].tolist() == [2]
    panel.choose(0)
    poll_until(opened.session.poll, lambda: panel.detail is not None)
    assert marks_of(opened)[SITE_COLOUR].nodes.tolist() == [0, 1, 2, 3, 4, 5]
    frame = panel.alleles.table.value
    assert frame["Sequence"].tolist() == ["TA", "TC"]
    assert frame["Walks"].tolist() == [2, 1]
    assert frame["Paths"].tolist() == [2, 1]
    assert "Walks" not in panel.alleles.table.hidden_columns
    panel.mark_allele(0)
    assert marks_of(opened)[ALLELE_COLOUR].nodes.tolist() == [1, 2, 3]


def test_kind_and_size_choose_what_is_listed_and_saved(opened, tmp_path, monkeypatch):
    find(opened)
    panel = opened.panel
    panel.min_size.value = 2
    poll_until(opened.session.poll, lambda: len(shown(opened)) == 1)
    assert shown(opened)["Kind"].tolist() == ["deletion"]
    assert len(saved(panel, tmp_path)) == 2
    panel.min_size.value = 0
    panel.kind.value = int(SiteKind.SNP)
    poll_until(opened.session.poll, lambda: shown(opened)["Kind"].tolist() == ["SNP"])
    assert saved(panel, tmp_path)[1].startswith("R#1#c\t1005\t1006\t>1>4\tSNP\t")
    monkeypatch.setattr("genoviz_app.pages.pangenome.paths.variation.MAX_SAVED", 0)
    with pytest.raises(ParameterError, match="a table of 1 site is too large"):
        panel._prepare_file()
    panel.set_graph(None)
    with pytest.raises(ParameterError, match="no sites yet"):
        panel._prepare_file()


def saved(panel, folder):
    name, write = panel._prepare_file()
    assert name == "R_1_c_1000-1053.sites.tsv"
    write(folder / name)
    return (folder / name).read_text().splitlines()


def test_stretches_without_a_site_can_be_looked_at_and_saved(opened, tmp_path):
    find(opened)
    opened.panel.kind.value = NO_SITE
    poll_until(opened.session.poll, lambda: shown(opened)["Kind"].tolist() == ["no site"])
    assert "Alleles" in opened.panel.table.table.hidden_columns
    name, write = opened.panel._prepare_file()
    assert name == "R_1_c_1000-1053.no-sites.bed"
    write(tmp_path / name)
    assert (tmp_path / name).read_text() == "R#1#c\t1043\t1047\n"
    opened.panel.choose(0)
    poll_until(opened.session.poll, lambda: opened.panel.detail is not None)
    assert opened.looked_at == [[6, 7, 8]]
    assert "a cycle, an inversion or a tip" in opened.panel.about.object


def test_another_reference_or_graph_forgets_what_was_found(opened):
    find(opened)
    opened.panel.choose(0)
    poll_until(opened.session.poll, lambda: opened.panel.detail is not None)
    opened.panel.reference.value = "A#1#c"
    assert opened.panel.sites is None
    assert marks_of(opened) == {}
    assert opened.panel.find_button.visible
    find(opened)
    assert shown(opened)["Kind"].tolist() == ["SNP", "insertion"]
    opened.panel.choose(1)
    poll_until(opened.session.poll, lambda: opened.panel.detail is not None)
    assert opened.session.region == PathRegion("A#1#c", 9, 11), "an empty allele has its neighbours"
    opened.panel.set_graph(None)
    assert NO_GRAPH in opened.panel.words.object
    assert opened.panel.find_button.disabled


def test_a_search_can_be_cancelled_and_its_problems_are_told(opened, monkeypatch):
    panel = opened.panel
    panel.find()
    assert panel.progress.visible
    panel.cancel_button.clicks += 1
    assert not panel.progress.visible
    assert panel.sites is None

    def fail(*_arguments):
        raise MemoryError
        yield

    monkeypatch.setattr("genoviz_app.pages.pangenome.paths.variation.iter_find_sites", fail)
    panel.find()
    poll_until(opened.session.poll, lambda: opened.session.problem)
    assert "not enough memory" in opened.session.problem
    assert panel.find_button.visible


def test_a_search_tells_how_far_it_is(opened):
    panel = opened.panel
    panel._show_progress(SitesProgress("Linking nodes"))
    assert panel.bar.variant == "indeterminate"
    panel._show_progress(SitesProgress("Counting alleles", 30, 40))
    assert (panel.bar.variant, panel.bar.value) == ("determinate", 75)
    assert "Counting alleles" in panel.stage.object


def test_a_graph_without_paths_says_so(opened):
    opened.panel.set_graph(make_graph([4], []))
    assert NO_PATHS in opened.panel.words.object
    assert opened.panel.find_button.disabled
    opened.panel.find()
    assert opened.panel._job is None


def test_the_longest_sites_are_listed_when_there_are_too_many(monkeypatch):
    graph = read_gfa(real_data("gfa/chr6.C4.gfa.gz"))
    sites = find_sites(graph, 0)
    whole = site_rows(graph, sites, ALL_KINDS, 0)
    assert (len(whole.rows.frame), whole.rows.note) == (len(sites), "")
    monkeypatch.setattr(site_rows_module, "MAX_LISTED", 50)
    some = site_rows(graph, sites, ALL_KINDS, 0)
    assert "the longest of 581 sites" in some.rows.note
    kept = np.sort(sites.max_lengths)[-50:]
    np.testing.assert_array_equal(np.sort(some.rows.frame["Size (bp)"]), kept)
    assert (np.diff(some.starts) >= 0).all()
    n_gaps = len(sites.gap_starts)
    assert not site_rows(graph, sites, NO_SITE, 0).rows.note.startswith("the first")
    monkeypatch.setattr(site_rows_module, "MAX_LISTED", n_gaps - 1)
    assert site_rows(graph, sites, NO_SITE, 0).rows.note.startswith(f"the first of {n_gaps:,}; ")
    counts = [int(label.split("(")[1].rstrip(")")) for label in kind_options(sites)]
    assert counts[0] == sum(counts[1:-1]) == 581
    assert isinstance(some.rows.frame, pd.DataFrame)
