"""Marks of the picture: nodes in a special colour, and labels beside nodes."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from genoviz.analyses.graph.picture.colours import MAX_INDEX, N_MARK_COLOURS
from genoviz.analyses.graph.picture.drawn_nodes import MarkLayer

USUAL_WIDTHS, LIT_WIDTHS = (3, 0), (6, 9)
"""Line widths of marks and of their halos, device pixels."""


@dataclass(frozen=True, eq=False)
class Mark:
    """Nodes that are emphasized.

    Attributes
    ----------
    nodes
        int64, any number of node indices.
    colour
        ``#rrggbb``.
    label
        Their description; empty for none.
    is_lit
        Whether they are drawn wide with a halo, so that even a single short node is visible in the
        whole layout.
    """

    nodes: np.ndarray
    colour: str
    label: str = ""
    is_lit: bool = False


@dataclass(frozen=True)
class NodeLabel:
    """A label beside a node, in a colour (``#rrggbb``).

    ``key`` is the number that a click on the label reports; -1 if it cannot be clicked.
    """

    node: int
    text: str
    colour: str = "#e8eef6"
    key: int = -1


class PictureNotes:
    """Named marks and labels of one picture; the first name is drawn first.

    Attributes
    ----------
    version
        Incremented with every change.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._marks: dict[str, Mark] = {}
        self._labels: dict[str, tuple[NodeLabel, ...]] = {}
        self.version = 0

    def set_mark(self, name: str, mark: Mark | None) -> None:
        """Set, replace or remove (None) the mark of a name."""
        with self._lock:
            self._marks.pop(name, None)
            if mark is not None and len(mark.nodes):
                self._marks[name] = mark
            self.version += 1

    def set_labels(self, name: str, labels: Sequence[NodeLabel]) -> None:
        """Replace the labels of a name."""
        with self._lock:
            self._labels.pop(name, None)
            if labels:
                self._labels[name] = tuple(labels)
            self.version += 1

    def clear(self) -> None:
        """Remove all marks and labels, because another graph is open."""
        with self._lock:
            self._marks.clear()
            self._labels.clear()
            self.version += 1

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The marks, in drawing order."""
        with self._lock:
            return tuple(self._marks.values())

    @property
    def labels(self) -> tuple[NodeLabel, ...]:
        """The labels of all names."""
        with self._lock:
            return tuple(label for labels in self._labels.values() for label in labels)


def make_layers(marks: tuple[Mark, ...]) -> tuple[tuple[str, ...], tuple[MarkLayer, ...]]:
    """Return the colours of marks, and their layers in the palette indices reserved for marks."""
    colours = tuple(dict.fromkeys(mark.colour for mark in marks))[:N_MARK_COLOURS]
    indices = {colour: MAX_INDEX + 1 + place for place, colour in enumerate(colours)}
    layers = []
    for mark in marks:
        widths = LIT_WIDTHS if mark.is_lit else USUAL_WIDTHS
        layers.append(MarkLayer(mark.nodes, indices.get(mark.colour, 255), *widths))
    return colours, tuple(layers)
