"""Figures of the papers, drawn from small runs, and the command that draws them."""

from __future__ import annotations

import io
import itertools
import json
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from genoviz.analyses.figures import track_figure_bytes
from genoviz.analyses.figures.axes import PrintedPlot, print_plots
from genoviz.analyses.figures.parts import Text
from genoviz.analyses.graph.layout.stress import count_pairs, path_stress
from genoviz.analyses.reproduce import batch_layout, layouts
from genoviz.analyses.reproduce.figures import FIGURES, find_figure, iter_reproduce
from genoviz.analyses.simulation.graphs import simulate_pangenome
from genoviz.cli.main import main
from genoviz.errors import ParameterError


def points_of(found, series):
    return [point for point in found.measured.points if series in point.series]


def measured_of(found):
    return [point for point in found.measured.points if not point.source]


def check_stages(found):
    exact, printed = points_of(found, "exact"), points_of(found, "HLA-DRB1")
    assert [p.x for p in exact] == [p.x for p in printed] == [12, 14, 16, 30]
    assert [p.y for p in printed] == [142.2, 22.4, 1.3, 0.07]
    assert all(a.y > b.y for a, b in itertools.pairwise(exact))
    graph = simulate_pangenome(n_nodes=1_000, n_paths=6, seed=1)
    stresses = [path_stress(graph, layout).mean for _, layout in found.measured.layouts]
    assert [p.y for p in exact] == pytest.approx(stresses)


def check_sampled(found):
    logs = np.log([(p.x, p.y) for p in found.measured.points])
    assert len(logs) == 24
    assert np.corrcoef(logs.T)[0, 1] > 0.99
    assert f"{np.corrcoef(logs.T)[0, 1]:.5f}" in found.caption


def check_scaling(found):
    own = points_of(found, "path-guided SGD, ")
    assert all(a.x < b.x for a, b in itertools.pairwise(own))
    assert {(p.x, p.y) for p in points_of(found, "A100")} == {(600e6, 162)}


def check_ablation(found):
    own = measured_of(found)
    assert own[0].case.startswith("single updates")
    assert own[0].y == 1
    assert [p.y for p in points_of(found, "GPU, printed")] == pytest.approx([1.4, 1.68, 1.848])


def check_batches(found):
    best = points_of(found, "one update after the other")[0].y
    assert points_of(found, "one move a point")[-1].y > 2 * best


def check_threads(found):
    assert {p.y for p in found.measured.points if p.x == 1} == {1}


