"""Regions of text files that bgzip compressed and tabix indexed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from genoviz.errors import FileFormatError
from genoviz.io.files.optional import import_reader
from genoviz.model import PathRegion

_ANY_BYTES = "latin-1"
_NO_END = 2**31 - 1  # the library takes no greater numbers


def indexed_contigs(path: Path, index: Path) -> tuple[str, ...]:
    """Return the contigs that an index has.

    Raises
    ------
    FileFormatError
        If the file or its index cannot be read.
    """
    with _open(path, index) as file:
        return tuple(file.contigs)


def fetch_lines(path: Path, index: Path, region: PathRegion) -> bytes:
    """Return the lines of a region, as its index gives them; none of a contig that it has not.

    One base more on each side is asked for, so that empty intervals on its bounds are there.

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
    before = pysam.set_verbosity(0)
    try:
        with pysam.TabixFile(str(path), index=str(index), encoding=_ANY_BYTES) as file:
            yield file
    except (OSError, ValueError) as error:
        raise FileFormatError(path, f"cannot be read by its index {index.name}: {error}") from error
    finally:
        pysam.set_verbosity(before)
