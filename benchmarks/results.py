"""The measured rows, kept in ``results.json``, and the tables that are made of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path

from benchmarks.rows import Row

HERE = Path(__file__).parent
STORE = HERE / "results.json"
PAGE = HERE / "RESULTS.md"
README = HERE.parent / "README.md"
SPEED = ("<!-- speed -->\n", "<!-- /speed -->\n")
TITLES = {"cpu": "CPU", "cuda": "GPU"}
KERNEL, CALL, COMMAND, BROWSER = "kernel", "call", "command", "page"
SCOPES = {
    "100,000 samples at 50,000 variants, each step a command": (COMMAND, None),
    "A graph of 10^6 nodes from file to picture": (CALL, None),
    "Count of nodes in 1000 x 700 pixels, against Datashader's Canvas.line": (CALL, CALL),
    "Counting 1,000,000 k-mers in 60,000,000 bases, against sa_search of pydivsufsort": (
        CALL,
        CALL,
    ),
    "GBWT decoding, from compressed records to steps": (KERNEL, None),
    "Genotype products on one GPU, against the least time of float64 on an H100": (KERNEL, KERNEL),
    "Genotypes as commands, against PLINK": (COMMAND, COMMAND),
    "Index within a given memory, peak memory of the process": (COMMAND, COMMAND),
    "Index within a given memory, whole command": (COMMAND, COMMAND),
    "Interval counts on one GPU, against CuPy's sort and binary search": (KERNEL, KERNEL),
    "Interval counts, against NumPy's sort and binary search": (CALL, CALL),
    "K-mer queries on one GPU, 1,000,000 k-mers": (KERNEL, None),
    "Layout from coarse to fine, against path-guided SGD": (KERNEL, KERNEL),
    "Layout: updates/s of the loop, against odgi": (KERNEL, KERNEL),
    "Layout: updates/s on one GPU, against the kernel of Li et al. 2024": (KERNEL, KERNEL),
    "Live picture, layout running, headless Chromium on the same cores": (BROWSER, BROWSER),
    # The article times its program; its cards and patterns are others, too.
    "Off-target kernels": (KERNEL, COMMAND),
    "Off-targets as commands, against Cas-OFFinder 2.4.1": (COMMAND, COMMAND),
    # A call on planes that are ready, against a program that reads its genome and writes rows.
    "Off-targets in 100 Mb, hits sorted, against Cas-OFFinder 2.4.1": (CALL, COMMAND),
    "Off-targets in 100 Mb: comparisons a second, hits sorted": (CALL, COMMAND),
    "Off-targets in a genome of human size, planes on the host": (CALL, None),
    "Products of packed genotypes, 20,000 samples x 50,000 variants": (CALL, CALL),
    "Suffix arrays block by block, against pydivsufsort": (CALL, CALL),
    "Suffix arrays, against pydivsufsort": (CALL, CALL),
    # Jiang and Pei time their program on a card of 2013, for another text.
    "Suffix sorting on one GPU": (KERNEL, COMMAND),
    "Tracks, headless Chromium on the same cores": (BROWSER, None),
}
"""What is timed of ours and of the peer, by table; a ratio has to be of two that are alike."""


@dataclass(frozen=True)
class Run:
    """The rows of one benchmark file on one backend, with where and when they were measured."""

    module: str
    backend: str
    machine: str
    date: str
    rows: list[Row]

    @property
    def gpu(self) -> str:
        """The GPU's name, empty for the CPU."""
        return self.machine.partition("GPU ")[2] if self.backend == "cuda" else ""

    @property
    def key(self) -> tuple[str, str, str]:
        """What a later run replaces."""
        return self.backend, self.module, self.gpu


def load_runs(store: Path = STORE) -> list[Run]:
    """Return the kept runs, CPU before GPU."""
    if not store.exists():
        return []
    return [Run(**fields) for fields in json.loads(store.read_text(encoding="utf-8"))]


def keep_runs(runs: Iterable[Run], store: Path = STORE) -> list[Run]:
    """Add runs to the kept ones, each in place of its forerunner, and return all."""
    kept = {run.key: run for run in [*load_runs(store), *runs]}
    ordered = [kept[key] for key in sorted(kept)]
    text = json.dumps([asdict(run) for run in ordered], indent=1)
    store.write_text(text + "\n", encoding="utf-8")
    return ordered


def write_tables(runs: list[Run], page: Path = PAGE, readme: Path = README) -> None:
    """Write all tables to the results' page, and the chosen rows to the README."""
    page.write_text(render_page(runs), encoding="utf-8")
    if readme.exists():
        text = readme.read_text(encoding="utf-8")
        if all(mark in text for mark in SPEED):
            before, rest = text.split(SPEED[0], 1)
            after = rest.split(SPEED[1], 1)[1]
            filled = before + SPEED[0] + render_speed(runs) + SPEED[1] + after
            readme.write_text(filled, encoding="utf-8")


def render_page(runs: list[Run]) -> str:
    """Return the page with every table, as Markdown."""
    lines = [
        "# Results",
        "",
        "Written by `python -m benchmarks.run`; the numbers are medians. *Ratio* is how many times",
        "better than the peer we are; there is none where the peer's figure is of another scope,",
        "such as a whole command beside a kernel. README.md here says how to repeat them.",
    ]
    for backend, of_backend in groupby(runs, key=lambda run: run.backend):
        lines += ["", f"## {TITLES[backend]}"]
        for run in of_backend:
            for benchmark, rows in _tables(run.rows).items():
                lines += ["", f"### {benchmark}", "", f"{run.machine}; {run.date}; `{run.module}`"]
                lines += ["", "| case | genoviz | peer | unit | ratio | note |"]
                lines += ["|---|---:|---:|---|---:|---|"]
                lines += [f"| {row['case']} | {_cells(row)} | {row['note']} |" for row in rows]
    return "\n".join(lines) + "\n"


def render_speed(runs: list[Run]) -> str:
    """Return the README's table, as Markdown."""
    lines = ["| | on | scope | genoviz | peer | unit | ratio |", "|---|---|---|---:|---:|---|---:|"]
    for run in runs:
        chosen = [row for row in run.rows if row.get("in_readme")]
        where = run.gpu.removeprefix("NVIDIA ") or "CPU"
        lines += [
            f"| {row['benchmark']}: {row['case']} | {where} | {SCOPES[row['benchmark']][0]} "
            f"| {_cells(row if is_alike(row) else {**row, 'peer': None})} |"
            for row in chosen
        ]
    return "\n".join(lines) + "\n"


def is_alike(row: Row) -> bool:
    """Return whether our figure and the peer's are of one scope."""
    ours, peer = SCOPES.get(row["benchmark"], (None, None))
    return peer is None or ours == peer


def _tables(rows: list[Row]) -> dict[str, list[Row]]:
    """Return the rows of each table, tables in the order of their first rows."""
    tables: dict[str, list[Row]] = {}
    for row in rows:
        tables.setdefault(row["benchmark"], []).append(row)
    return tables


def _cells(row: Row) -> str:
    has_ratio = row["ratio"] is not None and is_alike(row)
    ratio = f"{_number(row['ratio'])}x" if has_ratio else ""
    return " | ".join([_number(row["ours"]), _number(row["peer"]), row["unit"], ratio])


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
