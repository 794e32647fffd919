"""What a hostile browser sends over its websockets kills, fills and tells nothing."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import logging
import re
import subprocess
import sys
from types import SimpleNamespace
from unittest.mock import Mock

import psutil
import pytest
from bokeh.protocol import Protocol
from bokeh.protocol.exceptions import ProtocolError
from bokeh.protocol.receiver import Receiver
from bokeh.server.connection import ServerConnection
from bokeh.server.views.ws import WSHandler
from bokeh.util.token import generate_jwt_token
from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import Application
from tornado.websocket import websocket_connect

from genoviz_app.server import messages, passwords, people
from genoviz_app.server.event_loop import TabByTab
from genoviz_app.server.messages import MAX_BUFFERS, MAX_MESSAGE_BYTES, MAX_SOCKETS, MAX_TABS
from genoviz_app.server.setup import prepare_server
from tests.app.conftest import GFA
from tests.app.server.test_doors import ask
from tests.app.server.test_people import LAB, PASSWORD, log_in
from tests.browser.conftest import served
from tests.conftest import ROOT
from tests.waiting import PATIENCE

SECRET = "contents-of-a-message"


def header(n_buffers=0, kind="PATCH-DOC"):
    more = {"num_buffers": n_buffers} if n_buffers else {}
    return json.dumps({"msgid": "1", "msgtype": kind, **more})


def events(*found):
    return json.dumps({"events": list(found)})


def sent(data):
    """An event that brings data."""
    return {"kind": "MessageSent", "msg_type": SECRET, "msg_data": data}


def bomb():
    """Made when it is sent, because each test process imports this module."""
    zeros = gzip.compress(bytes(16 * MAX_MESSAGE_BYTES))
    return events(sent({"type": "bytes", "data": base64.b64encode(zeros).decode()}))


CLOSED = {
    "a binary header": [SECRET.encode()],
    "no JSON": [SECRET] * 3,
    "empty frames": ["", "", ""],
    "a kind that is none": [json.dumps({"msgid": SECRET, "msgtype": SECRET}), "{}", "{}"],
    "a list for a header": ["[]", "{}", "{}"],
    "a server's reply": [header(kind="SERVER-INFO-REPLY"), "{}", json.dumps({"a": SECRET * 99})],
    "an error": [header(kind="ERROR"), "{}", json.dumps({"text": SECRET * 99, "traceback": "é"})],
    "an acknowledgement": [header(kind="ACK"), "{}", "{}"],
    "deep lists": [header(), "{}", "[" * 200_000],
    "many values": [header(), "{}", "[" + "[]," * 1_500_000 + "[]]"],
    "a large number": [header(), "{}", '{"events": [' + "9" * 1_000_000 + "]}"],
    "a bad header of a buffer": [header(2), "{}", events(), SECRET * 1000],
    "a header of a buffer with contents": [header(1), "{}", events(), json.dumps({SECRET: 1})],
    "fewer buffers than none": [header(-5), "{}", events()],
    "buffers that are no number": [header(SECRET), "{}", events()],
    "very many buffers": [header(10**9), "{}", events()],
    "a very large frame": [header(), "{}", SECRET * (MAX_MESSAGE_BYTES // len(SECRET) + 1)],
}
ANSWERED = {
    "events that are no list": [header(), "{}", json.dumps({"events": SECRET})],
    "events of no kind": [header(), "{}", events({"kind": SECRET})],
    "a model that is not there": [
        header(), "{}",
        events({"kind": "ModelChanged", "model": {"id": SECRET}, "attr": "x", "new": 1}),
    ],
    "a class that is none": [
        header(), "{}",
        events({"kind": "RootAdded", "model": {"type": "object", "name": "os.system", "id": "x"}}),
    ],
    "an array of no size": [
        header(), "{}",
        events(sent({"type": "ndarray", "array": {"type": "bytes", "data": "AAAA"},
                     "shape": [10**12], "dtype": "float64", "order": "little"})),
    ],
    "a bomb": [header(), "{}", bomb],
    "a document without its parts": [header(kind="PUSH-DOC"), "{}", json.dumps({"doc": {}})],
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab")
    for name in ("ada", "eve", "zoe"):
        passwords.add_person(folder / "people.txt", name, PASSWORD)
    (folder / "a.gfa").write_text(GFA)
    (folder / "lab.toml").write_text(LAB)
    return folder


@pytest.fixture(scope="module")
def lab(folder):
    """The port of a lab's server, and the lines it writes."""
    arguments = ("-m", "genoviz", "serve", "--no-browser", "--lab", str(folder / "lab.toml"))
    with served(*arguments) as (url, lines):
        yield int(re.search(r":(\d+)/lab", url)[1]), lines


