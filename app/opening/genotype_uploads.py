"""Uploads of a tab: files come one by one, and what they are shows once no more come."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from genoviz.io.files.replace_file import replace_file
from genoviz_app.opening.files import Tab
from genoviz_app.opening.genotype_names import FileSets, find_sets

REST_SECONDS = 0.7


class Arrivals:
    """Uploaded files that nothing has been opened of yet.

    Parameters
    ----------
    session
        Whose uploads they are.

    Attributes
    ----------
    names
        Names of the files, in the order in which they came.
    """

    def __init__(self, session: Tab) -> None:
        self._session = session
        self._came_at = 0.0
        self.names: list[str] = []

    def keep(self, contents: Mapping[str, bytes | str]) -> None:
        """Keep files until the tab closes."""
        for name, content in contents.items():
            path = self.path(Path(name).name)
            with replace_file(path) as file:  # what is open may be mapped from one of this name
                file.write(content.encode() if isinstance(content, str) else content)
            if path.name not in self.names:
                self.names.append(path.name)
        self._came_at = time.monotonic()

    @property
    def are_complete(self) -> bool:
        """Whether there are files, and no more have come for a while."""
        return bool(self.names) and time.monotonic() - self._came_at > REST_SECONDS

    @property
    def sets(self) -> FileSets:
        """What is to be opened of them."""
        return find_sets(self.path(""), self.names)

    def path(self, name: str) -> Path:
        """Return where a file is kept."""
        return self._session.upload_path(name)

    def forget(self) -> None:
        """Open none of them."""
        self.names = []
