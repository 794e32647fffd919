"""Oracle: paths walked step by step and base by base, in plain Python or whole arrays."""

from __future__ import annotations

from collections import defaultdict
from itertools import accumulate, count, repeat
from typing import NamedTuple

import numpy as np


class WalkedStep(NamedTuple):
    """One step of a path; ``position`` is the offset of its first base."""

    path: int
    step: int
    node: int
    is_reverse: bool
    position: int
    length: int


def walk_path(graph, path: int) -> list[WalkedStep]:
    handles = graph.path_steps(path).tolist()
    steps = count(int(graph.path_offsets[path]))
    nodes = [handle // 2 for handle in handles]
    turns = [handle % 2 == 1 for handle in handles]
    lengths = graph.node_lengths[nodes].tolist()
    positions = accumulate(lengths, initial=0)
    return list(map(WalkedStep, repeat(path), steps, nodes, turns, positions, lengths))


def walk_columns(graph, path: int) -> WalkedStep:
    """Return the steps of a path as arrays, of the names of a step."""
    handles = graph.path_steps(path)
    nodes, steps = (handles >> 1).astype(np.int64), np.arange(len(handles))
    lengths = graph.node_lengths[nodes]
    positions = np.cumsum(lengths) - lengths
    paths, steps = np.full(len(steps), path), steps + int(graph.path_offsets[path])
    return WalkedStep(paths, steps, nodes, handles % 2 == 1, positions, lengths)


def walk_bases(graph, path: int) -> list[tuple[int, int, bool, int]]:
    """Return node, offset on the forward strand, strand and step of each base of a path."""
    bases = []
    for step in walk_path(graph, path):
        offsets = range(step.length)[:: -1 if step.is_reverse else 1]
        bases += zip(
            repeat(step.node), offsets, repeat(step.is_reverse), repeat(step.step), strict=False
        )
    return bases


def visits_by_node(graph) -> dict[int, list[WalkedStep]]:
    """Return the steps on each node, by path and then by position."""
    visits = defaultdict(list)
    for path in range(graph.n_paths):
        for step in walk_path(graph, path):
            visits[step.node].append(step)
    return visits


def edges_by_node(graph) -> dict[int, list[int]]:
    touching = defaultdict(list)
    for edge, (tail, head) in enumerate(graph.edges.tolist()):
        for node in sorted({tail // 2, head // 2}):
            touching[node].append(edge)
    return touching


_COMPLEMENT = str.maketrans("ACGTacgtN", "TGCAtgcaN")


def path_sequence(graph, path: int) -> str:
    """Return the sequence of a path that has only ACGTN."""
    pieces = []
    for step in walk_path(graph, path):
        bases = graph.node_sequences[step.node]
        pieces.append(bases[::-1].translate(_COMPLEMENT) if step.is_reverse else bases)
    return "".join(pieces)


def nearest_shared_bases(graph, source: int, target: int, places) -> list[tuple]:
    """Return distance, node, position on ``target``, opposition and visits for each place."""
    bases = walk_bases(graph, source)
    steps = walk_path(graph, source)
    others = defaultdict(list)
    for step in walk_path(graph, target):
        others[step.node].append(step)
    found = []
    for place in places:
        distance = 0
        while True:
            near = [p for p in (place - distance, place + distance) if 0 <= p < len(bases)]
            shared = [p for p in near if bases[p][0] in others]
            if shared:
                break
            distance += 1
        node, offset, is_reverse, number = bases[shared[0]]
        rank = [step.step for step in steps if step.node == node].index(number)
        visits = others[node]
        visit = visits[min(rank, len(visits) - 1)]
        inside = visit.length - 1 - offset if visit.is_reverse else offset
        is_opposite = is_reverse != visit.is_reverse
        found.append((distance, node, visit.position + inside, is_opposite, len(visits)))
    return found


TURN = str.maketrans("ACGTRYKMBVDHacgt", "TGCAYRMKVBHDtgca")


def spell_path(graph, path: int) -> str:
    """Return the sequence of a path in upper case; N for nodes without sequence."""
    texts = []
    for step in walk_path(graph, path):
        bases = graph.node_sequences[step.node] or "N" * step.length
        texts.append(bases[::-1].translate(TURN) if step.is_reverse else bases)
    return "".join(texts).upper()
