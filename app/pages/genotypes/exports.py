"""Exports of the page, and their section of the sidebar.

Exports are tab-separated tables, PLINK files, matrices and figures.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import panel_material_ui as pmui

from genoviz.analyses.figures import track_figure_bytes
from genoviz.analyses.figures.axes import print_matrix
from genoviz.analyses.genotypes.relatives import relatives
from genoviz.analyses.graph.picture.palettes import LIGHT, blend
from genoviz.errors import ParameterError
from genoviz.io.genotypes.relationship_files import write_relationships
from genoviz.io.genotypes.writers import write_plink
from genoviz.model.genotypes.genotypes import Genotypes, SampleTable
from genoviz_app.pages.genotypes.quality.panel import QualityPanel
from genoviz_app.pages.genotypes.quality.rows import (
    SampleRows,
    VariantRows,
    sample_measures,
    variant_measures,
)
from genoviz_app.pages.genotypes.samples.components_panel import (
    MAX_GROUPS,
    SampleColours,
    colour_by,
)
from genoviz_app.pages.genotypes.samples.panel import SamplesPanel
from genoviz_app.pages.genotypes.samples.relationship_view import RelationshipView, degree_of
from genoviz_app.pages.genotypes.state import GenotypeState
from genoviz_app.parts.file_button import file_button, file_stem
from genoviz_app.parts.words import n_words
from genoviz_app.plots.legend import RampLegend
from genoviz_app.plots.samples import print_components

PRINTED_CELLS = 160
"""Rows and columns of a printed heat map."""
TABLE_NAMES = {
    "A1 freq.": "a1_frequency",
    "MAF": "maf",
    "Missing %": "missing_percent",
    "Het. %": "heterozygous_percent",
    "HWE −log₁₀ p": "hwe_minus_log10_p",
    "F": "inbreeding",
}
N_SHADES = 64
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


def write_table(path: Path, columns: dict[str, Any]) -> None:
    """Write columns as a tab-separated table with a header."""
    frame = pd.DataFrame(columns)
    frame.to_csv(path, sep="\t", index=False, na_rep="NA", float_format="%.8g")


def write_variants(path: Path, rows: VariantRows) -> None:
    """Write all variants and their measures, with 1-based positions."""
    variants = rows.variants
    columns = {
        "contig": np.array(variants.contigs, object)[variants.contig_ids],
        "position": variants.positions + 1,
        "id": variants.ids,
        "a1": variants.allele1,
        "a2": variants.allele2,
    }
    columns |= _named(variant_measures(rows.statistics))
    write_table(path, {**columns, "kept": rows.is_kept.astype(int)})


def write_samples(path: Path, rows: SampleRows) -> None:
    """Write all samples and their measures."""
    samples = rows.samples
    columns = {"family": samples.family_ids, "sample": samples.ids, "sex": samples.sexes}
    columns |= _named(sample_measures(rows.statistics))
    write_table(path, {**columns, "kept": rows.is_kept.astype(int)})


def write_components(path: Path, samples: SampleTable, components: Any) -> None:
    """Write the scores of samples, one column per component."""
    scores = {f"PC{at + 1}": column for at, column in enumerate(components.scores.T)}
    write_table(path, {"family": samples.family_ids, "sample": samples.ids, **scores})


def write_loadings(path: Path, genotypes: Genotypes, components: Any) -> None:
    """Write the loadings of variants, one column per component."""
    variants = genotypes.variants
    loadings = {f"PC{at + 1}": column for at, column in enumerate(components.loadings.T)}
    columns = {
        "contig": np.array(variants.contigs, object)[variants.contig_ids],
        "position": variants.positions + 1,
        "id": variants.ids,
        "a1": variants.allele1,
    }
    write_table(path, {**columns, **loadings})


def write_pairs(path: Path, view: RelationshipView, minimum: float) -> None:
    """Write the pairs of samples with at least the minimum relationship."""
    pairs, ids = relatives(view.matrix, at_least=minimum), view.matrix.samples.ids
    columns = {
        "sample_1": ids[pairs.first],
        "sample_2": ids[pairs.second],
        "relationship": pairs.relationship,
        "as_of": degree_of(pairs.relationship),
    }
    write_table(path, columns)


def write_matrix(path: Path, view: RelationshipView) -> None:
    """Write a matrix as a table, as a NumPy array, or in GCTA format as a ``.zip``."""
    matrix = view.matrix
    if path.suffix != ".zip":
        write_relationships(matrix.values, matrix.samples, matrix.pair_variants, path)
        return
    target = path.with_suffix(".grm.bin")
    write_relationships(matrix.values, matrix.samples, matrix.pair_variants, target)
    zip_files(path, sorted(path.parent.glob(f"{path.stem}.grm.*")))


def write_genotypes(path: Path, genotypes: Genotypes, phenotype: np.ndarray | None) -> None:
    """Write .bed, .bim and .fam into a ``.zip``."""
    files = write_plink(genotypes, path.with_suffix(""), phenotype=phenotype)
    zip_files(path, files)


def zip_files(path: Path, files: Any) -> None:
    """Move files into an archive."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for file in files:
            archive.write(file, file.name)
            file.unlink()


