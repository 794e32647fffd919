"""The repeats of an index, made when a part of the page first needs them."""

from __future__ import annotations

from typing import Any

from genoviz.analyses.sequences.kmer_repeats import KmerRepeats
from genoviz_app.opening.index_files import BUILDERS, REPEATS
from genoviz_app.pages.kmers.state import KmerState
from genoviz_app.server.jobs import Job, JobState, describe_problem


class RepeatsOf:
    """The repeats of the index that is open; they are made once for everybody.

    Attributes
    ----------
    value
        The repeats, or None.
    text
        How far their making is; "" when idle.
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
        """Whether they are being made."""
        return self._job is not None

    def want(self, is_wanted: bool = True) -> None:
        """Begin to make them, unless they are here."""
        index = self._state.index
        is_idle = self.value is None and self._job is None and not self._has_failed
        if is_wanted and index is not None and is_idle:
            self.text = "comparing neighbouring suffixes"
            self._job = self._state.session.submit(
                REPEATS.iter_make(index.built), title=f"repeats of {index.title}", thread=BUILDERS
            )

    def has_changed(self, asker: object) -> bool:
        """Return whether they are others than when the same one asked before."""
        is_new = self._seen.get(id(asker), None) is not self.value
        self._seen[id(asker)] = self.value
        return is_new

    def poll(self) -> None:
        """Take them when they are ready."""
        job = self._job
        if job is None or not job.has_ended:
            return
        self._job, self.text = None, ""
        if job.state is JobState.FAILED:
            self._has_failed = True
            self._state.session.problem = describe_problem(job.error)
        elif job.state is JobState.FINISHED:
            self.value = job.snapshot.opened

    def _follow_index(self, *_events: Any) -> None:
        if self._job is not None:
            self._job.cancel()
        self._job, self.value, self.text, self._has_failed = None, None, "", False
