"""User-supplied tables of values, colours or labels of nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from genoviz.errors import ParameterError


@dataclass(frozen=True, eq=False)
class NodeColumn:
    """One column of a table of nodes.

    Attributes
    ----------
    name
        Name of the column.
    kind
        Whether it holds numbers, colours or other texts.
    values
        float32, shape (n_nodes,): numbers, NaN if missing. For colours and texts int32: the index
        in ``texts``, -1 if missing.
    texts
        The distinct texts, or colours as ``#rrggbb``, in order of appearance.
    """

    name: str
    kind: Literal["numbers", "colours", "texts"]
    values: np.ndarray
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class NodeTable:
    """Columns of values, colours or labels of the nodes of a graph.

    Attributes
    ----------
    name
        Name of the file.
    columns
        At least one column.
    notes
        What was left out, one sentence each.
    """

    name: str
    columns: tuple[NodeColumn, ...]
    notes: tuple[str, ...] = ()

    def find(self, name: str = "") -> NodeColumn:
        """Return a column by name, or the first.

        Raises
        ------
        ParameterError
            If there is no such column.
        """
        for column in self.columns:
            if name in ("", column.name):
                return column
        names = ", ".join(column.name for column in self.columns)
        raise ParameterError(f"{self.name} has no column {name!r}; it has {names}")
