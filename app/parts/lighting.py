"""Highlighting across pages: the button, its common label, and the list of highlighted sets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import panel_material_ui as pmui
import param
from panel.custom import JSComponent

from genoviz.errors import GenovizError
from genoviz_app.session.highlights import Highlights
from genoviz_app.session.lit_links import write_lit
from genoviz_app.session.lit_sets import Highlight, LitSet
from genoviz_app.session.session import Session

WORDS = "Light up"
WHERE = "on all pages"
WAITS = "its hits are found when the sequences are indexed (K-mers)"


def light_button(
    session: Session,
    make: Callable[[], Highlight | Callable[[], Highlight]],
    what: str,
    **look: Any,
) -> pmui.Button:
    """Return a button that highlights what ``make`` returns.

    Parameters
    ----------
    make
        Called under the document lock. Returns the items, or a function that computes them in the
        background; raises `GenovizError` with a reason if there are none.
    what
        What is highlighted, for the tooltip.
    look
        Options of the button.
    """

    def light(_event: Any) -> None:
        try:
            things = make()
        except GenovizError as error:
            words = str(error)
            session.problem = f"{words[:1].upper()}{words[1:]}."
        else:
            session.highlights.light_up(things)

    options: dict[str, Any] = {"size": "small", "variant": "outlined", "icon": "lightbulb"}
    button = pmui.Button(
        label=WORDS, description=f"{WORDS}: {what}, {WHERE}", **{**options, **look}
    )
    button.on_click(light)
    return button


class LitList(JSComponent):
    """The list of a tab's highlights; hidden while empty.

    Parameters
    ----------
    on_go
        Called with the set whose name was clicked.
    """

    items = param.List(doc="Key, title, words, colour, and whether it is hidden, of each set.")

    _esm = (Path(__file__).parent / "lit_list.js").read_text()

    def __init__(
        self, highlights: Highlights, on_go: Callable[[LitSet], None], **params: Any
    ) -> None:
        super().__init__(sizing_mode="stretch_width", margin=(4, 4, 0, 4), **params)
        self._highlights, self._on_go = highlights, on_go
        highlights.param.watch(self._follow, ["sets", "asked"])
        self._follow()

    def _follow(self, *_events: Any) -> None:
        items = [
            {
                "key": lit.key,
                "title": lit.title,
                "words": lit.words if write_lit(lit) else f"{lit.words}; too many for a link",
                "colour": lit.colour,
                "is_hidden": lit.is_hidden,
            }
            for lit in self._highlights.sets
        ]
        items += [
            {"key": 0, "title": asked.title, "words": WAITS, "colour": "", "is_hidden": True}
            for asked in self._highlights.asked
        ]
        self.param.update(items=items, visible=bool(items))

    def _handle_msg(self, data: dict[str, Any]) -> None:
        act, key = data.get("act"), int(data.get("key", 0))
        if act == "clear":
            self._highlights.clear()
        elif act == "remove":
            self._highlights.remove(key)
        elif act == "hide":
            self._highlights.hide(key, bool(data.get("is_hidden")))
        elif act == "go":
            for lit in self._highlights.sets:
                if lit.key == key:
                    self._on_go(lit)
