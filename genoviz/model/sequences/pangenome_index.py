"""Index of the paths of a graph that stores each shared stretch once."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from genoviz.errors import n_words
from genoviz.model.graph.pangenome import PangenomeGraph
from genoviz.model.sequences.fm_index import FMIndex


@dataclass(frozen=True, eq=False)
class SharedStretches:
    """Units of path steps, without duplicates, in the order of their stretches.

    A path with mostly reverse steps is traversed backward (``is_turned``), so that it shares
    stretches with paths of the other direction.

    Attributes
    ----------
    max_k
        Window length in bases.
    is_turned
        bool, shape (n_paths,).
    steps
        int64, shape (n_units,): a step with the unit, numbered in walk order.
    shifts, lengths
        int64, shape (n_units,): first base within the step, and number of bases, along the walk.
    is_head
        bool, shape (n_units,): whether the unit starts a stretch.
    stand_offsets
        int64, shape (n_units + 1,): unit ``u`` occurs on ``stand_steps[stand_offsets[u] :
        stand_offsets[u + 1]]``.
    stand_steps
        int64: steps of the graph, in path order.
    """

    max_k: int
    is_turned: np.ndarray
    steps: np.ndarray
    shifts: np.ndarray
    lengths: np.ndarray
    is_head: np.ndarray
    stand_offsets: np.ndarray
    stand_steps: np.ndarray

    @property
    def n_units(self) -> int:
        """Number of units."""
        return len(self.steps)


@dataclass(frozen=True, eq=False)
class PathsOfUnits:
    """Occurrences of units on paths: ``paths[offsets[u] : offsets[u + 1]]`` and their counts.

    ``offsets`` are int64, shape (n_units + 1,); ``paths`` and ``counts`` int32.
    """

    offsets: np.ndarray
    paths: np.ndarray
    counts: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class PangenomeIndex:
    """K-mers of the paths of a graph, up to ``max_k`` bases.

    Stretches that many paths share are stored once; see
    ``genoviz.analyses.sequences.shared_stretches``. All counts and places equal those of searching
    each path separately.

    Attributes
    ----------
    graph
        The graph, with its sequences.
    index
        The FM-index of the stretches; each stretch is a contig of its text.
    shared
        The units of the stretches, and the steps on which they occur.
    unit_starts
        int64, shape (n_units,): start of each unit in the concatenated stretches.
    """

    graph: PangenomeGraph
    index: FMIndex
    shared: SharedStretches
    unit_starts: np.ndarray

    def __repr__(self) -> str:
        return (
            f"PangenomeIndex({n_words(self.graph.n_paths, 'path')}, {self.n_path_bases:,} bp as "
            f"{self.n_stored_bases:,}, k up to {self.max_k:,})"
        )

    @property
    def max_k(self) -> int:
        """Length of the longest k-mer that can be found."""
        return self.shared.max_k

    @property
    def n_path_bases(self) -> int:
        """Total length of all paths."""
        return int(self.graph.path_lengths.sum())

    @property
    def n_stored_bases(self) -> int:
        """Number of stored bases."""
        return self.index.text.total_length

    @property
    def n_bytes(self) -> int:
        """Size of all arrays that an index file stores."""
        graph, names = self.graph, self.graph.node_names
        arrays = [names.data, names.offsets, graph.node_lengths, graph.path_offsets, graph.steps]
        arrays += [getattr(self.shared, field.name) for field in fields(self.shared)]
        n_more = sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))
        return self.index.n_bytes + self.unit_starts.nbytes + n_more

    @property
    def sharing(self) -> float:
        """Path bases per stored base; 1 for an empty graph."""
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
