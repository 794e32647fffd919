"""A component that draws on its own canvas in the browser, and the loop that feeds it with frames.

Messages are plain data in both directions, so no script is evaluated and a strict content policy
holds. One frame is in flight and the next is being drawn. The browser acknowledges each frame after
painting it and only then gets the next, which always shows the newest state. A slow browser
therefore gets fewer frames, but never a backlog. A picture that moves by itself may have two frames
in flight, so that the browser has the next one when it has painted one.
"""

from __future__ import annotations

import logging
import re
import time
import zlib
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import panel as pn
import param
from panel.custom import JSComponent
from panel.io.state import set_curdoc

SHARED_SCRIPTS = Path(__file__).parent / "canvas"
SHARED_NAMES = ("arrays", "canvas_gestures", "painted")
COMPRESSION_LEVEL = 1
WORTH_PACKING = 4096
LOST_FRAME_SECONDS = 4.0

Message = dict[str, Any]
Made = tuple[Any, Message]
log = logging.getLogger(__name__)


def join_scripts(paths: Sequence[Path], *, is_default: bool = False) -> str:
    """Join modules into one, because Panel and widgets accept a component as a single text.

    Each module may import from those before it. The last exports ``render``: by name for Panel, and
    as default for widgets.
    """
    parts = [_as_function(path.stem, path.read_text()) for path in paths]
    start, end = ("default { render:", " }") if is_default else ("const render =", "")
    return "\n".join([*parts, f"export {start} ${paths[-1].stem}.render{end};"])


def join_canvas(folder: Path, names: Sequence[str], *, is_default: bool = False) -> str:
    """Join the modules of a canvas, after those that all canvases share."""
    shared = [SHARED_SCRIPTS / f"{name}.js" for name in SHARED_NAMES]
    own = [folder / f"{name}.js" for name in names]
    return join_scripts([*shared, *own], is_default=is_default)


def _as_function(name: str, text: str) -> str:
    """Return a module as an immediately called function that returns its exports."""
    exported = re.findall(r"^export (?:async )?(?:class|function|const) (\w+)", text, re.MULTILINE)
    text = re.sub(r"^export ", "", text, flags=re.MULTILINE)
    imported = r'^import (.*) from "[./\w]*?(\w+)\.js";$'
    text = re.sub(imported, r"const \1 = $\2;", text, flags=re.MULTILINE)
    return f"const ${name} = (() => {{\n{text}\nreturn {{ {', '.join(exported)} }};\n}})();"


class Listening:
    """Dispatches a browser's messages by kind."""

    def listen(self, kind: str, callback: Callable[[Message], None]) -> None:
        """Register a callback for messages of a kind, called after the canvas handled them."""
        self._listeners.setdefault(kind, []).append(callback)

    @cached_property
    def _listeners(self) -> dict[str, list[Callable[[Message], None]]]:
        return {}

    def send(self, message: Message) -> None:
        """Send a message to the browser; needs the document lock."""
        self._send_msg(message)

    def _handle_msg(self, data: Message) -> None:
        for callback in self._listeners.get(data.get("kind", ""), ()):
            callback(data)


class CanvasComponent(Listening, JSComponent):
    """A canvas that reports user actions and receives messages."""

    answer = param.Dict({}, doc="The browser's last message; only the browser sets it.")

    __abstract = True

    @property
    def document(self) -> Any:
        """Bokeh's document of the tab whose message or event is being handled."""
        return pn.state.curdoc

    @property
    def _linked_properties(self) -> tuple[str, ...]:
        return tuple(name for name in super()._linked_properties if name != "answer")

    def _get_model(self, doc: Any, *arguments: Any, **options: Any) -> Any:
        """Return the model, and route its messages directly to this component.

        Bokeh offers each event to all components of a page, which is slower than drawing a frame.
        """
        model = super()._get_model(doc, *arguments, **options)
        model.data.on_change("answer", lambda _attr, _old, message: self._on_message(doc, message))
        return model

    def _on_message(self, document: Any, message: Message) -> None:
        with set_curdoc(document):
            self._handle_msg(message)


def pack_arrays(arrays: dict[str, np.ndarray]) -> Message:
    """Pack arrays into one compressed byte string, with a list of names, dtypes and lengths.

    Arrays with larger items come first, so that all are aligned.
    """
    arrays = dict(sorted(arrays.items(), key=lambda item: -item[1].itemsize))
    plan = [[name, array.dtype.str.lstrip("<|"), array.size] for name, array in arrays.items()]
    content = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays.values())
    is_packed = len(content) > WORTH_PACKING
    data = zlib.compress(content, COMPRESSION_LEVEL) if is_packed else content
    return {"plan": plan, "size": len(content), "is_packed": is_packed, "data": data}


