"""Opening track files: by their path on the server, or as uploads."""

from __future__ import annotations

from typing import Any

import panel as pn
import panel_material_ui as pmui

from app.parts.opening_bar import OpeningBar
from app.session import Session

UPLOAD_MEGABYTES = 500
FORMATS = "BED, narrowPeak, bedGraph, GFF3, GTF, BAM, CRAM, bigWig or bigBed"
WIDE: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": (12, 0, 4, 0)}


class TrackPicker:
    """Two ways to open a track file, and how far the opening is."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.path = pmui.TextInput(
            label="Track file on the server",
            placeholder="/data/reads.bam",
            description=f"{FORMATS}. Enter opens it.",
            size="small",
            **WIDE,
        )
        self.open_button = pmui.Button(
            label="Open", icon="folder_open", size="small", variant="outlined", margin=(2, 0)
        )
        self.upload = pn.widgets.FileDropper(
            multiple=True,
            max_file_size=f"{UPLOAD_MEGABYTES}MB",
            layout="compact",
            height=92,
            **WIDE,
        )
        self.progress = OpeningBar(session.tracks, session.tracks.cancel, WIDE)
        self.panel = pmui.Column(
            pmui.Tabs(
                ("Server", pmui.Column(self.path, self.open_button, margin=0)),
                (
                    "Upload",
                    pmui.Column(
                        pmui.Typography(
                            f"{FORMATS}, up to {UPLOAD_MEGABYTES} MB", variant="caption"
                        ),
                        self.upload,
                        margin=0,
                    ),
                ),
                dynamic=True,
                sizing_mode="stretch_width",
                margin=0,
            ),
            self.progress.panel,
            sizing_mode="stretch_width",
            margin=0,
        )
        self.path.param.watch(self._open_path, "enter_pressed")
        self.open_button.on_click(self._open_path)
        self.upload.param.watch(self._open_upload, "value")

    def _open_path(self, _event: Any) -> None:
        self._session.tracks.open(self.path.value_input or self.path.value)

    def _open_upload(self, event: Any) -> None:
        for name, content in event.new.items():
            self._session.tracks.open_upload(name, content)
        if event.new:
            self.upload.value = {}  # the session has it now; here it would stay in memory
