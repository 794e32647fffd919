"""Cross-validation: how well those are predicted whose phenotypes were hidden."""

from __future__ import annotations

from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui

from genoviz.analyses.genotypes.association.design import Design
from genoviz.errors import GenovizError
from genoviz_app.pages.genotypes.association.choices import chosen_design
from genoviz_app.pages.genotypes.association.form import WORDS
from genoviz_app.pages.genotypes.prediction.blup_steps import BlupRequest
from genoviz_app.pages.genotypes.prediction.form import PredictionForm
from genoviz_app.pages.genotypes.state import GenotypeState
from genoviz_app.parts.questions import allow

FIELD: dict[str, Any] = {"size": "small", "width": 84, "margin": (8, 8, 0, 0)}


class PredictionCheck:
    """Fields, a button, and what came of it.

    Attributes
    ----------
    folds, repeats, button, said, panel
        Panel objects.
    result, design
        The newest `CrossValidation`, and of what; None at first.
    """

    def __init__(self, state: GenotypeState, form: PredictionForm) -> None:
        self._state, self._form = state, form
        self.result: Any = None
        self.design: Design | None = None
        self._asked: Design | None = None
        self.task = state.new_question("cross-validation", self._on_result)
        self.folds = pmui.Select(label="Folds", options=[2, 3, 5, 10], value=5, **FIELD)
        self.repeats = pmui.Select(label="Repeats", options=[1, 3, 5, 10], value=1, **FIELD)
        self.button = pmui.Button(
            label="Cross-validate", variant="outlined", size="small", margin=(10, 6, 0, 0),
            description="Cross-validate: predict samples that the model has not seen",
        )  # fmt: skip
        self.cancel_button = pmui.Button(
            label="Cancel", variant="text", size="small", margin=(10, 0, 0, 0), visible=False
        )
        self.bar = pmui.LinearProgress(
            value=0, variant="determinate", visible=False, sizing_mode="stretch_width",
            margin=(8, 0, 0, 0),
        )  # fmt: skip
        self.said = pn.pane.HTML(
            "", stylesheets=[WORDS], sizing_mode="stretch_width", margin=(6, 0, 8, 0)
        )
        self.button.on_click(lambda _: self.begin())
        self.cancel_button.on_click(lambda _: self.task.drop())
        self.task.param.watch(self._show, "opening")
        state.param.watch(self._forget, ["kept", "opened"])
        self.panel = pmui.Column(
            pmui.Row(self.folds, self.repeats, margin=0),
            pmui.Row(self.button, self.cancel_button, margin=0),
            self.bar,
            self.said,
            sizing_mode="stretch_width",
            margin=(6, 0, 0, 0),
        )

    def begin(self) -> None:
        """Begin, or say why that cannot be."""
        from genoviz.analyses.genotypes.prediction.cross_validation import iter_cross_validate

        try:
            design = chosen_design(self._state)
        except GenovizError as error:
            self._form.complain(str(error))
            return
        self._asked = design
        steps = iter_cross_validate(
            self._state.subject,
            design.phenotype,
            covariates=design.covariates,
            heritability=self._form.heritability.value,
            folds=self.folds.value,
            repeats=self.repeats.value,
        )
        self.task.ask(lambda: steps, title=f"cross-validation of {design.trait}")

    def _on_result(self, result: Any) -> None:
        self.design, self.result = self._asked, result
        self._show()

    def _forget(self, *_events: Any) -> None:
        self.design = self.result = None
        self._show()

    def _show(self, *_events: Any) -> None:
        step = self.task.opening
        with pn.io.hold():
            self.bar.visible = self.cancel_button.visible = step is not None
            allow(self.button, "it is under way" if step is not None else "")
            if step is not None:
                self.bar.value = round(100 * (step.fraction or 0))
            self.said.object = "" if self.result is None else f"<p>{self.words}</p>"

    @property
    def words(self) -> str:
        """Accuracy with its standard deviation over folds, and the bias."""
        result = self.result
        request = BlupRequest(heritability=result.heritability)
        found = result.accuracies[np.isfinite(result.accuracies)]
        deviation = f" ± {found.std(ddof=1):.3f} (s.d. of folds)" if len(found) > 1 else ""
        return (
            f"Accuracy {result.accuracy:.3f}{deviation}, bias {result.bias:.2f} "
            f"(slope of observed on predicted; 1 is none); {request.assumed}."
            f"{'' if result.is_converged else ' Not converged: these numbers may be off.'}"
        )
