"""Sorted features of a file, for fast lookup by region and by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from genoviz.model import Annotations, ByteStrings, Intervals, PathRegion
from genoviz.model.intervals.annotations import is_gene_type

TRANSCRIPT_TYPES = ("transcript", "mRNA")
EXON_TYPES = ("exon", "CDS")
NO_BLOCKS = np.empty((0, 2), np.int64)
PRIME, GENE_PRIME = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
KEY_BYTES = 24
ROWS_PER_SLICE = 1 << 14


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """Features by contig and start; 0-based half-open, bp.

    Attributes
    ----------
    intervals
        The features, sorted.
    reach
        int64, shape (n,): running maximum of the ends on the contig.
    bounds
        int64, shape (n_contigs + 1,): first row of each contig.
    colours
        int32, shape (n,): 0xRRGGBB, -1 if missing; or None.
    block_offsets, blocks
        Feature i has the blocks ``block_offsets[i]`` to ``block_offsets[i + 1]``, as start and end
        in bp; both are None without blocks.
    """

    intervals: Intervals
    reach: np.ndarray
    bounds: np.ndarray
    colours: np.ndarray | None = None
    block_offsets: np.ndarray | None = None
    blocks: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        intervals: Intervals,
        *,
        colours: np.ndarray | None = None,
        blocks: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> FeatureTable:
        """Return a table with one feature per interval; ``blocks`` are offsets and bounds."""
        table, order = cls._sorted(intervals)
        if blocks is not None:
            offsets, bounds = _take_blocks(*blocks, order)
            table = replace(table, block_offsets=offsets, blocks=bounds)
        return table if colours is None else replace(table, colours=colours[order])

    @classmethod
    def of_annotations(cls, annotations: Annotations) -> FeatureTable:
        """Return a table of annotations: genes with their exons, if there are genes."""
        rows = drawn_rows(annotations)
        ids = np.asarray(annotations.contigs.codes, np.int32)
        table, order = cls._sorted(
            Intervals(
                tuple(annotations.contigs.names),
                ids[rows],
                annotations.starts[rows],
                annotations.ends[rows],
                strands=annotations.strands[rows],
                names=annotations.names.take(rows),
                scores=annotations.scores[rows],
            )
        )
        chosen = rows[order]
        offsets, blocks = _find_blocks(annotations, chosen, table)
        return cls(
            table.intervals,
            table.reach,
            table.bounds,
            annotations.colours[chosen],
            offsets,
            blocks,
        )

    @classmethod
    def _sorted(cls, intervals: Intervals) -> tuple[FeatureTable, np.ndarray]:
        order = np.lexsort((intervals.starts, intervals.contig_ids))
        found = intervals.select(order)
        bounds = np.searchsorted(found.contig_ids, np.arange(found.n_contigs + 1))
        reach = found.ends.copy()
        for first, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            np.maximum.accumulate(found.ends[first:stop], out=reach[first:stop])
        return cls(found, reach, bounds), order

    def __len__(self) -> int:
        return len(self.intervals)

    def rows_within(self, contig: str, start: int, end: int) -> np.ndarray:
        """Return the features that overlap a region; int64, sorted by start.

        An empty feature overlaps the regions that it lies in or at an end of.
        """
        rank = self.intervals.find_contig(contig)
        first, stop = int(self.bounds[rank]), int(self.bounds[rank + 1])
        low = first + int(np.searchsorted(self.reach[first:stop], start, "left"))
        high = first + int(np.searchsorted(self.intervals.starts[first:stop], end, "right"))
        rows = np.arange(low, max(low, high))
        starts, ends = self.intervals.starts[rows], self.intervals.ends[rows]
        is_empty = (starts == ends) & (ends >= start)
        return rows[is_empty | ((starts < end) & (ends > start))]

    def count_within(self, contig: str, start: int, end: int) -> int:
        """Return the number of features that overlap a region."""
        rank = self.intervals.find_contig(contig)
        some = slice(*self.bounds[rank : rank + 2].tolist())
        n_begun = np.searchsorted(self.intervals.starts[some], end, "left")
        return int(n_begun - np.searchsorted(self.sorted_ends[some], start, "right"))

    @cached_property
    def sorted_ends(self) -> np.ndarray:
        """The ends of the features of each contig, ascending; int64, shape (n,)."""
        return self.intervals.ends[np.lexsort((self.intervals.ends, self.intervals.contig_ids))]

    def split(self) -> tuple[Intervals, np.ndarray]:
        """Return the blocks of all features by start, and the feature of each, int64.

        A feature without blocks is one block.
        """
        counts = np.diff(self.block_offsets)
        owners = np.repeat(np.arange(len(self)), np.maximum(counts, 1))
        starts, ends = self.intervals.starts[owners], self.intervals.ends[owners]
        is_block = counts[owners] > 0
        starts[is_block], ends[is_block] = self.blocks.T
        order = np.lexsort((starts, owners))
        whole = replace(self.intervals, names=None, scores=None).select(owners)
        return replace(whole, starts=starts[order], ends=ends[order]), owners

    def blocks_of(self, row: int) -> np.ndarray:
        """Return start and end of the blocks of a feature, bp; int64, shape (n_blocks, 2)."""
        if self.blocks is None or self.block_offsets is None:
            return NO_BLOCKS
        return self.blocks[self.block_offsets[row] : self.block_offsets[row + 1]]

    def name_of(self, row: int) -> str:
        """Return the name of a feature, or ""."""
        name = "" if self.intervals.names is None else self.intervals.names[row]
        return "" if name == "." else name

    def region_of(self, row: int) -> PathRegion:
        """Return the location of a feature."""
        contig = self.intervals.contigs[int(self.intervals.contig_ids[row])]
        start, end = int(self.intervals.starts[row]), int(self.intervals.ends[row])
        return PathRegion(contig, start, max(end, start + 1))

    def find(self, text: str) -> int | None:
        """Return the first feature with this name, or else with this prefix, ignoring case."""
        return self.names.find(text) if self.names is not None else None

    def names_beginning(self, text: str, *, limit: int) -> list[str]:
        """Return distinct names with this prefix, ignoring case."""
        return self.names.beginning(text, limit=limit) if self.names is not None else []

    @cached_property
    def names(self) -> FeatureNames | None:
        """The sorted names; None if there are none. Sorting a million takes a second."""
        return None if self.intervals.names is None else FeatureNames.of(self.intervals.names)


def drawn_rows(annotations: Annotations) -> np.ndarray:
    """Return the rows to draw: genes and rows of BED, or else transcripts, or else all; int64."""
    for is_wanted in (lambda name: not name or is_gene_type(name), TRANSCRIPT_TYPES.__contains__):
        rows = _rows_of_types(annotations, is_wanted)
        if len(rows):
            return rows
    return np.arange(len(annotations))


def _rows_of_types(annotations: Annotations, is_wanted: Callable[[str], bool]) -> np.ndarray:
    wanted = [code for code, name in enumerate(annotations.types.names) if is_wanted(name)]
    return np.flatnonzero(np.isin(annotations.types.codes, wanted))


def _find_blocks(
    annotations: Annotations, rows: np.ndarray, table: FeatureTable
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return the blocks of BED12 features, or of genes, their exons."""
    if len(annotations.blocks):
        return _take_blocks(annotations.block_offsets, annotations.blocks, rows)
    exons = next(
        (found for kind in EXON_TYPES if len(found := _rows_of_types(annotations, kind.__eq__))),
        np.empty(0, np.int64),
    )
    if len(exons) == 0 or len(rows) == len(annotations):
        return None, None
    return match_exons(annotations, exons, rows, table.intervals)


