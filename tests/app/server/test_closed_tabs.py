"""What a closed tab held is free again, whether a browser came for the page or not."""

from __future__ import annotations

import asyncio
import json
import time

import pytest

from benchmarks.tab_client import ask, open_tab
from tests.browser.conftest import served
from tests.waiting import PATIENCE

MEGABYTE = 2**20
KEPT = 30 * MEGABYTE


@pytest.fixture(scope="module")
def url():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONMALLOC", "malloc")  # as `genoviz serve` begins anew with it
        with served("-m", "benchmarks.tabs_server", "2") as (url, _):
            yield url


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
