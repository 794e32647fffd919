"""Bokeh figure of a trait by genotype: boxes and the samples behind them, or shares of cases."""

from __future__ import annotations

from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, FixedTicker, HoverTool, Range1d
from bokeh.plotting import figure

from genoviz_app.plots.graph_picture import LINES, style_figure
from genoviz_app.plots.prediction import padded_ends

BOX_COLOUR, DOT_COLOUR, MEDIAN_COLOUR, MEAN_COLOUR = "#4fb3e8", "#8fa1b8", "#e3eaf3", "#ffb454"
HALF, SHARE_HALF = 0.32, 0.36
BOX_COLUMNS = ("left", "right", "bottom", "top", "x", "low", "high", "median", "mean", "says")
MAX_DOTS = 1_500


class GenotypeBoxes:
    """Boxes for up to three genotypes, side by side.

    Attributes
    ----------
    plot, boxes, dots
        The figure, and what it draws.
    """

    def __init__(self) -> None:
        self.plot = figure(
            name="snp-boxes", sizing_mode="stretch_both", min_height=120, min_width=160,
            x_range=Range1d(-0.5, 2.5), y_range=Range1d(0, 1), toolbar_location=None, tools=[],
            output_backend="canvas",
        )  # fmt: skip
        style_figure(self.plot)
        self.plot.xgrid.visible = False
        self.plot.ygrid.grid_line_color = LINES
        self.plot.min_border_left, self.plot.min_border_right = 50, 8
        self.plot.yaxis[0].ticker.desired_num_ticks = 4
        self._ticker = FixedTicker(ticks=[])
        self.plot.xaxis[0].ticker = self._ticker
        self.boxes = ColumnDataSource(data={name: [] for name in BOX_COLUMNS})
        self.dots = ColumnDataSource(data={"x": [], "y": []})
        self.plot.scatter("x", "y", source=self.dots, size=3, color=DOT_COLOUR, alpha=0.35)
        self.plot.segment("x", "low", "x", "high", source=self.boxes, line_color=BOX_COLOUR)
        drawn = self.plot.quad(
            "left", "right", "top", "bottom", source=self.boxes, fill_color=BOX_COLOUR,
            fill_alpha=0.3, line_color=BOX_COLOUR,
        )  # fmt: skip
        self.plot.segment("left", "median", "right", "median", source=self.boxes,
                          line_color=MEDIAN_COLOUR, line_width=2)  # fmt: skip
        self.plot.scatter("x", "mean", source=self.boxes, marker="diamond", size=9,
                          color=MEAN_COLOUR)  # fmt: skip
        self.plot.add_tools(
            HoverTool(renderers=[drawn], point_policy="follow_mouse", tooltips=[("", "@says")])
        )

    def show_nothing(self) -> None:
        """Draw no genotypes."""
        self.boxes.data = {name: [] for name in BOX_COLUMNS}
        self.dots.data = {"x": [], "y": []}
        self._ticker.ticks = []
        self.plot.yaxis[0].update(visible=False, axis_label=None)
        self.plot.ygrid.visible = False

    def show(self, groups: list[np.ndarray], names: list[str], label: str) -> None:
        """Draw the values of each genotype, float64 without NaN, below its name."""
        is_share = is_two_valued(np.concatenate([*groups, np.empty(0)]))
        columns = share_columns(groups) if is_share else box_columns(groups)
        self.dots.data = {"x": [], "y": []} if is_share else spread(groups)
        self.boxes.data = columns
        values = np.concatenate([*groups, np.empty(0)])
        low, high = (0.0, 1.08 * max([*columns["high"], 0.1])) if is_share else padded_ends(values)
        self.plot.y_range.update(start=low, end=high)
        n = max(len(names), 1)
        self.plot.x_range.update(start=-0.5, end=n - 0.5)
        self._ticker.ticks = list(range(n))
        self.plot.xaxis[0].major_label_overrides = dict(enumerate(names))
        said = f"Share with the higher {label}" if is_share else label
        self.plot.yaxis[0].update(visible=True, axis_label=said)
        self.plot.ygrid.visible = True


def is_two_valued(values: np.ndarray) -> bool:
    """Return whether there are just two different values."""
    return len(values) > 1 and len(np.unique(values)) == 2


def box_columns(groups: list[np.ndarray]) -> dict[str, Any]:
    """Return boxes from the lower to the upper quartile, with whiskers of 1.5 times that."""
    rows: dict[str, list[Any]] = {name: [] for name in BOX_COLUMNS}
    for place, values in enumerate(groups):
        if not len(values):
            continue
        first, median, third = np.quantile(values, [0.25, 0.5, 0.75])
        reach = 1.5 * (third - first)
        inside = values[(values >= first - reach) & (values <= third + reach)]
        _add(rows, place, HALF, first, third, inside.min(), inside.max(), median, values.mean())
        deviation = values.std(ddof=1) if len(values) > 1 else 0.0
        rows["says"].append(
            f"n = {len(values):,}, mean {values.mean():.4g} ± {deviation:.3g}, median {median:.4g}"
        )
    return {name: np.array(row) if name != "says" else row for name, row in rows.items()}


def share_columns(groups: list[np.ndarray]) -> dict[str, Any]:
    """Return bars of the share of the higher value, with intervals of Wilson of 95 %."""
    rows: dict[str, list[Any]] = {name: [] for name in BOX_COLUMNS}
    highest = max(values.max() for values in groups if len(values))
    for place, values in enumerate(groups):
        n = len(values)
        if not n:
            continue
        n_cases = int((values == highest).sum())
        share, z2 = n_cases / n, 1.96**2
        middle = (share + z2 / (2 * n)) / (1 + z2 / n)
        half = np.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) * 1.96 / (1 + z2 / n)
        _add(rows, place, SHARE_HALF, 0, share, middle - half, middle + half, share, share)
        rows["says"].append(f"{n_cases:,} of {n:,}: {100 * share:.1f} %")
    return {name: np.array(row) if name != "says" else row for name, row in rows.items()}


def _add(rows: dict[str, list[Any]], place: int, half: float, *values: float) -> None:
    rows["left"].append(place - half)
    rows["right"].append(place + half)
    rows["x"].append(place)
    for name, value in zip(("bottom", "top", "low", "high", "median", "mean"), values, strict=True):
        rows[name].append(float(value))


def spread(groups: list[np.ndarray]) -> dict[str, np.ndarray]:
    """Return dots of the values, spread sideways; of many, some by chance."""
    random = np.random.default_rng(0)
    xs, ys = [np.empty(0)], [np.empty(0)]
    for place, values in enumerate(groups):
        if len(values) > MAX_DOTS:
            values = random.choice(values, MAX_DOTS, replace=False)
        xs.append(place + random.uniform(-HALF * 0.9, HALF * 0.9, len(values)))
        ys.append(values)
    return {"x": np.concatenate(xs), "y": np.concatenate(ys)}
