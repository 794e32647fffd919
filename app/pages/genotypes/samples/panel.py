"""The Samples tab: components, relationships, and the list of selected samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import panel as pn
import panel_material_ui as pmui

from genoviz_app.pages.genotypes.long_table import LongTable
from genoviz_app.pages.genotypes.samples.components_panel import ComponentsPanel
from genoviz_app.pages.genotypes.samples.relationship_panel import RelationshipPanel
from genoviz_app.pages.genotypes.state import NOBODY, GenotypeState
from genoviz_app.parts.column_widths import IDENTIFIER
from genoviz_app.parts.lighting import light_button
from genoviz_app.parts.remote_table import Column
from genoviz_app.parts.styles import PILES, STACKS
from genoviz_app.parts.words import n_words
from genoviz_app.session.lit_sets import Highlight

N_SCORES = 4
SCORES = tuple(f"PC{number + 1}" for number in range(N_SCORES))
GROUP = "Group"
SCORE = 62
"""Width in which ``-0.1234`` is readable, px."""
COLUMNS = (
    Column("Sample", share=110, min_width=IDENTIFIER),
    Column("Family", share=80),
    Column(GROUP, share=90, min_width=50),
    *(
        Column(
            name, is_number=True, share=70, format="0.0000", min_width=SCORE, is_spare=number > 1
        )
        for number, name in enumerate(SCORES)
    ),
)
SMALL: dict[str, Any] = {
    "size": "small", "variant": "outlined", "margin": (0, 6, 0, 0),
    "sx": {"fontSize": "12px", "padding": "2px 7px", "minWidth": "0"},
}  # fmt: skip
LINE = "1px solid rgba(128, 140, 160, 0.28)"
PATIENCE = 3


@dataclass(frozen=True, eq=False)
class SubjectRows:
    """Samples, with group and components if known.

    Attributes
    ----------
    ids, family_ids
        str, shape (n,).
    groups
        str or float64, shape (n,), or None: the column for the colours.
    scores
        float64, shape (n, c), or None.
    """

    ids: np.ndarray
    family_ids: np.ndarray
    groups: np.ndarray | None
    scores: np.ndarray | None
    noun = "sample"

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def hidden(self) -> tuple[str, ...]:
        """The unknown columns, except for scores, which are computed later."""
        has_families = bool(((self.family_ids != "0") & (self.family_ids != self.ids)).any())
        return (
            *(() if has_families else ("Family",)),
            *(() if self.groups is not None else (GROUP,)),
        )

    def find(self, text: str) -> np.ndarray:
        """Return a mask of the samples whose ID or group contains a text."""
        wanted = text.strip().lower()
        found = np.char.find(np.char.lower(self.ids), wanted) >= 0
        if self.groups is not None and self.groups.dtype.kind != "f":
            found |= np.char.find(np.char.lower(self.groups), wanted) >= 0
        return found

    def key(self, column: str) -> np.ndarray:
        """Return the sort key of a column."""
        others = {"Sample": self.ids, "Family": self.family_ids, GROUP: self.groups}
        if column in others:
            return others[column]
        number = SCORES.index(column)
        is_known = self.scores is not None and number < self.scores.shape[1]
        return self.scores[:, number] if is_known else np.zeros(len(self))

    def frame(self, rows: np.ndarray) -> pd.DataFrame:
        """Return some samples."""
        columns: dict[str, Any] = {"Sample": self.ids[rows], "Family": self.family_ids[rows]}
        if self.groups is None:
            columns[GROUP] = ""
        elif self.groups.dtype.kind == "f":
            columns[GROUP] = [f"{value:.5g}" for value in self.groups[rows].tolist()]
        else:
            columns[GROUP] = self.groups[rows]
        for number, name in enumerate(SCORES):
            is_known = self.scores is not None and number < self.scores.shape[1]
            columns[name] = self.scores[rows, number] if is_known else np.nan
        return pd.DataFrame(columns)


class SampleList:
    """A table with buttons for the selected samples.

    Attributes
    ----------
    table, keep_button, drop_button, clear_button, panel
        The table, and Panel objects.
    """

    def __init__(self, state: GenotypeState) -> None:
        self._state = state
        self.group = ""
        self.table = LongTable(
            state.session, COLUMNS, placeholder="Sample or group", on_row=self._on_row
        )
        self.table.search.width = 150
        self.keep_button = pmui.Button(
            label="Keep only", description="Keep only: analyse only the picked samples", **SMALL
        )
        self.drop_button = pmui.Button(
            label="Leave out", description="Leave out: exclude the picked samples", **SMALL
        )
        self.clear_button = pmui.Button(label="Clear", description="Clear: pick no sample", **SMALL)
        self.keep_button.on_click(lambda _: self._keep(is_kept=True))
        self.drop_button.on_click(lambda _: self._keep(is_kept=False))
        self.clear_button.on_click(lambda _: setattr(state, "chosen", NOBODY))
        look = {**SMALL, "icon": None}
        self.light = light_button(state.session, self._lit, "the paths of these samples", **look)
        self._buttons = pmui.Row(
            self.keep_button, self.drop_button, self.light, self.clear_button, margin=0,
            visible=False,
        )  # fmt: skip
        self._place = pmui.Column(sizing_mode="stretch_both", margin=0)
        self.panel = pmui.Column(
            pmui.Column(
                self.table.bar, self._buttons, sizing_mode="stretch_width", margin=(0, 8, 2, 8)
            ),
            self._place,
            sizing_mode="stretch_both", margin=0, styles={"min-height": "0"},
        )  # fmt: skip
        state.param.watch(self.follow, ["opened", "table", "kept", "components", "chosen"])

    def colour_by(self, name: str) -> None:
        """Show the values of another column."""
        self.group = name
        self.follow()

    def follow(self, *_events: Any) -> None:
        """List the selected samples, or all."""
        state, subject = self._state, self._state.subject
        if subject is None:
            self.table.show(None)
            return
        chosen, scores = state.chosen, state.components
        among = None
        if len(chosen):
            among = np.zeros(subject.n_samples, bool)
            among[chosen] = True
        rows = SubjectRows(
            subject.samples.ids,
            subject.samples.family_ids,
            state.column(self.group),
            None if scores is None else scores.scores,
        )
        with pn.io.hold():
            self._buttons.visible = bool(len(chosen))
            self.table.show(rows, among)

    def make_table(self) -> None:
        """Create the table in the browser, once there are rows."""
        self.table.make(self._place)

    def _on_row(self, row: int) -> None:
        self._state.chosen = np.array([row], np.int64)

    def _lit(self) -> Highlight:
        """Return the selected samples as a highlight."""
        subject, chosen = self._state.subject, self._state.chosen
        names = tuple(str(subject.samples.ids[sample]) for sample in chosen.tolist())
        title = names[0] if len(names) == 1 else n_words(len(names), "picked sample")
        return Highlight(title, "sample", samples=names)

    def _keep(self, *, is_kept: bool) -> None:
        state = self._state
        picked = np.zeros(state.subject.n_samples, bool)
        picked[state.chosen] = True
        samples = state.sample_indices[picked if is_kept else ~picked]
        if len(samples) < 2:
            state.session.problem = (
                f"{n_words(len(samples), 'sample')} would be left; at least 2 are needed for an "
                "analysis."
            )
            return
        state.keep(state.thresholds, samples=samples)


class SamplesPanel:
    """A tab of the page.

    Attributes
    ----------
    components, relationships, list, panel
        The scatter, the matrix, the table, and the Panel object.
    """

    title = "Samples"
    has_figure = False

    def __init__(self, state: GenotypeState) -> None:
        self._state = state
        self.is_shown = False
        self._waited = 0
        self.components = ComponentsPanel(state)
        self.relationships = RelationshipPanel(state)
        self.list = SampleList(state)
        self.components.by.param.watch(lambda event: self.list.colour_by(event.new), "value")
        self.list.colour_by(self.components.by.value)
        self.panel = pmui.Column(
            _row(self.components.panel, self.relationships.heat_panel, grow=13),
            _row(
                self.list.panel, self.relationships.pairs_panel, grow=8, border=LINE,
                stylesheets=[f"{at} {{ :host {{ flex-grow: 10 !important; }} }}" for at in PILES],
            ),
            sizing_mode="stretch_both", margin=0,
        )  # fmt: skip

    def poll(self) -> None:
        """Update the tab."""
        is_there = self.is_shown and self.components.is_laid_out
        self._waited = self._waited + 1 if is_there else 0
        if self.is_shown:
            self.components.want()
            self.relationships.want()
        if self._waited > PATIENCE:
            self.relationships.make_table()
            self.list.make_table()


def _row(left: Any, right: Any, *, grow: int, border: str = "none", **options: Any) -> pmui.Row:
    """Return a row with two halves."""
    half = {"flex": "1 1 0", "min-width": "0", "min-height": "0"}
    return pmui.Row(
        pmui.Column(left, sizing_mode="stretch_both", margin=0, styles=half),
        pmui.Column(
            right, sizing_mode="stretch_both", margin=0, styles={**half, "border-left": LINE}
        ),
        sizing_mode="stretch_both", margin=0, sx=STACKS, **options,
        styles={"flex": f"{grow} 1 0", "min-height": "0", "border-top": border},
    )  # fmt: skip