@pytest.fixture(scope="module")
def cookies(lab):
    return {
        name: log_in(lab[0], name).getheader("Set-Cookie").split(";")[0]
        for name in ("ada", "eve", "zoe")
    }


def token_of(port, cookie, query=""):
    status, page = ask(port, f"/lab/{query}", headers=[("Cookie", cookie)])
    assert status == 200
    return re.search(r'"token":"([^"]+)"', page)[1]


async def connect(port, cookie, token):
    request = HTTPRequest(f"ws://localhost:{port}/lab/ws", headers={"Cookie": cookie})
    socket = await websocket_connect(request, subprotocols=["bokeh", token])
    return socket


async def read(socket, n=1):
    """Return the last of the next frames; None if the websocket was closed."""
    async with asyncio.timeout(PATIENCE):
        for _ in range(n):
            frame = await socket.read_message()
            if frame is None:
                socket.is_over = True
                return None
    return frame


async def leave(socket):
    """Close a websocket and wait for its end, unless the server has closed it."""
    socket.close()
    while not getattr(socket, "is_over", False):
        await read(socket)


async def send(port, cookie, token, frames):
    """Send frames; return the content of the answer, or None, and why the websocket was closed."""
    socket = await connect(port, cookie, token)
    assert await read(socket, 3) is not None  # ACK
    for frame in frames:
        frame = frame() if callable(frame) else frame
        socket.write_message(frame, binary=isinstance(frame, bytes))
    answer = await read(socket, 3)
    reason = socket.close_reason
    await leave(socket)
    return answer, reason


@pytest.fixture(scope="module")
def token(lab, cookies):
    return token_of(lab[0], cookies["eve"])


@pytest.mark.parametrize("name", CLOSED)
def test_what_is_no_message_closes_its_websocket_with_a_sentence(lab, cookies, token, name):
    port, lines = lab
    answer, reason = asyncio.run(send(port, cookies["eve"], token, CLOSED[name]))
    assert answer is None
    assert reason is None or len(reason) <= 123
    assert name == "a very large frame" or reason
    assert ask(port, "/lab/healthz")[0] == 200
    assert all(len(line) < 1000 for line in lines)


@pytest.mark.parametrize("name", ANSWERED)
def test_a_message_that_cannot_be_followed_is_answered_without_lines_of_code(
    lab, cookies, token, name
):
    port, lines = lab
    answer, _ = asyncio.run(send(port, cookies["eve"], token, ANSWERED[name]))
    answer = json.loads(answer)
    assert answer["traceback"] is None
    assert 0 < len(answer["text"]) < 200
    assert all(len(line) < 1000 for line in lines)


def test_hostile_messages_leave_the_log_and_the_memory_as_they_were(lab):
    port, lines = lab
    serving = [each for each in psutil.net_connections() if each.laddr and each.laddr.port == port]
    server = psutil.Process(next(each.pid for each in serving if each.status == "LISTEN"))
    assert server.memory_info().rss < 2e9
    assert sum(map(len, lines)) < 200_000
    assert not any(SECRET * 10 in line for line in lines)


def make_receiver():
    prepare_server()
    return Receiver(Protocol())


