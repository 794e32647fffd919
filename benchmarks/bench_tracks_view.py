"""Redraws of the Tracks page in a second, while a person drags and zooms; and what one costs.

A headless Chromium on the same machine moves the pointer in each of its animation frames. A redraw
counts when the browser has told the server that it painted a frame with new values; between frames
it moves what it has, and those paintings are counted, too. The cost of a view is that of all the
server does for a frame: bins or steps of all tracks, scales, rows of features, the packed message.
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
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bench_live_view import BROWSER_FLAGS, OPENING_MILLISECONDS, wait_until
from benchmarks.real_data import find_real_data
from benchmarks.rows import Row, make_row
from benchmarks.tracks_server import CONTIG, CONTIG_LENGTH, N_INTERVALS, simulated_track
from genoviz_app.opening.track_data import TrackData
from genoviz_app.pages.tracks.drawing.feature_packing import View
from genoviz_app.pages.tracks.drawing.track_canvas import frame_message
from genoviz_app.pages.tracks.drawing.track_drawer import TrackDrawer
from genoviz_app.pages.tracks.track import Track, new_look

TITLE = "Tracks, headless Chromium on the same cores"
COST = f"One view of {N_INTERVALS:,} intervals, {CONTIG_LENGTH / 1e6:g} Mb"
REAL_SET = "intervals/chr9_4-6Mb"
REAL_FILES = ("*.bam", "*.bigwig", "*.bed", "*.gtf")
CANVAS = "canvas.track-canvas"
MEASURED_SECONDS, WARM_SECONDS = 10, 3
WIDTH, N_VIEWS = 1000, 40
# The pointer goes to and fro, and the wheel in and out, one event in each animation frame.
MOVE = """([canvas, kind]) => {
  const box = canvas.getBoundingClientRect()
  const y = box.top + 40
  let n = 0
  const step = () => {
    n += 1
    const x = box.left + box.width * (0.5 + 0.3 * Math.sin(n / 25))
    const init = {clientX: x, clientY: y, pointerId: 1, buttons: 1, bubbles: true,
      deltaY: n % 120 < 60 ? -24 : 24, cancelable: true}
    canvas.dispatchEvent(kind === "drag" ? new PointerEvent("pointermove", init)
      : new WheelEvent("wheel", init))
    if (canvas.dataset.stop !== "1") requestAnimationFrame(step)
  }
  canvas.dataset.stop = "0"
  requestAnimationFrame(step)
}"""


def measure(backend: str) -> list[Row]:
    """Measure the cost of views, and redraws in a browser where there is one."""
    if backend != "cpu":
        return []
    rows = measure_costs()
    executable = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if executable is None:
        return rows
    from playwright.sync_api import sync_playwright

    folder = find_real_data(REAL_SET)
    files = [path for kind in REAL_FILES for path in sorted(folder.glob(kind))] if folder else []
    cases = {f"{N_INTERVALS:,} intervals": []}
    if files:
        cases[f"chr9:4-6 Mb, {len(files)} tracks"] = files
    with sync_playwright() as playwright:
        for case, tracks in cases.items():
            with served(tracks) as url:
                browser = playwright.chromium.launch(executable_path=executable, args=BROWSER_FLAGS)
                for action, (redraws, paintings) in measure_page(browser, url).items():
                    note = f"the canvas is painted {paintings:.0f} times a second"
                    rows.append(
                        make_row(
                            TITLE,
                            f"{case}, {action}",
                            ours=redraws,
                            unit="redraws/s",
                            note=note,
                            in_readme=action == "drag",
                        )
                    )
                browser.close()
    return rows


def measure_costs() -> list[Row]:
    """Return milliseconds of a view at several zooms, the median of neighbouring views."""
    track = Track("reads", simulated_track(), new_look("reads", 0))
    return [
        make_row(
            COST,
            f"{span:,} bp wide",
            ours=view_milliseconds(track, span),
            unit="ms",
            higher_is_better=False,
            note="values, scales and the packed message",
        )
        for span in (CONTIG_LENGTH, 10_000_000, 1_000_000, 100_000, 10_000, 100)
    ]


def view_milliseconds(track: Track, span: int) -> float:
    """Return the median time of drawing one of many views of that width."""
    drawer, seconds = TrackDrawer(), []
    data: TrackData = track.data
    assert data.coverage is not None
    for start in np.linspace(0, CONTIG_LENGTH - span, N_VIEWS).astype(int).tolist():
        began = time.perf_counter()
        drawing = drawer.draw([track], View(CONTIG, start, start + span, WIDTH), CONTIG_LENGTH)
        frame_message(drawing, chosen=None)
        seconds.append(time.perf_counter() - began)
    return 1000 * float(np.median(seconds[1:]))


@contextmanager
def served(files: list[Path]) -> Iterator[str]:
    """Serve tracks; give the address."""
    command = [sys.executable, "-m", "benchmarks.tracks_server", *map(str, files)]
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


def measure_page(browser: Any, url: str) -> dict[str, tuple[float, float]]:
    """Return redraws and paintings a second, while dragging and while turning the wheel."""
    page = browser.new_page(viewport={"width": 1366, "height": 768})
    page.goto(url, timeout=OPENING_MILLISECONDS)
    canvas = page.locator(CANVAS)
    canvas.wait_for(timeout=OPENING_MILLISECONDS)
    n_painted = noted(canvas, "painted")
    wait_until(page, lambda: n_painted() > 0)
    page.wait_for_timeout(WARM_SECONDS * 1000)
    box = canvas.bounding_box()
    page.get_by_role("button", name="Zoom in").click()
    page.wait_for_timeout(WARM_SECONDS * 1000)
    found = {}
    for action in ("drag", "wheel"):
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 40)
        if action == "drag":
            page.mouse.down()
        page.evaluate(MOVE, [canvas.element_handle(), action])
        page.wait_for_timeout(WARM_SECONDS * 1000)
        found[action] = rates(page, n_painted, noted(canvas, "draws"))
        canvas.evaluate("canvas => { canvas.dataset.stop = '1' }")
        page.mouse.up()
        page.wait_for_timeout(1000)
    page.close()
    return found


def noted(canvas: Any, name: str) -> Callable[[], int]:
    """Return what reads a number that the canvas notes of itself."""
    return lambda: int(canvas.get_attribute(f"data-{name}") or 0)


def rates(page: Any, *counts: Callable[[], int]) -> tuple[float, ...]:
    """Return by how much each number grows in a second."""
    firsts, began = [count() for count in counts], time.perf_counter()
    page.wait_for_timeout(MEASURED_SECONDS * 1000)
    seconds = time.perf_counter() - began
    return tuple((count() - first) / seconds for count, first in zip(counts, firsts, strict=True))
