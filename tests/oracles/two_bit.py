"""Oracle: 2bit files written field by field, following UCSC's description."""

from __future__ import annotations

import itertools
import struct


def write_two_bit(records: list[tuple[str, str]], *, order: str = "<", version: int = 0) -> bytes:
    """Return the file for names and sequences; letters other than A C G T are written as N."""
    place = "Q" if version else "I"
    head = struct.pack(f"{order}4I", 0x1A412743, version, len(records), 0)
    n_index = sum(
        1 + len(name.encode()) + struct.calcsize(f"{order}{place}") for name, _ in records
    )
    index, bodies, at = b"", b"", len(head) + n_index
    for name, letters in records:
        encoded = name.encode()
        index += struct.pack("B", len(encoded)) + encoded + struct.pack(f"{order}{place}", at)
        body = _record(letters, order)
        bodies += body
        at += len(body)
    return head + index + bodies


def _record(letters: str, order: str) -> bytes:
    parts = [struct.pack(f"{order}I", len(letters))]
    for is_in in (lambda letter: letter.upper() not in "ACGT", str.islower):
        stretches, at = [], 0
        for inside, group in itertools.groupby(letters, is_in):
            n = len(list(group))
            stretches += [(at, n)] if inside else []
            at += n
        parts.append(struct.pack(f"{order}I", len(stretches)))
        parts += [struct.pack(f"{order}I", start) for start, _ in stretches]
        parts += [struct.pack(f"{order}I", n) for _, n in stretches]
    parts.append(struct.pack(f"{order}I", 0))
    codes = ["TCAG".find(letter) % 5 % 4 for letter in letters.upper()]
    codes += [0] * (-len(codes) % 4)
    for k in range(0, len(codes), 4):
        a, b, c, d = codes[k : k + 4]
        parts.append(bytes([a << 6 | b << 4 | c << 2 | d]))
    return b"".join(parts)
