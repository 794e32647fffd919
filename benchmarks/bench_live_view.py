"""Painted frames per second while a layout runs: the dashboard's canvas, and stock HoloViews.

A headless Chromium on the same machine opens a server with a simulated graph and lets its layout
run. A frame counts when the browser has told the server that it was painted. Zoomed is to 1 % of
the width and of the height, into the middle of the layout.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.rows import Row, make_row

N_NODES = (1_000_000, 10_000_000)
FIRST_FRAMES = 5
MEASURED_SECONDS = 12
WARM_SECONDS = 4
ZOOM = 100
OPENING_MILLISECONDS = 300_000
BROWSER_FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
TITLE = "Live picture, layout running, headless Chromium on the same cores"
NOTE = (
    "a running layout is thinned to 2e6 pixels a core, said in the legend; "
    "peer: stock `rasterize(hv.Segments)` with a Pipe, all nodes, same layout, same run"
)
CANVAS = "canvas.graph-canvas"
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


@contextmanager
def served(n_nodes: int) -> Iterator[str]:
    """Serve a simulated graph; give the address."""
    command = [sys.executable, "-m", "benchmarks.live_server", str(n_nodes)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        for line in server.stdout:
            found = re.search(r"serving at (http://\S+)", line)
            if found:
                yield found[1]
                return
        raise RuntimeError("the server did not start")
    finally:
        server.terminate()
        server.wait()


def measure_canvas(browser: Any, url: str) -> dict[str, float]:
    """Return painted frames per second of the dashboard, by view."""
    page = browser.new_page(viewport={"width": 1366, "height": 768})
    page.goto(url)
    canvas = page.locator(CANVAS)

    def painted() -> int:
        return int(canvas.get_attribute("data-painted") or 0)

    run = page.get_by_role("button", name=re.compile("^Run"))
    run.wait_for(timeout=OPENING_MILLISECONDS)
    wait_until(page, lambda: painted() > 0 and run.is_enabled())
    run.click()
    wait_until(page, lambda: page.get_by_text("Running").count() > 0)
    at_start = painted()
    wait_until(page, lambda: painted() > at_start + FIRST_FRAMES)
    full = frames_per_second(page, painted)
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    extent = view_width(canvas)
    while view_width(canvas) > extent / ZOOM:
        page.mouse.wheel(0, -120)
        page.wait_for_timeout(40)
    zoomed = frames_per_second(page, painted)
    page.close()
    return {"full view": full, "zoomed to 1 %": zoomed}


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


def frames_per_second(page: Any, painted: Callable[[], int]) -> float:
    """Return how many frames the browser paints in a second, after a while to settle."""
    page.wait_for_timeout(WARM_SECONDS * 1000)
    first, began = painted(), time.perf_counter()
    page.wait_for_timeout(MEASURED_SECONDS * 1000)
    return (painted() - first) / (time.perf_counter() - began)
