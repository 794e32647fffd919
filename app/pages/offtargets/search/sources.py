"""Inputs from open files: the graph with its reference, genes, and guides designed for genes."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui

from genoviz.errors import GenovizError, ParameterError
from genoviz_app.opening.companions import AnnotationFile
from genoviz_app.opening.index_files import GRAPH_SOURCE
from genoviz_app.opening.track_data import TrackKind
from genoviz_app.pages.offtargets.search.genes import BestGuides, find_best_guides
from genoviz_app.pages.offtargets.search.query import Pam
from genoviz_app.pages.offtargets.state import OffTargetState
from genoviz_app.parts.opening_bar import OpeningBar
from genoviz_app.parts.picker_fields import UploadButton
from genoviz_app.parts.questions import Question, Watched, allow

NO_REFERENCE = "None"
TAKE, TAKE_OTHER = "Search the open graph", "Search {} instead"
PATHS = ": all its paths; shared sequence is searched once"
OTHER_OPEN = "{} is open now; the hits are on the {}."
LONGEST_TITLE = 20
NONE, OTHER, OPEN = "", "other", "open"
UPLOADED = "uploaded:"
FORMATS = ".bed,.gff,.gff3,.gtf,.gz"
NO_GENE_YET = "contig:start-end"
DESIGN = "Design: find the best guides for a gene or region, and all their sites"
SAID = ":host { font-size: 12.5px; line-height: 1.45; } p { margin: 4px 0 0; opacity: 0.85; }"


class GraphSource:
    """A button that uses the open graph, and a field for the reference.

    Attributes
    ----------
    button, said, reference
        Panel objects; the second shows a message if the hits are from another graph.
    """

    def __init__(self, state: OffTargetState) -> None:
        self._state, self._is_following = state, False
        session = state.session
        self._linked = Watched(
            session,
            self._on_linked,
            lambda: session.opened is not None and not session.graphs.is_opening,
        )
        self.button = pmui.Button(
            label=TAKE,
            icon="hub",
            description=f"{TAKE}{PATHS}",
            size="small",
            variant="outlined",
            sizing_mode="stretch_width",
            margin=(10, 0, 4, 0),
        )
        self.reference = pmui.Select(
            label="Compare with",
            options={NO_REFERENCE: ""},
            value="",
            size="small",
            description="Reference sample or path; shows whether it has each hit",
            sizing_mode="stretch_width",
            margin=(12, 0, 4, 0),
            visible=False,
        )
        self.said = pmui.Typography(
            "", variant="caption", color="warning", margin=(0, 0, 2, 0), visible=False
        )
        self.button.on_click(lambda _: self.open())
        self.reference.param.watch(self._on_change, "value")
        state.param.watch(self._follow, ["genome", "reference", "step"])
        state.session.param.watch(self._follow, "opened")
        self._follow()

    @property
    def is_awaited(self) -> bool:
        """Whether a link's genome or graph is not open yet."""
        return self._linked.is_waiting or self._state.session.genomes.is_opening

    def join(self, picker: pmui.Column) -> None:
        """Add the button to the other sources, and the field below them."""
        picker.insert(1, self.button)
        picker.insert(2, self.said)
        picker.append(self.reference)

    def open(self) -> None:
        """Use the open graph."""
        session = self._state.session
        if session.opened is None:
            session.problem = "No graph is open. Open one on the Pangenome page first."
        else:
            session.genomes.open_graph(session.opened)

    def follow_link(self) -> None:
        """Use the graph as soon as it is open."""
        self._linked.start()

    def _on_linked(self) -> None:
        session, genome = self._state.session, self._state.genome
        if genome is None or getattr(genome.planes, "graph", None) is not session.opened.graph:
            with session.following():
                self.open()

    def _follow_opened(self) -> None:
        """Offer the open graph; show a message if hits are from another graph."""
        genome, opened = self._state.genome, self._state.session.opened
        is_graph = genome is not None and genome.is_graph
        is_other = is_graph and opened is not None and genome.planes.graph is not opened.graph
        label = TAKE_OTHER.format(_shorten(opened.title)) if is_other else TAKE
        self.button.param.update(
            label=label, description=f"{label}{PATHS}",
            variant="contained" if is_other else "outlined",
        )  # fmt: skip
        no_graph = "open a graph on the Pangenome page first" if opened is None else ""
        is_own = is_graph and not is_other
        allow(self.button, no_graph or ("the open graph is already selected" if is_own else ""))
        text = OTHER_OPEN.format(opened.title, genome.title) if is_other else ""
        self.said.param.update(object=escape(text), visible=is_other)

    def _on_change(self, _event: Any) -> None:
        if not self._is_following:
            self._state.compare(self.reference.value)

    def _follow(self, *_events: Any) -> None:
        state = self._state
        genome, is_graph = state.genome, state.genome is not None and state.genome.is_graph
        self._is_following = True
        try:
            with pn.io.hold():
                self._follow_opened()
                names = genome.planes.references if is_graph else ()
                options = {NO_REFERENCE: "", **{name: name for name in names}}
                if self.reference.options != options:
                    self.reference.options = options
                value = state.reference if state.reference in options.values() else ""
                self.reference.param.update(
                    value=value, visible=is_graph, disabled=state.is_searching
                )
        finally:
            self._is_following = False


