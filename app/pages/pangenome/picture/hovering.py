"""Which node is under the pointer: asked of the server, which goes on looking as nodes move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from genoviz.model import PangenomeGraph

Line = tuple[float, float, float, float]


@dataclass(frozen=True)
class FoundNode:
    """The node under the pointer.

    Attributes
    ----------
    node
        Its number.
    text
        What to say of it; lines.
    lines
        Where it is seen: ``(x0, y0, x1, y1)`` in the plane of the picture.
    """

    node: int
    text: str
    lines: tuple[Line, ...]

    @property
    def message(self) -> dict[str, Any]:
        """What the browser needs to show it."""
        return {"text": self.text, "lines": [list(line) for line in self.lines]}


class Hovering:
    """Remembers where the pointer rests, and finds the node there.

    Parameters
    ----------
    find_node
        Gets x and y in the plane of the picture; returns the node there or None.
    """

    def __init__(self, find_node: Callable[[float, float], FoundNode | None]) -> None:
        self._find_node = find_node
        self._place: tuple[float, float] | None = None

    def point(self, x: float, y: float) -> dict[str, Any] | None:
        """Take a place; return the node there as the browser takes it, or None."""
        self._place = (x, y)
        return self.look()

    def leave(self) -> None:
        """Forget the pointer."""
        self._place = None

    def look(self) -> dict[str, Any] | None:
        """Return the node that is under the pointer now, as the browser takes it, or None."""
        place = self._place
        found = None if place is None else self._find_node(*place)
        return None if found is None else found.message


def describe_node(graph: PangenomeGraph, node: int) -> str:
    """Return name, length and depth of a node, in lines."""
    length, depth = int(graph.node_lengths[node]), int(graph.node_depths[node])
    steps = "step" if depth == 1 else "steps"
    return f"Node {graph.node_names[node]}\n{length:,} bp\nDepth {depth:,} {steps}"
