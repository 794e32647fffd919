"""Links to the page: position, depth tracks, and track styles.

A link contains the order, colours, heights, scales, overlays and visibility of tracks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields
from enum import StrEnum
from typing import Any

from genoviz.errors import GenovizError, ParameterError
from genoviz_app.opening.track_data import TrackKind
from genoviz_app.pages.tracks.counting.path_depths import PathDepths, PathSet
from genoviz_app.pages.tracks.drawing.browser import TrackBrowser
from genoviz_app.pages.tracks.drawing.navigation import Navigation
from genoviz_app.pages.tracks.track import (
    COLOURS,
    HEIGHTS,
    MAX_HEIGHT,
    MIN_HEIGHT,
    Track,
    TrackLook,
)
from genoviz_app.pages.tracks.track_list import ANNOTATIONS_TITLE, DEPTH_TITLE, TrackList
from genoviz_app.session.address import Address
from genoviz_app.session.session import Session

BUILT_IN = {DEPTH_TITLE: "depth", ANNOTATIONS_TITLE: "annotations"}
FIELDS = {field.name.removeprefix("is_").removeprefix("as_"): field for field in fields(TrackLook)}
_DEFAULTS = TrackLook("", 0)
_COLOUR = re.compile("[0-9a-fA-F]{6}")


class TracksLink:
    """Writes links, and applies a link once everything it names is open."""

    def __init__(
        self,
        session: Session,
        tracks: TrackList,
        depths: PathDepths,
        browser: TrackBrowser,
        navigation: Navigation,
    ) -> None:
        self._session, self._tracks, self._depths = session, tracks, depths
        self._browser, self._navigation = browser, navigation
        self._waiting: Address | None = None
        self._n_asked = 0

    @property
    def address(self) -> Address:
        """The present view as fields of a link."""
        return Address(
            region=self._browser.region,
            looks=write_looks(self._tracks.tracks, self._session.tracks.sources),
            depths=tuple(map(str, self._depths.sets)),
        )

    def follow(self, link: Address) -> None:
        """Start to apply a link."""
        self._waiting, self._n_asked = link, self._navigation.n_asked

    def poll(self) -> bool:
        """Apply the link once everything is open; return whether tracks have changed."""
        link = self._waiting
        if link is None or self._session.graphs.is_opening or self._session.tracks.is_opening:
            return False
        self._waiting = None
        complaints = [*self._follow_depths(link)]
        sources = self._session.tracks.sources
        complaints += follow_looks(self._tracks.tracks, sources, link.looks)
        # If the user has moved meanwhile, stay there.
        if link.region is not None and self._navigation.n_asked == self._n_asked:
            contig = self._navigation.known(link.region.path)
            if contig is None:
                complaints.append(
                    f"The link's region is not shown: nothing here has {link.region.path}; "
                    "open a file or a graph that has it."
                )
            else:
                # A layout beside the tracks has a view of its own, which is in the link as well.
                beside = self._session.is_split
                (self._navigation.follow if beside else self._navigation.go_to)(link.region)
        for complaint in complaints:
            self._session.complain(complaint)
        return True

    def _follow_depths(self, link: Address) -> list[str]:
        complaints = []
        for text in link.depths:
            try:
                self._depths.add(PathSet.parse(text))
            except GenovizError as error:
                complaints.append(f"The link's depth is not shown: {error}.")
        return complaints


def track_keys(tracks: Sequence[Track], sources: Sequence[str]) -> dict[str, Track]:
    """Return the tracks that a link can name, in their default order.

    Files are named by their number in the link, from 1; tracks of the graph by a keyword or title.
    """
    found: dict[str, Track] = {}
    for track in tracks:
        if track.file is None:
            found.setdefault(BUILT_IN.get(track.title, track.title), track)
    ranks = {key: rank for rank, key in enumerate(BUILT_IN.values())}
    found = dict(sorted(found.items(), key=lambda item: (ranks.get(item[0], 9), item[0])))
    for number, source in enumerate(sources, 1):
        of_file = (t for t in tracks if t.file is not None and t.file.source == source)
        track = next(of_file, None)
        if track is not None:
            found[str(number)] = track
    return found


def write_looks(tracks: Sequence[Track], sources: Sequence[str]) -> tuple[str, ...]:
    """Return the differences from the default styles, one item per track.

    An item is the track's name and its settings: ``2,height:120,log``. If the order is not the
    default one, all tracks are listed in order.
    """
    keys = track_keys(tracks, sources)
    names = {id(track): key for key, track in keys.items()}
    shown = [track for track in tracks if id(track) in names]
    items = [[names[id(t)], *_settings(t, place)] for place, t in enumerate(shown)]
    is_usual = [item[0] for item in items] == [*keys]
    return tuple(",".join(item) for item in items if len(item) > 1 or not is_usual)


def follow_looks(tracks: list[Track], sources: Sequence[str], items: Sequence[str]) -> list[str]:
    """Apply order and styles of a link to tracks; return errors as sentences."""
    keys, complaints = track_keys(tracks, sources), []
    wanted: dict[str, list[str]] = {}
    for item in items:
        key, *settings = item.split(",")
        if key in keys:
            wanted[key] = settings
        else:
            known = ", ".join(keys) or "none, because no track is open"
            complaints.append(f"The link speaks of a track {key!r}, needs one of {known}.")
    order = [*wanted] if len(wanted) == len(keys) else [*keys]
    known = [keys[key] for key in order]
    others = [track for track in tracks if all(track is not own for own in known)]
    tracks[:] = [*known, *others]
    for place, key in enumerate(order):
        look = keys[key].look
        look.colour = COLOURS[place % len(COLOURS)]
        for setting in wanted.get(key, ()):
            try:
                _set(look, setting)
            except GenovizError as error:
                complaints.append(f"The link's track {key} is not as it says: {error}.")
    return complaints


def _kind_of(track: Track) -> TrackKind:
    if track.data is not None:
        return track.data.kind
    return TrackKind.FEATURES if track.title == ANNOTATIONS_TITLE else TrackKind.SIGNAL


def _settings(track: Track, place: int) -> list[str]:
    look, found = track.look, []
    for word, field in FIELDS.items():
        value, usual = getattr(look, field.name), getattr(_DEFAULTS, field.name)
        if field.name == "colour":
            value, usual = value.lower(), COLOURS[place % len(COLOURS)]
        elif field.name == "height":
            usual = HEIGHTS[_kind_of(track)]
        if value != usual:
            found.append(_write(word, value))
    return found


def _write(word: str, value: Any) -> str:
    if isinstance(value, bool):
        return word if value else f"{word}:no"
    if isinstance(value, float):
        return f"{word}:{value:.10g}"
    return f"{word}:{str(value).removeprefix('#')}"


def _set(look: TrackLook, setting: str) -> None:
    word, _, text = setting.partition(":")
    if word not in FIELDS:
        raise ParameterError(f"{word!r} is none of {', '.join(FIELDS)}")
    name, usual = FIELDS[word].name, getattr(_DEFAULTS, FIELDS[word].name)
    if name == "colour":
        if not _COLOUR.fullmatch(text):
            raise ParameterError(f"{word} is {text!r}, needs six hexadecimal digits")
        setattr(look, name, f"#{text}")
    elif isinstance(usual, bool):
        setattr(look, name, text != "no")
    elif isinstance(usual, StrEnum):
        if text not in list(type(usual)):
            raise ParameterError(f"{word} is {text!r}, which is none of {', '.join(type(usual))}")
        setattr(look, name, type(usual)(text))
    else:
        setattr(look, name, _number(name, word, text))


def _number(name: str, word: str, text: str) -> float | int:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not abs(value) < 1e300:
        raise ParameterError(f"{word} is {text!r}, needs a number")
    return round(min(max(value, MIN_HEIGHT), MAX_HEIGHT)) if name == "height" else value
