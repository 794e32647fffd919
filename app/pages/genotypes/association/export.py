"""Results of a scan: a table of the strongest associations, and exports of table and plots."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from genoviz.analyses.figures import track_figure_bytes
from genoviz.analyses.figures.axes import PrintedPlot, print_plots
from genoviz.analyses.genotypes.association.p_values import scan_quantiles
from genoviz.errors import ParameterError
from genoviz.model.genotypes.genotypes import VariantTable
from genoviz_app.pages.genotypes.association.manhattan_points import GenomeAxis, Track, View, thin
from genoviz_app.pages.genotypes.association.snp_facts import inflation_text, variants_highlight
from genoviz_app.parts.words import n_words
from genoviz_app.plots.manhattan import seen_names
from genoviz_app.session.lit_sets import Highlight

if TYPE_CHECKING:
    from genoviz.analyses.genotypes.association.scan import AssociationScan
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import panel_material_ui as pmui

from genoviz_app.pages.genotypes.long_table import LongTable
from genoviz_app.pages.genotypes.quality.rows import VariantRows
from genoviz_app.pages.genotypes.state import GenotypeState
from genoviz_app.parts.column_widths import ALLELE, IDENTIFIER, POSITION
from genoviz_app.parts.lighting import light_button
from genoviz_app.parts.remote_table import Column

if TYPE_CHECKING:
    from genoviz.analyses.genotypes.association.scan import AssociationScan


COLUMNS = (
    Column("Variant", share=120, min_width=IDENTIFIER),
    Column("Contig", share=56, min_width=40),
    Column("Position", is_number=True, share=90, min_width=POSITION),
    Column("−log₁₀ p", is_number=True, share=72, format="0.00"),
    Column("A1", share=44, min_width=ALLELE),
    Column("A2", share=44, min_width=ALLELE),
    Column("A1 freq.", is_number=True, share=66, format="0.000"),
    Column("β", is_number=True, share=76, format="0.0000"),
    Column("SE", is_number=True, share=70, format="0.0000"),
    Column("Statistic", is_number=True, share=76, format="0.000"),
)
LIMITS = {"All p": 0.0, "p ≤ 0.05": 1.301, "p ≤ 1e-3": 3.0, "p ≤ 1e-5": 5.0, "p ≤ 5e-8": 7.301}
PRINT = View(0, 1, 2000, 560)
GENOME_WIDE, SUGGESTIVE = -np.log10(5e-8), 5.0
Writer = Callable[[Path], None]


@dataclass(frozen=True, eq=False)
class ScanRows:
    """Tested variants and their results; row 0 has the smallest p-value.

    Attributes
    ----------
    variants, scan
        The tested variants and the scan.
    """

    variants: VariantTable
    scan: AssociationScan
    noun = "variant"

    @property
    def hidden(self) -> tuple[str, ...]:
        """Columns to hide: several columns of a variant have a test, and no single effect."""
        return ("β", "SE") if self.scan.terms else ("Statistic",)

    @cached_property
    def order(self) -> np.ndarray:
        """int64: the variant of each row."""
        tested = np.flatnonzero(~np.isnan(self.scan.minus_log10_p))
        return tested[np.argsort(-self.scan.minus_log10_p[tested], kind="stable")]

    def __len__(self) -> int:
        return len(self.order)

    def find(self, text: str) -> np.ndarray:
        """Return a mask of the rows at a position, or whose ID contains a text; bool."""
        return VariantRows(self.variants, None, self.order).find(text)[self.order]

    def strong(self, minimum: float) -> np.ndarray:
        """Return a mask of the rows with at least this -log10 p; bool."""
        return self.scan.minus_log10_p[self.order] >= minimum

    @cached_property
    def _keys(self) -> dict[str, np.ndarray]:
        variants, scan = self.variants, self.scan
        return {
            "Variant": variants.ids,
            "Contig": variants.contig_ids,
            "Position": variants.positions,
            "−log₁₀ p": scan.minus_log10_p,
            "A1": variants.allele1,
            "A2": variants.allele2,
            "A1 freq.": scan.a1_frequency,
            "β": scan.beta,
            "SE": scan.standard_error,
            "Statistic": scan.statistic,
        }

    def key(self, column: str) -> np.ndarray:
        """Return the sort key of a column."""
        return self._keys[column][self.order]

    def frame(self, rows: np.ndarray) -> pd.DataFrame:
        """Return some rows, with 1-based positions."""
        variants, chosen = self.variants, self.order[rows]
        columns: dict[str, Any] = {name: values[chosen] for name, values in self._keys.items()}
        columns["Variant"] = [variants.label(variant) for variant in chosen.tolist()]
        columns["Contig"] = np.array(variants.contigs, object)[columns["Contig"]]
        columns["Position"] = columns["Position"] + 1
        return pd.DataFrame(columns)


class AssociationTable:
    """A table with search field and limit; a click selects a variant.

    Attributes
    ----------
    table, limit, rows, panel
        The table, the menu of maximum p-values, the rows, and the Panel object.
    """

    def __init__(self, state: GenotypeState) -> None:
        self._state = state
        self.rows: ScanRows | None = None
        self.table = LongTable(
            state.session, COLUMNS, placeholder="ID, contig or chr1:1-1000", on_row=self._pick
        )
        self.limit = pmui.Select(
            label="Listed", options=LIMITS, value=0.0,
            size="small", width=104, margin=(2, 8, 2, 0),
        )  # fmt: skip
        self.table.bar.insert(1, self.limit)
        self.light = light_button(
            state.session, self._lit, "all variants that are listed", icon=None, margin=(2, 4, 0, 4)
        )
        self.table.bar.append(self.light)
        self.limit.param.watch(lambda _: self._show(), "value")
        state.param.watch(self._follow, "scan")
        self.panel = self.table.panel

    @property
    def listed(self) -> np.ndarray:
        """int64: the listed variants, in order."""
        if self.rows is None or self.table.listed is None:
            return np.empty(0, np.int64)
        return self.rows.order[self.table.listed.rows]

    def _lit(self) -> Highlight:
        """Return the listed variants as a highlight."""
        if not len(self.listed):
            raise ParameterError("no variant is listed")
        words = f"{n_words(len(self.listed), 'variant')} of {self._state.trait or 'the scan'}"
        return variants_highlight(self._state.subject, self.listed, words)

    def _follow(self, *_events: Any) -> None:
        scan, subject = self._state.scan, self._state.subject
        has_scan = scan is not None and subject is not None
        self.rows = ScanRows(subject.variants, scan) if has_scan else None
        self._show()

    def _show(self) -> None:
        minimum = float(self.limit.value or 0.0)
        among = self.rows.strong(minimum) if self.rows is not None and minimum else None
        self.table.show(self.rows, among)

    def _pick(self, row: int) -> None:
        if self.rows is not None:
            self._state.choose_variant(int(self.rows.order[row]))


def write_scan(
    path: Path, variants: VariantTable, scan: AssociationScan, rows: np.ndarray | None = None
) -> None:
    """Write results in the format of ``genoviz geno gwas``, one row per variant.

    Parameters
    ----------
    rows
        int64: the variants to write, in this order; by default all.
    """
    rows = np.arange(len(variants)) if rows is None else rows
    write_columns(path, variants.columns | scan.columns, rows)


def write_columns(path: Path, columns: dict[str, np.ndarray], rows: np.ndarray) -> None:
    """Write some rows of columns, in the format of ``genoviz geno``."""
    frame = pd.DataFrame({name: values[rows] for name, values in columns.items()})
    frame.to_csv(path, sep="\t", index=False, na_rep="NA", float_format="%.17g")


def printed_track(track: Track, share: float = 1.0) -> PrintedPlot:
    """Return a print version of the Manhattan plot."""
    axis = track.axis
    start, end = axis.extent
    view = View(start - axis.room, end + axis.room, PRINT.width, PRINT.height)
    rows = thin(track, view) if len(track.by_value) else np.empty(0, np.int64)
    shades = (axis.ranks[rows] & 1).astype(np.uint8)
    shades[np.abs(track.values[rows]) >= track.strong] = 2
    names: dict[float, str] | None = seen_names(
        axis.names, axis.starts, axis.ends, (view.start, view.end), 900
    )
    label = "Contig"
    if len(axis.names) == 1:
        has_positions = bool(axis.has_positions[0])
        names = None if has_positions else {}
        label = f"Position on {axis.names[0]} (bp)" if has_positions else "Variants in file order"
    return PrintedPlot(
        axis.places[rows], track.values[rows], shades, (view.start, view.end), track.y_ends,
        (label, track.label), names, tuple(track.lines), share=share,
    )  # fmt: skip


def printed_quantiles(minus_log10_p: np.ndarray) -> PrintedPlot:
    """Return a print version of the Q-Q plot."""
    found = scan_quantiles(minus_log10_p)
    right = 1.05 * float(found.expected.max(initial=1.0))
    top = 1.05 * float(max(found.observed.max(initial=1.0), found.high.max(initial=1.0)))
    diagonal = np.array([[0.0, right], [0.0, right]])
    return PrintedPlot(
        found.expected, found.observed, np.zeros(len(found.tests), np.uint8), (0.0, right),
        (0.0, top), ("Expected −log₁₀ p", "Observed −log₁₀ p"), curves=[diagonal],
        band=(found.expected, found.low, found.high), share=0.42,
    )  # fmt: skip


def scan_figure(track: Track, scan: AssociationScan, title: str, ending: str) -> bytes:
    """Return Manhattan and Q-Q plot as a file of type ``".png"`` or ``".svg"``."""
    n_tested = int(np.isfinite(scan.minus_log10_p).sum())
    caption = (
        f"{n_words(n_tested, 'variant')}; {inflation_text(scan.lambda_gc)}; dashed: p = 5e-8 and "
        "p = 1e-5"
    )
    return plots_figure(track, scan.minus_log10_p, title, caption, ending)


def plots_figure(
    track: Track, minus_log10_p: np.ndarray, title: str, caption: str, ending: str
) -> bytes:
    """Return a plot along the genome and a Q-Q plot as a file."""
    plots = [printed_track(track), printed_quantiles(minus_log10_p)]
    caption += "; shaded: 95 % of quantiles by chance."
    return track_figure_bytes(print_plots(plots, title, caption), ending)


def write_bytes(make: Callable[[], bytes]) -> Writer:
    """Return a writer of the bytes that ``make`` returns."""

    def write(path: Path) -> None:
        path.write_bytes(make())

    return write


def axis_of(variants: VariantTable, known: dict[int, tuple[Any, GenomeAxis]]) -> GenomeAxis:
    """Return the axis of variants; ``known`` caches the one of the last table."""
    key = id(variants)
    if key not in known:
        known.clear()
        known[key] = (variants, GenomeAxis.of(variants))
    return known[key][1]
