"""Genotypes of VCF and BCF files.

A record is a variant with ALT as A1, the counted allele, and REF as A2, as in PLINK 2.
cyvcf2 reads the records; they are stored at 2 bits per genotype. Dosages (DS, HDS or GP) are kept
where they differ from GT; where a record has no GT, the nearest whole dosages are the hard calls.

References
----------
VCF specification 4.3, https://samtools.github.io/hts-specs/VCFv4.3.pdf
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from genoviz.errors import FileFormatError
from genoviz.io.files.compiled_errors import quiet_htslib
from genoviz.io.files.content import open_raw
from genoviz.io.files.optional import import_reader
from genoviz.io.genotypes.dosages import (
    DOSAGE_FIELDS,
    WRONG_DOSAGE,
    dosages_of_calls,
    read_field,
)
from genoviz.io.genotypes.record_columns import RecordColumns
from genoviz.io.text.encoding import check_whole_text
from genoviz.io.text.text_file import BGZF_END
from genoviz.model.genotypes.chromosomes import DIPLOID, chromosome_kinds
from genoviz.model.genotypes.dosages import MISSING_DOSAGE
from genoviz.model.genotypes.genotypes import Genotypes, SampleTable

# Alleles are 0, 1, -1 if unknown, and this value if a genotype has fewer alleles than others.
_NO_MORE = -2
# Hard call by first allele (row) and second allele (column), each starting at -2.
_CALLS = np.array([[-1, -1, -1, -1], [-1, -1, -1, -1], [0, -1, 0, 1], [2, -1, 1, 2]], np.int8)
_STEP_GENOTYPES = 1 << 22
# Numbers are those of autosomes, as long as the species is not known.
MAX_AUTOSOMES = 10**9
_MAGIC_BYTES = 16
_REPLACED = "\ufffd"
"""What cyvcf2 puts in the place of letters that are not UTF-8."""


class VcfColumns(RecordColumns):
    """The records of a VCF or BCF file read so far."""

    def add(self, record, number: int) -> None:
        """Add a record of cyvcf2, the ``number``-th of the file."""
        # cyvcf2 crashes on the ID of an empty line, and on a GT without values, which may occur if
        # GT is not the first field.
        fields = record.FORMAT
        has_calls = fields[:1] == ["GT"]
        if not has_calls and ("GT" in fields or DOSAGE_FIELDS.keys().isdisjoint(fields)):
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
        n_others = max(len(others), 1)
        names = [name for name in DOSAGE_FIELDS if name in fields]
        names = names if n_others == 1 else names[:1] * (names[:1] == ["DS"])
        if not has_calls and names[:1] == ["DS"] and _has_haploid(record.CHROM):
            names.remove("DS")
            if not names:
                self.n_unscaled += 1
                return
        if not has_calls and not names:
            self.n_without += 1
            return
        alleles = self._alleles(record, number, n_others) if has_calls else None
        variant_id = record.ID or "."
        if _REPLACED in variant_id:
            found = f"the ID is {variant_id!r} with a letter that is not UTF-8, needs UTF-8"
            self._refuse(record, number, found)
        for k, other in enumerate(others or (".",), 1):
            place, texts = (record.CHROM, record.POS - 1), (variant_id, other, reference)
            if not has_calls:
                field = names[0], k, n_others
                self.add_dosages(place, texts, self._read_field(record, number, field, None))
                continue
            of_this = alleles if n_others == 1 else np.where(alleles > 0, alleles == k, alleles)
            calls, dosages = self._calls(of_this), None
            if names and self.takes_dosages:
                found = self._read_field(record, number, (names[0], k, n_others), alleles)
                of_calls = dosages_of_calls(calls)
                found = np.where(found == MISSING_DOSAGE, of_calls, found)
                dosages = None if (found == of_calls).all() else found
            self.n_dosages += dosages is not None if self.takes_dosages else bool(names)
            self.add_variant(place, texts, calls, dosages)

    def _calls(self, alleles: np.ndarray) -> np.ndarray:
        """Return the hard calls of a variant, int8, shape (n_samples,), and count genotypes."""
        ploidy = alleles.shape[1] - 1
        kinds = 4 * (alleles[:, 0] - _NO_MORE)
        if ploidy > 1:
            kinds += alleles[:, 1] - _NO_MORE
        if ploidy > 2:
            kinds[alleles[:, 2] != _NO_MORE] = 0
        self.n_of_kind += np.bincount(kinds, minlength=_CALLS.size).reshape(_CALLS.shape)
        return _CALLS.take(kinds)

    def _alleles(self, record, number: int, n_others: int) -> np.ndarray:
        """Return the alleles of a record; the last column is the phasing flag."""
        alleles = record.genotype.array(_NO_MORE)
        if alleles.max() > n_others or alleles.min() < _NO_MORE:
            sample, place = np.argwhere((alleles > n_others) | (alleles < _NO_MORE))[0]
            needed = ", ".join(map(str, range(n_others + 1)))
            found = f"has allele {alleles[sample, place]}, needs {needed} or ."
            self._refuse(record, number, f"the genotype of {self.samples.ids[sample]!s} {found}")
        return alleles

    def _read_field(
        self, record, number: int, field: tuple[str, int, int], alleles: np.ndarray | None
    ) -> np.ndarray:
        """Return dosages, uint16, of a field: name, number of the ALT, and number of all ALT."""
        name, k, n_others = field
        values = np.asarray(record.format(name))
        if values.dtype.kind != "f":
            self._refuse(record, number, f"{name} is not of Type=Float in the header, and needs to")
        if alleles is not None:
            values[(alleles[:, 2:-1] != _NO_MORE).any(1)] = np.nan
        width = values.shape[1]
        needed = {"DS": (n_others,), "HDS": (1, 2), "GP": (2, 3)}[name]
        if np.isnan(values).all():
            return np.full(len(values), MISSING_DOSAGE, np.uint16)
        if width not in needed:
            found = f"{name} has {width} number{'s' * (width > 1)} a sample, needs {needed[-1]}"
            self._refuse(record, number, found)
        is_haploid = None if alleles is None else (alleles[:, 1:-1] == _NO_MORE).all(1)
        dosages = read_field(name, values[:, k - 1 : k] if name == "DS" else values, is_haploid)
        if (dosages == WRONG_DOSAGE).any():
            sample = int(np.argmax(dosages == WRONG_DOSAGE))
            found = ",".join("." if value != value else f"{value:g}" for value in values[sample])
            found = f"{name} of {self.samples.ids[sample]!s} is {found}"
            self._refuse(record, number, f"{found}, needs {DOSAGE_FIELDS[name]}")
        return dosages

    def _refuse(self, record, number: int, found: str) -> None:
        where = f"record {number:,}, at {record.CHROM}:{record.POS:,}"
        raise FileFormatError(self.path, f"{where}: {found}")


@cache
def _has_haploid(contig: str) -> bool:
    """Tell whether some samples have one copy of a contig, by its letters: X, Y and MT."""
    (kind,) = chromosome_kinds([contig], MAX_AUTOSOMES)
    return kind not in DIPLOID


def read_vcf(
    path: Path, *, split_alleles: bool = False, dosages: bool = True
) -> Generator[tuple[str, int, int], None, Genotypes]:
    """Return the genotypes of a VCF or BCF file, plain or compressed; yields progress.

    Parameters
    ----------
    path
        The file.
    split_alleles
        As for `genoviz.io.genotypes.reader.iter_read_genotypes`.
    dosages
        Whether to read dosages too, not only hard calls.

    Raises
    ------
    FileFormatError
        If the file has another format, has no samples, is damaged or truncated, a genotype has an
        allele that its record lacks, or a dosage is out of range.
    GenovizError
        If cyvcf2 is not installed.
    """
    with opened_vcf(path) as vcf:
        columns = VcfColumns(path, vcf.samples, dosages, split_alleles)
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
                before, where = where, f"{record.CHROM}:{record.POS:,}"
                n_records += 1
                if record.end == record.start:  # htslib stopped before the position of a line
                    self._pass_over(record.CHROM, n_records, before)
                    where = before
                    continue
                yield record
        except FileFormatError:
            raise
        except UnicodeDecodeError as error:
            found = f"record {n_records + 1:,}, behind {where}, has a contig that is not UTF-8"
            raise FileFormatError(self.path, f"{found}, needs UTF-8") from error
        except Exception as error:
            found = f"record {n_records + 1:,}, behind {where}, is damaged or cut off"
            raise FileFormatError(self.path, found) from error

    def _pass_over(self, start: str, number: int, where: str) -> None:
        """Accept an empty line; reject any other one that is not a record."""
        if start:
            found = f"record {number:,}, behind {where}, begins with {start[:40]!r}"
            more = " (are these several files in one?)" if start.startswith("#") else ""
            needed = f"needs a contig and a position, between tabs{more}"
            raise FileFormatError(self.path, f"{found}, {needed}")


@contextmanager
def opened_vcf(path: Path) -> Iterator[OpenVcf]:
    """Open a VCF or BCF file, plain or compressed; raises as `read_vcf`."""
    cyvcf2 = import_reader("cyvcf2", "VCF and BCF files")
    with quiet_htslib(cyvcf2), open_raw(path, buffering=0) as file:
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
    if isinstance(error, UnicodeDecodeError):
        return "has a sample name that is not UTF-8 text, needs UTF-8"
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
