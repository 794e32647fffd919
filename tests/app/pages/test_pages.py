"""Every page can be built with nothing open and with each sample, and follows its session."""

from __future__ import annotations

from types import SimpleNamespace

import panel as pn
import pytest

from genoviz.analyses.graph.picture.colouring import ColourChoice
from genoviz.io.graph.gfa import read_gfa
from genoviz.model import GraphLayout
from genoviz.samples import get_sample, list_samples
from genoviz_app.dashboard import Dashboard
from genoviz_app.pages import PAGES
from genoviz_app.pages.pangenome.page import LinkFollower
from genoviz_app.parts.page import Page
from genoviz_app.server.settings import SETTINGS
from genoviz_app.session import layout_run
from genoviz_app.session.address import Region
from genoviz_app.session.session import OpenGraph, Session
from tests.app.conftest import poll_until
from tests.waiting import PATIENCE

BUNDLED = [s.name for s in list_samples() if s.kind == "gfa" and not s.is_public]


@pytest.mark.parametrize("source", [None, *BUNDLED])
@pytest.mark.parametrize("page_class", PAGES, ids=lambda page: page.slug)
def test_every_page_can_be_built(page_class, source):
    session = Session()
    if source is not None:
        session.opened = OpenGraph(source, source, read_gfa(get_sample(source)))
    page = page_class(session)
    pn.Column(*page.sidebar, page.content).get_root()
    assert page.title
    assert isinstance(page, Page)
    page.complete()
    page.poll()
    page.make_ready()
    page.close()
    session.close()


@pytest.fixture
def dashboard():
    dashboard = Dashboard("?file=simulated")
    dashboard.open_first()
    poll_until(dashboard.poll, lambda: dashboard.session.opened is not None)
    yield dashboard
    dashboard.close()


def test_the_page_says_from_the_first_that_a_graph_is_being_opened():
    """It is sent before anything is polled."""
    dashboard = Dashboard("?file=simulated")
    assert dashboard.page.view.run.state is layout_run.RunState.OPENING
    dashboard.close()


def test_a_link_opens_its_file_and_does_not_run_it(dashboard):
    run = dashboard.page.view.run
    assert dashboard.session.opened.source == "simulated"
    poll_until(dashboard.poll, lambda: run.snapshot is not None)
    assert run.state == "ready"
    assert "3,500" in dashboard.page.facts.object


def test_a_small_graph_is_laid_out_as_soon_as_it_is_open(monkeypatch):
    monkeypatch.setattr(SETTINGS, "unfolds", True)
    dashboard = Dashboard("?file=simulated")
    run, picture = dashboard.page.view.run, dashboard.page.view.picture
    dashboard.poll()
    assert (run.state, picture.pane.hint) == ("opening", "The graph is being opened …")
    dashboard.open_first()
    assert not dashboard.session.will_open
    poll_until(dashboard.poll, lambda: run.state == "finished")
    another = Dashboard("?file=simulated")
    another.open_first()
    poll_until(another.poll, lambda: another.session.opened is not None)
    shared = another.page.view.run
    assert shared.state == "finished", "what one tab has laid out is there for all"
    assert shared.graph is run.graph
    assert shared.snapshot is run.snapshot
    assert shared.progress.stress is run.progress.stress
    assert run.progress.stress is not None
    shared.settings.seed = 5
    shared.reset()
    shared.unfold()
    poll_until(another.poll, lambda: shared.state == "finished")
    assert shared.snapshot is not run.snapshot, "another seed, another layout"
    another.close()
    assert None not in run._iter_layout(is_watched=False), "nothing waits to be watched"
    monkeypatch.setattr(layout_run, "MAX_UNFOLDED_STEPS", run.graph.n_steps - 1)
    run.reset()
    run.unfold()
    assert run.state == "ready"
    dashboard.close()


