"""Going from place to place: contig, region, back and forward, zoom."""

from __future__ import annotations

import time
from typing import Any

import panel as pn
import panel_material_ui as pmui

from app.pages.tracks.browser import TrackBrowser
from app.pages.tracks.history import History
from app.pages.tracks.places import parse_place, with_margin, write_place
from app.pages.tracks.track_list import TrackList
from app.session import Session
from genoviz.errors import ParameterError
from genoviz.model import PathRegion

REST_SECONDS, LOOK_SECONDS = 0.7, 0.2
MAX_OPTIONS = 2000
ICON: dict[str, Any] = {"size": "22px", "margin": (4, 0, 0, 0)}
READOUT = """
:host { font-size: 12px; font-variant-numeric: tabular-nums; white-space: nowrap; opacity: 0.8; }
p { margin: 11px 0 0; }
"""


class Navigation:
    """The bar above the tracks.

    Attributes
    ----------
    contig, place
        The fields of the contig and of the region.
    contigs
        Length of each contig by its name.
    panel
        The Panel object.
    """

    def __init__(self, session: Session, tracks: TrackList, browser: TrackBrowser) -> None:
        self._session, self._tracks, self._browser = session, tracks, browser
        self._history = History()
        self._seen: PathRegion | None = None
        self._is_own = False
        self._seen_since, self._is_noted = 0.0, True
        self._next_look = 0.0
        self.contigs: dict[str, int] = {}
        self.contig = pmui.Select(
            label="Contig or path", options=[], searchable=True, size="small", width=190,
            margin=(8, 8, 0, 0),
        )  # fmt: skip
        self.place = pmui.TextInput(
            label="Region or feature",
            placeholder="chr7:27,100,000-27,300,000",
            description="A region (the first base is 1, both ends belong to it), a contig, or the "
            "name of a gene or another feature. Enter goes there.",
            size="small",
            width=290,
            margin=(8, 4, 0, 0),
        )
        self.readout = pn.pane.HTML("", stylesheets=[READOUT], sizing_mode="stretch_width")
        self.back = self._icon("arrow_back", "Back to the region before", self.go_back)
        self.forward = self._icon("arrow_forward", "Forward again", self.go_forward)
        self.panel = pmui.Row(
            self.back,
            self.forward,
            self.contig,
            self.place,
            self._icon("zoom_in", "Zoom in twofold", lambda: browser.zoom(0.5)),
            self._icon("zoom_out", "Zoom out twofold", lambda: browser.zoom(2.0)),
            self._icon("fit_screen", "Show where the tracks have something", self.show_data),
            self._icon("width_full", "Show the whole contig", self.show_whole),
            self.readout,
            sizing_mode="stretch_width",
            margin=(2, 10, 0, 6),
        )
        self.contig.param.watch(self._take_contig, "value")
        self.place.param.watch(lambda _: self.go(self.place.value_input), "enter_pressed")

    def _icon(self, icon: str, description: str, act: Any) -> pmui.IconButton:
        button = pmui.IconButton(icon=icon, description=description, **ICON)
        button.on_click(lambda _: act())
        return button

    def set_contigs(self, contigs: dict[str, int]) -> None:
        """Offer other contigs; the one that is shown stays, if it is there."""
        self.contigs = contigs
        browser = self._browser
        is_kept = browser.contig in contigs and (self._is_own or self._history.can_go_back)
        chosen = browser.contig if is_kept else self._busiest()
        names = list(contigs)[:MAX_OPTIONS]
        if chosen and chosen not in names:
            names.append(chosen)
        with pn.io.hold():
            if names != self.contig.options:
                self.contig.param.update(options=names, value=chosen or None)
            elif chosen != self.contig.value:
                self.contig.value = chosen or None
        if not chosen:
            browser.clear()
        elif chosen != browser.contig or not self._is_own:
            self._show(self._data_region(chosen))
        elif contigs[chosen] != browser.length:
            browser.look_at(browser.region, contigs[chosen])

    def go(self, text: str) -> None:
        """Show the place that a text names; what cannot be found is said."""
        if not text.strip():
            return
        try:
            region = parse_place(
                text, contigs=self.contigs, shown=self._browser.contig, find=self._find_feature
            )
        except ParameterError as error:
            self._session.problem = f"The region was not found: {error}."
            return
        self._session.problem = ""
        self.look_at(region)
        opened = self._session.opened
        if opened is not None and region.path in opened.graph.path_names:
            self._session.region = region

    def look_at(self, region: PathRegion) -> None:
        """Show a region of a contig that is there, and stay there when tracks come."""
        self._is_own = True
        self._show(region)

    def _show(self, region: PathRegion) -> None:
        length = self.contigs[region.path]
        self._browser.look_at(region, length)
        if region.path not in self.contig.options:
            self.contig.options = [*self.contig.options, region.path]
        self.contig.value = region.path

    def show_whole(self) -> None:
        """Show the contig from its first base to its last."""
        if self._browser.contig:
            self.look_at(PathRegion(self._browser.contig, 0, self._browser.length))

    def show_data(self, contig: str = "") -> None:
        """Show the stretch of a contig in which the tracks have something."""
        contig = contig or self._browser.contig
        if contig:
            self.look_at(self._data_region(contig))

    def _data_region(self, contig: str) -> PathRegion:
        length, extents = self.contigs[contig], []
        graph = self._tracks.graph
        if graph is not None and contig in graph.path_names:
            return PathRegion(contig, 0, length)
        for track in self._tracks:
            own = track.find_contig(contig)
            start, end = track.data.extent(own[0]) if own is not None else (0, 0)
            if end > start:
                extents.append((max(start - own[1], 0), min(end - own[1], length)))
        start = min((e[0] for e in extents), default=0)
        end = max((e[1] for e in extents), default=length)
        return PathRegion(contig, start, max(end, start + 1))

    def go_back(self) -> None:
        """Show the region before."""
        self._revisit(self._history.back())

    def go_forward(self) -> None:
        """Show the region that was left by going back."""
        self._revisit(self._history.forward())

    def poll(self) -> None:
        """Say where the view is, and note where it rests."""
        region, now = self._browser.region, time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + LOOK_SECONDS
        if region != self._seen:
            self._seen, self._seen_since, self._is_noted = region, now, False
            self.place.value = self.place.value_input = write_place(region) if region else ""
        if not self._is_noted and region is not None and now - self._seen_since > REST_SECONDS:
            self._is_noted = True
            self._history.visit(region)
        self.back.disabled = not self._history.can_go_back
        self.forward.disabled = not self._history.can_go_forward
        self._say(region)

    def _say(self, region: PathRegion | None) -> None:
        drawing = self._browser.drawing
        if region is None or drawing is None:
            self.readout.object = ""
            return
        bins = f"mean and range of {drawing.bin_bp:,} bp bins"
        said = bins if drawing.bin_bp > 1 else "exact"
        self.readout.object = f"<p>{region.length:,} bp · {said}</p>"

    def _revisit(self, region: PathRegion | None) -> None:
        if region is not None and region.path in self.contigs:
            self._seen, self._is_noted = region, True
            self.look_at(region)
            self.place.value = self.place.value_input = write_place(region)

    def _take_contig(self, event: Any) -> None:
        if event.new and event.new != self._browser.contig and event.new in self.contigs:
            self.show_data(event.new)

    def _busiest(self) -> str:
        """Return the contig with the most intervals, or else the first."""
        counts = dict.fromkeys(self.contigs, 0)
        for track in self._tracks:
            is_whole = track.data is not None and len(track.data.contigs) > 1
            if is_whole or track.file is not None:
                for name, n in track.data.counts.items():
                    if name in counts:
                        counts[name] += n
        return max(counts, key=counts.__getitem__, default="")

    def _find_feature(self, name: str) -> PathRegion | None:
        """Return where a feature lies on a contig that is shown here, with some room around."""
        for track in self._tracks:
            table = track.data.features if track.data is not None else None
            row = table.find(name) if table is not None else None
            if row is None:
                continue
            found = table.region_of(row)
            shown = (self._browser.contig, *self.contigs)
            for contig in shown:
                own = track.find_contig(contig) if contig in self.contigs else None
                if own is not None and own[0] == found.path and found.start >= own[1]:
                    region = PathRegion(contig, found.start - own[1], found.end - own[1])
                    return with_margin(region, self.contigs[contig])
        return None
