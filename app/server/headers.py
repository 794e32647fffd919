"""What browsers are told of every answer: what may run, and that nobody else frames it."""

from __future__ import annotations

import base64
import re
import secrets

from tornado.httputil import HTTPHeaders, HTTPServerRequest
from tornado.web import OutputTransform

SCRIPT = re.compile(rb"<script\b([^>]*)>(.*?)</script\s*>", re.DOTALL | re.IGNORECASE)
HELD = re.compile(
    rb"""<script\b[^>]*src=["']data:text/javascript;base64,([A-Za-z0-9+/=]+)["'][^>]*></script>"""
)
POLICY = {
    "default-src": "'none'",
    # Panel makes modules of components by blob:, and Bokeh functions of its CustomJS by eval.
    "script-src": "'self' blob: 'unsafe-eval'",
    # Bokeh and MUI write styles while the page is shown.
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


def policy_of(nonce: str = "") -> str:
    """Return the policy of a page: its own scripts, those of this server, and no others."""
    words = dict(POLICY)
    if nonce:
        words["script-src"] += f" 'nonce-{nonce}'"
    return "; ".join(f"{name} {value}" for name, value in words.items())


def mark_scripts(page: bytes, nonce: str) -> bytes:
    """Return a page whose own scripts have a mark, which is made anew for each page.

    A script that comes into the page later, as by the name of a sample, does not know it.
    Scripts that addresses hold are put into the page, as no address of that kind may run.
    """
    page = HELD.sub(lambda found: b"<script>" + base64.b64decode(found[1]) + b"</script>", page)
    opening = b'<script nonce="' + nonce.encode() + b'"'
    return SCRIPT.sub(lambda found: opening + found[1] + b">" + found[2] + b"</script>", page)


class SafeHeaders(OutputTransform):
    """Adds the headers to whatever an application answers."""

    def __init__(self, request: HTTPServerRequest) -> None:
        super().__init__(request)

    def transform_first_chunk(
        self, status_code: int, headers: HTTPHeaders, chunk: bytes, finishing: bool
    ) -> tuple[int, HTTPHeaders, bytes]:
        """Return the answer with the headers."""
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
