"""The browser's arithmetic of the tracks: stretches, ticks, steps and heights."""

from __future__ import annotations

import json
import subprocess

import numpy as np
import pytest

from genoviz_app.pages.tracks.drawing.track_canvas import SCRIPTS, canvas_script
from tests.node import NODE, needs_node, run_script
from tests.waiting import PATIENCE


def run(code, module):
    return run_script(code, SCRIPTS / f"{module}.js")


@needs_node
def test_zoom_keeps_the_base_under_the_pointer_and_ends_at_the_least_stretch():
    (found,) = run(
        """
        let s = new m.Span(1e9, 1e9 + 2e8, 1000);
        const x = s.toPosition(300);
        for (let i = 0; i < 100; i += 1) s = s.zoomed(1.3, 300, 20);
        print([s.toPosition(300) - x, s.length]);
        """,
        "span",
    )
    assert found == pytest.approx([0, 20], abs=1e-5)


@needs_node
def test_a_stretch_stays_on_its_contig():
    found = run(
        """
        const ends = (s) => print([s.start, s.end]);
        ends(new m.Span(-50, 150, 100).within(1000));
        ends(new m.Span(900, 1100, 100).within(1000));
        ends(new m.Span(-500, 4000, 100).within(1000));
        ends(new m.Span(100, 300, 100).panned(-50).within(1000));
        ends(new m.Span(100, 300, 100).centred(600).within(1000));
        """,
        "span",
    )
    assert found == [[0, 200], [800, 1000], [0, 1000], [200, 400], [500, 700]]


@needs_node
@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (0, 10, list(range(1, 11))),
        (0, 1_000_000, [200_000 * k for k in range(1, 6)]),
        (199_999, 200_003, [200_000, 200_001, 200_002, 200_003]),
    ],
)
def test_ticks_stand_at_round_positions_as_people_count_them(start, end, expected):
    code = f"""
    import {{ Span }} from {(SCRIPTS / "span.js").as_uri()!r};
    print(m.findTicks(new Span({start}, {end}, {1000 if end < 1e6 else 700})));
    """
    (found,) = run(code, "axis")
    if end - start == 10:
        assert set(found) <= set(expected)
        assert len(found) >= 5
    else:
        assert found == expected


@needs_node
def test_the_step_at_a_position_is_found_among_edges_and_among_bins():
    edges = np.array([0, 3, 10, 11, 40])
    (by_edges, by_bins, ends) = run(
        f"""
        const edges = {{ mean: [1, 2, 3, 4], edges: {edges.tolist()} }};
        const steps = new m.Steps({{ name: "", first: 1000, size: 0 }}, edges, 1000);
        print(Array.from({{ length: 40 }}, (_, i) => steps.find(1000 + i)));
        const bins = new m.Steps({{ name: "", first: 500, size: 10, end: 533 }},
                                {{ mean: [1, 2, 3, 4] }});
        print(Array.from({{ length: 40 }}, (_, i) => bins.find(500 + i)));
        print(Array.from({{ length: 5 }}, (_, i) => bins.edge(i)));
        """,
        "values",
    )
    assert by_edges == (np.searchsorted(edges, np.arange(40), "right") - 1).tolist()
    assert by_bins == (np.arange(40) // 10).tolist()
    assert ends == [500, 510, 520, 530, 533]  # the last bin of a contig ends with it


@needs_node
@pytest.mark.parametrize("is_log", [False, True])
@pytest.mark.parametrize("is_down", [False, True])
def test_heights_are_shares_of_the_scale(is_log, is_down):
    lane = {"top": 100, "bottom": 210, "scale": [-2, 8], "is_log": is_log, "is_mirrored": False}
    values = [-5.0, -2.0, 0.0, 1.5, 8.0, 90.0]
    (found,) = run(
        f"""
        const ruler = new m.Ruler({json.dumps(lane)}, {json.dumps(is_down)});
        print({values}.map((value) => ruler.toPixel(value)));
        """,
        "values",
    )
    squeeze = (lambda v: np.sign(v) * np.log1p(abs(v))) if is_log else (lambda v: v)
    shares = [(squeeze(v) - squeeze(-2)) / (squeeze(8) - squeeze(-2)) for v in values]
    shares = np.clip(shares, 0, 1)
    assert found == pytest.approx(105 + 100 * (shares if is_down else 1 - shares))


@needs_node
def test_the_whole_script_is_one_module(tmp_path):
    path = tmp_path / "tracks.mjs"
    path.write_text(canvas_script())
    answer = subprocess.run(
        [NODE, "--check", path], capture_output=True, text=True, timeout=PATIENCE
    )
    assert answer.returncode == 0, answer.stderr


def test_the_script_needs_no_evaluation_and_no_other_server():
    script = canvas_script()
    for forbidden in ("eval(", "new Function", "import(", "http://", "https://", "innerHTML"):
        assert forbidden not in script
