"""Layout settings, with defaults and descriptions, and the layout that they give."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import param

from genoviz.analyses.graph.layout.multilevel import QUALITIES, iter_multilevel_layout
from genoviz.analyses.graph.layout.path_records import INITIALISATIONS
from genoviz.analyses.graph.layout.path_sgd import iter_path_sgd_layout
from genoviz.analyses.graph.layout.run import LayoutSnapshot
from genoviz.analyses.graph.layout.stress_results import PathStress
from genoviz.backend import cuda_is_available, describe_backend
from genoviz.errors import ParameterError
from genoviz.model import PangenomeGraph
from genoviz_app.parts.words import n_words

SLICE_SECONDS = 0.008
STRESS_SAMPLES = 200_000
WATCHABLE_SECONDS = 0.05


def backend_options() -> dict[str, str]:
    """Return the backends that can run here, with their labels."""
    options = {f"Automatic: {describe_backend('auto')}": "auto", describe_backend("cpu"): "cpu"}
    if cuda_is_available():
        options[describe_backend("cuda")] = "cuda"
    return options


METHODS = {"From coarse to fine": "multilevel", "Path-guided SGD": "path_sgd"}
OF_SGD = ("n_iterations", "updates_per_step", "eta_max", "theta", "space", "cooling_start")
OF_BOTH = ("eps", "initialisation", "seed", "backend")


class LayoutSettings(param.Parameterized):
    """The method and options of a layout; None selects a value by graph."""

    method = param.Selector(
        default="multilevel",
        objects=METHODS,
        label="Method",
        doc="From coarse to fine first finds the shape on a few hundred points, and "
        "reaches lower stress with an eighth of the updates. Path-guided SGD is "
        "the published algorithm.",
    )
    quality = param.Selector(
        default="normal",
        objects={text.capitalize(): text for text in QUALITIES},
        label="Quality",
        doc="Number of rounds. Draft takes half the time of normal and has about "
        "the stress of path-guided SGD; converged runs until stress and torn "
        "joints no longer fall.",
    )
    n_iterations = param.Integer(
        30,
        bounds=(1, 10**6),
        label="Iterations",
        doc="Number of iterations, over which the learning rate falls from eta max "
        "to eps. More iterations take longer and refine detail.",
    )
    updates_per_step = param.Number(
        10.0,
        bounds=(1e-6, 1e6),
        label="Updates per path step",
        doc="Updates in one iteration, as a multiple of the number of path steps.",
    )
    eta_max = param.Number(
        None,
        bounds=(1e-12, 1e18),
        allow_None=True,
        label="Eta max",
        doc="Learning rate of the first iteration. Automatic: the square of the number of steps "
        "of the longest path.",
    )
    eps = param.Number(
        0.1,
        bounds=(1e-12, 1e18),
        label="Eps",
        doc="Learning rate of the last iteration.",
    )
    theta = param.Number(
        0.99,
        bounds=(0.001, 0.999),
        label="Theta",
        doc="Exponent of the Zipf distribution of near jumps; the larger, the shorter the jumps.",
    )
    space = param.Integer(
        None,
        bounds=(1, 2**40),
        allow_None=True,
        label="Jump space (steps)",
        doc="Longest near jump along a path, in steps. Automatic: the longest path.",
    )
    cooling_start = param.Number(
        0.5,
        bounds=(0.0, 1.0),
        label="Cooling starts at",
        doc="Fraction of the iterations after which only near jumps are drawn, to "
        "refine local structure.",
    )
    initialisation = param.Selector(
        default="d",
        objects={text: key for key, text in INITIALISATIONS.items()},
        label="Start from",
        doc="Initial positions of the nodes.",
    )
    seed = param.Integer(
        0,
        bounds=(0, 2**31 - 1),
        label="Seed",
        doc="Seed of the random numbers. On one CPU thread, the same seed gives the same layout.",
    )
    paths = param.List(
        [],
        item_type=str,
        label="Only these paths",
        doc="Paths that guide the layout; all paths if none is chosen.",
    )
    backend = param.Selector(
        default="auto",
        objects=["auto", "cpu", "cuda"],
        label="Backend",
        doc="Backend that computes and draws the layout.",
    )

    @classmethod
    def of(cls, options: dict[str, Any]) -> LayoutSettings:
        """Return settings with some options by name.

        Raises
        ------
        ParameterError
            If an option is unknown, or its value invalid.
        """
        known = [name for name in cls.param if name != "name"]
        for name in options:
            if name not in known:
                raise ParameterError(
                    f"{name} is no option of a layout; they are {', '.join(known)}"
                )
        try:
            return cls(**options)
        except ValueError as error:
            raise ParameterError(f"{error}") from None

    @property
    def title(self) -> str:
        """The method and its most important options, in a few words."""
        if self.method == "multilevel":
            return f"From coarse to fine, {self.quality}, seed {self.seed}"
        return f"Path-guided SGD, {n_words(self.n_iterations, 'iteration')}, seed {self.seed}"

    def options(self, graph: PangenomeGraph, method: str) -> dict[str, Any]:
        """Return the keyword arguments of a method for the layout of ``graph``."""
        names = OF_BOTH if method == "multilevel" else OF_BOTH + OF_SGD
        values = {name: getattr(self, name) for name in names}
        if method == "multilevel":
            values |= QUALITIES[self.quality]
        known = set(graph.path_names)
        values["paths"] = [name for name in self.paths if name in known] or None
        return values

    def iter_layout(
        self,
        graph: PangenomeGraph,
        history: list[tuple[int, PathStress]],
        method: str,
        is_paced: Callable[[], bool],
        **more: Any,
    ) -> Iterator[LayoutSnapshot | None]:
        """Return the snapshots of a layout with the present settings; for a job thread.

        Parameters
        ----------
        graph
            The graph.
        history
            Receives the iteration and the sampled stress at its end.
        method
            The method; "" for that of the settings.
        is_paced
            Whether the next iteration waits, with None, until the last one could be watched.
        more
            Further arguments of the method.
        """
        method = method or self.method
        options = self.options(graph, method)
        iter_layout = iter_multilevel_layout if method == "multilevel" else iter_path_sgd_layout

        def iterate() -> Iterator[LayoutSnapshot | None]:
            due = time.monotonic()
            _ = graph.node_depths  # cached here, because it would block the page later
            for snapshot in iter_layout(
                graph,
                **options,
                **more,
                stress_samples=STRESS_SAMPLES,
                slice_seconds=SLICE_SECONDS,
                copies=False,
            ):
                if snapshot.stress is not None:
                    history.append((snapshot.iteration, snapshot.stress))
                    while is_paced() and time.monotonic() < due:
                        yield None
                    due = time.monotonic() + WATCHABLE_SECONDS
                yield snapshot

        return iterate()

    @property
    def _defaults(self) -> dict[str, Any]:
        return {name: self.param[name].default for name in self.param if name != "name"}

    @property
    def is_default(self) -> bool:
        """Whether no parameter has been changed."""
        return all(getattr(self, name) == value for name, value in self._defaults.items())

    def restore(self) -> None:
        """Set every parameter to its default."""
        self.param.update(**{**self._defaults, "paths": []})
