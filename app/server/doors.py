"""Access control of requests by host, origin and tab, and the content security policy.

A foreign page can make its domain name resolve to this machine and then send requests as if it were
same-origin (DNS rebinding). Such requests have a foreign ``Host``. The server therefore rejects all
host names but its own, before any handler of Tornado or Bokeh runs.
"""

from __future__ import annotations

import base64
import ipaddress
import re
import secrets
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

from bokeh.application.handlers import Handler
from bokeh.util.token import check_token_signature, get_token_payload
from tornado.httputil import HTTPHeaders, HTTPServerRequest
from tornado.routing import Matcher, Rule
from tornado.web import Application, OutputTransform, RequestHandler

from genoviz.errors import ParameterError
from genoviz_app.parts.words import shorten
from genoviz_app.server.watching import record

LOOPBACK = ("127.0.0.1", "localhost", "::1")
EVERYWHERE = ("", "0.0.0.0", "::")
HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9_.-]+)(?::(\d{1,5}))?")
DEFAULT_PORTS = {"http": "80", "https": "443"}
MAX_SHOWN = 100
TEST_NETWORK = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}

SCRIPT = re.compile(rb"<script\b([^>]*)>(.*?)</script\s*>", re.DOTALL | re.IGNORECASE)
HELD = re.compile(
    rb"""<script\b[^>]*src=["']data:text/javascript;base64,([A-Za-z0-9+/=]+)["'][^>]*></script>"""
)
POLICY = {
    "default-src": "'none'",
    # Panel loads component modules from blob: URLs, and Bokeh compiles CustomJS with eval.
    "script-src": "'self' blob: 'unsafe-eval'",
    # Bokeh and MUI add styles at run time.
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data: blob:",
    "font-src": "'self' data:",
    "connect-src": "'self' blob: data:",
    "worker-src": "'self' blob:",
    "media-src": "'self' blob: data:",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'self'",
}
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
}

CHOSEN_ID = (
    "The server sets the session ID of a tab. Open the address without "
    "bokeh-session-id and bokeh-token."
)
CONTROL = re.compile(r"[\x00-\x1f\x7f]")  # NUL is an error of the file system, hence a 500
NO_PATH = "The address has a control character or is not UTF-8, as no page's is."
OLD_PAGE = "This page was not made by this server, or too long ago; reload it."
OTHER_PERSON = "This page was made for another person; reload it."


def split_host(text: str) -> tuple[str, str] | None:
    """Return the name and the port of a ``Host`` header, or None if it is invalid.

    Examples
    --------
    >>> split_host("Lab.example.org.:8080"), split_host("[::1]"), split_host("a, b")
    (('lab.example.org', '8080'), ('::1', ''), None)
    """
    found = HOST.fullmatch(text)
    if found is None:
        return None
    name, port = found[1].lower(), found[2] or ""
    if name.startswith("["):
        try:
            name = str(ipaddress.ip_address(name[1:-1]))
        except ValueError:
            return None
    return name.removesuffix("."), port


def split_origin(text: str) -> tuple[str, str, str] | None:
    """Return scheme, name and port of an ``Origin`` header, or None if it is not a page's.

    Examples
    --------
    >>> split_origin("https://lab.example.org:443"), split_origin("null")
    (('https', 'lab.example.org', ''), None)
    """
    try:
        parts = urlsplit(text)
    except ValueError:
        return None
    host = split_host(parts.netloc)
    if parts.scheme not in DEFAULT_PORTS or host is None or parts[2:] != ("", "", ""):
        return None
    name, port = host
    return parts.scheme, name, "" if port == DEFAULT_PORTS[parts.scheme] else port


def own_names(address: str) -> tuple[str, ...]:
    """Return the host names of a server that listens on an address.

    Examples
    --------
    >>> own_names("127.0.0.1")
    ('127.0.0.1', 'localhost', '::1')
    """
    if address in LOOPBACK:
        return LOOPBACK
    if address not in EVERYWHERE:
        return (*LOOPBACK, address)
    names = {socket.gethostname(), socket.getfqdn(), *map(_own_address, TEST_NETWORK)}
    return (*LOOPBACK, *sorted(filter(None, names)))


