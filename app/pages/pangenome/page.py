"""The page on which a pangenome graph is laid out."""

from __future__ import annotations

from typing import Any

import panel as pn
import panel_material_ui as pmui

from genoviz_app.pages.pangenome.cut_and_keep import CutAndKeep
from genoviz_app.pages.pangenome.downloads import Downloads
from genoviz_app.pages.pangenome.graph_facts import facts_html
from genoviz_app.pages.pangenome.layout.settings_form import SettingsForm
from genoviz_app.pages.pangenome.layout_view import LayoutView
from genoviz_app.pages.pangenome.link import LinkFollower, page_link
from genoviz_app.pages.pangenome.nodes.find_bar import FindBar
from genoviz_app.pages.pangenome.nodes.node_card import NodeCard
from genoviz_app.pages.pangenome.paths.annotation_list import AnnotationList
from genoviz_app.pages.pangenome.paths.path_list import PathList
from genoviz_app.pages.pangenome.paths.path_view import PathView
from genoviz_app.pages.pangenome.paths.variation import Variation
from genoviz_app.pages.pangenome.picture.shared_marks import SharedMarks
from genoviz_app.pages.pangenome.source_picker import SourcePicker
from genoviz_app.pages.pangenome.statistics import Statistics
from genoviz_app.parts.dock import Dock
from genoviz_app.parts.notices import notices_html
from genoviz_app.parts.styles import NOTICES, NUMBERS
from genoviz_app.server.jobs import describe_problem
from genoviz_app.session.address import Address
from genoviz_app.session.session import Session

DOCK_PANELS = (
    PathView,
    NodeCard,
    PathList,
    AnnotationList,
    Variation,
    Statistics,
    CutAndKeep,
)


class PangenomePage:
    """Open a graph, lay it out, explore it.

    Attributes
    ----------
    slug, title
        Name in links, and on the screen.
    sidebar, content
        What the dashboard shows.
    """

    slug = "pangenome"
    title = "Pangenome"

    def __init__(self, session: Session) -> None:
        self._session = session
        self._seen_error: Exception | None = None
        self._seen_notices: tuple = ()
        self.view = LayoutView(submit=session.submit, height="100%")
        self.picker = SourcePicker(session)
        self.form = SettingsForm(self.view.run)
        self.downloads = Downloads(
            self.view.run,
            self.view.picture,
            get_name=self._name,
            complain=self._complain,
        )
        self.finder = FindBar(session, self.view)
        self._follower = LinkFollower(session, self.view)
        self._marks = SharedMarks(session, self.view)
        self.dock = Dock([panel(session, self.view) for panel in DOCK_PANELS])
        self.view.picture.on_click(lambda _: self.dock.show(NodeCard))
        self.view.picture.on_select(lambda nodes: self.dock.show(NodeCard) if len(nodes) else None)
        self.facts = pn.pane.HTML("", stylesheets=[NUMBERS], sizing_mode="stretch_width")
        self.notices = pn.pane.HTML("", stylesheets=[NOTICES], sizing_mode="stretch_width")
        session.param.watch(self._take_opened, "opened")
        session.param.watch(self._take_layout, "layout")
        session.param.watch(self._take_annotations, "annotation_files")
        self._take_opened()

    @property
    def header(self) -> list[Any]:
        """What stands in the header."""
        return [self.finder.field]

    @property
    def messages(self) -> list[Any]:
        """What stands above the content when there is something to say."""
        return [self.finder.choices]

    @property
    def link(self) -> Address:
        """What a link to the present view says."""
        return page_link(self.view)

    def follow(self, link: Address) -> None:
        """Show what a link asks for, once its graph is open."""
        self._follower.follow(link)

    @property
    def sidebar(self) -> list[Any]:
        """What stands in the sidebar."""
        sections = pmui.Accordion(
            ("Parameters", self.form.panel),
            ("Save", self.downloads.panel),
            active=[],
            dynamic=True,
            title_variant="subtitle2",
            disable_gutters=True,
            elevation=0,
            variant="outlined",
            sizing_mode="stretch_width",
            margin=(8, 10),
        )
        graph = pmui.Column(
            self.picker.panel,
            self.facts,
            self.notices,
            sizing_mode="stretch_width",
            margin=(4, 10, 0, 10),
        )
        return [graph, sections]

    @property
    def content(self) -> Any:
        """What stands in the main area."""
        return pmui.Column(
            self.view.panel,
            self.dock.panel,
            sizing_mode="stretch_both",
            styles={"min-height": "0", "height": "100%"},
            margin=0,
        )

    def poll(self) -> None:
        """Bring the page up to date; called some twenty times a second."""
        self.view.poll()
        self.downloads.poll()
        self.finder.poll()
        self._follower.poll()
        self._marks.poll()
        self.dock.poll()
        run = self.view.run
        self._show_notices()
        if run.error is not None and run.error is not self._seen_error:
            self._complain(describe_problem(run.error))
        self._seen_error = run.error

    def _show_notices(self) -> None:
        run = self.view.run
        note = run.snapshot.note if run.snapshot is not None else ""
        opened = self._session.opened
        placed = self._session.annotations
        notes = opened.graph.notes if opened is not None else ()
        if placed is not None:
            notes = (*notes, *placed.annotations.notes, *placed.notes)
        if (notes, note) != self._seen_notices:
            self._seen_notices = (notes, note)
            self.notices.object = notices_html([*notes, note])

    def close(self) -> None:
        """Stop drawing; the tab is closed."""
        self.view.picture.frames.detach()

    def _take_opened(self, *_events: Any) -> None:
        opened = self._session.opened
        self.finder.clear()
        self.form.set_graph(opened.graph if opened else None)
        self.view.set_graph(opened.graph if opened else None)
        self.dock.set_graph(opened.graph if opened else None)
        self.facts.object = facts_html(opened)

    def _take_layout(self, event: Any) -> None:
        if event.new is not None:
            self.view.load(event.new.layout)

    def _take_annotations(self, _event: Any) -> None:
        self.view.bar.colours.set_annotations(self._session.annotations)

    def _name(self) -> str:
        opened = self._session.opened
        return "" if opened is None else opened.source or opened.title

    def _complain(self, sentence: str) -> None:
        self._session.problem = sentence
