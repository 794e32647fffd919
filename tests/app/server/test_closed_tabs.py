"""What a closed tab held is free again, whether a browser came for the page or not."""

from __future__ import annotations

import asyncio
import gc
import json
import time
import weakref
from functools import partial

import panel as pn
import panel_material_ui as pmui
import pytest
from bokeh.models import ColumnDataSource
from bokeh.plotting import figure

from benchmarks.tab_client import Tab, ask, open_tab
from genoviz_app.pages.tracks.track import Scale
from genoviz_app.parts.turn import Turn
from genoviz_app.server.closed_tabs import Closings, iter_take_apart
from genoviz_app.session.address import Address
from tests.browser.conftest import served
from tests.soak.people import PAGES, Diary, Wanderer
from tests.waiting import PATIENCE

MEGABYTE = 2**20
KEPT = 30 * MEGABYTE


@pytest.fixture(scope="module")
def url():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONMALLOC", "malloc")  # as `genoviz serve` begins anew with it
        with served("-m", "benchmarks.tabs_server", "2") as (url, lines):
            yield url
    assert not any("Traceback" in line for line in lines), "".join(lines)


def wait_until_closed(url):
    """Wait until no dashboard lives; return what the server says then."""
    end = time.monotonic() + PATIENCE
    while (said := json.loads(ask(url, "tabs")))["dashboards"]:
        assert time.monotonic() < end, f"{said['dashboards']} closed tabs live"
        time.sleep(1)
    return said


def test_pages_for_which_no_browser_came_are_freed(url):
    for _ in range(2):
        ask(url)
    before = wait_until_closed(url)
    for _ in range(4):
        ask(url)
    after = wait_until_closed(url)
    assert after["memory"] < before["memory"] + 40 * MEGABYTE


def test_tabs_that_were_used_are_freed(url):
    for _ in range(2):
        asyncio.run(open_tab(url))
    before = wait_until_closed(url)
    for _ in range(4):
        asyncio.run(open_tab(url))
    after = wait_until_closed(url)
    assert after["memory"] < before["memory"] + 60 * MEGABYTE


def test_tabs_that_come_at_once_are_served_and_what_they_took_goes_back_to_the_system(url):
    """Each page is kept until its browser comes, and the server answers between the pieces."""

    async def open_all():
        tabs = await asyncio.gather(*(open_tab(url, closes=False) for _ in range(4)))
        most = json.loads(ask(url, "tabs"))["memory"]
        await asyncio.gather(*(tab.close() for tab in tabs))
        return most

    asyncio.run(open_tab(url))  # what is made once is there
    before = wait_until_closed(url)["memory"]
    most = asyncio.run(open_all())
    wait_until_closed(url)
    # A quarter goes back, unless they took hardly more than pages of memory that are kept anyway.
    at_most = before + max(3 * (most - before) / 4, KEPT)
    end = time.monotonic() + PATIENCE
    while (now := json.loads(ask(url, "tabs"))["memory"]) > at_most:
        megabytes = [round(n_bytes / MEGABYTE) for n_bytes in (before, most, now)]
        assert time.monotonic() < end, f"MB before, at most, and now: {megabytes}"
        time.sleep(1)


def test_a_closed_tab_goes_without_a_search_and_takes_nothing_from_another(url):
    """Two tabs have all pages; one is closed, and the other goes through them once more."""

    async def see_all_pages(person):
        for _ in PAGES:
            await person.act()

    async def live():
        people = [Wanderer(url, {"file": "simulated"}, Diary(), seed) for seed in range(2)]
        for person in people:
            person.tab = await Tab.open(url, person.query)
            await person.begin()
            await see_all_pages(person)
        gone, other = people
        before = json.loads(ask(url, "tabs"))
        await gone.tab.close()
        end = time.monotonic() + PATIENCE
        while (said := json.loads(ask(url, "tabs")))["dashboards"] == before["dashboards"]:
            assert time.monotonic() < end, "the closed tab lives"
            await asyncio.sleep(0.5)
        await see_all_pages(other)
        await other.tab.close()
        return before["collections"], said["collections"], other.tab.errors

    wait_until_closed(url)
    before, after, errors = asyncio.run(live())
    assert (after - before, errors) == (0, [])


@pytest.fixture
def collections():
    """How many whole collections of garbage there were."""
    whole = []

    def note(phase, facts):
        if phase == "start" and facts["generation"] == 2:
            whole.append(facts)

    gc.freeze()  # so that they are quick
    gc.callbacks.append(note)
    yield whole
    gc.callbacks.remove(note)


def test_parts_are_emptied_and_what_tabs_share_is_not():
    """Whatever a page leads to: members of enumerations, addresses, designs and arrays."""
    address, shared = Address(kmers="ACGT"), [1, 2]
    select = pmui.Select(options={"view": Scale.VIEW, "link": address}, value=Scale.VIEW)
    source = ColumnDataSource({"x": shared})
    picture = figure()
    picture.scatter("x", "x", source=source)
    turn = Turn(picture, partial(list, [select, source]))
    column = pn.Column(select, pn.pane.Bokeh(picture))
    design, theme = select._design, select._design and select._design.theme
    found = [weakref.ref(each) for each in (select, source, picture, turn)]
    roots = [column, turn]
    del column, turn, picture, source, select
    gc.disable()
    try:
        for _ in iter_take_apart(roots):
            pass
        assert [ref() for ref in found] == [None] * len(found)
    finally:
        gc.enable()
    assert (Scale.VIEW.name, Scale("view"), address.kmers) == ("VIEW", Scale.VIEW, "ACGT")
    assert shared == [1, 2]
    assert design is None or design.theme is theme


class Knot:
    """Refers to itself."""

    def __init__(self):
        self.itself = self


def test_a_closed_tab_that_something_holds_is_looked_for_until_it_is_gone(collections):
    closings = Closings(rest=0.01, seconds=0.02)

    async def close():
        knot = Knot()
        found = weakref.ref(knot)
        closings.expect(knot)
        async with asyncio.timeout(PATIENCE):
            while len(collections) < 3:
                await asyncio.sleep(0.01)
            del knot
            while found() is not None or closings._looks:
                await asyncio.sleep(0.01)

    asyncio.run(close())


def test_a_tab_is_left_whole_while_a_thread_works_for_it():
    closings, works = Closings(rest=0.01, seconds=9), [True]

    async def close():
        tab = pmui.Button(label="Run")
        closings.expect(tab, is_at_rest=lambda: not works)
        await asyncio.sleep(0.1)
        assert tab.label == "Run"
        works.clear()
        async with asyncio.timeout(PATIENCE):
            while vars(tab):
                await asyncio.sleep(0.01)

    asyncio.run(close())


def test_a_failure_of_one_does_not_keep_the_next(caplog):
    closings = Closings(rest=0.01, seconds=9)

    async def close():
        tab = pmui.Button()
        closings.expect(Knot(), is_at_rest=lambda: 1 / 0)
        closings.expect(tab)
        async with asyncio.timeout(PATIENCE):
            while vars(tab):
                await asyncio.sleep(0.01)

    asyncio.run(close())
    assert "ZeroDivisionError" in caplog.text
