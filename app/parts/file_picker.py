"""Pickers for files of one kind and for sequences: samples, a path on the server, or uploads."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import panel_material_ui as pmui

from genoviz_app.opening.opening_files import OpeningFile
from genoviz_app.parts.opening_bar import OpeningBar
from genoviz_app.parts.picker_fields import (
    UPLOAD_MEGABYTES,
    UploadField,
    caption,
    open_button,
    path_field,
    picker_tabs,
    upload_field,
    written_path,
)
from genoviz_app.parts.sample_select import SampleSelect
from genoviz_app.session.session import Session


class FilePicker:
    """The ways to open a file of one kind, and the progress of opening.

    Parameters
    ----------
    bar
        Progress bar of the opening, with a button to cancel.
    files
        The opener, with ``open(source)`` and ``open_upload(name, content)``.
    label, placeholder, formats
        Of the path field: its label, an example, and the supported formats.
    uploaded
        Formats for uploads, in words; ``formats`` by default.
    samples
        The select of samples, if there are samples.
    multiple
        Whether to accept several uploads at once.

    Attributes
    ----------
    samples, tabs, panel
        The select of samples, the tabs, and the Panel object.
    """

    def __init__(
        self,
        bar: OpeningBar,
        files: Any,
        label: str,
        placeholder: str,
        formats: str,
        *,
        uploaded: str = "",
        samples: SampleSelect | None = None,
        multiple: bool = False,
    ) -> None:
        self._files, self.samples = files, samples
        self._label, self._placeholder, self._formats = label, placeholder, formats
        self._multiple = multiple
        hint = f"{uploaded or formats}, up to {UPLOAD_MEGABYTES} MB"
        self.tabs = picker_tabs(
            sample=None if samples is None else samples.field,
            server=lambda: [self.path, self.open_button],
            upload=lambda: [caption(hint), self.upload],
        )
        self.panel = pmui.Column(
            self.tabs,
            bar.panel,
            sizing_mode="stretch_width",
            margin=0,
        )

    @cached_property
    def path(self) -> pmui.TextInput:
        """The input for a path on the server."""
        return path_field(self._label, self._placeholder, self._formats, self._open_path)

    @cached_property
    def open_button(self) -> pmui.Button:
        """The button that opens the path."""
        return open_button(self._open_path)

    @cached_property
    def upload(self) -> UploadField:
        """The upload area."""
        return upload_field(self._on_upload, multiple=self._multiple)

    def _open_path(self, _event: Any) -> None:
        self._files.open(written_path(self.path))

    def _on_upload(self, files: dict[str, Any]) -> None:
        for name, content in files.items():
            self._files.open_upload(name, content)


class SequencePicker(FilePicker):
    """Three ways to open sequences, and the progress of opening.

    Parameters
    ----------
    session
        Reports problems.
    files
        The opener.
    formats
        Supported formats, in words.
    """

    def __init__(self, session: Session, files: OpeningFile, formats: str) -> None:
        super().__init__(
            OpeningBar(files, files.cancel),
            files,
            "Sequences on the server",
            "/data/genome.fa.gz",
            formats,
            samples=SampleSelect(session, files, "genome", "a genome", "Sample genome"),
        )
        self._session = session
