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
from genoviz.io.genotypes.plink_files import read_fam_lines
from genoviz.io.genotypes.sample_fields import MISSING, names_samples, read_sample_fields
from genoviz.io.text.encoding import check_text
from genoviz.model.genotypes.phenotypes import PhenotypeTable
from genoviz.model.genotypes.traits import read_trait

if TYPE_CHECKING:
    import polars

MISSING_NUMBER = -9.0

_PLINKS = (".phen", ".pheno", ".cov", ".covar")
"""Endings of tables that have no header, or one that begins with FID or IID."""

_NUMBER = -9.0

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
    values; with a header or without), ``.psam``, ``.fam`` (column 6, those after it, and sex), and
    any table whose fields lie between commas, semicolons, tabs or blanks. A first line that is an
    ID and numbers is no header, but a sample. Each may be gzipped.

    A column of numbers becomes float64; all others are categories. ``NA``, ``nan``, ``.`` and
    empty fields are missing values, and so are infinite numbers, and -9, as in PLINK. In
    sexes (``sex``, ``SEX``) 0 is missing too. Which columns are of cases and controls is for
    `genoviz.model.genotypes.traits.read_trait` to say, of files of all kinds alike.

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
    if frame.columns[-1].startswith("phenotype") and path.suffix not in _PLINKS and lines[0] == 1:
        told = "the first line is a sample, for its ID is followed by numbers"
        notes.append(f"{path.name}: {told}; columns are named {', '.join(frame.columns[:4])}...")
    for title in frame.columns:
        if title not in left_out:
            columns[title] = _values(title, frame[title], notes)
            if columns[title].dtype.kind != "f":
                notes += _words_among_numbers(title, columns[title], lines)
    return PhenotypeTable(
        ids, tuple(columns), columns, families, tuple(notes), path.name, str(name)
    )


def read_own_phenotypes(path: str | PathLike[str]) -> PhenotypeTable | None:
    """Return the phenotypes and sexes of a .fam file; None if no phenotype has two values.

    A phenotype without two different values is left out, as are sexes where none is known.
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
        name: _values(name, polars.Series(lines.texts(k).tolist(), dtype=polars.String), notes)
        for name, k in (*places.items(), ("sex", 4))
    }
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
        if names_samples(title) and frame[title].n_unique() == frame.height:
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
