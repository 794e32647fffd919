"""Reading of sequences from FASTA and 2bit files."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from genoviz.generators import report
from genoviz.io.sequences.fasta import read_fasta
from genoviz.io.sequences.two_bit import is_two_bit, read_two_bit
from genoviz.io.text.text_file import open_text
from genoviz.model import Sequences


@dataclass(frozen=True)
class SequencesProgress:
    """Progress of reading a file.

    Attributes
    ----------
    stage
        Current stage, e.g. ``"Reading sequences"``.
    n_bytes, n_bytes_total
        Bytes processed in this stage, and their total.
    sequences
        The sequences, in the last report only.
    """

    stage: str
    n_bytes: int
    n_bytes_total: int
    sequences: Sequences | None = None


def read_sequences(path: str | PathLike[str]) -> Sequences:
    """Return the sequences of a file; see :func:`iter_read_sequences`."""
    for progress in iter_read_sequences(path):
        found = progress.sequences
    return found


def iter_read_sequences(path: str | PathLike[str]) -> Iterator[SequencesProgress]:
    """Yield the progress of reading a FASTA or 2bit file; the last report has the sequences.

    The first bytes determine the format; either may be gzipped. Lower-case letters are soft-masked.
    A sequence is named by the first word of its header; duplicate names are kept.

    Raises
    ------
    FileFormatError
        If the file cannot be read, is of another format, or has an invalid letter; names the line.
    """
    path = Path(path)
    found = yield from report(_read(path), lambda step: SequencesProgress(*step))
    n_bytes = path.stat().st_size
    yield SequencesProgress("Reading sequences", n_bytes, n_bytes, found)


def _read(path: Path) -> Generator[tuple[str, int, int], None, Sequences]:
    opening = open_text(path, may_be_binary=True, needs="sequences in FASTA or 2bit")
    content = yield from report(opening, lambda step: ("Decompressing", *step))
    if is_two_bit(content[:4].tobytes()):
        return (yield from read_two_bit(path, content))
    return (yield from read_fasta(path, content))
