"""The page that searches guides in a genome or graph, and browses the hits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import panel as pn
import panel_material_ui as pmui

from genoviz.errors import ParameterError
from genoviz_app.opening.genome_files import INDEX_ENDING
from genoviz_app.opening.index_files import GRAPH_SOURCE
from genoviz_app.pages.offtargets.hits.card import HitCard
from genoviz_app.pages.offtargets.hits.figures import KindsPanel, PlacesPanel
from genoviz_app.pages.offtargets.hits.listing import HitTable
from genoviz_app.pages.offtargets.link import LinkedHits, read_search, write_hits, write_search
from genoviz_app.pages.offtargets.search.form import SearchForm
from genoviz_app.pages.offtargets.search.guide_table import GuideTable
from genoviz_app.pages.offtargets.search.query import OffTargetQuery
from genoviz_app.pages.offtargets.search.sources import GenePicker, GraphSource
from genoviz_app.pages.offtargets.state import OffTargetState
from genoviz_app.parts.file_picker import SequencePicker
from genoviz_app.parts.page import EmptyState, Page, PageHelp, side_column
from genoviz_app.parts.questions import Watched
from genoviz_app.parts.styles import NOTICES, PICTURE_CARD, PILES, STACKS, in_narrow_window
from genoviz_app.parts.words import notices_html
from genoviz_app.session.address import Address
from genoviz_app.session.session import Session

FORMATS = "FASTA (.fa, .fna, also .gz) or .2bit"
LONGEST_RUN = 2e10
"""Bases times guides up to which a link's search starts automatically."""
EXAMPLE_GUIDES = (
    "one_exact ACTTCAAATCCTATGCCACC;few ACCTCAGCAAGGATTGATTT;repeat GCCATTTTAGCTGCGCAGGT"
)
PILED: dict[str, Any] = {
    at: {
        "flexDirection": "column",
        "& > .child-wrapper > *": {
            "minHeight": "0 !important", "width": "auto !important", "height": "auto !important",
            "flex": "1 1 0 !important",
        },
        "& > .child-wrapper:first-of-type > *": {"flexGrow": "2 !important"},
        "& > .child-wrapper:last-of-type > *": {"minHeight": "150px !important"},
    }
    for at in PILES
}  # fmt: skip
"""Style of two figures, which are stacked on a narrow page and beside the wide table of guides.

The first one has a toolbar and more rows; counts in five rows of the other need its height."""
MORE_TABLE = "@media (max-width: 1180px) { :host { flex-grow: 23 !important; } }"
"""Style of the table of guides, which needs its width more than the figures beside it."""
SAID = ("guides", "pam", "limits", "genes", "hits")
NO_GENOME = (
    "Choose a genome in the sidebar: a sample, FASTA, 2bit, or the open graph. "
    "Then enter guides, or design guides for a gene. The search finds their "
    "sites with mismatches and bulges, on both strands."
)
NO_SEARCH = (
    "Enter a gene or region in the sidebar and press Design, to find and "
    "search its best guides. Or enter guides, one per line and without "
    "their PAM, or use the example, and press Search."
)
DESIGNING = "Finding guides, and their other sites on all haplotypes …"
SEARCHING, OPENING = "Searching …", "Opening the genome …"