def write_scatter(
    path: Path,
    components: Any,
    pair: tuple[int, int],
    by: str,
    values: np.ndarray | None,
    title: str,
) -> None:
    """Write the scatter plot of two components; the file extension selects the format."""
    n = len(components.scores)
    shades, colours, names = printed_colours(colour_by(by, values, n))
    shares_of = 100 * components.explained[list(pair)]
    labels = [
        f"PC{number + 1} ({share:.3g} % of variance)"
        for number, share in zip(pair, shares_of.tolist(), strict=True)
    ]
    figure = print_components(
        components.scores[:, pair[0]],
        components.scores[:, pair[1]],
        shades,
        colours,
        names,
        (labels[0], labels[1]),
        title,
        f"{n_words(n, 'sample')}{f', coloured by {by}' if by else ''}.",
    )
    path.write_bytes(track_figure_bytes(figure, path.suffix))


def printed_colours(found: SampleColours) -> tuple[np.ndarray, list[str], list[str]]:
    """Return print colours of samples: uint8 indices, the colours, and their meanings."""
    if isinstance(found.legend, RampLegend):
        stops, (low, high) = LIGHT.ramps["position"], found.ends
        shares = np.clip((found.values - low) / ((high - low) or 1.0), 0, 1)
        numbers = np.round(shares * (N_SHADES - 1))
        places = [at / (N_SHADES - 1) for at in range(N_SHADES)]
        colours = [blend(stops, place) for place in places]
        names = [
            f"{low + (high - low) * place:.4g}" if at % 9 == 0 else ""
            for at, place in enumerate(places)
        ]
    else:
        items = () if found.legend is None else found.legend.items
        numbers = found.values
        colours = [LIGHT.colour(at) for at in range(len(found.palette))]
        names = [name for _, name in items] or [""]
        if len(colours) > MAX_GROUPS:
            colours[-1] = LIGHT.faint
    colours.append(LIGHT.other)
    names.append("no value" if np.isnan(numbers).any() else "")
    return np.nan_to_num(numbers, nan=len(colours) - 1).astype(np.uint8), colours, names


def write_heat_map(path: Path, view: RelationshipView, title: str) -> None:
    """Write the heat map of a matrix; the file extension selects the format."""
    n = len(view.samples)
    cells, _ = view.cells((0, n, 0, n), PRINTED_CELLS)
    caption = (
        f"{n_words(n, 'sample')}, {n_words(view.matrix.n_variants, 'variant')}; "
        f"{view.matrix.method}."
    )
    figure = print_matrix(cells, view.ends, n, title, caption)
    path.write_bytes(track_figure_bytes(figure, path.suffix))


def _named(measures: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {TABLE_NAMES[name]: values for name, values in measures.items()}


class ExportsPanel:
    """Menus of exports and formats, and a button that creates the file.

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
        """Return the name and the writer of the selected file.

        Raises
        ------
        ParameterError
            If there is nothing to write.
        """
        state, what = self._state, self.what.value
        if state.opened is None:
            raise ParameterError("no genotypes are open; open a file first")
        stem = file_stem(f"{state.opened.title.split('.')[0][:40]}_{STEMS[what]}")
        name = f"{stem}{self.ending.value}"
        if what in (VARIANTS, SAMPLES):
            return name, self._write_quality(what)
        if what == KEPT:
            subject, trait = state.subject, state.column(state.trait)
            phenotype = None if trait is None else np.asarray(trait, np.float64)
            return name, lambda path: write_genotypes(path, subject, phenotype)
        if what in (SCORES, LOADINGS, SCATTER):
            return name, self._write_components(what)
        return name, self._write_relationships(what)

    def _write_quality(self, what: str) -> Writer:
        variants, samples = self._quality.rows
        if variants is None:
            raise ParameterError("quality has not been measured; open the Quality tab first")
        if what == VARIANTS:
            return lambda path: write_variants(path, variants)
        return lambda path: write_samples(path, samples)

    def _write_components(self, what: str) -> Writer:
        state, components = self._state, self._state.components
        if components is None:
            raise ParameterError("no principal components yet; compute them in Samples")
        subject, view = state.subject, self._samples.components
        if what == SCORES:
            return lambda path: write_components(path, subject.samples, components)
        if what == LOADINGS:
            return lambda path: write_loadings(path, subject, components)
        pair, by = (view.x.value, view.y.value), view.by.value
        values, title = state.column(by), f"Principal components of {state.opened.title}"
        return lambda path: write_scatter(path, components, pair, by, values, title)

    def _write_relationships(self, what: str) -> Writer:
        view = self._samples.relationships.view
        if view is None:
            raise ParameterError("no relationships yet; compute them in Samples")
        minimum = self._samples.relationships.minimum
        title = f"Relationships in {self._state.opened.title}"
        if what == PAIRS:
            return lambda path: write_pairs(path, view, minimum)
        if what == MATRIX:
            return lambda path: write_matrix(path, view)
        return lambda path: write_heat_map(path, view, title)
