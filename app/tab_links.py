"""The links of a tab: what a link opens, the address of what is open, and the ways to a place."""

from __future__ import annotations

from dataclasses import replace

from genoviz.samples import list_samples
from genoviz_app.opening.index_files import GRAPH_SOURCE
from genoviz_app.page_deck import PageDeck
from genoviz_app.pages import PAGES
from genoviz_app.parts.wayfinding import Visited
from genoviz_app.server.settings import SETTINGS
from genoviz_app.session.address import Address
from genoviz_app.session.finding import Found
from genoviz_app.session.lit_sets import LitSet
from genoviz_app.session.session import Session

NO_GRAPH_OF_LINK = (
    "The link is about the open graph, and no graph is open. Open one on the Pangenome page."
)
LAYOUT, TRACKS = "pangenome", "tracks"


class TabLinks:
    """Opens what links name, and describes what is open as a link.

    Parameters
    ----------
    link
        The link with which the tab was opened.
    session, deck
        State and pages of the tab.

    Attributes
    ----------
    visited
        Which addresses get an entry in the browser's history.
    """

    def __init__(self, link: Address, session: Session, deck: PageDeck) -> None:
        self.visited = Visited()
        self._link, self._lit_of_link = link, link.lit
        self._session, self._deck = session, deck

    def open_all(self) -> None:
        """Open the files of the tab's link, or else the first file or sample."""
        link, session, deck = self._link, self._session, self._deck
        session.follows_link = True
        source, session.will_open = first_source(link), False
        if source:
            companions = tuple(filter(None, (link.layout, *link.annotations)))
            # Tracks goes there itself, as it may be on a contig that the graph names otherwise.
            region = None if deck.page.slug == TRACKS else link.region
            session.open(source, region=region, needs_region=deck.is_first, companions=companions)
        for track in link.tracks or map(str, SETTINGS.tracks):
            session.tracks.open(track)
        sequences = link.sequences or next(map(str, SETTINGS.sequences), "")
        if sequences and sequences != GRAPH_SOURCE:
            session.indexes.open(sequences)
        self._open_genotypes(link)
        deck.follow(link)
        if not source and GRAPH_SOURCE in (link.sequences, link.genome):
            session.complain(NO_GRAPH_OF_LINK)
        for complaint in link.complaints:
            session.complain(complaint)

    def _open_genotypes(self, link: Address) -> None:
        """Open the genotypes of a link, or else the first that the server offers."""
        genotypes, phenotypes = link.genotypes, link.phenotypes
        if not genotypes and SETTINGS.genotypes:
            served = SETTINGS.genotypes[0]
            genotypes, phenotypes = str(served.path), str(served.phenotypes or "")
        if genotypes:
            self._session.genotypes.open(genotypes, phenotypes=phenotypes)

    def find_address(self) -> Address | None:
        """Return the address of what is shown; None if there is nothing to link to yet."""
        session = self._session
        opened, layout, tracks = session.opened, session.layout, session.tracks
        indexes, others = session.indexes, (session.genomes, session.genotypes)
        if session.opens_files:
            return None
        has_others = any(files.opened is not None for files in (indexes, *others))
        if opened is None and not (tracks.files or has_others or session.genome):
            return None
        if self._lit_of_link:
            session.highlights.follow_link(self._lit_of_link)
            self._lit_of_link = ()
        own = self._deck.link()
        return replace(
            own,
            lit=session.highlights.link,
            file=opened.source if opened is not None else "",
            layout=session.runs.source or (layout.source if layout is not None else ""),
            annotations=session.annotation_files.sources,
            tracks=tracks.sources,
            sequences=indexes.source or own.sequences,
            genotypes=session.genotypes.source,
            phenotypes=session.genotypes.phenotypes_source,
            region=own.region or session.region,
        )

    def show_view(self, query: str) -> None:
        """Show a view of a story from its link, including highlights."""
        self.revisit(query)
        self._session.highlights.clear()
        self._lit_of_link = parse_link(query).lit

    def revisit(self, query: str) -> None:
        """Follow the browser's back or forward navigation; open files stay open."""
        link = parse_link(query)
        self.visited.revisit(query)
        session = self._session
        session.forget_problem()
        session.follows_link = True
        if link.file and (session.opened is None or session.opened.source != link.file):
            companions = tuple(filter(None, (link.layout, *link.annotations)))
            session.open(link.file, companions=companions)
        elif not link.file and session.genome and session.opened and session.opened.source:
            session.graphs.close()
        for track in link.tracks:
            if track not in session.tracks.sources:
                session.tracks.open(track)
        if link.sequences not in ("", GRAPH_SOURCE, session.indexes.source):
            session.indexes.open(link.sequences)
        if link.genotypes not in ("", session.genotypes.source):
            session.genotypes.open(link.genotypes, phenotypes=link.phenotypes)
        self._deck.dock(link.split)
        self._deck.show(link.page or PAGES[0].slug)
        paths = () if session.opened is None else session.opened.graph.path_names
        if link.region is not None and link.region.path in paths:
            session.region = link.region
        for page in self._deck.in_sight:
            page.revisit(link)

    def go_to(self, found: Found) -> None:
        """Show a search result on a page that can display it."""
        session, deck = self._session, self._deck
        graph = GRAPH_SOURCE if session.opened is not None else ""
        if found.kind == "chromosome":
            session.open(found.source)
            deck.show(LAYOUT)
        elif found.kind == "k-mer":
            sequences = "" if session.indexes.opened is not None else graph
            deck.bring("kmers").follow(Address(kmers=found.title, sequences=sequences))
        elif found.kind == "guide":
            genome = "" if session.genomes.opened is not None else graph
            deck.bring("offtargets").follow(Address(guides=found.title, genome=genome))
        elif found.kind == "SNP":
            page = deck.bring("genotypes")
            page.revisit(replace(page.link, variant=found.title, tab="association"))
        else:
            if found.region is not None:
                session.region = found.region
            else:
                session.picked = found.nodes
            self.go_to_lit(LitSet.of_found(found.region, found.nodes))

    def go_to_lit(self, lit: LitSet) -> None:
        """Show the place of a highlight, here if possible, else on the layout or the tracks."""
        has_nodes, is_along = len(lit.nodes) > 0, lit.highlight.intervals is not None
        places = {LAYOUT} if has_nodes else set()
        places |= {TRACKS} if is_along else set()
        if not any(page.slug in places for page in self._deck.in_sight):
            self._deck.show(LAYOUT if has_nodes else TRACKS)
        self._session.highlights.want(lit)


