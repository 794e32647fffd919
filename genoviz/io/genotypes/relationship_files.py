"""Genomic relationship matrices as files: those of GCTA, NumPy's, or a table.

References
----------
https://yanglab.westlake.edu.cn/software/gcta/#MakingaGRM
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from genoviz.errors import ParameterError
from genoviz.io.files.replace_file import is_open_stream, replace_file

if TYPE_CHECKING:
    from genoviz.model.genotypes.genotypes import SampleTable

GCTA_ENDING = ".grm.bin"
ENDINGS = (GCTA_ENDING, ".npy", ".tsv")


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
        Integers, shape (n, n): how many variants each relationship was computed from.
    path
        ``.grm.bin`` writes GCTA's lower triangle in float32 with ``.grm.N.bin`` and ``.grm.id``
        beside it; ``.npy`` the matrix in float64; ``.tsv`` a table with IIDs above and before,
        which a stream such as ``/dev/stdout`` gets too.

    Raises
    ------
    ParameterError
        If the ending is another.
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
    for ending, matrix in ((GCTA_ENDING, values), (".grm.N.bin", pair_variants)):
        with replace_file(prefix + ending) as file:
            for row in range(len(matrix)):
                file.write(matrix[row, : row + 1].astype("<f4").tobytes())
    with replace_file(prefix + ".grm.id") as file:
        pairs = zip(samples.family_ids.tolist(), samples.ids.tolist(), strict=True)
        file.writelines(f"{family}\t{name}\n".encode() for family, name in pairs)


def _write_table(values: np.ndarray, ids: np.ndarray, file: BinaryIO) -> None:
    file.write(("\t".join(["#IID", *ids.tolist()]) + "\n").encode())
    for name, row in zip(ids.tolist(), values, strict=True):
        file.write(("\t".join([name, *(f"{value:.10g}" for value in row)]) + "\n").encode())
