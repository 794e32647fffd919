"""Server settings, and the permissions and limits of each user."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from genoviz_app.opening.served_files import ServedGenotypes, ServedGraph
from genoviz_app.server.limits import TAB, Limits, Quota, minimum

NOWHERE = Path("/dev/null")
"""Readable folder of users without any permissions."""


class Reach(tuple):
    """The folders and files that a user may read.

    Attributes
    ----------
    person
        The user; "" without login.
    """

    person: str

    def __new__(cls, paths: Iterable[Path], person: str = "") -> Reach:
        """Return the paths as a tuple with their user."""
        reach = super().__new__(cls, paths)
        reach.person = person
        return reach


@dataclass
class ServerSettings:
    """Settings of the server.

    Attributes
    ----------
    files
        Graphs to offer; a new tab opens the first.
    tracks
        Files that a new tab shows as tracks.
    unfolds
        Whether to lay out a small graph as soon as it is opened.
    folders
        Folders below which everybody may open files by path.
    sequences
        Sequences or k-mer indexes; a new tab opens the first.
    genotypes
        Genotypes, optionally with a table of phenotypes; a new tab opens the first.
    groups
        Users, and additional folders that they may read.
    offered
        All files that the server was started with.
    is_limited
        Whether files may be read from these folders only; unnecessary on a server that only this
        machine can reach.
    memory
        Memory limit of all open files, bytes; None for a share of the machine's memory.
    gpu_memory
        GPU memory limit of the server, bytes; None for all of it.
    scheduler
        Address of the Dask scheduler whose workers compute large analyses; "" for none.
    tab
        Limits of one tab.
    quotas
        Limits of all tabs of a group together.
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
    scheduler: str = ""
    tab: Limits = TAB
    quotas: tuple[Quota, ...] = ()

    def may_read(self, person: str) -> tuple[Path, ...]:
        """Return the folders and files that a user may read; empty for no limit."""
        if not self.is_limited:
            return ()
        groups = (folders for people, folders in self.groups if person in people)
        found = (*self.folders, *(folder for folders in groups for folder in folders))
        return Reach((*found, *self.offered) or (NOWHERE,), person)

    def quota_of(self, person: str) -> Quota | None:
        """Return the quota of the first of a user's groups that has one."""
        return next((quota for quota in self.quotas if person in quota.people), None)

    def limits_of(self, person: str) -> Limits:
        """Return the limits of one tab of a user."""
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
    """Return the user of the tab that is being created; "" without login."""
    from panel.io.state import state

    context = state.curdoc.session_context if state.curdoc is not None else None
    try:
        return context.token_payload.get("person", "") if context is not None else ""
    except (AssertionError, AttributeError):  # no token, as in a notebook
        return ""
