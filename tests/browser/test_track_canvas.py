"""The canvas of the tracks in a browser: mouse, keys and track names."""

from __future__ import annotations

import json
import random
import re

import pytest

from tests.browser.conftest import Visit

LENGTH = 100_000
ROWS = ".tracks .margin .track"


class CanvasVisit(Visit):
    """A tab with only the Tracks page."""

    def is_ready(self):
        names = ["genes.bed", "a.bedgraph", "b.bedgraph", "reads.bed"]
        return self.names() == names and self.n_painted > 0

    @property
    def canvas(self):
        return self.page.locator("canvas.track-canvas")

    @property
    def ends(self):
        """The visible interval of the contig."""
        return json.loads(self.noted("view"))[1:]

    @property
    def width(self):
        return self.ends[1] - self.ends[0]

    def names(self):
        return self.page.locator(f"{ROWS} b").all_inner_texts()

    def lanes(self):
        """The names of the tracks in each lane."""
        cells = self.page.locator(".tracks .margin .row")
        return [cells.nth(i).locator("b").all_inner_texts() for i in range(cells.count())]

    def at(self, x, y):
        """The page coordinates of a relative x on the canvas and of pixels from its top."""
        box = self.canvas.bounding_box()
        return box["x"] + x * box["width"], box["y"] + y

    def show_whole(self):
        self.press("Home", lambda: self.ends == [0, LENGTH])

    def press(self, key, condition):
        """Press a key on the canvas until a condition holds."""

        def act():
            self.canvas.focus()
            self.page.keyboard.press(key)

        self.insist(act, condition)

    def cell(self, name):
        cell = self.page.locator(".tracks .margin .row", has_text=name)
        return cell.bounding_box()

    def drag_name(self, name, other, share):
        """Drag a track by its name to a relative height of another track's lane."""
        source, target = self.cell(name), self.cell(other)
        self.page.mouse.move(source["x"] + 60, source["y"] + 10)
        self.page.mouse.down()
        y = target["y"] + share * target["height"]
        self.page.mouse.move(target["x"] + 60, y, steps=4)
        self.page.mouse.up()


