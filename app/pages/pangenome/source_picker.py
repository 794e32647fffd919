"""Where graphs, layouts and annotations come from: samples, files on the server, uploads."""

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
from app.parts.sample_select import SampleSelect
from app.session import Session

FORMATS = (
    "a graph (.gfa, .gfa.gz) that the server can read; or, for the open graph, "
    "a layout (.lay, .tsv, Bandage's) or annotations (.bed, .gff3, .gtf)"
)
UPLOADED = "A graph (GFA), its layout (.lay, TSV) or annotations (BED, GFF3, GTF)"


class SourcePicker:
    """Three ways to open a file, and how far the opening is."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.samples = SampleSelect(
            session, session, "gfa", "a graph", "Sample graph", with_served=True
        )
        self.path = path_field("Path on the server", "/data/graph.gfa.gz", FORMATS, self._open_path)
        self.open_button = open_button(self._open_path)
        self.upload = upload_field(self._take_upload)
        self.progress = OpeningBar(session, session.cancel_opening)
        self.panel = pmui.Column(
            picker_tabs(
                sample=self.samples.field,
                server=[self.path, self.open_button],
                upload=[caption(f"{UPLOADED}, up to {UPLOAD_MEGABYTES} MB"), self.upload],
            ),
            self.progress.panel,
            sizing_mode="stretch_width",
            margin=0,
        )

    def _open_path(self, _event: Any) -> None:
        self._session.open(written_path(self.path))

    def _take_upload(self, files: dict[str, Any]) -> None:
        for name, content in files.items():
            self._session.open_upload(name, content)
