"""Opening track files: by their path on the server, or as uploads."""

from __future__ import annotations

from typing import Any

import panel_material_ui as pmui

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
from app.session import Session

FORMATS = "BED, narrowPeak, bedGraph, GFF3, GTF, BAM, CRAM, bigWig or bigBed"


class TrackPicker:
    """Two ways to open a track file, and how far the opening is."""

    def __init__(self, session: Session) -> None:
        self._files = session.tracks
        self.path = path_field(
            "Track file on the server", "/data/reads.bam", FORMATS, self._open_path
        )
        self.open_button = open_button(self._open_path)
        self.upload = upload_field(self._take_upload, multiple=True)
        self.progress = OpeningBar(self._files, self._files.cancel)
        self.panel = pmui.Column(
            picker_tabs(
                server=[self.path, self.open_button],
                upload=[caption(f"{FORMATS}, up to {UPLOAD_MEGABYTES} MB"), self.upload],
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