class OffTargetsPage(Page):
    """Search guides in a genome or graph and browse their off-targets."""

    slug = "offtargets"
    title = "Off-targets"
    narrow_height = "2000px"
    docked_heights = ("440px", "1780px")
    help = PageHelp(
        "Off-targets of CRISPR guides: all sites with mismatches and bulges, on "
        "both strands, in a genome or on all paths of the open graph.",
        (
            "Open a genome in the sidebar, or search the open graph.",
            "Enter a gene or region to design its best guides; or enter guides "
            "without their PAM, one per line, or use the example; then press "
            "Search.",
            "Choose a guide, filter and sort its hits, and click one for its alignment.",
            "Light up shows the hits on the layout and in the tracks; Export saves them.",
        ),
        (
            ("Ctrl + Enter", "search (in the field of guides)"),
            ("Click a bin or a cell", "list its hits"),
            ("Double click", "show the whole figure"),
            ("Drag, wheel", "move and zoom along the genome"),
        ),
    )
    example = Address(genome="genome", guides=EXAMPLE_GUIDES, pam="-NGG", limits="4,0,0")

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._linked: tuple[OffTargetQuery | None, LinkedHits] | None = None
        self._following = Watched(
            session, self._follow_link,
            lambda: self.state.genome is not None and not self.graph.is_awaited,
        )  # fmt: skip
        self._linked_hits: LinkedHits | None = None
        self._asked: Address | None = None
        self.state = OffTargetState(session)
        self.picker = SequencePicker(session, session.genomes, FORMATS)
        self.graph = GraphSource(self.state)
        self.graph.join(self.picker.panel)
        self.form = SearchForm(self.state, self.state.run)
        self.genes = GenePicker(self.state)
        self.guides = GuideTable(self.state)
        self.places = PlacesPanel(self.state)
        self.kinds = KindsPanel(self.state)
        self.hits = HitTable(self.state)
        self.card = HitCard(self.state, lambda: self.places.view)
        self.notices = pn.pane.HTML("", stylesheets=[NOTICES], sizing_mode="stretch_width")
        # Repeats the button on the left, which is out of view on phones and in a docked page.
        self.take_graph = pmui.Button(
            label="Search the open graph", icon="hub", variant="outlined", margin=8, visible=False
        )
        self.take_graph.on_click(lambda _: self.graph.open())
        self.nothing = EmptyState(self, "", self.take_graph)
        self.panel = arrange(
            self.guides.panel, self.places.panel, self.kinds.panel, self.hits.panel, self.card.panel
        )
        self.state.param.watch(self._follow, ["genome", "result"])
        session.param.watch(self._follow, "opened")
        session.indexes.param.watch(self._use_open_sequences, "opened")
        self._follow()
        self._use_open_sequences()

    @property
    def sidebar(self) -> list[Any]:
        """The content of the sidebar."""
        return side_column(self.picker.panel, self.form.panel, self.genes.panel, self.notices)

    @property
    def content(self) -> Any:
        """The content of the main area."""
        return pmui.Column(
            self.nothing,
            self.panel,
            sizing_mode="stretch_both",
            styles={"min-height": "0", "height": "100%"},
            margin=0,
        )

    @property
    def link(self) -> Address:
        """The present view as fields of a link."""
        result, asked = self.state.result, self._asked
        genome = self._session.genomes.source
        if result is None:
            asked = Address() if asked is None else asked
            return replace(asked, genome=genome, genes=self._genes)
        hits = write_hits(self.state.filter, self.state.order, result)
        search = write_search(result.query)
        return Address(genome=genome, genes=self._genes, hits=hits, **search)

    @property
    def _genes(self) -> str:
        """The source of the genes, for a link."""
        files = self.state.gene_files
        return self._asked.genes if files.is_opening and self._asked else files.source

    def follow(self, link: Address) -> None:
        """Run the search of a link once its genome is open."""
        if link.region is not None and self._session.region is None:
            self._session.region = link.region
        if link.genome == GRAPH_SOURCE:
            self.graph.follow_link()
        elif link.genome and link.genome != self._session.genomes.source:
            self._session.genomes.open(link.genome)
        self.genes.follow_link(link.genes)
        try:
            query = read_search(link)
        except ParameterError as error:
            self._session.complain(f"The link is not followed all the way: {error}.")
            return
        if query is not None:
            self.form.write(query)
            self._linked = query, LinkedHits(link.hits)
            self._following.start()
            self._asked = Address(**{name: getattr(link, name) for name in SAID})

    def try_example(self) -> None:
        """Search guides in the open genome, or in the sample."""
        if self.state.genome is None:
            super().try_example()
        else:
            self.form.write_example(then_search=True)

    def poll(self) -> None:
        """Update the page; called some twenty times per second."""
        if self.nothing.visible:
            self._show_nothing(True)

    def _show_nothing(self, is_empty: bool) -> None:
        """Show what the page has to say while it has no hits."""
        state, words, offers = self.state, NO_SEARCH, False
        if self.form.designer.best.is_open:
            words = DESIGNING
        elif state.step is not None:
            words = SEARCHING
        elif state.genome is None and self.graph.is_awaited:
            words = OPENING
        else:
            offers = True
            words = NO_GENOME if state.genome is None else NO_SEARCH
        self.nothing.show(is_empty, nothing_html(words), offers=offers)

    def _follow_link(self) -> None:
        """Start the search of a link, unless it would take long."""
        (query, hits), self._linked = self._linked, None
        genome, result = self.state.genome, self.state.result
        if result is not None and result.query == query:
            self._list(hits)
        elif genome.planes.n_bases * len(query.guides) <= LONGEST_RUN:
            self._linked_hits = hits
            self.state.reference = hits.reference_of(genome)
            with self._session.following():
                self.state.run(query)

    def _list(self, hits: LinkedHits) -> None:
        try:
            order, chosen = hits.order, hits.resolve(self.state.result)
            self.state.param.update(filter=chosen, order=order)
        except ParameterError as error:
            self._session.complain(f"The link is not followed all the way: {error}.")

    def _use_open_sequences(self, *_events: Any) -> None:
        """Use the sequences that are open on other pages, unless a genome is open here."""
        indexes, genomes = self._session.indexes, self._session.genomes
        if genomes.opened is not None or genomes.is_opening:
            return
        wanted = indexes.wanted
        if indexes.opened is not None:
            genomes.follow(indexes.opened)
        elif indexes.is_opening and wanted and not wanted.lower().endswith(INDEX_ENDING):
            genomes.open(wanted)

    def _follow(self, *_events: Any) -> None:
        genome, result = self.state.genome, self.state.result
        hits = self._linked_hits
        # Later hits may have what the link names, such as a PAM.
        if result is not None and hits is not None and not result.is_growing:
            self._linked_hits = None
            self._list(hits)
        with pn.io.hold():
            self.take_graph.visible = genome is None and self._session.opened is not None
            self._show_nothing(result is None)
            self.panel.visible = result is not None
            self.notices.object = notices_html(() if genome is None else genome.genome.notes)


