"""A served dashboard and a headless Chromium to look at it, both gone after the last test here."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.waiting import PATIENCE

CHROMIUM = os.environ.get("CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
FLAGS = [
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--force-color-profile=srgb",
    *(["--no-sandbox"] if os.geteuid() == 0 else []),
]
ONE_TRY = 8
# How many times slower a tab is to be than it could (CHROMIUM_SLOWDOWN=6 make test).
SLOWDOWN = os.environ.get("CHROMIUM_SLOWDOWN")
# The coloured pixel nearest to the middle; words and lines are grey.
NODE_PIXEL = """(canvas) => {
  const {width, height} = canvas
  const {data} = canvas.getContext("2d").getImageData(0, 0, width, height)
  let best = null
  for (let y = 0; y < height * 0.75; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const [red, green, blue] = data.subarray(4 * (y * width + x), 4 * (y * width + x) + 3)
      const far = (x - width / 2) ** 2 + (y - height / 2) ** 2
      const isColour = Math.max(red, green, blue) - Math.min(red, green, blue) > 60
      if (isColour || green - Math.max(red, blue) > 25) {
        if (best === null || far < best[0]) best = [far, x, y]
      }
    }
  }
  const ratio = width / canvas.clientWidth
  return [(best[1] + 0.5) / ratio, (best[2] + 0.5) / ratio]
}"""


def pytest_collection_modifyitems(items):
    """All tests of this folder need a browser, and say so where there is none."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)
            if CHROMIUM is None:
                item.add_marker(pytest.mark.skip(reason="no Chromium here (CHROMIUM names one)"))


@pytest.fixture(scope="package")
def person(tmp_path_factory):
    """One person's browser, which keeps on disk what it has loaded and compiled.

    Without its plugin for pytest, whose fixtures warn of themselves.
    """
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("person"),
            executable_path=CHROMIUM,
            args=FLAGS,
            viewport={"width": 1366, "height": 768},
        )
        context.set_default_timeout(1000 * PATIENCE)
        if SLOWDOWN:
            context.on("page", slow_down)
        yield context
        context.close()


def slow_down(page):
    """Let a tab have but a part of the processor, as on a slow or busy machine."""
    tools = page.context.new_cdp_session(page)
    tools.send("Emulation.setCPUThrottlingRate", {"rate": float(SLOWDOWN)})


@pytest.fixture
def tabs(person):
    """Makes tabs, all closed when the test ends."""
    others = person.pages
    yield person
    for page in person.pages:
        if page not in others:
            page.close()


@contextmanager
def served(*arguments):
    """Run a command that serves the dashboard; give its address and what it has printed."""
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    lines = []

    def read():
        for line in process.stdout:
            lines.append(line)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        end = time.monotonic() + PATIENCE
        while not (found := re.search(r"https?://[\w.]+:(\d+)(/\w*)?", "".join(lines))):
            assert process.poll() is None, "".join(lines)
            assert time.monotonic() < end, "the dashboard did not start"
            time.sleep(0.05)
        yield f"http://127.0.0.1:{found[1]}{found[2] or '/'}", lines
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(PATIENCE)
        reader.join(PATIENCE)
        process.stdout.close()


@pytest.fixture(scope="package")
def dashboard_url():
    with served("-m", "genoviz_app", "--no-show", "--port", "0") as (url, _lines):
        yield url


@pytest.fixture(scope="package")
def tracks_url(tmp_path_factory):
    """A dashboard with three tracks."""
    folder = tmp_path_factory.mktemp("tracks")
    numbers = random.Random(3)
    starts = sorted(numbers.randrange(0, 100_000) for _ in range(3000))
    reads = "".join(f"c1\t{s}\t{s + 100}\tr\t0\t{numbers.choice('+-')}\n" for s in starts)
    (folder / "reads.bed").write_text(reads)
    (folder / "genes.bed").write_text(
        "c1\t20000\t24000\tABC1\t0\t+\nc1\t60000\t61000\tXYZ2\t0\t-\n"
    )
    (folder / "signal.bedgraph").write_text("c1\t0\t50000\t2.5\nc1\t50000\t100100\t7\n")
    files = [str(folder / name) for name in ("reads.bed", "genes.bed", "signal.bedgraph")]
    with served("-m", "genoviz", "serve", *files, "--no-browser", "--port", "0") as (url, _):
        yield url


