"""Oracle: overlaps, depths and distances of intervals, pair by pair and base by base."""

from __future__ import annotations

from genoviz.model.intervals.intervals import Intervals


def _widened(start: int, end: int, zero_length: str) -> tuple[int, int]:
    if start == end and zero_length == "bedtools":
        return start - 1, end + 1
    return start, end


def _may_meet(queries: Intervals, i: int, subjects: Intervals, j: int, strand: str | None) -> bool:
    if queries.contigs[queries.contig_ids[i]] != subjects.contigs[subjects.contig_ids[j]]:
        return False
    if strand is None:
        return True
    sign = 1 if strand == "same" else -1
    return queries.strands[i] != 0 and queries.strands[i] == sign * subjects.strands[j]


def overlap_pairs(
    queries: Intervals,
    subjects: Intervals,
    *,
    closed: bool = False,
    strand: str | None = None,
    zero_length: str = "bedtools",
) -> list[tuple[int, int]]:
    """Return all pairs of rows that overlap, by row."""
    pairs = []
    for i in range(len(queries)):
        for j in range(len(subjects)):
            if not _may_meet(queries, i, subjects, j, strand):
                continue
            a = (int(queries.starts[i]), int(queries.ends[i]) + closed)
            b = (int(subjects.starts[j]), int(subjects.ends[j]) + closed)
            if zero_length == "strict" and (a[0] == a[1] or b[0] == b[1]):
                continue
            a, b = _widened(*a, zero_length), _widened(*b, zero_length)
            if a[0] < b[1] and b[0] < a[1]:
                pairs.append((i, j))
    return pairs


def nearest_distances(queries: Intervals, subjects: Intervals) -> list[int]:
    """Return the distance of the nearest subject of each query: 0 overlaps, 1 touches, -1 none."""
    distances = []
    for i in range(len(queries)):
        found = []
        a = _widened(int(queries.starts[i]), int(queries.ends[i]), "bedtools")
        for j in range(len(subjects)):
            if _may_meet(queries, i, subjects, j, None):
                b = _widened(int(subjects.starts[j]), int(subjects.ends[j]), "bedtools")
                found.append(max(b[0] - a[1] + 1, a[0] - b[1] + 1, 0))
        distances.append(min(found, default=-1))
    return distances


def base_depths(intervals: Intervals, contig: str, length: int) -> list[int]:
    """Return the number of intervals at each base from the start of a contig."""
    depths = [0] * length
    for i in range(len(intervals)):
        if intervals.contigs[intervals.contig_ids[i]] == contig:
            for base in range(int(intervals.starts[i]), min(int(intervals.ends[i]), length)):
                depths[base] += 1
    return depths
