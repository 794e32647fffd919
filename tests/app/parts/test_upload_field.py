"""What comes from a browser in one tab has a limit that the browser cannot change."""

from __future__ import annotations

import re
from types import SimpleNamespace

import panel as pn
import pytest
from bokeh.document import Document
from panel.io.state import set_curdoc

from genoviz_app.parts.picker_fields import UploadButton, UploadField, too_much, upload_field
from genoviz_app.server.limits import Limits
from genoviz_app.server.settings import SETTINGS
from tests.conftest import ROOT


@pytest.fixture
def told(monkeypatch):
    """Sentences that a person is told; a megabyte may be uploaded."""
    sentences = []
    notifications = SimpleNamespace(error=lambda text, **_: sentences.append(text))
    monkeypatch.setattr(type(pn.state), "notifications", notifications)
    monkeypatch.setattr(SETTINGS, "tab", Limits(upload_megabytes=1))
    return sentences


def send(field, name, *sizes, first=1):
    """Send a file in pieces, as the browser does."""
    for number, size in enumerate(sizes, start=first):
        field._process_event(
            SimpleNamespace(
                event_name="upload_event",
                data={"name": name, "chunk": number, "total_chunks": len(sizes) + first - 1,
                      "data": b"x" * size, "type": ""},
            )
        )  # fmt: skip


def test_files_come_whole_up_to_the_limit(told):
    taken = {}
    with set_curdoc(Document()):
        field = upload_field(taken.update)
        send(field, "a.gfa", 400_000, 400_000)
        send(field, "b.gfa", 200_000)
    assert {name: len(content) for name, content in taken.items()} == {
        "a.gfa": 800_000, "b.gfa": 200_000
    }  # fmt: skip
    assert told == []


def test_a_piece_too_much_is_refused_and_nothing_of_the_file_kept(told):
    taken = {}
    with set_curdoc(Document()):
        field = upload_field(taken.update)
        send(field, "a.gfa", 600_000, 600_000, 1, 1)
        assert field._file_buffer == {}
        send(field, "b.gfa", 1)
    assert taken == {}
    assert set(told) == {too_much(1)}


def test_all_fields_of_a_tab_count_together_and_tabs_by_themselves(told):
    taken = {}
    with set_curdoc(Document()):
        send(upload_field(taken.update), "a.gfa", 600_000)
        send(upload_field(taken.update), "b.gfa", 600_000)
    with set_curdoc(Document()):
        send(UploadField(), "c.gfa", 600_000)
    assert list(taken) == ["a.gfa"]
    assert len(told) == 1


def test_pieces_of_a_file_that_never_began_are_no_error(told):
    with set_curdoc(Document()):
        field = UploadField()
        send(field, "a.gfa", 10, 10, first=2)
        assert field.value == {}


def press(button, name, *sizes):
    """Send a file in pieces, as the browser does for a button."""
    for number, size in enumerate(sizes, start=1):
        button._handle_msg(
            {"status": "upload_event", "name": name, "chunk": number, "total_chunks": len(sizes),
             "mime_type": "text/csv", "data": b"x" * size}
        )  # fmt: skip
    button._flush_buffer()


def test_what_a_button_takes_counts_with_what_is_dropped(told):
    with set_curdoc(Document()):
        button = UploadButton()
        press(button, "a.csv", 300_000, 300_000)
        assert (button.filename, len(button.value)) == ("a.csv", 600_000)
        taken = {}
        send(upload_field(taken.update), "b.gfa", 600_000)
        assert taken == {}
        press(button, "c.csv", 1)
    assert button.value is None
    assert set(told) == {too_much(1)}
    with set_curdoc(Document()):
        button = UploadButton()
        press(button, "a.csv", 600_000, 600_000)
        assert button.value is None


def test_no_page_takes_files_by_a_field_that_does_not_count():
    for path in (ROOT / "app").rglob("*.py"):
        fields = re.findall(r"(?:FileInput|FileDropper)\b", path.read_text())
        assert len(fields) == (2 if path.name == "picker_fields.py" else 0), path
