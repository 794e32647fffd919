"""Public traits of `LayoutWidget`, with their validation."""

from __future__ import annotations

import math
from typing import Any

import anywidget
import numpy as np
import traitlets as t

from genoviz.analyses.graph.picture.viewport import Viewport
from genoviz.errors import ParameterError, check_choice
from genoviz.model import PangenomeGraph, PathRegion
from genoviz.model.columns import distinct
from genoviz_app.pages.pangenome.controls import STATE_TEXT, plain
from genoviz_app.pages.pangenome.picture.colour_bar import lacking_modes, offered_groups
from genoviz_app.pages.pangenome.picture.fitting import SHAPES, Shape
from genoviz_app.pages.pangenome.picture.graph_canvas import canvas_script
from genoviz_app.pages.pangenome.picture.live_picture import LivePicture
from genoviz_app.pages.pangenome.picture.shared_marks import region_nodes
from genoviz_app.parts.styles import LEGEND
from genoviz_app.plots.legend import short_number
from genoviz_app.server.jobs import describe_problem
from genoviz_app.session.layout_run import LayoutRun, RunState


class NodeNumbers(t.TraitType):
    """Indices of nodes of the widget's graph: int64, ascending, unique."""

    default_value = ()
    info_text = "numbers of nodes"

    def validate(self, obj: LayoutTraits, value: Any) -> np.ndarray:
        """Return the indices if all are valid."""
        nodes = np.atleast_1d(np.asarray(value))
        if nodes.size == 0:
            return np.empty(0, np.int64)
        if nodes.ndim != 1 or nodes.dtype.kind not in "iu":
            raise ParameterError(f"selected is {value!r}, needs numbers of nodes")
        nodes = distinct(nodes.astype(np.int64))
        n_nodes = 0 if obj.graph is None else obj.graph.n_nodes
        if nodes[0] < 0 or nodes[-1] >= n_nodes:
            bad = nodes[0] if nodes[0] < 0 else nodes[-1]
            raise ParameterError(f"selected has node {bad}, needs 0 to {n_nodes - 1}")
        return nodes

    def set(self, obj: LayoutTraits, value: Any) -> None:
        """Set the indices if they differ; the comparison of arrays is elementwise."""
        nodes = self._validate(obj, value)
        if not np.array_equal(nodes, self.get(obj, type(obj))):
            super().set(obj, nodes)


class LayoutTraits(anywidget.AnyWidget):
    """The traits of a widget; those with an underscore are only for its browser."""

    _esm = canvas_script(is_widget=True)

    colour_by = t.Unicode("density").tag(sync=True)
    shape = t.Unicode("true").tag(sync=True)
    height = t.Int(480).tag(sync=True)
    state = t.Unicode("empty", read_only=True).tag(sync=True)
    selected = NodeNumbers()
    region = t.Any(None)
    view = t.Any(None)
    _modes = t.List().tag(sync=True)
    _shapes = t.List([[shape.value, text] for text, shape in SHAPES.items()]).tag(sync=True)
    _numbers = t.Unicode("").tag(sync=True)
    _fraction = t.Float(0.0).tag(sync=True)
    _legend = t.Unicode("").tag(sync=True)
    _legend_style = t.Unicode(LEGEND.replace(":host", ".legend-host")).tag(sync=True)
    _summary = t.Unicode("Pangenome graph").tag(sync=True)
    _hint = t.Unicode("").tag(sync=True)
    _run: LayoutRun
    _picture: LivePicture | None = None
    _is_told = False

    @property
    def graph(self) -> PangenomeGraph | None:
        """The graph, or None."""
        return self._run.graph

    def _offer_modes(self) -> None:
        lacking = lacking_modes(self.graph, self._picture.colourings) | {"table"}
        self._modes = [
            [kind, [[mode, text] for text, mode in modes.items()]]
            for kind, modes in offered_groups(lacking).items()
        ]

    @t.validate("colour_by")
    def _check_mode(self, proposal: Any) -> str:
        lacking = lacking_modes(self.graph, self._picture.colourings) | {"table"}
        offered = [mode for modes in offered_groups(lacking).values() for mode in modes.values()]
        check_choice("colour_by", proposal.value, offered)
        return proposal.value

    @t.validate("shape")
    def _check_shape(self, proposal: Any) -> str:
        known = [shape.value for shape in Shape]
        check_choice("shape", proposal.value, known)
        return proposal.value

    @t.validate("height")
    def _check_height(self, proposal: Any) -> int:
        if proposal.value < 160:
            raise ParameterError(f"height is {proposal.value} pixels, needs at least 160")
        return proposal.value

    @t.validate("region")
    def _check_region(self, proposal: Any) -> PathRegion | None:
        value = proposal.value
        if value is None:
            return None
        if isinstance(value, str):
            value = PathRegion.parse(value)
        if not isinstance(value, PathRegion):
            raise ParameterError(f"region is {value!r}, needs 'path:start-end' or a PathRegion")
        if self.graph is None:
            raise ParameterError("region needs a graph, and there is none")
        region_nodes(self.graph, value)
        return value

    @t.validate("view")
    def _check_view(self, proposal: Any) -> tuple[float, ...] | None:
        if self._is_told or proposal.value is None:
            return proposal.value
        try:
            bounds = tuple(float(value) for value in proposal.value)
            Viewport(*bounds, 1, 1)
        except (TypeError, ValueError) as error:
            raise ParameterError(
                f"view is {proposal.value!r}, needs x_min, x_max, y_min, y_max in bp: {error}"
            ) from None
        return bounds


def progress_text(run: LayoutRun) -> str:
    """Return the progress of a run in one line."""
    parts, progress = [STATE_TEXT[run.state]], run.progress
    if run.error is not None:
        return describe_problem(run.error)
    if progress is not None:
        if run.state is not RunState.LOADED:
            parts.append(f"iteration {progress.iteration} of {progress.n_iterations}")
        if run.state is RunState.RUNNING and progress.updates_per_second:
            parts.append(f"{short_number(progress.updates_per_second)} updates/s")
        if progress.stress is not None and math.isfinite(progress.stress.mean):
            parts.append(f"path stress {plain(progress.stress.mean, 3)}")
    return " · ".join(parts)
