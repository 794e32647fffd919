"""The Pangenome page: lays out and explores a graph, and applies links."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import panel as pn
import panel_material_ui as pmui

from genoviz.analyses.graph.picture.colouring import MODES, ColourChoice
from genoviz.analyses.graph.picture.viewport import Viewport
from genoviz.analyses.graph.query.path_groups import GROUPINGS
from genoviz.errors import ParameterError
from genoviz_app.pages.pangenome.controls import SettingsForm
from genoviz_app.pages.pangenome.cut_and_keep import CutAndKeep
from genoviz_app.pages.pangenome.downloads import Downloads
from genoviz_app.pages.pangenome.layout_view import LayoutView
from genoviz_app.pages.pangenome.nodes.card import NodeCard
from genoviz_app.pages.pangenome.paths.annotations import AnnotationList
from genoviz_app.pages.pangenome.paths.choice import listed_paths
from genoviz_app.pages.pangenome.paths.compared import Growth, Similarity
from genoviz_app.pages.pangenome.paths.linear_view import PathView
from genoviz_app.pages.pangenome.paths.listing import PathList
from genoviz_app.pages.pangenome.paths.rows import RowsPanel
from genoviz_app.pages.pangenome.paths.variation import Variation
from genoviz_app.pages.pangenome.picture.fitting import Shape, unstretched
from genoviz_app.pages.pangenome.picture.shared_marks import SharedMarks, region_parts
from genoviz_app.pages.pangenome.statistics import Statistics, facts_html
from genoviz_app.parts.dock import Dock, DockArea
from genoviz_app.parts.file_picker import FilePicker
from genoviz_app.parts.made_when_shown import MadeWhenShown
from genoviz_app.parts.opening_bar import OpeningBar
from genoviz_app.parts.page import EmptyState, Page, PageHelp, side_column
from genoviz_app.parts.questions import Watched
from genoviz_app.parts.sample_select import ChromosomeTable, SampleSelect
from genoviz_app.parts.styles import NOTICES, NUMBERS, in_narrow_window
from genoviz_app.parts.words import notices_html
from genoviz_app.session.address import WHOLE, Address, View
from genoviz_app.session.session import Session


class Paths(DockArea):
    """Views of all paths: a list, rows along the nodes, comparisons."""

    title, kinds = "Paths", (PathList, RowsPanel, Similarity, Growth)


DOCK_PANELS = (PathView, NodeCard, Paths, AnnotationList, Variation, Statistics, CutAndKeep)
DEFAULT_CHOICE = ColourChoice()
SECTION: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": 0}
FORMATS = (
    "a graph (.gfa, .gfa.gz, .gbz) that the server can read; or, for the open graph, "
    "a layout (.lay, .tsv, Bandage's) or annotations (.bed, .gff3, .gtf)"
)
NOTHING = """<p style="margin: 16px auto 0; max-width: 40em; text-align: center; opacity: 0.85">
No graph is open. Open one (GFA, GBZ) in the sidebar, or use the example, which has a layout.</p>"""
UPLOADED = "A graph (GFA), its layout (.lay, TSV) or annotations (BED, GFF3, GTF)"


class PangenomePage(Page):
    """Open, lay out and explore a graph."""

    slug = "pangenome"
    title = "Pangenome"
    help = PageHelp(
        "Live layout of a pangenome graph by its paths: nodes that are "
        "neighbours on many paths are placed next to each other.",
        (
            "Open a graph in the sidebar, or take a sample.",
            "Press Run to lay it out; use Pause, Re-heat and Parameters to control the layout.",
            "Zoom in and click a node to see its properties and the paths that visit it below.",
            "Colour by position, path, depth or stress; save the picture under Save.",
        ),
        (
            ("Drag", "move the picture"),
            ("Wheel, pinch", "zoom at the pointer"),
            ("Double click", "zoom in; with Shift out"),
            ("Click", "choose the node, or the annotation whose name it is"),
            ("Shift + drag", "pick the nodes in a box"),
            ("Small map", "click or drag to go there"),
            ("Arrow keys", "move; with Shift further"),
            ("+  −", "zoom"),
            ("0, Home", "show everything"),
            ("Esc", "choose nothing"),
        ),
    )
    example = Address(file="simulated")
    narrow_height = "auto"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._seen_notices, self._awaits_graph = (), False
        self.nothing = EmptyState(self, NOTHING)
        self.view = LayoutView(run=session.runs.run, height="100%")
        self.chromosomes = ChromosomeTable(session) if session.genome else None
        if self.chromosomes is not None:
            self.view.bar.top.insert(0, self.chromosomes.leave_button)
        self.picker = SourcePicker(session)
        self._follower = LinkFollower(session, self.view)
        self._marks = SharedMarks(session, self.view, lambda: self.dock.show(NodeCard))
        session.runs.choose_colour = self.view.bar.colours.choose
        self.dock = Dock(DOCK_PANELS, lambda kind: kind(session, self.view))
        self.view.picture.on_label(lambda _: self.dock.show(AnnotationList))
        self.facts = pn.pane.HTML("", stylesheets=[NUMBERS], sizing_mode="stretch_width")
        self.notices = pn.pane.HTML("", stylesheets=[NOTICES], sizing_mode="stretch_width")
        session.param.watch(self._on_opened, "opened")
        session.param.watch(self._on_layout, "layout")
        session.param.watch(self._on_annotations, "annotation_files")
        self._on_opened()
        self._on_annotations()

    @cached_property
    def form(self) -> SettingsForm:
        """The section of layout parameters."""
        form = SettingsForm(self.view.run)
        form.offer(listed_paths(self.view.run.graph))
        return form

    @cached_property
    def downloads(self) -> Downloads:
        """The section of downloads."""
        return Downloads(self._session, self.view.run, self.view.picture, get_name=self._name)

    @property
    def link(self) -> Address:
        """The present view as fields of a link."""
        # A link with a region but without a view leads to the region.
        is_led = self._session.region is not None and self._follower.link is None
        link = page_link(self.view, WHOLE if is_led else None)
        return replace(link, lower=self.dock.height, panel=self.dock.slug)

    def follow(self, link: Address) -> None:
        """Show the view of a link once its graph is open."""
        self._follower.follow(link)
        self._session.complain(self.dock.follow(link.lower, link.panel))

    @property
    def sidebar(self) -> list[Any]:
        """The content of the sidebar."""
        return [*side_column(self.picker.panel, self.facts, self.notices), self.sections]

    @cached_property
    def sections(self) -> pmui.Accordion:
        """The collapsible sections of the sidebar."""
        return pmui.Accordion(
            ("Parameters", MadeWhenShown(lambda: [self.form.panel], **SECTION)),
            ("Save", MadeWhenShown(lambda: [self.downloads.panel], **SECTION)),
            active=[],
            dynamic=True,
            title_variant="subtitle2",
            disable_gutters=True,
            elevation=0,
            variant="outlined",
            sizing_mode="stretch_width",
            margin=(8, 10),
        )

    @property
    def content(self) -> Any:
        """The content of the main area."""
        return pmui.Column(
            self.nothing,
            *([] if self.chromosomes is None else [self.chromosomes]),
            self.view.panel,
            self.dock.panel,
            sizing_mode="stretch_both",
            styles={"min-height": "0", "height": "100%"},
            stylesheets=in_narrow_window("auto"),
            margin=0,
        )

    def poll(self) -> None:
        """Update the page; called some twenty times per second."""
        self.view.poll()
        if self._session.is_split:
            self._marks.poll()
        if self.dock.poll is not None:
            self.dock.poll()
        if "downloads" in vars(self):
            self.downloads.offer()
        self._show_notices()
        self._show_nothing()

    def try_example(self) -> None:
        """Open the sample and start its layout."""
        self._session.runs.unfold_next()
        super().try_example()

    def complete(self) -> None:
        """Create the parts that the page is first sent without."""
        super().complete()
        self.dock.show_first()

    def _show_nothing(self) -> None:
        """Show instructions while no graph is open or being opened."""
        session, awaited = self._session, self._awaits_graph
        self._awaits_graph = session.opened is None and session.awaits_graph
        if session.opened is None and self._awaits_graph != awaited:
            self.dock.set_graph(None)  # its panels say whether one is being opened
        is_empty = self.is_complete and session.opened is None and not session.graphs.is_opening
        if self.chromosomes is not None:
            self.chromosomes.stand_for([self.view.panel, self.dock.panel], is_empty)
        elif self.nothing.visible != is_empty:
            self.nothing.show(is_empty)

    def make_ready(self) -> None:
        """Create hidden parts in advance, step by step."""
        self.dock.make_ready()

    def _show_notices(self) -> None:
        run = self.view.run
        note = run.snapshot.note if run.snapshot is not None else ""
        opened, placed = self._session.opened, self._session.annotation_files.placed
        notes = opened.graph.notes if opened is not None else ()
        if placed is not None:
            notes = (*notes, *placed.annotations.notes, *placed.notes)
        if (notes, note) != self._seen_notices:
            self._seen_notices = (notes, note)
            self.notices.object = notices_html([*notes, note])

    def stay_low(self, is_low: bool) -> None:
        """Collapse or expand the panels below the picture."""
        self.dock.fold(is_low)
        self.view.stay_low(is_low)

    def close(self) -> None:
        """Stop drawing, because the tab was closed."""
        self.view.picture.frames.detach()

    def _on_opened(self, *_events: Any) -> None:
        opened = self._session.opened
        names, settings = listed_paths(opened.graph if opened else None), self.view.settings
        settings.paths = [name for name in settings.paths if name in names]
        if "form" in vars(self):
            self.form.offer(names)
        self.view.follow_graph()
        self.dock.set_graph(opened.graph if opened else None)
        self._marks.show()
        self.facts.object = facts_html(opened)

    def _on_layout(self, *_events: Any) -> None:
        if self._session.layout is not None:
            self.view.fit()

    def _on_annotations(self, *_events: Any) -> None:
        self.view.bar.colours.set_annotations(self._session.annotation_files.placed)

    def _name(self) -> str:
        opened = self._session.opened
        return "" if opened is None else opened.source or opened.title


def page_link(view: LayoutView, whole: View | None) -> Address:
    """Return the picture's part of a link: colours, shape, and a view, ``whole`` for all of it."""
    picture = view.picture
    choice, shown = picture.choice, picture.viewport
    is_own = shown is not None and not picture.frames.follows
    wish = picture.fitting.wish
    return Address(
        colour=choice.mode if choice != DEFAULT_CHOICE else "",
        group=choice.group_by if choice.group_by != DEFAULT_CHOICE.group_by else "",
        paths=choice.paths,
        shape=wish.value if wish is not None else "",
        view=(shown.x_min, shown.x_max, shown.y_min, shown.y_max) if is_own else whole,
    )


