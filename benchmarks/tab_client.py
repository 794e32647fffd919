"""What a browser does when a tab is opened, without the browser."""

from __future__ import annotations

import asyncio
import json
import re
from urllib.request import urlopen

from tornado.httpclient import HTTPRequest
from tornado.websocket import websocket_connect

PATIENCE = 240.0
MESSAGE_LIMIT = 100 * 2**20
SHOWN = "3,500"
READY = {
    "kind": "MessageSent",
    "msg_type": "bokeh_event",
    "msg_data": {"type": "event", "name": "document_ready", "values": {"type": "map"}},
}


def ask(url: str, path: str = "") -> str:
    """Return what a server answers."""
    with urlopen(url.rstrip("/") + "/" + path, timeout=PATIENCE) as answer:
        return answer.read().decode()


async def open_tab(url: str) -> None:
    """Fetch a page, open its websocket, wait until it shows the sample's nodes, and close it."""
    page = await asyncio.to_thread(ask, url)
    token = re.search(r'"token":"([^"]+)"', page)[1]
    request = HTTPRequest(
        url.replace("http", "ws", 1).rstrip("/") + "/ws",
        headers={"Sec-WebSocket-Protocol": f"bokeh, {token}"},
        connect_timeout=PATIENCE,
        request_timeout=PATIENCE,
    )
    async with asyncio.timeout(PATIENCE):
        socket = await websocket_connect(request, max_message_size=MESSAGE_LIMIT)
        await socket.read_message()
        for part in ({"msgid": "1", "msgtype": "PULL-DOC-REQ"}, {}, {}):
            await socket.write_message(json.dumps(part))
        for part in ({"msgid": "2", "msgtype": "PATCH-DOC"}, {}, {"events": [READY]}):
            await socket.write_message(json.dumps(part))
        while SHOWN not in str(message := await socket.read_message()):
            if message is None:
                raise ConnectionError("the server has closed the tab")
        socket.close()
        while await socket.read_message() is not None:
            pass