def call_soon(document: Any, callback: Callable[[], None]) -> None:
    """Call a function under the lock of a tab's document, from any thread.

    Bokeh's own way is not thread-safe: while the tab collects changes, a callback may get lost, and
    the event loop may take this tab for the one that it is serving.
    """
    session = getattr(getattr(document, "session_context", None), "session", None)
    if session is None:  # a notebook's
        document.add_next_tick_callback(callback)
    else:
        in_tab = partial(_call_in, document, callback)
        session._loop.add_callback(partial(session.with_document_locked, in_tab))


def _call_in(document: Any, callback: Callable[[], None]) -> None:
    with set_curdoc(document):
        callback()


class FrameLoop:
    """Supplies one canvas with frames.

    Parameters
    ----------
    canvas
        The canvas.
    renderer
        Its threads draw.
    make
        Called in a thread of the renderer; returns the drawn content and its message, or None if
        there is nothing to draw.
    on_made
        Called under the document lock with the drawn content.
    on_hello
        Called under the document lock when a browser shows the canvas, which is still empty.
    on_failed
        Called under the document lock with the error of a failed frame.

    Attributes
    ----------
    document
        Bokeh's document of the tab; None before a browser shows the canvas, and after closing.
    n_painted
        Number of frames that the browser has painted.
    """

    def __init__(
        self,
        canvas: CanvasComponent,
        renderer: Executor,
        make: Callable[[], Made | None],
        *,
        on_made: Callable[[Any], None] = lambda _drawn: None,
        on_hello: Callable[[], None] = lambda: None,
        on_failed: Callable[[Exception], None] = lambda _error: None,
    ) -> None:
        self.canvas, self._renderer, self._make = canvas, renderer, make
        self._call_made, self._call_hello, self._call_failed = on_made, on_hello, on_failed
        self.document: Any = None
        self.n_painted = 0
        self._round = self._n_sent = 0
        self._is_wanted = self._is_drawing = False
        self._ready: Made | None = None
        self._in_flight: deque[tuple[int, float]] = deque()  # numbers, and when they were sent
        canvas.listen("hello", lambda _message: self.attach(canvas.document))
        canvas.listen("painted", self._on_painted)
        canvas.listen("resize", lambda _message: self.request())

    def attach(self, document: Any) -> None:
        """Restart for a browser that shows the canvas, which is still empty."""
        self._is_drawing, self._ready = False, None
        self._in_flight.clear()
        self.document = document
        self._round += 1
        self._call_hello()
        self.request()

    def detach(self) -> None:
        """Stop, because the tab was closed."""
        self.document = None
        self._round += 1

    def request(self) -> None:
        """Request a new frame, because content or view has changed."""
        self._is_wanted = True
        self.pump()

    def pump(self) -> None:
        """Send and draw pending frames; called periodically, and after each painted frame."""
        now = time.monotonic()
        if self.document is None:
            return
        if self._in_flight and now - self._in_flight[0][1] > LOST_FRAME_SECONDS:
            self._in_flight.clear()
        if self._ready is not None and len(self._in_flight) < self._max_in_flight():
            ready, self._ready = self._ready, None
            self._n_sent += 1
            self._in_flight.append((self._n_sent, now))
            self._send(*ready)
        if self._is_wanted and not self._is_drawing and self._ready is None:
            self._is_wanted, self._is_drawing = False, True
            future = self._renderer.submit(self._next())
            future.add_done_callback(partial(self._hand_over, self._round))

    def _max_in_flight(self) -> int:
        return 1

    def _next(self) -> Callable[[], Made | None]:
        """Return the function that makes the next frame; needs the document lock."""
        return self._make

    def _send(self, _drawn: Any, message: Message) -> None:
        """Send a frame, with its number."""
        self.canvas.send({**message, "n": self._n_sent})

    def _hand_over(self, round_: int, future: Future) -> None:
        """Continue in the document's thread after the renderer's."""
        document = self.document
        if document is not None and self._round == round_:
            call_soon(document, partial(self._on_drawn, round_, future))

    def _on_drawn(self, round_: int, future: Future) -> None:
        if self._round != round_:
            return
        self._is_drawing = False
        error = future.exception()
        if error is not None:
            log.error("a frame could not be drawn", exc_info=error)
            self._call_failed(error)
        elif future.result() is not None:
            self._ready = future.result()
            self._call_made(self._ready[0])
        self.pump()

    def _on_painted(self, message: Message) -> None:
        n = message["n"]
        if any(n == sent for sent, _ in self._in_flight):
            while self._in_flight and self._in_flight[0][0] <= n:
                self._in_flight.popleft()
            self.n_painted += 1
            self.pump()
