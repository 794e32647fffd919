"""Placement of annotations on the paths of a graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from genoviz.errors import ParameterError, n_words
from genoviz.model import Annotations, PangenomeGraph, PathName, PathRegion
from genoviz.model.columns import distinct

__all__ = ["PlacedAnnotations", "place_annotations"]
_N_EXAMPLES = 3


def place_annotations(
    graph: PangenomeGraph, annotations: Annotations, *, sample: str | None = None
) -> PlacedAnnotations:
    """Find where annotations lie on the paths of a graph.

    If a contig has exactly the name of a path that carries a range (``chr6:1000-2000``), positions
    count from the first base of that path. Otherwise positions are those of the contig, and each
    sub-path of the contig gets its part. Contigs are matched as in
    :func:`genoviz.analyses.graph.query.regions.resolve_region`. If that fails, names are tried with
    or without ``chr``, or with fewer PanSN fields, and a note says so. If several samples have a
    contig of that name, an annotation is placed on the one sample whose paths cover its position,
    or on the one reference among those that do (`ContigPaths.choose`). Others that several samples
    cover are not placed; a note lists the unambiguous names.

    Parameters
    ----------
    sample
        Sample that the annotations belong to. Needed if the contig names do not include the
        sample and several samples of the graph have such a contig.

    Raises
    ------
    ParameterError
        If the graph has no path of ``sample``.
    """
    if sample is not None and all(name.sample != sample for name in graph.parsed_path_names):
        raise ParameterError(f"no path is of sample {sample!r}")
    outcome = _Outcome()
    places = [
        place
        for contig, rows in _rows_of_contigs(annotations)
        for place in _place_contig(graph, annotations, contig, rows, sample, outcome)
    ]
    columns = [np.concatenate(column) for column in zip(*places, strict=True)] if places else []
    rows, paths, starts, ends, is_clipped, shifts = columns or [np.empty(0, np.int64)] * 6
    order = np.lexsort((paths, rows))
    return PlacedAnnotations(
        graph=graph,
        annotations=annotations,
        rows=rows[order],
        paths=paths[order],
        starts=starts[order],
        ends=ends[order],
        is_clipped=is_clipped[order].astype(bool),
        shifts=shifts[order],
        notes=outcome.notes(rows, is_clipped),
    )


class _Outcome:
    """Counts of placed and skipped rows, for the notes."""

    def __init__(self) -> None:
        self.aliases: dict[str, str] = {}
        self.unknown: dict[str, int] = {}
        self.ambiguous: dict[str, int] = {}
        self.reasons: list[str] = []
        self.n_outside = 0

    def notes(self, rows: np.ndarray, is_clipped: np.ndarray) -> tuple[str, ...]:
        notes = []
        if self.aliases:
            pairs = [f"{contig} as {found}" for contig, found in self.aliases.items()]
            notes.append(f"Contigs of the annotations are taken under other names: {_some(pairs)}.")
        if self.unknown:
            notes.append(
                f"{_count(sum(self.unknown.values()))} not placed: the graph has no path of contig "
                f"{_some(list(self.unknown))}."
            )
        if self.ambiguous:
            notes.append(
                f"{_count(sum(self.ambiguous.values()))} not placed: {'; '.join(self.reasons[:2])}."
            )
        if self.n_outside:
            notes.append(
                f"{_count(self.n_outside)} not placed: outside the stretches that the graph has of "
                "the contig."
            )
        n_clipped = len(distinct(rows[is_clipped.astype(bool)]))
        if n_clipped:
            notes.append(f"{_count(n_clipped)} cut off where their paths end.")
        return tuple(notes)


def _count(n: int) -> str:
    return n_words(n, "annotation is", "annotations are")


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:_N_EXAMPLES])
    rest = len(names) - _N_EXAMPLES
    return f"{shown} and {rest:,} more" if rest > 0 else shown


def _rows_of_contigs(annotations: Annotations) -> Iterator[tuple[str, np.ndarray]]:
    codes = annotations.contigs.codes
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(len(annotations.contigs.names) + 1))
    for code, name in enumerate(annotations.contigs.names):
        yield name, order[bounds[code] : bounds[code + 1]]


def _place_contig(
    graph: PangenomeGraph,
    annotations: Annotations,
    contig: str,
    rows: np.ndarray,
    sample: str | None,
    outcome: _Outcome,
) -> Iterator[tuple[np.ndarray, ...]]:
    """Yield row, path, start, end, clipped flag and shift of the placements on each path."""
    found = find_contig_paths(graph, contig, sample)
    if not found.owners:
        outcome.unknown[contig] = len(rows)
        return
    if found.name != contig:
        outcome.aliases[contig] = found.name
    starts, ends = annotations.starts[rows], annotations.ends[rows]
    firsts = {path: 0 if found.is_local else int(graph.path_starts[path]) for path in found.paths}
    inside = {
        path: _is_inside(starts - first, ends - first, int(graph.path_lengths[path]))
        for path, first in firsts.items()
    }
    has = [np.logical_or.reduce([inside[path] for path in owner]) for owner in found.owners]
    n_owners, chosen = found.choose(np.array(has))
    owner_of = {path: owner for owner, paths in enumerate(found.owners) for path in paths}
    for path, is_inside in inside.items():
        here = is_inside & (chosen == owner_of[path])
        if not here.any():
            continue
        length = int(graph.path_lengths[path])
        local_starts, local_ends = starts[here] - firsts[path], ends[here] - firsts[path]
        yield (
            rows[here],
            np.full(len(local_starts), path, np.int64),
            np.maximum(local_starts, 0),
            np.minimum(local_ends, length),
            ((local_starts < 0) | (local_ends > length)).astype(np.int64),
            np.full(len(local_starts), -firsts[path], np.int64),
        )
    outcome.n_outside += int((n_owners == 0).sum())
    n_ambiguous = int(((n_owners > 1) & (chosen < 0)).sum())
    if n_ambiguous:
        outcome.ambiguous[contig] = n_ambiguous
        outcome.reasons.append(found.ambiguity)


def _is_inside(starts: np.ndarray, ends: np.ndarray, length: int) -> np.ndarray:
    """Return which intervals overlap a path of this length; bool."""
    if length == 0:
        return np.zeros(len(starts), bool)
    is_empty = starts == ends
    return np.where(is_empty, (starts >= 0) & (ends <= length), (ends > 0) & (starts < length))


@dataclass(frozen=True)
class ContigPaths:
    """The paths of a contig, or of each contig that an ambiguous name may refer to.

    Attributes
    ----------
    owners
        Paths of each matching contig; empty if the graph has no such contig.
    is_local
        Whether positions count from the first base of a path.
    name
        Name of the contig in the graph.
    ambiguity
        Why another contig may be meant, as part of a sentence; "" if the name is unambiguous.
    are_references
        Whether each contig may be of a reference; see `PathName.is_of_reference`.
    """

    owners: tuple[tuple[int, ...], ...] = ()
    is_local: bool = False
    name: str = ""
    ambiguity: str = ""
    are_references: tuple[bool, ...] = ()

    @property
    def paths(self) -> tuple[int, ...]:
        """The paths of all contigs."""
        return sum(self.owners, ())

    def choose(self, has: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the contig that each position belongs to.

        That is the only one that has the position, or else the only reference among those that
        have it: files give positions on a reference, not on the haplotypes of samples.

        ``has`` is bool, shape (n_contigs, n): whether the paths of a contig have a position. The
        result is the number of contigs that have each position, and the index of the chosen one or
        -1; both int64, shape (n,).
        """
        n_having = has.sum(axis=0, dtype=np.int64)
        of_references = has & np.array(self.are_references, bool)[:, None]
        meant = np.where(n_having == 1, has, of_references)
        is_clear = meant.sum(axis=0) == 1
        return n_having, np.where(is_clear, meant.argmax(axis=0), -1)


