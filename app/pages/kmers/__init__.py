"""The K-mers page: counts and locates k-mers in a genome or on the paths of a graph."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui

from genoviz_app.opening.index_files import GRAPH_SOURCE
from genoviz_app.pages.kmers.choosing_k import ChooseKPanel
from genoviz_app.pages.kmers.genome_panel import GenomePanel
from genoviz_app.pages.kmers.hits_panel import HitsPanel
from genoviz_app.pages.kmers.index import BuildPanel, IndexPicker, SaveIndex
from genoviz_app.pages.kmers.paths_panel import PathsPanel
from genoviz_app.pages.kmers.query_box import EXAMPLE_LENGTH, LONGEST_LINK, QueryBox
from genoviz_app.pages.kmers.search_panel import SearchPanel
from genoviz_app.pages.kmers.spectrum_panel import SpectrumPanel
from genoviz_app.pages.kmers.state import KmerState, RepeatsOf
from genoviz_app.parts.page import EmptyState, Page, PageHelp, side_column
from genoviz_app.parts.styles import NOTICES, PICTURE_CARD
from genoviz_app.parts.views import Views, slug_of
from genoviz_app.parts.words import notices_html
from genoviz_app.session.address import Address
from genoviz_app.session.session import Session

NOTHING = """<p style="margin: 40px auto 12px; max-width: 36em; text-align: center; opacity: 0.85">
No genome is open. Open sequences (FASTA, 2bit) or an index (.gvfm) in the sidebar, or index the
paths of the open graph. Then k-mers of any length are counted as you type.</p>"""
N_TRIES, BUILD_SECONDS = 200, 0.7


class KmersPage(Page):
    """Count and locate any k-mer."""

    slug = "kmers"
    title = "K-mers"
    help = PageHelp(
        "Counts and positions of k-mers in a genome or on the paths of the open graph.",
        (
            "Open a genome in the sidebar, or index the open graph.",
            "Enter k-mers of any length; they are counted as you type. Example "
            "picks one at random.",
            "See the hits, their density along the genome, the spectrum, or the "
            "search step by step.",
            "Light up shows all hits on the layout and in the tracks.",
        ),
        (
            ("Click a hit", "go to its position on all pages"),
            ("Drag, wheel", "move and zoom along the genome"),
            ("Click a bar of the spectrum", "list the k-mers with this multiplicity"),
        ),
    )
    example = Address(sequences="genome", kmers="GATTACA")

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._link: Address | None = None
        self._sent_from, self._building_since = "", time.monotonic()
        self._random = np.random.default_rng()
        self.state = KmerState(session)
        self.repeats = RepeatsOf(self.state)
        self.picker = IndexPicker(session)
        self.saving = SaveIndex(self.state)
        self.query = QueryBox(self.state, self.write_example)
        self.views = Views(
            [
                HitsPanel(self.state),
                GenomePanel(self.state, self.repeats),
                SpectrumPanel(self.state, self.repeats, self.query),
                ChooseKPanel(self.state, self.repeats),
                PathsPanel(self.state),
                SearchPanel(self.state),
                BuildPanel(session.indexes),
            ]
        )
        self.notices = pn.pane.HTML("", stylesheets=[NOTICES], sizing_mode="stretch_width")
        self.take_graph = pmui.Button(
            label="Index the open graph", icon="hub", variant="outlined", margin=8, visible=False
        )
        self.take_graph.on_click(lambda _: self.picker.open_graph())
        self.nothing = EmptyState(self, NOTHING, self.take_graph)
        self.state.param.watch(self._follow_index, "index")
        session.indexes.param.watch(self._follow_index, "opening")
        self.state.param.watch(self._follow_index, "is_awaited")
        session.param.watch(self._follow_index, "opened")
        self._follow_index()

    @property
    def sidebar(self) -> list[Any]:
        """The content of the sidebar."""
        return side_column(self.picker.panel, self.saving.panel, self.notices)

    @property
    def content(self) -> Any:
        """The content of the main area."""
        grow = {"flex": "1 1 0", "min-height": "0"}
        return pmui.Column(
            pmui.Paper(
                self.query.panel,
                **{**PICTURE_CARD, "sizing_mode": "stretch_width"},
                styles={"flex": "0 0 auto"},
            ),
            pmui.Paper(self.nothing, self.views.panel, **PICTURE_CARD, styles=grow),
            sizing_mode="stretch_both",
            styles={"min-height": "0", "height": "100%"},
            margin=0,
        )

    @property
    def link(self) -> Address:
        """The present view as fields of a link."""
        state = self.state
        text = state.text if len(state.text) <= LONGEST_LINK else ""
        return Address(
            kmers=text,
            strand="" if state.strand == "both" else state.strand,
            k=state.k,
            tab=self.views.slug if self.views.shown else "",
        )

    def follow(self, link: Address) -> None:
        """Run the query of a link once its index is open."""
        state = self.state
        if link.strand in state.param.strand.objects:
            state.strand = link.strand
        elif link.strand:
            known = ", ".join(state.param.strand.objects)
            words = f"strand is {link.strand!r}, needs one of {known}"
            self._session.complain(f"The link is not followed all the way: {words}.")
        if link.k:
            state.k = link.k
        if link.kmers:
            self.query.write(link.kmers)
        if link.tab:
            self.views.show(link.tab)
            if self.views.slug != slug_of(link.tab):
                words = f"The link is not followed all the way: there is no tab {link.tab!r}."
                self._session.complain(words)
        if link.region is not None and self._session.region is None:
            self._session.region = link.region
        self._link = link
        self._look_for_graph()

    def poll(self) -> None:
        """Update the page; called some twenty times per second."""
        self._follow_link()
        self._watch_building()
        self.state.poll()
        self.views.poll()

    def write_example(self) -> None:
        """Query some bases from a random position."""
        index = self.state.index
        if index is None:
            return
        text = index.built.index.text
        for _ in range(N_TRIES):
            start = int(self._random.integers(max(text.n_symbols - EXAMPLE_LENGTH, 1)))
            symbols = text.symbols(start, start + EXAMPLE_LENGTH)
            if (symbols < 4).all() and len(symbols):
                self.query.write("".join("ACGT"[symbol] for symbol in symbols.tolist()))
                return

    def _follow_link(self) -> None:
        """Index the graph of a link once it is open."""
        link, session = self._link, self._session
        if link is None:
            return
        self._look_for_graph()
        if link.sequences != GRAPH_SOURCE:
            self._link = None
        elif session.opened is not None and not session.graphs.is_opening:
            self._link = None
            index, graph = self.state.index, session.opened.graph
            if index is None or index.built.graph is not graph:
                with session.following():
                    self.picker.open_graph()

    def _look_for_graph(self) -> None:
        """Tell whether the graph of a link is still being opened."""
        link = self._link
        is_of_graph = link is not None and link.sequences == GRAPH_SOURCE
        self.state.is_awaited = is_of_graph and self._session.graphs.is_opening

    def _watch_building(self) -> None:
        """Show the progress of the first index if it is slow to build."""
        now = time.monotonic()
        if self.state.index is not None or not self._session.indexes.is_opening:
            self._building_since = now
        elif now - self._building_since > BUILD_SECONDS and not self._sent_from:
            self._sent_from = self.views.slug
            self.views.show(BuildPanel.title)

    def _send_back(self) -> None:
        if self.views.slug == slug_of(BuildPanel.title):
            self.views.show(self._sent_from)
        self._sent_from = ""

    def _follow_index(self, *_events: Any) -> None:
        index = self.state.index
        is_coming = self._session.indexes.is_opening or self.state.is_awaited
        is_there = index is not None or is_coming
        with pn.io.hold():
            self.take_graph.visible = self._session.opened is not None
            self.nothing.show(not is_there)
            self.views.panel.visible = is_there
            if index is not None and self._sent_from:
                self._send_back()
            self.notices.object = notices_html(index.built.notes if index is not None else ())
