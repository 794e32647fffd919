"""The browser's arithmetic, run by the Node.js that Playwright has: views, clipping, messages."""

from __future__ import annotations

import json
import subprocess

import numpy as np
import pytest

from genoviz.analyses.graph.picture.curves import clip_segments, cut_segments
from genoviz.analyses.graph.picture.viewport import Viewport
from genoviz_app.pages.pangenome.picture.graph_canvas import (
    SCRIPTS,
    GraphView,
    canvas_script,
)
from genoviz_app.parts.canvas_component import SHARED_SCRIPTS, pack_arrays
from tests.node import NODE, needs_node, run_script
from tests.waiting import PATIENCE


def run(code, module="view", folder=SCRIPTS):
    return run_script(code, folder / f"{module}.js")


@needs_node
def test_zooming_to_a_tenth_of_a_base_at_a_billion_keeps_the_point_under_the_pointer():
    (found,) = run(
        """
        let v = new m.View(0, 2e9, 0, 1e9, 1000, 500);
        const x = 1234567890.3;
        for (let i = 0; i < 200 && v.xScale > 0.1; i += 1) {
          const px = v.toScreenX(x);
          v = v.zoomed(1.3, px, 250);
          if (Math.abs(v.toScreenX(x) - px) > 1e-3) print('moved');
        }
        print([v.toPlaneX(v.toScreenX(x)) - x, v.xScale, v.toScreenX(x + 0.1) - v.toScreenX(x)]);
        """
    )
    error, scale, step = found
    assert abs(error) < 1e-6
    assert scale < 0.1
    assert step == pytest.approx(0.1 / scale, rel=1e-4)


@needs_node
def test_zoom_panning_and_size_are_those_of_the_server():
    view = Viewport(100, 300, -50, 50, 400, 200)
    zoomed, panned, resized = run(
        """
        const v = new m.View(100, 300, -50, 50, 400, 200);
        const four = (w) => [w.x0, w.x1, w.y0, w.y1];
        print(four(v.zoomed(2, 100, 150)));
        print(four(v.panned(-40, 30)));
        print(four(v.resized(200, 400)));
        """
    )
    expected = view.zoomed(2, 150, -25)
    assert zoomed == [expected.x_min, expected.x_max, expected.y_min, expected.y_max]
    expected = view.panned(0.1, 0.15)
    assert panned == pytest.approx([expected.x_min, expected.x_max, expected.y_min, expected.y_max])
    assert resized == [150, 250, -100, 100]


@needs_node
def test_zoom_ends_before_the_doubles_do():
    (scales,) = run(
        """
        let v = new m.View(1e9, 1e9 + 100, 0, 100, 100, 100);
        for (let i = 0; i < 100; i += 1) v = v.zoomed(4);
        let w = v;
        for (let i = 0; i < 200; i += 1) w = w.zoomed(0.1);
        print([v.xScale, w.x1 - w.x0]);
        """
    )
    assert 1e-6 < scales[0] < 0.1
    assert 1e12 < scales[1] <= 1.01e13


@needs_node
def test_lines_are_clipped_as_on_the_server():
    rng = np.random.default_rng(3)
    lines = rng.uniform(-300, 500, (200, 2, 2)).round(2)
    lines[::7, 1, 0] = lines[::7, 0, 0]
    (found,) = run(f"print({lines.reshape(-1, 4).tolist()}.map((l) => m.clipLine(...l, 200, 100)))")
    shares = clip_segments(lines, (0, 0, 200, 100))
    expected = cut_segments(lines, shares).reshape(-1, 4)
    for line, share, other in zip(found, shares, expected, strict=True):
        assert (line is None) == (share[0] > share[1])
        if line is not None:
            assert line == pytest.approx(other.tolist(), abs=1e-6)


@needs_node
def test_scale_bars_have_round_lengths_and_units():
    (found,) = run(
        "print([0.7, 3, 45, 999, 2500, 7e6, 1.4e9].map((x) => m.lengthText(m.roundLength(x))))",
        "furniture",
    )
    assert found == ["0.5 bp", "2 bp", "20 bp", "500 bp", "2 kbp", "5 Mbp", "1 Gbp"]


@needs_node
def test_one_finger_pans_two_pinch_and_the_one_that_stays_pans_on():
    (calls,) = run(
        """
        const takers = {}, calls = [];
        const canvas = {
          addEventListener: (name, take) => { takers[name] = take; }, style: {}, focus: () => {},
          setPointerCapture: () => {}, getBoundingClientRect: () => ({left: 0, top: 0}),
        };
        const note = (name) => (...of) => calls.push([name, ...of.flat()]);
        const picture = {click: note("click"), point: () => {}};
        class Gestures extends m.CanvasGestures {
          get isReady() { return true; }
          pan(...by) { note("pan")(by); }
          pinch(...of) { note("pinch")(...of); }
          pointAgain() {}
        }
        new Gestures(canvas, picture);
        const send = (name, pointerId, clientX, clientY) =>
          takers[name]({pointerId, clientX, clientY, button: 0, detail: 1, pointerType: "touch"});
        send("pointerdown", 1, 10, 10);
        send("pointermove", 1, 30, 10);
        send("pointerdown", 2, 90, 10);
        send("pointermove", 2, 110, 10);
        send("pointerup", 2, 110, 10);
        send("pointermove", 1, 35, 18);
        send("pointerup", 1, 35, 18);
        send("pointerdown", 3, 50, 50);
        send("pointerup", 3, 50, 50);
        print(calls);
        """,
        "canvas_gestures",
        SHARED_SCRIPTS,
    )
    assert calls == [
        ["pan", 20, 0],
        ["pinch", 90, 10, 110, 10, 30, 10],
        ["pan", 5, 8],
        ["click", 50, 50],
    ]


