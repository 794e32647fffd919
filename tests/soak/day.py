"""A simulated day on a server: files, users, failures, and measurements at the end."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from tornado.httpclient import AsyncHTTPClient

from tests.conftest import ROOT
from tests.soak.heavy import HEAVY, Sizes, befall
from tests.soak.people import Designer, Diary, Person, Reader, Searcher, Wanderer
from tests.waiting import PATIENCE

STATUS_SECONDS = 0.1
# The time until closed tabs, and then unused files, are dropped.
SETTLE_SECONDS = 150
KEPT_MINUTES = 1
# A long day starts with everything slow, so that caches are filled.
LONG_SECONDS = 40
WARM_SHARE = 20
WARM_SECONDS = 20
TROUBLE = re.compile(r"^.*(?:Traceback.*(?:\n .*)*\n.*|ERROR.*|CRITICAL.*)", re.MULTILINE)


@dataclass(frozen=True)
class Day:
    """The measurements.

    Attributes
    ----------
    seconds
        Durations of each kind of action, s.
    status_seconds
        Response times of ``/status``, ten times per second: the lag of the event loop.
    lag
        Delays of the event loop as measured by the server, ms.
    megabytes
        Maximum memory of the server and its children after all first tabs were closed once, and
        memory after all were closed at the end.
    kept
        The parts of these two used by cached files, as estimated by the server, MB.
    errors, log
        Errors of users, and problems in the server's log, with whole tracebacks.
    inquiries
        State of the server and the tab whenever a user timed out.
    """

    seconds: dict[str, list[float]]
    status_seconds: list[float]
    lag: dict[str, float]
    megabytes: tuple[float, float, float]
    kept: tuple[float, float]
    errors: list[str]
    log: list[str]
    inquiries: list[str]

    def lines(self) -> Iterator[str]:
        """Yield the lines of a summary table."""
        yield f"{'':28}{'n':>7}{'p50':>9}{'p95':>9}{'p99':>9}{'max':>9}"
        clicks = (times for kind, times in self.seconds.items() if is_click(kind))
        everything = [seconds for times in clicks for seconds in times]
        rows = {**self.seconds, "every click": everything, "/status": self.status_seconds}
        for kind, times in rows.items():
            if times:
                shown = (share(times, 50), share(times, 95), share(times, 99), max(times))
                yield f"{kind:28}{len(times):7}" + "".join(f"{1000 * s:6.0f} ms" for s in shown)
        yield "loop lag: " + ", ".join(f"{name} {ms:.0f} ms" for name, ms in self.lag.items())
        yield "memory: first {:.0f} MB, most {:.0f} MB, last {:.0f} MB".format(*self.megabytes)
        first, _, last = self.megabytes
        yield f"memory after closing: {last / first - 1:+.1%}"
        yield "files that are kept, estimated: first {:.0f} MB, last {:.0f} MB".format(*self.kept)
        yield f"errors: {len(self.errors)}, in the log: {len(self.log)}"
        yield from self.errors
        yield from self.log
        yield from self.inquiries


def is_click(kind: str) -> bool:
    """Return whether an action is a click, rather than the first opening."""
    return kind not in ("open a tab", "see a page first", *HEAVY)


def share(values: list[float], percent: int) -> float:
    """Return a percentile."""
    if len(values) == 1:
        return values[0]
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def write_files(folder: Path, *, n_bases: int, n_rows: int) -> None:
    """Write the files that users open: a genome, tracks and genotypes."""
    numbers = random.Random(5)
    bases = "".join(numbers.choices("ACGT", k=n_bases))
    for name in ("genome", "other"):
        lines = (bases[at : at + 80] for at in range(0, n_bases, 80))
        (folder / f"{name}.fa").write_text(f">{name}\n" + "\n".join(lines) + "\n")
    starts = sorted(numbers.randrange(0, 99_000) for _ in range(n_rows))
    rows = "".join(f"c1\t{start}\t{start + 100}\tr\t0\t+\n" for start in starts)
    (folder / "reads.bed").write_text(rows)
    write_plink(folder / "srv", n_samples=400, n_variants=3000)


def write_plink(prefix: Path, *, n_samples: int, n_variants: int) -> None:
    """Write genotypes in place, like ``plink --make-bed``."""
    numbers = random.Random(n_variants)
    width = (n_samples + 3) // 4
    codes = bytes(numbers.choices((0xFF, 0xFA, 0xEB, 0xAE, 0xBE, 0x8B), k=width * n_variants))
    prefix.with_suffix(".bed").write_bytes(b"\x6c\x1b\x01" + codes)
    prefix.with_suffix(".bim").write_text(
        "".join(f"1\tsnp{n}\t0\t{100 * n + 1}\tA\tC\n" for n in range(n_variants))
    )
    prefix.with_suffix(".fam").write_text(
        "".join(
            f"f{n}\ts{n}\t0\t0\t{1 + n % 2}\t{numbers.gauss(0, 1):.3f}\n" for n in range(n_samples)
        )
    )


@contextmanager
def server(folder: Path) -> Iterator[tuple[subprocess.Popen, str, Path]]:
    """Serve the dashboard; yield the process, its address and its log file."""
    (folder / "lab.toml").write_text(f"[limits]\nkept_minutes = {KEPT_MINUTES}\n")
    options = ("--lab", "lab.toml", "--no-browser", "--port", "0")
    with (folder / "server.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "genoviz", "serve", *options],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        end = time.monotonic() + PATIENCE
        while not (found := re.search(r"https?://\S+:\d+", (folder / "server.log").read_text())):
            assert process.poll() is None, "the server ended"
            assert time.monotonic() < end, "the server did not start"
            time.sleep(0.1)
        yield process, f"{found[0]}/", folder / "server.log"
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(PATIENCE)


async def live_a_day(
    folder: Path, *, seconds: float, n_people: int, n_bases: int, sizes: Sizes
) -> Day:
    """Simulate users while files change and browsers are killed; return the measurements."""
    write_files(folder, n_bases=n_bases, n_rows=3000)
    with server(folder) as (process, url, log):
        inquiry = Inquiry(process.pid, url, log)
        diary, first = Diary(inquiry.look_into), Diary(inquiry.look_into)
        # All users work for a while and leave, so that caches are filled.
        first.end = time.monotonic() + min(WARM_SECONDS, seconds / 4)
        everybody = people(url, folder, first, min(5, n_people))
        await asyncio.gather(*(person.live() for person in everybody))
        if seconds > LONG_SECONDS:
            await befall(url, process.pid, folder, first, sizes.over(WARM_SHARE), "first")
        await asyncio.sleep(min(SETTLE_SECONDS, seconds))
        memory = Memory(process.pid)
        before, kept = memory.now(), [await ask_for_kept(url)]
        diary.end = time.monotonic() + seconds
        watching = [
            asyncio.create_task(job)
            for job in (watch_status(url, diary), memory.watch(), rewrite(folder, seconds))
        ]
        everybody = people(url, folder, diary, n_people)
        living = [asyncio.create_task(person.live()) for person in everybody]
        await until_all_are_there(everybody, living)
        heavy = befall(url, process.pid, folder, diary, sizes, "large")
        await asyncio.gather(kill_a_browser(url, diary), heavy, *living)
        lag = (await ask_status(url))["loop_lag"]
        for task in watching:
            task.cancel()
        await asyncio.sleep(min(SETTLE_SECONDS, seconds))
        assert process.poll() is None, f"the server ended with {process.poll()}"
        after = memory.now()
        kept.append(await ask_for_kept(url))
    status = diary.seconds.pop("/status", [])
    trouble = [found[0] for found in TROUBLE.finditer(log.read_text())]
    errors = [*first.errors, *diary.errors]
    megabytes = (before, memory.most, after)
    return Day(
        dict(diary.seconds), status, lag, megabytes, tuple(kept), errors, trouble, inquiry.lines
    )


async def until_all_are_there(everybody: list[Person], living: list[asyncio.Task]) -> None:
    """Wait until no user is opening a file."""
    while not all(
        person.has_begun or task.done() for person, task in zip(everybody, living, strict=True)
    ):
        await asyncio.sleep(STATUS_SECONDS)


def people(url: str, folder: Path, diary: Diary, n_people: int) -> list[Person]:
    """Return users of all kinds in turn."""
    kinds = [
        (Designer, {"file": "simulated"}),
        (Searcher, {"page": "kmers", "sequences": str(folder / "genome.fa")}),
        (Reader, {"page": "tracks", "track": str(folder / "reads.bed")}),
        (Wanderer, {"file": "simulated", "genotypes": str(folder / "srv.bed")}),
        (Searcher, {"page": "kmers", "sequences": str(folder / "other.fa")}),
    ]
    chosen = (kinds[n % len(kinds)] for n in range(n_people))
    return [kind(url, query, diary, seed) for seed, (kind, query) in enumerate(chosen)]


class Inquiry:
    """Collects diagnostics on a server and a tab when a user times out."""

    def __init__(self, pid: int, url: str, log: Path) -> None:
        self._pid, self._url, self._log = pid, url, log
        self.lines: list[str] = []

    async def look_into(self, person: Person) -> None:
        """Record the jobs, the threads and the content of the tab."""
        n_before = len(self._log.read_text().splitlines())
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGUSR1)
        try:
            status = (await AsyncHTTPClient().fetch(f"{self._url}status")).body.decode()
        except Exception as error:
            status = repr(error)
        stacks = self._log.read_text().splitlines()[n_before:]
        shown = [] if person.tab is None else person.tab.texts()
        self.lines += [f"== {person.name} gave up ==", f"status: {status}"]
        self.lines += ["shown:", *shown, "threads:", *stacks]


class Memory:
    """Memory of a process and its children, MB; shared memory counts once."""

    def __init__(self, pid: int) -> None:
        self._process, self.most = psutil.Process(pid), 0.0

    def now(self) -> float:
        """Return the current memory."""
        total = 0
        for process in (self._process, *self._process.children(recursive=True)):
            with suppress(psutil.NoSuchProcess, OSError):
                total += own_share(process)
        self.most = max(self.most, total / 1e6)
        return total / 1e6

    async def watch(self) -> None:
        """Measure once per second."""
        while True:
            self.now()
            await asyncio.sleep(1)


def own_share(process: psutil.Process) -> int:
    """Return a process's proportional set size in bytes (Linux)."""
    rollup = Path(f"/proc/{process.pid}/smaps_rollup")
    if not rollup.exists():
        return process.memory_info().rss
    found = re.search(r"^Pss:\s+(\d+) kB", rollup.read_text(), re.MULTILINE)
    return 1024 * int(found[1]) if found else 0


