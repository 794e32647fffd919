"""Places on contigs: parsing of regions, search for features, and the history of the view.

Displayed regions are 1-based and inclusive, with commas: ``chr7:27,100,000-27,300,000``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import numpy as np

from genoviz.errors import ParameterError
from genoviz.model import PathRegion
from genoviz.model.intervals.intervals import aliases
from genoviz_app.pages.tracks.track_list import TrackList

SMALLEST_VIEW = 20
FEATURE_MARGIN = 0.15
_STRETCH = re.compile(r"^(\d[\d,]*)(?:\s*(?:-|\.\.|to)\s*(\d[\d,]*))?$")
FindFeature = Callable[[str], PathRegion | None]
MAX_PLACES = 200
REST_SECONDS = 0.7


def region_around(contig: str, stretches: np.ndarray) -> PathRegion:
    """Return the smallest region that contains some intervals, with a margin.

    Examples
    --------
    >>> region_around("chr7", np.array([[500, 600], [100, 2100]]))
    PathRegion(path='chr7', start=0, end=2300)
    """
    start, end = int(stretches[:, 0].min()), int(stretches[:, 1].max())
    margin = max((end - start) // 10, 50)
    return PathRegion(contig, max(start - margin, 0), end + margin)


def describe_extent(region: PathRegion | None, bin_bp: int) -> str:
    """Describe visible length and bin size as HTML; empty without a region.

    Examples
    --------
    >>> describe_extent(PathRegion("chr7", 0, 9000), 20)
    '<p><span>9,000 bp</span><span>20 bp bins</span></p>'
    """
    if region is None:
        return ""
    said = f"{bin_bp:,} bp bins" if bin_bp > 1 else "exact"
    return f"<p><span>{region.length:,} bp</span><span>{said}</span></p>"


def parse_place(
    text: str, *, contigs: Mapping[str, int], shown: str, find: FindFeature
) -> PathRegion:
    """Return the region that a text names.

    Parameters
    ----------
    text
        ``chr7:27,100,000-27,300,000``, a contig, an interval or a base of the displayed contig, or
        the name of a feature.
    contigs
        Length of each contig by name.
    shown
        The displayed contig.
    find
        Returns the region of a feature by name, or None.

    Raises
    ------
    ParameterError
        If the place does not exist.

    Examples
    --------
    >>> parse_place("7:11-30", contigs={"chr7": 100}, shown="", find=lambda name: None)
    PathRegion(path='chr7', start=10, end=30)
    """
    text = text.strip()
    contig = known_contig(text, contigs)
    if contig is not None:
        return PathRegion(contig, 0, contigs[contig])
    name, colon, stretch = text.rpartition(":")
    match = _STRETCH.match(stretch.strip())
    contig = known_contig(name.strip(), contigs) if colon else shown
    if match is not None and contig in contigs:
        return _stretch_of(text, contig, contigs[contig], match)
    found = find(text)
    if found is not None:
        return found
    if match is not None and colon:
        raise ParameterError(f"there is no contig {name!r} in the open files")
    raise ParameterError(
        f"{text!r} is not a place here; needs contig:start-end (the first base is 1), a contig, "
        "or the name of a feature"
    )


def known_contig(name: str, contigs: Mapping[str, int]) -> str | None:
    """Return a contig by its name or an equivalent spelling, or None."""
    if name in contigs:
        return name
    return next((other for other in aliases(name) if other in contigs), None) if name else None


def _stretch_of(text: str, contig: str, length: int, match: re.Match) -> PathRegion:
    first = int(match[1].replace(",", ""))
    last = int(match[2].replace(",", "")) if match[2] else first
    if not 1 <= first <= last:
        raise ParameterError(
            f"{text!r} goes from base {first:,} to {last:,}, needs 1 <= start <= end"
        )
    if first > length:
        raise ParameterError(f"{text!r} begins beyond the end of {contig}, at {length:,} bp")
    return PathRegion(contig, first - 1, min(last, length))


def with_margin(region: PathRegion, length: int) -> PathRegion:
    """Return a region with margins on both sides."""
    margin = max(int(region.length * FEATURE_MARGIN), SMALLEST_VIEW // 2)
    return PathRegion(region.path, max(region.start - margin, 0), min(region.end + margin, length))


def busiest_contig(tracks: TrackList, contigs: Mapping[str, int]) -> str:
    """Return the contig with the most intervals, or else the first; "" without contigs."""
    counts = dict.fromkeys(contigs, 0)
    for track in tracks:
        is_whole = track.data is not None and len(track.data.contigs) > 1
        if track.data is not None and (is_whole or track.file is not None):
            for name, n in track.data.counts.items():
                if name in counts:
                    counts[name] += n
    return max(counts, key=counts.__getitem__, default="")


def data_region(tracks: TrackList, contig: str, length: int) -> PathRegion:
    """Return the interval of a contig that has data; a path of a graph in full."""
    graph = tracks.graph
    if graph is not None and contig in graph.path_names:
        return PathRegion(contig, 0, length)
    extents = []
    for track in tracks:
        own = track.find_contig(contig)
        start, end = track.data.extent(own[0]) if own is not None else (0, 0)
        if end > start:
            extents.append((max(start - own[1], 0), min(end - own[1], length)))
    first = min((extent[0] for extent in extents), default=0)
    last = max((extent[1] for extent in extents), default=length)
    return PathRegion(contig, first, max(last, first + 1))


def find_feature(
    tracks: TrackList, name: str, contigs: Mapping[str, int], shown: str
) -> PathRegion | None:
    """Return the region of a feature with a margin, or None.

    Parameters
    ----------
    contigs
        Length of each displayable contig; the displayed one takes precedence.
    """
    for track in tracks:
        table = track.data.features if track.data is not None else None
        row = table.find(name) if table is not None else None
        if row is None:
            continue
        found = table.region_of(row)
        for contig in (shown, *contigs):
            own = track.find_contig(contig) if contig in contigs else None
            if own is not None and own[0] == found.path and found.start >= own[1]:
                region = PathRegion(contig, found.start - own[1], found.end - own[1])
                return with_margin(region, contigs[contig])
    return None


def suggest(tracks: TrackList, text: str, contigs: Mapping[str, int], *, limit: int) -> list[str]:
    """Return names of features and contigs that start with a text."""
    wanted = text.strip().lower()
    if not wanted or ":" in wanted:
        return []
    found: dict[str, None] = {}
    for track in tracks:
        table = track.data.features if track.data is not None else None
        if table is not None:
            found.update(dict.fromkeys(table.names_beginning(wanted, limit=limit)))
        if len(found) >= limit:
            break
    for contig in contigs:
        if len(found) >= limit:
            break
        if contig.lower().startswith(wanted):
            found.setdefault(contig)
    return [*found][:limit]


class History:
    """The history of regions, like that of a browser.

    Examples
    --------
    >>> history = History()
    >>> for start in (0, 10, 20):
    ...     history.visit(PathRegion("c", start, start + 5))
    >>> str(history.back()), str(history.back()), history.back()
    ('c:10-15', 'c:0-5', None)
    >>> str(history.forward())
    'c:10-15'
    """

    def __init__(self) -> None:
        self._places: list[PathRegion] = []
        self._at = -1

    @property
    def can_go_back(self) -> bool:
        """Whether there is a previous region."""
        return self._at > 0

    @property
    def can_go_forward(self) -> bool:
        """Whether there is a next region."""
        return self._at < len(self._places) - 1

    def visit(self, region: PathRegion) -> None:
        """Append a region, and drop the regions after the current one."""
        if self._places and region == self._places[self._at]:
            return
        self._places = [*self._places[: self._at + 1], region][-MAX_PLACES:]
        self._at = len(self._places) - 1

    def back(self) -> PathRegion | None:
        """Return the previous region, or None."""
        return self._move(-1) if self.can_go_back else None

    def forward(self) -> PathRegion | None:
        """Return the next region, or None."""
        return self._move(1) if self.can_go_forward else None

    def _move(self, step: int) -> PathRegion:
        self._at += step
        return self._places[self._at]


class Visits:
    """Adds regions to the history when the view rests on them.

    Attributes
    ----------
    history
        The history.
    seen
        The region seen last.
    """

    def __init__(self) -> None:
        self.history = History()
        self.seen: PathRegion | None = None
        self._seen_since, self._is_noted = 0.0, True

    def is_other(self, region: PathRegion | None, now: float) -> bool:
        """Return whether the view has moved since the last call; ``now`` is in seconds."""
        if region == self.seen:
            return False
        self.seen, self._seen_since, self._is_noted = region, now, False
        return True

    def comes_to_rest(self, now: float) -> bool:
        """Return whether the view has just come to rest, and record its region then."""
        if self._is_noted or self.seen is None or now - self._seen_since <= REST_SECONDS:
            return False
        self.settle()
        return True

    def settle(self) -> None:
        """Record the current region, as if the view had come to rest."""
        if not self._is_noted and self.seen is not None:
            self._is_noted = True
            self.history.visit(self.seen)

    def revisit(self, region: PathRegion) -> None:
        """Note that a region of the history is shown again, so that it is not recorded."""
        self.seen, self._is_noted = region, True
