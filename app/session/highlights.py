"""Highlights on all pages: named sets, each with its own colour.

A page creates a `Highlight` and passes it to `Highlights.light_up`; all pages watch `sets`. The
nodes of a set on the open graph are found in a background job, a million places at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import param

from genoviz.errors import ParameterError
from genoviz.model import PangenomeGraph
from genoviz.model.genotypes.chromosomes import letter_names
from genoviz.model.intervals.intervals import aliases
from genoviz_app.server.jobs import FILES, Job, JobState, describe_problem
from genoviz_app.session.lit_links import parse_lit, write_lits
from genoviz_app.session.lit_sets import (
    COLOURS,
    NOWHERE,
    Highlight,
    LitSet,
    Place,
    contigs_of,
    place_on_graph,
    with_place,
)

if TYPE_CHECKING:
    from genoviz_app.session.session import Session


@dataclass(frozen=True, eq=False)
class Asked:
    """A question of a link, its title and text there, and what takes the answer."""

    question: str
    title: str
    text: str
    keep: Callable[..., None]


class Highlights(param.Parameterized):
    """The highlights of one tab.

    Attributes
    ----------
    sets
        The highlights, in order of creation; pages watch it.
    wanted
        The highlight that the user wants to see; pages watch it.
    asked
        Questions of a link; a page that has the answer calls `answer`.
    """

    sets = param.ClassSelector(class_=tuple, default=(), doc="A `LitSet` each.")
    asked = param.ClassSelector(class_=tuple, default=(), doc="An `Asked` each.")
    wanted = param.ClassSelector(class_=LitSet, allow_None=True, doc="What to go to.")

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._n_made = 0
        session.param.watch(self._follow_graph, "opened")

    @property
    def link(self) -> tuple[str, ...]:
        """Values for a link; sets that are too large are omitted."""
        return (*write_lits(self.sets), *(asked.text for asked in self.asked))

    @property
    def shown(self) -> tuple[LitSet, ...]:
        """The visible highlights."""
        return tuple(lit for lit in self.sets if not lit.is_hidden)

    def light_up(self, things: Highlight | Callable[[], Highlight]) -> None:
        """Highlight things on all pages; a set with the same name is replaced.

        A callable may take a while, because it runs in a background job.
        """
        self._submit(things, self._keep)

    def follow_link(self, items: tuple[str, ...]) -> None:
        """Create the highlights of a link, once its files are open."""
        for number, item in enumerate(items):
            try:
                things, colour, is_hidden = parse_lit(item, self._graph, number)
                keep = partial(self._keep, colour=colour, is_hidden=is_hidden)
                if things.question:
                    self.asked = (*self.asked, Asked(things.question, things.title, item, keep))
                else:
                    self._submit(things, keep)
            except ParameterError as error:
                self._session.complain(f"The link lights up what is not there: {error}.")

    def answer(self, asked: Asked, find: Callable[[], Highlight]) -> None:
        """Highlight the answer of a link's question, found in a background job."""
        self.asked = tuple(other for other in self.asked if other is not asked)
        self._submit(find, asked.keep)

    def why_not(self, lit: LitSet) -> str:
        """Return why a highlight is visible nowhere, in one sentence; empty if it is."""
        if len(lit.nodes) or any(self._knows(name) for name in contigs_of(lit.highlight)):
            return ""
        genotypes = self._session.genotypes.opened
        if genotypes is not None and lit.among(genotypes.genotypes.samples.ids).any():
            return ""
        title = lit.highlight.title
        if lit.graph is None:
            return (
                f"{title} is not lit up: no graph is open. Open one whose paths have it, or tracks."
            )
        reasons = () if lit.placed is None else lit.placed.reasons
        if lit.highlight.samples:
            reasons = ("no path of the graph and no genotypes belong to these samples",)
        why = "; ".join(reasons) or "it has no position on the graph"
        return f"{title} is not lit up: {why}. Open a graph or tracks that have it."

    def hide(self, key: int, is_hidden: bool = True) -> None:
        """Hide a highlight temporarily, or show it again."""
        self.sets = tuple(
            replace(lit, is_hidden=is_hidden) if lit.key == key else lit for lit in self.sets
        )

    def remove(self, key: int) -> None:
        """Remove a highlight."""
        self.sets = tuple(lit for lit in self.sets if lit.key != key)

    def clear(self) -> None:
        """Remove all highlights."""
        self.sets = self.asked = ()

    def want(self, lit: LitSet) -> None:
        """Let pages navigate to a highlight."""
        self.wanted = lit
        self.wanted = None

    def _follow_graph(self, *_events: Any) -> None:
        """Place all highlights on the newly opened graph; nodes of another graph are dropped."""
        kept = tuple(lit for lit in self.sets if lit.highlight.nodes is None)
        self.sets = tuple(with_place(lit, None, NOWHERE) for lit in kept)
        if self._graph is not None:
            for lit in kept:
                self._submit(lit.highlight, self._keep_anew)

    @property
    def _graph(self) -> PangenomeGraph | None:
        opened = self._session.opened
        return None if opened is None else opened.graph

    def _knows(self, contig: str) -> bool:
        """Return whether the open tracks or genotypes have a contig."""
        names = {contig, *aliases(contig)}
        genotypes = self._session.genotypes.opened
        if genotypes is not None:
            own = genotypes.genotypes
            contigs = own.variants.contigs
            if names & {*contigs, *letter_names(contigs, own.n_autosomes)}:
                return True
        return any(names & set(file.data.contigs) for file in self._session.tracks.files)

    def _submit(
        self,
        things: Highlight | Callable[[], Highlight],
        keep: Callable[[Highlight, Place], None],
    ) -> None:
        graph = self._graph

        def follow(job: Job) -> None:
            if job.state is JobState.FAILED:
                self._session.complain(describe_problem(job.error))
            elif job.state is JobState.FINISHED and self._graph is graph:
                keep(*job.snapshot)
            elif job.state is JobState.FINISHED:  # another graph was opened meanwhile
                self._submit(job.snapshot[0], keep)

        steps = _iter_place(graph, things)
        self._session.submit(steps, title="positions of highlights", pool=FILES, follow=follow)

    def _keep(
        self, highlight: Highlight, place: Place, *, colour: str = "", is_hidden: bool = False
    ) -> None:
        if not len(highlight):
            self._session.problem = f"{highlight.title} has nothing that could be lit up."
            return
        before = next((lit for lit in self.sets if _is_same(lit.highlight, highlight)), None)
        self._n_made += before is None
        key = before.key if before is not None else self._n_made
        colour = before.colour if before is not None else colour or self._free_colour()
        lit = LitSet(highlight, key, colour, "", is_hidden=is_hidden)
        lit = with_place(lit, self._graph, place)
        problem = self.why_not(lit)
        if problem:
            self._session.problem = problem
            return
        others = tuple(other for other in self.sets if other.key != key)
        self.sets = (*others, lit)

    def _keep_anew(self, highlight: Highlight, place: Place) -> None:
        self.sets = tuple(
            with_place(lit, self._graph, place) if lit.highlight is highlight else lit
            for lit in self.sets
        )

    def _free_colour(self) -> str:
        taken = [lit.colour for lit in self.sets]
        return min(COLOURS, key=taken.count)


def _is_same(one: Highlight, other: Highlight) -> bool:
    return (one.title, one.noun) == (other.title, other.noun)


def _iter_place(
    graph: PangenomeGraph | None, things: Highlight | Callable[[], Highlight]
) -> Iterator[tuple[Highlight, Place]]:
    highlight = things if isinstance(things, Highlight) else things()
    yield highlight, place_on_graph(graph, highlight)
