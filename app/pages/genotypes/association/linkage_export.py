"""The surroundings of a variant as a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from genoviz.analyses.figures import track_figure_bytes
from genoviz.analyses.graph.picture.palettes import LIGHT
from genoviz_app.pages.genotypes.association.linkage_region import Neighbourhood
from genoviz_app.plots.linkage_print import SHADES, print_region, shades_of
from genoviz_app.plots.printed_plots import PrintedPlot

if TYPE_CHECKING:
    from genoviz.analyses.genotypes.association.association import AssociationScan

LEVELS = (-np.log10(5e-8), 5.0)
LEAST_TOP = 8.0


def region_figure(
    near: Neighbourhood,
    name: str,
    scan: AssociationScan | None,
    trait: str,
    genes: dict[str, Any],
    ending: str,
) -> bytes:
    """Return a variant's surroundings as a file of a kind: ``".png"`` or ``".svg"``.

    Parameters
    ----------
    near, name
        The surroundings, and the name of the variant.
    scan, trait
        The scan whose p-values are drawn, and of what; None draws all variants at 0.
    genes
        Columns of `RegionFigure`.
    """
    values = np.zeros(len(near.rows)) if scan is None else scan.minus_log10_p[near.rows]
    values = np.nan_to_num(values)
    r2 = near.r2[near.place]
    plot = PrintedPlot(
        near.x, values, shades_of(r2), near.ends,
        (0.0, 1.1 * max(float(values.max(initial=0.0)), LEAST_TOP)),
        (f"Position on {near.contig} (bp)" if near.contig else "Number in the file", "−log₁₀ p"),
        levels=() if scan is None else LEVELS, colours=(*SHADES, LIGHT.other),
    )  # fmt: skip
    title = f"Association with {trait} around {name}" if scan is not None else f"Around {name}"
    caption = f"{len(near.rows):,} variants, coloured by r² with {name}; below, r² of all pairs."
    return track_figure_bytes(print_region(plot, near.r2, genes, title, caption), ending)