class Visit:
    """A page of the dashboard, and what it asked for and complained of."""

    def __init__(self, page, url, query=""):
        self.page = page
        self.errors = []
        self.requests = []
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto(url + query, timeout=1000 * PATIENCE)
        try:
            self.until(self.is_ready)
        except AssertionError:
            page.reload(timeout=1000 * PATIENCE)  # as a person does, once
            self.until(self.is_ready)

    def is_ready(self):
        """Whether a person can begin."""
        return self.button("Run").is_enabled()

    def _note(self, message):
        if message.type == "error":
            self.errors.append(message.text)

    def until(self, condition, seconds=PATIENCE):
        """Wait in the browser's own time, so that its events go on."""
        end = time.monotonic() + seconds
        while True:
            try:
                if condition():
                    return
            except Exception:
                if time.monotonic() > end:
                    raise
            assert time.monotonic() < end, "the condition did not come about"
            self.page.wait_for_timeout(50)

    def insist(self, act, condition):
        """Do the same until a condition comes about: what is made anew swallows a click or key."""

        def once_more():
            act()
            self.until(condition, seconds=ONE_TRY)
            return True

        self.page.set_default_timeout(1000 * ONE_TRY)
        self.until(once_more)
        self.page.set_default_timeout(1000 * PATIENCE)

    def button(self, label):
        return self.page.get_by_role("button", name=re.compile(f"^{label}"))

    def number(self, name):
        """The text beside a name among the numbers of the run."""
        return self.page.locator(".numbers dt", has_text=name).locator("+ dd").inner_text()

    @property
    def stress(self):
        return float(self.number("Path stress").split("±")[0].replace(",", ""))

    @property
    def canvas(self):
        return self.page.locator("canvas.graph-canvas")

    def noted(self, name):
        """What the canvas notes of itself."""
        return self.canvas.get_attribute(f"data-{name}") or ""

    @property
    def n_painted(self):
        return int(self.noted("painted") or 0)

    @property
    def view(self):
        """What the canvas shows: x from, x to, y from, y to."""
        return json.loads(self.noted("view"))

    @property
    def width(self):
        """How many bp the canvas shows from left to right."""
        return self.view[1] - self.view[0]

    def place(self, x=0.5, y=0.5):
        """A point of the page by its share of the canvas."""
        box = self.canvas.bounding_box()
        return box["x"] + x * box["width"], box["y"] + y * box["height"]

    def picture(self):
        """Pixels of the picture as a screenshot."""
        return self.canvas.screenshot()

    def node_place(self):
        """A point of the page where a node is drawn, near the middle of the canvas."""
        x, y = self.canvas.evaluate(NODE_PIXEL)
        box = self.canvas.bounding_box()
        return box["x"] + x, box["y"] + y

    def settle(self):
        """Wait until the picture has come to rest."""
        self.until(lambda: self.n_painted > 0)
        while True:
            n_painted = self.n_painted
            self.page.wait_for_timeout(400)
            if self.n_painted == n_painted:
                return


@pytest.fixture(scope="module")
def visit(person, dashboard_url):
    """A tab that the tests of a module use one after the other."""
    visit = Visit(person.new_page(), dashboard_url)
    yield visit
    visit.page.close()


@pytest.fixture(scope="module")
def still_visit(person, dashboard_url):
    """A tab for tests that do not run a layout."""
    visit = Visit(person.new_page(), dashboard_url)
    yield visit
    visit.page.close()
