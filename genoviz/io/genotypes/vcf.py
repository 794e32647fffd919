"""Genotypes of VCF and BCF files.

A record is a variant whose A1, the counted allele, is ALT, and whose A2 is REF: as ``plink2
--make-bed`` has it. cyvcf2 reads the records; what stays of them is 2 bits a genotype.

References
----------
VCF specification 4.3, https://samtools.github.io/hts-specs/VCFv4.3.pdf
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from genoviz.errors import FileFormatError
from genoviz.io.files.optional import import_reader
from genoviz.io.genotypes.vcf_columns import VcfColumns
from genoviz.io.text import bgzf
from genoviz.model.genotypes.genotypes import Genotypes, SampleTable

_STEP_GENOTYPES = 1 << 22
_MAGIC_BYTES = 16


def read_vcf(path: Path) -> Generator[tuple[str, int, int], None, Genotypes]:
    """Return the genotypes of a VCF or BCF file, plain or compressed; yields the progress.

    Raises
    ------
    FileFormatError
        If the file is neither, has no samples, is damaged or cut off, or a genotype has an allele
        that its record has not.
    GenovizError
        If cyvcf2 is not installed.
    """
    cyvcf2 = import_reader("cyvcf2", "VCF and BCF files")
    try:
        file = path.open("rb", buffering=0)
    except FileNotFoundError:
        raise FileFormatError(path, f"there is no such file in {path.absolute().parent}") from None
    except OSError as error:
        raise FileFormatError(path, f"cannot be read: {error.strerror or error}") from error
    with file:
        n_bytes = os.fstat(file.fileno()).st_size
        _check_end(path, file, n_bytes)
        # The place in the file that cyvcf2 reads is the progress. Threads would outlive the reader:
        # cyvcf2 does not end those of a file that it was given open.
        try:
            reader = cyvcf2.VCF(file.fileno())
            names = reader.samples
        except Exception as error:
            raise FileFormatError(path, _why_not(n_bytes, error)) from error
        columns = VcfColumns(path, _make_samples(path, names))
        step = max(1, _STEP_GENOTYPES // len(names))
        for n_records, record in enumerate(_iter_records(path, reader), start=1):
            columns.add(record, n_records)
            if n_records % step == 0:
                columns.pack()
                yield "Reading variants", file.tell(), n_bytes
    return columns.genotypes()


def _iter_records(path: Path, reader) -> Iterator:
    n_records, where = 0, "its header"
    try:
        for record in reader:
            where = f"{record.CHROM}:{record.POS:,}"
            n_records += 1
            yield record
    except Exception as error:
        found = f"record {n_records + 1:,}, behind {where}, is damaged or cut off"
        raise FileFormatError(path, found) from error


def _check_end(path: Path, file: BinaryIO, n_bytes: int) -> None:
    """Refuse a file of BGZF without its end mark, whose records htslib takes for all."""
    start = file.read(_MAGIC_BYTES)
    file.seek(max(n_bytes - len(bgzf.END), 0))
    end = file.read()
    file.seek(0)
    marks = (slice(4), slice(10, _MAGIC_BYTES))
    if all(start[mark] == bgzf.END[mark] for mark in marks) and end != bgzf.END:
        found = "the gzip blocks end without an end mark (truncated file), need the whole file"
        raise FileFormatError(path, found)


def _why_not(n_bytes: int, error: Exception) -> str:
    """Return what is wrong with a file that cyvcf2 does not open."""
    if n_bytes == 0:
        return "the file is empty, needs a header and records"
    if isinstance(error, OSError):
        return "is no VCF or BCF file, needs one, plain or gzipped, that begins with ##fileformat"
    return (
        "has a header that is damaged, cut off, or names a sample twice; needs a line that begins "
        "with #CHROM and ends with FORMAT and the samples, between tabs"
    )


def _make_samples(path: Path, names: list[str]) -> SampleTable:
    if not names:
        raise FileFormatError(path, "has no samples, needs genotypes behind column FORMAT")
    return SampleTable.from_ids(np.array(names, np.str_))
