"""Commands of ``genoviz geno`` against those of PLINK, on the same files, from start to end.

Each command is a process of its own and writes its table. What is compared is the processor time of
both, because it depends less on what else the machine does; times on the clock are in the notes.
Commands of seconds are run three times in turns; the medians are kept. PLINK 1.9 stands in where
PLINK 2.00a3 has no such command.
"""

from __future__ import annotations

import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.rows import Row, make_row
from genoviz import Genotypes, simulate_genotypes, write_plink
from genoviz.analyses.genotypes.selection import select_samples

TITLE = "Genotypes as commands, against PLINK"
N_SAMPLES, N_VARIANTS, N_COVARIATES = 20_000, 50_000, 3
N_PAIRED, N_LOGISTIC, MISSING_RATE = 2_000, 2_000, 0.01
PEERS = ("plink2", "plink1.9")
N_RUNS, LONG_SECONDS = 3, 10.0
TRAIT = "--pheno {0}.traits --trait trait --covar {0}.covar"
PLINK_TRAIT = "--pheno {0}.traits --pheno-name trait --covar {0}.covar --glm hide-covar"
CASE = "--pheno {0}.traits --trait case --covar {0}.covar --model logistic"
PLINK_CASE = "--pheno {0}.traits --pheno-name case --covar {0}.covar --glm hide-covar no-firth"
CASES = {
    "frequencies": ("freq full.bed -o freq.tsv", "plink2 --bfile full --freq"),
    "missing genotypes and Hardy-Weinberg tests": (
        "freq full.bed --samples samples.tsv -o freq.tsv",
        "plink2 --bfile full --freq --missing --hardy",
    ),
    "linear association": (
        f"gwas full.bed {TRAIT} -o gwas.tsv",
        f"plink2 --bfile full {PLINK_TRAIT}",
    ),
    f"linear association, {MISSING_RATE:.0%} missing": (
        f"gwas holed.bed {TRAIT} -o gwas.tsv",
        f"plink2 --bfile holed {PLINK_TRAIT}",
    ),
    f"logistic association, {N_LOGISTIC:,} variants": (
        f"gwas few.bed {CASE} -o gwas.tsv",
        f"plink2 --bfile few {PLINK_CASE}",
    ),
    "pruning": (
        "prune full.bed --window 50 --step 5 --max-r2 0.2 -o kept.tsv",
        "plink2 --bfile full --indep-pairwise 50 5 0.2",
    ),
    "linkage, 10 variants": (
        "ld full.bed --window 11 --window-kb 1000000 --min-r2 0.2 -o ld.tsv",
        "plink1.9 --bfile full --r2 --ld-window 11 --ld-window-kb 1000000 --ld-window-r2 0.2",
    ),
    "clumping": (
        "clump full.bed scan.tsv --index-p 0.01 -o clumps.tsv",
        "plink1.9 --bfile full --clump scan.tsv --clump-p1 0.01 --clump-snp-field ID",
    ),
    "score": (
        "score full.bed weights.tsv -o score.tsv",
        "plink2 --bfile full --score weights.tsv 1 2 3 header",
    ),
    "conversion to .bed of common variants": (
        "convert full.bed --maf 0.1 -o common",
        "plink2 --bfile full --maf 0.1 --make-bed",
    ),
    f"10 components, {N_PAIRED:,} samples": (
        "pca paired.bed -k 10 -o pca.tsv",
        "plink2 --bfile paired --pca approx 10",
    ),
    f"kinship, {N_PAIRED:,} samples": (
        "king paired.bed --at-least 0.0442 -o king.tsv",
        "plink2 --bfile paired --make-king-table --king-table-filter 0.0442",
    ),
    f"relationships, {N_PAIRED:,} samples": (
        "grm paired.bed --method gcta -o grm.npy",
        "plink2 --bfile paired --make-rel bin square",
    ),
}


@dataclass(frozen=True)
class Usage:
    """What a process took: seconds of the processors, and on the clock."""

    cpu: float
    wall: float


