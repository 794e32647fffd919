"""What people and files say is shown as it is, not as markup."""

from __future__ import annotations

from html import unescape
from html.parser import HTMLParser

import panel as pn
import pytest

from genoviz_app.dashboard import Dashboard
from genoviz_app.parts.words import plain_text
from tests.app.conftest import poll_until

HOSTILE = '<img src=x onerror="window.hit=1">.gfa'


class Reader(HTMLParser):
    """Collects the tags and the words of a page."""

    def __init__(self):
        super().__init__()
        self.tags, self.words = [], ""

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.words += data


def read_as_markdown(text):
    pane = pn.pane.Markdown(text)
    reader = Reader()
    reader.feed(unescape(pane._transform_object(text)["object"]))  # as the browser does first
    reader.close()
    return set(reader.tags), reader.words.strip()


@pytest.mark.parametrize(
    "text",
    [
        HOSTILE,
        "<script>alert(1)</script>",
        "my_file_*a*_**b** `c` ~~d~~ [e](javascript:f) ![g](h) \\i",
        "1. first",
        "# a title",
        "- an item",
        "> a quotation",
        "&lt;b&gt; &amp; | a | table |",
        "сегмент 漢 +17",
    ],
)
def test_a_text_is_shown_as_it_is(text):
    tags, words = read_as_markdown(plain_text(text))
    assert tags <= {"p"}
    assert words == text


def test_a_link_cannot_put_markup_on_the_page():
    dashboard = Dashboard(f"?file={HOSTILE}")
    try:
        dashboard.open_first()
        poll_until(dashboard.poll, lambda: dashboard.session.problem != "")
        tags, words = read_as_markdown(dashboard.problem.object)
        assert tags <= {"p"}
        assert HOSTILE in words
    finally:
        dashboard.close()


def test_a_long_text_that_is_not_found_is_told_shortly():
    dashboard = Dashboard("")
    try:
        dashboard.open_first()
        poll_until(dashboard.poll, lambda: dashboard.session.opened is not None)
        dashboard.finder.find("y" * 3000)
        poll_until(dashboard.poll, lambda: "Nothing that is open" in dashboard.session.problem)
        assert len(dashboard.session.problem) < 400
    finally:
        dashboard.close()
