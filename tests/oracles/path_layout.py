"""Oracle: path-guided SGD and path stress in their simplest form."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from itertools import combinations, pairwise

import numpy as np

from genoviz.model import PangenomeGraph


def steps_with_positions(graph: PangenomeGraph, path: int) -> list[tuple[int, bool, int]]:
    """Return (node, is_reverse, position) of each step of a path."""
    result, position = [], 0
    for handle in graph.path_steps(path).tolist():
        result.append((handle >> 1, bool(handle & 1), position))
        position += int(graph.node_lengths[handle >> 1])
    return result


def point_of(step: tuple[int, bool, int], at_right_end: bool, graph: PangenomeGraph):
    """Return ((node, end), position) of the left or right end of a step in path direction."""
    node, is_reverse, position = step
    if at_right_end:
        position += int(graph.node_lengths[node])
    return (node, int(at_right_end != is_reverse)), position


def path_stress_terms(graph: PangenomeGraph, coordinates: np.ndarray) -> tuple[list[float], int]:
    """Return all terms of the path stress, and the number of skipped pairs."""
    terms, n_skipped = [], 0
    for path in range(graph.n_paths):
        steps = steps_with_positions(graph, path)
        pairs = [(s, t) for i, s in enumerate(steps) for t in steps[i + 1 :]]
        ends = [(False, False), (False, True), (True, False), (True, True)]
        if len(steps) == 1:
            pairs, ends = [(steps[0], steps[0])], [(False, True)]
        for s, t in pairs:
            for right_s, right_t in ends:
                point_s, position_s = point_of(s, right_s, graph)
                point_t, position_t = point_of(t, right_t, graph)
                d = abs(position_s - position_t)
                if d == 0:
                    n_skipped += 1
                else:
                    distance = math.dist(coordinates[point_s], coordinates[point_t])
                    terms.append(((distance - d) / d) ** 2)
    return terms, n_skipped


def path_stress_by(graph: PangenomeGraph, coordinates: np.ndarray, weighting: str) -> float:
    """Return the path stress with paths weighted by pairs, or by steps."""
    total = weight = 0.0
    for path in range(graph.n_paths):
        alone = replace(
            graph,
            path_names=graph.path_names[path : path + 1],
            walks=None,
            path_offsets=np.array([0, len(graph.path_steps(path))]),
            steps=graph.path_steps(path),
        )
        terms, n_skipped = path_stress_terms(alone, coordinates)
        of_term = 1.0
        if weighting == "steps":
            of_term = len(graph.path_steps(path)) / (len(terms) + n_skipped)
        total += of_term * sum(terms)
        weight += of_term * len(terms)
    return total / weight


def draw_zipf(generator: np.random.Generator, n: int, theta: float) -> int:
    """Return a Zipf-distributed number from 1 to n by inverting the exact distribution."""
    return 1 + int(np.searchsorted(zipf_shares(n, theta), generator.random()))


@cache
def zipf_shares(n: int, theta: float) -> np.ndarray:
    """Return the probabilities of at most 1, 2, ..., n."""
    weights = np.arange(1, n + 1) ** -theta
    return np.cumsum(weights) / weights.sum()


def path_sgd(graph: PangenomeGraph, coordinates: np.ndarray, *, n_iterations: int, seed: int):
    """Return the layout with odgi's schedule, one update at a time."""
    generator = np.random.default_rng(seed)
    coordinates = coordinates.copy()
    paths = [steps_with_positions(graph, path) for path in range(graph.n_paths)]
    paths = [steps for steps in paths if len(steps) > 1]
    sizes = np.array([len(steps) for steps in paths])
    shares = np.cumsum(sizes / sizes.sum())
    space = int(sizes.max())
    eta_max = float(space) ** 2
    for iteration in range(n_iterations):
        eta = eta_max * math.exp(-math.log(eta_max / 0.01) / (n_iterations - 1) * iteration)
        for _ in range(10 * sizes.sum()):
            steps = paths[np.searchsorted(shares[:-1], generator.random(), side="right")]
            a = int(generator.integers(len(steps)))
            if iteration >= n_iterations // 2 or generator.random() < 0.5:
                backward = a > 0 and (a == len(steps) - 1 or generator.random() < 0.5)
                reach = min(space, a if backward else len(steps) - 1 - a)
                jump = draw_zipf(generator, reach, 0.99)
                b = a - jump if backward else a + jump
            else:
                b = int(generator.integers(len(steps)))
            _update(graph, coordinates, steps[a], steps[b], generator, eta)
    return coordinates


def _update(graph, coordinates, step_a, step_b, generator, eta) -> None:
    point_a, position_a = point_of(step_a, generator.random() < 0.5, graph)
    point_b, position_b = point_of(step_b, generator.random() < 0.5, graph)
    _move(coordinates, point_a, point_b, max(abs(position_a - position_b), 1e-9), eta)


