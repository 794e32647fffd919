"""``python -m app.warm_up``: compile the CPU kernels once, so that nobody waits for them later.

Numba keeps what it compiles beside the sources. Without this, the first layout, the first picture
and the first search of an installation each take some seconds longer.
"""

from __future__ import annotations

import numpy as np

from genoviz.analyses.colouring import MODES, ColourChoice, make_colouring
from genoviz.analyses.coverage_index import CoverageIndex
from genoviz.analyses.detail import find_detail
from genoviz.analyses.drawing import LayoutDrawing, MarkLayer
from genoviz.analyses.fold import Fold
from genoviz.analyses.intervals import count_overlaps
from genoviz.analyses.layout import iter_path_sgd_layout
from genoviz.analyses.path_positions import find_node_visits, locate_position
from genoviz.analyses.path_profile import PathProfile
from genoviz.analyses.sites import find_sites
from genoviz.analyses.statistics import graph_statistics
from genoviz.analyses.viewport import Viewport
from genoviz.io.gfa import read_gfa
from genoviz.io.intervals import read_intervals
from genoviz.model import PangenomeGraph
from genoviz.samples import get_sample

SIZE = (320, 200)
N_COPIES = 200  # small drawings are not shared among threads


def main() -> None:
    """Compute a little of everything, on the CPU."""
    graph = read_gfa(get_sample("simulated"), cache=False)
    for copies in (True, False):
        steps = iter_path_sgd_layout(
            graph,
            n_iterations=2,
            stress_samples=100,
            slice_seconds=0.05,
            copies=copies,
            backend="cpu",
        )
        *_, last = steps
    draw(graph, last.coordinates)
    explore(graph)
    count()


def draw(graph: PangenomeGraph, coordinates: np.ndarray) -> None:
    """Draw a layout whole, folded, near by, in all colours and with a mark."""
    drawing = LayoutDrawing(coordinates, backend="cpu")
    view = Viewport.fit(drawing.bounds, *SIZE)
    mark = MarkLayer(np.arange(9), 250)
    for mode in MODES:
        if mode not in ("annotation", "table"):
            colouring = make_colouring(graph, ColourChoice(mode))
            coloured = drawing.with_node_values(colouring.node_values)
            coloured.draw(view, **colouring.options, marks=(mark,))
    large = LayoutDrawing(np.tile(coordinates, (N_COPIES, 1, 1)), backend="cpu")
    large = large.with_node_values(np.tile(graph.node_lengths, N_COPIES).astype(np.float32))
    for by in ("count", "mean", "max"):
        large.draw(view, by=by, marks=(mark,))
    large.count_visible(view)
    fold = Fold(drawing.bounds, *SIZE, n_rows=3)
    plane = Viewport.fit(fold.bounds, *SIZE)
    drawing.with_coordinates(coordinates, live=True).draw(plane, fold=fold)
    drawing.nearest(view.x_min, view.y_min, 8, viewport=view)
    find_detail(graph, drawing, view.zoomed(50))


def explore(graph: PangenomeGraph) -> None:
    """Look nodes, positions, sites and statistics up."""
    locate_position(graph, 0, 100)
    find_node_visits(graph, np.arange(3))
    PathProfile.of(graph, 0).bins(0, 1000, n_bins=50)
    find_sites(graph, 0)
    graph_statistics(graph)


def count() -> None:
    """Count intervals."""
    exons, reads = (read_intervals(get_sample(name)) for name in ("exons", "reads"))
    for method in ("sweep", "merge", "search"):
        count_overlaps(exons, reads, method=method, backend="cpu")
    index = CoverageIndex.of(reads)
    index.bins(reads.contigs[0], np.linspace(0, 1000, 20).astype(np.int64))


if __name__ == "__main__":
    main()
