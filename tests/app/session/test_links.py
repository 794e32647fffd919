"""A link is followed by every page, seen or not, and all that is wrong with it stays told."""

from __future__ import annotations

import threading
from dataclasses import replace
from urllib.parse import urlencode

import numpy as np
import pytest

from genoviz.io.graph.lay import write_lay
from genoviz.model import GraphLayout, PathRegion
from genoviz.samples import get_sample
from genoviz_app.dashboard import Dashboard
from genoviz_app.opening import graph_files
from genoviz_app.opening.companions import iter_open_layout
from genoviz_app.opening.files import OpeningProgress
from genoviz_app.server.tab import MAX_SENTENCE
from genoviz_app.session import lit_links
from genoviz_app.session.layout_run import RunState
from genoviz_app.session.lit_links import write_lit
from genoviz_app.tab_links import NO_GRAPH_OF_LINK
from tests.app.conftest import GFA, poll_until

KMER = "GGTTT"  # once in alt, and nowhere in ref


@pytest.fixture
def open_tab(tmp_path):
    """Open a tab by what its link says; all tabs are closed when the test ends."""
    (tmp_path / "small.gfa").write_text(GFA)
    tabs = []

    def open_tab(**said):
        said.setdefault("file", tmp_path / "small.gfa")
        tabs.append(Dashboard("?" + urlencode(said, doseq=True)))
        tabs[-1].open_first()
        return tabs[-1]

    yield open_tab
    for tab in tabs:
        tab.close()


@pytest.mark.parametrize("page", ["pangenome", "tracks", "kmers", "genotypes"])
def test_kmers_of_a_link_are_looked_for_whichever_page_it_shows(open_tab, page):
    tab = open_tab(page=page, sequences="graph", kmers=KMER, strand="forward")
    session = tab.session
    poll_until(tab.poll, lambda: session.opened is not None and not session.opens_files)
    for part in (f"kmers={KMER}", "sequences=graph", "strand=forward"):
        poll_until(tab.poll, lambda part=part: part in tab._link())
    kmers = tab.deck.bring("kmers")
    poll_until(tab.poll, lambda: kmers.state.hits is not None)
    assert (kmers.state.text, kmers.state.strand) == (KMER, "forward")
    assert kmers.state.answer.counts.tolist() == [1]
    kmers.query.write("ACG")
    tab.deck.show("tracks")
    tab.poll()
    assert "kmers=" not in tab._link(), "it was followed, and something else was asked"
    tab.deck.show("kmers")
    tab.poll()
    assert kmers.state.text == "ACG"


def test_a_highlight_that_is_too_large_for_a_link_is_asked_for_again(open_tab, monkeypatch):
    tab = open_tab(
        page="pangenome", sequences="graph", kmers="ACG", lit=f"hit!{KMER}!k!both:{KMER}"
    )
    highlights = tab.session.highlights
    poll_until(tab.poll, lambda: tab.session.opened is not None and not tab.session.opens_files)
    poll_until(tab.poll, lambda: f"k%21both:{KMER}" in tab._link())
    tab.deck.bring("kmers")
    poll_until(tab.poll, lambda: highlights.sets != ())
    (lit,) = highlights.sets
    assert (lit.title, len(lit.highlight), highlights.asked) == (KMER, 1, ())
    assert highlights.link == (write_lit(lit),)
    assert "!e!alt:" in write_lit(lit)
    with monkeypatch.context() as patch:
        patch.setattr(lit_links, "MAX_PLACES", 0)
        assert write_lit(replace(lit)) == f"hit!{KMER}!k!both:{KMER}"
    other = open_tab(sequences="graph", kmers="ACG", lit="hit!x!k!both:AXJ")
    other.deck.bring("kmers")
    poll_until(other.poll, lambda: "'X'" in other.session.problem)
    assert (other.session.highlights.asked, other.session.highlights.sets) == ((), ())


