"""Measurements of the current layout, including its worst places; panels watch them."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import param

from genoviz.analyses.graph.layout.guides import graph_to_measure
from genoviz.analyses.graph.layout.near_stress import (
    DistanceStress,
    NearStress,
    near_stress,
    stress_by_distance,
)
from genoviz.analyses.graph.layout.stress import iter_path_stress, iter_sampled_path_stress
from genoviz.analyses.graph.layout.stress_results import PathStress
from genoviz.analyses.graph.query.path_positions import find_node_visits
from genoviz.generators import Progress
from genoviz.model import GraphLayout, PangenomeGraph
from genoviz.model.columns import distinct
from genoviz_app.parts.questions import Question
from genoviz_app.parts.words import with_interval
from genoviz_app.server.jobs import KERNELS
from genoviz_app.session.layout_runs import LayoutRuns
from genoviz_app.session.lit_sets import LitSet
from genoviz_app.session.session import Session

N_SAMPLES = 1_000_000
N_WORST = 1_000
WRONG_TIMES, MAX_VISITS = 2.0, 1_000_000
"""Ratio of drawn to actual length of a wrongly drawn node, and maximum number of visits to
count."""
LAYOUT_PAGE = "pangenome"
MAX_UNASKED = 3_000_000
"""Steps of the largest graph that is measured automatically."""


@dataclass(frozen=True, eq=False)
class Measured:
    """The quality of one layout.

    Attributes
    ----------
    graph, layout
        The layout, and the graph whose paths it was measured along.
    near, distances, sampled
        Stress by step, node and path; by distance; and in total.
    worst
        The worst places as rows, indexed by node.
    """

    graph: PangenomeGraph
    layout: GraphLayout
    near: NearStress
    distances: DistanceStress
    sampled: PathStress
    worst: pd.DataFrame


def iter_measure(graph: PangenomeGraph, layout: GraphLayout) -> Generator[Progress, None, None]:
    """Yield the progress of the measurement; the last one has the `Measured`."""
    yield Progress("finding worst places", 0.0)
    measured = graph_to_measure(graph)
    near = near_stress(measured, layout)
    worst = worst_frame(measured, layout, near)
    yield Progress("stress by distance", 0.3)
    distances = stress_by_distance(measured, layout)
    for step in iter_sampled_path_stress(measured, layout, n_samples=N_SAMPLES):
        sampled = step.stress
        yield Progress("sampled path stress", 0.5 + 0.5 * step.n_done / max(step.n_total, 1))
    yield Progress("measured", 1.0, Measured(measured, layout, near, distances, sampled, worst))


def iter_exact(graph: PangenomeGraph, layout: GraphLayout) -> Generator[Progress, None, None]:
    """Yield the progress of the exact path stress; the last one has the result."""
    for step in iter_path_stress(graph_to_measure(graph), layout, weighting="steps"):
        yield Progress("all pairs of steps", step.n_done / max(step.n_total, 1), step.stress)


def worst_frame(graph: PangenomeGraph, layout: GraphLayout, near: NearStress) -> pd.DataFrame:
    """Return the worst places as rows, indexed by node."""
    steps = near.find_worst(graph, N_WORST)
    paths = np.searchsorted(graph.path_offsets, steps, side="right") - 1
    nodes = (graph.steps[steps] >> 1).astype(np.int64)
    why = find_reasons(graph, layout, nodes, paths, near.is_torn[steps])
    unclear = np.array([row for row, words in enumerate(why) if not words], np.int64)
    pairs = find_worst_pairs(graph, layout, steps[unclear], near.reach)
    for row, words in zip(unclear.tolist(), pairs, strict=True):
        why[row] = words
    return pd.DataFrame(
        {
            "Node": [str(graph.node_names[node]) for node in nodes.tolist()],
            "Path": [graph.path_names[path] for path in paths.tolist()],
            "Position": graph.position_index.positions_of(steps),
            "Stress": near.steps[steps],
            "Gap behind (bp)": near.gaps[steps],
            "Why": why,
        },
        index=nodes,
    )


def both_frame(shown: Measured, other: Measured) -> pd.DataFrame:
    """Return the stress of each path in two layouts, the largest difference first."""
    a, b = shown.near.paths, other.near.paths
    order = np.argsort(-np.nan_to_num(np.abs(a - b), nan=-1.0), kind="stable")
    better = np.where(a < b, "shown", np.where(b < a, "file", np.where(a == b, "same", "")))
    return pd.DataFrame(
        {
            "Path": [shown.graph.path_names[path] for path in order.tolist()],
            "Shown": a[order],
            "File": b[order],
            "Better": better[order],
        }
    )


def say_stress(stress: PathStress) -> str:
    """Format a stress with its interval.

    Examples
    --------
    >>> say_stress(PathStress(0.01234, 0.012, 0.0131, 0.001, 9, 0, is_exact=False))
    '0.0123 (95 %: 0.0120 to 0.0131)'
    >>> say_stress(PathStress(0.5, 0.5, 0.5, float("nan"), 9, 0, is_exact=True))
    '0.5'
    """
    mean, low, high = with_interval(stress.mean, stress.ci_low, stress.ci_high)
    return mean if stress.is_exact else f"{mean} (95 %: {low} to {high})"


def find_reasons(
    graph: PangenomeGraph,
    layout: GraphLayout,
    nodes: np.ndarray,
    paths: np.ndarray,
    is_torn: np.ndarray,
) -> list[str]:
    """Describe possible reasons for the stress of nodes on paths, as text."""
    ends = layout.coordinates[nodes]
    drawn = np.hypot(*(ends[:, 1] - ends[:, 0]).T)
    lengths = graph.node_lengths[nodes]
    is_wrong = (drawn > WRONG_TIMES * np.maximum(lengths, 1)) | (WRONG_TIMES * drawn < lengths)
    times = np.ones(len(nodes), np.int64)
    if graph.node_depths[distinct(nodes)].sum() <= MAX_VISITS:
        visits = find_node_visits(graph, nodes)
        keys, counts = np.unique(visits.nodes * graph.n_paths + visits.paths, return_counts=True)
        times = counts[np.searchsorted(keys, nodes * graph.n_paths + paths)]
    rows = zip(
        *(column.tolist() for column in (is_torn, is_wrong, lengths, drawn, times)), strict=True
    )
    return [
        ", ".join(
            said
            for is_so, said in (
                (torn, "torn joint"),
                (
                    wrong,
                    f"{length:,} bp drawn {_bp(length_drawn)} long",
                ),
                (n_times > 1, f"the path visits it {n_times:,} times"),
            )
            if is_so
        )
        for torn, wrong, length, length_drawn, n_times in rows
    ]


def find_worst_pairs(
    graph: PangenomeGraph, layout: GraphLayout, steps: np.ndarray, reach: int
) -> list[str]:
    """Return, for each step, the following step with which it has the largest stress, as text."""
    last = graph.path_offsets[np.searchsorted(graph.path_offsets, steps, side="right")] - 1
    worst = np.full(len(steps), -1.0)
    found = np.zeros((3, len(steps)))  # step, bp along the path, bp in the layout
    for further in range(1, reach + 1):
        others = np.minimum(steps + further, last)
        for one, other in product((0, 1), (0, 1)):
            a, b = _ends(graph, layout, steps, one), _ends(graph, layout, others, other)
            along, apart = np.abs(b[0] - a[0]), np.hypot(*(b[1] - a[1]).T)
            stress = (apart / np.maximum(along, 1) - 1) ** 2
            is_worse = (others > steps) & (along > 0) & (stress > worst)
            worst[is_worse] = stress[is_worse]
            found[:, is_worse] = np.stack([others, along, apart])[:, is_worse]
    return [
        f"{_bp(apart)} bp from node {graph.node_names[int(graph.steps[int(step)]) >> 1]}, "
        f"{along:,.0f} bp along the path" if stress >= 0 else ""
        for step, along, apart, stress in zip(*found.tolist(), worst.tolist(), strict=True)
    ]  # fmt: skip


def _ends(
    graph: PangenomeGraph, layout: GraphLayout, steps: np.ndarray, which: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the start (0) or end (1) of steps: bp along their paths, and in the layout."""
    handles = graph.steps[steps]
    nodes = (handles >> 1).astype(np.int64)
    positions = graph.position_index.positions_of(steps) + which * graph.node_lengths[nodes]
    return positions, layout.coordinates[nodes, (handles & 1) ^ which]