def arrange(guides: Any, places: Any, kinds: Any, hits: Any, card: Any) -> pmui.Column:
    """Arrange guides and figures on top, hits and the card below; hidden at first."""
    grow = {"flex": "1 1 0", "min-height": "0"}
    paper = PICTURE_CARD
    top = pmui.Row(
        pmui.Paper(
            guides,
            **paper,
            styles={"flex": "15 1 0", "min-width": "0"},
            stylesheets=[MORE_TABLE, *in_narrow_window("320px", or_page=True)],
        ),
        pmui.Paper(
            pmui.Row(places, kinds, sizing_mode="stretch_both", margin=0, sx={**STACKS, **PILED}),
            **paper,
            styles={"flex": "11 1 0", "min-width": "0"},
            stylesheets=in_narrow_window("440px", or_page=True),
        ),
        sizing_mode="stretch_both",
        styles={"flex": "0 0 38%", "min-height": "250px"},
        stylesheets=[
            "@media (max-width: 1180px) { :host { min-height: 400px !important; } }",
            *in_narrow_window("auto", or_page=True),
        ],
        margin=0,
        sx=STACKS,
    )
    bottom = pmui.Row(
        pmui.Paper(
            hits,
            **paper,
            styles={"flex": "1 1 0", "min-width": "0"},
            stylesheets=in_narrow_window("560px", or_page=True),
        ),
        pmui.Paper(
            card,
            **{**paper, "sizing_mode": "stretch_height"},
            styles={"flex": "0 0 auto"},
            stylesheets=in_narrow_window("420px", or_page=True),
        ),
        sizing_mode="stretch_both",
        styles=grow,
        margin=0,
        sx=STACKS,
    )
    return pmui.Column(
        top,
        bottom,
        sizing_mode="stretch_both",
        styles={"min-height": "0", "height": "100%"},
        margin=0,
        visible=False,
    )


def nothing_html(words: str) -> str:
    """Return the text of a page without hits."""
    return (
        '<p style="margin: 60px auto 12px; max-width: 36em; text-align: center; '
        f'opacity: 0.85">{words}</p>'
    )
