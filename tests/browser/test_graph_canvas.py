"""The canvas in a browser: mouse, keys, overview map, and close views."""

from __future__ import annotations

import base64
import io
import json
import re

import numpy as np
import pytest
from PIL import Image

from genoviz_app.pages.pangenome.picture.shared_marks import PICKED_COLOUR

N_NODES = "3,500 nodes"
PICKED = tuple(int(PICKED_COLOUR[i : i + 2], 16) for i in (1, 3, 5))


@pytest.fixture
def canvas(still_visit, dashboard_url):
    """The tab in full view, without a selection, and with the pointer far away."""
    visit = still_visit
    visit.until(lambda: visit.n_painted > 0)
    if ".gfa" in visit.page.url:  # a test has opened another graph
        visit.page.goto(dashboard_url)
        visit.whole = None
        visit.until(lambda: N_NODES in visit.canvas.get_attribute("aria-label"))
    visit.canvas.focus()
    visit.page.keyboard.press("Escape")
    visit.show_whole()
    return visit


def n_pixels(visit, colour):
    picture = np.asarray(Image.open(io.BytesIO(visit.picture())).convert("RGB")).astype(int)
    return int((np.abs(picture - colour).sum(axis=2) < 30).sum())


def zoom_in(visit, place, times=6):
    visit.page.mouse.move(*place)
    for _ in range(times):
        width = visit.width
        visit.page.mouse.wheel(0, -400)
        visit.until(lambda width=width: visit.width < width)
    visit.settle()


def test_dragging_moves_the_picture_by_as_many_pixels(canvas):
    before, n_painted = canvas.view, canvas.n_painted
    x, y = canvas.place()
    canvas.page.mouse.move(x, y)
    canvas.page.mouse.down()
    canvas.page.mouse.move(x + 50, y + 20)
    canvas.page.mouse.move(x + 100, y + 40)
    box = canvas.canvas.bounding_box()
    x_scale = (before[1] - before[0]) / box["width"]
    y_scale = (before[3] - before[2]) / box["height"]
    by = pytest.approx([-100 * x_scale, -100 * x_scale, 40 * y_scale, 40 * y_scale], rel=1e-6)
    canvas.until(lambda: np.subtract(canvas.view, before) == by)
    canvas.page.mouse.up()
    canvas.until(lambda: canvas.n_painted > n_painted)
    assert np.subtract(canvas.view, before) == by


def test_a_dragged_picture_comes_along_and_at_rest_is_one_drawn_anew(canvas):
    """During a drag the pixels are shifted; Escape makes the server redraw them."""
    right, down = 61, 23
    page, before, view = canvas.page, pixels(canvas), canvas.view
    x, y = canvas.place(0.5, 0.04)
    page.mouse.move(x, y)
    page.mouse.down()
    for share in (0.3, 0.7, 1):
        page.mouse.move(x + round(share * right), y + round(share * down))
    canvas.until(lambda: canvas.view[3] - view[3] == pytest.approx(down * row_height(canvas)))
    start, held = before[:-down, :-right], pixels(canvas)[down:, right:]
    upper = np.s_[: start.shape[0] // 2]  # below are the overview map and the scale bars
    assert (start[upper] != start[0, 0]).mean() > 0.05, "something is to be seen"
    assert (start[upper] == held[upper]).mean() > 0.99
    page.mouse.up()
    page.mouse.move(5, 5)
    canvas.settle()
    rested, n_painted = pixels(canvas), canvas.n_painted
    canvas.canvas.focus()
    page.keyboard.press("Escape")
    canvas.until(lambda: canvas.n_painted > n_painted)
    canvas.settle()
    np.testing.assert_array_equal(rested, pixels(canvas))


def pixels(visit):
    """The pixels of the canvas: rows from the top, columns, colours."""
    url = visit.canvas.evaluate("canvas => canvas.toDataURL()")
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(url.split(",")[1]))).convert("RGB"))


def row_height(visit):
    """Height of a pixel of the canvas, bp."""
    return (visit.view[3] - visit.view[2]) / int(visit.canvas.get_attribute("height"))


def test_the_wheel_zooms_at_the_pointer(canvas):
    before = canvas.view
    canvas.page.mouse.move(*canvas.place(0.25, 0.75))
    canvas.page.mouse.wheel(0, -300)
    canvas.until(lambda: canvas.width < 0.9 * (before[1] - before[0]))
    after = canvas.view
    for view in (before, after):
        x = view[0] + 0.25 * (view[1] - view[0])
        y = view[3] - 0.75 * (view[3] - view[2])
        assert (x, y) == pytest.approx(
            (
                before[0] + 0.25 * (before[1] - before[0]),
                before[3] - 0.75 * (before[3] - before[2]),
            ),
            abs=0.01 * (before[1] - before[0]),
        )


