"""Oracle: an odgi ``.lay`` file decoded bit by bit, following the format description."""

from __future__ import annotations

import struct


def decode_lay(data: bytes) -> list[tuple[float, float]]:
    """Return the points (x, y) of a ``.lay`` file: start and end of each node."""
    offset, n_values = struct.unpack_from("<dQ", data)
    z, _, position = _int_vector(data, 16)
    sample_bits, width, position = _int_vector(data, position)
    assert position == len(data)
    samples = [
        _number(sample_bits[start : start + width]) for start in range(0, len(sample_bits), width)
    ]
    values = []
    for index in range(n_values):
        block, rest = divmod(index, 128)
        if rest == 0:
            value = samples[2 * block]
            at = samples[2 * block + 1]
        else:
            delta, at = _elias_delta(z, at)
            value = (value + delta) % 2**64
        values.append(struct.unpack("<d", struct.pack("<Q", value))[0] + offset)
    return list(zip(values[0::2], values[1::2], strict=True))


def _int_vector(data: bytes, position: int) -> tuple[str, int, int]:
    """Return the bits, lowest first, the width, and the end of the vector."""
    n_bits, width = struct.unpack_from("<QB", data, position)
    start = position + 9
    stop = start + 8 * ((n_bits + 63) // 64)
    assert stop <= len(data)
    bits = "".join(f"{byte:08b}"[::-1] for byte in data[start:stop])
    return bits[:n_bits], width, stop


def _number(bits: str) -> int:
    return int(bits[::-1], 2) if bits else 0


def _elias_delta(bits: str, at: int) -> tuple[int, int]:
    n_zeros = bits.index("1", at) - at
    at += n_zeros + 1
    length = 2**n_zeros + _number(bits[at : at + n_zeros])
    at += n_zeros
    delta = 2 ** (length - 1) + _number(bits[at : at + length - 1])
    return delta, at + length - 1
