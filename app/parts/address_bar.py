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
