"""Does what a tab holds stay in memory after the tab is gone? It does with panel_material_ui.Page.

Run ``python docs/page_leak.py``; it needs Panel and panel-material-ui, and nothing of genoviz. Each
kind of page is served by a process of its own and asked for five times; no browser comes, so the
server drops all five sessions. With Bokeh 3.9.2, Panel 1.9.4 and panel-material-ui 0.16.6 it prints

    panel.Column: 5 tabs opened, 0 open, 0 still in memory
    panel_material_ui.Page: 5 tabs opened, 0 open, 5 still in memory
    the same without its `busy`: 5 tabs opened, 0 open, 0 or 1 still in memory

A page binds ``self.busy = state.param.busy``. This parameter is of all tabs, so its watchers hold
every page for ever. The one that may remain then is the first tab,
in whose context Panel starts its task for all tabs.
"""

from __future__ import annotations

import gc
import multiprocessing
import threading
import time
import urllib.request
import weakref
from collections.abc import Callable
from typing import Any

import panel as pn
import panel_material_ui as pmui
from panel.util import edit_readonly

N_TABS, SECONDS = 5, 10


class Held:
    """Stands for what a tab has open."""


def unbound_page() -> pmui.Page:
    """Return a page that does not follow the parameter of all tabs."""
    page = pmui.Page()
    with edit_readonly(page):
        page.busy = pn.rx(False)
    return page


KINDS: dict[str, Callable[[], Any]] = {
    "panel.Column": pn.Column,
    "panel_material_ui.Page": pmui.Page,
    "the same without its `busy`": unbound_page,
}


def count(name: str) -> None:
    """Serve one kind of page, ask for it, and print what is left of it."""
    held: weakref.WeakSet[Held] = weakref.WeakSet()

    def make_tab() -> Any:
        part = KINDS[name]()
        part.held = Held()
        held.add(part.held)
        return part

    server = pn.serve(
        make_tab,
        port=0,
        show=False,
        start=False,
        verbose=False,
        unused_session_lifetime_milliseconds=500,
        check_unused_sessions_milliseconds=200,
    )

    def visit() -> None:
        for _ in range(N_TABS):
            urllib.request.urlopen(f"http://localhost:{server.port}/").read()
        time.sleep(SECONDS)
        gc.collect()
        n_open = len(server.get_sessions("/"))
        text = f"{name}: {N_TABS} tabs opened, {n_open} open, {len(held)} still in memory"
        print(text, flush=True)  # noqa: T201
        server.io_loop.add_callback(server.io_loop.stop)

    server.start()
    threading.Thread(target=visit).start()
    server.io_loop.start()


if __name__ == "__main__":
    for kind in KINDS:
        process = multiprocessing.get_context("spawn").Process(target=count, args=(kind,))
        process.start()
        process.join()
