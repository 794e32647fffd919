"""Genotypes of BGEN files: dosages and hard calls of their probabilities.

The first allele of a variant is REF and A2, the second ALT and A1, the counted allele, as PLINK 2
reads them with ``ref-first``. Haploid genotypes count as homozygous.

References
----------
G. Band and J. Marchini (2018), BGEN: a binary file format for imputed genotype and haplotype data,
bioRxiv 308296, doi:10.1101/308296
https://www.chg.ox.ac.uk/~gav/bgen_format/
https://www.cog-genomics.org/plink/2.0/input#bgen
"""

from __future__ import annotations

import zlib
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from genoviz.errors import FileFormatError, n_words
from genoviz.io.files.content import open_raw
from genoviz.io.files.optional import import_reader
from genoviz.io.genotypes.dosages import WRONG_DOSAGE, read_copies, read_triples
from genoviz.io.genotypes.record_columns import RecordColumns
from genoviz.io.genotypes.sample_tables import read_sample_file
from genoviz.model.genotypes.dosages import MISSING_DOSAGE
from genoviz.model.genotypes.genotypes import Genotypes, SampleTable

_MAGICS = (b"bgen", bytes(4))
_HEADER_BYTES = 20
_HAS_IDS = 1 << 31
_ZLIB, _ZSTD = 1, 2
_MISSING, _PLOIDY = 0x80, 0x3F
_MAX_PLOIDY = 63
_STEP_GENOTYPES = 1 << 22


