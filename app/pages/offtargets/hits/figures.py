"""Figures of the listed hits: positions, and numbers by mismatches and bulge."""

from __future__ import annotations

from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui
from bokeh.events import DoubleTap, SelectionGeometry, Tap

from genoviz_app.pages.offtargets.hits.bulge_kinds import kinds_of, short_kind
from genoviz_app.pages.offtargets.hits.filter import FoundHits
from genoviz_app.pages.offtargets.hits.place_bins import (
    CONTIGS,
    GENOME,
    SCORES,
    PlaceBins,
    PlaceView,
    colour_of,
    lit_of_view,
    make_place_bins,
    mark_of,
)
from genoviz_app.pages.offtargets.state import OffTargetState
from genoviz_app.parts.questions import Question, Watched
from genoviz_app.parts.styles import PILES, WRAPS
from genoviz_app.parts.turn import Turn
from genoviz_app.parts.words import n_words
from genoviz_app.plots.offtarget_places import KindsFigure, PlacesFigure

MODES = {"Contigs": CONTIGS, "Mismatches": GENOME, "CFD": SCORES}
REST_SECONDS, NO_WIDTH, SMALLEST_VIEW = 0.06, 700, 60
ICON: dict[str, Any] = {"size": "20px", "margin": (6, 0, 0, 0), "sx": {"padding": "4px"}}
WIDTH = 196
BELOW_THE_OTHER = "".join(
    f"{at} {{ :host, :host > div, .MuiBox-root {{ width: 100% !important; }} }}\n" for at in PILES
)
EDGE, CHOSEN_EDGE = "#151d28", "#ffb454"


class PlacesPanel:
    """The figure of places with its toolbar.

    Attributes
    ----------
    mode, figure, panel
        The menu of row types, the figure, and the Panel object.
    shown
        The bins drawn last, or None.
    is_selecting
        Whether dragging filters hits by an interval.
    """

    def __init__(self, state: OffTargetState) -> None:
        self._state = state
        self.shown: PlaceBins | None = None
        self._waiting: PlaceBins | None = None
        self._wanted: tuple[float, float] | None = None
        self._width = NO_WIDTH
        self.is_selecting = False
        self.figure = PlacesFigure()
        self._turn = Turn(self.figure.plot, self._draw)
        self._bins = Question(state.session, "bins of hits", self._on_bins)
        self._stale = Watched(state.session, self._ask, lambda: not self._bins.is_open)
        self._lit = Question(state.session, "highlights in bins of hits", self._on_lit)
        self._lit_bars: dict[str, Any] | None = None
        self.mode = pmui.RadioButtonGroup(
            label="", options=MODES, value=CONTIGS, size="small", margin=(6, 2, 4, 8),
            sx={"& .MuiToggleButton-root": {"padding": "3px 6px", "fontSize": "12px"}},
            description="Rows: contigs, or all of the genome by mismatches or CFD score",
        )  # fmt: skip
        self.select_button = pmui.IconButton(
            icon="highlight_alt", **ICON,
            description="Drag to list the hits of a region, or to move",
        )  # fmt: skip
        whole = pmui.IconButton(icon="width_full", description="Show the whole genome", **ICON)
        whole.on_click(lambda _: self.show_whole())
        bar = pmui.Row(
            self.mode, whole, self.select_button, sizing_mode="stretch_width", margin=0, sx=WRAPS
        )
        self.pane = pn.pane.Bokeh(self.figure.plot, sizing_mode="stretch_both", margin=0)
        self.panel = pmui.Column(bar, self.pane, sizing_mode="stretch_both", margin=0)
        self._listen()

    def _listen(self) -> None:
        self._state.param.watch(self._follow_result, "result")
        self._stale.follow(self._state, "found")
        self._state.param.watch(lambda _: self._turn.ask(), "hit")
        self._stale.follow(self._state.session.highlights, "sets")
        self.mode.param.watch(lambda _: self.show_whole(), "value")
        self.select_button.on_click(lambda _: self.turn_selecting())
        plot = self.figure.plot
        for name in ("start", "end"):
            plot.x_range.on_change(name, self._on_change)
        plot.on_change("inner_width", self._on_width)
        plot.on_event(Tap, self._on_tap)
        plot.on_event(DoubleTap, lambda _: self.show_whole())
        plot.on_event(SelectionGeometry, self._on_selection)

    @property
    def length(self) -> int:
        """Length of the whole axis, bp."""
        genome = self._state.genome
        if genome is None:
            return 1
        offsets = genome.planes.offsets
        longest = int(np.diff(offsets).max(initial=1))
        return max(longest if self.mode.value == CONTIGS else genome.planes.n_bases, 1)

    @property
    def view(self) -> PlaceView | None:
        """The current view, or None before the first drawing."""
        return None if self.shown is None else self.shown.view

    def show_whole(self) -> None:
        """Show the whole axis."""
        self._wanted = (0.0, float(self.length))
        self._stale.start()

    def _ask(self) -> None:
        """Ask for the bins of the view."""
        found = self._state.found
        if found is None:
            return
        x_range = self.figure.plot.x_range
        start, end = self._wanted or (float(x_range.start), float(x_range.end))
        if start < end:
            view = PlaceView(self.mode.value, start, end, self._width)
            self._bins.ask(make_place_bins, found, view)
            self._lit.ask(lit_of_view, self._state.session.highlights.shown, found, view)

    def _follow_result(self, *_events: Any) -> None:
        result = self._state.result
        if self._state.is_continued:  # keeps the view; the bins arrive with the listed hits
            return
        self.shown = None
        with pn.io.hold():
            if result is None or result.cfd is None:
                options = {name: mode for name, mode in MODES.items() if mode != SCORES}
            else:
                options = MODES
            value = self.mode.value if self.mode.value in options.values() else CONTIGS
            self.mode.param.update(options=options, value=value)
        self.show_whole()

    def _on_bins(self, bins: PlaceBins) -> None:
        self._waiting = bins
        self._turn.ask()

    def _on_lit(self, bars: dict[str, Any]) -> None:
        self._lit_bars = bars
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
            if self._lit_bars is not None:
                self.figure.lit.show(self._lit_bars)
                self._lit_bars = None
            self.figure.chosen.data = mark_of(self._state.result, self._state.hit, self.shown)

    def _move(self) -> None:
        if self._wanted is None:
            return
        (start, end), self._wanted = self._wanted, None
        x_range, bounds = self.figure.plot.x_range, (0.0, float(self.length))
        x_range.update(bounds=None, min_interval=None)
        x_range.update(start=start, end=end)
        x_range.update(bounds=bounds, min_interval=min(SMALLEST_VIEW, self.length))

    def _on_change(self, _attr: str, _old: Any, _new: Any) -> None:
        self._stale.start(REST_SECONDS)

    def _on_width(self, _attr: str, _old: Any, new: int) -> None:
        if new and new > 0:
            self._width = int(new)
            self._stale.start()

    def turn_selecting(self) -> None:
        """Make dragging list the hits of an interval, or pan."""
        self.is_selecting = not self.is_selecting
        self.figure.drag_selects(self.is_selecting)
        colour = {"color": "primary.main"} if self.is_selecting else {}
        self.select_button.sx = {**ICON["sx"], **colour}

    def _on_tap(self, event: Any) -> None:
        """List the hits of the clicked bin."""
        bins = self.shown
        if bins is None or event.x is None:
            return
        first = int(event.x) // bins.bin_bp * bins.bin_bp
        columns = bins.columns
        middles = (columns["bottom"] + columns["top"]) / 2
        is_hit = (columns["left"] == first) & (np.abs(middles - event.y) < 0.5)
        if is_hit.any():
            self._list_stretch(event.y, first, first + bins.bin_bp)

    def _on_selection(self, event: Any) -> None:
        if event.final and event.geometry.get("type") == "rect":
            box = event.geometry
            self._list_stretch((box["y0"] + box["y1"]) / 2, int(box["x0"]), int(box["x1"]) + 1)

    def _list_stretch(self, level: float, start: int, end: int) -> None:
        """List the hits of an interval."""
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


