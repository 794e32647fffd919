"""Progress of opening a file or of a computation, with a button to cancel it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import panel as pn
import panel_material_ui as pmui

from genoviz_app.parts.questions import Question
from genoviz_app.parts.words import plain_text


class _Bar:
    """A text and a bar that show the param ``opening`` of an owner: a progress, or None.

    Like the button, they are created on demand, because many bars are never shown.
    """

    panel: Any
    _text_look: ClassVar[dict[str, Any]] = {}

    def __init__(self, text_margin: Any, bar_margin: tuple[int, ...]) -> None:
        self._margins = text_margin, bar_margin

    def _make_button(self) -> Any:
        raise NotImplementedError

    def _make(self) -> None:
        of_text, of_bar = self._margins
        self._text = pmui.Typography("", variant="caption", margin=of_text, **self._text_look)
        self._bar = pmui.LinearProgress(sizing_mode="stretch_width", margin=of_bar)
        self._button = self._make_button()
        self.panel.objects = [self._text, self._bar, self._button]

    def _show(self, event: Any) -> None:
        progress = event.new
        with pn.io.hold():
            if progress is None:
                self.panel.visible = False
                return
            if not len(self.panel):
                self._make()
            self.panel.visible = self._bar.visible = self._button.visible = True
            self._text.object = plain_text(progress.text)
            is_known = progress.fraction is not None
            self._bar.variant = "determinate" if is_known else "indeterminate"
            if is_known:
                self._bar.value = round(100 * progress.fraction)


class OpeningBar(_Bar):
    """Text, bar and button; visible during opening, and after cancelling.

    Parameters
    ----------
    owner
        Has the param ``opening``: an `OpeningProgress`, or None.
    cancel
        Called to stop the opening.
    cancelled
        Text shown after cancelling, until the next opening.
    margin
        Margin of the bar.
    """

    def __init__(
        self,
        owner: Any,
        cancel: Callable[[], None],
        margin: tuple[int, ...] = (12, 0, 4, 0),
        *,
        cancelled: str = "Cancelled; what was open stays open.",
    ) -> None:
        super().__init__(0, margin)
        self._cancel, self._cancelled = cancel, cancelled
        self.panel = pmui.Column(visible=False, margin=0, sizing_mode="stretch_width")
        owner.param.watch(self._show, "opening")

    def _make_button(self) -> pmui.Button:
        button = pmui.Button(label="Cancel", size="small", variant="text", margin=0)
        button.on_click(lambda _: self._end())
        return button

    def _end(self) -> None:
        """Cancel, and show a message."""
        with pn.io.hold():
            self._cancel()
            self._text.object = self._cancelled
            self._bar.visible = self._button.visible = False
            self.panel.visible = True


class TaskBar(_Bar):
    """Text, bar and button of a computation in a row; hidden while idle.

    Parameters
    ----------
    question
        The computation.
    after_seconds
        Time after which the bar is shown.

    Attributes
    ----------
    panel
        The Panel object.
    """

    _text_look: ClassVar[dict[str, Any]] = {  # a second line would cover what is below
        "sx": {"whiteSpace": "nowrap"},
        "styles": {"flex": "none", "max-width": "75%", "overflow": "hidden"},
    }

    def __init__(self, question: Question, *, after_seconds: float = 0.0) -> None:
        super().__init__((4, 8, 0, 8), (13, 4, 0, 4))
        self._question, self._after_seconds = question, after_seconds
        self.panel = pmui.Row(visible=False, sizing_mode="stretch_width", margin=0, height=28)
        question.param.watch(self._show, "opening")

    def _make_button(self) -> pmui.IconButton:
        button = pmui.IconButton(
            icon="close", description="Cancel", size="16px", margin=(0, 8, 0, 4)
        )
        button.on_click(lambda _: self._question.drop())
        return button

    def _show(self, event: Any) -> None:
        is_over = event.new is None
        if (is_over and self.panel.visible) or (
            not is_over and self._question.seconds_open >= self._after_seconds
        ):
            super()._show(event)
