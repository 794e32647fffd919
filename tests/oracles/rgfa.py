"""A random rGFA, and an oracle of distances from its alternatives to their anchors."""

from __future__ import annotations

import heapq

import numpy as np

from genoviz.model import PangenomeGraph
from tests.oracles.ways import list_followers


def make_rgfa(seed: int, *, n_reference: int = 60, names=("chr1", "chr2")) -> str:
    """Return rGFA text with insertions, deletions, inversions, nested and two-node bubbles."""
    generator = np.random.default_rng(seed)
    lines, links = [], []

    def add(name, length, sequence, start, rank):
        lines.append(f"S\t{name}\t*\tLN:i:{length}\tSN:Z:{sequence}\tSO:i:{start}\tSR:i:{rank}")

    for contig, sequence in enumerate(names):
        start = 0
        for k in range(n_reference):
            length = int(generator.choice([60, 150, 700, 3000]))
            add(f"r{contig}_{k}", length, sequence, start, 0)
            start += length
            if k:
                links.append((f"r{contig}_{k - 1}", "+", f"r{contig}_{k}", "+"))
        for k in range(1, n_reference - 6, 5):
            stop = k + int(generator.integers(1, 4))
            here, there = f"r{contig}_{k}", f"r{contig}_{stop}"
            kind = generator.choice(["insertion", "deletion", "inversion", "pair", "nested"])
            sizes = [int(size) for size in generator.choice([50, 120, 600, 4000], 3)]
            if kind == "deletion":
                links.append((here, "+", f"r{contig}_{stop + 1}", "+"))
                continue
            sign = "-" if kind == "inversion" else "+"
            alternatives = [f"a{contig}_{k}"]
            if kind in ("pair", "nested"):
                alternatives.append(f"b{contig}_{k}")
            for name, size in zip(alternatives, sizes, strict=False):
                add(name, size, f"hap{contig}_{k}", 0, 1)
            ends = [(here, "+"), *((name, sign) for name in alternatives), (there, "+")]
            links += [(*ends[i], *ends[i + 1]) for i in range(len(ends) - 1)]
            if kind == "nested":
                add(f"c{contig}_{k}", sizes[2], f"other{contig}_{k}", 0, 2)
                links.append((f"a{contig}_{k}", "+", f"c{contig}_{k}", "-"))
                links.append((f"c{contig}_{k}", "-", there, "+"))
    order = generator.permutation(len(lines)).tolist()
    text = [lines[k] for k in order]
    text += ["\t".join(("L", *link, "0M", "SR:i:0")) for link in links]
    return "\n".join(text) + "\n"


def anchor_distances(graph: PangenomeGraph, is_reference: np.ndarray) -> list[tuple]:
    """Return node, anchor as (node, end), bp from its middle, and half the longest bubble path.

    There is one row for each side of each non-reference node, with the nearest anchor of walks
    through such nodes, and no row if no walk leads to an anchor. Bubble paths are all walks between
    the node's two anchors: a layout cannot preserve two of different lengths.
    """
    followers = list_followers(graph)
    rows = []
    for node in np.flatnonzero(~is_reference).tolist():
        found = [_nearest_anchor(graph, followers, is_reference, node << 1 | s) for s in (1, 0)]
        longest = 0
        if all(found):
            longest = _longest_way(graph, followers, found[0][0] ^ 1, found[1][0])
        half = int(graph.node_lengths[node]) / 2
        # A walk enters a forward node at its left end, 0, and a reverse one at 1.
        rows += [(node, (h >> 1, h & 1), bp + half, longest / 2) for h, bp in filter(None, found)]
    return rows


def _nearest_anchor(graph, followers, is_reference, start) -> tuple[int, int] | None:
    heap, seen = [(0, start)], set()
    while heap:
        distance, handle = heapq.heappop(heap)
        if handle in seen:
            continue
        seen.add(handle)
        if is_reference[handle >> 1]:
            return handle, distance
        length = 0 if handle == start else int(graph.node_lengths[handle >> 1])
        for target in followers.get(handle, ()):
            heapq.heappush(heap, (distance + length, target))
    return None


def _longest_way(graph, followers, start, stop, *, max_steps=6) -> int:
    """Return the bp between two handles on the longest walk of a few steps; 0 without one."""
    longest, stack = 0, [(start, 0, 0)]
    while stack:
        handle, distance, n = stack.pop()
        for target in followers.get(handle, ()):
            if target == stop:
                longest = max(longest, distance)
            elif n < max_steps:
                length = int(graph.node_lengths[target >> 1])
                stack.append((target, distance + length, n + 1))
    return longest
