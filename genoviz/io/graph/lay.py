"""Layouts in odgi's binary format (``.lay``).

The file is little-endian: a float64 ``offset``, then an ``sdsl::enc_vector`` of the ``4 n_nodes``
values ``x0, y0, x1, y1, ...``, each the bit pattern of the double ``coordinate - offset``. Point
``2 i`` is the start of node ``i``, point ``2 i + 1`` its end. The vector is its size (uint64), the
Elias delta codes and the samples, both as ``int_vector``: length in bits (uint64), width (uint8),
words. Sample ``2 b`` is the first value of block ``b``, sample ``2 b + 1`` the bit at which its
codes start; two more close the list.

References
----------
odgi, https://github.com/pangenome/odgi, ``src/algorithms/layout.cpp``; sdsl-lite ``enc_vector``
"""

from __future__ import annotations

import struct
from os import PathLike
from pathlib import Path
from typing import BinaryIO

import numpy as np

from genoviz.errors import FileFormatError, ParameterError
from genoviz.io.files.replace_file import replace_file
from genoviz.io.graph import lay_codec
from genoviz.model import GraphLayout

_HEADER = struct.Struct("<dQ")
_INT_VECTOR = struct.Struct("<QB")


def read_lay(path: str | PathLike[str]) -> GraphLayout:
    """Return the layout of a ``.lay`` file.

    Raises
    ------
    FileFormatError
        If the file is cut short, is no ``.lay``, or its codes are damaged.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            offset, n_values = _read_header(file, path)
            codes, n_code_bits, _ = _read_int_vector(file, path)
            words, n_sample_bits, width = _read_int_vector(file, path)
            is_at_end = not file.read(1)
    except OSError as error:
        raise FileFormatError(path, f"cannot be read: {error.strerror or error}") from error
    if not is_at_end:
        raise FileFormatError(path, "goes on after the end of its layout; it is no .lay")
    n_samples = 2 * -(-n_values // lay_codec.BLOCK) + 2 if n_values else 0
    fits = 1 <= width <= 64 and n_sample_bits == n_samples * width and n_values % 4 == 0
    if not fits or n_values > n_code_bits + n_samples:
        raise FileFormatError(
            path, f"says {n_values:,} values, which does not fit its parts; it is no .lay"
        )
    samples = np.empty(n_samples, np.uint64)
    lay_codec.unpack_integers(words, width, samples)
    values = _decode(path, codes, n_code_bits, samples, n_values)
    coordinates = values.view(np.float64)
    coordinates += offset
    if not np.isfinite(coordinates).all():
        node = int(np.argmin(np.isfinite(coordinates))) // 4
        raise FileFormatError(path, f"has a coordinate of node {node:,} that is not finite")
    return GraphLayout(coordinates.reshape(-1, 2, 2))


def write_lay(layout: GraphLayout, path: str | PathLike[str]) -> None:
    """Write a layout as ``.lay``.

    Coordinates that are not negative are kept to the last bit; where there is a negative one, the
    format asks for a shift of all, which rounds them to one part in 10**16 of the layout's extent.

    Raises
    ------
    ParameterError
        If a coordinate, or the extent of the layout, is not finite.
    """
    coordinates = layout.coordinates.ravel()
    offset = min(0.0, float(coordinates.min(initial=0.0)))
    with np.errstate(over="ignore", invalid="ignore"):
        # Adding zero turns -0.0, which has the sign bit set, into 0.0.
        shifted = coordinates - offset + 0.0
    if not np.isfinite(shifted).all():
        node = int(np.argmin(np.isfinite(shifted))) // 4
        raise ParameterError(
            f"node {node:,} has a coordinate that is not finite, or too far from the others"
        )
    with replace_file(path) as file:
        file.write(_HEADER.pack(offset, len(shifted)))
        _write_enc_vector(file, shifted.view(np.uint64))


def _read_header(file: BinaryIO, path: Path) -> tuple[float, int]:
    """Return the offset and the number of values."""
    header = file.read(_HEADER.size)
    if len(header) < _HEADER.size:
        raise FileFormatError(path, f"has {len(header)} bytes, needs at least 16 to be a .lay")
    return _HEADER.unpack(header)


def _read_int_vector(file: BinaryIO, path: Path) -> tuple[np.ndarray, int, int]:
    """Return the words with two of zeros after them, the length in bits and the width."""
    header = file.read(_INT_VECTOR.size)
    n_left = path.stat().st_size - file.tell()
    if len(header) == _INT_VECTOR.size:
        n_bits, width = _INT_VECTOR.unpack(header)
        n_words = -(-n_bits // 64)
        if n_words * 8 <= n_left:
            words = np.zeros(n_words + 2, np.uint64)
            file.readinto(words[:n_words].view(np.uint8))
            return words, n_bits, width
    raise FileFormatError(path, "ends before its layout does; it was cut short or is no .lay")


def _decode(
    path: Path, codes: np.ndarray, n_code_bits: int, samples: np.ndarray, n_values: int
) -> np.ndarray:
    """Return the values of an ``enc_vector``; uint64, shape (n_values,)."""
    values = np.empty(n_values, np.uint64)
    if n_values == 0:
        return values
    if samples[1::2].max() > n_code_bits + 1:
        raise FileFormatError(path, "has a block that starts beyond its codes; it is no .lay")
    starts = samples[1::2].astype(np.int64)
    starts[-1] = n_code_bits
    damaged = lay_codec.decode_deltas(codes, samples[0:-2:2].copy(), starts, values)
    if damaged >= 0:
        raise FileFormatError(
            path,
            f"has damaged codes for nodes {damaged * 32:,} to {damaged * 32 + 31:,}, "
            "which cannot be read as coordinates",
        )
    return values


def _write_enc_vector(file: BinaryIO, values: np.ndarray) -> None:
    """Write uint64 values as sdsl does."""
    if len(values) == 0:
        file.write(_INT_VECTOR.pack(0, 64) * 2)
        return
    starts = np.empty(-(-len(values) // lay_codec.BLOCK) + 1, np.int64)
    lay_codec.measure_deltas(values, starts)
    n_code_bits = int(starts[-1])
    codes = np.zeros(-(-n_code_bits // 64), np.uint64)
    lay_codec.encode_deltas(values, codes)
    file.write(_INT_VECTOR.pack(n_code_bits, 1))
    file.write(codes.data)
    samples = np.zeros(2 * len(starts), np.uint64)
    samples[0:-2:2] = values[:: lay_codec.BLOCK]
    samples[1::2] = starts
    samples[-1] = n_code_bits + 1
    width = int(samples.max()).bit_length()
    words = np.zeros(-(-len(samples) * width // 64), np.uint64)
    lay_codec.pack_integers(samples, width, words)
    file.write(_INT_VECTOR.pack(len(samples) * width, width))
    file.write(words.data)
