"""Oracle: sharing among groups of paths, by sets and by enumerating all choices of groups."""

from __future__ import annotations

from itertools import combinations
from math import nan


def visited(graph, by):
    """Return the set of nodes of each group, by name, in the order of first paths."""
    found: dict[str, set[int]] = {}
    for path, name in enumerate(graph.parsed_path_names):
        key = name.text
        if by == "sample" and name.sample is not None:
            key = name.sample
        found.setdefault(key, set()).update((graph.path_steps(path) >> 1).tolist())
    return found


def jaccard(a, b, weights):
    either = sum(weights[node] for node in a | b)
    return sum(weights[node] for node in a & b) / either if either else nan


def grow(sets, weights):
    """Return the mean size of union and intersection over all choices of 1, 2, ... groups."""
    union, core = [], []
    for m in range(1, len(sets) + 1):
        chosen = list(combinations(sets, m))
        for sizes, merge in ((union, set.union), (core, set.intersection)):
            total = sum(sum(weights[node] for node in merge(*some)) for some in chosen)
            sizes.append(total / len(chosen))
    return union, core
