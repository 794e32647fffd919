"""Files of trait covariances: a table of components, or MiXBLUP's lower triangles."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from genoviz.errors import FileFormatError, n_words
from genoviz.io.genotypes.instructions import iter_lines, name_row
from genoviz.io.text.encoding import read_utf8

_COLUMNS = ("#COMPONENT", "TRAIT1", "TRAIT2", "COVARIANCE")
_LABEL = re.compile(r"([^()]+)(?:\(([^()]*)\))?")


def read_components(path: Path, known: tuple[str, ...]) -> dict[str, dict[frozenset[str], float]]:
    """Return the covariances of pairs of traits, by component name.

    The table is the output of ``geno reml --with``. It must have the first two known components.

    Raises
    ------
    FileFormatError
        If a component is missing, or the file is not such a table.
    """
    lines = read_utf8(path).splitlines()
    header = lines[0].split("\t")
    absent = [name for name in _COLUMNS if name not in header]
    if absent:
        raise FileFormatError(path, f"has no column {absent[0]}, needs {', '.join(_COLUMNS)}")
    places = [header.index(name) for name in _COLUMNS]
    found: dict[str, dict[frozenset[str], float]] = {}
    for number, line in enumerate(lines[1:], start=2):
        fields = line.split("\t")
        if not line.strip():
            continue
        if len(fields) != len(header):
            needed = f"has {n_words(len(fields), 'field')}, needs {len(header)}"
            raise FileFormatError(path, needed, line=number)
        component, first, second, text = (fields[place] for place in places)
        if component not in known:
            needed = f"has component {component!r}, needs one of {', '.join(known)}"
            raise FileFormatError(path, needed, line=number)
        try:
            value = float(text)
        except ValueError:
            raise FileFormatError(path, f"has {text!r}, needs a number", line=number) from None
        known_value = found.setdefault(component, {}).setdefault(frozenset((first, second)), value)
        if known_value != value:
            told = f"has {value:g} for {first} and {second}, and {known_value:g} above"
            raise FileFormatError(path, told, line=number)
    absent = [name for name in known[:2] if name not in found]
    if absent:
        raise FileFormatError(path, f"has no rows of component {absent[0]}")
    return found


def covariance_matrix(
    path: Path, component: str, pairs: dict[frozenset[str], float], traits: Sequence[str]
) -> np.ndarray:
    """Return a component from `read_components` as a matrix of the given traits, float64.

    Raises
    ------
    FileFormatError
        If a pair of the traits is missing.
    """
    for first in traits:
        for second in traits:
            if frozenset((first, second)) not in pairs:
                found = f"has no covariance of {first} and {second} in component {component}"
                raise FileFormatError(path, found)
    return np.array([[pairs[frozenset((one, two))] for two in traits] for one in traits])


class LowerTriangles:
    """The named matrices of a PARFILE, as lower triangles with a label for each row.

    Raises
    ------
    FileFormatError
        If the file violates the format.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: dict[str, dict[str, list[float]]] = {}
        rows: dict[str, list[float]] | None = None
        for line, text in iter_lines(path):
            words = re.sub(r"\s*([*()])\s*", r"\1", text).replace(")", ") ").split()
            if len(words) == 1:
                name = "Res" if words[0].lower() in ("res", "residual") else words[0]
                if name in self._rows:
                    raise FileFormatError(path, f"has matrix {name} a second time", line=line)
                rows = self._rows[name] = {}
                continue
            found = _LABEL.fullmatch(words[0])
            if rows is None or found is None or len(words) != len(rows) + 2:
                needed = "a name of a matrix" if rows is None else f"{len(rows) + 1} numbers"
                raise FileFormatError(path, f"has {text!r}, needs {needed}", line=line)
            try:
                numbers = [float(word) for word in words[1:]]
            except ValueError:
                raise FileFormatError(path, f"has {text!r}, needs numbers", line=line) from None
            rows[name_row(found[1], found[2])] = numbers

    def take(self, name: str, labels: list[tuple[str, ...] | None]) -> np.ndarray:
        """Return the covariances of rows; each has one of several labels, or None for zeros."""
        if name not in self._rows:
            raise FileFormatError(self._path, f"has no matrix {name}")
        rows = self._rows[name]
        known = list(rows)
        places = []
        for accepted in labels:
            found = next((each for each in accepted or () if each in rows), None)
            if accepted is not None and found is None:
                needed = f"matrix {name} has no row of {accepted[0]}"
                raise FileFormatError(self._path, needed)
            places.append(None if found is None else known.index(found))
        matrix = np.zeros((len(labels), len(labels)))
        for i, row in enumerate(places):
            for j, column in enumerate(places):
                if row is not None and column is not None:
                    matrix[i, j] = rows[known[max(row, column)]][min(row, column)]
        return matrix
