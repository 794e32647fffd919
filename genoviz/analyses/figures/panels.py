"""What a figure of tracks shows: values along a contig, and features in rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from genoviz.errors import ParameterError


@dataclass(frozen=True, eq=False)
class Curve:
    """Values in bins or steps.

    Attributes
    ----------
    edges
        int64, shape (n + 1,), bp, ascending: bin i goes from edge i to edge i + 1.
    low, mean, high
        float64, shape (n,): minimum, mean and maximum of each bin; three times the same for
        exact steps. NaN where there is no value.
    colour
        ``#rrggbb``.
    title
        Said in the legend where several curves share a panel.
    is_down
        Whether greater values are drawn further down, as those of the reverse strand.

    Raises
    ------
    ParameterError
        If the arrays do not match.
    """

    edges: np.ndarray
    low: np.ndarray
    mean: np.ndarray
    high: np.ndarray
    colour: str
    title: str = ""
    is_down: bool = False

    def __post_init__(self) -> None:
        n = len(self.edges) - 1
        for name in ("low", "mean", "high"):
            found = len(getattr(self, name))
            if found != n:
                raise ParameterError(f"{name} has {found:,} values, needs {n:,}, one for each bin")
        if (np.diff(self.edges) <= 0).any():
            raise ParameterError("edges of bins need to ascend, these do not")


@dataclass(frozen=True, eq=False)
class ValuePanel:
    """A strip with one or more curves.

    Attributes
    ----------
    title, note
        What stands at its left: the name, and a few words on it.
    height
        Pixels of 96 to the inch.
    curves
        Later ones are drawn above.
    scale
        Values at the lower and the upper end of the y axis.
    is_log
        Whether heights are those of log(1 + value).
    """

    title: str
    height: float
    curves: Sequence[Curve]
    scale: tuple[float, float]
    note: str = ""
    is_log: bool = False

    @property
    def colour(self) -> str:
        """That of the first curve."""
        return self.curves[0].colour if self.curves else "#888888"


@dataclass(frozen=True, eq=False)
class FeaturePanel:
    """A strip with features in rows, as many as there is room for.

    Attributes
    ----------
    title, note, height, colour
        As of a `ValuePanel`.
    starts, ends
        int64, shape (n,), bp: by start.
    names
        The n names; may be empty.
    strands
        int8, shape (n,): 1, -1, 0; or None.
    colours
        The n colours ``#rrggbb``; or None for that of the panel.
    block_offsets, blocks
        Feature i has the blocks (start and end, bp) from ``block_offsets[i]`` to
        ``block_offsets[i + 1]``, with a line through them; both None without blocks.
    """

    title: str
    height: float
    colour: str
    starts: np.ndarray
    ends: np.ndarray
    names: Sequence[str] = ()
    strands: np.ndarray | None = None
    colours: Sequence[str] | None = None
    block_offsets: np.ndarray | None = None
    blocks: np.ndarray | None = None
    note: str = ""

    def __len__(self) -> int:
        return len(self.starts)

    def blocks_of(self, row: int) -> np.ndarray:
        """Return start and end of the blocks of a feature; the feature itself without any."""
        if self.block_offsets is not None:
            found = self.blocks[self.block_offsets[row] : self.block_offsets[row + 1]]
            if len(found):
                return found
        return np.array([[self.starts[row], self.ends[row]]])


Panel = ValuePanel | FeaturePanel
