"""Files of named arrays (``.gvfm``): mapped to memory when opened, checked, written as a whole.

===================== =============================================================================
bytes 0 to 63         magic ``GVFMIDX1``; uint16 major and minor version; uint32 0x01020304, which
                      tells the byte order of all numbers; uint64 size of the file, then place and
                      size of the description; uint32 CRC-32 of the description; 16 bytes 0; uint32
                      CRC-32 of the 60 bytes before
sections              arrays in C order, each from a multiple of 4,096 bytes on
description           JSON: what the arrays are of, and ``sections``: name, dtype, shape, offset,
                      n_bytes and CRC-32 of each
===================== =============================================================================

A reader uses the sections that it knows. A new minor version adds sections; a new major version is
rejected. Since version 1.1 the last section, ``block_checksums``, has the CRC-32 of each 16 KiB of
the sections before it, so that a reader of a few places of a large file can check just these.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from array import array
from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from genoviz.errors import FileFormatError
from genoviz.generators import finish
from genoviz.io.files.content import open_content

MAGIC = b"GVFMIDX1"
MAJOR, MINOR = 1, 1
PAGE = 4096
BLOCKS = "block_checksums"
BLOCK_BYTES = 1 << 14

_BYTE_ORDER = 0x01020304
_HEAD = struct.Struct("=8sHHIQQQI16xI")
_DTYPES = ("uint8", "uint32", "int32", "uint64", "int64")
_SLICE = 16 << 20
# Sections up to this size are checked when a file is opened, in about a millisecond each.
_CHECKED_AT_ONCE = 4 << 20

Progress = tuple[int, int]


@dataclass(frozen=True)
class Section:
    """Location of an array in a file."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    n_bytes: int
    crc32: int


