"""The form of a scan: trait, covariates and model; and the progress of the scan."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import panel as pn
import panel_material_ui as pmui

from genoviz.analyses.genotypes.association.design import Design
from genoviz.errors import GenovizError
from genoviz.io.genotypes.dosages import NOT_TAKEN
from genoviz_app.pages.genotypes.association.choices import (
    FALLBACK,
    LINEAR,
    MODELS,
    OF_ALL,
    OF_NUMBERS,
    CodingFields,
    chosen_conditions,
    chosen_design,
    coding_words,
    condition_names,
    condition_words,
    covariate_names,
    iter_components,
    iter_scan,
    model_words,
    trait_names,
    why_no_cases,
)
from genoviz_app.pages.genotypes.association.trait_fields import (
    FIELD,
    NO_TRAIT_COLUMN,
    ConditionChips,
    TraitFields,
)
from genoviz_app.pages.genotypes.state import GenotypeState
from genoviz_app.parts.questions import Watched, allow
from genoviz_app.parts.styles import NARROW_WRAPS
from genoviz_app.parts.words import n_words

if TYPE_CHECKING:
    from genoviz.analyses.genotypes.association.scan import AssociationScan
    from genoviz.analyses.genotypes.components import PrincipalComponents

INFLATED = 1.1
COMPONENT = re.compile(r"PC\d+")
ADDED = tuple(f"PC{number}" for number in range(1, 5))
MIXED_WORDS = (
    "Mixed, for related samples: a random effect of the variants on all other chromosomes (LOCO), "
    "or on all"
)
MODEL_WORDS = (
    "Model. For cases and controls: logistic regression, with Firth's "
    "penalised likelihood for variants where it does not converge; either "
    f"of these for all variants; or the saddle-point score test. {MIXED_WORDS}. GLMM: the "
    "logistic mixed model with the saddle-point test, for related samples and few cases"
)
WORDS = """
:host { font-size: 12.5px; line-height: 1.4; font-variant-numeric: tabular-nums; }
p { margin: 0; opacity: 0.85; } .problem { color: #f0736e; opacity: 1; }
"""
OF_CASES = [name for name in MODELS if name not in OF_NUMBERS]
FIELDS_WRAP: dict[str, Any] = {"flexWrap": "wrap", "rowGap": "6px"}
SHRINKS = """@media (max-width: 1560px) {{
  :host {{ width: {0}px !important; min-width: {0}px !important; flex: 0 0 {0}px !important; }}
  :host > div {{ width: 100% !important; min-width: 0 !important; }} }}"""
NARROW_WIDTHS = {"trait": 154, "type": 132, "covariates": 160}
MODEL_WIDTHS = 192, 126, 108
"""Widths of the fields in a window of at most 1560 px, px, where they fit in one row."""


class ScanControls:
    """The button Run; a text, and a bar with Cancel while a scan is running.

    Parameters
    ----------
    help_text
        What Run does.

    Attributes
    ----------
    run_button, cancel_button, bar, said
        The elements.
    """

    def __init__(self, help_text: str) -> None:
        self.run_button = pmui.Button(
            label="Run", icon="play_arrow", variant="contained", size="small", margin=(11, 6, 4, 0),
            description=help_text,
        )  # fmt: skip
        self.cancel_button = pmui.Button(
            label="Cancel", variant="text", size="small", margin=(0, 6, 4, 0), visible=False
        )
        self.bar = pmui.LinearProgress(
            value=0, variant="determinate", width=120, margin=(14, 8, 0, 0), visible=False
        )
        self.said = pn.pane.HTML(
            "", stylesheets=[WORDS], sizing_mode="stretch_width", margin=(2, 8, 4, 2)
        )

    def _show_step(self, step: Any, why_busy: str, more: str = "") -> None:
        """Show the progress of a scan with ``more`` words; of none, only that Run is possible."""
        self.bar.visible = self.cancel_button.visible = step is not None
        allow(self.run_button, why_busy if step is not None else "")
        if step is not None:
            self.bar.value = round(100 * (step.fraction or 0.0))
            self.said.object = f"<p>{escape(step.text + more)}</p>"

    def _say_problem(self, problem: str) -> None:
        self.said.object = f'<p class="problem" role="alert">{escape(problem)}.</p>'


class AssociationForm(ScanControls):
    """A bar with fields; the Run button starts a scan.

    Parameters
    ----------
    state
        State of the page.
    others
        Further elements at the end of the bar.

    Attributes
    ----------
    fields, model, coding, conditions, run_button, cancel_button, adjust_button, panel
        The fields and buttons, and the Panel object.
    task, components
        The running scan, and the computation of components it waits for.
    design
        Design of the latest scan, or None.
    """

    def __init__(self, state: GenotypeState, *others: Any) -> None:
        super().__init__("Run: test all variants")
        self._state = state
        self.design: Design | None = None
        self._asked: tuple[Design, tuple[int, ...]] | None = None
        self.task = state.new_question("association", self._on_scan, takes_all=True)
        self.components = state.new_question("principal components", self._on_components)
        self.fields = TraitFields(state)
        self.why_numbers, self._of_cases, self._of_numbers = "", FALLBACK, LINEAR
        self.model = pmui.Select(
            label="Model", options={model.label: name for name, model in MODELS.items()},
            value=LINEAR, disabled_options=OF_CASES, width=190, **FIELD,
        )  # fmt: skip
        self.coding = CodingFields(state, width=150, **FIELD)
        self.conditions = ConditionChips(state, self._run_again)
        fields = {getattr(self.fields, name): width for name, width in NARROW_WIDTHS.items()}
        of_model = (self.model, self.coding.genetic, self.coding.interaction)
        fields |= dict(zip(of_model, MODEL_WIDTHS, strict=True))
        for field, width in fields.items():
            field.stylesheets = [*field.stylesheets, SHRINKS.format(width)]
        self.adjust_button = pmui.Button(
            label="Add PC1 to PC4", variant="outlined", size="small", margin=(0, 8, 4, 0),
            visible=False, stylesheets=[":host { flex: none; }"],
            description="Add PC1 to PC4: compute principal components if needed, add them as "
            "covariates, and run again",
        )  # fmt: skip
        self.run_button.on_click(lambda _: self.run())
        self.cancel_button.on_click(lambda _: self._cancel())
        self.adjust_button.on_click(lambda _: self.adjust())
        self._over = Watched(state.session, self._forget_partial, lambda: not self.task.is_open)
        self.task.param.watch(self._show, "opening")
        self.components.param.watch(self._show, "opening")
        self.model.param.watch(self._on_model, "value")
        state.param.watch(self._follow_trait, ["trait", "trait_types", "table", "opened", "kept"])
        state.param.watch(self._show, ["scan", "partial", "trait", "covariates", "table"])
        self.panel = pmui.Column(
            pmui.Row(
                self.fields.trait, self.fields.type, self.fields.covariates, *of_model,
                self.run_button, pn.layout.HSpacer(), *others,
                sizing_mode="stretch_width", margin=0, sx=FIELDS_WRAP,
            ),
            self.conditions.panel,
            pmui.Row(
                self.said, self.bar, self.cancel_button, self.adjust_button,
                sizing_mode="stretch_width", margin=0, sx=NARROW_WRAPS,
            ),
            sizing_mode="stretch_width", margin=(0, 0, 0, 10), styles={"min-width": "0"},
        )  # fmt: skip
        self._follow_trait()

    @property
    def offered(self) -> list[str]:
        """The models applicable to the trait."""
        return [name for name in MODELS if name not in self.model.disabled_options]

    def run(self) -> None:
        """Start a scan, or show why it is impossible."""
        model = self.model.value
        try:
            given = chosen_conditions(self._state, model) if self._state.conditions else None
            design = chosen_design(self._state, conditions=given)
            if model not in OF_NUMBERS:
                design.of_cases()
            coding = self.coding.options(design)
        except GenovizError as error:
            self._say_problem(str(error))
            return
        self._asked = design, self._state.conditions
        self._state.partial = None
        steps = iter_scan(self._state.subject, design, model, **coding)
        self._over.start()
        self.task.ask(lambda: steps, title=f"association with {design.trait}")

    def condition_on(self, variant: int) -> None:
        """Add a variant to those that scans are conditional on, and run."""
        if variant not in self._state.conditions:
            self._state.conditions = (*self._state.conditions, variant)
        self.run()

    def _run_again(self) -> None:
        if self._state.scan is not None or self.task.is_open:
            self.run()

    def adjust(self) -> None:
        """Rerun with the first components as covariates, and compute those if necessary."""
        if self._state.components is not None:
            self._run_adjusted()
            return
        try:
            steps = iter_components(self._state.subject)
        except GenovizError as error:
            self._say_problem(str(error))
            return
        self.components.ask(lambda: steps)

    def _on_components(self, components: PrincipalComponents) -> None:
        self._state.components = components
        self._run_adjusted()

    def _run_adjusted(self) -> None:
        state, known = self._state, covariate_names(self._state)
        added = [name for name in ADDED if name in known and name not in state.covariates]
        state.covariates = (*state.covariates, *added)
        self.run()

    def _cancel(self) -> None:
        self.task.drop()
        self.components.drop()
        self._state.partial = None

    def _on_scan(self, scan: AssociationScan) -> None:
        if self.task.is_open:  # a whole scan may come just before its job ends
            self._state.partial = scan if scan.model in OF_ALL else None
        else:
            self.design, given = self._asked
            self._state.param.update(scan=scan, scan_conditions=given, partial=None)

    def _forget_partial(self) -> None:
        """Forget what a scan that failed has found."""
        self._state.partial = None

    def _follow_trait(self, *_events: Any) -> None:
        self.why_numbers = why = why_no_cases(self._state)
        self.model.param.update(
            value=self._of_numbers if why else self._of_cases,
            disabled_options=OF_CASES if why else [],
            description=f"Linear or mixed: {why}. {MIXED_WORDS}" if why else MODEL_WORDS,
        )
        self._show()

    def _on_model(self, event: Any) -> None:
        if self.why_numbers:  # it stays selected for other traits of the same kind
            self._of_numbers = event.new
        else:
            self._of_cases = event.new
        self.coding.allow(event.new)

    def _show(self, *_events: Any) -> None:
        step = self.task.opening or self.components.opening
        with pn.io.hold():
            self.adjust_button.visible = step is None and self._is_inflated
            self._show_step(step, "a scan is running", self._found_so_far)
            if step is not None:
                return
            if self._state.table is None:
                self.said.object = (
                    "<p>Open a table of phenotypes in the sidebar to choose a trait.</p>"
                )
            elif not trait_names(self._state):
                self.said.object = f"<p>{NO_TRAIT_COLUMN}</p>"
            elif self._state.scan is not None and self.design is not None:
                self.said.object = f"<p>{self._words()}</p>"
            else:
                why = f"Linear and mixed models are offered: {escape(self.why_numbers)}."
                self.said.object = f"<p>{why}</p>" if self.why_numbers else ""

    @property
    def _found_so_far(self) -> str:
        """What a running mixed scan has found."""
        scan = self._state.partial
        if scan is None:
            return ""
        n, shares = len(scan.chromosomes), scan.heritabilities
        return f" · {n_words(n, 'chromosome')} tested, heritability {shares.mean():.3f}"

    @property
    def _is_inflated(self) -> bool:
        """Whether p-values are inflated and no component is a covariate."""
        scan, design = self._state.scan, self.design
        if scan is None or design is None or not scan.lambda_gc > INFLATED:
            return False
        return not any(COMPONENT.fullmatch(name) for name in design.names)

    def _words(self) -> str:
        scan, design = self._state.scan, self.design
        n_tested = int(np.isfinite(scan.minus_log10_p).sum())
        names = condition_names(self._state, self._state.scan_conditions)
        words = model_words(scan), coding_words(scan.coding), condition_words(names)
        model = escape(", ".join(filter(None, words)), quote=False)
        words = f"{escape(design.trait)}, {model}: {n_words(n_tested, 'variant')} tested in "
        words += n_words(design.n_samples, "sample")
        n_covariates = sum(name not in names for name in design.names)
        if n_covariates:
            words += f", {n_words(n_covariates, 'covariate column')}"
        is_old = design.trait != self._state.trait
        notes = [*design.notes, *scan.notes]
        if scan.model in OF_ALL:
            pass  # its own notes tell of dosages
        elif any(NOT_TAKEN in note for note in self._state.opened.genotypes.notes):
            notes.append("Hard calls are tested; genoviz geno gwas tests the dosages of this file.")
        elif n_stored := int(np.count_nonzero(self._state.subject.has_stored_dosages)):
            notes.append(f"Dosages of {n_words(n_stored, 'variant')} are tested.")
        if self._is_inflated:
            notes.append(
                f"λ = {scan.lambda_gc:.2f}: many variants look associated, as with populations or "
                "relatives; PC1 to PC4 as covariates correct for structure"
                + ("." if scan.model in OF_ALL else ", a mixed model for both.")
            )
        if scan.model in OF_NUMBERS and design.is_binary:
            notes.append(
                "The trait has two values, which are tested as numbers. To test odds, "
                "choose another model."
            )
        words += ". " + " ".join(map(escape, notes))
        return words + (" <b>Run</b> scans for the new trait." if is_old else "")