class LinkFollower:
    """Applies `link` to the page once everything it names is open; then it is None."""

    def __init__(self, session: Session, view: LayoutView) -> None:
        self._session, self._view = session, view
        self.link: Address | None = None
        self._waiting = Watched(session, self._apply, self._can_apply)

    def follow(self, link: Address) -> None:
        """Start to apply a link."""
        self.link = link
        self._waiting.start()

    def _can_apply(self) -> bool:
        is_drawn = None not in (self._view.picture.viewport, self._view.picture.shown)
        return not self._session.graphs.is_opening and (is_drawn or self._session.opened is None)

    def _apply(self) -> None:
        """Apply the link, now that everything is open; report what cannot be applied."""
        link, self.link = self.link, None
        if self._session.opened is not None:
            for follow in (self._follow_colours, self._follow_shape, self._follow_view):
                self._session.complain(follow(link))

    def _follow_colours(self, link: Address) -> str:
        if not (link.colour or link.paths or link.group):
            return ""
        mode, group_by = link.colour or DEFAULT_CHOICE.mode, link.group or "path"
        for name, known in ((mode, MODES), (group_by, GROUPINGS)):
            if name not in known:
                return f"The link's colours are by {name[:40]!r}, needs one of {', '.join(known)}."
        offered = self._view.bar.colours.offered
        if mode not in offered:
            return f"The graph has no colours by {mode}, the link's; it has {', '.join(offered)}."
        self._view.bar.colours.choose(ColourChoice(mode, paths=link.paths, group_by=group_by))
        return ""

    def _follow_shape(self, link: Address) -> str:
        if not link.shape:
            return ""
        if link.shape not in list(Shape):
            return f"The link's shape is {link.shape!r}, needs one of {', '.join(Shape)}."
        self._view.picture.fitting.wish = Shape(link.shape)
        self._view.picture.fit()
        return ""

    def _follow_view(self, link: Address) -> str:
        picture, region = self._view.picture, self._session.region
        if link.view == WHOLE:
            picture.fit()
        elif link.view is not None:
            size = picture.viewport
            view = Viewport(*link.view, size.width, size.height)
            # The link's canvas had a different height, or this one has not received its size yet.
            picture.show(view if link.shape == Shape.STRETCHED else unstretched(view))
        elif region is not None:
            try:
                parts = region_parts(self._session.opened.graph, region)
            except ParameterError as error:
                return f"The link's region is not shown: {error}."
            picture.look_at(parts)
        elif not picture.frames.follows:
            picture.fit()
        return ""


class SourcePicker(FilePicker):
    """Three ways to open a file, and the progress of opening."""

    def __init__(self, session: Session) -> None:
        super().__init__(
            OpeningBar(session.graphs, session.graphs.cancel),
            session,
            "Path on the server",
            "/data/graph.gfa.gz",
            FORMATS,
            uploaded=UPLOADED,
            samples=SampleSelect(
                session, session, "gfa", "a graph", "Sample graph", with_served=True
            ),
        )
