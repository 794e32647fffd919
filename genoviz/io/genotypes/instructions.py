"""Syntax of instruction files: sections and terms of MiXBLUP, keywords of BLUPF90."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from genoviz.errors import FileFormatError
from genoviz.io.text.encoding import read_utf8

_READ = ("TITLE", "DATAFILE", "PEDFILE", "PARFILE", "MODEL", "SOLVING")
_ONCE = (
    "DATAFILE", "NUMBER_OF_TRAITS", "NUMBER_OF_EFFECTS", "OBSERVATION(S)", "WEIGHT(S)", "EFFECTS",
    "RANDOM_RESIDUAL",
)  # fmt: skip
GROUP_KEYWORDS = ("RANDOM_GROUP", "RANDOM_TYPE", "FILE", "(CO)VARIANCES")
# These describe genotypes, and have no effect where their quality is not controlled.
_OF_REPORTS = (
    "map_file", "chrinfo", "sex_chr", "thrWarnCorAG", "thrStopCorAG", "thrCorAG", "outcallrate",
    "plotpca", "saveAscii", "saveG", "saveGInverse", "saveA22", "saveA22Inverse",
)  # fmt: skip
# How G is made, as far as it can be made: any other value is refused.
_OF_G = {
    "tunedG": (0.0,), "TauOmega": (1.0, 1.0), "GammaDelta": (0.0, 0.0), "whichfreq": (2.0,),
}  # fmt: skip
_USUAL_WEIGHT, _ROUNDING = 0.05, 1e-9
_PASSED_OVER = ("TMPDIR", "PRECON")
_REFUSED = tuple(
    "CVRTABLE REGFILE ERMFILE ERMPEDFILE INBRFILE SNPFILE CORRFILE CVMATRIX IMPFILE DHFILE RESFILE "
    "REGPARFILE SNPPARFILE LINKEDEFFECTS COMBINE VARMODEL TRAITEBV".split()
)


@dataclass
class Section:
    """A keyword, the words after it, and the lines that follow."""

    line: int
    words: list[str]
    rows: list[tuple[int, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Term:
    """An effect in a trait's model: a class, a covariate, or a covariate within a class."""

    level: str | None
    covariate: str | None

    @property
    def name(self) -> str:
        """Its name, ``class*covariate`` if nested."""
        return "*".join(filter(None, (self.level, self.covariate)))


