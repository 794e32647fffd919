"""Predictions as files: breeding values, effects, and the plots on white."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from genoviz.analyses.figures import track_figure_bytes
from genoviz.analyses.genotypes.prediction.blup_run import BlupSnapshot
from genoviz.model.genotypes.genotypes import VariantTable
from genoviz_app.pages.genotypes.association.export import printed_track
from genoviz_app.pages.genotypes.association.manhattan_points import Track
from genoviz_app.pages.genotypes.prediction.blup_steps import BlupRun
from genoviz_app.pages.genotypes.prediction.numbers import Agreement, rank_high, scatter_dots
from genoviz_app.plots.prediction import padded_ends
from genoviz_app.plots.printed_plots import PrintedPlot, print_plots


def write_values(path: Path, run: BlupRun, snapshot: BlupSnapshot) -> None:
    """Write breeding values as a table with tabs, the highest first."""
    values = snapshot.breeding_values
    order = np.argsort(-values, kind="stable")
    frame = pd.DataFrame(
        {
            "rank": rank_high(values)[order],
            "family": run.family_ids[order],
            "sample": run.ids[order],
            "breeding_value": values[order],
            "phenotype": run.phenotype[order],
            "genotyped": run.is_genotyped[order].astype(int),
            "converged": "yes" if snapshot.is_converged else "no",
        }
    )
    frame.to_csv(path, sep="\t", index=False, na_rep="NA", float_format="%.8g")


def write_effects(path: Path, variants: VariantTable, snapshot: BlupSnapshot) -> None:
    """Write effects of variants as a table with tabs; positions from 1."""
    frame = pd.DataFrame(
        {
            "contig": np.array(variants.contigs, object)[variants.contig_ids],
            "position": variants.positions + 1,
            "id": variants.ids,
            "effect_allele": variants.allele1,
            "other_allele": variants.allele2,
            "effect": snapshot.effects,
            "converged": "yes" if snapshot.is_converged else "no",
        }
    )
    frame.to_csv(path, sep="\t", index=False, na_rep="NA", float_format="%.8g")


def prediction_figure(
    run: BlupRun, predicted: np.ndarray, observed: np.ndarray, track: Track, ending: str
) -> bytes:
    """Return scatter and effects as a file of a kind: ``".png"`` or ``".svg"``."""
    agreement = Agreement.of(predicted, observed)
    dots, _ = scatter_dots(predicted, observed, run.ids)
    ends = padded_ends(dots["x"]), padded_ends(dots["y"])
    line = agreement.line(*ends[0])
    scatter = PrintedPlot(
        dots["x"], dots["y"], np.zeros(len(dots["x"]), np.uint8), *ends,
        ("Predicted", run.design.trait),
        curves=[np.array([line["x"], line["y"]])] if agreement.has_line else [], share=0.45,
    )  # fmt: skip
    title = f"{run.request.method} of {run.design.trait}"
    caption = (
        f"{run.request.assumed.capitalize()}; {agreement.n:,} samples; correlation "
        f"{agreement.correlation:.3f}; effects are of one copy of A1."
    )
    return track_figure_bytes(print_plots([printed_track(track), scatter], title, caption), ending)
