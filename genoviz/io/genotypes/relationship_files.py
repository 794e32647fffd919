"""Files of genomic relationship matrices: GCTA's format, NumPy's, or a table.

References
----------
https://yanglab.westlake.edu.cn/software/gcta/#MakingaGRM
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import BinaryIO

import numpy as np

from genoviz.errors import FileFormatError, ParameterError, n_words
from genoviz.io.files.content import unreadable
from genoviz.io.files.replace_file import is_open_stream, replace_file
from genoviz.io.text.encoding import read_lines, words_of
from genoviz.io.text.numbers import quoted
from genoviz.io.text.tables import read_numbers
from genoviz.model.genotypes.genotypes import SampleTable
from genoviz.model.genotypes.mixed_model import MatrixElements

GCTA_ENDING = ".grm.bin"
ENDINGS = (GCTA_ENDING, ".npy", ".tsv")


@dataclass(frozen=True, eq=False)
class StoredRelationships:
    """A relationship matrix read from a file.

    Attributes
    ----------
    values
        float64, shape (n, n), symmetric.
    samples
        The n samples, in matrix order.
    pair_variants
        float32, shape (n, n): number of variants behind each relationship; None if no file has
        these numbers.
    """

    values: np.ndarray
    samples: SampleTable
    pair_variants: np.ndarray | None = None


def read_relationships(path: str | PathLike[str]) -> StoredRelationships:
    """Read a relationship matrix in GCTA's format.

    Parameters
    ----------
    path
        The ``.grm.bin`` file. The files ``.grm.id`` and, optionally, ``.grm.N.bin`` lie beside it.

    Raises
    ------
    ParameterError
        If the file name has another ending.
    FileFormatError
        If a file is missing, or the files do not match.
    """
    path = Path(path)
    if not path.name.endswith(GCTA_ENDING):
        raise ParameterError(
            f"{path.name} is not a relationship matrix, needs a {GCTA_ENDING} file"
        )
    prefix = str(path).removesuffix(GCTA_ENDING)
    samples = _read_samples(Path(prefix + ".grm.id"))
    counts = Path(prefix + ".grm.N.bin")
    return StoredRelationships(
        _read_triangle(path, len(samples)),
        samples,
        _read_triangle(counts, len(samples), np.float32) if counts.is_file() else None,
    )


def _read_samples(path: Path) -> SampleTable:
    if not path.is_file():
        raise FileFormatError(path, "is not there, needs a line with FID and IID a sample")
    families, ids = [], []
    seen: dict[tuple[str, ...], int] = {}
    for number, line in enumerate(read_lines(path), 1):
        fields = words_of(line)
        if len(fields) < 2:
            raise FileFormatError(
                path, f"has {n_words(len(fields), 'field')}, needs FID and IID", line=number
            )
        first = seen.setdefault(tuple(fields[:2]), number)
        if first != number:
            found = f"sample {' '.join(fields[:2])} is there already on line {first}"
            raise FileFormatError(path, f"{found}, needs one line", line=number)
        families.append(fields[0])
        ids.append(fields[1])
    return replace(SampleTable.from_ids(ids), family_ids=np.array(families, np.str_))


def _read_triangle(path: Path, n: int, dtype: type = np.float64) -> np.ndarray:
    """Return a symmetric matrix from its lower triangle in float32, row by row."""
    try:
        found = np.fromfile(path, "<f4")
    except OSError as error:
        raise unreadable(path, error) from error
    needed = n * (n + 1) // 2
    if len(found) != needed or path.stat().st_size != 4 * needed:
        raise FileFormatError(
            path,
            f"has {path.stat().st_size:,} bytes, needs {4 * needed:,} for the {n:,} samples of "
            "its .grm.id file",
        )
    values = np.empty((n, n), dtype)
    with np.errstate(invalid="ignore"):  # a NaN that signals, of a damaged file
        for row in range(n):
            first = row * (row + 1) // 2
            values[row, : row + 1] = found[first : first + row + 1]
            values[:row, row] = values[row, :row]
    return values


def write_relationships(
    values: np.ndarray, samples: SampleTable, pair_variants: np.ndarray, path: str | PathLike[str]
) -> None:
    """Write a relationship matrix.

    Parameters
    ----------
    values
        float64, shape (n, n), symmetric.
    samples
        The n samples.
    pair_variants
        Integers, shape (n, n): number of variants behind each relationship.
    path
        ``.grm.bin`` writes GCTA's lower triangle in float32 with ``.grm.N.bin`` and ``.grm.id``
        beside it; ``.npy`` the matrix in float64; ``.tsv``, or a stream such as ``/dev/stdout``, a
        table with IIDs as column and row names.

    Raises
    ------
    ParameterError
        If the ending is unknown.
    """
    path = Path(path)
    if path.name.endswith(GCTA_ENDING):
        _write_gcta(values, samples, pair_variants, str(path).removesuffix(GCTA_ENDING))
        return
    if path.suffix not in ENDINGS and not is_open_stream(path):
        raise ParameterError(f"{path.name} ends in {path.suffix!r}, needs {', '.join(ENDINGS)}")
    with replace_file(path) as file:
        if path.suffix == ".npy":
            np.save(file, values)
        else:
            _write_table(values, samples.ids, file)


def _write_gcta(
    values: np.ndarray, samples: SampleTable, pair_variants: np.ndarray, prefix: str
) -> None:
    for name in (*samples.family_ids.tolist(), *samples.ids.tolist()):
        if len(words_of(name)) != 1:
            found = f"sample {name!r} has no name or a blank in it, so GCTA's files cannot have it"
            raise ParameterError(f"{found}; write .npy or .tsv")
    for ending, matrix in ((GCTA_ENDING, values), (".grm.N.bin", pair_variants)):
        with replace_file(prefix + ending) as file:
            for row in range(len(matrix)):
                file.write(matrix[row, : row + 1].astype("<f4").tobytes())
    with replace_file(prefix + ".grm.id") as file:
        pairs = zip(samples.family_ids.tolist(), samples.ids.tolist(), strict=True)
        file.writelines(f"{family}\t{name}\n".encode() for family, name in pairs)


def _write_table(values: np.ndarray, ids: np.ndarray, file: BinaryIO) -> None:
    names = [quoted(name) for name in ids.tolist()]
    file.write(("\t".join(["#IID", *names]) + "\n").encode())
    for name, row in zip(names, values, strict=True):
        file.write(("\t".join([name, *(f"{value:.10g}" for value in row)]) + "\n").encode())


def read_elements(path: Path, n_levels: int, *, is_inverse: bool) -> MatrixElements:
    """Return a symmetric matrix from lines of row, column, value; each pair occurs once.

    Raises
    ------
    FileFormatError
        If a line is malformed, or an index exceeds ``n_levels``.
    """
    data = read_numbers(path)
    if data.shape[1] != 3:
        raise FileFormatError(path, f"has {data.shape[1]} columns, needs row, column and value")
    pairs = data[:, :2]
    if (pairs % 1 != 0).any() or pairs.min() < 1 or pairs.max() > n_levels:
        raise FileFormatError(path, f"rows and columns need to be whole, from 1 to {n_levels:,}")
    pairs = np.sort(pairs.astype(np.int64) - 1, axis=1)
    _, counts = np.unique(pairs, axis=0, return_counts=True)
    if counts.max() > 1:
        raise FileFormatError(path, "has an element twice; one of both triangles is needed")
    return MatrixElements(pairs[:, 0], pairs[:, 1], data[:, 2], is_inverse)
