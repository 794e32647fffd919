"""Regions of text files that bgzip compressed and tabix indexed."""

from __future__ import annotations

from pathlib import Path

from genoviz.errors import FileFormatError
from genoviz.io.optional import import_reader
from genoviz.model import PathRegion

_ANY_BYTES = "latin-1"


def fetch_lines(path: Path, index: Path, region: PathRegion) -> bytes:
    """Return the lines of a region, as its index gives them; none of a contig that it has not.

    One base more on each side is asked for, so that empty intervals on its bounds are there.

    Raises
    ------
    FileFormatError
        If the file or its index cannot be read.
    """
    pysam = import_reader("pysam", "indexed files")
    before = pysam.set_verbosity(0)
    try:
        with pysam.TabixFile(str(path), index=str(index), encoding=_ANY_BYTES) as file:
            if region.path not in file.contigs:
                return b""
            contig = region.path.encode().decode(_ANY_BYTES)
            lines = file.fetch(contig, max(region.start - 1, 0), region.end + 1)
            return "".join(f"{line}\n" for line in lines).encode(_ANY_BYTES)
    except (OSError, ValueError) as error:
        raise FileFormatError(path, f"cannot be read by its index {index.name}: {error}") from error
    finally:
        pysam.set_verbosity(before)
