"""A server answers its own names and pages only, and opens the tabs that it has made itself."""

from __future__ import annotations

import http.client
import json
import re
from urllib.parse import urlsplit

import pytest

from genoviz.errors import ParameterError
from genoviz_app.server.doors import Doors, mark_scripts, own_names, policy_of
from tests.browser.conftest import served
from tests.conftest import ROOT
from tests.waiting import PATIENCE

NOT_KNOWN = "is not known as"
NO_HOST = "does not say in one word which host"
MAY_NOT = "may not use this server"
NO_ADDRESS = "Pages without an origin"
CHOSEN = "server sets the session ID"
OLD = "was not made by this server"


@pytest.fixture(scope="module")
def url():
    arguments = ("--host", "lab.example.org", "--origin", "https://hub.example.org")
    with served("-m", "genoviz", "serve", "--no-browser", "--port", "0", *arguments) as (url, _):
        yield url


@pytest.fixture(scope="module")
def port(url):
    return urlsplit(url).port


def ask(port, path="/status", *, method="GET", hosts=None, headers=()):
    """Send a request with whatever headers; return the status and the text of the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for host in (f"localhost:{port}",) if hosts is None else hosts:
            connection.putheader("Host", host)
        for name, value in headers:
            connection.putheader(name, value.replace("PORT", str(port)))
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, "" if answer.status == 101 else answer.read().decode()
    finally:
        connection.close()


def open_socket(port, token, *, path="/ws", host=None, headers=()):
    upgrade = (
        ("Upgrade", "websocket"),
        ("Connection", "Upgrade"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ("Sec-WebSocket-Protocol", f"bokeh, {token}"),
    )
    return ask(port, path, hosts=None if host is None else [host], headers=(*upgrade, *headers))


@pytest.fixture(scope="module")
def token(port):
    """The token of a tab that the server has just made."""
    status, page = ask(port, "/")
    assert status == 200
    return re.search(r'"token":"([^"]+)"', page)[1]


PLACES = ["/", "/status", "/liveness", "/ws", "/metadata", "/autoload.js?bokeh-autoload-element=x"]
PLACES += ["/static/js/bokeh.min.js", "/favicon.ico", "/login", "/nowhere"]
PLACES += ["/static/extensions/panel/panel.min.js", "/components/x/y.js"]


@pytest.mark.parametrize("path", PLACES)
def test_a_foreign_name_is_refused_wherever_it_asks(port, path):
    status, text = ask(port, path, hosts=[f"evil.example:{port}"])
    assert (status, text.count("\n")) == (403, 1)
    assert "is not known as evil.example" in text
    assert "--host evil.example" in text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH"])
def test_a_foreign_name_is_refused_whatever_it_does(port, method):
    assert ask(port, method=method, hosts=["evil.example"])[0] == 403


FOREIGN_HOSTS = [
    *("evil.example", "EVIL.example:80", "localhost.evil.example", "evil.example.", "a@evil"),
    *("127.0.0.1.evil.example", "evil-localhost", "localhost.localdomain", "0.0.0.0", "[::]"),
    *("2130706433", "0x7f000001", "127.1", "127.0.0.2", "[::ffff:127.0.0.1]", "[fe80::1%25lo]"),
    *("lab.example.org.evil.example", "x.lab.example.org", "labXexample.org"),
    *("", "localhost evil", "localhost,evil.example", "evil.example, localhost", "localhost/x"),
    *("localhost:80:80", "localhost:", "localhost:x", "[::1", "::1", "user@localhost", "*"),
    *("localhost#evil.example", "localhost?x", "local\thost", "<script>", '"localhost"'),
]  # fmt: skip


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
def test_what_is_not_on_the_list_of_hosts_is_refused(host):
    sentence = refusal(host=host)
    assert NOT_KNOWN in sentence or NO_HOST in sentence


def test_two_hosts_and_none_are_refused(port):
    assert ask(port, hosts=["localhost", "evil.example"])[0] in (400, 403)
    assert ask(port, hosts=["localhost", "localhost"])[0] in (400, 403)
    assert ask(port, hosts=[])[0] in (400, 403)


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST:1", "127.0.0.1:9999", "[::1]:5006", "lab.example.org", "localhost."],
)
def test_the_servers_own_names_are_let_in_by_any_port(port, host):
    assert ask(port, hosts=[host])[0] == 200


@pytest.mark.parametrize("path", ["/static/%00", "/%0a", "/static/a%7F.js", "/static/%ff%fe"])
def test_an_address_with_a_control_character_is_refused(port, path):
    status, text = ask(port, path)
    assert (status, text.count("\n")) == (403, 1)
    assert "control character" in text


@pytest.mark.parametrize("name", ["a" * 5000, "..%2f..%2fetc%2fpasswd", "%E2%80%AE", "*"])
def test_a_strange_file_name_is_not_found(port, name):
    assert ask(port, f"/static/{name}")[0] in (403, 404)


class Asked:
    """A request as Tornado hands it on."""

    path = "/"

    def __init__(self, headers, arguments=()):
        from tornado.httputil import HTTPHeaders

        self.headers = HTTPHeaders()
        for name, value in headers:
            self.headers.add(name, value)
        self.arguments = dict(arguments)


def refusal(*others, host="localhost:5006", arguments=(), **options):
    doors = Doors.of(
        (*own_names("127.0.0.1"), "lab.example.org"),
        ["https://hub.example.org"],
        secret="s",
        **options,
    )
    return doors.refusal(Asked([("Host", host), *others], arguments))


FOREIGN_ORIGINS = [
    *("http://evil.example", "http://evil.example:5006", "https://hub.example.org.evil.example"),
    *("http://hub.example.org", "https://hub.example.org:8443", "http://localhost", "file://"),
    *("http://localhost:5007", "http://127.0.0.1:5006", "http://lab.example.org:5006", "null", ""),
    *("https://hub.example.org@evil.example", "http://localhost:5006/x", "http://localhost:5006?x"),
    *("javascript:alert(1)", "chrome-extension://abc", "http://[::1", "localhost:5006"),
    *("http://localhost:5006, http://evil.example", "http://localhost:5006 http://evil.example"),
]  # fmt: skip


@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
@pytest.mark.parametrize("header", ["Origin", "Sec-Websocket-Origin"])
def test_pages_that_are_not_on_the_list_are_refused(origin, header):
    sentence = refusal((header, origin))
    assert MAY_NOT in sentence


def test_a_second_origin_does_not_hide_the_first():
    two = [("Origin", "http://localhost:5006"), ("Origin", "http://evil.example")]
    assert MAY_NOT in refusal(*two)
    assert MAY_NOT in refusal(*two[::-1])


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("localhost:5006", "http://localhost:5006"),
        ("localhost:5006", "HTTP://LOCALHOST:5006"),
        ("lab.example.org", "https://lab.example.org"),
        ("lab.example.org", "http://lab.example.org:80"),
        ("lab.example.org:443", "https://lab.example.org"),
        ("127.0.0.1:5006", "https://hub.example.org"),
        ("[::1]:5006", "http://[0:0:0:0:0:0:0:1]:5006"),
    ],
)
def test_the_servers_own_pages_and_those_on_the_list_are_let_in(host, origin):
    assert refusal(("Origin", origin), host=host) == ""


def test_a_foreign_page_opens_no_websocket_even_if_its_name_leads_here(port, token):
    host = f"evil.example:{port}"
    status, text = open_socket(port, token, host=host, headers=[("Origin", f"http://{host}")])
    assert (status, NOT_KNOWN in text) == (403, True)
    status, text = open_socket(port, token, headers=[("Origin", "http://evil.example")])
    assert (status, MAY_NOT in text) == (403, True)
    status, text = ask(port, headers=[("Origin", "null")])
    assert (status, NO_ADDRESS in text) == (403, True)


@pytest.mark.parametrize("origin", ["http://localhost:PORT", "https://hub.example.org"])
def test_pages_of_the_list_open_a_websocket(port, token, origin):
    assert open_socket(port, token, headers=[("Origin", origin)])[0] == 101


CHOSEN_IDS = [
    ("/?bokeh-session-id=X", ()),
    ("/?bokeh-session-id=", ()),
    ("/?x=1&bokeh-session-id=X", ()),
    ("/?bokeh%2Dsession%2Did=X", ()),
    ("/?bokeh-session-id=X&bokeh-session-id=Y", ()),
    ("/?bokeh-token=TOKEN", ()),
    ("/autoload.js?bokeh-autoload-element=x&bokeh-session-id=X", ()),
    ("/metadata?bokeh-session-id=X", ()),
    ("/", (("Bokeh-Session-Id", "X"),)),
    ("/", (("bokeh-session-id", "X"),)),
]


@pytest.mark.parametrize(("path", "headers"), CHOSEN_IDS)
def test_nobody_chooses_the_identity_of_a_tab(port, token, path, headers):
    status, text = ask(port, path.replace("TOKEN", token), headers=headers)
    assert (status, CHOSEN in text) == (403, True)


def test_an_identity_that_the_server_has_made_cannot_be_handed_on(port, token):
    from bokeh.util.token import get_session_id

    made = get_session_id(token)
    assert "." in made  # it is signed
    status, text = ask(port, f"/?bokeh-session-id={made}")
    assert (status, CHOSEN in text) == (403, True)


def forged(token):
    """Tokens that this server has not made."""
    from bokeh.util.token import generate_jwt_token, generate_session_id

    base, signature = token.split(".")
    own = generate_session_id(secret_key=b"mine", signed=True)
    return [
        "", "x", ".", "..", "a.b", base, f"{base}.", f"{base}.{signature[:-1]}",
        f"{base[:-2]}.{signature}",
        f"{base}.{signature}.x", signature, f"{base}.é",
        generate_jwt_token("X", signed=False),
        generate_jwt_token("X", secret_key=b"mine", signed=True),
        generate_jwt_token(own, secret_key=b"mine", signed=True),
        generate_jwt_token(own, secret_key=None, signed=False),
        generate_jwt_token("", secret_key=b"", signed=True),
    ]  # fmt: skip


def test_a_websocket_opens_no_tab_of_another_server(port, token):
    assert open_socket(port, token)[0] == 101
    for each in forged(token):
        status, text = open_socket(port, each.encode().decode("latin-1"))
        assert (status, OLD in text) == (403, True), each


def test_the_token_of_a_page_has_no_cookies_and_no_headers(port):
    from bokeh.util.token import get_token_payload

    _, page = ask(port, "/", headers=[("Cookie", "user=abc; other=def"), ("Authorization", "ghi")])
    payload = get_token_payload(re.search(r'"token":"([^"]+)"', page)[1])
    assert not re.search("abc|def|ghi", json.dumps(payload, default=str))
    assert payload["person"] == ""


def test_a_tab_of_one_person_is_not_opened_by_another():
    from bokeh.util.token import generate_jwt_token, generate_session_id

    own = generate_session_id(secret_key=b"s", signed=True)
    tab = {"secret_key": b"s", "signed": True}
    adas = generate_jwt_token(own, **tab, extra_payload={"person": "ada"})
    nobodys = generate_jwt_token(own, **tab)
    for token, person, is_let_in in [
        (adas, "ada", True), (adas, "eve", False), (adas, "", False),
        (nobodys, "", True), (nobodys, "eve", False),
    ]:  # fmt: skip
        headers = [("Upgrade", "WebSocket"), ("Sec-WebSocket-Protocol", f"bokeh, {token}")]
        sentence = refusal(*headers, person_of=lambda _request, name=person: name)
        assert sentence == (
            "" if is_let_in else "This page was made for another person; reload it."
        )


def test_a_large_body_is_not_taken(port):
    status, _ = ask(port, method="POST", headers=[("Content-Length", str(10**8))])
    assert status in (400, 413)


def test_the_server_speaks_of_no_more_than_is_asked(port):
    """A foreign page that reads the refusal learns no name of this machine."""
    _, text = ask(port, hosts=["evil.example"])
    assert "lab.example.org" not in text
    assert "localhost" not in text


@pytest.mark.parametrize(
    "path", ["/", "/status", "/static/js/bokeh.min.js", "/nowhere", "/refused"]
)
def test_every_answer_tells_browsers_what_may_run(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request(
        "GET", path, headers={"Host": "evil.example" if path == "/refused" else "localhost"}
    )
    answer = connection.getresponse()
    answer.read()
    connection.close()
    policy = dict(
        part.split(" ", 1) for part in answer.getheader("Content-Security-Policy").split("; ")
    )
    assert policy["default-src"] == "'none'"
    assert policy["frame-ancestors"] == "'self'"
    assert "unsafe-inline" not in policy["script-src"]
    assert not {"*", "https:", "http:", "data:"} & set(policy["script-src"].split())
    assert not any("://" in value for value in policy.values())
    assert answer.getheader("X-Content-Type-Options") == "nosniff"
    assert answer.getheader("Referrer-Policy") == "same-origin"
    assert answer.getheader("X-Frame-Options") == "SAMEORIGIN"
    assert answer.getheader("Server") is None


def test_the_scripts_of_a_page_are_marked_and_nothing_in_them_is():
    page = mark_scripts(
        b'<script src="data:text/javascript;base64,YSgp"></script>'
        b'<script type="application/json">{"x": "<script>"}</script>'
        b"<p>a</p><script\nsrc></script >",
        "N",
    )
    assert page == (
        b'<script nonce="N">a()</script>'
        b'<script nonce="N" type="application/json">{"x": "<script>"}</script><p>a</p>'
        b'<script nonce="N"\nsrc></script>'
    )
    assert "'nonce-N'" in policy_of("N")
    assert "nonce" not in policy_of()


def test_browsers_may_keep_the_scripts_of_a_page(port):
    page = ask(port, "/")[1]
    scripts = re.findall(r'<script[^>]+src="([^"]+)"', page)
    assert len(scripts) > 8
    assert [script for script in scripts if "?v=" not in script] == []
    assert "es-module-shims.min.js" not in page


def test_the_mark_is_another_one_for_each_page(port):
    marks = {re.search('nonce="([^"]+)"', ask(port, "/")[1])[1] for _ in range(2)}
    assert len(marks) == 2
    assert min(map(len, marks)) > 20


@pytest.mark.parametrize("name", ["", "a b", "http://lab", "lab:80", "lab/x", "a,b", "[::1"])
def test_what_is_no_name_of_a_host_is_said_at_the_start(name):
    with pytest.raises(ParameterError, match="is not the name of a host"):
        Doors.of([name])


@pytest.mark.parametrize("origin", ["", "lab.example.org", "https://", "https://a/b", "null", "*"])
def test_what_is_no_origin_is_said_at_the_start(origin):
    with pytest.raises(ParameterError, match="is not the origin of a page"):
        Doors.of([], [origin])


def test_a_server_that_listens_everywhere_knows_this_machines_names():
    import socket

    names = own_names("0.0.0.0")
    assert socket.gethostname() in names
    assert {"localhost", "127.0.0.1", "::1"} < set(names)
    assert own_names("10.1.2.3")[-1] == "10.1.2.3"


def test_panel_serve_shows_nothing():
    """Panel makes its applications so; docs/server.md says what they lack."""
    from bokeh.command.util import build_single_handler_application

    with pytest.raises(ValueError, match=r"No 'main\.py' or 'main\.ipynb' in"):
        build_single_handler_application(str(ROOT / "app"))
    made = build_single_handler_application(str(ROOT / "app" / "__main__.py"))
    assert made.create_document().roots == []
    assert "Do not use `panel serve`" in (ROOT / "docs" / "server.md").read_text()
