"""Haplotypes that carry sites, certainly or only in some combinations of unphased alleles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np

from genoviz.analyses.graph.phase_sets import PossiblePaths
from genoviz.analyses.graph.query.chromosomes import find_chromosomes
from genoviz.analyses.graph.query.path_groups import PathGroups
from genoviz.analyses.offtargets.path_places import PathPlaces
from genoviz.analyses.offtargets.paths import PathOffTargets
from genoviz.errors import ParameterError
from genoviz.model import PangenomeGraph

_PATH_BASES = 1 << 40

_CHROMOSOMES: WeakKeyDictionary[PangenomeGraph, np.ndarray] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class PossibleSites:
    """Sites that samples have in some combinations of their phase sets but not in all.

    Attributes
    ----------
    paths
        int64: paths that are such combinations.
    doubtful
        int64, shape (n, 2): pairs of a site and a whole path that has the site as written, but not
        in each combination.
    counts
        int64, shape (n_sites,): number of copies that possibly but not certainly have each site.
    samples
        str, shape (n_sites,): names of these samples, comma-separated.
    """

    paths: np.ndarray
    doubtful: np.ndarray
    counts: np.ndarray
    samples: np.ndarray


def find_possible_sites(
    found: PathOffTargets, possible: PossiblePaths
) -> tuple[PathOffTargets, PossibleSites]:
    """Return sites with their certainty; a possible site has one place per sample.

    A copy certainly has a site if the sample has it in every combination of the nearby phase sets.
    The place of a possible site is that on the haplotypes as written, or else on the first
    combination with the site.

    Parameters
    ----------
    found
        Sites on a graph from `iter_construct_graph`, searched in windows no longer than the one
        that the graph was built with.
    possible
        Which paths of the graph are combinations, from `iter_construct_graph`.
    """
    kept, doubtful = [np.empty(0, bool)], [np.empty((0, 2), np.int64)]
    counts, names = np.zeros(len(found), np.int64), np.full(len(found), "", object)
    for part in found.iter_batches(np.arange(len(found))):
        some = found.take(part)
        places = some.unsorted_places()
        clusters = _clusters_at(some, places, possible)
        is_kept = possible.combinations[places.paths] == 0
        sites, groups, firsts, at_written = _compare(places, clusters, possible)
        is_kept[firsts] = True
        kept.append(is_kept)
        at_written[:, 0] += part.start
        doubtful.append(at_written)
        sites = sites + part.start
        samples = possible.cluster_samples[groups[:, 0]]
        np.add.at(counts, sites, groups[:, 1])
        for site, sample in zip(sites.tolist(), samples.tolist(), strict=True):
            names[site] += f"{',' if names[site] else ''}{possible.samples[sample]}"
    is_kept = np.concatenate(kept)
    if found.is_kept is not None:
        is_kept, some = found.is_kept.copy(), is_kept
        is_kept[found.is_kept] = some
    found = replace(found, is_kept=is_kept)
    rows = np.flatnonzero(found.n_places > 0)
    pairs = np.concatenate(doubtful)
    pairs[:, 0] = np.searchsorted(rows, pairs[:, 0])
    paths = np.flatnonzero(possible.combinations)
    texts = names[rows].astype(np.str_)
    return found.take(rows), PossibleSites(paths, pairs, counts[rows], texts)


def _clusters_at(found: PathOffTargets, places: PathPlaces, possible: PossiblePaths) -> np.ndarray:
    """Return the cluster of phase sets behind each place, or -1; int64, (n_places,).

    Other alignments to the same PAM matter too, so a window has the maximum alignment length.
    """
    hits = found.hits
    is_left = (places.strands > 0) == hits.is_pam_first
    lows = np.where(
        is_left, places.starts, places.starts + hits.lengths[places.sites] - possible.window
    )
    owners = np.repeat(np.arange(len(possible.offsets) - 1), np.diff(possible.offsets))
    paths = places.paths.astype(np.int64)
    keys = owners * _PATH_BASES + possible.ends
    at = np.searchsorted(keys, paths * _PATH_BASES + np.maximum(lows, 0))
    clusters = np.full(len(places), -1, np.int64)
    rows = np.flatnonzero(at < possible.offsets[paths + 1])
    at = at[rows]
    is_near = possible.starts[at] <= lows[rows] + possible.window
    clusters[rows[is_near]] = possible.clusters[at[is_near]]
    return clusters


def _compare(
    places: PathPlaces, clusters: np.ndarray, possible: PossiblePaths
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return possible sites and their details.

    Returns
    -------
    sites, groups
        int64, shapes (n,) and (n, 2): site, with its cluster and the number of copies that may have
        it there.
    firsts
        int64: the places of combinations to keep.
    doubtful
        int64, shape (m, 2): sites and paths, as for `PossibleSites`.
    """
    rows = np.flatnonzero(clusters >= 0)
    rows = rows[np.lexsort((places.paths[rows], clusters[rows], places.sites[rows]))]
    owner = np.stack([places.sites[rows], clusters[rows]], axis=1)
    is_new = np.ones(len(rows), bool)
    is_new[1:] = (owner[1:] != owner[:-1]).any(axis=1)
    groups = np.cumsum(is_new) - 1
    heads = np.flatnonzero(is_new)
    # Whole paths are sorted before combinations.
    ways = possible.combinations[places.paths[rows]]
    is_way = is_new.copy()
    is_way[1:] |= ways[1:] != ways[:-1]
    sizes = np.diff(np.append(np.flatnonzero(is_way), len(rows)))
    of_way, which = groups[is_way], ways[is_way]
    minimum, maximum = np.full(len(heads), np.iinfo(np.int64).max), np.zeros(len(heads), np.int64)
    np.minimum.at(minimum, of_way, sizes)
    np.maximum.at(maximum, of_way, sizes)
    n_ways = np.bincount(of_way, minlength=len(heads))
    minimum[n_ways < possible.n_combinations[owner[heads, 1]]] = 0
    written = np.zeros(len(heads), np.int64)
    written[of_way[which == 0]] = sizes[which == 0]
    is_possible = np.flatnonzero(maximum > minimum)
    firsts = rows[heads[written == 0]]
    # Which copies certainly have it is unknown; the first ones are assigned.
    ranks = np.arange(len(rows)) - heads[groups]
    is_doubtful = (ways == 0) & (ranks >= minimum[groups])
    doubtful = np.stack([owner[is_doubtful, 0], places.paths[rows[is_doubtful]]], axis=1)
    about = np.stack([owner[heads, 1], maximum - minimum], axis=1)
    return owner[heads[is_possible], 0], about[is_possible], firsts, doubtful.astype(np.int64)


