"""Reading a graph with a progress bar."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from genoviz.cli.progress import ProgressBar
from genoviz.cli.results import print_notes
from genoviz.cli.streams import is_copy

if TYPE_CHECKING:
    from genoviz.model import PangenomeGraph


def read_graph(
    path: Path, bar: ProgressBar, *, cache: bool, sequences: bool = False
) -> PangenomeGraph:
    """Return the graph of a GFA file, by default without sequences; notes go to standard error."""
    from genoviz.io.graph.gfa import iter_read_gfa

    cache = cache and not is_copy(path)
    for progress in iter_read_gfa(path, sequences=sequences, cache=cache):
        bar.update(progress.stage, progress.n_bytes_done, progress.n_bytes_total, "B")
    print_notes(*progress.graph.notes)
    return progress.graph
