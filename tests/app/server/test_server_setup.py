"""The server sends small frames at once, whatever starts it, and stays quiet about goodbyes."""

from __future__ import annotations

import logging

import panel as pn
import pytest
from bokeh.document import Document
from bokeh.models import ImportedStyleSheet
from bokeh.server.views.ws import WSHandler
from tornado.websocket import WebSocketClosedError

from genoviz.errors import GenovizError
from genoviz_app.server.serving import serve
from genoviz_app.server.setup import keep_styles_here, prepare_server, send_small_frames_at_once


def test_websockets_are_opened_without_delay(monkeypatch):
    calls = []
    monkeypatch.setattr(WSHandler, "open", lambda _self: calls.append("open"))
    assert send_small_frames_at_once()
    assert send_small_frames_at_once(), "a second time changes nothing"

    class Socket(WSHandler):
        def __init__(self):
            pass

        def set_nodelay(self, value):
            calls.append(("nodelay", value))

    Socket().open()
    assert calls == ["open", ("nodelay", True)]


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
