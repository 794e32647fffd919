"""Pedigrees from tables of animals and their parents."""

from __future__ import annotations

import re
from dataclasses import replace
from os import PathLike
from pathlib import Path

import numpy as np

from genoviz.errors import FileFormatError, ParameterError, n_words
from genoviz.io.genotypes.sample_tables import read_fam
from genoviz.io.text.encoding import read_lines, read_utf8
from genoviz.io.text.tables import find_separator, read_numbers, split_fields
from genoviz.model.columns import distinct
from genoviz.model.genotypes.mixed_model import Descent
from genoviz.model.genotypes.pedigree import Pedigree, order_by_descent

DESCENTS = ("add_animal", "add_an_upg", "add_an_upginb", "add_sire")
"""BLUPF90's names of pedigree formats."""

_TITLES = {
    "id": (
        "id",
        "iid",
        "animal",
        "individual",
        "calf",
        "progeny",
        "name",
        "ind",
        "animal_id",
        "individual_id",
        "progeny_id",
        "sample_id",
    ),
    "sire": ("sire", "sire_id", "father", "father_id", "pat", "dad", "pere"),
    "dam": ("dam", "dam_id", "mother", "mother_id", "mat", "mum", "mom", "mere"),
}


def read_pedigree(path: str | PathLike[str]) -> Pedigree:
    """Return the pedigree of a table of animals.

    The columns are animal, sire and dam, in this order or as named in a header (``id``,
    ``sire``/``father``, ``dam``/``mother``...); others are ignored. A header with usual titles of
    sire and dam alone has the animal in its first other column. Fields are separated by commas,
    semicolons, tabs or blanks. Lines that begin with ``#`` are comments unless they are the header.
    ``0``, ``00``, ``.``, ``*``, ``NA``, ``unknown``, ``-9``, empty fields and other values of
    `is_unknown_parent` are unknown parents. Of a ``.fam`` file, columns 2 to 4 are used. The file
    may be gzipped. Other negative numbers are unknown parent groups, as in `Pedigree.from_parents`.
    A note names an animal that is both a sire and a dam.

    Raises
    ------
    FileFormatError
        If a line has fewer than three fields, an animal occurs twice or is its own ancestor, or
        -9 is used as a parent together with unknown parent groups.
    """
    path = Path(path)
    if path.suffix == ".fam":
        samples = read_fam(path)
        columns = [samples.ids.tolist(), samples.father_ids.tolist(), samples.mother_ids.tolist()]
        numbers = list(range(1, len(samples) + 1))
    else:
        columns, numbers = _read_columns(path)
    if not numbers:
        raise FileFormatError(path, "has no animal, needs one a line: animal, sire, dam")
    try:
        pedigree = Pedigree.from_parents(*columns)
    except ParameterError as error:
        line = _find_line(str(error), columns[0], numbers)
        raise FileFormatError(path, str(error), line=line) from error
    both = {*columns[1]} & {*columns[2]} & {*pedigree.ids.tolist()}
    return replace(pedigree, notes=(*pedigree.notes, *_note_both_sexes(sorted(both))))


def read_gamma(path: str | PathLike[str], groups: np.ndarray) -> np.ndarray:
    """Return the relationships of metafounders: float64, shape (n_groups, n_groups).

    The file has a line of blank-separated numbers for each group. If the first line begins with
    ``#``, it names the groups, the other lines begin with their names, and the file may have
    additional groups; otherwise lines are in the order of ``groups``.

    Raises
    ------
    FileFormatError
        If the file is not such a table, or groups are missing.
    """
    path = Path(path)
    lines = read_utf8(path).splitlines()
    rows = [line.split() for line in lines if line.strip()]
    names = groups.tolist()
    if rows and rows[0][0].startswith("#"):
        titles = " ".join(rows[0])[1:].split()
        rows, first_of_rows = rows[1:], [row[0] for row in rows[1:]]
        # The column of row names may have a title of its own.
        titles = titles[len(titles) - len(rows) :]
        if titles != first_of_rows:
            raise FileFormatError(path, "names other groups in its first line than before its rows")
        rows = [row[1:] for row in rows]
        names = titles
    try:
        matrix = np.array([[float(word) for word in row] for row in rows])
    except ValueError:
        raise FileFormatError(path, "needs a line of numbers for each group") from None
    if matrix.shape != (len(names), len(names)):
        raise FileFormatError(
            path, f"has a table of shape {matrix.shape}, needs ({len(names)}, {len(names)})"
        )
    absent = sorted({*groups.tolist()} - {*names})
    if absent:
        raise FileFormatError(path, f"has no group {absent[0]}")
    places = [names.index(name) for name in groups.tolist()]
    return matrix[np.ix_(places, places)]


