"""Preloads the readers in the fork server of the opening processes; not for the server itself.

Compiled loops are loaded on first use, so each reader reads a small file here. Nothing that starts
threads, such as Polars, may run here: forked processes would lack these threads and wait for them
forever.
"""

from __future__ import annotations

import contextlib
import gc
from types import ModuleType

from genoviz.errors import GenovizError
from genoviz.numba_start import start_light


def load_readers() -> tuple[ModuleType, ...]:
    """Read a small file of each kind; return the modules that bring the readers of others.

    What only compiles is not loaded. Forked processes share the memory of this one as long as it is
    not visited, as by a collection of garbage.
    """
    start_light()
    gc.disable()
    from genoviz_app.opening import (
        genome_files,
        genotype_files,
        index_files,
        overviews,
        track_files,
    )

    read_samples()
    gc.freeze()
    gc.enable()
    return genome_files, genotype_files, index_files, overviews, track_files


def read_samples() -> None:
    """Read a small file of each kind."""
    # Imported here, so that Numba is not before `start_light`.
    from genoviz.io.graph.gfa import read_gfa
    from genoviz.io.intervals.intervals import read_intervals
    from genoviz.io.sequences.reader import read_sequences
    from genoviz.samples import get_sample

    for read, name in (
        (lambda path: read_gfa(path, cache=False), "simulated"),
        (read_intervals, "reads"),
        (read_sequences, "genome"),
    ):
        with contextlib.suppress(GenovizError):
            read(get_sample(name))


if __name__ != "__main__":
    load_readers()
