"""Shared state of the page: the search, its result, and the listed hits."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import param

from genoviz_app.opening.genome_files import OpenGenome
from genoviz_app.pages.offtargets.hits.filter import FoundHits, HitFilter, filter_hits
from genoviz_app.pages.offtargets.hits.order import HitOrder
from genoviz_app.pages.offtargets.hits.regions import region_of
from genoviz_app.pages.offtargets.search.genes import GeneFiles, HitGenes, find_genes
from genoviz_app.pages.offtargets.search.query import OffTargetQuery
from genoviz_app.pages.offtargets.search.running import (
    MAX_HITS,
    MAX_SITES,
    SearchResult,
    SearchStep,
    iter_compare,
    iter_search,
    iter_search_graph,
)
from genoviz_app.parts.questions import Question
from genoviz_app.parts.words import n_words
from genoviz_app.server.jobs import Job, JobState, describe_problem
from genoviz_app.session.graph_places import on_graph
from genoviz_app.session.session import Session

NO_HIT = -1
SHOWN_EVERY = 0.5
"""Minimum seconds between partial results that are shown."""


class OffTargetState(param.Parameterized):
    """The search and the view of its hits; parts of the page watch it.

    Parameters
    ----------
    session
        The session of the page's tab.

    Attributes
    ----------
    is_continued
        Whether the result continues the previous one, of the same search.
    """

    genome = param.ClassSelector(class_=OpenGenome, allow_None=True, doc="What is searched in.")
    step = param.ClassSelector(class_=SearchStep, allow_None=True, doc="How far a search is.")
    result = param.ClassSelector(class_=SearchResult, allow_None=True, doc="What was found.")
    filter = param.ClassSelector(class_=HitFilter, default=HitFilter(), doc="What is listed.")
    order = param.ClassSelector(class_=HitOrder, default=HitOrder(), doc="In which order.")
    found = param.ClassSelector(class_=FoundHits, allow_None=True, doc="The hits listed.")
    genes = param.ClassSelector(class_=HitGenes, allow_None=True, doc="The genes of the hits.")
    reference = param.String("", doc="What hits on a graph are compared with; none by default.")
    hit = param.Integer(NO_HIT, bounds=(NO_HIT, None), doc="The hit that is looked at.")

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self._job: Job | None = None
        self.is_continued, self._shown_at = False, 0.0
        self._next_filter: HitFilter | None = None
        self._filtering = Question(session, "hits of a filter", self._on_found)
        self.gene_files = GeneFiles(session)
        self._annotating = Question(session, "genes of hits", self._on_genes)
        session.genomes.param.watch(self._follow_genome, "opened")
        self.gene_files.param.watch(self._annotate, "opened")
        self.param.watch(self._annotate, "result")
        self.param.watch(self._ask, ["result", "filter", "order", "genes"])
        self._follow_genome()

    @property
    def is_searching(self) -> bool:
        """Whether a search is running."""
        return self._job is not None

    def run(self, query: OffTargetQuery, *, chosen: HitFilter | None = None) -> None:
        """Start a search; earlier results stay until there are new ones.

        Parameters
        ----------
        query
            The parameters of the search.
        chosen
            Filter of the first list; by default, all hits.
        """
        self.cancel()
        if self.genome is None:
            self.session.problem = "No genome is open. Choose one in the sidebar first."
            return
        self.session.forget_problem()
        self._next_filter = chosen or HitFilter()
        title = f"off-targets of {n_words(len(query.guides), 'guide')}"
        if self.genome.is_graph:
            maximum = self.session.max_rows(MAX_SITES)
            steps = iter_search_graph(self.genome, query, self.reference, max_sites=maximum)
        else:
            steps = iter_search(self.genome, query, max_hits=self.session.max_rows(MAX_HITS))
        self._job = self.session.submit(steps, title=title, follow=self._on_job)
        self.step = SearchStep(0.0, 0, 0, 0.0)

    def compare(self, reference: str) -> None:
        """Compare hits on a graph with another sample or path; "" for none."""
        self.reference = reference
        if self.result is not None and self.result.sites is not None and not self.is_searching:
            self._next_filter = self.filter
            title = "comparing off-targets with a reference"
            steps = iter_compare(self.result, reference)
            self._job = self.session.submit(steps, title=title, follow=self._on_job)
            self.step = SearchStep(0.0, 0, len(self.result), 0.0)

    def cancel(self) -> None:
        """Cancel the running search and keep its hits."""
        job, self._job = self._job, None
        if job is not None:
            job.cancel()
            self._keep(job)
        self.step = None

    def change(self, **changes: Any) -> None:
        """Change the filter, and deselect a hit of another guide."""
        guide = changes.get("guide", -1)
        if self.hit != NO_HIT and guide >= 0 and self.result.hits.guide_ids[self.hit] != guide:
            self.hit = NO_HIT
        self.filter = replace(self.filter, **changes)

    def choose_hit(self, row: int) -> None:
        """Select a hit, and show its position on all pages."""
        self.hit = row
        if row == NO_HIT:
            return
        graph = self.session.opened
        region = region_of(self.result, row)
        self.session.region = on_graph(graph.graph if graph is not None else None, region)

    def _on_job(self, job: Job) -> None:
        """Handle progress and end of a search."""
        if job is not self._job:  # it was cancelled or replaced
            return
        step = job.snapshot
        if not job.has_ended:
            if step is not None:
                self.step = step
                rests = time.monotonic() - self._shown_at > SHOWN_EVERY
                # The browser has rendered the previous result.
                is_asked = self._filtering.is_open or self._annotating.is_open
                if step.result not in (None, self.result) and rests and not is_asked:
                    self._take(step.result)
            return
        self._job = None
        if job.state is JobState.FAILED:
            self._keep(job)
            self.session.complain(describe_problem(job.error))
        elif job.state is JobState.FINISHED:
            self._take(step.result)
        self.step = None

    def _take(self, result: SearchResult) -> None:
        """Show a result, either new or as a continuation of the previous one."""
        before, self._shown_at = self.result, time.monotonic()
        self.is_continued = before is not None and before.is_growing
        if not self.is_continued:
            chosen = self._next_filter or HitFilter()
            self.param.update(hit=NO_HIT, found=None, filter=chosen, result=result)
            return
        chosen, hit = self.filter, self.hit
        if chosen.pam >= 0:  # PAM numbers are by frequency, and may change
            name, names = before.pams.names[chosen.pam], result.pams.names
            chosen = replace(chosen, pam=names.index(name) if name in names else -1)
        hit = NO_HIT if hit == NO_HIT else result.row_of(before, hit)
        self.param.update(hit=hit, filter=chosen, result=result)

    def _keep(self, job: Job) -> None:
        """Keep the partial result of a search that stopped."""
        result = None if job.snapshot is None else job.snapshot.result
        if result is not None and result.is_growing:
            self._take(replace(result, is_growing=False))

    def _follow_genome(self, *_events: Any) -> None:
        genome = self.session.genomes.opened
        if genome is not self.genome:
            self.cancel()
            self.param.update(
                genome=genome,
                result=None,
                found=None,
                hit=NO_HIT,
                filter=HitFilter(),
                reference=genome.planes.usual_reference if genome and genome.is_graph else "",
            )

    def _ask(self, *_events: Any) -> None:
        result, genes = self.result, self.genes
        is_current = genes is not None and genes.result is result
        if result is None:
            self._filtering.drop()
        # Wait for the genes of new hits, or else their column would flicker.
        elif is_current or not result.is_growing or self.gene_files.opened is None:
            self._filtering.ask(
                filter_hits, result, self.filter, self.order, genes if is_current else None
            )

    def _annotate(self, *_events: Any) -> None:
        """Find genes for new hits or of a new file; the previous genes are out of date."""
        result, file = self.result, self.gene_files.opened
        if result is not None and file is not None:
            self._annotating.ask(find_genes, result, file)
        else:
            self._annotating.drop()
        self.genes = None

    def _on_genes(self, genes: HitGenes) -> None:
        if genes.result is self.result and genes.file is self.gene_files.opened:
            self.genes = genes

    def _on_found(self, found: FoundHits) -> None:
        self.found = found
