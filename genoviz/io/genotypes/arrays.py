"""Dosages as NumPy arrays and Parquet tables."""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Generator, Iterator, Mapping
from os import PathLike
from pathlib import Path

import numpy as np

from genoviz.errors import FileFormatError, ParameterError
from genoviz.generators import finish, report
from genoviz.io.files.content import missing, open_content, open_for_library
from genoviz.io.files.optional import import_reader
from genoviz.io.files.reading_rules import RULES
from genoviz.io.files.replace_file import replace_file
from genoviz.io.text.encoding import read_utf8
from genoviz.model import packing_loops
from genoviz.model.genotypes.dosages import to_int8
from genoviz.model.genotypes.genotypes import Genotypes, SampleTable, VariantTable

_SAMPLE_COLUMNS = {
    "family_ids": "0",
    "father_ids": "0",
    "mother_ids": "0",
    "sexes": 0,
}
_VARIANT_COLUMNS = {
    "contigs": "0",
    "positions": -1,
    "ids": ".",
    "allele1": "1",
    "allele2": "2",
    "centimorgans": 0.0,
}
_TABLE_NAMES = ("contig", "position", "id", "allele1", "allele2", "centimorgans")
_BLOCK_BYTES = 1 << 26
_MAX_HEAD_BYTES = 1 << 17

Progress = tuple[str, int, int]


def write_dosages(genotypes: Genotypes, path: str | PathLike[str]) -> None:
    """Write dosages, counts of allele A1, as a NumPy archive or a Parquet table.

    - ``.npz`` has ``dosages``, int8, shape (n_samples, n_variants), -1 where missing; beside it the
      columns of samples (``sample_ids``, ``family_ids``, ``father_ids``, ``mother_ids``,
      ``sexes``) and variants (``contigs``, ``positions``, 0-based, ``ids``, ``allele1``,
      ``allele2``, ``centimorgans``).
    - ``.parquet`` has a row for each variant: ``contig``, ``position`` (1-based, 0 if unknown),
      ``id``, ``allele1``, ``allele2``, ``centimorgans``, then a column of dosages for each sample,
      null where missing.

    Both formats are built in memory, at one byte per genotype.

    Raises
    ------
    ParameterError
        If the ending is unknown, or Parquet would have two columns of the same name.
    FileFormatError
        If the file cannot be written.
    """
    path = Path(path)
    if path.suffix == ".npz":
        _write_archive(genotypes, path)
    elif path.suffix == ".parquet":
        _write_table(genotypes, path)
    else:
        raise ParameterError(f"{path.name} ends in {path.suffix!r}, needs .npz or .parquet")


def read_dosage_archive(path: Path) -> Generator[Progress, None, Genotypes]:
    """Return the genotypes of an .npz file with ``dosages``; other arrays are optional."""
    try:
        with np.load(_existing(path)) as archive:
            _check_size(path, archive)
            arrays = {name: archive[name] for name in archive.files}
    except EOFError as error:
        raise FileFormatError(path, "the file is empty, needs an array of dosages") from error
    except (ValueError, OSError, zipfile.BadZipFile) as error:
        raise FileFormatError(
            path, "is not a NumPy archive that can be read, needs one with dosages"
        ) from error
    if "dosages" not in arrays:
        there = ", ".join(arrays) or "nothing"
        raise FileFormatError(path, f"has no array 'dosages', it has {there}")
    return (yield from _pack(path, arrays.pop("dosages"), arrays))


def _check_size(path: Path, archive: np.lib.npyio.NpzFile) -> None:
    """Reject an archive that exceeds the memory limit."""
    n_bytes = sum(member.file_size for member in archive.zip.infolist())
    if RULES.max_text_bytes is not None and n_bytes > RULES.max_text_bytes:
        raise FileFormatError(
            path,
            f"holds {n_bytes:,} bytes once decompressed, needs at most {RULES.max_text_bytes:,}; "
            "write its dosages as .bed, which takes a quarter of a byte for each",
        )


def read_dosage_array(path: Path) -> Generator[Progress, None, Genotypes]:
    """Return the genotypes of an .npy file: dosages, shape (n_samples, n_variants)."""
    opening = open_content(_existing(path), needs="an array of dosages")
    content = yield from report(opening, lambda step: ("Copying the array", *step))
    try:
        dosages = _array_of(content)
    except ValueError as error:
        raise FileFormatError(
            path, "is not a NumPy array that can be read, needs one of dosages"
        ) from error
    return (yield from _pack(path, dosages, {}))


