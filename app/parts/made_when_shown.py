"""Content of a collapsed section or tab that is created when it is first opened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import panel_material_ui as pmui


class MadeWhenShown(pmui.Column):
    """A column that creates its content just before a browser first shows it.

    For layouts that show part of their content: `pmui.Accordion`, and `pmui.Tabs` with ``dynamic``.
    The content is complete when it appears.

    Parameters
    ----------
    make
        Returns the content of the column.
    """

    def __init__(self, make: Callable[[], Sequence[Any]], **params: Any) -> None:
        super().__init__(**params)
        self._contents: Callable[[], Sequence[Any]] | None = make

    def _get_model(self, *arguments: Any, **options: Any) -> Any:
        make, self._contents = self._contents, None
        if make is not None:
            self.objects = list(make())
        return super()._get_model(*arguments, **options)
