"""A scan of sets of variants, such as genes: the request, the tests, and the rows of its table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from genoviz.errors import ParameterError
from genoviz.generators import Progress, report_last
from genoviz.model.genotypes.genotypes import Genotypes, VariantTable
from genoviz_app.pages.genotypes.association.choices import (
    LEFT_OUT,
    LINEAR,
    LOGISTIC,
    OF_NUMBERS,
)
from genoviz_app.pages.genotypes.association.choices import MODELS as SNP_MODELS
from genoviz_app.parts.column_widths import IDENTIFIER, POSITION
from genoviz_app.parts.remote_table import Column
from genoviz_app.parts.words import n_words

if TYPE_CHECKING:
    from genoviz.analyses.genotypes.association.design import Design
    from genoviz.analyses.genotypes.association.set_tests import SetTests
    from genoviz.analyses.genotypes.selection import VariantSets

AUTO = "auto"
MODELS = {
    "Automatic": AUTO, "Linear": LINEAR, "Logistic": LOGISTIC,
    **{model.label: name for name, model in SNP_MODELS.items() if name in LEFT_OUT},
}  # fmt: skip
WEIGHTS = {"Beta (1, 25)": "beta", "None": "none"}
GENE = "gene"
TESTS = {
    "SKAT-O": "skat_o_log10_p", "Burden": "burden_log10_p", "SKAT": "skat_log10_p",
    "ACAT-V": "acat_v_log10_p", "ACAT": "acat_log10_p",
}  # fmt: skip
"""Columns of -log10 p, and their names in `SetTests`."""
SETS = "sets"
WHOLE = {"min_variants": (1, 10**9), "seed": (0, 2**53 - 1)}
"""Ranges of whole numbers; the last is the largest one of browsers."""


@dataclass(frozen=True)
class SetRequest:
    """What to test; see `iter_associate_sets`.

    Attributes
    ----------
    model
        As of ``genoviz geno sets``; with ``-all``, mixed models leave no chromosome out.
    max_maf, weights, min_variants, seed
        The options.
    feature
        Type of the features of GFF and GTF.
    source
        The file of sets, as it was named.
    """

    model: str = AUTO
    max_maf: float = 0.01
    weights: str = "beta"
    min_variants: int = 1
    seed: int = 0
    feature: str = GENE
    source: str = ""

    @property
    def text(self) -> str:
        """The text form for links.

        Examples
        --------
        >>> SetRequest("mixed", 0.05, seed=3, source="/data/g.gff3").text
        'sets:model=mixed,max_maf=0.05,seed=3,source=/data/g.gff3'
        >>> read_request(_) == SetRequest("mixed", 0.05, seed=3, source="/data/g.gff3")
        True
        """
        usual = SetRequest()
        said = {each.name: getattr(self, each.name) for each in fields(self)}
        words = [f"{key}={value}" for key, value in said.items() if value != getattr(usual, key)]
        return ":".join(filter(None, (SETS, ",".join(words))))


def read_request(text: str) -> SetRequest:
    """Parse the text form of a request.

    Raises
    ------
    ParameterError
        If it is none.
    """
    said, _, source = text.removeprefix(SETS).lstrip(":").partition("source=")
    found = SetRequest(source=source)
    known: dict[str, Any] = {"model": MODELS.values(), "weights": WEIGHTS.values()}
    for words in filter(None, said.split(",")):
        key, _, value = words.partition("=")
        if key == "max_maf":
            try:
                found = replace(found, max_maf=float(value))
            except ValueError:
                raise ParameterError(f"max_maf of sets is {value!r}, needs a number") from None
        elif key in WHOLE:
            low, high = WHOLE[key]
            if not (value.isascii() and value.isdigit() and low <= int(value[:20]) <= high):
                needed = f"a whole number from {low} to {high}"
                raise ParameterError(f"{key} of sets is {value!r}, needs {needed}")
            found = replace(found, **{key: int(value)})
        elif key == "feature" or value in known.get(key, ()):
            found = replace(found, **{key: value})
        else:
            raise ParameterError(f"sets have no {words!r}")
    return found


@dataclass(frozen=True, eq=False)
class SetScan:
    """Sets and their tests.

    Attributes
    ----------
    request, trait, title, model
        What was asked for, the trait, the name of the file, and the model in words.
    sets, tests
        The sets and their tests.
    variants
        Table of the sets as if they were variants: named, in their middle. Those of several
        contigs, or without variants, are left out.
    drawn
        int64: the sets in this table.
    binary_note
        That cases and controls are tested as numbers, or "".
    """

    request: SetRequest
    trait: str
    title: str
    model: str
    sets: VariantSets
    tests: SetTests
    variants: VariantTable
    drawn: np.ndarray
    binary_note: str = ""

    def values(self, test: str) -> np.ndarray:
        """Return -log10 p of a test of `TESTS`, by set."""
        return getattr(self.tests, TESTS[test])

    @property
    def notes(self) -> tuple[str, ...]:
        """What the shell prints on the sets and tests."""
        of_trait = (self.binary_note,) if self.binary_note else ()
        return (*self.sets.notes, *of_trait, *self.tests.notes)


def iter_test_sets(
    path: Path,
    request: SetRequest,
    genotypes: Genotypes,
    design: Design,
    *,
    is_binary: bool,
    source: str = "",
    title: str,
) -> Iterator[Progress]:
    """Read sets and test them as ``genoviz geno sets`` does; the last step has the `SetScan`."""
    from genoviz.analyses.genotypes.association.mixed_sets import iter_mixed_associate_sets
    from genoviz.analyses.genotypes.association.set_tests import iter_associate_sets
    from genoviz.analyses.genotypes.selection import find_sets
    from genoviz.io.genotypes.variant_tables import has_features, read_sets

    yield Progress(f"Reading {title}", 0.0)
    feature = request.feature.strip()
    sets = find_sets(
        genotypes, read_sets(path, [feature] if feature and has_features(path) else ()), path.name
    )
    if not any(map(len, sets.rows.values())):
        n = n_words(genotypes.n_variants, "variant")
        raise ParameterError(f"{title} has none of the {n} in a set")
    options = {
        "covariates": design.covariates, "covariate_names": design.names,
        "max_maf": request.max_maf, "weights": request.weights,
        "min_variants": request.min_variants, "seed": request.seed,
    }  # fmt: skip
    model = request.model
    if model == AUTO:
        model = LOGISTIC if is_binary else LINEAR
    if model in LEFT_OUT:
        options["leave_out"] = LEFT_OUT[model]
        options["model"] = LINEAR if model in OF_NUMBERS else LOGISTIC
        steps = iter_mixed_associate_sets(genotypes, design.phenotype, sets.rows, **options)
    else:
        steps = iter_associate_sets(genotypes, design.phenotype, sets.rows, model=model, **options)
    tests = yield from report_last(steps)
    words = next(words for words, name in MODELS.items() if name == model)
    variants, drawn = _as_variants(genotypes, sets)
    request = replace(request, source=source)
    note = f"{design.trait} has two values and is tested as a number." if is_binary else ""
    words = words if words[:2].isupper() else f"{words[0].lower()}{words[1:]}"
    found = SetScan(
        request, design.trait, title, words, sets, tests, variants, drawn,
        note if model in OF_NUMBERS else "",
    )  # fmt: skip
    yield Progress("Ready", 1.0, found)


def _as_variants(genotypes: Genotypes, sets: VariantSets) -> tuple[VariantTable, np.ndarray]:
    drawn = np.flatnonzero(sets.contig_ids >= 0)
    names, none = np.array([*sets.rows], np.str_)[drawn], np.full(len(drawn), "", np.str_)
    middles = (sets.starts[drawn] + sets.ends[drawn]) // 2
    table = VariantTable(
        genotypes.variants.contigs, sets.contig_ids[drawn], middles, names, none, none,
        np.zeros(len(drawn)),
    )  # fmt: skip
    return table, drawn


COLUMNS = (
    Column("Set", share=110, min_width=IDENTIFIER),
    Column("Contig", share=56, min_width=40),
    Column("Start", is_number=True, share=86, min_width=POSITION),
    Column("End", is_number=True, share=86, min_width=POSITION),
    *(Column(name, is_number=True, share=62, format="0.00") for name in TESTS),
    Column("Variants", is_number=True, share=64),
    Column("Carriers", is_number=True, share=64),
    Column("β of burden", is_number=True, share=76, format="0.0000"),
)


@dataclass(frozen=True, eq=False)
class SetRows:
    """The sets; row 0 has the smallest p-value of a test, untested ones are last.

    Attributes
    ----------
    scan, test
        The scan, and the test by which rows are ordered.
    """

    scan: SetScan
    test: str
    noun = "set"
    hidden = ()

    @cached_property
    def order(self) -> np.ndarray:
        """int64: the set of each row."""
        return np.argsort(-self.scan.values(self.test), kind="stable")

    def __len__(self) -> int:
        return len(self.order)

    def find(self, text: str) -> np.ndarray:
        """Return a mask of the rows whose name contains a text; bool."""
        names = np.char.lower(self.scan.tests.names[self.order].astype(str))
        return np.char.find(names, text.strip().lower()) >= 0

    @cached_property
    def _keys(self) -> dict[str, np.ndarray]:
        tests, sets = self.scan.tests, self.scan.sets
        known = np.append(np.array(self.scan.variants.contigs, object), "")
        return {
            "Set": tests.names,
            "Contig": known[sets.contig_ids].astype(np.str_),
            "Start": sets.starts + 1,
            "End": sets.ends,
            **{name: self.scan.values(name) for name in TESTS},
            "Variants": tests.n_variants,
            "Carriers": tests.n_carriers,
            "β of burden": tests.beta,
        }

    def key(self, column: str) -> np.ndarray:
        """Return the sort key of a column."""
        return self._keys[column][self.order]

    def frame(self, rows: np.ndarray) -> pd.DataFrame:
        """Return some rows, with 1-based positions."""
        chosen = self.order[rows]
        return pd.DataFrame({name: values[chosen] for name, values in self._keys.items()})