def _find_line(error: str, ids: list[str], numbers: list[int]) -> int | None:
    """Return the last line of the animal that an error begins with."""
    rows = [row for row, name in enumerate(ids) if error.startswith(f"animal {name!r} ")]
    return numbers[rows[-1]] if rows else None


def _note_both_sexes(both: list[str]) -> list[str]:
    if not both:
        return []
    who = (
        f"{both[0]} is"
        if len(both) == 1
        else f"{n_words(len(both), 'animal')}, such as {both[0]}, are"
    )
    return [f"{who} both sire and dam, as only plants can be."]


def _read_columns(path: Path) -> tuple[list[list[str]], list[int]]:
    """Return animals, sires and dams; and the line of each."""
    lines = read_lines(path)
    first = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    separator = find_separator(first)
    places = _find_titles(split_fields(first, separator))
    has_header = places is not None
    if not has_header and lines[0].startswith("#"):
        places = _find_titles(split_fields(lines[0][1:], separator), needs_all=True)
    needed = "3: animal, sire, dam"
    if places is not None and max(places) > 2:
        needed = f"{1 + max(places)}, as the header has"
    rows, numbers = [], []
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        if has_header:
            has_header = False
            continue
        fields = split_fields(line, separator)
        if len(fields) <= max(places or (2,)):
            found = f"has {n_words(len(fields), 'field')}, needs {needed}"
            raise FileFormatError(path, found, line=number)
        rows.append(fields)
        numbers.append(number)
    return [[row[place] for row in rows] for place in places or (0, 1, 2)], numbers


def _find_titles(fields: list[str], *, needs_all: bool = False) -> tuple[int, ...] | None:
    """Return the positions of animal, sire and dam in a header; None if it is not a header.

    Unless all are needed, the animal may have any title: it is in the first column beside parents.
    """
    words = [re.sub(r"\W", "_", field).lower() for field in fields]
    animal, *parents = [
        next((k for k, w in enumerate(words) if w in known), None) for known in _TITLES.values()
    ]
    if None in parents:
        return None
    others = [k for k in range(len(words)) if k not in parents]
    if animal is None and others and not needs_all:
        animal = others[0]
    return None if animal is None else (animal, *parents)


