"""Choices of a scan: trait, covariates, genetic model, interaction and window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import panel_material_ui as pmui

from genoviz.analyses.genotypes.association.design import Design, make_design
from genoviz.analyses.genotypes.association.terms import GENETIC_MODELS as COLUMNS
from genoviz.analyses.genotypes.association.terms import Terms
from genoviz.analyses.genotypes.covariates import columns_of_covariate, covariate_columns
from genoviz.errors import ParameterError
from genoviz.model.genotypes.genotypes import Genotypes
from genoviz.model.genotypes.traits import Trait, as_numbers, category_levels, read_trait
from genoviz_app.pages.genotypes.state import GenotypeState
from genoviz_app.parts.words import n_words
from genoviz_app.server.cluster import is_worth_sharing, iter_shared
from genoviz_app.server.settings import SETTINGS

if TYPE_CHECKING:
    from genoviz.analyses.genotypes.association.scan import AssociationScan

N_COMPONENTS = 10
MAX_CATEGORIES = 50
NO_TRAIT = (
    "No trait is chosen. Open a table of phenotypes in the sidebar (CSV, TSV "
    "or PLINK .phen), then choose one of its columns"
)


@dataclass(frozen=True)
class Model:
    """A model of the trait: its name in the menu, and its description."""

    label: str
    text: str


LINEAR, LOGISTIC = "linear", "logistic"
FALLBACK, SADDLE_POINT = "firth-fallback", "saddle-point"
MIXED, MIXED_OF_ALL = "mixed", "mixed-all"
MIXED_CASES, MIXED_CASES_OF_ALL = "mixed-logistic", "mixed-logistic-all"
OF_ALL = {MIXED: MIXED_OF_ALL, MIXED_CASES: MIXED_CASES_OF_ALL}
"""The mixed models, as scans name them, and those that leave no chromosome out."""
LEFT_OUT = {
    **dict.fromkeys(OF_ALL, "chromosome"),
    **dict.fromkeys(OF_ALL.values(), "none"),
}
"""What the mixed models leave out of the random effect."""
MODELS = {
    LINEAR: Model("Linear", "linear regression"),
    MIXED: Model("Mixed (LOCO)", "mixed model, leaving one chromosome out"),
    MIXED_OF_ALL: Model("Mixed (no LOCO)", "mixed model with all chromosomes"),
    FALLBACK: Model("Logistic or Firth", "logistic regression, with Firth's method where it fails"),
    LOGISTIC: Model("Logistic", "logistic regression"),
    "firth": Model("Firth", "Firth's logistic regression"),
    SADDLE_POINT: Model("Saddle point", "saddle-point test"),
    MIXED_CASES: Model("GLMM (LOCO)", "logistic mixed model, leaving one chromosome out"),
    MIXED_CASES_OF_ALL: Model("GLMM (no LOCO)", "logistic mixed model with all chromosomes"),
}
OF_NUMBERS = (LINEAR, MIXED, MIXED_OF_ALL)
"""Models of numbers, which take cases and controls as numbers."""

ADDITIVE = "additive"
GENETIC_MODELS = {
    ADDITIVE: Model("Additive", ""),
    "dominant": Model("Dominant", "A1 dominant"),
    "recessive": Model("Recessive", "A1 recessive"),
    "hetonly": Model("Het. only", "heterozygotes against the others"),
    "genotypic": Model("Genotypic", "genotypic (2 df)"),
    "hethom": Model("Hethom", "hethom (2 df)"),
}
GENETIC_WORDS = (
    "What A1 does. Dominant, recessive, het. only: carriers of A1, A1 homozygotes or "
    "heterozygotes against the others. Two columns tested together (2 df): genotypic, dosage and "
    "deviation of heterozygotes; hethom, A1 homozygotes and heterozygotes. Without additive, "
    "only autosomes are tested"
)
INTERACTION_WORDS = "Test whether the effect depends on this covariate"
ONE_COLUMN = "the saddle-point test is of one column"
DOSAGE_ALONE = "a mixed model tests the dosage of A1"


def coding_words(coding: Terms | None) -> str:
    """Return genetic model and interaction of a scan as text; "" for the dosage alone."""
    if coding is None:
        return ""
    words = [GENETIC_MODELS[coding.genetic_model].text]
    if coding.interactions:
        words.append(f"interaction with {', '.join(coding.interactions)}")
    return ", ".join(filter(None, words))


def model_words(scan: AssociationScan) -> str:
    """Return the model of the trait as text."""
    is_of_all = scan.model in OF_ALL and scan.chromosomes == ("",)
    return MODELS[OF_ALL[scan.model] if is_of_all else scan.model].text


def iter_scan(genotypes: Genotypes, design: Design, model: str, **coding: Any) -> Iterator[Any]:
    """Yield the progress of a scan; see `iter_associate` and `iter_mixed_associate`."""
    options: dict[str, Any] = {
        "covariates": design.covariates, "covariate_names": design.names
    }  # fmt: skip
    if model in LEFT_OUT:
        options["leave_out"] = LEFT_OUT[model]
        if model in OF_NUMBERS:
            from genoviz.analyses.genotypes.association.mixed import iter_mixed_associate as scan
        else:
            from genoviz.analyses.genotypes.association.mixed_logistic import (
                iter_mixed_logistic_associate as scan,
            )
        return scan(genotypes, design.phenotype, **options)
    from genoviz.analyses.genotypes.association.scan import TASK_GENOTYPES, iter_associate

    options |= {"model": model, **coding}
    of_task = TASK_GENOTYPES.get(model, min(TASK_GENOTYPES.values()))

    def make(scheduler: str | None) -> Iterator[Any]:
        return iter_associate(genotypes, design.phenotype, scheduler=scheduler, **options)

    is_shared = SETTINGS.scheduler and is_worth_sharing(genotypes, of_task)
    return iter_shared(make) if is_shared else make(None)


@dataclass(frozen=True)
class Window:
    """Range shown on each side of a variant, in bp or, if ``is_count``, in variants."""

    size: int
    is_count: bool = False


WINDOWS = {
    "± 20 SNPs": Window(20, True),
    "± 50 SNPs": Window(50, True),
    "± 100 SNPs": Window(100, True),
    "± 50 kb": Window(50_000),
    "± 200 kb": Window(200_000),
    "± 500 kb": Window(500_000),
    "± 1 Mb": Window(1_000_000),
    "± 5 Mb": Window(5_000_000),
}


def trait_names(state: GenotypeState) -> list[str]:
    """Return the columns that can be a trait: numeric ones, and those with two categories."""
    table = state.table
    if table is None:
        return []
    two = [name for name in table.category_names if len(category_levels(table.columns[name])) == 2]
    return [*table.numeric_names, *two]


def covariate_names(state: GenotypeState) -> list[str]:
    """Return the columns that can be covariates, and the computed components."""
    table, components = state.table, state.components
    n = 0 if components is None else min(components.scores.shape[1], N_COMPONENTS)
    names = [] if table is None else [*table.numeric_names, *table.category_names]
    return [*names, *(f"PC{number}" for number in range(1, n + 1))]


def iter_components(subject: Genotypes) -> Iterator[Any]:
    """Yield the progress of the first principal components; the last one has the result.

    Raises
    ------
    ParameterError
    Immediately, if there are too few samples or variants for two components.
    """
    from genoviz.analyses.genotypes.components import iter_principal_components

    n = min(N_COMPONENTS, subject.n_samples - 1, subject.n_variants)
    if n < 2:
        raise ParameterError(
            f"{n_words(subject.n_samples, 'sample')} and "
            f"{n_words(subject.n_variants, 'variant has', 'variants have')} no two "
            "principal components; at least 3 samples and 2 variants are needed"
        )
    return iter_principal_components(subject, n_components=n)


def chosen_design(
    state: GenotypeState,
    *,
    trait: str | None = None,
    with_covariates: bool = True,
    conditions: np.ndarray | None = None,
) -> Design:
    """Return the selected trait and covariates, with notes on how they were parsed.

    ``trait`` overrides the selected trait. ``conditions`` are dosages of the variants that a scan
    is conditional on: further covariates, shape (n_samples, count).

    Raises
    ------
    ParameterError
        If the trait does not vary or there are too few samples.
    """
    if state.subject is None:
        raise ParameterError("no genotypes are open; open a file in the sidebar")
    name = state.trait if trait is None else trait
    values = state.column(name) if name else None
    if values is None:
        raise ParameterError(NO_TRAIT)
    found = trait_of(state, values, name)
    columns = chosen_covariates(state) if with_covariates else {}
    given = np.empty((len(values), 0)) if conditions is None else conditions
    names = [*columns, *condition_names(state, state.conditions[: given.shape[1]])]
    matrix = np.column_stack([*columns.values(), given])
    design = make_design(len(values), found.values, matrix, names, trait=name)
    return replace(design, notes=(*found.notes, *design.notes))


def condition_names(state: GenotypeState, variants: Sequence[int]) -> list[str]:
    """Return the names of variants that a scan is conditional on."""
    return [state.subject.variants.label(variant) for variant in variants]


def condition_words(names: Sequence[str]) -> str:
    """Return what a scan is conditional on as text; "" for nothing.

    Examples
    --------
    >>> condition_words(["rs1", "rs2", "rs3", "rs4"])
    'conditional on rs1, rs2 and 2 more'
    """
    more = f" and {len(names) - 2} more" if len(names) > 3 else ""
    return f"conditional on {', '.join(names[:2] if more else names)}{more}" if names else ""


def chosen_conditions(state: GenotypeState, model: str) -> np.ndarray:
    """Return the dosages that a scan is conditional on; a mixed model takes hard calls."""
    from genoviz.analyses.genotypes.selection import dosages_of_rows

    subject = state.subject.hard_called if model in LEFT_OUT else state.subject
    return dosages_of_rows(subject, state.conditions)


def chosen_covariates(state: GenotypeState) -> dict[str, np.ndarray]:
    """Return the columns of the selected covariates, as numeric arrays by name."""
    columns: dict[str, np.ndarray] = {}
    for name in state.covariates:
        columns |= _covariate(state, name)
    return columns


def why_no_cases(state: GenotypeState) -> str:
    """Return why the trait is not a case-control trait, as a clause; "" if it is."""
    values = state.column(state.trait) if state.trait else None
    if values is None:
        return "no trait is chosen"
    try:
        trait = trait_of(state, values)
    except ParameterError as error:
        return str(error)
    if trait.is_binary:
        return ""
    n = len(np.unique(trait.values[np.isfinite(trait.values)]))
    if n == 2:
        return f"{state.trait} is read as numbers"
    return f"{state.trait} has {n_words(n, 'value')}, and cases and controls are two"


def trait_of(state: GenotypeState, values: np.ndarray, name: str | None = None) -> Trait:
    """Return a column as the selected trait, or as another one; see `read_trait`."""
    name = state.trait if name is None else name
    return read_trait(as_numbers(values), name, state.trait_types.get(name, "auto"))


class CodingFields:
    """Fields for what a copy of A1 does, and for the covariate that changes it.

    Attributes
    ----------
    genetic, interaction
        The fields.
    """

    def __init__(self, state: GenotypeState, **style: Any) -> None:
        self._state, self._why_alone = state, ""
        self.genetic = pmui.Select(
            label="Genetic model", value=ADDITIVE, description=GENETIC_WORDS, **style,
            options={model.label: name for name, model in GENETIC_MODELS.items()},
        )  # fmt: skip
        self.interaction = pmui.Select(label="Interaction", options={"none": ""}, value="", **style)
        state.param.watch(self._follow, "covariates")
        self._follow()

    @property
    def offered(self) -> list[str]:
        """The genetic models applicable to the model of the trait."""
        return [name for name in GENETIC_MODELS if name not in self.genetic.disabled_options]

    @property
    def why_alone(self) -> str:
        """Why no interaction can be tested, as a clause; "" if one can."""
        return self._why_alone or ("" if self._state.covariates else "no covariate is chosen")

    def options(self, design: Design) -> dict[str, Any]:
        """Return the arguments of a scan with this design."""
        name = self.interaction.value
        columns = columns_of_covariate(name, design.names) if name else []
        if name and not columns:
            raise ParameterError(f"{name} is left out as a covariate, so nothing interacts with it")
        return {"genetic_model": self.genetic.value, "interactions": columns}

    def allow(self, model: str) -> None:
        """Offer what a model of the trait can test."""
        refused, said = [], GENETIC_WORDS
        self._why_alone = ONE_COLUMN if model == SADDLE_POINT else ""
        if model in LEFT_OUT:
            self._why_alone = DOSAGE_ALONE
            refused = [name for name in GENETIC_MODELS if name != ADDITIVE]
            said = f"Additive alone: {DOSAGE_ALONE}"
        elif self._why_alone:
            refused = [name for name, columns in COLUMNS.items() if len(columns) > 1]
            said = f"{GENETIC_WORDS}. Not genotypic and hethom: {ONE_COLUMN}"
        value = ADDITIVE if self.genetic.value in refused else self.genetic.value
        self.genetic.param.update(disabled_options=refused, description=said, value=value)
        self._follow()

    def _follow(self, *_events: Any) -> None:
        why, names = self.why_alone, self._state.covariates
        value = "" if why or self.interaction.value not in names else self.interaction.value
        self.interaction.param.update(
            options={"none": "", **{name: name for name in names}}, value=value, disabled=bool(why),
            description=f"No interaction: {why}" if why else INTERACTION_WORDS,
        )  # fmt: skip


def _covariate(state: GenotypeState, name: str) -> dict[str, np.ndarray]:
    """Return numeric columns by name for a column of the table or for a component."""
    number = name.removeprefix("PC")
    if number != name and number.isdigit() and state.components is not None:
        scores = state.components.scores
        if 1 <= int(number) <= scores.shape[1]:
            return {name: scores[:, int(number) - 1]}
    values = state.column(name)
    if values is None:
        raise ParameterError(f"there is no covariate {name}; compute components anew, or leave it")
    return covariate_columns(name, values, max_categories=MAX_CATEGORIES)
