"""Nodes that are pointed out in a picture, drawn over all others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from genoviz.errors import ParameterError

MIN_MARK_WIDTH = 3


@dataclass(frozen=True, eq=False)
class MarkLayer:
    """Nodes to draw over everything else, in one colour.

    It keeps what a drawing needs of its nodes: give the same object to each drawing.

    Parameters
    ----------
    nodes
        Whole numbers, any number of them and in any order.
    index
        The palette index that their pixels get, 1 to 255. Keep it free of other nodes with
        ``draw(..., max_index=)``.
    """

    nodes: Any
    index: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", check_nodes(self.nodes))
        if not 1 <= int(self.index) <= 255:
            raise ParameterError(f"a mark has the palette index {self.index}, needs 1 to 255")

    def nodes_on(self, backend: str, n_nodes: int) -> Any:
        """Return the nodes where a backend needs them; ParameterError if there is no such node."""
        if self._largest >= n_nodes:
            check_nodes(self.nodes, n_nodes)
        return self.nodes if backend == "cpu" else self._nodes_on_gpu

    @cached_property
    def _largest(self) -> int:
        return int(self.nodes.max(initial=-1))

    @cached_property
    def _nodes_on_gpu(self) -> Any:
        import cupy

        return cupy.asarray(self.nodes)


def check_nodes(nodes: Any, n_nodes: int | None = None) -> np.ndarray:
    """Return node numbers as int64, shape (n,).

    Raises
    ------
    ParameterError
        If they are not whole numbers in one row, or there is no such node.
    """
    array = np.asarray(nodes)
    if array.ndim != 1 or not (np.issubdtype(array.dtype, np.integer) or array.size == 0):
        raise ParameterError(
            f"node numbers are {array.dtype} {array.shape}, need whole numbers, shape (n,)"
        )
    array = np.ascontiguousarray(array, np.int64)
    if array.size and (array.min() < 0 or (n_nodes is not None and array.max() >= n_nodes)):
        wrong = array[(array < 0) | (array >= (n_nodes or np.inf))][0]
        of_nodes = "" if n_nodes is None else f" among {n_nodes:,} nodes"
        raise ParameterError(f"there is no node number {wrong:,}{of_nodes}")
    return array
