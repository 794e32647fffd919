"""From a GFA file to a picture with a simulated graph of a million nodes: times and memory.

All steps run in one fresh process, so that the peak memory after each is theirs and that of the
steps before.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.rows import Row, make_row

TITLE = "A graph of 10^6 nodes from file to picture"


def measure(backend: str) -> list[Row]:
    """Return the time of each step, its peak memory in the note."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "GENOVIZ_CACHE_DIR": folder}
        command = [sys.executable, "-m", __name__, folder, backend]
        # The first process compiles the kernels and writes the graph.
        for _ in range(2):
            done = subprocess.run(
                command, check=True, capture_output=True, text=True, env=environment
            )
    return [
        make_row(
            TITLE,
            step["name"],
            ours=step["seconds"],
            unit="s",
            note=f"{step['result']}; peak memory {step['peak_mb']:,.0f} MB",
            in_readme=step["name"].startswith("lay out"),
        )
        for step in json.loads(done.stdout)
    ]


def peak_memory_mb() -> float:
    """Return the most memory that this process has had, MB.

    ``getrusage`` would count the parent's as well.
    """
    status = Path("/proc/self/status").read_text().splitlines()
    (peak,) = (line for line in status if line.startswith("VmHWM"))
    return int(peak.split()[1]) / 1024


def run_steps(folder: Path, backend: str) -> list[dict[str, Any]]:
    """Run all steps and return what each took."""
    from genoviz.analyses.graph.layout.multilevel import multilevel_layout
    from genoviz.analyses.graph.layout.stress import sampled_path_stress
    from genoviz.analyses.graph.picture.drawing import LayoutDrawing
    from genoviz.analyses.graph.picture.viewport import Viewport
    from genoviz.analyses.simulation.graphs import SIMULATION_PRESETS, simulate_pangenome
    from genoviz.backend import load_kernel
    from genoviz.io.graph.gfa import read_gfa
    from genoviz.io.graph.gfa_writer import write_gfa

    for name in ("path_sweep", "path_views"):
        load_kernel(name, backend)
    path = folder / "million.gfa"
    if not path.exists():
        write_gfa(simulate_pangenome(**SIMULATION_PRESETS["million"], sequences=True), path)
    steps: list[dict[str, Any]] = []

    def timed(name: str, function: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        result = function()
        seconds = time.perf_counter() - start
        steps.append(
            {"name": name, "seconds": seconds, "result": str(result), "peak_mb": peak_memory_mb()}
        )
        return result

    size = f"read {path.stat().st_size / 1e6:,.0f} MB of GFA"
    graph = timed(size, lambda: read_gfa(path, cache=False))
    read_gfa(path)
    timed("open it again, cached", lambda: read_gfa(path))
    layout = timed("lay out", lambda: multilevel_layout(graph, backend=backend))

    def draw() -> str:
        drawing = LayoutDrawing(layout.coordinates, backend=backend)
        indices = drawing.palette_indices(Viewport.fit(layout.bounds, 1200, 800, keep_aspect=False))
        return f"{int((indices > 0).sum()):,} pixels drawn"

    timed("draw 1200 x 800 pixels", draw)

    def stress() -> str:
        result = sampled_path_stress(graph, layout, n_samples=10**7, backend=backend)
        return f"{result.mean:.3g} ({result.ci_low:.3g} to {result.ci_high:.3g})"

    timed("sample the path stress 10^7 times", stress)
    return steps


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run_steps(Path(sys.argv[1]), sys.argv[2])))
