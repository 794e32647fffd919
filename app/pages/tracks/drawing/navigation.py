"""The toolbar above the tracks: contig, region or feature, history, zoom."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from html import escape
from typing import Any, ClassVar

import panel as pn
import panel_material_ui as pmui
from panel.util import edit_readonly

from genoviz.errors import ParameterError
from genoviz.model import PathRegion
from genoviz_app.pages.tracks.drawing.browser import TrackBrowser
from genoviz_app.pages.tracks.places import (
    Visits,
    busiest_contig,
    data_region,
    describe_extent,
    find_feature,
    known_contig,
    parse_place,
    suggest,
)
from genoviz_app.pages.tracks.track_list import TrackList
from genoviz_app.parts.lighting import light_button
from genoviz_app.parts.questions import allow
from genoviz_app.parts.styles import WRAPS
from genoviz_app.parts.words import plain_text, shorten, write_place
from genoviz_app.session.finding import Openings, find_everywhere
from genoviz_app.session.lit_sets import Highlight
from genoviz_app.session.session import Session

LONGEST_SAID = 60
N_SUGGESTIONS = 12
MIN_LETTERS = 2
LOOK_SECONDS = 0.2
MAX_OPTIONS = 2000
ICON: dict[str, Any] = {"size": "22px", "margin": (4, 0, 0, 0)}
READOUT = """
:host { font-size: 12px; font-variant-numeric: tabular-nums; opacity: 0.8; line-height: 1.3; }
p { margin: 5px 0 0; display: flex; flex-flow: row wrap; gap: 0 12px; align-content: center;
  height: 34px; }
span { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; max-width: 100%; }
"""


class PlaceField(pmui.AutocompleteInput):
    """A free text field that requests suggestions from the server."""

    # Sent immediately, so that the position of the view does not overwrite typed text.
    _priority_changes: ClassVar[list[str]] = ["value", "value_input"]
    # Feature names are looked up on the server; a list of all of them would be too large.
    _suggest: Callable[[str], list[str]] | None = None

    def __init__(self, suggest: Callable[[str], list[str]], **params: Any) -> None:
        super().__init__(
            restrict=False,
            lazy_search=True,
            case_sensitive=False,
            min_characters=MIN_LETTERS,
            options=[],
            value="",
            **params,
        )
        self._suggest = suggest
        self._is_own = False
        self._written = ""

    @property
    def is_typed(self) -> bool:
        """Whether the text was typed by the user, entered or not."""
        return self.value_input not in ("", self._written)

    def write(self, text: str) -> None:
        """Show a text that was not typed by the user."""
        self._is_own = True
        self._written = text
        self.value = text
        self._show(text)
        self._is_own = False

    def _show(self, text: str) -> None:
        """Set the text; the field itself would lose it when a browser first shows it."""
        with edit_readonly(self):
            self.value_input = text

    def on_type(self, act: Callable[[], None]) -> None:
        """Register a callback for typed text."""

        def take(_: Any) -> None:
            if not self._is_own and self.is_typed:
                act()

        self.param.watch(take, "value_input")

    def on_go(self, go: Callable[[str], None]) -> None:
        """Register a callback for text that is entered or selected."""

        def take(event: Any) -> None:
            if not self._is_own and event.new:
                self._show(event.new)
                go(event.new)

        self.param.watch(take, "value")

    def _filter_options(self, query: str, *_how: Any) -> list[str]:
        return self._suggest(query) if self._suggest is not None else []


class Navigation:
    """The toolbar above the tracks.

    Attributes
    ----------
    contig, place
        The fields for contig and region.
    contigs
        Length of each contig by name.
    n_asked
        Number of places requested by the user here.
    choices
        Buttons for the possible meanings of a text, below the fields.
    panel
        The Panel object.
    """

    def __init__(self, session: Session, tracks: TrackList, browser: TrackBrowser) -> None:
        self._session, self._tracks, self._browser = session, tracks, browser
        self._visits = Visits()
        self._is_own = self._is_offering = False
        self._arrived: PathRegion | None = None
        self._followed: PathRegion | None = None
        self._typed_at: PathRegion | None = None
        self._asked = ""
        self._next_look = 0.0
        self.n_asked = 0
        self.contigs: dict[str, int] = {}
        self.contig = pmui.Select(
            label="Contig or path", options=[], searchable=True, size="small", width=190,
            margin=(8, 8, 0, 0),
        )  # fmt: skip
        self.place = PlaceField(
            lambda text: suggest(tracks, text, self.contigs, limit=N_SUGGESTIONS),
            label="Region or feature",
            placeholder="chr7:27,100,000-27,300,000",
            description="A region (1-based, including both ends), a contig, or the name of a "
            "gene or another feature. Press Enter to go there.",
            size="small",
            width=340,
            margin=(8, 4, 0, 0),
            styles={"max-width": "min(calc(100vw - 48px), calc(100% - 16px))"},
        )
        self.readout = pn.pane.HTML("", stylesheets=[READOUT], sizing_mode="stretch_width")
        self.back = self._icon("arrow_back", "Back: to the previous region", self.go_back)
        self.forward = self._icon("arrow_forward", "Forward: to the next region", self.go_forward)
        self.choices = pn.FlexBox(visible=False, margin=(0, 4, 6, 4), styles={"flex": "1 0 100%"})
        self.panel = pmui.Row(
            self.back,
            self.forward,
            self.contig,
            self.place,
            self._icon("zoom_in", "Zoom in twofold", lambda: browser.zoom(0.5)),
            self._icon("zoom_out", "Zoom out twofold", lambda: browser.zoom(2.0)),
            self._icon("fit_screen", "Show the part of the contig with data", self.show_data),
            self._icon("width_full", "Show the whole contig", self.show_whole),
            light_button(
                session,
                self._lit,
                "the clicked feature, otherwise this region",
                icon=None,
                margin=(9, 8, 0, 8),
                styles={"flex": "none"},
            ),
            self.readout,
            sizing_mode="stretch_width",
            margin=(2, 10, 0, 6),
            sx=WRAPS,
        )
        self.contig.param.watch(self._on_contig, "value")
        self.place.on_go(self.go)
        self.place.on_type(self._on_typing)

    def _icon(self, icon: str, description: str, act: Any) -> pmui.IconButton:
        button = pmui.IconButton(icon=icon, description=description, **ICON)
        button.on_click(lambda _: act())
        return button

    def set_contigs(self, contigs: dict[str, int]) -> None:
        """Replace the list of contigs; the current one stays if it is among them."""
        self.contigs, self._is_offering = contigs, True
        browser = self._browser
        self._is_own |= browser.canvas.is_moved
        is_kept = browser.contig in contigs and (self._is_own or self._visits.history.can_go_back)
        is_kept = is_kept and browser.region.start < contigs[browser.contig]  # another graph's path
        chosen = browser.contig if is_kept else busiest_contig(self._tracks, contigs)
        names = list(contigs)[:MAX_OPTIONS]
        if chosen and chosen not in names:
            names.append(chosen)
        with pn.io.hold():
            if names != self.contig.options:
                self.contig.param.update(options=names, value=chosen or None)
        self._is_offering = False
        if not chosen:
            browser.clear()
        elif not is_kept or not self._is_own:
            self._show(data_region(self._tracks, chosen, contigs[chosen]))
            self._arrived = browser.region
        elif contigs[chosen] != browser.length:
            browser.look_at(browser.region, contigs[chosen])

    def go(self, text: str) -> None:
        """Show the place that a text names, or report that it was not found.

        If files are being opened, the search waits for them.
        """
        if not text.strip():
            return
        self.n_asked += 1
        self._offer("", ())
        self._asked, self._typed_at = text, self._browser.region
        self._session.forget_problem()
        self._look_for_asked()

    def _look_for_asked(self) -> None:
        try:
            region = parse_place(
                self._asked,
                contigs=self.contigs,
                shown=self._browser.contig,
                find=self._find,
            )
        except ParameterError as error:
            if not (self._session.graphs.is_opening or self._session.tracks.is_opening):
                text, self._asked = self._asked, ""
                self._choose_or_complain(text, error)
            return
        self._go_to_asked(region)

    def _go_to_asked(self, region: PathRegion) -> None:
        self._offer("", ())
        self.look_at(region)
        self.place.write(write_place(self._browser.region))
        self._publish(region)

    def _choose_or_complain(self, text: str, error: ParameterError) -> None:
        """Show what the text may mean on the graph; a single match is shown directly."""
        with suppress(ParameterError):
            found = find_everywhere(Openings.of(self._session), text)
            places = dict.fromkeys(f.region for f in found if f.region is not None)
            known = [region for region in places if region.path in self.contigs]
            if len(known) == 1:
                self._go_to_asked(known[0])
                return
            if known:
                self._offer(text, known)
                return
        self._session.complain(f"The region was not found: {error}.")

    def _offer(self, text: str, regions: Sequence[PathRegion]) -> None:
        """Offer possible places as buttons; an empty list removes them."""
        if not regions and not self.choices.visible:
            return
        words = f"{shorten(text, LONGEST_SAID)} may be:"
        title = pmui.Typography(plain_text(words), variant="caption", margin=(6, 8, 0, 0))
        buttons = [self._choice(region) for region in regions]
        self.choices.param.update(objects=[title, *buttons], visible=bool(regions))
        if self.choices not in self.panel.objects:  # added on first use, which is rare
            self.panel.append(self.choices)

    def _choice(self, region: PathRegion) -> pmui.Button:
        button = pmui.Button(
            label=write_place(region), size="small", variant="outlined", margin=(2, 6, 2, 0)
        )
        button.on_click(lambda _: self._go_to_asked(region))
        return button

    def _on_typing(self) -> None:
        self._typed_at = self._browser.region

    def _is_moved(self, region: PathRegion | None) -> bool:
        """Return whether the user has moved the view since typing; new tracks do not count."""
        return region not in (self._arrived, self._typed_at)

    def _publish(self, region: PathRegion) -> None:
        """Make the other pages go to a region of a path."""
        opened = self._session.opened
        if opened is not None and region.path in opened.graph.path_names:
            self._session.region = region

    def look_at(self, region: PathRegion) -> None:
        """Show a region of a known contig, and keep it when tracks are added."""
        self._is_own, self._arrived, self._asked = True, None, ""
        self._show(region)
        # A requested place is always added to the history, even if it is left at once.
        self._visits.history.visit(self._browser.region)

    def known(self, contig: str) -> str | None:
        """Return the displayable contig with any of these names, or None."""
        return known_contig(contig, self.contigs)

    def go_to(self, region: PathRegion) -> None:
        """Show a region from another page or a link, as far as a contig covers it."""
        contig = self.known(region.path)
        end = min(region.end, self.contigs.get(contig, 0))
        if contig is not None and region.start < end:
            self.look_at(PathRegion(contig, region.start, end))

    def follow(self, region: PathRegion) -> None:
        """Show the available part of another page's region, without notifying that page."""
        self.go_to(region)
        self._followed = self._browser.region

    def _show(self, region: PathRegion) -> None:
        length = self.contigs[region.path]
        self._browser.look_at(region, length)
        if region.path not in self.contig.options:
            self.contig.options = [*self.contig.options, region.path]
        self.contig.value = region.path

    def show_whole(self) -> None:
        """Show the whole contig."""
        if self._browser.contig:
            self.look_at(PathRegion(self._browser.contig, 0, self._browser.length))

    def show_data(self, contig: str = "") -> None:
        """Show the interval of a contig in which the tracks have data."""
        contig = contig or self._browser.contig
        if contig:
            self.look_at(data_region(self._tracks, contig, self.contigs[contig]))

    def go_back(self) -> None:
        """Show the previous region of the history."""
        self._visits.settle()
        self._revisit(self._visits.history.back())

    def go_forward(self) -> None:
        """Show the next region of the history."""
        self._revisit(self._visits.history.forward())

    def poll(self) -> None:
        """Display the position of the view, and add it to the history when it rests."""
        region, now = self._browser.region, time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + LOOK_SECONDS
        if self._asked:
            self._look_for_asked()
            region = self._browser.region
        if self._visits.is_other(region, now):
            is_moved = self._is_moved(region)
            if is_moved:
                self._asked = ""
            if is_moved or not (self._asked or self.place.is_typed):
                self.place.write(write_place(region) if region else "")
        has_rest = self._visits.comes_to_rest(now)
        if has_rest and self._is_own and region != self._followed:
            self._publish(region)
        history = self._visits.history
        allow(self.back, "" if history.can_go_back else "this is the first region")
        allow(self.forward, "" if history.can_go_forward else "this is the newest region")
        drawing = self._browser.drawing
        said = (
            f"<p><span>Opening files, then</span><span>{escape(self._asked)}</span></p>"
            if self._asked
            else describe_extent(region, drawing.bin_bp if drawing else 0)
        )
        if said != self.readout.object:
            self.readout.object = said

    def _lit(self) -> Highlight:
        """Return the clicked feature, or else the region, as a highlight."""
        browser = self._browser
        if browser.region is None:
            raise ParameterError("no contig is shown; open tracks or a graph")
        if browser.feature is not None and browser.feature[1].path == browser.contig:
            return Highlight.of_region(browser.feature[1], browser.feature[0], "feature")
        return Highlight.of_region(browser.region, write_place(browser.region))

    def _find(self, name: str) -> PathRegion | None:
        return find_feature(self._tracks, name, self.contigs, self._browser.contig)

    def _revisit(self, region: PathRegion | None) -> None:
        if region is not None and region.path in self.contigs:
            self._visits.revisit(region)
            self.look_at(region)
            self.place.write(write_place(region))

    def _on_contig(self, event: Any) -> None:
        is_other = event.new != self._browser.contig and event.new in self.contigs
        if event.new and is_other and not self._is_offering:
            self.n_asked += 1
            self.show_data(event.new)
