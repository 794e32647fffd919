"""Runs of paths within a part of a GBWT, linked using only the records of the part's nodes."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba import njit

from genoviz.io.graph.gbz_parts import GENERIC_SAMPLE, StoredPath
from genoviz.model.graph.path_name import PathName

END, OUTSIDE = -1, -2
UNKNOWN = "unknown_{}"


class Visit(NamedTuple):
    """A visit of a GBWT node, and its position on the path, bp."""

    handle: int
    offset: int
    bp: int


class PathPieces:
    """The runs of paths within a part, in both directions, and their known names."""

    def __init__(
        self, visits: np.ndarray, handles: np.ndarray, runs: tuple, lengths: np.ndarray
    ) -> None:
        self._visits, self._handles, self._lengths = visits, handles, lengths
        self._steps, self._places, self._bounds, self._ends = runs
        self._named: dict[int, tuple[StoredPath, int]] = {}

    def name(self, path: StoredPath, visit: Visit) -> None:
        """Record that a visit is on a path at a position in bp, if it is in the part."""
        record = int(np.searchsorted(self._handles, visit.handle))
        if record == len(self._handles) or self._handles[record] != visit.handle:
            return
        number = int(self._visits[record]) + visit.offset
        if number >= self._visits[record + 1]:
            return
        step = int(self._places[number])
        run = int(np.searchsorted(self._bounds, step, side="right")) - 1
        before = self._steps[self._bounds[run] : step]
        self._named[run] = path, visit.bp - int(self._lengths[before >> 1].sum())

    def list(
        self,
    ) -> tuple[list[tuple[str, bool, np.ndarray]] | None, dict[int, list], int]:
        """Return name, walk flag and steps of each path; pieces; and the number of unknown ones.

        The rows are None if a run lacks its reverse.
        """
        bounds = self._bounds.tolist()
        texts = [self._steps[a:b].tobytes() for a, b in pairwise(bounds)]
        counts = Counter(texts)
        rows, starts = [], defaultdict(list)
        for run, (path, start) in sorted(
            self._named.items(), key=lambda item: (item[1][0].handle, item[1][1])
        ):
            steps = np.frombuffer(texts[run], np.uint32)
            end = start + int(self._lengths[steps >> 1].sum())
            full = path.name(0)
            name = PathName.parse(full).cut(start, end)
            if path.sample == GENERIC_SAMPLE and start == 0 and self._ends[run]:
                name = full
            rows.append((name, path.sample != GENERIC_SAMPLE, steps))
            starts[path.handle].append((name, start, end))
            counts[texts[run]] -= 1
            counts[_mirror(steps).tobytes()] -= 1
        n_unknown = 0
        for text in sorted(counts):
            steps = np.frombuffer(text, np.uint32)
            other = _mirror(steps).tobytes()
            if counts[text] != counts[other] or (text == other and counts[text] % 2):
                return None, starts, 0
            n = counts[text] // 2 if text == other else counts[text]
            is_forward = 2 * int((steps & 1).sum()) < len(steps)
            is_even = 2 * int((steps & 1).sum()) == len(steps)
            if is_forward or (is_even and text <= other):
                for _ in range(n):
                    n_unknown += 1
                    rows.append((UNKNOWN.format(n_unknown), False, steps))
        return rows, starts, n_unknown


def _mirror(steps: np.ndarray) -> np.ndarray:
    """Return the steps of the other direction."""
    return steps[::-1] ^ np.uint32(1)


def read_edges(record):
    """Return the links of a record and where its runs begin; None if it is damaged.

    Each link is a GBWT node (0 for the end of paths) and its first visit; int64, shape (n, 2).
    """
    n = _count_links(record)
    if n < 0:
        return None, 0
    links = np.empty((n, 2), np.int64)
    return links, _fill_links(record, links)


def follow_visit(record, visit):
    """Return the next GBWT node and visit; (0, 0) at the end of the path, -1 if damaged."""
    links, at = read_edges(record)
    return (-1, 0) if links is None else _follow_visit(record, at, links, visit)


def expand_visits(data, record_bytes, nodes, max_visits):
    """Return the first visit of each record, and the successor of each visit; None if damaged.

    ``nodes`` are the GBWT nodes of the records, ascending; int64. The successor of a visit is
    another visit of these records, `END` or `OUTSIDE`.
    """
    starts = np.zeros(len(nodes) + 1, np.int64)
    n = _count_visits(data, record_bytes, starts, max_visits)
    following = np.empty(max(n, 0), np.int64)
    if n < 0 or not _fill_following(data, record_bytes, nodes, starts, following):
        return None, None
    return starts, following


def string_visits(starts, following):
    """Return the runs of visits, concatenated; None if two visits have the same successor.

    The result: the record of each visit in the order of runs (uint32), the place of each visit, the
    beginning of each run, with the number of visits last, and which runs end with `END`.
    """
    n = len(following)
    is_head = np.ones(n, np.bool_)
    places, records = np.empty(n, np.int64), np.empty(n, np.uint32)
    if not _mark_heads(following, is_head):
        return None
    heads = np.flatnonzero(is_head)
    bounds, ends = np.zeros(len(heads) + 1, np.int64), np.zeros(len(heads), np.bool_)
    owners = np.repeat(np.arange(len(starts) - 1, dtype=np.uint32), np.diff(starts))
    if _string_visits(following, heads, owners, places, records, bounds, ends) != n:
        return None
    return records, places, bounds, ends


@njit(nogil=True, cache=True)
def _read_checked(data, at, stop):
    """Return an integer and the next position; -1 if it is cut short."""
    value, shift = np.int64(0), np.int64(0)
    while at < stop and shift < 56:
        byte = np.int64(data[at])
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    return np.int64(-1), at


@njit(nogil=True, cache=True)
def _count_links(record):
    sigma, at = _read_checked(record, 0, len(record))
    return sigma if 0 <= 2 * sigma <= len(record) - at else -1


@njit(nogil=True, cache=True)
def _fill_links(record, links):
    """Return where the runs begin, or -1."""
    _, at = _read_checked(record, 0, len(record))
    node = np.int64(0)
    for edge in range(len(links)):
        gap, at = _read_checked(record, at, len(record))
        visit, at = _read_checked(record, at, len(record))
        if gap < 0 or visit < 0 or (edge > 0 and gap == 0):
            return -1
        node += gap
        links[edge, 0], links[edge, 1] = node, visit
    return at


@njit(nogil=True, cache=True)
def _read_checked_run(data, at, stop, sigma):
    """Return edge and length of a run, and the next position; length -1 if damaged."""
    if sigma >= 255:
        edge, at = _read_checked(data, at, stop)
        length, at = _read_checked(data, at, stop)
        if edge < 0 or edge >= sigma or length < 0:
            return np.int64(0), np.int64(-1), at
        return edge, length + 1, at
    byte = np.int64(data[at])
    edge, length, threshold = byte % sigma, byte // sigma + 1, 256 // sigma
    at += 1
    if length > threshold:
        return edge, np.int64(-1), at
    if length == threshold:
        more, at = _read_checked(data, at, stop)
        length = length + more if more >= 0 else np.int64(-1)
    return edge, length, at


@njit(nogil=True, cache=True)
def _follow_visit(record, at, links, visit):
    if at < 0:
        return -1, 0
    nexts, n = links[:, 1].copy(), np.int64(0)
    while at < len(record) and len(links):
        edge, length, at = _read_checked_run(record, at, len(record), len(links))
        if length < 0:
            return -1, 0
        if visit < n + length:
            if links[edge, 0] == 0:
                return 0, 0
            return links[edge, 0], nexts[edge] + visit - n
        nexts[edge] += length
        n += length
    return -1, 0


@njit(nogil=True, cache=True)
def _count_visits(data, record_bytes, starts, max_visits):
    """Store the first visit of each record; return the number of visits, or -1."""
    n = np.int64(0)
    for record in range(len(record_bytes) - 1):
        at, stop = record_bytes[record], record_bytes[record + 1]
        sigma, at = _read_checked(data, at, stop)
        for _ in range(2 * sigma):
            value, at = _read_checked(data, at, stop)
            if value < 0:
                return -1
        if sigma < 1:
            return -1
        while at < stop:
            _, length, at = _read_checked_run(data, at, stop, sigma)
            if length < 0 or length > max_visits - n:
                return -1
            n += length
        starts[record + 1] = n
    return n


@njit(nogil=True, cache=True)
def _fill_following(data, record_bytes, nodes, starts, following):
    for record in range(len(nodes)):
        links = np.empty((_count_links(data[record_bytes[record] :]), 2), np.int64)
        own = data[record_bytes[record] : record_bytes[record + 1]]
        at = _fill_links(own, links)
        if at < 0:
            return False
        places = np.searchsorted(nodes, links[:, 0])
        n = starts[record]
        while at < len(own):
            edge, length, at = _read_checked_run(own, at, len(own), len(links))
            place = places[edge]
            is_there = place < len(nodes) and nodes[place] == links[edge, 0]
            first = starts[place] + links[edge, 1] if is_there else 0
            if is_there and first + length > starts[place + 1]:
                return False
            for k in range(length):
                following[n + k] = first + k if is_there else OUTSIDE
                if links[edge, 0] == 0:
                    following[n + k] = END
            links[edge, 1] += length
            n += length
    return True


@njit(nogil=True, cache=True)
def _mark_heads(following, is_head):
    for visit in range(len(following)):
        to = following[visit]
        if to >= 0:
            if not is_head[to]:
                return False
            is_head[to] = False
    return True


@njit(nogil=True, cache=True)
def _string_visits(following, heads, owners, places, records, bounds, ends):
    """Follow the runs from each head; return their number of visits."""
    n = 0
    for run in range(len(heads)):
        visit = heads[run]
        while True:
            places[visit], records[n] = n, owners[visit]
            n += 1
            to = following[visit]
            if to < 0:
                ends[run] = to == END
                break
            visit = to
        bounds[run + 1] = n
    return n
