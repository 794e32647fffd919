"""What a closed tab held is free again, whether a browser came for the page or not."""

from __future__ import annotations

import asyncio
import json
import re
import time
from urllib.request import urlopen

import pytest
from tornado.httpclient import HTTPRequest
from tornado.websocket import websocket_connect

from tests.browser.conftest import served
from tests.waiting import PATIENCE

MEGABYTE = 2**20
READY = {
    "kind": "MessageSent",
    "msg_type": "bokeh_event",
    "msg_data": {"type": "event", "name": "document_ready", "values": {"type": "map"}},
}


@pytest.fixture(scope="module")
def url():
    with served("-m", "benchmarks.tabs_server") as (url, _):
        yield url


def ask(url, path):
    with urlopen(url.rstrip("/") + path, timeout=PATIENCE) as answer:
        return answer.read().decode()


def wait_until_closed(url):
    """Wait until no dashboard lives; return what the server says then."""
    end = time.monotonic() + PATIENCE
    while (said := json.loads(ask(url, "/tabs")))["dashboards"]:
        assert time.monotonic() < end, f"{said['dashboards']} closed tabs live"
        time.sleep(1)
    return said


async def open_tab(url):
    """Open a page as a browser does, wait for what it opens first, and close it."""
    page = await asyncio.to_thread(ask, url, "/")
    token = re.search(r'"token":"([^"]+)"', page)[1]
    request = HTTPRequest(
        url.replace("http", "ws").rstrip("/") + "/ws",
        headers={"Sec-WebSocket-Protocol": f"bokeh, {token}"},
    )
    socket = await websocket_connect(request, max_message_size=100 * MEGABYTE)
    await socket.read_message()
    for part in ({"msgid": "1", "msgtype": "PATCH-DOC"}, {}, {"events": [READY]}):
        await socket.write_message(json.dumps(part))
    async with asyncio.timeout(PATIENCE):
        while (message := await socket.read_message()) is not None:
            if "3,500" in str(message):  # nodes of the sample that is opened first
                break
        assert message is not None
        socket.close()
        while await socket.read_message() is not None:
            pass


def test_pages_for_which_no_browser_came_are_freed(url):
    for _ in range(3):
        ask(url, "/")
    before = wait_until_closed(url)
    for _ in range(6):
        ask(url, "/")
    after = wait_until_closed(url)
    assert after["memory"] < before["memory"] + 40 * MEGABYTE


def test_tabs_that_were_used_are_freed(url):
    for _ in range(2):
        asyncio.run(open_tab(url))
    before = wait_until_closed(url)
    for _ in range(4):
        asyncio.run(open_tab(url))
    after = wait_until_closed(url)
    assert after["memory"] < before["memory"] + 60 * MEGABYTE