def _take_blocks(
    offsets: np.ndarray, blocks: np.ndarray, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return offsets and blocks of some rows, in their order."""
    counts = np.diff(offsets)[rows]
    taken = np.append(0, np.cumsum(counts))
    firsts = np.repeat(offsets[rows] - taken[:-1], counts)
    return taken, blocks[firsts + np.arange(taken[-1])]


def match_exons(
    annotations: Annotations, exons: np.ndarray, genes: np.ndarray, features: Intervals
) -> tuple[np.ndarray, np.ndarray]:
    """Return the union of the exons of each feature's gene, or else of its name, within it.

    Parameters
    ----------
    exons, genes
        int64: rows of the annotations that are exons, and those that are the features.
    features
        The features with names.

    Returns
    -------
    tuple
        Offsets, int64, shape (n + 1,), and blocks, int64, shape (n_blocks, 2): feature i has the
        blocks from offset i to offset i + 1.
    """
    contigs = np.asarray(annotations.contigs.codes, np.int64)[exons]
    keys = hash_names(annotations.names.take(exons), contigs)
    wanted = hash_names(features.names, features.contig_ids)
    numbers = annotations.genes[exons], annotations.genes[genes]
    pair = (keys, contigs), (wanted, features.contig_ids)
    for (of_rows, on), own, other in zip(pair, numbers, numbers[::-1], strict=True):
        is_told = (own >= 0) & np.isin(own, other)
        of_genes = (own[is_told].astype(np.uint64) + np.uint64(1)) * GENE_PRIME
        of_rows[is_told] = of_genes * PRIME + on[is_told].astype(np.uint64)
    order = np.lexsort((annotations.starts[exons], keys))
    keys, exons = keys[order], exons[order]
    firsts, stops = (np.searchsorted(keys, wanted, side) for side in ("left", "right"))
    counts = stops - firsts
    owners = np.repeat(np.arange(len(features)), counts)
    rows = exons[np.arange(len(owners)) + np.repeat(firsts - (np.cumsum(counts) - counts), counts)]
    starts, ends = annotations.starts[rows], annotations.ends[rows]
    is_inside = (starts >= features.starts[owners]) & (ends <= features.ends[owners])
    return _merged(owners[is_inside], starts[is_inside], ends[is_inside], len(features))


def hash_names(names: ByteStrings, contigs: np.ndarray) -> np.ndarray:
    """Return a hash of each name and contig; uint64.

    For a million names, the probability of a collision is below 1e-6.
    """
    lengths = names.lengths
    powers = np.cumprod(np.full(int(lengths.max(initial=0)) + 2, PRIME), dtype=np.uint64)
    within = np.arange(len(names.data)) - np.repeat(names.offsets[:-1], lengths)
    sums = np.append(np.uint64(0), np.cumsum((names.data + np.uint64(1)) * powers[within]))
    hashes = sums[names.offsets[1:]] - sums[names.offsets[:-1]]
    return hashes * PRIME + contigs.astype(np.uint64)


def _merged(
    owners: np.ndarray, starts: np.ndarray, ends: np.ndarray, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return offsets by owner, and the union of each owner's blocks, which are sorted by start."""
    span = int(ends.max(initial=0)) + 1
    reach = np.maximum.accumulate(ends + owners * span) if len(ends) else ends
    is_first = np.ones(len(ends), bool)
    is_first[1:] = starts[1:] + owners[1:] * span > reach[:-1]
    begins = np.flatnonzero(is_first)
    lasts = np.append(begins[1:], len(ends))[: len(begins)] - 1
    offsets = np.searchsorted(owners[begins], np.arange(n + 1))
    blocks = np.stack([starts[begins], reach[lasts] - owners[lasts] * span], axis=1)
    return offsets.astype(np.int64), blocks.astype(np.int64)


@dataclass(frozen=True, eq=False)
class FeatureNames:
    """Sorted feature names, for lookup that ignores ASCII case.

    Attributes
    ----------
    names
        The names as in the file.
    keys
        Bytes, shape (n,): prefix of each name in lower case, sorted.
    rows
        int64, shape (n,): the row of each key; ascending among equal keys.

    Examples
    --------
    >>> names = FeatureNames.of(ByteStrings.from_texts(["BRCA2", "brca1", "TP53"]))
    >>> names.find("Brca1"), names.find("tp"), names.find("x"), names.beginning("BR", limit=5)
    (1, 2, None, ['brca1', 'BRCA2'])
    """

    names: ByteStrings
    keys: np.ndarray
    rows: np.ndarray

    @classmethod
    def of(cls, names: ByteStrings) -> FeatureNames:
        """Return the names, sorted."""
        keys = np.zeros((len(names), KEY_BYTES), np.uint8)
        columns = np.arange(KEY_BYTES)
        padded = np.append(names.data, np.zeros(KEY_BYTES, np.uint8))
        for first in range(0, len(names), ROWS_PER_SLICE):
            some = slice(first, first + ROWS_PER_SLICE)
            starts, lengths = names.offsets[:-1][some], names.lengths[some]
            letters = padded[starts[:, None] + columns]
            letters[columns >= lengths[:, None]] = 0
            letters += 32 * ((letters >= 65) & (letters <= 90)).astype(np.uint8)
            keys[some] = letters
        texts = keys.view(f"S{KEY_BYTES}").ravel()
        order = np.argsort(texts, kind="stable")
        return cls(names, texts[order], order)

    def find(self, text: str) -> int | None:
        """Return the first row with this name, else with this prefix, else None; ignores case."""
        wanted = text.strip().lower()
        if not wanted:
            return None
        found = self._beginning(text.strip())
        row = next((row for row in found if self.names[row].lower() == wanted), None)
        return row if row is not None else next(iter(found), None)

    def beginning(self, text: str, *, limit: int) -> list[str]:
        """Return distinct names with this prefix, in alphabetical order."""
        found: dict[str, None] = {}
        text = text.strip()
        for row in self._beginning(text) if text else ():
            found.setdefault(self.names[row])
            if len(found) == limit:
                break
        return [name for name in found if name != "."]

    def _beginning(self, text: str) -> list[int]:
        """Return rows of names with this prefix, by key; a few thousand at most."""
        wanted = text.lower()
        key = text.encode().lower()[:KEY_BYTES]
        low = int(np.searchsorted(self.keys, key, "left"))
        high = int(np.searchsorted(self.keys, key + b"\xff" * (KEY_BYTES - len(key)), "right"))
        rows = self.rows[low : min(high, low + 5000)].tolist()
        if len(wanted) <= KEY_BYTES and wanted.isascii():
            return rows
        return [row for row in rows if self.names[row].lower().startswith(wanted)]
