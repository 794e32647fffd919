"""Genotypes of PLINK 1 (.bed with .bim and .fam) and of PLINK 2 (.pgen with .pvar and .psam).

The .bed file is memory-mapped, so only the parts in use take memory. If others may rewrite the
file, a copy is mapped.

References
----------
https://www.cog-genomics.org/plink/1.9/formats#bed
https://www.cog-genomics.org/plink/2.0/formats#pgen
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from pathlib import Path

import numpy as np

from genoviz.errors import FileFormatError, ParameterError, n_words
from genoviz.generators import report
from genoviz.io.files.content import changed, file_state, missing, open_content, open_for_library
from genoviz.io.files.optional import import_reader
from genoviz.io.genotypes.dosages import DosageRows, dosage_notes
from genoviz.io.genotypes.sample_tables import read_fam
from genoviz.io.text.encoding import check_text
from genoviz.io.text.spaced_lines import split_lines
from genoviz.io.text.text_file import read_bytes
from genoviz.model import packing_loops
from genoviz.model.genotypes.dosages import COPY, MISSING_DOSAGE, StoredDosages
from genoviz.model.genotypes.genotypes import Genotypes, SampleTable, VariantTable

MAGIC = b"\x6c\x1b\x01"
ENDINGS = (".bed", ".bim", ".fam")

_SAMPLE_MAJOR = b"\x6c\x1b\x00"
_BIM_FIELDS = "chromosome, ID, centimorgans, position, allele 1, allele 2"
_ENDINGS = (".pgen", ".pvar.zst", ".pvar", ".psam")
_BLOCK_BYTES = 1 << 26
_BLOCK_VARIANTS, _MODE_OF_RECORDS, _MODES_OF_DOSAGES, _DOSAGE_BITS = 1 << 16, 0x10, (3, 4), 0x60
_BIM_TITLES = "CHROM ID CM POS ALT REF".split()
_NEEDED = ("CHROM", "POS", "ID", "REF", "ALT")


def read_plink(path: Path) -> Generator[tuple[str, int, int], None, Genotypes]:
    """Return the genotypes of a .bed, .bim or .fam file or their prefix; yields progress.

    Raises
    ------
    FileFormatError
        If one of the three is missing or damaged, changes while they are read, or they do not
        match.
    """
    bed, bim, fam = parts = plink_paths(path)
    sizes = [_size(part, bed) for part in parts]
    before = [file_state(part) for part in parts]
    is_by_sample = _check_magic(bed)
    total = sizes[1] + sizes[2]
    yield "Reading samples", 0, total
    samples = read_fam(fam)
    yield "Reading variants", sizes[2], total
    variants = read_bim(bim)
    shape = _check_shape(bed, sizes[0], len(samples), len(variants), is_by_sample=is_by_sample)
    content = yield from report(open_content(bed), lambda step: ("Copying genotypes", *step))
    for part, state in zip(parts, before, strict=True):
        if file_state(part) != state:
            raise changed(part)
    packed = content[len(MAGIC) :].reshape(shape)
    if not is_by_sample:
        return Genotypes(packed, samples, variants)
    yield "Turning genotypes", sizes[2], total
    packed = packing_loops.transpose(packed, len(variants))
    note = f"{bed.name} is in the old order, sample after sample, and was turned in memory."
    return Genotypes(packed, samples, variants, (note,))


def plink_paths(path: Path) -> tuple[Path, Path, Path]:
    """Return the .bed, .bim and .fam paths, given one of them or their prefix, which has a name."""
    if not path.name:
        raise ParameterError(f"{path} is a folder, needs the name of a file or a prefix")
    prefix = str(path.with_suffix("") if path.suffix in ENDINGS else path)
    bed, bim, fam = (Path(prefix + ending) for ending in ENDINGS)
    return bed, bim, fam


def read_bim(path: Path) -> VariantTable:
    """Return the variants of a .bim file; positions of 0 and below are unknown."""
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


def _size(path: Path, bed: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    needed = "" if path == bed else f", which {bed.name} needs"
    raise missing(path, needed=needed)


def _check_magic(path: Path) -> bool:
    """Return whether genotypes are in the old sample-major order."""
    with path.open("rb") as file:
        start = file.read(3)
    if start in (MAGIC, _SAMPLE_MAJOR):
        return start == _SAMPLE_MAJOR
    found = f"begins with {start.hex(' ')}, needs {MAGIC.hex(' ')}" if start else "is empty"
    raise FileFormatError(
        path, f"{found}, so it is not a .bed file of PLINK; those of intervals have no genotypes"
    )


def _check_shape(
    path: Path, n_bytes: int, n_samples: int, n_variants: int, *, is_by_sample: bool
) -> tuple[int, int]:
    """Return the required numbers of variants (or samples) and of bytes for each."""
    n_rows, n_columns = (n_samples, n_variants) if is_by_sample else (n_variants, n_samples)
    width = (n_columns + 3) // 4
    needed = len(MAGIC) + n_rows * width
    if n_bytes != needed:
        for n, ending, noun in ((n_variants, ".bim", "variant"), (n_samples, ".fam", "sample")):
            if n == 0:
                found = f"is empty, needs a line for each {noun} of {path.name}"
                raise FileFormatError(path.with_suffix(ending), found)
        raise FileFormatError(
            path,
            f"has {n_bytes:,} bytes, needs {needed:,} for {n_variants:,} variants (.bim) of "
            f"{n_words(n_samples, 'sample')} (.fam)",
        )
    return n_rows, width


def read_pgen(
    path: Path, *, dosages: bool = True
) -> Generator[tuple[str, int, int], None, Genotypes]:
    """Return the genotypes of a PLINK 2 file set; yields progress.

    Parameters
    ----------
    path
        One of the files.
    dosages
        Whether to read dosages too, not only hard calls.

    Raises
    ------
    FileFormatError
        If one of the three is missing or damaged, or they do not match.
    GenovizError
        If pgenlib is not installed.
    """
    pgenlib = import_reader("pgenlib", "PLINK 2 files (.pgen)")
    pgen, pvar, psam = _paths(path)
    yield "Reading samples", 0, 1
    samples = read_psam(psam)
    yield "Reading variants", 0, 1
    variants = read_pvar(pvar)
    n_alleles = np.strings.count(variants.allele1, ",") + 2
    try:
        reader = pgenlib.PgenReader(
            str(pgen).encode(),
            raw_sample_ct=len(samples),
            variant_ct=len(variants),
            allele_idx_offsets=_offsets(n_alleles),
        )
    except (RuntimeError, OSError) as error:
        found = f"does not fit its {len(variants):,} variants (.pvar) of {len(samples):,} samples"
        raise FileFormatError(pgen, f"{found} (.psam), or is damaged") from error
    with reader:
        kept = np.flatnonzero(n_alleles == 2)
        packed = yield from _read_packed(pgen, reader, kept, len(samples))
        has_dosages = _find_dosages(pgen, len(variants))[kept]
        stored = None
        if dosages and has_dosages.any():
            stored = yield from _read_dosages(pgen, reader, kept, has_dosages, len(samples))
    n_left_out = len(variants) - len(kept)
    noun, verb = ("variant", "is") if n_left_out == 1 else ("variants", "are")
    notes = [f"{n_left_out:,} {noun} of more than two alleles {verb} left out."] * (n_left_out > 0)
    notes += dosage_notes(int(has_dosages.sum()), are_taken=dosages)
    variants = variants.take(kept) if n_left_out else variants
    return Genotypes(packed, samples, variants, tuple(notes), stored_dosages=stored)


def _find_dosages(path: Path, n_variants: int) -> np.ndarray:
    """Return which variants of a .pgen file have dosages in addition to hard calls; bool."""
    found = np.zeros(n_variants, bool)
    with path.open("rb") as file:
        mode, control = file.read(12)[2::9].ljust(2, b"\0")
        found[:] = mode in _MODES_OF_DOSAGES
        # Record types have 4 bits, without information on dosages, or 8 bits with it.
        if mode != _MODE_OF_RECORDS or not 4 <= control & 15 < 8:
            return found
        n_length = (control & 3) + 1 + (control >> 4 & 3)
        file.seek(8 * -(-n_variants // _BLOCK_VARIANTS), 1)
        for first in range(0, n_variants, _BLOCK_VARIANTS):
            n = min(_BLOCK_VARIANTS, n_variants - first)
            types = np.frombuffer(file.read(n), np.uint8)
            found[first : first + len(types)] = types & _DOSAGE_BITS > 0
            file.seek(n * n_length + -(-n // 8) * (control >> 6 == 3), 1)
    return found


def _read_packed(
    path: Path, reader, kept: np.ndarray, n_samples: int
) -> Generator[tuple[str, int, int], None, np.ndarray]:
    packed = np.empty((len(kept), (n_samples + 3) // 4), np.uint8)
    step = max(1, min(len(kept), _BLOCK_BYTES // max(n_samples, 1)))
    dosages = np.empty((step, n_samples), np.int8)
    for first in range(0, len(kept), step):
        numbers = kept[first : first + step].astype(np.uint32)
        part = dosages[: len(numbers)]
        with _told_of(path):
            reader.read_list(numbers, part)
        packed[first : first + step] = packing_loops.pack_dosages(part)
        yield "Reading genotypes", first + len(numbers), len(kept)
    return packed


def _read_dosages(
    path: Path, reader, kept: np.ndarray, has_dosages: np.ndarray, n_samples: int
) -> Generator[tuple[str, int, int], None, StoredDosages]:
    rows, last, n = DosageRows(path, n_samples), 0, int(has_dosages.sum())
    step = max(1, min(n, _BLOCK_BYTES // max(4 * n_samples, 1)))
    values = np.empty((step, n_samples), np.float32)
    stored = np.flatnonzero(has_dosages)
    for first in range(0, n, step):
        block = stored[first : first + step]
        part = values[: len(block)]
        with _told_of(path):
            reader.read_dosages_list(kept[block].astype(np.uint32), part)
        # pgenlib returns multiples of 1/16384, and -9 for missing.
        dosages = np.where(part < 0, MISSING_DOSAGE, np.rint(part * COPY)).astype(np.uint16)
        for number, row in zip(block.tolist(), dosages, strict=True):
            rows.skip(number - last)
            rows.add(row[None])
            last = number + 1
        yield "Reading dosages", first + len(block), n
    rows.skip(len(kept) - last)
    return rows.finish()


@contextlib.contextmanager
def _told_of(path: Path) -> Iterator[None]:
    """Convert errors of pgenlib into a FileFormatError."""
    try:
        yield
    except (RuntimeError, OSError) as error:
        raise FileFormatError(path, "is damaged or cut off, needs the whole file") from error


def read_psam(path: Path) -> SampleTable:
    """Return the samples of a .psam file; without a header it is read as a .fam file."""
    titles, rows = _read_rows(path, "FID IID PAT MAT SEX PHENO".split(), ("FID", "IID"))
    if "IID" not in titles:
        raise FileFormatError(path, f"has columns {' '.join(titles)}, needs IID")
    none = np.full(len(rows), "0")
    texts = {
        name: rows.texts(titles.index(name)) if name in titles else none
        for name in ("FID", "IID", "PAT", "MAT", "SEX")
    }
    sexes = np.zeros(len(rows), np.uint8)
    sexes[np.isin(texts["SEX"], ("1", "M", "m"))] = 1
    sexes[np.isin(texts["SEX"], ("2", "F", "f"))] = 2
    return SampleTable(texts["FID"], texts["IID"], texts["PAT"], texts["MAT"], sexes)


def read_pvar(path: Path) -> VariantTable:
    """Return the variants of a .pvar or .pvar.zst file; A1 is ALT, A2 is REF."""
    titles, rows = _read_rows(path, _BIM_TITLES, ("CHROM",))
    missing = [name for name in _NEEDED if name not in titles]
    if missing:
        raise FileFormatError(path, f"has columns {' '.join(titles)}, needs {missing[0]}")
    place = {name: titles.index(name) for name in titles}
    contigs, contig_ids = rows.categories(place["CHROM"])
    has_places = "CM" in titles
    return VariantTable(
        contigs,
        contig_ids,
        np.maximum(rows.integers(place["POS"], "POS"), 0) - 1,
        rows.texts(place["ID"]),
        rows.texts(place["ALT"]),
        rows.texts(place["REF"]),
        rows.numbers(place["CM"], "CM") if has_places else np.zeros(len(rows)),
    )


def _read_rows(path: Path, default: list[str], first_titles: tuple[str, ...]):
    """Return the names of the columns, and all fields below the header."""
    data = _unpacked(path)
    n_lines = start = 0
    titles = None
    while start < len(data) and data[start] == ord("#"):
        end = start + int(np.argmax(data[start:] == ord("\n"))) if len(data) > start else start
        line = data[start:end].tobytes().decode("utf-8", "replace")
        fields = line.removeprefix("#").split()
        if fields and fields[0] in first_titles:
            titles = fields
        start = end + 1
        n_lines += 1
    if titles is None:
        first = data[start : start + (1 << 16)].tobytes().partition(b"\n")[0].split()
        # PLINK 2 interprets five columns of a .bim file as lacking centimorgans.
        titles = default if len(first) != 5 else [name for name in default if name != "CM"]
    return titles, split_lines(path, data[start:], len(titles), " ".join(titles), n_lines)


def _unpacked(path: Path) -> np.ndarray:
    if not path.name.endswith(".zst"):
        return read_bytes(path, may_be_empty=True)
    polars = import_reader("polars", ".pvar.zst files")
    try:
        with open_for_library(path) as readable:
            lines = polars.read_csv(
                readable, has_header=False, separator="\x01", quote_char=None, infer_schema=False
            ).to_series()
    except (polars.exceptions.PolarsError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise FileFormatError(path, f"cannot be decompressed: {reason}") from error
    return np.frombuffer("\n".join([*lines.fill_null(""), ""]).encode(), np.uint8)


def _paths(path: Path) -> tuple[Path, Path, Path]:
    """Return the .pgen, .pvar or .pvar.zst, and .psam paths, given one of them."""
    ending = next((ending for ending in _ENDINGS if path.name.endswith(ending)), "")
    prefix = str(path).removesuffix(ending)
    pgen, psam = Path(prefix + ".pgen"), Path(prefix + ".psam")
    pvar = Path(prefix + ".pvar")
    if not pvar.is_file() and Path(prefix + ".pvar.zst").is_file():
        pvar = Path(prefix + ".pvar.zst")
    for part in (pgen, pvar, psam):
        if not part.is_file():
            needed = "" if part == pgen else f", which {pgen.name} needs"
            raise missing(part, needed=needed)
    return pgen, pvar, psam


def _offsets(n_alleles: np.ndarray) -> np.ndarray | None:
    """Return the allele offsets that pgenlib needs if variants have more than two alleles."""
    if (n_alleles == 2).all():
        return None
    return np.concatenate([np.zeros(1, np.uintp), np.cumsum(n_alleles, dtype=np.uintp)])
