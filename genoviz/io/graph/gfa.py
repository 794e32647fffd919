"""Reading of pangenome graphs from GFA files, versions 1.0 and 1.1.

Lines are located first; then segments, links and finally paths are parsed.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TypeVar

import numba
import numpy as np

from genoviz.errors import FileFormatError, check_minimum, n_words
from genoviz.generators import in_one_go, report
from genoviz.io.files.file_source import find_source
from genoviz.io.graph import gfa_lines, gfa_parser
from genoviz.io.graph.cache import load_graph, store_graph
from genoviz.io.graph.gfa_names import RepeatedNameError, build_node_table
from genoviz.io.graph.gfa_paths import read_paths
from genoviz.io.graph.gfa_threads import BLOCK, Progress, TextTasks
from genoviz.io.text import line_errors
from genoviz.io.text.text_file import open_text
from genoviz.model import ByteStrings, PangenomeGraph
from genoviz.model.columns import distinct
from genoviz.model.graph.pangenome import MAX_NODES

T = TypeVar("T")
DEFAULT_LENGTH = 1


@dataclass(frozen=True)
class GfaProgress:
    """Progress of reading a file.

    Attributes
    ----------
    stage
        Current stage, e.g. ``"Reading paths"``.
    n_bytes_done, n_bytes_total
        Bytes of the text (or of the compressed file during decompression) processed in this
        stage, and their total.
    graph
        The graph, in the last report only.
    """

    stage: str
    n_bytes_done: int
    n_bytes_total: int
    graph: PangenomeGraph | None = None


def iter_read_gfa(
    path: str | PathLike[str],
    *,
    sequences: bool = True,
    cache: bool = True,
    n_threads: int | None = None,
) -> Iterator[GfaProgress]:
    """Yield the progress of reading a GFA file; the last report has the graph.

    The file may be plain or gzip-compressed (also in several members), whatever its name. Lines may
    come in any order and have carriage returns.

    S lines have a sequence, or ``*`` with an ``LN`` tag; without the tag, the length is 1 bp. L
    lines are all kept in file order, including duplicates, with or without overlap; J lines are
    treated as L lines. The tags of both are kept. Paths are the P and W lines in file order. A walk
    is named ``sample#haplotype#contig:start-end``, without the range if it is ``*``. Overlaps are
    ignored; the graph's ``notes`` count those that are not ``0M`` or ``*``, as well as C and other
    lines, which are skipped.

    Parameters
    ----------
    path
        The file.
    sequences
        Whether to keep the sequences of the nodes, one byte per base.
    cache
        Whether to cache the parsed graph in the user's cache folder, and to reuse it if the file is
        unchanged.
    n_threads
        Number of threads that parse the text; Numba's number of threads if None.

    Raises
    ------
    FileFormatError
        If the file cannot be read or violates the format; the message says where and why.
    ParameterError
        If ``n_threads`` is less than 1.

    References
    ----------
    GFA specification, https://gfa-spec.github.io/GFA-spec/GFA1.html
    """
    path = Path(path)
    if n_threads is None:
        n_threads = numba.config.NUMBA_NUM_THREADS
    check_minimum("n_threads", n_threads, 1)
    source = find_source(path) if cache else None
    if source:
        stage = "Opening the saved graph"
        graph = yield from _report(stage, load_graph(source, sequences=sequences))
        if graph:
            yield GfaProgress("Done", source.size, source.size, graph)
            return
    data = yield from _report("Decompressing", open_text(path, n_threads=n_threads))
    parsing = parse_gfa(path, data, sequences=sequences, n_threads=n_threads)
    graph = yield from _report(None, parsing)
    n_bytes = len(data)
    del data
    if source:
        yield from _report("Saving the graph for next time", store_graph(source, graph))
    yield GfaProgress("Done", n_bytes, n_bytes, graph)


@in_one_go(iter_read_gfa)
def read_gfa(last: GfaProgress) -> PangenomeGraph:
    """Return the graph of a GFA file; see :func:`iter_read_gfa`."""
    return last.graph


def _report(stage: str | None, steps: Generator[tuple, None, T]) -> Generator[GfaProgress, None, T]:
    """Yield the progress of ``steps`` under a stage name, and return their result."""
    named = () if stage is None else (stage,)
    return report(steps, lambda step: GfaProgress(*named, *step))


def parse_gfa(
    path: Path, data: np.ndarray, *, sequences: bool, n_threads: int
) -> Generator[Progress, None, PangenomeGraph]:
    """Return the graph of a GFA text; yields stage, bytes done and total bytes."""
    with ThreadPoolExecutor(n_threads) as pool:
        text = TextTasks(path, data, pool, n_threads)
        _check_version(text)
        segments, links, paths = yield from _find_lines(text)
        names, lengths, bases, tags = yield from _read_segments(text, segments, sequences)
        table = yield from _build_table(text, names, segments)
        del segments
        edges, link_tags = yield from _read_links(text, links, table, names)
        del links
        path_names, offsets, steps = yield from read_paths(text, paths, table, names, lengths)
        is_walk = data[paths] == ord("W")
    walks = is_walk if is_walk.any() else None
    notes = tuple(text.notes)
    return PangenomeGraph(
        names, lengths, edges, path_names, offsets, steps, bases, notes, tags, walks, link_tags
    )


def _check_version(text: TextTasks) -> None:
    line = line_errors.line_at(text.data, 0).removeprefix(b"\xef\xbb\xbf")
    if line.startswith(b"H"):
        for tag in line.split(b"\t"):
            if tag.startswith(b"VN:Z:") and not tag.startswith(b"VN:Z:1"):
                version = line_errors.show(tag[5:])
                raise FileFormatError(text.path, f"is GFA version {version}, needs 1.x", line=1)


def _find_lines(text: TextTasks) -> Generator[Progress, None, list[np.ndarray]]:
    data, words = text.data, text.words
    starts = np.append(np.arange(0, len(data), BLOCK), len(data))
    counts = np.zeros((len(starts) - 1, 256), np.int32)

    def count(start: int, stop: int) -> int:
        return gfa_lines.count_lines(data, words, start, stop, counts[start // BLOCK])

    wrong = yield from text.run("Finding lines", starts, starts // 2, count)
    text.refuse(wrong, line_errors.explain_record)
    _note_other_lines(text, counts.sum(axis=0, dtype=np.int64))

    kinds = [counts[:, [ord(k) for k in kind]].sum(axis=1) for kind in ("S", "LJ", "PW")]
    ranks = np.zeros((len(starts), 3), np.int64)
    np.cumsum(np.stack(kinds, axis=1), axis=0, out=ranks[1:])
    lines = [np.zeros(n, np.int64) for n in ranks[-1].tolist()]

    def find(start: int, stop: int) -> None:
        block = start // BLOCK
        if (ranks[block] != ranks[block + 1]).any():
            gfa_lines.find_lines(data, words, start, stop, *lines, ranks[block].copy())

    yield from text.run("Finding lines", starts, starts // 2 + len(data) // 2, find)
    if len(lines[0]) == 0:
        raise FileFormatError(text.path, "has no segment (S line), needs at least one")
    if len(lines[0]) > MAX_NODES:
        raise FileFormatError(
            text.path, f"has {len(lines[0]):,} segments, needs at most {MAX_NODES:,}"
        )
    return lines


def _note_other_lines(text: TextTasks, counts: np.ndarray) -> None:
    for kind in "ABCDEFGIKMNOQRTUVXYZ":
        n = int(counts[ord(kind)])
        if n:
            text.notes.append(f"{n:,} {kind} {'line was' if n == 1 else 'lines were'} left out.")
    n = text.n_jumps = int(counts[ord("J")])
    if n:
        what = "jump was read as a link" if n == 1 else "jumps were read as links"
        text.notes.append(f"{n:,} {what}; distances of jumps are not used.")


def _read_segments(
    text: TextTasks, lines: np.ndarray, with_sequences: bool
) -> Generator[
    Progress, None, tuple[ByteStrings, np.ndarray, ByteStrings | None, ByteStrings | None]
]:
    """Return names, lengths, sequences and tags; yields the progress."""
    data, n = text.data, len(lines)
    name_offsets = np.zeros(n + 1, np.int64)
    sequence_offsets = np.zeros(n + 1 if with_sequences else 1, np.int64)
    tag_offsets = np.zeros(n + 1, np.int64)
    lengths = np.empty(n, np.int64)
    bounds, positions = text.tasks(lines)

    def measure(first: int, last: int) -> int:
        offsets = name_offsets[1:], lengths, sequence_offsets[1:], tag_offsets[1:]
        return gfa_lines.measure_segments(data, lines, first, last, *offsets)

    wrong = yield from text.run("Reading segments", bounds, positions // 2, measure)
    text.refuse(wrong, line_errors.explain_segment)
    _set_default_lengths(text, lengths)
    np.cumsum(name_offsets, out=name_offsets)
    np.cumsum(sequence_offsets, out=sequence_offsets)
    np.cumsum(tag_offsets, out=tag_offsets)
    names = np.empty(name_offsets[-1], np.uint8)
    bases = np.empty(sequence_offsets[-1], np.uint8)
    tags = np.zeros(tag_offsets[-1], np.uint8)

    def copy(first: int, last: int) -> None:
        parts = name_offsets, names, lengths, sequence_offsets, bases, tag_offsets, tags
        gfa_lines.copy_segments(data, lines, first, last, *parts)

    yield from text.run("Reading segments", bounds, (positions + len(data)) // 2, copy)
    _check_text(text, lines, names, name_offsets)
    sequences = ByteStrings(bases, sequence_offsets) if with_sequences else None
    kept = ByteStrings(tags, tag_offsets) if len(tags) else None
    return ByteStrings(names, name_offsets), lengths, sequences, kept


def _set_default_lengths(text: TextTasks, lengths: np.ndarray) -> None:
    is_unknown = lengths == 0
    n = int(is_unknown.sum())
    if n:
        lengths[is_unknown] = DEFAULT_LENGTH
        nodes = "segment has" if n == 1 else "segments have"
        text.notes.append(
            f"{n:,} of {len(lengths):,} {nodes} neither a sequence nor a length (LN); "
            f"{DEFAULT_LENGTH} bp is taken for each."
        )


def _check_text(text: TextTasks, lines: np.ndarray, names: np.ndarray, offsets: np.ndarray) -> None:
    """Reject names that are not valid UTF-8."""
    if names.max(initial=0) < 128:
        return
    suspects = np.searchsorted(offsets, np.flatnonzero(names >= 128), side="right") - 1
    for node in distinct(suspects).tolist():
        try:
            names[offsets[node] : offsets[node + 1]].tobytes().decode()
        except UnicodeDecodeError:
            text.refuse([int(lines[node])], line_errors.explain_segment)


def _build_table(
    text: TextTasks, names: ByteStrings, lines: np.ndarray
) -> Generator[Progress, None, gfa_parser.NodeTable]:
    building = build_node_table(names)
    n_bytes = len(text.data)
    try:
        return (
            yield from report(
                building, lambda share: ("Indexing names", int(share * n_bytes), n_bytes)
            )
        )
    except RepeatedNameError as error:
        _refuse_repeated(text, names, lines, error.node)


def _refuse_repeated(text: TextTasks, names: ByteStrings, lines: np.ndarray, node: int) -> None:
    first, second = (
        line_errors.line_number(text.data, int(lines[k])) for k in (names.find(names[node]), node)
    )
    raise FileFormatError(
        text.path,
        f"segment '{names[node]}' is there already on line {first}, needs a name of its own",
        line=second,
    )


def _read_links(
    text: TextTasks, lines: np.ndarray, table: gfa_parser.NodeTable, names: ByteStrings
) -> Generator[Progress, None, tuple[np.ndarray, ByteStrings | None]]:
    """Return the edges and the tags of the links; yields the progress."""
    edges = np.empty((len(lines), 2), np.uint32)
    bounds, positions = text.tasks(lines)

    def parse(first: int, last: int) -> tuple[int, int, int]:
        return gfa_parser.parse_links(text.data, text.words, lines, first, last, table, edges)

    results = yield from text.run("Reading links", bounds, positions, parse)
    text.refuse(
        [wrong for wrong, *_ in results],
        lambda line: line_errors.explain_link(line, lambda name: names.find(name) >= 0),
    )
    n_overlaps = sum(n for _, n, _ in results)
    if n_overlaps:
        text.notes.append(
            f"{n_overlaps:,} of {n_words(len(lines), 'link')} overlap (neither 0M nor *); nodes "
            "keep their "
            "whole length, and positions along paths count overlapping bases twice."
        )
    has_tags = any(n for *_, n in results)
    return edges, (yield from _read_link_tags(text, lines)) if has_tags else None


def _read_link_tags(
    text: TextTasks, lines: np.ndarray
) -> Generator[Progress, None, ByteStrings | None]:
    starts = np.empty(len(lines), np.int64)
    offsets = np.zeros(len(lines) + 1, np.int64)
    bounds, positions = text.tasks(lines)

    def find(first: int, last: int) -> None:
        gfa_parser.find_link_tags(text.data, text.words, lines, first, last, starts, offsets[1:])

    def copy(first: int, last: int) -> None:
        gfa_parser.copy_link_tags(text.data, starts, first, last, offsets, tags)

    yield from text.run("Reading tags of links", bounds, positions, find)
    np.cumsum(offsets, out=offsets)
    tags = np.empty(offsets[-1], np.uint8)
    yield from text.run("Reading tags of links", bounds, positions, copy)
    return ByteStrings(tags, offsets) if len(tags) else None
