"""Time of one picture of a layout: the raster against Datashader's, and the whole frame.

Nodes follow each other along 24 smooth random walks, as those of a laid-out pangenome do; the views
are all of it, and 10 % and 1 % of each axis around a node.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.rows import Row, make_row, median_seconds
from genoviz.analyses.graph.picture.drawing import LayoutDrawing
from genoviz.analyses.graph.picture.drawn_nodes import MarkLayer
from genoviz.analyses.graph.picture.fold import Fold
from genoviz.analyses.graph.picture.viewport import Viewport

WIDTH, HEIGHT = 1000, 700
N_WALKS = 24
N_ROWS = 8
PARTS = {"full view": 1.0, "10 % of each axis": 0.1, "1 % of each axis": 0.01}
N_NODES = {"cpu": (1_000_000, 10_000_000), "cuda": (1_000_000, 11_000_000)}
RASTER = f"Count of nodes in {WIDTH} x {HEIGHT} pixels, against Datashader's Canvas.line"
FRAME = f"A frame of a moving layout, {WIDTH} x {HEIGHT} palette indices on the host"
LIVE_NOTE = "finds an eighth of the boxes in each frame"
PEER = "peer: datashader {version}, `Canvas.line(axis=1, agg=count())`, float64; equal counts"


def measure(backend: str) -> list[Row]:
    """Return the rows of both sizes."""
    rows = []
    for n_nodes in N_NODES[backend]:
        coordinates = walk(n_nodes)
        if backend == "cpu":
            rows += measure_raster(coordinates)
        rows += measure_frames(coordinates, backend)
    return sorted(rows, key=lambda row: row["benchmark"] == FRAME)


def measure_raster(coordinates: np.ndarray) -> list[Row]:
    """Return the time of the counts in each view, beside Datashader's."""
    rows = []
    drawing = LayoutDrawing(coordinates, backend="cpu")
    reference = prepare_datashader(coordinates)
    for name, view in views(drawing, coordinates).items():
        seconds = median_seconds(partial(drawing.count, view), n_runs=11)
        peer, note = None, "datashader is not installed"
        if reference is not None:
            count, note = reference
            np.testing.assert_array_equal(count(view), drawing.count(view))
            peer = median_seconds(partial(count, view)) * 1e3
        rows.append(
            make_row(
                RASTER,
                f"{len(coordinates):,} nodes, {name}",
                ours=seconds * 1e3,
                peer=peer,
                unit="ms",
                higher_is_better=False,
                note=note,
                in_readme=name == "full view" and len(coordinates) > 5_000_000,
            )
        )
    return rows


