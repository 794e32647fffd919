"""Paths of a GFA text: P and W lines, their names and steps."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from genoviz.errors import FileFormatError, n_words
from genoviz.io.graph import gfa_lines, gfa_parser
from genoviz.io.graph.gfa_threads import Progress, TextTasks
from genoviz.io.text import line_errors
from genoviz.model import ByteStrings
from genoviz.model.columns import expand_counts

NO_PATHS_NOTE = (
    "The file has no paths (P or W lines): reference tags or walks along links guide its layout."
)
_PIECE = 1 << 19
_NAMES_PER_SLICE = 10_000


def read_paths(
    text: TextTasks,
    lines: np.ndarray,
    table: gfa_parser.NodeTable,
    names: ByteStrings,
    node_lengths: np.ndarray,
) -> Generator[Progress, None, tuple[tuple[str, ...], np.ndarray, np.ndarray]]:
    """Return path names, path offsets and steps; yields progress."""
    fields = np.empty((len(lines), 2), np.int64)
    has_overlaps = np.zeros(len(lines), np.bool_)
    bounds, positions = text.tasks(lines)

    def find_fields(first: int, last: int) -> int:
        return gfa_parser.find_path_fields(
            text.data, text.words, lines, first, last, fields, has_overlaps
        )

    wrong = yield from text.run("Measuring paths", bounds, positions // 2, find_fields)
    text.refuse(wrong, line_errors.explain_path_fields)
    path_names, endless = yield from _read_path_names(text, lines, fields)
    _refuse_repeated_path(text, lines, path_names)
    _note_paths(text, path_names, int(has_overlaps.sum()))

    pieces, owners = _cut_paths(text, lines, fields)
    counts = np.zeros(len(pieces) + 1, np.int64)
    bounds, positions = text.tasks(pieces[:, 0])

    def count(first: int, last: int) -> None:
        gfa_lines.count_steps(text.data, text.words, pieces, first, last, counts[1:])

    yield from text.run("Measuring paths", bounds, (positions + len(text.data)) // 2, count)
    np.cumsum(counts, out=counts)
    steps = np.empty(counts[-1], np.uint32)

    def parse(first: int, last: int) -> int:
        return gfa_parser.parse_steps(text.data, pieces, first, last, table, counts, steps)

    wrong = yield from text.run("Reading paths", bounds, positions, parse)
    wrong = [position for position in wrong if position >= 0]
    if wrong:
        _refuse_step(text, min(wrong), lines, fields, path_names, names)
    offsets = counts[np.searchsorted(owners, np.arange(len(lines) + 1))]
    if endless:
        path_names = _with_ends(path_names, endless, node_lengths, offsets, steps)
        _refuse_repeated_path(text, lines, path_names)
    return path_names, offsets, steps


def _cut_paths(
    text: TextTasks, lines: np.ndarray, fields: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the pieces for :func:`gfa_parser.parse_steps`, and the path of each."""
    n_pieces = -(-(fields[:, 1] - fields[:, 0]) // _PIECE)
    owners, ranks = expand_counts(n_pieces)
    pieces = np.empty((len(owners), 5), np.int64)
    pieces[:, 0] = fields[owners, 0] + ranks * _PIECE
    pieces[:, 1] = np.minimum(pieces[:, 0] + _PIECE, fields[owners, 1])
    pieces[:, 2:4] = fields[owners]
    of_paths = gfa_lines.PATH_WITH_JUMPS if text.n_jumps else gfa_lines.PATH
    pieces[:, 4] = np.where(text.data[lines[owners]] == ord("W"), gfa_lines.WALK, of_paths)
    return pieces, owners


def _read_path_names(
    text: TextTasks, lines: np.ndarray, fields: np.ndarray
) -> Generator[Progress, None, tuple[tuple[str, ...], list[int]]]:
    """Return the names, and the walks that have a start but ``*`` for their end."""
    names, endless = [], []
    for line, start in zip(lines.tolist(), fields[:, 0].tolist(), strict=True):
        head = text.data[line : start - 1].tobytes()
        try:
            names.append(_path_name(head[2:]) if head[:1] == b"P" else _walk_name(head[2:]))
        except ValueError as error:
            line = line_errors.line_number(text.data, line)
            raise FileFormatError(text.path, str(error), line=line) from None
        if head[:1] == b"W" and head.endswith(b"\t*") and not head.endswith(b"\t*\t*"):
            endless.append(len(names) - 1)
        if len(names) % _NAMES_PER_SLICE == 0:
            yield "Reading path names", start, len(text.data)
    return tuple(names), endless


def _refuse_repeated_path(text: TextTasks, lines: np.ndarray, names: tuple[str, ...]) -> None:
    """Reject a duplicate path name, as odgi and vg do, because positions would be ambiguous."""
    if len(set(names)) == len(names):
        return
    seen: dict[str, int] = {}
    for rank, name in enumerate(names):
        if name in seen:
            first, second = (
                line_errors.line_number(text.data, int(lines[k])) for k in (seen[name], rank)
            )
            raise FileFormatError(
                text.path,
                f"path {line_errors.show(name.encode())} is there already on line {first}, "
                "needs a name of its own",
                line=second,
            )
        seen[name] = rank


def _path_name(name: bytes) -> str:
    wrong = line_errors.explain_name(name, "path")
    if wrong:
        raise ValueError(wrong)
    return name.decode()


def _walk_name(head: bytes) -> str:
    """Return ``sample#haplotype#contig:start-end`` from the first fields of a walk.

    Without an end it is ``sample#haplotype#contig[start]`` until its steps are read.
    """
    sample, haplotype, contig, start, end = head.split(b"\t")
    for part in (sample, contig):
        wrong = line_errors.explain_name(part, "walk")
        if wrong:
            raise ValueError(wrong)
    if not _is_integer(haplotype):
        shown = line_errors.show(haplotype)
        raise ValueError(f"walk has the haplotype {shown}, needs an integer of at least 0")
    for place in (start, end):
        if place != b"*" and not _is_integer(place):
            shown = line_errors.show(place)
            raise ValueError(f"walk has the range position {shown}, needs an integer or '*'")
    name = f"{sample.decode()}#{haplotype.decode()}#{contig.decode()}"
    if start == b"*":
        return name
    if end == b"*":
        return f"{name}[{start.decode()}]"
    if int(start) > int(end):
        raise ValueError(f"walk {name!r} starts at {int(start):,}, after its end {int(end):,}")
    return f"{name}:{start.decode()}-{end.decode()}"


def _with_ends(
    names: tuple[str, ...],
    walks: list[int],
    node_lengths: np.ndarray,
    offsets: np.ndarray,
    steps: np.ndarray,
) -> tuple[str, ...]:
    """Return names of paths in which these walks end where their bases do."""
    found = list(names)
    for path in walks:
        name, start = names[path].removesuffix("]").rsplit("[", 1)
        length = node_lengths[steps[offsets[path] : offsets[path + 1]] >> 1].sum()
        found[path] = f"{name}:{start}-{int(start) + int(length)}"
    return tuple(found)


def _is_integer(text: bytes) -> bool:
    return text.isdigit() and len(text) <= gfa_lines.MAX_INTEGER_DIGITS


def _note_paths(text: TextTasks, names: tuple[str, ...], n_overlapping: int) -> None:
    if not names:
        text.notes.append(NO_PATHS_NOTE)
    if n_overlapping:
        text.notes.append(
            f"{n_overlapping:,} of {n_words(len(names), 'path')} state overlaps other than 0M and "
            "*; their "
            "steps are laid end to end, as if they did not overlap."
        )


def _refuse_step(
    text: TextTasks,
    position: int,
    lines: np.ndarray,
    fields: np.ndarray,
    path_names: tuple[str, ...],
    names: ByteStrings,
) -> None:
    path = int(np.searchsorted(lines, position, side="right")) - 1
    steps = text.data[position : min(int(fields[path, 1]), position + 4096)].tobytes()
    explanation = line_errors.explain_step(
        steps,
        bool(text.data[lines[path]] == ord("W")),
        path_names[path],
        lambda name: names.find(name) >= 0,
    )
    line = line_errors.line_number(text.data, position)
    raise FileFormatError(text.path, explanation, line=line)
