"""How the listed hits differ from their guides: mismatches by kind and position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui
from bokeh.events import MouseLeave, MouseMove

from app.offtarget_groups import mismatch_kinds_of
from app.pages.offtargets.hit_filter import FoundHits
from app.pages.offtargets.state import OffTargetState
from app.parts.questions import Question
from app.parts.turn import Turn
from app.plots.kmer_matrix import MatrixFigure
from genoviz.analyses.offtarget_differences import KINDS, MismatchKinds

TEXT = ":host { font-size: 12.5px; font-variant-numeric: tabular-nums; }"


@dataclass(frozen=True, eq=False)
class Differences:
    """Mismatches of the hits that are listed.

    Attributes
    ----------
    found
        The hits.
    kinds
        Their mismatches.
    """

    found: FoundHits
    kinds: MismatchKinds

    @property
    def positions(self) -> list[str]:
        """Names of the columns: positions in the guide, or from the PAM where lengths differ."""
        query, n = self.found.result.query, self.kinds.counts.shape[1]
        if len(query.lengths) == 1 or query.pam.is_first:
            return [str(place) for place in range(1, n + 1)]
        return [str(place) for place in range(-n, 0)]

    @property
    def axis(self) -> str:
        """What the columns are."""
        query = self.found.result.query
        if len(query.lengths) == 1:
            return "Position in the guide, 5′ to 3′"
        return "Position from the PAM"


def find_differences(found: FoundHits) -> Differences:
    """Return the mismatches of the hits that are listed."""
    return Differences(found, mismatch_kinds_of(found.result.hits.take(np.sort(found.rows))))


class DifferencesPanel:
    """A figure in the place of the table of hits.

    Attributes
    ----------
    figure, said, panel
        The figure, what the pointer is on, and the Panel object.
    shown
        What is drawn, or None.
    """

    def __init__(self, state: OffTargetState) -> None:
        self._state = state
        self.shown: Differences | None = None
        self._asked: FoundHits | None = None
        self._cell: tuple[int, int] | None = None
        self._question = Question(state.session, "mismatches of hits", self._take)
        self.figure = MatrixFigure(name="offtarget-differences", counted="Mismatches")
        plot = self.figure.figure
        plot.min_border_left = 60
        self._turn = Turn(plot, self._draw)
        self._is_hovering = False
        plot.on_event(MouseMove, self._take_pointer)
        plot.on_event(MouseLeave, self._take_pointer)
        self.said = pn.pane.HTML(
            "", sizing_mode="stretch_width", margin=(2, 8, 2, 12), stylesheets=[TEXT]
        )
        self.panel = pmui.Column(
            self.said,
            pn.pane.Bokeh(plot, sizing_mode="stretch_both", margin=0),
            sizing_mode="stretch_both",
            styles={"min-height": "0"},
            margin=0,
            visible=False,
        )

    def poll(self) -> None:
        """Bring the figure up to date while it is seen."""
        self._question.poll()
        found = self._state.found
        if self.panel.visible and found is not self._asked:
            self._asked = found
            if found is None:
                self._take(None)
            else:
                self._question.ask(find_differences, found)
        if self._is_hovering:
            self._is_hovering = False
            self._say()

    def _take(self, shown: Differences | None) -> None:
        self.shown, self._cell = shown, None
        self._turn.ask()

    def _draw(self) -> None:
        shown = self.shown
        with pn.io.hold():
            if shown is None:
                self.figure.show(np.zeros((0, 0)), [], [])
            else:
                names = [kind.replace(">", " → ") for kind in KINDS]
                self.figure.show(shown.kinds.counts, names, shown.positions)
                plot = self.figure.figure
                plot.xaxis[0].update(major_label_orientation=0.0, axis_label=shown.axis)
                plot.min_border_bottom = 40
            self._say()

    def _say(self) -> None:
        shown = self.shown
        if shown is None or not shown.kinds.n_hits:
            self.said.object = "No hits are listed."
        elif self._cell is None:
            total, others = int(shown.kinds.counts.sum()), shown.kinds.n_others
            more = f", and {others:,} with N or IUPAC letters" if others else ""
            self.said.object = (
                f"{total:,} mismatches{more} in {shown.kinds.n_hits:,} listed hits: base of the "
                "guide → base of the genome on the guide's strand."
            )
        else:
            row, column = self._cell
            n, kind = int(shown.kinds.counts[row, column]), KINDS[row]
            share = 100 * n / shown.kinds.n_hits
            self.said.object = (
                f"<b>{kind[0]} → {kind[2]}</b> at position {shown.positions[column]}: {n:,}, "
                f"{share:.1f} % of the listed hits"
            )

    def _take_pointer(self, event: Any) -> None:
        cell = None
        if self.shown is not None and not isinstance(event, MouseLeave) and event.x is not None:
            row, column = int(np.floor(-event.y)), int(np.floor(event.x))
            n_rows, n_columns = self.shown.kinds.counts.shape
            cell = (row, column) if 0 <= row < n_rows and 0 <= column < n_columns else None
        if cell != self._cell:
            self._cell, self._is_hovering = cell, True
