"""Oracle: superbubbles by definition, and variation sites by walking all paths."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from genoviz.model import PangenomeGraph


def successors(graph: PangenomeGraph) -> dict[int, set[int]]:
    """Return the successors of each handle, from edges and paths."""
    pairs = [tuple(edge) for edge in graph.edges.tolist()]
    for path in range(graph.n_paths):
        steps = graph.path_steps(path).tolist()
        pairs += pairwise(steps)
    follow = defaultdict(set)
    for origin, target in pairs:
        follow[origin].add(target)
        follow[target ^ 1].add(origin ^ 1)
    return follow


def reach(follow: dict[int, set[int]], start: int, stop: int) -> set[int]:
    """Return the handles reachable from ``start`` without passing ``stop``, including both."""
    seen, todo = {start, stop}, [start]
    while todo:
        for target in follow[todo.pop()] - seen:
            seen.add(target)
            todo.append(target)
    return seen


def can_reach(follow: dict[int, set[int]], start: int, goal: int) -> bool:
    """Return whether there is a walk of at least one edge."""
    seen, todo = set(), [start]
    while todo:
        for target in follow[todo.pop()] - seen:
            seen.add(target)
            todo.append(target)
    return goal in seen


def is_acyclic(follow: dict[int, set[int]], members: set[int]) -> bool:
    """Return whether the edges among ``members`` have no cycle."""
    inner = defaultdict(set, {member: follow[member] & members for member in members})
    return not any(can_reach(inner, member, member) for member in members)


def superbubbles(graph: PangenomeGraph) -> dict[tuple[int, int], set[int]]:
    """Return source, sink and handles of all superbubbles, including empty ones."""
    follow = successors(graph)
    precede = defaultdict(set)
    for origin, targets in follow.items():
        for target in targets:
            precede[target].add(origin)
    follow, precede = defaultdict(set, follow), defaultdict(set, precede)
    handles = range(2 * graph.n_nodes)
    closed = {}
    for s in handles:
        for t in handles:
            if s == t or not can_reach(follow, s, t):
                continue
            members = reach(follow, s, t)
            if members == reach(precede, t, s) and is_acyclic(follow, members):
                closed[s, t] = members
    return {
        (s, t): members
        for (s, t), members in closed.items()
        if not any((s, inner) in closed for inner in members - {t})
    }


def traversals(steps: list[int], source: int, sink: int) -> list[tuple[int, int]]:
    """Return first and last step of each walk from ``source`` to the next ``sink``."""
    found = []
    for first, handle in enumerate(steps):
        if handle == source and sink in steps[first + 1 :]:
            found.append((first, steps.index(sink, first + 1)))
    return found


def path_alleles(graph: PangenomeGraph, source: int, sink: int) -> list[tuple[int, tuple, int]]:
    """Return path, inner handles and first step of each traversal, on either strand."""
    found = []
    for path in range(graph.n_paths):
        steps = graph.path_steps(path).tolist()
        for first, last in traversals(steps, source, sink):
            found.append((path, tuple(steps[first + 1 : last]), first))
        for first, last in traversals(steps, sink ^ 1, source ^ 1):
            inner = tuple(handle ^ 1 for handle in reversed(steps[first + 1 : last]))
            found.append((path, inner, first))
    return found


def sites(graph: PangenomeGraph, reference: int) -> dict[tuple[int, int], dict]:
    """Return the variation sites along a path, by source and sink in the order of the path."""
    steps = graph.path_steps(reference).tolist()
    candidates = []
    for (source, sink), members in superbubbles(graph).items():
        if len(members) == 2 or sink == source ^ 1 or steps[0] in members - {source}:
            continue
        for first, last in traversals(steps, source, sink)[:1]:
            candidates.append((first, last, source, sink, members))
    found = {}
    for first, last, source, sink, members in sorted(candidates, key=lambda row: row[:2]):
        if (sink ^ 1, source ^ 1) in found:
            continue
        lengths = graph.node_lengths[np.array(steps) >> 1]
        alleles = path_alleles(graph, source, sink)
        found[source, sink] = {
            "start": int(lengths[: first + 1].sum()),
            "end": int(lengths[:last].sum()),
            "members": members,
            "n_nodes": len({handle >> 1 for handle in members - {source, sink}}),
            "alleles": alleles,
            "reference": tuple(steps[first + 1 : last]),
        }
    return found


def read_walk(graph: PangenomeGraph, inner: tuple[int, ...]) -> tuple:
    """Return the upper-case sequence of a walk, or the walk itself if sequences are unknown."""
    texts = graph.node_sequences
    if texts is None or len(texts.data) == 0:
        return inner
    read, complements = [], str.maketrans("ACGTRYKMBVDH", "TGCAYRMKVBHD")
    for handle in inner:
        text = texts[handle >> 1].upper()
        if len(text) != graph.node_lengths[handle >> 1]:
            read.append(handle)
        else:
            read += text[::-1].translate(complements) if handle & 1 else text
    return tuple(read)


def allele_finder(graph: PangenomeGraph) -> Callable[[int, int], dict[tuple, list]]:
    """Return a function that finds alleles by sequence: (path, walk) of each traversal."""
    path_steps = [graph.path_steps(path).tolist() for path in range(graph.n_paths)]
    places = defaultdict(list)
    for path, steps in enumerate(path_steps):
        for step, handle in enumerate(steps):
            places[handle].append((path, step))

    def find(source: int, sink: int) -> dict[tuple, list]:
        found = defaultdict(list)
        for first, last, is_reverse in ((source, sink, False), (sink ^ 1, source ^ 1, True)):
            for path, step in places[first]:
                after = bisect_right(places[last], (path, step))
                if after < len(places[last]) and places[last][after][0] == path:
                    inner = path_steps[path][step + 1 : places[last][after][1]]
                    if is_reverse:
                        inner = [handle ^ 1 for handle in reversed(inner)]
                    found[read_walk(graph, tuple(inner))].append((path, tuple(inner)))
        return found

    return find
