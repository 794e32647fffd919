"""``genoviz geno gwas``: each variant is tested for association with a trait."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from genoviz.cli.common_options import (
    BackendName,
    BackendOption,
    SchedulerOption,
    SeedOption,
    ignores,
    option,
    with_examples,
)
from genoviz.cli.genotypes import inputs as io
from genoviz.cli.genotypes.tables import write_table
from genoviz.cli.genotypes.trait_options import (
    MixedOptions,
    TraitOptions,
    refuses_idle_options,
    take_covariates,
    take_trait,
)
from genoviz.cli.output_kinds import TableOption
from genoviz.cli.results import print_notes, show_progress
from genoviz.errors import n_words

if TYPE_CHECKING:
    from genoviz.model.genotypes.genotypes import Genotypes


class Model(StrEnum):
    """How the trait depends on the dosage."""

    auto = "auto"
    linear = "linear"
    logistic = "logistic"
    firth = "firth"
    firth_fallback = "firth-fallback"
    saddle_point = "saddle-point"
    mixed = "mixed"
    mixed_logistic = "mixed-logistic"

    @property
    def is_mixed(self) -> bool:
        """Whether there is a random effect."""
        return self in (Model.mixed, Model.mixed_logistic)


class GeneticModel(StrEnum):
    """What a copy of A1 does."""

    additive = "additive"
    dominant = "dominant"
    recessive = "recessive"
    hetonly = "hetonly"
    genotypic = "genotypic"
    hethom = "hethom"


@refuses_idle_options
@ignores(
    "with a mixed model, which tests hard calls",
    lambda given: given["model"].is_mixed,
    "hard_calls",
)
@ignores(
    "with a mixed model, which does not test X, unless there is a --condition",
    lambda given: given["model"].is_mixed and not given["condition"],
    "xchr_model",
)
@with_examples(
    "genoviz geno gwas cohort.bed --pheno traits.csv --trait height -o gwas.tsv.gz",
    "genoviz geno gwas cohort.bed --pheno traits.csv --covariate sex --covariate age --pcs 10",
    "genoviz geno gwas herd.bed --pheno milk.csv --trait fat --model mixed -o gwas.tsv",
    "genoviz geno gwas herd.bed --pheno milk.csv --trait fat --condition rs7,rs9",
    "genoviz geno gwas herd.bed --pheno milk.csv --trait fat --genetic-model genotypic",
    "genoviz geno gwas herd.bed --pheno milk.csv --covariate age --interaction age",
    "genoviz geno gwas biobank.bed --pheno traits.csv --scheduler tcp://head:8786 -o gwas.tsv.gz",
)
def gwas(
    genotypes: io.GenotypesArgument,
    *,
    output: TableOption = None,
    traits: TraitOptions,
    pcs: Annotated[
        int,
        option(
            "Number of principal components to include as covariates.", "--pcs", within=(0, 10_000)
        ),
    ] = 0,
    model: Annotated[
        Model,
        option(
            "auto: firth-fallback for cases and controls, which are two values (see "
            "--trait-type), otherwise linear. logistic: for cases and controls. For few "
            "cases: firth (penalised likelihood), firth-fallback (firth if logistic does not "
            "converge), saddle-point (score test). For related samples, with a random effect of "
            "the variants on other chromosomes: mixed (trait as number), mixed-logistic "
            "(saddle-point test of cases and controls, also few)."
        ),
    ] = Model.auto,
    genetic_model: Annotated[
        GeneticModel,
        option(
            "What A1 does, on autosomes. dominant, recessive, hetonly: A1 carriers, A1 homozygotes "
            "or heterozygotes against the others. Tested together: genotypic, dosage and deviation "
            "of heterozygotes; hethom, A1 homozygotes and heterozygotes.",
            "--genetic-model",
        ),
    ] = GeneticModel.additive,
    interaction: Annotated[
        list[str] | None,
        option(
            "Add the interaction of the variant with this covariate, and test it (repeatable).",
            "--interaction",
            metavar="COVARIATE",
        ),
    ] = None,
    condition: Annotated[
        list[str] | None,
        option(
            "Include the dosages of the variants with these IDs as covariates (repeatable).",
            metavar="ID[,ID]",
        ),
    ] = None,
    mixed: MixedOptions,
    xchr_model: Annotated[
        int,
        option(
            "Dosage of a male's A1 on X: 2 or 1; 0 excludes X.",
            "--xchr-model",
            within=(0, 2),
        ),
    ] = 2,
    filters: io.Filters,
    hard_calls: io.HardCallsOption = False,
    seed: SeedOption = 0,
    scheduler: SchedulerOption = None,
    backend: BackendOption = BackendName.auto,
) -> None:
    """Test each variant for association; BETA is the effect per A1 allele (log odds for cases).

    With genotypic, hethom or an interaction, each column of the regression has its own BETA, SE,
    STAT and P, as ADD_BETA. P is the test of the interactions, or of both columns without these;
    JOINT_P tests all.

    Samples with a missing genotype or phenotype are excluded for each variant; variants that cannot
    be tested have NA. On X, sex is an additional covariate, as in PLINK 2. Y is tested in males
    only. One A1 of Y or MT counts as 1. With mixed models and saddle-point a missing genotype
    counts as the mean; mixed models do not test X, Y and MT. Trait, samples and lambda GC are
    printed to standard error.
    """
    is_plain = genetic_model is GeneticModel.additive and not interaction
    if scheduler is not None and model.is_mixed:
        raise typer.BadParameter(f"--scheduler does not go with --model {model}")
    if not is_plain and model.is_mixed:
        raise typer.BadParameter(
            f"--genetic-model and --interaction do not go with --model {model}"
        )
    import numpy as np

    from genoviz.analyses.genotypes.association.design import X_MODELS
    from genoviz.analyses.genotypes.association.scan import iter_associate
    from genoviz.analyses.genotypes.components import iter_principal_components
    from genoviz.analyses.genotypes.selection import condition_columns

    with show_progress() as bar:
        dosages = not hard_calls and not model.is_mixed
        found = io.open_genotypes(genotypes, bar, filters, dosages=dosages)
        name, taken = take_trait(genotypes, found.samples, traits)
        phenotype = taken.values
        if taken.is_binary and model in (Model.linear, Model.mixed):
            print_notes(
                f"trait {name} has two values and is tested as a number ({model}); --model "
                f"{'mixed-logistic' if model.is_mixed else 'firth-fallback'} tests its odds"
            )
        if model is Model.auto and not taken.is_binary:  # such as two numbers read as numbers
            model = Model.linear
        covariates, names = take_covariates(genotypes, found.samples, traits)
        if pcs:
            steps = iter_principal_components(
                found, n_components=pcs, seed=seed, backend=backend.value
            )
            components = io.last_result(steps, bar)
            print_notes(*components.notes)
            scores = components.scores
            covariates = scores if covariates is None else np.hstack([covariates, scores])
            names += [f"PC{k + 1}" for k in range(scores.shape[1])]
        if condition:
            condition = _split_ids(condition, found)
            dosages = condition_columns(found, condition, x_model=X_MODELS[xchr_model])
            covariates = dosages if covariates is None else np.hstack([covariates, dosages])
            names += condition
        common = {"covariates": covariates, "covariate_names": names, "backend": backend.value}
        if model is Model.mixed:
            from genoviz.analyses.genotypes.association.mixed import iter_mixed_associate

            steps = iter_mixed_associate(found, phenotype, seed=seed, **mixed.values, **common)
        elif model is Model.mixed_logistic:
            from genoviz.analyses.genotypes.association.mixed_logistic import (
                iter_mixed_logistic_associate,
            )

            common |= mixed.values
            steps = iter_mixed_logistic_associate(found, phenotype, seed=seed, **common)
        else:
            x_model = X_MODELS[xchr_model]
            common |= {
                "x_model": x_model,
                "scheduler": scheduler,
                "genetic_model": genetic_model.value,
                "interactions": _columns_of(interaction or [], names),
            }
            steps = iter_associate(found, phenotype, model=model.value, **common)
        scan = io.last_result(steps, bar)
    write_table(found.variants.columns | scan.columns, output)
    print_notes(*scan.notes)
    n_tested = int(np.isfinite(scan.beta).sum())
    has_all = np.isfinite(phenotype)
    if covariates is not None:
        has_all &= np.isfinite(covariates).all(axis=1)
    print_notes(
        f"trait {name}: {n_words(int(has_all.sum()), 'sample')}, {n_tested:,} of "
        f"{found.n_variants:,} "
        f"variant{'s' * (found.n_variants != 1)} tested, " + _inflation(n_tested, scan.lambda_gc)
    )
    if pcs and not components.is_converged:
        io.tell_end(
            f"components: {components.sentence}",
            is_converged=False,
            remedy="compute them by genoviz geno pca, and give them as covariates",
        )


def _split_ids(texts: list[str], genotypes: Genotypes) -> list[str]:
    """Return the IDs of lists between commas; an ID may have commas, as 1:7:A,C has."""
    known = {*genotypes.variants.ids.tolist()}
    parts = [[text] if text in known else text.split(",") for text in texts]
    return list(dict.fromkeys(name.strip() for names in parts for name in names))


def _columns_of(covariates: list[str], names: list[str]) -> list[str]:
    """Return the columns of covariates: a category has one for each level but the first."""
    from genoviz.analyses.genotypes.covariates import columns_of_covariate

    found = [columns_of_covariate(name, names) for name in covariates]
    for name, columns in zip(covariates, found, strict=True):
        if not columns:
            known = ", ".join(names) or "none"
            raise typer.BadParameter(
                f"--interaction is {name!r}, needs one of the covariates; these are {known}"
            )
    return [column for columns in found for column in columns]


def _inflation(n_tested: int, lambda_gc: float) -> str:
    if n_tested == 0:
        return "so there is no lambda GC"
    return f"lambda GC {lambda_gc:.4f}"
