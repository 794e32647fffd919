"""Draw mutants, try those without a verdict, and write the report.

Verdicts are stored in a file, so a run continues where the previous one was interrupted by
``--minutes``, Ctrl-C or SIGTERM. The report covers the verdicts so far. Without git,
``GENOVIZ_COMMIT`` names the commit of the tree.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from tests.conftest import commit
from tests.mutants.mutations import Mutant
from tests.mutants.nearest_tests import TestMap
from tests.mutants.report import name_of, read_equivalents, score, write_report
from tests.mutants.sample import draw_mutants
from tests.mutants.trial import Copy

ROOT = Path(__file__).parents[2]
WIDER = 5


class Verdicts:
    """Verdicts on mutants, one JSON object per line; the last one for a mutant is valid."""

    def __init__(self, path: Path):
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._rows: dict[str, dict] = {}
        self.broken: set[str] = set()
        """Tests that failed without a mutant too."""
        for line in path.read_text().splitlines() if path.exists() else []:
            self._keep(json.loads(line))

    def _keep(self, row: dict) -> None:
        self._rows[row["key"]] = row
        if row["verdict"] == "unsure" and row.get("by"):
            self.broken.add(row["by"])

    def add(self, row: dict) -> None:
        self._keep(row)
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")

    def of(self, mutants: list[Mutant]) -> list[dict]:
        """Return the stored verdicts on these mutants whose functions have not changed since."""
        rows = ((self._rows.get(mutant.key), mutant) for mutant in mutants)
        return [
            row
            for row, mutant in rows
            if row and row["digest"] == mutant.digest and row["verdict"] != "unsure"
        ]


def run_mutants(
    number: Annotated[int, typer.Option(help="How many mutants.")] = 200,
    seed: Annotated[int, typer.Option(help="Of the sample.")] = 1,
    only: Annotated[str, typer.Option(help="Files whose path begins so.")] = "",
    survivors: Annotated[
        bool, typer.Option("--survivors", help="Try the survivors again, with more tests.")
    ] = False,
    show: Annotated[
        bool, typer.Option("--list", help="List the mutants and what is known of them.")
    ] = False,
    only_page: Annotated[
        bool, typer.Option("--page-only", help="Write the page of what is known, and try none.")
    ] = False,
    confirm: Annotated[
        bool, typer.Option(help="Check at the end that the killing tests pass without a mutant.")
    ] = True,
    files: Annotated[int, typer.Option(help="Files of tests for each mutant.")] = 6,
    jobs: Annotated[int, typer.Option(min=1, help="How many at a time, each in its copy.")] = 1,
    timeout: Annotated[float, typer.Option(help="Seconds that one test may take.")] = 150,
    seconds: Annotated[
        float, typer.Option(help="After these no further test of a mutant begins.")
    ] = 400,
    minutes: Annotated[
        float, typer.Option(help="After these the run ends, and the next one goes on.")
    ] = 1e6,
    folder: Annotated[Path, typer.Option(help="For the copy and the verdicts.")] = ROOT
    / ".mutants",
    page: Annotated[Path, typer.Option(help="Where the score goes.")] = ROOT / "docs/mutants.md",
) -> None:
    """Plant small bugs, one at a time, and see whether the tests notice."""
    end = time.monotonic() + 60 * minutes
    mutants = draw_mutants(ROOT, number, seed, only=only)
    verdicts = Verdicts(folder / "verdicts.jsonl")
    equivalents = read_equivalents(Path(__file__).with_name("equivalent.toml"))
    known = {row["key"]: row for row in verdicts.of(mutants)}
    if show:
        for mutant in mutants:
            word = known.get(mutant.key, {}).get("verdict", "not tried")
            typer.echo(f"{mutant.key} {word:9} {_describe(mutant)}")
        return
    todo = [mutant for mutant in mutants if mutant.key not in known and not only_page]
    if survivors:
        rows = (row for row in known.values() if name_of(row) not in equivalents)
        keys = {row["key"] for row in rows if row["verdict"] == "survived"}
        todo = [mutant for mutant in mutants if mutant.key in keys]
        files, seconds = WIDER * files, WIDER * seconds
    # In random order (by key), so that an interrupted run covers all layers.
    todo.sort(key=lambda mutant: mutant.key)
    with ExitStack() as stack:
        n_threads = max((os.cpu_count() or 1) // jobs, 1)
        copies = [Copy(ROOT, folder / str(i), n_threads=n_threads) for i in range(jobs)]
        for copy in copies:
            stack.callback(copy.close)
        stack.enter_context(ending_after(end - time.monotonic(), copies))
        limits = {"longest": timeout, "seconds": seconds, "broken": verdicts.broken}
        for row in try_mutants(copies, todo, files, **limits):
            verdicts.add(row)
        if confirm and not only_page and not copies[0].is_given_up:
            confirm_kills(copies, verdicts, mutants, timeout)
    rows = verdicts.of(mutants)
    page.write_text(write_report(rows, equivalents, seed, len(mutants), commit()))
    killed, can_be, same = score(rows, equivalents)
    typer.echo(f"{killed} of {can_be} killed, and {same} equivalent: {page}")


@contextmanager
def ending_after(seconds: float, copies: list[Copy]) -> Iterator[None]:
    """Cancel the runs in all copies after some seconds or on a signal."""

    def give_up(*_: object) -> None:
        for copy in copies:
            copy.give_up()

    timer = threading.Timer(min(seconds, threading.TIMEOUT_MAX), give_up)
    timer.daemon = True
    timer.start()
    before = {number: signal.signal(number, give_up) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        timer.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)


def _describe(mutant: Mutant) -> str:
    before, after = (" ".join(code.split())[:90] for code in (mutant.before, mutant.after))
    return f"{mutant.path}:{mutant.line} {mutant.function}: {before} -> {after}"


def try_mutants(
    copies: list[Copy], mutants: list[Mutant], files: int, **limits: Any
) -> Iterator[dict]:
    """Yield the verdict on each mutant as soon as it is known; one at a time in each copy."""
    tests, free = TestMap(ROOT), deque(copies)

    def try_one(mutant: Mutant) -> dict:
        copy = free.popleft()
        try:
            chosen = tests.nearest(mutant.path, mutant.function)[:files]
            return try_mutant(copy, tests, mutant, chosen, **limits)
        finally:
            free.append(copy)

    with ThreadPoolExecutor(len(copies)) as pool:
        tried = {pool.submit(try_one, mutant): mutant for mutant in mutants}
        try:
            for i, future in enumerate(as_completed(tried)):
                row = future.result()
                if row["verdict"] == "unsure":
                    continue
                took = f"{row['verdict']:9} {row['seconds']:4.0f} s"
                typer.echo(f"{i + 1}/{len(mutants)} {took} {_describe(tried[future])}")
                yield row
        finally:
            pool.shutdown(cancel_futures=True)


def try_mutant(
    copy: Copy,
    tests: TestMap,
    mutant: Mutant,
    chosen: list[str],
    *,
    broken: Collection[str] = (),
    **limits: float,
) -> dict:
    """Return the verdict of some files of tests on one mutant, as a row.

    Tests that are broken, on this machine or at all, are left out.
    """
    row = {
        name: getattr(mutant, name)
        for name in ("key", "path", "function", "kind", "before", "after", "line", "digest")
    }
    if not chosen or copy.is_given_up:
        word = "unsure" if copy.is_given_up else "survived"
        return {**row, "verdict": word, "by": "", "seconds": 0.0, "n_files": 0}
    copy.mutate(mutant, tests)
    try:
        left_out = (word for test in sorted(broken) for word in ("--deselect", test))
        verdict, _ = copy.run(chosen, options=("-x", *left_out), **limits)
    finally:
        copy.restore()
    judged = {"verdict": verdict.word, "by": verdict.by, "seconds": round(verdict.seconds, 1)}
    return {**row, **judged, "n_files": len(chosen)}


def confirm_kills(
    copies: list[Copy], verdicts: Verdicts, mutants: list[Mutant], timeout: float
) -> None:
    """Withdraw a kill if the test fails without the mutant too."""
    killed = [row for row in verdicts.of(mutants) if row["by"] and not row.get("confirmed")]
    by_file: dict[str, set[str]] = {}
    for row in killed:
        by_file.setdefault(row["by"].partition("::")[0], set()).add(row["by"])
    if not killed:
        return
    typer.echo(f"Running the tests that killed, of {len(by_file)} files, without a mutant")
    free = deque(copies)

    def run_file(names: set[str]) -> tuple[str, str]:
        copy = free.popleft()
        try:
            verdict, text = copy.run(sorted(names), longest=timeout, seconds=1e9, options=())
            return verdict.word, text
        finally:
            free.append(copy)

    with ThreadPoolExecutor(len(copies)) as pool:
        for names, (word, text) in zip(
            by_file.values(), pool.map(run_file, by_file.values()), strict=True
        ):
            for row in (row for row in killed if row["by"] in names):
                passed = f"{row['by']} PASSED" in text
                if passed or (word != "unsure" and "::" not in row["by"] and row["by"] in text):
                    verdicts.add({**row, "confirmed": True})
                elif word != "unsure":
                    verdicts.add({**row, "verdict": "unsure"})
                    typer.echo(
                        f"{row['by']} did not pass without a mutant; the next run is without it"
                    )


if __name__ == "__main__":
    typer.run(run_mutants)
