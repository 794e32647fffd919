"""``genoviz draw`` writes what it says, in every format, and says what is wrong in one sentence."""

from __future__ import annotations

import io
import json
import re
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest

import genoviz
from genoviz.analyses.figures import FIGURE_ENDINGS
from genoviz.analyses.figures.files import MAX_LINES
from genoviz.analyses.graph.picture.colouring import MODES
from genoviz.analyses.graph.picture.palettes import DARK, LIGHT, parse_colour
from genoviz.analyses.graph.query.path_groups import GROUPINGS
from genoviz.cli.graph import draw as draw_command
from genoviz.cli.graph.reading import MARK_COLOUR, make_labels
from genoviz.cli.main import main
from genoviz.model import GraphLayout
from tests.cli.test_program import sentence
from tests.conftest import real_data
from tests.graphs import make_graph

GFA = """S\ta\tGGGGGGGGGG
S\tb\tAATT
S\tc\tACGT
S\td\tCCCC
L\ta\t+\tb\t+\t0M
L\ta\t+\tc\t+\t0M
L\tb\t+\td\t+\t0M
L\tc\t+\td\t+\t0M
P\tX#1#chr1\ta+,b+,d+\t*
P\tY#1#chr1:100-118\ta+,c-,d+\t*
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GENOVIZ_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Write a graph and its layout; work in their folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g.gfa").write_text(GFA)
    ends = [[[0, 5], [40, 5]], [[45, 8], [60, 8]], [[45, 2], [60, 2]], [[65, 5], [100, 5]]]
    genoviz.write_layout(GraphLayout(np.array(ends, float)), tmp_path / "g.lay")
    (tmp_path / "t.tsv").write_text("node\tcoverage\tkind\na\t5\texon\nb\t9\tintron\n")
    (tmp_path / "a.bed").write_text("Y#1#chr1\t110\t114\tgene1\nZ\t1\t2\tlost\n")
    return tmp_path


@pytest.fixture
def draw(capsys):
    """Run ``genoviz draw g.gfa g.lay``; return exit code, output and errors."""

    def draw(*arguments, files=("g.gfa", "g.lay")):
        with pytest.raises(SystemExit) as exit_:
            main(["draw", *map(str, files), *map(str, arguments)])
        captured = capsys.readouterr()
        return exit_.value.code or 0, captured.out, captured.err

    return draw


def read_png(path):
    from PIL import Image

    return Image.open(io.BytesIO(path.read_bytes()))


def svg_texts(path):
    svg = ElementTree.fromstring(path.read_bytes())
    return {element.text for element in svg.iter("{http://www.w3.org/2000/svg}text")}


@pytest.mark.parametrize("ending", FIGURE_ENDINGS)
def test_every_format_is_written(draw, files, ending):
    path = files / f"x{ending}"
    code, out, err = draw("-o", path, "--width", 500, "--title", "Two")
    assert (code, err) == (0, "")
    assert out.startswith(f"wrote {path}, 500 x ")
    content = path.read_bytes()
    starts = {".png": b"\x89PNG", ".svg": b"<svg", ".pdf": b"%PDF-1", ".html": b"<!doctype html>"}
    assert content.startswith(starts[ending])
    assert [file.name for file in files.glob(".*")] == []


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode not in ("table", "annotation")])
def test_every_mode_is_drawn(draw, files, mode):
    code, out, err = draw("-o", "x.svg", "--colour-by", mode, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["colour_by"] == mode
    legends = {
        "density": "node",
        "depth": "Depth (path steps on a node)",
        "path-depth": "Paths on a node (of 2)",
        "copies": "Copies in a path that has the node (mean)",
        "strand": "Reverse steps (%)",
        "length": "Node length (bp)",
        "gc": "GC content (%)",
        "component": "Component (nodes), 1 in all",
        "position": "Position on X#1#chr1 (bp)",
        "paths": "Only on one of 2 paths (nodes)",
        "sharing": "Paths on a node (of 2)",
        "class": "Pangenome class (nodes)",
        "stress": "Path stress of near steps (log10)",
    }
    assert legends[mode] in svg_texts(files / "x.svg")


def test_choices_are_those_of_the_library():
    assert tuple(draw_command.ColourBy) == tuple(MODES)
    assert tuple(draw_command.GroupBy) == tuple(GROUPINGS)
    assert tuple(draw_command.ENDINGS) == FIGURE_ENDINGS


def test_size_resolution_and_ground_are_those_asked_for(draw, files):
    draw("-o", "x.png", "--width", 640, "--height", 480, "--dpi", 300, "--light")
    image = read_png(files / "x.png")
    assert image.size == (640, 480)
    assert image.info["dpi"][0] == pytest.approx(300, abs=0.1)
    assert image.convert("RGB").getpixel((2, 2)) == (255, 255, 255)
    draw("-o", "x.png", "--transparent")
    assert read_png(files / "x.png").getpixel((2, 2))[3] == 0
    draw("-o", "x.png")
    assert read_png(files / "x.png").getpixel((2, 2)) == parse_colour(DARK.ground)


def test_a_table_gives_colours_and_labels(draw, files):
    code, _, _ = draw("-o", "x.svg", "--table", "t.tsv")
    assert code == 0
    assert {"coverage", "not in the table", "5", "9"} <= svg_texts(files / "x.svg")
    draw("-o", "x.svg", "--table", "t.tsv", "--column", "kind")
    assert {"exon (1)", "intron (1)"} <= svg_texts(files / "x.svg")


def test_annotations_are_coloured_labelled_and_counted(draw, files):
    code, _, err = draw("-o", "x.svg", "--annotations", "a.bed")
    assert code == 0
    assert {"gene1", "gene1 (1)", "without annotation (3)"} <= svg_texts(files / "x.svg")
    assert "1 annotation is not placed" in err
    draw("-o", "x.svg", "--annotations", "a.bed", "--no-labels", "--colour-by", "length")
    assert "gene1" not in svg_texts(files / "x.svg")
    (files / "none.bed").write_text("nowhere\t0\t3\tg\n")
    assert "1 annotation is not placed" in draw("-o", "x.svg", "--annotations", "none.bed")[2]
    (files / "none.bed").write_text("")
    assert "no annotations" in draw("-o", "x.svg", "--annotations", "none.bed")[2]


def test_a_region_and_chosen_paths_limit_what_is_drawn(draw, files):
    draw("-o", "all.svg")
    assert {"a", "b", "c", "d"} <= svg_texts(files / "all.svg")
    draw("-o", "x.svg", "--region", "X#1#chr1:11-13")
    texts = svg_texts(files / "x.svg")
    assert "b" in texts
    assert not {"c", "d"} & texts
    draw("-o", "x.svg", "--path", "Y", "--group-by", "sample", "--only-paths")
    texts = svg_texts(files / "x.svg")
    assert {"a", "c", "d", "Y (3)"} <= texts
    assert "b" not in texts


def test_a_view_of_too_many_nodes_is_pixels_and_says_so(draw, files, monkeypatch):
    monkeypatch.setitem(MAX_LINES, ".svg", 3)
    code, out, err = draw("-o", "x.svg")
    assert (code, out.endswith("in pixels\n")) == (0, True)
    assert "more than 3 nodes, so the graph is pixels in this file" in err
    assert draw("-o", "x.svg", "--region", "X#1#chr1:11-13")[2] == ""


def test_marked_nodes_are_in_the_legend(draw, files):
    draw("-o", "x.svg", "--nodes", "c")
    assert "node c" in svg_texts(files / "x.svg")
    svg = (files / "x.svg").read_text()
    assert MARK_COLOUR in svg


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "x.gif"], "-o x.gif needs one of the endings .png, .svg, .pdf, .html"),
        (["-o", "no/x.png"], "there is no folder no"),
        (["-o", "x.png", "--colour-by", "taste"], "'taste' is not one of"),
        (["-o", "x.png", "--colour-by", "table"], "--colour-by table needs --table"),
        (["-o", "x.png", "--colour-by", "annotation"], "needs --annotations"),
        (["-o", "x.png", "--only-paths"], "--only-paths needs --path"),
        (["-o", "x.png", "--line-width", "0"], "'--line-width': Input should be greater than or"),
        (["-o", "x.png", "--line-width", "1001"], "'--line-width': Input should be less than or"),
    ],
)
def test_wrong_usage_exits_with_2(draw, files, arguments, message):
    code, out, err = draw(*arguments)
    assert (code, out) == (2, "")
    assert message in sentence(err)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--path", "chr9"], "no path is named 'chr9'; the graph has X#1#chr1"),
        (["--nodes", "z"], "the graph has no node 'z'"),
        (["--region", "chr9:1-2"], "chr9"),
        (["--folded", "--stretched"], "a figure is either stretched or folded"),
        (["--table", "a.bed"], "a.bed, line 1: the graph has no node 'Y#1#chr1'"),
    ],
)
def test_failure_is_one_sentence_and_leaves_no_file(draw, files, arguments, message):
    code, out, err = draw("-o", "x.png", *arguments)
    assert (code, out) == (1, "")
    assert re.fullmatch(r"genoviz: [^\n]+\n", err)
    assert message in err
    assert not list(files.glob("*x.png*"))


def test_the_region_of_haplotypes_is_drawn_with_its_genes(draw, tmp_path):
    graph = real_data("gfa/chr6.C4.gfa.gz"), real_data("layouts/chr6.C4.odgi.tsv.gz")
    path = tmp_path / "c4.svg"
    code, _, _ = draw(
        "-o", path, "--annotations", real_data("gfa/chr6.C4.bed"), "--light", files=graph
    )
    assert code == 0
    texts = svg_texts(path)
    assert {"C4A", "C4B", "C4A_HERV-K", "C4B_HERV-K", "5 kbp"} <= texts
    assert LIGHT.ground in path.read_text()


def test_a_chromosome_is_drawn_folded(draw, tmp_path):
    files = real_data("gfa/hprc_chrY.noseq.gfa.gz"), real_data("layouts/hprc_chrY.lay.tsv.gz")
    path = tmp_path / "y.png"
    code, _, err = draw("-o", path, "--colour-by", "position", files=files)
    assert (code, "130 times as long as high" in err) == (0, True)
    code, _, err = draw("-o", path, "--colour-by", "position", "--folded", files=files)
    assert (code, err) == (0, "")
    pixels = np.asarray(read_png(path).convert("RGB")).astype(int)
    is_drawn = np.abs(pixels - parse_colour(DARK.ground)).max(axis=2) > 40
    rows = is_drawn[: int(0.85 * len(pixels))].any(axis=1)
    assert (np.diff(rows.astype(int)) == 1).sum() >= 6


def test_labels_are_at_the_middle_of_the_longest_annotations(monkeypatch):
    graph = make_graph([10] * 9, [[3, 1, 4, -5, 9, 2, 6, 8, 7]])
    names = ("short", "long", "", "nowhere", "long")
    placed = SimpleNamespace(
        annotations=SimpleNamespace(names=names),
        rows=np.array([1, 0, 2, 3, 4]),
        starts=np.array([0, 50, 0, 5, 20]),
        ends=np.array([70, 80, 90, 6, 40]),
        step_ranges=np.array([[0, 7], [5, 8], [0, 9], [4, 4], [2, 4]]),
    )
    labels = make_labels(graph, placed)
    # Steps 3 and 6 of the path are nodes 5 and 6, which are counted from 0.
    assert [(label.node, label.text) for label in labels] == [(4, "long"), (5, "short")]
    monkeypatch.setattr("genoviz.cli.graph.reading.MAX_LABELS", 1)
    assert [label.text for label in make_labels(graph, placed)] == ["long"]
