"""Input fields for opening files: a path on the server, and an upload area."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import panel as pn
import panel_material_ui as pmui

from genoviz_app.parts.made_when_shown import MadeWhenShown
from genoviz_app.server.limits import UPLOAD_MEGABYTES
from genoviz_app.server.settings import SETTINGS, current_person

MB = 1_000_000
WIDE: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": (12, 0, 4, 0)}
THREE: dict[str, Any] = {
    "& .MuiTab-root": {"paddingX": "8px", "minWidth": "70px"},
    # Tabs measured before the drawer has its width would keep scroll buttons over the last tab.
    "& .MuiTabScrollButton-root": {"display": "none"},
}
"""Tab style for the drawer, which becomes narrower when it needs a scroll bar."""


def path_field(
    label: str, placeholder: str, description: str, on_enter: Callable[[Any], None]
) -> pmui.TextInput:
    """Return an input for a path on the server; Enter calls ``on_enter``."""
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
    """Return the text of a field, even before Enter was pressed."""
    return field.value_input or field.value


def open_button(on_click: Callable[[Any], None]) -> pmui.Button:
    """Return the button next to the path on the server."""
    button = pmui.Button(
        label="Open", icon="folder_open", size="small", variant="outlined", margin=(2, 0)
    )
    button.on_click(on_click)
    return button


_TAKEN: WeakKeyDictionary[Any, tuple[str, int]] = WeakKeyDictionary()
"""User and uploaded bytes by tab."""


def may_take(field: Any, n_bytes: int) -> bool:
    """Count an upload, and return whether it is within the limits of the tab's user.

    The browser enforces limits too, but its user can change those.
    """
    tab, person = pn.state.curdoc or field, current_person()
    total = _TAKEN.get(tab, (person, 0))[1] + n_bytes
    _TAKEN[tab] = person, total
    sentence = _over_limits(person, total)
    if sentence and pn.state.notifications is not None:
        pn.state.notifications.error(sentence, duration=0)
    return not sentence


def _over_limits(person: str, n_bytes: int) -> str:
    """Return the message for a user over an upload limit; "" within the limits."""
    of_tab, quota = SETTINGS.tab.upload_megabytes, SETTINGS.quota_of(person)
    if of_tab is not None and n_bytes > of_tab * MB:
        return too_much(of_tab)
    of_group = None if quota is None else quota.limits.upload_megabytes
    if of_group is None:
        return ""
    taken = sum(total for other, total in tuple(_TAKEN.values()) if other in quota.people)
    return too_much(of_group, quota.words) if taken > of_group * MB else ""


class UploadField(pn.widgets.FileDropper):
    """An upload area that enforces the server's limits for each tab."""

    def _process_event(self, event: Any) -> None:
        data = event.data.get("data")
        if data is not None and not may_take(self, len(data)):
            self._file_buffer.clear()
            return
        if event.data.get("chunk", 1) == 1 or event.data["name"] in self._file_buffer:
            super()._process_event(event)  # pieces after a refused one are refused too


class UploadButton(pmui.FileInput):
    """A button that uploads a file, counted like files that are dropped."""

    def _process_chunk(self, msg: dict[str, Any]) -> None:
        if not may_take(self, len(msg["data"])):
            self._file_buffer.clear()
            self._buffer.clear()
        elif msg["chunk"] == 1 or msg["name"] in self._file_buffer:
            super()._process_chunk(msg)


def too_much(megabytes: int, group: str = "") -> str:
    """Return the message for a user, or a group, that has uploaded too much."""
    if group:
        return (
            f"More than {megabytes:,} MB were uploaded in the open tabs of {group}, and the server "
            "takes no more. Put the file where the server can read it and open it by its path, or "
            "close tabs of the group whose uploads are not needed."
        )
    return (
        f"More than {megabytes:,} MB were uploaded in this tab, and the server takes no more. "
        "Put the file where the server can read it and open it by its path, or use a new tab."
    )


GROWS = """
:host { min-height: 92px; }
.filepond--root { max-height: 240px; overflow: hidden auto; margin-bottom: 6px; }
"""
"""Style of an upload area that grows to show the progress of each file."""


def upload_field(take: Callable[[dict[str, Any]], None], *, multiple: bool = False) -> UploadField:
    """Return an upload area; ``take`` receives file contents by file name."""
    field = UploadField(
        multiple=multiple, max_file_size=f"{UPLOAD_MEGABYTES}MB", layout="compact",
        stylesheets=[GROWS], **WIDE,
    )  # fmt: skip

    def hand_over(event: Any) -> None:
        if event.new:
            take(event.new)
            field.value = {}  # the session has the content; the field would keep a copy in memory

    field.param.watch(hand_over, "value")
    return field


def picker_tabs(
    *,
    sample: Any = None,
    server: Callable[[], list[Any]],
    upload: Callable[[], list[Any]],
) -> pmui.Tabs:
    """Return the ways to open a file as tabs; a hidden tab is created when first shown."""
    ways = [
        ("Server", MadeWhenShown(server, margin=0)),
        ("Upload", MadeWhenShown(upload, margin=0)),
    ]
    if sample is not None:
        column = pmui.Column(sample, margin=0, sizing_mode="stretch_width")
        ways.insert(0, ("Samples", column))
    return pmui.Tabs(*ways, dynamic=True, sizing_mode="stretch_width", margin=0, sx=THREE)


def caption(text: str) -> pmui.Typography:
    """Return text in the caption style."""
    return pmui.Typography(text, variant="caption")
