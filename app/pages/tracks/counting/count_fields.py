"""What is counted in what: regions of the view, of a track, or of a file; and which tracks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import panel as pn
import panel_material_ui as pmui

from genoviz.errors import ParameterError
from genoviz.io.intervals.intervals import read_intervals
from genoviz.model import Intervals, PathRegion
from genoviz_app.opening.files import check_path
from genoviz_app.opening.track_data import TrackData, TrackKind
from genoviz_app.pages.tracks.counting.counting import (
    RegionCounts,
    count_regions,
    count_view,
    first_regions,
)
from genoviz_app.pages.tracks.track import Track
from genoviz_app.pages.tracks.track_list import TrackList
from genoviz_app.session.session import Session

VIEW, SERVER_FILE, UPLOAD = "The view", "A file on the server", "An uploaded file"
MAX_REGIONS = 1_000_000
Titled = list[tuple[str, TrackData]]


class CountFields:
    """The fields before the button Count.

    Attributes
    ----------
    regions, path, upload, against
        The fields: where, the file, and which tracks (all, if none is chosen).
    widgets
        All of them, in order.
    """

    def __init__(self, session: Session, tracks: TrackList) -> None:
        self._session, self._tracks = session, tracks
        self._named: dict[str, Track] = {}
        self.regions = pmui.Select(
            label="Regions", options=[VIEW, SERVER_FILE, UPLOAD], value=VIEW, size="small",
            width=190, description="The view, all features of a track, or those of a BED or GFF "
            "file that need not be open.", margin=(8, 8, 0, 8),
        )  # fmt: skip
        self.path = pmui.TextInput(
            label="BED or GFF file", placeholder="/data/regions.bed", size="small", width=190,
            visible=False, margin=(8, 8, 0, 0),
        )  # fmt: skip
        self.upload = pmui.FileInput(
            label="Choose", size="small", visible=False, margin=(10, 8, 0, 0)
        )
        self.against = pmui.Select(
            label="Tracks", options=["All tracks"], value="All tracks", size="small", width=170,
            margin=(8, 0, 0, 0),
        )  # fmt: skip
        self.widgets = (self.regions, self.path, self.upload, self.against)
        self.regions.param.watch(self._show_fields, "value")

    def follow(self) -> None:
        """Offer the tracks that there are."""
        self._named = {}
        for track in self._tracks:
            if track.data is not None:
                title, n = track.title, 2
                while title in self._named:
                    title, n = f"{track.title} ({n})", n + 1
                self._named[title] = track
        of_tracks = [title for title, track in self._named.items() if _has_regions(track)]
        with pn.io.hold():
            _offer(self.regions, [VIEW, *of_tracks, SERVER_FILE, UPLOAD])
            _offer(self.against, ["All tracks", *self._named])

    def prepare(self, view: PathRegion | None) -> Callable[[], RegionCounts]:
        """Return what counts as the fields say; it is to be called in a job.

        Raises
        ------
        ParameterError
            If there is nothing to count, or in nothing.
        """
        where, chosen = self.regions.value, self.against.value
        counted: Titled = [
            (title, track.data)
            for title, track in self._named.items()
            if chosen in ("All tracks", title) and title != where
        ]
        if not counted:
            raise ParameterError("there is no track to count; open one first")
        if where == VIEW:
            if view is None:
                raise ParameterError("nothing is shown; open a track first")
            return lambda: count_view(view, counted)
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
