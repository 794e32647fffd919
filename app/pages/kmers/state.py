"""What the parts of the page share: the index, the k-mers asked for, and where they are."""

from __future__ import annotations

from typing import Any

import param

from genoviz.analyses.sequences.kmers import Kmer
from genoviz_app.opening.index_files import OpenIndex
from genoviz_app.pages.kmers.counting import CountAnswer, iter_count_text
from genoviz_app.pages.kmers.hits import HitSet, find_hits
from genoviz_app.parts.questions import Question
from genoviz_app.session.address import MAX_K
from genoviz_app.session.session import Session

STRANDS = {"Both": "both", "Forward": "forward", "Canonical": "canonical"}
DEFAULT_K = 21
LONG_SECONDS = 0.4
"""How long hits stay while those of another k-mer are found."""


class KmerState(param.Parameterized):
    """What is asked, and the answers; parts of the page watch it.

    Parameters
    ----------
    session
        Whose page it is.
    """

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
        self._counting = Question(session, "counts of k-mers", self._take_answer)
        self._finding = Question(session, "hits of a k-mer", self._take_hits)
        session.indexes.param.watch(self._follow_index, "opened")
        self.param.watch(self._ask, ["index", "text", "strand"])
        self.param.watch(self._find, ["answer", "chosen"])
        self._follow_index()

    @property
    def kmer(self) -> Kmer | None:
        """The k-mer that is looked at, or None."""
        answer = self.answer
        if answer is None or not answer.kmers:
            return None
        return answer.kmers[min(self.chosen, len(answer.kmers) - 1)]

    @property
    def is_counting(self) -> bool:
        """Whether the counts are not here yet."""
        return self._counting.is_open

    @property
    def is_finding(self) -> bool:
        """Whether the hits are not here yet."""
        return self._finding.is_open or self.is_counting

    def poll(self) -> None:
        """Take the answers that are here."""
        self._counting.poll()
        self._finding.poll()
        waited = max(self._counting.seconds_open, self._finding.seconds_open)
        if waited > LONG_SECONDS and self.hits is not None:
            self.hits = None

    def _follow_index(self, *_events: Any) -> None:
        # What was found in the index before says nothing of the contigs of this one.
        self._counting.drop()
        self._finding.drop()
        index = self.session.indexes.opened
        self.param.update(index=index, answer=None, hits=None)

    def _ask(self, *_events: Any) -> None:
        if self.index is None or not self.text.strip():
            self._counting.drop()
            self._finding.drop()
            self.param.update(answer=None, chosen=0, hits=None)
            return
        self._counting.ask(iter_count_text, self.index.built, self.text, self.strand)

    def _take_answer(self, answer: CountAnswer) -> None:
        n = len(answer.kmers)
        self.param.update(answer=answer, chosen=self.chosen if self.chosen < n else 0)

    def _find(self, *_events: Any) -> None:
        kmer = self.kmer
        if kmer is None:
            self._finding.drop()
            self.hits = None
            return
        self._finding.ask(find_hits, self.index.built, kmer, self.answer.strand)

    def _take_hits(self, hits: HitSet) -> None:
        self.hits = hits
