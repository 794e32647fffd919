"""The neighbourhood of the selected variant: association, genes, and a linkage triangle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import panel as pn
import panel_material_ui as pmui
from bokeh.events import Tap

from genoviz.analyses.figures import track_figure_bytes
from genoviz.analyses.figures.axes import PrintedPlot
from genoviz.analyses.graph.picture.palettes import LIGHT
from genoviz.errors import GenovizError
from genoviz.model.genotypes.chromosomes import find_chromosome
from genoviz.model.genotypes.genotypes import Genotypes, VariantTable
from genoviz_app.opening.track_features import FeatureTable
from genoviz_app.pages.genotypes.association.choices import WINDOWS, Window
from genoviz_app.pages.genotypes.association.manhattan_points import names_of
from genoviz_app.pages.genotypes.association.snp_facts import p_texts
from genoviz_app.pages.genotypes.state import GenotypeState
from genoviz_app.parts.questions import Question
from genoviz_app.parts.turn import Turn
from genoviz_app.parts.words import n_words
from genoviz_app.plots.linkage import NO_R2, SHADES, LinkageFigure, print_region, shades_of
from genoviz_app.plots.one_variant import GENE_PIXELS, RegionFigure

if TYPE_CHECKING:
    from genoviz.analyses.genotypes.association.scan import AssociationScan

MAX_DOSAGES, MIN_VARIANTS, MAX_VARIANTS = 40_000_000, 60, 400
LETTER_SHARE, MAX_ROWS = 0.011, 3
"""Width of a letter of a gene name, relative to the figure, and maximum number of gene rows."""
LEVELS = (-np.log10(5e-8), 5.0)
MIN_TOP = 8.0
NEAR_PIXELS = 25
NOTHING = "Click a variant to see the variants around it and their linkage disequilibrium."


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """Variants around the selected one, in order of position.

    Attributes
    ----------
    variant, rows
        The selected variant, and all variants (int64, shape (n,)).
    x
        float64, shape (n,): 1-based positions, or indices in the file if positions are unknown.
    r2
        float64, shape (n, n): r² between all pairs.
    ends
        Limits of the interval on the axis of ``x``.
    contig
        The contig; "" if positions are unknown.
    n_more
        Number of variants in the interval that are left out, the most distant ones.
    n_autosomes
        Number of autosomes of the species, as in `Genotypes`.
    """

    variant: int
    rows: np.ndarray
    x: np.ndarray
    r2: np.ndarray
    ends: tuple[float, float]
    contig: str
    n_more: int = 0
    n_autosomes: int | None = None

    @property
    def place(self) -> int:
        """Index of the selected variant in ``rows``."""
        return int(np.flatnonzero(self.rows == self.variant)[0])


def find_neighbours(
    variants: VariantTable, variant: int, window: Window, maximum: int
) -> tuple[np.ndarray, np.ndarray, tuple[float, float], str, int]:
    """Return rows, x, ends, contig and number of omitted variants; see `Neighbourhood`."""
    contig_id = int(variants.contig_ids[variant])
    rows = np.flatnonzero(variants.contig_ids == contig_id)
    positions = variants.positions[rows]
    has_positions = bool((positions != positions[0]).any() or (len(rows) == 1 and positions[0] > 0))
    if has_positions:
        rows = rows[np.argsort(positions, kind="stable")]
        x = variants.positions[rows] + 1.0
    else:
        x = rows + 1.0
    place = int(np.flatnonzero(rows == variant)[0])
    if window.is_count or not has_positions:
        size = window.size if window.is_count else MIN_VARIANTS
        first, stop = max(place - size, 0), min(place + size + 1, len(rows))
        ends = (float(x[first]), float(x[stop - 1]))
    else:
        ends = (max(x[place] - window.size, 1.0), float(x[place] + window.size))
        first = int(np.searchsorted(x, ends[0], "left"))
        stop = int(np.searchsorted(x, ends[1], "right"))
    n = stop - first
    if n > maximum:
        first = int(np.clip(place - maximum // 2, first, stop - maximum))
        stop = first + maximum
        ends = (float(x[first]), float(x[stop - 1]))
    if ends[0] == ends[1]:
        ends = (ends[0] - 1, ends[1] + 1)
    contig = variants.contigs[contig_id] if has_positions else ""
    return rows[first:stop], x[first:stop], ends, contig, max(n - maximum, 0)


def make_neighbourhood(genotypes: Genotypes, variant: int, window: Window) -> Neighbourhood:
    """Return the neighbourhood of a variant, with linkage between all pairs."""
    from genoviz.analyses.genotypes.linkage import linkage

    maximum = int(np.clip(MAX_DOSAGES // max(genotypes.n_samples, 1), MIN_VARIANTS, MAX_VARIANTS))
    found = find_neighbours(genotypes.variants, variant, window, maximum)
    rows, x, ends, *rest = found
    return Neighbourhood(
        variant, rows, x, linkage(genotypes, rows), ends, *rest, genotypes.n_autosomes
    )


def genes_near(tables: list[FeatureTable], near: Neighbourhood) -> tuple[dict[str, Any], int]:
    """Return columns of the genes in an interval for `RegionFigure`, and their rows."""
    names = ("left", "right", "bottom", "top", "y", "label_x", "name", "says")
    columns: dict[str, list[Any]] = {name: [] for name in names}
    free = [-np.inf] * MAX_ROWS
    letter = LETTER_SHARE * (near.ends[1] - near.ends[0])
    for start, end, name in sorted(_features(tables, near)):
        shown = max(float(start), near.ends[0])
        row = next((row for row in range(MAX_ROWS) if free[row] <= shown), None)
        if row is None:
            continue
        free[row] = max(end, shown + (len(name) + 1) * letter)
        values = (start, end, -row - 0.8, -row - 0.2, -row - 0.5, shown, name)
        says = f"{name} {near.contig}:{start + 1:,}-{end:,}".strip()
        for key, value in zip(names, (*values, says), strict=True):
            columns[key].append(value)
    return columns, int(np.isfinite(free).sum())


def _features(tables: list[FeatureTable], near: Neighbourhood) -> set[tuple[int, int, str]]:
    found: set[tuple[int, int, str]] = set()
    if not near.contig:
        return found
    start, end = int(near.ends[0]) - 1, int(near.ends[1])  # of 1-based positions
    for table in tables:
        contig, contigs = near.contig, table.intervals.contigs
        if contig not in contigs:
            contig = find_chromosome(contig, contigs, near.n_autosomes)
        if contig is None:
            continue
        for row in table.rows_within(contig, start, end).tolist():
            low, high = int(table.intervals.starts[row]), int(table.intervals.ends[row])
            found.add((low, high, table.name_of(row)))
    return found


def region_figure(
    near: Neighbourhood,
    name: str,
    scan: AssociationScan | None,
    trait: str,
    genes: dict[str, Any],
    ending: str,
) -> bytes:
    """Return the neighbourhood of a variant as a file of type ``".png"`` or ``".svg"``.

    Parameters
    ----------
    near, name
        The neighbourhood, and the name of the variant.
    scan, trait
        The scan whose p-values are drawn, and its trait; None draws all variants at 0.
    genes
        Columns for `RegionFigure`.
    """
    values = np.zeros(len(near.rows)) if scan is None else scan.minus_log10_p[near.rows]
    values = np.nan_to_num(values)
    r2 = near.r2[near.place]
    plot = PrintedPlot(
        near.x, values, shades_of(r2), near.ends,
        (0.0, 1.1 * max(float(values.max(initial=0.0)), MIN_TOP)),
        (f"Position on {near.contig} (bp)" if near.contig else "Number in the file", "−log₁₀ p"),
        levels=() if scan is None else LEVELS, colours=(*SHADES, LIGHT.other),
    )  # fmt: skip
    title = f"Association with {trait} around {name}" if scan is not None else f"Around {name}"
    caption = f"{n_words(len(near.rows), 'variant')}, coloured by r² with {name}; below, all pairs."
    return track_figure_bytes(print_region(plot, near.r2, genes, title, caption), ending)


class LinkagePanel:
    """Two figures with their toolbar; a click selects another variant.

    Attributes
    ----------
    window, region, triangle, panel
        The menu of window sizes, the figures, and Panel objects.
    near
        The shown neighbourhood, or None.
    """

    def __init__(self, state: GenotypeState) -> None:
        self._state = state
        self.near: Neighbourhood | None = None
        self._tables: dict[int, tuple[Any, FeatureTable]] = {}
        self._asked = Question(state.session, "linkage around a variant", self._on_near)
        self.region, self.triangle = RegionFigure(), LinkageFigure()
        self._turn = Turn(self.region.plot, self._draw)
        self.window = pmui.Select(
            label="Shown", options=list(WINDOWS), value="± 50 SNPs",
            size="small", width=122, margin=(7, 6, 0, 0), sx={"fontSize": "13px"},
        )  # fmt: skip
        pane: dict[str, Any] = {"sizing_mode": "stretch_both", "margin": 0}
        self.genes_pane = pn.pane.Bokeh(
            self.region.genes_plot, sizing_mode="stretch_width", height=GENE_PIXELS, margin=0
        )
        self.genes = pmui.Column(
            self.genes_pane, sizing_mode="stretch_width", margin=0, visible=False
        )
        upper = {"flex": "11 1 0", "min-height": "120px"}
        lower = {"flex": "9 1 0", "min-height": "110px"}
        self.panel = pmui.Column(
            pn.pane.Bokeh(self.region.plot, **pane, styles=upper),
            self.genes,
            pn.pane.Bokeh(self.triangle.plot, **pane, styles=lower),
            **pane, styles={"min-height": "0", "overflow": "hidden auto"},
        )  # fmt: skip
        self.region.plot.on_event(Tap, self._on_tap)
        self.window.param.watch(self._follow, "value")
        state.param.watch(self._follow, ["variant", "kept", "opened"])
        state.param.watch(lambda _: self._turn.ask(), "scan")
        state.session.param.watch(lambda _: self._turn.ask(), "annotation_files")
        state.session.tracks.param.watch(lambda _: self._turn.ask(), "files")

    def _follow(self, *_events: Any) -> None:
        state = self._state
        self._asked.drop()
        if state.variant is None or state.subject is None:
            self._on_near(None)
            return
        self._asked.ask(
            make_neighbourhood, state.subject, state.variant, WINDOWS[self.window.value]
        )

    def _on_near(self, near: Neighbourhood | None) -> None:
        if near is not None and near.variant != self._state.variant:
            return
        self.near = near
        self._turn.ask()

    def figure(self, trait: str, ending: str) -> tuple[str, Callable[[], bytes]]:
        """Return the variant's name, and a function that draws its neighbourhood.

        Raises
        ------
        GenovizError
            If no variant is selected.
        """
        near, subject, scan = self.near, self._state.subject, self._state.scan
        if near is None or subject is None:
            raise GenovizError("no variant is picked; click one in a plot or a table")
        name = names_of(subject.variants, np.array([near.variant]))[0]
        genes, _ = genes_near(self._feature_tables(), near)
        return name, lambda: region_figure(near, name, scan, trait, genes, ending)

    def _draw(self) -> None:
        near, subject = self.near, self._state.subject
        with pn.io.hold():
            if near is None or subject is None:
                self._draw_nothing()
                return
            names = names_of(subject.variants, near.rows)
            self._draw_region(near, names)
            self._draw_genes(near)
            span = near.ends[1] - near.ends[0]
            places = (near.x - near.ends[0]) / span
            self.triangle.show(near.r2, names, places, near.place)

    def _draw_nothing(self) -> None:
        self.region.show_nothing(NOTHING)
        self.triangle.show(np.zeros((0, 0)), [], np.empty(0), None)
        self.genes.visible = False

    def _draw_region(self, near: Neighbourhood, names: list[str]) -> None:
        scan = self._state.scan
        values = np.zeros(len(near.rows)) if scan is None else scan.minus_log10_p[near.rows]
        r2 = near.r2[near.place]
        order = np.argsort(np.nan_to_num(r2, nan=-1.0), kind="stable")  # linked variants on top
        texts = ["no scan yet"] * len(names) if scan is None else p_texts(values)
        dots = {
            "x": near.x[order],
            "y": values[order],
            "r2": r2[order],
            "linked": [NO_R2 if np.isnan(value) else f"{value:.2f}" for value in r2[order]],
            "variant": near.rows[order].astype(np.int32),
            "name": [names[place] for place in order.tolist()],
            "text": [texts[place] for place in order.tolist()],
        }
        top = 1.1 * max(float(np.nanmax(values, initial=0.0)), MIN_TOP)
        label = f"Position on {near.contig} (bp)" if near.contig else "Number in the file"
        self.region.show(dots, near.ends, top, label, self._words(near))
        own = float(values[near.place])
        self.region.choose(float(near.x[near.place]), 0.0 if np.isnan(own) else own)

    def _draw_genes(self, near: Neighbourhood) -> None:
        genes, n_rows = genes_near(self._feature_tables(), near)
        self.genes.visible = n_rows > 0
        if n_rows:
            self.genes_pane.height = self.region.genes_plot.height = GENE_PIXELS * n_rows
            self.region.show_genes(genes, n_rows)

    def _feature_tables(self) -> list[FeatureTable]:
        """Return the features of the open tracks and of the graph's annotations."""
        session = self._state.session
        tables = [file.data.features for file in session.tracks.files]
        for file in session.annotation_files.files:
            key = id(file.annotations)
            if key not in self._tables:
                table = FeatureTable.of_annotations(file.annotations)
                self._tables[key] = (file.annotations, table)
            tables.append(self._tables[key][1])
        return [table for table in tables if table is not None]

    def _words(self, near: Neighbourhood) -> str:
        words = f"{n_words(len(near.rows), 'variant')}"
        if near.contig:
            words += f", {(near.ends[1] - near.ends[0]) / 1000:,.0f} kb"
        if near.n_more:
            words += f", the nearest; {near.n_more:,} more are left out"
        r2 = near.r2[near.place]
        n_linked = int((r2 >= 0.8).sum()) - 1
        return f"{words}; {max(n_linked, 0):,} with r² ≥ 0.8"

    def _on_tap(self, event: Any) -> None:
        near = self.near
        if near is None or event.x is None:
            return
        plot = self.region.plot
        width, height = plot.inner_width or 600, plot.inner_height or 150
        dots = self.region.dots.data
        across = (np.asarray(dots["x"]) - event.x) * width / (near.ends[1] - near.ends[0])
        up = (np.nan_to_num(dots["y"]) - event.y) * height / plot.y_range.end
        distances = across**2 + up**2
        best = int(np.argmin(distances))
        if distances[best] <= NEAR_PIXELS**2:
            self._state.choose_variant(int(dots["variant"][best]))
