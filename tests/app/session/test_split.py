"""Another page beside or below the layout: the same page, in the link, and following."""

from __future__ import annotations

import numpy as np
import pytest

from genoviz.errors import ParameterError
from genoviz.model import PathRegion
from genoviz_app.dashboard import Dashboard
from genoviz_app.pages.pangenome.picture import shared_marks
from genoviz_app.session.session import OpenGraph
from genoviz_app.session.split import Split
from tests.app.conftest import poll_until

PAGES = ("tracks", "kmers")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tracks", Split("tracks", "beside", 45)),
        ("kmers,below,30", Split("kmers", "below", 30)),
        ("tracks,beside,99", Split("tracks", "beside", 75)),
    ],
)
def test_a_link_says_what_is_docked(text, expected):
    assert Split.parse(text, pages=PAGES) == expected
    assert Split.parse(str(expected), pages=PAGES) == expected


@pytest.mark.parametrize("text", ["pangenome", "tracks,above", "tracks,below,much", ""])
def test_what_is_wrong_with_it_is_said(text):
    with pytest.raises(ParameterError, match="needs one of tracks, kmers"):
        Split.parse(text, pages=PAGES)


def test_a_page_that_is_clicked_before_the_tab_is_loaded_is_shown():
    dashboard = Dashboard("?page=quality")
    deck = dashboard.deck
    try:
        deck.switch.value = "kmers"
        deck.complete()
        assert deck.page.slug == "kmers"
    finally:
        dashboard.close()


def test_the_one_page_of_the_tab_is_docked_shown_full_and_brought_back(graph):
    dashboard = Dashboard("?split=tracks,below,30")
    deck, session = dashboard.deck, dashboard.session
    try:
        session.opened = OpenGraph("small", "small", graph)
        deck.complete()
        layout, tracks = deck.in_sight
        assert (layout.slug, tracks.slug, session.is_split) == ("pangenome", "tracks", True)
        assert layout.dock.is_folded
        assert tracks.dock.is_folded
        deck.divider._handle_msg({"act": "share", "share": 60.4})
        deck.divider._handle_msg({"act": "full"})
        assert deck.in_sight == (tracks,)
        assert not session.is_split
        assert not tracks.dock.is_folded
        deck.show("pangenome")
        assert deck.in_sight == (layout, tracks)
        poll_until(dashboard.poll, lambda: "split=tracks,below,60" in str(dashboard.bar.shown))
        assert deck.bring("tracks") is tracks
        assert deck.in_sight == (layout, tracks)
        deck.divider._handle_msg({"act": "page", "page": "kmers"})
        poll_until(dashboard.poll, lambda: [page.slug for page in deck.in_sight][1:] == ["kmers"])
        deck.divider._handle_msg({"act": "close"})
        poll_until(dashboard.poll, lambda: not session.is_split)
        assert deck.in_sight == (layout,)
        assert not layout.dock.is_folded
        deck.show("offtargets")
        deck._on_split_button("beside")  # the page that is shown, beside the layout
        poll_until(dashboard.poll, lambda: session.is_split)
        assert deck.split == Split("offtargets", "beside", 60)
    finally:
        dashboard.close()


def test_what_is_in_sight_of_a_path_is_its_main_stretch(graph, monkeypatch):
    stretches = np.array([[0, 4], [6, 7], [90, 92]])
    monkeypatch.setattr(shared_marks, "find_seen", lambda *_: (None, stretches))
    assert shared_marks.find_sight(graph, "ref", None) == PathRegion("ref", 0, 7)
    assert shared_marks.find_sight(graph, "other", None) is None
    monkeypatch.setattr(shared_marks, "find_seen", lambda *_: (None, stretches[:0]))
    assert shared_marks.find_sight(graph, "ref", None) is None
