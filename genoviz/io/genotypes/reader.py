"""Genotypes from files of any kind: PLINK 1 and 2, VCF and BCF, arrays and tables."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

from genoviz.errors import FileFormatError
from genoviz.generators import report
from genoviz.io.genotypes.arrays import read_dosage_archive, read_dosage_array, read_dosage_table
from genoviz.io.genotypes.plink_files import read_pgen, read_plink
from genoviz.io.genotypes.vcf import read_vcf
from genoviz.io.text.text_file import read_start
from genoviz.model.genotypes.genotypes import Genotypes

_READERS = {
    ".bed": read_plink,
    ".bim": read_plink,
    ".fam": read_plink,
    ".vcf": read_vcf,
    ".vcf.gz": read_vcf,
    ".vcf.bgz": read_vcf,
    ".bcf": read_vcf,
    ".pgen": read_pgen,
    ".pvar": read_pgen,
    ".pvar.zst": read_pgen,
    ".psam": read_pgen,
    ".npy": read_dosage_array,
    ".npz": read_dosage_archive,
    ".parquet": read_dosage_table,
}
_VCF_START = b"##fileformat=VCF"
GENOTYPE_ENDINGS = tuple(_READERS)
"""Endings of the names of files that :func:`read_genotypes` reads."""


@dataclass(frozen=True)
class GenotypesProgress:
    """How far the reading of a file is.

    Attributes
    ----------
    stage
        What is being done, e.g. ``"Reading variants"``.
    n_done, n_total
        Bytes or variants that this stage has behind it, and has in all.
    genotypes
        The genotypes, in the last report only.
    """

    stage: str
    n_done: int
    n_total: int
    genotypes: Genotypes | None = None


def read_genotypes(
    source: str | PathLike[str], *, n_autosomes: int | None = None, split_alleles: bool = False
) -> Genotypes:
    """Return the genotypes of a file; see :func:`iter_read_genotypes`."""
    options = {"n_autosomes": n_autosomes, "split_alleles": split_alleles}
    for progress in iter_read_genotypes(source, **options):
        found = progress.genotypes
    return found


def iter_read_genotypes(
    source: str | PathLike[str], *, n_autosomes: int | None = None, split_alleles: bool = False
) -> Iterator[GenotypesProgress]:
    """Yield how far the reading of genotypes is; the last report has them.

    The ending of the name tells what a file is. Dosages count allele A1, which is:

    - PLINK 1 (``.bed``, ``.bim``, ``.fam``, or the prefix of the three): column 5 of the .bim file,
      the one that PLINK 1.9 counts too. The genotypes are mapped from the file, not loaded; those
      of a .bed file of the old order, sample after sample, are turned in memory.
    - VCF and BCF (``.vcf``, ``.vcf.gz``, ``.vcf.bgz``, ``.bcf``): ALT. Variants of more than two
      alleles are left out, half-calls are missing, haploid genotypes count as homozygous.
    - PLINK 2 (``.pgen`` with ``.pvar`` or ``.pvar.zst`` and ``.psam``, or their prefix): ALT, in
      hard calls. Variants of more than two alleles are left out.
    - Arrays (``.npy``, ``.npz``) and tables (``.parquet``) of dosages: as
      :func:`genoviz.io.genotypes.arrays.write_dosages` has them.

    Notes of the genotypes say what was left out or treated in its own way, and how often.

    Parameters
    ----------
    source
        The file, or the prefix of a set of files.
    n_autosomes
        Of the species; the numbers after it are X, Y, XY and MT. If None, 22 as in humans.
    split_alleles
        Whether a record of VCF or BCF with several ALT becomes a variant for each of them, of the
        same ID, at which all other alleles count as REF: as ``bcftools norm -m -any`` has it.

    Raises
    ------
    FileFormatError
        If a file is missing, damaged, or of no known kind, or is not VCF where its alleles are to
        be split.
    """
    path = Path(source)
    opened = _open(path, split_alleles=split_alleles)
    found = yield from report(opened, lambda step: GenotypesProgress(*step))
    found = replace(found, n_autosomes=n_autosomes)
    n = found.n_variants
    yield GenotypesProgress("Reading genotypes", n, n, found)


def _open(path: Path, *, split_alleles: bool) -> Generator[tuple[str, int, int], None, Genotypes]:
    reader, path = _find_reader(path)
    if not split_alleles:
        return reader(path)
    if reader is not read_vcf:
        raise FileFormatError(path, "is not VCF or BCF, and alleles are split of these alone")
    return read_vcf(path, split_alleles=True)


def _find_reader(path: Path) -> tuple[Callable, Path]:
    """Return what reads a file or a set of files, and which file."""
    name = path.name.lower()
    for ending, reader in _READERS.items():
        if name.endswith(ending):
            return reader, path
    for ending in (".bed", ".pgen"):
        if path.with_name(path.name + ending).is_file():
            return _READERS[ending], path.with_name(path.name + ending)
    if path.is_file() and read_start(path, len(_VCF_START)) == _VCF_START:
        return read_vcf, path
    known = ", ".join(GENOTYPE_ENDINGS)
    raise FileFormatError(path, f"is of no known kind, needs one of the endings {known}")