def consume(*fragments):
    async def take(receiver):
        for fragment in fragments:
            message = await receiver.consume(fragment)
        return message

    return asyncio.run(take(make_receiver()))


def test_buffers_of_a_message_are_limited_together():
    piece = bytes(MAX_MESSAGE_BYTES // 2 - 1000)
    small = [header(2), "{}", events(), '{"id": "a"}', piece, '{"id": "b"}']
    assert len(consume(*small, piece)._buffers) == 2
    with pytest.raises(ProtocolError, match="larger than a page sends"):
        consume(*small, bytes(MAX_MESSAGE_BYTES // 2 + 1000))
    assert consume(header(MAX_BUFFERS), "{}", events()) is None
    with pytest.raises(ProtocolError, match="larger than a page sends"):
        consume(header(MAX_BUFFERS + 1), "{}", events())


def test_the_size_of_each_message_is_counted_anew():
    text = events(sent("a" * (MAX_MESSAGE_BYTES - 1000)))
    assert consume(*[header(), "{}", text] * 3) is not None


def test_what_is_compressed_is_unpacked_as_far_as_a_message_may_be_large():
    def pack(data):
        return base64.b64encode(gzip.compress(data)).decode()

    for data in (b"", b"GATTACA", bytes(MAX_MESSAGE_BYTES)):
        assert messages.unpack(pack(data)) == data
    with pytest.raises(ProtocolError, match="larger than a page sends"):
        messages.unpack(pack(bytes(MAX_MESSAGE_BYTES + 1)))


def test_a_tab_has_few_websockets(lab, cookies, token):
    async def open_many(port, cookie):
        sockets = [await connect(port, cookie, token) for _ in range(MAX_SOCKETS)]
        assert [await read(socket, 3) is not None for socket in sockets] == [True] * MAX_SOCKETS
        more = await connect(port, cookie, token)
        while await read(more) is not None:
            pass
        assert more.close_reason == messages.TOO_MANY_SOCKETS
        assert all(socket.close_code is None for socket in sockets)
        for socket in (*sockets, more):
            await leave(socket)

    asyncio.run(open_many(lab[0], cookies["eve"]))


def test_a_person_who_is_taken_from_the_list_has_no_tab_any_more(lab, folder, cookies):
    port, path = lab[0], folder / "people.txt"
    listed = path.read_text()

    async def ask_after(cookie, token):
        socket = await connect(port, cookie, token)
        await read(socket, 3)
        path.write_text("".join(line for line in listed.splitlines(True) if line[:4] != "zoe:"))
        for frame in (header(kind="PULL-DOC-REQ"), "{}", "{}"):
            socket.write_message(frame)
        answer, reason = await read(socket), socket.close_reason
        await leave(socket)
        return answer, reason

    try:
        answer, reason = asyncio.run(ask_after(cookies["zoe"], token_of(port, cookies["zoe"])))
    finally:
        path.write_text(listed)
    assert (answer, "zoe is not among the people" in reason) == (None, True)


def test_a_number_of_thousands_of_digits_in_a_link_is_no_error(lab, cookies):
    assert token_of(lab[0], cookies["eve"], f"?region={'9' * 5000}")


def test_a_person_has_as_many_tabs_as_a_person_uses():
    def tab(person):
        return SimpleNamespace(token=generate_jwt_token("x", extra_payload={"person": person}))

    tabs = [tab("ada") for _ in range(MAX_TABS - 1)] + [tab("eve")] * 3 + [tab("")] * MAX_TABS
    tornado = SimpleNamespace(prefix="/lab", app_paths=["/"], get_sessions=lambda _path: tabs)
    count = messages.TabCount(tornado, lambda request: request.person)

    def refuse(person, path="/lab/"):
        return count.refuse(SimpleNamespace(person=person, path=path))

    assert refuse("ada") == ""
    tabs.append(tab("ada"))
    assert refuse("ada") == refuse("ada", "/lab") == refuse("ada", "/lab/autoload.js")
    assert refuse("ada") == messages.TOO_MANY_TABS
    assert refuse("ada", "/lab/ws") == refuse("ada", "/lab/status") == refuse("eve") == ""
    assert refuse("") == ""


def test_pages_of_one_person_do_not_keep_those_of_another_waiting():
    made = []

    async def make(handler, person):
        await handler.on_session_created(SimpleNamespace(token_payload={"person": person}))
        made.append(person)

    async def make_all():
        handler = TabByTab()
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*(make(handler, who) for who in [*["eve"] * 20, "ada", "zoe"]))

    asyncio.run(make_all())
    assert sorted(made) == ["ada", *["eve"] * 20, "zoe"]
    assert {"ada", "zoe"} <= set(made[:4])


def test_login_attempts_wait_in_a_short_queue():
    kept = people.People("x" * 32)
    login = type("Login", (people.LoginHandler,), {"people": kept})

    async def try_all():
        listener, port = bind_unused_port()
        server = HTTPServer(Application([("/login", login)], cookie_secret="x" * 32))
        server.add_sockets([listener])
        gate, loop = asyncio.Event(), asyncio.get_running_loop()
        people.WORKER.submit(asyncio.run_coroutine_threadsafe(gate.wait(), loop).result)
        client = AsyncHTTPClient(force_instance=True, max_clients=100)

        def log_in_as(name):
            return client.fetch(
                f"http://127.0.0.1:{port}/login", method="POST", body=f"name={name}&password=x",
                raise_error=False, request_timeout=PATIENCE,
            )  # fmt: skip

        waiting = [asyncio.ensure_future(log_in_as(f"n{i}")) for i in range(people.MAX_WAITING)]
        async with asyncio.timeout(PATIENCE):
            while kept.n_waiting < people.MAX_WAITING:
                await asyncio.sleep(0.01)
            refused = await log_in_as("more")
            gate.set()
            codes = {answer.code for answer in await asyncio.gather(*waiting)}
        server.stop()
        return refused, codes

    refused, codes = asyncio.run(try_all())
    assert refused.code == 429
    assert "Too many people are logging in" in refused.body.decode()
    assert (codes, kept.n_waiting) == ({403}, 0)


RAISED = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 4096))
from genoviz_app.server.serving import allow_open_files
allow_open_files()
print(resource.getrlimit(resource.RLIMIT_NOFILE))
"""


def test_a_server_has_as_many_connections_as_the_system_permits():
    pytest.importorskip("resource")
    done = subprocess.run(
        [sys.executable, "-c", RAISED], capture_output=True, text=True, cwd=ROOT, timeout=PATIENCE
    )
    assert done.stdout.strip() == "(4096, 4096)", done.stderr


def test_the_log_names_what_was_sent_by_its_type():
    prepare_server()
    for name in messages.LOGGERS:
        record = logging.LogRecord(
            name,
            logging.ERROR,
            "",
            1,
            "%r %r %s",
            ([SECRET], ValueError("b" * 999), "c" * 999),
            None,
        )
        assert logging.getLogger(name).filter(record)
        text = record.getMessage()
        assert SECRET not in text
        assert len(text) < 300


def test_a_websocket_that_a_ping_found_closing_closes_without_an_error():
    """The ping gives its session back, and Bokeh's handler then asked for it."""
    prepare_server()
    session = Mock()
    connection = ServerConnection(Mock(), Mock(), Mock(), session)
    application = SimpleNamespace(client_lost=Mock(side_effect=ServerConnection.detach_session))
    parts = {"application": application, "close_code": 1006, "close_reason": None}
    closing = SimpleNamespace(connection=connection, **parts)
    WSHandler.on_close(closing)
    WSHandler.on_close(closing)
    WSHandler.on_close(SimpleNamespace(connection=None, **parts))
    session.notify_connection_lost.assert_called_once_with()
    application.client_lost.assert_called_once_with(connection)
