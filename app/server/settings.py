"""What the server was started with, and what each person may read and take."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from genoviz_app.opening.served_files import ServedGenotypes, ServedGraph
from genoviz_app.server.limits import TAB, Limits, Quota, minimum

NOWHERE = Path("/dev/null")
"""What those may read who may read nothing."""


class Reach(tuple):
    """The folders and files that somebody may read.

    Attributes
    ----------
    person
        Who it is; "" where nobody logs in.
    """

    person: str

    def __new__(cls, paths: Iterable[Path], person: str = "") -> Reach:
        """Return the paths as a tuple that knows whose they are."""
        reach = super().__new__(cls, paths)
        reach.person = person
        return reach


@dataclass
class ServerSettings:
    """What the server was started with.

    Attributes
    ----------
    files
        Graphs to offer; a new tab opens the first.
    tracks
        Files that a new tab has as tracks.
    unfolds
        Whether a graph that takes a moment is laid out as soon as it is open.
    folders
        Folders below which everybody may open files by path.
    sequences
        Sequences, or indexes of k-mers; a new tab opens the first.
    genotypes
        Genotypes, each perhaps with a table of phenotypes; a new tab opens the first.
    groups
        People, and the folders that they may read besides.
    offered
        All files that the server was started with.
    is_limited
        Whether files may be read in these folders only, which is not needed on a server that only
        this machine can reach.
    memory
        How many bytes of memory open files may take together; None for a share of the machine's.
    gpu_memory
        How many bytes of memory the server may take on the GPU; None for all of it.
    tab
        What one tab may take.
    quotas
        What all tabs of a group may take together.
    """

    files: tuple[ServedGraph, ...] = ()
    folders: tuple[Path, ...] = ()
    tracks: tuple[Path, ...] = ()
    unfolds: bool = False
    sequences: tuple[Path, ...] = ()
    genotypes: tuple[ServedGenotypes, ...] = ()
    groups: tuple[tuple[frozenset[str], tuple[Path, ...]], ...] = ()
    offered: tuple[Path, ...] = ()
    is_limited: bool = False
    memory: int | None = None
    gpu_memory: int | None = None
    tab: Limits = TAB
    quotas: tuple[Quota, ...] = ()

    def may_read(self, person: str) -> tuple[Path, ...]:
        """Return the folders, and single files, that somebody may read; empty for no limit."""
        if not self.is_limited:
            return ()
        groups = (folders for people, folders in self.groups if person in people)
        found = (*self.folders, *(folder for folders in groups for folder in folders))
        return Reach((*found, *self.offered) or (NOWHERE,), person)

    def quota_of(self, person: str) -> Quota | None:
        """Return that of the first group that somebody belongs to and that has one."""
        return next((quota for quota in self.quotas if person in quota.people), None)

    def limits_of(self, person: str) -> Limits:
        """Return what one tab of somebody may take."""
        quota = self.quota_of(person)
        if quota is None:
            return self.tab
        return replace(
            self.tab,
            job_minutes=minimum(self.tab.job_minutes, quota.limits.job_minutes),
            rows=minimum(self.tab.rows, quota.limits.rows),
        )


SETTINGS = ServerSettings()


def current_person() -> str:
    """Return who has the tab that is being made; "" where nobody logs in."""
    from panel.io.state import state

    context = state.curdoc.session_context if state.curdoc is not None else None
    try:
        return context.token_payload.get("person", "") if context is not None else ""
    except (AssertionError, AttributeError):  # a tab without a token, as in a notebook
        return ""
