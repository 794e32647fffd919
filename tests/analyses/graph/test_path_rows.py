"""Rows of paths along the nodes: bins against a count base by base, and their figure."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from genoviz import find_path_rows, write_gfa
from genoviz.analyses.figures import TRACK_FIGURE_ENDINGS, make_path_figure, track_figure_bytes
from genoviz.analyses.figures.paths import shade_cells
from genoviz.analyses.graph.picture.palettes import DARK, LIGHT, blend, parse_colour
from genoviz.analyses.graph.query import path_rows
from genoviz.analyses.graph.query.path_groups import group_paths
from genoviz.analyses.graph.query.path_rows import NodeAxis
from genoviz.cli.main import main
from genoviz.errors import ParameterError
from tests.graphs import make_graph, random_graph


def count_bases(graph, by, start, end, n_bins):
    """Return present, depths and reverse of each bin, from what each path does at each base."""
    groups = group_paths(graph, by)
    starts = np.concatenate([[0], np.cumsum(graph.node_lengths)])
    visits = np.zeros((2, len(groups.names), starts[-1]))
    for path in range(graph.n_paths):
        for step in graph.path_steps(path).tolist():
            node = step >> 1
            visits[step & 1, groups.of_path[path], starts[node] : starts[node + 1]] += 1
    bins = [start + k * (end - start) // n_bins for k in range(n_bins + 1)]
    cells = [visits[:, :, a:b] for a, b in pairwise(bins)]
    sums = [each.sum(axis=0) for each in cells]
    present = np.stack([(each > 0).mean(axis=1) for each in sums], axis=1)
    depths = np.stack([each.mean(axis=1) for each in sums], axis=1)
    with np.errstate(invalid="ignore"):
        shares = [each[1].sum(axis=1) / each.sum(axis=(0, 2)) for each in cells]
    return present, depths, np.stack(shares, axis=1)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("by", ["path", "sample"])
def test_bins_are_those_of_each_base(seed, by):
    graph = random_graph(seed)
    total = int(graph.node_lengths.sum())
    for start, end, n_bins in [(0, total, 1), (0, total, 17), (3, total // 2, 5), (5, 7, 99)]:
        rows = find_path_rows(graph, by=by, start=start, end=end, n_bins=n_bins)
        n = min(n_bins, end - start)
        assert (len(rows.bounds), rows.bounds[0], rows.bounds[-1]) == (n + 1, start, end)
        for found, expected in zip(
            (rows.present, rows.depths, rows.reverse),
            count_bases(graph, by, start, end, n),
            strict=True,
        ):
            assert found == pytest.approx(expected, nan_ok=True, rel=1e-5)
    assert find_path_rows(graph).bounds[-1] == total


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "village"}, "grouped by 'village', needs one of path, sample"),
        ({"start": 5, "end": 5}, "the stretch is 5 to 5, needs a part of 0 to 14 bp"),
        ({"end": 15}, "the stretch is 0 to 15, needs a part of 0 to 14 bp"),
        ({"n_bins": 0}, "there are 0 bins, needs at least 1"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        find_path_rows(two_paths(), **options)


def two_paths():
    """Return a forward path of 4 and 6 bp, and one of 6 bp in reverse, 4 bp and 6 bp again."""
    return make_graph([4, 6, 4], [[1, 2], [-2, 3, 2]])


def test_cells_have_the_colours_of_what_they_show():
    rows = find_path_rows(two_paths(), n_bins=7)
    ground = list(parse_colour(LIGHT.ground))
    cells = {
        shade: make_path_figure(rows, shade=shade).pixels.colours.tolist()
        for shade in ("presence", "depth", "strand")
    }
    own = [list(parse_colour(LIGHT.colour(row))) for row in (0, 1)]
    assert cells["presence"] == [[own[0]] * 5 + [ground] * 2, [ground] * 2 + [own[1]] * 5]
    low, high = (list(parse_colour(LIGHT.ramps["depth"][k])) for k in (0, -1))
    assert cells["depth"] == [[low] * 5 + [ground] * 2, [ground] * 2 + [high] * 3 + [low] * 2]
    forward, half = (
        list(parse_colour(blend(LIGHT.ramps["share"], share))) for share in (0, 128 / 255)
    )
    strands = [[forward] * 5 + [ground] * 2, [ground] * 2 + [half] * 3 + [forward] * 2]
    assert cells["strand"] == strands


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"shade": "taste"},
            "the cells show 'taste', need one of presence, depth, strand, position",
        ),
        ({"width": 10}, "width is 10, needs 300"),
        (
            {"row_height": 9000},
            "2 rows of 9000 pixels at 2 times their size are higher",
        ),
    ],
)
def test_a_figure_that_cannot_be_is_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        make_path_figure(find_path_rows(two_paths()), **options)


def test_rows_have_their_names_where_there_is_room():
    rows = find_path_rows(two_paths())
    for height, scale, is_named in ((12, 1, True), (12, 3, True), (3, 1, False)):
        figure = make_path_figure(rows, row_height=height, scale=scale)
        texts = {part.text: part for part in figure.parts if hasattr(part, "text")}
        for number, name in enumerate(rows.groups.names):
            assert (name in texts) == is_named
            if is_named:
                top = figure.pixels.y + number * height * scale
                assert top < texts[name].y < top + height * scale
                assert 0.8 * figure.pixels.x < texts[name].x < figure.pixels.x


@pytest.mark.parametrize("ending", TRACK_FIGURE_ENDINGS)
def test_the_command_writes_the_figure(tmp_path, ending, capsys):
    write_gfa(two_paths(), tmp_path / "g.gfa")
    output = tmp_path / f"m{ending}"
    options = [
        "--shade",
        "depth",
        "--by",
        "sample",
        "--start",
        "2",
        "--end",
        "12",
        "--order",
        "name",
    ]
    with pytest.raises(SystemExit) as ended:
        main(["matrix", str(tmp_path / "g.gfa"), "-o", str(output), *options])
    assert not ended.value.code
    rows = find_path_rows(two_paths(), by="sample", start=2, end=12, n_bins=1200)
    figure = make_path_figure(rows, shade="depth", theme=DARK)
    assert output.read_bytes() == track_figure_bytes(figure, ending)
    assert f"wrote {output}, {figure.width} x {figure.height}" in capsys.readouterr().out


@pytest.mark.parametrize("seed", range(4))
def test_a_part_of_the_nodes_in_another_order_is_read_from_its_steps_alone(seed, monkeypatch):
    """The rows of each node by itself tell what the bins of an axis have."""
    graph = random_graph(seed)
    groups = group_paths(graph, "sample")
    groups = groups.select(groups.names[::-1])
    order = np.random.default_rng(seed).permutation(graph.n_nodes)
    axis = NodeAxis.of(graph, order, in_bp=False)
    assert axis.length == graph.n_nodes
    own = find_path_rows(graph, by=groups, axis=axis, n_bins=graph.n_nodes)
    for share in (0.0, 2.0):
        monkeypatch.setattr(path_rows, "SMALL_SHARE", share)
        for start, end in [(0, graph.n_nodes), (1, 3), (graph.n_nodes - 2, graph.n_nodes)]:
            found = find_path_rows(graph, by=groups, axis=axis, start=start, end=end)
            for name in ("present", "depths", "reverse", "places"):
                expected = getattr(own, name)[:, start:end]
                assert getattr(found, name) == pytest.approx(expected, nan_ok=True, rel=1e-4)


def test_an_axis_tells_nodes_of_stretches_and_stretches_of_nodes():
    graph = make_graph([4, 6, 4], [[1, 2], [-2, 3, 2]])
    axis = NodeAxis.of(graph, np.array([2, 0, 1]))
    assert axis.bounds.tolist() == [0, 4, 8, 14]
    assert axis.between(3, 5).tolist() == [2, 0]
    assert axis.between(4, 8).tolist() == [0]
    assert axis.stretches(np.array([0, 1])).tolist() == [[4, 14]]
    assert axis.stretches(np.array([2, 1])).tolist() == [[0, 4], [8, 14]]
    assert axis.stretches(np.array([2, 1]), gap=4).tolist() == [[0, 14]]
    assert axis.stretches(np.array([], np.int64)).shape == (0, 2)


def test_places_go_from_the_first_base_of_a_path_to_its_last():
    rows = find_path_rows(two_paths(), n_bins=14)
    # Path 0: nodes of 4 and 6 bp; path 1: node 2 at 0-6 and 10-16 of 16 bp, node 3 at 6-10.
    assert rows.places[0] == pytest.approx([0.2] * 4 + [0.7] * 6 + [np.nan] * 4, nan_ok=True)
    assert rows.places[1] == pytest.approx([np.nan] * 4 + [0.5] * 10, nan_ok=True)


@pytest.mark.parametrize("shade", ["presence", "depth", "strand", "position"])
def test_cells_of_256_colours_are_those_of_the_figure(shade):
    rows = find_path_rows(random_graph(3, n_paths=30), n_bins=9)
    cells = shade_cells(rows, shade, LIGHT)
    assert len(cells.colours) <= 256
    assert ((cells.indices == 0) == (rows.present == 0)).all()
    palette = np.array([parse_colour(each) for each in cells.colours])
    exact = make_path_figure(rows, shade=shade).pixels.colours.astype(int)
    assert np.abs(palette[cells.indices] - exact).max() <= 16
    assert bool(cells.words) == (shade != "presence")


def test_short_nodes_count_in_bins_of_many_bases():
    """Sums of 32 bits would lose steps of 1 bp, and round those of 3, beyond 2^24 bases."""
    graph = make_graph([1 << 26, 1, 3], [[1] + [2] * 4000 + [-3] * 4000, [1, 3], [2] * 5])
    rows = find_path_rows(graph, n_bins=1)
    total = (1 << 26) + 4
    visits = [(1 << 26) + 4000 + 12_000, (1 << 26) + 3, 5]
    np.testing.assert_allclose(rows.depths[:, 0] * total, visits, rtol=2e-7)
    np.testing.assert_allclose(rows.reverse[:, 0] * visits, [12_000, 0, 0], rtol=2e-7)
    np.testing.assert_allclose(rows.present[:, 0] * total, [total, total - 1, 1], rtol=2e-7)