@pytest.mark.parametrize("page", ["pangenome", "kmers", "offtargets", "genotypes", "quality"])
def test_the_region_of_a_link_stays_when_its_graph_is_open(open_tab, page):
    tab = open_tab(page=page, at="alt:3-9")
    poll_until(tab.poll, lambda: tab.session.opened is not None and not tab.session.opens_files)
    tab.poll()
    assert tab.session.region == PathRegion("alt", 2, 9)
    assert "at=alt:3-9" in tab._link()
    other = open_tab(page=page, at="chr9:3-9")
    poll_until(
        other.poll, lambda: other.session.opened is not None and not other.session.graphs.is_opening
    )
    assert ("chr9" in other.session.problem) == (page == "pangenome")


def test_the_docked_tracks_of_a_link_leave_the_layout_where_it_is(open_tab, tmp_path):
    path = tmp_path / "long.gfa"
    path.write_text(f"S\t1\t{'ACGT' * 250}\nP\tref\t1+\t*\n")
    tab = open_tab(file=path, split="tracks,beside", at="ref:301-800", view="0,90,-40,40")
    tracks = tab.deck.docked
    assert tab.deck.content.css_classes == ["page-place", "docks-1-beside"]
    regions = []
    tab.session.param.watch(lambda event: regions.append(event.new), "region")
    poll_until(tab.poll, lambda: tracks.browser.region == PathRegion("ref", 300, 800))
    visits = tracks.navigation._visits
    poll_until(tab.poll, lambda: visits.seen == tracks.browser.region and visits._is_noted)
    assert regions == [PathRegion("ref", 300, 800)], "told again, it would move the layout there"
    tab.deck.dock(None)
    assert tab.deck.content.css_classes == ["page-place"]


@pytest.mark.parametrize(
    "about",
    [
        {"page": "kmers", "sequences": "graph", "kmers": KMER},
        {"page": "offtargets", "genome": "graph", "guides": "ACGTACGTACGTACGTACGT"},
    ],
)
def test_a_link_about_a_graph_that_is_not_open_says_so(open_tab, tmp_path, about):
    (tmp_path / "a.bed").write_text("c\t0\t9\n")
    tab = open_tab(file="", track=tmp_path / "a.bed", **about)
    poll_until(tab.poll, lambda: not tab.session.opens_files)
    assert tab.session.problem == NO_GRAPH_OF_LINK


def says_of_panels(tab):
    """Return what the panels below the layout say, by name."""
    dock = tab.deck.page.dock
    path, _, paths, annotations, variation, statistics, cut = map(dock._panel, range(7))
    views = {kind.title: paths.view(kind.title) for kind in paths.kinds}
    says = {
        "Path": path.track.note.words,
        "Annotations": annotations.table._said,
        "Variation": variation.words.object,
        "Statistics": statistics.text.object,
        "Cut & keep": cut.size.object,
        "List": views.pop("List").hint.object,
    }
    return says | {title: view.figure.note.words for title, view in views.items()}


def test_all_panels_say_that_a_graph_is_being_opened(open_tab, tmp_path):
    (tmp_path / "broken.gfa").write_text("no graph")
    tab = open_tab(file=tmp_path / "broken.gfa")
    tab.session.will_open = True  # as before the browser has the page
    tab.poll()
    for name, words in says_of_panels(tab).items():
        assert "The graph is being opened" in " ".join(words.split()), name
    tab.session.will_open = False
    poll_until(tab.poll, lambda: tab.session.problem)
    tab.poll()
    for name, words in says_of_panels(tab).items():
        assert "Open a graph" in " ".join(words.split()), name


def wrong_tracks(folder):
    """Return files that are no tracks, and what is to be told of each."""
    gone, odd = folder / "gone.bam", folder / "notes.docx"
    odd.write_text("x")
    broken = folder / "broken.bam"
    broken.write_bytes(b"no BAM at all")
    genome = get_sample("genome")
    words = ("correct the path", "does not end as", "needs the ending", "needs to be BED")
    return dict(zip((gone, odd, broken, genome), words, strict=True))


