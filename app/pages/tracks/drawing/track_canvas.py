"""The browser's canvas for tracks, and the messages to it.

The browser moves its content by itself and reports the view; frames supply what is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import param

from genoviz_app.pages.tracks.drawing.feature_lane import PlacedFeatures
from genoviz_app.pages.tracks.drawing.feature_packing import View
from genoviz_app.pages.tracks.drawing.lanes import Lane, TrackRow
from genoviz_app.pages.tracks.drawing.margin import hint_of, shorten
from genoviz_app.pages.tracks.drawing.summaries import Summary
from genoviz_app.pages.tracks.drawing.track_drawer import Drawing
from genoviz_app.pages.tracks.track import Track
from genoviz_app.parts.canvas_component import (
    CanvasComponent,
    Message,
    join_canvas,
    pack_arrays,
)
from genoviz_app.plots.legend import length_text, short_number
from genoviz_app.plots.lit_stretches import LitAlong

SCRIPTS = Path(__file__).parent / "canvas"
SCRIPT_NAMES = (
    "span", "theme", "axis", "values", "features", "overview", "margin", "tip", "gestures",
    "picture", "main",
)  # fmt: skip
NO_WIDTH = 900
MAX_COLOURS = 255
Arrays = dict[str, np.ndarray]


def canvas_script() -> str:
    """Return the browser code as a single module."""
    return join_canvas(SCRIPTS, SCRIPT_NAMES)


class TrackCanvas(CanvasComponent):
    """A canvas of tracks with their names, an overview, and reports of user actions.

    Kinds of messages are ``hello`` (a browser shows the canvas), ``resize``, ``view``, ``painted``,
    ``point``, ``leave``, ``click``, ``choose``, ``place``, ``height``, ``hide``, ``remove`` and
    ``go``.

    Attributes
    ----------
    contig, length
        The contig to show, and its length, bp; "" for none.
    start, end
        The interval, 0-based, bp: as last reported by the browser if the user moved it.
    width
        CSS pixels.
    is_moved
        Whether the user has moved the view.
    """

    summary = param.String("Tracks", doc="What a screen reader says of the picture.")

    _esm = canvas_script()

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self.contig, self.length = "", 1
        self.start, self.end = 0.0, 1.0
        self.width = NO_WIDTH
        self.is_moved = False
        self._n_moves = 0

    @property
    def view(self) -> View:
        """The current view of the canvas."""
        return View(self.contig, self.start, self.end, self.width)

    @property
    def place(self) -> Message:
        """The position that is sent to the browser."""
        return {
            "contig": self.contig,
            "length": self.length,
            "bounds": [self.start, self.end],
            "moves": self._n_moves,
        }

    def look_at(self, contig: str, length: int, start: float, end: float) -> None:
        """Set the interval; `send_place` sends it to the browser."""
        self.contig, self.length, self.start, self.end = contig, length, start, end

    def send_place(self) -> None:
        """Send the position to the browser, which ignores it while the user moves the view."""
        self.send({"kind": "view", **self.place})

    def _handle_msg(self, data: Message) -> None:
        kind = data.get("kind", "")
        if "bounds" in data and kind in ("hello", "resize", "view"):
            self.width = max(int(data["width"]), 1)
            start, end = map(float, data["bounds"])
            is_own = kind == "view" and data.get("contig") == self.contig and bool(self.contig)
            if is_own and 0 <= start < end <= self.length:
                self.start, self.end, self.is_moved = start, end, True
        if "moves" in data:
            self._n_moves = int(data["moves"])
        super()._handle_msg(data)


def frame_message(
    drawing: Drawing,
    *,
    chosen: Track | None,
    hidden: Sequence[Track] = (),
    overview: np.ndarray | None = None,
    lit: Sequence[LitAlong] = (),
) -> Message:
    """Return the message of a frame.

    Parameters
    ----------
    drawing
        The drawn tracks.
    chosen
        The selected track.
    hidden
        Hidden tracks.
    overview
        Heights along the whole contig (uint8), or None if the browser has them.
    lit
        The highlights on the contig.
    """
    arrays: Arrays = {}
    if overview is not None:
        arrays["overview"] = overview
    lanes = [_lane(lane, chosen, drawing.bounds[0], arrays) for lane in drawing.lanes]
    return {
        "kind": "frame",
        "origin": drawing.bounds[0],
        "height": drawing.height,
        "lanes": lanes,
        "lit": [_lit(number, each, drawing, arrays) for number, each in enumerate(lit)],
        "said": describe_bins(drawing.bin_bp),
        "hidden": [{"id": track_id(track), "title": track.title} for track in hidden],
    } | pack_arrays(arrays)


def _lit(number: int, lit: LitAlong, drawing: Drawing, arrays: Arrays) -> Message:
    """Add the intervals of a set; the browser draws each at least two pixels wide."""
    start, end = drawing.bounds
    rows = lit.between(start, end, drawing.view.bp_per_pixel)
    arrays[f"lit{number}"] = (rows[:, :2] - start).astype(np.float32).ravel()
    return {"name": f"lit{number}", "title": lit.title, "colour": lit.colour}


def describe_bins(bin_bp: int) -> str:
    """Describe what the line and the shading behind it show."""
    if bin_bp <= 1:
        return "Values base by base"
    return f"Mean and range of {length_text(bin_bp)} bins"


def track_id(track: Track) -> str:
    """Return the identifier of a track in messages."""
    return str(id(track))


def _lane(lane: Lane, chosen: Track | None, origin: int, arrays: Arrays) -> Message:
    first = lane.first
    return {
        "top": first.top,
        "bottom": first.bottom,
        "scale": list(first.scale),
        "ends": [short_number(value) for value in first.scale],
        "is_log": first.track.look.is_log,
        "is_mirrored": lane.is_mirrored,
        "has_values": bool(lane.parts),
        "note": first.note,
        "hint": "\n".join(map(hint_of, lane.rows)),
        "rows": [_row(row, row.track is chosen, origin, arrays) for row in lane.rows],
    }


def _row(row: TrackRow, is_chosen: bool, origin: int, arrays: Arrays) -> Message:
    own = track_id(row.track)
    parts = [
        _values(f"{own}-{i}-", summary, is_down, origin, arrays)
        for i, (summary, is_down) in enumerate(row.parts)
    ]
    return {
        "id": own,
        "title": row.track.title,
        "short": shorten(row.track.title),
        "colour": row.track.look.colour,
        "is_chosen": is_chosen,
        "parts": parts,
        "boxes": None if row.features is None else _boxes(f"{own}-", row.features, origin, arrays,
                                                          row.track.look.colour),
    }  # fmt: skip


def _values(name: str, summary: Summary, is_down: bool, origin: int, arrays: Arrays) -> Message:
    """Add the values of a part; equal bins need no edges except the end of the last one."""
    arrays[f"{name}mean"] = summary.mean.astype(np.float32)
    if summary.bin_bp == 0:
        arrays[f"{name}edges"] = (summary.edges - origin).astype(np.int32)
    if not summary.is_exact:
        arrays[f"{name}low"] = summary.low.astype(np.float32)
        arrays[f"{name}high"] = summary.high.astype(np.float32)
    return {
        "name": name,
        "is_down": is_down,
        "first": int(summary.edges[0]),
        "end": int(summary.edges[-1]),
        "size": summary.bin_bp,
    }


def _boxes(
    name: str, found: PlacedFeatures, origin: int, arrays: Arrays, colour: str
) -> dict[str, Any]:
    colours, inks = np.unique(found.colours, return_inverse=True)
    arrays |= {
        f"{name}lefts": (found.lefts - origin).astype(np.float32),
        f"{name}rights": (found.rights - origin).astype(np.float32),
        f"{name}begins": (found.begins - origin).astype(np.float32),
        f"{name}stops": (found.stops - origin).astype(np.float32),
        f"{name}owners": found.owners.astype(np.int32),
        f"{name}tops": found.tops.astype(np.uint16),
        f"{name}inks": np.minimum(inks, MAX_COLOURS).astype(np.uint8),
        f"{name}strands": (found.strands + 1).astype(np.uint8),
    }
    return {
        "name": name,
        "box": found.box_pixels,
        "has_blocks": bool(found.have_blocks.any()),
        "names": found.names,
        "colours": [
            colour if value < 0 else f"#{value:06x}"
            for value in colours[: MAX_COLOURS + 1].tolist()
        ],
    }
