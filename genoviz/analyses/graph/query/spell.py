"""Sequences of walks through a graph."""

from __future__ import annotations

import numpy as np

from genoviz.errors import ParameterError
from genoviz.model import PangenomeGraph
from genoviz.model.sequences.bases import COMPLEMENTS

_COMPLEMENTS = COMPLEMENTS.tobytes()


def spell_handles(
    graph: PangenomeGraph, handles: np.ndarray, *, max_bases: int | None = None
) -> str:
    """Return the concatenated bases of handles, reverse-complemented for reverse handles.

    Parameters
    ----------
    graph
        A graph with sequences. A node without one (``*``) reads as ``N`` for each bp.
    handles
        uint32.
    max_bases
        Maximum number of bases to return.

    Raises
    ------
    ParameterError
        If the graph was read without sequences.
    """
    if graph.node_sequences is None:
        raise ParameterError("the graph was read without its sequences, which are needed here")
    texts, n_left = [], max_bases if max_bases is not None else graph.total_length * 2**31
    data, offsets = graph.node_sequences.data, graph.node_sequences.offsets
    for handle in handles.tolist():
        if n_left <= 0:
            break
        node = handle >> 1
        bases = data[offsets[node] : offsets[node + 1]].tobytes()
        bases = bases or b"N" * int(graph.node_lengths[node])
        if handle & 1:
            bases = bases[::-1].translate(_COMPLEMENTS)
        texts.append(bases[:n_left])
        n_left -= len(texts[-1])
    return b"".join(texts).decode()
