"""Error messages for lines that a parser rejected."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np

from genoviz.errors import FileFormatError, n_words
from genoviz.io.graph.gfa_lines import MAX_NODE_LENGTH

_CONTROL = re.compile(rb"[\x00-\x1f\x7f]")
_NOT_BASES = re.compile(rb"[^A-Za-z=.]")
_SLICE, _FIRST_SLICE = 64 << 20, 4 << 10


def show(text: bytes, length: int = 40) -> str:
    """Return bytes of a file in a form that can be shown in a sentence."""
    shown = text[:length].decode("utf-8", "backslashreplace")
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in shown)
    return f"'{shown}{'...' if len(text) > length else ''}'"


def line_number(data: np.ndarray, position: int) -> int:
    """Return the 1-based number of the line that contains the byte at ``position``."""
    return 1 + sum(
        int(np.count_nonzero(data[start : min(start + _SLICE, position)] == ord("\n")))
        for start in range(0, position, _SLICE)
    )


def line_at(data: np.ndarray, position: int) -> bytes:
    """Return the line that starts at ``position``, without its line end."""
    end, n_bytes = position, _FIRST_SLICE  # most lines are short
    while end < len(data):
        newlines = np.flatnonzero(data[end : end + n_bytes] == ord("\n"))
        if len(newlines):
            end += int(newlines[0])
            break
        end, n_bytes = min(end + n_bytes, len(data)), min(2 * n_bytes, _SLICE)
    return data[position:end].tobytes().removesuffix(b"\r")


def wrong_line(
    path: Path, data: np.ndarray, position: int, explain: Callable[[bytes], str]
) -> FileFormatError:
    """Return the error for the line that starts at ``position``."""
    return FileFormatError(path, explain(line_at(data, position)), line=line_number(data, position))


def explain_record(line: bytes) -> str:
    """Return why a line is not a record."""
    return f"starts with {show(line, 12)}, needs a record type (S, L, P or W) and a tab"


def explain_segment(line: bytes) -> str:
    """Return why an S line was rejected."""
    fields = line.split(b"\t")
    if len(fields) < 3:
        return f"segment has {n_words(len(fields), 'field')}, needs 3 (S, name, sequence)"
    name, sequence = fields[1:3]
    wrong_name = explain_name(name, "segment")
    if wrong_name:
        return wrong_name
    if not sequence:
        return f"segment {show(name)} has no bases, needs a sequence or '*'"
    not_base = None if sequence == b"*" else _NOT_BASES.search(sequence)
    if not_base:
        return f"the sequence of segment {show(name)} has {show(not_base[0])}, needs letters only"
    length = 0 if sequence == b"*" else len(sequence)
    for tag in fields[3:]:
        if tag.startswith(b"LN:"):
            stated = tag.removeprefix(b"LN:i:")
            if not re.fullmatch(rb"0*[1-9][0-9]*", stated) or int(stated) > MAX_NODE_LENGTH:
                return (
                    f"segment {show(name)} has the tag {show(tag)}, needs LN:i: and a length "
                    f"from 1 to {MAX_NODE_LENGTH:,}"
                )
            if length and int(stated) != length:
                return (
                    f"segment {show(name)} has {n_words(length, 'base')} and the tag {show(tag)}, "
                    f"needs one length"
                )
            length = int(stated)
    return f"segment {show(name)} has something behind its sequence, needs tags after tabs"


def explain_name(name: bytes, what: str) -> str | None:
    """Return why a name was rejected, or None if it is valid."""
    if not name:
        return f"{what} has an empty name, needs a name"
    if _CONTROL.search(name):
        return f"{what} name {show(name)} has a control character, needs text"
    if re.search(rb"[+-],", name):
        return f"{what} name {show(name)} has a sign before a comma, which path lines cannot hold"
    try:
        name.decode()
    except UnicodeDecodeError:
        return f"{what} name {show(name)} is not UTF-8 text"
    return None


def explain_link(line: bytes, is_segment: Callable[[bytes], bool]) -> str:
    """Return why an L or J line was rejected."""
    fields = line.split(b"\t")
    what = "jump" if line[:1] == b"J" else "link"
    if len(fields) < 5:
        return f"{what} has {n_words(len(fields), 'field')}, needs 5 or 6"
    for name, sign in (fields[1:3], fields[3:5]):
        if sign not in (b"+", b"-"):
            return f"{what} has the orientation {show(sign)}, needs + or -"
        if not is_segment(name):
            return f"{what} names segment {show(name)}, which has no S line"
    if what == "jump":
        return "jump has an empty distance, needs '*' or a number"
    return "link has an empty overlap, needs '*' or a CIGAR such as 0M"


def explain_path_fields(line: bytes) -> str:
    """Return which fields a P or W line lacks."""
    kind, needed = ("walk", 7) if line[:1] == b"W" else ("path", 3)
    return f"{kind} has {line.count(bytes([9])) + 1} fields, needs {needed}"


def explain_step(
    field: bytes, is_walk: bool, name: str, is_segment: Callable[[bytes], bool]
) -> str:
    """Return why a step was rejected; ``field`` is the text of the steps from there on."""
    if is_walk:
        step = re.match(rb"[<>][^<>]*", field)
        if not step:
            return f"walk {name!r} starts with {show(field, 12)}, needs > or <"
        segment = step[0][1:]
    else:
        step = re.match(rb"[^,]*", field)
        segment, sign = step[0][:-1], step[0][-1:]
        if not step[0]:
            return f"path {name!r} has an empty step, needs a segment name and + or -"
        if b";" in step[0]:
            return f"path {name!r} has a jump (';') in {show(step[0])}, but the file has no J line"
        if sign not in (b"+", b"-"):
            return f"path {name!r} has the step {show(step[0])}, needs + or - at its end"
    if not segment:
        return f"{'walk' if is_walk else 'path'} {name!r} has a step without a segment name"
    if not is_segment(segment):
        kind = "walk" if is_walk else "path"
        return f"{kind} {name!r} names segment {show(segment)}, which has no S line"
    return f"path {name!r} ends with a comma after {show(step[0])}, needs another step or none"