def find_contig_paths(graph: PangenomeGraph, contig: str, sample: str | None = None) -> ContigPaths:
    """Return the paths of a contig, by its name or a variant of it; see `ContigPaths.choose`."""
    exact = graph.path_directory.exact(contig)
    if exact and PathName.parse(contig).whole != contig:
        return ContigPaths((exact,), True, contig, "", (True,))
    named = (find_named_paths(graph, name, sample) for name in _other_names(contig))
    return next((found for found in named if found.owners), ContigPaths())


def find_named_paths(graph: PangenomeGraph, name: str, sample: str | None = None) -> ContigPaths:
    """Return the paths of the contigs of this very name, of all samples or of one."""
    directory = graph.path_directory
    wholes = directory.meanings(name, sample=sample)
    ambiguity = directory.explain(name, wholes) if len(wholes) > 1 else ""
    owners = tuple(directory.sub_paths(whole) for whole in wholes)
    are_references = tuple(graph.parsed_path_names[paths[0]].is_of_reference for paths in owners)
    return ContigPaths(owners, False, name, ambiguity, are_references)


def _other_names(contig: str) -> Iterator[str]:
    """Yield the names that a contig may have in the graph, its own name first."""
    parsed = PathName.parse(contig)
    yield contig
    if parsed.sample is not None and parsed.haplotype is not None:
        yield f"{parsed.sample}#{parsed.contig}"
    head = contig[: len(contig) - len(parsed.contig)] if parsed.contig else contig
    bare = parsed.contig
    yield head + (bare[3:] if bare.lower().startswith("chr") else f"chr{bare}")
    if bare in ("M", "MT", "chrM", "chrMT"):
        yield from (head + name for name in ("chrM", "MT", "chrMT", "M") if name != bare)


