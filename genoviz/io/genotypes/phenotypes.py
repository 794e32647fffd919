"""Reading of phenotypes and covariates from tables of samples.

Fields are separated by commas, semicolons, tabs or blanks, with or without titles.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from genoviz.errors import FileFormatError
from genoviz.io.genotypes.sample_tables import read_fam_lines
from genoviz.io.text.encoding import check_text
from genoviz.io.text.tables import (
    drop_empty_rows,
    is_number,
    read_fields,
    split_fields,
    strip_comments,
    unify_separator,
)
from genoviz.io.text.text_file import read_bytes
from genoviz.model.genotypes.phenotypes import PhenotypeTable
from genoviz.model.genotypes.traits import read_trait

if TYPE_CHECKING:
    import polars

MISSING = ("", ".", "NA", "na", "N/A", "n/a", "NaN", "nan", "-nan", "NULL", "null", "None", "none")
_ID_TITLES = frozenset(
    "iid id ids sample sample_id sampleid sample_name samples taxa taxon individual individual_id "
    "animal animal_id subject subject_id subject_name name line accession accession_id eid "
    "strain genotype".split()
)
MISSING_NUMBER = -9.0
_PLINKS = (".phen", ".pheno", ".cov", ".covar")
"""Endings of tables without a header, or with one that begins with FID or IID."""
_NUMBER = re.compile(r"[-+]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][-+]?[0-9]+)?")
_UNNAMED = re.compile(r"|x|index|unnamed: ?\d+", re.IGNORECASE)


def read_sample_fields(path: Path) -> tuple[polars.DataFrame, np.ndarray]:
    """Return all fields as text by column, and the line of each row: int64, shape (n_rows,).

    Raises
    ------
    FileFormatError
        If rows differ in length, two columns have the same name, or there is only one column.
    """
    text, n_comments = strip_comments(read_bytes(path).tobytes())
    text, separator = unify_separator(text)
    header = _header(text, separator)
    text = _repair_header(text, separator, header)
    n_titles = int(header is not None)
    frame = read_fields(
        path, text, separator, n_comments, n_skipped=n_titles,
        if_empty="has no row below its header, needs one a sample",
    )  # fmt: skip
    titles = header
    if header is None:
        titles = _default_titles([field or "" for field in frame.row(0)], separator)
    titles = [""] * (frame.width - len(titles)) + titles
    _check_titles(path, titles, n_comments + 1)
    frame.columns = titles
    return drop_empty_rows(frame, n_comments + 1 + n_titles)


def _check_titles(path: Path, titles: list[str], line: int) -> None:
    repeated = [title for k, title in enumerate(titles) if title in titles[:k]]
    if repeated:
        found = f"column {repeated[0]!r} is there twice, needs a name of its own"
        raise FileFormatError(path, found, line=line)
    if len(titles) < 2:
        found = "has one column, needs at least two: samples and a value"
        raise FileFormatError(path, found, line=line)


def _header(text: bytes, separator: str) -> list[str] | None:
    """Return the titles of the first line; None if it has FID and IID, or IID, and numbers.

    Two equal first fields are FID and IID too, because titles are unique. Numeric titles must be
    preceded by a title of sample names, or by nothing.
    """
    start = text.split(b"\n", 1)[0].decode("utf-8", "replace").strip("\r")
    fields = [field.removeprefix("#") for field in split_fields(start, separator)]
    if fields[0].upper() in ("FID", "IID"):
        return [f.upper() if f.upper() in ("FID", "IID") else f for f in fields]
    if len(fields) > 2 and fields[0] == fields[1] != "":
        return None
    if separator != "\t" and (fields[0] == "" or names_samples(fields[0])):
        return fields
    values = fields[2:] or fields[1:]
    has_values = values and all(f in MISSING or is_number(f) for f in values)
    return None if has_values or _is_as_below(fields, text, separator) else fields


def _is_as_below(fields: list[str], text: bytes, separator: str) -> bool:
    """Return whether the first line belongs to a sample, with some words as categories.

    Numeric titles may stand above numbers, but only next to other such titles.
    """
    below = _fields_below(text, separator)
    pairs = [(is_number(a), is_number(b)) for a, b in zip(fields, below, strict=False)]
    return (True, True) in pairs[1:] and (False, True) not in pairs[1:]


def _repair_header(text: bytes, separator: str, header: list[str] | None) -> bytes:
    """Add the header field of the row names, which R omits."""
    if header is not None and len(_fields_below(text, separator)) == len(header) + 1:
        return separator.encode() + text
    return text


def _fields_below(text: bytes, separator: str) -> list[str]:
    """Return the fields of the second line."""
    second = text.split(b"\n", 2)[1:2]
    return split_fields(second[0].decode("utf-8", "replace"), separator) if second else []


def names_samples(title: str) -> bool:
    """Return whether a title is a usual one for sample columns."""
    return re.sub(r"\W", "_", title).lower() in _ID_TITLES


def _default_titles(fields: list[str], separator: str) -> list[str]:
    """Return titles for rows without a header, given one of them: IDs, then phenotypes.

    FID precedes IID, as in PLINK; with commas, only if the second field is not a number.
    """
    is_plinks = separator == "\t" or fields[0] == fields[1] or not _is_value(fields[1])
    ids = ["FID", "IID"] if is_plinks and len(fields) > 2 else ["IID"]
    n = len(fields) - len(ids)
    return [*ids, *(["phenotype"] if n == 1 else [f"phenotype {k}" for k in range(1, n + 1)])]


def _is_value(text: str) -> bool:
    return text in MISSING or is_number(text)


def read_phenotypes(
    path: str | PathLike[str], *, id_column: str | None = None, is_repeated: bool = False
) -> PhenotypeTable:
    """Return the columns of a table of samples.

    Supported are PLINK's and GCTA's ``.phen``, ``.pheno``, ``.cov`` and ``.covar`` (FID and IID,
    then values; with or without a header), ``.psam``, ``.fam`` (column 6 and following, and sex),
    and any table with fields separated by commas, semicolons, tabs or blanks. A first line with an
    ID and numbers is a sample, not a header. All may be gzipped.

    Numeric columns become float64; all others are categories. ``NA``, ``nan``, ``.``, empty fields,
    infinite numbers and, as in PLINK, -9 are missing values. In columns of sex (``sex``, ``SEX``)
    0 is missing too, unless it has the values 0 and 1 only and the file is neither ``.fam`` nor
    ``.psam``. `genoviz.model.genotypes.traits.read_trait` decides for all formats which
    columns are case-control traits.

    Parameters
    ----------
    path
        The file.
    id_column
        The column of sample names. The default is ``IID``; or a column with a usual name (``id``,
        ``sample``, ``taxa``, ``animal``, ``SUBJECT.NAME``...) and unique values; or the first. An
        untitled first column is dropped if another one has the names.
    is_repeated
        Whether a sample may have several rows (records).

    Raises
    ------
    FileFormatError
        If the file is not such a table, or names a sample twice without ``is_repeated``.
    """
    path = Path(path)
    check_text(path)
    if path.suffix == ".fam":
        return _read_fam(path)
    frame, lines = read_sample_fields(path)
    family, name = _find_ids(path, frame, id_column, is_repeated)
    ids = _texts(frame[name])
    families = None if family is None else _texts(frame[family])
    if not is_repeated:
        _check_ids(path, families, ids, lines)
    left_out = {name, family, "PAT", "MAT"} if family or name == "IID" else {name}
    if name != frame.columns[0] and _UNNAMED.fullmatch(frame.columns[0]):
        left_out.add(frame.columns[0])
    columns, notes = {}, []
    if frame.columns[-1].startswith("phenotype") and path.suffix not in _PLINKS and lines[0] == 1:
        told = "the first line is a sample, for its ID is followed by numbers"
        notes.append(f"{path.name}: {told}; columns are named {', '.join(frame.columns[:4])}...")
    for title in frame.columns:
        if title not in left_out:
            has_codes = path.name.removesuffix(".gz").endswith(".psam")
            columns[title] = _values(title, frame[title], notes, has_codes=has_codes)
            if columns[title].dtype.kind != "f":
                notes += _words_among_numbers(title, columns[title], lines)
    return PhenotypeTable(
        ids, tuple(columns), columns, families, tuple(notes), path.name, str(name)
    )


def read_own_phenotypes(path: str | PathLike[str]) -> PhenotypeTable | None:
    """Return the phenotypes and sexes of a .fam file; None if no phenotype has two values.

    A phenotype without two distinct values is left out, as is an entirely unknown sex.
    """
    table = _read_fam(Path(path))
    names = [name for name in table.names if name != "sex" and _n_values(table, name) > 1]
    if not names:
        return None
    names += ["sex"] * (_n_values(table, "sex") > 0)
    columns = {name: table.columns[name] for name in names}
    return replace(table, names=tuple(names), columns=columns)


def _n_values(table: PhenotypeTable, name: str) -> int:
    values = table.columns[name]
    if values.dtype.kind != "f":
        return len(np.unique(values[values != ""]))
    values = values if name == "sex" else read_trait(values).values
    return len(np.unique(values[~np.isnan(values)]))


def _read_fam(path: Path) -> PhenotypeTable:
    import polars

    lines = read_fam_lines(path)
    notes: list[str] = []
    n_fields = lines.starts.shape[1]
    places = {f"phenotype {k - 4}" if k > 5 else "phenotype": k for k in range(5, n_fields)}
    columns = {
        name: _values(
            name, polars.Series(lines.texts(k).tolist(), dtype=polars.String), notes, has_codes=True
        )
        for name, k in (*places.items(), ("sex", 4))
    }
    return PhenotypeTable(lines.texts(1), tuple(columns), columns, lines.texts(0), tuple(notes))


def _find_ids(
    path: Path, frame: polars.DataFrame, wanted: str | None, is_repeated: bool
) -> tuple[str | None, str]:
    """Return which columns are FID (or None) and IID."""
    titles = frame.columns
    family = "FID" if "FID" in titles else None
    if wanted is not None:
        if wanted not in titles:
            raise FileFormatError(path, f"has no column {wanted!r}, it has {', '.join(titles)}")
        return None if wanted == "FID" else family, wanted
    if "IID" in titles:
        return family, "IID"
    for title in titles:
        if names_samples(title) and (is_repeated or frame[title].n_unique() == frame.height):
            return None, title
    return None, titles[0]


def _check_ids(path: Path, families: np.ndarray | None, ids: np.ndarray, lines: np.ndarray) -> None:
    keys = ids.tolist()
    if families is not None:
        keys = list(zip(families.tolist(), keys, strict=True))
    if len(set(keys)) == len(keys):
        return
    seen: dict[object, int] = {}
    for row, key in enumerate(keys):
        first = seen.setdefault(key, row)
        if first != row:
            found = f"sample {ids[row]!s} is there already on line {lines[first]}"
            raise FileFormatError(path, f"{found}, needs one row", line=int(lines[row]))


def _texts(fields: polars.Series) -> np.ndarray:
    return np.array(fields.fill_null("").str.strip_chars().to_list(), np.str_)


def _words_among_numbers(title: str, values: np.ndarray, lines: np.ndarray) -> list[str]:
    """Return a sentence on the first word in a column of numbers."""
    texts = {row: text for row, text in enumerate(values.tolist()) if text}
    is_number = {row: _NUMBER.fullmatch(text) is not None for row, text in texts.items()}
    if sum(is_number.values()) < len(texts) / 2:
        return []
    wrong = (row for row, text in texts.items() if "," in text or not is_number[row])
    return [
        f"{title}: {texts[row]!r} on line {lines[row]:,} is not a number, needs one such as 1.5; "
        "so the column is one of groups."
        for row in itertools.islice(wrong, 1)
    ]


def _values(title: str, fields: polars.Series, notes: list[str], *, has_codes: bool) -> np.ndarray:
    """Return a column as numbers, or as categories.

    ``has_codes`` is whether a sex has PLINK's codes whatever its values: 0 is unknown.
    """
    import polars

    fields = fields.fill_null("").str.strip_chars()
    is_missing = fields.is_in(list(MISSING))
    numbers = fields.set(is_missing, "nan").cast(polars.Float64, strict=False)
    if numbers.null_count():
        return np.array(fields.set(is_missing, "").to_list(), np.str_)
    values = numbers.to_numpy().astype(np.float64)
    is_code = values == MISSING_NUMBER
    if is_code.any():
        notes.append(f"{title}: -9 stands for a missing value, {int(is_code.sum()):,} times.")
    is_infinite = np.isinf(values)
    if is_infinite.any():
        n = int(is_infinite.sum())
        notes.append(f"{title}: {n:,} infinite value{'s are' if n > 1 else ' is'} left out.")
    if title.lower() == "sex":
        is_sex = has_codes or not _is_binary(values[~is_code])
        is_code |= is_sex & (values == 0)
        if not is_sex:
            notes.append(f"{title}: 0 and 1 are two sexes; with a 2, 0 would be unknown.")
    values[is_code | is_infinite] = np.nan
    return values


def _is_binary(values: np.ndarray) -> bool:
    """Return whether values are 0 and 1, both and no others."""
    return np.unique(values[~np.isnan(values)]).tolist() == [0, 1]
