"""A served dashboard and a headless Chromium to look at it."""

from __future__ import annotations

import json
import os
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

CHROMIUM = os.environ.get("CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
FLAGS = [
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--force-color-profile=srgb",
    *(["--no-sandbox"] if os.geteuid() == 0 else []),
]
START_SECONDS = 60
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


@pytest.fixture(scope="session")
def chromium():
    """The browser, without its plugin for pytest, whose fixtures warn of themselves."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def person(chromium):
    """One person's browser, which keeps what it has loaded."""
    context = chromium.new_context(viewport={"width": 1366, "height": 768})
    yield context
    context.close()


@pytest.fixture
def tabs(person):
    """Makes tabs, all closed when the test ends."""
    yield person
    for page in person.pages:
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
        end = time.monotonic() + START_SECONDS
        while not (found := re.search(r"https?://[\w.]+:(\d+)(/\w*)?", "".join(lines))):
            assert process.poll() is None, "".join(lines)
            assert time.monotonic() < end, "the dashboard did not start"
            time.sleep(0.05)
        yield f"http://127.0.0.1:{found[1]}{found[2] or '/'}", lines
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(10)
        reader.join(10)
        process.stdout.close()


@pytest.fixture(scope="session")
def dashboard_url():
    with served("-m", "app", "--no-show", "--port", "0") as (url, _lines):
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
        page.goto(url + query)
        self.until(lambda: self.button("Run").is_enabled())

    def _note(self, message):
        if message.type == "error":
            self.errors.append(message.text)

    def until(self, condition, seconds=30):
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


@pytest.fixture
def visit(tabs, dashboard_url):
    return Visit(tabs.new_page(), dashboard_url)


@pytest.fixture(scope="module")
def still_visit(chromium, dashboard_url):
    """A tab for tests that do not run a layout."""
    context = chromium.new_context(viewport={"width": 1366, "height": 768})
    yield Visit(context.new_page(), dashboard_url)
    context.close()
