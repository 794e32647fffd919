"""Oracle: walks of a bidirected graph, and distances between handles, by plain search."""

from __future__ import annotations

import heapq

from genoviz.model import PangenomeGraph


def list_followers(graph: PangenomeGraph) -> dict[int, set[int]]:
    """Return the successors of each handle, from the edges."""
    followers: dict[int, set[int]] = {}
    for before, after in graph.edges.tolist():
        followers.setdefault(before, set()).add(after)
        followers.setdefault(after ^ 1, set()).add(before ^ 1)
    return followers


def measure_ways(graph: PangenomeGraph, sources: dict[int, int], closed=()) -> dict[int, int]:
    """Return the bp to the starts of all handles, from sources with initial distances."""
    followers, found = list_followers(graph), {}
    heap = [(start, handle) for handle, start in sources.items()]
    heapq.heapify(heap)
    while heap:
        distance, handle = heapq.heappop(heap)
        if handle in found:
            continue
        found[handle] = distance
        for target in followers.get(handle, ()):
            if target >> 1 not in closed or target in sources:
                heapq.heappush(heap, (distance + int(graph.node_lengths[handle >> 1]), target))
    return found
