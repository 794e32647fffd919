"""User authentication: passwords, or OAuth."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from bokeh.server.auth_provider import AuthProvider
from tornado.httputil import HTTPServerRequest
from tornado.web import RequestHandler, decode_signed_value

from genoviz.errors import GenovizError
from genoviz_app.server.passwords import is_password, read_passwords
from genoviz_app.server.watching import record

COOKIE = "user"  # name used by Panel's OAuth handlers
LOGIN, LOGOUT = "/login", "/logout"
DAYS = 1
KNOWN, KNOWN_DAYS = "known", 90
"""Cookie of a browser from which somebody logged in, and its lifetime."""

N_FREE_TRIES = 5
WAIT_SECONDS = 30.0
WORKER = ThreadPoolExecutor(max_workers=1, thread_name_prefix="genoviz-login")
MAX_WAITING = 20
"""Attempts that wait for the thread; each takes a tenth of a second."""
TOO_MANY_TRIES = f"Too many wrong passwords; try again in {WAIT_SECONDS:.0f} seconds."
CROWDED = "Too many people are logging in at this moment; try again in a few seconds."

NOT_LISTED = "{person} is not among the people of this server; ask who runs it."

LOGIN_PAGE = Template(
    """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>genoviz: log in</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">
<style>
/* The colours of theme.py, dark or light as the system is. */
:root { color-scheme: dark light; --ground: #10161f; --field: #151d28; --line: #7c8ca3;
        --text: #e3eaf3; --main: #4fb3e8; --on-main: #06121c; --wrong: #ffab91 }
@media (prefers-color-scheme: light) { :root { --ground: #f4f6f9; --field: #ffffff;
        --line: #6b7a90; --text: #17202c; --main: #1769aa; --on-main: #ffffff; --wrong: #b3261e } }
body { background: var(--ground); color: var(--text); font: 16px system-ui, sans-serif;
       display: grid; place-items: center; min-height: 95vh; margin: 0 }
form { display: grid; gap: 12px; width: min(320px, 90vw) }
h1 { font-size: 24px; font-weight: 700; margin: 0 }
input, button { font: inherit; padding: 10px; border-radius: 8px; border: 1px solid var(--line) }
input { background: var(--field); color: var(--text) }
button { background: var(--main); color: var(--on-main); border: 0; cursor: pointer;
         font-weight: 600 }
p { color: var(--wrong); margin: 0 }
</style></head><body><main><form method="post">
<h1>genoviz</h1>$problem
<label for="name">Name</label>
<input id="name" name="name" autocomplete="username" autofocus required>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required>
<button>Log in</button>
</form></main></body></html>
"""
)


@dataclass(frozen=True)
class OAuth:
    """An OAuth provider, with Panel's options.

    Attributes
    ----------
    provider, key, secret, redirect
        Provider name, client ID and secret, and redirect URL.
    allow
        User names that may log in, as the provider reports them.
    """

    provider: str
    key: str
    secret: str
    redirect: str
    allow: frozenset[str]


@dataclass
class People:
    """The users of a server.

    Attributes
    ----------
    secret
        Key that signs their cookies.
    passwords
        File of user names and password hashes; reread after changes.
    oauth
        OAuth provider used instead of passwords.
    is_https
        Whether browsers use HTTPS, so that cookies are sent over HTTPS only.
    prefix
        URL prefix.
    n_waiting
        Number of login attempts that wait for their password to be checked.
    """

    secret: str
    passwords: Path | None = None
    oauth: OAuth | None = None
    is_https: bool = False
    prefix: str = ""
    n_waiting: int = 0
    _read: tuple[int, dict[str, str]] = (0, {})
    _failures: dict[tuple[str, str], tuple[int, float]] = field(default_factory=dict)

    @property
    def hashes(self) -> dict[str, str]:
        """Current password hashes by user name."""
        if self.passwords is None:
            return {}
        try:
            changed = self.passwords.stat().st_mtime_ns
            if changed != self._read[0]:
                self._read = changed, read_passwords(self.passwords)
        except (OSError, GenovizError):
            return {}  # an unreadable file lets nobody in
        return self._read[1]

    def is_listed(self, person: str) -> bool:
        """Return whether a user may log in."""
        return person in (self.oauth.allow if self.oauth is not None else self.hashes)

    def person_of(self, request: HTTPServerRequest) -> str:
        """Return the user of a request by its signed cookie; "" if not logged in."""
        cookie = request.cookies.get(COOKIE)
        if cookie is None:
            return ""
        name = decode_signed_value(self.secret, COOKIE, cookie.value, max_age_days=DAYS)
        return "" if name is None else name.decode()

    def refuse(self, request: HTTPServerRequest) -> str:
        """Return why a logged-in user is rejected, or ""."""
        person = self.person_of(request)
        if request.path in (self.prefix + LOGIN, self.prefix + LOGOUT):
            return ""
        return NOT_LISTED.format(person=person) if person and not self.is_listed(person) else ""

    def browser_of(self, request: HTTPServerRequest, name: str) -> str:
        """Return the browser of a request, if that person logged in from it before; else ""."""
        cookie = request.cookies.get(KNOWN)
        if cookie is None:
            return ""
        text = decode_signed_value(self.secret, KNOWN, cookie.value, max_age_days=KNOWN_DAYS)
        browser, _, person = (text or b"").decode().partition(":")
        return browser if person == name else ""

    def must_wait(self, name: str, browser: str = "") -> bool:
        """Return whether a name had too many wrong passwords recently.

        Each browser from which the person logged in before counts its own, and all others count
        together. So wrong passwords that somebody else tries do not keep a person out.
        """
        n, last = self._failures.get((name, browser), (0, 0.0))
        return n >= N_FREE_TRIES and time.monotonic() < last + WAIT_SECONDS

    def note(self, name: str, browser: str = "", *, is_right: bool) -> None:
        """Record a login attempt, to count wrong passwords."""
        now, key = time.monotonic(), (name, browser)
        self._failures = {
            other: tried for other, tried in self._failures.items()
            if other != key or not is_right
            if now < tried[1] + WAIT_SECONDS
        }  # fmt: skip
        if not is_right:
            self._failures[key] = (self._failures.get(key, (0, 0.0))[0] + 1, now)

    def provider(self) -> AuthProvider:
        """Return the authentication provider for Bokeh."""
        return Provider(self)


class SafeCookies:
    """A handler whose cookies are HttpOnly and SameSite."""

    people: People

    def set_cookie(self, name: str, value: Any, **options: Any) -> None:
        """Set a cookie."""
        options |= {"httponly": True, "samesite": "Lax", "secure": self.people.is_https}
        options["path"] = (self.people.prefix or "") + "/"
        super().set_cookie(name, value, **options)


class LoginHandler(SafeCookies, RequestHandler):
    """The page that asks for a name and a password."""

    def get(self, problem: str = "") -> None:
        """Show the page."""
        sentence = f'<p role="alert">{escape(problem)}</p>' if problem else ""
        self.set_header("Cache-Control", "no-store")
        self.finish(LOGIN_PAGE.substitute(problem=sentence))

    async def post(self) -> None:
        """Log a user in, or say why not."""
        name = self.get_body_argument("name", "")
        password = self.get_body_argument("password", "")
        browser = self.people.browser_of(self.request, name)
        must_wait = self.people.must_wait(name, browser)
        if must_wait or self.people.n_waiting >= MAX_WAITING:
            self.set_status(429)
            self.get(TOO_MANY_TRIES if must_wait else CROWDED)
            return
        kept = self.people.hashes.get(name, "")
        loop = asyncio.get_running_loop()
        self.people.n_waiting += 1
        try:
            is_right = await loop.run_in_executor(WORKER, is_password, password[:1000], kept)
        finally:
            self.people.n_waiting -= 1
        self.people.note(name, browser, is_right=is_right)
        event = "logged in" if is_right else "wrong password"
        record(event, person=name, address=self.request.remote_ip or "")
        if not is_right:
            self.set_status(403)
            self.get("Wrong name or password.")
            return
        self.set_signed_cookie(COOKIE, name, expires_days=DAYS)
        known = f"{browser or secrets.token_hex(16)}:{name}"
        self.set_signed_cookie(KNOWN, known, expires_days=KNOWN_DAYS)
        self.redirect(safe_place(self.get_query_argument("next", ""), self.people.prefix))


class LogoutHandler(SafeCookies, RequestHandler):
    """The logout address."""

    def get(self) -> None:
        """Log the user out."""
        for name in set(self.request.cookies) - {KNOWN}:
            self.clear_cookie(name, path=(self.people.prefix or "") + "/")
        self.redirect(self.people.prefix + LOGIN)


def safe_place(text: str, prefix: str = "") -> str:
    """Return the redirect target after login: always a page of this server.

    Examples
    --------
    >>> safe_place("/?page=kmers"), safe_place("//evil.example"), safe_place("https://evil.example")
    ('/?page=kmers', '/', '/')
    """
    home = f"{prefix}/"
    is_ours = text.startswith(home) and re.match(r"/(?![/\\])[^\\\x00-\x20\x7f]*\Z", text)
    return text if is_ours else home


class ErrorPage:
    """Error page for a failing OAuth provider; same interface as Panel's own."""

    def render(self, *, error_msg: str = "", **_others: Any) -> str:
        """Return the page."""
        return f"<!DOCTYPE html><title>genoviz</title><p>{escape(error_msg)}</p>"


class Provider(AuthProvider):
    """Tells Bokeh who the user is, and where to log in."""

    def __init__(self, people: People) -> None:
        self.people = people
        super().__init__()

    @property
    def get_user(self) -> Any:
        """Function that returns the user of a request, or None."""
        return lambda handler: self.people.person_of(handler.request) or None

    @property
    def login_url(self) -> str:
        """URL of the login page."""
        return LOGIN

    @property
    def logout_url(self) -> str:
        """URL for logging out."""
        return LOGOUT

    @property
    def login_handler(self) -> type[RequestHandler]:
        """The login handler: our page, or the redirect to the OAuth provider."""
        oauth = self.people.oauth
        if oauth is None:
            return type("Login", (LoginHandler,), {"people": self.people})
        from panel import config
        from panel.auth import AUTH_PROVIDERS

        config.oauth_provider = oauth.provider
        config.oauth_key, config.oauth_secret = oauth.key, oauth.secret
        config.oauth_redirect_uri = oauth.redirect
        config.oauth_expiry = DAYS
        names = {"people": self.people, "_login_endpoint": LOGIN, "_error_template": ErrorPage()}
        return type("Login", (SafeCookies, AUTH_PROVIDERS[oauth.provider]), names)

    @property
    def logout_handler(self) -> type[RequestHandler]:
        """The logout handler."""
        return type("Logout", (LogoutHandler,), {"people": self.people})
