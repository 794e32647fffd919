"""The list of reproducible figures, and runs of single figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from genoviz.backend import Backend, cuda_is_available, describe_machine, resolve_backend
from genoviz.errors import ParameterError
from genoviz.generators import Progress

if TYPE_CHECKING:
    from genoviz.analyses.figures.tracks import TrackFigure
    from genoviz.model import GraphLayout, PangenomeGraph


@dataclass(frozen=True)
class Paper:
    """A paper: its citation, and its DOI or ""."""

    words: str
    doi: str = ""


LAYOUT = Paper("Li et al. 2024", "10.1109/SC41406.2024.00035")
INTERVALS = Paper("Marzolla et al. 2024", "10.1016/j.future.2024.05.039")
TRANSFORM = Paper("Jiang and Pei 2013")
OFF_TARGETS = Paper("Accelerating CAS-Offinder, 2022")
GENOTYPES = Paper("Freudenberg et al. 2023", "10.3389/fgene.2023.1220408")


@dataclass(frozen=True)
class PaperFigure:
    """A figure or a table of a paper.

    Attributes
    ----------
    name
        Name for requests.
    paper, where
        The paper, and the figure's number in it; "" for results in the text.
    shows
        One-line description.
    labels
        Labels of x and y, with units.
    measure
        Module of this package, and its generator that measures; imported on demand.
    style
        Type of plot: "lines", "bars" or "layouts".
    logs
        Whether the x and the y axis are logarithmic.
    """

    name: str
    paper: Paper
    where: str
    shows: str
    labels: tuple[str, str]
    measure: str
    style: Literal["lines", "bars", "layouts"] = "lines"
    logs: tuple[bool, bool] = (True, True)

    @property
    def takes_graph(self) -> bool:
        """Whether it is about layouts, so that a graph can replace the simulated ones."""
        return self.paper is LAYOUT

    @property
    def place(self) -> str:
        """Paper and figure number."""
        return ", ".join(filter(None, (self.paper.words, self.where)))

    @property
    def source(self) -> str:
        """Paper, figure number and DOI."""
        return f"{self.place}, doi:{self.paper.doi}" if self.paper.doi else self.place


SECONDS, STRESS, STEPS = "Time (s)", "Path stress", "Steps of all paths"
FIGURES = (
    PaperFigure(
        "layout-batches", LAYOUT, "Fig. 6 and table III",
        "How batches of array updates cost quality",
        ("Updates in a batch", STRESS), "batch_layout.measure_batches",
    ),
    PaperFigure(
        "layout-stress", LAYOUT, "Fig. 12", "A layout as it unfolds, with its path stress",
        ("Iterations", STRESS), "layouts.measure_stages", "layouts", (False, True),
    ),
    PaperFigure(
        "layout-sampled", LAYOUT, "Fig. 13", "Sampled path stress against the exact one",
        ("Exact path stress", "Sampled path stress"), "layouts.measure_sampled",
    ),
    PaperFigure(
        "layout-scaling", LAYOUT, "Fig. 15", "Time of a layout against the size of the graph",
        (STEPS, SECONDS), "layouts.measure_scaling",
    ),
    PaperFigure(
        "layout-ablation", LAYOUT, "Fig. 16", "What each design of the kernel gains",
        ("Design", "Times as fast as the plain one"), "layouts.measure_ablation", "bars",
        (False, False),
    ),
    PaperFigure(
        "layout-tradeoff", LAYOUT, "Fig. 17", "Speed against quality",
        (SECONDS, STRESS), "layouts.measure_tradeoff",
    ),
    PaperFigure(
        "layout-times", LAYOUT, "table VII", "Time of a layout, graph by graph",
        ("Graph", SECONDS), "layouts.measure_times", "bars",
    ),
    PaperFigure(
        "layout-quality", LAYOUT, "table VIII", "Sampled path stress of layouts, graph by graph",
        ("Graph", "Sampled path stress"), "layouts.measure_quality", "bars",
    ),
    PaperFigure(
        "interval-threads", INTERVALS, "", "Counting intersections by threads",
        ("Threads", "Times as fast as one thread"), "speeds.measure_threads", logs=(False, False),
    ),
    PaperFigure(
        "interval-exome", INTERVALS, "", "Counting the reads on an exome, against its size",
        ("Windows and reads", SECONDS), "speeds.measure_exome",
    ),
    PaperFigure(
        "bwt-size", TRANSFORM, "", "Burrows-Wheeler transform against the length of the text",
        ("Bases", SECONDS), "speeds.measure_transform",
    ),
    PaperFigure(
        "offtarget-guides", OFF_TARGETS, "", "Off-target search by guides and PAM",
        ("Guides", "Comparisons (10⁹/s)"), "speeds.measure_guides",
    ),
    PaperFigure(
        "genotype-products", GENOTYPES, "Fig. 1 and table 1",
        "Products of packed genotypes with 10 columns, against an inflated matrix",
        ("Samples", SECONDS), "speeds.measure_products",
    ),
    PaperFigure(
        "genotype-evaluations", GENOTYPES, "table 2", "Single-step evaluations by both forms",
        ("Evaluation", SECONDS), "speeds.measure_evaluations", "bars",
    ),
)  # fmt: skip


@dataclass(frozen=True)
class RunOptions:
    """Options of a run; see `iter_reproduce`. ``backends`` are the ones to measure."""

    small: bool = False
    graph: PangenomeGraph | None = None
    seed: int = 0
    backends: tuple[Literal["cpu", "cuda"], ...] = ("cpu",)


@dataclass(frozen=True)
class Point:
    """One value of a figure.

    Attributes
    ----------
    series
        Name of its curve.
    x, y
        Coordinates; ``x`` is the row of a bar.
    case
        Description of what was measured.
    source
        Source of a printed value; "" for values measured here.
    """

    series: str
    x: float
    y: float
    case: str = ""
    source: str = ""


@dataclass(frozen=True, eq=False)
class Measured:
    """The results of a run: points, remarks, and layouts with captions."""

    points: tuple[Point, ...]
    note: str = ""
    layouts: tuple[tuple[str, GraphLayout], ...] = ()


@dataclass(frozen=True, eq=False)
class Reproduced:
    """A reproduced figure."""

    entry: PaperFigure
    measured: Measured
    machine: str

    @property
    def caption(self) -> str:
        """Source of the figure, machine, and printed values."""
        printed = {point.source for point in self.measured.points if point.source}
        words = [f"After {self.entry.source}. Measured on {self.machine}.", self.measured.note]
        if printed:
            words.append(f"In grey, as printed by {self.entry.paper.words}: not measured here.")
        return " ".join(filter(None, words))

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The values as table rows."""
        x, y = self.entry.labels
        return [
            {
                "series": point.series,
                "case": point.case,
                x: point.x if self.entry.style != "bars" else point.case,
                y: point.y,
                "from": point.source or "measured here",
            }
            for point in self.measured.points
        ]

    @property
    def lines(self) -> list[str]:
        """The lines of a tab-separated table: header, then rows."""
        rows = self.rows
        cells = ([f"{v:.6g}" if isinstance(v, float) else str(v) for v in row.values()]
                 for row in rows)  # fmt: skip
        return ["#" + "\t".join(rows[0]), *("\t".join(row) for row in cells)]

    def draw(self) -> TrackFigure:
        """Return the figure for `genoviz.analyses.figures.track_figure_bytes`."""
        return _load(f"drawing.draw_{self.entry.style}")(self.entry, self.measured, self.caption)


