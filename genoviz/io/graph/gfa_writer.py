"""Pangenome graphs written as GFA files, some megabytes of text at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike

import numpy as np
from numba import njit

from genoviz.errors import ParameterError
from genoviz.io.graph.gfa_names import RepeatedNameError, build_node_table
from genoviz.io.text.line_errors import explain_name
from genoviz.io.text.text_file import iter_write_text
from genoviz.model import ByteStrings, PangenomeGraph

_BYTES_PER_CHUNK = 8 << 20
_STEPS_PER_CHUNK = 1 << 20
_LENGTH_TAG = np.frombuffer(b"*\tLN:i:", np.uint8)
_MAX_DIGITS = 20
TAB, NEWLINE, STAR, PLUS, COMMA, MINUS, ZERO = 9, 10, 42, 43, 44, 45, 48
LETTER_L, LETTER_M, LETTER_P, LETTER_S = 76, 77, 80, 83


@dataclass(frozen=True)
class WriteProgress:
    """How many segments, links and steps of a graph are written, and how many there are."""

    n_done: int
    n_total: int


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
    for _ in iter_write_gfa(graph, path):
        pass


def iter_write_gfa(graph: PangenomeGraph, path: str | PathLike[str]) -> Iterator[WriteProgress]:
    """Yield how far the writing of a graph as GFA is. See `write_gfa`."""
    _check_graph(graph)
    n_done, n_total = 0, graph.n_nodes + graph.n_edges + graph.n_steps

    def render() -> Iterator[memoryview]:
        nonlocal n_done
        for n_rendered, text in _render_graph(graph):
            n_done += n_rendered
            yield text

    for _ in iter_write_text(path, render()):
        yield WriteProgress(n_done, n_total)


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


def _render_graph(graph: PangenomeGraph) -> Iterator[tuple[int, memoryview]]:
    """Yield pieces of text, each with how many segments, links or steps it has.

    Names and lengths are fit for GFA.
    """
    yield 0, memoryview(b"H\tVN:Z:1.0\n")
    yield from _render_segments(graph)
    yield from _render_links(graph)
    if graph.n_paths:
        yield from _render_paths(graph)


def _cut(sizes: np.ndarray) -> Iterator[tuple[int, int, int]]:
    """Yield first line, last line and bytes of runs of lines of these sizes."""
    ends = np.cumsum(sizes)
    n_bytes = int(ends[-1]) if len(ends) else 0
    bounds = np.searchsorted(ends, np.arange(0, n_bytes, _BYTES_PER_CHUNK))
    bounds = np.unique(np.append(bounds, (0, len(sizes)))).tolist()
    for first, last in pairwise(bounds):
        yield first, last, int(sizes[first:last].sum())


def _render_segments(graph: PangenomeGraph) -> Iterator[tuple[int, memoryview]]:
    names = graph.node_names
    sequences = graph.node_sequences
    if sequences is None:
        offsets = np.zeros(graph.n_nodes + 1, np.int64)
        sequences = ByteStrings(np.empty(0, np.uint8), offsets)
    sizes = names.lengths + sequences.lengths + (4 + len(_LENGTH_TAG) + _MAX_DIGITS)
    for first, last, n_bytes in _cut(sizes):
        out = np.empty(n_bytes, np.uint8)
        n = _write_segments(
            names.data,
            names.offsets,
            sequences.data,
            sequences.offsets,
            graph.node_lengths,
            first,
            last,
            _LENGTH_TAG,
            out,
        )
        yield last - first, out[:n].data


def _render_links(graph: PangenomeGraph) -> Iterator[tuple[int, memoryview]]:
    names = graph.node_names
    for first, last, n_bytes in _cut(names.lengths[graph.edges >> 1].sum(axis=1) + 11):
        out = np.empty(n_bytes, np.uint8)
        _write_links(names.data, names.offsets, graph.edges[first:last], out)
        yield last - first, out.data


def _render_paths(graph: PangenomeGraph) -> Iterator[tuple[int, memoryview]]:
    names = graph.node_names
    path_names = ByteStrings.from_texts(graph.path_names)
    name_lengths = names.lengths
    for start in range(0, max(graph.n_steps, 1), _STEPS_PER_CHUNK):
        stop = min(start + _STEPS_PER_CHUNK, graph.n_steps)
        first = int(np.searchsorted(graph.path_offsets, start))
        n_paths = int(np.searchsorted(graph.path_offsets, stop, side="right")) - first + 1
        n_bytes = int(name_lengths[graph.steps[start:stop] >> 1].sum()) + 2 * (stop - start)
        heads = path_names.offsets[first : first + n_paths + 1]
        n_bytes += int(heads[-1] - heads[0]) + 8 * (n_paths + 1)
        out = np.empty(n_bytes, np.uint8)
        n = _write_paths(
            names.data,
            names.offsets,
            path_names.data,
            path_names.offsets,
            graph.path_offsets,
            graph.steps,
            first,
            start,
            stop,
            out,
        )
        yield stop - start, out[:n].data


@njit(nogil=True, cache=True)
def _write_bytes(source, start, stop, out, n):
    for i in range(start, stop):
        out[n] = source[i]
        n += 1
    return n


@njit(nogil=True, cache=True)
def _write_integer(value, out, n):
    n_digits = 1
    rest = value // 10
    while rest:
        n_digits += 1
        rest //= 10
    for digit in range(n_digits):
        out[n + n_digits - 1 - digit] = ZERO + value % 10
        value //= 10
    return n + n_digits


@njit(nogil=True, cache=True)
def _write_segments(
    names, name_offsets, sequences, sequence_offsets, lengths, first, last, length_tag, out
):
    n = 0
    for node in range(first, last):
        out[n] = LETTER_S
        out[n + 1] = TAB
        n = _write_bytes(names, name_offsets[node], name_offsets[node + 1], out, n + 2)
        out[n] = TAB
        start, stop = sequence_offsets[node], sequence_offsets[node + 1]
        if stop > start:
            n = _write_bytes(sequences, start, stop, out, n + 1)
        else:
            n = _write_bytes(length_tag, 0, len(length_tag), out, n + 1)
            n = _write_integer(lengths[node], out, n)
        out[n] = NEWLINE
        n += 1
    return n


@njit(nogil=True, cache=True)
def _write_links(names, name_offsets, edges, out):
    n = 0
    for edge in range(len(edges)):
        out[n] = LETTER_L
        out[n + 1] = TAB
        n += 2
        for side in range(2):
            node = np.int64(edges[edge, side] >> 1)
            n = _write_bytes(names, name_offsets[node], name_offsets[node + 1], out, n)
            out[n] = TAB
            out[n + 1] = MINUS if edges[edge, side] & 1 else PLUS
            out[n + 2] = TAB
            n += 3
        out[n] = ZERO
        out[n + 1] = LETTER_M
        out[n + 2] = NEWLINE
        n += 3


@njit(nogil=True, cache=True)
def _begin_path(path, path_names, path_name_offsets, out, n):
    out[n] = LETTER_P
    out[n + 1] = TAB
    n = _write_bytes(path_names, path_name_offsets[path], path_name_offsets[path + 1], out, n + 2)
    out[n] = TAB
    return n + 1


@njit(nogil=True, cache=True)
def _end_path(path, path_offsets, out, n):
    if path < 0:
        return n
    if path_offsets[path] == path_offsets[path + 1]:
        out[n] = STAR
        n += 1
    out[n] = TAB
    out[n + 1] = STAR
    out[n + 2] = NEWLINE
    return n + 3


@njit(nogil=True, cache=True)
def _write_paths(
    names,
    name_offsets,
    path_names,
    path_name_offsets,
    path_offsets,
    steps,
    path,
    start,
    stop,
    out,
):
    """Write the steps ``start`` to ``stop``; ``path`` is the first path that begins there."""
    n = 0
    n_paths = len(path_offsets) - 1
    for k in range(start, stop):
        while path < n_paths and path_offsets[path] == k:
            n = _end_path(path - 1, path_offsets, out, n)
            n = _begin_path(path, path_names, path_name_offsets, out, n)
            path += 1
        if path_offsets[path - 1] != k:
            out[n] = COMMA
            n += 1
        node = np.int64(steps[k] >> 1)
        n = _write_bytes(names, name_offsets[node], name_offsets[node + 1], out, n)
        out[n] = MINUS if steps[k] & 1 else PLUS
        n += 1
    if stop == len(steps):
        while path < n_paths:
            n = _end_path(path - 1, path_offsets, out, n)
            n = _begin_path(path, path_names, path_name_offsets, out, n)
            path += 1
        n = _end_path(n_paths - 1, path_offsets, out, n)
    return n
