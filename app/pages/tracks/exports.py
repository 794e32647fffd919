"""Exports of the view or of a whole contig: figures, values, features and bins.

Slow exports run as jobs, which show progress and can be cancelled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import panel_material_ui as pmui
import param

from genoviz.analyses.figures import TRACK_FIGURE_ENDINGS, track_figure_bytes
from genoviz.errors import GenovizError, ParameterError
from genoviz.model import PathRegion
from genoviz_app.opening.files import OpeningProgress
from genoviz_app.opening.track_data import TrackKind
from genoviz_app.pages.tracks.drawing.browser import TrackBrowser
from genoviz_app.pages.tracks.drawing.track_drawer import figure_of
from genoviz_app.pages.tracks.track import Track, by_title
from genoviz_app.pages.tracks.track_list import TrackList
from genoviz_app.pages.tracks.track_values import (
    MAX_ROWS,
    iter_write_bedgraph,
    iter_write_bigwig,
    iter_write_bins,
    iter_write_features,
)
from genoviz_app.parts.file_button import (
    LOOK,
    WRITERS,
    file_stem,
    iter_content,
    result_of,
)
from genoviz_app.parts.opening_bar import OpeningBar
from genoviz_app.server.jobs import Job, describe_problem
from genoviz_app.session.session import Session

MAX_BYTES = 300_000_000
Steps = Iterator[OpeningProgress]
Writer = Callable[[Path], Steps]
PICTURE, BINS = "Picture of all tracks", "Bins of all tracks"
VALUES, FEATURES = "Values of a track", "Features of a track"
FORMATS = {
    PICTURE: {ending[1:].upper(): ending for ending in TRACK_FIGURE_ENDINGS},
    VALUES: {"bedGraph": ".bedgraph", "bigWig": ".bw"},
    FEATURES: {"BED": ".bed"},
    BINS: {"TSV": ".tsv"},
}
EXPLAINED = {
    PICTURE: "The view on white, with names, scales and a caption.",
    VALUES: "Depth of reads and features, or the signal: exact, without scaling.",
    FEATURES: "Whole features that overlap the region, with exons and colours.",
    BINS: "Mean, minimum and maximum of each track in each bin.",
}
VIEW, CONTIG = "The view", "The whole contig"
WIDE: dict[str, Any] = {"size": "small", "sizing_mode": "stretch_width", "margin": (12, 0, 0, 0)}
BYTES_TO_COMPRESS = 5_000_000


class FileJob(param.Parameterized):
    """An export button, with the progress of its file.

    Parameters
    ----------
    prepare
        Called on a click. Returns the file name, and a generator function that writes the file to a
        path and yields progress.

    Attributes
    ----------
    button, progress
        Panel objects.
    """

    opening = param.ClassSelector(
        class_=OpeningProgress, allow_None=True, doc="How far the file is; None when idle."
    )

    def __init__(
        self, session: Session, label: str, prepare: Callable[[], tuple[str, Writer]], **look: Any
    ) -> None:
        super().__init__()
        self._session, self._prepare = session, prepare
        self._job: Job | None = None
        self.button = pmui.Button(label=label, icon="file_download", **LOOK, **look)
        self.button.on_click(self.make)
        bar = OpeningBar(self, self.cancel, (6, 0), cancelled="Cancelled; no file was made.")
        self.progress = bar.panel

    def cancel(self) -> None:
        """Cancel the export."""
        if self._job is not None:
            self._job.cancel()

    async def make(self, _event: Any = None) -> None:
        """Create and download the file, or report why that is impossible."""
        if self._job is not None:
            return
        try:
            name, write = self._prepare()
            content = await self._content(name, write)
        except GenovizError as error:
            self._session.problem = f"The file was not made: {describe_problem(error)}"
            return
        finally:
            self._job = self.opening = None
        if content is not None:
            self._session.hand_over(name, content)

    async def _content(self, name: str, write: Writer) -> bytes | None:
        steps = iter_content(name, write, max_bytes=MAX_BYTES)
        self.opening = OpeningProgress(f"Writing {name}")
        self._job = self._session.submit(steps, title="write a file", pool=WRITERS)
        return await result_of(self._job, self._show)

    def _show(self, progress: Any) -> None:
        if isinstance(progress, OpeningProgress):
            self.opening = progress


class Exports:
    """Menus of exports, and a button that creates the file.

    Attributes
    ----------
    what, track, ending, extent, bin_bp
        The fields.
    job
        The button and its progress.
    panel
        The Panel object.
    """

    def __init__(self, session: Session, tracks: TrackList, browser: TrackBrowser) -> None:
        self._tracks, self._browser = tracks, browser
        self.what = pmui.Select(label="Save", options=[*FORMATS], value=PICTURE, **WIDE)
        self.track = pmui.Select(label="Track", options={}, visible=False, **WIDE)
        self.ending = pmui.RadioButtonGroup(
            label="", description="Kind of file", options=FORMATS[PICTURE], value=".png",
            size="small", margin=(8, 0, 0, 0),
        )  # fmt: skip
        self.extent = pmui.RadioButtonGroup(
            label="", description="What the file covers", options=[VIEW, CONTIG], value=VIEW,
            size="small", visible=False, margin=(8, 0, 0, 0),
        )  # fmt: skip
        self.bin_bp = pmui.IntInput(
            label="Bin width (bp); 0: as drawn", value=0, start=0, visible=False, **WIDE
        )
        self.explained = pmui.Typography(EXPLAINED[PICTURE], variant="caption", margin=(6, 0, 2, 0))
        self.job = FileJob(session, "Save", self.prepare, margin=(4, 0))
        self.panel = pmui.Column(
            pmui.Typography("Save a file", variant="subtitle2", margin=(14, 0, 0, 0)),
            self.what,
            self.track,
            self.ending,
            self.extent,
            self.bin_bp,
            self.explained,
            self.job.button,
            self.job.progress,
            sizing_mode="stretch_width",
            margin=0,
        )
        self.what.param.watch(lambda _: self.follow(), "value")

    def follow(self) -> None:
        """Offer the available tracks and formats."""
        what = self.what.value
        formats = FORMATS[what]
        if self.ending.options != formats:
            self.ending.param.update(options=formats, value=next(iter(formats.values())))
        options = self._offered(what)
        chosen = self.track.value
        if chosen not in options.values():
            shown = self._browser.chosen
            first = next(iter(options.values()), None)
            chosen = shown if shown in options.values() else first
        self.track.param.update(options=options, value=chosen, visible=what in (VALUES, FEATURES))
        self.extent.visible = what != PICTURE
        self.bin_bp.visible = what == BINS
        self.explained.object = EXPLAINED[what]

    def _offered(self, what: str) -> dict[str, Track]:
        ready = (track for track in self._tracks if track.data is not None)
        if what != FEATURES:
            return by_title(ready)
        return by_title(track for track in ready if track.data.kind is TrackKind.FEATURES)

    def prepare(self) -> tuple[str, Writer]:
        """Return the name and the writer of the selected file.

        Raises
        ------
        ParameterError
            If there is nothing to write.
        """
        what, ending, region = self.what.value, self.ending.value, self._browser.region
        if region is None:
            raise ParameterError("nothing is shown; open a track first")
        if what == PICTURE:
            shown = (list(self._tracks), self._browser.view, self._browser.length)
            return f"{stem_of(region)}{ending}", _write_once(
                lambda: track_figure_bytes(figure_of(*shown), ending)
            )
        if self.extent.value == CONTIG:
            region = PathRegion(region.path, 0, self._browser.length)
        if what == BINS:
            tracks, bin_bp = list(self._tracks), self._bin_length(region)
            return f"bins_{stem_of(region)}.tsv", lambda path: iter_write_bins(
                path, tracks, region, bin_bp
            )
        return self._prepare_track(what, ending, region)

    def _prepare_track(self, what: str, ending: str, region: PathRegion) -> tuple[str, Writer]:
        track, length = self.track.value, self._browser.length
        if track is None or track.data is None:
            raise ParameterError("no track with this data is chosen; choose one")
        name = f"{file_stem(track.title.split('.')[0])}_{stem_of(region)}{ending}"
        if what == FEATURES:
            return name, lambda path: iter_write_features(path, track, region)
        if ending == ".bw":
            return name, lambda path: iter_write_bigwig(path, track, region, length)
        if region.length > BYTES_TO_COMPRESS:
            name += ".gz"
        return name, lambda path: iter_write_bedgraph(path, track, region)

    def _bin_length(self, region: PathRegion) -> int:
        drawing = self._browser.drawing
        drawn = max(drawing.bin_bp, 1) if drawing is not None else 1
        return self.bin_bp.value or max(drawn, -(-region.length // (MAX_ROWS // 20)))


def _write_once(make: Callable[[], bytes]) -> Writer:
    def write(path: Path) -> Iterator[OpeningProgress]:
        yield OpeningProgress(f"Drawing {path.name}")
        path.write_bytes(make())

    return write


def stem_of(region: PathRegion) -> str:
    """Return a region as part of a file name; 1-based."""
    return file_stem(f"{region.path}_{region.start + 1}-{region.end}")


assert set(FORMATS[PICTURE].values()) == set(TRACK_FIGURE_ENDINGS)
