"""Whether a reference has the off-target sites of other haplotypes, and what it has instead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

from genoviz.analyses.offtargets.paths import PathOffTargets
from genoviz.analyses.sequences.stretch_text import spell_path
from genoviz.errors import ParameterError
from genoviz.model import PangenomeGraph
from genoviz.model.offtargets.letters import MISFITS
from genoviz.model.sequences.bases import COMPLEMENTS


@dataclass(frozen=True, eq=False)
class ReferenceSites:
    """The sequence of a reference at off-target sites; arrays of shape (n_sites,).

    Attributes
    ----------
    paths
        int64, shape (n_paths,): the paths of the reference.
    is_present
        bool: whether the reference reads the same bases of the same nodes.
    mismatches
        int16: mismatches of the guide on the reference. For an absent site, they are counted at
        its place on the reference, without bulges; -1 if the reference has none of its nodes.
    pam_misfits
        int16: letters of the pattern that mismatch there; above 0 where an allele creates the
        PAM; -1 as above.
    site_paths
        int32: the path of that place, or -1.
    pam_ends
        int64: outer end of the PAM there, bp from the path's first base, or -1.
    strands
        int8: strand of the guide there, or 0.
    """

    paths: np.ndarray
    is_present: np.ndarray
    mismatches: np.ndarray
    pam_misfits: np.ndarray
    site_paths: np.ndarray
    pam_ends: np.ndarray
    strands: np.ndarray

    def labels(self, rows: np.ndarray | slice = slice(None)) -> list[str]:
        """Return words for a table: ``yes``, ``no``, or the differences."""
        found = []
        for row in np.arange(len(self.is_present))[rows].tolist():
            n, n_pam = int(self.mismatches[row]), int(self.pam_misfits[row])
            if self.is_present[row]:
                found.append("yes")
            elif n < 0:
                found.append("no")
            else:
                words = f"with {n} mismatch{'' if n == 1 else 'es'}"
                found.append(words + (", without the PAM" if n_pam else ""))
        return found


def find_reference_paths(graph: PangenomeGraph, reference: str | Sequence[str]) -> np.ndarray:
    """Return the paths of names of paths or of samples; int64, ascending.

    Raises
    ------
    ParameterError
        If no path and no sample has such a name.
    """
    names = [reference] if isinstance(reference, str) else list(reference)
    found: set[int] = set()
    for name in names:
        of_sample = [
            path for path, parsed in enumerate(graph.parsed_path_names) if parsed.sample == name
        ]
        if name in graph.path_names or not of_sample:
            of_sample = [graph.find_path(name)]
        found.update(of_sample)
    if not found:
        raise ParameterError("no reference is named, needs a path or a sample")
    return np.array(sorted(found), np.int64)


def compare_with_reference(
    found: PathOffTargets,
    reference: str | Sequence[str],
    *,
    visits: ReferenceVisits | None = None,
) -> ReferenceSites:
    """Return which sites a reference has, and how well the guides match what it has instead.

    The place of a site on the reference follows from shared nodes: the distance from the PAM to a
    shared node is kept. Of several such places the best match is taken.

    Parameters
    ----------
    found
        What `find_offtargets_on_graph` returns.
    reference
        Names of paths, or of samples, whose paths are all taken.
    visits
        Those of the paths of `find_reference_paths`, if already known.

    Raises
    ------
    ParameterError
        If the graph has no such path or sample.
    """
    graph, hits = found.graph, found.hits
    paths = find_reference_paths(graph, reference)
    n = len(found)
    result = ReferenceSites(
        paths,
        np.zeros(n, bool),
        *(np.full(n, -1, np.int16) for _ in range(2)),
        np.full(n, -1, np.int32),
        np.full(n, -1, np.int64),
        np.zeros(n, np.int8),
    )
    first = found.first_places()
    firsts = graph.position_index.steps_at(first.paths, first.starts) if n else np.empty(0, int)
    visits = ReferenceVisits.of(graph, paths) if visits is None else visits
    letters = [
        np.array([list(word.encode("latin-1", "replace")) for word in words], np.uint8)
        for words in (hits.guides or ("",), [hits.pattern])
    ]
    positions = graph.position_index.positions_of(firsts)
    sites = Sites(firsts, positions, first.starts, first.strands, hits.lengths, hits.guide_ids)
    fits = BestFits(*(getattr(result, name) for name in BestFits._fields))
    compare_places(
        graph.steps, graph.node_lengths, sites, hits.is_pam_first, *letters, MISFITS, COMPLEMENTS,
        visits, fits,
    )  # fmt: skip
    is_known = result.site_paths >= 0
    result.site_paths[is_known] = paths[result.site_paths[is_known]]
    _take_present(found, result)
    return result


def _take_present(found: PathOffTargets, result: ReferenceSites) -> None:
    """Mark the sites that the reference has, with their first place there."""
    hits = found.hits
    for part in found.iter_batches(np.arange(len(found))):
        places = found.places(part)
        on_reference = np.flatnonzero(np.isin(places.paths, result.paths))
        rows, firsts = np.unique(places.sites[on_reference], return_index=True)
        firsts = on_reference[firsts]
        is_left = (places.strands[firsts] > 0) == hits.is_pam_first
        ends = places.starts[firsts] + np.where(is_left, 0, hits.lengths[rows])
        result.is_present[rows] = True
        result.mismatches[rows] = hits.mismatches[rows]
        result.pam_misfits[rows] = 0
        result.site_paths[rows] = places.paths[firsts]
        result.pam_ends[rows] = ends
        result.strands[rows] = places.strands[firsts]


class Sites(NamedTuple):
    """A place of each site; arrays of shape (n,).

    Attributes
    ----------
    firsts, positions
        int64: number of its first step, and where that begins, bp on its path.
    starts, strands, lengths, guide_ids
        As in `PathPlaces` and `OffTargetHits`.
    """

    firsts: np.ndarray
    positions: np.ndarray
    starts: np.ndarray
    strands: np.ndarray
    lengths: np.ndarray
    guide_ids: np.ndarray


class BestFits(NamedTuple):
    """The arrays of `ReferenceSites` that are filled."""

    mismatches: np.ndarray
    pam_misfits: np.ndarray
    site_paths: np.ndarray
    pam_ends: np.ndarray
    strands: np.ndarray


class ReferenceVisits(NamedTuple):
    """Steps of some paths by node, and what the paths read.

    Attributes
    ----------
    offsets
        int64, shape (n_nodes + 1,): node ``v`` is visited by ``steps[offsets[v]:offsets[v + 1]]``.
    steps, positions
        int64, shape (n_steps,): number of the step, and where it begins, bp on its path.
    ranks
        int64, shape (n_steps,): index of the step's path among these paths.
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
        """Return the steps and letters of one or more paths."""
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
    steps, node_lengths, sites, is_pam_first, guides, patterns, misfits, complements, visits, fits
):
    """Store the best match of each site among the places given by shared nodes.

    Parameters
    ----------
    steps, node_lengths
        Of the graph.
    sites, visits
        `Sites` and `ReferenceVisits`.
    is_pam_first
        Whether the PAM is at the 5' end.
    guides, patterns
        uint8, shape (n_guides, length) and (1, length): letters.
    misfits, complements
        As `MISFITS` and `COMPLEMENTS`.
    fits
        `BestFits`, filled where there is such a place.
    """
    length = patterns.shape[1]
    firsts, positions, starts, strands, lengths, guide_ids = sites
    visit_offsets, visit_steps, visit_positions, visit_ranks, text_offsets, text = visits
    for row in range(len(firsts)):
        step, position = firsts[row], positions[row]
        stop = starts[row] + lengths[row]
        is_left = (strands[row] > 0) == is_pam_first
        pam_end = starts[row] if is_left else stop
        minimum = 2 * length + 1
        while position < stop:
            node = steps[step] >> 1
            # Nodes without bases give no place.
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
                if n_guide + n_pam < minimum:
                    minimum = n_guide + n_pam
                    fits.mismatches[row], fits.pam_misfits[row] = n_guide, n_pam
                    fits.site_paths[row], fits.pam_ends[row] = visit_ranks[k], end
                    fits.strands[row] = strand
            position += node_lengths[node]
            step += 1
