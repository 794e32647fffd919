"""How far a computation of a panel is, in one line with a button that stops it."""

from __future__ import annotations

from typing import Any

import panel as pn
import panel_material_ui as pmui

from genoviz_app.parts.plain_text import plain_text
from genoviz_app.parts.questions import Question


class TaskBar:
    """Text, bar and button side by side; hidden while nothing is computed.

    Attributes
    ----------
    panel
        The Panel object.
    """

    def __init__(self, question: Question) -> None:
        self._text = pmui.Typography("", variant="caption", margin=(4, 8, 0, 8))
        self._bar = pmui.LinearProgress(sizing_mode="stretch_width", margin=(13, 4, 0, 4))
        button = pmui.IconButton(
            icon="close", description="Cancel", size="16px", margin=(0, 8, 0, 4)
        )
        button.on_click(lambda _: question.drop())
        self.panel = pmui.Row(
            self._text, self._bar, button, visible=False, sizing_mode="stretch_width", margin=0,
            height=28,
        )  # fmt: skip
        question.param.watch(self._show, "opening")

    def _show(self, event: Any) -> None:
        progress = event.new
        with pn.io.hold():
            self.panel.visible = progress is not None
            if progress is None:
                return
            self._text.object = plain_text(progress.text)
            is_known = progress.fraction is not None
            self._bar.variant = "determinate" if is_known else "indeterminate"
            if is_known:
                self._bar.value = round(100 * progress.fraction)
