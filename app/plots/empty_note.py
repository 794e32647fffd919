"""A note in the middle of a figure that has no data."""

from __future__ import annotations

from textwrap import fill
from typing import Any

from bokeh.models import Label, Node

from genoviz_app.plots.graph_picture import FAINT

LETTERS, LETTER_WIDTH = 26, 7.6
"""Letters per line, fewer in a narrow figure, and mean width of a letter, px."""


class EmptyNote:
    """A note that replaces the axes of an empty figure, whose numbers would be meaningless.

    Parameters
    ----------
    plot
        The figure, with its final axes and grids.
    others
        Other elements to hide while there are no data.

    Attributes
    ----------
    words
        The text of the note; empty if there are data.
    """

    def __init__(self, plot: Any, *others: Any) -> None:
        parts = (*plot.axis, *plot.grid)
        self.words = ""
        self._parts = (*(part for part in parts if part.visible), *others)
        self._letters = LETTERS
        self._label = Label(
            x=Node(target="frame", symbol="center"), y=Node(target="frame", symbol="center"),
            text="", text_color=FAINT, text_font_size="13px", text_align="center",
            text_baseline="middle", visible=False,
        )  # fmt: skip
        plot.add_layout(self._label)
        plot.on_change("inner_width", self._on_width)

    def show(self, words: str) -> None:
        """Show a note; "" shows the axes again."""
        if words == self.words:
            return
        self.words = words
        self._label.update(text=self._text, visible=bool(words))
        for part in self._parts:
            part.visible = not words

    @property
    def _text(self) -> str:
        """The note in lines that fit."""
        return "\n".join(
            fill(line, self._letters, break_long_words=False) for line in self.words.splitlines()
        )

    def _on_width(self, _attr: str, _old: Any, width: int | None) -> None:
        if width:
            self._letters = min(max(int(width / LETTER_WIDTH), 1), LETTERS)
            self._label.text = self._text