def measure_frames(coordinates: np.ndarray, backend: str) -> list[Row]:
    """Return the time from new coordinates to palette indices, and that of a picked node."""
    random = np.random.default_rng(0)
    values = np.arange(len(coordinates), dtype=np.float32)
    drawing = LayoutDrawing(coordinates, node_values=values, backend=backend)
    fitted = views(drawing, coordinates)
    full = fitted["full view"]
    # As in the first iteration of a layout: every line goes anywhere.
    shuffled = random.permutation(coordinates.reshape(-1, 2)).reshape(-1, 2, 2)

    def frame(moved: LayoutDrawing, view: Viewport, **options: Any) -> float:
        def draw() -> None:
            moved.with_coordinates(moved.coordinates).draw(view, **options)

        return median_seconds(draw, n_runs=11)

    def live_frame(view: Viewport) -> float:
        moving = [drawing.with_coordinates(drawing.coordinates, live=True)]

        def draw() -> None:
            moving[0] = moving[0].with_coordinates(drawing.coordinates, live=True)
            moving[0].draw(view)

        return median_seconds(draw, n_runs=11)

    def pick_while_moving() -> None:
        drawing.with_coordinates(drawing.coordinates, live=True).nearest(*node)

    node = coordinates[len(coordinates) // 3, 0].tolist()
    deep = full.zoomed(1e4, *node)
    fold = Fold(drawing.bounds, WIDTH, HEIGHT, n_rows=N_ROWS)
    plane = Viewport.fit(fold.bounds, WIDTH, HEIGHT, margin=0, keep_aspect=False)
    few, many = (
        MarkLayer(np.sort(random.choice(len(coordinates), n, replace=False)), 255)
        for n in (1000, len(coordinates) // 20)
    )
    cases: dict[str, Callable[[], float]] = (
        {f"{name}, by count": partial(frame, drawing, view) for name, view in fitted.items()}
        | {
            "full view, by mean value": partial(frame, drawing, full, by="mean", how="linear"),
            "full view, lines 3 pixels wide": partial(frame, drawing, full, line_width=3),
            "full view, all lines long": partial(frame, drawing.with_coordinates(shuffled), full),
            "node nearest to a point": partial(median_seconds, partial(drawing.nearest, 0.0, 0.0)),
        }
        | {f"{name}, by count, live": partial(live_frame, view) for name, view in fitted.items()}
        | {
            f"folded into {N_ROWS} rows, by count": partial(frame, drawing, plane, fold=fold),
            "full view, 1,000 nodes marked": partial(frame, drawing, full, marks=[few]),
            "full view, a twentieth of the nodes marked": partial(
                frame, drawing, full, marks=[many]
            ),
            "node nearest to a point, the layout moving": partial(
                median_seconds, pick_while_moving
            ),
            f"which of the nodes touch a view of {deep.bp_per_pixel[0]:.1g} bp a pixel": partial(
                median_seconds, partial(drawing.visible_nodes, deep, limit=1500)
            ),
        }
    )
    return [
        make_row(
            FRAME,
            f"{len(coordinates):,} nodes, {case}",
            ours=seconds() * 1e3,
            unit="ms",
            higher_is_better=False,
            note="coordinates are on the GPU" if backend == "cuda" else _note(case),
        )
        for case, seconds in cases.items()
    ]


def _note(case: str) -> str:
    return LIVE_NOTE if case.endswith("live") else ""


def walk(n_nodes: int, seed: int = 0) -> np.ndarray:
    """Return node ends along smooth random walks; float64, shape (n, 2, 2), n near ``n_nodes``."""
    random = np.random.default_rng(seed)
    parts = []
    for _ in range(N_WALKS):
        angles = np.cumsum(random.normal(0, 0.03, n_nodes // N_WALKS + 1))
        steps = random.exponential(1, len(angles))
        points = np.cumsum(np.stack([np.cos(angles), np.sin(angles)], axis=1) * steps[:, None], 0)
        points += random.normal(0, 300, 2)
        parts.append(np.stack([points[:-1], points[1:]], axis=1))
    return np.concatenate(parts)


def views(drawing: LayoutDrawing, coordinates: np.ndarray) -> dict[str, Viewport]:
    """Return the views by name."""
    full = Viewport.fit(drawing.bounds, WIDTH, HEIGHT, margin=0, keep_aspect=False)
    x, y = coordinates[len(coordinates) // 3, 0]
    return {
        name: full if part == 1 else full.zoomed(1 / part, float(x), float(y))
        for name, part in PARTS.items()
    }


def prepare_datashader(
    coordinates: np.ndarray,
) -> tuple[Callable[[Viewport], np.ndarray], str] | None:
    """Return Datashader's count of a view and a note, or None if it is not installed."""
    if importlib.util.find_spec("datashader") is None:
        return None
    import datashader
    import pandas as pd

    names = ("x0", "y0", "x1", "y1")
    frame = pd.DataFrame(dict(zip(names, coordinates.reshape(-1, 4).T.copy(), strict=True)))

    def counts(view: Viewport) -> np.ndarray:
        ranges = {"x_range": (view.x_min, view.x_max), "y_range": (view.y_min, view.y_max)}
        canvas = datashader.Canvas(view.width, view.height, **ranges)
        lines = canvas.line(frame, x=["x0", "x1"], y=["y0", "y1"], axis=1, agg=datashader.count())
        return lines.to_numpy()

    return counts, PEER.format(version=datashader.__version__)
