"""Instruction files of MiXBLUP, with the data, pedigrees and covariances that they refer to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import NoReturn

import numpy as np

from genoviz.errors import FileFormatError, ParameterError, n_words
from genoviz.io.files.replace_file import protect_more
from genoviz.io.genotypes.covariance_files import LowerTriangles
from genoviz.io.genotypes.instructions import (
    Section,
    Term,
    name_row,
    read_number,
    read_qualifiers,
    read_sections,
    read_whole,
)
from genoviz.io.genotypes.pedigree import read_pedigree
from genoviz.io.genotypes.relationship_files import read_inverse
from genoviz.io.text.encoding import read_lines, words_of
from genoviz.io.text.tables import is_number
from genoviz.model.genotypes.mixed_model import (
    MatrixElements,
    MixedModel,
    ModelEffect,
    PedigreeRelationships,
    RandomEffects,
)

# Number of values that follow; a question mark for an optional one.
_OF_DATA = {"SKIP": "1", "MISSING": "1", "STATS": "1", "SLASH": "0"}
_OF_PEDIGREE = {"CALCINBR": "?", "GROUPS": "?"}
_GENETIC = re.compile(r"(?<!\w)G\s*\(([^()]*)\)")


@dataclass(frozen=True, eq=False)
class MixblupRun:
    """Model and options of an instruction file.

    Attributes
    ----------
    model
        Effects and covariances with the observations.
    traits, effects
        Their names; effects that are nested are ``class*covariate``.
    levels
        str, for each effect the names of its levels.
    max_iterations
        From ``!MAXIT``; None if absent.
    notes
        What was skipped or added, one sentence each.
    """

    model: MixedModel
    traits: tuple[str, ...]
    effects: tuple[str, ...]
    levels: tuple[np.ndarray, ...]
    max_iterations: int | None = None
    notes: tuple[str, ...] = ()


_Chain = tuple[Term, ...]
"""Terms whose effects add up, such as those of pen mates; usually one."""


def read_mixblup(path: str | PathLike[str]) -> MixblupRun:
    """Return the model of an instruction file of MiXBLUP, with its data.

    Files are searched beside it. Fixed effects are classes, covariates and covariates within
    classes; an intercept must be specified. Random effects are classes, covariates within classes,
    and genetic effects ``G(...)``: direct and maternal, within covariates, or ``AND`` of pen mates.
    ``!CALCINBR`` enables inbreeding. ``!GROUPS`` gives unknown parent groups and the value added to
    their diagonal. ERMFILE has the inverse relationship matrix of all animals instead of a
    pedigree, dense or as elements. PARFILE has lower triangles. As in MiXBLUP, a missing covariate
    excludes the observation.

    Not supported are genotypes, covariate files and tables, heterogeneous residuals,
    linked and combined effects; qualifiers that change the model; and class codes of 0 or below,
    which MiXBLUP's solvers interpret differently.

    Raises
    ------
    FileFormatError
        If a file violates the format.

    References
    ----------
    ten Napel et al., MiXBLUP User's Guide, https://www.mixblup.eu
    """
    return _Reader(Path(path)).run()


class _Reader:
    """Builds a model from the sections of an instruction file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._notes: list[str] = []
        self._sections = read_sections(path)

    def _refuse(self, found: str, line: int | None = None) -> NoReturn:
        raise FileFormatError(self._path, found, line=line)

    def run(self) -> MixblupRun:
        """Return the model and options of the file."""
        self._read_data()
        self._read_models()
        read_qualifiers(self._path, self._sections["PARFILE"], {})
        self._triangles = LowerTriangles(self._beside("PARFILE"))
        self._invalidate()
        names: list[str] = []
        levels: list[np.ndarray] = []
        effects: list[ModelEffect] = []
        fixed = dict.fromkeys(term for each in self._fixed.values() for term in each)
        for term in fixed:
            self._add(((term,)), self._fixed, self._name_levels(term), names, levels, effects)
        random = []
        genetic = dict.fromkeys(chain for each in self._genetic.values() for chain in each)
        classes: dict[str, list[_Chain]] = {}
        for each in self._random.values():
            for term in each:
                found = classes.setdefault(str(term.level), [])
                found += [(term,)] * ((term,) not in found)
        groups = [(name, chains, None, None) for name, chains in classes.items()]
        if genetic:
            groups.append(("G", list(genetic), *self._read_relationships()))
        for name, chains, structure, labels in groups:
            of_traits = self._genetic if structure else self._random
            numbers = []
            for chain in chains:
                own = self._name_levels(chain[0]) if labels is None else labels
                self._add(chain, of_traits, own, names, levels, effects)
                numbers.append(len(effects) - 1)
            covariance = self._covariance(name, chains, of_traits)
            random.append(RandomEffects(tuple(numbers), covariance, structure))
        try:
            model = MixedModel(
                np.column_stack([self._values[trait] for trait in self._traits]), tuple(effects),
                tuple(random), self._residual(), self._weights(),
            )  # fmt: skip
        except ParameterError as error:
            raise FileFormatError(self._path, str(error)) from error
        found = model, tuple(self._traits), tuple(names), tuple(levels), self._read_solving()
        return MixblupRun(*found, tuple(self._notes))

    def _beside(self, name: str) -> Path:
        section = self._sections[name]
        if not section.words:
            self._refuse(f"{name} names no file", section.line)
        found = self._path.parent / section.words[0]
        protect_more([found])
        return found

    def _read_data(self) -> None:
        section, path = self._sections["DATAFILE"], self._beside("DATAFILE")
        options = read_qualifiers(self._path, section, _OF_DATA)
        missing = read_number(self._path, options.get("MISSING", "0"), section.line)
        n_skipped = read_whole(self._path, options.get("SKIP", "0"), section.line, 0)
        kinds: dict[str, str] = {}
        for line, row in section.rows:
            words = row.split()
            kind = words[1].upper() if len(words) > 1 else ""
            if kind not in ("I", "A", "R", "T") or words[0] in kinds:
                self._refuse(f"has {row!r}, needs a new field and I, A, R or T", line)
            if [word.upper() for word in words[2:]] not in ([], ["!BLOCK"]):
                self._refuse(f"has {words[2]!r}, which is not supported", line)
            kinds[words[0]] = kind
        lines = enumerate(read_lines(path)[n_skipped:], start=n_skipped + 1)
        rows = [(number, words) for number, line in lines if (words := words_of(line))]
        for number, words in rows:
            if len(words) < len(kinds):
                found = f"has {n_words(len(words), 'field')}, {self._path.name} has {len(kinds)}"
                raise FileFormatError(path, found, line=number)
        self._kinds, self._labels, self._values = kinds, {}, {}
        for place, (name, kind) in enumerate(kinds.items()):
            column = np.array([words[place] for _, words in rows], np.str_)
            if kind in "IA":
                self._labels[name] = column
                continue
            wrong = next((k for k, word in enumerate(column.tolist()) if not is_number(word)), None)
            if wrong is not None:
                found = f"has {str(column[wrong])!r} in field {name}, needs a number"
                raise FileFormatError(path, found, line=rows[wrong][0])
            numbers = column.astype(np.float64)
            self._values[name] = np.where(numbers == missing, np.nan, numbers)

    def _term(self, text: str, line: int) -> Term:
        parts = [part.strip() for part in text.split("*")]
        levels = [part for part in parts if self._kinds.get(part) in ("I", "A")]
        covariates = [part for part in parts if self._kinds.get(part) == "R"]
        if len(levels) + len(covariates) != len(parts) or max(len(levels), len(covariates)) > 1:
            self._refuse(f"has effect {text!r}, needs a class (I or A), a covariate (R), or "
                         "class*covariate", line)  # fmt: skip
        return Term(*(each[0] if each else None for each in (levels, covariates)))

    def _terms(self, text: str, line: int) -> list[Term]:
        if wrong := re.search(r"[!()]\S*|\S+\(", text):
            self._refuse(f"has {wrong[0]!r} in a model, which is not supported", line)
        return [self._term(each, line) for each in re.sub(r"\s*\*\s*", "*", text).split()]

    def _read_models(self) -> None:
        self._traits: list[str] = []
        self._fixed: dict[str, list[Term]] = {}
        self._random: dict[str, list[Term]] = {}
        self._genetic: dict[str, list[_Chain]] = {}
        self._weight_of: dict[str, str | None] = {}
        for line, row in self._sections["MODEL"].rows:
            left, tilde, right = row.partition("~")
            trait, *more = left.split() or [""]
            if not tilde or self._kinds.get(trait) != "T" or trait in self._fixed:
                self._refuse(f"has {row!r}, needs a trait (T), ~ and its effects", line)
            weight = read_qualifiers(self._path, Section(line, ["", *more]), {"WEIGHT": "1"})
            self._weight_of[trait] = weight.get("WEIGHT")
            fixed, *random = re.split(r"!RANDOM\b", right, flags=re.IGNORECASE)
            inside = " ".join(random)
            self._traits.append(trait)
            self._fixed[trait] = self._terms(fixed, line)
            self._random[trait] = self._terms(_GENETIC.sub(" ", inside), line)
            chains = [part for each in _GENETIC.findall(inside) for part in each.split(",")]
            self._genetic[trait] = [
                tuple(self._term(each, line) for each in re.split(r"\s+AND\s+", chain.strip()))
                for chain in chains
            ]
            for term in [*self._random[trait], *(t for c in self._genetic[trait] for t in c)]:
                if term.level is None:
                    self._refuse(f"has the random effect {term.name}, needs class*covariate", line)

    def _invalidate(self) -> None:
        """Exclude observations with missing covariates."""
        for trait in self._traits:
            before = np.count_nonzero(~np.isnan(self._values[trait]))
            chains = [(t,) for t in (*self._fixed[trait], *self._random[trait])]
            names = {t.covariate for chain in (*chains, *self._genetic[trait]) for t in chain}
            for name in names - {None}:
                is_missing = np.isnan(self._values[name])
                self._values[trait] = np.where(is_missing, np.nan, self._values[trait])
            n = before - np.count_nonzero(~np.isnan(self._values[trait]))
            if n:
                self._notes.append(
                    f"{n_words(n, 'observation')} of {trait} left out: a covariate is missing"
                )

    def _name_levels(self, term: Term) -> np.ndarray:
        if term.level is None:
            return np.array(["1"])
        found = np.unique(self._labels[term.level])
        if self._kinds[term.level] == "A":
            return found
        by_number: dict[float, str] = {}
        for name in found.tolist():
            other = by_number.setdefault(read_number(self._path, name, None), name)
            if other != name:
                self._refuse(f"field {term.level} has classes {other} and {name}, one number")
        return np.array([by_number[number] for number in sorted(by_number)], np.str_)

    def _add(
        self, chain: _Chain, of_traits: dict, labels: np.ndarray, names: list[str],
        levels: list[np.ndarray], effects: list[ModelEffect],
    ) -> None:  # fmt: skip
        """Add an effect for each term of a chain, the last of which has the levels."""
        places = {label: place for place, label in enumerate(labels.tolist())}
        shape = len(next(iter(self._values.values()))), len(self._traits)
        for k, term in enumerate(chain):
            found, covariates = np.full(shape, -1, np.int64), np.zeros(shape)
            for column, trait in enumerate(self._traits):
                if chain not in of_traits[trait] and term not in of_traits[trait]:
                    continue
                has = ~np.isnan(self._values[trait])
                if term.level is None:
                    found[has, column] = 0
                else:
                    own = self._labels[term.level][has].tolist()
                    found[has, column] = [self._place(term.level, each, places) for each in own]
                if term.covariate is not None:
                    covariates[:, column] = np.nan_to_num(self._values[term.covariate])
            values = None if term.covariate is None else covariates
            is_last = k == len(chain) - 1
            effects.append(ModelEffect(found, len(labels) * is_last, values, not is_last))
            names.append(" AND ".join(each.name for each in chain))
            levels.append(labels)

    def _place(self, level: str, label: str, places: dict[str, int]) -> int:
        if re.fullmatch(r"-\d+|0+", label):
            self._refuse(f"field {level} has class {label} where a trait is observed, which "
                         "MiXBLUP's solvers take for different things; needs a name")  # fmt: skip
        if label not in places:
            where = "ERMFILE" if "ERMFILE" in self._sections else "the pedigree"
            self._refuse(f"field {level} has {label}, which is not in {where}")
        return places[label]

    def _read_relationships(self) -> tuple[MatrixElements | PedigreeRelationships, np.ndarray]:
        """Return the relationships of animals, with their names and those of groups."""
        if "ERMFILE" in self._sections:
            return read_inverse(self._path, self._sections)
        if "PEDFILE" not in self._sections:
            self._refuse("has G(...) and no section PEDFILE or ERMFILE")
        section = self._sections["PEDFILE"]
        options = read_qualifiers(self._path, section, _OF_PEDIGREE)
        pedigree = read_pedigree(self._beside("PEDFILE"))
        self._notes += pedigree.notes
        if len(pedigree.groups) and "GROUPS" not in options:
            self._refuse("has a pedigree with groups of unknown parents and no !GROUPS",
                         section.line)  # fmt: skip
        ridge = read_number(self._path, options.get("GROUPS") or "0", section.line, 0)
        names = np.append(pedigree.ids, pedigree.groups)
        return PedigreeRelationships(pedigree, "CALCINBR" in options, ridge), names

    def _covariance(self, name: str, chains: list[_Chain], of_traits: dict) -> np.ndarray:
        labels: list[tuple[str, ...] | None] = []
        for chain in chains:
            for trait in self._traits:
                has = chain in of_traits[trait] or chain[0] in of_traits[trait]
                accepted = (name_row(trait, chain[0].name),)
                if name != "G" and (chain[0].covariate is None or len(chains) == 1):
                    accepted += (trait,)
                labels.append(accepted if has else None)
        return self._triangles.take(name, labels)

    def _residual(self) -> np.ndarray:
        return self._triangles.take("Res", [(trait,) for trait in self._traits])

    def _weights(self) -> np.ndarray | None:
        names = {*self._weight_of.values()}
        if len(names) > 1:
            self._refuse("has !WEIGHT for some traits, or different ones; needs one for all")
        name = names.pop() if names else None
        if name is None:
            return None
        weights = self._values.get(name)
        if weights is None or not (weights > 0).all():
            self._refuse(f"has !WEIGHT {name}, needs a field of numbers above 0")
        return weights

    def _read_solving(self) -> int | None:
        limit = None
        for line, row in self._sections.get("SOLVING", Section(0, [])).rows:
            name, *values = row.split()
            if name.upper() == "!MAXIT" and len(values) == 1:
                limit = read_whole(self._path, values[0], line, 1)
            else:
                self._notes.append(f"{row} is passed over: equations are solved to a squared "
                                   "relative residual")  # fmt: skip
        return limit