def find_figure(name: str) -> PaperFigure:
    """Return the figure with a name.

    Raises
    ------
    ParameterError
        If there is no such figure.
    """
    by_name = {entry.name: entry for entry in FIGURES}
    if name not in by_name:
        likely = get_close_matches(name, by_name, n=1)
        advice = f"{likely[0]} may be meant" if likely else f"there are {', '.join(by_name)}"
        raise ParameterError(f"there is no figure {name!r}; {advice}")
    return by_name[name]


def check_takes_graph(entry: PaperFigure) -> None:
    """Check that a figure is about layouts and accepts a graph.

    Raises
    ------
    ParameterError
        If it does not.
    """
    if not entry.takes_graph:
        able = ", ".join(each.name for each in FIGURES if each.takes_graph)
        raise ParameterError(f"{entry.name} is not about graphs; those that take one are {able}")


def _load(name: str) -> Callable[..., Any]:
    """Return a function of this package by module name and function name."""
    module, function = name.split(".")
    return getattr(import_module(f"genoviz.analyses.reproduce.{module}"), function)


def iter_reproduce(
    name: str,
    *,
    small: bool = False,
    graph: PangenomeGraph | None = None,
    seed: int = 0,
    backend: Backend = "auto",
) -> Iterator[Progress]:
    """Measure the values of a paper's figure on this machine.

    Parameters
    ----------
    name
        One of `FIGURES`.
    small
        Use sizes that take seconds instead of minutes.
    graph
        Replaces the simulated graphs in figures about layouts; the figure of scaling adds it to
        them.
    seed
        Seed of all random numbers.
    backend
        With ``"auto"``, measure the CPU, and the GPU if there is one.

    Yields
    ------
    Progress
        The last one has a `Reproduced` as its result.

    Raises
    ------
    ParameterError
        If the figure does not exist; if a graph is given for a figure that is not about layouts;
        or, for ``layout-sampled``, if the graph has too many pairs of steps for the exact path
        stress.
    BackendError
        If the backend cannot be used.
    """
    entry = find_figure(name)
    if graph is not None:
        check_takes_graph(entry)
    if backend == "auto":
        backends = ("cpu", "cuda") if cuda_is_available() else ("cpu",)
    else:
        backends = (resolve_backend(backend),)
    measured = yield from _load(entry.measure)(RunOptions(small, graph, seed, backends))
    yield Progress(entry.shows, 1.0, Reproduced(entry, measured, describe_machine()))
