"""Buttons and menus that make a file hand it over, or say why there is none."""

from __future__ import annotations

import asyncio

import pytest

from genoviz.errors import GenovizError
from genoviz_app.parts.file_button import ExportMenu, file_button
from tests.waiting import PATIENCE


@pytest.fixture
def taken(session):
    """Files that were handed to the browser."""
    taken = []
    session.hand_over = lambda *file: taken.append(file)
    return taken


def some_file(ending):
    return lambda: (f"some.{ending}", lambda path: path.write_text("=a\tb\n"))


def press(button, has_answered):
    async def wait():
        button.clicks += 1
        while not has_answered():
            await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(wait(), PATIENCE))


def test_a_file_is_handed_over(session, taken):
    press(file_button(session, "TSV", some_file("tsv")), lambda: taken)
    assert taken == [("some.tsv", b"'=a\tb\n")]
    assert session.problem == ""


def test_where_no_file_is_made_it_is_said_why(session, taken):
    def prepare():
        raise GenovizError("nothing is computed yet")

    press(file_button(session, "TSV", prepare), lambda: session.problem)
    assert taken == []
    assert session.problem == "The file was not made: nothing is computed yet."


def test_a_menu_hands_over_what_is_chosen_of_what_it_offers(session, taken):
    files = {"Rows (TSV)": some_file("tsv"), "A picture (PNG)": some_file("png")}
    menu = ExportMenu(session, files)
    assert menu.offered == list(files)
    assert [item["icon"] for item in menu.items] == ["table_rows", "image"]
    asyncio.run(menu.choose(menu.items[1]))
    asyncio.run(menu.choose(menu.items[0]))
    assert taken == [("some.png", b"=a\tb\n"), ("some.tsv", b"'=a\tb\n")]
    menu.offer(["A picture (PNG)"])
    assert menu.offered == ["A picture (PNG)"]
    numbers = ExportMenu(session, files, has_names=False)
    asyncio.run(numbers.choose(numbers.items[0]))
    assert taken[2:] == [("some.tsv", b"=a\tb\n")]
