"""Syntax of instruction files: sections and terms of MiXBLUP, keywords of BLUPF90."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn

import numpy as np

from genoviz.errors import FileFormatError
from genoviz.io.text.encoding import read_utf8
from genoviz.model.genotypes.genomic_rules import GenomicRules, Parentage, QualityRules

_READ = ("TITLE", "DATAFILE", "PEDFILE", "ERMFILE", "PARFILE", "MODEL", "SOLVING")
_ONCE = (
    "DATAFILE", "NUMBER_OF_TRAITS", "NUMBER_OF_EFFECTS", "OBSERVATION(S)", "WEIGHT(S)", "EFFECTS",
    "RANDOM_RESIDUAL",
)  # fmt: skip
GROUP_KEYWORDS = ("RANDOM_GROUP", "RANDOM_TYPE", "FILE", "(CO)VARIANCES")
# These report on genotypes, or on how the programs run.
_OF_REPORTS = (
    "map_file", "chrinfo", "outcallrate", "plotpca", "saveAscii", "saveG", "saveGInverse",
    "saveA22", "saveA22Inverse", "saveCleanSNPs", "outparent_progeny",
    "out_snp_exclusion_error_rate", "threshold_duplicate_samples", "threshold_diagonal_g",
    "high_threshold_diagonal_g", "low_threshold_diagonal_g", "num_threads_pregs", "num_threads_iod",
    "msg", "graphics",
)  # fmt: skip
# How G is made, as far as it can be made: any other value is refused.
_OF_G = {
    "GammaDelta": (0.0, 0.0), "whichG": (1.0,), "whichfreq": (2.0,),
    "whichfreqScale": (2.0,), "whichScale": (1.0,),
}  # fmt: skip
# The field of QualityRules, the largest value, what a value is divided by, and that of no value.
_OF_QUALITY = {
    "minfreq": ("min_maf", 0.5, 1, None),
    "callrate": ("min_call_rate", 1, 1, None),
    "callrateAnim": ("min_sample_call_rate", 1, 1, None),
    "hwe": ("max_hwe_difference", 1, 1, 0.15),
    "exclusion_threshold": ("max_conflicts", 100, 100, None),
    "exclusion_threshold_snp": ("max_variant_conflicts", 100, 100, None),
    "number_parent_progeny_evaluations": ("min_pairs", math.inf, 1, None),
}
_OF_AGREEMENT = {
    "thrStopCorAG": "min_correlation", "thrWarnCorAG": "low_correlation",
    "thrCorAG": "min_relationship",
}  # fmt: skip
_PARENTAGE: dict[str, Parentage] = {"0": "ignore", "1": "report", "3": "remove"}
_TUNING = {"0": None, "1": "unrelated", "2": "pedigree"}
_PASSED_OVER = ("TMPDIR", "PRECON")
_REFUSED = tuple(
    "CVRTABLE REGFILE ERMPEDFILE INBRFILE SNPFILE CORRFILE CVMATRIX IMPFILE DHFILE RESFILE "
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
    rules
        How relationships are made of genotypes.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._sex_line, self._omitted, self._notes = 0, 0, list[str]()
        self._quality, self._is_controlled = QualityRules(), True
        self.files: tuple[Path, Path] | None = None
        self.rules = GenomicRules()

    @property
    def has_ancestry(self) -> bool:
        """Whether A^-1 is part of the inverse."""
        return not self._omitted

    def take(self, name: str, values: list[str], line: int) -> bool:
        """Return whether an option is one of genotypes, which is followed then."""
        if name == "SNP_file" and len(values) in (1, 2):
            names = values[0], values[1] if values[1:] else f"{values[0]}_XrefID"
            self.files = tuple(self._path.parent / each for each in names)
        elif name in _OF_QUALITY and len(values) <= 1:
            self._take_quality(name, values, line)
        elif name == "monomorphic" and values in ([], ["0"], ["1"]):
            self._quality = replace(self._quality, removes_constant=values != ["0"])
        elif name == "verify_parentage" and len(values) == 1 and values[0] in _PARENTAGE:
            self._quality = replace(self._quality, parentage=_PARENTAGE[values[0]])
        elif name in ("tunedG", "AlphaBeta", "TauOmega") or name in _OF_G:
            self._take_numbers(name, values, line)
        elif name in _OF_AGREEMENT and len(values) == 1:
            number = read_number(self._path, values[0], line)
            self.rules = replace(self.rules, **{_OF_AGREEMENT[name]: number})
        elif name in _OF_REPORTS:
            self._notes.append(f"OPTION {name} is passed over: it does not change the model")
        elif name == "sex_chr":
            self._sex_line = line
        elif name == "omit_ainv" and not values:
            self._omitted = line
        elif name != "no_quality_control" or values:
            return False
        else:
            self._is_controlled = False
        return True

    def _take_quality(self, name: str, values: list[str], line: int) -> None:
        field, largest, divisor, value = _OF_QUALITY[name]
        if values:
            value = read_number(self._path, values[0], line, 0.0)
            if value > largest:
                found = f"has OPTION {name} {values[0]}, needs 0 to {largest:g}"
                raise FileFormatError(self._path, found, line=line)
        if value is not None:
            self._quality = replace(self._quality, **{field: value / divisor})

    def _take_numbers(self, name: str, values: list[str], line: int) -> None:
        found = f"has OPTION {' '.join([name, *values])}"
        try:
            numbers = tuple(float(value) for value in values)
        except ValueError:
            numbers = ()
        if name == "AlphaBeta":
            if len(numbers) != 2 or not min(numbers) > 0 or math.isinf(max(numbers)):
                self._refuse(f"{found}, needs two numbers of more than 0", line)
            self.rules = replace(self.rules, weights=numbers)
        elif name == "TauOmega":
            if len(numbers) != 2 or not numbers[0] > 0 <= numbers[1] < math.inf > numbers[0]:
                self._refuse(f"{found}, needs a number of more than 0 and one of at least 0", line)
            self.rules = replace(self.rules, scales=numbers)
        elif name != "tunedG":
            if numbers != _OF_G[name]:
                needed = " ".join(f"{value:g}" for value in _OF_G[name])
                self._refuse(f"{found}, can do {needed}", line)
        elif values[:1] == ["9"]:
            if len(numbers) != 3 or not numbers[2] > 0 or not np.isfinite(numbers).all():
                self._refuse(f"{found}, needs two numbers after 9, the second more than 0", line)
            self.rules = replace(self.rules, targets=None, line=numbers[1:])
        elif len(values) == 1 and values[0] in _TUNING:
            self.rules = replace(self.rules, targets=_TUNING[values[0]], line=(0.0, 1.0))
        else:
            self._refuse(f"{found}, can do 0, 1, 2, and 9 with two numbers", line)

    def _refuse(self, found: str, line: int) -> NoReturn:
        raise FileFormatError(self._path, found, line=line)

    def check(self) -> list[str]:
        """Complete the rules, and return notes."""
        quality = self._quality if self._is_controlled else None
        self.rules = replace(self.rules, quality=quality)
        if self._sex_line and quality is not None and quality.parentage != "ignore":
            self._refuse(
                "has OPTION sex_chr, whose markers are no conflicts of parents and progeny, which "
                "is not done: needs OPTION verify_parentage 0 or no_quality_control too",
                self._sex_line,
            )
        if self._omitted and (self.files is None or self.rules.scales[1]):
            found = "has OPTION omit_ainv, needs SNP_file and a TauOmega such as 1 0 with it"
            self._refuse(found, self._omitted)
        return self._notes
