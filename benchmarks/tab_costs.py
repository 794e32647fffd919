"""What a tab costs the server: ``python -m benchmarks.tab_costs``.

Processor time of a page and of a tab with its sample, memory of each, and how long the server
answers nobody while twenty tabs are opened at once.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import time

from benchmarks.tab_client import ask, open_tab

N_PAGES, N_AT_ONCE = 5, 20
MEGABYTE = 2**20


def main() -> None:
    """Start a server, measure, and print a line for each figure."""
    command = [sys.executable, "-m", "benchmarks.tabs_server"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        url = re.search(r"http://\S+", server.stdout.readline())[0]
        asyncio.run(open_tab(url))  # imports and compiled loops are no cost of a tab
        wait_until_closed(url)
        report("page without a browser", asyncio.run(measure(url, fetch, N_PAGES, 1)))
        wait_until_closed(url)
        report("tab with its sample", asyncio.run(measure(url, open_tab, N_PAGES, 1)))
        wait_until_closed(url)
        report(f"{N_AT_ONCE} at once", asyncio.run(measure(url, open_tab, N_AT_ONCE, N_AT_ONCE)))
        closed = wait_until_closed(url)
        print(f"memory after all are closed: {closed['memory'] / MEGABYTE:.0f} MB")
    finally:
        server.terminate()
        server.wait()


async def measure(url: str, act, number: int, at_once: int) -> dict[str, float]:
    """Do something ``number`` times, and ask for the status all the while."""
    before = json.loads(ask(url, "tabs"))
    start, ends, silences = time.perf_counter(), [], []
    gate = asyncio.Semaphore(at_once)

    async def one() -> None:
        async with gate:
            await act(url)
            ends.append(time.perf_counter() - start)

    tasks = [asyncio.create_task(one()) for _ in range(number)]
    while not all(task.done() for task in tasks):
        asked = time.perf_counter()
        await asyncio.to_thread(ask, url, "status")
        silences.append(time.perf_counter() - asked)
        await asyncio.sleep(0.02)
    lost = sum(task.exception() is not None for task in tasks)
    after = json.loads(ask(url, "tabs"))
    return {
        "processor seconds each": (after["seconds"] - before["seconds"]) / number,
        "MB each": (after["memory"] - before["memory"]) / number / MEGABYTE,
        "first shown s": min(ends, default=0),
        "last shown s": max(ends, default=0),
        "longest silence s": max(silences),
        "lost": lost,
    }


async def fetch(url: str) -> None:
    """Fetch a page."""
    await asyncio.to_thread(ask, url)


def report(title: str, figures: dict[str, float]) -> None:
    """Print figures on one line."""
    print(f"{title}:", ", ".join(f"{name} {value:.2f}" for name, value in figures.items()))


def wait_until_closed(url: str) -> dict[str, float]:
    """Wait a minute at most until no tab lives."""
    for _ in range(60):
        if not (said := json.loads(ask(url, "tabs")))["dashboards"]:
            break
        time.sleep(1)
    return said


if __name__ == "__main__":
    main()
