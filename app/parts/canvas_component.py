"""A component that draws on a canvas of its own in the browser, and the messages to and from it.

Messages go both ways as plain data, so that no script is evaluated and a strict content policy
holds.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import param
from panel.custom import JSComponent
from panel.io.state import set_curdoc

SHARED_SCRIPTS = Path(__file__).parent / "canvas"
COMPRESSION_LEVEL = 1
WORTH_PACKING = 4096

Message = dict[str, Any]


def join_scripts(paths: Sequence[Path]) -> str:
    """Return modules as one, for Panel hands a component over as one text.

    Each may import from those before it; the last exports ``render``.
    """
    parts = [_as_function(path.stem, path.read_text()) for path in paths]
    return "\n".join([*parts, f"export const render = ${paths[-1].stem}.render;"])


def _as_function(name: str, text: str) -> str:
    """Return a module as a function that is called at once and returns what it exports."""
    exported = re.findall(r"^export (?:async )?(?:class|function|const) (\w+)", text, re.MULTILINE)
    text = re.sub(r"^export ", "", text, flags=re.MULTILINE)
    imported = r'^import (.*) from "[./\w]*?(\w+)\.js";$'
    text = re.sub(imported, r"const \1 = $\2;", text, flags=re.MULTILINE)
    return f"const ${name} = (() => {{\n{text}\nreturn {{ {', '.join(exported)} }};\n}})();"


class CanvasComponent(JSComponent):
    """A canvas that tells what its person does, and takes messages."""

    answer = param.Dict({}, doc="The browser's last message; only the browser sets it.")

    __abstract = True

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self._listeners: dict[str, list[Callable[[Message], None]]] = {}

    @property
    def _linked_properties(self) -> tuple[str, ...]:
        return tuple(name for name in super()._linked_properties if name != "answer")

    def _get_model(self, doc: Any, *arguments: Any, **options: Any) -> Any:
        """Return the model; its messages come here directly.

        Bokeh offers an event to all components of a page, which takes longer than to draw a frame.
        """
        model = super()._get_model(doc, *arguments, **options)
        model.data.on_change("answer", lambda _attr, _old, message: self._on_message(doc, message))
        return model

    def _on_message(self, document: Any, message: Message) -> None:
        with set_curdoc(document):
            self._handle_msg(message)

    def listen(self, kind: str, callback: Callable[[Message], None]) -> None:
        """Call back with each message of a kind, once the canvas has taken it in."""
        self._listeners.setdefault(kind, []).append(callback)

    def send(self, message: Message) -> None:
        """Send a message to the browser; under the document lock."""
        self._send_msg(message)

    def _handle_msg(self, data: Message) -> None:
        for callback in self._listeners.get(data.get("kind", ""), ()):
            callback(data)


def pack_arrays(arrays: dict[str, np.ndarray]) -> Message:
    """Return arrays as one compressed text of bytes, with a plan: name, kind and length of each.

    Those of large items go first, so that all lie where their kind may.
    """
    arrays = dict(sorted(arrays.items(), key=lambda item: -item[1].itemsize))
    plan = [[name, array.dtype.str.lstrip("<|"), array.size] for name, array in arrays.items()]
    content = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays.values())
    is_packed = len(content) > WORTH_PACKING
    data = zlib.compress(content, COMPRESSION_LEVEL) if is_packed else content
    return {"plan": plan, "size": len(content), "is_packed": is_packed, "data": data}
