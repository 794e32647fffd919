"""Files of genomic relationship matrices: GCTA's format, NumPy's, or a table; and of inverses.

References
----------
https://yanglab.westlake.edu.cn/software/gcta/#MakingaGRM
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import BinaryIO

import numpy as np

from genoviz.errors import FileFormatError, ParameterError, n_words
from genoviz.io.files.content import unreadable
from genoviz.io.files.replace_file import is_open_stream, protect_more, replace_file
from genoviz.io.genotypes.instructions import Section, read_number, read_qualifiers, read_whole
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


def read_inverse(path: Path, sections: dict[str, Section]) -> tuple[MatrixElements, np.ndarray]:
    """Return the inverse of the ERMFILE of MiXBLUP's instructions, and the names of its rows.

    Raises
    ------
    FileFormatError
        If the section asks for more than to read a file, or the file violates the format.

    References
    ----------
    ten Napel et al., MiXBLUP User's Guide 3.2, "External genetic relationship matrix"
    """
    section = sections["ERMFILE"]
    words = [*section.words, *(word for _, row in section.rows for word in row.split())]
    asked = [word for word in words if word.upper() == "!CONSTRUCT"]
    found = None
    if not words or words[0].startswith("!"):
        found = "ERMFILE names no file"
    elif asked:
        found = (
            "has ERMFILE with !CONSTRUCT, which makes a matrix of genotypes, and is not supported; "
            "for genotypes see geno blup and geno multiblup"
        )
    elif "PEDFILE" in sections:
        found = "has sections ERMFILE and PEDFILE, needs one of them: both have relationships"
    if found:
        raise FileFormatError(path, found, line=section.line)
    for k in range(1, len(words) - 1):  # the field of IDs, whose name has no meaning here
        if words[k + 1].upper() in ("A", "I") and not words[k].startswith("!"):
            del words[k : k + 2]
            break
    known = {"SKIP": "1", "ASIS": "0", "NOORIG": "0"}
    options = read_qualifiers(path, Section(section.line, words), known)
    n_skipped = read_whole(path, options.get("SKIP", "0"), section.line, 0)
    file = path.parent / words[0]
    protect_more([file])
    if file.suffix.lower() == ".stream":
        raise FileFormatError(file, "is a binary stream, whose layout MiXBLUP's manual does not "
                                    "describe, needs text")  # fmt: skip
    rows = (
        (number, fields)
        for number, line in enumerate(read_lines(file), 1)
        if number > n_skipped and (fields := words_of(line))
    )
    first = next(rows, None)
    if first is None:
        raise FileFormatError(file, "is empty, needs the inverse of a relationship matrix")
    read = _read_dense_rows if len(first[1]) == 2 else _read_named_elements
    elements, names = read(file, first, rows)
    has = np.zeros(len(names), bool)
    has[elements.rows[(elements.rows == elements.columns) & (elements.values > 0)]] = True
    if not has.all():
        found = f"has no diagonal element of more than 0 for {names[np.argmin(has)]}"
        raise FileFormatError(file, found)
    return elements, names


_Row = tuple[int, list[str]]
"""The number of a line, and its words."""


def _read_dense_rows(
    path: Path, first: _Row, rows: Iterator[_Row]
) -> tuple[MatrixElements, np.ndarray]:
    """Read a lower triangle; before it are how many IDs and core animals there are, and the IDs."""
    number, (size, n_core) = first
    n = read_whole(path, size, number, 1)
    if read_whole(path, n_core, number, 0) > n:
        raise FileFormatError(path, f"has a core of {n_core}, needs at most {n}", line=number)
    number, names = next(rows, (number, []))
    if len(names) != n:
        found = f"has {n_words(len(names), 'ID')} instead of {n:,} after their number"
        raise FileFormatError(path, found, line=number)
    if len(set(names)) < n:
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise FileFormatError(path, f"has ID {twice} twice", line=number)
    triangle = []
    for row in range(1, n + 1):
        number, words = next(rows, (number, []))
        if len(words) != row:
            found = (
                f"has {n_words(len(words), 'element')}, needs {row:,} in row {row:,} of the lower"
            )
            raise FileFormatError(path, f"{found} triangle", line=number)
        try:
            elements = np.array(words, np.float64)
        except ValueError:
            elements = np.array([np.nan])
        if not np.isfinite(elements).all():  # or written with an exponent of Fortran
            elements = np.array([read_number(path, word, number) for word in words])
        triangle.append(elements)
    if (more := next(rows, None)) is not None:
        raise FileFormatError(path, f"has more than {n_words(n, 'row')}", line=more[0])
    values, (row, column) = np.concatenate(triangle), np.tril_indices(n)
    is_there = values != 0
    row, column, values = (each[is_there] for each in (row, column, values))
    return MatrixElements(row, column, values, is_inverse=True), np.array(names, np.str_)


def _read_named_elements(
    path: Path, first: _Row, rows: Iterator[_Row]
) -> tuple[MatrixElements, np.ndarray]:
    """Read lines of two IDs and an element; each pair of IDs occurs once, in either order."""
    places: dict[str, int] = {}
    pairs, values, lines = [], [], []
    for number, words in chain([first], rows):
        if len(words) < 3:
            found = f"has {n_words(len(words), 'field')}, needs two IDs and an element"
            raise FileFormatError(path, found, line=number)
        pairs.append([places.setdefault(name, len(places)) for name in words[:2]])
        values.append(read_number(path, words[2], number))
        lines.append(number)
    pairs, names = np.sort(np.array(pairs), axis=1), np.array(list(places), np.str_)
    order = np.lexsort(pairs.T[::-1])
    is_again = (pairs[order[1:]] == pairs[order[:-1]]).all(axis=1)
    if is_again.any():
        again = order[1:][is_again].min()
        of_pair = " and ".join(names[pairs[again]])
        found = f"has the element of {of_pair} a second time, needs one triangle of the matrix"
        raise FileFormatError(path, found, line=lines[again])
    return MatrixElements(*pairs.T, np.array(values), is_inverse=True), names