@pytest.mark.parametrize("page", ["pangenome", "tracks", "kmers", "offtargets"])
def test_all_that_is_wrong_with_tracks_of_a_link_is_told(open_tab, tmp_path, page):
    wrong = wrong_tracks(tmp_path)
    tab = open_tab(
        page=page, track=[*wrong, get_sample("exons")], tracks="x.bam", genome="graph",
        guides="ACACAGGGTTTAACAGGGTT", sequences="graph", kmers="GG", genotypes="genotypes",
        phenotypes=tmp_path / "none.csv",
    )  # fmt: skip
    session = tab.session
    for _ in range(2):
        poll_until(tab.poll, lambda: not session.opens_files and session.genotypes.opened)
        for other in ("kmers", "offtargets"):  # what is for them is followed late
            tab.deck.bring(other)
    poll_until(tab.poll, lambda: session.indexes.opened and session.genomes.opened)
    poll_until(tab.poll, lambda: not session.is_busy)
    told = session.problem.splitlines()
    for path, words in wrong.items():
        assert any(path.name in line and words in line for line in told), (path, told)
    assert any("'track' may be meant" in line for line in told)
    assert any("none.csv" in line for line in told)
    assert session.tracks.sources == (str(get_sample("exons")),)
    session.tracks.open(str(get_sample("reads")))
    assert session.problem == "", "something else is begun"


def test_a_path_that_ends_another_one_is_told_too(session):
    session.complain("/a/b.bam does not exist.")
    session.complain("b.bam does not exist.")
    session.complain("b.bam does not exist.")
    assert session.problem.splitlines() == ["/a/b.bam does not exist.", "b.bam does not exist."]
    for number in range(20):
        session.complain(f"{number} is wrong.")
    assert session.problem.splitlines() == [f"{number} is wrong." for number in range(12, 20)]
    session.complain(f"The trait {'x' * 10_000} is wrong; needs a column.")
    told = session.problem.splitlines()[-1]
    assert len(told) == MAX_SENTENCE
    assert (told[:12], told[-27:]) == ("The trait xx", "x is wrong; needs a column.")


@pytest.mark.parametrize("is_broken", [False, True])
def test_nothing_is_shown_of_a_graph_before_its_layout_is_there(
    open_tab, tmp_path, monkeypatch, is_broken
):
    """A start is a comb, and no layout; it is shown where the layout cannot be opened."""
    layout = tmp_path / "small.lay"
    write_lay(GraphLayout(np.arange(16.0).reshape(4, 2, 2)), layout)
    if is_broken:
        layout.write_bytes(b"no layout")
    may_open = threading.Event()

    def iter_open(*arguments, **named):
        while not may_open.is_set():
            yield OpeningProgress("waits")
        yield from iter_open_layout(*arguments, **named)

    monkeypatch.setattr(graph_files, "iter_open_layout", iter_open)
    tab = open_tab(layout=layout)
    session, picture = tab.session, tab.page.view.picture
    poll_until(tab.poll, lambda: session.opened is not None)
    run = session.runs.run
    for _ in range(10):
        tab.poll()
        assert run.latest is None
    assert picture.pane.hint == "The layout is being opened …"
    assert run.state is RunState.READY
    may_open.set()
    poll_until(tab.poll, lambda: run.snapshot is not None)
    assert (session.layout is None) == is_broken
    assert (run.state is RunState.LOADED) != is_broken
    if is_broken:
        assert "small.lay" in session.problem
    else:
        np.testing.assert_array_equal(run.layout.coordinates.ravel(), np.arange(16.0))
    picture.shown = object()  # what a browser would have painted
    picture.poll()
    assert picture.pane.hint == ""


@pytest.mark.parametrize("page", ["kmers", "quality", "genotypes"])
def test_a_tab_that_a_page_lacks_is_told(open_tab, page):
    tab = open_tab(page=page, tab="nowhere", genotypes="genotypes")
    poll_until(tab.poll, lambda: "there is no tab 'nowhere'" in tab.session.problem)


def test_a_strand_that_there_is_not_is_told(open_tab):
    tab = open_tab(page="kmers", sequences="graph", strand="sideways")
    words = "strand is 'sideways', needs one of both, forward, canonical."
    poll_until(tab.poll, lambda: words in tab.session.problem)