@pytest.fixture(scope="module")
def query(tmp_path_factory):
    """A link to four tracks."""
    folder = tmp_path_factory.mktemp("canvas")
    numbers = random.Random(5)
    starts = sorted(numbers.randrange(0, LENGTH - 100) for _ in range(3000))
    texts = {
        "genes.bed": "c1\t20000\t24000\tABC1\t0\t+\nc1\t60000\t61000\tXYZ2\t0\t-\n",
        "a.bedgraph": f"c1\t0\t50000\t2.5\nc1\t50000\t{LENGTH}\t7\n",
        "b.bedgraph": f"c1\t0\t30000\t4\nc1\t30000\t{LENGTH}\t1\n",
        "reads.bed": "".join(f"c1\t{s}\t{s + 100}\tr\n" for s in starts),
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    return "?page=tracks" + "".join(f"&track={folder / name}" for name in texts)


@pytest.fixture
def canvas(shared_tabs, tracks_url, query):
    """A tab in which only the view changes, with the whole contig visible."""
    visit = shared_tabs.get("canvas", lambda page: CanvasVisit(page, tracks_url, query))
    visit.show_whole()
    visit.settle()
    yield visit
    assert visit.errors == []


def test_wheel_drag_box_and_keys_move_the_view(canvas):
    mouse = canvas.page.mouse
    whole = canvas.width
    mouse.move(*canvas.at(0.25, 40))
    position = canvas.ends[0] + 0.25 * whole
    mouse.wheel(0, -600)
    canvas.until(lambda: canvas.width < 0.5 * whole)
    start, end = canvas.ends
    assert start + 0.25 * (end - start) == pytest.approx(position, abs=0.01 * whole)
    mouse.down()
    mouse.move(*canvas.at(0.05, 40), steps=5)
    canvas.until(lambda: canvas.ends[0] == pytest.approx(start + 0.2 * (end - start), rel=0.02))
    mouse.up()
    start, end = canvas.ends
    canvas.page.keyboard.down("Shift")
    mouse.move(*canvas.at(0.4, 40))
    mouse.down()
    mouse.move(*canvas.at(0.6, 60), steps=3)
    mouse.up()
    canvas.page.keyboard.up("Shift")
    canvas.until(lambda: canvas.width == pytest.approx(0.2 * (end - start), rel=0.03))
    canvas.show_whole()
    canvas.press("+", lambda: canvas.width < LENGTH)
    painted = canvas.n_painted
    canvas.page.keyboard.press("ArrowRight")
    canvas.until(lambda: canvas.n_painted > painted)


def test_the_strip_above_brings_the_view_to_a_place(canvas):
    canvas.page.mouse.move(*canvas.at(0.5, 40))
    canvas.page.mouse.wheel(0, -1200)
    canvas.until(lambda: canvas.width < 0.3 * LENGTH)

    def click_on_strip():
        box = canvas.page.locator("canvas.overview").bounding_box()
        canvas.page.mouse.click(box["x"] + 0.8 * box["width"], box["y"] + 35)

    canvas.insist(click_on_strip, lambda: abs(sum(canvas.ends) / 2 - 0.8 * LENGTH) < 0.02 * LENGTH)


def test_a_click_on_a_feature_says_what_it_is(canvas):
    place = canvas.at((22_000 - canvas.ends[0]) / canvas.width, 9)
    card = canvas.page.locator(".tracks .card.pinned")
    canvas.insist(lambda: canvas.page.mouse.click(*place), card.is_visible)
    canvas.until(lambda: "ABC1" in card.inner_text())
    canvas.until(lambda: "20,001 to 24,000 (4,000 bp)" in card.inner_text())
    show = card.get_by_role("button", name="Show it whole")
    canvas.insist(show.click, lambda: canvas.ends == [19_600, 24_400])
    canvas.press("Escape", lambda: not card.is_visible())


def test_the_canvas_follows_the_theme(canvas):
    ground = """(canvas) => [...canvas.getContext("2d").getImageData(400, 2, 1, 1).data]"""
    toggle = canvas.page.get_by_role("button", name=re.compile("theme", re.IGNORECASE)).first

    def is_it(theme):
        values = canvas.canvas.evaluate(ground)[:3]
        is_painted = max(values) < 60 if theme == "dark" else min(values) > 200
        return is_painted and canvas.page.locator(".tracks").get_attribute("data-theme") == theme

    canvas.until(lambda: is_it("dark"))
    canvas.insist(toggle.click, lambda: is_it("light"))
    canvas.insist(toggle.click, lambda: is_it("dark"))


# The last tests change the tracks and their order.
def test_names_are_dragged_into_another_order_or_into_one_lane(canvas):
    canvas.insist(
        lambda: canvas.drag_name("reads.bed", "genes.bed", 0.1),
        lambda: canvas.names()[0] == "reads.bed",
    )
    shared = ["a.bedgraph", "b.bedgraph"]
    canvas.insist(
        lambda: canvas.drag_name("b.bedgraph", "a.bedgraph", 0.5),
        lambda: canvas.lanes() == [["reads.bed"], ["genes.bed"], shared],
    )
    values = canvas.page.locator(".tracks .margin .value")

    def point():
        y = canvas.cell("a.bedgraph")["y"] - canvas.at(0, 0)[1] + 20
        for x in (0.11, 0.1):
            canvas.page.mouse.move(*canvas.at(x, y))

    canvas.insist(
        point, lambda: [text.split()[0] for text in values.all_inner_texts()[2:]] == ["2.5", "4"]
    )


def test_tracks_are_hidden_shown_made_higher_and_taken_away(canvas):

    def press_on(name, button):
        cell = canvas.cell(name)
        canvas.page.mouse.move(cell["x"] + 60, cell["y"] + 20)
        canvas.button(button).click()

    canvas.insist(
        lambda: press_on("genes.bed", "Hide genes.bed"),
        lambda: "genes.bed" not in canvas.names(),
    )
    hidden = canvas.page.locator(".hidden-tracks button", has_text="genes.bed")
    canvas.insist(hidden.click, lambda: "genes.bed" in canvas.names())
    higher = canvas.cell("reads.bed")["height"] + 40

    def drag_edge():
        cell = canvas.cell("reads.bed")
        canvas.page.mouse.move(cell["x"] + 60, cell["y"] + cell["height"] - 2)
        canvas.page.mouse.down()
        canvas.page.mouse.move(cell["x"] + 60, cell["y"] + higher - 2, steps=4)
        canvas.page.mouse.up()

    canvas.insist(drag_edge, lambda: abs(canvas.cell("reads.bed")["height"] - higher) <= 2)
    canvas.insist(
        lambda: press_on("reads.bed", "Take reads.bed away"),
        lambda: "reads.bed" not in canvas.names(),
    )