@dataclass(frozen=True, eq=False, repr=False)
class PlacedAnnotations:
    """Placements of annotations on paths; a row on several paths occurs several times.

    Attributes
    ----------
    graph, annotations
        The graph and the annotations placed on it.
    rows
        int64, shape (n,): the row of ``annotations``; ascending.
    paths
        int64, shape (n,): index of the path.
    starts, ends
        int64, shape (n,): 0-based half-open, bp from the path's first base, within the path.
    is_clipped
        bool, shape (n,): whether the annotation goes beyond the path.
    shifts
        int64, shape (n,): what is added to positions of the annotation to get those on the path.
    notes
        What was not placed and why, one sentence each.
    """

    graph: PangenomeGraph
    annotations: Annotations
    rows: np.ndarray
    paths: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    is_clipped: np.ndarray
    shifts: np.ndarray
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return (
            f"PlacedAnnotations({n_words(len(self), 'place')} of "
            f"{n_words(len(self.annotations), 'annotation')})"
        )

    @property
    def regions(self) -> Sequence[PathRegion]:
        """The region of each placement."""
        return _Regions(self)

    @cached_property
    def step_ranges(self) -> np.ndarray:
        """First and stop step of each placement, as global step numbers; int64, shape (n, 2)."""
        last_bases = self.graph.path_lengths[self.paths] - 1
        firsts = np.minimum(self.starts, last_bases)
        lasts = np.minimum(np.maximum(self.ends - 1, self.starts), last_bases)
        index = self.graph.position_index
        ranges = [index.steps_at(self.paths, firsts), index.steps_at(self.paths, lasts) + 1]
        return np.stack(ranges, axis=1)

    @cached_property
    def blocks(self) -> tuple[np.ndarray, np.ndarray]:
        """Offsets and bounds on the paths of the blocks of each placement, as in `Annotations`.

        Blocks are cut at the ends of the path. A placement that has nothing but an intron keeps one
        empty block, because a row without blocks is taken as one block.
        """
        offsets = self.annotations.block_offsets
        counts = np.diff(offsets)[self.rows]
        owners = np.repeat(np.arange(len(self)), counts)
        firsts = offsets[self.rows] - (np.cumsum(counts) - counts)
        blocks = self.annotations.blocks[firsts[owners] + np.arange(len(owners))]
        blocks = blocks + self.shifts[owners][:, None]
        blocks = np.clip(blocks, self.starts[owners][:, None], self.ends[owners][:, None])
        has_bases = blocks[:, 0] < blocks[:, 1]
        n_left = np.bincount(owners[has_bases], minlength=len(self))
        is_kept = has_bases | ((np.diff(owners, prepend=-1) > 0) & (n_left[owners] == 0))
        counts = np.bincount(owners[is_kept], minlength=len(self))
        return np.append(0, np.cumsum(counts)), blocks[is_kept]

    def nodes(self, place: int) -> np.ndarray:
        """Return the nodes of a placement, ascending and without duplicates; int64.

        An empty annotation has the node at its position.
        """
        first, stop = self.step_ranges[place]
        return distinct(self.graph.steps[first:stop] >> 1).astype(np.int64)


class _Regions(Sequence):
    """Regions created on access, because there may be millions."""

    def __init__(self, placed: PlacedAnnotations) -> None:
        self._placed = placed

    def __len__(self) -> int:
        return len(self._placed)

    def __getitem__(self, place: int) -> PathRegion:
        placed = self._placed
        name = placed.graph.path_names[placed.paths[place]]
        return PathRegion(name, int(placed.starts[place]), int(placed.ends[place]))
