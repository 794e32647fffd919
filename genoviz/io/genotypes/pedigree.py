"""Pedigrees from tables of animals and their parents."""

from __future__ import annotations

import re
from dataclasses import replace
from os import PathLike
from pathlib import Path

from genoviz.errors import FileFormatError, ParameterError
from genoviz.io.genotypes.plink_files import read_fam
from genoviz.io.text.encoding import check_text
from genoviz.io.text.text_file import read_bytes
from genoviz.model.genotypes.pedigree import Pedigree

_TITLES = {
    "id": ("id", "iid", "animal", "individual", "calf", "progeny", "name", "ind"),
    "sire": ("sire", "sire_id", "father", "father_id", "pat", "dad", "pere"),
    "dam": ("dam", "dam_id", "mother", "mother_id", "mat", "mum", "mom", "mere"),
}


def read_pedigree(path: str | PathLike[str]) -> Pedigree:
    """Return the pedigree of a table of animals.

    Its columns are animal, sire and dam, in this order or as a header names them (``id``,
    ``sire``/``father``, ``dam``/``mother``...); further ones are passed over. Fields lie between
    commas, semicolons, tabs or blanks; lines that begin with ``#`` are comments unless they are
    the header. ``0``, ``00``, ``.``, ``*``, ``NA``, ``unknown``, ``-9``, empty fields and what
    else `is_unknown_parent` knows are parents that are not known. Of a ``.fam`` file columns 2 to 4
    are read. The file may be gzipped. Other negative numbers are groups of unknown parents, as
    `Pedigree.from_parents` has it. A note names an animal that is a sire here and a dam there.

    Raises
    ------
    FileFormatError
        If a line has fewer than three fields, an animal is there twice or is its own ancestor, or
        parents are -9 beside groups of unknown parents.
    """
    path = Path(path)
    check_text(path)
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


def _find_line(error: str, ids: list[str], numbers: list[int]) -> int | None:
    """Return the last line of the animal that an error begins with."""
    rows = [row for row, name in enumerate(ids) if error.startswith(f"animal {name!r} ")]
    return numbers[rows[-1]] if rows else None


def _note_both_sexes(both: list[str]) -> list[str]:
    if not both:
        return []
    who = f"{both[0]} is" if len(both) == 1 else f"{len(both):,} animals, such as {both[0]}, are"
    return [f"{who} both sire and dam, as only plants can be."]


def _read_columns(path: Path) -> tuple[list[list[str]], list[int]]:
    """Return animals, sires and dams; and the line of each."""
    lines = read_bytes(path).tobytes().decode("utf-8-sig", "replace").splitlines()
    separator = next((s for s in "\t,;" if s in lines[0]), None)
    places = _find_titles(_split(lines[0].removeprefix("#"), separator))
    rows, numbers = [], []
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#") or (number == 1 and places is not None):
            continue
        fields = _split(line, separator)
        if len(fields) < 3:
            found = f"has {len(fields)} field{'s' * (len(fields) != 1)}, needs 3: animal, sire, dam"
            raise FileFormatError(path, found, line=number)
        rows.append(fields)
        numbers.append(number)
    return [[row[place] for row in rows] for place in places or (0, 1, 2)], numbers


def _split(line: str, separator: str | None) -> list[str]:
    return [field.strip().strip('"') for field in line.split(separator)]


def _find_titles(fields: list[str]) -> tuple[int, ...] | None:
    """Return where a header has animal, sire and dam; None if it is none."""
    words = [re.sub(r"\W", "_", field).lower() for field in fields]
    found = [
        next((k for k, w in enumerate(words) if w in known), None) for known in _TITLES.values()
    ]
    return None if None in found else tuple(found)
