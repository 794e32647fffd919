"""Features of a file, sorted so that those of any stretch are found at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from genoviz.model import Annotations, Intervals, PathRegion
from genoviz_app.opening.feature_exons import match_exons
from genoviz_app.opening.feature_names import FeatureNames

GENE_TYPES, TRANSCRIPT_TYPES = ("gene", "pseudogene", "ncRNA_gene"), ("transcript", "mRNA")
EXON_TYPES = ("exon", "CDS")
NO_BLOCKS = np.empty((0, 2), np.int64)


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """Features by contig and start; 0-based half-open, bp.

    Attributes
    ----------
    intervals
        The features, sorted.
    reach
        int64, shape (n,): the furthest end of a feature up to here on its contig.
    bounds
        int64, shape (n_contigs + 1,): where each contig begins.
    colours
        int32, shape (n,): 0xRRGGBB, -1 where the file has none; or None.
    block_offsets, blocks
        Feature i has the blocks (start and end, bp) from ``block_offsets[i]`` to
        ``block_offsets[i + 1]``; both None without blocks.
    """

    intervals: Intervals
    reach: np.ndarray
    bounds: np.ndarray
    colours: np.ndarray | None = None
    block_offsets: np.ndarray | None = None
    blocks: np.ndarray | None = None

    @classmethod
    def of(cls, intervals: Intervals, *, colours: np.ndarray | None = None) -> FeatureTable:
        """Return the table of intervals, one feature for each."""
        table, order = cls._sorted(intervals)
        return table if colours is None else replace(table, colours=colours[order])

    @classmethod
    def of_annotations(cls, annotations: Annotations) -> FeatureTable:
        """Return the table of annotations: of genes, with their exons, where there are genes."""
        rows = _chosen_rows(annotations)
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
        """Return the features that touch a stretch of a contig; int64, by start."""
        rank = self.intervals.find_contig(contig)
        first, stop = int(self.bounds[rank]), int(self.bounds[rank + 1])
        low = first + int(np.searchsorted(self.reach[first:stop], start, "left"))
        high = first + int(np.searchsorted(self.intervals.starts[first:stop], end, "right"))
        rows = np.arange(low, max(low, high))
        return rows[self.intervals.ends[rows] >= start]

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
        """Return where a feature lies."""
        contig = self.intervals.contigs[int(self.intervals.contig_ids[row])]
        start, end = int(self.intervals.starts[row]), int(self.intervals.ends[row])
        return PathRegion(contig, start, max(end, start + 1))

    def find(self, text: str) -> int | None:
        """Return the first feature of a name, in any case; or one whose name begins so."""
        return self.names.find(text) if self.names is not None else None

    def names_beginning(self, text: str, *, limit: int) -> list[str]:
        """Return different names that begin so, in any case."""
        return self.names.beginning(text, limit=limit) if self.names is not None else []

    @cached_property
    def names(self) -> FeatureNames | None:
        """The names, sorted; None without any. To sort a million takes a second."""
        return None if self.intervals.names is None else FeatureNames.of(self.intervals.names)


def _chosen_rows(annotations: Annotations) -> np.ndarray:
    """Return the rows that are drawn: genes, or else transcripts, or else all."""
    for types in (GENE_TYPES, TRANSCRIPT_TYPES):
        rows = _rows_of_types(annotations, types)
        if len(rows):
            return rows
    return np.arange(len(annotations))


def _rows_of_types(annotations: Annotations, types: tuple[str, ...]) -> np.ndarray:
    wanted = [code for code, name in enumerate(annotations.types.names) if name in types]
    return np.flatnonzero(np.isin(annotations.types.codes, wanted))


def _find_blocks(
    annotations: Annotations, rows: np.ndarray, table: FeatureTable
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return the blocks of BED12 features, or the exons of genes, which have the same name."""
    if len(annotations.blocks):
        counts = np.diff(annotations.block_offsets)[rows]
        offsets = np.append(0, np.cumsum(counts))
        firsts = np.repeat(annotations.block_offsets[rows] - offsets[:-1], counts)
        return offsets, annotations.blocks[firsts + np.arange(offsets[-1])]
    exons = next(
        (found for kind in EXON_TYPES if len(found := _rows_of_types(annotations, (kind,)))),
        np.empty(0, np.int64),
    )
    if len(exons) == 0 or len(rows) == len(annotations):
        return None, None
    return match_exons(annotations, exons, table.intervals)