def _bp(length: float) -> str:
    return f"{length:,.0f}" if length > 99 else f"{length:.2g}"


class QualityState(param.Parameterized):
    """The measurements of the open graph; panels watch them.

    Attributes
    ----------
    measured, exact
        Of the current layout; None before measuring.
    other
        Of the layout file to compare with.
    waits
        What the measurements wait for, while there are none.
    measuring, exacting, comparing
        The running computations.
    """

    measured = param.ClassSelector(class_=Measured, allow_None=True)
    exact = param.ClassSelector(class_=PathStress, allow_None=True)
    other = param.ClassSelector(class_=Measured, allow_None=True)
    waits = param.String()

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        options: dict[str, Any] = {"pool": KERNELS}
        self.measuring = Question(session, "stress of a layout", self._on_measured, **options)
        self.exacting = Question(session, "exact path stress", self._on_exact, **options)
        self.comparing = Question(session, "stress of a second layout", self._on_other, **options)
        session.param.watch(self._forget, ["opened", "layout"])
        self.look()

    @property
    def graph(self) -> PangenomeGraph | None:
        """The open graph."""
        opened = self.session.opened
        return None if opened is None else opened.graph

    @property
    def runs(self) -> LayoutRuns:
        """The tab's layout and its runs."""
        return self.session.runs

    @property
    def layout(self) -> GraphLayout | None:
        """The current layout, or None."""
        return self.runs.layout

    @property
    def has_layout(self) -> bool:
        """Whether there is a layout to measure."""
        return self.runs.has_layout

    def look(self) -> None:
        """Find what the measurements wait for; called some twenty times per second."""
        if self.measured is not None:
            return
        if self.measuring.is_open:
            self.waits = "The layout is being measured."
        elif self.runs.is_moving:
            self.waits = "The layout is measured when it is at rest."
        elif not self.has_layout:
            self.waits = "There is no layout yet."
        else:
            self.waits = "Press Measure in the sidebar to measure the layout."

    def measure(self) -> None:
        """Measure the current layout."""
        graph, layout = self.graph, self.layout
        if graph is not None and layout is not None:
            self.exact = None
            self.measuring.ask(iter_measure, graph, layout)

    def measure_exactly(self) -> None:
        """Compute the exact stress of the measured layout, over all pairs."""
        if self.measured is not None:
            self.exacting.ask(iter_exact, self.measured.graph, self.measured.layout)

    def compare(self) -> None:
        """Measure the layout file too."""
        if self.session.layout is not None and self.graph is not None:
            self.comparing.ask(iter_measure, self.graph, self.session.layout.layout)

    def go_to(self, node: int) -> None:
        """Show a node in the layout."""
        self.session.picked = np.array([node], np.int64)
        self.session.wanted_page = LAYOUT_PAGE
        self.session.highlights.want(LitSet.of_found(None, self.session.picked))

    def _forget(self, *_events: Any) -> None:
        for question in (self.measuring, self.exacting, self.comparing):
            question.drop()
        self.param.update(measured=None, exact=None, other=None)

    def _on_measured(self, measured: Measured) -> None:
        self.measured = measured

    def _on_exact(self, exact: PathStress) -> None:
        self.exact = exact

    def _on_other(self, measured: Measured) -> None:
        self.other = measured
