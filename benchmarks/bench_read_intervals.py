"""Reading intervals: million rows a second, beside polars, and the command line beside bedtools."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.real_data import find_real_data
from benchmarks.rows import Row, make_row, median_seconds
from genoviz.io.intervals.intervals import read_intervals
from genoviz.io.intervals.writer import iter_table, write_bed
from genoviz.model import ByteStrings, Intervals

TITLE = "Reading intervals"
N_ROWS = 5_000_000
READS = {
    "BAM, spliced": "intervals/fly_x.bam",
    "CRAM": "intervals/paired_chr2L.cram",
    "bigWig": "intervals/chr9_4-6Mb/bigwig_chr9_4000000_6000000_K562_H3K4me3.bigwig",
    "BED of 50,000 contigs, .gz": "intervals/contigs50k.bed.gz",
}


def measure(backend: str = "cpu") -> list[Row]:
    """Return the rates of reading, and the time of a whole count; CPU only."""
    if backend != "cpu":
        return []
    with tempfile.TemporaryDirectory() as folder:
        bed3, bed6 = Path(folder) / "three.bed", Path(folder) / "six.bed"
        intervals = _make_intervals(N_ROWS)
        columns = (intervals.starts, intervals.ends)
        with bed3.open("wb") as file:
            file.writelines(iter_table(intervals.contigs, intervals.contig_ids, columns))
        write_bed(bed6, intervals)
        rows = [_measure_text("BED3", bed3), _measure_text("BED6", bed6)]
        rows += [_measure_file(case, name) for case, name in READS.items() if find_real_data(name)]
        if shutil.which("bedtools"):
            rows.append(_measure_count(bed3, bed6))
    return rows


def _make_intervals(n: int) -> Intervals:
    generator = np.random.default_rng(0)
    starts = generator.integers(0, 100_000_000, n)
    return Intervals(
        tuple(f"chr{number}" for number in range(1, 23)),
        np.sort(generator.integers(0, 22, n)).astype(np.int32),
        starts,
        starts + generator.integers(10, 1000, n),
        strands=generator.choice(np.array([1, -1], np.int8), n),
        names=ByteStrings.from_integers(0, n),
    )


def _measure_text(case: str, path: Path) -> Row:
    seconds = median_seconds(lambda: read_intervals(path), n_runs=3)
    peer = median_seconds(lambda: pl.read_csv(path, separator="\t", has_header=False), n_runs=3)
    return make_row(
        "Reading intervals, against polars.read_csv",
        f"{case}, {N_ROWS:,} rows",
        ours=N_ROWS / seconds / 1e6,
        peer=N_ROWS / peer / 1e6,
        unit="M rows/s",
        note="polars neither checks the rows nor numbers the contigs",
    )


def _measure_file(case: str, name: str) -> Row:
    path = find_real_data(name)
    n = len(read_intervals(path))
    seconds = median_seconds(lambda: read_intervals(path))
    return make_row(
        "Reading intervals", f"{case}, {n:,} rows", ours=n / seconds / 1e6, unit="M rows/s"
    )


def _measure_count(queries: Path, subjects: Path) -> Row:
    """Return the time of the whole command, reading and writing too."""
    ours = [sys.executable, "-m", "genoviz", "count", queries, subjects]
    theirs = ["bedtools", "intersect", "-c", "-a", queries, "-b", subjects]
    seconds, peer = (
        median_seconds(
            lambda command=command: subprocess.run(
                [str(part) for part in command], check=True, stdout=subprocess.DEVNULL
            ),
            n_runs=1,
            n_warm_ups=warm_ups,
        )
        for command, warm_ups in ((ours, 1), (theirs, 0))
    )
    return make_row(
        "genoviz count, against bedtools intersect -c",
        f"{N_ROWS:,} x {N_ROWS:,} rows, whole command",
        ours=seconds,
        peer=peer,
        unit="s",
        higher_is_better=False,
        note="the same output, byte for byte",
        in_readme=True,
    )