@needs_node
def test_words_of_one_place_stand_apart_and_a_line_leads_to_those_that_are_away():
    (boxes, leaders, order, n_beside) = run(
        """
        const leaders = [], order = [];
        const nothing = () => {};
        const context = {
          measureText: (text) => ({width: 7 * text.length}), strokeText: nothing,
          fillText: () => order.push("word"), stroke: () => order.push("line"),
          beginPath: nothing, arc: nothing, fill: nothing,
          moveTo: (...at) => leaders.push(at), lineTo: (...at) => leaders.at(-1).push(...at),
        };
        const view = {width: 600, height: 400};
        const words = new m.Labels(context, view);
        for (let i = 0; i < 9; i += 1) words.place(`gene ${i}`, 300, 200, {mayLead: true});
        words.write();
        print(words.taken);
        print(leaders);
        print(order);
        const others = new m.Labels(context, view);
        for (let i = 0; i < 9; i += 1) others.place(`gene ${i}`, 300, 200);
        print(others.words.length);
        """,
        "labels",
    )
    assert (len(boxes), n_beside) == (9, 4)
    assert order == ["line"] * 10 + ["word"] * 9, "no line goes over a word"
    for i, (left, top, right, bottom) in enumerate(boxes):
        assert 0 <= left < right <= 600
        assert 0 <= top < bottom <= 400
        for other in boxes[:i]:
            assert left >= other[2] or right <= other[0] or top >= other[3] or bottom <= other[1]
    lines = leaders[::2]
    assert lines == leaders[1::2]  # a halo and a line
    assert [line[:2] for line in lines] == [[300, 200]] * 5
    for (*_, x, y), (left, top, right, bottom) in zip(lines, boxes[4:], strict=True):
        assert left <= x <= right
        assert top <= y <= bottom


@needs_node
@pytest.mark.parametrize("resizes_first", [True, False])
def test_a_view_that_crosses_another_size_keeps_its_scale_and_the_server_hears_of_it(resizes_first):
    sent, shown = run(
        f"""
        const context = new Proxy({{}}, {{ get: () => () => {{}}, set: () => true }});
        const element = () => ({{ getContext: () => context, dataset: {{}} }});
        globalThis.document = {{ createElement: element }};
        globalThis.window = {{ devicePixelRatio: 2 }};
        globalThis.requestAnimationFrame = () => {{}};
        globalThis.setTimeout = () => {{}};
        const sent = [];
        const picture = new m.Picture(element(), element(), (message) => sent.push(message));
        picture._drawAll = () => {{}};
        picture.resize(200, 100);
        const {{ moves, sizes }} = sent.at(-1);
        const view = {{
          kind: "view", bounds: [1000, 1400, 0, 200], width: 400, height: 200, moves, sizes,
        }};
        if ({json.dumps(resizes_first)}) picture.resize(200, 50);
        await picture.take(view);
        if (!{json.dumps(resizes_first)}) picture.resize(200, 50);
        print(sent);
        const {{ x0, x1, y0, y1 }} = picture.view;
        print([x0, x1, y0, y1]);
        """,
        "picture",
    )
    view = GraphView()
    view.size = (400, 200)
    view._send_msg = lambda _message: None
    view._handle_msg(sent[0])
    answers = []
    view._send_msg = answers.append
    view.look_at(Viewport(1000, 1400, 0, 200, 400, 200))
    assert [answers[0][name] for name in ("moves", "sizes")] == [0, sent[0]["sizes"]]
    for message in sent[1:]:
        view._handle_msg(message)
    assert shown == [1000, 1400, 50, 150]
    assert view.viewport == Viewport(*shown, 400, 100)
    assert len(sent) == 2 + resizes_first


@needs_node
@pytest.mark.parametrize("n", [3, 40_000])
def test_arrays_arrive_as_they_were_sent(n):
    arrays = {
        "indices": (np.arange(n) % 251).astype(np.uint8),
        "places": np.linspace(-1, 1, 7, dtype=np.float32),
        "offsets": np.array([0, 5, 2**30], np.int32),
    }
    message = pack_arrays(arrays)
    assert message["is_packed"] == (n > 3)
    (found,) = run(
        f"""
        let data = Uint8Array.from(Buffer.from({message["data"].hex()!r}, 'hex'));
        let buffer = data.buffer.slice(data.byteOffset, data.byteOffset + data.length);
        if ({json.dumps(message["is_packed"])}) buffer = await m.inflate(buffer, {message["size"]});
        const a = m.unpackArrays({json.dumps(message["plan"])}, buffer);
        const sum = a.indices.reduce((x, y) => x + y, 0);
        print([a.indices.length, sum, Array.from(a.places), Array.from(a.offsets)]);
        """,
        "arrays",
        SHARED_SCRIPTS,
    )
    assert found == [
        n,
        int(arrays["indices"].sum()),
        arrays["places"].astype(float).tolist(),
        arrays["offsets"].tolist(),
    ]


@needs_node
def test_the_whole_script_is_one_module(tmp_path):
    path = tmp_path / "canvas.mjs"
    path.write_text(canvas_script())
    answer = subprocess.run(
        [NODE, "--check", path], capture_output=True, text=True, timeout=PATIENCE
    )
    assert answer.returncode == 0, answer.stderr


def test_the_script_needs_no_evaluation_and_no_other_server():
    script = canvas_script()
    for forbidden in ("eval(", "new Function", "import(", "http://", "https://", "innerHTML"):
        assert forbidden not in script
