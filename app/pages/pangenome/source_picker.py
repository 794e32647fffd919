"""Where graphs, layouts and annotations come from: samples, files on the server, uploads."""

from __future__ import annotations

from genoviz_app.parts.file_picker import FilePicker
from genoviz_app.parts.opening_bar import OpeningBar
from genoviz_app.parts.sample_select import SampleSelect
from genoviz_app.session.session import Session

FORMATS = (
    "a graph (.gfa, .gfa.gz) that the server can read; or, for the open graph, "
    "a layout (.lay, .tsv, Bandage's) or annotations (.bed, .gff3, .gtf)"
)
UPLOADED = "A graph (GFA), its layout (.lay, TSV) or annotations (BED, GFF3, GTF)"


class SourcePicker(FilePicker):
    """Three ways to open a file, and how far the opening is."""

    def __init__(self, session: Session) -> None:
        super().__init__(
            OpeningBar(session, session.cancel_opening),
            session,
            "Path on the server",
            "/data/graph.gfa.gz",
            FORMATS,
            uploaded=UPLOADED,
            samples=SampleSelect(
                session, session, "gfa", "a graph", "Sample graph", with_served=True
            ),
        )