def _shorten(title: str) -> str:
    """Shorten a title to fit on a button."""
    return title if len(title) <= LONGEST_TITLE else f"{title[: LONGEST_TITLE - 1]}…"


class GenePicker:
    """A menu of open annotation files, and two ways to open another one.

    Attributes
    ----------
    choice, path, upload, panel
        The fields, and the Panel object.
    """

    def __init__(self, state: OffTargetState) -> None:
        self._state, self._files, self._is_following = state, state.gene_files, False
        wide: dict[str, Any] = {"size": "small", "sizing_mode": "stretch_width"}
        self.choice = pmui.Select(
            label="Genes at the hits", options={"None": NONE}, value=NONE, margin=(14, 0, 0, 0),
            description="GFF3, GTF or BED file with genes and exons, to add the gene of each "
            "hit", **wide,
        )  # fmt: skip
        self.path = pmui.TextInput(
            label="Genes on the server", placeholder="/data/genes.gff3.gz",
            description="GFF3, GTF or BED, also .gz. Press Enter to open it.",
            margin=(10, 0, 0, 0), **wide,
        )  # fmt: skip
        self.upload = UploadButton(
            label="Upload genes", accept=FORMATS, size="small", variant="text", margin=(2, 0),
            directory=False,
        )  # fmt: skip
        flat: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": 0}
        self._other = pmui.Column(self.path, self.upload, visible=False, **flat)
        bar = OpeningBar(self._files, self._files.cancel, (4, 0))
        self.panel = pmui.Column(self.choice, self._other, bar.panel, **flat)
        self.choice.param.watch(self._on_change, "value")
        self.path.param.watch(lambda _: self.open(), "enter_pressed")
        self.upload.param.watch(self._on_upload, "value")
        self._files.param.watch(self._follow, "opened")
        state.session.param.watch(self._follow, "annotation_files")
        state.session.tracks.param.watch(self._follow, "files")
        self._follow()

    def open(self) -> None:
        """Open the file in the path field."""
        self._files.open(self.path.value_input or self.path.value or "")

    def follow_link(self, source: str) -> None:
        """Use the genes that a link names."""
        if source == GRAPH_SOURCE:
            self._files.use_annotations()
        elif source and source != self._files.source:
            self._files.open(source)

    def _on_change(self, event: Any) -> None:
        if self._is_following:
            return
        self._other.visible = event.new == OTHER
        if event.new == NONE:
            self._files.close()
        elif event.new == GRAPH_SOURCE:
            self._files.use_annotations()
        elif event.new.startswith(UPLOADED):
            self._files.open_uploaded(event.new.removeprefix(UPLOADED))
        elif event.new not in (OTHER, OPEN):
            self._files.open(event.new)

    def _on_upload(self, event: Any) -> None:
        if event.new:
            self._files.open_upload(self.upload.filename or "genes.bed", event.new)

    def _follow(self, *_events: Any) -> None:
        """Offer the open files, and show the one in use."""
        opened = self._files.opened
        options = {"None": NONE, **self._offered()}
        value = NONE if opened is None else _key_of(opened)
        if value not in options.values():
            options[opened.title] = value = value or OPEN
        self._is_following = True
        try:
            with pn.io.hold():
                self.choice.param.update(options={**options, "Another file": OTHER}, value=value)
                self._other.visible = False
        finally:
            self._is_following = False

    def _offered(self) -> dict[str, str]:
        session = self._state.session
        offered = {}
        if session.annotation_files.files:
            offered["Annotations of the graph"] = GRAPH_SOURCE
        for file in session.tracks.files:
            if file.data.kind is TrackKind.FEATURES:
                offered[f"Track {file.title}"] = file.source or f"{UPLOADED}{file.title}"
        return offered


