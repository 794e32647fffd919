"""Oracle: a GBWT decoded one path at a time, with a scan of a whole record for each step."""

from __future__ import annotations

from itertools import pairwise


def read_integers(data: bytes, at: int, n: int) -> tuple[list[int], int]:
    """Return integers in byte code, and the offset of the next one."""
    found = []
    while len(found) < n:
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value += (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        found.append(value)
    return found, at


def read_record(record: bytes) -> list[tuple[int, int]]:
    """Return the successor of each visit in a record: a node and a visit of it."""
    (sigma,), at = read_integers(record, 0, 1)
    numbers, at = read_integers(record, at, 2 * sigma)
    nodes = [sum(numbers[: 2 * edge + 1 : 2]) for edge in range(sigma)]
    nexts, visits = numbers[1::2], []
    while at < len(record):
        if sigma < 255:
            edge, length = record[at] % sigma, record[at] // sigma + 1
            at += 1
            if length == 256 // sigma:
                (more,), at = read_integers(record, at, 1)
                length += more
        else:
            (edge, length), at = read_integers(record, at, 2)
            length += 1
        for _ in range(length):
            visits.append((nodes[edge], nexts[edge]))
            nexts[edge] += 1
    return visits


def read_sequences(data: bytes, record_bytes: list[int], offset: int) -> list[list[int]]:
    """Return all sequences of a GBWT as nodes."""
    records = [read_record(data[a:b]) for a, b in pairwise(record_bytes)]
    sequences = []
    for node, visit in records[0]:
        sequence = []
        while node:
            sequence.append(node)
            node, visit = records[node - offset][visit]
        sequences.append(sequence)
    return sequences
