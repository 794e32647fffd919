"""The part of the sidebar that saves tables, genotypes, matrices and figures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import panel_material_ui as pmui

from genoviz.errors import ParameterError
from genoviz_app.pages.genotypes import exports
from genoviz_app.pages.genotypes.quality.panel import QualityPanel
from genoviz_app.pages.genotypes.samples.panel import SamplesPanel
from genoviz_app.pages.genotypes.state import GenotypeState
from genoviz_app.parts.file_button import file_button, file_stem

VARIANTS, SAMPLES = "Variants and their quality", "Samples and their quality"
KEPT = "Genotypes that are analysed"
SCORES, LOADINGS, SCATTER = "Components of samples", "Loadings of variants", "Scatter (figure)"
MATRIX, PAIRS, HEAT_MAP = "Relationship matrix", "Related pairs", "Heat map (figure)"
PICTURES = {"PNG": ".png", "SVG": ".svg"}
FORMATS = {
    VARIANTS: {"TSV": ".tsv"},
    SAMPLES: {"TSV": ".tsv"},
    KEPT: {"PLINK (zip)": ".zip"},
    SCORES: {"TSV": ".tsv"},
    LOADINGS: {"TSV": ".tsv"},
    SCATTER: PICTURES,
    MATRIX: {"TSV": ".tsv", "NumPy": ".npy", "GCTA (zip)": ".zip"},
    PAIRS: {"TSV": ".tsv"},
    HEAT_MAP: PICTURES,
}
STEMS = {
    VARIANTS: "variants", SAMPLES: "samples", KEPT: "kept", SCORES: "components",
    LOADINGS: "loadings", SCATTER: "components", MATRIX: "relationships", PAIRS: "pairs",
    HEAT_MAP: "relationships",
}  # fmt: skip
WIDE: dict[str, Any] = {"size": "small", "sizing_mode": "stretch_width", "margin": (12, 0, 0, 0)}
Writer = Callable[[Path], None]


class ExportsPanel:
    """Fields that say what is wanted, and a button that makes it.

    Attributes
    ----------
    what, ending, panel
        The fields, and the Panel object.
    """

    def __init__(self, state: GenotypeState, quality: QualityPanel, samples: SamplesPanel) -> None:
        self._state, self._quality, self._samples = state, quality, samples
        self.what = pmui.Select(label="Save", options=[*FORMATS], value=VARIANTS, **WIDE)
        self.ending = pmui.Select(
            label="As", options=FORMATS[VARIANTS], value=".tsv", width=136, size="small",
            margin=(12, 8, 0, 0),
        )  # fmt: skip
        button = file_button(state.session, "Save", self.prepare, margin=(12, 0, 0, 0))
        self.panel = pmui.Column(
            pmui.Typography("Save a file", variant="subtitle2", margin=(14, 0, 0, 0)),
            self.what,
            pmui.Row(self.ending, button, margin=0),
            sizing_mode="stretch_width", margin=0, visible=False,
        )  # fmt: skip
        self.what.param.watch(lambda _: self._offer(), "value")
        state.param.watch(lambda event: self._show(event.new is not None), "opened")
        self._show(state.opened is not None)

    def _show(self, is_open: bool) -> None:
        self.panel.visible = is_open

    def _offer(self) -> None:
        formats = FORMATS[self.what.value]
        self.ending.param.update(options=formats, value=next(iter(formats.values())))

    def prepare(self) -> tuple[str, Writer]:
        """Return the name of the wanted file, and what writes it.

        Raises
        ------
        ParameterError
            If there is nothing to write.
        """
        state, what = self._state, self.what.value
        if state.opened is None:
            raise ParameterError("nothing is open; open genotypes first")
        stem = file_stem(f"{state.opened.title.split('.')[0][:40]}_{STEMS[what]}")
        name = f"{stem}{self.ending.value}"
        if what in (VARIANTS, SAMPLES):
            return name, self._write_quality(what)
        if what == KEPT:
            subject, trait = state.subject, state.column(state.trait)
            phenotype = None if trait is None else np.asarray(trait, np.float64)
            return name, lambda path: exports.write_genotypes(path, subject, phenotype)
        if what in (SCORES, LOADINGS, SCATTER):
            return name, self._write_components(what)
        return name, self._write_relationships(what)

    def _write_quality(self, what: str) -> Writer:
        variants, samples = self._quality.rows
        if variants is None:
            raise ParameterError("quality is not measured yet; look at its tab first")
        if what == VARIANTS:
            return lambda path: exports.write_variants(path, variants)
        return lambda path: exports.write_samples(path, samples)

    def _write_components(self, what: str) -> Writer:
        state, components = self._state, self._state.components
        if components is None:
            raise ParameterError("components are not computed yet; compute them in Samples")
        subject, view = state.subject, self._samples.components
        if what == SCORES:
            return lambda path: exports.write_components(path, subject.samples, components)
        if what == LOADINGS:
            return lambda path: exports.write_loadings(path, subject, components)
        pair, by = (view.x.value, view.y.value), view.by.value
        values, title = state.column(by), f"Principal components of {state.opened.title}"
        return lambda path: exports.write_scatter(path, components, pair, by, values, title)

    def _write_relationships(self, what: str) -> Writer:
        view = self._samples.relationships.view
        if view is None:
            raise ParameterError("relationships are not computed yet; compute them in Samples")
        least = self._samples.relationships.least
        title = f"Relationships in {self._state.opened.title}"
        if what == PAIRS:
            return lambda path: exports.write_pairs(path, view, least)
        if what == MATRIX:
            return lambda path: exports.write_matrix(path, view)
        return lambda path: exports.write_heat_map(path, view, title)
