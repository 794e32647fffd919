"""Steps of a reference by node, and what guides find where these lead to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from genoviz.analyses.sequences.stretch_text import spell_path
from genoviz.model import PangenomeGraph


@dataclass(frozen=True, eq=False)
class ReferenceVisits:
    """Steps of some paths by node, and what the paths read.

    Attributes
    ----------
    offsets
        int64, shape (n_nodes + 1,): node ``v`` is visited by ``steps[offsets[v]:offsets[v + 1]]``.
    steps, positions
        int64, shape (n_steps,): number of the step, and where it begins, bp on its path.
    ranks
        int64, shape (n_steps,): which of the paths it is of.
    text_offsets, text
        int64, shape (n_paths + 1,), and uint8: letters of the paths.
    """

    offsets: np.ndarray
    steps: np.ndarray
    positions: np.ndarray
    ranks: np.ndarray
    text_offsets: np.ndarray
    text: np.ndarray

    @classmethod
    def of(cls, graph: PangenomeGraph, paths: np.ndarray) -> ReferenceVisits:
        """Return the steps and letters of paths, of which there is one at least."""
        bounds = graph.path_offsets
        steps = np.concatenate([np.arange(bounds[path], bounds[path + 1]) for path in paths])
        ranks = np.repeat(np.arange(len(paths)), bounds[paths + 1] - bounds[paths])
        order = np.argsort(graph.steps[steps] >> 1, kind="stable")
        steps, ranks = steps[order], ranks[order]
        nodes = (graph.steps[steps] >> 1).astype(np.int64)
        return cls(
            np.searchsorted(nodes, np.arange(graph.n_nodes + 1)),
            steps,
            graph.position_index.positions_of(steps),
            ranks,
            np.append(0, np.cumsum(graph.path_lengths[paths])),
            np.concatenate([spell_path(graph, path) for path in paths.tolist()]),
        )


@njit(nogil=True, cache=True)
def compare_places(
    steps, node_lengths, firsts, positions, starts, strands, lengths, guide_ids, is_pam_first,
    guides, patterns, misfits, complements, visit_offsets, visit_steps, visit_positions,
    visit_ranks, text_offsets, text,
    mismatches, pam_misfits, site_paths, pam_ends, site_strands,
):  # fmt: skip
    """Store the place that fits each site best, of those that the shared nodes lead to.

    Parameters
    ----------
    steps, node_lengths
        Of the graph.
    firsts, positions, starts, strands, lengths, guide_ids
        int64, shape (n,), but for ``strands`` and ``guide_ids``: a place of each site, with its
        first step and where that begins.
    is_pam_first
        Whether the PAM is at the 5' end.
    guides, patterns
        uint8, shape (n_guides, length) and (1, length): letters.
    misfits, complements
        As `MISFITS` and `COMPLEMENTS`.
    visit_offsets, visit_steps, visit_positions, visit_ranks, text_offsets, text
        As in `ReferenceVisits`.
    mismatches, pam_misfits, site_paths, pam_ends, site_strands
        Filled, as in `ReferenceSites`, where there is such a place.
    """
    length = patterns.shape[1]
    for row in range(len(firsts)):
        step, position = firsts[row], positions[row]
        stop = starts[row] + lengths[row]
        is_left = (strands[row] > 0) == is_pam_first
        pam_end = starts[row] if is_left else stop
        least = 2 * length + 1
        while position < stop:
            node = steps[step] >> 1
            # Nodes without bases lead nowhere.
            stop_visit = visit_offsets[node + (node_lengths[node] > 0)]
            for k in range(visit_offsets[node], stop_visit):
                is_same = (steps[visit_steps[k]] ^ steps[step]) & 1 == 0
                inside = pam_end - position
                end = visit_positions[k] + (inside if is_same else node_lengths[node] - inside)
                strand = strands[row] if is_same else -strands[row]
                first = end if (strand > 0) == is_pam_first else end - length
                base = text_offsets[visit_ranks[k]]
                if first < 0 or base + first + length > text_offsets[visit_ranks[k] + 1]:
                    continue
                n_guide = n_pam = 0
                for j in range(length):
                    letter = text[base + first + j]
                    if strand < 0:
                        letter = complements[text[base + first + length - 1 - j]]
                    n_guide += misfits[guides[guide_ids[row], j], letter]
                    n_pam += misfits[patterns[0, j], letter]
                if n_guide + n_pam < least:
                    least = n_guide + n_pam
                    mismatches[row], pam_misfits[row] = n_guide, n_pam
                    site_paths[row], pam_ends[row] = visit_ranks[k], end
                    site_strands[row] = strand
            position += node_lengths[node]
            step += 1
