"""Painted frames per second while a layout runs: the dashboard's canvas, and stock HoloViews.

A headless Chromium on the same machine opens a server with a simulated graph and lets its layout
run. A frame counts when the browser has told the server that it was painted. Zoomed is to 1 % of
the width and of the height, into the middle of the layout.

``python -m benchmarks.bench_live_view --against FOLDER`` compares this version with that of another
checkout, such as ``git worktree add FOLDER COMMIT`` makes it: both are served at the same time, and
looked at in turns, so that what else the machine does meets both alike.

``python -m benchmarks.bench_live_view --method multilevel`` looks at the whole of one layout by a
method, in full view, which ends before others have been watched for long enough.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.rows import Row, make_row

ROOT = Path(__file__).parents[1]
N_NODES = (1_000_000, 10_000_000)
FIRST_FRAMES = 5
MEASURED_SECONDS = 12
WARM_SECONDS = 4
ZOOM = 100
OPENING_MILLISECONDS = 300_000
BROWSER_FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
TITLE = "Live picture, layout running, headless Chromium on the same cores"
NOTE = (
    "a running layout is thinned to 2.5e5 pixels a core, said in the legend; "
    "peer: stock `rasterize(hv.Segments)` with a Pipe, all nodes, same layout, same run"
)
CANVAS = "canvas.graph-canvas"
RUN = re.compile(r"^(play_arrow\s*)?Run")  # older versions say the name of the icon
STOCK_PAINTED = "Bokeh.documents[0].get_model_by_name('painted').data.n[0]"
STOCK_ZOOM = f"""() => {{
  const figure = Bokeh.documents[0].get_model_by_name('stock-figure')
  for (const range of [figure.x_range, figure.y_range]) {{
    const middle = (range.start + range.end) / 2
    const half = (range.end - range.start) / {2 * ZOOM}
    range.setv({{start: middle - half, end: middle + half}})
  }}
}}"""


def measure(backend: str) -> list[Row]:
    """Measure full and zoomed views of each size; nothing without a browser."""
    executable = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if executable is None or backend != "cpu":
        return []
    from playwright.sync_api import sync_playwright

    rows = []
    with sync_playwright() as playwright:
        for n_nodes in N_NODES:
            with served(n_nodes) as url:
                browser = playwright.chromium.launch(executable_path=executable, args=BROWSER_FLAGS)
                ours = measure_canvas(browser, url)
                stock = measure_stock(browser, f"{url}/stock")
                browser.close()
            for view in ours:
                rows.append(
                    make_row(
                        TITLE,
                        f"{n_nodes:,} nodes, {view}",
                        ours=ours[view],
                        peer=stock[view],
                        unit="frames/s",
                        note=NOTE,
                        in_readme=view == "full view",
                    )
                )
    return rows


def compare(folders: tuple[Path, Path], n_nodes: int, n_turns: int, seconds: float) -> list[str]:
    """Measure the versions of two checkouts in turns; return a line for each view.

    The first folder is that of the version whose figures come first.
    """
    from playwright.sync_api import sync_playwright

    executable = os.environ.get("CHROMIUM") or shutil.which("chromium")
    found: dict[str, dict[Path, list[float]]] = defaultdict(lambda: defaultdict(list))
    with ExitStack() as open_until_the_end:
        urls = {
            folder: open_until_the_end.enter_context(served(n_nodes, folder)) for folder in folders
        }
        playwright = open_until_the_end.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=executable, args=BROWSER_FLAGS)
        for turn in range(n_turns):
            for folder in folders[:: -1 if turn % 2 else 1]:
                views = measure_canvas(browser, urls[folder], seconds=seconds)
                for view, frames in views.items():
                    print(f"{commit_of(folder)}, {view}: {frames:.1f} frames/s", flush=True)
                    found[view][folder].append(frames)
        browser.close()
    return [
        f"{n_nodes:,} nodes, {view}: "
        + ", ".join(f"{commit_of(folder)} {words_of(by[folder])} frames/s" for folder in folders)
        for view, by in found.items()
    ]


def words_of(values: list[float]) -> str:
    """Return the mean of some values, and all of them.

    Examples
    --------
    >>> words_of([30.0, 31.0])
    '30.5 (30.0, 31.0)'
    """
    return f"{statistics.mean(values):.1f} ({', '.join(f'{value:.1f}' for value in values)})"


def commit_of(folder: Path) -> str:
    """Return the commit of a checkout, with a plus where it was changed."""
    command = ["git", "describe", "--always", "--dirty=+", "--exclude", "*"]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=True
    ).stdout.strip()


def watch(method: str, n_nodes: int) -> str:
    """Measure a layout by a method from Run to its end; return a line."""
    from playwright.sync_api import sync_playwright

    executable = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with served(n_nodes, method=method) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=BROWSER_FLAGS)
        page, painted = open_canvas(browser, url)
        start_layout(page, painted)
        first, began = painted(), time.perf_counter()
        wait_until(page, lambda: page.get_by_text("Running").count() == 0)
        n_frames, seconds = painted() - first, time.perf_counter() - began
        browser.close()
    return f"{n_nodes:,} nodes, {method}: {n_frames / seconds:.1f} frames/s of {seconds:.1f} s"


@contextmanager
def served(n_nodes: int, folder: Path = ROOT, *, method: str = "path_sgd") -> Iterator[str]:
    """Serve a simulated graph by the version of a checkout; give the address."""
    command = [sys.executable, "-m", "benchmarks.live_server", str(n_nodes), method]
    with TemporaryDirectory() as beside:  # a checkout has no package of that name
        Path(beside, "genoviz_app").symlink_to(folder.resolve() / "app")
        path = os.pathsep.join([beside, str(folder.resolve())])
        server = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": path},
        )
        with ended(server):
            yield address_of(server)


@contextmanager
def ended(server: subprocess.Popen) -> Iterator[None]:
    """End a process in the end."""
    try:
        yield
    finally:
        server.terminate()
        server.wait()


def address_of(server: subprocess.Popen) -> str:
    """Return the address that a server prints."""
    for line in server.stdout:
        found = re.search(r"serving at (http://\S+)", line)
        if found:
            return found[1]
    raise RuntimeError("the server did not start")


def measure_canvas(
    browser: Any, url: str, *, seconds: float = MEASURED_SECONDS
) -> dict[str, float]:
    """Return painted frames per second of the dashboard, by view."""
    page, painted = open_canvas(browser, url)
    canvas = page.locator(CANVAS)
    start_layout(page, painted)
    full = frames_per_second(page, painted, seconds)
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    extent = view_width(canvas)
    while view_width(canvas) > extent / ZOOM:
        page.mouse.wheel(0, -120)
        page.wait_for_timeout(40)
    zoomed = frames_per_second(page, painted, seconds)
    page.close()
    return {"full view": full, "zoomed to 1 %": zoomed}


def open_canvas(browser: Any, url: str) -> tuple[Any, Callable[[], int]]:
    """Return a page with the dashboard, and what counts its frames."""
    page = browser.new_page(viewport={"width": 1366, "height": 768})
    page.goto(url)
    canvas = page.locator(CANVAS)
    return page, lambda: int(canvas.get_attribute("data-painted") or 0)


def start_layout(page: Any, painted: Callable[[], int]) -> None:
    """Click Run once the graph is shown, and wait until the picture moves."""
    run = page.get_by_role("button", name=RUN)
    run.wait_for(timeout=OPENING_MILLISECONDS)
    wait_until(page, lambda: painted() > 0 and run.is_enabled())
    run.click()
    wait_until(page, lambda: page.get_by_text("Running").count() > 0)
    at_start = painted()
    wait_until(page, lambda: painted() > at_start + FIRST_FRAMES)


def measure_stock(browser: Any, url: str) -> dict[str, float]:
    """Return painted frames per second of the stock page, by view."""
    page = browser.new_page(viewport={"width": 1366, "height": 768})
    page.goto(url)

    def painted() -> int:
        return page.evaluate(STOCK_PAINTED)

    wait_until(page, lambda: painted() > 1)
    full = frames_per_second(page, painted)
    page.evaluate(STOCK_ZOOM)
    zoomed = frames_per_second(page, painted)
    page.close()
    return {"full view": full, "zoomed to 1 %": zoomed}


def view_width(canvas: Any) -> float:
    """Return how many bp the canvas shows."""
    x_min, x_max, *_ = map(float, canvas.get_attribute("data-view").strip("[]").split(","))
    return x_max - x_min


def wait_until(page: Any, condition: Callable[[], bool]) -> None:
    """Wait for something on a page."""
    end = time.monotonic() + OPENING_MILLISECONDS / 1000
    while True:
        try:
            if condition():
                return
        except Exception:
            if time.monotonic() > end:
                raise
        if time.monotonic() > end:
            raise TimeoutError("the page did not get there")
        page.wait_for_timeout(100)


def frames_per_second(
    page: Any, painted: Callable[[], int], seconds: float = MEASURED_SECONDS
) -> float:
    """Return how many frames the browser paints in a second, after a while to settle."""
    page.wait_for_timeout(WARM_SECONDS * 1000)
    first, began = painted(), time.perf_counter()
    page.wait_for_timeout(seconds * 1000)
    return (painted() - first) / (time.perf_counter() - began)


def main() -> None:
    """Print what two versions paint."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_live_view")
    parser.add_argument("--against", type=Path, help="a checkout to compare with")
    parser.add_argument("--method", help="of a layout to watch to its end")
    parser.add_argument("--nodes", type=int, default=N_NODES[0], help="[%(default)s]")
    parser.add_argument("--turns", type=int, default=2, help="of each version [%(default)s]")
    parser.add_argument(
        "--seconds", type=float, default=MEASURED_SECONDS, help="of each view [%(default)s]"
    )
    given = parser.parse_args()
    if given.method:
        print(watch(given.method, given.nodes), flush=True)
    if not given.against:
        return
    for line in compare((given.against, ROOT), given.nodes, given.turns, given.seconds):
        print(line, flush=True)


if __name__ == "__main__":
    main()