def read_bgen(
    path: Path, *, dosages: bool = True
) -> Generator[tuple[str, int, int], None, Genotypes]:
    """Return the genotypes of a BGEN file of layout 1 or 2; yields progress.

    Samples are those of the .sample file of the same name, if there is one, otherwise those that
    the BGEN file names.

    Parameters
    ----------
    path
        The .bgen file, or its .sample file.
    dosages
        Whether to read dosages too, not only hard calls.

    Raises
    ------
    FileFormatError
        If a file is missing, damaged or truncated, the two do not match, or no samples are named.
    """
    table = path.with_suffix(".sample")
    path = path if path.suffix.lower() == ".bgen" else path.with_suffix(".bgen")
    with open_raw(path) as file:
        data = _Bytes(path, file)
        yield "Reading samples", 0, data.n_bytes
        header = _read_header(data)
        if not header.n_samples:
            raise FileFormatError(path, "has no samples, needs genotypes of some")
        names = _read_ids(data, header) if header.has_ids else None
        samples, notes = _find_samples(path, table, names, header.n_samples)
        data.start_at(header.first_variant)
        columns = RecordColumns(path, samples, takes_dosages=dosages)
        step = max(1, _STEP_GENOTYPES // max(header.n_samples, 1))
        for number in range(1, header.n_variants + 1):
            data.where = f"variant {number:,} of {header.n_variants:,}"
            _add_variant(data, header, columns)
            if number % step == 0:
                columns.pack()
                yield "Reading variants", data.n_bytes - data.n_left, data.n_bytes
        if data.n_left:
            noun = "byte" if data.n_left == 1 else "bytes"
            found = f"has {data.n_left:,} {noun} behind its {n_words(header.n_variants, 'variant')}"
            raise FileFormatError(path, f"{found}, needs none")
    return columns.genotypes(notes)


@dataclass
class _Bytes:
    """The bytes of a file in order; none beyond its end are ever asked for."""

    path: Path
    file: BinaryIO
    where: str = "the header"

    def __post_init__(self) -> None:
        self.n_bytes = self.n_left = self.file.seek(0, 2)
        self.file.seek(0)

    def take(self, n: int) -> bytes:
        """Return the next bytes."""
        found = self.file.read(n) if 0 <= n <= self.n_left else b""
        if len(found) != n:
            self.refuse("is cut off or damaged, needs the whole file")
        self.n_left -= n
        return found

    def number(self, n_bytes: int = 4) -> int:
        """Return the next bytes as a number."""
        return int.from_bytes(self.take(n_bytes), "little")

    def text(self, n_bytes: int = 2) -> str:
        """Return a text that follows its length of ``n_bytes``."""
        found = self.take(self.number(n_bytes))
        try:
            return found.decode()
        except UnicodeDecodeError:
            return self.refuse(f"has a name that is not text: {found[:20]!r}")

    def start_at(self, place: int) -> None:
        """Go on at a byte of the file that is not behind what was read."""
        n_skipped = place - (self.n_bytes - self.n_left)
        if not 0 <= n_skipped <= self.n_left:
            self.refuse(f"says that variants begin at byte {place:,}, needs another place")
        self.file.seek(place)
        self.n_left -= n_skipped

    def refuse(self, found: str):
        """Raise `FileFormatError` about what is read now."""
        raise FileFormatError(self.path, f"{self.where} {found}")


@dataclass(frozen=True)
class BgenHeader:
    """The header of a BGEN file.

    Attributes
    ----------
    first_variant
        Byte at which variants begin.
    n_variants, n_samples
        Their numbers.
    compression
        0 for none, 1 for zlib, 2 for Zstandard.
    layout
        1 or 2.
    has_ids
        Whether the file names its samples; if not, it needs a .sample file.
    """

    first_variant: int
    n_variants: int
    n_samples: int
    compression: int
    layout: int
    has_ids: bool


def read_bgen_header(path: Path) -> BgenHeader:
    """Return the header of a BGEN file; raises as `read_bgen`."""
    with open_raw(path) as file:
        return _read_header(_Bytes(path, file))


def _read_header(data: _Bytes) -> BgenHeader:
    if not data.n_bytes:
        raise FileFormatError(data.path, "is empty, needs a header and variants")
    if data.n_bytes < 4 + _HEADER_BYTES:
        data.refuse("is cut off or damaged, needs the whole file")
    offset, n_header, n_variants, n_samples = (data.number() for _ in range(4))
    if data.take(4) not in _MAGICS or n_header < _HEADER_BYTES:
        raise FileFormatError(data.path, "is not a BGEN file, which has bgen at byte 16")
    data.take(n_header - _HEADER_BYTES)
    flags = data.number()
    compression, layout = flags & 3, flags >> 2 & 15
    if layout not in (1, 2):
        data.refuse(f"says layout {layout}, needs 1 or 2")
    if compression > layout:
        data.refuse(f"says compression {compression}, needs 0 to {layout} in layout {layout}")
    return BgenHeader(
        offset + 4, n_variants, n_samples, compression, layout, bool(flags & _HAS_IDS)
    )


def _read_ids(data: _Bytes, header: BgenHeader) -> np.ndarray:
    data.where = "the block of samples"
    n_bytes, n = data.number(), data.number()
    if n != header.n_samples:
        data.refuse(f"has {n_words(n, 'sample')}, needs {header.n_samples:,} as the header says")
    before = data.n_left
    # Each takes two bytes at least, so a wrong number ends at the end of the file.
    ids = [data.text() for _ in range(n)]
    if before - data.n_left != n_bytes - 8:
        data.refuse(f"has {before - data.n_left + 8:,} bytes, needs {n_bytes:,} as it says")
    return np.array(ids, np.str_)


def _find_samples(
    path: Path, table: Path, names: np.ndarray | None, n_samples: int
) -> tuple[SampleTable, tuple[str, ...]]:
    """Return the samples, and a note if the two files name them differently."""
    if not table.is_file():
        if names is None:
            raise FileFormatError(path, f"names no samples, needs {table.name} beside it")
        if len(set(names.tolist())) < len(names):
            raise FileFormatError(path, "names a sample twice, needs an ID of its own for each")
        return SampleTable.from_ids(names), ()
    samples = read_sample_file(table)
    if len(samples) != n_samples:
        found = f"has {n_words(len(samples), 'sample')}, needs {n_samples:,} as {path.name} has"
        raise FileFormatError(table, found)
    families = samples.family_ids.astype(object)
    same = (samples.ids, samples.family_ids, families + "_" + samples.ids.astype(object))
    if names is None or any((names == each).all() for each in same):
        return samples, ()
    note = f"Samples are named as in {table.name}; {path.name} has other names for them."
    return samples, (note,)


def _add_variant(data: _Bytes, header: BgenHeader, columns: RecordColumns) -> None:
    """Read a variant, and add it if it has two alleles at most."""
    n = header.n_samples
    if header.layout == 1 and (found := data.number()) != n:
        data.refuse(f"has {n_words(found, 'sample')}, needs {n:,} as the header says")
    other_id, name, contig = (data.text() for _ in range(3))
    position = data.number()
    n_alleles = data.number(2) if header.layout == 2 else 2
    alleles = [data.text(4) for _ in range(n_alleles)]
    if n_alleles > 2:
        data.take(data.number())
        columns.n_multiallelic += 1
        return
    if header.layout == 1:
        content = data.take(data.number() if header.compression else 6 * n)
        content = _unpack(data, content, header.compression, 6 * n)
        dosages = read_triples(content)
    else:
        n_stored = data.number()
        n_bytes = data.number() if header.compression else n_stored
        if n_bytes > 10 + n * (1 + 4 * _MAX_PLOIDY):
            data.refuse(f"says {n_bytes:,} bytes of genotypes, needs fewer")
        content = data.take(n_stored - 4 * (header.compression > 0))
        content = _unpack(data, content, header.compression, n_bytes)
        dosages = _layout2_dosages(data, content, n, n_alleles, columns)
    is_wrong = dosages == WRONG_DOSAGE
    if is_wrong.any():
        sample = columns.samples.ids[int(np.argmax(is_wrong))]
        data.refuse(f"has probabilities of sample {sample!s} that are more than 1 together")
    reference, other = (*alleles, ".", ".")[:2]
    named = next((text for text in (name, other_id) if text not in ("", ".")), ".")
    columns.add_dosages((contig, position - 1), (named, other, reference), dosages)


def _unpack(data: _Bytes, content: bytes, compression: int, n_bytes: int) -> bytes:
    """Return decompressed content, which has ``n_bytes``; never more of it."""
    if compression == _ZLIB:
        stream = zlib.decompressobj()
        try:
            content = stream.decompress(content, n_bytes + 1)
        except zlib.error:
            data.refuse("has genotypes that cannot be decompressed")
        if not stream.eof and len(content) == n_bytes:
            data.refuse("has genotypes without their end and checksum")
    elif compression == _ZSTD:
        zstandard = import_reader("zstandard", "BGEN files of version 1.3")
        try:
            if zstandard.frame_content_size(content) in (-1, n_bytes):
                unpacker = zstandard.ZstdDecompressor()
                content = unpacker.decompress(content, max_output_size=n_bytes)
        except zstandard.ZstdError:
            data.refuse("has genotypes that cannot be decompressed")
    if len(content) != n_bytes:
        data.refuse(f"has {len(content):,} bytes of genotypes, needs {n_bytes:,}")
    return content


def _layout2_dosages(
    data: _Bytes, content: bytes, n: int, n_alleles: int, columns: RecordColumns
) -> np.ndarray:
    """Return the dosages of a variant, uint16, and count genotypes of other than two copies."""
    if len(content) < 10 + n:
        data.refuse(f"has {len(content):,} bytes of genotypes, needs {10 + n:,} or more")
    found = int.from_bytes(content[:4], "little"), int.from_bytes(content[4:6], "little")
    if found != (n, n_alleles):
        data.refuse(f"has genotypes of {n_words(found[0], 'sample')} and {found[1]} alleles, needs "
                    f"{n:,} and {n_alleles}")  # fmt: skip
    flags = np.frombuffer(content, np.uint8, n, 8)
    is_phased, n_bits = content[8 + n : 10 + n]
    if is_phased > 1 or not 1 <= n_bits <= 32:
        data.refuse(f"has phase {is_phased} and {n_bits} bits, needs 0 or 1, and 1 to 32")
    ploidies = flags & _PLOIDY
    n_values = int(ploidies.sum()) * (n_alleles - 1)
    stored = np.frombuffer(content, np.uint8, offset=10 + n)
    if len(stored) != -(-n_values * n_bits // 8):
        data.refuse(f"has {len(stored):,} bytes of probabilities, needs {n_values:,} numbers of "
                    f"{n_bits} bits")  # fmt: skip
    is_missing = flags >= _MISSING
    dosages = np.zeros(n, np.uint16)
    if n_alleles > 1:
        dosages = read_copies(stored, ploidies, n_bits, is_phased=bool(is_phased))
    if (ploidies != 2).any():
        columns.n_of_kind[2, 0] += np.count_nonzero((ploidies == 1) & ~is_missing)
        columns.n_of_kind[0, 0] += np.count_nonzero((ploidies > 2) & ~is_missing)
        is_missing |= (ploidies < 1) | (ploidies > 2)
    dosages[is_missing] = MISSING_DOSAGE
    return dosages
