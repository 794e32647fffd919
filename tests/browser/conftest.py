"""A served dashboard and headless Chromium for the tests of this folder."""

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
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import REPEATED, ROOT
from tests.waiting import PATIENCE

# The first one has no window to draw, and takes a seventh less of the processors.
BROWSER_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSER_NAMES)), None)
FLAGS = [
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--force-color-profile=srgb",
    *(["--no-sandbox"] if os.geteuid() == 0 else []),
]
ONE_TRY = 8
LONGEST_TRY = 60
# What was waited for in vain, and then done once more, is in the summary of the run.
ONE_SAVE = 60
# In ms. Each check costs the browser and this process time that the page needs.
LONGEST_PAUSE = 400
# For one test with its repetitions; some waits end only if something is broken.
LONGEST_TEST = 1800
# Slows tabs down by this factor (CHROMIUM_SLOWDOWN=6 make test).
SLOWDOWN = os.environ.get("CHROMIUM_SLOWDOWN")
# Finds the coloured pixel nearest to the centre; text and lines are grey.
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


N_FAILURES = pytest.StashKey[int]()


def pytest_collection_modifyitems(config, items):
    """Mark all tests of this folder as browser tests, skipped without a browser.

    A test may fail because the machine is busy, so it is repeated up to twice.
    """
    folder = str(Path(__file__).parent) + os.sep
    for item in items:
        if str(item.path).startswith(folder):
            item.add_marker(pytest.mark.browser)
            if CHROMIUM is None:
                item.add_marker(pytest.mark.skip(reason="no Chromium here (CHROMIUM names one)"))
            if config.pluginmanager.hasplugin("rerunfailures"):
                item.add_marker(pytest.mark.flaky(reruns=2))
            if config.pluginmanager.hasplugin("timeout"):
                item.add_marker(pytest.mark.timeout(LONGEST_TEST))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """Count failures, so that shared tabs are reopened after one."""
    report = yield
    if report.failed:
        item.config.stash[N_FAILURES] = item.config.stash.get(N_FAILURES, 0) + 1
    return report


