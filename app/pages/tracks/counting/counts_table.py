"""A table of track statistics in the view, or in the regions of a track or a file.

The fields above it select regions and tracks.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import panel as pn
import panel_material_ui as pmui

from genoviz.errors import GenovizError, ParameterError
from genoviz.io.intervals.intervals import read_intervals
from genoviz.model import Intervals, PathRegion
from genoviz_app.opening.files import check_path
from genoviz_app.opening.track_data import TrackData, TrackKind
from genoviz_app.pages.tracks.counting.region_counts import (
    RegionCounts,
    count_regions,
    count_view,
    first_regions,
    write_counts,
)
from genoviz_app.pages.tracks.drawing.browser import TrackBrowser
from genoviz_app.pages.tracks.track import Track, by_title
from genoviz_app.pages.tracks.track_list import TrackList
from genoviz_app.parts.file_button import file_button
from genoviz_app.parts.picker_fields import UploadButton
from genoviz_app.parts.questions import Question
from genoviz_app.parts.remote_table import MAX_ROWS, Column, RemoteTable, TableRows
from genoviz_app.parts.styles import WORDS_BELOW
from genoviz_app.parts.words import write_place
from genoviz_app.session.session import Session

VIEW, SERVER_FILE, UPLOAD = "The view", "A file on the server", "An uploaded file"
MAX_REGIONS = 1_000_000
Titled = list[tuple[str, TrackData]]
COLUMNS = (
    Column("Region", share=6),
    Column("Name", share=4),
    Column("Length", is_number=True, share=3),
    Column("Track", share=10),
    Column("Intervals", is_number=True, share=4),
    Column("Covered bp", is_number=True, share=4),
    Column("Share", is_number=True, format="0.0000", share=2),
    Column("Mean", is_number=True, format="0,0.0000", share=3),
)
MAX_LETTERS, ROOM_LETTERS = {"Region": 44, "Name": 16, "Track": 48}, 80
UNCOUNTED = "Count: intervals that overlap, bases they cover, and the mean."


class CountFields:
    """The fields next to the Count button.

    Attributes
    ----------
    regions, path, upload, against
        The fields: source of regions, file, and tracks to count (all, if none is selected).
    widgets
        All of them, in order.
    """

    def __init__(self, session: Session, tracks: TrackList) -> None:
        self._session, self._tracks = session, tracks
        self._named: dict[str, Track] = {}
        self.regions = pmui.Select(
            label="Regions", options=[VIEW, SERVER_FILE, UPLOAD], value=VIEW, size="small",
            width=190, margin=(8, 8, 0, 8),
            description="The view, all features of a track, or those of a BED or GFF file.",
        )  # fmt: skip
        self.path = pmui.TextInput(
            label="BED or GFF file", placeholder="/data/regions.bed", size="small", width=190,
            visible=False, margin=(8, 8, 0, 0),
        )  # fmt: skip
        self.upload = UploadButton(
            label="Choose", size="small", visible=False, margin=(10, 8, 0, 0)
        )
        self.against = pmui.Select(
            label="Tracks", options=["All tracks"], value="All tracks", size="small", width=170,
            margin=(8, 0, 0, 0),
        )  # fmt: skip
        self.widgets = (self.regions, self.path, self.upload, self.against)
        self.regions.param.watch(self._show_fields, "value")

    def follow(self) -> None:
        """Offer the current tracks."""
        self._named = by_title(track for track in self._tracks if track.data is not None)
        of_tracks = [title for title, track in self._named.items() if _has_regions(track)]
        with pn.io.hold():
            _offer(self.regions, [VIEW, *of_tracks, SERVER_FILE, UPLOAD])
            _offer(self.against, ["All tracks", *self._named])

    def prepare(self, view: PathRegion | None) -> Callable[[], RegionCounts]:
        """Return a function that counts according to the fields, to be called in a job.

        Raises
        ------
        ParameterError
            If there are no tracks or no regions.
        """
        where, chosen = self.regions.value, self.against.value
        counted: Titled = [
            (title, track.data)
            for title, track in self._named.items()
            if chosen in ("All tracks", title) and title != where
        ]
        if not counted:
            raise ParameterError("no track to count; open one first")
        if where == VIEW:
            if view is None:
                raise ParameterError("nothing is shown; open a track first")
            return lambda: count_view(view, counted, self._tracks.graph)
        if where in self._named:
            regions = self._named[where].data.intervals
            return lambda: count_regions(first_regions(regions, MAX_REGIONS), counted)
        if where == SERVER_FILE:
            path = check_path(self.path.value_input or self.path.value, self._session.folders)
            return lambda: count_regions(_regions_of(path), counted)
        if not self.upload.value:
            raise ParameterError("no file is uploaded; choose one first")
        upload = self._session.upload_path(Path(self.upload.filename).name)
        content = self.upload.value
        return lambda: count_regions(_regions_of(upload, content), counted)

    def _show_fields(self, event: Any) -> None:
        self.path.visible = event.new == SERVER_FILE
        self.upload.visible = event.new == UPLOAD


def _has_regions(track: Track) -> bool:
    return track.data.kind is TrackKind.FEATURES


def _offer(field: pmui.Select, options: list[str]) -> None:
    if options != field.options:
        value = field.value if field.value in options else options[0]
        field.param.update(options=options, value=value)


def _regions_of(path: Path, content: bytes | None = None) -> Intervals:
    if content is not None:
        path.write_bytes(content)
    regions = read_intervals(path)
    if not len(regions):
        raise ParameterError(f"{path.name} has no regions")
    return first_regions(regions, MAX_REGIONS)


class CountsTable:
    """A panel of the dock.

    Parameters
    ----------
    go_to
        Called with the region of a clicked row.

    Attributes
    ----------
    title, panel
        Title and Panel object of the tab.
    fields
        Regions and tracks to count.
    found
        The latest counts, or None.
    """

    title = "Counts"

    def __init__(
        self,
        session: Session,
        tracks: TrackList,
        browser: TrackBrowser,
        go_to: Callable[[PathRegion], None],
    ) -> None:
        self._session, self._browser, self._go_to = session, browser, go_to
        self.found: RegionCounts | None = None
        self.fields = CountFields(session, tracks)
        self.button = pmui.Button(label="Count", size="small", variant="outlined", margin=(10, 8))
        self.button.on_click(lambda _: self.count())
        self.download = file_button(session, "TSV", self._prepare, margin=(10, 8))
        self.table = RemoteTable(COLUMNS, placeholder="Region, name or track", on_row=self._on_row)
        self.table.clear(UNCOUNTED)
        self.table.search.param.update(margin=(8, 10, 2, 8), width=225)
        self.table.count.styles = {
            "max-height": "50px", "overflow-y": "auto", "overflow-wrap": "anywhere",
        }  # fmt: skip
        bar = pmui.Row(
            *self.fields.widgets, self.button, self.download, self.table.search, self.table.count,
            sizing_mode="stretch_width", margin=(0, 0, 4, 0), sx=WORDS_BELOW,
        )  # fmt: skip
        self.panel = pmui.Column(bar, self.table.place, sizing_mode="stretch_both", margin=0)
        self._question = Question(session, "counts in regions", self._on_counts)

    def set_graph(self, _graph: Any) -> None:
        """Do nothing, because `follow` sets the tracks."""

    def follow(self) -> None:
        """Offer the current tracks."""
        self.fields.follow()

    def count(self) -> None:
        """Start to count, or report why that is impossible."""
        self._session.forget_problem()
        try:
            counting = self.fields.prepare(self._browser.region)
        except GenovizError as error:
            self._session.complain(f"Nothing was counted: {error}.")
            return
        self.table.count.object = "<p>Counting ...</p>"
        self._question.ask(_count, counting)

    def _on_counts(self, answer: tuple[RegionCounts, TableRows]) -> None:
        self.found, rows = answer
        self.table.show(rows)

    def _on_row(self, row: int) -> None:
        """Show the region of a row."""
        if self.found is None:
            return
        regions = self.found.regions
        place = row // max(len(self.found.tracks), 1)
        contig = regions.contigs[int(regions.contig_ids[place])]
        start, end = int(regions.starts[place]), int(regions.ends[place])
        self._go_to(PathRegion(contig, start, max(end, start + 1)))

    def _prepare(self) -> tuple[str, Any]:
        if self.found is None:
            raise GenovizError("no counts yet; press Count first")
        found = self.found

        def write(path: Path) -> None:
            write_counts(path, found)

        return "counts.tsv", write


def _count(counting: Callable[[], RegionCounts]) -> tuple[RegionCounts, TableRows]:
    found = counting()
    return found, table_rows(found)


def table_rows(found: RegionCounts) -> TableRows:
    """Return counts as rows, one per region and track."""
    regions, n_tracks = found.regions, len(found.tracks)
    n = min(len(regions), MAX_ROWS // max(n_tracks, 1))
    places = [
        write_place(PathRegion(regions.contigs[contig], start, end))
        for contig, start, end in zip(
            regions.contig_ids[:n].tolist(),
            regions.starts[:n].tolist(),
            regions.ends[:n].tolist(),
            strict=True,
        )
    ]
    names = [regions.names[row] if regions.names is not None else "" for row in range(n)]
    frame = pd.DataFrame(
        {
            "Region": np.repeat(np.array(places, object), n_tracks),
            "Name": np.repeat(np.array(names, object), n_tracks),
            "Length": np.repeat(regions.lengths[:n], n_tracks),
            "Track": [track.title for track in found.tracks] * n,
            "Intervals": _rowwise(found, "counts", n),
            "Covered bp": _rowwise(found, "covered_bases", n),
            "Share": _rowwise(found, "fractions", n),
            "Mean": _rowwise(found, "means", n),
        }
    )
    words = (frame["Region"] + " " + frame["Name"] + " " + frame["Track"]).str.lower()
    is_cut = n < len(regions)
    notes = [f"the file has all {len(regions) * n_tracks:,}."] if is_cut else []
    note = " ".join((*notes, *map(escape, found.notes)))
    hidden = () if any(names) else ("Name",)
    unique, word_of_row = np.unique(words.to_numpy(str), return_inverse=True)
    return TableRows(
        frame, unique, word_of_row, note=note, hidden=hidden, min_widths=_min_widths(frame)
    )


def _min_widths(frame: pd.DataFrame) -> tuple[tuple[str, int], ...]:
    """Return widths at which columns show their texts, limited for small screens."""
    widths, room = [("Intervals", 96), ("Covered bp", 104)], ROOM_LETTERS
    for title, limit in MAX_LETTERS.items():
        longest = int(frame[title].str.len().max()) if len(frame) else 0
        n = min(longest, limit, room)
        room -= n
        widths.append((title, max(74, 7 * n + 17)))
    longest = int(frame["Length"].max()) if len(frame) else 0
    widths.append(("Length", max(74, 7 * len(f"{longest:,}") + 17)))
    return tuple(widths)


def _rowwise(found: RegionCounts, column: str, n: int) -> np.ndarray:
    """Return a column of all tracks, ordered by region."""
    if not found.tracks:
        return np.empty(0)
    return np.stack([getattr(track, column)[:n] for track in found.tracks], axis=1).reshape(-1)
