"""The paths of a graph as a genome to search in: read as far as they are looked at."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from genoviz.analyses.graph.query.spell import spell_handles
from genoviz.analyses.offtargets.paths import PathOffTargets
from genoviz.errors import GenovizError
from genoviz.model import PangenomeGraph
from genoviz.model.offtargets.hits import COLUMNS, AlignedLetters, OffTargetHits

USUAL_REFERENCES = ("grch38", "chm13")
MAX_REFERENCES = 1_000


@dataclass(frozen=True, eq=False)
class PathPlanes:
    """Paths as the contigs of a genome; stands where `GenomePlanes` do, without their planes.

    Attributes
    ----------
    graph
        The graph, with sequences.
    names
        Its paths.
    offsets
        int64, shape (n_paths + 1,): where each begins, all one after the other, bp.
    references
        Samples, and paths without one, that hits can be compared with.
    """

    graph: PangenomeGraph = field(repr=False)
    names: tuple[str, ...]
    offsets: np.ndarray
    references: tuple[str, ...]

    @classmethod
    def of(cls, graph: PangenomeGraph) -> PathPlanes:
        """Return the paths of a graph; raises `GenovizError` where there is nothing to read."""
        if graph.node_sequences is None:
            raise GenovizError("the graph was opened without its sequences, which are needed here")
        if not graph.n_paths:
            raise GenovizError("the graph has no paths; off-targets are searched on paths")
        names = tuple(graph.path_names)
        offsets = np.append(0, np.cumsum(graph.path_lengths)).astype(np.int64)
        parsed = zip(graph.parsed_path_names, names, strict=True)
        found = dict.fromkeys(name.sample or text for name, text in parsed)
        return cls(graph, names, offsets, tuple(found)[:MAX_REFERENCES])

    @property
    def descriptions(self) -> tuple[str, ...]:
        """The names again: paths have no headers."""
        return self.names

    @property
    def n_contigs(self) -> int:
        """Number of paths."""
        return len(self.names)

    @property
    def n_bases(self) -> int:
        """Length of all paths, bp."""
        return int(self.offsets[-1])

    @property
    def usual_reference(self) -> str:
        """The reference that is taken unless another is chosen, or ""."""
        for usual in USUAL_REFERENCES:
            for name in self.references:
                if usual in name.lower():
                    return name
        return ""

    @cached_property
    def masked(self) -> np.ndarray:
        """No stretches: paths are not soft-masked; int64, shape (0, 2)."""
        return np.empty((0, 2), np.int64)

    def find_contigs(self, positions: np.ndarray) -> np.ndarray:
        """Return the path that each position lies on; int32, shape (n,)."""
        found = np.searchsorted(self.offsets, positions, side="right") - 1
        return found.astype(np.int32)

    def cut(self, start: int, stop: int) -> np.ndarray:
        """Return the letters of a stretch of all paths one after the other; uint8, (n,)."""
        parts = [np.empty(0, np.uint8)]
        first, last = self.find_contigs(np.array([start, max(stop - 1, start)])).tolist()
        for path in range(first, last + 1):
            low, high = self.offsets[path : path + 2].tolist()
            low, high = max(start, low) - low, min(stop, high) - low
            if low < high:
                parts.append(self._read(path, low, high))
        return np.concatenate(parts)

    def _read(self, path: int, start: int, stop: int) -> np.ndarray:
        index = self.graph.position_index
        steps = index.steps_at(np.array([path, path]), np.array([start, stop - 1]))
        before = start - int(index.positions_of(steps[:1])[0])
        handles = self.graph.steps[steps[0] : steps[1] + 1]
        text = spell_handles(self.graph, handles, max_bases=before + stop - start)
        return np.frombuffer(text[before:].upper().encode("latin-1"), np.uint8)


@dataclass(frozen=True, eq=False, repr=False)
class PlacedHits(OffTargetHits):
    """Sites on paths, each at its first place; letters are read where they were searched.

    Attributes
    ----------
    searched
        The same hits on the stretches that paths share.
    """

    searched: OffTargetHits

    @classmethod
    def of(cls, found: PathOffTargets, planes: PathPlanes) -> PlacedHits:
        """Return the sites of a search."""
        hits, first = found.hits, found.first_places()
        columns = {name: getattr(hits, name) for name in COLUMNS}
        columns["positions"] = planes.offsets[first.paths] + first.starts
        columns["strands"] = first.strands
        return cls(hits.guides, hits.pattern, planes, **columns, searched=hits)

    def take(self, rows: np.ndarray | slice) -> PlacedHits:
        """Return some of the hits."""
        columns = {name: getattr(self, name)[rows] for name in COLUMNS}
        return replace(self, **columns, searched=self.searched.take(rows))

    def aligned_letters(self, rows: np.ndarray | slice = slice(None)) -> AlignedLetters:
        """Return the letters of hits, 5' to 3' of the guide; for many hits, slice by slice."""
        return self.searched.aligned_letters(rows)
