"""Links to the page: thresholds, trait, variant, and settings of the analyses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from genoviz.errors import ParameterError
from genoviz.model.genotypes.genotypes import VariantTable
from genoviz_app.pages.genotypes.association.choices import (
    ADDITIVE,
    LINEAR,
    WINDOWS,
    covariate_names,
    trait_names,
)
from genoviz_app.pages.genotypes.association.manhattan_panel import ManhattanPanel
from genoviz_app.pages.genotypes.association.scan_panel import AssociationPanel
from genoviz_app.pages.genotypes.association.set_scan import SETS, read_request
from genoviz_app.pages.genotypes.association.sets_panel import SetsPanel
from genoviz_app.pages.genotypes.prediction.panel import PredictionPanel
from genoviz_app.pages.genotypes.prediction.request_text import read_request as read_prediction
from genoviz_app.pages.genotypes.prediction.request_text import write_request
from genoviz_app.pages.genotypes.quality.thresholds import read_thresholds, write_thresholds
from genoviz_app.pages.genotypes.samples.panel import SamplesPanel
from genoviz_app.pages.genotypes.state import ASSOCIATION, PREDICTION, GenotypeState
from genoviz_app.parts.questions import Watched
from genoviz_app.parts.views import Views
from genoviz_app.session.address import Address

PLACE = re.compile(r"(.+):(\d+)")
COMPONENT = re.compile(r"PC\d+")
USUAL_WINDOW = "50snps"


@dataclass(frozen=True)
class LinkedPanels:
    """The tabs whose settings are part of a link."""

    samples: SamplesPanel
    association: AssociationPanel
    views: Views

    @property
    def prediction(self) -> PredictionPanel:
        """The Prediction tab, created on demand."""
        return self.views.view(PredictionPanel.title)

    @property
    def sets(self) -> SetsPanel:
        """The Sets tab, created on demand."""
        return self.views.view(SetsPanel.title)

    @property
    def tested_sets(self) -> str:
        """The request of the tested sets as text; "" if there are none, or they are an upload."""
        made = self.views.made(SetsPanel.title)
        scan = None if made is None else made.scan
        return scan.request.text if scan is not None and scan.request.source else ""

    @property
    def made_prediction(self) -> PredictionPanel | None:
        """The Prediction tab if it was already created."""
        return self.views.made(PredictionPanel.title)

    def plot(self, tab: str) -> ManhattanPanel | None:
        """Return the plot along the genome of a tab, by its name in links, or None."""
        if tab == PREDICTION:
            return self.prediction.effects
        return self.association.manhattan if tab == ASSOCIATION else None


class LinkFollower:
    """Applies a link step by step, as soon as each step is possible.

    Parameters
    ----------
    state
        Shared state of the page.
    panels
        The tabs that apply parts of the link.
    """

    def __init__(self, state: GenotypeState, panels: LinkedPanels) -> None:
        self._state, self._panels = state, panels
        self._steps: Iterator[None] = iter(())
        self._problems: list[str] = []
        self._waiting = Watched(state.session, self._step)

    def follow(self, link: Address, problem: str = "") -> None:
        """Start to apply a link once its genotypes are open; problems were already reported."""
        self._problems = [problem] if problem else []
        self._steps = self._iter_follow(link)
        self._state.coming = tuple(result.partition(":")[0] for result in link.results)
        self._waiting.start()

    def _step(self) -> None:
        for _ in self._steps:
            self._waiting.start()
            return

    def _iter_follow(self, link: Address) -> Iterator[None]:
        state, panels = self._state, self._panels
        files = state.session.genotypes
        while files.is_opening or state.opened is None:
            yield
        if link.pedigree and link.pedigree != panels.prediction.form.pedigree_source:
            panels.prediction.form.open_pedigree(link.pedigree)
        while panels.made_prediction is not None and panels.made_prediction.form.is_reading:
            yield
        self._apply_trait(link.trait)
        thresholds = self._read(read_thresholds, link.kept, state.thresholds)
        if thresholds != state.thresholds:
            state.keep(thresholds)
        while state.filtering.is_open:
            yield
        region = state.session.region
        self._apply_variant(link.variant)
        if link.region is not None and region is not None:
            state.session.region = region  # the variant's region would replace that of the link
        self._apply_window(link.window)
        if link.blup:
            form = panels.prediction.form
            request = self._read(read_prediction, link.blup, form.request)
            for name in {*request.others} - {*form.model.others.options}:
                self._complain(f"no other column of numbers, or of two groups, is named {name!r}")
            form.request = request
        if any(map(COMPONENT.fullmatch, link.covariates)) and state.components is None:
            panels.samples.components.run()
        while panels.samples.components.task.is_open:
            yield
        self._apply_covariates(link.covariates)
        self._apply_conditions(link)
        self._apply_model(link)
        self._apply_coding(link)
        self._apply_zoom(link)
        self._compute(link.results)
        state.coming = ()
        if self._problems:
            words = "; ".join(self._problems)
            state.session.complain(f"The link is not followed all the way: {words}.")

    def _apply_trait(self, trait: str) -> None:
        """Select the trait, if the table has it."""
        if not trait:
            return
        if trait in trait_names(self._state):
            self._state.trait = trait
        else:
            self._complain(f"no column of numbers, or of two groups, is named {trait!r}")

    def _apply_covariates(self, covariates: tuple[str, ...]) -> None:
        if not covariates:
            return
        known = covariate_names(self._state)
        for name in covariates:
            if name not in known:
                self._complain(f"no column or component is named {name!r}")
        self._state.covariates = tuple(name for name in covariates if name in known)

    def _apply_conditions(self, link: Address) -> None:
        """Select the variants that scans are conditional on; without these, none."""
        if not link.conditions and ASSOCIATION not in link.results:
            return
        rows = {name: find_variant(self._state.subject.variants, name) for name in link.conditions}
        for name, row in rows.items():
            if row is None:
                self._complain(f"no variant is named {name!r}")
        self._state.conditions = tuple(row for row in rows.values() if row is not None)

    def _apply_variant(self, variant: str) -> None:
        if not variant:
            return
        found = find_variant(self._state.subject.variants, variant)
        if found is None:
            self._complain(f"no variant is named {variant!r}")
        elif found != self._state.variant:
            self._state.choose_variant(found)

    def _apply_window(self, window: str) -> None:
        labels = {slug_of(label): label for label in WINDOWS}
        if window:
            self._choose(self._panels.association.region.window, "window", window, labels)

    def _apply_model(self, link: Address) -> None:
        """Select the model; links without one are old links to linear scans."""
        form = self._panels.association.form
        model = link.model or (LINEAR if ASSOCIATION in link.results else "")
        if model in ("", *form.offered):
            form.model.value = model or form.model.value
        else:
            why = f", as {form.why_numbers}" if form.why_numbers else ""
            self._complain(f"model is {model!r}, needs {' or '.join(form.offered)}{why}")

    def _apply_coding(self, link: Address) -> None:
        """Select what A1 does, and the covariate that interacts; without these, additive."""
        coding = self._panels.association.form.coding
        if not (link.genetic_model or link.interaction or ASSOCIATION in link.results):
            return
        offered = {name: name for name in coding.offered}
        self._choose(coding.genetic, "genetic-model", link.genetic_model or ADDITIVE, offered)
        if link.interaction in ("", *coding.interaction.options):
            coding.interaction.value = link.interaction
        else:
            why = coding.why_alone or "it is not among the covariates"
            self._complain(f"there is no interaction with {link.interaction!r}: {why}")

    def _apply_zoom(self, link: Address) -> None:
        """Zoom the plot of the tab if it has data, or will have them."""
        plot = self._panels.plot(link.tab)
        if link.zoom is None or plot is None:
            return
        if plot.track is not None or link.tab in link.results:
            plot.zoom_to(link.zoom)

    def _compute(self, results: tuple[str, ...]) -> None:
        """Start the analyses whose results the link shows, unless they are done."""
        state, panels = self._state, self._panels
        for result in results:
            if result == ASSOCIATION:
                if state.scan is None or state.conditions != state.scan_conditions:
                    panels.association.form.run()
            elif result == PREDICTION:
                if state.blup is None:
                    panels.prediction.form.begin()
            elif result.partition(":")[0] == SETS:
                request = self._read(read_request, result, None)
                if request is not None and result != panels.tested_sets:
                    panels.sets.form.request = request
                    panels.sets.form.run()
            else:
                self._complain(f"result is {result!r}, needs {ASSOCIATION}, {SETS} or {PREDICTION}")

    def _choose(self, field: Any, name: str, text: str, values: dict[str, Any]) -> None:
        if text in values:
            field.value = values[text]
        else:
            self._complain(f"{name} is {text!r}, needs {' or '.join(values)}")

    def _read(self, read: Callable[[str], Any], text: str, otherwise: Any) -> Any:
        try:
            return read(text)
        except ParameterError as error:
            self._complain(str(error))
            return otherwise

    def _complain(self, words: str) -> None:
        self._problems.append(words)


def write_state(state: GenotypeState, panels: LinkedPanels, tab: str) -> Address:
    """Return the address of the present view."""
    subject = state.subject
    if subject is None:
        return Address(tab=tab)
    association, prediction = panels.association, panels.made_prediction
    form = None if prediction is None else prediction.form
    window, model = slug_of(association.region.window.value), association.form.model.value
    is_usual = bool(association.form.why_numbers) and model == LINEAR
    coding = association.form.coding
    genetic = coding.genetic.value
    plot = panels.plot(tab)
    results = {ASSOCIATION: state.scan, PREDICTION: state.blup}
    results |= {sets: sets for sets in [panels.tested_sets] if sets}
    return Address(
        trait=state.trait,
        covariates=tuple(state.covariates),
        conditions=tuple(subject.variants.label(row) for row in state.conditions),
        kept=write_thresholds(state.thresholds) if state.kept is not None else "",
        variant="" if state.variant is None else subject.variants.label(state.variant),
        zoom=None if plot is None else plot.zoom,
        window="" if window == USUAL_WINDOW else window,
        model="" if is_usual else model,
        genetic_model="" if genetic == ADDITIVE else genetic,
        interaction=coding.interaction.value,
        blup="" if form is None else write_request(form.request),
        pedigree="" if form is None else form.pedigree_source,
        results=tuple(name for name, result in results.items() if result is not None),
        tab=tab,
    )


def slug_of(window: str) -> str:
    """Return the text form of a window size for links.

    Examples
    --------
    >>> slug_of("± 50 SNPs")
    '50snps'
    """
    return window.lower().removeprefix("±").replace(" ", "")


def find_variant(variants: VariantTable, name: str) -> int | None:
    """Return the index of a variant by ID or contig:position (1-based); None if not found."""
    found = np.flatnonzero(variants.ids == name)
    place = PLACE.fullmatch(name)
    if not len(found) and place is not None:
        start = int(place[2]) - 1
        found = variants.in_region(place[1], start, start + 1)
    return int(found[0]) if len(found) else None
