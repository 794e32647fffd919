"""Writing of genotypes as PLINK 1 files (.bed, .bim and .fam) and as VCF."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path

import numpy as np

from genoviz.errors import ParameterError
from genoviz.io.files.replace_file import replace_file
from genoviz.io.genotypes.plink_files import MAGIC, plink_paths
from genoviz.io.text.columns import integer_column, join_columns, plain_column, text_column
from genoviz.io.text.numbers import float_column
from genoviz.io.text.text_file import write_text
from genoviz.model.genotypes.genotypes import Genotypes, SampleTable, VariantTable

_BLOCK_BYTES = 1 << 25
_BLOCK_ROWS = 1 << 16
_DIGITS = 15
_LAST_POSITION = 2**31 - 2  # that PLINK reads; VCF has one more
# Tab and genotype of each 2-bit code; allele 1 (ALT) is the one that dosages count.
_FIELDS = np.array([[*b"\t1/1"], [*b"\t./."], [*b"\t0/1"], [*b"\t0/0"]], np.uint8)
_NO_ALLELE = "0"
_BLANKS = np.array([each for each in range(128) if chr(each).isspace()], np.uint8)
_ENDS = "\t\n\r"
_NOT_A_CONTIG = re.compile(r'[\s,<>]|^[\["]')
_OF_SAMPLES = {
    "family_ids": "FID", "ids": "sample", "father_ids": "father", "mother_ids": "mother",
}  # fmt: skip
_OF_VARIANTS = {"contigs": "contig", "ids": "variant", "allele1": "allele", "allele2": "allele"}
"""What the fields of text are called in messages."""


def write_plink(
    genotypes: Genotypes, prefix: str | PathLike[str], *, phenotype: np.ndarray | None = None
) -> tuple[Path, Path, Path]:
    """Write ``prefix.bed``, ``prefix.bim`` and ``prefix.fam``, and return their paths.

    The files equal those of ``plink1.9 --make-bed`` byte for byte.

    Parameters
    ----------
    genotypes
        The genotypes to write.
    prefix
        Path without ending, or that of one of the three files.
    phenotype
        Numbers, shape (n_samples,), for column 6 of the .fam file, NaN if missing; -9 by default.

    Raises
    ------
    FileFormatError
        If a file cannot be written.
    ParameterError
        If a name is empty or has a blank, which separates the fields of these files, or a position
        is beyond 2^31 - 2, the last that PLINK reads.
    """
    phenotype = np.full(genotypes.n_samples, np.nan) if phenotype is None else phenotype
    if np.shape(phenotype) != (genotypes.n_samples,):
        shape = f"({genotypes.n_samples},)"
        raise ParameterError(f"phenotype has shape {np.shape(phenotype)}, needs {shape}")
    bed, bim, fam = plink_paths(Path(prefix))
    samples, variants = genotypes.samples, genotypes.variants
    for table, names in ((samples, _OF_SAMPLES), (variants, _OF_VARIANTS)):
        for name, what in names.items():
            _check_words(what, getattr(table, name))
    _check_positions(variants)
    with replace_file(bed) as file:
        file.write(MAGIC)
        file.writelines(_iter_packed(genotypes))
    write_text(bim, _iter_bim(genotypes.variants))
    write_text(fam, _iter_fam(genotypes.samples, np.asarray(phenotype, np.float64)))
    return bed, bim, fam


def _check_words(what: str, names: Iterable[str]) -> None:
    """Refuse names that would not be one field between blanks."""
    column = plain_column(np.asarray(names))
    is_odd = np.isin(column.data, _BLANKS) | (column.data > 127)
    if (column.starts < column.ends).all() and not is_odd.any():
        return
    for name in np.asarray(names).tolist():
        if len(name.split()) != 1:
            raise ParameterError(
                f"{what} {name!r} has no name or a blank in it, so PLINK files cannot have it"
            )


def _check_positions(variants: VariantTable) -> None:
    """Refuse positions that other programs do not read."""
    last = variants.positions.max(initial=0) + 1
    if last > _LAST_POSITION:
        name = variants.ids[int(variants.positions.argmax())]
        raise ParameterError(
            f"variant {str(name)!r} is at {last:,}, needs a position up to {_LAST_POSITION:,}, the "
            "last that PLINK reads"
        )


def _iter_packed(genotypes: Genotypes) -> Iterator[memoryview]:
    """Yield the packed genotypes with zero padding beyond the last sample."""
    packed, n_last = genotypes.packed, genotypes.n_samples % 4
    step = max(1, _BLOCK_BYTES // max(packed.shape[1], 1))
    for first in range(0, len(packed), step):
        block = np.ascontiguousarray(packed[first : first + step])
        if n_last and (block[:, -1] >> 2 * n_last).any():
            block = block.copy()
            block[:, -1] &= (1 << 2 * n_last) - 1
        yield block.reshape(-1).data


def _iter_bim(variants: VariantTable) -> Iterator[bytes]:
    for first in range(0, len(variants), _BLOCK_ROWS):
        part = variants.take(slice(first, first + _BLOCK_ROWS))
        yield join_columns(
            [
                text_column(part.contigs, part.contig_ids),
                plain_column(part.ids),
                float_column(part.centimorgans, _DIGITS),
                integer_column(part.positions + 1),
                plain_column(part.allele1),
                plain_column(part.allele2),
            ]
        )


def _iter_fam(samples: SampleTable, phenotype: np.ndarray) -> Iterator[bytes]:
    phenotype = np.where(np.isnan(phenotype), -9.0, phenotype)
    for first in range(0, len(samples), _BLOCK_ROWS):
        rows = slice(first, first + _BLOCK_ROWS)
        part = samples.take(rows)
        texts = (part.family_ids, part.ids, part.father_ids, part.mother_ids)
        columns = [plain_column(values) for values in texts]
        columns += [integer_column(part.sexes), float_column(phenotype[rows], _DIGITS)]
        yield join_columns(columns, " ")


def write_vcf(genotypes: Genotypes, path: str | PathLike[str]) -> None:
    """Write genotypes as VCF 4.3, BGZF-compressed if ``path`` ends in ``.gz`` or ``.bgz``.

    A1, which dosages count, is ALT; A2 is REF, even if the reference genome differs. Alleles are
    written unchanged, except that an unknown one (``0``) becomes ``.``, or ``N`` in REF. Unknown
    positions are 0. Samples are named by IID, because VCF has only one name.

    Raises
    ------
    FileFormatError
        If the file cannot be written.
    ParameterError
        If there are no samples, two have the same IID, a position is beyond 2^31 - 2, or a name has
        a letter that VCF has no place for: a tab, an end of a line, or, of a contig, a blank or one
        of ``,<>``.
    """
    _check_positions(genotypes.variants)
    _check_fields(genotypes)
    if genotypes.n_samples == 0:
        raise ParameterError("there are no samples, VCF needs genotypes of some")
    names, counts = np.unique(genotypes.samples.ids, return_counts=True)
    if (counts > 1).any():
        raise ParameterError(
            f"sample {str(names[counts > 1][0])!r} would be the second column of that name, VCF "
            "needs a name of its own for each"
        )
    write_text(path, _iter_records(genotypes))


def _check_fields(genotypes: Genotypes) -> None:
    """Refuse names that would not be one field of a VCF file."""
    variants = genotypes.variants
    for name in variants.contigs:
        if not name or _NOT_A_CONTIG.search(name):
            raise ParameterError(
                f"contig {name!r} has no name or a letter of , < > and blanks in it, or begins "
                'with one of [ ", so VCF cannot have it'
            )
    texts = {"sample": genotypes.samples.ids, "variant": variants.ids}
    texts |= {"A1": variants.allele1, "A2": variants.allele2}
    ends = [*_ENDS.encode()]
    for what, names in texts.items():
        column = plain_column(names)
        if (column.starts < column.ends).all() and not np.isin(column.data, ends).any():
            continue
        for name in names.tolist():
            if not name or {*_ENDS} & {*name}:
                found = f"{what} {name!r} has no letters, or a tab or an end of a line in it"
                raise ParameterError(f"{found}, so VCF cannot have it")


def _iter_records(genotypes: Genotypes) -> Iterator[bytes]:
    yield _vcf_header(genotypes).encode()
    step = max(1, _BLOCK_BYTES // max(4 * genotypes.n_samples, 1))
    for first in range(0, genotypes.n_variants, step):
        part = genotypes.take_variants(slice(first, first + step))
        heads = _heads(part).splitlines()
        for head, row in zip(heads, _fields(part), strict=True):
            yield b"".join((head, row.data, b"\n"))


def _vcf_header(genotypes: Genotypes) -> str:
    contigs = [f"##contig=<ID={name}>" for name in genotypes.variants.contigs]
    columns = "CHROM POS ID REF ALT QUAL FILTER INFO FORMAT".split()
    lines = [
        "##fileformat=VCFv4.3",
        "##source=genoviz",
        *contigs,
        '##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">',
        "#" + "\t".join([*columns, *genotypes.samples.ids.tolist()]),
    ]
    return "\n".join([*lines, ""])


def _heads(part: Genotypes) -> bytes:
    """Return the columns before the genotypes, one line per variant."""
    variants = part.variants
    zeros = np.zeros(len(variants), np.int64)
    return join_columns(
        [
            text_column(variants.contigs, variants.contig_ids),
            integer_column(variants.positions + 1),
            plain_column(variants.ids),
            plain_column(_known(variants.allele2, "N")),
            plain_column(_known(variants.allele1, ".")),
            *(text_column([text], zeros) for text in (".", ".", ".", "GT")),
        ]
    )


def _known(alleles: np.ndarray, otherwise: str) -> np.ndarray:
    is_unknown = (alleles == _NO_ALLELE) | (alleles == ".")
    return np.where(is_unknown, otherwise, alleles) if is_unknown.any() else alleles


def _fields(part: Genotypes) -> np.ndarray:
    """Return the genotypes as text: uint8, shape (m, 4 * n_samples)."""
    rows = np.asarray(part.packed)
    codes = (rows[:, :, None] >> np.array([0, 2, 4, 6], np.uint8)) & 3
    codes = codes.reshape(len(rows), 4 * rows.shape[1])[:, : part.n_samples]
    return _FIELDS[codes].reshape(len(rows), 4 * part.n_samples)
