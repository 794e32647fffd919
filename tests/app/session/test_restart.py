"""What a tab has open is there again after the server was started anew and the page reloaded."""

from __future__ import annotations

import shutil
from urllib.parse import urlencode

import numpy as np
import pytest

from genoviz.samples import get_sample
from genoviz_app.dashboard import Dashboard
from genoviz_app.opening.files import FileCache
from genoviz_app.opening.kept_layouts import GONE
from tests.app.conftest import GFA, poll_until

ANNOTATIONS = "ref\tx\tgene\t1\t6\t.\t+\t.\tID=g1;Name=abc\n"


def open_tab(query):
    """Return a dashboard that has opened all that a link names."""
    dashboard = Dashboard(query)
    dashboard.open_first()
    session = dashboard.session
    poll_until(
        dashboard.poll,
        lambda: (
            session.problem
            or (
                session.opened
                and session.annotation_files.sources
                and session.tracks.files
                and session.indexes.opened
                and session.genotypes.opened
            )
        ),
    )
    assert session.problem == ""
    return dashboard


def state_of(dashboard):
    session = dashboard.session
    return {
        "page": dashboard.deck.page.slug,
        "file": session.opened.source,
        "annotations": session.annotation_files.sources,
        "tracks": session.tracks.sources,
        "sequences": session.indexes.source,
        "genotypes": session.genotypes.source,
        "phenotypes": session.genotypes.phenotypes_source,
        "region": session.region,
    }


@pytest.mark.parametrize("page", ["", "tracks", "kmers", "genotypes"])
def test_a_link_brings_back_what_was_open(page, tmp_path):
    graph, annotations = tmp_path / "a.gfa", tmp_path / "a.gff3"
    graph.write_text(GFA)
    annotations.write_text(ANNOTATIONS)
    query = {
        "file": graph, "annotations": annotations, "track": get_sample("exons"),
        "sequences": get_sample("genome"), "genotypes": "genotypes", "page": page,
    }  # fmt: skip
    first = open_tab("?" + urlencode({key: value for key, value in query.items() if value}))
    poll_until(first.poll, lambda: first.bar.shown)
    before, link = state_of(first), first.bar.shown["query"]
    first.close()
    FileCache.forget_all()  # what the server had in memory
    second = open_tab(link)
    poll_until(second.poll, lambda: second.bar.shown)
    assert state_of(second) == before
    assert second.bar.shown["query"] == link
    second.close()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a graph, and a cache of its own."""
    monkeypatch.setenv("GENOVIZ_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "a.gfa").write_text(GFA)
    return tmp_path


def open_graph(query):
    dashboard = Dashboard(query)
    dashboard.open_first()
    session = dashboard.session
    poll_until(dashboard.poll, lambda: session.opened and not session.graphs.is_opening)
    return dashboard


def link_with_layout(dashboard):
    poll_until(dashboard.poll, lambda: "layout=kept:" in dashboard.bar.shown.get("query", ""))
    return dashboard.bar.shown["query"]


def coordinates_of(link):
    """Return what a new server shows on the layout page of a link."""
    FileCache.forget_all()
    dashboard = open_graph(link)
    session = dashboard.session
    assert session.problem == ""
    poll_until(dashboard.poll, lambda: session.runs.has_layout)
    assert link_with_layout(dashboard) == link
    coordinates = session.runs.layout.coordinates.copy()
    dashboard.close()
    return coordinates


@pytest.mark.parametrize("end", ["finish", "stop"])
def test_a_layout_that_was_computed_is_there_again(folder, end):
    dashboard = open_graph(f"?file={folder / 'a.gfa'}")
    run = dashboard.session.runs.run
    if end == "stop":
        run.settings.param.update(method="path_sgd", n_iterations=10**6, seed=5)
    run.run()
    poll_until(dashboard.poll, lambda: run.snapshot and run.snapshot.iteration > 0)
    if end == "stop":
        run.stop()
    link = link_with_layout(dashboard)
    shown = run.layout.coordinates.copy()
    run.run()  # its result will be another one, and the link does not have it yet
    poll_until(dashboard.poll, lambda: "layout=kept:" not in dashboard.bar.shown["query"])
    run.stop()
    dashboard.close()
    np.testing.assert_array_equal(coordinates_of(link), shown)


def test_a_running_layout_is_kept_when_the_server_stops(folder):
    dashboard = open_graph(f"?file={folder / 'a.gfa'}")
    runs = dashboard.session.runs
    runs.run.settings.param.update(method="path_sgd", n_iterations=10**6)
    runs.run.run()
    poll_until(dashboard.poll, lambda: runs.run.snapshot and runs.run.snapshot.iteration > 0)
    runs.run.pause()
    poll_until(dashboard.poll, lambda: runs.run.state == "paused")
    runs.keep_now()
    shown = runs.run.latest.layout.coordinates.copy()
    assert runs.source.startswith("kept:")
    link = f"?file={folder / 'a.gfa'}&layout={runs.source}"
    dashboard.close()
    np.testing.assert_array_equal(coordinates_of(link), shown)


@pytest.mark.usefixtures("unwatched")
def test_the_layout_of_an_upload_is_not_kept(folder):
    dashboard = Dashboard("?page=pangenome")
    dashboard.session.open_upload("a.gfa", GFA)
    runs = dashboard.session.runs
    poll_until(dashboard.poll, lambda: dashboard.session.opened is not None)
    runs.run.run()
    poll_until(dashboard.poll, lambda: runs.run.state == "finished")
    assert not runs.keep_now()
    assert runs.source == ""
    dashboard.close()
    assert not (folder / "cache" / "layouts").exists()


def test_what_began_by_itself_is_not_kept(folder):
    dashboard = open_graph(f"?file={folder / 'a.gfa'}")
    runs = dashboard.session.runs
    runs.run.unfold()
    poll_until(dashboard.poll, lambda: runs.run.state == "finished")
    runs.keep_now()
    assert runs.source == ""
    dashboard.close()
    assert not (folder / "cache" / "layouts").exists()


@pytest.mark.parametrize("fault", ["gone", "other graph", "damaged", "another name"])
@pytest.mark.usefixtures("unwatched")
def test_a_layout_that_is_not_kept_any_longer_is_told(folder, fault):
    dashboard = open_graph(f"?file={folder / 'a.gfa'}")
    dashboard.session.runs.run.run()
    link = link_with_layout(dashboard)
    dashboard.close()
    (entry,) = (folder / "cache" / "layouts").iterdir()
    if fault == "gone":
        shutil.rmtree(entry)
    elif fault == "damaged":
        file = entry / "coordinates.npy"
        file.write_bytes(file.read_bytes()[:-1] + b"x")
    elif fault == "another name":
        link = link[:-1] + ("0" if link[-1] != "0" else "1")
    else:
        (folder / "a.gfa").write_text(GFA.replace("ACGT", "ACGTA"))
    FileCache.forget_all()
    again = open_graph(link)
    poll_until(again.poll, lambda: again.session.problem)
    assert GONE in again.session.problem
    assert again.session.layout is None
    again.close()
