"""The prediction form: trait, heritability and method; and control of the solver."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui

from genoviz.analyses.genotypes.association.design import Design
from genoviz.errors import GenovizError
from genoviz.io.files.replace_file import replace_file
from genoviz_app.opening.files import check_path
from genoviz_app.opening.served_files import safe_name
from genoviz_app.pages.genotypes.association.choices import (
    chosen_covariates,
    chosen_design,
    trait_names,
)
from genoviz_app.pages.genotypes.association.form import WORDS
from genoviz_app.pages.genotypes.association.trait_fields import NO_TRAIT_COLUMN, TraitFields
from genoviz_app.pages.genotypes.prediction.blup_steps import (
    GBLUP,
    PRECONDITIONERS,
    SINGLE_STEP,
    SNP_BLUP,
    BlupRequest,
    BlupRun,
    Preparation,
    Together,
    begin_blup,
    begin_together,
)
from genoviz_app.pages.genotypes.prediction.herd import pedigree_of, phenotypes_of_others
from genoviz_app.pages.genotypes.prediction.model_fields import WIDE, ModelFields, tell_groups
from genoviz_app.pages.genotypes.prediction.request_text import SHARE, TOLERANCES
from genoviz_app.pages.genotypes.state import GenotypeState
from genoviz_app.parts.picker_fields import UploadButton
from genoviz_app.parts.questions import Question, allow
from genoviz_app.parts.words import n_words
from genoviz_app.server.jobs import KERNELS

BUTTON: dict[str, Any] = {"size": "small", "margin": (10, 6, 0, 0)}


class BlupQuestion(Question):
    """A `Question` that can be paused; its snapshots are kept."""

    @property
    def is_paused(self) -> bool:
        """Whether the run is paused."""
        return self._job is not None and self._job.state == "paused"

    def pause(self) -> None:
        """Pause or resume the run."""
        if self._job is None:
            return
        if self.is_paused:
            self._job.resume()
        else:
            self._job.pause()
        self.param.trigger("opening")


class PredictionForm:
    """Fields in a column, and buttons.

    Attributes
    ----------
    fields, model, heritability, method, preconditioner, tolerance, weight
        The fields.
    run_button, pause_button, cancel_button, panel, bar
        Buttons; the fields, and the buttons with the state of the run.
    pedigree_source
        The path of the pedigree, to reopen it; "" for an upload, and for the .fam file's pedigree.
    run
        The latest prediction, or None.
    task
        The `BlupQuestion` that runs it.
    """

    def __init__(self, state: GenotypeState) -> None:
        self._state = state
        self._pedigree: Any = None
        self._pedigree_title = ""
        self._is_own_pedigree = True
        self._why_none = ""
        self.pedigree_source = ""
        self._preparing = ""
        self.run: BlupRun | None = None
        self.task = BlupQuestion(
            state.session, "prediction", self._on_snapshot, pool=KERNELS, takes_all=True
        )
        self._reads = Question(state.session, "pedigree", self._on_pedigree)
        self.fields = TraitFields(state)
        for field in (self.fields.trait, self.fields.covariates):
            field.param.update(width=None, sizing_mode="stretch_width", margin=(8, 0, 0, 0))
        self.model = ModelFields(state)
        self.heritability = self.model.heritability
        self._make_fields()
        self._make_buttons()
        self.panel = pmui.Column(
            self.fields.trait, self.fields.type, self.model.others, self.fields.covariates,
            self.method, self.pedigree_path, self.pedigree_file, self.model.founders,
            self.model.gamma, self.model.source, self.heritability, self.model.covariances,
            self.model.upload, self.model.base, self.weight, self.preconditioner, self.tolerance,
            sizing_mode="stretch_width", margin=0,
        )  # fmt: skip
        self.bar = pmui.Column(
            pmui.Row(self.run_button, self.pause_button, self.cancel_button, margin=0),
            self.said,
            sizing_mode="stretch_width", margin=0,
        )  # fmt: skip
        self.task.param.watch(self._show, "opening")
        self.method.param.watch(self._follow_method, "value")
        self.model.others.param.watch(self._follow_method, "value")
        state.param.watch(self._follow_subject, ["kept", "opened"])
        state.param.watch(self._show, ["blup", "trait", "table"])
        self._follow_subject()

    def _make_fields(self) -> None:
        self.method = pmui.Select(
            label="Method", options=[SNP_BLUP, GBLUP, *SINGLE_STEP], value=SNP_BLUP, **WIDE
        )
        self.pedigree_path = pmui.TextInput(
            label="Pedigree on the server", placeholder="/data/mice.ped.csv", visible=False,
            description="A table of animal, sire and dam, or a .fam file. Enter opens it.", **WIDE,
        )  # fmt: skip
        self.pedigree_file = UploadButton(
            label="Upload: animal, sire, dam", accept=".csv,.tsv,.txt,.ped,.fam,.gz",
            size="small", variant="text", margin=(4, 0, 0, 0), visible=False,
        )  # fmt: skip
        self.weight = pmui.FloatSlider(
            label="Polygenic weight", start=SHARE[0], end=SHARE[1], step=0.05, value=0.2,
            size="small", sizing_mode="stretch_width", margin=(8, 8, 0, 8), visible=False,
        )  # fmt: skip
        self.preconditioner = pmui.Select(
            label="Preconditioner", options=PRECONDITIONERS, value="diagonal", **WIDE
        )
        self.tolerance = pmui.Select(
            label="Stop at residual", options=TOLERANCES, value=1e-13,
            description="Squared norm of the residual over that of the right-hand side", **WIDE,
        )  # fmt: skip
        self.pedigree_file.param.watch(self._on_upload, "value")
        self.pedigree_path.param.watch(
            lambda _: self.open_pedigree(self.pedigree_path.value_input), "enter_pressed"
        )

    def _make_buttons(self) -> None:
        self.run_button = pmui.Button(
            label="Run", icon="play_arrow", variant="contained",
            description="Run: predict breeding values", **BUTTON,
        )  # fmt: skip
        self.pause_button = pmui.Button(label="Pause", variant="outlined", visible=False, **BUTTON)
        self.cancel_button = pmui.Button(label="Cancel", variant="text", visible=False, **BUTTON)
        self.said = pn.pane.HTML(
            "", stylesheets=[WORDS], sizing_mode="stretch_width", margin=(8, 0, 0, 0)
        )
        self.run_button.on_click(lambda _: self.begin())
        self.pause_button.on_click(lambda _: self.task.pause())
        self.cancel_button.on_click(lambda _: self.task.drop())

    @property
    def request(self) -> BlupRequest:
        """The settings in the fields."""
        return BlupRequest(
            self.method.value,
            preconditioner=self.preconditioner.value,
            tolerance=self.tolerance.value,
            polygenic_weight=self.weight.value,
            **self.model.chosen,
        )

    @request.setter
    def request(self, request: BlupRequest) -> None:
        with pn.io.hold():
            self.model.take(request)
            is_offered = request.method not in self.method.disabled_options
            self.method.value = request.method if is_offered else SNP_BLUP
            self.preconditioner.value = request.preconditioner
            self.tolerance.value, self.weight.value = request.tolerance, request.polygenic_weight

    @property
    def is_reading(self) -> bool:
        """Whether a pedigree is being read."""
        return self._reads.is_open

    def open_pedigree(self, source: str) -> None:
        """Start to read a pedigree from a path on the server."""
        self._reads.ask(_read_served, source, self._state.session.folders)

    def begin(self) -> None:
        """Start a prediction, or show why it is impossible."""
        state = self._state
        try:
            run = self._begin()
        except GenovizError as error:
            self.complain(str(error))
            return
        self.run, self._preparing = run, ""
        state.blup = None
        traits = ", ".join(run.traits)
        self.task.ask(lambda: run.steps, title=f"{run.request.method} of {traits}")

    def _begin(self) -> BlupRun:
        state, request, pedigree = self._state, self.request, self._pedigree
        if request.method not in SINGLE_STEP:
            pedigree = None
        designs = [chosen_design(state, trait=name) for name in self.model.traits]
        others = [self._others(design) for design in designs]
        gamma = self.model.read_gamma(pedigree)
        if len(designs) == 1:
            return begin_blup(state.subject, designs[0], request, pedigree, others[0], gamma)
        columns = chosen_covariates(state)
        matrix = np.column_stack([np.empty((state.subject.n_samples, 0)), *columns.values()])
        file = self.model.covariance_file()
        together = Together(designs, matrix, tuple(columns), others, file)
        return begin_together(state.subject, together, request, pedigree, gamma)

    def complain(self, problem: str) -> None:
        """Show what is wrong with the fields."""
        self.said.object = f'<p class="problem" role="alert">{escape(problem)}.</p>'

    def _others(self, design: Design) -> dict[str, float]:
        """Return the phenotypes of animals without genotypes."""
        state, phenotypes = self._state, self._state.session.genotypes.phenotypes
        table = None if phenotypes is None else phenotypes.whole
        return phenotypes_of_others(table, design, state.opened.genotypes.samples)

    def _on_snapshot(self, snapshot: Any) -> None:
        if isinstance(snapshot, Preparation):
            self._preparing = snapshot.words
            self._show()
        else:
            self._state.blup = snapshot

    def _follow_subject(self, *events: Any) -> None:
        self.task.drop()
        self.run = None
        if any(event.name == "opened" for event in events):
            self._is_own_pedigree, self.pedigree_source, self._pedigree_title = True, "", ""
            self._reads.drop()
        if self._is_own_pedigree:
            self._on_own_pedigree()
        self._follow_method()

    def _on_own_pedigree(self) -> None:
        """Use the pedigree of the samples' parents, or remember why there is none."""
        subject = self._state.subject
        self._pedigree, self._why_none = None, "the .fam file has no parents"
        try:
            self._pedigree = None if subject is None else pedigree_of(subject.samples)
        except GenovizError as error:
            self._why_none = f"in the .fam file {error}"

    def _follow_method(self, *_events: Any) -> None:
        is_single = self.method.value in SINGLE_STEP
        with pn.io.hold():
            for field in (self.pedigree_path, self.pedigree_file, self.weight):
                field.visible = is_single
            is_one = len(self.model.traits) == 1
            self.preconditioner.visible = is_one
            if not is_one and self.method.value == GBLUP:
                self.method.value = SNP_BLUP  # an equivalent model
            self.method.disabled_options = [] if is_one else [GBLUP]
            self.model.show(is_single)
        self._show()

    def _on_upload(self, event: Any) -> None:
        if event.new is not None:
            folder = self._state.session.upload_path("pedigree")
            name = safe_name(self.pedigree_file.filename or "pedigree.csv")
            self._reads.ask(_read_upload, folder / name, event.new)

    def _on_pedigree(self, answer: tuple[Any, str, str]) -> None:
        self._pedigree, self._pedigree_title, self.pedigree_source = answer
        self._is_own_pedigree = False
        self.pedigree_path.value = self.pedigree_source
        self._show()

    def _show(self, *_events: Any) -> None:
        is_running = self.task.is_open
        with pn.io.hold():
            allow(self.run_button, "a prediction is running" if is_running else "")
            self.pause_button.visible = self.cancel_button.visible = is_running
            self.pause_button.label = "Go on" if self.task.is_paused else "Pause"
            self.said.object = f"<p>{self._words()}</p>"

    def _words(self) -> str:
        state, run = self._state, self.run
        if state.blup is None or run is None:
            if self.task.is_open:
                return escape(f"{self._preparing or 'Preparing'} …")
            if state.table is None:
                return "Open a table of phenotypes in the sidebar to choose a trait."
            if not trait_names(state):
                return NO_TRAIT_COLUMN
            return self._pedigree_words()
        snapshot = state.blup
        words = f"Iteration {snapshot.iteration:,}, {snapshot.seconds:.1f} s"
        if snapshot.is_converged:
            words += ", converged"
        elif self.task.is_paused:
            words += ", paused"
        elif not self.task.is_open:
            words += ", stopped before it had converged"
        n = int(np.isfinite(run.phenotypes).any(axis=1).sum())
        whom = "animals" if run.request.method in SINGLE_STEP else "samples"
        words += f". {run.request.method} of {escape(', '.join(run.traits))} from {n:,} {whom}"
        assumed = run.request.assumed
        notes = [*run.design.notes]
        notes += tell_groups(run.groups, run.traits, snapshot.group_effects)
        notes += [note for note in snapshot.notes if note not in notes]
        return f"{words}{'; ' * bool(assumed)}{assumed}. " + " ".join(map(escape, notes))

    def _pedigree_words(self) -> str:
        if self.method.value not in SINGLE_STEP:
            return ""
        if self._pedigree is None:
            return escape(f"Single-step needs a pedigree; {self._why_none}.")
        name = " ".join(filter(None, ("Pedigree", self._pedigree_title)))
        words = [f"{name} of {n_words(len(self._pedigree.ids), 'animal')}.", *self._pedigree.notes]
        if not (self._is_own_pedigree or self.pedigree_source):
            words.append("Links to this page do not include it, because it is an upload.")
        return " ".join(map(escape, words))


def _read_served(source: str, folders: tuple[Path, ...]) -> tuple[Any, str, str]:
    from genoviz.io.genotypes.pedigree import read_pedigree

    path = check_path(source, folders)
    return read_pedigree(path), path.name, str(path)


def _read_upload(path: Path, content: bytes) -> tuple[Any, str, str]:
    from genoviz.io.genotypes.pedigree import read_pedigree

    path.parent.mkdir(exist_ok=True)
    with replace_file(path) as file:
        file.write(content)
    return read_pedigree(path), path.name, ""
