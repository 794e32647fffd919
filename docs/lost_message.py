"""Is a browser told of the last change of a tab? With Panel 1.9.4 not always.

Run ``python docs/lost_message.py``; it needs Panel, and nothing of genoviz. A class stands for the
websocket of a browser: somebody else writes on it when the first change comes, and what is written
is out when it is let out. It prints

    Panel as it is: 2 changes, told of 1; after a third change told of 3
    until no message is left: 2 changes, told of 2; after a third change told of 3

While a websocket is written to, `panel.io.document` keeps messages in ``_WRITE_MSGS`` and starts a
task for them, ``_dispatch_msgs``. A change that comes in the round of the event loop in which an
earlier task's messages are out, before this task goes on, is kept too, with a task of its own. Then
the earlier task deletes ``_WRITE_BLOCK[doc]``, as nothing of what it took remains; so the new task
returns at its first line, and its message stays until the tab changes again. `dispatch_all` below
takes ``_WRITE_MSGS`` until it is empty.
"""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace

import panel as pn
from bokeh.document import Document
from bokeh.protocol import Protocol
from panel.io import document as panel_io
from panel.io.state import set_curdoc, state
from tornado.locks import Lock
from tornado.websocket import WebSocketHandler

dispatch = panel_io._dispatch_msgs


class SlowSocket(WebSocketHandler):
    """A browser's websocket, and its connection; Bokeh writes on it while it has the lock."""

    def __init__(self) -> None:
        self.write_lock, self.ws_connection, self._socket = Lock(), self, self
        self.protocol, self.text, self._waiting = Protocol(), "", []

    def is_closing(self) -> bool:
        """Return whether the browser is gone."""
        return False

    def write_message(self, text: str, binary: bool = False) -> asyncio.Future:  # noqa: ARG002
        """Write a part of a message."""
        self.text += str(text)
        self._waiting.append(asyncio.get_running_loop().create_future())
        return self._waiting[-1]

    def let_out(self) -> None:
        """Let all that was written be out."""
        for future in self._waiting:
            future.set_result(None)
        self._waiting = []

    @property
    def n_told(self) -> int:
        """How many of the changes the browser was told of."""
        return sum(f"change {number}" in self.text for number in range(3))


async def settle(socket: SlowSocket) -> None:
    """Let everything be sent that anybody will send."""
    for _ in range(20):
        socket.let_out()
        await asyncio.sleep(0.001)


async def change(name: str) -> None:
    """Change a tab while its socket is written to, and print what its browser was told."""
    socket, field = SlowSocket(), pn.widgets.TextInput()
    document = Document()
    document.add_root(field.get_root(document))
    session = SimpleNamespace(_subscribed_connections=[socket])
    request = SimpleNamespace(arguments={})
    context = SimpleNamespace(session=session, request=request, server_context=None)
    document._session_context = lambda: context
    state._connected[document] = state._loaded[document] = True
    state._thread_id_[document] = threading.get_ident()
    with set_curdoc(document):
        others = await socket.write_lock.acquire()
        field.placeholder = "change 0"  # kept, with a task of its own
        others.__exit__(None, None, None)
        while not socket.text:
            await asyncio.sleep(0)
        socket.let_out()  # the task will go on in the next round, and
        field.placeholder = "change 1"  # this one's begins in the same, after it
        await settle(socket)
        n_told = socket.n_told
        field.placeholder = "change 2"
        await settle(socket)
    words = f"2 changes, told of {n_told}; after a third change told of {socket.n_told}"
    print(f"{name}: {words}", flush=True)  # noqa: T201


async def dispatch_all(document: Document) -> None:
    """Send what is kept, until nothing is."""
    await dispatch(document)
    while document in panel_io._WRITE_MSGS and document not in panel_io._WRITE_BLOCK:
        panel_io._WRITE_BLOCK[document] = True
        await dispatch(document)


if __name__ == "__main__":
    asyncio.run(change("Panel as it is"))
    panel_io._dispatch_msgs = dispatch_all
    asyncio.run(change("until no message is left"))
