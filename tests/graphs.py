"""Small graphs for tests: random, from Hypothesis, or explicit."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from genoviz.io.graph.gbz_writer import write_gbz
from genoviz.io.graph.reader import read_graph
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


def write_genome(
    path: Path, seed: int, n_components: int, *, is_mixed: bool, long_nodes: bool = False
) -> None:
    """Write components of random walks on chr1 to chr3 as GBZ, and as GFA beside it.

    Their node IDs may be mixed.
    """
    numbers = np.random.default_rng(seed)
    owners = np.sort(numbers.integers(0, n_components, 8 * n_components))
    if is_mixed:
        numbers.shuffle(owners)
    lines = []
    for node in range(len(owners)):
        # Nodes of more than 1,024 bp are cut, and are segments of the file.
        length = numbers.integers(1, 3000 if long_nodes else 9)
        lines.append(f"S\t{node + 1}\t{''.join(numbers.choice(list('ACGT'), length))}")
    paths = []
    for component in np.unique(owners):
        own = np.flatnonzero(owners == component)
        for k in range(numbers.integers(1, 5)):
            walk = numbers.choice(own, numbers.integers(len(own), 3 * len(own)))
            if k == 0:
                walk = np.append(own, walk)  # connects all of them
            steps = [(node + 1, numbers.choice(list("><"))) for node in walk.tolist()]
            paths.append((f"chr{component % 3 + 1}", f"s{component}.{k}", steps))
    links = set()
    for k in numbers.permutation(len(paths)).tolist():
        contig, sample, steps = paths[k]
        lines.append(f"W\t{sample}\t0\t{contig}\t0\t*\t{''.join(f'{o}{n}' for n, o in steps)}")
        links |= set(pairwise(steps))
    signs = {">": "+", "<": "-"}
    for (a, first), (b, second) in sorted(links):
        lines.append(f"L\t{a}\t{signs[first]}\t{b}\t{signs[second]}\t0M")
    text = path.with_suffix(".gfa")
    text.write_text("\n".join(lines) + "\n")
    write_gbz(read_graph(text, cache=False), path)
