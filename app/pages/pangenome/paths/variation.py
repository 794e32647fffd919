"""A table of the variation sites along a path, linked to the picture."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui

from genoviz.analyses.graph.sites.results import SitesProgress, VariationSites
from genoviz.analyses.graph.sites.search import iter_find_sites
from genoviz.analyses.graph.sites.table import iter_gap_lines, iter_site_lines
from genoviz.errors import ParameterError
from genoviz.model import Intervals, PangenomeGraph
from genoviz.model.columns import distinct
from genoviz_app.pages.pangenome.layout_view import LayoutView
from genoviz_app.pages.pangenome.paths.choice import listed_paths
from genoviz_app.pages.pangenome.paths.site_rows import (
    ALL_KINDS,
    ALLELE_COLUMNS,
    NO_SITE,
    SITE_COLUMNS,
    SiteDetail,
    SiteRows,
    choose_sites,
    kind_options,
    site_detail,
    site_rows,
)
from genoviz_app.pages.pangenome.picture.marks import Mark
from genoviz_app.parts.file_button import file_button, file_stem
from genoviz_app.parts.lighting import light_button
from genoviz_app.parts.questions import Question, allow
from genoviz_app.parts.remote_table import RemoteTable
from genoviz_app.parts.words import n_words
from genoviz_app.server.jobs import Job, JobState, describe_problem
from genoviz_app.session.lit_sets import Highlight
from genoviz_app.session.session import Session

MAX_SAVED = 1_000_000
SITE_MARK, SITE_COLOUR = "site", "#ffe14d"
ALLELE_MARK, ALLELE_COLOUR = "allele", "#18e0c8"
NO_GRAPH = "Open a graph to see where its paths differ."
NO_PATHS = "This graph has no paths. Sites need a reference path for their coordinates."
NOT_FOUND = (
    "<b>Find sites</b> lists the variation between paths, along the "
    "reference path: SNPs, insertions, deletions and larger bubbles, "
    "including nested ones, with the alleles of all paths."
)
NO_ALLELES = "Click a site to zoom to it and see its alleles."
NARROW: dict[str, Any] = {"page_size": 50, "min_width": 40}
WORDS = """
:host { font-size: 12.5px; line-height: 1.45; }
p { margin: 0; opacity: 0.85; max-width: 62em; overflow-wrap: anywhere; }
b { font-weight: 600; }
"""
SMALL: dict[str, Any] = {"size": "small", "margin": (2, 8, 0, 0)}


class Variation:
    """Sites along a reference path, and the alleles of the selected one.

    Attributes
    ----------
    title, panel
        Title and Panel object of the tab.
    sites
        The latest result, or None.
    detail
        The selected site, or None.
    """

    title = "Variation"

    def __init__(self, session: Session, view: LayoutView) -> None:
        self._session, self._picture = session, view.picture
        self._graph: PangenomeGraph | None = None
        self._job: Job | None = None
        self._listed: SiteRows | None = None
        self.sites: VariationSites | None = None
        self.detail: SiteDetail | None = None
        self._lists = Question(session, "table of variation sites", self._on_rows)
        self._details = Question(session, "alleles of a site", self._on_detail)
        self._make_controls()
        self.table = RemoteTable(SITE_COLUMNS, placeholder="", on_row=self.choose, **NARROW)
        self.alleles = RemoteTable(
            ALLELE_COLUMNS, placeholder="", on_row=self.mark_allele, **NARROW
        )
        self.words = pn.pane.HTML("", stylesheets=[WORDS], sizing_mode="stretch_width", margin=8)
        self.about = pn.pane.HTML(
            "", stylesheets=[WORDS], sizing_mode="stretch_width", margin=(6, 8, 4, 8)
        )
        self.panel = self._arrange()
        self.set_graph(None)

    def _make_controls(self) -> None:
        self.reference = pmui.Select(
            label="Reference path", options=[], searchable=True, width=176, **SMALL
        )
        self.find_button = pmui.Button(
            label="Find sites",
            icon="alt_route",
            description="Find sites: look for variation along the reference path",
            variant="outlined",
            size="small",
            margin=(6, 8, 0, 0),
        )
        self.cancel_button = pmui.Button(
            label="Cancel", icon="close", variant="text", size="small", margin=(6, 4, 0, 0)
        )
        self.bar = pmui.LinearProgress(value=0, width=110, margin=(18, 8, 0, 0))
        self.stage = pn.pane.HTML("", stylesheets=[WORDS], margin=(9, 8, 0, 0))
        self.kind = pmui.Select(label="Kind", options={}, value=None, width=168, **SMALL)
        self.min_size = pmui.IntInput(
            label="Size from (bp)",
            value=0,
            start=0,
            description="Exclude sites whose longest allele is shorter",
            width=132,
            **SMALL,
        )
        self.download = file_button(
            self._session,
            "Save",
            self._prepare_file,
            description="Save: all sites of the selected kind and size, as a table",
            margin=(6, 0, 0, 0),
        )
        self.find_button.on_click(lambda _: self.find())
        self.cancel_button.on_click(lambda _: self.cancel())
        self.reference.param.watch(self._forget, "value")
        for widget in (self.kind, self.min_size):
            widget.param.watch(self._list_again, "value")

    def _arrange(self) -> pmui.Column:
        light = light_button(
            self._session, self._lit, "all listed sites", icon=None, margin=(8, 8, 0, 0)
        )
        self.found_controls = pmui.Row(self.kind, self.min_size, light, self.download, margin=0)
        self.progress = pmui.Row(self.bar, self.cancel_button, self.stage, margin=0)
        bar = pmui.Row(
            self.reference,
            self.find_button,
            self.progress,
            self.found_controls,
            self.table.count,
            sizing_mode="stretch_width",
            margin=(4, 8, 2, 8),
        )
        self.beside = _column(self.about)
        # A table measures its columns when it is first shown, so it is added then instead of
        # unhidden.
        self.tables = pn.Row(self.table.place, self.beside, sizing_mode="stretch_both", margin=0)
        self.body = pmui.Column(sizing_mode="stretch_both", margin=0)
        return pmui.Column(bar, self.body, sizing_mode="stretch_both", margin=0)

    def set_graph(self, graph: PangenomeGraph | None) -> None:
        """Offer the paths of another graph, and drop the results."""
        self._graph = graph
        names = listed_paths(graph)
        self.reference.param.update(options=names, value=names[0] if names else None)
        self._forget()

    def find(self) -> None:
        """Search for sites along the selected path."""
        if self._graph is None or not self.reference.value:
            return
        self._forget()
        steps = _iter_found(self._graph, self.reference.value)
        self._job = self._session.submit(steps, title="variation sites", follow=self._on_job)
        self._show_state()

    def cancel(self) -> None:
        """Cancel the running search."""
        if self._job is not None:
            self._job.cancel()
            self._job = None
            self._show_state()

    def choose(self, row: int) -> None:
        """Select the site of a row: show its position in the picture, and its alleles."""
        listed = self._listed
        if listed is not None and self.sites is not None:
            place = (listed.sites[row], listed.starts[row], listed.ends[row])
            self._details.ask(site_detail, self._graph, self.sites, *map(int, place))

    def _lit(self) -> Highlight:
        """Return the listed sites as a highlight."""
        listed = self._listed
        if listed is None or not len(listed.starts):
            raise ParameterError("no site is listed; find some first")
        starts = np.asarray(listed.starts, np.int64)
        ends = np.maximum(np.asarray(listed.ends, np.int64), starts)
        ids = np.zeros(len(starts), np.int32)
        title = next(name for name, kind in self.kind.options.items() if kind == self.kind.value)
        return Highlight(title, "site", Intervals((self.reference.value,), ids, starts, ends))

    def mark_allele(self, allele: int) -> None:
        """Mark the nodes of one allele in the picture, including all walks that spell it."""
        alleles = self.detail.alleles if self.detail is not None else None
        if alleles is None:
            return
        nodes = distinct(np.concatenate(alleles.walks[allele]) >> 1).astype(np.int64)
        name = "reference allele" if allele == 0 else f"allele {allele + 1}"
        self._picture.set_mark(ALLELE_MARK, Mark(nodes, ALLELE_COLOUR, name))

    def _forget(self, *_events: Any) -> None:
        self.cancel()
        self._lists.drop()
        self._details.drop()
        if self.detail is not None:
            self._picture.set_mark(SITE_MARK, None)
            self._picture.set_mark(ALLELE_MARK, None)
        self.sites, self.detail, self._listed = None, None, None
        self.kind.param.update(options={}, value=None)
        self._show_state()

    def _show_state(self) -> None:
        """Show the messages and controls of the current state."""
        graph, is_busy, is_found = self._graph, self._job is not None, self.sites is not None
        with pn.io.hold():
            self.find_button.visible = not is_busy and not is_found
            no_graph = "open a graph first" if graph is None else ""
            has_none = graph is not None and graph.n_paths == 0
            allow(self.find_button, no_graph or ("the graph has no paths" if has_none else ""))
            self.progress.visible = is_busy
            self.found_controls.visible = is_found
            self.table.count.visible = is_found
            self.body.objects = [self.tables if is_found else self.words]
            no_graph = self._session.without_graph(NO_GRAPH)
            words = no_graph if graph is None else NOT_FOUND if graph.n_paths else NO_PATHS
            self.words.object = f"<p>{words}</p>"
            self._show_detail()

    def _show_progress(self, progress: SitesProgress) -> None:
        total = progress.n_total
        with pn.io.hold():
            self.bar.variant = "determinate" if total else "indeterminate"
            if total:
                self.bar.value = min(100 * progress.n_done // total, 100)
            self.stage.object = f"<p>{escape(progress.stage)}</p>"

    def _on_job(self, job: Job) -> None:
        """Handle progress and end of the search."""
        if job is not self._job:  # it was cancelled or replaced
            return
        has_ended, progress = job.has_ended, job.snapshot
        if has_ended:
            self._job = None
            self._on_end(job, progress)
        elif progress is not None:
            self._show_progress(progress)

    def _on_end(self, job: Job, progress: Any) -> None:
        if job.state is JobState.FAILED:
            self._session.complain(describe_problem(job.error))
        elif job.state is JobState.FINISHED:
            self.sites, rows = progress
            self.kind.param.update(options=kind_options(self.sites), value=ALL_KINDS)
            self._on_rows(rows)
        self._show_state()

    def _list_again(self, *_events: Any) -> None:
        if self.sites is not None and self.kind.value is not None:
            choice = (self.kind.value, self.min_size.value or 0)
            self._lists.ask(site_rows, self._graph, self.sites, *choice)

    def _on_rows(self, rows: SiteRows) -> None:
        self._listed = rows
        self.table.show(rows.rows)

    def _on_detail(self, detail: SiteDetail) -> None:
        self.detail = detail
        self._picture.set_mark(ALLELE_MARK, None)
        self._picture.set_mark(SITE_MARK, Mark(detail.nodes, SITE_COLOUR, detail.title))
        self._picture.look_at_nodes(detail.nodes)
        self._session.region = detail.region
        with pn.io.hold():
            self._show_detail()

    def _show_detail(self) -> None:
        detail = self.detail
        if detail is None:
            self.about.object = f"<p>{NO_ALLELES}</p>"
            self.beside.objects = [self.about]
            return
        self.about.object = f"<p>{_describe(detail)}</p>"
        has_alleles = detail.rows is not None
        if has_alleles:
            self.alleles.show(detail.rows)
        self.beside.objects = [self.about, self.alleles.table] if has_alleles else [self.about]

    def _prepare_file(self) -> tuple[str, Callable[[Path], None]]:
        """Return name and writer of the exported table, which is created later."""
        if self._graph is None or self.sites is None:
            raise ParameterError("no sites yet")
        stem = file_stem(self.reference.value)
        if self.kind.value == NO_SITE:
            gaps = iter_gap_lines(self._graph, self.sites)
            return f"{stem}.no-sites.bed", lambda path: path.write_text("".join(gaps))
        chosen = choose_sites(self.sites, self.kind.value, self.min_size.value or 0)
        if len(chosen) > MAX_SAVED:
            raise ParameterError(
                f"a table of {n_words(len(chosen), 'site')} is too large for a browser;"
                " `genoviz sites` writes it on the server"
            )
        lines = iter_site_lines(self._graph, self.sites, chosen=chosen)
        return f"{stem}.sites.tsv", lambda path: path.write_text("".join(lines))


def _column(part: Any) -> pmui.Column:
    """Return a column that takes half of the width, whatever its content."""
    styles = {"flex": "1 1 0%", "min-width": "0"}
    return pmui.Column(part, sizing_mode="stretch_both", margin=(0, 4, 0, 4), styles=styles)


def _iter_found(graph: PangenomeGraph, reference: str) -> Iterator[Any]:
    """Yield the progress of the search, then the sites with the first rows of their table."""
    for progress in iter_find_sites(graph, reference):
        yield progress
    yield progress.sites, site_rows(graph, progress.sites, ALL_KINDS, 0)


def _describe(detail: SiteDetail) -> str:
    if detail.alleles is None:
        words = "more than one entry or exit: a cycle, an inversion or a tip."
        return f"<b>{escape(detail.title)}</b>: {words}"
    n_alleles, n_times = len(detail.alleles), int(detail.alleles.counts.sum())
    return (
        f"<b>{escape(detail.title)}</b>: {n_words(n_alleles, 'allele')} in "
        f"{n_words(n_times, 'traversal')}."
        " Click an allele to point it out."
    )
