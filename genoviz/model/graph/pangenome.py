"""The variation graph (nodes, edges and paths), and its layout."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from genoviz.errors import ParameterError, n_words
from genoviz.model.byte_strings import ByteStrings
from genoviz.model.columns import distinct
from genoviz.model.graph.indexes import (
    Incidence,
    PositionIndex,
    count_steps,
    find_links,
    index_edges,
    index_steps,
)
from genoviz.model.graph.path_name import PathDirectory, PathName

MAX_NODES = 2**31 - 1


@dataclass(frozen=True, eq=False, repr=False)
class PangenomeGraph:
    """A variation graph over frozen arrays.

    A *handle* is a node with an orientation, packed as ``node << 1 | is_reverse`` (uint32), where
    ``node`` is the 0-based rank of the node in the file.

    Parameters
    ----------
    node_names
        Segment names, in the order of the file.
    node_lengths
        int64, shape (n_nodes,), bp.
    edges
        uint32, shape (n_edges, 2): from-handle and to-handle of each link; see also `links`.
    path_names
        Names of the paths (P lines) and walks (W lines, as ``sample#haplotype#contig:start-end``).
    path_offsets
        int64, shape (n_paths + 1,): path ``p`` has the steps
        ``steps[path_offsets[p]:path_offsets[p + 1]]``.
    steps
        uint32, shape (n_steps,): the handles that the paths visit.
    node_sequences
        Bases of the nodes, if they were kept; a node without sequence (``*``) is empty.
    notes
        What a reader left out or treated specially, one sentence each.
    node_tags
        Tags of the nodes except lengths, as in the file, tab-separated
        (``SN:Z:chr1<tab>SO:i:0``); None if no node has any.
    walks
        bool, shape (n_paths,): which paths are walks (W lines); None for none.
    link_tags
        Tags of the links in the same form (``SR:i:0``), in the order of ``edges``; None if no link
        has any.

    Raises
    ------
    ParameterError
        If the arrays do not match.

    References
    ----------
    GFA specification, https://gfa-spec.github.io/GFA-spec/GFA1.html
    """

    node_names: ByteStrings
    node_lengths: np.ndarray
    edges: np.ndarray
    path_names: tuple[str, ...]
    path_offsets: np.ndarray
    steps: np.ndarray
    node_sequences: ByteStrings | None = None
    notes: tuple[str, ...] = ()
    node_tags: ByteStrings | None = None
    walks: np.ndarray | None = None
    link_tags: ByteStrings | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
        self._check_shapes()
        self._check_ranges()

    def _check_shapes(self) -> None:
        expected = {
            "node_lengths": (np.int64, (self.n_nodes,)),
            "edges": (np.uint32, (len(self.edges), 2)),
            "path_offsets": (np.int64, (len(self.path_names) + 1,)),
            "steps": (np.uint32, (len(self.steps),)),
        }
        for name, (dtype, shape) in expected.items():
            array = getattr(self, name)
            if array.dtype != dtype or array.shape != shape:
                raise ParameterError(
                    f"{name} is {array.dtype} {array.shape}, needs {np.dtype(dtype)} {shape}"
                )
        if len(self.node_names) != self.n_nodes or self.n_nodes > MAX_NODES:
            raise ParameterError(
                f"a graph of {self.n_nodes:,} node lengths has {len(self.node_names):,} node names,"
                f" needs as many names as lengths and at most {MAX_NODES:,} nodes"
            )
        if self.node_sequences is not None and len(self.node_sequences) != self.n_nodes:
            n_sequences = len(self.node_sequences)
            raise ParameterError(f"there are {n_sequences:,} sequences for {self.n_nodes:,} nodes")
        if self.walks is not None and self.walks.shape != (self.n_paths,):
            raise ParameterError(f"walks is {self.walks.shape}, needs ({self.n_paths},)")
        for tags, n, what in (
            (self.node_tags, self.n_nodes, "nodes"),
            (self.link_tags, self.n_edges, "links"),
        ):
            if tags is not None and len(tags) != n:
                raise ParameterError(f"there are tags of {len(tags):,} {what} for {n:,} {what}")

    def _check_ranges(self) -> None:
        if self.n_nodes and self.node_lengths.min() < 0:
            raise ParameterError("node lengths must not be negative")
        for name in ("edges", "steps"):
            handles = getattr(self, name)
            if handles.size and int(handles.max()) >> 1 >= self.n_nodes:
                raise ParameterError(f"{name} name a node beyond the {self.n_nodes:,} of the graph")
        offsets = self.path_offsets
        if offsets[0] != 0 or offsets[-1] != len(self.steps) or (np.diff(offsets) < 0).any():
            raise ParameterError("path_offsets must rise from 0 to the number of steps")

    def __repr__(self) -> str:
        sizes = (self.n_nodes, "node"), (self.n_links, "edge"), (self.n_paths, "path")
        words = ", ".join(n_words(*each) for each in (*sizes, (self.n_steps, "step")))
        return f"PangenomeGraph({words}, {self.total_length:,} bp)"

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.node_lengths)

    @property
    def n_edges(self) -> int:
        """Number of edges as listed."""
        return len(self.edges)

    @property
    def links(self) -> np.ndarray:
        """Each edge once; an edge and its mirror image are one; uint32, shape (n_links, 2)."""
        return self.edges if self.n_links == self.n_edges else find_links(self.edges)

    @cached_property
    def n_links(self) -> int:
        """Number of different edges; see `links`."""
        return len(find_links(self.edges))

    @property
    def n_paths(self) -> int:
        """Number of paths."""
        return len(self.path_names)

    @property
    def n_steps(self) -> int:
        """Total number of steps of all paths."""
        return len(self.steps)

    @cached_property
    def total_length(self) -> int:
        """Sum of the node lengths in bp."""
        return int(self.node_lengths.sum())

    @cached_property
    def step_positions(self) -> np.ndarray:
        """Offset of each step's first base in its path; int64, shape (n_steps,), bp.

        Positions run along the path, whatever the orientation of its steps.
        """
        lengths = self.node_lengths[self.steps >> 1]
        positions, counts = np.cumsum(lengths) - lengths, np.diff(self.path_offsets)
        starts, has_steps = np.zeros(self.n_paths, np.int64), counts > 0
        starts[has_steps] = positions[self.path_offsets[:-1][has_steps]]
        positions -= np.repeat(starts, counts)
        positions.flags.writeable = False
        return positions

    @cached_property
    def path_lengths(self) -> np.ndarray:
        """Length of each path; int64, shape (n_paths,), bp."""
        return self.position_index.path_lengths

    @cached_property
    def position_index(self) -> PositionIndex:
        """Compact index of step positions, and of steps at positions; see `step_positions`."""
        return PositionIndex.build(self.steps, self.node_lengths, self.path_offsets)

    @cached_property
    def node_depths(self) -> np.ndarray:
        """Number of steps on each node; int64, shape (n_nodes,)."""
        return count_steps(self.n_nodes, self.steps)

    @cached_property
    def node_step_index(self) -> Incidence:
        """The numbers of the steps on each node, over all paths; `steps` has their handles."""
        return index_steps(self.n_nodes, self.steps)

    @cached_property
    def node_edge_index(self) -> Incidence:
        """The numbers of the edges that touch each node, a loop once."""
        return index_edges(self.n_nodes, self.edges)

    @cached_property
    def parsed_path_names(self) -> tuple[PathName, ...]:
        """The PanSN parts of each path's name."""
        return tuple(PathName.parse(name) for name in self.path_names)

    @cached_property
    def path_directory(self) -> PathDirectory:
        """The paths by name, contig and sample."""
        return PathDirectory(self.parsed_path_names)

    @cached_property
    def path_starts(self) -> np.ndarray:
        """Contig coordinate of each path's first base, from its name; int64, shape (n_paths,), bp.

        It is 0 for a name without a range. A range that is one shorter than the path is interpreted
        as 1-based and closed, as NCBI writes it (``gi|568815592:32578768-32589835``), except for
        walks, whose ranges are 0-based by the GFA specification.
        """
        names = self.parsed_path_names
        starts = np.array([name.start for name in names], np.int64)
        ends = np.array([-1 if name.end is None else name.end for name in names], np.int64)
        is_closed = (ends >= 0) & (starts > 0) & (ends - starts + 1 == self.path_lengths)
        return starts - (is_closed if self.walks is None else is_closed & ~self.walks)

    def placed_name(self, path: int) -> PathName:
        """Return the parsed name of a path, with its start on the contig as in `path_starts`."""
        return replace(self.parsed_path_names[path], start=int(self.path_starts[path]))

    def path_steps(self, path: int) -> np.ndarray:
        """Return the handles of one path; uint32, shape (n_path_steps,)."""
        return self.steps[self.path_offsets[path] : self.path_offsets[path + 1]]

    def find_path(self, name: str) -> int:
        """Return the index of a path by name.

        Raises
        ------
        ParameterError
            If the graph has no path of that name.
        """
        try:
            return self.path_names.index(name)
        except ValueError:
            examples = ", ".join(self.path_names[:3]) or "none at all"
            raise ParameterError(f"no path is named {name!r}; the graph has {examples}") from None

    def find_paths(self, names: Iterable[str | int]) -> np.ndarray:
        """Return the indices of paths and of all sub-paths of contigs, sorted and unique; int64.

        Contigs are named as in `PathDirectory.sub_paths`: without range, or abbreviated.

        Raises
        ------
        ParameterError
            If the graph has no such path or contig, or a name is ambiguous.
        """
        found: list[str | int] = []
        for name in names:
            is_short = isinstance(name, str) and not self.path_directory.exact(name)
            found += (is_short and self.path_directory.sub_paths(str(name))) or (name,)
        return self.path_indices(found)

    def cut_path_name(self, path: int, start: int, end: int) -> str:
        """Return the name of a part of a path, with its range on the contig, 0-based half-open.

        ``start`` and ``end`` are bp from the path's first base.
        """
        name = self.parsed_path_names[path]
        shift = int(self.path_starts[path]) - name.start
        return name.cut(start + shift, end + shift)

    def path_indices(self, paths: Iterable[str | int]) -> np.ndarray:
        """Return the indices of paths given by name or index, sorted and unique; int64.

        Raises
        ------
        ParameterError
            If the graph has no such path.
        """
        indices = [self.find_path(path) if isinstance(path, str) else int(path) for path in paths]
        for index in indices:
            if not 0 <= index < self.n_paths:
                raise ParameterError(f"path {index} is not one of the graph's {self.n_paths:,}")
        return distinct(np.array(indices, np.int64))


@dataclass(frozen=True, eq=False, repr=False)
class GraphLayout:
    """Coordinates of all node ends, in bp.

    Parameters
    ----------
    coordinates
        float64, shape (n_nodes, 2, 2), C order: ``[node, end, axis]`` with end 0 the left end of
        the forward node and end 1 its right end, axis 0 = x and axis 1 = y. One node is one
        32-byte record, a point is 16 bytes: what a GPU fetches as one sector.
    components
        int32, shape (n_nodes,): the weakly connected component of each node, or None.
    note
        What the user should know about how the layout was made, e.g. that the graph had no path.
    """

    coordinates: np.ndarray
    components: np.ndarray | None = None
    note: str = ""

    def __post_init__(self) -> None:
        shape = self.coordinates.shape
        if self.coordinates.dtype != np.float64 or len(shape) != 3 or shape[1:] != (2, 2):
            raise ParameterError(
                f"layout coordinates are {self.coordinates.dtype} {shape}, "
                "need float64 (n_nodes, 2, 2)"
            )
        if self.components is not None and self.components.shape != shape[:1]:
            raise ParameterError("a layout needs one component number for each node")
        for array in (self.coordinates, self.components):
            if array is not None:
                array.flags.writeable = False

    def __repr__(self) -> str:
        return f"GraphLayout({n_words(self.n_nodes, 'node')})"

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.coordinates)

    @property
    def points(self) -> np.ndarray:
        """The node ends as points; float64, shape (2 n_nodes, 2): point 2i + e is node i, end e."""
        return self.coordinates.reshape(-1, 2)

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """The box ``(x_min, y_min, x_max, y_max)`` around all points; zeros without nodes."""
        if self.n_nodes == 0:
            return (0.0, 0.0, 0.0, 0.0)
        x, y = self.points.T  # reducing both at once takes NumPy twenty times as long
        return (float(x.min()), float(y.min()), float(x.max()), float(y.max()))
