"""Genotypes of VCF and BCF files.

A record is a variant with ALT as A1, the counted allele, and REF as A2, as in PLINK 2.
cyvcf2 reads the records; they are stored at 2 bits per genotype.

References
----------
VCF specification 4.3, https://samtools.github.io/hts-specs/VCFv4.3.pdf
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from genoviz.errors import FileFormatError
from genoviz.io.files.content import open_raw
from genoviz.io.files.optional import import_reader
from genoviz.io.genotypes.plink_files import dosage_notes
from genoviz.io.text import spaced_lines
from genoviz.io.text.encoding import check_whole_text
from genoviz.io.text.text_file import BGZF_END
from genoviz.model import packing_loops
from genoviz.model.genotypes.genotypes import Genotypes, SampleTable, VariantTable

_PLURAL = {"s": "s", "are": "are", "count": "count"}
_SINGULAR = {"s": "", "are": "is", "count": "counts"}
# Alleles are 0, 1, -1 if unknown, and this value if a genotype has fewer alleles than others.
_NO_MORE = -2
# Dosage by first allele (row) and second allele (column), each starting at -2.
_DOSAGES = np.array([[-1, -1, -1, -1], [-1, -1, -1, -1], [0, -1, 0, 1], [2, -1, 1, 2]], np.int8)
_DOSAGE_FIELDS = {"DS", "HDS", "GP"}
_HAPLOID = ([2, 3], [0, 0])
_HALF_CALL = ([1, 1, 2, 3], [2, 3, 1, 1])
_POLYPLOID = ([0], [0])
_STEP_GENOTYPES = 1 << 22
_MAGIC_BYTES = 16


@dataclass
class RecordColumns:
    """The records read so far.

    Attributes
    ----------
    path, samples
        The file, for errors, and its samples.
    splits
        Whether to split records with several ALT into one variant each.
    contigs
        Index of each contig by name.
    contig_ids, positions
        Contig and position of each variant.
    texts
        IDs, ALT and REF of the variants, in parts: ``StringDType`` (3, n).
    packed
        The genotypes at 2 bits, variant-major.
    n_multiallelic, n_without
        Numbers of records with more than two alleles, which are left out or split, and without
        genotypes.
    n_dosages, n_uncertain
        Numbers of records whose dosages are ignored, and of genotypes that are missing because
        their dosage is too far from a whole number.
    n_of_kind
        int64, shape (4, 4): genotypes by first and second allele, each from -2 (none) and -1
        (unknown) on; genotypes with three or more alleles are counted at 0, 0.
    """

    path: Path
    samples: SampleTable
    splits: bool = False
    contigs: dict[str, int] = field(default_factory=dict)
    contig_ids: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    texts: list[np.ndarray] = field(default_factory=list)
    packed: bytearray = field(default_factory=bytearray)
    n_multiallelic: int = 0
    n_without: int = 0
    n_dosages: int = 0
    n_uncertain: int = 0
    n_of_kind: np.ndarray = field(default_factory=lambda: np.zeros((4, 4), np.int64))
    _new_texts: list[tuple[str, str, str]] = field(default_factory=list)
    _new_dosages: list[np.ndarray] = field(default_factory=list)

    def add(self, record, number: int) -> None:
        """Add a record of cyvcf2, the ``number``-th of the file."""
        # cyvcf2 crashes on the ID of an empty line, and on a GT without values, which may occur if
        # GT is not the first field.
        fields = record.FORMAT
        if fields[:1] != ["GT"]:
            self.n_without += 1
            return
        try:
            others, reference = record.ALT, record.REF
        except UnicodeDecodeError as error:
            found = f"record {number:,} has an allele that is not text: {error.object!r}"
            raise FileFormatError(self.path, found) from error
        if len(others) > 1:
            self.n_multiallelic += 1
            if not self.splits:
                return
        self.n_dosages += not _DOSAGE_FIELDS.isdisjoint(fields)
        # The last column is the phasing flag.
        alleles = record.genotype.array(_NO_MORE)
        n_others = max(len(others), 1)
        if alleles.max() > n_others or alleles.min() < _NO_MORE:
            self._refuse(record, number, alleles, n_others)
        place = (record.CHROM, record.POS - 1)
        for k, other in enumerate(others or (".",), 1):
            of_this = alleles if n_others == 1 else np.where(alleles > 0, alleles == k, alleles)
            self.add_variant(place, (record.ID or ".", other, reference), self._dosages(of_this))

    def add_variant(
        self, place: tuple[str, int], texts: tuple[str, str, str], dosages: np.ndarray
    ) -> None:
        """Add a variant: contig and position; ID, ALT and REF; int8 dosages, -1 if missing."""
        self._new_dosages.append(dosages)
        self._new_texts.append(texts)
        self.contig_ids.append(self.contigs.setdefault(place[0], len(self.contigs)))
        self.positions.append(place[1])

    def _dosages(self, alleles: np.ndarray) -> np.ndarray:
        """Return the dosages of a variant, int8, shape (n_samples,); also counts the genotypes."""
        ploidy = alleles.shape[1] - 1
        kinds = 4 * (alleles[:, 0] - _NO_MORE)
        if ploidy > 1:
            kinds += alleles[:, 1] - _NO_MORE
        if ploidy > 2:
            kinds[alleles[:, 2] != _NO_MORE] = 0
        self.n_of_kind += np.bincount(kinds, minlength=_DOSAGES.size).reshape(_DOSAGES.shape)
        return _DOSAGES.take(kinds)

    def _refuse(self, record, number: int, alleles: np.ndarray, n_others: int) -> None:
        sample, place = np.argwhere((alleles > n_others) | (alleles < _NO_MORE))[0]
        where = f"record {number:,}, at {record.CHROM}:{record.POS:,}"
        found = f"the genotype of {self.samples.ids[sample]!s} has allele {alleles[sample, place]}"
        needed = ", ".join(map(str, range(n_others + 1)))
        raise FileFormatError(self.path, f"{where}: {found}, needs {needed} or .")

    def pack(self) -> None:
        """Pack the genotypes added so far at 2 bits each."""
        if not self._new_dosages:
            return
        self.packed += packing_loops.pack_dosages(np.stack(self._new_dosages)).data
        self.texts.append(np.array(self._new_texts, np.dtypes.StringDType()).T)
        self._new_dosages.clear()
        self._new_texts.clear()

    def genotypes(self, notes: tuple[str, ...] = ()) -> Genotypes:
        """Return all variants as genotypes; ``notes`` stand before those on records."""
        self.pack()
        variants = VariantTable(
            tuple(self.contigs),
            np.array(self.contig_ids, np.int32),
            np.array(self.positions, np.int64),
            *(_joined([part[k] for part in self.texts]) for k in range(3)),
            np.zeros(len(self.positions)),
        )
        packed = np.frombuffer(self.packed, np.uint8).reshape(
            len(variants), (len(self.samples) + 3) // 4
        )
        return Genotypes(packed, self.samples, variants, notes + self.notes())

    def notes(self) -> tuple[str, ...]:
        """Return notes on what was left out or treated specially."""
        n_haploid, n_half, n_polyploid = (
            int(self.n_of_kind[kinds].sum()) for kinds in (_HAPLOID, _HALF_CALL, _POLYPLOID)
        )
        done = "split, a variant for each ALT" if self.splits else "left out"
        sentences = [
            (self.n_multiallelic, "variant{s} of more than two alleles {are} " + done),
            (self.n_without, "record{s} without genotypes (GT) {are} left out"),
            (n_haploid, "haploid genotype{s} {count} as homozygous"),
            (n_half, "half-call{s}, such as ./1, {count} as missing"),
            (n_polyploid, "genotype{s} of three or more alleles {are} missing"),
            (
                self.n_uncertain,
                "genotype{s} {are} missing, as the dosage is farther than 0.1 from a whole number",
            ),
        ]
        forms = (_PLURAL, _SINGULAR)
        notes = tuple(f"{n:,} {text.format(**forms[n == 1])}." for n, text in sentences if n)
        return notes + dosage_notes(self.n_dosages)


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    """Join texts at fixed width, or as variable-length strings if that saves memory."""
    if not parts:
        return np.empty(0, np.str_)
    texts = np.concatenate(parts)
    width = int(np.strings.str_len(texts).max())
    fits = 4 * width * len(texts) <= spaced_lines.MAX_FIXED_BYTES
    return texts.astype(f"U{width}") if fits else texts


def read_vcf(
    path: Path, *, split_alleles: bool = False
) -> Generator[tuple[str, int, int], None, Genotypes]:
    """Return the genotypes of a VCF or BCF file, plain or compressed; yields progress.

    Parameters
    ----------
    path
        The file.
    split_alleles
        As for `genoviz.io.genotypes.reader.iter_read_genotypes`.

    Raises
    ------
    FileFormatError
        If the file has another format, has no samples, is damaged or truncated, or a genotype has
        an allele that its record lacks.
    GenovizError
        If cyvcf2 is not installed.
    """
    with opened_vcf(path) as vcf:
        columns = RecordColumns(path, vcf.samples, split_alleles)
        step = max(1, _STEP_GENOTYPES // len(columns.samples))
        for n_records, record in enumerate(vcf.iter_records(), start=1):
            columns.add(record, n_records)
            if n_records % step == 0:
                columns.pack()
                yield "Reading variants", vcf.n_read(), vcf.n_bytes
    return columns.genotypes()


@dataclass(frozen=True)
class OpenVcf:
    """An open VCF or BCF file.

    Attributes
    ----------
    path, n_bytes
        The file, and its size.
    samples
        Its samples, at least one.
    reader
        The reader of cyvcf2.
    """

    path: Path
    n_bytes: int
    samples: SampleTable
    reader: Any
    _file: BinaryIO

    def n_read(self) -> int:
        """Return the number of bytes read."""
        return self._file.tell()

    def iter_records(self) -> Iterator[Any]:
        """Yield the records of cyvcf2; raises `FileFormatError` at a damaged one."""
        n_records, where = 0, "its header"
        try:
            for record in self.reader:
                where = f"{record.CHROM}:{record.POS:,}"
                n_records += 1
                yield record
        except Exception as error:
            found = f"record {n_records + 1:,}, behind {where}, is damaged or cut off"
            raise FileFormatError(self.path, found) from error


@contextmanager
def opened_vcf(path: Path) -> Iterator[OpenVcf]:
    """Open a VCF or BCF file, plain or compressed; raises as `read_vcf`."""
    cyvcf2 = import_reader("cyvcf2", "VCF and BCF files")
    with open_raw(path, buffering=0) as file:
        check_whole_text(path, b"##")
        n_bytes = os.fstat(file.fileno()).st_size
        _check_end(path, file, n_bytes)
        # Progress is the read position of the file descriptor. No threads: cyvcf2 does not stop
        # those of a file that was passed in open.
        try:
            reader = cyvcf2.VCF(file.fileno())
            names = reader.samples
        except Exception as error:
            raise FileFormatError(path, _why_not(n_bytes, error)) from error
        yield OpenVcf(path, n_bytes, _make_samples(path, names), reader, file)


def _check_end(path: Path, file: BinaryIO, n_bytes: int) -> None:
    """Reject a BGZF file without its end marker, which htslib would accept as complete."""
    start = file.read(_MAGIC_BYTES)
    file.seek(max(n_bytes - len(BGZF_END), 0))
    end = file.read()
    file.seek(0)
    marks = (slice(4), slice(10, _MAGIC_BYTES))
    if all(start[mark] == BGZF_END[mark] for mark in marks) and end != BGZF_END:
        found = "the gzip blocks end without an end mark (truncated file), need the whole file"
        raise FileFormatError(path, found)


def _why_not(n_bytes: int, error: Exception) -> str:
    """Return why cyvcf2 cannot open a file."""
    if n_bytes == 0:
        return "the file is empty, needs a header and records"
    if isinstance(error, OSError):
        return (
            "is not a VCF or BCF file, needs one, plain or gzipped, that begins with ##fileformat"
        )
    return (
        "has a header that is damaged, cut off, or names a sample twice; needs a line that begins "
        "with #CHROM and ends with FORMAT and the samples, between tabs"
    )


def _make_samples(path: Path, names: list[str]) -> SampleTable:
    if not names:
        raise FileFormatError(path, "has no samples, needs genotypes behind column FORMAT")
    return SampleTable.from_ids(np.array(names, np.str_))
