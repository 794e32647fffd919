"""What stands in a folded section or behind a tab, and is made when that is opened first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import panel_material_ui as pmui


class MadeWhenShown(pmui.Column):
    """A column that makes what is in it when a browser is first to show it.

    It is for layouts that show some of what they hold: `pmui.Accordion` and `pmui.Tabs`, if they
    are ``dynamic``. So what is in it is whole when it comes up.

    Parameters
    ----------
    make
        Returns what is in the column.
    """

    def __init__(self, make: Callable[[], Sequence[Any]], **params: Any) -> None:
        super().__init__(**params)
        self._contents: Callable[[], Sequence[Any]] | None = make

    def _get_model(self, *arguments: Any, **options: Any) -> Any:
        make, self._contents = self._contents, None
        if make is not None:
            self.objects = list(make())
        return super()._get_model(*arguments, **options)
