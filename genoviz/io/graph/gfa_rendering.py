"""The text of a graph in GFA, some megabytes at a time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numba import njit

from genoviz.model import ByteStrings, PangenomeGraph

_BYTES_PER_CHUNK = 8 << 20
_STEPS_PER_CHUNK = 1 << 20
_LENGTH_TAG = np.frombuffer(b"*\tLN:i:", np.uint8)
_MAX_DIGITS = 20

TAB, NEWLINE, STAR, PLUS, COMMA, MINUS, ZERO = 9, 10, 42, 43, 44, 45, 48
LETTER_L, LETTER_M, LETTER_P, LETTER_S = 76, 77, 80, 83


def render_gfa(graph: PangenomeGraph) -> Iterator[memoryview]:
    """Yield the text of a graph whose names and lengths are fit for GFA."""
    yield memoryview(b"H\tVN:Z:1.0\n")
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


def _render_segments(graph: PangenomeGraph) -> Iterator[memoryview]:
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
        yield out[:n].data


def _render_links(graph: PangenomeGraph) -> Iterator[memoryview]:
    names = graph.node_names
    for first, last, n_bytes in _cut(names.lengths[graph.edges >> 1].sum(axis=1) + 11):
        out = np.empty(n_bytes, np.uint8)
        _write_links(names.data, names.offsets, graph.edges[first:last], out)
        yield out.data


def _render_paths(graph: PangenomeGraph) -> Iterator[memoryview]:
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
        yield out[:n].data


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
