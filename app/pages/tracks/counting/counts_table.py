"""The table of what tracks have in the view, or in the regions of a track or a file."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import panel_material_ui as pmui

from genoviz.errors import GenovizError
from genoviz.model import PathRegion
from genoviz_app.pages.tracks.counting.count_fields import CountFields
from genoviz_app.pages.tracks.counting.counting import RegionCounts, write_counts
from genoviz_app.pages.tracks.drawing.browser import TrackBrowser
from genoviz_app.pages.tracks.places import write_place
from genoviz_app.pages.tracks.track_list import TrackList
from genoviz_app.parts.file_button import file_button
from genoviz_app.parts.questions import Question
from genoviz_app.parts.remote_table import MAX_ROWS, Column, RemoteTable, TableRows
from genoviz_app.session.session import Session

COLUMNS = (
    Column("Region", share=6),
    Column("Name", share=4),
    Column("Length", is_number=True, share=3),
    Column("Track", share=11),
    Column("Intervals", is_number=True, share=3),
    Column("Covered bp", is_number=True, share=4),
    Column("Share", is_number=True, format="0.0000", share=2),
    Column("Mean", is_number=True, format="0,0.0000", share=3),
)
MOST_LETTERS, ROOM_LETTERS = {"Region": 44, "Name": 16, "Track": 48}, 80
UNCOUNTED = (
    "Count: intervals that overlap (reads with a base there), covered bases, and mean depth or "
    "value of each track."
)


class CountsTable:
    """A panel for the dock.

    Parameters
    ----------
    go_to
        Called with the region of a row that is clicked.

    Attributes
    ----------
    title, panel
        Name and Panel object of the tab.
    fields
        What is counted in what.
    found
        What was counted last, or None.
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
        self.table = RemoteTable(
            COLUMNS, placeholder="Region, name or track", on_row=self._take_row
        )
        self.table.clear(UNCOUNTED)
        self.table.search.param.update(margin=(8, 10, 2, 8), width=225)
        self.table.count.styles = {
            "max-height": "50px", "overflow-y": "auto", "overflow-wrap": "anywhere",
        }  # fmt: skip
        bar = pmui.Row(
            *self.fields.widgets, self.button, self.download, self.table.search, self.table.count,
            sizing_mode="stretch_width", margin=(0, 0, 4, 0),
        )  # fmt: skip
        self.panel = pmui.Column(bar, self.table.place, sizing_mode="stretch_both", margin=0)
        self._question = Question(session, "counts in regions", self._take)

    def set_graph(self, _graph: Any) -> None:
        """Nothing: tracks are followed by `follow`."""

    def follow(self) -> None:
        """Offer the tracks that there are."""
        self.fields.follow()

    def poll(self) -> None:
        """Show the counts once they are there."""
        self._question.poll()

    def count(self) -> None:
        """Begin to count; what cannot be counted is said."""
        self._session.problem = ""
        try:
            counting = self.fields.prepare(self._browser.region)
        except GenovizError as error:
            self._session.complain(f"Nothing was counted: {error}.")
            return
        self.table.count.object = "<p>Counting ...</p>"
        self._question.ask(_count, counting)

    def _take(self, answer: tuple[RegionCounts, TableRows]) -> None:
        self.found, rows = answer
        self.table.show(rows)

    def _take_row(self, row: int) -> None:
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
            raise GenovizError("nothing is counted yet; press Count first")
        found = self.found

        def write(path: Path) -> None:
            write_counts(path, found)

        return "counts.tsv", write


def _count(counting: Callable[[], RegionCounts]) -> tuple[RegionCounts, TableRows]:
    found = counting()
    return found, table_rows(found)


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
    is_cut = n < len(regions)
    notes = [f"the file has all {len(regions) * n_tracks:,}."] if is_cut else []
    note = " ".join((*notes, *map(escape, found.notes)))
    hidden = () if any(names) else ("Name",)
    unique, word_of_row = np.unique(words.to_numpy(str), return_inverse=True)
    return TableRows(
        frame, unique, word_of_row, note=note, hidden=hidden, least_widths=_least_widths(frame)
    )


def _least_widths(frame: pd.DataFrame) -> tuple[tuple[str, int], ...]:
    """Return how wide columns have to be to show their texts, as far as a small screen has room."""
    widths, room = [("Intervals", 96), ("Covered bp", 104)], ROOM_LETTERS
    for title, most in MOST_LETTERS.items():
        longest = int(frame[title].str.len().max()) if len(frame) else 0
        n = min(longest, most, room)
        room -= n
        widths.append((title, max(74, 7 * n + 17)))
    return tuple(widths)


def _rowwise(found: RegionCounts, column: str, n: int) -> np.ndarray:
    """Return a column of all tracks, region by region."""
    if not found.tracks:
        return np.empty(0)
    return np.stack([getattr(track, column)[:n] for track in found.tracks], axis=1).reshape(-1)
