"""The browser's address: set by the page, and followed when a person goes back or forward.

Panel's own location does not hear of the browser's Back button, and makes an entry of its history
of every change.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import param
from panel.custom import JSComponent

from genoviz_app.session.address import Address


class Visited:
    """Tells of each address whether it is to be shown, and whether as an entry of its own.

    An address is shown once it has come to rest. Where page, files, region and view are those of
    the entry before, or a person has just gone back or forward, it takes the place of that entry.

    Examples
    --------
    >>> visited = Visited()
    >>> at = [Address(file=name) for name in ("a", "a", "b", "c", "c")]
    >>> [visited.visit(address) for address in at]
    [None, True, None, None, False]
    """

    def __init__(self) -> None:
        self._candidate: str | None = None
        self._shown: str | None = None
        self._place: tuple | None = None
        self._is_revisiting = True

    def visit(self, address: Address) -> bool | None:
        """Return whether an address replaces the entry before; None if it is not to be shown."""
        query = address.query
        is_at_rest, self._candidate = query == self._candidate, query
        if not is_at_rest or query == self._shown:
            return None
        place = _place_of(address)
        replaces = self._is_revisiting or place == self._place
        self._shown, self._place, self._is_revisiting = query, place, False
        return replaces

    def revisit(self, query: str) -> None:
        """Take note that the browser has gone back or forward."""
        self._shown = self._candidate = query
        self._is_revisiting = True


def _place_of(address: Address) -> tuple:
    return (
        address.page,
        address.file,
        address.sequences,
        address.genome,
        address.tracks,
        address.region,
        address.view,
        address.tab,
    )


class AddressBar(JSComponent):
    """Nothing to be seen; see `put`.

    Parameters
    ----------
    on_visit
        Called with the query of an address to which a person has gone back or forward.
    """

    shown = param.Dict({}, doc="The query, and whether it takes the place of the one before.")

    _esm = Path(__file__).with_suffix(".js").read_text()

    def __init__(self, on_visit: Callable[[str], None], **params: Any) -> None:
        super().__init__(
            width=0, height=0, margin=0, sizing_mode="fixed", styles={"position": "absolute"},
            **params,
        )  # fmt: skip
        self._on_visit = on_visit

    def put(self, query: str, *, replaces: bool) -> None:
        """Change the query: as an entry of its own, or in place of the one before."""
        self.shown = {"query": query, "replaces": replaces}

    def _handle_msg(self, data: dict[str, Any]) -> None:
        self._on_visit(str(data.get("query", "")))
