"""The canvas in the browser on which the live picture is drawn, and the messages to and from it.

The browser moves the last frame about by itself and tells the view; frames make it sharp. Messages
go both ways as plain data, so that no script is evaluated and a strict content policy holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import param
from panel.custom import JSComponent
from panel.io.state import set_curdoc

from genoviz.analyses.viewport import Viewport
from genoviz.errors import ParameterError

CANVAS_NAME = "graph-canvas"
SCRIPTS = Path(__file__).parent / "canvas"
SCRIPT_NAMES = (
    "view", "frame", "detail", "labels", "furniture", "help", "gestures", "picture", "main",
)  # fmt: skip
HINT = "Open a graph, and its picture appears here"

Message = dict[str, Any]


def canvas_script() -> str:
    """Return the browser's side as one module, for Panel hands a component over as one text."""
    parts = [_as_function(name, (SCRIPTS / f"{name}.js").read_text()) for name in SCRIPT_NAMES]
    return "\n".join([*parts, "export const render = $main.render;"])


def _as_function(name: str, text: str) -> str:
    """Return a module as a function that is called at once and returns what it exports."""
    exported = re.findall(r"^export (?:async )?(?:class|function|const) (\w+)", text, re.MULTILINE)
    text = re.sub(r"^export ", "", text, flags=re.MULTILINE)
    text = re.sub(r'^import (.*) from "./(\w+).js";$', r"const \1 = $\2;", text, flags=re.MULTILINE)
    return f"const ${name} = (() => {{\n{text}\nreturn {{ {', '.join(exported)} }};\n}})();"


class GraphCanvas(JSComponent):
    """A canvas that shows frames, and tells where its person looks and points.

    Attributes
    ----------
    size
        Width and height in device pixels; zeros before the browser has told them.
    viewport
        What the canvas shows, as far as it has been told; None before.
    """

    summary = param.String("Pangenome graph", doc="What a screen reader says of the picture.")
    hint = param.String(HINT, doc="What to do, where there is nothing to draw; else empty.")
    answer = param.Dict({}, doc="The browser's last message; only the browser sets it.")

    _esm = canvas_script()

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self.size = (0, 0)
        self.viewport: Viewport | None = None
        self._n_moves = 0
        self._listeners: dict[str, list[Callable[[Message], None]]] = {}

    @property
    def _linked_properties(self) -> tuple[str, ...]:
        return tuple(name for name in super()._linked_properties if name != "answer")

    def _get_model(self, doc: Any, *arguments: Any, **options: Any) -> Any:
        """Return the model; its messages come here directly.

        Bokeh offers an event to all components of a page, which takes longer than to draw a frame.
        """
        model = super()._get_model(doc, *arguments, **options)
        model.data.on_change("answer", lambda _attr, _old, message: self._take(doc, message))
        return model

    def _take(self, document: Any, message: Message) -> None:
        with set_curdoc(document):
            self._handle_msg(message)

    def listen(self, kind: str, callback: Callable[[Message], None]) -> None:
        """Call back with each message of a kind, once the canvas has taken it in.

        Kinds are ``hello`` (a browser shows the canvas), ``resize``, ``view``, ``painted``,
        ``point``, ``leave``, ``click``, ``select``, ``fit`` and ``escape``.
        """
        self._listeners.setdefault(kind, []).append(callback)

    def send(self, message: Message) -> None:
        """Send a message to the browser; under the document lock."""
        self._send_msg({**message, "moves": self._n_moves})

    def look_at(self, view: Viewport) -> None:
        """Move the canvas to a view, unless its person moves it at this moment."""
        self.expect(view)
        self.send({"kind": "view", "bounds": bounds_of(view)})

    def expect(self, view: Viewport) -> None:
        """Take note of a view that a frame on its way will show."""
        self.viewport = view

    def _handle_msg(self, data: Message) -> None:
        kind = data.get("kind", "")
        if "bounds" in data and kind in ("hello", "resize", "view"):
            self.size = (int(data["width"]), int(data["height"]))
            try:
                self.viewport = Viewport(*data["bounds"], *self.size)
            except ParameterError:
                return
        if "moves" in data:
            self._n_moves = int(data["moves"])
        for callback in self._listeners.get(kind, ()):
            callback(data)


def bounds_of(view: Viewport) -> list[float]:
    """Return a view's rectangle as the browser takes it."""
    return [view.x_min, view.x_max, view.y_min, view.y_max]