def _array_of(content: np.ndarray) -> np.ndarray:
    """Decode the bytes of an .npy file; raises `ValueError` if they are invalid."""
    head = io.BytesIO(content[:_MAX_HEAD_BYTES].tobytes())
    version = np.lib.format.read_magic(head)
    read = np.lib.format.read_array_header_1_0
    if version != (1, 0):
        read = np.lib.format.read_array_header_2_0
    shape, is_fortran, dtype = read(head)
    if dtype.hasobject:
        raise ValueError("the array has objects of Python")
    numbers = content[head.tell() :]
    n_bytes = math.prod(shape) * dtype.itemsize
    if n_bytes > len(numbers):
        raise ValueError("the array is cut off")
    return numbers[:n_bytes].view(dtype).reshape(shape, order="F" if is_fortran else "C")


def read_dosage_table(path: Path) -> Generator[Progress, None, Genotypes]:
    """Return the genotypes of a Parquet table in the layout of :func:`write_dosages`."""
    polars = import_reader("polars", "Parquet files")
    yield "Reading the table", 0, 1
    try:
        with open_for_library(_existing(path)) as readable:
            table = polars.read_parquet(readable)
    except (polars.exceptions.PolarsError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise FileFormatError(path, f"is not a Parquet table that can be read: {reason}") from error
    samples = [name for name in table.columns if name not in _TABLE_NAMES]
    texts = [n for n in samples if not (table[n].dtype.is_numeric() or table[n].is_null().all())]
    if texts or not samples:
        found = f"column {texts[0]!r} holds no numbers" if texts else "has no column of dosages"
        raise FileFormatError(path, f"{found}, needs one for each sample")
    arrays = {"sample_ids": np.array(samples, np.str_)}
    for name, array in zip(_TABLE_NAMES, _VARIANT_COLUMNS, strict=True):
        if name in table.columns:
            arrays[array] = table[name].to_numpy()
    if "positions" in arrays:
        arrays["positions"] = arrays["positions"].astype(np.int64) - 1
    columns = [table[n].cast(polars.Float32).fill_null(-1).fill_nan(-1).to_numpy() for n in samples]
    return (yield from _pack(path, np.array(columns), arrays))


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise missing(path)
    return path


def _pack(
    path: Path, dosages: np.ndarray, arrays: Mapping[str, np.ndarray]
) -> Generator[Progress, None, Genotypes]:
    if dosages.ndim != 2:
        found = f"dosages have {dosages.ndim} dimension{'s' * (dosages.ndim != 1)}"
        raise FileFormatError(path, f"{found}, need 2: samples and variants")
    n_samples, n_variants = dosages.shape
    packed = np.empty((n_variants, (n_samples + 3) // 4), np.uint8)
    step = max(1, _BLOCK_BYTES // max(n_samples, 1))
    try:
        samples = _samples(arrays, n_samples)
        variants = _variants(arrays, n_variants)
        for first in range(0, n_variants, step):
            part = to_int8(np.asarray(dosages[:, first : first + step]), first)
            packed[first : first + step] = packing_loops.pack_dosages(np.ascontiguousarray(part.T))
            yield "Reading genotypes", first, n_variants
        return Genotypes(packed, samples, variants)
    except ParameterError as error:
        raise FileFormatError(path, str(error)) from error


def _samples(arrays: Mapping[str, np.ndarray], n: int) -> SampleTable:
    ids = arrays.get("sample_ids")
    ids = _numbered("s", n) if ids is None else np.asarray(ids, np.str_)
    _check_length("sample_ids", ids, n, "samples")
    _check_lines("sample", ids)
    families, fathers, mothers, sexes = _columns(arrays, _SAMPLE_COLUMNS, n, "samples")
    return SampleTable(families, ids, fathers, mothers, sexes.astype(np.uint8))


def _variants(arrays: Mapping[str, np.ndarray], n: int) -> VariantTable:
    columns = _columns(arrays, _VARIANT_COLUMNS, n, "variants")
    names, positions, ids, allele1, allele2, places = columns
    ids = ids if "ids" in arrays else _numbered("v", n)
    for what, texts in (("contig", names), ("ID", ids), ("A1", allele1), ("A2", allele2)):
        _check_lines(what, texts)
    numbers: dict[str, int] = {}
    contig_ids = [numbers.setdefault(name, len(numbers)) for name in names.tolist()]
    contig_ids = np.array(contig_ids, np.int32)
    positions, places = positions.astype(np.int64), places.astype(np.float64)
    return VariantTable(tuple(numbers), contig_ids, positions, ids, allele1, allele2, places)


def _columns(
    arrays: Mapping[str, np.ndarray], defaults: Mapping[str, object], n: int, what: str
) -> Iterator[np.ndarray]:
    for name, default in defaults.items():
        values = arrays.get(name)
        if values is None:
            yield np.full(n, default)
            continue
        _check_length(name, values, n, what)
        yield np.asarray(values, np.str_) if isinstance(default, str) else np.asarray(values)


def _check_length(name: str, values: np.ndarray, n: int, what: str) -> None:
    if np.shape(values) != (n,):
        raise ParameterError(f"{name} has shape {np.shape(values)}, needs ({n},) for {n:,} {what}")


def _check_lines(what: str, texts: np.ndarray) -> None:
    """Reject names that no table of lines and tabs could have."""
    for mark, name in (("\t", "a tab"), ("\n", "a line break"), ("\r", "a line break")):
        found = np.flatnonzero(np.strings.find(texts, mark) >= 0)
        if len(found):
            wrong = str(texts[found[0]])
            raise ParameterError(f"{what} {wrong!r} has {name} in it, needs a name without")


def _numbered(letter: str, n: int) -> np.ndarray:
    return np.array([f"{letter}{number}" for number in range(1, n + 1)], np.str_)


def _write_archive(genotypes: Genotypes, path: Path) -> None:
    samples, variants = genotypes.samples, genotypes.variants
    arrays = {name: getattr(samples, name) for name in _SAMPLE_COLUMNS}
    arrays |= {name: getattr(variants, name) for name in _VARIANT_COLUMNS if name != "contigs"}
    arrays["contigs"] = np.array(variants.contigs, np.str_)[variants.contig_ids]
    fixed = {
        name: np.array(values.tolist(), np.str_) if values.dtype.kind == "T" else values
        for name, values in arrays.items()
    }
    dosages = np.ascontiguousarray(genotypes.dosages(slice(None)))
    with replace_file(path) as file:
        np.savez(file, dosages=dosages, sample_ids=samples.ids, **fixed)


def _write_table(genotypes: Genotypes, path: Path) -> None:
    polars = import_reader("polars", "Parquet files")
    variants, names = genotypes.variants, genotypes.samples.ids.tolist()
    repeated = [name for k, name in enumerate(names) if name in _TABLE_NAMES or name in names[:k]]
    if repeated:
        found = f"sample {repeated[0]!r} would be the second column of that name"
        raise ParameterError(f"{found}, Parquet needs a name of its own for each")
    columns = {
        "contig": np.array(variants.contigs, np.str_)[variants.contig_ids],
        "position": variants.positions + 1,
        "id": variants.ids,
        "allele1": variants.allele1,
        "allele2": variants.allele2,
        "centimorgans": variants.centimorgans,
    }
    table = {
        name: polars.Series(name, values.tolist() if values.dtype.kind in "UT" else values)
        for name, values in columns.items()
    }
    for name, dosages in zip(names, genotypes.dosages(slice(None)), strict=True):
        values = polars.Series(name, np.ascontiguousarray(dosages), polars.Int8)
        table[name] = values.set(values < 0, None)
    with replace_file(path) as file:
        polars.DataFrame(table).write_parquet(file)


def read_digits(path: Path, reference: Path) -> Genotypes:
    """Return the genotypes of BLUPF90's file of markers, as counts of A1; 5 is missing.

    Each line has an ID and as many digits as there are markers. The lines of the cross-reference
    file, in the same order, have the numbers of animals, which are the IDs of samples.

    Raises
    ------
    FileFormatError
        If a file is not so.
    """
    rows = [line.split() for line in _lines_of(path)]
    names = [line.split() for line in _lines_of(reference)]
    if len(rows) != len(names):
        found = f"has {len(names):,} animals, and {path.name} {len(rows):,}"
        raise FileFormatError(reference, found)
    codes = []
    for line, (row, name) in enumerate(zip(rows, names, strict=True), start=1):
        if len(row) != 2:
            found = f"has {len(row)} fields, needs an ID and digits without blanks between them"
            raise FileFormatError(path, found, line=line)
        if len(name) < 2 or name[1] != row[0] or not name[0].isdigit():
            found = f"has {' '.join(name)!r}, needs a number and {row[0]}, as {path.name} has it"
            raise FileFormatError(reference, found, line=line)
        digits = np.frombuffer(row[1].encode(), np.uint8) - ord("0")
        if len(digits) != len(rows[0][1]) or not np.isin(digits, (0, 1, 2, 5)).all():
            found = f"needs {len(rows[0][1]):,} digits of 0, 1, 2 and 5 (missing)"
            raise FileFormatError(path, found, line=line)
        codes.append(np.where(digits == 5, -1, digits).astype(np.int8))
    if not rows:
        raise FileFormatError(path, "has no animal")
    ids = np.array([str(int(name[0])) for name in names])
    dosages = np.array(codes)
    n = dosages.shape[1]
    markers = np.array([f"marker{k + 1}" for k in range(n)])
    variants = {"ids": markers, "contigs": np.full(n, "1"), "positions": np.arange(n)}
    return finish(_pack(path, dosages, {**variants, "sample_ids": ids}))


def _lines_of(path: Path) -> list[str]:
    text = read_utf8(path)
    return [line for line in text.splitlines() if line.strip()]
