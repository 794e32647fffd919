"""Sentences that a person should see."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


def notices_html(notices: Iterable[str]) -> str:
    """Return sentences that a person should see as a list; empty without any."""
    items = "".join(f"<li>{escape(notice)}</li>" for notice in notices if notice)
    return f'<ul aria-label="Notices">{items}</ul>' if items else ""
