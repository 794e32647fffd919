"""Server configuration of a lab."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from genoviz_app.opening.served_collections import InCollection
from genoviz_app.server.doors import LOOPBACK
from genoviz_app.server.limits import KEPT_MINUTES, TAB, Limits, Quota
from genoviz_app.server.people import OAuth, People

ADDRESS, PORT = "127.0.0.1", 5006
# What JupyterHub leaves of people's names in addresses; Tornado reads prefixes as patterns.
PREFIX = re.compile(r"(/(?!\.+(/|$))[\w.~@%-]+)*/?", re.ASCII)


@dataclass(frozen=True)
class Lab:
    """Server configuration.

    Attributes
    ----------
    address, port, prefix
        Listening address, and URL prefix.
    is_https
        Whether a proxy in front of it serves HTTPS.
    hosts, origins
        Host names of the server, and foreign origins that may use it.
    offer
        Files that everybody can choose; a folder or list of graphs is expanded.
    members
        The offered graphs that belong to a collection.
    folders
        Folders that everybody may read; empty for no limit.
    groups
        Users of each group, and additional folders that they may read.
    passwords
        File of user names and password hashes, or None.
    oauth
        OAuth provider, or None.
    secret
        Key that signs cookies.
    memory_gigabytes
        Memory limit for all open files; None for a share of the machine's memory.
    gpu_gigabytes
        GPU memory limit of the server; None for all of it.
    scheduler
        Address of the Dask scheduler whose workers compute large analyses; "" for none.
    kept_minutes
        Time that a file without users stays in memory.
    tab
        Limits of one tab.
    quotas
        Limits of all tabs of a group together.
    """

    address: str = ADDRESS
    port: int = PORT
    prefix: str = ""
    is_https: bool = False
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    offer: tuple[Path, ...] = ()
    members: Mapping[Path, InCollection] = field(default_factory=dict)
    folders: tuple[Path, ...] = ()
    groups: tuple[tuple[frozenset[str], tuple[Path, ...]], ...] = ()
    passwords: Path | None = None
    oauth: OAuth | None = None
    secret: str = ""
    memory_gigabytes: int | None = None
    gpu_gigabytes: int | None = None
    scheduler: str = ""
    kept_minutes: int = KEPT_MINUTES
    tab: Limits = TAB
    quotas: tuple[Quota, ...] = ()

    @property
    def is_limited(self) -> bool:
        """Whether reading is limited to offered files and some folders."""
        return bool(self.folders or self.groups) or self.address not in LOOPBACK

    @property
    def people(self) -> People | None:
        """The user accounts, or None without login."""
        if self.passwords is None and self.oauth is None:
            return None
        return People(
            self.secret or secrets.token_hex(32),
            self.passwords,
            self.oauth,
            is_https=self.is_https,
            prefix=self.prefix,
        )


def is_prefix(value: Any) -> bool:
    """Return whether a value is the path of a dashboard.

    Examples
    --------
    >>> [is_prefix(path) for path in ("/user/ada%40lab.org/genoviz", "", "/a/../b", "x", "/a(.*)")]
    [True, True, False, False, False]
    """
    return isinstance(value, str) and PREFIX.fullmatch(value) is not None