async def ask_status(url: str) -> dict[str, Any]:
    """Return the status reported by a server."""
    answer = await AsyncHTTPClient().fetch(
        f"{url}status", connect_timeout=PATIENCE, request_timeout=PATIENCE
    )
    return json.loads(answer.body)


async def ask_for_kept(url: str) -> float:
    """Return the memory of a server's files as it estimates it, MB."""
    numbers = (await AsyncHTTPClient().fetch(f"{url}metrics")).body.decode()
    return float(re.search(r"^genoviz_file_bytes (\S+)", numbers, re.MULTILINE)[1]) / 1e6


async def watch_status(url: str, diary: Diary) -> None:
    """Request the status ten times per second."""
    while True:
        start = time.perf_counter()
        try:
            await ask_status(url)
        except Exception as error:
            diary.errors.append(f"/status: {error}")
        diary.seconds["/status"].append(time.perf_counter() - start)
        await asyncio.sleep(STATUS_SECONDS)


async def rewrite(folder: Path, seconds: float) -> None:
    """Rewrite open files in place, alternately shorter and longer."""
    for number in range(1_000_000):
        await asyncio.sleep(min(60, seconds / 4))
        write_plink(folder / "srv", n_samples=400, n_variants=(40, 3000)[number % 2])
        rows = (10, 3000)[number % 2]
        (folder / "reads.bed").write_text("c1\t5\t500\tr\t0\t+\n" * rows)


async def kill_a_browser(url: str, diary: Diary) -> None:
    """Open a tab, start to work, and disconnect without notice."""
    person = Designer(url, {"file": "simulated"}, Diary(), 99)
    try:
        await asyncio.wait_for(person.open_and_vanish(), PATIENCE)
    except Exception as error:  # the other measurements are still reported
        diary.errors.append(f"the browser that is killed: {type(error).__name__}: {error}")
