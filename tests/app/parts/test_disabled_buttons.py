"""A button that cannot be pressed says why, with nothing open and with the example of a page."""

from __future__ import annotations

import re
from pathlib import Path

import panel_material_ui as pmui
import pytest

import genoviz_app
from genoviz_app.dashboard import Dashboard
from genoviz_app.pages import PAGES
from genoviz_app.parts.dock import Dock
from genoviz_app.parts.questions import BUTTONS, allow, says_why_not
from genoviz_app.parts.views import Views
from genoviz_app.server.settings import SETTINGS
from tests.app.conftest import poll_until


def is_button(part):
    return isinstance(part, BUTTONS)


def panels_of(page):
    """Return what stands on a page, and what its tabs have yet to show."""
    yield from (*page.sidebar, page.content)
    for part in vars(page).values():
        if isinstance(part, Views):
            yield from (part.view(view.title).panel for view in part._views)
        elif isinstance(part, Dock):
            yield from (part._panel(index).panel for index in range(len(part._kinds)))


def silent_ones(page):
    """Return the buttons that are disabled and give no reason; there are some that give one."""
    found = [button for panel in panels_of(page) for button in panel.select(is_button)]
    disabled = [button for button in found if button.disabled]
    assert len(found) > 4
    assert page.slug in ("genotypes", "tracks") or disabled
    return [button.label or button.description for button in disabled if not says_why_not(button)]


@pytest.mark.parametrize("slug", [page.slug for page in PAGES])
def test_every_disabled_button_says_why(slug, monkeypatch):
    monkeypatch.setattr(SETTINGS, "files", ())
    dashboard = Dashboard(f"?page={slug}")  # nothing is open
    page, session = dashboard.page, dashboard.session
    page.complete()
    dashboard.poll()
    assert silent_ones(page) == []
    page.try_example()
    files = (session.graphs, session.tracks, session.indexes, session.genomes, session.genotypes)
    poll_until(dashboard.poll, lambda: not any(each.is_opening for each in files))
    for _ in range(3):
        dashboard.poll()
    assert silent_ones(page) == []
    dashboard.close()


def test_a_button_is_disabled_in_one_way_alone():
    """Fields may be disabled as they like; a button is by `allow`, which asks for a reason."""
    root = Path(genoviz_app.__file__).parent
    found = {
        match[1]
        for path in root.rglob("*.py")
        for match in re.finditer(r"\.(\w+)\.disabled = ", path.read_text())
    }
    assert found == {"colour", "colours", "labels"}


def test_a_description_is_never_empty_and_what_a_button_does_comes_back():
    button = pmui.Button(label="Run", description="Run: lay the graph out")
    allow(button, "open a graph first")
    assert (button.disabled, button.description) == (True, "Run: open a graph first")
    assert says_why_not(button)
    allow(button)
    assert (button.disabled, button.description) == (False, "Run: lay the graph out")
    button.label = "Pause"
    allow(button, "no layout is running", does="Pause: hold it")
    assert button.description == "Pause: no layout is running"
    icon = pmui.IconButton(description="Back: to the region before", icon="arrow_back")
    allow(icon, "this is the first region")
    assert icon.description == "Back: this is the first region"