def haplotype_names(
    found: PathOffTargets,
    *,
    without: Sequence[int] | np.ndarray = (),
    doubtful: np.ndarray | None = None,
    by_contig: bool = False,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the number of haplotypes with each site, their total, and their names.

    The total is of haplotypes that have the chromosome of the site: a male has one copy of X.

    Parameters
    ----------
    found
        The sites.
    without
        Paths whose haplotypes do not count.
    doubtful
        Pairs of site and path that do not count, as in `PossibleSites`.
    by_contig
        Whether chromosomes are told apart by contigs, as in the haplotypes of one genome, rather
        than by the components of the graph.

    Returns
    -------
    counts, n_haplotypes, names
        int64, shape (n_sites,), twice; and str, shape (n_sites,), comma-separated.
    """
    groups = found.groups("haplotype")
    counted = np.ones(len(groups.names), bool)
    counted[groups.of_path[np.asarray(without, np.int64)]] = False
    names = np.array(groups.names, object)[counted]
    counts, texts = np.zeros(len(found), np.int64), np.full(len(found), "", object)
    for part in found.iter_batches(np.arange(len(found))):
        presence = _presence(found, part, groups, doubtful)[:, counted]
        kinds, which = np.unique(np.packbits(presence, axis=1), axis=0, return_inverse=True)
        joined = [
            ",".join(names[np.unpackbits(kind, count=len(names)).astype(bool)]) for kind in kinds
        ]
        counts[part] = presence.sum(axis=1)
        texts[part] = np.array(joined, object)[which.ravel()] if joined else ""
    totals = _count_owners(found, groups, counted[:, None], by_contig)[:, 0]
    return counts, totals, texts.astype(np.str_)


def count_haplotypes(found: PathOffTargets) -> np.ndarray:
    """Return how many haplotypes have the chromosome of each site; int64, shape (n_sites,)."""
    groups = found.groups("haplotype")
    return _count_owners(found, groups, np.ones((len(groups.names), 1), bool), by_contig=False)[
        :, 0
    ]


def _count_owners(
    found: PathOffTargets, groups: PathGroups, kinds: np.ndarray, by_contig: bool
) -> np.ndarray:
    """Return how many haplotypes of some kinds have the chromosome of each site.

    ``kinds`` are bool, shape (n_haplotypes, k); the result is int64, shape (n_sites, k).
    """
    of_path = _chromosomes_of_paths(found.graph, by_contig)
    has = np.zeros((int(of_path.max(initial=0)) + 1, len(groups.names)), np.int64)
    is_known = (of_path >= 0) & (groups.of_path >= 0)
    has[of_path[is_known], groups.of_path[is_known]] = 1
    totals = has @ kinds.astype(np.int64)
    if len(totals) == 1:
        return np.broadcast_to(totals, (len(found), kinds.shape[1]))
    return totals[of_path[found.first_places().paths]]


def _chromosomes_of_paths(graph: PangenomeGraph, by_contig: bool) -> np.ndarray:
    """Return the number of the chromosome of each path, or -1; found once for each graph.

    A search that streams asks for each piece of its sites.
    """
    if by_contig:
        names = [name.contig for name in graph.parsed_path_names]
        return np.unique(names, return_inverse=True)[1]
    if graph not in _CHROMOSOMES:
        _CHROMOSOMES[graph] = find_chromosomes(graph).of_paths
    return _CHROMOSOMES[graph]


def _presence(
    found: PathOffTargets, part: slice, groups: PathGroups, doubtful: np.ndarray | None
) -> np.ndarray:
    """Return which haplotypes certainly have some of the sites; bool, (n_rows, n_haplotypes)."""
    presence = found.presence(part, by="haplotype")
    if doubtful is not None:
        mine = doubtful[(doubtful[:, 0] >= part.start) & (doubtful[:, 0] < part.stop)]
        presence[mine[:, 0] - part.start, groups.of_path[mine[:, 1]]] = False
    return presence


def group_shares(
    found: PathOffTargets,
    populations: Mapping[str, str],
    *,
    without: Sequence[int] | np.ndarray = (),
    doubtful: np.ndarray | None = None,
    by_contig: bool = False,
) -> dict[str, np.ndarray]:
    """Return the share of haplotypes of each population that have each site.

    Parameters
    ----------
    found
        The sites.
    populations
        The population of each sample; samples without one are ignored.
    without, doubtful, by_contig
        As for `haplotype_names`.

    Returns
    -------
    dict
        float64, shape (n_sites,), keyed by ``frequency_`` and the name of the population; NaN
        where it has no haplotype of the chromosome.

    Raises
    ------
    ParameterError
        If no sample of the graph has a population.
    """
    groups = found.groups("haplotype")
    samples = [name.split("#")[0] for name in groups.names]
    names = sorted({populations[sample] for sample in samples if sample in populations})
    if not names:
        raise ParameterError(
            f"no sample has a population: there is no {samples[-1] if samples else 'sample'} in "
            "the table"
        )
    of_group = np.array([[populations.get(sample) == name for name in names] for sample in samples])
    of_group[groups.of_path[np.asarray(without, np.int64)]] = False
    totals = _count_owners(found, groups, of_group, by_contig)
    shares = np.zeros((len(found), len(names)))
    for part in found.iter_batches(np.arange(len(found))):
        presence = _presence(found, part, groups, doubtful)
        shares[part] = presence.astype(np.float64) @ of_group
    with np.errstate(invalid="ignore"):
        shares /= totals
    return {f"frequency_{name}": shares[:, k] for k, name in enumerate(names)}