def read_descent(
    path: str | PathLike[str], kind: str, n_levels: int, recorded: np.ndarray | None = None
) -> tuple[Descent, tuple[str, ...]]:
    """Read a pedigree of integer codes in BLUPF90's format; return relationships and notes.

    Lines have animal, sire and dam, 0 for an unknown parent; for ``add_sire`` they have sire, its
    sire and its maternal grandsire. ``add_animal`` and ``add_sire`` ignore inbreeding. The fourth
    column is 1 plus the number of unknown parents for ``add_an_upg``, and 1000 times the precision
    of Mendelian sampling for ``add_an_upginb``; parents beyond the last animal are then groups. A
    parent or recorded animal without its own line is a founder, which a note counts.

    Parameters
    ----------
    path
        The pedigree.
    kind
        One of `DESCENTS`.
    n_levels
        Maximum number of animals and groups.
    recorded
        int64: animals with records, from 0; None if there are none.

    Raises
    ------
    FileFormatError
        If a line is malformed, an animal has two lines or is its own ancestor, or a recorded animal
        without a line could be a group.
    """
    path = Path(path)
    data = read_numbers(path)
    needed = 4 if kind in ("add_an_upg", "add_an_upginb") else 3
    if data.shape[1] < needed:
        raise FileFormatError(
            path, f"has {n_words(data.shape[1], 'column')}, {kind} needs {needed}"
        )
    numbers = data[:, :3]
    if (numbers % 1 != 0).any() or (numbers < 0).any() or (numbers[:, 0] < 1).any():
        raise FileFormatError(
            path, "needs whole numbers of animals and parents, 0 for unknown ones"
        )
    if numbers.max() > n_levels:
        found = f"has animal {int(numbers.max()):,}, and the effect {n_words(n_levels, 'level')}"
        raise FileFormatError(path, found)
    animals, parents = numbers[:, 0].astype(np.int64) - 1, numbers[:, 1:].astype(np.int64) - 1
    names, counts = np.unique(animals, return_counts=True)
    if counts.max() > 1:
        raise FileFormatError(path, f"has animal {int(names[counts > 1][0]) + 1:,} twice")
    known = parents >= 0
    if needed == 4:
        known &= parents <= animals.max()  # the others are groups
        precisions = _read_precisions(path, data[:, 3], kind)
    else:
        # From variances 1/2, 3/4 and 1; for sires 11/16, 15/16, 3/4 and 1.
        by_known = (1, 16 / 15, 4 / 3, 16 / 11) if kind == "add_sire" else (1, 4 / 3, 4 / 3, 2)
        precisions = np.array(by_known, np.float64)[2 * known[:, 0] + known[:, 1]]
    _check_ancestry(path, animals, np.where(known, parents, -1), n_levels)
    founders = np.setdiff1d(distinct(parents[known]), animals, assume_unique=True)
    notes = _note_founders(path, "parent", founders)
    strange = np.setdiff1d(
        distinct([] if recorded is None else recorded),
        np.concatenate([animals, founders]),
        assume_unique=True,
    )
    strange = strange.astype(np.int64)
    if len(strange) and strange[-1] > animals.max() and needed == 4:
        found = f"has no line of {int(strange[-1]) + 1}, which has records, as groups have none"
        raise FileFormatError(path, f"{found}; needs one")
    notes += _note_founders(path, "recorded animal", strange)
    founders = np.concatenate([founders, strange])
    descent = Descent(
        np.concatenate([animals, founders]),
        np.concatenate([parents, np.full((len(founders), 2), -1)]),
        (0.5, 0.25) if kind == "add_sire" else (0.5, 0.5),
        np.concatenate([precisions, np.ones(len(founders))]),
    )
    return descent, tuple(notes)


def _note_founders(path: Path, what: str, founders: np.ndarray) -> list[str]:
    if not len(founders):
        return []
    which = f"{what} {int(founders[0]) + 1}, taken as a founder"
    if len(founders) > 1:
        which = f"{len(founders):,} {what}s, such as {int(founders[0]) + 1}, taken as founders"
    return [f"{path.name} has no line of {which}"]


def _check_ancestry(path: Path, animals: np.ndarray, parents: np.ndarray, n_levels: int) -> None:
    """Raise if an animal is its own ancestor; parents are of shape (n, 2), -1 for none."""
    known = np.full((2, n_levels), -1, np.int64)
    known[:, animals] = parents.T
    try:
        order_by_descent(*known, lambda animal: str(animal + 1))
    except ParameterError as error:
        raise FileFormatError(path, str(error)) from error


def _read_precisions(path: Path, codes: np.ndarray, kind: str) -> np.ndarray:
    """Return inverse Mendelian sampling variances from column 4."""
    if kind == "add_an_upginb":
        if (codes < 1000).any():
            raise FileFormatError(path, f"has {codes.min():g} in column 4, needs 1000 or more")
        return codes / 1000
    if not np.isin(codes, (1, 2, 3)).all():
        raise FileFormatError(path, "column 4 needs 1 to 3: 1 and how many parents are unknown")
    return np.array([2, 4 / 3, 1])[codes.astype(np.int64) - 1]


def pedigree_of_descent(descent: Descent, n_levels: int) -> tuple[Pedigree, np.ndarray]:
    """Return animals as a pedigree, and the level of each; their IDs count levels from 1.

    Levels that nothing is known of are founders.

    Raises
    ------
    ParameterError
        If an animal is its own ancestor.
    """
    parents = np.full((n_levels, 2), -1)
    parents[descent.animals] = descent.parents
    ids = [str(level + 1) for level in range(n_levels)]
    named = [[ids[parent] if parent >= 0 else "0" for parent in column] for column in parents.T]
    found = Pedigree.from_parents(ids, *named)
    levels = np.array([int(name) - 1 for name in found.ids.tolist()])
    return found, levels
