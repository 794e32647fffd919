"""BGEN files written number by number, and their hard calls in fractions."""

from __future__ import annotations

import math
import struct
import zlib
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import zstandard


@dataclass(frozen=True)
class Variant:
    """A variant: ``genotypes`` has the stored numbers of each sample, None if missing."""

    genotypes: tuple[tuple[int, ...] | None, ...]
    n_bits: int = 8
    is_phased: bool = False
    name: str = "rs1"
    contig: str = "1"
    position: int = 10
    alleles: tuple[str, ...] = ("A", "G")


def write_bgen(
    path: Path, variants: list[Variant], n_samples: int, *,
    ids: list[str] | None = None, layout: int = 2, compression: int = 1,
) -> Path:  # fmt: skip
    """Write variants, and samples if they have names."""
    flags = compression | layout << 2 | (ids is not None) << 31
    header = struct.pack("<III4s3xI", 23, len(variants), n_samples, b"bgen", flags)
    block = b""
    if ids is not None:
        texts = b"".join(_text(each, "<H") for each in ids)
        block = struct.pack("<II", len(texts) + 8, n_samples) + texts
    parts = [struct.pack("<I", len(header) + len(block)), header, block]
    for variant in variants:
        parts += _variant(variant, n_samples, layout, compression)
    path.write_bytes(b"".join(parts))
    return path


def _text(text: str, form: str) -> bytes:
    return struct.pack(form, len(text.encode())) + text.encode()


def _variant(variant: Variant, n_samples: int, layout: int, compression: int) -> list[bytes]:
    parts = [struct.pack("<I", n_samples)] * (layout == 1)
    parts += [_text(text, "<H") for text in ("other", variant.name, variant.contig)]
    parts.append(struct.pack("<I", variant.position))
    parts += [struct.pack("<H", len(variant.alleles))] * (layout == 2)
    parts += [_text(allele, "<I") for allele in variant.alleles]
    data = _layout1(variant) if layout == 1 else _layout2(variant)
    packed = {0: bytes, 1: zlib.compress, 2: zstandard.ZstdCompressor().compress}[compression](data)
    if layout == 1:
        parts += [struct.pack("<I", len(packed))] * (compression > 0)
    elif compression:
        parts.append(struct.pack("<II", len(packed) + 4, len(data)))
    else:
        parts.append(struct.pack("<I", len(packed)))
    return [*parts, packed]


def _layout1(variant: Variant) -> bytes:
    return b"".join(struct.pack("<HHH", *(each or (0, 0, 0))) for each in variant.genotypes)


def _layout2(variant: Variant) -> bytes:
    copies = [2 if each is None else len(each) for each in variant.genotypes]
    flags = [n | 128 * (each is None) for n, each in zip(copies, variant.genotypes, strict=True)]
    bits = ""
    for each in variant.genotypes:
        for number in (0, 0) if each is None else each:
            bits += format(number, f"0{variant.n_bits}b")[::-1]
    bits += "0" * (-len(bits) % 8)
    stored = bytes(int(bits[at : at + 8][::-1], 2) for at in range(0, len(bits), 8))
    lead = struct.pack(
        "<IHBB", len(copies), len(variant.alleles), min(copies, default=0), max(copies, default=0)
    )
    return lead + bytes(flags) + bytes((variant.is_phased, variant.n_bits)) + stored


def dosage(numbers: tuple[int, ...] | None, variant: Variant, layout: int = 2) -> Fraction | None:
    """Return the dosage of the second allele, rounded to 1/16384; None if missing."""
    if numbers is None or (layout == 2 and len(numbers) not in (1, 2)):
        return None
    if layout == 1:
        exact = Fraction(numbers[1] + 2 * numbers[2], sum(numbers))
    else:
        shares = [Fraction(number, 2**variant.n_bits - 1) for number in numbers]
        if len(shares) == 1:
            exact = 2 * (1 - shares[0])
        elif variant.is_phased:
            exact = 2 - sum(shares)
        else:
            exact = shares[1] + 2 * (1 - sum(shares))
    return Fraction(math.floor(exact * 2**14 + Fraction(1, 2)), 2**14)


def hard_call(found: Fraction | None) -> int:
    """Return the whole dosage within 0.1, or -1."""
    whole = [n for n in (0, 1, 2) if found is not None and abs(found - n) <= Fraction(1, 10)]
    return whole[0] if whole else -1
