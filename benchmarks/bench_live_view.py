"""Painted frames per second of the dashboard's picture while a layout runs.

A headless Chromium on the same machine opens the dashboard with a simulated graph and presses Run.
A frame counts when the browser has told the server that it was painted.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.rows import Row, make_row
from genoviz.analyses.simulate import simulate_pangenome
from genoviz.io.gfa import write_gfa

N_NODES = 1_000_000
N_PATHS = 12
MEASURED_SECONDS = 10
BROWSER_FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
TITLE = "Live picture, layout running, headless Chromium on the same cores"
STOCK_FRAMES = 4.7
STOCK_NOTE = (
    "peer: stock `rasterize(hv.Segments)` with a Pipe, 1 M segments, 2 cores, datashader 0.19.1"
)
PAINTED = "Bokeh.documents[0].get_model_by_name('painted-frames').data.n[0]"


def measure(backend: str) -> list[Row]:
    """Measure the full view and a zoomed one; nothing without a browser."""
    executable = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if executable is None or backend != "cpu":
        return []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "simulated.gfa"
        write_gfa(simulate_pangenome(N_NODES, N_PATHS), path)
        server, url = start_server(path)
        try:
            return measure_page(executable, url)
        finally:
            server.terminate()
            server.wait()


def start_server(path: Path) -> tuple[subprocess.Popen, str]:
    """Serve one file on a free port; return the process and its address."""
    command = [sys.executable, "-m", "app", str(path), "--no-show", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    for line in server.stdout:
        found = re.search(r"genoviz is at http://\S+:(\d+)", line)
        if found:
            return server, f"http://127.0.0.1:{found[1]}/"
    raise RuntimeError("the dashboard did not start")


def measure_page(executable: str, url: str) -> list[Row]:
    """Drive the page and count painted frames."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=BROWSER_FLAGS)
        page = browser.new_page(viewport={"width": 1366, "height": 768})
        page.goto(url)
        run = page.get_by_role("button", name=re.compile("^Run"))
        run.wait_for(timeout=120_000)
        page.wait_for_function("document.title !== ''")
        while run.is_disabled():
            page.wait_for_timeout(200)
        run.click()
        page.wait_for_timeout(4_000)
        full = frames_per_second(page)
        zoom_in = page.get_by_role("button", name="Zoom in")
        for _ in range(5):
            zoom_in.click()
        page.wait_for_timeout(1_000)
        zoomed = frames_per_second(page)
        browser.close()
    return [
        make_row(
            TITLE,
            f"{N_NODES:,} nodes, full view",
            ours=full,
            peer=STOCK_FRAMES,
            unit="frames/s",
            note=STOCK_NOTE,
            in_readme=True,
        ),
        make_row(TITLE, f"{N_NODES:,} nodes, magnified 10 times", ours=zoomed, unit="frames/s"),
    ]


def frames_per_second(page) -> float:
    """Return how many frames the browser paints in a second."""
    first, began = page.evaluate(PAINTED), time.perf_counter()
    page.wait_for_timeout(MEASURED_SECONDS * 1000)
    return (page.evaluate(PAINTED) - first) / (time.perf_counter() - began)
