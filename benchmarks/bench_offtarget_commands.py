"""Off-target search as a command: a genome and guides in files, rows in a file.

Both programs are whole commands on the same files in one run, in turn, with what they compile kept
from a run before: Numba's functions, and the OpenCL kernels of Cas-OFFinder 2.4.1, which is
installed under that name (https://github.com/snugel/cas-offinder, -O3 -fopenmp, on pocl).
Their rows must be equal.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks.bench_offtargets import PROGRAM, make_search
from benchmarks.offtarget_genome import make_genome, make_planes
from benchmarks.real_data import find_real_data
from benchmarks.rows import Row, make_row
from genoviz.io.sequences.fasta import write_fasta

COMMANDS = "Off-targets as commands, against Cas-OFFinder 2.4.1"
PAM = "NRG"
MANY_BASES = 20_000_000
SIZES = ((3, 4), (30, 30), (100, 100))
"""Guides, and megabases of a genome that is made here."""
N_RUNS = 5
STOPWATCH = """
import json, os, sys, time
start, quiet = time.perf_counter(), os.open(os.devnull, os.O_RDWR)
pid = os.fork()
if not pid:
    os.dup2(quiet, 1)
    os.execvp(sys.argv[1], sys.argv[1:])
_, status, used = os.wait4(pid, 0)
wall = time.perf_counter() - start
assert status == 0, sys.argv
print(json.dumps([wall, used.ru_utime + used.ru_stime, used.ru_maxrss]))
"""
"""A program that times another: the peak of memory of a process is at least that of its parent."""


class Timed(NamedTuple):
    """Medians of a command, and the rows that it wrote, sorted."""

    wall: float
    cpu: float
    megabytes: float
    rows: list[str]

    @property
    def words(self) -> str:
        """CPU seconds and memory."""
        return f"{self.cpu:.2f} CPU s, {self.megabytes:.0f} MB"


def measure(backend: str) -> list[Row]:
    """Return the rows of the CPU; a GPU is not what the peer was timed on."""
    if backend != "cpu":
        return []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        return [*measure_sizes(path), *measure_yeast(path), *measure_many_hits(path)]


def measure_yeast(folder: Path) -> list[Row]:
    """Return the rows of a real genome; none where it is absent."""
    genome, guides = map(find_real_data, ("genomes/sacCer3.2bit", "offtarget/guides100.json"))
    if genome is None or guides is None:
        print("  sacCer3.2bit and its guides are absent: these rows are left out")
        return []
    padded = [guide + "N" * len(PAM) for guide in json.loads(guides.read_text())]
    rows = []
    for limit in (3, 6):
        request = write_request(folder, genome, padded, "N" * 20 + PAM, limit)
        rows += compare(folder, request, f"yeast, 100 guides, {PAM}, {limit} mismatches")
    return rows


def measure_sizes(folder: Path) -> list[Row]:
    """Return the rows of genomes of several sizes."""
    rows = []
    for n_guides, size in SIZES:
        records = make_genome(size * 1_000_000)
        guides, pattern = make_search(make_planes(records), n_guides, PAM)
        path = folder / f"genome{size}.fa"
        write_fasta(records, path)
        request = write_request(folder, path, guides, pattern, 3)
        noun = f"{size} Mb of FASTA, {n_guides} guides, {PAM}, 3 mismatches"
        rows += compare(folder, request, noun)
    return rows


def compare(folder: Path, request: Path, case: str) -> list[Row]:
    """Return the rows of one search, its genome read anew and kept from before."""
    command = [sys.executable, "-m", "genoviz", "offtarget", str(request), "C"]
    cache = folder / "cache"
    ways: list[tuple[str, list[str], Callable[[], None]]] = [
        ("genome read anew", command, lambda: shutil.rmtree(cache, ignore_errors=True)),
        ("genome kept from before", command, lambda: None),
    ]
    if shutil.which(PROGRAM):
        ways.append(("peer", [PROGRAM, str(request), "C"], lambda: None))
    else:
        print(f"  {PROGRAM} is not installed: there is no peer")
    runs: dict[str, list[Timed]] = {name: [] for name, *_ in ways}
    for turn in range(1 + N_RUNS):
        for name, words, prepare in ways:
            prepare()
            found = time_command(words, folder)
            if turn:  # the first compiles
                runs[name].append(found)
    medians = {name: middle(timed) for name, timed in runs.items()}
    peer = medians.pop("peer", None)
    rows = []
    for name, ours in medians.items():
        note = f"{len(ours.rows):,} rows; {ours.words}"
        if peer is not None:
            assert ours.rows == peer.rows, f"{len(ours.rows)} rows, the peer has {len(peer.rows)}"
            note += f", the peer {peer.words}: {peer.cpu / ours.cpu:.3g}x in CPU s"
        rows.append(
            make_row(
                COMMANDS,
                f"{case}, {name}",
                ours=ours.wall,
                peer=None if peer is None else peer.wall,
                unit="s",
                higher_is_better=False,
                note=note,
                in_readme="anew" in name,
            )
        )
    return rows


def middle(timed: list[Timed]) -> Timed:
    """Return the medians of several runs."""
    wall, cpu, megabytes = (
        statistics.median(column) for column in list(zip(*timed, strict=True))[:3]
    )
    return Timed(wall, cpu, megabytes, timed[0].rows)


def measure_many_hits(folder: Path) -> list[Row]:
    """Return what 10^8 rows take, more than memory is meant to hold; they go nowhere."""
    records = make_genome(MANY_BASES)
    guides, pattern = make_search(make_planes(records), 200, PAM)
    write_fasta(records, folder / "many.fa")
    request = write_request(folder, folder / "many.fa", guides, pattern, 12)
    command = [sys.executable, "-m", "genoviz", "offtarget", str(request), "C", "-"]
    (wall, cpu, kilobytes), said = run_apart(command, folder)
    case = f"20 Mb, 200 guides, {PAM}, 12 mismatches: peak of memory"
    note = f"{said.splitlines()[-1].split()[0]} rows in {cpu:.1f} CPU s, {wall:.0f} s"
    return [make_row(COMMANDS, case, ours=kilobytes / 1024, unit="MB", note=note)]


def write_request(folder: Path, genome: Path, guides: list[str], pattern: str, limit: int) -> Path:
    """Write an input file, as both programs read it."""
    path = folder / f"{genome.stem}_{limit}.txt"
    lines = [str(genome), pattern, *(f"{guide} {limit}" for guide in guides)]
    path.write_text("\n".join(lines) + "\n")
    return path


def time_command(command: list[str], folder: Path) -> Timed:
    """Time a command whose last argument is the file that it writes."""
    output = folder / "rows.txt"
    (wall, cpu, kilobytes), _ = run_apart([*command, str(output)], folder)
    return Timed(wall, cpu, kilobytes / 1024, sorted(output.read_text().splitlines()))


def run_apart(command: list[str], folder: Path) -> tuple[list[float], str]:
    """Return what `STOPWATCH` tells of a command, and what the command says."""
    environment = {**os.environ, "GENOVIZ_CACHE_DIR": str(folder / "cache")}
    watched = [sys.executable, "-S", "-c", STOPWATCH, *command]
    done = subprocess.run(watched, check=True, capture_output=True, text=True, env=environment)
    return json.loads(done.stdout), done.stderr
