"""Gzip in small members whose sizes are known (BGZF), which all threads compress or read at once.

Any gzip tool reads such a file.

References
----------
SAM specification, section 4.1, https://samtools.github.io/hts-specs/SAMv1.pdf
"""

from __future__ import annotations

import struct
import zlib

import numpy as np

MAX_BLOCK_BYTES = 65_280
END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")

_HEADER = bytes.fromhex("1f8b08040000000000ff060042430200")
_LEVEL = 6


def compress_blocks(text: bytes | memoryview) -> bytes:
    """Return a text as BGZF members; a file of them ends with :data:`END`."""
    parts = []
    for start in range(0, len(text), MAX_BLOCK_BYTES):
        block = text[start : start + MAX_BLOCK_BYTES]
        compressor = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
        content = compressor.compress(block) + compressor.flush()
        size = len(_HEADER) + 2 + len(content) + 8
        parts += [_HEADER, struct.pack("<H", size - 1), content]
        parts.append(struct.pack("<II", zlib.crc32(block), len(block)))
    return b"".join(parts)


def find_blocks(content: np.ndarray, position: int, n_blocks: int) -> list[int]:
    """Return where up to ``n_blocks`` BGZF members from ``position`` on begin, and the last ends.

    Only the header of each is looked at; without one the list is ``[position]``.
    """
    bounds = [position]
    while len(bounds) <= n_blocks:
        header = content[position : position + 18].tobytes()
        if len(header) < 18 or header[:4] != _HEADER[:4] or header[10:16] != _HEADER[10:16]:
            break
        position += int.from_bytes(header[16:18], "little") + 1
        if position > len(content):
            break
        bounds.append(position)
    return bounds


def decompress_block(block: memoryview) -> bytes | None:
    """Return the text of one member, or None if it is not one whole, sound member."""
    stream = zlib.decompressobj(wbits=31)
    try:
        text = stream.decompress(block, 1 << 16)
        return text if stream.eof and not stream.unused_data else None
    except zlib.error:
        return None
