"""Indexes of BAM, CRAM and text files (BAI, CSI, TBI, CRAI): validation and indexed reading.

An index is validated before use, because some damaged ones crash the library and so the process.

References
----------
SAM specification, sections 5.2 and 5.3, https://samtools.github.io/hts-specs/SAMv1.pdf;
https://samtools.github.io/hts-specs/CSIv1.pdf; https://samtools.github.io/hts-specs/tabix.pdf
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from genoviz.errors import FileFormatError
from genoviz.io.files.compiled_errors import quiet_htslib
from genoviz.io.files.optional import import_reader
from genoviz.io.intervals.file_loops import find_damage
from genoviz.io.text.text_file import read_bytes
from genoviz.model import PathRegion

READ_ENDINGS = {"bam": (".csi", ".bai"), "cram": (".crai",), "sam": ()}
TEXT_ENDINGS = (".tbi", ".csi")
_BAI_BINS = 37_449
_MAX_DEPTH = 9
_CRAI_COLUMNS = 6
_ANY_BYTES = "latin-1"
_NO_END = 2**31 - 1  # the library's maximum


def find_index(path: Path, endings: Sequence[str]) -> Path | None:
    """Return the index beside a file, or None; ``reads.bam.bai`` precedes ``reads.bai``.

    A CRAI has a line for each part of its file. One without lines belongs to a file without reads,
    or was cut off, so the file is then read without it.
    """
    for ending in endings:
        for index in (path.with_name(path.name + ending), path.with_suffix(ending)):
            if index.is_file():
                return None if ending == ".crai" and _is_empty(index) else index
    return None


def _is_empty(index: Path) -> bool:
    return len(read_bytes(index, may_be_binary=True, may_be_empty=True)) == 0


def check_index(index: Path, path: Path) -> tuple[str, ...]:
    """Validate the index of a file; return notes for the user.

    Raises
    ------
    FileFormatError
        If the index cannot be read, is damaged, or points beyond the file; the message suggests a
        remedy.
    """
    status, of_index = path.stat(), index.stat()
    content = read_bytes(index, may_be_binary=True)
    try:
        if index.suffix == ".crai":
            _check_lines(content, status.st_size)
        else:
            _check_bins(content, status.st_size)
    except (ValueError, struct.error) as error:
        raise FileFormatError(
            index,
            f"the index of {path.name} is damaged or another file's ({error}), needs to be made "
            "anew",
        ) from error
    if int(of_index.st_mtime) >= int(status.st_mtime):
        return ()
    return (
        f"The index {index.name} is older than {path.name}: if the file was changed since, "
        "make the index anew.",
    )


def _check_bins(content: np.ndarray, n_bytes: int) -> None:
    magic, position, n_bins, has_lines = content[:4].tobytes(), 4, _BAI_BINS, True
    if magic == b"CSI\1":
        has_lines = False
        shift, depth, n_aux = struct.unpack_from("<3i", content, 4)
        position = 16 + n_aux
        if not (0 < shift < 32 and 0 <= depth <= _MAX_DEPTH and 0 <= n_aux < len(content)):
            raise ValueError("its header is none")
        n_bins = ((1 << 3 * (depth + 1)) - 1) // 7
    elif magic not in (b"BAI\1", b"TBI\1"):
        raise ValueError("it begins as none does")
    (n_contigs,) = struct.unpack_from("<i", content, position)
    position += 4
    if magic == b"TBI\1":
        (n_names,) = struct.unpack_from("<i", content, position + 24)
        position += 28
        names = content[position : position + max(n_names, 0)]
        if np.count_nonzero(names == 0) != n_contigs:
            raise ValueError("its names are not those of its contigs")
        position += n_names
    damage = find_damage(content, position, n_contigs, n_bins, has_lines, n_bytes)
    if damage >= 0:
        raise ValueError(f"from byte {damage + 1:,} on")


def _check_lines(content: np.ndarray, n_bytes: int) -> None:
    for number, line in enumerate(content.tobytes().splitlines(), 1):
        fields = line.split(b"\t")
        if len(fields) != _CRAI_COLUMNS or not 0 <= int(fields[3]) < n_bytes:
            raise ValueError(f"line {number:,}")


def indexed_contigs(path: Path, index: Path) -> tuple[str, ...]:
    """Return the contigs in an index.

    Raises
    ------
    FileFormatError
        If the file or its index cannot be read.
    """
    with _open(path, index) as file:
        return tuple(file.contigs)


def fetch_lines(path: Path, index: Path, region: PathRegion) -> bytes:
    """Return the lines of a region using the index; empty for a contig that it lacks.

    One extra base on each side is fetched, to include empty intervals at the bounds.

    Raises
    ------
    FileFormatError
        If the file or its index cannot be read.
    """
    with _open(path, index) as file:
        if region.path not in file.contigs:
            return b""
        contig = region.path.encode().decode(_ANY_BYTES)
        end = None if region.end >= _NO_END else region.end + 1
        lines = file.fetch(contig, max(region.start - 1, 0), end)
        return "".join(f"{line}\n" for line in lines).encode(_ANY_BYTES)


@contextlib.contextmanager
def _open(path: Path, index: Path) -> Iterator[Any]:
    pysam = import_reader("pysam", "indexed files")
    try:
        with (
            quiet_htslib(pysam),
            pysam.TabixFile(str(path), index=str(index), encoding=_ANY_BYTES) as file,
        ):
            yield file
    except (OSError, ValueError) as error:
        raise FileFormatError(path, f"cannot be read by its index {index.name}: {error}") from error
