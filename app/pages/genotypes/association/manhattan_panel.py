"""A zoomable Manhattan plot with clickable variants, at the resolution of the screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import panel as pn
from bokeh.events import DoubleTap, Tap

from genoviz_app.pages.genotypes.association.manhattan_points import (
    Track,
    View,
    lit_points,
    make_dots,
    nearest,
)
from genoviz_app.pages.genotypes.state import GenotypeState
from genoviz_app.parts.questions import Question, Watched
from genoviz_app.parts.turn import Turn
from genoviz_app.plots.manhattan import ManhattanFigure, position_ticks, seen_names
from genoviz_app.session.session import Session

REST_SECONDS, NO_WIDTH, NO_HEIGHT, SMALLEST_VIEW = 0.06, 900, 220, 50
NONE_LIT: dict[str, Any] = {"x": [], "y": [], "colour": []}
COMING = "The analysis is running; its result is drawn here."
LONG = 1_000
"""Length of an axis, bp, above which fractions of a bp are omitted."""


class ManhattanPanel:
    """A Manhattan plot along the genome.

    Parameters
    ----------
    session
        Runs the drawing jobs.
    figure
        The figure to draw in.
    pick
        Called with the clicked variant.
    nothing
        Note while there are no data.

    Attributes
    ----------
    track
        The drawn data, or None.
    shown
        The columns drawn last, or None.
    panel
        The Panel object.
    """

    def __init__(
        self,
        session: Session,
        figure: ManhattanFigure,
        pick: Callable[[int], None],
        nothing: str,
    ) -> None:
        self._session, self._pick, self.figure = session, pick, figure
        self._nothing = self._words = nothing
        self.track: Track | None = None
        self.shown: dict[str, Any] | None = None
        self._chosen: int | None = None
        self._size = [NO_WIDTH, NO_HEIGHT]
        self._wanted: tuple[float, float] | None = None
        self._linked: tuple[float, float] | None = None
        self._waiting: tuple[Track, View, dict[str, Any]] | None = None
        self._turn = Turn(figure.plot, self._draw)
        self._dots = Question(session, "dots along the genome", self._on_dots)
        self._stale = Watched(
            session, self._ask, lambda: self.track is not None and not self._dots.is_open
        )
        self._lit = Question(session, "highlighted variants", self._on_lit)
        self._lit_points: dict[str, Any] = NONE_LIT
        self._highlights = session.highlights
        session.highlights.param.watch(lambda _: self._find_lit(), "sets")
        figure.show_nothing(nothing)
        self.panel = pn.pane.Bokeh(figure.plot, sizing_mode="stretch_both", margin=0)
        plot = figure.plot
        for name in ("start", "end"):
            plot.x_range.on_change(name, self._on_change)
        for place, name in enumerate(("inner_width", "inner_height")):
            plot.on_change(name, self._sizer(place))
        plot.on_event(Tap, self._on_tap)
        plot.on_event(DoubleTap, lambda _: self.show_whole())

    @property
    def view(self) -> View:
        """The current view, or the one about to be shown."""
        x_range = self.figure.plot.x_range
        start, end = self._wanted or (float(x_range.start), float(x_range.end))
        return View(start, end, *self._size)

    @property
    def zoom(self) -> tuple[float, float] | None:
        """Limits of the current or pending view; None for the whole axis."""
        if self.track is None:
            return self._linked
        view, axis = self.view, self.track.axis
        start, end = axis.extent
        is_whole = view.start <= start and view.end >= end
        digits = 0 if axis.length > LONG else 3
        return None if is_whole else (round(view.start, digits), round(view.end, digits))

    def zoom_to(self, zoom: tuple[float, float]) -> None:
        """Show a part of the axis, as soon as there are data."""
        self._linked = zoom
        if self.track is not None:
            self._follow_link()

    def _follow_link(self) -> None:
        (start, end), self._linked = self._linked, None
        room, whole = self.track.axis.room, self.track.axis.length
        start, end = max(start, -room), min(end, whole + room)
        if end - start >= min(SMALLEST_VIEW, whole):
            self._wanted = (start, end)
            self._stale.start()

    def wait_for(self, state: GenotypeState, result: str, *tasks: Question) -> None:
        """Say in the empty plot that its result comes: a task runs, or a link asks for it."""

        def say() -> None:
            is_coming = result in state.coming or any(task.is_open for task in tasks)
            words = COMING if is_coming else self._nothing
            if self.track is None and words != self._words:
                self._words = words
                self._turn.ask()

        note = Watched(self._session, say)
        note.follow(state, "coming")
        for task in tasks:
            note.follow(task, "opening")

    def show(self, track: Track | None) -> None:
        """Replace the data; the view is kept if the variants are the same."""
        before, self.track = self.track, track
        if track is None:
            self._dots.drop()
            self._waiting = self.shown = None
            self._turn.ask()
        elif before is None or before.axis is not track.axis:
            self.show_whole()
            if self._linked is not None:
                self._follow_link()
        else:
            self._stale.start()
        self._find_lit()

    def _find_lit(self) -> None:
        """Look up the highlighted variants."""
        sets = self._highlights.shown
        if self.track is not None and sets:
            self._lit.ask(lit_points, self.track, sets)
        else:
            self._lit.drop()
            self._on_lit(NONE_LIT)

    def _on_lit(self, points: dict[str, Any]) -> None:
        if points is not self._lit_points:
            self._lit_points = points
            self._turn.ask()

    def choose(self, variant: int | None) -> None:
        """Mark a variant."""
        self._chosen = variant
        self._turn.ask()

    def show_whole(self) -> None:
        """Show all contigs."""
        if self.track is not None:
            axis = self.track.axis
            self._wanted = (axis.extent[0] - axis.room, axis.extent[1] + axis.room)
            self._stale.start()

    @property
    def is_laid_out(self) -> bool:
        """Whether the browser has laid the figure out."""
        return self._turn.is_laid_out

    def _ask(self) -> None:
        """Ask for the dots of the view."""
        view = self.view
        if view.start < view.end:
            self._dots.ask(_dots_of, self.track, view)

    def _on_dots(self, answer: tuple[Track, View, dict[str, Any]]) -> None:
        if self.track is not None and answer[0].axis is self.track.axis:
            self._waiting = answer
            self._turn.ask()

    def _draw(self) -> None:
        answer, self._waiting = self._waiting, None
        track = self.track
        with pn.io.hold():
            if track is None:
                self.figure.show_nothing(self._words)
            elif answer is not None and answer[0].axis is track.axis:
                drawn, view, self.shown = answer
                self._move()
                self.figure.show(self.shown, drawn.y_ends, drawn.label)
                self.figure.show_lines(drawn.lines)
                self._show_contigs(drawn, view)
            self._mark()

    def _mark(self) -> None:
        self.figure.lit.data = self._lit_points
        track, variant = self.track, self._chosen
        if track is None or variant is None or variant >= len(track.values):
            self.figure.choose(None)
        elif np.isfinite(track.values[variant]):
            self.figure.choose(float(track.axis.places[variant]), float(track.values[variant]))
        else:
            self.figure.choose(None)

    def _show_contigs(self, track: Track, view: View) -> None:
        axis = track.axis
        borders = (axis.ends[:-1] + axis.starts[1:]) / 2
        ends = (view.start, view.end)
        names = seen_names(axis.names, axis.starts, axis.ends, ends, view.width)
        seen = np.flatnonzero((axis.ends > view.start) & (axis.starts < view.end))
        if len(axis.names) > 1 and len(seen) == 1 and axis.has_positions[seen[0]]:
            ticks = position_ticks(float(axis.starts[seen[0]]), ends, view.width)
            ticks = {place: text for place, text in ticks.items() if place <= axis.ends[seen[0]]}
            label = f"Position on {axis.names[seen[0]]} (bp)"
            self.figure.show_contigs(borders, ticks, label)
        elif len(axis.names) == 1 and axis.has_positions[0]:
            self.figure.show_contigs(borders, None, f"Position on {axis.names[0]} (bp)")
        elif len(axis.names) == 1:
            self.figure.show_contigs(borders, {}, "Variants in file order")
        else:
            self.figure.show_contigs(borders, names, "Contig")

    def _move(self) -> None:
        if self._wanted is None:
            return
        (start, end), self._wanted = self._wanted, None
        x_range = self.figure.plot.x_range
        x_range.update(bounds=None, min_interval=None)
        x_range.update(start=start, end=end)
        room = self.track.axis.room
        bounds = (-room, self.track.axis.length + room)
        x_range.update(bounds=bounds, min_interval=min(SMALLEST_VIEW, self.track.axis.length))

    def _on_change(self, _attr: str, _old: Any, _new: Any) -> None:
        self._stale.start(REST_SECONDS)

    def _sizer(self, place: int) -> Callable[[str, Any, Any], None]:
        def take(_attr: str, _old: Any, new: Any) -> None:
            if new and new > 0:
                self._size[place] = int(new)
                self._stale.start()

        return take

    def _on_tap(self, event: Any) -> None:
        if self.track is not None and event.x is not None and event.y is not None:
            variant = nearest(self.track, self.view, event.x, event.y)
            if variant is not None:
                self._pick(variant)


def _dots_of(track: Track, view: View) -> tuple[Track, View, dict[str, Any]]:
    return track, view, make_dots(track, view)
