"""The sidebar: opens track files, and edits style and position of the selected track."""

from __future__ import annotations

from typing import Any

import panel as pn
import panel_material_ui as pmui

from genoviz.errors import ParameterError
from genoviz_app.opening.track_data import TrackKind
from genoviz_app.pages.tracks.drawing.browser import TrackBrowser
from genoviz_app.pages.tracks.track import MAX_HEIGHT, MIN_HEIGHT, Scale, Track, by_title
from genoviz_app.pages.tracks.track_list import TrackList
from genoviz_app.parts.file_picker import FilePicker
from genoviz_app.parts.lighting import light_button
from genoviz_app.parts.opening_bar import OpeningBar
from genoviz_app.session.lit_sets import Highlight
from genoviz_app.session.session import Session

FORMATS = "BED, narrowPeak, bedGraph, GFF3, GTF, BAM, CRAM, bigWig or bigBed"
SCALES = {
    "Maximum in view": Scale.VIEW,
    "Whole contig": Scale.CONTIG,
    "Same for the group": Scale.GROUP,
    "A percentile in view": Scale.PERCENTILE,
    "Fixed values": Scale.FIXED,
}
WIDE: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": (12, 0, 0, 0)}
LOW: dict[str, Any] = {"margin": (12, 8, 0, 0)}
TICK: dict[str, Any] = {"size": "small", "margin": (2, 0)}


class TrackPicker(FilePicker):
    """Two ways to open a track file, and the progress of opening."""

    def __init__(self, session: Session) -> None:
        super().__init__(
            OpeningBar(session.tracks, session.tracks.cancel),
            session.tracks,
            "Track file on the server",
            "/data/reads.bam",
            FORMATS,
            multiple=True,
        )


