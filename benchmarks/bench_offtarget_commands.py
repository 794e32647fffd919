"""Off-target search as a command: a genome and guides in files, rows in a file.

Programs are timed in CPU seconds of the whole command, as other work may run beside. Those of
Cas-OFFinder 2.4.1 (pocl, two cores of an AMD EPYC) are quoted for the genome of yeast (sacCer3,
12 Mb, 2bit) and the same 100 guides, of which both find the same number of sites; where the program
is installed it is run anew. For 100 Mb its figure is of another genome of the same recipe, so that
it stands in a note.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.bench_offtargets import N_BASES, PROGRAM, make_search
from benchmarks.offtarget_genome import make_genome, make_planes
from benchmarks.real_data import find_real_data
from benchmarks.rows import Row, make_row
from genoviz.io.sequences.fasta import write_fasta

COMMANDS = "Off-targets as commands, against Cas-OFFinder 2.4.1"
PAM = "NRG"
MANY_BASES = 20_000_000
# CPU seconds and rows by mismatches.
OF_YEAST = {3: (5.1, None), 6: (9.3, 10_885)}
OF_100_MB = "Cas-OFFinder took 50.4 CPU s for another genome of this recipe"


def measure(backend: str) -> list[Row]:
    """Return the rows of the CPU; a GPU is not what the peer was timed on."""
    if backend != "cpu":
        return []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        return [*measure_yeast(path), *measure_100_mb(path), *measure_many_hits(path)]


def measure_yeast(folder: Path) -> list[Row]:
    """Return the rows of a real genome; none where it is absent."""
    genome, guides = map(find_real_data, ("genomes/sacCer3.2bit", "offtarget/guides100.json"))
    if genome is None or guides is None:
        print("  sacCer3.2bit and its guides are absent: these rows are left out")
        return []
    rows = []
    for limit, (peer, expected) in OF_YEAST.items():
        padded = [guide + "N" * len(PAM) for guide in json.loads(guides.read_text())]
        request = write_request(folder, genome, padded, "N" * 20 + PAM, limit)
        said = "peer quoted"
        if shutil.which(PROGRAM):
            peer, _, _ = time_command([PROGRAM, str(request), "C"], folder)
            said = "peer run here"
        cpu, wall, n_rows = time_genoviz(request, folder, warm_up=limit == min(OF_YEAST))
        assert expected in (None, n_rows), f"{n_rows} rows, the peer has {expected}"
        rows.append(
            make_row(
                COMMANDS,
                f"yeast, 100 guides, {PAM}, {limit} mismatches, genome read anew",
                ours=cpu,
                peer=peer,
                unit="CPU s",
                higher_is_better=False,
                note=f"{n_rows:,} rows in {wall:.2f} s, beside other work; {said}",
                in_readme=True,
            )
        )
    return rows


def measure_100_mb(folder: Path) -> list[Row]:
    """Return the rows of a genome of 100 Mb that is made here."""
    records = make_genome(N_BASES)
    guides, pattern = make_search(make_planes(records), 100, PAM)
    write_fasta(records, folder / "genome.fa")
    request = write_request(folder, folder / "genome.fa", guides, pattern, 3)
    rows = []
    for name in ("genome read anew", "genome kept from before"):
        cpu, wall, n_rows = time_genoviz(request, folder, is_new=name == "genome read anew")
        case = f"100 Mb of FASTA, 100 guides, {PAM}, 3 mismatches, {name}"
        note = f"{n_rows:,} rows in {wall:.2f} s, beside other work; {OF_100_MB}"
        rows.append(make_row(COMMANDS, case, ours=cpu, unit="CPU s", note=note))
    return rows


def measure_many_hits(folder: Path) -> list[Row]:
    """Return what 10^8 rows take, more than memory is meant to hold; they go nowhere."""
    records = make_genome(MANY_BASES)
    guides, pattern = make_search(make_planes(records), 200, PAM)
    write_fasta(records, folder / "many.fa")
    request = write_request(folder, folder / "many.fa", guides, pattern, 12)
    command = [sys.executable, "-m", "genoviz", "offtarget", str(request), "C", "-"]
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as running:
        n_rows = running.stderr.read().decode().splitlines()[-1].split()[0]
        _, status, used = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
    assert running.returncode == 0
    case = f"20 Mb, 200 guides, {PAM}, 12 mismatches: peak of memory"
    note = f"{n_rows} rows in {used.ru_utime + used.ru_stime:.1f} CPU s, "
    note += (
        f"{time.perf_counter() - start:.0f} s beside other work; 2,920 MB with all hits in memory"
    )
    return [make_row(COMMANDS, case, ours=used.ru_maxrss / 1024, unit="MB", note=note)]


def write_request(folder: Path, genome: Path, guides: list[str], pattern: str, limit: int) -> Path:
    """Write an input file, as both programs read it."""
    path = folder / f"{genome.stem}_{limit}.txt"
    lines = [str(genome), pattern, *(f"{guide} {limit}" for guide in guides)]
    path.write_text("\n".join(lines) + "\n")
    return path


def time_genoviz(
    request: Path, folder: Path, *, is_new: bool = True, warm_up: bool = False
) -> tuple[float, float, int]:
    """Return CPU and wall seconds of our command, and its rows; compiled before."""
    command = [sys.executable, "-m", "genoviz", "offtarget", str(request), "C"]
    if warm_up:
        time_command(command, folder)
    if is_new:
        shutil.rmtree(folder / "cache", ignore_errors=True)
    return time_command(command, folder)


def time_command(command: list[str], folder: Path) -> tuple[float, float, int]:
    """Return CPU and wall seconds of a command, and the lines of the file that it writes."""
    output = folder / "rows.txt"
    environment = {**os.environ, "GENOVIZ_CACHE_DIR": str(folder / "cache")}
    began, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([*command, str(output)], check=True, capture_output=True, env=environment)
    wall, ended = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = ended.ru_utime - began.ru_utime + ended.ru_stime - began.ru_stime
    return cpu, wall, len(output.read_text().splitlines())
