"""Shared state of the page: index, repeats, k-mers and hits."""

from __future__ import annotations

from functools import partial
from typing import Any

import param

from genoviz.analyses.sequences.kmer_repeats import KmerRepeats
from genoviz.analyses.sequences.kmers import Kmer
from genoviz_app.opening.index_files import BUILDERS, REPEATS, OpenIndex
from genoviz_app.pages.kmers.counting import CountAnswer, iter_count_text
from genoviz_app.pages.kmers.hits import MAX_LOCATED, HitSet, find_highlight, iter_find_hits
from genoviz_app.parts.questions import Question
from genoviz_app.parts.words import n_words
from genoviz_app.server.jobs import Job, JobState, describe_problem
from genoviz_app.session.address import MAX_K
from genoviz_app.session.session import Session

STRANDS = {"Both": "both", "Forward": "forward", "Canonical": "canonical"}
WAITING = "The figure is drawn when the index is built."
COUNTING = "The figure is drawn when all k-mers are counted."
ENTERED = "The k-mers are counted when the index is built."
DEFAULT_K = 21
LONG_SECONDS = 0.4
"""Seconds for which hits stay visible while those of another k-mer are located."""


class KmerState(param.Parameterized):
    """The query and its results; parts of the page watch it.

    Parameters
    ----------
    session
        The session of the page's tab.
    """

    is_awaited = param.Boolean(doc="Whether the graph of a link is still being opened.")
    index = param.ClassSelector(class_=OpenIndex, allow_None=True, doc="The index.")
    text = param.String(doc="The k-mers, as they were written.")
    strand = param.Selector(objects=list(STRANDS.values()), default="both", doc="What counts.")
    answer = param.ClassSelector(class_=CountAnswer, allow_None=True, doc="The counts.")
    chosen = param.Integer(0, doc="Which of the k-mers is looked at.")
    hits = param.ClassSelector(class_=HitSet, allow_None=True, doc="Where the chosen k-mer is.")
    k = param.Integer(DEFAULT_K, bounds=(1, MAX_K), doc="k of spectrum and counts per position.")

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self._counting = Question(session, "counts of k-mers", self._on_answer)
        self._finding = Question(session, "hits of a k-mer", self._on_hits)
        session.indexes.param.watch(self._follow_index, "opened")
        self.param.watch(self._ask, ["index", "text", "strand"])
        self.param.watch(self._find, ["answer", "chosen"])
        session.highlights.param.watch(self._light_asked, "asked")
        self._follow_index()

    @property
    def kmer(self) -> Kmer | None:
        """The selected k-mer, or None."""
        answer = self.answer
        if answer is None or not answer.kmers:
            return None
        return answer.kmers[min(self.chosen, len(answer.kmers) - 1)]

    @property
    def awaited(self) -> str:
        """What figures of all k-mers say until they have them."""
        return WAITING if self.index is None else COUNTING

    def without_counts(self, words: str) -> str:
        """Return what to say without counts: ``words``, unless k-mers wait for the index."""
        return ENTERED if self.index is None and self.text.strip() else words

    @property
    def is_counting(self) -> bool:
        """Whether counting is in progress."""
        return self._counting.is_open

    @property
    def is_finding(self) -> bool:
        """Whether counting or locating of hits is in progress."""
        return self._finding.is_open or self.is_counting

    def poll(self) -> None:
        """Drop old hits if those of a new k-mer are slow; called some twenty times per second."""
        waited = max(self._counting.seconds_open, self._finding.seconds_open)
        if waited > LONG_SECONDS and self.hits is not None:
            self.hits = None

    def _follow_index(self, *_events: Any) -> None:
        # Results from another index do not apply to the contigs of this one.
        self._counting.drop()
        self._finding.drop()
        index = self.session.indexes.opened
        self.param.update(index=index, answer=None, hits=None)
        self._light_asked()

    def _light_asked(self, *_events: Any) -> None:
        """Highlight the k-mers of a link whose hits are too many for it."""
        highlights, maximum = self.session.highlights, self.session.max_rows(MAX_LOCATED)
        for asked in highlights.asked if self.index is not None else ():
            find = partial(find_highlight, self.index.built, asked.question, maximum)
            highlights.answer(asked, find)

    def _ask(self, *_events: Any) -> None:
        if self.index is None or not self.text.strip():
            self._counting.drop()
            self._finding.drop()
            self.param.update(answer=None, chosen=0, hits=None)
            return
        self._counting.ask(iter_count_text, self.index.built, self.text, self.strand)

    def _on_answer(self, answer: CountAnswer) -> None:
        n = len(answer.kmers)
        self.param.update(answer=answer, chosen=self.chosen if self.chosen < n else 0)

    def _find(self, *_events: Any) -> None:
        kmer = self.kmer
        if kmer is None:
            self._finding.drop()
            self.hits = None
            return
        maximum = self.session.max_rows(MAX_LOCATED)
        self._finding.ask(iter_find_hits, self.index.built, kmer, self.answer.strand, maximum)

    def _on_hits(self, hits: HitSet) -> None:
        self.hits = hits


class RepeatsOf:
    """The repeats of the open index, computed once for all panels.

    Attributes
    ----------
    value
        The repeats, or None.
    text
        Progress of the computation; "" when idle.
    """

    def __init__(self, state: KmerState) -> None:
        self._state = state
        self._job: Job | None = None
        self._seen: dict[int, Any] = {}
        self._has_failed = False
        self.value: KmerRepeats | None = None
        self.text = ""
        state.param.watch(self._follow_index, "index")

    @property
    def is_making(self) -> bool:
        """Whether the computation is running."""
        return self._job is not None

    def want(self, is_wanted: bool = True) -> None:
        """Start the computation unless it is done."""
        index = self._state.index
        is_idle = self.value is None and self._job is None and not self._has_failed
        if is_wanted and index is not None and is_idle:
            self.text = "comparing neighbouring suffixes"
            self._job = self._state.session.submit(
                REPEATS.iter_make(index.built),
                title="repeats of k-mers",
                pool=BUILDERS,
                follow=self._on_job,
            )

    def has_changed(self, asker: object) -> bool:
        """Return whether the value has changed since the previous call by the same object."""
        is_new = self._seen.get(id(asker), None) is not self.value
        self._seen[id(asker)] = self.value
        return is_new

    def _on_job(self, job: Job) -> None:
        """Take the result of the job."""
        if job is not self._job or not job.has_ended:
            return
        self._job, self.text = None, ""
        if job.state is JobState.FAILED:
            self._has_failed = True
            self._state.session.complain(describe_problem(job.error))
        elif job.state is JobState.FINISHED:
            self.value = job.snapshot.opened

    def _follow_index(self, *_events: Any) -> None:
        if self._job is not None:
            self._job.cancel()
        self._job, self.value, self.text, self._has_failed = None, None, "", False


def stored_words(index: OpenIndex | None) -> str:
    """Return a note on counts in the stored text of a graph's index."""
    if index is None or index.built.pangenome is None:
        return ""
    n = index.built.pangenome.max_k - 1
    return (
        "; in the index, not on the paths: what they share is there once, and up to "
        f"{n_words(n, 'base')} "
        "again beside each difference"
    )