def check_exome(found):
    windows, reads = 150 * (171_334 // 1_000), 192_000_000 // 1_000
    assert max(p.x for p in measured_of(found)) == windows + reads
    assert (217_700_000, 8.7) in {(p.x, p.y) for p in points_of(found, "8 cores")}


def check_transform(found):
    assert {p.x: p.y for p in points_of(found, "Tesla")}[60e6] == 119.1


def check_guides(found):
    assert {p.series.split(",")[0] for p in measured_of(found)} == {
        "NRG", "NGG", "no PAM",
    }  # fmt: skip


def check_evaluations(found):
    assert [p.case for p in measured_of(found)] == ["ssSNPBLUP", "ssGTABLUP"]
    assert max(p.y for p in found.measured.points) == 6.47 * 3_600


CHECKS = {
    "layout-stress": check_stages,
    "layout-sampled": check_sampled,
    "layout-scaling": check_scaling,
    "layout-ablation": check_ablation,
    "layout-batches": check_batches,
    "interval-threads": check_threads,
    "interval-exome": check_exome,
    "bwt-size": check_transform,
    "offtarget-guides": check_guides,
    "genotype-evaluations": check_evaluations,
}


@pytest.mark.parametrize("entry", FIGURES, ids=lambda entry: entry.name)
def test_a_figure_is_drawn_from_a_small_run(entry, backend):
    steps = list(iter_reproduce(entry.name, small=True, seed=1, backend=backend))
    found = steps[-1].result
    assert all(0 <= step.fraction <= 1 for step in steps)
    assert measured_of(found)
    for point in found.measured.points:
        assert np.isfinite(point.x)
        assert point.y > 0
        assert (point.source == entry.paper.words) == ("printed" in point.series)
    assert entry.paper.words in found.caption
    assert entry.paper.doi in found.caption
    CHECKS.get(entry.name, lambda _: None)(found)
    figure = found.draw()
    texts = " ".join(ElementTree.fromstring(track_figure_bytes(figure, ".svg")).itertext())
    assert entry.shows in texts
    assert all(point.series in texts for point in found.measured.points)
    with Image.open(io.BytesIO(track_figure_bytes(figure, ".png"))) as image:
        assert image.size == (figure.width, figure.height)
        assert len(image.getcolors(1 << 20)) > 3


OF_LAYOUTS = [entry.name for entry in FIGURES if entry.takes_graph]


@pytest.mark.parametrize("name", OF_LAYOUTS)
def test_a_figure_about_layouts_is_of_the_graph_that_is_given(name, monkeypatch):
    graph = simulate_pangenome(n_nodes=123, n_paths=5, seed=2)
    if name != "layout-scaling":  # which has simulated ones beside it
        monkeypatch.setattr(layouts, "simulate_pangenome", None)
        monkeypatch.setattr(batch_layout, "simulate_pangenome", None)
    steps = list(iter_reproduce(name, small=True, graph=graph, backend="cpu"))
    assert all(0 <= step.fraction <= 1 for step in steps)
    found = steps[-1].result
    assert f"123 nodes, 5 paths, {graph.n_steps} steps" in found.caption
    assert measured_of(found)
    if name == "layout-scaling":
        assert graph.n_steps in {point.x for point in measured_of(found)}


def test_pairs_of_steps_are_those_of_each_path():
    graph = simulate_pangenome(n_nodes=40, n_paths=3, seed=1)
    lengths = np.diff(graph.path_offsets).tolist()
    assert count_pairs(graph) == sum(len(list(itertools.combinations(range(n), 2)))
                                             for n in lengths)  # fmt: skip


def test_of_a_graph_with_too_many_pairs_the_stress_is_sampled_or_refused(monkeypatch):
    graph = simulate_pangenome(n_nodes=100, n_paths=3, seed=1)
    monkeypatch.setattr(layouts, "MAX_PAIRS", count_pairs(graph) - 1)
    monkeypatch.setattr(layouts, "MAX_SAMPLES", 1_000)
    monkeypatch.setattr(layouts, "path_stress", None)
    for name in ("layout-stress", "layout-batches"):
        *_, last = iter_reproduce(name, small=True, graph=graph, backend="cpu")
        assert "the stress is sampled" in last.result.caption
        assert not points_of(last.result, "exact")
    with pytest.raises(ParameterError, match=r"pairs of steps, .* at most .*: extract a part"):
        list(iter_reproduce("layout-sampled", small=True, graph=graph, backend="cpu"))


def test_no_two_figures_have_one_name_and_a_slip_is_understood():
    assert len({entry.name for entry in FIGURES}) == len(FIGURES)
    with pytest.raises(ParameterError, match="no figure 'layout-sample'; layout-sampled may"):
        find_figure("layout-sample")


@pytest.mark.parametrize(("x", "wanted"), [([1, 2], {"0", "1", "2"}), ([1, 2.5], {"0.5", "1.5"})])
def test_counts_have_no_ticks_between_them(x, wanted):
    ends = (0.0, 2.6), (0.0, 1.0)
    plot = PrintedPlot(np.array(x, float), np.zeros(2), np.zeros(2, np.uint8), *ends, ("x", "y"))
    texts = [part for part in print_plots([plot], "", "").parts if isinstance(part, Text)]
    lowest = max(text.y for text in texts if text.text in ("1", "1.5"))
    ticks = {text.text for text in texts if text.y == lowest}
    assert wanted <= ticks
    assert ("1.5" in ticks) == ("1.5" in wanted)


def test_powers_of_ten_are_evenly_apart_on_a_logarithmic_axis():
    x = 10.0 ** np.arange(4)
    plot = PrintedPlot(
        x, x, np.zeros(4, np.uint8), (0.5, 2000.0), (0.5, 2000.0), ("x", "y"), logs=(True, True)
    )
    figure = print_plots([plot], "title", "caption")
    middles = np.array([area.points.mean(axis=0) for area in figure.areas])
    gaps = np.diff(middles, axis=0)
    assert gaps == pytest.approx(np.tile(gaps[0], (3, 1)))
    assert gaps[0][0] > 0 > gaps[0][1]
    ticks = {part.text for part in figure.parts if hasattr(part, "text")}
    assert {"1", "10", "100", "1,000"} <= ticks


@pytest.mark.parametrize("ends", [(0.31, 0.92), (3.0, 4.5), (0.9, 1.1), (70, 105)])
def test_a_logarithmic_axis_of_less_than_a_decade_has_numbers_to_read_by(ends):
    x = np.array(ends)
    plot = PrintedPlot(x, x, np.zeros(2, np.uint8), ends, ends, ("x", "y"), logs=(True, True))
    shown = [part.text for part in print_plots([plot], "", "").parts if hasattr(part, "text")]
    numbers = [float(text) for text in shown if text.replace(".", "").isdigit()]
    assert len(numbers) >= 6, "three at least on each axis"
    assert all(ends[0] <= number <= ends[1] for number in numbers)


def run(*words):
    with pytest.raises(SystemExit) as end:
        main([str(word) for word in words])
    return end.value.code


def test_the_command_lists_and_writes_figures_and_tables(tmp_path, capsys):
    assert run("reproduce") == 0
    listed = capsys.readouterr().out
    assert all(entry.name in listed and entry.source in listed for entry in FIGURES)
    picture, table = tmp_path / "times.svg", tmp_path / "times.tsv"
    assert run("reproduce", "layout-times", "--small", "-o", picture, "--json") == 0
    results = json.loads(capsys.readouterr().out)
    assert results["files"] == [str(picture)]
    assert results["caption"] in "".join(ElementTree.parse(picture).getroot().itertext())
    assert run("reproduce", "layout-times", "--small", "-o", table) == 0
    caption, head, *rows = table.read_text().splitlines()
    assert caption.startswith("# After Li et al. 2024, table VII, doi:")
    assert head.split("\t") == ["#series", "case", "Graph", "Time (s)", "from"]
    assert len(rows) == len(results["rows"])
    assert "A100, printed\tsize of chromosome 1\tsize of chromosome 1\t162\tLi et al. 2024" in rows


def test_what_cannot_be_drawn_is_refused_before_anything_is_measured(tmp_path, capsys):
    assert run("reproduce", "layout-time") == 1
    assert "layout-times may be meant" in capsys.readouterr().err
    assert run("reproduce", "layout-times", "-o", tmp_path / "a.xlsx") == 2
    graph = tmp_path / "none.gfa"
    assert run("reproduce", "bwt-size", "--graph", graph) == 1
    assert "bwt-size is not about graphs; those that take one are" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
