"""The form of a scan of sets: trait, file of sets and tests; and the progress of the scan."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import panel as pn
import panel_material_ui as pmui

from genoviz.errors import GenovizError, ParameterError
from genoviz.io.genotypes.variant_tables import has_features
from genoviz_app.opening.files import iter_open_source
from genoviz_app.pages.genotypes.association.choices import OF_NUMBERS, chosen_design, why_no_cases
from genoviz_app.pages.genotypes.association.form import (
    FIELDS_WRAP,
    MIXED_WORDS,
    NARROW_WIDTHS,
    SHRINKS,
    ScanControls,
)
from genoviz_app.pages.genotypes.association.set_scan import (
    AUTO,
    GENE,
    MODELS,
    TESTS,
    WEIGHTS,
    WHOLE,
    SetRequest,
    SetScan,
    iter_test_sets,
)
from genoviz_app.pages.genotypes.association.trait_fields import FIELD, TraitFields
from genoviz_app.pages.genotypes.state import GenotypeState

FILE = "a file on the server"
SOURCE_WORDS = "Regions with names (BED, GFF, GTF), or a table of sets and variant IDs"


class SetsForm(ScanControls):
    """A bar with fields; the Run button tests sets.

    Parameters
    ----------
    state
        State of the page.
    on_scan
        Called with the tests.

    Attributes
    ----------
    fields, source, path, feature, model, max_maf, weights, min_variants, seed, test, panel
        The fields, and the Panel object.
    task
        The running test.
    words
        What is said while no test is running.
    """

    def __init__(self, state: GenotypeState, on_scan: Callable[[SetScan], None]) -> None:
        super().__init__("Run: test all sets")
        self._state, self.words = state, ""
        self._uploads: dict[str, str] = {}
        self.task = state.new_question("tests of sets", on_scan)
        self._make_fields()
        self.panel = pmui.Column(
            pmui.Row(
                *(self.fields.trait, self.fields.type, self.fields.covariates),
                *(self.source, self.path, self.feature, self.model, self.max_maf, self.weights),
                *(self.min_variants, self.seed, self.test, self.run_button),
                sizing_mode="stretch_width", margin=0, sx=FIELDS_WRAP,
            ),
            pmui.Row(
                self.said, self.bar, self.cancel_button, sizing_mode="stretch_width", margin=0
            ),
            sizing_mode="stretch_width", margin=(0, 0, 0, 10), styles={"min-width": "0"},
        )  # fmt: skip
        session = state.session
        self.source.param.watch(self._follow_source, "value")
        self.path.param.watch(self._follow_source, ["value", "value_input"])
        self.task.param.watch(lambda _: self.say(), "opening")
        session.param.watch(self._follow_files, "annotation_files")
        session.tracks.param.watch(self._follow_files, "files")
        self._follow_files()

    def _make_fields(self) -> None:
        self.fields = TraitFields(self._state)
        for name, width in NARROW_WIDTHS.items():
            field = getattr(self.fields, name)
            field.stylesheets = [*field.stylesheets, SHRINKS.format(width)]
        self.source = pmui.Select(
            label="Sets", options={FILE: FILE}, value=FILE, width=190, description=SOURCE_WORDS,
            **FIELD,
        )  # fmt: skip
        self.path = pmui.TextInput(
            label="Sets on the server", placeholder="/data/genes.gff3.gz", width=210,
            description=f"{SOURCE_WORDS}. Enter runs the tests.", **FIELD,
        )  # fmt: skip
        self.feature = pmui.TextInput(
            label="Feature", value=GENE, width=110, visible=False, **FIELD,
            description="Type of the features of GFF and GTF that are sets",
        )  # fmt: skip
        self.model = pmui.Select(
            label="Model", options=MODELS, value=AUTO, width=170, **FIELD,
            description="Automatic: linear, or logistic for cases and controls. "
            f"{MIXED_WORDS}. GLMM: the logistic mixed model, for related cases and controls, also "
            "few",
        )  # fmt: skip
        self.max_maf = pmui.FloatInput(
            label="Max. MAF", value=0.01, start=1e-9, end=0.5, step=0.01, width=132, **FIELD,
            description="Maximum minor allele frequency of a variant",
        )  # fmt: skip
        self.weights = pmui.Select(
            label="Weights", options=WEIGHTS, value="beta", width=156, **FIELD,
            description="Beta: 25 (1 - MAF)²⁴, so that rare variants weigh more. None: 1",
        )  # fmt: skip
        numbers = {
            name: {"start": low, "end": high, "value": low, **FIELD}
            for name, (low, high) in WHOLE.items()
        }
        self.min_variants = pmui.IntInput(
            label="Min. variants", width=142, **numbers["min_variants"],
            description="Sets with fewer variants are not tested",
        )  # fmt: skip
        self.seed = pmui.IntInput(
            label="Seed", width=104, **numbers["seed"],
            description="Seed of random numbers: which cases are resampled where few make the "
            "usual tests unreliable, and the random vectors of mixed models",
        )  # fmt: skip
        self.test = pmui.Select(
            label="Drawn", options=[*TESTS], value=next(iter(TESTS)), width=116, **FIELD,
            description="The test that the plots show, and that ranks the sets",
        )  # fmt: skip
        self.run_button.on_click(lambda _: self.run())
        self.cancel_button.on_click(lambda _: self.task.drop())
        self.path.param.watch(lambda _: self.run(), "enter_pressed")

    @property
    def request(self) -> SetRequest:
        """The settings."""
        source = self.source.value
        if source == FILE:
            source = (self.path.value_input or self.path.value or "").strip()
        feature = (self.feature.value_input or self.feature.value).strip()
        return SetRequest(
            self.model.value, self.max_maf.value or 0.0, self.weights.value,
            self.min_variants.value or 1, self.seed.value or 0, feature or GENE, source,
        )  # fmt: skip

    @request.setter
    def request(self, request: SetRequest) -> None:
        is_open = request.source in self.source.options.values()
        with pn.io.hold():
            self.model.value, self.max_maf.value = request.model, request.max_maf
            self.weights.value, self.feature.value = request.weights, request.feature
            self.min_variants.value, self.seed.value = request.min_variants, request.seed
            self.source.value = request.source if is_open else FILE
            if not is_open:
                self.path.param.update(value=request.source, value_input=request.source)

    def run(self) -> None:
        """Start the tests, or show why they are impossible."""
        state, request = self._state, self.request
        try:
            design = chosen_design(state)
            if request.model not in (AUTO, *OF_NUMBERS):
                design = design.of_cases()
            if not request.source:
                raise ParameterError(f"no sets are named. {SOURCE_WORDS} on the server")
        except GenovizError as error:
            self._say_problem(str(error))
            return
        options = {
            "request": request, "genotypes": state.subject, "design": design,
            "is_binary": not why_no_cases(state),
        }  # fmt: skip
        if request.source in self._uploads:
            path = state.session.upload_path(self._uploads[request.source])
            steps = iter_test_sets(path, title=path.name, **options)
        else:
            steps = iter_open_source(
                request.source, state.session.folders, partial(iter_test_sets, **options)
            )
        self.task.ask(lambda: steps, title=f"sets of {design.trait}")

    def _follow_files(self, *_events: Any) -> None:
        session, options = self._state.session, {}
        self._uploads: dict[str, str] = {}
        for file in (*session.annotation_files.files, *session.tracks.files):
            if getattr(getattr(file, "data", None), "features", file) is None:
                continue  # a signal has no features
            source = file.source or f"upload {file.title}"
            if not file.source:
                self._uploads[source] = file.title
            options[file.title] = source
        value = self.source.value
        if value not in options.values():
            value = next(iter(options.values()), FILE)
        self.source.param.update(options={**options, FILE: FILE}, value=value)
        self._follow_source()

    def _follow_source(self, *_events: Any) -> None:
        source = self.request.source
        self.path.visible = self.source.value == FILE
        self.feature.visible = has_features(Path(self._uploads.get(source, source)))

    def say(self, words: str | None = None) -> None:
        """Show the progress, or else these words."""
        self.words = self.words if words is None else words
        step = self.task.opening
        with pn.io.hold():
            self._show_step(step, "sets are being tested")
            if step is None:
                self.said.object = f"<p>{escape(self.words)}</p>"
