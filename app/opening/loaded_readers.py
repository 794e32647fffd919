"""What the process has loaded that those of openings are forked from; not for the server itself.

The readers' compiled loops are loaded when they are first used, so each reads a small file here.
Nothing that starts threads of its own may run, such as Polars: they would be missing in the forked
processes, which would wait for them forever.
"""

from __future__ import annotations

import contextlib

from genoviz.errors import GenovizError
from genoviz.io.graph.gfa import read_gfa
from genoviz.io.intervals.intervals import read_intervals
from genoviz.io.sequences.reader import read_sequences
from genoviz.samples import get_sample
from genoviz_app.opening import (
    genome_files,
    genotype_files,
    index_files,
    overviews,
    track_files,
)

OPENERS = (genome_files, genotype_files, index_files, overviews, track_files)


def read_samples() -> None:
    """Read a small file of each kind."""
    for read, name in (
        (lambda path: read_gfa(path, cache=False), "simulated"),
        (read_intervals, "reads"),
        (read_sequences, "genome"),
    ):
        with contextlib.suppress(GenovizError):
            read(get_sample(name))


if __name__ != "__main__":
    read_samples()