def test_all_that_is_wrong_with_a_link_is_said_together():
    dashboard = Dashboard("?file=simulated&region=nope:1-5&colour=sparkle&shape=x&view=1,2")
    dashboard.open_first()
    poll_until(dashboard.poll, lambda: dashboard.session.opened is not None)
    frames = SimpleNamespace(follows=True)
    picture = SimpleNamespace(viewport=1, shown=1, frames=frames)  # a browser is there
    bar = SimpleNamespace(colours=SimpleNamespace(offered=("density",)))
    follower = LinkFollower(dashboard.session, SimpleNamespace(picture=picture, bar=bar))
    follower.follow(dashboard.address)
    dashboard.session.poll()
    assert dashboard.problem.object.count("<li>") == 4
    for words in ("is named 'nope'", "view is '1,2'", "by 'sparkle', needs one of", "shape is 'x'"):
        assert words in dashboard.problem.object
    dashboard.close()


def test_what_is_wrong_with_a_link_is_said():
    dashboard = Dashboard("?page=nowhere&file=simulated")
    dashboard.open_first()
    assert dashboard.problem.visible
    assert "page 'nowhere'" in dashboard.problem.object
    poll_until(dashboard.poll, lambda: dashboard.session.opened is not None)
    dashboard.close()


def test_the_height_of_the_panels_is_part_of_the_link(dashboard):
    dock = dashboard.page.dock
    dock.grip._handle_msg({"height": 402})
    poll_until(dashboard.poll, lambda: "lower=402" in str(dashboard.bar.shown))
    dock.fold(True)
    assert dashboard.page.link.lower == 402
    again = Dashboard("?file=simulated&lower=402")
    again.open_first()
    assert again.page.dock.grip.height_of_panels == 402
    again.close()
    dock.grip._handle_msg({"height": dock.grip.usual})
    assert dashboard.page.link.lower == 0
    wrong = Dashboard("?file=simulated&lower=high")
    wrong.open_first()
    assert "lower is 'high', needs a number from 1 to 10,000" in wrong.problem.object
    wrong.close()


def test_a_path_that_is_not_there_is_said_and_the_page_lives_on(dashboard):
    page = dashboard.page
    page.picker.path.value_input = "/nowhere/graph.gfa"
    page.picker.open_button.clicks += 1
    poll_until(dashboard.poll, lambda: dashboard.problem.visible)
    assert "does not exist on the server" in dashboard.problem.object
    assert dashboard.session.opened.source == "simulated"
    page.picker.samples.field.value = None
    page.picker.samples.field.value = "simulated"
    assert page.view.run.graph.n_paths == 12


def test_notes_of_the_reader_and_of_the_layout_are_shown(dashboard, tmp_path):
    path = tmp_path / "no_paths.gfa"
    path.write_text("S\ta\tACGT\nS\tb\tAC\nL\ta\t+\tb\t+\t5M\n")
    dashboard.session.open(str(path))
    page = dashboard.page
    poll_until(dashboard.poll, lambda: "No paths: 2 walks along links guide" in page.notices.object)
    notes = dashboard.session.opened.graph.notes
    assert all(note in page.notices.object for note in notes)
    assert not {"depth", "position", "paths"} & set(page.view.bar.colours.offered)


def test_choosing_colours_offers_the_paths_that_they_need(dashboard):
    bar, picture = dashboard.page.view.bar.colours, dashboard.page.view.picture
    names = dashboard.session.opened.graph.path_names
    assert not bar.details.visible
    bar.mode.value = "position"
    assert (bar.path.visible, bar.groups.visible) == (True, False)
    assert picture.choice == ColourChoice("position", names[:1])
    bar.mode.value = "paths"
    bar.groups.value = list(names[1:3])
    assert (bar.path.visible, bar.groups.visible) == (False, True)
    assert picture.choice == ColourChoice("paths", names[1:3])
    bar.mode.value = "density"
    assert not bar.details.visible


def test_another_start_is_shown_at_once_before_the_run(dashboard):
    run = dashboard.page.view.run
    poll_until(dashboard.poll, lambda: run.snapshot is not None)
    before = run.snapshot.coordinates
    run.settings.initialisation = "h"
    poll_until(dashboard.poll, lambda: run.snapshot is not None)
    assert run.state == "ready"
    assert not (run.snapshot.coordinates == before).all()


def test_a_number_field_left_empty_means_automatic_and_nonsense_is_marked(dashboard):
    form, settings = dashboard.page.form, dashboard.page.view.settings
    field = next(w for w in form.panel if getattr(w, "label", "").startswith("Eta max"))
    field.value = "2.5e3"
    assert settings.eta_max == 2500.0
    field.value = "much"
    assert field.error_state
    assert settings.eta_max == 2500.0
    field.value = ""
    assert settings.eta_max is None
    field.value = "7"
    form.restore_button.clicks += 1
    assert (field.value, settings.eta_max) == ("", None)


