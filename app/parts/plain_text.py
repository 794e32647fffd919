"""Words of people and of files, for parts of the page that would read them as markup."""

from __future__ import annotations

HARMLESS = frozenset(" ,:;'()/")


def plain_text(text: str) -> str:
    """Return what shows a text as it is where Markdown and HTML are understood.

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
