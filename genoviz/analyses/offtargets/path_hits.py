"""Off-target sites on paths, presented as hits in a genome whose contigs are the paths."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from genoviz.analyses.graph.query.annotate import place_annotations
from genoviz.analyses.graph.query.spell import spell_handles
from genoviz.analyses.offtargets.annotation import HitAnnotations, annotate_hits
from genoviz.analyses.offtargets.path_places import PathPlaces
from genoviz.analyses.offtargets.paths import PathOffTargets
from genoviz.analyses.offtargets.reference import ReferenceSites
from genoviz.analyses.sequences.stretch_text import spell_path
from genoviz.errors import GenovizError
from genoviz.model import Annotations, PangenomeGraph
from genoviz.model.intervals.annotations import Categories
from genoviz.model.offtargets.hits import COLUMNS, AlignedLetters, OffTargetHits
from genoviz.model.offtargets.letters import MISFITS
from genoviz.model.sequences.bases import COMPLEMENTS

USUAL_REFERENCES = ("grch38", "chm13")

MAX_REFERENCES = 1_000
LOWER = np.uint8(32)


@dataclass(frozen=True, eq=False)
class PathPlanes:
    """Paths as contigs; a replacement for `GenomePlanes` without bit planes.

    Attributes
    ----------
    graph
        The graph, with sequences.
    names
        Names of the paths.
    offsets
        int64, shape (n_paths + 1,): start of each in the concatenated paths, bp.
    references
        Samples, and paths without a sample, that hits can be compared with.
    """

    graph: PangenomeGraph = field(repr=False)
    names: tuple[str, ...]
    offsets: np.ndarray
    references: tuple[str, ...]

    @classmethod
    def of(cls, graph: PangenomeGraph) -> PathPlanes:
        """Return the paths of a graph; raises `GenovizError` if there are no sequences."""
        if graph.node_sequences is None:
            raise GenovizError("the graph was opened without its sequences, which are needed here")
        if not graph.n_paths:
            raise GenovizError("the graph has no paths; off-targets are searched on paths")
        names = tuple(graph.path_names)
        offsets = np.append(0, np.cumsum(graph.path_lengths)).astype(np.int64)
        parsed = zip(graph.parsed_path_names, names, strict=True)
        found = dict.fromkeys(name.sample or text for name, text in parsed)
        return cls(graph, names, offsets, tuple(found)[:MAX_REFERENCES])

    @property
    def descriptions(self) -> tuple[str, ...]:
        """The path names, because paths have no headers."""
        return self.names

    @property
    def n_contigs(self) -> int:
        """Number of paths."""
        return len(self.names)

    @property
    def n_bases(self) -> int:
        """Total length of the paths, bp."""
        return int(self.offsets[-1])

    @property
    def usual_reference(self) -> str:
        """The default reference, or ""."""
        for usual in USUAL_REFERENCES:
            for name in self.references:
                if usual in name.lower():
                    return name
        return ""

    @cached_property
    def masked(self) -> np.ndarray:
        """Soft-masked stretches: none on paths; int64, shape (0, 2)."""
        return np.empty((0, 2), np.int64)

    def find_contigs(self, positions: np.ndarray) -> np.ndarray:
        """Return the path that each position lies on; int32, shape (n,)."""
        found = np.searchsorted(self.offsets, positions, side="right") - 1
        return found.astype(np.int32)

    def cut(self, start: int, stop: int) -> np.ndarray:
        """Return letters of the concatenated paths; uint8, (n,)."""
        parts = [np.empty(0, np.uint8)]
        first, last = self.find_contigs(np.array([start, max(stop - 1, start)])).tolist()
        for path in range(first, last + 1):
            low, high = self.offsets[path : path + 2].tolist()
            low, high = max(start, low) - low, min(stop, high) - low
            if low < high:
                parts.append(self._read(path, low, high))
        return np.concatenate(parts)

    def _read(self, path: int, start: int, stop: int) -> np.ndarray:
        index = self.graph.position_index
        steps = index.steps_at(np.array([path, path]), np.array([start, stop - 1]))
        before = start - int(index.positions_of(steps[:1])[0])
        handles = self.graph.steps[steps[0] : steps[1] + 1]
        text = spell_handles(self.graph, handles, max_bases=before + stop - start)
        return np.frombuffer(text[before:].upper().encode("latin-1"), np.uint8)


@dataclass(frozen=True, eq=False, repr=False)
class PlacedHits(OffTargetHits):
    """Sites at places on paths; letters come from the searched stretches.

    Attributes
    ----------
    searched
        The same hits on the shared stretches.
    """

    searched: OffTargetHits

    @classmethod
    def of(cls, found: PathOffTargets, planes: PathPlanes) -> PlacedHits:
        """Return the sites of a search at their first places."""
        return cls._at(found.hits, found.first_places(), planes)

    @classmethod
    def everywhere(cls, found: PathOffTargets, planes: PathPlanes) -> PlacedHits:
        """Return the sites at all their places, by guide, path and position.

        These equal the hits of a search in the path sequences.
        """
        return cls._sorted(found, found.places(), planes)

    @classmethod
    def iter_everywhere(
        cls, found: PathOffTargets, planes: PathPlanes, max_places: int
    ) -> Iterator[PlacedHits]:
        """Yield the hits of `everywhere` in parts, at least one.

        A part has at most ``max_places`` hits, or those of a guide on one path.
        """
        if found.n_places.sum() <= max_places:
            yield cls.everywhere(found, planes)
            return
        edges = np.searchsorted(found.hits.guide_ids, np.arange(len(found.hits.guides) + 1))
        for first, stop in pairwise(edges.tolist()):
            of_guide = found.take(slice(first, stop))
            for _, places in of_guide.iter_places(max_places):
                if len(places):
                    yield cls._sorted(of_guide, places, planes)

    @classmethod
    def _sorted(cls, found: PathOffTargets, places: PathPlaces, planes: PathPlanes) -> PlacedHits:
        hits = found.hits.take(places.sites)
        columns = (hits.bulge_places, hits.bulge_sizes, hits.bulge_types, places.strands < 0)
        order = np.lexsort((*columns, places.starts, places.paths, hits.guide_ids))
        return cls._at(hits, places, planes).take(order)

    @classmethod
    def _at(cls, hits: OffTargetHits, places: PathPlaces, planes: PathPlanes) -> PlacedHits:
        columns = {name: getattr(hits, name) for name in COLUMNS}
        columns["positions"] = planes.offsets[places.paths] + places.starts
        columns["strands"] = places.strands
        return cls(hits.guides, hits.pattern, planes, **columns, searched=hits)

    def take(self, rows: np.ndarray | slice) -> PlacedHits:
        """Return a subset of the hits."""
        columns = {name: getattr(self, name)[rows] for name in COLUMNS}
        return replace(self, **columns, searched=self.searched.take(rows))

    def aligned_letters(self, rows: np.ndarray | slice = slice(None)) -> AlignedLetters:
        """Return the letters of hits, 5' to 3' of the guide; pass slices if there are many hits."""
        return self.searched.aligned_letters(rows)


def annotate_sites(
    hits: PlacedHits, found: PathOffTargets, annotations: Annotations
) -> tuple[HitAnnotations, np.ndarray]:
    """Return the gene of each site, and whether it has a place with annotations; bool, (n,).

    The gene is determined at a site's first place on an annotated path.

    Parameters
    ----------
    hits, found
        The sites at their first places, and all their places.
    annotations
        Result of `read_annotations`, on paths or on contigs that paths are part of.
    """
    on_paths, has_some = annotations_on_paths(hits.planes, annotations)
    placed, is_known = hits_on_paths(hits, found, has_some)
    return annotate_hits(placed, on_paths), is_known


def annotations_on_paths(
    planes: PathPlanes, annotations: Annotations
) -> tuple[Annotations, np.ndarray]:
    """Return annotations with paths as contigs, and which paths have any; bool, (n_paths,)."""
    placed = place_annotations(planes.graph, annotations)
    rows, (offsets, blocks) = placed.rows, placed.blocks
    has_paths = np.zeros(planes.n_contigs, bool)
    has_paths[placed.paths] = True
    found = Annotations(
        contigs=Categories(planes.names, placed.paths.astype(np.int32)),
        starts=placed.starts.copy(),
        ends=placed.ends.copy(),
        names=annotations.names.take(rows),
        types=Categories(annotations.types.names, annotations.types.codes[rows]),
        strands=annotations.strands[rows],
        scores=annotations.scores[rows],
        colours=annotations.colours[rows],
        block_offsets=offsets,
        blocks=blocks,
        notes=placed.notes,
        genes=annotations.genes[rows],
    )
    return found, has_paths


def hits_on_paths(
    hits: PlacedHits, found: PathOffTargets, paths: np.ndarray
) -> tuple[PlacedHits, np.ndarray]:
    """Return hits at their first place on given paths, and which have one; bool, (n,)."""
    is_there = np.zeros(len(hits), bool)
    positions, strands = hits.positions.copy(), hits.strands.copy()
    for part in found.iter_batches(np.arange(len(hits))):
        places = found.places(part)
        kept = np.flatnonzero(paths[places.paths])
        sites, firsts = np.unique(places.sites[kept], return_index=True)
        first = kept[firsts]
        is_there[sites] = True
        positions[sites] = hits.planes.offsets[places.paths[first]] + places.starts[first]
        strands[sites] = places.strands[first]
    return replace(hits, positions=positions, strands=strands), is_there


def reference_columns(reference: ReferenceSites, rows: np.ndarray) -> dict[str, np.ndarray]:
    """Return the table columns on a reference; -1 mismatches if it has no such place."""
    return {
        "in_reference": reference.is_present[rows].astype(np.int64),
        "reference_mismatches": reference.mismatches[rows].astype(np.int64),
        "reference_pam_misfits": reference.pam_misfits[rows].astype(np.int64),
    }


def reference_letters(found: PathOffTargets, reference: ReferenceSites) -> np.ndarray:
    """Return the reference letters at the place of each site; str, shape (n_sites,).

    They read 5' to 3' of the guide, PAM included, with mismatches in lower case; "" if the
    reference has no such place. For a site on the reference they are the site's own letters.
    """
    hits = found.hits
    length = len(hits.pattern)
    letters = np.full(len(hits), "", f"<U{length + int(hits.bulge_sizes.max(initial=0))}")
    for path in reference.paths.tolist():
        rows = np.flatnonzero((reference.site_paths == path) & ~reference.is_present)
        if len(rows):
            letters[rows] = _read_places(spell_path(found.graph, path), hits, reference, rows)
    same = np.flatnonzero(reference.is_present)
    letters[same] = [line.site.replace("-", "") for line in hits.alignments(same)]
    return letters


def _read_places(
    text: np.ndarray, hits: OffTargetHits, reference: ReferenceSites, rows: np.ndarray
) -> list[str]:
    """Return the letters of a path at given sites, with mismatches in lower case."""
    length, is_forward = len(hits.pattern), reference.strands[rows] > 0
    starts = reference.pam_ends[rows] - np.where(is_forward == hits.is_pam_first, 0, length)
    windows = text[starts[:, None] + np.arange(length)]
    windows[~is_forward] = COMPLEMENTS[windows[~is_forward][:, ::-1]]
    words = [*hits.guides, hits.pattern]
    tables = np.array([list(word.encode("latin-1", "replace")) for word in words], np.uint8)
    misfits = MISFITS[tables[hits.guide_ids[rows]], windows] | MISFITS[tables[-1], windows]
    windows = np.where(misfits, windows | LOWER, windows).astype(np.uint8)
    return [row.tobytes().decode("latin-1") for row in windows]