def write_arrays(
    file: BinaryIO, about: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> Generator[Progress, None, None]:
    """Write arrays with a description (plain JSON values); yields bytes done and total."""
    shapes = {name: (items.dtype, items.shape) for name, items in arrays.items()}
    writer = ArrayWriter(file, about, shapes)
    n_done, n_total = 0, sum(items.nbytes for items in arrays.values())
    for name, items in arrays.items():
        for n_bytes in writer.append(name, items):
            n_done += n_bytes
            yield n_done, n_total
    writer.finish()


class ArrayWriter:
    """Writes an array file incrementally; arrays may be interleaved in any order.

    Parameters
    ----------
    file
        An empty file.
    about
        Description: plain JSON values.
    shapes
        Dtype and shape of each array, in file order.
    """

    def __init__(
        self, file: BinaryIO, about: Mapping[str, Any], shapes: Mapping[str, tuple[Any, tuple]]
    ) -> None:
        self._file, self._about = file, about
        self._growing: dict[str, _Growing] = {}
        self._end = PAGE
        for name, (dtype, shape) in shapes.items():
            self._add(name, dtype, shape)

    def _add(self, name: str, dtype: Any, shape: tuple[int, ...]) -> None:
        n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
        section = Section(name, np.dtype(dtype).name, tuple(shape), self._end, n_bytes, 0)
        self._growing[name] = _Growing(section)
        self._end += n_bytes + -n_bytes % PAGE

    def append(self, name: str, items: np.ndarray) -> Generator[int, None, None]:
        """Append items to an array; yields the number of bytes written."""
        content = np.ascontiguousarray(items).reshape(-1).view(np.uint8)
        growing = self._growing[name]
        if growing.n_done + len(content) > growing.section.n_bytes:
            raise ValueError(f"{name!r} has {growing.section.n_bytes:,} bytes, is given more")
        at = 0
        while at < len(content):
            # Slices end at block boundaries, so that each block's checksum is complete.
            part = content[at : at + _SLICE - growing.n_done % BLOCK_BYTES]
            self._file.seek(growing.section.offset + growing.n_done)
            self._file.write(part.data)
            growing.see(part)
            at += len(part)
            yield len(part)

    def finish(self) -> None:
        """Write the checksums and the description."""
        for name, growing in self._growing.items():
            if growing.n_done != growing.section.n_bytes:
                raise ValueError(f"{name!r} lacks {growing.section.n_bytes - growing.n_done} bytes")
        blocks = [crc for growing in self._growing.values() for crc in growing.blocks]
        checksums = np.array(blocks, np.uint32)
        self._add(BLOCKS, checksums.dtype, checksums.shape)
        for _ in self.append(BLOCKS, checksums):
            pass
        place = self._end
        sections = [vars(growing.sealed()) for growing in self._growing.values()]
        text = json.dumps({**self._about, "sections": sections}, allow_nan=False).encode()
        self._file.seek(place)
        self._file.write(text)
        numbers = (MAJOR, MINOR, _BYTE_ORDER, place + len(text), place, len(text), zlib.crc32(text))
        head = _HEAD.pack(MAGIC, *numbers, 0)
        self._file.seek(0)
        self._file.write(head[:-4] + struct.pack("=I", zlib.crc32(head[:-4])))


class _Growing:
    """A section during writing, with its running checksums."""

    def __init__(self, section: Section) -> None:
        self.section = section
        self.n_done, self.blocks = 0, array("I")
        self._crc = 0

    def see(self, part: np.ndarray) -> None:
        """Update the checksums with the next bytes."""
        self._crc = zlib.crc32(part, self._crc)
        n_begun = self.n_done % BLOCK_BYTES
        first = min(BLOCK_BYTES - n_begun, len(part)) if n_begun else 0
        if first:
            self.blocks[-1] = zlib.crc32(part[:first], self.blocks[-1])
        self.blocks.extend(
            zlib.crc32(part[at : at + BLOCK_BYTES]) for at in range(first, len(part), BLOCK_BYTES)
        )
        self.n_done += len(part)

    def sealed(self) -> Section:
        """Return the section with its checksum."""
        return replace(self.section, crc32=self._crc)


def open_array_file(path: Path) -> Generator[Progress, None, np.ndarray]:
    """Return the bytes of an array file; yields bytes done and total."""
    return (yield from open_content(path, needs="to be a .gvfm file"))


class ArrayFile:
    """A memory-mapped file of named arrays.

    Parameters
    ----------
    path
        The file.
    content
        Its bytes if already open; uint8, shape (n_bytes,).

    Attributes
    ----------
    about
        Description of the arrays.
    sections
        Location of each array.

    Raises
    ------
    FileFormatError
        If the file cannot be read, has another format or a newer version, or is damaged.
    """

    def __init__(self, path: Path, content: np.ndarray | None = None) -> None:
        self.path = path
        self._content = finish(open_array_file(path)) if content is None else content
        self.about: dict[str, Any] = self._read_description()
        self.sections = self._read_sections(self.about.pop("sections", None))
        for section in self.sections.values():
            if section.n_bytes <= _CHECKED_AT_ONCE:
                for _ in self.check(section.name):
                    pass
        self._checked: set[int] = set()

    def array(self, name: str) -> np.ndarray:
        """Return an array of the file, read-only."""
        section = self.sections.get(name)
        if section is None:
            raise FileFormatError(self.path, f"has no section {name!r}, needs one")
        content = self._content[section.offset : section.offset + section.n_bytes]
        return content.view(section.dtype).reshape(section.shape)

    def check(self, name: str, into: np.ndarray | None = None) -> Generator[int, None, None]:
        """Verify the checksum of a section; yields the number of bytes read.

        With an array ``into``, the section is copied there, and the copy is verified.
        """
        section, crc = self.sections[name], 0
        content = self._content[section.offset : section.offset + section.n_bytes]
        room = content if into is None else into.reshape(-1).view(np.uint8)
        for start in range(0, section.n_bytes, _SLICE):
            part = room[start : start + _SLICE]
            if into is not None:
                part[...] = content[start : start + _SLICE]
            crc = zlib.crc32(part, crc)
            yield len(part)
        if crc != section.crc32:
            raise self._damaged(f"section {name!r} is not what was written")

    @property
    def has_blocks(self) -> bool:
        """Whether the file has block checksums, which version 1.0 lacks."""
        return BLOCKS in self.sections

    def check_bytes(self, name: str, first: int, last: int) -> None:
        """Verify the blocks that contain bytes ``first`` to ``last`` (exclusive) of a section.

        Raises
        ------
        FileFormatError
            If a checksum differs.
        """
        section = self.sections[name]
        for block in range(first // BLOCK_BYTES, -(-last // BLOCK_BYTES)):
            number = self._first_blocks[name] + block
            if number in self._checked:
                continue
            start = section.offset + block * BLOCK_BYTES
            stop = min(start + BLOCK_BYTES, section.offset + section.n_bytes)
            if zlib.crc32(self._content[start:stop]) != int(self.array(BLOCKS)[number]):
                raise self._damaged(f"section {name!r} is not what was written")
            self._checked.add(number)

    @cached_property
    def _first_blocks(self) -> dict[str, int]:
        """The number of each section's first block."""
        firsts, n_blocks = {}, 0
        for section in self.sections.values():
            if section.name != BLOCKS:
                firsts[section.name] = n_blocks
                n_blocks += -(-section.n_bytes // BLOCK_BYTES)
        found = self.sections[BLOCKS]
        if found.shape != (n_blocks,) or found.dtype != "uint32":
            raise self._damaged(
                f"has {found.dtype} {found.shape} checksums of blocks, needs uint32 ({n_blocks},)"
            )
        if found.n_bytes > _CHECKED_AT_ONCE:
            for _ in self.check(BLOCKS):
                pass
        return firsts

    def _damaged(self, found: str) -> FileFormatError:
        return FileFormatError(self.path, f"{found} (damaged file); build the index again")

    def _read_description(self) -> dict[str, Any]:
        head = self._content[: _HEAD.size].tobytes()
        if head[: len(MAGIC)] != MAGIC[: len(head)]:
            raise FileFormatError(self.path, "is not an index of k-mers, needs to be a .gvfm file")
        if len(head) < _HEAD.size:
            raise self._damaged(f"ends after {len(head)} bytes, needs {_HEAD.size} at least")
        _, major, minor, order, size, place, n_bytes, crc, head_crc = _HEAD.unpack(head)
        if order == int.from_bytes(_BYTE_ORDER.to_bytes(4, "little"), "big"):
            raise FileFormatError(
                self.path, "was written on a machine of the other byte order; build it again here"
            )
        if zlib.crc32(head[:-4]) != head_crc:
            raise self._damaged("the head is not what was written")
        if major != MAJOR:
            raise FileFormatError(
                self.path,
                f"has version {major}.{minor}, needs {MAJOR}.x; build the index again",
            )
        if size != len(self._content):
            raise self._damaged(f"has {len(self._content):,} bytes instead of {size:,}")
        text = self._content[place : place + n_bytes]
        if place + n_bytes > size or zlib.crc32(text) != crc:
            raise self._damaged("the description is not what was written")
        try:
            description = json.loads(text.tobytes())
        except ValueError as error:
            raise self._damaged(f"the description is not JSON ({error})") from error
        if not isinstance(description, dict):
            raise self._damaged("the description is not a JSON object")
        return description

    def _read_sections(self, found: Any) -> dict[str, Section]:
        try:
            sections = [
                Section(
                    str(entry["name"]),
                    str(entry["dtype"]),
                    tuple(int(n) for n in entry["shape"]),
                    int(entry["offset"]),
                    int(entry["n_bytes"]),
                    int(entry["crc32"]),
                )
                for entry in found
            ]
        except (TypeError, KeyError, ValueError) as error:
            raise self._damaged("the description does not say where the sections are") from error
        for section in sections:
            self._check_section(section)
        sections.sort(key=lambda section: (section.offset, section.n_bytes))
        for before, after in pairwise(sections):
            if before.offset + before.n_bytes > after.offset:
                raise self._damaged(f"sections {before.name!r} and {after.name!r} overlap")
        return {section.name: section for section in sections}

    def _check_section(self, section: Section) -> None:
        what = f"section {section.name!r}"
        if section.dtype not in _DTYPES:
            raise self._damaged(
                f"{what} is of {section.dtype!r}, needs one of {', '.join(_DTYPES)}"
            )
        n_bytes = math.prod(section.shape) * np.dtype(section.dtype).itemsize
        if min(section.shape, default=0) < 0 or n_bytes != section.n_bytes:
            raise self._damaged(f"{what} has {section.n_bytes:,} bytes for shape {section.shape}")
        end = section.offset + section.n_bytes
        if section.offset < PAGE or section.offset % PAGE or end > len(self._content):
            raise self._damaged(
                f"{what} lies at bytes {section.offset:,} to {end:,}, needs to begin at a multiple "
                f"of {PAGE:,} and to end within the {len(self._content):,} bytes"
            )