def measure(backend: str) -> list[Row]:
    """Return the processor time of each command, and of that of PLINK; no rows without it."""
    if backend != "cpu" or not all(map(shutil.which, PEERS)):
        return []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder)
        return [row(case, folder) for case in CASES]


def row(case: str, folder: Path) -> Row:
    """Return the medians of a command and its peer."""
    ours, theirs = (arguments.replace("{0}", "full") for arguments in CASES[case])
    mine = [sys.executable, "-m", "genoviz", "geno", *shlex.split(ours)]
    peer = [*shlex.split(theirs), "--out", "plink"]
    run(mine, folder)  # compiles, and brings the file into the cache of the system
    found: list[list[Usage]] = [[], []]
    while not found[0] or (len(found[0]) < N_RUNS and found[1][0].cpu < LONG_SECONDS):
        for usages, command in zip(found, (mine, peer), strict=True):
            usages.append(run(command, folder))
    cpu, wall = (
        [statistics.median(getattr(usage, name) for usage in usages) for usages in found]
        for name in ("cpu", "wall")
    )
    note = f"{wall[0]:.2f} against {wall[1]:.2f} s on the clock; `geno {ours}`, `{theirs}`"
    return make_row(
        TITLE, case, ours=cpu[0], peer=cpu[1], unit="CPU s", higher_is_better=False, note=note
    )


def run(command: list[str], folder: Path) -> Usage:
    """Run a command in a folder to its end."""
    root = str(Path(__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": root, "CUDA_VISIBLE_DEVICES": ""}
    # An installed program has its byte code; this one writes it in the first run.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    start = time.perf_counter()
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{shlex.join(command)}: {(folder / 'log').read_text()}")
    return Usage(usage.ru_utime + usage.ru_stime, wall)


def write_files(folder: Path) -> None:
    """Write genotypes without and with missing ones, parts of them, traits, a scan and weights."""
    full = simulate_genotypes(N_SAMPLES, N_VARIANTS, n_contigs=20, seed=1, n_populations=3)
    holed = simulate_genotypes(
        N_SAMPLES, N_VARIANTS, n_contigs=20, seed=1, n_populations=3, missing_rate=MISSING_RATE
    )
    few = full.take_variants(slice(0, N_LOGISTIC))
    paired = select_samples(full, np.arange(0, N_SAMPLES, N_SAMPLES // N_PAIRED))
    parts = {"full": full, "holed": holed, "few": few, "paired": paired}
    for name, part in parts.items():
        write_plink(part, folder / name)
    write_tables(full, folder)


def write_tables(genotypes: Genotypes, folder: Path) -> None:
    """Write a trait, its cases, covariates, p values and weights."""
    generator = np.random.default_rng(2)
    covariates = generator.normal(size=(N_SAMPLES, N_COVARIATES))
    trait = generator.normal(size=N_SAMPLES) + covariates[:, 0]
    samples, variants = genotypes.samples, genotypes.variants
    names = [f"{a}\t{b}" for a, b in zip(samples.family_ids, samples.ids, strict=True)]
    headers = {"full.traits": ["trait", "case"], "full.covar": [f"C{k}" for k in range(3)]}
    columns = np.column_stack([trait, (trait > 0) + 1.0]), covariates
    for (name, header), values in zip(headers.items(), columns, strict=True):
        lines = ["\t".join(["#FID", "IID", *header])]
        rows = zip(names, values.tolist(), strict=True)
        lines += ["\t".join([who, *map(str, row)]) for who, row in rows]
        (folder / name).write_text("\n".join(lines) + "\n")
    p = generator.uniform(size=len(variants)) ** 2
    lines = [f"{a}\t{b}" for a, b in zip(variants.ids, p.tolist(), strict=True)]
    (folder / "scan.tsv").write_text("\n".join(["ID\tP", *lines]) + "\n")
    weights = generator.normal(size=len(variants)).tolist()
    rows = zip(variants.ids, variants.allele1, weights, strict=True)
    lines = [f"{a}\t{b}\t{c}" for a, b, c in rows]
    (folder / "weights.tsv").write_text("\n".join(["ID\tA1\tBETA", *lines]) + "\n")
