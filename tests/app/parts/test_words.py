"""What people and files say is shown as it is, not as markup."""

from __future__ import annotations

import ast
import re
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise

import panel as pn
import pytest

from genoviz_app.dashboard import Dashboard
from genoviz_app.parts.words import plain_text
from tests.app.conftest import poll_until
from tests.conftest import ROOT

NOUNS = re.compile(
    " (hits?|sites|nodes|edges|paths|steps|rows|columns|guides|letters|haplotypes|samples|variants|"
    "animals|genes|regions|intervals|features|pairs|places|k-mers|contigs|blocks|files)\\b"
)
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


def test_the_pages_count_with_words_of_the_right_number():
    found = []
    for path in (ROOT / "app").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            parts = node.values if isinstance(node, ast.JoinedStr) else ()
            for number, words in pairwise(parts):
                if is_count(number) and re.match(NOUNS, str(getattr(words, "value", ""))):
                    found.append(f"{path.name}:{number.lineno}: {ast.unparse(number)}{words.value}")
    assert found == [], "n_words writes '1 hit' and '2 hits'"


def is_count(part):
    """Return whether a part of an f-string is a number that may be 1."""
    spec = isinstance(part, ast.FormattedValue) and part.format_spec
    return (
        bool(spec)
        and ast.unparse(spec) in ("f','", "','")
        and not ast.unparse(part.value).isupper()
    )


def test_rows_of_a_long_table_are_named_by_a_singular():
    found = re.findall(
        r'^    noun = "(\w+)"', "".join(p.read_text() for p in (ROOT / "app").rglob("*.py")), re.M
    )
    assert len(found) >= 5
    assert [noun for noun in found if noun.endswith("s")] == []
