"""Server setup that all commands share."""

from __future__ import annotations

import logging
import time
import warnings
from contextlib import suppress
from contextvars import Context
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from bokeh.util.warnings import BokehUserWarning

from genoviz.backend import limit_gpu_memory
from genoviz.io.files.reading_rules import RULES
from genoviz_app.opening.memory import MEMORY, server_memory
from genoviz_app.server.class_facts import look_references_up
from genoviz_app.server.closed_tabs import remember_models
from genoviz_app.server.doors import Doors, TabOwner
from genoviz_app.server.event_loop import LOOP_LAG, TabByTab, share_interpreter
from genoviz_app.server.messages import (
    LOGGERS,
    TabCount,
    limit_messages,
    send_changes_in_order,
    talk_without_detours,
)
from genoviz_app.server.quick_models import make_models_quickly
from genoviz_app.server.settings import SETTINGS

log = logging.getLogger(__name__)

MAX_RATIO = 400
MAX_LINE_BYTES = 8 << 30
GOODBYES = ("WebSocketClosedError", "_pending_writes", "as connection was closed")


def prepare_server() -> None:
    """Prepare this process for serving: file access, and the libraries."""
    RULES.snapshots = True
    RULES.max_ratio, RULES.max_line_bytes = MAX_RATIO, MAX_LINE_BYTES
    MEMORY.total = SETTINGS.memory or server_memory()
    if SETTINGS.gpu_memory is not None:
        limit_gpu_memory(SETTINGS.gpu_memory)
    _prepare_libraries()


@cache
def _prepare_libraries() -> None:
    """Prepare Bokeh, Panel and the log; idempotent."""
    keep_styles_here()
    load_scripts_natively()
    tell_changes_at_once()
    send_changes_in_order()
    limit_messages()
    send_small_packets_at_once()
    talk_without_detours()
    keep_changes_of_ranges_apart()
    note_when_browsers_speak()
    look_for_no_garbage_at_closing()
    remember_models()
    keep_addresses_apart()
    share_interpreter()
    make_models_quickly()
    look_references_up()
    # Browsers resend models that are shown late, in a tab or a section that is opened.
    warnings.filterwarnings("ignore", "reference already known", BokehUserWarning)
    for name in ("asyncio", "tornado.general", *LOGGERS):
        logging.getLogger(name).addFilter(_is_no_goodbye)
    # Bokeh's own origin check is disabled, because `doors` has checked every request before.
    logging.getLogger("bokeh.server.util").addFilter(
        lambda record: not record.getMessage().startswith("Host wildcard")
    )


def close_doors(server: Any, doors: Doors) -> Any:
    """Apply access rules to all requests of a server, and record the user of each tab.

    Returns Bokeh's application, which has no public name; Panel uses this one too.
    """
    tornado = server._tornado
    tornado.doors = replace(doors, refuse_more=TabCount(tornado, doors.person_of).refuse)
    tornado.doors.close(tornado)
    for context in tornado.applications.values():
        context.application.add(TabOwner(doors.person_of))
        context.application.add(TabByTab())
    return tornado


def send_small_packets_at_once() -> None:
    """Set TCP_NODELAY on Bokeh's websockets; idempotent.

    Without the option, a small packet waits until the browser has acknowledged the one before it,
    some 40 ms.
    """
    from bokeh.server.views.ws import WSHandler

    open_socket = WSHandler.open
    if getattr(open_socket, "sends_at_once", False):
        return

    def open_at_once(self: Any, *arguments: Any, **options: Any) -> Any:
        result = open_socket(self, *arguments, **options)
        self.set_nodelay(True)
        return result

    open_at_once.sends_at_once = True
    WSHandler.open = open_at_once


def keep_styles_here() -> None:
    """Serve all style sheets from this server.

    Panel derives the URL of a style sheet from a component's document. For a component without a
    document, such as one that changes while another tab is shown, it uses a public CDN.
    """
    from panel import reactive
    from panel.io.resources import CDN_DIST, LOCAL_DIST, patch_stylesheet
    from panel.io.state import state

    def patch_here(stylesheet, dist_url):
        if dist_url == CDN_DIST:
            document = state.curdoc
            variables = document.template_variables if document is not None else {}
            dist_url = variables.get("dist_url", LOCAL_DIST)
        patch_stylesheet(stylesheet, dist_url)

    reactive.patch_stylesheet = patch_here