@pytest.fixture(scope="package")
def browsers():
    """Playwright, started without its pytest plugin, whose fixtures raise warnings."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        yield playwright.chromium


@pytest.fixture(scope="package")
def person(browsers, tmp_path_factory):
    """A browser profile on disk, which caches loaded and compiled scripts."""
    context = browsers.launch_persistent_context(
        tmp_path_factory.mktemp("person"),
        executable_path=CHROMIUM,
        args=FLAGS,
        viewport={"width": 1366, "height": 768},
        color_scheme="dark",
    )
    context.set_default_timeout(1000 * PATIENCE)
    context.add_init_script("localStorage.setItem('genoviz-steps', 'closed')")
    if SLOWDOWN:
        context.on("page", slow_down)
    yield context
    context.close()


def slow_down(page):
    """Throttle the CPU of a tab, as on a slow or busy machine."""
    tools = page.context.new_cdp_session(page)
    tools.send("Emulation.setCPUThrottlingRate", {"rate": float(SLOWDOWN)})


class Tabs:
    """Tabs that are closed together."""

    def __init__(self, person):
        self._person, self._pages = person, []

    def new_page(self):
        page = self._person.new_page()
        self._pages.append(page)
        return page

    def close(self):
        for page in self._pages:
            page.close()
        self._pages.clear()


class SharedTabs:
    """Tabs shared by consecutive tests; after a failure they are reopened."""

    def __init__(self, person, stash):
        self._tabs, self._stash = Tabs(person), stash
        self._visits, self._n_failures = {}, 0

    def get(self, name, open_tab):
        """Return the visit of a name, and create it by ``open_tab(page)`` if there is none.

        It is brought to the front, because the browser draws hidden tabs only once per second.
        """
        n_failures = self._stash.get(N_FAILURES, 0)
        if n_failures != self._n_failures:
            self.close()
            self._n_failures = n_failures
        if name not in self._visits:
            self._visits[name] = open_tab(self._tabs.new_page())
        self._visits[name].page.bring_to_front()
        return self._visits[name]

    def close(self):
        self._visits.clear()
        self._tabs.close()


@pytest.fixture
def tabs(person):
    """Creates tabs, which are closed when the test ends."""
    tabs = Tabs(person)
    yield tabs
    tabs.close()


@pytest.fixture(scope="module")
def shared_tabs(person, request):
    """The tabs shared by the tests of a module."""
    shared = SharedTabs(person, request.config.stash)
    yield shared
    shared.close()


@pytest.fixture(scope="package")
def common_tabs(person, request):
    """The tabs shared by tests of several modules."""
    shared = SharedTabs(person, request.config.stash)
    yield shared
    shared.close()


@contextmanager
def served(*arguments, **variables):
    """Run a command that serves the dashboard; yield its address and its output.

    The command has more environment variables by keyword.
    """
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, **variables},
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
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(PATIENCE)
        reader.join(PATIENCE)
        process.stdout.close()


@pytest.fixture(scope="package")
def dashboard():
    """The address of a server, and its output lines."""
    with served("-m", "genoviz_app", "--no-show", "--from-start", "--port", "0") as (url, lines):
        yield url, lines


@pytest.fixture(scope="package")
def dashboard_url(dashboard):
    return dashboard[0]


def write_chromosome(folder, name, n_nodes):
    """Write a graph of nodes of 100 bp, from base 20,001 of its contig, and its layout.

    One path has all nodes, and the other one omits every third.
    """
    from genoviz.collection.members import GraphMember
    from genoviz.collection.overview import measure_graph
    from genoviz.collection.records import LayoutPlan, MemberLayout, write_record
    from genoviz.io.files.file_source import Source
    from genoviz.io.graph.gfa import read_gfa
    from genoviz.io.graph.lay import write_lay
    from genoviz.model import GraphLayout

    nodes = range(1, n_nodes + 1)
    lines = [f"S\t{node}\t{'ACGTT' * 20}" for node in nodes]
    walks = {"REF#0": nodes, "HG1#1": [node for node in nodes if node % 3]}
    for sample, walk in walks.items():
        steps = ",".join(f"{node}+" for node in walk)
        end = 20_000 + 100 * len(walk)
        lines.append(f"P\t{sample}#{name}:20000-{end}\t{steps}\t*")
    path, layout = folder / f"{name}.gfa", folder / f"{name}.lay"
    path.write_text("\n".join(lines) + "\n")
    x = np.arange(n_nodes + 1) * 100.0
    places = np.stack([x, 300 * np.sin(x / 700)], axis=1)
    write_lay(GraphLayout(np.stack([places[:-1], places[1:]], axis=1)), layout)
    made = MemberLayout(name, layout, stress=0.1, facts=measure_graph(read_gfa(path)))
    write_record(GraphMember(name, path), Source.of(path), LayoutPlan(), made)


@pytest.fixture(scope="package")
def tracks_url(tmp_path_factory):
    """A dashboard with three tracks and a genome of three chromosomes; c1 is in both."""
    folder = tmp_path_factory.mktemp("tracks")
    genome = folder / "genome"
    genome.mkdir()
    for name, n_nodes in {"c1": 80, "c2": 60, "c10": 40}.items():
        write_chromosome(genome, name, n_nodes)
    numbers = random.Random(3)
    starts = sorted(numbers.randrange(0, 100_000) for _ in range(3000))
    reads = "".join(f"c1\t{s}\t{s + 100}\tr\t0\t{numbers.choice('+-')}\n" for s in starts)
    (folder / "reads.bed").write_text(reads)
    (folder / "genes.bed").write_text(
        "c1\t20000\t24000\tABC1\t0\t+\nc1\t60000\t61000\tXYZ2\t0\t-\n"
    )
    (folder / "signal.bedgraph").write_text("c1\t0\t50000\t2.5\nc1\t50000\t100100\t7\n")
    names = ("reads.bed", "genes.bed", "signal.bedgraph", "genome")
    files = [str(folder / name) for name in names]
    with served("-m", "genoviz", "serve", *files, "--no-browser", "--port", "0") as (url, _):
        yield url


def describe_page(page):
    """What a page shows when a condition does not come about, with the contents of its fields."""
    return f"the condition did not come about:\n{page.locator('body').aria_snapshot()}"


def wait_in(page, condition, seconds=PATIENCE):
    """Poll a condition while the browser handles its events, at increasing intervals."""
    end = time.monotonic() + seconds
    pause = 50
    while True:
        try:
            if condition():
                return
        except Exception:
            if time.monotonic() > end:
                raise
        assert time.monotonic() < end, describe_page(page)
        page.wait_for_timeout(pause)
        pause = min(1.3 * pause, LONGEST_PAUSE)


class Visit:
    """A page of the dashboard, with its requests and errors; without a URL, not opened yet."""

    def __init__(self, page, url="", query=""):
        self.page = page
        self.errors = []
        self.requests = []
        self.whole = None  # view when everything was visible
        self._patience = PATIENCE
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        if url:
            self.open(url + query)

    def open(self, url):
        """Go to an address, and wait until the page is usable."""
        page = self.page
        page.goto(url, timeout=1000 * PATIENCE)
        try:
            self.until(self.is_ready, PATIENCE / 2)
        except AssertionError as error:
            REPEATED.append(f"load {url}\n{error}")
            page.reload(timeout=1000 * PATIENCE)  # one reload, as a user would do
            self.until(self.is_ready)

    def is_ready(self):
        """Whether the page is usable."""
        return self.button("Run").is_enabled()

    def _note(self, message):
        if message.type == "error":
            self.errors.append(message.text)

    def until(self, condition, seconds=PATIENCE):
        """Wait until a condition holds, ignoring earlier errors."""
        wait_in(self.page, condition, seconds)

    def insist(self, act, condition):
        """Repeat an action until a condition holds; replaced elements may miss clicks or keys.

        The timeout doubles with each try, because the machine may be slow.
        """
        end = time.monotonic() + PATIENCE
        seconds = ONE_TRY
        while True:
            # Limits all waits of the action and the condition to one try; an action may itself call
            # ``insist``.
            with self._patient_for(seconds):
                try:
                    act()
                    return self.until(condition, seconds)
                except Exception:
                    if time.monotonic() > end:
                        raise
                if self._holds(condition):
                    return None
            seconds = min(2 * seconds, LONGEST_TRY)

    @contextmanager
    def _patient_for(self, seconds):
        """Limit the timeout of page actions inside the block."""
        before, self._patience = self._patience, min(seconds, self._patience)
        self.page.set_default_timeout(1000 * self._patience)
        try:
            yield
        finally:
            self._patience = before
            self.page.set_default_timeout(1000 * before)

    def _holds(self, condition):
        try:
            return condition()
        except Exception:
            return False

    def show_tab(self, name, number=0):
        """Open a tab of the page by name."""
        tab = self.page.get_by_role("tab", name=name, exact=True).nth(number)
        self.insist(tab.click, lambda: tab.get_attribute("aria-selected") == "true")

    def saved(self, press):
        """Press a button that saves a file, again if nothing arrives; return the download."""
        from playwright.sync_api import TimeoutError as NothingCame

        try:
            with self._patient_for(ONE_SAVE), self.page.expect_download() as download:
                press()
        except NothingCame as error:
            REPEATED.append(f"save a file\n{error}\n{describe_page(self.page)}")
            with self.page.expect_download() as download:
                press()
        return download.value

    def exported(self, label, menu="Export"):
        """Choose a file in a visible export menu; return the download.

        Of several menus, ``menu`` begins the name of the one that has the file.
        """
        menu, item = (
            self.button(menu).locator("visible=true"),
            self.page.get_by_role("menuitem", name=label),
        )

        def press():
            self.insist(menu.first.click, item.is_visible)
            item.click()

        return self.saved(press)

    def run_for_long(self):
        """Start a layout that runs for longer than a test."""
        field = self.page.get_by_role("textbox", name=re.compile("^Iterations"))
        if not field.is_visible():
            method = self.page.get_by_role("combobox", name="Method")
            if not method.is_visible():
                parameters = self.page.get_by_role("button", name="Parameters")
                self.insist(parameters.click, method.is_visible)

            def choose():
                method.click()
                self.page.get_by_text("Path-guided SGD", exact=True).last.click()

            self.insist(choose, field.is_visible)

        def run():
            field.fill("100000")
            field.press("Enter")
            self.button("Run").click()

        def runs():
            is_long = self.number("Iteration").endswith(" of 100000")  # maybe of an older run
            return is_long and self.number("State") == "Running"

        # A new field may miss the Enter key; the run is then short.
        self.insist(run, runs)

    def stop(self):
        """Stop the layout."""

        def press():
            if self.number("State") != "Stopped":  # as some tests leave it
                self.button("Stop").click()

        self.insist(press, lambda: self.number("State") == "Stopped")

    def button(self, label):
        return self.page.get_by_role("button", name=re.compile(f"^{label}"))

    def number(self, name):
        """The value next to a name among the statistics of the run."""
        return self.page.locator(".numbers dt", has_text=name).locator("+ dd").inner_text()

    @property
    def stress(self):
        return float(self.number("Path stress").split("±")[0].replace(",", ""))

    @property
    def canvas(self):
        return self.page.locator("canvas.graph-canvas")

    def noted(self, name):
        """The state reported by the canvas."""
        return self.canvas.get_attribute(f"data-{name}") or ""

    @property
    def n_painted(self):
        return int(self.noted("painted") or 0)

    @property
    def view(self):
        """The view of the canvas: x_min, x_max, y_min, y_max."""
        return json.loads(self.noted("view"))

    @property
    def width(self):
        """Width of the view, bp."""
        return self.view[1] - self.view[0]

    def place(self, x=0.5, y=0.5):
        """The page coordinates of a relative position on the canvas."""
        box = self.canvas.bounding_box()
        return box["x"] + x * box["width"], box["y"] + y * box["height"]

    def picture(self):
        """Pixels of a screenshot of the picture."""
        return self.canvas.screenshot()

    def node_place(self):
        """The page coordinates of a node near the centre of the canvas."""
        x, y = self.canvas.evaluate(NODE_PIXEL)
        box = self.canvas.bounding_box()
        return box["x"] + x, box["y"] + y

    def show_whole(self):
        """Show the whole picture, with the pointer far away, and wait until it is at rest.

        A picture at rest does not prove that the click was handled, but a new width does.
        """
        self.until(lambda: self.n_painted > 0)
        if self.view == self.whole:
            self.page.mouse.move(5, 5)
            return self.settle()
        self.page.mouse.move(*self.place())
        before = self.width
        self.page.mouse.wheel(0, -400)
        self.until(lambda: self.width < before)
        near = self.width
        self.insist(self.button("Fit to view").click, lambda: self.width > near)
        self.page.mouse.move(5, 5)
        self.settle()
        self.whole = self.view
        return None

    def settle(self):
        """Wait until the picture is at rest."""
        self.until(lambda: self.n_painted > 0)
        while True:
            n_painted = self.n_painted
            self.page.wait_for_timeout(400)
            if self.n_painted == n_painted:
                return


@pytest.fixture
def visit(common_tabs, dashboard_url):
    """A tab with the bundled graph, used by one test after the other."""
    return common_tabs.get("visit", lambda page: Visit(page, dashboard_url))


@pytest.fixture
def still_visit(common_tabs, dashboard_url):
    """A tab with the bundled graph whose layout does not run, for tests of several modules."""
    return common_tabs.get("still_visit", lambda page: Visit(page, dashboard_url))
