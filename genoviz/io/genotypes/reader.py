"""Reading of genotypes: PLINK 1 and 2, VCF and BCF, BGEN, arrays and tables."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

from genoviz.errors import FileFormatError
from genoviz.generators import report
from genoviz.io.genotypes.arrays import read_dosage_archive, read_dosage_array, read_dosage_table
from genoviz.io.genotypes.bgen import read_bgen
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
    ".bgen": read_bgen,
    ".sample": read_bgen,
    ".npy": read_dosage_array,
    ".npz": read_dosage_archive,
    ".parquet": read_dosage_table,
}
_VCF_START = b"##fileformat=VCF"
GENOTYPE_ENDINGS = tuple(_READERS)
"""File name endings that :func:`read_genotypes` supports."""


@dataclass(frozen=True)
class GenotypesProgress:
    """Progress of reading a file.

    Attributes
    ----------
    stage
        Current stage, e.g. ``"Reading variants"``.
    n_done, n_total
        Bytes or variants processed in this stage, and their total.
    genotypes
        The genotypes, in the last report only.
    """

    stage: str
    n_done: int
    n_total: int
    genotypes: Genotypes | None = None


def read_genotypes(
    source: str | PathLike[str],
    *,
    n_autosomes: int | None = None,
    split_alleles: bool = False,
    dosages: bool = True,
) -> Genotypes:
    """Return the genotypes of a file; see :func:`iter_read_genotypes`."""
    options = {"n_autosomes": n_autosomes, "split_alleles": split_alleles, "dosages": dosages}
    for progress in iter_read_genotypes(source, **options):
        found = progress.genotypes
    return found


def iter_read_genotypes(
    source: str | PathLike[str],
    *,
    n_autosomes: int | None = None,
    split_alleles: bool = False,
    dosages: bool = True,
) -> Iterator[GenotypesProgress]:
    """Yield the progress of reading genotypes; the last report has them.

    The file name ending determines the format. Dosages count allele A1, which is:

    - PLINK 1 (``.bed``, ``.bim``, ``.fam``, or their common prefix): column 5 of the .bim file, as
      in PLINK 1.9. The genotypes are memory-mapped, not loaded. Those of an old sample-major .bed
      file are transposed in memory.
    - VCF and BCF (``.vcf``, ``.vcf.gz``, ``.vcf.bgz``, ``.bcf``): ALT. Variants with more than two
      alleles are left out, half-calls are missing, haploid genotypes count as homozygous. Dosages
      are those of DS, otherwise HDS, otherwise GP; where there is no GT, hard calls are made of
      them as for BGEN.
    - PLINK 2 (``.pgen`` with ``.pvar`` or ``.pvar.zst`` and ``.psam``, or their prefix): ALT.
      Variants with more than two alleles are left out.
    - BGEN 1.1 to 1.3 (``.bgen``, with a ``.sample`` file unless it names its samples): the second
      allele, as PLINK 2 with ``ref-first``. Hard calls are the nearest whole dosages, missing if
      farther than 0.1 from one. Variants with more than two alleles are left out.
    - Arrays (``.npy``, ``.npz``) and tables (``.parquet``) of dosages, in the layout of
      :func:`genoviz.io.genotypes.arrays.write_dosages`.

    The notes of the genotypes say what was left out or treated specially, and how often.

    Parameters
    ----------
    source
        The file, or the prefix of a set of files.
    n_autosomes
        Number of autosomes of the species; the following numbers are X, Y, XY and MT. If None, 22
        as in humans.
    split_alleles
        Whether to split a VCF or BCF record with several ALT into one variant each, with the same
        ID and all other alleles as REF, as ``bcftools norm -m -any``.
    dosages
        Whether to read the dosages of VCF, PLINK 2 and BGEN files too, in units of 1/16384 as PLINK
        2; otherwise only hard calls. Of 20,000 samples they take 40 KB a variant at which they
        differ from hard calls; those of more than 64 MB are written to an unnamed file in the cache
        folder.

    Raises
    ------
    FileFormatError
        If a file is missing, damaged, or of an unknown format, or if alleles are to be split and it
        is not VCF.
    """
    path = Path(source)
    opened = _open(path, split_alleles=split_alleles, dosages=dosages)
    found = yield from report(opened, lambda step: GenotypesProgress(*step))
    found = replace(found, n_autosomes=n_autosomes)
    n = found.n_variants
    yield GenotypesProgress("Reading genotypes", n, n, found)


def _open(
    path: Path, *, split_alleles: bool, dosages: bool
) -> Generator[tuple[str, int, int], None, Genotypes]:
    reader, path = _find_reader(path)
    if split_alleles and reader is not read_vcf:
        raise FileFormatError(path, "is not VCF or BCF, and alleles are split of these alone")
    options = {"dosages": dosages} if reader in (read_vcf, read_pgen, read_bgen) else {}
    return reader(path, **options, **({"split_alleles": True} if split_alleles else {}))


def _find_reader(path: Path) -> tuple[Callable, Path]:
    """Return the reader of a file or set of files, and the path to pass to it."""
    name = path.name.lower()
    for ending, reader in _READERS.items():
        if name.endswith(ending):
            return reader, path
    for ending in (".bed", ".pgen", ".bgen") if path.name else ():
        if path.with_name(path.name + ending).is_file():
            return _READERS[ending], path.with_name(path.name + ending)
    if path.is_file() and read_start(path, len(_VCF_START)) == _VCF_START:
        return read_vcf, path
    if path.is_dir():
        raise FileFormatError(path, "is a folder, needs to be a file, or the prefix of some")
    known = ", ".join(GENOTYPE_ENDINGS)
    raise FileFormatError(path, f"is of no known kind, needs one of the endings {known}")