def _key_of(file: AnnotationFile) -> str:
    return file.source or f"{UPLOADED}{file.title}"


class GuideDesigner:
    """A field for a gene or region, and a button that designs guides for it.

    Parameters
    ----------
    pam
        Returns the PAM; raises a `GenovizError`.
    take
        Called with the designed guides.

    Attributes
    ----------
    target, button, said, panel, best
        Panel objects; the third shows an error, or the quality of the guides. The `Question`.
    """

    def __init__(
        self,
        state: OffTargetState,
        pam: Callable[[], Pam],
        take: Callable[[BestGuides], None],
    ) -> None:
        self._state, self._pam, self._take = state, pam, take
        self.best = Question(state.session, "guides of a gene", self._on_best)
        self._later = Watched(state.session, self.design, lambda: not state.gene_files.is_opening)
        self.target = pmui.TextInput(
            label="Gene or region", placeholder=NO_GENE_YET, size="small",
            description="Target: a gene of the open annotations, or contig:start-end counted "
            "from 1; empty for the current region. Its best guides are added below",
            sizing_mode="stretch_width", margin=(10, 0, 0, 0),
        )  # fmt: skip
        self.button = pmui.Button(
            label="Design", icon="design_services", size="small", variant="outlined",
            description=DESIGN, margin=(12, 0, 0, 6),
        )  # fmt: skip
        self.said = pn.pane.HTML("", sizing_mode="stretch_width", margin=0, stylesheets=[SAID])
        row = pmui.Row(self.target, self.button, sizing_mode="stretch_width", margin=0)
        self.panel = pmui.Column(row, self.said, sizing_mode="stretch_width", margin=0)
        self.button.on_click(lambda _: self.design())
        self.target.param.watch(lambda _: self.design(), "enter_pressed")
        state.param.watch(self._forget, "genome")
        state.param.watch(self._follow, "step")
        state.session.param.watch(self._follow, "annotation_files")
        state.gene_files.param.watch(self._follow, "opened")
        self._follow()

    def design(self) -> None:
        """Design guides for the target in the field, or show what is wrong with it."""
        state, region = self._state, self._state.session.region
        text = (self.target.value_input or self.target.value or "").strip()
        if self.button.disabled:
            return
        try:
            pam = self._pam()
            if not text and region is None:
                raise ParameterError("enter a gene or a region, or select a region on any page")
            if not pam.letters:
                raise ParameterError("Design needs a PAM; choose one")
        except GenovizError as error:
            self._say(str(error))
            return
        if state.gene_files.is_opening:
            self._later.start()
            return self._say("waiting for the genes to open …")
        text = text or f"{region.path}:{region.start + 1}-{region.end}"
        self._say(f"finding the guides of {text} …")
        self.best.ask(
            find_best_guides, state.genome, text, state.gene_files.at_hand, pam, state.reference
        )
        self._follow()

    def _on_best(self, found: BestGuides | str) -> None:
        self._follow()
        if isinstance(found, str):
            self._say(found)
        else:
            self._say(found.words)
            self._take(found)

    def _say(self, words: str) -> None:
        end = "" if words.endswith("…") else "."
        self.said.object = f"<p>{escape(words[:1].upper() + words[1:])}{end}</p>"

    def _forget(self, *_events: Any) -> None:
        self.best.drop()  # they are from another genome
        self._later.stop()
        self.said.object = ""
        self._follow()

    def _follow(self, *_events: Any) -> None:
        state, genes = self._state, self._state.gene_files.at_hand
        names = [] if genes is None else [*genes.names.take(np.arange(min(len(genes), 20)))]
        example = next(filter(None, names), "")
        no_genome = "open a genome or a graph first" if state.genome is None else ""
        is_under_way = "guides are being designed" if self.best.is_open else ""
        is_searching = "a search is running" if state.is_searching else ""
        with pn.io.hold():
            self.target.placeholder = f"{example}, or {NO_GENE_YET}" if example else NO_GENE_YET
            allow(self.button, no_genome or is_under_way or is_searching)
