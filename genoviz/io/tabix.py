"""Regions of text files that bgzip compressed and tabix indexed."""

from __future__ import annotations

from pathlib import Path

from genoviz.errors import FileFormatError
from genoviz.io.optional import import_reader
from genoviz.model import PathRegion

_INDEX_ENDINGS = (".tbi", ".csi")


def find_index(path: Path) -> Path | None:
    """Return the index beside a file, or None."""
    for ending in _INDEX_ENDINGS:
        index = path.with_name(path.name + ending)
        if index.is_file():
            return index
    return None


def fetch_lines(path: Path, region: PathRegion) -> bytes:
    """Return the lines of a region, as its index gives them; none of a contig that it has not.

    One base more on each side is asked for, so that empty intervals on its bounds are there.

    Raises
    ------
    FileFormatError
        If the file or its index cannot be read.
    """
    pysam = import_reader("pysam", "indexed files")
    index = find_index(path)
    before = pysam.set_verbosity(0)
    try:
        with pysam.TabixFile(str(path), index=str(index)) as file:
            if region.path not in file.contigs:
                return b""
            lines = file.fetch(region.path, max(region.start - 1, 0), region.end + 1)
            return "".join(f"{line}\n" for line in lines).encode()
    except (OSError, ValueError) as error:
        raise FileFormatError(path, f"cannot be read by its index {index.name}: {error}") from error
    finally:
        pysam.set_verbosity(before)
