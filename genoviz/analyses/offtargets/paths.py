"""Off-target sites on the paths of a graph; a site shared by paths is stored once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from genoviz.analyses.graph.query.hit_nodes import find_nodes
from genoviz.analyses.graph.query.path_groups import PathGroups, group_paths
from genoviz.analyses.offtargets.path_places import PathPlaces, SiteMembers, expand_rows
from genoviz.errors import n_words
from genoviz.model import PangenomeGraph
from genoviz.model.columns import distinct, expand_counts
from genoviz.model.offtargets.hits import OffTargetHits
from genoviz.model.sequences.pangenome_index import SharedStretches

PLACES_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False, repr=False)
class PathOffTargets:
    """Sites of guides on the paths of a graph.

    A site is a match of a guide to the same bases of the same nodes, shared by all paths that read
    them. Sites are sorted by guide and by their first place.

    Attributes
    ----------
    graph
        The graph.
    hits
        One hit per site, with scores and alignments. Their contigs are stretches of paths, so use
        `places` for positions.
    shared
        The searched stretches.
    members
        The windows of each site.
    seconds
        Duration of each stage of the search.
    is_kept
        bool, shape (n_places,): which places of the members count; a place does not count if
        another bulge placement is better there. None if all count.
    """

    graph: PangenomeGraph
    hits: OffTargetHits
    shared: SharedStretches
    members: SiteMembers
    is_kept: np.ndarray | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.hits)

    def __repr__(self) -> str:
        return (
            f"PathOffTargets({n_words(len(self), 'site')} of "
            f"{n_words(len(self.hits.guides), 'guide')} on "
            f"{n_words(self.graph.n_paths, 'path')})"
        )

    @property
    def n_bases_searched(self) -> int:
        """Total length of the stretches, each of which was searched once."""
        return self.hits.planes.n_bases

    @property
    def n_path_bases(self) -> int:
        """Total length of all paths."""
        return int(self.graph.path_lengths.sum())

    @property
    def sharing(self) -> float:
        """Path bases per searched base; 1 for an empty graph."""
        return self.n_path_bases / self.n_bases_searched if self.n_bases_searched else 1.0

    @cached_property
    def _place_ends(self) -> np.ndarray:
        """Cumulative number of places of members, kept or not; int64, shape (n_members + 1,)."""
        counts = np.diff(self.shared.stand_offsets)[self.members.units]
        return np.append(0, np.cumsum(counts)).astype(np.int64)

    @cached_property
    def n_places(self) -> np.ndarray:
        """Number of places of each site on all paths; int64, shape (n_sites,)."""
        ends = self._place_ends
        if self.is_kept is not None:
            ends = np.searchsorted(np.flatnonzero(self.is_kept), ends)
        return np.diff(ends[self.members.offsets])

    def places(self, rows: np.ndarray | slice = slice(None)) -> PathPlaces:
        """Return the places of sites on paths."""
        rows = np.arange(len(self))[rows]
        members, owners = expand_rows(self.members.offsets, rows)
        found = self._place(rows[owners], members)
        order = np.lexsort([found.starts, found.paths, found.sites])
        columns = (found.sites, found.paths, found.starts, found.strands)
        return PathPlaces(*(column[order] for column in columns))

    def unsorted_places(self) -> PathPlaces:
        """Return the places of sites on paths, in member order."""
        sites = np.repeat(np.arange(len(self)), np.diff(self.members.offsets))
        return self._place(sites, np.arange(len(sites)))

    def iter_places(self, max_places: int) -> Iterator[tuple[np.ndarray, PathPlaces]]:
        """Yield places, of whole paths in order, and their indices as of ``is_kept``, unsorted.

        There are at most ``max_places`` at once, or those on one path.
        """
        shared, units, n_paths = self.shared, self.members.units, self.graph.n_paths
        stand_paths = np.searchsorted(self.graph.path_offsets, shared.stand_steps, "right") - 1
        n_members = np.bincount(units, minlength=shared.n_units)
        weights = np.repeat(n_members, np.diff(shared.stand_offsets))
        ends = np.cumsum(np.bincount(stand_paths, weights, minlength=n_paths)).astype(np.int64)
        sites = np.repeat(np.arange(len(self)), np.diff(self.members.offsets))
        # The stands of a unit are in the order of paths.
        path, before = 0, shared.stand_offsets[:-1]
        while path < n_paths:
            n_before = ends[path - 1] if path else 0
            path = max(int(np.searchsorted(ends, n_before + max_places, side="right")), path + 1)
            n_stands = np.append(0, np.cumsum(stand_paths < path))[shared.stand_offsets]
            after = shared.stand_offsets[:-1] + np.diff(n_stands)
            members, within = expand_counts((after - before)[units])
            skipped = (before - shared.stand_offsets[:-1])[units[members]]
            places, members = self._keep(self._place_ends[members] + skipped + within, members)
            yield places, self._read_places(places, sites[members], members)
            before = after

    def _place(self, sites: np.ndarray, members: np.ndarray) -> PathPlaces:
        places, owners = self._keep(*expand_rows(self._place_ends, members))
        return self._read_places(places, sites[owners], members[owners])

    def _keep(self, places: np.ndarray, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        is_kept = slice(None) if self.is_kept is None else self.is_kept[places]
        return places[is_kept], owners[is_kept]

    def _read_places(
        self, places: np.ndarray, sites: np.ndarray, members: np.ndarray
    ) -> PathPlaces:
        graph, shared = self.graph, self.shared
        units = self.members.units[members]
        within = places - self._place_ends[members]
        steps = shared.stand_steps[shared.stand_offsets[units] + within]
        paths = np.searchsorted(graph.path_offsets, steps, side="right") - 1
        is_turned = shared.is_turned[paths]
        inside = shared.shifts[units] + self.members.starts[members]
        node_lengths = graph.node_lengths[graph.steps[steps] >> 1]
        back = node_lengths - inside - self.members.lengths[members]
        starts = graph.position_index.positions_of(steps) + np.where(is_turned, back, inside)
        strands = np.where(is_turned, -1, 1) * self.members.strands[members]
        return PathPlaces(sites, paths.astype(np.int32), starts, strands.astype(np.int8))

    def first_places(self) -> PathPlaces:
        """Return the first place of each site, by path and position."""
        columns = []
        for part in self.iter_batches(np.arange(len(self))):
            found = self.places(part)
            firsts = np.searchsorted(found.sites, np.arange(part.start, part.stop))
            parts = (found.sites, found.paths, found.starts, found.strands)
            columns.append([column[firsts] for column in parts])
        none = [np.empty(0, dtype) for dtype in (np.int64, np.int32, np.int64, np.int8)]
        return PathPlaces(*(np.concatenate(c) for c in zip(none, *columns, strict=True)))

    def nodes(self, places: PathPlaces) -> tuple[np.ndarray, np.ndarray]:
        """Return the nodes of places.

        Returns
        -------
        offsets, nodes
            int64, shape (n + 1,), and int32: place ``i`` covers
            ``nodes[offsets[i]:offsets[i + 1]]``, in path order.
        """
        lengths = self.hits.lengths[places.sites]
        found: list[np.ndarray] = [np.empty(0, np.int32)] * len(places)
        for length in distinct(lengths).tolist():
            rows = np.flatnonzero(lengths == length)
            ends, nodes = find_nodes(self.graph, places.paths[rows], places.starts[rows], length)
            for row, first, stop in zip(rows.tolist(), ends[:-1], ends[1:], strict=True):
                found[row] = nodes[first:stop]
        offsets = np.append(0, np.cumsum([len(part) for part in found])).astype(np.int64)
        return offsets, np.concatenate([np.empty(0, np.int32), *found])

    def groups(self, by: str = "haplotype") -> PathGroups:
        """Return the paths in groups, by ``"path"``, ``"haplotype"`` or ``"sample"``."""
        return group_paths(self.graph, by)

    def presence(self, rows: np.ndarray | slice = slice(None), *, by: str = "path") -> np.ndarray:
        """Return which groups of paths have each site; bool, shape (n_rows, n_groups)."""
        groups, rows = self.groups(by), np.arange(len(self))[rows]
        matrix = np.zeros((len(rows), len(groups.names)), bool)
        for part in self.iter_batches(rows):
            places = self.places(rows[part])
            # Rows may be in any order, while places are sorted.
            at = np.argsort(rows[part], kind="stable")
            found = at[np.searchsorted(rows[part], places.sites, sorter=at)] + part.start
            matrix[found, groups.of_path[places.paths]] = True
        return matrix

    def count_groups(self, *, by: str = "haplotype") -> np.ndarray:
        """Return the number of path groups with each site; int64, shape (n_sites,)."""
        counts = np.zeros(len(self), np.int64)
        for part in self.iter_batches(np.arange(len(self))):
            counts[part] = self.presence(part, by=by).sum(axis=1)
        return counts

    def take(self, rows: np.ndarray | slice) -> PathOffTargets:
        """Return a subset of the sites."""
        rows = np.arange(len(self))[rows]
        members, owners = expand_rows(self.members.offsets, rows)
        offsets = np.append(0, np.cumsum(np.bincount(owners, minlength=len(rows))))
        names = ("units", "starts", "lengths", "strands")
        columns = [getattr(self.members, name)[members] for name in names]
        taken = SiteMembers(offsets.astype(np.int64), *columns)
        kept = self.is_kept
        if kept is not None:
            parts = [np.empty(0, bool)]
            for part in self.iter_batches(rows):
                some = expand_rows(self.members.offsets, rows[part])[0]
                parts.append(kept[expand_rows(self._place_ends, some)[0]])
            kept = np.concatenate(parts)
        return replace(self, hits=self.hits.take(rows), members=taken, is_kept=kept)

    def iter_batches(self, rows: np.ndarray) -> Iterator[slice]:
        """Yield batches of rows with a bounded number of places."""
        ends = self._place_ends[self.members.offsets]
        ends = np.cumsum(ends[rows + 1] - ends[rows])
        first = 0
        while first < len(rows):
            before = ends[first - 1] if first else 0
            stop = int(np.searchsorted(ends, before + PLACES_AT_ONCE, side="right"))
            stop = max(stop, first + 1)
            yield slice(first, stop)
            first = stop
