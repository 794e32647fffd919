"""What a tab costs before somebody looks at it."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace

import pytest
from bokeh.document import Document
from bokeh.server.session import ServerSession
from panel.io.state import set_curdoc, state

from genoviz_app.dashboard import AWAKE_SECONDS, POLL_MILLISECONDS, Dashboard, make_tab
from genoviz_app.pages import PAGES
from genoviz_app.plots.track_figure import TRACK_NAME
from genoviz_app.server.event_loop import TURNS
from genoviz_app.server.setup import prepare_server
from tests.waiting import PATIENCE, wait_until

MAX_MODELS = {
    "pangenome": 175, "tracks": 230, "kmers": 393, "offtargets": 512, "genotypes": 110,
    "quality": 120,
}  # fmt: skip
REQUEST = SimpleNamespace(arguments={}, headers={}, cookies={}, protocol="http", host="here")


@pytest.fixture
def document():
    """The document of a tab for which no browser has come."""
    document = Document()
    context = SimpleNamespace(
        id="tab", request=REQUEST, server_context=object(), session=None, _document=document
    )
    document._session_context = lambda: context
    yield document
    for callback in document.session_destroyed_callbacks:
        callback(context)


def test_a_page_is_not_kept_up_to_date_before_its_browser_comes(document):
    with set_curdoc(document):
        make_tab()
        assert document.session_callbacks == []
        state._on_load(document)
        assert POLL_MILLISECONDS in [
            getattr(callback, "period", None) for callback in document.session_callbacks
        ]


def test_a_tab_that_rests_is_polled_seldom_until_its_browser_speaks_or_a_job_runs(
    document, monkeypatch
):
    prepare_server()
    now, polls, gate = [1000.0], [], threading.Event()
    for module in ("dashboard", "server.setup"):
        clock = SimpleNamespace(monotonic=lambda: now[0])
        monkeypatch.setattr(f"genoviz_app.{module}.time", clock)
    session = SimpleNamespace(document=document, _handle_patch=lambda *_: None)
    connection = SimpleNamespace(session=session)
    with set_curdoc(document):
        dashboard = Dashboard()
        dashboard.start_polling()
    dashboard._polling.callback = lambda: polls.append(now[0])

    def polls_of_a_second():
        polls.clear()
        for _ in range(25):
            now[0] += 0.04
            asyncio.run(dashboard._polling._periodic_callback())
        return len(polls)

    def steps():
        yield gate.wait(PATIENCE)

    ServerSession.patch(None, connection)
    assert polls_of_a_second() == 25
    now[0] += AWAKE_SECONDS
    assert 3 <= polls_of_a_second() <= 4
    ServerSession.patch(None, connection)
    assert polls_of_a_second() == 25
    now[0] += AWAKE_SECONDS
    job = dashboard.session.submit(steps(), title="a job")
    assert polls_of_a_second() == 25
    gate.set()
    wait_until(lambda: job.has_ended)
    assert 3 <= polls_of_a_second() <= 4
    dashboard.close()


def test_what_nobody_sees_waits_until_nobody_waits_for_a_page(document, monkeypatch):
    ready = []
    with set_curdoc(document):
        dashboard = Dashboard()
        monkeypatch.setattr(dashboard.page, "make_ready", lambda: ready.append(None))
        waiting = [lambda: None]
        monkeypatch.setattr(TURNS, "_waiting", waiting)
        dashboard.poll()
        assert ready == []
        waiting.clear()
        dashboard.poll()
        assert ready == [None]
        dashboard.close()


def shown_labels(document):
    """Return the labels of all that a browser has been sent."""
    return {getattr(getattr(model, "data", None), "label", None) for model in document.models}


def test_a_section_is_made_whole_when_it_is_opened_first(document):
    with set_curdoc(document):
        dashboard = Dashboard()
        dashboard.root.server_doc(document)
        page = dashboard.page
        assert not {"form", "downloads"} & vars(page).keys()
        assert not {"path", "upload"} & vars(page.picker).keys()
        assert not {"Iterations", "Export", "Path on the server"} & shown_labels(document)
        page.sections.active = [0]
        assert "Iterations" in shown_labels(document)
        page.sections.active = [0, 1]
        assert {"Iterations", "Export"} <= shown_labels(document)
        page.picker.tabs.active = 1
        assert "Path on the server" in shown_labels(document)
        form = page.form
        page.sections.active = []
        page.sections.active = [0]
        assert page.form is form
        dashboard.close()


def test_fields_that_the_colours_do_not_need_are_not_sent(document, graph):
    with set_curdoc(document):
        dashboard = Dashboard()
        dashboard.root.server_doc(document)
        dashboard.page.view.set_graph(graph)
        bar = dashboard.page.view.bar.colours
        assert "Group by" not in shown_labels(document)
        bar.mode.value = "sharing"
        assert "Group by" in shown_labels(document)
        dashboard.close()


def test_a_page_is_completed_when_its_browser_has_come(document):
    with set_curdoc(document):
        dashboard = Dashboard()
        dashboard.root.server_doc(document)
        assert document.select_one({"name": TRACK_NAME}) is None
        dashboard.open_first()
        assert document.select_one({"name": TRACK_NAME}) is not None
        dashboard.close()


@pytest.mark.parametrize("kind", PAGES, ids=lambda page: page.slug)
def test_a_page_has_few_models(document, kind):
    """Each costs the server about a millisecond, and the browser more."""
    with set_curdoc(document):
        dashboard = Dashboard(f"page={kind.slug}")
        dashboard.root.server_doc(document)
        assert len(list(document.models)) <= MAX_MODELS[kind.slug]
        dashboard.close()
