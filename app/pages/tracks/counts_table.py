"""The table of what each track has in the view, or in the regions of a track."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import panel_material_ui as pmui

from app.pages.tracks.browser import TrackBrowser
from app.pages.tracks.counting import (
    RegionCounts,
    count_regions,
    count_view,
    first_regions,
    write_counts,
)
from app.pages.tracks.places import write_place
from app.pages.tracks.track_list import TrackList
from app.parts.file_button import file_button
from app.parts.questions import Question
from app.parts.remote_table import MAX_ROWS, Column, RemoteTable, TableRows
from app.session import Session
from app.track_data import TrackKind
from genoviz.errors import GenovizError
from genoviz.model import PathRegion

VIEW = "The view"
MAX_REGIONS = 1_000_000
COLUMNS = (
    Column("Region", share=4),
    Column("Name", share=2),
    Column("Length", is_number=True),
    Column("Track", share=4),
    Column("Intervals", is_number=True, share=2),
    Column("Covered bp", is_number=True, share=2),
    Column("Share", is_number=True, format="0.0000"),
    Column("Mean", is_number=True, format="0,0.0000", share=2),
)
UNCOUNTED = "Count: intervals that overlap, covered bases, and mean depth or value of each track."


class CountsTable:
    """A panel for the dock.

    Attributes
    ----------
    title, panel
        Name and Panel object of the tab.
    found
        What was counted last, or None.
    """

    title = "Counts"

    def __init__(self, session: Session, tracks: TrackList, browser: TrackBrowser) -> None:
        self._session, self._tracks, self._browser = session, tracks, browser
        self.found: RegionCounts | None = None
        self.regions = pmui.Select(
            label="Regions", options=[VIEW], value=VIEW, size="small", width=230,
            description="The view, or all features of a track.", margin=(8, 10, 0, 8),
        )  # fmt: skip
        self.button = pmui.Button(label="Count", size="small", variant="outlined", margin=(10, 8))
        self.button.on_click(lambda _: self.count())
        self.download = file_button(session, "TSV", self._prepare, margin=(10, 8))
        self.table = RemoteTable(
            COLUMNS, placeholder="Find a region, name or track", on_row=self._take_row
        )
        self.table.clear(UNCOUNTED)
        bar = pmui.Row(
            self.regions, self.button, self.download, self.table.search, self.table.count,
            sizing_mode="stretch_width", margin=(0, 0, 4, 0),
        )  # fmt: skip
        self.table.search.margin = (8, 10, 2, 8)
        self.panel = pmui.Column(bar, self.table.place, sizing_mode="stretch_both", margin=0)
        self._question = Question(session, "counts in regions", self._take)

    def set_graph(self, _graph: Any) -> None:
        """Nothing: tracks are followed by `follow`."""

    def follow(self) -> None:
        """Offer the tracks that have regions."""
        options = [VIEW, *(t.title for t in self._tracks if self._has_regions(t))]
        if options != self.regions.options:
            value = self.regions.value if self.regions.value in options else VIEW
            self.regions.param.update(options=options, value=value)

    def poll(self) -> None:
        """Show the counts once they are there."""
        self._question.poll()

    def count(self) -> None:
        """Begin to count."""
        tracks = [(t.title, t.data) for t in self._tracks if t.data is not None]
        region = self._browser.region
        chosen = next((t for t in self._tracks if t.title == self.regions.value), None)
        if self.regions.value != VIEW and chosen is not None and chosen.data is not None:
            others = [(title, data) for title, data in tracks if data is not chosen.data]
            regions = first_regions(chosen.data.intervals, MAX_REGIONS)
            self._question.ask(count_regions, regions, others)
        elif region is not None:
            self._question.ask(count_view, region, tracks)

    @staticmethod
    def _has_regions(track: Any) -> bool:
        return track.data is not None and track.data.kind is TrackKind.FEATURES

    def _take(self, found: RegionCounts) -> None:
        self.found = found
        self.table.show(table_rows(found))

    def _take_row(self, row: int) -> None:
        """Show the region of a row."""
        if self.found is None:
            return
        regions = self.found.regions
        place = row // max(len(self.found.tracks), 1)
        contig = regions.contigs[int(regions.contig_ids[place])]
        start, end = int(regions.starts[place]), int(regions.ends[place])
        if contig == self._browser.contig:
            self._browser.look_at(PathRegion(contig, start, end), self._browser.length)

    def _prepare(self) -> tuple[str, Any]:
        if self.found is None:
            raise GenovizError("nothing is counted yet; press Count first")
        found = self.found

        def write(path: Path) -> None:
            write_counts(path, found)

        return "counts.tsv", write


def table_rows(found: RegionCounts) -> TableRows:
    """Return counts as rows, a row for each region and track."""
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
    note = f"the file has all {len(regions) * n_tracks:,}" if n < len(regions) else ""
    hidden = () if any(names) else ("Name",)
    unique, word_of_row = np.unique(words.to_numpy(str), return_inverse=True)
    return TableRows(frame, unique, word_of_row, note=note, hidden=hidden)


def _rowwise(found: RegionCounts, column: str, n: int) -> np.ndarray:
    """Return a column of all tracks, region by region."""
    if not found.tracks:
        return np.empty(0)
    return np.stack([getattr(track, column)[:n] for track in found.tracks], axis=1).reshape(-1)
