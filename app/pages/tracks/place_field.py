"""The field for a region or the name of a feature, with suggestions as one types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import panel_material_ui as pmui
from panel.util import edit_readonly

N_SUGGESTIONS = 12
LEAST_LETTERS = 2


class PlaceField(pmui.AutocompleteInput):
    """A text that may be anything; suggestions are asked for, not held in the browser."""

    # Names of features are looked up where they are; a list of all would not fit a page.
    _suggest: Callable[[str], list[str]] | None = None

    def __init__(self, suggest: Callable[[str], list[str]], **params: Any) -> None:
        super().__init__(
            restrict=False,
            lazy_search=True,
            case_sensitive=False,
            min_characters=LEAST_LETTERS,
            options=[],
            value="",
            **params,
        )
        self._suggest = suggest
        self._is_own, self._written = False, ""

    @property
    def is_typed(self) -> bool:
        """Whether the text is a person's, entered or not.

        An empty one is nobody's: the field says that it is empty as a browser first shows it.
        """
        return (self.value_input or self._written) != self._written

    def write(self, text: str) -> None:
        """Show a text that nobody has typed."""
        self._is_own, self._written = True, text
        self.value = text
        self._show(text)
        self._is_own = False

    def _show(self, text: str) -> None:
        """Show a text, which the field itself forgets once a browser shows it."""
        with edit_readonly(self):
            self.value_input = text

    def on_type(self, act: Callable[[], None]) -> None:
        """Call back when a person has typed something."""

        def take(_event: Any) -> None:
            if not self._is_own:
                act()

        self.param.watch(take, "value_input")

    def on_go(self, go: Callable[[str], None]) -> None:
        """Call back with each text that is entered or chosen."""

        def take(event: Any) -> None:
            if not self._is_own and event.new:
                self._show(event.new)
                go(event.new)

        self.param.watch(take, "value")

    def _filter_options(self, query: str, *_how: Any) -> list[str]:
        return self._suggest(query) if self._suggest is not None else []
