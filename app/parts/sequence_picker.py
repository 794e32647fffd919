"""Where sequences come from: samples, files on the server, or uploads."""

from __future__ import annotations

from genoviz_app.opening.opening_files import OpeningFiles
from genoviz_app.parts.file_picker import FilePicker
from genoviz_app.parts.opening_bar import OpeningBar
from genoviz_app.parts.sample_select import SampleSelect
from genoviz_app.session.session import Session


class SequencePicker(FilePicker):
    """Three ways to sequences, and how far their opening is.

    Parameters
    ----------
    session
        Where problems are told.
    files
        What opens them.
    formats
        The formats that are read, in words.
    """

    def __init__(self, session: Session, files: OpeningFiles, formats: str) -> None:
        super().__init__(
            OpeningBar(files, files.cancel),
            files,
            "Sequences on the server",
            "/data/genome.fa.gz",
            formats,
            samples=SampleSelect(session, files, "genome", "a genome", "Sample genome"),
        )
        self._session = session
