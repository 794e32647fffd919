"""Small graphs for tests: random, from Hypothesis, or explicit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from genoviz.model import ByteStrings, PangenomeGraph


def make_graph(node_lengths, paths, edges=()) -> PangenomeGraph:
    """Return a graph from paths as lists of signed 1-based nodes: ``[1, -2]`` is ``1+,2-``."""
    handles = [[(abs(node) - 1) << 1 | (node < 0) for node in path] for path in paths]
    return PangenomeGraph(
        node_names=ByteStrings.from_integers(1, len(node_lengths)),
        node_lengths=np.array(node_lengths, np.int64),
        edges=np.array(edges, np.uint32).reshape(-1, 2),
        path_names=tuple(f"path{index}" for index in range(len(paths))),
        path_offsets=np.cumsum([0, *map(len, paths)]).astype(np.int64),
        steps=np.array([handle for path in handles for handle in path], np.uint32),
    )


def random_graph(seed: int, *, n_nodes=40, n_paths=4, max_steps=60) -> PangenomeGraph:
    """Return a graph whose paths are random walks, with reverse steps and revisits."""
    generator = np.random.default_rng(seed)
    lengths = generator.integers(1, 30, n_nodes)
    paths = []
    for _ in range(n_paths):
        n_steps = int(generator.integers(1, max_steps))
        nodes = np.clip(np.cumsum(generator.integers(-1, 4, n_steps)), 0, n_nodes - 1) + 1
        signs = np.where(generator.random(n_steps) < 0.2, -1, 1)
        paths.append((nodes * signs).tolist())
    return make_graph(lengths, paths)


def make_spelled_graph(node_sequences, paths) -> PangenomeGraph:
    """Return a graph of nodes with these sequences; ``*3`` is a node of 3 bp without sequence."""
    has_bases = [not bases.startswith("*") for bases in node_sequences]
    lengths = [
        len(bases) if has else int(bases[1:])
        for bases, has in zip(node_sequences, has_bases, strict=True)
    ]
    texts = [bases if has else "" for bases, has in zip(node_sequences, has_bases, strict=True)]
    return replace(make_graph(lengths, paths), node_sequences=ByteStrings.from_texts(texts))
