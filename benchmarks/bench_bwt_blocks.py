"""Indexes built block by block within a given memory: whole commands, and repeats of one unit.

The commands (``genoviz bwt build``) run in processes of their own, with and without ``--memory``,
on the same FASTA file; their peak of memory is what the system says of the process. The two indexes
must be the same file. The largest text, of 1.5 Gb, is only built within the memory.

Repeats are sorted in one block, as there is memory for it, beside pydivsufsort on one thread.
"""

from __future__ import annotations

import filecmp
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.bench_suffix_sort import REPEAT_SIZES, REPEATS, make_repeat, make_text
from benchmarks.human_like import LETTERS, make_human_like
from benchmarks.rows import Row, make_row, median_seconds
from genoviz.kernels.suffix_sort import COVER_BITS, cpu
from genoviz.model.sequences.index_text import IndexText

TIMES = "Index within a given memory, whole command"
PEAKS = "Index within a given memory, peak memory of the process"
ON_REPEATS = "Suffix arrays block by block, against pydivsufsort"
PART = 250_000_000
# Parts of the text, the memory, and whether the index in memory is made too.
COMMANDS = ((1, "1.4G", True), (6, "4G", False))


def measure(backend: str) -> list[Row]:
    """Return the rows of the CPU; blocks are not sorted elsewhere."""
    if backend != "cpu":
        return []
    return sorted(
        [*measure_repeats(), *measure_commands()], key=lambda row: (row["benchmark"], row["unit"])
    )


def measure_repeats() -> list[Row]:
    """Return the times of texts that repeat themselves, each checked against the peer's rows."""
    import pydivsufsort

    texts = {name: partial(make_repeat, *unit) for name, unit in REPEATS.items()}
    texts |= {"all A": lambda n: np.full(n, LETTERS[0]), "Fibonacci": make_fibonacci}
    rows = []
    for n in REPEAT_SIZES:
        for name, make in texts.items():
            letters = make(n)
            text = make_text(letters)
            expected = pydivsufsort.divsufsort(letters)
            np.testing.assert_array_equal(sort_in_blocks(text)[1:], expected)
            peer = median_seconds(partial(pydivsufsort.divsufsort, letters), n_runs=3)
            ours = median_seconds(partial(sort_in_blocks, text), n_runs=3)
            rows.append(
                make_row(
                    ON_REPEATS,
                    f"{name}, {n // 10**6} Mb, all cores",
                    ours=ours,
                    peer=peer,
                    unit="s",
                    higher_is_better=False,
                )
            )
    return rows


def make_fibonacci(n_bases: int) -> np.ndarray:
    """Return the beginning of the Fibonacci word of A and C."""
    shorter, longer = b"A", b"AC"
    while len(longer) < n_bases:
        shorter, longer = longer, longer + shorter
    return np.frombuffer(longer[:n_bases], np.uint8).copy()


def sort_in_blocks(text: IndexText) -> np.ndarray:
    """Return the suffix array, collected from its blocks."""
    n = text.n_symbols
    found = cpu.iter_sort_blocks(text.packed, n, text.exceptions, n, COVER_BITS[0], 0)
    return np.concatenate([rows.copy() for *_, rows in found if rows is not None])


def measure_commands() -> list[Row]:
    """Return time and peak memory of whole commands."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for n_parts, memory, is_compared in COMMANDS:
            fasta = Path(folder) / "text.fa"
            write_human_like(fasta, n_parts)
            found = run_build(fasta, "--memory", memory)
            peer: tuple[float, float] | tuple[None, None] = (None, None)
            note = "no peer: the index in memory needs 9 GB and more"
            if is_compared:
                note = "the file is that of the index in memory"
                peer = run_build(fasta, output="memory.gvfm")
                files = fasta.with_name("x.gvfm"), fasta.with_name("memory.gvfm")
                if not filecmp.cmp(*files, shallow=False):
                    raise AssertionError("the two indexes are not the same file")
            case = f"human-like, {n_parts * PART // 10**6:,} Mb, --memory {memory}, all cores"
            for i, (table, unit) in enumerate(((TIMES, "s"), (PEAKS, "GB"))):
                figures = {"ours": found[i], "peer": peer[i], "unit": unit, "note": note}
                rows.append(make_row(table, case, higher_is_better=False, **figures))
    return rows


def write_human_like(path: Path, n_parts: int) -> None:
    """Write a FASTA file of human-like contigs, which differ."""
    with path.open("wb") as file:
        for seed in range(1, n_parts + 1):
            file.write(b">chr%d\n" % seed)
            file.write(make_human_like(PART, seed).tobytes() + b"\n")


def run_build(fasta: Path, *options: str, output: str = "x.gvfm") -> tuple[float, float]:
    """Return seconds and peak memory, in GB, of a command."""
    command = ["bwt", "build", str(fasta), "-o", str(fasta.with_name(output))]
    command = [sys.executable, "-m", "genoviz", *command, "--sample-rate", "32", *options]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return time.perf_counter() - start, usage.ru_maxrss * 1024 / 1e9
