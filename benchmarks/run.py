"""Runs the benchmarks and writes what they measured to ``RESULTS.md`` and the README's table.

Each ``bench_<name>.py`` here has ``measure(backend)``, which returns rows (``rows.py``).
"""

from __future__ import annotations

import argparse
import importlib
import sys
import traceback
from datetime import date
from pathlib import Path

from benchmarks.results import Run, keep_runs, write_tables
from genoviz.backend import describe_machine, resolve_backend

NAMES = sorted(path.stem for path in Path(__file__).parent.glob("bench_*.py"))


def main() -> int:
    """Measure what the command line asks for; return 1 if a benchmark failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"some of: {', '.join(NAMES)}; all if none")
    parser.add_argument("--backend", default="auto", choices=["auto", "cpu", "cuda"])
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(NAMES))
    if unknown:
        parser.error(f"there is no {', '.join(unknown)}; there are {', '.join(NAMES)}")
    backend = resolve_backend(options.backend)
    runs, n_failed = [], 0
    for name in options.names or NAMES:
        print(f"{name} on {backend} ...", flush=True)
        try:
            rows = importlib.import_module(f"benchmarks.{name}").measure(backend)
        except Exception:
            traceback.print_exc()
            n_failed += 1
            continue
        for row in rows:
            ratio = "" if row["ratio"] is None else f", {row['ratio']:.3g}x the peer"
            print(f"  {row['benchmark']}: {row['case']}: {row['ours']:.4g} {row['unit']}{ratio}")
        if rows:
            runs.append(Run(name, backend, describe_machine(), date.today().isoformat(), rows))
        write_tables(keep_runs(runs))
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
