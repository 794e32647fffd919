"""Writing pangenome graphs as GFA files."""

from __future__ import annotations

from os import PathLike

import numpy as np

from genoviz.errors import ParameterError
from genoviz.io.graph.gfa_names import RepeatedNameError, build_node_table
from genoviz.io.graph.gfa_rendering import render_gfa
from genoviz.io.text.line_errors import explain_name
from genoviz.io.text.writer import write_text
from genoviz.model import PangenomeGraph


def write_gfa(graph: PangenomeGraph, path: str | PathLike[str]) -> None:
    """Write a graph as GFA 1.0, in gzip (BGZF blocks) where ``path`` ends in ``.gz``.

    Segments come first, in the order of the nodes, then links (overlap ``0M``), then all paths
    as P lines under their whole names, walks too: every tool reads those. A node without
    sequence is written as ``*`` with an ``LN`` tag. :func:`genoviz.io.graph.gfa.read_gfa` gives the
    same graph again. The file is there only once it is complete.

    Raises
    ------
    ParameterError
        If a name cannot be written in GFA or is there twice, or a node has no length.
    FileFormatError
        If the file cannot be written.
    """
    _check_graph(graph)
    write_text(path, render_gfa(graph))


def _check_graph(graph: PangenomeGraph) -> None:
    if graph.n_nodes == 0:
        raise ParameterError("a graph without nodes cannot be written as GFA, needs one at least")
    _check_names(graph)
    shortest = int(np.argmin(graph.node_lengths))
    if graph.node_lengths[shortest] < 1:
        raise ParameterError(
            f"node {graph.node_names[shortest]!r} has no bases, needs one to be written as GFA"
        )
    if graph.node_sequences is None:
        return
    lengths = graph.node_sequences.lengths
    wrong = np.flatnonzero((lengths > 0) & (lengths != graph.node_lengths))
    if len(wrong):
        node = int(wrong[0])
        raise ParameterError(
            f"node {graph.node_names[node]!r} has a sequence of {lengths[node]:,} bases, "
            f"needs {graph.node_lengths[node]:,} of them or none"
        )


def _check_names(graph: PangenomeGraph) -> None:
    data, offsets = graph.node_names.data, graph.node_names.offsets
    is_odd = (data < 32) | (data == 127) | (data == ord(","))
    odd = np.unique(np.searchsorted(offsets, np.flatnonzero(is_odd), side="right") - 1)
    empty = np.flatnonzero(np.diff(offsets) == 0)
    names = [data[offsets[k] : offsets[k + 1]].tobytes() for k in (*odd.tolist(), *empty.tolist())]
    reasons = [explain_name(name, "node") for name in names]
    reasons += [explain_name(name.encode(), "path") for name in graph.path_names]
    for reason in reasons:
        if reason:
            raise ParameterError(f"{reason}; GFA cannot hold that")
    try:
        for _ in build_node_table(graph.node_names):
            pass
    except RepeatedNameError as error:
        name = graph.node_names[error.node]
        raise ParameterError(f"two nodes are named {name!r}, needs a name for each") from None
