"""Buttons that make a file hand it over, or say why there is none."""

from __future__ import annotations

import asyncio
import base64

from genoviz.errors import GenovizError
from genoviz_app.parts.file_button import file_button


def test_a_file_is_handed_over(session):
    button = file_button(
        session, "TSV", lambda: ("some.tsv", lambda path: path.write_text("a\tb\n"))
    )
    asyncio.run(button._async_sync_data())
    assert button.filename == "some.tsv"
    assert base64.b64decode(button.data.partition(",")[2]) == b"a\tb\n"
    assert session.problem == ""


def test_where_no_file_is_made_it_is_said_why(session):
    def prepare():
        raise GenovizError("nothing is computed yet")

    button = file_button(session, "TSV", prepare)
    asyncio.run(button._async_sync_data())
    assert button.data is None
    assert session.problem == "The file was not made: nothing is computed yet."
