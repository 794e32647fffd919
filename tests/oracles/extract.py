"""Oracle: subgraphs with plain lists and sets."""

from __future__ import annotations

import heapq
from itertools import groupby, pairwise

from tests.oracles.paths import edges_by_node, walk_path


def sub_paths(graph, nodes) -> list[tuple]:
    """Return path, start, end (bp) and (node name, strand) of each run of steps on the nodes."""
    kept = set(nodes)
    found = []
    for path in range(graph.n_paths):
        for is_inside, run in groupby(walk_path(graph, path), lambda step: step.node in kept):
            run = list(run)
            if is_inside:
                end = run[-1].position + run[-1].length
                steps = [(graph.node_names[step.node], step.is_reverse) for step in run]
                found.append((path, run[0].position, end, steps))
    return found


def neighbourhood(graph, nodes, limit, cost) -> set[int]:
    """Return the nodes nearer than ``limit``; ``cost`` is that of an intermediate node."""
    touching = edges_by_node(graph)
    distances = {}
    heap = [(0, node, True) for node in nodes]
    given = set(nodes)
    heapq.heapify(heap)
    while heap:
        distance, node, is_given = heapq.heappop(heap)
        if node in distances or (not is_given and distance >= limit):
            continue
        distances[node] = distance
        onward = distance + (0 if node in given else cost(node))
        for edge in touching[node]:
            for handle in graph.edges[edge].tolist():
                heapq.heappush(heap, (onward, handle // 2, False))
    return set(distances)


def detours(graph, nodes, max_bp) -> set[int]:
    kept, found = set(nodes), set(nodes)
    for path in range(graph.n_paths):
        steps = walk_path(graph, path)
        visits = [k for k, step in enumerate(steps) if step.node in kept]
        for a, b in pairwise(visits):
            between = steps[a + 1 : b]
            if sum(step.length for step in between) <= max_bp:
                found |= {step.node for step in between}
    return found
