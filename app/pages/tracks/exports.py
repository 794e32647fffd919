"""Files of the view: a picture, and the values of each track."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import panel_material_ui as pmui

from app.pages.tracks.browser import TrackBrowser
from app.pages.tracks.margin import shorten
from app.pages.tracks.places import write_place
from app.pages.tracks.track import Track
from app.parts.file_button import file_button, file_stem
from app.plots.track_svg import PictureRow, TrackPicture, tracks_svg
from app.session import Session
from app.track_data import TrackKind
from genoviz.errors import GenovizError
from genoviz.io.interval_writer import iter_bedgraph, write_bed
from genoviz.model import Intervals, PathRegion


class Exports:
    """Buttons that make files of what is seen.

    Attributes
    ----------
    panel
        The Panel object.
    """

    def __init__(self, session: Session, browser: TrackBrowser) -> None:
        self._browser = browser
        small: dict[str, Any] = {"margin": (4, 6, 0, 0)}
        self.panel = pmui.Column(
            pmui.Typography("Save the view", variant="subtitle2", margin=(14, 0, 0, 0)),
            pmui.Row(
                file_button(session, "SVG", self._picture, **small),
                file_button(session, "bedGraph, BED", self._track, **small),
                margin=0,
            ),
            pmui.Typography(
                "The picture of all tracks; the chosen track's exact values (bedGraph) or "
                "features (BED) in the view.",
                variant="caption",
                margin=(4, 0),
            ),
            sizing_mode="stretch_width",
            margin=0,
        )

    def _picture(self) -> tuple[str, Any]:
        picture = picture_of(self._browser)

        def write(path: Path) -> None:
            path.write_text(tracks_svg(picture), encoding="utf-8")

        return f"{_stem(self._browser.region)}.svg", write

    def _track(self) -> tuple[str, Any]:
        track, region = self._browser.chosen, self._browser.region
        if track is None or region is None or track.find_contig(region.path) is None:
            raise GenovizError("the chosen track has nothing here; choose a track that has")
        is_features = track.data.kind is TrackKind.FEATURES and not track.look.as_depth
        ending = "bed" if is_features else "bedgraph"

        def write(path: Path) -> None:
            write_track(path, track, region)

        return f"{file_stem(Path(track.title).stem)}_{_stem(region)}.{ending}", write


def picture_of(browser: TrackBrowser) -> TrackPicture:
    """Return what a browser shows.

    Raises
    ------
    GenovizError
        If it shows nothing.
    """
    drawing, region, view = browser.drawing, browser.region, browser.view
    if drawing is None or region is None:
        raise GenovizError("nothing is shown; open a track first")
    said = f"; mean and range of {drawing.bin_bp:,} bp bins" if drawing.bin_bp > 1 else ""
    rows = [
        PictureRow(shorten(row.track.title), row.note, row.track.look.colour, row.top, row.bottom)
        for row in drawing.rows
    ]
    return TrackPicture(
        f"{write_place(region)} ({region.length:,} bp{said})",
        view.start,
        view.end,
        view.width,
        drawing.height,
        rows,
        drawing.areas,
        drawing.boxes,
        drawing.stems,
        drawing.names,
    )


def write_track(path: Path, track: Track, region: PathRegion) -> None:
    """Write a track's exact depth or signal in a region as bedGraph, or its features as BED.

    Positions are those of the contig that is shown.
    """
    contig, shift = track.find_contig(region.path)
    start, end = region.start + shift, region.end + shift
    data = track.data
    if data.kind is TrackKind.FEATURES and not track.look.as_depth:
        found = data.features.intervals.select(data.features.rows_within(contig, start, end))
        write_bed(path, _renamed(found, region.path, shift))
        return
    path.write_bytes(b"".join(iter_bedgraph(exact_values(track, region))))


def exact_values(track: Track, region: PathRegion) -> Intervals:
    """Return the steps of a track in a region, those of value 0 left out."""
    contig, shift = track.find_contig(region.path)
    start, end = region.start + shift, region.end + shift
    data = track.data
    if data.kind is TrackKind.SIGNAL:
        found = data.signal.steps_of(contig, start, end)
        found = replace(
            found, starts=np.maximum(found.starts, start), ends=np.minimum(found.ends, end)
        )
        return _renamed(found, region.path, shift)
    steps = data.coverage.steps(contig, start, end)
    is_deep = steps.depths > 0
    starts, ends = steps.edges[:-1][is_deep] - shift, steps.edges[1:][is_deep] - shift
    return Intervals(
        (region.path,),
        np.zeros(len(starts), np.int32),
        starts,
        ends,
        scores=steps.depths[is_deep].astype(np.float64),
    )


def _renamed(found: Intervals, contig: str, shift: int) -> Intervals:
    """Return intervals of one contig under its shown name and positions."""
    return replace(
        found,
        contigs=(contig,),
        contig_ids=np.zeros(len(found), np.int32),
        starts=np.maximum(found.starts - shift, 0),
        ends=np.maximum(found.ends - shift, 0),
        contig_lengths=None,
    )


def _stem(region: PathRegion | None) -> str:
    return file_stem(f"{region.path}_{region.start + 1}-{region.end}") if region else "tracks"
