"""Genotypes as VCF."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike

import numpy as np

from genoviz.io.genotypes.plink_writer import plain_column
from genoviz.io.text.columns import integer_column, join_columns, text_column
from genoviz.io.text.writer import write_text
from genoviz.model.genotypes.genotypes import Genotypes

_BLOCK_BYTES = 1 << 25
# A tab and the genotype of each 2-bit code; the allele that dosages count is 1, ALT.
_FIELDS = np.array([[*b"\t1/1"], [*b"\t./."], [*b"\t0/1"], [*b"\t0/0"]], np.uint8)
_NO_ALLELE = "0"


def write_vcf(genotypes: Genotypes, path: str | PathLike[str]) -> None:
    """Write genotypes as VCF 4.3, compressed as BGZF where ``path`` ends in ``.gz`` or ``.bgz``.

    A1, which dosages count, is ALT; A2 is REF, whether or not the reference has it. Alleles are
    written as they are, but for those that are not known: ``0`` becomes ``.``, and ``N`` in REF.
    Positions that are not known are 0. VCF has one name of a sample: the IID.

    Raises
    ------
    FileFormatError
        If the file cannot be written.
    """
    write_text(path, _iter_chunks(genotypes))


def _iter_chunks(genotypes: Genotypes) -> Iterator[bytes]:
    yield _header(genotypes).encode()
    step = max(1, _BLOCK_BYTES // max(4 * genotypes.n_samples, 1))
    for first in range(0, genotypes.n_variants, step):
        part = genotypes.take_variants(slice(first, first + step))
        heads = _heads(part).splitlines()
        for head, row in zip(heads, _fields(part), strict=True):
            yield b"".join((head, row.data, b"\n"))


def _header(genotypes: Genotypes) -> str:
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
    """Return the columns before the genotypes, a line a variant."""
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
