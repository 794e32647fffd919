"""How long a click on another page takes until that page is painted, idle and beside a layout.

``python -m benchmarks.page_changes 20000 1000000`` serves a simulated graph of each size to a
headless Chromium on the same machine and goes through all pages again and again, first while
nothing runs and then while path-guided SGD lays the graph out. Times are of the browser's own
clock, from the click to the end of the task that follows the animation frame. The first visits, on
which pages are made, are counted apart.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from benchmarks.bench_live_view import BROWSER_FLAGS, RUN, open_canvas, served, wait_until

PAGES = ("Tracks", "K-mers", "Off-targets", "Genotypes", "Quality", "Pangenome")
THINKING_MILLISECONDS = 300
CHANGE = """async (button) => {
  const painted = () => new Promise((done) => requestAnimationFrame(() => {
    const {port1, port2} = new MessageChannel()
    port1.onmessage = done
    port2.postMessage(null)
  }))
  const began = performance.now()
  button.click()
  do await painted()
  while (button.getAttribute("aria-pressed") !== "true")
  const answered = performance.now() - began
  while (document.querySelector(".page-is-coming")) await painted()
  await painted()
  return [answered, performance.now() - began]
}"""


def measure(browser: Any, url: str, n_rounds: int) -> Iterator[str]:
    """Yield a line for each kind of change, in milliseconds."""
    page, painted = open_canvas(browser, url)
    run = page.get_by_role("button", name=RUN)
    wait_until(page, lambda: painted() > 0 and run.is_enabled())
    yield from change_pages(page, 1, "first visit, idle")
    yield from change_pages(page, n_rounds, "idle")
    run.click()
    wait_until(page, lambda: page.get_by_text("Running").count() > 0)
    yield from change_pages(page, n_rounds, "a layout runs", runs=True)
    page.close()


def change_pages(page: Any, n_rounds: int, when: str, *, runs: bool = False) -> Iterator[str]:
    """Go through all pages some times; yield what was measured."""
    found = defaultdict(list)
    for _ in range(n_rounds):
        for title in PAGES:
            button = page.get_by_role("button", name=title, exact=True)
            answered, shown = button.evaluate(CHANGE)
            found["answered"].append(answered)
            found["shown"].append(shown)
            found[f"shown, {title}"].append(shown)
            page.wait_for_timeout(THINKING_MILLISECONDS)
        if runs and page.get_by_text("Running").count() == 0:
            when += f" (it ended after {len(found['shown'])} changes)"
            break
    for what, values in found.items():
        values.sort()
        p95 = values[-(-95 * len(values) // 100) - 1]
        yield (
            f"{when}: {what} {statistics.median(values):.0f}, {p95:.0f}, {values[-1]:.0f} ms "
            f"(p50, p95, longest of {len(values)})"
        )


def main() -> None:
    """Print the times for graphs of some sizes."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(prog="python -m benchmarks.page_changes", description=__doc__)
    parser.add_argument("nodes", nargs="*", type=int, default=[20_000], help="of each graph")
    parser.add_argument("--rounds", type=int, default=30, help="through all pages [%(default)s]")
    given = parser.parse_args()
    executable = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as playwright:
        for n_nodes in given.nodes:
            browser = playwright.chromium.launch(executable_path=executable, args=BROWSER_FLAGS)
            with served(n_nodes) as url:
                for line in measure(browser, url, given.rounds):
                    print(f"{n_nodes:,} nodes, {line}", flush=True)
            browser.close()


if __name__ == "__main__":
    main()
