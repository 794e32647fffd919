"""From 100,000 samples at 50,000 variants to breeding values: times and memory of the commands.

Each step is a process of its own, as a user starts it, so that its time has imports, reading and
writing in it, and its peak memory the pages of the .bed file that it looked at.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.rows import Row, make_row

TITLE = "100,000 samples at 50,000 variants, each step a command"
N_SAMPLES, N_VARIANTS = 100_000, 50_000
N_RELATED = 5_000

STEPS = {
    "quality": "freq large.bed --samples samples.tsv -o freq.tsv",
    "10 principal components": "pca large.bed --maf 0.01 -o pca.tsv",
    f"relationships of {N_RELATED:,} samples": "grm large.bed --keep some.txt -o grm.npy",
    "association": "gwas large.bed --pheno large.pheno.tsv --trait trait -o gwas.tsv",
    "association in a mixed model": (
        "gwas large.bed --pheno large.pheno.tsv --trait trait --model mixed --tests calibrated "
        "-o mixed.tsv"
    ),
    "SNP-BLUP": "blup large.bed --pheno large.pheno.tsv --trait trait --heritability 0.3 -o bv.tsv",
}


def measure(backend: str) -> list[Row]:
    """Return the time of each step, its peak memory in the note."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        small = "simulate -n 2000 -m 500 --contigs 20 -o large"
        large = f"simulate -n {N_SAMPLES} -m {N_VARIANTS} --contigs 20 --populations 3 -o large"
        # The first time compiles.
        for command in (small, *STEPS.values()):
            (folder / "some.txt").write_text("".join(f"sample{k}\n" for k in range(1, 1001)))
            run(command, folder, backend)
        rows = [row("simulation", large, folder, backend)]
        ids = [line.split()[1] for line in (folder / "large.fam").open()]
        (folder / "some.txt").write_text("\n".join(ids[: N_RELATED * 7 : 7]))
        return [*rows, *(row(name, command, folder, backend) for name, command in STEPS.items())]


def row(name: str, command: str, folder: Path, backend: str) -> Row:
    """Return what a step took."""
    seconds, peak_mb = run(command, folder, backend)
    return make_row(TITLE, name, ours=seconds, unit="s", note=f"peak memory {peak_mb:,.0f} MB",
                    in_readme=name in ("10 principal components", "SNP-BLUP"))  # fmt: skip


def run(command: str, folder: Path, backend: str) -> tuple[float, float]:
    """Run ``genoviz geno`` with a command's arguments; return its seconds and peak memory, MB."""
    arguments = [sys.executable, "-m", "genoviz", "geno", *shlex.split(command)]
    if not command.startswith("simulate"):
        arguments += ["--backend", backend]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    start = time.perf_counter()
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(arguments, cwd=folder, stdout=log, stderr=log, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command}: {(folder / 'log').read_text()}")
    return time.perf_counter() - start, usage.ru_maxrss / 1024
