"""Messages of tabs are written whole and in order; work starts without detours, but in turns."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import threading
import time
from contextvars import Context, ContextVar, copy_context
from types import SimpleNamespace

import panel_material_ui as pmui
import pytest
from bokeh.document import Document
from bokeh.models import Div
from bokeh.protocol import Protocol
from bokeh.server.connection import ServerConnection
from bokeh.server.session import ServerSession
from bokeh.server.views.ws import WSHandler
from panel.io.state import set_curdoc, state
from tornado.iostream import StreamClosedError
from tornado.locks import Lock
from tornado.testing import bind_unused_port
from tornado.web import Application
from tornado.websocket import WebSocketClosedError, WebSocketHandler, websocket_connect

from genoviz_app.parts.canvas_component import call_soon
from genoviz_app.server.event_loop import Work, start_in_turn, start_now
from genoviz_app.server.messages import write_whole
from genoviz_app.server.setup import prepare_server, send_small_packets_at_once
from tests.waiting import PATIENCE

END = b"\0"


class SlowSocket(WebSocketHandler):
    """A websocket whose messages are out when they are let out; Bokeh writes on it too."""

    def __init__(self):
        self.write_lock, self.ws_connection, self._socket = Lock(), self, self
        self.protocol, self.texts, self._waiting = Protocol(), [], []
        self.stream = self

    send_message = WSHandler.send_message

    def send_patch_document(self, event):
        return ServerConnection.send_patch_document(self, event)

    def is_closing(self):
        return False

    def _write_frame(self, fin, opcode, data):
        assert fin
        assert opcode == 1
        return self.stream.write(data + END)

    def write(self, frames):
        self.texts += frames.split(END)[:-1]
        self._waiting.append(asyncio.get_running_loop().create_future())
        return self._waiting[-1]

    def let_out(self):
        for future in self._waiting:
            future.set_result(None)
        self._waiting = []

    async def be_written_by_others(self, rest):
        with await self.write_lock.acquire():
            await rest(6)


async def change_on(socket, seed, n_changes):
    """Change a tab by Panel and by Bokeh while its socket is slow and written by others.

    All by chance, some changes together with the one before them.
    """
    chance, is_over = random.Random(seed), False

    async def rest(most):
        for _ in range(chance.randrange(most)):
            await asyncio.sleep(0)

    async def go_on(*acts):
        while not is_over:
            for act in acts:
                await act()

    def change(first, n_together):
        for number in range(first, first + n_together):
            if chance.random() < 0.5:
                field.placeholder = f"change {number}"
            else:
                words.text = f"change {number}"

    async def let_out():
        await rest(6)
        socket.let_out()

    document, field, words = Document(), pmui.TextInput(), Div()
    request = SimpleNamespace(arguments={})
    document.add_root(field.get_root(document))
    document.add_root(words)
    session = ServerSession("a tab", document)
    session._subscribed_connections.add(socket)
    context = SimpleNamespace(session=session, request=request, server_context=None)
    document._session_context = lambda: context
    state._connected[document] = state._loaded[document] = True
    state._thread_id_[document] = threading.get_ident()
    others = [
        asyncio.create_task(go_on(lambda: socket.be_written_by_others(rest), lambda: rest(6))),
        asyncio.create_task(go_on(let_out, lambda: asyncio.sleep(0))),
    ]
    with set_curdoc(document):
        number = 0
        while number < n_changes:
            await rest(8)
            n_together = min(chance.choice([1, 1, 2, 3]), n_changes - number)
            await session.with_document_locked(change, number, n_together)
            number += n_together
    is_over = True
    while asyncio.all_tasks() - {asyncio.current_task()}:
        socket.let_out()
        await asyncio.sleep(0.001)
    await asyncio.gather(*others)


def test_a_browser_is_told_of_each_change_in_order_and_also_of_the_last():
    """An older value came after a newer one, and the last one not before the next change."""
    prepare_server()
    n_changes = 20
    wanted = [f"change {number}" for number in range(n_changes)]
    for seed in range(40):
        socket = SlowSocket()
        asyncio.run(change_on(socket, seed, n_changes))
        contents = [json.loads(text) for text in socket.texts]
        events = [event for content in contents for event in content.get("events", ())]
        told = [event["new"] for event in events if event["attr"] in ("placeholder", "text")]
        assert told == wanted, f"seed {seed}"


class Message:
    """A message of three texts and some buffers, as `Message` of Bokeh."""

    header_json, metadata_json, content_json = '{"n": 1}', "{}", '{"text": "\\u00e9 é"}'

    def __init__(self, *buffers):
        made = (
            SimpleNamespace(ref={"id": str(n)}, to_bytes=lambda b=b: b)
            for n, b in enumerate(buffers)
        )
        self._buffers = list(made)

    @property
    def parts(self):
        texts = [self.header_json, self.metadata_json, self.content_json]
        for buffer in self._buffers:
            texts += [json.dumps(buffer.ref), buffer.to_bytes()]
        return texts


@pytest.mark.parametrize("size", [0, 5, 200, 70_000, 1_200_000])
def test_a_message_is_read_by_a_browser_as_it_was_and_written_at_once(size):
    """Bokeh waits for each of its parts, which takes two rounds of the event loop each."""
    message = Message() if size == 0 else Message(bytes(range(256)) * (size // 256) + b"x", b"")
    n_writes = []

    class Handler(WebSocketHandler):
        async def open(self):
            stream = self.ws_connection.stream
            write = stream.write
            stream.write = lambda data: n_writes.append(len(data)) or write(data)
            written = write_whole(self, message)
            stream.write = write
            assert self.ws_connection.stream is stream
            await written

    async def read():
        server_socket, port = bind_unused_port()
        server = Application([("/", Handler)]).listen(0)
        server.add_socket(server_socket)
        client = await websocket_connect(f"ws://127.0.0.1:{port}/")
        came = [await client.read_message() for _ in message.parts]
        client.close()
        server.stop()
        return came

    assert asyncio.run(asyncio.wait_for(read(), PATIENCE)) == message.parts
    assert len(n_writes) == (1 if size < 1_000_000 else len(message.parts))


def test_a_message_to_a_browser_that_is_gone_is_told():
    class Stream:
        def write(self, _data):
            raise StreamClosedError

    protocol = SimpleNamespace(
        stream=Stream(),
        is_closing=lambda: False,
        _write_frame=lambda *_: protocol.stream.write(b""),
    )
    for connection in (None, SimpleNamespace(is_closing=lambda: True), protocol):
        with pytest.raises(WebSocketClosedError):
            write_whole(SimpleNamespace(ws_connection=connection), Message())
    assert isinstance(protocol.stream, Stream)


def test_websockets_are_opened_without_delay(monkeypatch):
    calls = []
    monkeypatch.setattr(WSHandler, "open", lambda _self: calls.append("open"))
    send_small_packets_at_once()
    send_small_packets_at_once()  # a second time changes nothing

    class Socket(WSHandler):
        def __init__(self):
            pass

        def set_nodelay(self, value):
            calls.append(("nodelay", value))

    Socket().open()
    assert calls == ["open", ("nodelay", True)]


WHERE: ContextVar[str] = ContextVar("where", default="nowhere")


async def some_steps(noted, name, waits):
    """Note in which context each step runs; wait before the second, if told so."""
    noted.append((name, 1, WHERE.get()))
    if waits is not None:
        with contextlib.suppress(KeyError):
            await waits
    noted.append((name, 2, WHERE.get()))
    return name


def context_of(place):
    context = copy_context()
    context.run(WHERE.set, place)
    return context


def test_work_runs_until_it_has_to_wait_and_then_goes_on_in_its_context():
    async def act():
        noted, loop = [], asyncio.get_running_loop()
        done = start_now(some_steps(noted, "short", None), context_of("here"))
        assert done.done()
        assert noted == [("short", 1, "here"), ("short", 2, "here")]
        waits = [loop.create_future() for _ in range(3)]
        works = [
            start_now(some_steps(noted, n, future), context_of(f"place {n}"))
            for n, future in enumerate(waits)
        ]
        assert not any(work.done() for work in works)
        waits[1].set_result(None)
        waits[0].set_exception(KeyError())
        waits[2].cancel()
        with pytest.raises(asyncio.CancelledError):
            await works[2]
        assert [await works[0], await works[1], await done] == [0, 1, "short"]
        assert set(noted[2:]) == {(n, 1, f"place {n}") for n in range(3)} | {
            (n, 2, f"place {n}") for n in range(2)
        }

    asyncio.run(act())


def test_work_and_another_task_wait_for_the_same():
    async def wait(future):
        return await future

    async def act():
        future = asyncio.get_running_loop().create_future()
        both = [asyncio.ensure_future(wait(future)), start_now(wait(future), copy_context())]
        await asyncio.sleep(0)
        future.set_result(5)
        assert await asyncio.gather(*both) == [5, 5]

    asyncio.run(act())


def test_errors_of_work_are_those_of_its_future():
    async def fail(waits):
        if waits:
            await asyncio.sleep(0)
        raise ValueError("no")

    async def act():
        for waits in (False, True):
            work = start_now(fail(waits), copy_context())
            with pytest.raises(ValueError, match="no"):
                await work
        queue = Work(round_seconds=0)
        for waits in (False, True):
            with pytest.raises(ValueError, match="no"):
                await queue.start(fail(waits))

    asyncio.run(act())


def test_others_have_their_turn_between_the_work_of_many_tabs():
    """It is done in its order, each in the context of who asked; a timer waits for one only."""
    n, noted, ticks = 30, [], []

    async def work(number):
        noted.append((number, WHERE.get()))
        time.sleep(0.01)
        return number

    async def tick():
        while len(noted) < n:
            ticks.append(len(noted))
            await asyncio.sleep(0)

    async def act():
        queue = Work(round_seconds=0.005)
        asked = [context_of(f"tab {k}").run(queue.start, work(k)) for k in range(n)]
        ticking = Context().run(asyncio.ensure_future, tick())
        assert await asyncio.gather(*asked) == list(range(n))
        await ticking

    asyncio.run(act())
    assert noted[:n] == [(k, f"tab {k}") for k in range(n)]
    assert set(range(2, n)) <= set(ticks)


def test_a_loop_that_ends_amid_its_work_leaves_none_to_the_next():
    async def act(n):
        return [start_in_turn(asyncio.sleep(0, number)) for number in range(n)]

    async def finish():
        return await asyncio.gather(*await act(3))

    asyncio.run(act(1))  # nothing of it goes on
    assert asyncio.run(asyncio.wait_for(finish(), PATIENCE)) == [0, 1, 2]


def test_a_thread_calls_a_function_in_a_tab_while_the_tab_collects_changes():
    """Bokeh's own way adds to the list of changes, which may just be replaced by an empty one."""
    prepare_server()
    n = 30

    async def act():
        from tornado.ioloop import IOLoop

        document = Document()
        session = ServerSession("a tab", document, io_loop=IOLoop.current())
        context = SimpleNamespace(session=session, server_context=None)
        document._session_context = lambda: context
        called = []

        def note(number):
            assert state.curdoc is document
            assert session._lock._block._value == 0
            called.append(number)

        def ask(number):
            call_soon(document, lambda: note(number))

        document.hold()
        for number in range(n):
            thread = threading.Thread(target=ask, args=(number,))
            thread.start()
            thread.join(PATIENCE)
        assert document.callbacks._held_events == called == []
        document.unhold()
        end = time.monotonic() + PATIENCE
        while len(called) < n and time.monotonic() < end:
            await asyncio.sleep(0)
        assert called == list(range(n))

    asyncio.run(act())
