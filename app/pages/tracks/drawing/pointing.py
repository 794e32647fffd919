"""What is under the pointer, and what a click finds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from genoviz.model import PathRegion
from genoviz_app.pages.tracks.drawing.frame_message import track_id
from genoviz_app.pages.tracks.drawing.margin import describe_value, feature_card
from genoviz_app.parts.canvas_component import Message

if TYPE_CHECKING:
    from genoviz_app.pages.tracks.drawing.browser import TrackBrowser


class Pointing:
    """Answers the canvas of a browser."""

    def __init__(self, browser: TrackBrowser) -> None:
        self._browser = browser
        canvas = browser.canvas
        canvas.listen("point", self._take_point)
        canvas.listen("click", self._take_click)
        canvas.listen("go", self._take_go)

    def values(self, position: int) -> dict[str, str]:
        """Return what each track has at a base, by its name in messages."""
        drawing, browser = self._browser.drawing, self._browser
        if drawing is None or not 0 <= position < browser.length:
            return {}
        contig = browser.contig
        return {track_id(row.track): describe_value(row, contig, position) for row in drawing.rows}

    def _take_point(self, message: Message) -> None:
        position, y = float(message["position"]), float(message["y"])
        self._browser.canvas.send(
            {
                "kind": "values",
                "values": self.values(int(position)),
                "tip": feature_card(self._browser.drawing, position, y),
            }
        )

    def _take_click(self, message: Message) -> None:
        browser, position, y = self._browser, float(message["position"]), float(message["y"])
        row = browser.row_at(y)
        if row is not None:
            browser.choose(row.track)
            browser.on_choose(row.track)
        tip = feature_card(browser.drawing, position, y)
        browser.canvas.send({"kind": "card", "tip": tip, "position": position, "y": y})
        browser.flush()

    def _take_go(self, message: Message) -> None:
        """Show a feature whole, with some room beside it."""
        browser = self._browser
        start, end = map(int, message["bounds"])
        room = max((end - start) // 10, 1)
        region = PathRegion(browser.contig, max(start - room, 0), min(end + room, browser.length))
        browser.look_at(region, browser.length)
        browser.flush()
