"""Parameter files of BLUPF90, with the data, pedigrees and matrices that they refer to."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import NoReturn

import numpy as np

from genoviz.errors import FileFormatError, ParameterError, n_words
from genoviz.io.files.replace_file import protect_more
from genoviz.io.genotypes.arrays import read_digits
from genoviz.io.genotypes.instructions import (
    GROUP_KEYWORDS,
    GenotypeOptions,
    KeywordGroup,
    KeywordSection,
    read_keywords,
    read_number,
    read_whole,
)
from genoviz.io.genotypes.pedigree import DESCENTS, pedigree_of_descent, read_descent
from genoviz.io.genotypes.relationship_files import read_elements
from genoviz.io.text.tables import read_numbers, refuse_number
from genoviz.model.genotypes.mixed_model import (
    Descent,
    MixedModel,
    ModelEffect,
    RandomEffects,
    SingleStep,
    Structure,
)

_MAX_LEVEL = 2.0**53
_MATRICES = ("user_file", "user_file_i")
# Options of the solver or of storage, which do not apply here.
_OF_SOLVER = (
    "solv_method", "blksize", "r_factor", "use_yams", "fact_once", "residual", "store_accuracy",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Blupf90Run:
    """Model and options of a parameter file.

    Attributes
    ----------
    model
        Effects and covariances with the observations.
    standard_errors
        Whether ``OPTION sol se`` requests them.
    tolerance, max_iterations
        From ``OPTION conv_crit`` and ``OPTION maxrounds``; None if absent.
    notes
        What was skipped or added, one sentence each.
    """

    model: MixedModel
    standard_errors: bool = False
    tolerance: float | None = None
    max_iterations: int | None = None
    notes: tuple[str, ...] = ()


def read_blupf90(path: str | PathLike[str]) -> Blupf90Run:
    """Return the model of a parameter file of BLUPF90, with its data.

    Files are searched beside the parameter file. Effects are ``cross`` or ``cov``, nested or not;
    each trait has its own column or none (0). An effect with 0 levels adds to the next one. Random
    types are ``diagonal``, ``add_animal`` (ignoring inbreeding, as in BLUPF90), ``add_an_upg``,
    ``add_an_upginb``, ``add_sire``, ``user_file`` (an inverse) and ``user_file_i`` (to be
    inverted). Supported options are ``missing``, ``sol se``, ``conv_crit`` and ``maxrounds``.
    Solver options are ignored with a note; others raise an error, because they change the model.

    With ``OPTION SNP_file``, the relationships of ``add_animal`` are H, which combines A with
    G = a ZZ' / (2 sum p(1 - p)) + b A22 of the genotyped animals; the cross-reference file has
    their numbers. ``AlphaBeta`` sets a and b (default 0.95 and 0.05). Quality control of the
    genotypes and the tuning of G to A22 are the `SingleStep.rules` of the structure. Solving the
    model applies them; `prepare_single_step` does it before, and tells what it removes. A missing
    genotype (5) counts as the mean.

    A parent without its own line is a founder, which a note counts; it must be within the levels of
    the effect. In ``add_an_upg`` and ``add_an_upginb``, codes beyond the last animal are unknown
    parent groups.

    Raises
    ------
    FileFormatError
        If a file violates the format.

    References
    ----------
    Misztal et al. 2002, BLUPF90 and related programs (BGF90), 7th World Congress on Genetics
    Applied to Livestock Production, 28-07
    """
    return _Reader(Path(path)).run()


class _Reader:
    """Builds a model from the sections of a parameter file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._once, self._groups, self._options = read_keywords(path)
        self._notes: list[str] = []
        self._missing = 0.0
        self._found: dict[str, float | bool] = {}
        self._of_genotypes = GenotypeOptions(path)

    def _refuse(self, found: str, line: int | None = None) -> NoReturn:
        raise FileFormatError(self._path, found, line=line)

    def run(self) -> Blupf90Run:
        """Return the model and options of the file."""
        self._read_options()
        self._n_traits = self._count("NUMBER_OF_TRAITS")
        n_effects = self._count("NUMBER_OF_EFFECTS")
        self._data_path = self._beside(self._once["DATAFILE"])
        self._data = read_numbers(self._data_path)
        self._observations = self._take_observations()
        effects = self._take_effects(n_effects)
        random = tuple(self._take_group(group, effects) for group in self._groups)
        named = [effect for group in random for effect in group.effects]
        if len(named) != len(set(named)):
            self._refuse("has an effect in two groups of random effects")
        residual = self._matrix(self._once["RANDOM_RESIDUAL"], self._n_traits)
        try:
            observations, weights = self._observations, self._take_weights()
            model = MixedModel(observations, effects, random, residual, weights)
        except ParameterError as error:
            raise FileFormatError(self._path, str(error)) from error
        limit = self._found.get("maxrounds")
        return Blupf90Run(
            model,
            bool(self._found.get("sol")),
            self._found.get("conv_crit"),
            None if limit is None else int(limit),
            tuple(self._notes),
        )

    def _read_options(self) -> None:
        for line, words in self._options:
            name, *values = words or [""]
            if name == "sol" and values == ["se"]:
                self._found["sol"] = True
            elif name in ("missing", "conv_crit", "maxrounds") and len(values) == 1:
                value = self._number(values[0], line)
                if name == "missing":
                    self._missing = value
                elif value <= 0 or (name == "conv_crit" and value >= 1):
                    needed = "more than 0" + " and less than 1" * (name == "conv_crit")
                    self._refuse(f"has {name} {values[0]}, needs {needed}", line)
                self._found[name] = value
            elif name in _OF_SOLVER:
                self._notes.append(f"OPTION {name} is passed over: equations are solved by "
                                   "preconditioned conjugate gradients")  # fmt: skip
            elif not self._of_genotypes.take(name, values, line):
                self._refuse(
                    f"has OPTION {' '.join(words)}, which is not supported: known are missing, "
                    "sol se, conv_crit, maxrounds, those of solvers, and of genotypes SNP_file, "
                    "AlphaBeta, tunedG and those of quality control, such as minfreq",
                    line,
                )
        self._notes += self._of_genotypes.check()

    def _number(self, word: str, line: int) -> float:
        return read_number(self._path, word, line)

    def _whole(self, word: str, line: int, minimum: int = 0) -> int:
        return read_whole(self._path, word, line, minimum)

    def _count(self, name: str) -> int:
        section = self._once[name]
        if len(section.words) != 1:
            self._refuse(f"{name} needs one number", section.line)
        line, word = section.words[0]
        return self._whole(word, line, minimum=1)

    def _beside(self, section: KeywordSection) -> Path:
        """Return the path of the file that a section names."""
        if not section.rows:
            self._refuse(f"{section.name} names no file", section.line)
        found = self._path.parent / " ".join(section.rows[0][1])
        protect_more([found])
        return found

    def _column(self, word: str, line: int) -> int:
        """Return a 0-based data column, -1 for none."""
        place = self._whole(word, line)
        n = self._data.shape[1]
        if place > n:
            found = f"names column {place} of {self._data_path.name}, which has {n}"
            self._refuse(found, line)
        return place - 1

    def _take_observations(self) -> np.ndarray:
        section = self._once["OBSERVATION(S)"]
        words = section.words
        if len(words) != self._n_traits:
            self._refuse(
                f"has {n_words(len(words), 'column')} for {self._n_traits} traits", section.line
            )
        columns = [self._column(word, line) for line, word in words]
        if min(columns) < 0:
            self._refuse("OBSERVATION(S) names column 0", section.line)
        found = self._data[:, columns]
        return np.where(found == self._missing, np.nan, found)

    def _take_weights(self) -> np.ndarray | None:
        words = self._once["WEIGHT(S)"].words if "WEIGHT(S)" in self._once else []
        if not words:
            return None
        if len(words) > 1:
            self._refuse("has weights for each trait, can have one for all", words[1][0])
        column = self._column(words[0][1], words[0][0])
        if column < 0:
            return None
        weights = self._data[:, column]
        wrong = np.flatnonzero(weights <= 0)
        if len(wrong):
            refuse_number(self._data_path, wrong[0], column, "a weight of more than 0")
        return weights

    def _take_effects(self, n_effects: int) -> tuple[ModelEffect, ...]:
        section = self._once["EFFECTS"]
        if len(section.rows) != n_effects:
            self._refuse(
                f"has {n_words(len(section.rows), 'effect')}, not {n_effects}", section.line
            )
        effects = [self._take_effect(line, words) for line, words in section.rows]
        if effects[-1].is_part_of_next:
            self._refuse("the last effect has 0 levels, needs more", section.rows[-1][0])
        self._check_levels(effects, section)
        return tuple(effects)

    def _take_effect(self, line: int, words: list[str]) -> ModelEffect:
        n_traits = self._n_traits
        kind = words[n_traits + 1] if len(words) > n_traits + 1 else ""
        nested = words[n_traits + 2 :]
        if kind not in ("cross", "cov") or len(nested) not in (0, n_traits * (kind == "cov")):
            self._refuse(
                f"has {' '.join(words)!r}, needs {n_words(n_traits, 'column')}, how many levels, "
                "and "
                "cross or cov, this with the columns that it is nested in or none",
                line,
            )
        columns = [self._column(word, line) for word in words[:n_traits]]
        n_levels = self._whole(words[n_traits], line)
        of_levels = [self._column(word, line) for word in nested] if nested else columns
        shape = len(self._data), n_traits
        levels, covariates = np.full(shape, -1, np.int64), np.zeros(shape)
        for trait, (column, of_level) in enumerate(zip(columns, of_levels, strict=True)):
            if column < 0:
                continue
            if kind == "cov":
                covariates[:, trait] = self._data[:, column]
            if kind == "cov" and not nested:
                levels[:, trait] = 0
            elif of_level >= 0:
                found = self._data[:, of_level]
                wrong = np.flatnonzero((found % 1 != 0) | (found < 0))
                if len(wrong):
                    refuse_number(self._data_path, wrong[0], of_level, "a whole number from 0")
                levels[:, trait] = np.minimum(found, _MAX_LEVEL).astype(np.int64) - 1
        values = covariates if kind == "cov" else None
        return ModelEffect(levels, n_levels, values, is_part_of_next=n_levels == 0)

    def _check_levels(self, effects: list[ModelEffect], section: KeywordSection) -> None:
        """Check that all levels are in range."""
        n_levels = 0
        for effect, (line, words) in zip(reversed(effects), reversed(section.rows), strict=True):
            n_levels = n_levels if effect.is_part_of_next else effect.n_levels
            wrong = np.argwhere(effect.levels >= n_levels)
            if len(wrong):
                row, trait = wrong[0].tolist()
                place = words[self._n_traits + 2 :] or words
                column = self._column(place[trait], line)
                refuse_number(self._data_path, row, column, f"a level of at most {n_levels:,}")

    def _take_group(self, group: KeywordGroup, effects: tuple[ModelEffect, ...]) -> RandomEffects:
        first = group["RANDOM_GROUP"]
        numbers = [self._whole(word, line, minimum=1) - 1 for line, word in first.words]
        if not numbers or max(numbers) >= len(effects):
            self._refuse(f"needs numbers of effects, from 1 to {len(effects)}", first.line)
        missing = [name for name in GROUP_KEYWORDS if name not in group and name != "FILE"]
        if missing:
            self._refuse(f"has no {missing[0]} here", first.line)
        kind = group["RANDOM_TYPE"].rows[0][1] if group["RANDOM_TYPE"].rows else [""]
        covariance = self._matrix(group["(CO)VARIANCES"], len(numbers) * self._n_traits)
        has, recorded = ~np.isnan(self._observations), [np.array([-1])]
        for last in numbers:
            recorded.append(effects[last].levels[has])
            while effects[last].is_part_of_next:
                last += 1
                recorded.append(effects[last].levels[has])
        levels = np.setdiff1d(np.concatenate(recorded), [-1])
        structure = self._take_structure(kind[0], group, effects[last].n_levels, levels)
        return RandomEffects(tuple(numbers), covariance, structure)

    def _take_structure(
        self, kind: str, group: KeywordGroup, n_levels: int, recorded: np.ndarray
    ) -> Structure:
        line = group["RANDOM_TYPE"].line
        if kind == "diagonal":
            return None
        if kind not in (*DESCENTS, *_MATRICES):
            known = ", ".join(("diagonal", *DESCENTS, *_MATRICES))
            self._refuse(f"has {kind!r}, needs one of {known}", line)
        if "FILE" not in group:
            self._refuse(f"{kind} names no FILE", line)
        path = self._beside(group["FILE"])
        if kind in _MATRICES:
            found = read_elements(path, n_levels, is_inverse=kind == "user_file")
            lost = np.setdiff1d(recorded, found.rows[(found.rows == found.columns)])
            if len(lost):
                level = int(lost[0]) + 1
                raise FileFormatError(
                    path, f"has no diagonal element of {level}, which has records"
                )
            return found
        descent, notes = read_descent(path, kind, n_levels, recorded)
        self._notes += notes
        if self._of_genotypes.files is None:
            return descent
        return self._join(descent, kind, n_levels, line)

    def _join(self, descent: Descent, kind: str, n_levels: int, line: int) -> SingleStep:
        """Return the relationships of a pedigree and of genotyped animals."""
        if kind != "add_animal":
            self._refuse(f"has {kind} with SNP_file, can do add_animal", line)
        pedigree, levels = pedigree_of_descent(descent, n_levels)
        protect_more(self._of_genotypes.files)
        genotypes = read_digits(*self._of_genotypes.files)
        options = self._of_genotypes
        return SingleStep(
            pedigree, genotypes, levels=levels, has_inbreeding=False,
            has_ancestry=options.has_ancestry, rules=options.rules,
        )  # fmt: skip

    def _matrix(self, section: KeywordSection, size: int) -> np.ndarray:
        """Return a covariance matrix, which the file gives in full."""
        values = [self._number(word, line) for line, word in section.words]
        if len(values) != size * size:
            self._refuse(f"has {len(values)} numbers, needs {size} x {size}", section.line)
        return np.array(values).reshape(size, size)
