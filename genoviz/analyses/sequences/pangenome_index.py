"""An index of the paths of a graph: each shared stretch once, with the paths that read it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from genoviz.analyses.sequences.fm_index import iter_build_fm_index
from genoviz.analyses.sequences.shared_stretches import SharedStretches, iter_shared_stretches
from genoviz.analyses.sequences.stretch_text import spell_stretches
from genoviz.backend import Backend
from genoviz.errors import ParameterError
from genoviz.generators import last_of
from genoviz.model import PangenomeGraph
from genoviz.model.sequences.fm_index import FMIndex

DEFAULT_MAX_K = 256
SHARING, SPELLING = "Finding what paths share", "Spelling"
_SHARING_FRACTION = 0.2


@dataclass(frozen=True, eq=False)
class PathsOfUnits:
    """How often each path is on each unit: ``paths[offsets[u] : offsets[u + 1]]`` and counts.

    ``offsets`` are int64, shape (n_units + 1,); ``paths`` and ``counts`` int32.
    """

    offsets: np.ndarray
    paths: np.ndarray
    counts: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class PangenomeIndex:
    """K-mers of the paths of a graph, up to ``max_k`` bases.

    What many paths read is in the text once; see ``genoviz.analyses.sequences.shared_stretches``.
    All counts and places are those that searching each path alone gives.

    Attributes
    ----------
    graph
        The graph, with its sequences.
    index
        The FM-index of the stretches, each of which is a contig of its text.
    shared
        The units that stretches are made of, and the steps for which each stands.
    unit_starts
        int64, shape (n_units,): where a unit begins in all stretches one after the other.
    """

    graph: PangenomeGraph
    index: FMIndex
    shared: SharedStretches
    unit_starts: np.ndarray

    def __repr__(self) -> str:
        return (
            f"PangenomeIndex({self.graph.n_paths:,} paths, {self.n_path_bases:,} bp as "
            f"{self.n_stored_bases:,}, k up to {self.max_k:,})"
        )

    @property
    def max_k(self) -> int:
        """Bases of the longest k-mer that can be found."""
        return self.shared.max_k

    @property
    def n_path_bases(self) -> int:
        """Bases of all paths together."""
        return int(self.graph.path_lengths.sum())

    @property
    def n_stored_bases(self) -> int:
        """Bases that are kept for them."""
        return self.index.text.total_length

    @property
    def sharing(self) -> float:
        """How many bases of paths one that is kept stands for; 1 for an empty graph."""
        return self.n_path_bases / self.n_stored_bases if self.n_stored_bases else 1.0

    @cached_property
    def unit_paths(self) -> PathsOfUnits:
        """How often each path is on each unit."""
        shared = self.shared
        step_paths = np.searchsorted(self.graph.path_offsets, shared.stand_steps, side="right") - 1
        is_first = np.ones(len(step_paths), bool)
        is_first[1:] = step_paths[1:] != step_paths[:-1]
        is_first[shared.stand_offsets[:-1]] = True
        firsts = np.flatnonzero(is_first)
        counts = np.diff(np.append(firsts, len(step_paths)))
        offsets = np.searchsorted(firsts, shared.stand_offsets)
        return PathsOfUnits(
            offsets.astype(np.int64), step_paths[firsts].astype(np.int32), counts.astype(np.int32)
        )


@dataclass(frozen=True, eq=False)
class PangenomeProgress:
    """Progress of `iter_build_pangenome_index`.

    Attributes
    ----------
    stage, fraction
        What is being done, and the share of the whole that is done, 0 to 1.
    tied_fractions
        As in `SuffixSortProgress`.
    seconds
        How long each stage took so far.
    n_symbols
        Length of the text that is indexed; 0 before it is known.
    index
        The index, None until the last report.
    block_sizes
        As in `SuffixSortProgress`; None until the suffix array is there.
    """

    stage: str
    fraction: float
    tied_fractions: tuple[float, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    n_symbols: int = 0
    index: PangenomeIndex | None = None
    block_sizes: np.ndarray | None = None


def iter_build_pangenome_index(
    graph: PangenomeGraph, *, max_k: int = DEFAULT_MAX_K, backend: Backend = "auto"
) -> Iterator[PangenomeProgress]:
    """Index the paths of a graph, and give the progress.

    Parameters
    ----------
    graph
        A graph with sequences; a node without one (``*``) reads as N, which matches nothing.
    max_k
        Bases of the longest k-mer that can be found. The more, the less paths share: every
        difference between paths is kept with so many bases around it.
    backend
        Where suffixes are sorted.

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
    for progress in iter_build_fm_index(spelled.sequences, backend=backend):
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


def build_pangenome_index(
    graph: PangenomeGraph, *, max_k: int = DEFAULT_MAX_K, backend: Backend = "auto"
) -> PangenomeIndex:
    """Return an index of the paths of a graph; see `iter_build_pangenome_index`."""
    return last_of(iter_build_pangenome_index(graph, max_k=max_k, backend=backend)).index
