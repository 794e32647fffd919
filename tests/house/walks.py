"""Counts the files that a command or a click enters, i.e. in which a function runs.

The polling of a tab, some twenty times per second, is included. ``python -m tests.house.walks
NAME...`` prints the files of some walks.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from genoviz.cli.main import main, make_program
from genoviz.kernels.genotype_product import cpu as genotype_product
from genoviz_app.pages.genotypes import GenotypesPage
from genoviz_app.pages.kmers import KmersPage
from genoviz_app.pages.pangenome import PangenomePage
from genoviz_app.server.jobs import JobPool
from genoviz_app.session.session import Session
from tests.waiting import wait_until

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "data_samples"
QUIET_POLLS, QUIET_SECONDS = 20, 1.0
OURS = (str(ROOT / "genoviz"), str(ROOT / "app"), str(ROOT / "genoviz_app"))


class Walk:
    """Records the files that are entered while it is active.

    Attributes
    ----------
    files
        Paths of these files.
    follows_jobs_to_their_end
        Whether to follow jobs that were submitted meanwhile until they end.
    """

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.follows_jobs_to_their_end = False
        self._is_on = False

    def _see(self, frame: FrameType, event: str, _argument: object) -> None:
        # The bodies of modules and classes, which run at an import, are no functions.
        if event == "call" and frame.f_code.co_flags & inspect.CO_NEWLOCALS:
            file = frame.f_code.co_filename
            if file.startswith(OURS):
                self.files.add(str(Path(file).resolve().relative_to(ROOT)))

    @contextlib.contextmanager
    def on(self) -> Iterator[None]:
        """Record entered files inside the block, including threads started there."""
        self._is_on = True
        threading.setprofile(self._see)
        sys.setprofile(self._see)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
            self._is_on = False

    def follow_jobs(self) -> None:
        """Also record the job threads that were started earlier."""
        submit = JobPool.submit

        def seen(steps: Iterator[Any], is_mine: bool) -> Iterator[Any]:
            while True:
                is_seen = self._is_on or (is_mine and self.follows_jobs_to_their_end)
                sys.setprofile(self._see if is_seen else None)
                try:
                    step = next(steps)
                except StopIteration:
                    return
                finally:
                    sys.setprofile(None)
                yield step

        JobPool.submit = lambda pool, steps, **options: submit(
            pool, seen(steps, self._is_on), **options
        )


class Tab:
    """A page of a tab, without a browser."""

    def __init__(self, page_class: type, walk: Walk, file: str) -> None:
        walk.follow_jobs()
        self._session = Session()
        self.page = page_class(self._session)
        self._session.open(str(SAMPLES / file))

    def wait(self, is_done: Callable[[], bool]) -> None:
        """Poll like a tab, some twenty times per second, until a condition holds."""
        wait_until(is_done, self._poll)

    def rest(self) -> None:
        """Wait until no job is running, and none starts shortly afterwards."""
        idle_since, n_polls = time.monotonic(), 0

        def is_at_rest() -> bool:
            nonlocal idle_since, n_polls
            if self._session.is_busy or self._session.graphs.is_opening:
                idle_since, n_polls = time.monotonic(), 0
            n_polls += 1
            return n_polls > QUIET_POLLS and time.monotonic() - idle_since > QUIET_SECONDS

        self.wait(is_at_rest)

    def close(self) -> None:
        """Cancel running jobs."""
        self._session.close()

    def _poll(self) -> None:
        self._session.poll()
        self.page.poll()


def walk_count(walk: Walk) -> None:
    """Run ``genoviz count`` with two files of intervals."""
    files = [str(SAMPLES / "exons.bed.gz"), str(SAMPLES / "reads.bed.gz")]
    sys.argv = ["genoviz", "count", *files, "--output", os.devnull]
    # Compilation would enter more files; here all loops are compiled.
    subprocess.run([sys.executable, "-m", *sys.argv], cwd=ROOT, check=True, stderr=subprocess.PIPE)
    make_program().load("count")
    with walk.on(), contextlib.suppress(SystemExit):
        main()


def walk_kmer(walk: Walk) -> None:
    """Go from a typed k-mer to its hits in a table."""
    tab = Tab(KmersPage, walk, "genome.fa.gz")
    tab.wait(lambda: tab.page.state.index is not None)
    _ask(tab, "ACGTTG")
    tab.rest()
    with walk.on():
        _ask(tab, "GATTACA")
    tab.close()


def _ask(tab: Tab, kmer: str) -> None:
    state = tab.page.state
    tab.page.query.write("")
    tab.page.query.write(kmer)
    tab.wait(lambda: state.answer is not None and not state.is_counting and not state.is_finding)


def walk_run(walk: Walk) -> None:
    """Go from Run to the first frame of the layout."""
    tab = Tab(PangenomePage, walk, "simulated.gfa.gz")
    run = tab.page.view.run
    tab.wait(lambda: run.snapshot is not None)
    tab.rest()
    run.settings.quality = "converged"  # so that it does not end soon
    with walk.on():
        run.run()
        tab.wait(lambda: "updates/s" in tab.page.view.controls.numbers.object)
    tab.close()


def walk_gwas(walk: Walk) -> None:
    """Go from a click on Run through an association scan, without its plots.

    Runs as on a processor without a matrix unit, so that the counts do not depend on the machine.
    """
    genotype_product.has_amx = lambda: False
    tab = Tab(GenotypesPage, walk, "genotypes.bed")
    state = tab.page.state
    tab.wait(lambda: state.table is not None)
    tab.page.views.show("association")
    form = tab.page.association.form
    tab.rest()
    walk.follows_jobs_to_their_end = True
    with walk.on():
        form.run()
    job = form.task._job
    wait_until(lambda: job.has_ended)
    # Plot jobs start when the tab is polled, and are not part of the walk.
    walk.n_job_steps = 0
    tab.wait(lambda: state.scan is not None)
    tab.close()


WALKS = {
    "genoviz count": walk_count,
    "typed k-mer to hits": walk_kmer,
    "Run to first frame": walk_run,
    "GWAS click to analysis": walk_gwas,
}


@functools.cache
def find_files() -> dict[str, list[str]]:
    """Return the files of all walks, each recorded in its own process."""
    command = [sys.executable, "-m", "tests.house.walks", *WALKS]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    files: dict[str, list[str]] = {name: [] for name in WALKS}
    for line in shown.stdout.splitlines():
        name, _, file = line.partition("\t")
        files[name].append(file)
    return files


def print_files(name: str) -> None:
    """Print the files of a walk, one per line after its name."""
    walk = Walk()
    WALKS[name](walk)
    sys.stdout.writelines(f"{name}\t{file}\n" for file in sorted(walk.files))
    sys.stdout.flush()


def main_of_walks(names: list[str]) -> int:
    """Print the files of some walks, each from a child process that shares the imports."""
    for name in names:
        child = os.fork()
        if child == 0:
            try:
                print_files(name)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main_of_walks(sys.argv[1:]))
