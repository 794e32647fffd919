"""Tables of samples as text: fields between commas, semicolons, tabs or blanks, with titles."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from genoviz.errors import FileFormatError
from genoviz.io.files.file_bytes import read_bytes
from genoviz.io.text.row_lengths import check_row_lengths

if TYPE_CHECKING:
    import polars

MISSING = ("", ".", "NA", "na", "N/A", "n/a", "NaN", "nan", "-nan", "NULL", "null", "None", "none")


_ID_TITLES = frozenset(
    "iid id ids sample sample_id sampleid sample_name samples taxa taxon individual individual_id "
    "animal animal_id subject subject_id subject_name name line accession accession_id eid "
    "strain genotype".split()
)


def read_sample_fields(path: Path) -> tuple[polars.DataFrame, np.ndarray]:
    """Return all fields as text by column, and the line of each row: int64, shape (n_rows,).

    Raises
    ------
    FileFormatError
        If rows have different numbers of fields, two columns have one name, or there is one alone.
    """
    import polars

    text = read_bytes(path).tobytes()
    n_comments = 0
    while text.startswith(b"##"):
        text = text.partition(b"\n")[2]
        n_comments += 1
    text, separator = _separate(text)
    header = _header(text, separator)
    text = _repair_header(text, separator, header)
    check_row_lengths(path, text, separator, n_comments)
    try:
        frame = polars.read_csv(
            io.BytesIO(text),
            has_header=False,
            skip_rows=0 if header is None else 1,
            separator=separator,
            infer_schema=False,
            encoding="utf8-lossy",
        )
    except polars.exceptions.NoDataError:
        raise FileFormatError(path, "has no row below its header, needs one a sample") from None
    except polars.exceptions.PolarsError as error:
        raise FileFormatError(path, f"is no table: {str(error).splitlines()[0]}") from error
    titles = header
    if header is None:
        titles = _default_titles([field or "" for field in frame.row(0)], separator)
    titles = [""] * (frame.width - len(titles)) + titles
    _check_titles(path, titles, n_comments + 1)
    frame.columns = titles
    has_fields = ~frame.select(polars.all_horizontal(polars.all().is_null())).to_series()
    lines = np.flatnonzero(has_fields.to_numpy()) + n_comments + 1 + (header is not None)
    return frame.filter(has_fields), lines


def _check_titles(path: Path, titles: list[str], line: int) -> None:
    repeated = [title for k, title in enumerate(titles) if title in titles[:k]]
    if repeated:
        found = f"column {repeated[0]!r} is there twice, needs a name of its own"
        raise FileFormatError(path, found, line=line)
    if len(titles) < 2:
        found = "has one column, needs at least two: samples and a value"
        raise FileFormatError(path, found, line=line)


def _separate(text: bytes) -> tuple[bytes, str]:
    """Return a text with one separator between fields, and the separator."""
    start = text.split(b"\n", 1)[0]
    if b"\t" not in start:
        for separator in ",;":
            if separator.encode() in start:
                return text, separator
        text = re.sub(rb"(?m)^ +| +(?=\r?$)", b"", text)
        text = re.sub(rb"[ \t]+", b"\t", text)
    return text, "\t"


def _header(text: bytes, separator: str) -> list[str] | None:
    """Return the titles of the first line; None if it is FID and IID, or IID, and numbers.

    It is FID and IID, too, if both are the same, as titles cannot be. Titles that are numbers need
    one of samples before them, or none.
    """
    start = text.split(b"\n", 1)[0].decode("utf-8", "replace").strip("\r")
    fields = [field.strip().strip('"').removeprefix("#") for field in start.split(separator)]
    if fields[0].upper() in ("FID", "IID"):
        return [f.upper() if f.upper() in ("FID", "IID") else f for f in fields]
    if len(fields) > 2 and fields[0] == fields[1] != "":
        return None
    if separator != "\t" and (fields[0] == "" or names_samples(fields[0])):
        return fields
    values = fields[2:] or fields[1:]
    has_values = values and all(f in MISSING or _is_number(f) for f in values)
    return None if has_values else fields


def _repair_header(text: bytes, separator: str, header: list[str] | None) -> bytes:
    """Return a text whose header has a field for the names of rows, which R leaves out."""
    second = text.split(b"\n", 2)[1] if text.count(b"\n") else b""
    if header is not None and second.count(separator.encode()) == len(header):
        return separator.encode() + text
    return text


def names_samples(title: str) -> bool:
    """Return whether a title is one that columns of samples have."""
    return re.sub(r"\W", "_", title).lower() in _ID_TITLES


def _default_titles(fields: list[str], separator: str) -> list[str]:
    """Return titles for rows without a header, of which one is given: IDs, then phenotypes.

    FID stands before IID as in PLINK; between commas only where the second field is no number.
    """
    is_plinks = separator == "\t" or fields[0] == fields[1] or not _is_value(fields[1])
    ids = ["FID", "IID"] if is_plinks and len(fields) > 2 else ["IID"]
    n = len(fields) - len(ids)
    return [*ids, *(["phenotype"] if n == 1 else [f"phenotype {k}" for k in range(1, n + 1)])]


def _is_value(text: str) -> bool:
    return text in MISSING or _is_number(text)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
