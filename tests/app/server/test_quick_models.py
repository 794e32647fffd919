"""Pages whose models are made quickly are those that the libraries make, with less work."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from genoviz_app.pages import PAGES

MAKE = """
import cProfile, json, sys
import panel as pn
from bokeh.document import Document
from bokeh.themes import Theme
from panel.io.state import set_curdoc
from types import SimpleNamespace
from genoviz_app.dashboard import Dashboard
from genoviz_app.server.quick_models import make_models_quickly
from genoviz_app.theme import CHART_THEME

pn.extension("filedropper", "tabulator", notifications=True)
request = SimpleNamespace(arguments={}, headers={}, cookies={}, protocol="http", host="here")

def make(page):
    document = Document()
    document.theme = Theme(json=CHART_THEME)
    context = SimpleNamespace(
        id="tab", request=request, server_context=object(), session=None, _document=document
    )
    document._session_context = lambda: context
    with set_curdoc(document):
        dashboard = Dashboard(f"page={page}")
        dashboard.root.server_doc(document)
        dashboard.close()
        content = document.to_json().content
        content.pop("defs", None)  # which the first page of a process brings
        return json.dumps(content, default=lambda part: bytes(part.data).hex())

for way in range(2):
    for page in sys.argv[1:]:
        print(make(page))
    with cProfile.Profile() as profile:
        make(sys.argv[1])
    print(sum(row.callcount for row in profile.getstats()))
    make_models_quickly()
"""


@pytest.fixture(scope="module")
def made():
    """Pages as text, and the calls that the first took; in the libraries' way, and quickly."""
    command = [sys.executable, "-c", MAKE, *(page.slug for page in PAGES)]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "more slowly" not in process.stderr, "a library has another shape"
    lines = process.stdout.splitlines()
    half = len(lines) // 2
    assert half == len(PAGES) + 1
    return lines[:half], lines[half:]


def without_numbers(page):
    """Return a page with its ids in their order instead of their numbers; colours are no ids."""
    order: dict[str, int] = {}
    identity = r'(?<![#\w])[a-zA-Z]+\d{3,}(?=\\?")'
    return re.sub(identity, lambda found: f"id{order.setdefault(found[0], len(order))}", page)


@pytest.mark.parametrize("number", range(len(PAGES)))
def test_a_page_is_the_same(made, number):
    plain, quick = (without_numbers(pages[number]) for pages in made)
    assert len(plain) > 50_000
    assert plain == quick


def test_a_page_takes_half_the_calls(made):
    plain, quick = (int(pages[-1]) for pages in made)
    assert quick < plain / 2
