"""What samples are coloured by: a column of the table of phenotypes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genoviz.analyses.graph.picture.palettes import DARK, Palette
from genoviz_app.plots.legend import Legend, NamedLegend, RampLegend
from genoviz_app.plots.palettes import POSITION, ramp_palette

MAX_GROUPS = 20
NO_GROUP, OTHERS = "no value", "others"
FEW_NUMBERS = 6


@dataclass(frozen=True, eq=False)
class SampleColours:
    """Colours of samples.

    Attributes
    ----------
    values
        float32, shape (n_samples,): the colour of each on the palette, NaN for none.
    palette, ends
        Colours, and the values of the first and the last.
    says
        str, shape (n_samples,): what each sample is.
    legend, legend_palette
        What the colours mean.
    """

    values: np.ndarray
    palette: tuple[str, ...]
    ends: tuple[float, float]
    says: np.ndarray
    legend: Legend | None
    legend_palette: Palette = ()


def colour_by(name: str, values: np.ndarray | None, n_samples: int) -> SampleColours:
    """Return the colours of samples by a column; all are alike without one."""
    if values is None:
        one = np.zeros(n_samples, np.float32)
        return SampleColours(one, (DARK.colour(1),), (0.0, 1.0), np.full(n_samples, ""), None)
    if values.dtype.kind != "f":
        return _by_group(name, values)
    finite = values[np.isfinite(values)]
    different = np.unique(finite[:1_000_000])
    if len(different) <= FEW_NUMBERS:
        texts = np.where(np.isfinite(values), [f"{value:g}" for value in values.tolist()], "")
        return _by_group(name, texts)
    return _by_number(name, values, finite)


def _by_group(name: str, values: np.ndarray) -> SampleColours:
    """Return a colour for each of the largest groups, in the order of their names."""
    names, groups, counts = np.unique(values, return_inverse=True, return_counts=True)
    is_named = names != ""
    largest = np.argsort(np.where(is_named, -counts, 1), kind="stable")
    shown = np.sort(largest[: min(MAX_GROUPS, int(is_named.sum()))])
    place = np.full(len(names), len(shown), np.float32)
    place[shown] = np.arange(len(shown))
    place[~is_named] = np.nan
    has_others = int(is_named.sum()) > len(shown)
    palette = [DARK.colour(index) for index in range(len(shown))]
    items = [(palette[at], f"{names[row]} ({counts[row]:,})") for at, row in enumerate(shown)]
    if has_others:
        palette.append(DARK.faint)
        items.append((DARK.faint, OTHERS))
    ends = (-0.5, len(palette) - 0.5)
    says = np.char.add(f"{name}: ", np.where(values == "", NO_GROUP, values))
    return SampleColours(
        place[groups], tuple(palette) or (DARK.faint,), ends, says, NamedLegend(name, tuple(items))
    )


def _by_number(name: str, values: np.ndarray, finite: np.ndarray) -> SampleColours:
    """Return colours from the first to the last per cent, so that outliers do not blind."""
    low, high = (float(value) for value in np.quantile(finite, (0.01, 0.99)))
    if not high > low:
        low, high = float(finite.min()), float(finite.max())
    palette = ramp_palette(POSITION)
    says = np.array([f"{name}: {value:.5g}" for value in values.tolist()])
    legend = RampLegend(name, np.linspace(low, high, len(palette) - 1), high)
    return SampleColours(values.astype(np.float32), palette[1:], (low, high), says, legend, palette)