def load_scripts_natively() -> None:
    """Let browsers load component scripts natively, and cache their compiled code.

    Panel uses es-module-shims, which fetches and parses each script and has the browser compile a
    copy in every tab. That supports import maps, but no script here imports another, and Panel only
    checks for an import map of MUI. It also transpiles our scripts from TypeScript in each tab,
    although they are plain JavaScript. ``app/parts/native_modules.js`` replaces both.
    """
    from panel.custom import JSComponent, ReactiveESM
    from panel.io.resources import JS_VERSION, Resources
    from panel.models.esm import ReactiveESM as Model
    from panel_material_ui.base import MaterialComponent

    Model.__javascript_raw__ = []
    MaterialComponent._process_importmap = classmethod(
        lambda _cls: {"imports": {"@mui/material/": ""}}
    )
    find, adjust = vars(ReactiveESM)["_component_resource_path"].__func__, Resources.adjust_paths
    if hasattr(adjust, "names_versions"):
        return

    def adjust_paths(self, resources):
        paths = adjust(self, resources)
        return [f"{path}?v={JS_VERSION}" if path.endswith(".js") else path for path in paths]

    def path_of_content(cls, path, compiled):
        return f"{find(cls, path, compiled)}?v={_content_hash(path)}"

    def get_properties(self, doc):
        properties = ReactiveESM._get_properties(self, doc)
        if properties["bundle"] is None:
            properties["bundle"] = sha256(properties["esm"].encode()).hexdigest()
        return properties

    adjust_paths.names_versions = True
    Resources.adjust_paths = adjust_paths
    ReactiveESM._component_resource_path = classmethod(path_of_content)
    JSComponent._get_properties = get_properties


@cache
def _content_hash(path: Path) -> str:
    return sha256(Path(path).read_bytes()).hexdigest()[:20]


def tell_changes_at_once() -> None:
    """Notify listeners of our own model changes when they are made, even if they are held.

    Bokeh notifies them when the changes are sent. By then Panel mistakes them for changes from the
    browser: it sets the parameter again, which overwrites newer values or escapes markup twice.
    """
    from bokeh.document.callbacks import DocumentCallbackManager, invoke_with_curdoc

    notify = DocumentCallbackManager.notify_change
    if getattr(notify, "tells_at_once", False):
        return

    def notify_at_once(self, model, attr, old, new, hint=None, setter=None, callback_invoker=None):
        document = self._document()
        is_ours = setter is None and callback_invoker is not None
        if is_ours and document is not None and self.hold_value is not None:
            invoke_with_curdoc(document, callback_invoker)
            callback_invoker = None
        notify(self, model, attr, old, new, hint, setter, callback_invoker)

    notify_at_once.tells_at_once = True
    DocumentCallbackManager.notify_change = notify_at_once


def keep_changes_of_ranges_apart() -> None:
    """Send each change of a range separately, even if changes are held.

    Bokeh merges held changes and keeps the position of the earlier one. BokehJS clips ``start`` and
    ``end`` to the current ``bounds`` of a range. An end that was merged before the removal of the
    bounds was clipped, and a path was drawn from 0 to 1 bp instead of completely.
    """
    from bokeh.document.events import ModelChangedEvent
    from bokeh.models import Range

    combine = ModelChangedEvent.combine
    if getattr(combine, "parts_ranges", False):
        return

    def combine_others(self, event):
        return not isinstance(self.model, Range) and combine(self, event)

    combine_others.parts_ranges = True
    ModelChangedEvent.combine = combine_others


def note_when_browsers_speak() -> None:
    """Record in ``heard_at`` of a document when its browser last sent a message (monotonic, s)."""
    from bokeh.server.session import ServerSession

    patch = ServerSession.patch.__func__
    if getattr(patch, "is_noted", False):
        return

    def patch_noted(cls, message, connection):
        connection.session.document.heard_at = time.monotonic()
        return patch(cls, message, connection)

    patch_noted.is_noted = True
    ServerSession.patch = classmethod(patch_noted)


def look_for_no_garbage_at_closing() -> None:
    """Disable Panel's garbage collection for closed tabs, which `closed_tabs` dismantles."""
    from panel.io import document as panel_io

    panel_io._garbage_collect  # noqa: B018
    panel_io._garbage_collect = lambda: None


def keep_addresses_apart() -> None:
    """Give the location of each tab its own parameters.

    Panel makes the parameters of all locations writable for a moment to fill in one. Sometimes this
    overlapped for two pages, and one failed. One with a number of 5,000 digits failed too.
    """
    from panel.io import location

    init, parse = location.Location.__init__, location.parse_query
    if getattr(init, "stands_apart", False):
        return

    def parse_any(query):
        with suppress(ValueError):
            return parse(query)
        return {}

    def init_apart(self, **params):
        init(self, **params)
        self.param.objects()

    init_apart.stands_apart = True
    location.Location.__init__, location.parse_query = init_apart, parse_any


def share_tasks() -> None:
    """Start the tasks that run once for all tabs, unless they are running.

    A task started in a tab keeps that tab alive forever, as Panel's own shared task does.
    """
    from panel.io.state import state

    Context().run(state._schedule_busy_cleanup)
    Context().run(LOOP_LAG.start)


def forget_tab(session_context: Any) -> None:
    """Drop Panel's references to a closed tab: its notifications and all that they refer to."""
    from panel.io.state import state

    document = session_context._document
    for ref, view in tuple(state._views.items()):
        if view[2] is document:
            del state._views[ref]


def _is_no_goodbye(record: logging.LogRecord) -> bool:
    """Filter out log lines about a tab that was closed while a frame was in flight."""
    text = record.getMessage()
    if record.exc_info and type(record.exc_info[1]).__name__ == "WebSocketClosedError":
        return False
    return not any(word in text for word in GOODBYES)
