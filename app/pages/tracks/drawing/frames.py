"""Frames of the tracks: one in flight, and the next drawn in the meantime.

A drawing goes to the browser as a message: words, and all arrays packed into one.

The browser answers each frame after painting it, and only then gets the next, always of the view
as it is by then. So a slow browser gets fewer frames and never a backlog.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import panel as pn

from genoviz_app.pages.tracks.drawing.feature_lane import PlacedFeatures
from genoviz_app.pages.tracks.drawing.lanes import Lane, TrackRow
from genoviz_app.pages.tracks.drawing.margin import hint_of, shorten
from genoviz_app.pages.tracks.drawing.summaries import Summary
from genoviz_app.pages.tracks.drawing.track_canvas import TrackCanvas
from genoviz_app.pages.tracks.drawing.track_drawer import Drawing
from genoviz_app.pages.tracks.track import Track
from genoviz_app.parts.canvas_component import Message, pack_arrays
from genoviz_app.plots.legend import length_text, short_number
from genoviz_app.server.right_of_way import CORES

MAX_COLOURS = 255
Arrays = dict[str, np.ndarray]
log = logging.getLogger(__name__)
LOST_FRAME_SECONDS = 4.0
RENDERER = ThreadPoolExecutor(max_workers=2, thread_name_prefix="genoviz-tracks")
"""Draws the tracks of all tabs; the kernels release the interpreter lock."""
Made = tuple[Drawing, Message]


def frame_message(
    drawing: Drawing,
    *,
    chosen: Track | None,
    hidden: Sequence[Track] = (),
    overview: np.ndarray | None = None,
) -> Message:
    """Return a frame.

    Parameters
    ----------
    drawing
        What is drawn.
    chosen
        The track that is marked.
    hidden
        Tracks that are not drawn.
    overview
        Heights over the whole contig (uint8), or None if the browser has them.
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
        "said": describe_bins(drawing.bin_bp),
        "hidden": [{"id": track_id(track), "title": track.title} for track in hidden],
    } | pack_arrays(arrays)


def describe_bins(bin_bp: int) -> str:
    """Return what a line and the shade behind it are."""
    if bin_bp <= 1:
        return "Values base by base"
    return f"Mean and range of {length_text(bin_bp)} bins"


def track_id(track: Track) -> str:
    """Return what messages call a track."""
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
    """Add the values of a part; bins of one length need no edges but the end of the last."""
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


class FrameLoop:
    """Feeds one canvas with frames.

    Parameters
    ----------
    canvas
        The canvas.
    make
        Called in a render thread; returns the drawing of the present view and its message.
    on_made
        Called with each drawing, under the document lock.
    on_hello
        Called under the document lock when a browser shows the canvas, and has nothing yet.

    Attributes
    ----------
    document
        Bokeh's document of the tab; None before a browser shows the canvas.
    n_painted
        Frames that the browser has painted.
    """

    def __init__(
        self,
        canvas: TrackCanvas,
        make: Callable[[], Made],
        *,
        on_made: Callable[[Drawing], None],
        on_hello: Callable[[], None],
    ) -> None:
        self.canvas, self._make = canvas, make
        self._call_made, self._call_hello = on_made, on_hello
        self.document: Any = None
        self.n_painted = 0
        self._round = self._n_sent = 0
        self._is_wanted = self._is_drawing = False
        self._ready: Message | None = None
        self._in_flight_since: float | None = None
        canvas.listen("hello", self._on_hello)
        canvas.listen("painted", self._on_painted)
        for kind in ("resize", "view"):
            canvas.listen(kind, lambda _message: self.request())

    def request(self) -> None:
        """Ask for a new frame."""
        self._is_wanted = True
        self.pump()

    def pump(self) -> None:
        """Send and draw what can be sent and drawn; called now and then, and when painted."""
        now = time.monotonic()
        if self.document is None:
            return
        since = self._in_flight_since
        if since is not None and now - since > LOST_FRAME_SECONDS:
            self._in_flight_since = None
        if self._ready is not None and self._in_flight_since is None:
            message, self._ready = self._ready, None
            self._in_flight_since = now
            self._n_sent += 1
            self.canvas.send({**message, "n": self._n_sent})
        if self._is_wanted and not self._is_drawing and self._ready is None:
            self._is_wanted, self._is_drawing = False, True
            future = RENDERER.submit(self._draw)
            future.add_done_callback(partial(self._hand_over, self._round))

    def detach(self) -> None:
        """Stop: the tab is closed."""
        self.document = None
        self._round += 1

    def _draw(self) -> Made:
        with CORES.short():
            return self._make()

    def _hand_over(self, round_: int, future: Future) -> None:
        """Go from the render thread to the document's."""
        document = self.document
        if document is not None and self._round == round_:
            document.add_next_tick_callback(partial(self._on_made, round_, future))

    def _on_made(self, round_: int, future: Future) -> None:
        if self._round != round_:
            return
        self._is_drawing = False
        error = future.exception()
        if error is not None:
            log.error("tracks could not be drawn", exc_info=error)
        else:
            drawing, self._ready = future.result()
            self._call_made(drawing)
        self.pump()

    def _on_hello(self, _message: Message) -> None:
        self._is_drawing, self._ready, self._in_flight_since = False, None, None
        self.document = pn.state.curdoc
        self._round += 1
        self._call_hello()
        self.request()

    def _on_painted(self, message: Message) -> None:
        if message["n"] == self._n_sent:
            if self._in_flight_since is not None:
                self.n_painted += 1
            self._in_flight_since = None
            self.pump()
