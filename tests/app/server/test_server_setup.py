"""The server sends small frames at once, whatever starts it, and stays quiet about goodbyes."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import threading
from functools import cached_property
from hashlib import sha256
from html import unescape
from logging.handlers import BufferingHandler
from textwrap import dedent

import panel as pn
import panel_material_ui as pmui
import param
import pytest
from bokeh.document import Document
from bokeh.document.events import ModelChangedEvent
from bokeh.model import Model
from bokeh.models import Column, Div, ImportedStyleSheet
from bokeh.protocol import Protocol
from bokeh.server.views.ws import WSHandler
from panel.io.location import Location
from panel.io.state import set_curdoc, state
from panel.util import edit_readonly
from panel_material_ui import Button
from panel_material_ui.base import MaterialComponent
from tornado.websocket import WebSocketClosedError

from genoviz.errors import GenovizError
from genoviz_app.opening.files import OpeningProgress
from genoviz_app.parts.copy_button import CopyButton
from genoviz_app.parts.opening_bar import OpeningBar
from genoviz_app.parts.words import plain_text
from genoviz_app.server.serving import serve
from genoviz_app.server.setup import keep_styles_here, prepare_server
from tests.conftest import ROOT
from tests.waiting import PATIENCE, wait_until


def test_threads_of_jobs_hand_the_interpreter_over_soon():
    prepare_server()
    assert sys.getswitchinterval() <= 0.001  # by default 0.005, at each message that is sent


def test_scripts_of_components_come_as_they_are_from_addresses_that_name_their_content():
    prepare_server()
    bundle = MaterialComponent._bundle_path
    found = Button._component_resource_path(bundle, True)
    assert found.endswith(f"bundle.js?v={sha256(bundle.read_bytes()).hexdigest()[:20]}")
    ours = CopyButton().get_root(Document())
    assert ours.bundle == sha256(ours.esm.encode()).hexdigest(), "it is not translated"
    theirs = Button(label="Go").get_root(Document())
    assert len(str(theirs.importmap)) < 100


def test_a_closed_tab_is_no_news(caplog):
    prepare_server()
    try:
        raise WebSocketClosedError
    except WebSocketClosedError:
        logging.getLogger("asyncio").exception("Task exception was never retrieved")
        logging.getLogger("asyncio").error("something else")
    assert [record.getMessage() for record in caplog.records] == ["something else"]


def test_a_file_that_is_not_there_is_said_before_serving():
    from pathlib import Path

    with pytest.raises(GenovizError, match=r"/nowhere/a\.gfa does not exist"):
        serve([Path("/nowhere/a.gfa")], show=False)


def test_a_part_that_changes_out_of_sight_keeps_its_styles_from_this_server():
    keep_styles_here()
    pane = pn.pane.HTML("before", stylesheets=["p { margin: 0 }"])
    model = pane.get_root(Document())  # which is not shown, so it has no document
    pane._update("ref", model)
    sheets = [sheet.url for sheet in model.stylesheets if isinstance(sheet, ImportedStyleSheet)]
    assert sheets
    assert [url for url in sheets if url.startswith("http")] == []


class Opener(param.Parameterized):
    opening = param.Parameter()


@pytest.fixture
def document(monkeypatch):
    """A document that a browser shows."""
    prepare_server()
    document = Document()
    monkeypatch.setitem(state._connected, document, True)
    monkeypatch.setitem(state._thread_id_, document, threading.get_ident())
    with set_curdoc(document):
        yield document


def test_a_text_that_changes_with_others_is_made_markup_once(document):
    opener = Opener()
    bar = OpeningBar(opener, lambda: None)
    document.add_root(bar.panel.get_root(document))
    opener.opening = OpeningProgress("Opening small.gfa")
    text = bar.panel[0]
    ((model, _),) = text._models.values()
    assert unescape(model.data.object) == "<p>Opening small.gfa</p>\n"
    assert text.object == plain_text("Opening small.gfa")


def test_what_was_set_with_others_is_not_set_again_when_it_is_sent(document):
    field = pmui.TextInput(value="first")
    document.add_root(field.get_root(document))
    with pn.io.hold():
        field.value = "second"
        with param.parameterized.discard_events(field):
            field.value = "typed meanwhile"
    assert field.value == "typed meanwhile"


def test_what_a_browser_changes_is_taken_while_a_document_is_held(document):
    field = pmui.TextInput(value="first")
    root = field.get_root(document)
    document.add_root(root)
    with pn.io.hold():
        root.data.set_from_json("value", "typed", setter="a browser")
    assert field.value == "typed"


def test_a_message_asks_only_the_models_that_it_names(document, monkeypatch):
    """Bokeh asks all of a tab for each message, 1,300 with all pages: 3 ms of the event loop."""
    first, *others = parts = [Div(text=str(number)) for number in range(60)]
    place = Column(children=parts)
    document.add_root(place)
    document.models.flush_synced()
    new, asked, ref = Div(text="new"), [], Model.ref.fget
    monkeypatch.setattr(Model, "ref", property(lambda model: asked.append(model) or ref(model)))

    def message(children):
        event = ModelChangedEvent(document, place, "children", children)
        asked.clear()
        (content,) = Protocol().create("PATCH-DOC", [event]).content["events"]
        return content["model"], content["new"]

    place.children = [first, new, *others]
    name, (known, unknown) = message([first, new])
    assert (name, known) == ({"id": place.id}, {"id": first.id})
    assert (unknown["id"], unknown["attributes"]) == (new.id, {"text": "new"})
    assert len(asked) <= 3
    assert message([new, others[5]])[1] == [{"id": new.id}, {"id": others[5].id}]
    assert not document.models._new_models

    change = {"kind": "ModelChanged", "model": {"id": place.id}, "attr": "children"}
    document.apply_json_patch({"events": [{**change, "new": [{"id": new.id}, {"id": first.id}]}]})
    assert place.children == [new, first]


class Graph:
    """Takes as long to count its steps as a gate is closed."""

    def __init__(self):
        self.entered, self.gate = threading.Event(), threading.Event()

    @cached_property
    def n_steps(self):
        self.entered.set()
        assert self.gate.wait(2 * PATIENCE)
        return id(self)


def test_an_address_is_filled_in_while_those_of_others_stay_closed():
    prepare_server()
    address, another = Location(), Location()
    with edit_readonly(address):
        with edit_readonly(another):
            pass
        assert Location.param.objects(instance=False)["protocol"].readonly
        address.param.update(protocol="https:", port="443")
    assert (address.protocol, address.port) == ("https:", "443")
    with pytest.raises(TypeError, match="Read-only"):
        address.port = "80"


def test_a_property_of_a_small_graph_does_not_wait_for_that_of_a_large_one():
    prepare_server()
    large, small = Graph(), Graph()
    small.gate.set()
    threads = [
        threading.Thread(target=lambda graph=graph: graph.n_steps) for graph in (large, small)
    ]
    threads[0].start()
    assert large.entered.wait(PATIENCE)
    threads[1].start()
    try:
        wait_until(lambda: "n_steps" in vars(small))
        assert "n_steps" not in vars(large)
    finally:
        large.gate.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert (small.n_steps, large.n_steps) == (id(small), id(large))
    assert Graph.n_steps.attrname == "n_steps"


def test_the_script_for_panel_shows_the_lost_message_and_the_mend():
    """`send_changes_in_order` keeps the order, too, and stays when Panel loses none any more."""
    script = ROOT / "docs/lost_message.py"
    command = [sys.executable, str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE)
    told = script.read_text().partition("It prints\n\n")[2].partition("\n\n")[0]
    assert done.stdout == dedent(told) + "\n"


def test_the_log_has_no_line_for_a_message_to_a_tab_that_was_just_closed(monkeypatch, caplog):
    prepare_server()
    # Who imports Dask has it set up the loggers of Bokeh in its own way.
    logger, kept = logging.getLogger("bokeh.server.views.ws"), BufferingHandler(10)
    monkeypatch.setattr(logger, "handlers", [kept])

    class Message:
        async def send(self, _handler):
            raise WebSocketClosedError

    with caplog.at_level(logging.WARNING, logger.name):
        asyncio.run(WSHandler.send_message(None, Message()))
        logger.warning("a fault")
    assert [record.getMessage() for record in kept.buffer] == ["a fault"]