def _own_address(family: socket.AddressFamily) -> str:
    """Return this machine's address for outgoing connections; nothing is sent."""
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((TEST_NETWORK[family], 9))
            return probe.getsockname()[0]
    except OSError:
        return ""


@dataclass(frozen=True)
class Doors:
    """Rules for the requests that a server accepts.

    Attributes
    ----------
    hosts
        Host names of the server, without ports, because tunnels and proxies have their own.
    origins
        Foreign origins that may use the server.
    secret
        Key that signs the tabs' tokens.
    person_of
        Returns the name of the user who sends a request; "" without login.
    refuse_person
        Returns why this user is rejected, or "".
    refuse_more
        Returns why this user gets no further tab, or "".
    """

    hosts: frozenset[str]
    origins: frozenset[tuple[str, str, str]] = frozenset()
    secret: str = ""
    person_of: Callable[[HTTPServerRequest], str] = field(default=lambda _request: "")
    refuse_person: Callable[[HTTPServerRequest], str] = field(default=lambda _request: "")
    refuse_more: Callable[[HTTPServerRequest], str] = field(default=lambda _request: "")

    @classmethod
    def of(cls, names: Iterable[str], origins: Iterable[str] = (), **others: Any) -> Doors:
        """Return the rules for user-supplied names and origins; raises if one is invalid."""
        hosts = {name: split_host(f"[{name}]" if name.count(":") > 1 else name) for name in names}
        for name, host in hosts.items():
            if host is None or host[1]:
                raise ParameterError(
                    f"{shorten(name, MAX_SHOWN)!r} is not the name of a host; "
                    "one as lab.example.org is needed, without port"
                )
        pages = {origin: split_origin(origin.rstrip("/")) for origin in origins}
        for origin, page in pages.items():
            if page is None:
                raise ParameterError(
                    f"{shorten(origin, MAX_SHOWN)!r} is not the origin of a page; "
                    "one as https://lab.example.org is needed"
                )
        return cls(
            frozenset(host[0] for host in hosts.values()), frozenset(pages.values()), **others
        )

    def refusal(self, request: HTTPServerRequest) -> str:
        """Return why a request is rejected, in a sentence, or "" if it is accepted."""
        return (
            self._refuse_host(request)
            or self._refuse_path(request)
            or self._refuse_origin(request)
            or self._refuse_chosen_id(request)
            or self.refuse_person(request)
            or self._refuse_token(request)
            or self.refuse_more(request)
        )

    def _refuse_host(self, request: HTTPServerRequest) -> str:
        given = request.headers.get_list("Host")
        host = split_host(given[0]) if len(given) == 1 else None
        if host is None:
            return "The request does not say in one word which host it is for."
        if host[0] in self.hosts:
            return ""
        name = shorten(host[0], MAX_SHOWN)
        return (
            f"This server is not known as {name}. "
            f"If it should be, it needs to be started with --host {name}"
        )

    def _refuse_path(self, request: HTTPServerRequest) -> str:
        try:
            return NO_PATH if CONTROL.search(unquote(request.path, errors="strict")) else ""
        except UnicodeDecodeError:
            return NO_PATH

    def _refuse_origin(self, request: HTTPServerRequest) -> str:
        headers = request.headers
        for text in (*headers.get_list("Origin"), *headers.get_list("Sec-Websocket-Origin")):
            origin = split_origin(text)
            if origin is None:
                return "Pages without an origin may not use this server."
            if origin not in self.origins and not _is_same(origin, headers["Host"]):
                page = shorten(
                    f"{origin[0]}://{origin[1]}" + f":{origin[2]}" * bool(origin[2]), MAX_SHOWN
                )
                return (
                    f"Pages of {page} may not use this server. "
                    f"If they should, it needs to be started with --origin {page}"
                )
        return ""

    def _refuse_chosen_id(self, request: HTTPServerRequest) -> str:
        chosen = {"bokeh-session-id", "bokeh-token"} & request.arguments.keys()
        return CHOSEN_ID if chosen or "Bokeh-Session-Id" in request.headers else ""

    def _refuse_token(self, request: HTTPServerRequest) -> str:
        """Reject the token of a tab that this server did not create, or not for this user."""
        if request.headers.get("Upgrade", "").lower() != "websocket":
            return ""
        words = request.headers.get("Sec-WebSocket-Protocol", "").split(",")
        token = words[-1].strip()
        try:
            is_ours = check_token_signature(token, self.secret, signed=True)
            made_for = get_token_payload(token).get("person", "") if is_ours else ""
        except Exception:  # any error from a malformed token
            is_ours, made_for = False, ""
        if not is_ours:
            return OLD_PAGE
        return "" if made_for == self.person_of(request) else OTHER_PERSON

    def close(self, tornado: Application) -> None:
        """Apply these rules to all requests of an application, before its handlers."""
        tornado.add_handlers(r"(?s).*", [Rule(_Refused(self), RefusingHandler)])


