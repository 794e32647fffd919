"""Nodes by their names, many at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from genoviz.generators import finish
from genoviz.io.graph import gfa_parser
from genoviz.io.graph.gfa_names import build_node_table
from genoviz.model import ByteStrings, PangenomeGraph


def find_nodes(graph: PangenomeGraph, names: Sequence[str]) -> np.ndarray:
    """Return the node of each name, or -1 where the graph has none; int64, shape (n_names,)."""
    if graph.n_nodes == 0 or len(names) == 0:
        return np.full(len(names), -1, np.int64)
    table = finish(build_node_table(graph.node_names))
    texts = ByteStrings.from_texts(names)
    return gfa_parser.find_names(texts.data, texts.offsets, table)
