"""Genotypes of PLINK 1: a .bed file with its .bim and .fam, which are read with it.

The .bed file is mapped, so that it takes memory only as far as it is looked at; of one that others
may rewrite, a copy is.

References
----------
https://www.cog-genomics.org/plink/1.9/formats#bed
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import numpy as np

from genoviz.errors import FileFormatError
from genoviz.io.files.content import changed, file_state, open_content
from genoviz.io.files.file_bytes import read_bytes
from genoviz.io.text.encoding import check_text
from genoviz.io.text.spaced_lines import SpacedLines, split_lines
from genoviz.model.genotypes.genotypes import Genotypes, SampleTable, VariantTable

MAGIC = b"\x6c\x1b\x01"
ENDINGS = (".bed", ".bim", ".fam")

_SAMPLE_MAJOR = b"\x6c\x1b\x00"
_BIM_FIELDS = "chromosome, ID, centimorgans, position, allele 1, allele 2"
_FAM_FIELDS = "family ID, individual ID, father, mother, sex, phenotype"


def read_plink(path: Path) -> Generator[tuple[str, int, int], None, Genotypes]:
    """Return the genotypes of a .bed, .bim or .fam file or their prefix; yields the progress.

    Raises
    ------
    FileFormatError
        If one of the three is missing or damaged, changes while they are read, or they do not fit
        each other.
    """
    bed, bim, fam = parts = plink_paths(path)
    sizes = [_size(part, bed) for part in parts]
    before = [file_state(part) for part in parts]
    _check_magic(bed)
    total = sizes[1] + sizes[2]
    yield "Reading samples", 0, total
    samples = read_fam(fam)
    yield "Reading variants", sizes[2], total
    variants = read_bim(bim)
    shape = _check_shape(bed, sizes[0], len(samples), len(variants))
    opening = open_content(bed)
    while True:
        try:
            yield "Copying genotypes", *next(opening)
        except StopIteration as done:
            content = done.value
            break
    for part, state in zip(parts, before, strict=True):
        if file_state(part) != state:
            raise changed(part)
    packed = content[len(MAGIC) :].reshape(shape)
    return Genotypes(packed, samples, variants)


def plink_paths(path: Path) -> tuple[Path, Path, Path]:
    """Return the .bed, .bim and .fam of one of them or of their prefix."""
    prefix = str(path.with_suffix("") if path.suffix in ENDINGS else path)
    bed, bim, fam = (Path(prefix + ending) for ending in ENDINGS)
    return bed, bim, fam


def read_fam(path: Path) -> SampleTable:
    """Return the samples of a .fam file."""
    lines = read_fam_lines(path)
    family_ids, ids, fathers, mothers = (lines.texts(column) for column in range(4))
    sexes = lines.texts(4)
    codes = np.zeros(len(lines), np.uint8)
    codes[np.isin(sexes, ("1", "M"))] = 1
    codes[np.isin(sexes, ("2", "F"))] = 2
    _check_once(lines, family_ids, ids)
    return SampleTable(family_ids, ids, fathers, mothers, codes)


def read_fam_lines(path: Path) -> SpacedLines:
    """Return the fields of the lines of a .fam file: six, or more where there are more traits."""
    check_text(path)
    data = read_bytes(path, may_be_empty=True)
    first = data[: 1 << 16].tobytes().lstrip().partition(b"\n")[0]
    n_fields = max(6, len(first.split()))
    more = ", as the first line, where further ones are phenotypes too" * (n_fields > 6)
    return split_lines(path, data, n_fields, _FAM_FIELDS + more)


def read_bim(path: Path) -> VariantTable:
    """Return the variants of a .bim file; position 0 is not known, those below 0 too."""
    check_text(path)
    lines = split_lines(path, read_bytes(path, may_be_empty=True), 6, _BIM_FIELDS)
    contigs, contig_ids = lines.categories(0)
    return VariantTable(
        contigs,
        contig_ids,
        np.maximum(lines.integers(3, "the position"), 0) - 1,
        lines.texts(1),
        lines.texts(4),
        lines.texts(5),
        lines.numbers(2, "the place in centimorgans"),
    )


def _check_once(lines: SpacedLines, family_ids: np.ndarray, ids: np.ndarray) -> None:
    """Refuse two samples of the same family and name."""
    if len(set(ids.tolist())) == len(ids):
        return
    seen: dict[tuple[str, str], int] = {}
    for row, names in enumerate(zip(family_ids.tolist(), ids.tolist(), strict=True)):
        if seen.setdefault(names, row) != row:
            found = f"sample {names[1]!r} of family {names[0]!r} is there already"
            lines.refuse(row, f"{found}, needs an ID of its own")


def _size(path: Path, bed: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    needed = "" if path == bed else f", which {bed.name} needs"
    raise FileFormatError(path, f"there is no such file in {path.absolute().parent}{needed}")


def _check_magic(path: Path) -> None:
    with path.open("rb") as file:
        start = file.read(3)
    if start == MAGIC:
        return
    if start == _SAMPLE_MAJOR:
        found = "is in the old order, sample after sample, needs variant after variant"
        raise FileFormatError(path, f"{found}: plink1.9 --bfile {path.stem} --make-bed rewrites it")
    found = f"begins with {start.hex(' ')}, needs {MAGIC.hex(' ')}" if start else "is empty"
    raise FileFormatError(
        path, f"{found}, so it is no .bed file of PLINK; those of intervals have no genotypes"
    )


def _check_shape(path: Path, n_bytes: int, n_samples: int, n_variants: int) -> tuple[int, int]:
    """Return the numbers of variants, and of bytes of each, that the file has to have."""
    width = (n_samples + 3) // 4
    needed = len(MAGIC) + n_variants * width
    if n_bytes != needed:
        for n, ending, noun in ((n_variants, ".bim", "variant"), (n_samples, ".fam", "sample")):
            if n == 0:
                found = f"is empty, needs a line for each {noun} of {path.name}"
                raise FileFormatError(path.with_suffix(ending), found)
        raise FileFormatError(
            path,
            f"has {n_bytes:,} bytes, needs {needed:,} for {n_variants:,} variants (.bim) of "
            f"{n_samples:,} samples (.fam)",
        )
    return n_variants, width
