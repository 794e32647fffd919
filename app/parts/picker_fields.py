"""The fields with which files are opened: a path on the server, and a place to drop uploads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import panel as pn
import panel_material_ui as pmui

from genoviz_app.server.setup import SETTINGS

UPLOAD_MEGABYTES = 500
WIDE: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": (12, 0, 4, 0)}


def path_field(
    label: str, placeholder: str, description: str, on_enter: Callable[[Any], None]
) -> pmui.TextInput:
    """Return the field for a path on the server; Enter calls ``on_enter``."""
    field = pmui.TextInput(
        label=label,
        placeholder=placeholder,
        description=f"{description[0].upper()}{description[1:]}. Enter opens it.",
        size="small",
        **WIDE,
    )
    field.param.watch(on_enter, "enter_pressed")
    return field


def written_path(field: pmui.TextInput) -> str:
    """Return what is written in a field, whether or not Enter was pressed."""
    return field.value_input or field.value


def open_button(on_click: Callable[[Any], None]) -> pmui.Button:
    """Return the button beside the path on the server."""
    button = pmui.Button(
        label="Open", icon="folder_open", size="small", variant="outlined", margin=(2, 0)
    )
    button.on_click(on_click)
    return button


_TAKEN: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
"""Bytes that were uploaded, by tab."""


def may_take(field: Any, n_bytes: int) -> bool:
    """Count what comes from a browser, and tell whether its tab may upload so much.

    The browser has limits of its own, which a person can change there.
    """
    tab = pn.state.curdoc or field
    total = _TAKEN[tab] = _TAKEN.get(tab, 0) + n_bytes
    if total <= SETTINGS.upload_megabytes * 1_000_000:
        return True
    if pn.state.notifications is not None:
        pn.state.notifications.error(too_much(SETTINGS.upload_megabytes), duration=0)
    return False


class UploadField(pn.widgets.FileDropper):
    """A place to drop files, which takes no more of one tab than the server allows."""

    def _process_event(self, event: Any) -> None:
        data = event.data.get("data")
        if data is not None and not may_take(self, len(data)):
            self._file_buffer.clear()
            return
        if event.data.get("chunk", 1) == 1 or event.data["name"] in self._file_buffer:
            super()._process_event(event)  # what follows a piece that was refused is refused too


class UploadButton(pmui.FileInput):
    """A button that takes a file of the person's, counted as what is dropped is."""

    def _process_chunk(self, msg: dict[str, Any]) -> None:
        if not may_take(self, len(msg["data"])):
            self._file_buffer.clear()
            self._buffer.clear()
        elif msg["chunk"] == 1 or msg["name"] in self._file_buffer:
            super()._process_chunk(msg)


def too_much(megabytes: int) -> str:
    """Return what a person is told who has uploaded too much."""
    return (
        f"More than {megabytes:,} MB were uploaded in this tab, and the server takes no more. "
        "Put the file where the server can read it and open it by its path, or use a new tab."
    )


def upload_field(take: Callable[[dict[str, Any]], None], *, multiple: bool = False) -> UploadField:
    """Return the place to drop files; ``take`` gets their contents by their names."""
    field = UploadField(
        multiple=multiple, max_file_size=f"{UPLOAD_MEGABYTES}MB", layout="compact", height=92,
        **WIDE,
    )  # fmt: skip

    def hand_over(event: Any) -> None:
        if event.new:
            take(event.new)
            field.value = {}  # the session has it now; here it would stay in memory

    field.param.watch(hand_over, "value")
    return field


def picker_tabs(*, sample: Any = None, server: list[Any], upload: list[Any]) -> pmui.Tabs:
    """Return the ways to a file as tabs."""
    ways = [
        ("Server", pmui.Column(*server, margin=0)),
        ("Upload", pmui.Column(*upload, margin=0)),
    ]
    if sample is not None:
        column = pmui.Column(sample, margin=0, sizing_mode="stretch_width")
        ways.insert(0, ("Samples", column))
    return pmui.Tabs(*ways, dynamic=True, sizing_mode="stretch_width", margin=0)


def caption(text: str) -> pmui.Typography:
    """Return a small text."""
    return pmui.Typography(text, variant="caption")