class KindsPanel:
    """Numbers of hits by bulge kind and mismatches.

    Attributes
    ----------
    figure, panel
        The figure and the Panel object.
    """

    def __init__(self, state: OffTargetState) -> None:
        self._state = state
        self.figure = KindsFigure()
        self._turn = Turn(self.figure.plot, self._draw)
        pane = pn.pane.Bokeh(self.figure.plot, sizing_mode="stretch_both", margin=0)
        self.panel = pmui.Column(
            pane,
            sizing_mode="stretch_height",
            width=WIDTH,
            margin=(4, 0, 0, 0),
            stylesheets=[BELOW_THE_OTHER],
        )
        self.figure.plot.on_event(Tap, self._on_tap)
        state.param.watch(lambda _: self._turn.ask(), "found")

    def _draw(self) -> None:
        found = self._state.found
        if found is None:
            return
        kinds = [short_kind(name) or "None" for name in kinds_of(found.result.query).values()]
        with pn.io.hold():
            self.figure.show(make_cells(found), kinds, found.kind_counts.shape[1])

    def _on_tap(self, event: Any) -> None:
        found = self._state.found
        if found is None or event.x is None:
            return
        numbers, chosen = list(kinds_of(found.result.query)), self._state.filter
        level, row = round(event.x), round(event.y)
        if not (0 <= level < found.kind_counts.shape[1] and 0 <= row < len(numbers)):
            return
        if (chosen.mismatches, chosen.kind) == ((level, level), numbers[row]):
            self._state.change(mismatches=None, kind=-1)
        else:
            self._state.change(mismatches=(level, level), kind=numbers[row])


def make_cells(found: FoundHits) -> dict[str, Any]:
    """Return the cells of the figure, row by row."""
    counts, kinds = found.kind_counts, kinds_of(found.result.query)
    n_levels = counts.shape[1]
    rows, levels = (axis.ravel() for axis in np.indices(counts.shape))
    low, high = found.filter.mismatches or (0, n_levels)
    is_listed = (levels >= low) & (levels <= high)
    if found.filter.kind >= 0:
        is_listed &= np.array(list(kinds))[rows] == found.filter.kind
    is_all = bool(is_listed.all())
    values = counts.ravel()
    names = list(kinds.values())
    return {
        "left": levels - 0.46,
        "right": levels + 0.46,
        "bottom": rows - 0.44,
        "top": rows + 0.44,
        "colour": [colour_of(level) for level in levels.tolist()],
        "alpha": 0.08 + 0.6 * np.log1p(values) / max(float(np.log1p(values).max()), 1.0),
        "text": [_short(value) for value in values.tolist()],
        "edge": [CHOSEN_EDGE if listed and not is_all else EDGE for listed in is_listed.tolist()],
        "x": levels,
        "y": rows,
        "says": [
            f"{n_words(value, 'hit')}: {level} mismatch{'es' * (level != 1)}, "
            f"{names[row] if row else 'no bulge'}"
            for value, level, row in zip(
                values.tolist(), levels.tolist(), rows.tolist(), strict=True
            )
        ],
    }


def _short(value: int) -> str:
    """Format a count to fit into a small cell, rounded to thousands or millions."""
    if value < 1_000:
        return str(value)
    size, unit = (1_000, "k") if value < 999_500 else (1_000_000, "M")
    return f"{value / size:.0f}{unit}"