def split_mix(state: int) -> int:
    """Return 64 mixed bits (SplitMix64, Steele et al. 2014)."""
    mask = 2**64 - 1
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & mask
    return state ^ (state >> 31)


def path_sweep(
    graph, coordinates, *, jump: int, eta: float, seed: int, every: int = 1
) -> list[int]:
    """Move each step together with the one ``jump`` ahead, or a drawn one; return all jumps.

    Changes the coordinates in place. Four blocks of 128 records are processed in turns.
    """
    records = []
    for path in range(graph.n_paths):
        steps = steps_with_positions(graph, path)
        records += [(steps, a) for a in range(len(steps))] + [(steps, None)]
    in_turns = sorted(range(len(records)), key=lambda k: (k // 512, k % 128, k))
    jumps = []
    for record in in_turns:
        steps, a = records[record]
        if a is None or record // 512 % every != seed % every:
            continue
        bits = split_mix((record * 0x9E3779B97F4A7C15 + seed) % 2**64)
        b = a + jump
        if jump == 0:
            backward = bits % 2 == 1
            if (a if backward else len(steps) - 1 - a) == 0:
                backward = not backward
            room = a if backward else len(steps) - 1 - a
            drawn = drawn_jump((bits >> 11) * 2.0**-53, room)
            b = a - drawn if backward else a + drawn
        if b >= len(steps):
            continue
        jumps.append(abs(b - a))
        point_a, position_a = point_of(steps[a], bits >> 1 & 1 == 1, graph)
        point_b, position_b = point_of(steps[b], bits >> 2 & 1 == 1, graph)
        if point_a != point_b:
            d = max(abs(position_a - position_b), 1e-9)
            _move(coordinates, point_a, point_b, d, eta)
    return jumps


def drawn_jump(share: float, room: int) -> int:
    """Return the jump at a fraction of the way from 1 to room + 1, on an octave scale."""
    octave = (room + 1).bit_length() - 1
    octaves = share * (octave + (room + 1) / 2**octave - 1)
    whole = int(octaves)
    return min(int(2**whole * (1 + octaves - whole)), room)


def _move(coordinates, point_a, point_b, d, eta) -> None:
    difference = coordinates[point_a] - coordinates[point_b]
    if difference[0] == 0:
        difference[0] = 1e-9
    distance = math.hypot(*difference)
    move = min(1.0, eta / max(d, 1.0)) * (distance - d) / 2 * difference / distance
    coordinates[point_a] -= move
    coordinates[point_b] += move


def coarser_points(paths: list[list[tuple[int, int]]], spacing: float, n_ends: int) -> set[int]:
    """Return the points kept in a coarser view, for paths of (point, position).

    The spacing restarts with each block of 1024 records, which hold ``n_ends`` points each; one
    more record closes each path.
    """
    kept, record = set(), 0
    for path in paths:
        last = 0
        for index, (point, position) in enumerate(path):
            if (record + index // n_ends) % 1024 == 0 and index % n_ends == 0:
                last = position
            is_end = index in (0, len(path) - 1)
            if is_end or point in kept or position - last >= spacing:
                kept.add(point)
                last = position
        record += len(path) // n_ends + 1
    return kept


def folds_and_turns(graph: PangenomeGraph, coordinates: np.ndarray, chord_bp: int) -> tuple:
    """Return the number of reversals between consecutive chords of paths, and of chord pairs."""
    n_folds = n_turns = 0
    for path in range(graph.n_paths):
        steps = steps_with_positions(graph, path)
        if not steps:
            continue
        corners, last = [point_of(steps[0], False, graph)[0]], 0
        for step in steps:
            point, position = point_of(step, True, graph)
            if position - last >= chord_bp:
                corners.append(point)
                last = position
        chords = np.diff([coordinates[corner] for corner in corners], axis=0)
        n_turns += max(len(chords) - 1, 0)
        n_folds += sum(float(a @ b) < 0 for a, b in pairwise(chords))
    return n_folds, n_turns


def crossings(graph: PangenomeGraph, coordinates: np.ndarray) -> int:
    """Return the number of unlinked pairs of nodes that cross in the interior of both."""
    links = {frozenset((a >> 1, b >> 1)) for a, b in graph.edges.tolist()}
    found = 0
    for i, j in combinations(range(graph.n_nodes), 2):
        (a, b), (c, d) = coordinates[i], coordinates[j]
        ways = np.array([b - a, c - d]).T
        if frozenset((i, j)) in links or np.linalg.det(ways) == 0:
            continue
        shares = np.linalg.solve(ways, c - a)
        found += bool((shares > 0).all() and (shares < 1).all())
    return found