def parse_link(query: str) -> Address:
    """Return the address of a query string, with what is wrong with it."""
    return Address.parse(query, pages=tuple(page.slug for page in PAGES))


def first_source(link: Address) -> str:
    """Return the graph of a link, or else the first file or sample; "" for none."""
    sequences = "" if link.sequences == GRAPH_SOURCE else link.sequences
    is_about_others = bool(link.tracks or sequences or link.genotypes)
    return link.file or ("" if is_about_others else default_source())


def default_source() -> str:
    """Return what a new tab opens: the server's first file, or a sample that needs no download.

    For a genome nothing is opened; the user chooses among its chromosomes.
    """
    if any(served.name for served in SETTINGS.files):
        return ""
    if SETTINGS.files:
        return str(SETTINGS.files[0].path)
    if SETTINGS.tracks or SETTINGS.sequences or SETTINGS.genotypes:
        return ""
    bundled = [sample for sample in list_samples() if not sample.is_public]
    return bundled[0].name if bundled else ""


def default_page(link: Address) -> str:
    """Return the page of a new tab: that of the open files, of a graph first of all."""
    has_graph = bool(link.file or SETTINGS.files)
    has_tracks = bool(link.tracks or SETTINGS.tracks)
    if has_graph:
        return ""
    if link.genome:
        return "offtargets"
    if link.genotypes or (SETTINGS.genotypes and not link.tracks):
        return "genotypes"
    if link.sequences or (SETTINGS.sequences and not link.tracks):
        return "kmers"
    return "tracks" if has_tracks else ""
