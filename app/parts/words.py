"""Text on the screen: counts, shortened texts, notices, and escaped names."""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape

from genoviz.errors import n_words as n_words  # the pages' words are here
from genoviz.model import PathName, PathRegion

HARMLESS = frozenset(" ,:;'()/")
MIN_PLAIN = 1e-4
"""Smaller numbers are written with an exponent."""


def with_interval(value: float, low: float, high: float) -> tuple[str, str, str]:
    """Format a value and its interval so that the interval's width has two digits.

    Examples
    --------
    >>> with_interval(0.32931, 0.32902, 0.33)
    ('0.32931', '0.32902', '0.33000')
    >>> with_interval(1234.567, 1200.0, 1280.0)
    ('1,235', '1,200', '1,280')
    >>> with_interval(3.1e-7, 3.04e-7, 3.17e-7)
    ('3.10e-07', '3.04e-07', '3.17e-07')
    >>> with_interval(0.5, 0.5, 0.5)
    ('0.5', '0.5', '0.5')
    """
    width = high - low
    if not 0 < width < math.inf or value <= 0:
        return f"{value:.4g}", f"{low:.4g}", f"{high:.4g}"
    place = math.floor(math.log10(width))
    form = f",.{max(1 - place, 0)}f"
    if value < MIN_PLAIN:
        form = f".{max(math.floor(math.log10(value)) - place + 1, 0)}e"
    return f"{value:{form}}", f"{low:{form}}", f"{high:{form}}"


def write_place(region: PathRegion) -> str:
    """Return a region in the notation of genome browsers: 1-based, with an inclusive end.

    Examples
    --------
    >>> write_place(PathRegion("chr7", 27_099_999, 27_300_000))
    'chr7:27,100,000-27,300,000'
    """
    return f"{region.path}:{region.start + 1:,}-{region.end:,}"


def write_stretch(name: PathName, region: PathRegion) -> str:
    """Return a region of a path in words, and where it is on its contig; 1-based.

    Examples
    --------
    >>> name = PathName("c:1000-1200", None, None, "c", 1000)
    >>> write_stretch(name, PathRegion(name.text, 9, 20))
    '10 to 20 (11 bp) = c:1,010-1,020'
    """
    text = f"{region.start + 1:,} to {region.end:,} ({region.length:,} bp)"
    if name.start:
        start, end = region.start + name.start + 1, region.end + name.start
        text += f" = {name.contig}:{start:,}-{end:,}"
    return text


def shorten(text: str, max_letters: int) -> str:
    """Shorten a text to its first ``max_letters`` letters, with an ellipsis.

    Examples
    --------
    >>> shorten("GATTACA", 4), shorten("GATT", 4)
    ('GATT...', 'GATT')
    """
    return text if len(text) <= max_letters else f"{text[:max_letters]}..."


def shorten_middle(text: str, max_letters: int) -> str:
    """Shorten a text to at most ``max_letters`` letters, keeping its beginning and end.

    Examples
    --------
    >>> shorten_middle("has GATTACAGATTACA, needs it", 17)
    'has GAT...eeds it'
    """
    n_last = (max_letters - 3) // 2
    n_first = max_letters - 3 - n_last
    return text if len(text) <= max_letters else f"{text[:n_first]}...{text[-n_last:]}"


def plain_text(text: str) -> str:
    """Escape a text for Markdown and HTML.

    Examples
    --------
    >>> plain_text("<b> of my *.gfa")
    '&#60;b&#62; of my &#42;&#46;gfa'
    """
    words = " ".join(text.split())
    return "".join(
        letter if letter.isalnum() or letter in HARMLESS else f"&#{ord(letter)};"
        for letter in words
    )


def notices_html(notices: Iterable[str]) -> str:
    """Return sentences as a list of notices; empty without any."""
    items = "".join(f"<li>{escape(notice)}</li>" for notice in notices if notice)
    return f'<ul aria-label="Notices">{items}</ul>' if items else ""
