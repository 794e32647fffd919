"""The layout of a graph: where the two ends of every node are drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genoviz.errors import ParameterError


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
        What the user should know of how the layout came about, e.g. that the graph had no path.
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
        return f"GraphLayout({self.n_nodes:,} nodes)"

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
        x_min, y_min = self.points.min(axis=0).tolist()
        x_max, y_max = self.points.max(axis=0).tolist()
        return (x_min, y_min, x_max, y_max)
