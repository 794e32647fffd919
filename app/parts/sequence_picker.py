"""Where sequences come from: samples, files on the server, or uploads."""

from __future__ import annotations

from typing import Any

import panel_material_ui as pmui

from app.opening_files import OpeningFiles
from app.parts.opening_bar import OpeningBar
from app.parts.picker_fields import (
    UPLOAD_MEGABYTES,
    caption,
    open_button,
    path_field,
    picker_tabs,
    upload_field,
    written_path,
)
from app.parts.sample_select import SampleSelect
from app.session import Session


class SequencePicker:
    """Three ways to sequences, and how far their opening is.

    Parameters
    ----------
    session
        Where problems are told.
    files
        What opens them.
    formats
        The formats that are read, in words.

    Attributes
    ----------
    panel
        The Panel object.
    """

    def __init__(self, session: Session, files: OpeningFiles, formats: str) -> None:
        self._session, self._files = session, files
        self.samples = SampleSelect(session, files, "genome", "a genome", "Sample genome")
        self.path = path_field(
            "Sequences on the server", "/data/genome.fa.gz", formats, self._open_path
        )
        self.open_button = open_button(self._open_path)
        self.upload = upload_field(self._take_upload)
        self.progress = OpeningBar(files, files.cancel)
        self.panel = pmui.Column(
            picker_tabs(
                sample=self.samples.field,
                server=[self.path, self.open_button],
                upload=[caption(f"{formats}, up to {UPLOAD_MEGABYTES} MB"), self.upload],
            ),
            self.progress.panel,
            sizing_mode="stretch_width",
            margin=0,
        )

    def _open_path(self, _event: Any) -> None:
        self._files.open(written_path(self.path))

    def _take_upload(self, files: dict[str, Any]) -> None:
        for name, content in files.items():
            self._files.open_upload(name, content)
