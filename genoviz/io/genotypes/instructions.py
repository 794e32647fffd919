"""Syntax of MiXBLUP's instruction files: lines, sections, qualifiers and model terms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from genoviz.errors import FileFormatError
from genoviz.io.text.text_file import read_bytes

_READ = ("TITLE", "DATAFILE", "PEDFILE", "PARFILE", "MODEL", "SOLVING")
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
    lines = read_bytes(path).tobytes().decode("utf-8-sig", "replace").splitlines()
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


def _refuse(path: Path, found: str, line: int | None = None) -> NoReturn:
    raise FileFormatError(path, found, line=line)
