"""Pangenome graphs written as GFA files, some megabytes of text at a time."""

from __future__ import annotations

import re
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
WALK_NAME = re.compile(r"(.+?)#(\d{1,18})#(.+?)(?::(\d{1,18})-(\d{1,18}))?\Z", re.ASCII)
TAB, NEWLINE, RETURN, STAR, PLUS, COMMA, MINUS, ZERO = 9, 10, 13, 42, 43, 44, 45, 48
LEFT, RIGHT = 60, 62
LETTER_L, LETTER_M, LETTER_S = 76, 77, 83


@dataclass(frozen=True)
class WriteProgress:
    """How many segments, links and steps of a graph are written, and how many there are."""

    n_done: int
    n_total: int


def write_gfa(graph: PangenomeGraph, path: str | PathLike[str]) -> None:
    """Write a graph as GFA, in gzip (BGZF blocks) where ``path`` ends in ``.gz``.

    Segments come first, in the order of the nodes and with their tags, then links (overlap ``0M``)
    with theirs, then all paths: walks as W lines (GFA 1.1) where their names say sample, haplotype
    and contig, all others as P lines (1.0). A node without sequence is written as ``*`` with an
    ``LN`` tag. :func:`genoviz.io.graph.gfa.read_gfa` gives the same graph again. The file is there
    only once it is complete.

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
    for tags, what in ((graph.node_tags, "node"), (graph.link_tags, "link")):
        if tags is not None and np.isin(tags.data, (NEWLINE, RETURN)).any():
            reasons.append(f"a {what} has a tag with a line end")
    for reason in reasons:
        if reason:
            raise ParameterError(f"{reason}; GFA cannot hold that")
    if len(set(graph.path_names)) < graph.n_paths:
        seen: set[str] = set()
        name = next(name for name in graph.path_names if name in seen or seen.add(name))
        raise ParameterError(f"two paths are named {name!r}, needs a name for each")
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
    version = b"1.0" if graph.walks is None else b"1.1"
    yield 0, memoryview(b"H\tVN:Z:" + version + b"\n")
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
    tags = _tags_or_none(graph.node_tags, graph.n_nodes)
    sizes = names.lengths + sequences.lengths + tags.lengths
    sizes += 5 + len(_LENGTH_TAG) + _MAX_DIGITS
    for first, last, n_bytes in _cut(sizes):
        out = np.empty(n_bytes, np.uint8)
        n = _write_segments(
            names.data, names.offsets, sequences.data, sequences.offsets, graph.node_lengths,
            tags.data, tags.offsets, first, last, _LENGTH_TAG, out,
        )  # fmt: skip
        yield last - first, out[:n].data


def _render_links(graph: PangenomeGraph) -> Iterator[tuple[int, memoryview]]:
    names, tags = graph.node_names, _tags_or_none(graph.link_tags, graph.n_edges)
    sizes = names.lengths[graph.edges >> 1].sum(axis=1) + tags.lengths + 12
    for first, last, n_bytes in _cut(sizes):
        out = np.empty(n_bytes, np.uint8)
        n = _write_links(
            names.data, names.offsets, graph.edges, tags.data, tags.offsets, first, last, out
        )
        yield last - first, out[:n].data


def _tags_or_none(tags: ByteStrings | None, n: int) -> ByteStrings:
    return ByteStrings(np.empty(0, np.uint8), np.zeros(n + 1, np.int64)) if tags is None else tags


def _render_paths(graph: PangenomeGraph) -> Iterator[tuple[int, memoryview]]:
    names = graph.node_names
    fields = [
        _walk_fields(name) if graph.walks is not None and graph.walks[path] else None
        for path, name in enumerate(graph.path_names)
    ]
    is_walk = np.array([found is not None for found in fields])
    path_heads = ByteStrings.from_texts(
        f"P\t{name}\t" if found is None else found
        for name, found in zip(graph.path_names, fields, strict=True)
    )
    name_lengths = names.lengths
    for start in range(0, max(graph.n_steps, 1), _STEPS_PER_CHUNK):
        stop = min(start + _STEPS_PER_CHUNK, graph.n_steps)
        first = int(np.searchsorted(graph.path_offsets, start))
        n_paths = int(np.searchsorted(graph.path_offsets, stop, side="right")) - first + 1
        n_bytes = int(name_lengths[graph.steps[start:stop] >> 1].sum()) + 2 * (stop - start)
        heads = path_heads.offsets[first : first + n_paths + 1]
        n_bytes += int(heads[-1] - heads[0]) + 8 * (n_paths + 1)
        out = np.empty(n_bytes, np.uint8)
        n = _write_paths(
            names.data,
            names.offsets,
            path_heads.data,
            path_heads.offsets,
            is_walk,
            graph.path_offsets,
            graph.steps,
            first,
            start,
            stop,
            out,
        )
        yield stop - start, out[:n].data


def _walk_fields(name: str) -> str | None:
    """Return the fields of a W line before its steps, or None for a name that has not all."""
    found = WALK_NAME.match(name)
    if found is None:
        return None
    sample, haplotype, contig, start, end = found.groups()
    if start is None or int(start) > int(end):
        contig, start, end = name[len(sample) + len(haplotype) + 2 :], "*", "*"
    return f"W\t{sample}\t{haplotype}\t{contig}\t{start}\t{end}\t"


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
    names, name_offsets, sequences, sequence_offsets, lengths, tags, tag_offsets, first, last,
    length_tag, out,
):  # fmt: skip
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
        n = _end_line(tags, tag_offsets[node], tag_offsets[node + 1], out, n)
    return n


@njit(nogil=True, cache=True)
def _end_line(tags, start, stop, out, n):
    """Write the tags, if there are any, and the end of the line."""
    if stop > start:
        out[n] = TAB
        n = _write_bytes(tags, start, stop, out, n + 1)
    out[n] = NEWLINE
    return n + 1


@njit(nogil=True, cache=True)
def _write_links(names, name_offsets, edges, tags, tag_offsets, first, last, out):
    n = 0
    for edge in range(first, last):
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
        n = _end_line(tags, tag_offsets[edge], tag_offsets[edge + 1], out, n + 2)
    return n


@njit(nogil=True, cache=True)
def _end_path(path, is_walk, path_offsets, out, n):
    if path < 0:
        return n
    if path_offsets[path] == path_offsets[path + 1]:
        out[n] = STAR
        n += 1
    if not is_walk[path]:
        out[n] = TAB
        out[n + 1] = STAR
        n += 2
    out[n] = NEWLINE
    return n + 1


@njit(nogil=True, cache=True)
def _write_paths(
    names, name_offsets, heads, head_offsets, is_walk, path_offsets, steps, path, start, stop, out
):
    """Write the steps ``start`` to ``stop``; ``path`` is the first path that begins there.

    ``heads`` are what stands before the steps of each path.
    """
    n = 0
    n_paths = len(path_offsets) - 1
    for k in range(start, stop):
        while path < n_paths and path_offsets[path] == k:
            n = _end_path(path - 1, is_walk, path_offsets, out, n)
            n = _write_bytes(heads, head_offsets[path], head_offsets[path + 1], out, n)
            path += 1
        node = np.int64(steps[k] >> 1)
        first, last = name_offsets[node], name_offsets[node + 1]
        if is_walk[path - 1]:
            out[n] = LEFT if steps[k] & 1 else RIGHT
            n = _write_bytes(names, first, last, out, n + 1)
            continue
        if path_offsets[path - 1] != k:
            out[n] = COMMA
            n += 1
        n = _write_bytes(names, first, last, out, n)
        out[n] = MINUS if steps[k] & 1 else PLUS
        n += 1
    if stop == len(steps):
        while path < n_paths:
            n = _end_path(path - 1, is_walk, path_offsets, out, n)
            n = _write_bytes(heads, head_offsets[path], head_offsets[path + 1], out, n)
            path += 1
        n = _end_path(n_paths - 1, is_walk, path_offsets, out, n)
    return n
