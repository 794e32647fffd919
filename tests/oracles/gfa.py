"""Oracle: a simple GFA reader, for texts that fit in memory."""

from __future__ import annotations

import re
from dataclasses import dataclass

KIND = re.compile(rb"[A-Z]")
LETTERS = re.compile(rb"\*|[A-Za-z=.]+")
OF_NO_NAME = re.compile(rb"[\x00-\x1f\x7f]|[+-],")
WHOLE = re.compile(rb"[0-9]{1,18}")


class RefusedError(Exception):
    """The text does not follow the format."""


@dataclass
class OracleGraph:
    """A graph in plain lists; steps and edge ends are (name, is_reverse)."""

    names: list[str]
    lengths: list[int]
    sequences: list[str]
    edges: list[tuple]
    paths: list[tuple]
    left_out: dict[str, int]
    tags: list[bytes]
    link_tags: list[bytes]


def read_gfa_text(text: bytes) -> OracleGraph:
    text = text.removeprefix(b"\xef\xbb\xbf")
    records = [_record(line) for line in text.split(b"\n")]
    records = [record for record in records if record is not None]
    _need(not re.match(rb"H\t([^\n]*\t)?VN:Z:(?!1)", text))
    graph = OracleGraph([], [], [], [], [], {}, [], [])
    for fields in records:
        if fields[0] == b"S":
            _add_segment(graph, fields)
        elif fields[0] not in (b"H", b"J", b"L", b"P", b"W"):
            kind = fields[0].decode()
            graph.left_out[kind] = graph.left_out.get(kind, 0) + 1
    _need(graph.names)
    _need(len(set(graph.names)) == len(graph.names))
    known = {name.encode(): name for name in graph.names}
    lengths = dict(zip(graph.names, graph.lengths, strict=True))
    has_jumps = any(fields[0] == b"J" for fields in records)
    separator = rb",|(?<=[+-]);" if has_jumps else b","
    for fields in records:
        if fields[0] in (b"L", b"J"):
            _need(len(fields) == 5 or (len(fields) > 5 and fields[5]))
            graph.edges.append(tuple(_step(fields[k], fields[k + 1], known) for k in (1, 3)))
            graph.link_tags.append(b"\t".join(fields[6:]))
        elif fields[0] == b"P":
            _need(len(fields) >= 3)
            steps = [] if fields[2] in (b"", b"*") else re.split(separator, fields[2])
            steps = [_step(step[:-1], step[-1:], known) for step in steps]
            _need(_name(fields[1]) not in dict(graph.paths))
            graph.paths.append((_name(fields[1]), steps))
        elif fields[0] == b"W":
            _need(len(fields) >= 7)
            steps = _walk_steps(fields[6], known)
            name = _walk_name(fields[1:6], sum(lengths[node] for node, _ in steps))
            _need(name not in dict(graph.paths))
            graph.paths.append((name, steps))
    return graph


def _need(condition) -> None:
    if not condition:
        raise RefusedError


def _record(line: bytes) -> list[bytes] | None:
    line = line.removesuffix(b"\r")
    if not line or line.startswith(b"#"):
        return None
    fields = line.split(b"\t")
    _need(KIND.fullmatch(fields[0]))
    return fields


def _name(field: bytes) -> str:
    _need(field and not OF_NO_NAME.search(field))
    try:
        return field.decode()
    except UnicodeDecodeError:
        raise RefusedError from None


def _integer(field: bytes) -> int:
    _need(WHOLE.fullmatch(field))
    return int(field)


def _add_segment(graph: OracleGraph, fields: list[bytes]) -> None:
    _need(len(fields) >= 3)
    _need(LETTERS.fullmatch(fields[2]))
    sequence = "" if fields[2] == b"*" else fields[2].decode()
    lengths = {len(sequence)} if sequence else set()
    for tag in fields[3:]:
        if tag.startswith(b"LN:"):
            _need(tag.startswith(b"LN:i:"))
            lengths.add(_integer(tag[5:]))
    _need(len(lengths) < 2)
    length = lengths.pop() if lengths else 1
    _need(1 <= length <= 10**12)
    graph.names.append(_name(fields[1]))
    graph.lengths.append(length)
    graph.sequences.append(sequence)
    graph.tags.append(b"\t".join(t for t in fields[3:] if t and not t.startswith(b"LN:")))


def _step(
    name: bytes, sign: bytes, known: dict[bytes, str], signs=(b"+", b"-")
) -> tuple[str, bool]:
    _need(sign in signs and name in known)
    return known[name], sign == signs[1]


def _walk_name(fields: list[bytes], length: int) -> str:
    sample, haplotype, contig, start, end = fields
    _integer(haplotype)
    name = "#".join((_name(sample), haplotype.decode(), _name(contig)))
    places = [None if place == b"*" else _integer(place) for place in (start, end)]
    if places[0] is None:
        return name
    if places[1] is None:
        return f"{name}:{start.decode()}-{places[0] + length}"
    _need(places[0] <= places[1])
    return f"{name}:{start.decode()}-{end.decode()}"


def _walk_steps(field: bytes, known: dict[bytes, str]) -> list[tuple[str, bool]]:
    if field in (b"", b"*"):
        return []
    _need(field[:1] in (b"<", b">"))
    steps = re.findall(rb"[<>][^<>]*", field)
    return [_step(step[1:], step[:1], known, (b">", b"<")) for step in steps]
