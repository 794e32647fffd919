"""The Tracks page: tracks along a contig or a path."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import panel as pn
import panel_material_ui as pmui

from genoviz_app.pages.tracks.address import TracksLink
from genoviz_app.pages.tracks.counting.counts_table import CountsTable
from genoviz_app.pages.tracks.counting.path_depths import DepthPicker, PathDepths
from genoviz_app.pages.tracks.drawing.browser import TrackBrowser
from genoviz_app.pages.tracks.drawing.navigation import Navigation
from genoviz_app.pages.tracks.exports import Exports
from genoviz_app.pages.tracks.places import region_around
from genoviz_app.pages.tracks.track_list import TrackList
from genoviz_app.pages.tracks.track_settings import TrackPicker, TrackSettings
from genoviz_app.parts.dock import Dock
from genoviz_app.parts.page import EmptyState, Page, PageHelp, side_column
from genoviz_app.parts.questions import Question
from genoviz_app.parts.styles import NOTICES, PICTURE_CARD
from genoviz_app.parts.words import notices_html
from genoviz_app.plots.lit_stretches import lit_along
from genoviz_app.session.address import Address, Region
from genoviz_app.session.session import Session

MAX_CONTIGS = 1000
SENTENCE = '<p style="margin: 60px auto 12px; max-width: 36em; text-align: center; opacity: 0.8">'
NOTHING = f"""{SENTENCE}
Nothing is open. Open reads (BAM, CRAM), a signal (bigWig, bedGraph), features (BED, GFF3, GTF)
in the sidebar, or a graph on the Pangenome page to see its paths here.</p>"""
ONLY_EMPTY = f"{SENTENCE}What is open has no intervals, so there is nothing to draw.</p>"


class TracksPage(Page):
    """Browse reads, signals and features along a contig or a path."""

    slug = "tracks"
    title = "Tracks"
    help = PageHelp(
        "Reads, signals and features along a contig, or the depth of a graph's "
        "paths. Zoomed out: mean and range of each bin; zoomed in: single "
        "values.",
        (
            "Open files in the sidebar, or choose a path of the open graph.",
            "Enter a region or the name of a feature above the tracks, or zoom and drag.",
            "Click a track to set its scale, height and colour; count reads by region below.",
        ),
        (
            ("Drag", "move along the contig"),
            ("Wheel, pinch", "zoom at the pointer"),
            ("Double click", "zoom in; with Shift out"),
            ("Shift + drag", "zoom to a stretch"),
            ("Click", "choose a track; describe a feature"),
            ("Strip above", "click or drag to go there"),
            ("Names", "drag to reorder, or onto a track to overlay"),
            ("Lower edge of a name", "drag to change the height"),
            ("← →", "move; with Shift further"),
            ("↑ ↓", "choose the track above or below"),
            ("+  −", "zoom"),
            ("0, Home", "the whole contig"),
            ("Esc", "close menus and cards"),
        ),
    )
    example = Address(tracks=("exons", "reads"), region=Region("chr1", 5_000, 24_000))

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._is_changed = True
        self._seen_notes: tuple = ()
        self._seen_lit: tuple = ((), "")
        self.picker = TrackPicker(session)
        self.tracks = TrackList(session, self._on_change)
        self.depths = PathDepths(session, self.tracks, self._on_change)
        self.depth_picker = DepthPicker(session, self.tracks, self.depths)
        self.browser = TrackBrowser(self.tracks)
        self.navigation = Navigation(session, self.tracks, self.browser)
        self._lit = Question(session, "highlights along a contig", self.browser.show_lit)
        self._link = TracksLink(session, self.tracks, self.depths, self.browser, self.navigation)
        self.settings = TrackSettings(session, self.tracks, self.browser)
        self.counts = CountsTable(session, self.tracks, self.browser, self.navigation.go_to)
        self.exports = Exports(session, self.tracks, self.browser)
        self.dock = Dock([CountsTable], lambda _: self.counts)
        self.dock.show_first()
        self.dock.panel.styles = {"flex": "0 0 auto"}
        self.dock.panel.visible = self.exports.panel.visible = False
        self.notices = pn.pane.HTML("", stylesheets=[NOTICES], sizing_mode="stretch_width")
        self.nothing = EmptyState(self, NOTHING)
        session.param.watch(lambda _: self._follow_region(), "region")
        session.highlights.param.watch(self._go_to_lit, "wanted")
        self._region_waits = session.region is not None

    @property
    def sidebar(self) -> list[Any]:
        """The content of the sidebar."""
        return side_column(
            self.picker.panel,
            self.settings.panel,
            self.depth_picker.panel,
            self.exports.panel,
            self.notices,
        )

    @property
    def content(self) -> Any:
        """The content of the main area."""
        return pmui.Column(
            pmui.Paper(
                self.navigation.panel,
                self.nothing,
                self.browser.panel,
                **PICTURE_CARD,
                styles={"flex": "1 1 0", "min-height": "0"},
            ),
            self.dock.panel,
            sizing_mode="stretch_both",
            styles={"min-height": "0", "height": "100%"},
            margin=0,
        )

    @property
    def link(self) -> Address:
        """The present view as fields of a link."""
        return replace(self._link.address, lower=self.dock.height)

    def follow(self, link: Address) -> None:
        """Show the view of a link once its files are open."""
        self._link.follow(link)
        self.dock.follow(link.lower)

    def revisit(self, link: Address) -> None:
        """Go to the position of a link, and keep the tracks."""
        if link.region is not None:
            self.navigation.go_to(link.region)

    def poll(self) -> None:
        """Update the page; called some twenty times per second."""
        if self._is_changed:
            self._is_changed = False
            self._show_tracks()
        if self._link.poll():
            self._show_tracks()
        if self._region_waits:
            self._follow_region()
        self._show_lit()
        self.tracks.show_path(self.browser.contig)
        self.depths.show_path(self.browser.contig)
        self.navigation.poll()
        self.browser.flush()

    def complete(self) -> None:
        """Show instructions while nothing is open."""
        super().complete()
        self._is_changed = True

    def _show_lit(self) -> None:
        """Look up the highlights on the contig when either has changed."""
        seen = (self._session.highlights.shown, self.browser.contig)
        if seen != self._seen_lit:
            self._seen_lit = seen
            self._lit.ask(lit_along, *seen)

    def stay_low(self, is_low: bool) -> None:
        """Collapse or expand the panels below the picture."""
        self.dock.fold(is_low)

    def close(self) -> None:
        """Stop drawing, because the tab was closed."""
        self.browser.close()

    def _on_change(self) -> None:
        self._is_changed = True

    def _show_tracks(self) -> None:
        with pn.io.hold():
            contigs = self.tracks.contigs()
            self.navigation.set_contigs(contigs)
            self.settings.follow()
            self.depth_picker.follow()
            self.counts.follow()
            self.exports.follow()
            has_empty = any(track.data is not None for track in self.tracks)
            words = ONLY_EMPTY if has_empty else NOTHING
            self.nothing.show(self.is_complete and not contigs, words)
            for part in (self.browser.panel, self.dock.panel, self.exports.panel):
                part.visible = bool(contigs)
            self.browser.refresh()
        self._show_notes()

    def _follow_region(self) -> None:
        """Go to the region of the other pages, if this page has its contig or path."""
        region = self._session.region
        self._region_waits = region is not None and self.navigation.known(region.path) is None
        is_other = region != self.browser.region
        if region is not None and is_other and not self._region_waits:
            self.navigation.follow(region)

    def _go_to_lit(self, event: Any) -> None:
        """Show all of a set on the current contig, or else its first position."""
        lit, navigation = event.new, self.navigation
        if lit is None:
            return
        others = () if lit.highlight.intervals is None else lit.highlight.intervals.contigs
        for name in (self.browser.contig, *others[:MAX_CONTIGS]):
            contig = navigation.known(name)
            stretches = lit.stretches(contig) if contig else ()
            if len(stretches):
                # The layout next to it shows all positions of the set, including this one.
                go = navigation.follow if self._session.is_split else navigation.go_to
                go(region_around(contig, stretches))
                return

    def _show_notes(self) -> None:
        notes = tuple(
            f"{track.title}: {note}"
            for track in self.tracks
            if track.data is not None
            for note in self._notes_of(track)
        )
        if notes != self._seen_notes:
            self._seen_notes = notes
            self.notices.object = notices_html(notes)

    def _notes_of(self, track: Any) -> list[str]:
        notes = list(track.data.notes)
        contig = self.browser.contig
        own = track.find_contig(contig) if contig else None
        if own is not None and own[0] != contig:
            beyond = f" from {own[1] + 1:,} on" if own[1] else ""
            notes.append(f"what it has on {own[0]}{beyond} is shown on {contig}.")
        return notes
