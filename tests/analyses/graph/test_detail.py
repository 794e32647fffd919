"""Near views against one node, edge and base at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest

from genoviz import Fold, ParameterError
from genoviz.analyses.graph.picture.detail import find_detail
from genoviz.analyses.graph.picture.drawing import LayoutDrawing
from genoviz.analyses.graph.picture.viewport import Viewport
from genoviz.model import ByteStrings, PangenomeGraph

N_NODES = 400


def make_graph(n_nodes=N_NODES, seed=0, *, with_sequences=True):
    random = np.random.default_rng(seed)
    lengths = random.integers(0, 30, n_nodes)
    starts = random.integers(0, 2 * n_nodes, (2 * n_nodes, 1))
    edges = (starts + random.integers(-6, 7, (2 * n_nodes, 2))) % (2 * n_nodes)
    edges[:20, 1] = edges[:20, 0] ^ 1
    edges[20:40, 1] = edges[20:40, 0]
    edges[300:340] = edges[100:140]  # listed twice
    edges[340:380] = edges[140:180, ::-1] ^ 1  # and in both directions
    sequences = ["".join(random.choice(list("ACGT"), n)) for n in lengths]
    return PangenomeGraph(
        node_names=ByteStrings.from_integers(1, n_nodes),
        node_lengths=lengths.astype(np.int64),
        edges=edges.astype(np.uint32),
        path_names=(),
        path_offsets=np.zeros(1, np.int64),
        steps=np.empty(0, np.uint32),
        node_sequences=ByteStrings.from_texts(sequences) if with_sequences else None,
    )


def make_coordinates(n_nodes=N_NODES, seed=1):
    """Return nodes that follow each other to the right, some long, some points, one missing."""
    random = np.random.default_rng(seed)
    starts = np.stack([np.arange(n_nodes) * 10.0, random.normal(0, 20, n_nodes)], axis=1)
    ways = random.normal(0, 8, (n_nodes, 2))
    ways[::9] *= 15
    ways[::13] = 0
    coordinates = np.stack([starts, starts + ways], axis=1)
    coordinates[7] = np.nan
    return coordinates


VIEWS = (
    Viewport(1000, 1100, -40, 40, 500, 400),
    Viewport(2000, 2010, -5, 5, 700, 700),
    Viewport(-1e4, 1e4, -1e3, 1e3, 300, 200),
    Viewport(1e6, 2e6, 0, 1, 10, 10),
)


def touches(ends, box):
    """Tell whether a line meets a box, by looking at where it crosses the borders."""
    x_min, y_min, x_max, y_max = box
    (x0, y0), (x1, y1) = ends
    shares = {0.0, 1.0}
    for start, way, sides in ((x0, x1 - x0, (x_min, x_max)), (y0, y1 - y0, (y_min, y_max))):
        shares |= {(side - start) / way for side in sides if way}
    places = ((x0 + s * (x1 - x0), y0 + s * (y1 - y0)) for s in shares if 0 <= s <= 1)
    slack = 1e-9 * max(1.0, *map(abs, box))
    return any(
        x_min - slack <= x <= x_max + slack and y_min - slack <= y <= y_max + slack
        for x, y in places
    )


def box_of(view):
    return view.x_min, view.y_min, view.x_max, view.y_max


def curve_at(curve, share):
    weights = [(1 - share) ** 3, 3 * share * (1 - share) ** 2, 3 * share**2 * (1 - share), share**3]
    return sum(weight * point for weight, point in zip(weights, curve, strict=True))


def expected_curve(graph, coordinates, edge):
    """Return the control points of an edge, by the words of the docstring."""
    from_handle, to_handle = (int(handle) for handle in graph.edges[edge])
    exit_end = 0 if from_handle & 1 else 1
    entry_end = 1 if to_handle & 1 else 0
    leaves, enters = coordinates[from_handle >> 1], coordinates[to_handle >> 1]
    first, last = leaves[exit_end], enters[entry_end]
    reach = 0.4 * math.dist(first, last)
    if from_handle >> 1 == to_handle >> 1 and exit_end == entry_end:
        reach = 0.25 * math.dist(*leaves)

    def outwards(ends, end):
        way = ends[end] - ends[1 - end]
        length = math.hypot(*way)
        return way / length if length else way

    return np.array(
        [
            first,
            first + reach * outwards(leaves, exit_end),
            last + reach * outwards(enters, entry_end),
            last,
        ]
    )


@pytest.mark.parametrize("view", VIEWS)
def test_detail_is_that_of_one_node_and_edge_at_a_time(backend, view):
    graph, coordinates = make_graph(), make_coordinates()
    drawing = LayoutDrawing(coordinates, backend=backend)
    detail = find_detail(graph, drawing, view)
    nodes = [
        node
        for node in range(N_NODES)
        if np.isfinite(coordinates[node]).all() and touches(coordinates[node], box_of(view))
    ]
    assert detail.nodes.tolist() == nodes
    np.testing.assert_array_equal(detail.ends, coordinates[nodes])
    expected, seen = {}, set()
    for edge in range(graph.n_edges):
        start, end = graph.edges[edge].tolist()
        if seen & {(start, end), (end ^ 1, start ^ 1)}:
            continue
        seen.add((start, end))
        curve = expected_curve(graph, coordinates, edge)
        low, high = curve.min(axis=0), curve.max(axis=0)
        if (
            not {int(handle) >> 1 for handle in graph.edges[edge]}.isdisjoint(nodes)
            and low[0] <= view.x_max
            and high[0] >= view.x_min
            and low[1] <= view.y_max
            and high[1] >= view.y_min
        ):
            expected[edge] = curve
    assert detail.edges.tolist() == list(expected)
    np.testing.assert_allclose(
        detail.curves, np.array(list(expected.values())).reshape(-1, 4, 2), rtol=1e-12, atol=1e-9
    )


def test_curves_leave_and_enter_nodes_in_their_directions():
    graph, coordinates = make_graph(), make_coordinates()
    detail = find_detail(graph, LayoutDrawing(coordinates, backend="cpu"), VIEWS[0])
    for edge, curve in zip(detail.edges, detail.curves, strict=True):
        for handle, end, inner in (
            (int(graph.edges[edge, 0]), curve[0], curve[1]),
            (int(graph.edges[edge, 1]) ^ 1, curve[3], curve[2]),
        ):
            ends = coordinates[handle >> 1][:: -1 if handle & 1 else 1]
            np.testing.assert_array_equal(end, ends[1])
            way, along = ends[1] - ends[0], inner - end
            assert abs(way[0] * along[1] - way[1] * along[0]) <= 1e-6
            assert way @ along >= 0


def test_visible_bases_are_those_whose_places_are_in_view():
    graph, coordinates = make_graph(), make_coordinates()
    drawing = LayoutDrawing(coordinates, backend="cpu")
    n_found = 0
    for view in (*VIEWS, Viewport(2000, 2300, -80, 80, 9000, 7000)):
        detail = find_detail(graph, drawing, view)
        found = {
            int(detail.nodes[bases.piece]): (bases.start, bases.sequence) for bases in detail.bases
        }
        expected = {}
        for node in detail.nodes.tolist():
            (start, end), sequence = coordinates[node], graph.node_sequences[node].encode()
            n = len(sequence)
            pixels = math.hypot(*((end - start) / view.bp_per_pixel))
            if n == 0 or pixels < 6 * n:
                continue
            places = [
                (start + (end - start) * base / n, start + (end - start) * (base + 1) / n)
                for base in range(n)
            ]
            seen = [base for base in range(n) if touches(places[base], box_of(view))]
            expected[node] = (seen[0], sequence[seen[0] : seen[-1] + 1])
        assert found == expected
        n_found += len(found)
    assert n_found > 20
    assert find_detail(make_graph(with_sequences=False), drawing, VIEWS[0]).bases == ()


def test_too_much_is_none():
    graph, drawing = make_graph(), LayoutDrawing(make_coordinates(), backend="cpu")
    detail = find_detail(graph, drawing, VIEWS[0])
    assert find_detail(graph, drawing, VIEWS[0], max_nodes=len(detail.nodes)) is not None
    assert find_detail(graph, drawing, VIEWS[0], max_nodes=len(detail.nodes) - 1) is None
    assert find_detail(graph, drawing, VIEWS[0], max_edges=5) is None
    nothing = find_detail(graph, drawing, VIEWS[3], max_nodes=0)
    assert (len(nothing.nodes), nothing.ends.shape, nothing.curves.shape) == (
        0,
        (0, 2, 2),
        (0, 4, 2),
    )


def test_edges_of_nodes_that_are_not_drawn_are_left_out():
    graph, coordinates = make_graph(), make_coordinates()
    even = np.arange(0, N_NODES, 2)
    drawing = LayoutDrawing(coordinates, nodes=even, backend="cpu")
    detail = find_detail(graph, drawing, VIEWS[2])
    assert len(detail.edges) > 50
    assert (detail.nodes % 2 == 0).all()
    assert ((graph.edges[detail.edges] >> 1) % 2 == 0).all()


def test_a_fold_cuts_nodes_and_edges_at_the_ends_of_rows():
    graph, coordinates = make_graph(), make_coordinates()
    drawing = LayoutDrawing(coordinates, backend="cpu")
    fold = Fold(drawing.bounds, 500, 400, n_rows=5)
    x_min, y_min, x_max, y_max = fold.bounds
    view = Viewport(x_min - 300, x_max + 300, y_min - 300, y_max + 300, 500, 400)
    detail = find_detail(graph, drawing, view, fold=fold)
    expected = []
    for node in range(N_NODES):
        for row in range(5):
            ends = coordinates[node]
            low, high = x_min + row * fold.row_width, x_min + (row + 1) * fold.row_width
            if not np.isfinite(ends).all() or ends[:, 0].max() < low or ends[:, 0].min() > high:
                continue
            (x0, y0), (x1, y1) = ends
            for end in range(2):
                x = min(max(ends[end, 0], low), high)
                y = y0 + (x - x0) / (x1 - x0) * (y1 - y0) if x1 != x0 else ends[end, 1]
                expected.append((node, x - row * fold.row_width, y - row * fold.row_pitch))
    expected = np.array(expected)
    np.testing.assert_array_equal(detail.nodes, expected[::2, 0])
    np.testing.assert_allclose(detail.ends.reshape(-1, 2), expected[:, 1:], atol=1e-9)
    assert (detail.ends[..., 0] >= x_min - 1e-9).all()
    assert (detail.ends[..., 0] <= x_max + 1e-9).all()

    plain = find_detail(graph, drawing, Viewport(-1e5, 1e5, -1e5, 1e5, 10, 10))
    curves = dict(zip(plain.edges.tolist(), plain.curves, strict=True))
    n_cut = 0
    for edge in plain.edges.tolist():
        parts = detail.curves[detail.edges == edge]
        rows = fold.row_of(curves[edge][[0, 3], 0])
        assert len(parts) == 1 + (rows[0] != rows[1])
        shifts = np.stack([rows * fold.row_width, rows * fold.row_pitch], axis=1)
        np.testing.assert_allclose(parts[0][0], curves[edge][0] - shifts[0])
        np.testing.assert_allclose(parts[-1][3], curves[edge][3] - shifts[1])
        if len(parts) == 2:
            n_cut += 1
            rises = rows[0] < rows[1]
            assert parts[0][3, 0] == pytest.approx(x_max if rises else x_min, abs=1e-6)
            assert parts[1][0, 0] == pytest.approx(x_min if rises else x_max, abs=1e-6)
            way = curve_at(curves[edge], np.linspace(0, 1, 100_001)[:, None])
            for part, shift in zip(parts, shifts, strict=True):
                middle = curve_at(part, 0.5) + shift
                assert np.hypot(*(way - middle).T).min() < 0.05
    assert n_cut > 5


def test_a_drawing_of_another_graph_is_refused():
    drawing = LayoutDrawing(make_coordinates(30), backend="cpu")
    with pytest.raises(ParameterError, match="the drawing has 30 nodes and the graph 400"):
        find_detail(make_graph(), drawing, VIEWS[0])
