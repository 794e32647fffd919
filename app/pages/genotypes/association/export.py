"""A scan as files: all variants or those that are listed, and the plots on white."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from genoviz.analyses.figures import track_figure_bytes
from genoviz.analyses.genotypes.association.p_values import scan_quantiles
from genoviz.model.genotypes.genotypes import VariantTable
from genoviz_app.pages.genotypes.association.manhattan_points import GenomeAxis, Track, View, thin
from genoviz_app.pages.genotypes.association.words import inflation_text
from genoviz_app.parts.words import n_words
from genoviz_app.plots.manhattan import seen_names
from genoviz_app.plots.printed_plots import PrintedPlot, print_plots

if TYPE_CHECKING:
    from genoviz.analyses.genotypes.association.scan import AssociationScan

PRINT = View(0, 1, 2000, 560)
GENOME_WIDE, SUGGESTIVE = -np.log10(5e-8), 5.0
Writer = Callable[[Path], None]


def write_scan(
    path: Path, variants: VariantTable, scan: AssociationScan, rows: np.ndarray | None = None
) -> None:
    """Write results as a table with tabs, a row for each variant; positions from 1.

    Parameters
    ----------
    rows
        int64: which variants, in this order; all by default.
    """
    rows = np.arange(len(variants)) if rows is None else rows
    frame = pd.DataFrame(
        {
            "contig": np.array(variants.contigs, object)[variants.contig_ids[rows]],
            "position": variants.positions[rows] + 1,
            "id": variants.ids[rows],
            "effect_allele": variants.allele1[rows],
            "other_allele": variants.allele2[rows],
            "effect_allele_frequency": scan.a1_frequency[rows],
            "n_samples": scan.n_samples[rows],
            "beta": scan.beta[rows],
            "standard_error": scan.standard_error[rows],
            "statistic": scan.statistic[rows],
            "p": scan.p[rows],
            "minus_log10_p": scan.minus_log10_p[rows],
        }
    )
    frame.to_csv(path, sep="\t", index=False, na_rep="NA", float_format="%.8g")


def printed_track(track: Track, share: float = 1.0) -> PrintedPlot:
    """Return dots along the genome as a plot on white."""
    axis = track.axis
    room = 0.01 * axis.length
    view = View(-room, axis.length + room, PRINT.width, PRINT.height)
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


def printed_quantiles(scan: AssociationScan) -> PrintedPlot:
    """Return observed against expected p-values as a plot on white."""
    found = scan_quantiles(scan.minus_log10_p)
    right = 1.05 * float(found.expected.max(initial=1.0))
    top = 1.05 * float(max(found.observed.max(initial=1.0), found.high.max(initial=1.0)))
    diagonal = np.array([[0.0, right], [0.0, right]])
    return PrintedPlot(
        found.expected, found.observed, np.zeros(len(found.tests), np.uint8), (0.0, right),
        (0.0, top), ("Expected −log₁₀ p", "Observed −log₁₀ p"), curves=[diagonal],
        band=(found.expected, found.low, found.high), share=0.42,
    )  # fmt: skip


def scan_figure(track: Track, scan: AssociationScan, trait: str, ending: str) -> bytes:
    """Return Manhattan and quantile plot as a file of a kind: ``".png"`` or ``".svg"``."""
    n_tested = int(np.isfinite(scan.minus_log10_p).sum())
    title = f"Association with {trait} ({scan.model} regression)"
    caption = (
        f"{n_words(n_tested, 'variant')}; {inflation_text(scan.lambda_gc)}; dashed: p = 5e-8 and "
        "p = 1e-5; shaded: 95 % of quantiles by chance."
    )
    plots = [printed_track(track), printed_quantiles(scan)]
    return track_figure_bytes(print_plots(plots, title, caption), ending)


def write_bytes(make: Callable[[], bytes]) -> Writer:
    """Return what writes the bytes that ``make`` returns."""

    def write(path: Path) -> None:
        path.write_bytes(make())

    return write


def axis_of(variants: VariantTable, known: dict[int, tuple[Any, GenomeAxis]]) -> GenomeAxis:
    """Return the axis of variants; that of the last table is kept in ``known``."""
    key = id(variants)
    if key not in known:
        known.clear()
        known[key] = (variants, GenomeAxis.of(variants))
    return known[key][1]