def iter_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not only comments; ``&`` continues the previous line."""
    held, first = "", 0
    lines = read_utf8(path, comments=True).splitlines()
    for number, whole in enumerate(lines, start=1):
        line = whole.partition("#")[0].strip()
        if not line:
            continue
        if held and not held.endswith("&") and not line.startswith("&"):
            yield first, held
            held = ""
        first = first if held else number
        held = f"{held.removesuffix('&')} {line.removeprefix('&')}".strip()
    if held:
        yield first, held.removesuffix("&")


def read_sections(path: Path) -> dict[str, Section]:
    """Return the sections of an instruction file; unsupported ones raise an error."""
    sections: dict[str, Section] = {}
    section = None
    for number, line in iter_lines(path):
        words = line.split()
        name = words[0].upper()
        if name in _REFUSED:
            _refuse(path, f"has section {name}, which is not supported; for genotypes see geno "
                         "blup and geno multiblup", number)  # fmt: skip
        if name in (*_READ, *_PASSED_OVER):
            if name in sections:
                _refuse(path, f"has section {name} a second time", number)
            section = sections[name] = Section(number, words[1:])
        elif section is None:
            _refuse(path, f"has {words[0]!r}, needs a section such as DATAFILE", number)
        else:
            section.rows.append((number, line))
    for name in ("DATAFILE", "PARFILE", "MODEL"):
        if name not in sections:
            _refuse(path, f"has no section {name}")
    return sections


def read_qualifiers(path: Path, section: Section, known: dict[str, str]) -> dict[str, str]:
    """Return the values of ``!`` qualifiers; unknown ones raise, because they change the model."""
    rest, found = section.words[1:], {}
    while rest:
        word = rest.pop(0)
        name = word.removeprefix("!").upper()
        if not word.startswith("!") or name not in known:
            names = ", ".join(f"!{each}" for each in known) or "none"
            _refuse(path, f"has {word!r}, known here are {names}", section.line)
        takes = known[name] == "1" or (
            known[name] == "?" and bool(rest) and not rest[0].startswith("!")
        )
        if takes and not rest:
            _refuse(path, f"has {word} without a value", section.line)
        found[name] = rest.pop(0) if takes else ""
    return found


def name_row(trait: str, term: str | None) -> str:
    """Return the label of a covariance row, independent of the order of class and covariate."""
    if not term:
        return trait
    return f"{trait}({'*'.join(sorted(part.strip() for part in term.split('*')))})"


def read_number(path: Path, text: str, line: int | None, minimum: float = -math.inf) -> float:
    """Return a finite number of at least ``minimum``; its exponent may begin with D, as in Fortran.

    Raises
    ------
    FileFormatError
        If the text is no such number.
    """
    try:
        value = float(text.lower().replace("d", "e"))
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < minimum:
        needed = "a number" if minimum == -math.inf else f"a number of at least {minimum:g}"
        _refuse(path, f"has {text!r}, needs {needed}", line)
    return value


def read_whole(path: Path, text: str, line: int | None, minimum: int) -> int:
    """Return a whole number of at least ``minimum``.

    Raises
    ------
    FileFormatError
        If the text is no such number.
    """
    value = read_number(path, text, line)
    if value % 1 or value < minimum:
        _refuse(path, f"has {text!r}, needs a whole number of at least {minimum}", line)
    return int(value)


def _refuse(path: Path, found: str, line: int | None = None) -> NoReturn:
    raise FileFormatError(path, found, line=line)


@dataclass
class KeywordSection:
    """A keyword, and the words of each line that follows it."""

    name: str
    line: int
    rows: list[tuple[int, list[str]]] = field(default_factory=list)

    @property
    def words(self) -> list[tuple[int, str]]:
        """All words, each with its line."""
        return [(line, word) for line, row in self.rows for word in row]


KeywordGroup = dict[str, KeywordSection]


def read_keywords(
    path: Path,
) -> tuple[KeywordGroup, list[KeywordGroup], list[tuple[int, list[str]]]]:
    """Return sections that are there once, those of each random group, and options."""
    lines = read_utf8(path, comments=True).splitlines()
    once: KeywordGroup = {}
    groups: list[KeywordGroup] = []
    options, section = [], None
    for number, line in enumerate(lines, start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        name = words[0].rstrip(":")
        if name == "OPTION":
            options.append((number, words[1:]))
            section = None
        elif name in _ONCE:
            if name in once:
                raise FileFormatError(path, f"has {name} a second time", line=number)
            section = once[name] = KeywordSection(name, number)
        elif name in GROUP_KEYWORDS:
            if name == GROUP_KEYWORDS[0]:
                groups.append({})
            if not groups or name in groups[-1]:
                raise FileFormatError(path, f"has {name} before RANDOM_GROUP", line=number)
            section = groups[-1][name] = KeywordSection(name, number)
        elif section is None:
            raise FileFormatError(path, f"has {words[0]!r}, needs a keyword", line=number)
        else:
            section.rows.append((number, words))
    missing = [name for name in _ONCE if name not in once and name != "WEIGHT(S)"]
    if missing:
        raise FileFormatError(path, f"has no {missing[0]}")
    return once, groups, options


class GenotypeOptions:
    """The options of BLUPF90 that make a model single step, as far as they can be followed.

    Parameters
    ----------
    path
        The parameter file.

    Attributes
    ----------
    files
        The file of markers and the cross-reference file, or None.
    weight
        What relationships of genotyped animals have of A22.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._line, self._told, self._notes = 0, set[str](), list[str]()
        self.files: tuple[Path, Path] | None = None
        self.weight = _USUAL_WEIGHT

    def take(self, name: str, values: list[str], line: int) -> bool:
        """Return whether an option is one of genotypes, which is followed then."""
        if name == "SNP_file" and len(values) in (1, 2):
            names = values[0], values[1] if values[1:] else f"{values[0]}_XrefID"
            self._line, self.files = line, tuple(self._path.parent / each for each in names)
        elif name in _OF_G or name == "AlphaBeta":
            self._take_numbers(name, values, line)
        elif name in _OF_REPORTS:
            self._notes.append(f"OPTION {name} is passed over: it does not change the model")
        elif name != "no_quality_control" or values:
            return False
        self._told.add(name)
        return True

    def _take_numbers(self, name: str, values: list[str], line: int) -> None:
        try:
            numbers = tuple(float(value) for value in values)
        except ValueError:
            numbers = ()
        if name != "AlphaBeta":
            if numbers != _OF_G[name]:
                needed = " ".join(f"{value:g}" for value in _OF_G[name])
                found = f"has OPTION {name} {' '.join(values)}, can do {needed}"
                raise FileFormatError(self._path, found, line=line)
            return
        if len(numbers) != 2 or not 0 < numbers[1] < 1 or abs(sum(numbers) - 1) > _ROUNDING:
            found = f"has OPTION AlphaBeta {' '.join(values)}, needs two numbers of the sum 1"
            raise FileFormatError(self._path, found, line=line)
        self.weight = numbers[1]

    def check(self) -> list[str]:
        """See that genotypes are to be taken as they are, and return notes."""
        needed = {
            "no_quality_control": "leaves out markers and animals",
            "tunedG": "tunes G to A22",
        }
        for name, deed in needed.items():
            if self.files is not None and name not in self._told:
                option = f"{name} 0" if name in _OF_G else name
                raise FileFormatError(
                    self._path,
                    f"has SNP_file without OPTION {option}: BLUPF90 {deed} then, which is not done "
                    "here",
                    line=self._line,
                )
        return self._notes