def _is_same(origin: tuple[str, str, str], host: str) -> bool:
    """Return whether an origin equals the request's host; proxies hide the scheme."""
    scheme, name, port = origin
    found = split_host(host)
    if found is None:
        return False
    asked = "" if found[1] == DEFAULT_PORTS[scheme] else found[1]
    return (name, port) == (found[0], asked)


class _Refused(Matcher):
    """Matches the requests to reject."""

    def __init__(self, doors: Doors) -> None:
        self._doors = doors

    def match(self, request: HTTPServerRequest) -> dict[str, Any] | None:
        """Return the sentence for the handler, or None if the request is accepted."""
        sentence = self._doors.refusal(request)
        if sentence:
            record("refused", address=request.remote_ip or "", why=sentence)
        return {"target_kwargs": {"sentence": sentence}} if sentence else None


class RefusingHandler(RequestHandler):
    """Answers with the sentence that says why a request is rejected."""

    def initialize(self, sentence: str) -> None:
        """Keep the sentence."""
        self._sentence = sentence

    def prepare(self) -> None:
        """Answer any method."""
        self.set_status(403)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(self._sentence + "\n")


class TabOwner(Handler):
    """Records in a tab's signed token for which user it was created."""

    def __init__(self, person_of: Callable[[HTTPServerRequest], str]) -> None:
        super().__init__()
        self._person_of = person_of

    def modify_document(self, doc: Any) -> None:
        """Leave the document unchanged."""

    def process_request(self, request: HTTPServerRequest) -> dict[str, Any]:
        """Return the token's payload."""
        return {"person": self._person_of(request)}


def policy_of(nonce: str = "") -> str:
    """Return the content security policy: a page's own scripts and this server's only."""
    words = dict(POLICY)
    if nonce:
        words["script-src"] += f" 'nonce-{nonce}'"
    return "; ".join(f"{name} {value}" for name, value in words.items())


def mark_scripts(page: bytes, nonce: str) -> bytes:
    """Return a page with its own scripts marked by a nonce, which is new for each page.

    A script injected later, for example through a sample name, does not know the nonce. Scripts
    in ``data:`` URLs are inlined, because the policy forbids such URLs.
    """
    page = HELD.sub(lambda found: b"<script>" + base64.b64decode(found[1]) + b"</script>", page)
    opening = b'<script nonce="' + nonce.encode() + b'"'
    return SCRIPT.sub(lambda found: opening + found[1] + b">" + found[2] + b"</script>", page)


class SafeHeaders(OutputTransform):
    """Adds the security headers to all responses."""

    def __init__(self, request: HTTPServerRequest) -> None:
        super().__init__(request)

    def transform_first_chunk(
        self, status_code: int, headers: HTTPHeaders, chunk: bytes, finishing: bool
    ) -> tuple[int, HTTPHeaders, bytes]:
        """Return the response with the headers."""
        for name, value in HEADERS.items():
            headers[name] = value
        is_page = finishing and headers.get("Content-Type", "").startswith("text/html")
        nonce = secrets.token_urlsafe(16) if is_page else ""
        if is_page:
            chunk = mark_scripts(chunk, nonce)
            headers["Content-Length"] = str(len(chunk))
        headers["Content-Security-Policy"] = policy_of(nonce)
        headers.pop("Server", None)
        return status_code, headers, chunk
