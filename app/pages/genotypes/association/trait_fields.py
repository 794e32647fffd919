"""Fields of trait and covariates, which the tabs share through the state."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import panel as pn
import panel_material_ui as pmui

from genoviz_app.pages.genotypes.association.choices import (
    condition_names,
    covariate_names,
    trait_names,
)
from genoviz_app.pages.genotypes.state import GenotypeState

TYPES = {"automatic": "auto", "numbers": "quantitative", "case/control": "case-control"}
NO_TRAIT_COLUMN = "The table has no trait. A trait is a column of numbers, or of two groups."
LOW: dict[str, Any] = {
    "sx": {"& .MuiSelect-select": {"paddingTop": "4px", "paddingBottom": "4px",
                                   "minHeight": "27px !important"}},
    "stylesheets": ["label.MuiInputLabel-root[data-shrink=false] { top: -10px !important; }"],
}  # fmt: skip
CHIP = {"borderRadius": "12px", "padding": "0 9px", "fontSize": "12px", "textTransform": "none"}
FIELD: dict[str, Any] = {"size": "small", "margin": (8, 8, 4, 0)}


class TraitFields:
    """Fields for trait and covariates, which all tabs share through the state.

    Attributes
    ----------
    trait, type, covariates
        The fields.
    """

    def __init__(self, state: GenotypeState) -> None:
        self._state = state
        self.trait = pmui.Select(
            label="Trait", options=[], searchable=True, width=190,
            description="A column of the table of phenotypes", **FIELD,
        )  # fmt: skip
        self.type = pmui.Select(
            label="Read as", options=TYPES, value="auto", width=150, **FIELD,
            description="Automatic: if all values are 0, 1 and 2, then 1 is control, 2 is case "
            "and 0 is missing; if all are 0 and 1, then 0 is control and 1 is case",
        )  # fmt: skip
        self.covariates = pmui.MultiChoice(
            label="Covariates", options=[], searchable=True, width=230,
            description="Columns of the table, and PC1 to PC10 once the Samples tab has computed "
            "them. Categories become indicator columns.",
            visual_size="small", margin=FIELD["margin"], **LOW,
        )  # fmt: skip
        self.trait.param.watch(self._on_trait, "value")
        self.type.param.watch(self._on_type, "value")
        self.covariates.param.watch(self._on_covariates, "value")
        state.param.watch(
            self._follow,
            ["opened", "table", "components", "trait", "trait_types", "covariates"],
        )
        self._follow()

    def _follow(self, *_events: Any) -> None:
        state = self._state
        traits, others = trait_names(state), covariate_names(state)
        if traits and state.trait not in traits:
            state.trait = traits[0]
            return
        chosen = [name for name in state.covariates if name in others]
        with pn.io.hold():
            self.trait.param.update(
                options=traits, value=state.trait if traits else None, disabled=not traits
            )
            self.type.param.update(
                value=state.trait_types.get(state.trait, "auto"), disabled=not traits
            )
            if chosen != self.covariates.value or others != self.covariates.options:
                self.covariates.param.update(options=others, value=chosen, disabled=not others)

    def _on_trait(self, event: Any) -> None:
        if event.new:
            self._state.trait = event.new

    def _on_type(self, event: Any) -> None:
        state = self._state
        if state.trait and event.new != state.trait_types.get(state.trait, "auto"):
            state.trait_types = {**state.trait_types, state.trait: event.new}

    def _on_covariates(self, event: Any) -> None:
        if tuple(event.new or ()) != self._state.covariates:
            self._state.covariates = tuple(event.new or ())


class ConditionChips:
    """The variants that a scan is conditional on; a press on one removes it.

    Parameters
    ----------
    state
        State of the page.
    on_removed
        Called after one was removed.

    Attributes
    ----------
    chips, panel
        A button for each variant, and the row of these, which is hidden while there are none.
    """

    def __init__(self, state: GenotypeState, on_removed: Callable[[], None]) -> None:
        self._state, self._on_removed = state, on_removed
        self.chips: list[pmui.Button] = []
        self._words = pmui.Typography("Conditional on", variant="body2", margin=(4, 4, 0, 2))
        self.panel = pmui.FlexBox(self._words, margin=0, visible=False)
        state.param.watch(self._follow, "conditions")

    def _follow(self, *_events: Any) -> None:
        rows = self._state.conditions
        self.chips = [
            pmui.Button(
                label=name, end_icon="close", size="small", variant="outlined", margin=(0, 0, 4, 6),
                description=f"Remove {name} from the conditions, and run again", sx=CHIP,
            )
            for name in condition_names(self._state, rows)
        ]  # fmt: skip
        for chip, row in zip(self.chips, rows, strict=True):
            chip.on_click(partial(self._remove, row))
        self.panel.param.update(objects=[self._words, *self.chips], visible=bool(rows))

    def _remove(self, row: int, _event: Any) -> None:
        self._state.conditions = tuple(each for each in self._state.conditions if each != row)
        self._on_removed()
