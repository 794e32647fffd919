"""Phenotypes and covariates from the tables in which people keep them."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from genoviz.errors import FileFormatError
from genoviz.io.plink_files import read_fam_lines
from genoviz.io.sample_fields import MISSING, read_sample_fields
from genoviz.io.text_encoding import check_text
from genoviz.model.phenotypes import PhenotypeTable

if TYPE_CHECKING:
    import polars

MISSING_NUMBER = -9.0

_ID_NAMES = frozenset(
    "iid id ids sample sample_id sampleid sample_name samples taxa taxon individual individual_id "
    "animal animal_id subject subject_id subject_name name line accession accession_id eid "
    "strain genotype".split()
)
_NUMBER = re.compile(r"[-+]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][-+]?[0-9]+)?")
_UNNAMED = re.compile(r"|x|index|unnamed: ?\d+", re.IGNORECASE)


def read_phenotypes(path: str | PathLike[str], *, id_column: str | None = None) -> PhenotypeTable:
    """Return the columns of a table of samples.

    Known are PLINK's and GCTA's ``.phen``, ``.pheno``, ``.cov`` and ``.covar`` (FID and IID, then
    values; with a header or without), ``.psam``, ``.fam`` (column 6 and sex), and any table with
    a header whose fields lie between commas, semicolons, tabs or blanks. Each may be gzipped.

    A column of numbers becomes float64; all others are categories. ``NA``, ``nan``, ``.`` and
    empty fields are missing values, and so are infinite numbers, and -9, as in PLINK. In
    sexes (``sex``, ``SEX``), and in phenotypes of ``.fam`` that are 1 and 2 only, 0 is missing
    too.

    Parameters
    ----------
    path
        The file.
    id_column
        The column that names samples. By default it is ``IID``; or one that is named for its
        samples (``id``, ``sample``, ``taxa``, ``animal``, ``SUBJECT.NAME``...) and has each
        name once; or the first. A first column without a name is left out where another has
        the names.

    Raises
    ------
    FileFormatError
        If the file is no such table, or names a sample twice.
    """
    path = Path(path)
    check_text(path)
    if path.suffix == ".fam":
        return _read_fam(path)
    frame, lines = read_sample_fields(path)
    family, name = _find_ids(path, frame, id_column)
    ids = _texts(frame[name])
    families = None if family is None else _texts(frame[family])
    _check_ids(path, families, ids, lines)
    left_out = {name, family, "PAT", "MAT"} if family or name == "IID" else {name}
    if name != frame.columns[0] and _UNNAMED.fullmatch(frame.columns[0]):
        left_out.add(frame.columns[0])
    columns, notes = {}, []
    for title in frame.columns:
        if title not in left_out:
            columns[title] = _values(title, frame[title], notes)
            if columns[title].dtype.kind != "f":
                notes += _words_among_numbers(title, columns[title], lines)
    return PhenotypeTable(
        ids, tuple(columns), columns, families, tuple(notes), path.name, str(name)
    )


def read_own_phenotypes(path: str | PathLike[str]) -> PhenotypeTable | None:
    """Return column 6 and the sexes of a .fam file; None if column 6 has no two different values.

    Sexes are left out where none is known.
    """
    table = _read_fam(Path(path))
    known = {name: _known(values) for name, values in table.columns.items()}
    if len(np.unique(known["phenotype"])) < 2:
        return None
    names = tuple(name for name in table.names if len(known[name]))
    return replace(table, names=names, columns={name: table.columns[name] for name in names})


def _known(values: np.ndarray) -> np.ndarray:
    return values[~np.isnan(values)] if values.dtype.kind == "f" else values[values != ""]


def _read_fam(path: Path) -> PhenotypeTable:
    import polars

    lines = read_fam_lines(path)
    notes: list[str] = []
    values, sexes = (
        _values(name, polars.Series(lines.texts(column).tolist(), dtype=polars.String), notes)
        for name, column in (("phenotype", 5), ("sex", 4))
    )
    if values.dtype.kind == "f" and np.isin(values[~np.isnan(values)], (0, 1, 2)).all():
        values[values == 0] = np.nan
    columns = {"phenotype": values, "sex": sexes}
    return PhenotypeTable(lines.texts(1), tuple(columns), columns, lines.texts(0), tuple(notes))


def _find_ids(path: Path, frame: polars.DataFrame, wanted: str | None) -> tuple[str | None, str]:
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
        is_known = re.sub(r"\W", "_", title).lower() in _ID_NAMES
        if is_known and frame[title].n_unique() == frame.height:
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
    """Return the sentence on the first word of a column that is meant to have numbers."""
    texts = {row: text for row, text in enumerate(values.tolist()) if text}
    is_number = {row: _NUMBER.fullmatch(text) is not None for row, text in texts.items()}
    if sum(is_number.values()) < len(texts) / 2:
        return []
    wrong = (row for row, text in texts.items() if "," in text or not is_number[row])
    return [
        f"{title}: {texts[row]!r} on line {lines[row]:,} is no number, needs one such as 1.5; so "
        "the column is one of groups."
        for row in itertools.islice(wrong, 1)
    ]


def _values(title: str, fields: polars.Series, notes: list[str]) -> np.ndarray:
    """Return a column as numbers, or else as categories."""
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
        is_code |= values == 0
    values[is_code | is_infinite] = np.nan
    return values
