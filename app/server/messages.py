"""Websockets of tabs: limits of what browsers may send; messages in order, whole, without detours.

A page is a program of its user, who can replace it. Bokeh collects the buffers of a message without
a limit, decompresses what is compressed without one, and logs whole messages that are invalid.

Bokeh also waits for each part of a message, and starts a task for most of what it does. Each of
these takes a round of the event loop, even where there is nothing to wait for. With twenty busy
tabs a round takes 50 ms, and a zoom took ten of them.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from contextvars import copy_context
from functools import wraps
from typing import Any

from bokeh.core.serialization import Deserializer
from bokeh.protocol.exceptions import ProtocolError
from bokeh.protocol.message import Message
from bokeh.protocol.messages.error import error as ErrorMessage
from bokeh.protocol.receiver import Receiver
from bokeh.server.connection import ServerConnection
from bokeh.server.session import ServerSession
from bokeh.server.views.ws import WSHandler
from bokeh.util.token import get_token_payload
from panel.io import document as panel_io
from panel.io import server as panel_server
from panel.io.state import set_curdoc, state
from panel.reactive import Syncable
from tornado.httputil import HTTPServerRequest
from tornado.iostream import StreamClosedError
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from genoviz_app.parts.words import shorten
from genoviz_app.server.event_loop import start_in_turn, start_now

MAX_MESSAGE_BYTES = 16 << 20
"""Maximum size of a message with its buffers; a piece of an upload has 10 MB."""
MAX_VALUES = 2_000_000
"""Maximum number of values in the text of a message: more would hold the event loop for seconds."""
MAX_BUFFERS = 64
MAX_SOCKETS = 4
"""Websockets of one tab; a browser that reconnects has two for a moment."""
MAX_SHOWN = 100
TEXT, BINARY = 1, 2
MAX_JOINED = 1 << 20
"""Larger messages are written in their parts, not copied into one piece."""
LISTED_SECONDS = 1.0

MAX_TABS = 50
"""Tabs of one user, if users log in; a page for which no browser came is one for 15 seconds."""

TOO_LARGE = "This message is larger than a page sends."
TOO_MANY_TABS = f"You have {MAX_TABS} tabs open at this server, and may have no more; close some."
TOO_MANY_SOCKETS = "This tab is open in more windows than a browser needs."
NOT_A_MESSAGE = "This is not a message of a page: {kind}."
LOGGERS = "bokeh.server.protocol_handler", "bokeh.server.views.ws"


def limit_messages() -> None:
    """Limit the messages of all websockets of this process; idempotent."""
    if getattr(Receiver.consume, "is_limited", False):
        return
    consume = Receiver.consume

    async def consume_some(self: Receiver, fragment: str | bytes) -> Any:
        try:
            _check_size(self, fragment)
            message = await consume(self, fragment)
            if self._partial is not None:
                _check_buffers(self._partial.header)
            return message
        except ProtocolError:
            raise
        except Exception as error:  # any error from a malformed message
            raise ProtocolError(NOT_A_MESSAGE.format(kind=type(error).__name__)) from None

    consume_some.is_limited = True
    Receiver.consume = consume_some
    decode = Deserializer._decode_bytes

    def decode_bytes(self: Deserializer, obj: Any) -> Any:
        data = obj["data"]
        return unpack(data) if isinstance(data, str) else decode(self, obj)

    Deserializer._decode_bytes = decode_bytes
    create = ErrorMessage.create.__func__

    def create_short(cls: type, request_id: Any, text: str, **metadata: Any) -> Any:
        made = create(cls, request_id, shorten(text, MAX_SHOWN), **metadata)
        made.content["traceback"] = None  # it quotes files of the server
        return made

    ErrorMessage.create = classmethod(create_short)
    for name in LOGGERS:
        logging.getLogger(name).addFilter(_leave_contents_out)
    _limit_sockets()


def unpack(text: str) -> bytes:
    """Return compressed bytes in base64 as they were.

    Raises
    ------
    ProtocolError
        If they are more than `MAX_MESSAGE_BYTES`.
    """
    unpacked = zlib.decompressobj(wbits=31)
    data = unpacked.decompress(base64.b64decode(text), MAX_MESSAGE_BYTES)
    if not unpacked.eof:
        raise ProtocolError(TOO_LARGE)
    return data


def _check_size(receiver: Receiver, fragment: str | bytes) -> None:
    """Count the bytes and values of a message, and refuse it if they are too many."""
    if receiver._current_consumer == receiver._HEADER:
        receiver.n_bytes = receiver.n_values = 0
    receiver.n_bytes += len(fragment)
    if isinstance(fragment, str):
        receiver.n_values += sum(map(fragment.count, ",[{"))
    if receiver.n_bytes > MAX_MESSAGE_BYTES or receiver.n_values > MAX_VALUES:
        raise ProtocolError(TOO_LARGE)


def _check_buffers(header: Any) -> None:
    n = header.get("num_buffers", 0)
    if type(n) is not int or not 0 <= n <= MAX_BUFFERS:
        raise ProtocolError(TOO_LARGE)


class TabCount:
    """Counts the tabs of each user, and refuses more than a person uses."""

    def __init__(self, tornado: Any, person_of: Callable[[HTTPServerRequest], str]) -> None:
        self._tornado, self._person_of = tornado, person_of

    def refuse(self, request: HTTPServerRequest) -> str:
        """Return why a page is not made for this user, or ""; without login there is no limit."""
        prefix = self._tornado.prefix
        if request.path not in (prefix, f"{prefix}/", f"{prefix}/autoload.js"):
            return ""
        person = self._person_of(request)
        return TOO_MANY_TABS if person and self._n_tabs(person) >= MAX_TABS else ""

    def _n_tabs(self, person: str) -> int:
        sessions = (
            each for path in self._tornado.app_paths for each in self._tornado.get_sessions(path)
        )
        return sum(get_token_payload(each.token).get("person") == person for each in sessions)


def _limit_sockets() -> None:
    """Limit the websockets of a tab, and close those of users who may not log in any more."""
    open_tab = panel_server.WSHandler._async_open
    take, close, lose = WSHandler.on_message, WSHandler.close, WSHandler.on_close

    async def open_few(self: WSHandler, token: str) -> None:
        await open_tab(self, token)
        if self.connection is not None and self.connection.session.connection_count > MAX_SOCKETS:
            self.close(1008, TOO_MANY_SOCKETS)

    async def take_of_listed(self: WSHandler, fragment: str | bytes) -> None:
        doors, now = getattr(self.application, "doors", None), time.monotonic()
        if doors is not None and now > getattr(self, "listed_until", 0.0):
            if sentence := doors.refuse_person(self.request):
                self.close(1008, sentence)
                return
            self.listed_until = now + LISTED_SECONDS
        if self.ws_connection is not None and not self.ws_connection.is_closing():
            await take(self, fragment)

    def close_shortly(self: WSHandler, code: int | None = None, reason: str | None = None) -> None:
        # The reason of a close may have 123 bytes.
        close(self, code, reason and shorten(reason.encode("ascii", "replace").decode(), MAX_SHOWN))

    def lose_once(self: WSHandler) -> None:
        # A ping that found the websocket closing has given the session back already.
        if self.connection is None or self.connection._session is not None:
            lose(self)

    panel_server.WSHandler._async_open = open_few
    WSHandler.on_close = lose_once
    WSHandler.on_message = take_of_listed
    WSHandler.close = close_shortly


def _leave_contents_out(record: logging.LogRecord) -> bool:
    """Replace what a browser sent by its type, since the log has no contents."""
    if isinstance(record.args, tuple):
        record.args = tuple(map(_without_contents, record.args))
    return True


def _without_contents(part: Any) -> Any:
    if isinstance(part, int | float):
        return part
    is_words = isinstance(part, str | Exception)
    return shorten(str(part), MAX_SHOWN) if is_words else f"({type(part).__name__})"


def talk_without_detours() -> None:
    """Read and write messages of all websockets without needless waits; idempotent."""
    if getattr(Message.send, "is_whole", False):
        return
    send, take, handle = Message.send, WSHandler.on_message, WSHandler._handle
    run_locked, change = ServerSession.with_document_locked, Syncable._change_event

    async def send_whole(self: Message, connection: Any) -> int:
        if not isinstance(connection, WebSocketHandler):
            return await send(self, connection)
        with await connection.write_lock.acquire():
            await _until_written(write_whole(connection, self))
        return len(self.content_json)

    def take_at_once(self: WSHandler, fragment: str | bytes) -> asyncio.Future | None:
        work = start_now(take(self, fragment), copy_context())
        return work if not work.done() else work.result()

    def handle_in_turn(self: WSHandler, message: Message) -> asyncio.Future:
        return start_in_turn(handle(self, message))

    @wraps(run_locked)
    def run_locked_in_turn(self: ServerSession, *arguments: Any, **options: Any) -> asyncio.Future:
        return start_in_turn(run_locked(self, *arguments, **options))

    def change_together(self: Syncable, document: Any) -> None:
        # Before the browser has loaded the page, held changes would be dropped.
        together = panel_io.hold if state._connected.get(document) else nullcontext
        with set_curdoc(document), together(document):
            change(self, document)

    send_whole.is_whole = True
    Message.send = send_whole
    WSHandler.on_message, WSHandler._handle = take_at_once, handle_in_turn
    ServerSession.with_document_locked = run_locked_in_turn
    Syncable._change_event = change_together


def write_whole(socket: WebSocketHandler, message: Message) -> asyncio.Future:
    """Write all parts of a message with one system call; return what waits until they are out.

    Raises
    ------
    WebSocketClosedError
        If the browser is gone.
    """
    protocol = socket.ws_connection
    if protocol is None or protocol.is_closing():
        raise WebSocketClosedError
    stream, frames = protocol.stream, _Frames()
    protocol.stream = frames
    try:
        for part, opcode in _parts_of(message):
            protocol._write_frame(True, opcode, part)
    finally:
        protocol.stream = stream
    try:
        if sum(map(len, frames)) <= MAX_JOINED:
            return stream.write(b"".join(frames))
        *_, last = map(stream.write, frames)
        return last
    except StreamClosedError:
        raise WebSocketClosedError from None


class _Frames(list):
    """Collects what would be written."""

    write = list.append


def _parts_of(message: Message) -> Iterator[tuple[bytes, int]]:
    for text in (message.header_json, message.metadata_json, message.content_json):
        yield text.encode(), TEXT
    for buffer in message._buffers:
        yield json.dumps(buffer.ref).encode(), TEXT
        yield buffer.to_bytes(), BINARY


async def _until_written(written: asyncio.Future) -> None:
    try:
        await written
    except StreamClosedError:
        raise WebSocketClosedError from None


def send_changes_in_order() -> None:
    """Send all changes to a browser in the order in which they were made; idempotent.

    Bokeh creates a message for each change at once and writes it when its callback has ended. Panel
    writes its own at once or, while the websocket is busy, from a queue separate from Bokeh's. An
    older value could therefore arrive after a newer one, and a change of a model before the model.
    Here each websocket has a single queue. (Panel's queue also sometimes kept the last messages.)
    """
    if getattr(ServerConnection.send_patch_document, "is_in_order", False):
        return
    schedule, dispatch = panel_io.schedule_write_events, panel_io.dispatch_tornado

    def enqueue(connection, events):
        socket = connection._socket
        queue = socket.__dict__.setdefault("changes", deque())
        queue.append(connection.protocol.create("PATCH-DOC", events))
        return socket

    async def write(socket):
        # Dequeue only here: the socket's lock is granted in this order.
        while socket.changes:
            await socket.send_message(socket.changes.popleft())

    def send_patch(self, event):
        return write(enqueue(self, [event]))

    def schedule_in_order(document, connections, events):
        for connection in connections:
            if isinstance(connection._socket, WebSocketHandler):
                panel_io._dispatch_write_task(document, write, enqueue(connection, events))
            else:
                schedule(document, [connection], events)

    def dispatch_in_order(connection, events=None, msg=None):
        if not events:
            return dispatch(connection, msg=msg)
        socket = enqueue(connection, events)  # its lock is free, which Panel has checked
        if socket.ws_connection is None or socket.ws_connection.is_closing():
            socket.changes.clear()
            return []
        before = [socket.changes.popleft() for _ in range(len(socket.changes))]
        written = [write_whole(socket, message) for message in before]
        return [_until_written(each) for each in written if not each.done()]

    send_patch.is_in_order = True
    ServerConnection.send_patch_document = send_patch
    panel_io.schedule_write_events = schedule_in_order
    panel_io.dispatch_tornado = dispatch_in_order
