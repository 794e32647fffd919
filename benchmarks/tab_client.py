"""A browser tab without a browser: what a page would send over its websocket, and what comes.

A tab knows the components of its page by id, class and properties, sends what a person's hand
would send, and notes how long the server took to say that it was done.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from asyncio import FIRST_COMPLETED
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any
from urllib.request import urlopen

from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

PATIENCE = 240.0
MAX_MESSAGE = 1 << 30
MAX_SHOWN = 200
UPLOAD_PIECE = 10_000_000
SAMPLE_NODES = "3,500"
CANVAS = (1200, 700)
NO_VALUES = {"type": "map", "entries": []}


class Tab:
    """One open page; made by `open`.

    Attributes
    ----------
    parts
        Attributes of every model of the page, by id; ``name`` is its class.
    errors
        What the server complained of.
    n_frames, n_changes
        Pictures and messages that came.
    n_told
        How often the server has told an attribute of a model, by id and name.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.parts: dict[str, dict[str, Any]] = {}
        self.errors: list[str] = []
        self.n_frames = self.n_changes = 0
        self.n_told: Counter[tuple[str, str]] = Counter()
        self._socket: WebSocketClientConnection | None = None
        self._replies: dict[str, asyncio.Future[Any]] = {}
        self._n_sent = self._n_answers = 0
        self._is_greeted = False
        self._reading: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, url: str, query: str = "") -> Tab:
        """Fetch a page and begin, as a browser does."""
        tab = cls(url)
        page = await AsyncHTTPClient().fetch(
            url + query, connect_timeout=PATIENCE, request_timeout=PATIENCE
        )
        token = json.loads(re.search(r'"token":\s*("[^"]+")', page.body.decode())[1])
        address = url.replace("http", "ws", 1) + "ws"
        tab._socket = await websocket_connect(
            HTTPRequest(address, connect_timeout=PATIENCE, request_timeout=PATIENCE),
            subprotocols=["bokeh", token],
            max_message_size=MAX_MESSAGE,
        )
        tab._reading = asyncio.create_task(tab._read())
        await tab.until(lambda: tab._is_greeted)
        await tab._ask("PULL-DOC-REQ", {})
        await tab._tell_event("document_ready", NO_VALUES)
        return tab

    def find(self, name: str, **wanted: Any) -> str | None:
        """Return the id of a visible model by its class (without number) and attributes."""
        return next(self._iter_found(name, wanted), None)

    def _iter_found(self, name: str, wanted: dict[str, Any]) -> Iterator[str]:
        for part, attributes in self.parts.items():
            is_it = attributes["name"].rstrip("0123456789") == name
            if is_it and all(attributes.get(key) == value for key, value in wanted.items()):
                yield part

    def texts(self) -> list[str]:
        """Return what the page says, without what it does not show."""
        kinds = ("text", "object", "label", "value", "value_input")
        found = (
            f"{it['name']} {kind}: {it[kind]}"
            for it in self.parts.values()
            for kind in kinds
            if isinstance(it.get(kind), str) and it[kind] and it.get("visible", True)
        )
        return [" ".join(text.split())[:MAX_SHOWN] for text in found]

    async def until(self, condition: Callable[[], Any]) -> Any:
        """Wait for something to be true of the tab, and return it."""
        end = time.monotonic() + PATIENCE
        while not (found := condition()):
            if time.monotonic() > end:
                raise TimeoutError("the condition did not come about")
            if self._reading.done():
                raise ConnectionError("the server has closed the tab")
            await asyncio.sleep(0.02)
        return found

    async def wait_for(self, name: str, **wanted: Any) -> str:
        """Wait until a component is there, and return its id."""
        return await self.until(lambda: self.find(name, **wanted))

    async def set(self, part: str, **values: Any) -> float:
        """Change properties as a person's hand does; return the seconds until it was taken in."""
        self.parts[part].update(values)
        return await self._patch(
            [
                {"kind": "ModelChanged", "model": {"id": part}, "attr": name, "new": value}
                for name, value in values.items()
            ]
        )

    async def click(self, part: str) -> float:
        """Click a button; return the seconds until it was taken in."""
        component = self._component_of(part)
        data = _as_map({"type": "click"})
        values = [["model", {"id": component}], ["node", "click"], ["data", data]]
        return await self._tell_event("dom_event", {"type": "map", "entries": values})

    async def upload(self, field: str, name: str, content: bytes) -> None:
        """Drop a file on a field, which sends it in pieces as a browser does."""
        n_pieces = -(-len(content) // UPLOAD_PIECE)
        for number in range(n_pieces):
            piece = content[number * UPLOAD_PIECE : (number + 1) * UPLOAD_PIECE]
            data = {
                "name": name, "type": "", "chunk": number + 1, "total_chunks": n_pieces,
                "data": {"type": "bytes", "data": {"id": "piece"}},
            }  # fmt: skip
            values = [["model", {"id": field}], ["data", _as_map(data)]]
            await self._tell_event("upload_event", {"type": "map", "entries": values}, piece)

    async def answer(self, canvas: str, message: dict[str, Any]) -> float:
        """Send what a canvas tells."""
        self._n_answers += 1
        return await self.set(canvas, answer=_as_map({**message, "message": self._n_answers}))

    async def close(self) -> None:
        """Close the tab as a person does."""
        self._reading.cancel()
        self._socket.close()

    def vanish(self) -> None:
        """Be gone without a word, as a browser that was killed."""
        self._reading.cancel()
        self._socket.stream.close()

    @property
    def is_open(self) -> bool:
        """Whether the server still talks to the tab."""
        return not self._reading.done()

    async def _tell_event(self, name: str, values: dict[str, Any], piece: bytes = b"") -> float:
        event = {"type": "event", "name": name, "values": values}
        message = {"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": event}
        return await self._patch([message], piece)

    async def _patch(self, events: list[dict[str, Any]], piece: bytes = b"") -> float:
        start = time.perf_counter()
        await self._ask("PATCH-DOC", {"events": events}, piece)
        return time.perf_counter() - start

    async def _ask(self, kind: str, content: dict[str, Any], piece: bytes = b"") -> Any:
        self._n_sent += 1
        message = str(self._n_sent)
        reply = self._replies[message] = asyncio.get_running_loop().create_future()
        head = {"msgid": message, "msgtype": kind, **({"num_buffers": 1} if piece else {})}
        # The parts of a message follow each other: nothing is awaited between them.
        for part in (head, {}, content):
            self._socket.write_message(json.dumps(part))
        if piece:
            self._socket.write_message(json.dumps({"id": "piece"}))
            self._socket.write_message(piece, binary=True)
        await asyncio.wait({reply, self._reading}, timeout=PATIENCE, return_when=FIRST_COMPLETED)
        if not reply.done():
            has_closed = self._reading.done()
            raise ConnectionError(
                f"the server {'has closed the tab' if has_closed else 'is silent'}"
            )
        return reply.result()

    async def _read(self) -> None:
        while (first := await self._socket.read_message()) is not None:
            header = json.loads(first)
            await self._socket.read_message()
            content = json.loads(await self._socket.read_message())
            for _ in range(2 * header.get("num_buffers", 0)):
                await self._socket.read_message()
            kind = header["msgtype"]
            if kind == "ACK":
                self._is_greeted = True
            elif kind == "ERROR":
                self.errors.append(content.get("text", "an error without a text"))
            elif kind == "PULL-DOC-REPLY":
                self._note_parts(content["doc"])
            elif kind == "PATCH-DOC":
                self.n_changes += 1
                self._note_parts(content)
                for event in content["events"]:
                    self._take(event)
            reply = self._replies.pop(header.get("reqid", ""), None)
            if reply is not None and not reply.done():
                reply.set_result(content)

    def _take(self, event: dict[str, Any]) -> None:
        if event["kind"] == "ModelChanged":
            model, name = event["model"]["id"], event["attr"]
            self.parts.setdefault(model, {"name": ""})[name] = event["new"]
            self.n_told[model, name] += 1
            return
        for frame in _iter_frames(event):
            self.n_frames += 1
            part, number = frame
            self._painting = asyncio.create_task(self._paint(part, number))

    async def _paint(self, part: str, number: int) -> None:
        with suppress(ConnectionError):  # it was closed meanwhile
            await self.answer(self._data_of(part), {"kind": "painted", "n": number})

    def _data_of(self, component: str) -> str:
        return self.parts[component]["data"]["id"]

    def _component_of(self, data: str) -> str:
        """Return which component has these properties."""
        holders = (
            part for part, it in self.parts.items() if (it.get("data") or {}).get("id") == data
        )
        return next(holders)

    def _note_parts(self, content: Any) -> None:
        """Note every model of a message: ``{"type": "object", "name", "id", "attributes"}``."""
        if isinstance(content, list):
            for item in content:
                self._note_parts(item)
        elif isinstance(content, dict):
            if content.get("type") == "object" and "id" in content:
                attributes = content.get("attributes", {})
                self.parts[content["id"]] = {**attributes, "name": content["name"]}
            for item in content.values():
                self._note_parts(item)


def _as_map(values: dict[str, Any]) -> dict[str, Any]:
    return {"type": "map", "entries": [list(item) for item in values.items()]}


def _iter_frames(event: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield component and number of a picture that a canvas is to paint."""
    if event["kind"] != "MessageSent":
        return
    values = dict(event["msg_data"].get("values", {}).get("entries", ()))
    data = values.get("data")
    if isinstance(data, dict) and data.get("type") == "map":
        message = dict(data["entries"])
        if "n" in message:
            yield values["model"]["id"], message["n"]


def ask(url: str, path: str = "") -> str:
    """Return what a server answers."""
    with urlopen(url.rstrip("/") + "/" + path, timeout=PATIENCE) as answer:
        return answer.read().decode()


async def open_tab(url: str, *, closes: bool = True) -> Tab:
    """Open a tab, wait until it shows the sample's nodes, and close it if it is to."""
    tab = await Tab.open(f"{url.rstrip('/')}/")
    shown = lambda: any(SAMPLE_NODES in str(part.get("text")) for part in tab.parts.values())  # noqa: E731
    try:
        await tab.until(shown)
    finally:
        if closes:
            await tab.close()
    return tab