def test_keys_move_zoom_fit_and_open_the_help(canvas):
    page, fitted = canvas.page, canvas.view
    canvas.canvas.focus()
    page.keyboard.press("ArrowRight")
    canvas.until(lambda: canvas.view[0] > fitted[0])
    step = canvas.view[0] - fitted[0]
    page.keyboard.press("Shift+ArrowLeft")
    canvas.until(lambda: canvas.view[0] < fitted[0])
    assert fitted[0] + step - canvas.view[0] == pytest.approx(5 * step)
    page.keyboard.press("+")
    canvas.until(lambda: canvas.width == pytest.approx((fitted[1] - fitted[0]) / 1.6))
    page.keyboard.press("-")
    canvas.until(lambda: canvas.width == pytest.approx(fitted[1] - fitted[0]))
    page.keyboard.press("0")
    canvas.until(lambda: canvas.view == pytest.approx(fitted))
    page.keyboard.press("?")
    explained = page.get_by_role("dialog", name="Help: Pangenome")
    canvas.until(explained.is_visible)
    assert "pick the nodes in a box" in explained.inner_text()
    page.keyboard.press("Escape")
    canvas.until(lambda: explained.count() == 0)
    assert canvas.canvas.evaluate("canvas => canvas.getRootNode().activeElement === canvas")


def test_a_double_click_zooms(canvas):
    width = canvas.width
    canvas.page.mouse.dblclick(*canvas.place(0.5, 0.05))
    canvas.until(lambda: canvas.width == pytest.approx(width / 2))


def test_hovering_names_the_node_and_leaving_takes_the_name_away(canvas):
    x, y = canvas.node_place()
    canvas.page.mouse.move(x - 30, y)
    canvas.page.mouse.move(x, y)
    said = re.compile(r"Node \d+\n[\d,]+ bp\nDepth [\d,]+ steps?")
    canvas.until(lambda: said.match(canvas.noted("hover")))
    canvas.page.mouse.move(5, 5)
    canvas.until(lambda: canvas.noted("hover") == "")


def test_a_click_picks_the_node_and_escape_lets_go(canvas):
    canvas.until(lambda: n_pixels(canvas, PICKED) == 0)

    def pick():
        canvas.page.mouse.click(*canvas.node_place())
        canvas.page.mouse.move(5, 5)

    canvas.insist(pick, lambda: n_pixels(canvas, PICKED) > 0)
    canvas.canvas.focus()
    canvas.page.keyboard.press("Escape")
    canvas.until(lambda: n_pixels(canvas, PICKED) == 0)


def test_a_box_drawn_with_shift_picks_the_nodes_in_it(canvas):
    canvas.page.keyboard.down("Shift")
    canvas.page.mouse.move(*canvas.place(0.3, 0.1))
    canvas.page.mouse.down()
    canvas.page.mouse.move(*canvas.place(0.5, 0.5))
    canvas.page.mouse.move(*canvas.place(0.6, 0.9))
    canvas.page.mouse.up()
    canvas.page.keyboard.up("Shift")
    canvas.page.mouse.move(5, 5)
    canvas.until(lambda: n_pixels(canvas, PICKED) > 200)
    picture = np.asarray(Image.open(io.BytesIO(canvas.picture())).convert("RGB")).astype(int)
    columns = np.flatnonzero((np.abs(picture - PICKED).sum(axis=2) < 30).any(axis=0))
    assert columns.min() > 0.1 * picture.shape[1], "nodes far outside the box are not picked"
    assert columns.max() < 0.9 * picture.shape[1]


def test_the_small_map_shows_where_one_is_and_goes_elsewhere(canvas):
    canvas.until(lambda: canvas.noted("map") == "")
    fitted = canvas.view
    zoom_in(canvas, canvas.node_place(), times=4)
    canvas.until(lambda: canvas.noted("map"))

    def click_on_map():
        place, box = json.loads(canvas.noted("map")), canvas.canvas.bounding_box()
        canvas.page.mouse.click(
            box["x"] + place["left"] + 0.25 * place["width"],
            box["y"] + place["top"] + 0.5 * place["height"],
        )

    middle = lambda: (canvas.view[0] + canvas.view[1]) / 2  # noqa: E731
    expected = fitted[0] + 0.25 * (fitted[1] - fitted[0])
    is_there = lambda: abs(middle() - expected) < 0.05 * (fitted[1] - fitted[0])  # noqa: E731
    canvas.insist(click_on_map, is_there)
    assert canvas.width < 0.3 * (fitted[1] - fitted[0])
    canvas.canvas.focus()
    canvas.page.keyboard.press("Home")
    canvas.until(lambda: canvas.noted("map") == "")


def test_near_by_there_are_shapes_and_names(canvas):
    canvas.until(lambda: canvas.noted("shapes") == "0")
    zoom_in(canvas, canvas.node_place(), times=4)
    canvas.until(lambda: 0 < int(canvas.noted("shapes")) < 1000)
    canvas.until(lambda: int(canvas.noted("labels")) > 0)
    assert canvas.errors == []


def test_the_layout_can_be_stretched_folded_and_shown_in_its_true_shape(canvas):
    words = {"Folded": "Folded into", "Stretched": "stretched"}
    field = canvas.page.get_by_role("combobox", name="View")

    def choose(name):
        field.click()
        canvas.page.locator("li", has_text=name).click()

    for name in ("Folded", "Stretched", "True shape"):
        canvas.insist(lambda name=name: choose(name), lambda name=name: field.inner_text() == name)
        if name in words:
            canvas.until(lambda name=name: canvas.page.get_by_text(words[name]).count() > 0)
        canvas.settle()
    assert canvas.errors == []


def test_the_canvas_says_in_words_what_it_shows(canvas):
    canvas.until(lambda: N_NODES in canvas.canvas.get_attribute("aria-label"))
    assert canvas.canvas.get_attribute("role") == "img"
    assert canvas.canvas.get_attribute("tabindex") == "0"
    canvas.until(lambda: "shown from x" in canvas.canvas.get_attribute("aria-label"))
