"""Drawing of a figure when the browser is ready for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Turn:
    """Draws under the document lock, once the browser has laid out the figure.

    Changing the axes of a figure while it appears disturbs the browser.

    Parameters
    ----------
    figure
        The figure.
    draw
        Draws the figure.
    """

    def __init__(self, figure: Any, draw: Callable[[], None]) -> None:
        self._figure, self._draw = figure, draw
        self._is_wanted = self._is_laid_out = self._is_asked = False
        figure.on_change("inner_width", self._on_width)

    @property
    def is_laid_out(self) -> bool:
        """Whether the browser has laid the figure out."""
        return self._is_laid_out

    def ask(self) -> None:
        """Draw at the next opportunity."""
        document = self._figure.document
        if document is None or document.session_context is None:
            self._draw()
            return
        self._is_wanted = True
        if self._is_laid_out and not self._is_asked:
            self._is_asked = True
            document.add_next_tick_callback(self._on_turn)

    def _on_turn(self) -> None:
        self._is_asked = self._is_wanted = False
        self._draw()

    def _on_width(self, _attr: str, _old: Any, new: Any) -> None:
        self._is_laid_out = bool(new and new > 0) or self._is_laid_out
        if self._is_wanted:
            self.ask()
