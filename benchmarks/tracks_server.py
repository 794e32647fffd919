"""A server for `bench_tracks_view`: the dashboard with tracks open.

``python -m benchmarks.tracks_server FILE ...`` opens these files, and without any a simulated
track; it prints its address.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import panel as pn

from genoviz.model import Intervals
from genoviz_app.dashboard import Dashboard
from genoviz_app.opening.track_data import TrackData, prepare
from genoviz_app.opening.track_files import TrackFile
from genoviz_app.server.settings import SETTINGS
from genoviz_app.server.setup import prepare_server

N_INTERVALS = 20_000_000
CONTIG, CONTIG_LENGTH = "chr1", 249_000_000


def main() -> None:
    """Serve until terminated."""
    files = tuple(Path(name) for name in sys.argv[1:])
    SETTINGS.tracks = files
    if not files:
        simulated_track()
    prepare_server()
    server = pn.serve({"/": page}, port=0, show=False, start=False, verbose=False)
    print(f"serving at http://127.0.0.1:{server.port}", flush=True)
    server.start()
    server.io_loop.start()


@cache
def simulated_track() -> TrackData:
    """Return reads of 10 to 1000 bp anywhere on a chromosome, more of them in its middle."""
    generator = np.random.default_rng(4)
    starts = generator.integers(0, CONTIG_LENGTH - 1000, N_INTERVALS)
    starts[::2] = (starts[::2] + CONTIG_LENGTH // 2) // 2
    intervals = Intervals(
        (CONTIG,),
        np.zeros(N_INTERVALS, np.int32),
        starts,
        starts + generator.integers(10, 1001, N_INTERVALS),
        contig_lengths=np.array([CONTIG_LENGTH]),
    )
    return prepare(intervals, "bam")


def page() -> Any:
    """Return the dashboard with the tracks open."""
    pn.extension("filedropper", "tabulator", notifications=True)
    dashboard = Dashboard("?page=tracks")
    if SETTINGS.tracks:
        pn.state.onload(dashboard.open_first)
    else:
        file = TrackFile("", f"{N_INTERVALS:,} intervals", simulated_track())
        pn.state.onload(lambda: setattr(dashboard.session.tracks, "files", (file,)))
    pn.state.on_session_destroyed(dashboard.close)
    pn.state.onload(dashboard.start_polling)
    return dashboard.root


if __name__ == "__main__":
    main()
