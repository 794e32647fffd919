"""Index of the paths of a graph that stores each shared stretch once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from genoviz.analyses.sequences.fm_index import iter_build_fm_index
from genoviz.analyses.sequences.shared_stretches import iter_shared_stretches
from genoviz.analyses.sequences.stretch_text import spell_stretches
from genoviz.backend import Backend
from genoviz.errors import ParameterError
from genoviz.generators import in_one_go
from genoviz.model import PangenomeGraph
from genoviz.model.sequences.pangenome_index import PangenomeIndex

DEFAULT_MAX_K = 256
SHARING, SPELLING = "Finding what paths share", "Spelling"
_SHARING_FRACTION = 0.2


def check_paths(graph: PangenomeGraph) -> None:
    """Reject a graph without paths, in whose index no k-mer would be found."""
    if not graph.n_paths:
        raise ParameterError("the graph has no paths, needs one at least to have k-mers")


@dataclass(frozen=True, eq=False)
class PangenomeProgress:
    """Progress of `iter_build_pangenome_index`.

    Attributes
    ----------
    stage, fraction
        The current stage, and the share of the whole that is done, 0 to 1.
    tied_fractions
        As in `SuffixSortProgress`.
    seconds
        Time spent in each stage so far.
    n_symbols
        Length of the indexed text; 0 before it is known.
    index
        The index in the last report, None before.
    block_sizes
        As in `SuffixSortProgress`; None until the suffix array is complete.
    """

    stage: str
    fraction: float
    tied_fractions: tuple[float, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    n_symbols: int = 0
    index: PangenomeIndex | None = None
    block_sizes: np.ndarray | None = None


def iter_build_pangenome_index(
    graph: PangenomeGraph,
    *,
    max_k: int = DEFAULT_MAX_K,
    sample_rate: int = 1,
    table_k: int | None = None,
    backend: Backend = "auto",
) -> Iterator[PangenomeProgress]:
    """Index the paths of a graph, and yield the progress.

    Parameters
    ----------
    graph
        A graph with sequences; a node without one (``*``) counts as N, which never matches.
    max_k
        Longest k-mer that can be found, in bases. A larger value shares less between paths: every
        difference is stored with this many bases around it.
    sample_rate, table_k
        As for `iter_build_fm_index`.
    backend
        Where to sort suffixes.

    Raises
    ------
    ParameterError
        If the graph was read without sequences, or ``max_k`` is less than 1.
    """
    if max_k < 1:
        raise ParameterError(f"max_k is {max_k:,}, needs to be 1 or more")
    if graph.node_sequences is None:
        raise ParameterError("the graph was opened without its sequences, which are needed here")
    seconds, shared = {SHARING: 0.0}, None
    began = time.perf_counter()
    for n_done, shared in iter_shared_stretches(graph, max_k):
        seconds[SHARING] += time.perf_counter() - began
        fraction = _SHARING_FRACTION * n_done / max(graph.n_steps, 1)
        stage = SHARING if shared is None else SPELLING
        yield PangenomeProgress(stage, fraction, seconds=dict(seconds))
        began = time.perf_counter()
    spelled = spell_stretches(graph, shared)
    seconds[SPELLING] = time.perf_counter() - began
    n_symbols = spelled.sequences.total_length + spelled.sequences.n_sequences
    options = {"sample_rate": sample_rate, "table_k": table_k, "backend": backend}
    for progress in iter_build_fm_index(spelled.sequences, **options):
        built = None
        if progress.index is not None:
            built = PangenomeIndex(graph, progress.index, shared, spelled.unit_starts)
        yield PangenomeProgress(
            progress.stage,
            _SHARING_FRACTION + (1 - _SHARING_FRACTION) * progress.fraction,
            tuple(progress.tied_fractions),
            {**seconds, **progress.seconds},
            n_symbols,
            built,
            progress.block_sizes,
        )


@in_one_go(iter_build_pangenome_index)
def build_pangenome_index(last: PangenomeProgress) -> PangenomeIndex:
    """Return an index of the paths of a graph; parameters as for `iter_build_pangenome_index`."""
    return last.index