class TrackSettings:
    """Fields for the selected track.

    Attributes
    ----------
    track
        The menu of tracks.
    panel
        The Panel object.
    """

    def __init__(self, session: Session, tracks: TrackList, browser: TrackBrowser) -> None:
        self._tracks, self._browser = tracks, browser
        self._is_filling = False
        self.track = pmui.Select(
            label="Track", options={}, size="small",
            description="Or click a track to choose it.", **WIDE,
        )  # fmt: skip
        self.colour = pmui.ColorPicker(
            label="Colour", size="small", width=140, margin=(12, 8, 0, 0)
        )
        self.height = pmui.IntSlider(
            label="Height (px)", start=MIN_HEIGHT, end=MAX_HEIGHT, step=2, value=MIN_HEIGHT,
            size="small", **WIDE,
        )  # fmt: skip
        self.scale = pmui.Select(
            label="Scale of the y axis", options=SCALES, size="small",
            description="Maximum in view or on the whole contig; of all tracks of a group; a "
            "percentile of bases; or a fixed range. Values beyond it are marked.", **WIDE,
        )  # fmt: skip
        self.floor = pmui.FloatInput(label="From", value=0.0, size="small", width=130, **LOW)
        self.limit = pmui.FloatInput(label="To", value=10.0, size="small", width=130, **LOW)
        self.percentile = pmui.FloatInput(
            label="Percent of the bases", value=99.0, start=1.0, end=100.0, step=0.5, size="small",
            **WIDE,
        )  # fmt: skip
        self.is_log = pmui.Checkbox(label="Logarithmic, log(1 + value)", **TICK)
        self.is_cpm = pmui.Checkbox(label="Per million reads or features of the file", **TICK)
        self.is_mirrored = pmui.Checkbox(label="Forward up, reverse down", **TICK)
        self.as_depth = pmui.Checkbox(label="Features as their depth", **TICK)
        self.is_overlay = pmui.Checkbox(label="In the lane of the track above", **TICK)
        self.is_hidden = pmui.Checkbox(label="Hidden", **TICK)
        self._fields = {
            "colour": self.colour,
            "height": self.height,
            "scale": self.scale,
            "floor": self.floor,
            "limit": self.limit,
            "percentile": self.percentile,
            "is_log": self.is_log,
            "is_cpm": self.is_cpm,
            "is_mirrored": self.is_mirrored,
            "as_depth": self.as_depth,
            "is_overlay": self.is_overlay,
            "is_hidden": self.is_hidden,
        }
        self.ends = pmui.Row(self.floor, self.limit, margin=0)
        self.fields = pmui.Column(
            self.colour, self.height, self.scale, self.ends, self.percentile, self.is_log,
            self.is_cpm, self.is_mirrored, self.as_depth, self.is_overlay, self.is_hidden,
            sizing_mode="stretch_width", margin=0,
        )  # fmt: skip
        self.light = light_button(
            session, self._lit, "all features of this track", icon=None, margin=(6, 2, 0, 8)
        )
        self.panel = self._arrange()
        self.track.param.watch(self._on_track, "value")
        for name, field in self._fields.items():
            field.param.watch(lambda event, name=name: self._on_field(name, event.new), "value")
        browser.on_choose = self.choose

    def _arrange(self) -> pmui.Column:
        buttons = []
        for icon, words, act in (
            ("arrow_upward", "Move up", lambda: self._move(-1)),
            ("arrow_downward", "Move down", lambda: self._move(1)),
            ("delete", "Remove the track", self._remove),
        ):
            button = pmui.IconButton(icon=icon, description=words, size="20px", margin=(6, 2, 0, 0))
            button.on_click(lambda _, act=act: act())
            buttons.append(button)
        return pmui.Column(
            self.track, pmui.Row(*buttons, self.light, margin=0), self.fields,
            sizing_mode="stretch_width", margin=0,
        )  # fmt: skip

    @property
    def chosen(self) -> Track | None:
        """The track that the fields refer to."""
        return self._browser.chosen

    def _lit(self) -> Highlight:
        """Return all features or reads of the selected track as a highlight."""
        track = self.chosen
        if track is None or track.data is None or track.data.kind is TrackKind.SIGNAL:
            raise ParameterError("a signal has values everywhere; choose a track of features")
        noun = "feature" if track.data.kind is TrackKind.FEATURES else "block"
        return Highlight(track.title, noun, track.data.intervals)

    def follow(self) -> None:
        """Offer the current tracks."""
        tracks = list(self._tracks)
        names = by_title(tracks)
        chosen = self.chosen if self.chosen in tracks else (tracks[0] if tracks else None)
        self._is_filling = True
        self.track.param.update(options=names, value=chosen)
        self._is_filling = False
        self.choose(chosen)

    def choose(self, track: Track | None) -> None:
        """Show the fields of a track."""
        self._browser.choose(track)
        self._is_filling = True
        with pn.io.hold():
            self.panel.visible = track is not None
            if track is not None:
                self.track.value = track
                for name, field in self._fields.items():
                    field.value = getattr(track.look, name)
                self._show_fields(track)
        self._is_filling = False

    def _show_fields(self, track: Track) -> None:
        data = track.data
        is_features = data is not None and data.kind is TrackKind.FEATURES
        has_values = not is_features or track.look.as_depth
        has_depth = data is not None and data.kind is not TrackKind.SIGNAL
        look = track.look
        place = list(self._tracks).index(track) if track in self._tracks else 0
        self.is_overlay.visible = place > 0 and has_values
        has_scale = has_values and not look.is_overlay
        self.scale.visible = self.is_log.visible = has_scale
        self.ends.visible = has_scale and look.scale is Scale.FIXED
        self.percentile.visible = has_scale and look.scale is Scale.PERCENTILE
        self.height.visible = not look.is_overlay
        self.is_cpm.visible = has_values and has_depth
        self.is_mirrored.visible = has_values and has_depth and data.strands is not None
        self.as_depth.visible = is_features

    def _on_track(self, event: Any) -> None:
        if not self._is_filling and event.new is not None:
            self.choose(event.new)

    def _on_field(self, name: str, value: Any) -> None:
        track = self.chosen
        if self._is_filling or track is None or value is None:
            return
        if name == "scale" and value is Scale.FIXED and track.look.scale is not Scale.FIXED:
            self._freeze(track)
        setattr(track.look, name, value)
        self._show_fields(track)
        self._browser.refresh()

    def _freeze(self, track: Track) -> None:
        """Start a fixed scale with the limits of the current one."""
        drawing = self._browser.drawing
        row = next((r for r in drawing.rows if r.track is track), None) if drawing else None
        if row is not None and row.parts:
            self._is_filling = True
            track.look.floor, track.look.limit = self.floor.value, self.limit.value = row.scale
            self._is_filling = False

    def _move(self, step: int) -> None:
        if self.chosen is not None:
            self._tracks.move(self.chosen, step)

    def _remove(self) -> None:
        if self.chosen is not None:
            self._tracks.remove(self.chosen)
