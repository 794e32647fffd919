"""Where the listed hits are: a strip for each contig, or along the whole genome."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui
from bokeh.events import DoubleTap, SelectionGeometry, Tap

from genoviz_app.pages.offtargets.hits.place_bins import (
    CONTIGS,
    GENOME,
    SCORES,
    PlaceBins,
    PlaceView,
    make_place_bins,
)
from genoviz_app.pages.offtargets.hits.place_mark import mark_of
from genoviz_app.pages.offtargets.state import OffTargetState
from genoviz_app.parts.questions import Question
from genoviz_app.parts.turn import Turn
from genoviz_app.plots.offtarget_places import PlacesFigure

MODES = {"Contigs": CONTIGS, "Mism.": GENOME, "CFD": SCORES}
REST_SECONDS, NO_WIDTH, SMALLEST_VIEW = 0.06, 700, 60
ICON: dict[str, Any] = {"size": "20px", "margin": (6, 0, 0, 0), "sx": {"padding": "4px"}}


class PlacesPanel:
    """A figure with its bar.

    Attributes
    ----------
    mode, figure, panel
        The choice of rows, the figure, and the Panel object.
    shown
        What was drawn last, or None.
    is_selecting
        Whether dragging lists the hits of a stretch.
    """

    def __init__(self, state: OffTargetState) -> None:
        self._state = state
        self.shown: PlaceBins | None = None
        self._waiting: PlaceBins | None = None
        self._wanted: tuple[float, float] | None = None
        self._is_stale, self._changed_at, self._width = False, 0.0, NO_WIDTH
        self.is_selecting = False
        self.figure = PlacesFigure()
        self._turn = Turn(self.figure.plot, self._draw)
        self._bins = Question(state.session, "bins of hits", self._take_bins)
        self.mode = pmui.RadioButtonGroup(
            label="", options=MODES, value=CONTIGS, size="small", margin=(6, 6, 4, 8),
            sx={"& .MuiToggleButton-root": {"padding": "3px 7px", "fontSize": "12px"}},
            description="Rows: contigs, or all of the genome by mismatches or CFD score",
        )  # fmt: skip
        self.select_button = pmui.IconButton(
            icon="highlight_alt", **ICON,
            description="Dragging lists the hits of a stretch, or moves along",
        )  # fmt: skip
        whole = pmui.IconButton(icon="width_full", description="Show all of it", **ICON)
        whole.on_click(lambda _: self.show_whole())
        bar = pmui.Row(self.mode, whole, self.select_button, sizing_mode="stretch_width", margin=0)
        self.pane = pn.pane.Bokeh(self.figure.plot, sizing_mode="stretch_both", margin=0)
        self.panel = pmui.Column(bar, self.pane, sizing_mode="stretch_both", margin=0)
        self._listen()

    def _listen(self) -> None:
        self._state.param.watch(self._follow_result, "result")
        self._state.param.watch(lambda _: self._redraw(), "found")
        self._state.param.watch(lambda _: self._turn.ask(), "hit")
        self.mode.param.watch(lambda _: self.show_whole(), "value")
        self.select_button.on_click(lambda _: self.turn_selecting())
        plot = self.figure.plot
        for name in ("start", "end"):
            plot.x_range.on_change(name, self._take_change)
        plot.on_change("inner_width", self._take_width)
        plot.on_event(Tap, self._take_tap)
        plot.on_event(DoubleTap, lambda _: self.show_whole())
        plot.on_event(SelectionGeometry, self._take_selection)

    @property
    def length(self) -> int:
        """How much can be shown, bp."""
        genome = self._state.genome
        if genome is None:
            return 1
        offsets = genome.planes.offsets
        longest = int(np.diff(offsets).max(initial=1))
        return max(longest if self.mode.value == CONTIGS else genome.planes.n_bases, 1)

    @property
    def view(self) -> PlaceView | None:
        """What the figure shows, or None before it shows something."""
        return None if self.shown is None else self.shown.view

    def show_whole(self) -> None:
        """Show all, from end to end."""
        self._wanted = (0.0, float(self.length))
        self._redraw()

    def poll(self) -> None:
        """Bring the figure up to date; called some twenty times a second."""
        self._bins.poll()
        rests = time.monotonic() - self._changed_at > REST_SECONDS
        if not self._is_stale or not rests or self._bins.is_open:
            return
        self._is_stale = False
        found = self._state.found
        if found is None:
            return
        x_range = self.figure.plot.x_range
        start, end = self._wanted or (float(x_range.start), float(x_range.end))
        if start < end:
            view = PlaceView(self.mode.value, start, end, self._width)
            self._bins.ask(make_place_bins, found, view)

    def _redraw(self) -> None:
        self._is_stale = True

    def _follow_result(self, *_events: Any) -> None:
        result, self.shown = self._state.result, None
        with pn.io.hold():
            if result is None or result.cfd is None:
                options = {name: mode for name, mode in MODES.items() if mode != SCORES}
            else:
                options = MODES
            value = self.mode.value if self.mode.value in options.values() else CONTIGS
            self.mode.param.update(options=options, value=value)
        self.show_whole()

    def _take_bins(self, bins: PlaceBins) -> None:
        self._waiting = bins
        self._turn.ask()

    def _draw(self) -> None:
        bins, self._waiting = self._waiting, None
        with pn.io.hold():
            if bins is not None and bins.view.mode == self.mode.value:
                self._move()
                self.shown = bins
                self.figure.show(
                    bins.columns, bins.bars, bins.rows, bins.names, bins.borders, bins.labels
                )
            self.figure.chosen.data = mark_of(self._state.result, self._state.hit, self.shown)

    def _move(self) -> None:
        if self._wanted is None:
            return
        (start, end), self._wanted = self._wanted, None
        x_range, bounds = self.figure.plot.x_range, (0.0, float(self.length))
        x_range.update(bounds=None, min_interval=None)
        x_range.update(start=start, end=end)
        x_range.update(bounds=bounds, min_interval=min(SMALLEST_VIEW, self.length))

    def _take_change(self, _attr: str, _old: Any, _new: Any) -> None:
        self._changed_at = time.monotonic()
        self._redraw()

    def _take_width(self, _attr: str, _old: Any, new: int) -> None:
        if new and new > 0:
            self._width = int(new)
            self._redraw()

    def turn_selecting(self) -> None:
        """Have dragging list the hits of a stretch, or move along again."""
        self.is_selecting = not self.is_selecting
        self.figure.drag_selects(self.is_selecting)
        colour = {"color": "primary.main"} if self.is_selecting else {}
        self.select_button.sx = {**ICON["sx"], **colour}

    def _take_tap(self, event: Any) -> None:
        """List the hits of the bin under the pointer."""
        bins = self.shown
        if bins is None or event.x is None:
            return
        first = int(event.x) // bins.bin_bp * bins.bin_bp
        columns = bins.columns
        middles = (columns["bottom"] + columns["top"]) / 2
        is_hit = (columns["left"] == first) & (np.abs(middles - event.y) < 0.5)
        if is_hit.any():
            self._take_stretch(event.y, first, first + bins.bin_bp)

    def _take_selection(self, event: Any) -> None:
        if event.final and event.geometry.get("type") == "rect":
            box = event.geometry
            self._take_stretch((box["y0"] + box["y1"]) / 2, int(box["x0"]), int(box["x1"]) + 1)

    def _take_stretch(self, level: float, start: int, end: int) -> None:
        """List the hits of a stretch."""
        bins, genome = self.shown, self._state.genome
        if bins is None or genome is None:
            return
        offsets = genome.planes.offsets
        if bins.view.mode == CONTIGS:
            contig = int(bins.contigs[int(np.clip(round(-level), 0, len(bins.contigs) - 1))])
        else:
            middle = np.array([np.clip((start + end) // 2, 0, genome.planes.n_bases - 1)])
            contig = int(genome.planes.find_contigs(middle)[0])
            start, end = start - int(offsets[contig]), end - int(offsets[contig])
        length = int(offsets[contig + 1] - offsets[contig])
        start, end = max(start, 0), min(max(end, 1), length)
        if start < end:
            self._state.change(contig=contig, stretch=(start, end))
