"""Opening track files: by their path on the server, or as uploads."""

from __future__ import annotations

from genoviz_app.parts.file_picker import FilePicker
from genoviz_app.parts.opening_bar import OpeningBar
from genoviz_app.session.session import Session

FORMATS = "BED, narrowPeak, bedGraph, GFF3, GTF, BAM, CRAM, bigWig or bigBed"


class TrackPicker(FilePicker):
    """Two ways to open a track file, and how far the opening is."""

    def __init__(self, session: Session) -> None:
        super().__init__(
            OpeningBar(session.tracks, session.tracks.cancel),
            session.tracks,
            "Track file on the server",
            "/data/reads.bam",
            FORMATS,
            multiple=True,
        )
