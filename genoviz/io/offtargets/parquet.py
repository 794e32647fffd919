"""Tables of off-target hits as Parquet."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path

import numpy as np

from genoviz.io.files.optional import import_reader
from genoviz.io.files.replace_file import replace_file

_WHOLE = ("start", "end")
_SMALL = ("mismatches", "bulge_size")


def write_parquet(
    path: str | PathLike[str], chunks: Iterable[bytes], scores: Mapping[str, np.dtype]
) -> None:
    """Write text of tab-separated columns, the header first, as Parquet; some rows at a time.

    Parameters
    ----------
    path
        The file.
    chunks
        The text, which waits in an unnamed file in the temporary folder.
    scores
        Type of the columns behind the last that all tables have.

    Raises
    ------
    FileFormatError
        If the file cannot be written.
    """
    polars = import_reader("polars", "Parquet files")
    with replace_file(path) as file, tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "hits.tsv"
        with text.open("wb") as waiting:
            waiting.writelines(chunks)
        with text.open("rb") as waiting:
            names = waiting.readline().decode().rstrip("\n").split("\t")
        types = dict.fromkeys(names, polars.String)
        types |= dict.fromkeys(_WHOLE, polars.Int64) | dict.fromkeys(_SMALL, polars.UInt8)
        for name, dtype in scores.items():
            number = polars.Int64 if np.issubdtype(dtype, np.integer) else polars.Float64
            types[name] = polars.String if dtype.kind == "U" else number
        table = polars.scan_csv(text, separator="\t", quote_char=None, schema=types)
        filled = table.with_columns(polars.col(polars.String).fill_null(""))
        filled.sink_parquet(file.name)
