"""Cross-validation: the accuracy of predictions for hidden phenotypes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui

from genoviz.analyses.genotypes.association.design import Design
from genoviz.errors import GenovizError
from genoviz.generators import Progress
from genoviz.model.genotypes.genotypes import Genotypes
from genoviz_app.pages.genotypes.association.choices import chosen_design
from genoviz_app.pages.genotypes.association.form import WORDS
from genoviz_app.pages.genotypes.prediction.blup_steps import BlupRequest, iter_heritability
from genoviz_app.pages.genotypes.prediction.model_fields import ModelFields
from genoviz_app.pages.genotypes.state import GenotypeState
from genoviz_app.parts.questions import allow

FIELD: dict[str, Any] = {"size": "small", "width": 84, "margin": (8, 8, 0, 0)}


class PredictionCheck:
    """Fields, a button, and the result.

    Attributes
    ----------
    folds, repeats, button, said, panel
        Panel objects.
    result, design
        The latest `CrossValidation` and its design; None at first.
    """

    def __init__(
        self, state: GenotypeState, model: ModelFields, complain: Callable[[str], None]
    ) -> None:
        self._state, self._model, self._complain = state, model, complain
        self.result: Any = None
        self.design: Design | None = None
        self._asked: Design | None = None
        self._is_estimated = False
        self.task = state.new_question("cross-validation", self._on_result)
        self.folds = pmui.Select(label="Folds", options=[2, 3, 5, 10], value=5, **FIELD)
        self.repeats = pmui.Select(label="Repeats", options=[1, 3, 5, 10], value=1, **FIELD)
        self.button = pmui.Button(
            label="Cross-validate", variant="outlined", size="small", margin=(10, 6, 0, 0),
            description="Cross-validate: predict held-out samples",
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
        """Start cross-validation, or show why it is impossible."""
        try:
            design = chosen_design(self._state)
        except GenovizError as error:
            self._complain(str(error))
            return
        self._asked, self._is_estimated = design, self._model.source.value
        heritability = None if self._is_estimated else self._model.heritability.value
        steps = _iter_check(
            self._state.subject, design, heritability,
            folds=self.folds.value, repeats=self.repeats.value,
        )  # fmt: skip
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
            allow(self.button, "already running" if step is not None else "")
            if step is not None:
                self.bar.value = round(100 * (step.fraction or 0))
            self.said.object = "" if self.result is None else f"<p>{self.words}</p>"

    @property
    def words(self) -> str:
        """Accuracy with its standard deviation over folds, and the bias."""
        result = self.result
        used = BlupRequest(heritability=result.heritability).assumed
        if self._is_estimated:
            used = f"heritability {result.heritability:.3g}, estimated of all samples"
        found = result.accuracies[np.isfinite(result.accuracies)]
        deviation = f" ± {found.std(ddof=1):.3f} (s.d. of folds)" if len(found) > 1 else ""
        return (
            f"Accuracy {result.accuracy:.3f}{deviation}, bias {result.bias:.2f} "
            f"(slope of observed on predicted; 1 is none); {used}."
            f"{'' if result.is_converged else ' Not converged: these numbers may be wrong.'}"
        )


def _iter_check(
    genotypes: Genotypes, design: Design, heritability: float | None, **options: int
) -> Iterator[Progress]:
    from genoviz.analyses.genotypes.prediction.cross_validation import iter_cross_validate

    if heritability is None:
        steps = iter_heritability(genotypes, design)
        while True:
            try:
                yield Progress(next(steps).words, 0.0)
            except StopIteration as end:
                heritability = end.value[0]
                break
    yield from iter_cross_validate(
        genotypes, design.phenotype, covariates=design.covariates,
        heritability=heritability, **options,
    )  # fmt: skip
