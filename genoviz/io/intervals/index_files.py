"""Indices of BAM, CRAM and text files (BAI, CSI, TBI, CRAI), looked through before they are used.

The library that reads by them ends the whole process over some damaged ones.

References
----------
SAM specification, sections 5.2 and 5.3, https://samtools.github.io/hts-specs/SAMv1.pdf;
https://samtools.github.io/hts-specs/CSIv1.pdf; https://samtools.github.io/hts-specs/tabix.pdf
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from genoviz.errors import FileFormatError
from genoviz.io.files.file_bytes import read_bytes
from genoviz.io.intervals.index_bins import find_damage

READ_ENDINGS = {"bam": (".csi", ".bai"), "cram": (".crai",), "sam": ()}
TEXT_ENDINGS = (".tbi", ".csi")

_BAI_BINS = 37_449
_MAX_DEPTH = 9
_CRAI_COLUMNS = 6


def find_index(path: Path, endings: Sequence[str]) -> Path | None:
    """Return the index beside a file, or None; ``reads.bam.bai`` comes before ``reads.bai``."""
    for ending in endings:
        for index in (path.with_name(path.name + ending), path.with_suffix(ending)):
            if index.is_file():
                return index
    return None


def check_index(index: Path, path: Path) -> tuple[str, ...]:
    """Return what is to be said of the index of a file that is to be read by it.

    Raises
    ------
    FileFormatError
        If the index cannot be read, is damaged, or points beyond the file; says which, and what
        to do.
    """
    status, of_index = path.stat(), index.stat()
    content = read_bytes(index)
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
