"""Tracks moved, made higher, hidden and taken away on the canvas itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from genoviz_app.pages.tracks.drawing.frame_message import track_id
from genoviz_app.pages.tracks.track import LEAST_HEIGHT, MOST_HEIGHT, Track
from genoviz_app.parts.canvas_component import Message

if TYPE_CHECKING:
    from genoviz_app.pages.tracks.drawing.browser import TrackBrowser
    from genoviz_app.pages.tracks.track_list import TrackList


class Rearranging:
    """Does what the canvas of a browser asks for."""

    def __init__(self, browser: TrackBrowser, tracks: TrackList) -> None:
        self._browser, self._tracks = browser, tracks
        for kind, act in {
            "choose": lambda _track, _message: None,
            "place": self._place,
            "height": self._set_height,
            "hide": self._hide,
            "remove": lambda track, _message: tracks.remove(track),
        }.items():
            browser.canvas.listen(kind, lambda message, act=act: self._take(act, message))

    def _find(self, name: str | None) -> Track | None:
        return next((track for track in self._tracks if track_id(track) == name), None)

    def _take(self, act, message: Message) -> None:
        track = self._find(message["track"])
        if track is None:
            return
        act(track, message)
        if track in self._tracks.tracks:
            self._browser.choose(track)
            self._browser.on_choose(track)
        self._browser.flush()

    def _place(self, track: Track, message: Message) -> None:
        onto = self._find(message.get("onto"))
        if onto is not None:
            self._tracks.overlay(track, onto)
        else:
            self._tracks.place(track, self._find(message.get("before")))

    def _set_height(self, track: Track, message: Message) -> None:
        track.look.height = min(max(int(message["height"]), LEAST_HEIGHT), MOST_HEIGHT)

    def _hide(self, track: Track, message: Message) -> None:
        track.look.is_hidden = bool(message["is_hidden"])