def test_a_closed_tab_frees_its_jobs(dashboard):
    run = dashboard.page.view.run
    run.settings.param.update(method="path_sgd", n_iterations=100_000)
    run.run()
    job = run._job
    poll_until(dashboard.poll, lambda: job.n_snapshots > 1)
    dashboard.close()
    assert job.wait(PATIENCE)
    assert job.state == "cancelled"
    dashboard.poll()  # a last callback may still come


def test_downloads_are_read_by_the_library(dashboard, tmp_path):
    from genoviz.io.graph.layout_files import read_layout

    page = dashboard.page
    poll_until(dashboard.poll, lambda: page.view.run.snapshot is not None)
    for suffix in (".lay", ".tsv"):
        path = tmp_path / f"x{suffix}"
        path.write_bytes(page.downloads._layout(suffix))
        layout = read_layout(path, dashboard.session.opened.graph)
        assert isinstance(layout, GraphLayout)
        assert abs(layout.coordinates - page.view.run.layout.coordinates).max() < 1e-3


def test_the_sample_field_shows_what_is_open_and_opens_nothing_by_itself(dashboard, graph_file):
    field = dashboard.page.picker.samples.field
    assert field.value == "simulated"
    dashboard.session.open(str(graph_file))
    poll_until(dashboard.poll, lambda: dashboard.session.opened.title == "small.gfa")
    assert field.groups["Open"] == {"small.gfa": str(graph_file)}
    assert field.value == str(graph_file)
    assert dashboard.session.graphs.opening is None
    dashboard.session.open("/nowhere.gfa")
    poll_until(dashboard.poll, lambda: dashboard.session.problem)
    assert field.value == str(graph_file)
    field.value = "simulated"
    poll_until(dashboard.poll, lambda: dashboard.session.opened.source == "simulated")
    assert "Open" not in field.groups


def test_pages_are_built_when_first_shown_and_kept(dashboard):
    first = dashboard.page
    assert first.slug == "pangenome"
    assert len(dashboard.deck.sidebar.objects) == 1
    for name in ("kmers", "tracks"):  # two clicks, one after the other
        dashboard.deck.switch.value = name
    assert dashboard.page is first, "what is clicked is made in its turn"
    dashboard.poll()
    tracks = dashboard.page
    assert tracks.slug == "tracks"
    assert [part.visible for part in dashboard.deck.content.objects[1:]] == [False, True]
    assert [part.visible for part in dashboard.deck.sidebar.objects] == [False, True]
    assert len(dashboard.deck.sidebar.objects) == 2, "a page that is clicked past is not made"
    names = dashboard.session.opened.graph.path_names
    poll_until(dashboard.poll, lambda: tracks.browser.contig in names)
    dashboard.deck.show("pangenome")
    assert dashboard.page is first
    dashboard.deck.show("tracks")
    assert dashboard.page is tracks


def test_a_region_that_is_chosen_on_one_page_is_where_the_other_goes(dashboard):
    path = dashboard.session.opened.graph.path_names[1]
    dashboard.session.region = Region(path, 100, 900)
    dashboard.deck.show("tracks")
    browser = dashboard.page.browser
    poll_until(dashboard.poll, lambda: browser.region == Region(path, 100, 900))
    dashboard.page.navigation.go(f"{path}:301-400")
    assert dashboard.session.region == Region(path, 300, 400)


def test_a_link_to_tracks_opens_them_and_their_region_and_no_graph(tmp_path):
    path = tmp_path / "genes.bed"
    path.write_text("c1\t10\t50\tone\nc1\t400\t900\ttwo\n")
    dashboard = Dashboard(f"?track={path}&region=c1:20-120")
    assert dashboard.page.slug == "tracks"
    dashboard.open_first()
    poll_until(dashboard.poll, lambda: str(dashboard.page.browser.region) == "c1:20-120")
    assert dashboard.session.opened is None
    assert dashboard.page.link.region == Region("c1", 20, 120)
    assert not dashboard.problem.visible
    dashboard.close()
