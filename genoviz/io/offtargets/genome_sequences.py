"""Reading of a genome from one file or from all files of a folder."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace
from os import PathLike
from pathlib import Path

import numpy as np

from genoviz.errors import FileFormatError, n_words
from genoviz.io.files.content import unreadable
from genoviz.io.sequences.reader import SequencesProgress, iter_read_sequences
from genoviz.io.sequences.two_bit import is_two_bit
from genoviz.io.text.text_file import read_start
from genoviz.model import Sequences

_STARTS = (b">", b"\xef\xbb\xbf>")
_SHOWN = 3


def find_genome_files(path: str | PathLike[str]) -> tuple[list[Path], tuple[str, ...]]:
    """Return the files of a genome sorted by name, and notes.

    In a folder, these are the files (and links to files) that start like FASTA or 2bit, plain or
    gzipped. Subfolders are ignored.

    Raises
    ------
    FileFormatError
        If there is no such file or folder, or the folder has no sequences.
    """
    path = Path(path)
    if not path.is_dir():
        if not path.exists():
            raise FileFormatError(
                path, f"there is no such file or folder in {path.absolute().parent}"
            )
        return [path], ()
    try:
        inside = sorted(file for file in path.iterdir() if not file.is_dir())
    except OSError as error:
        raise unreadable(path, error) from error
    files = [file for file in inside if _has_sequences(file)]
    skipped = [file.name for file in inside if file not in {*files}]
    if not files:
        raise FileFormatError(
            path,
            f"none of the {n_words(len(inside), 'file')} of the folder is FASTA or 2bit, needs one",
        )
    if not skipped:
        return files, ()
    names = ", ".join(skipped[:_SHOWN]) + (", ..." if len(skipped) > _SHOWN else "")
    verb = "file is" if len(skipped) == 1 else "files are"
    return files, (f"{len(skipped):,} {verb} no FASTA or 2bit, and passed over: {names}",)


def read_genome(path: str | PathLike[str]) -> Sequences:
    """Return the sequences of a genome; see :func:`iter_read_genome`."""
    for progress in iter_read_genome(path):
        found = progress.sequences
    return found


def iter_read_genome(path: str | PathLike[str]) -> Iterator[SequencesProgress]:
    """Yield the progress of reading a genome; the last report has all its sequences.

    Parameters
    ----------
    path
        A file as for :func:`~genoviz.io.sequences.reader.read_sequences`, or a folder of such
        files, in the order of :func:`find_genome_files`.

    Raises
    ------
    FileFormatError
        If there are no sequences, or a file cannot be read.
    """
    files, notes = find_genome_files(path)
    if len(files) == 1:
        for progress in iter_read_sequences(files[0]):
            if progress.sequences is not None:
                found = _with_headers(progress.sequences, notes)
                progress = replace(progress, sequences=found)
            yield progress
        return
    n_bytes_total = sum(file.stat().st_size for file in files)
    parts, n_before = [], 0
    for file in files:
        for progress in iter_read_sequences(file):
            if progress.sequences is not None:
                parts.append(progress.sequences)
        n_before += file.stat().st_size
        yield SequencesProgress("Reading sequences", n_before, n_bytes_total)
    notes += tuple(
        f"{file.name}: {note}"
        for file, part in zip(files, parts, strict=True)
        for note in part.notes
    )
    joined = _join(parts, notes)
    yield SequencesProgress("Reading sequences", n_bytes_total, n_bytes_total, joined)


def _has_sequences(file: Path) -> bool:
    if not file.is_file():
        return False
    try:
        start = read_start(file, struct.calcsize("<I"))
    except FileFormatError:
        return False
    return start.startswith(_STARTS) or is_two_bit(start)


def _with_headers(sequences: Sequences, notes: tuple[str, ...]) -> Sequences:
    return replace(
        sequences,
        notes=notes + sequences.notes,
        descriptions=sequences.descriptions or sequences.names,
    )


def _join(parts: list[Sequences], notes: tuple[str, ...]) -> Sequences:
    """Return the concatenated sequences; empties the list to limit memory use."""
    names = tuple(name for part in parts for name in part.names)
    descriptions = tuple(text for part in parts for text in part.descriptions or part.names)
    lengths = np.concatenate([part.lengths for part in parts])
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    bases = np.empty(offsets[-1], np.uint8)
    masked, n_before = [], 0
    while parts:
        part = parts.pop(0)
        bases[n_before : n_before + part.total_length] = part.bases
        masked.append(part.masked + n_before)
        n_before += part.total_length
    return Sequences(names, offsets, bases, np.concatenate(masked), notes, descriptions)
