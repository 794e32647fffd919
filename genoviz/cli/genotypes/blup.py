"""``genoviz geno blup``: breeding values from genotypes, phenotypes and pedigrees."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from genoviz.cli.common_options import BackendName, BackendOption, SeedOption, option, with_examples
from genoviz.cli.genotypes import inputs as io
from genoviz.cli.genotypes.tables import sample_columns, with_groups, write_predictions
from genoviz.cli.genotypes.trait_options import TraitOptions, take_numbers, take_records
from genoviz.cli.output_kinds import TableOption, table_only
from genoviz.cli.results import ProgressBar, print_notes, show_progress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from genoviz.analyses.genotypes.prediction.blup_run import BlupSnapshot
    from genoviz.analyses.genotypes.prediction.cross_validation import CrossValidation
    from genoviz.model.genotypes.genotypes import Genotypes


class Method(StrEnum):
    """Equations of the same or of wider models."""

    snp_blup = "SNP-BLUP"
    gblup = "GBLUP"
    ss_snp_blup = "ssSNPBLUP"
    ss_gta_blup = "ssGTABLUP"


class Preconditioner(StrEnum):
    """What the conjugate gradients are preconditioned by."""

    diagonal = "diagonal"
    block = "block"
    none = "none"


ASSUMED_HERITABILITY, ASSUMED_WEIGHT = 0.5, 0.2
_SINGLE_STEP = (Method.ss_snp_blup, Method.ss_gta_blup)


def _parse_heritability(text: str) -> float | str:
    """Return a number from 0 to 1, or the word that asks for an estimate."""
    if text == io.ESTIMATE:
        return text
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise typer.BadParameter(f"{text!r} is neither a number from 0 to 1 nor {io.ESTIMATE!r}")
    return value


@with_examples(
    "genoviz geno blup lines.bed --pheno yield.csv --trait site1 -o breeding_values.tsv",
    "genoviz geno blup lines.bed --pheno yield.csv --cross-validate 5 --repeats 3",
    "genoviz geno blup herd.bed --pheno milk.csv --method ssSNPBLUP --pedigree herd.ped",
    "genoviz geno blup herd.bed --pheno tests.csv --covariate season --method ssSNPBLUP "
    "--pedigree herd.ped --h2 0.3 --repeatability 0.5",
)
def blup(
    genotypes: io.GenotypesArgument,
    *,
    output: TableOption = None,
    traits: TraitOptions,
    heritability: Annotated[
        Any,
        option(
            "Heritability of the trait, in (0, 1); or estimate, by REML from the samples "
            "with genotypes and phenotype.",
            "--heritability",
            "--h2",
            parser=_parse_heritability,
            metavar="NUMBER | estimate",
            show_default=f"{ASSUMED_HERITABILITY:g}, with a note",
        ),
    ] = None,
    method: Annotated[
        Method,
        option(
            "SNP-BLUP and GBLUP are equivalent; single step also predicts the ungenotyped.",
            case_sensitive=False,
        ),
    ] = Method.snp_blup,
    pedigree: Annotated[
        Path | None,
        option("Pedigree for the single-step methods: animal, sire and dam on each line."),
    ] = None,
    gamma: io.GammaOption = None,
    variance_base: io.VarianceBaseOption = None,
    polygenic_weight: Annotated[
        float | None,
        option(
            "Polygenic weight: the fraction of the genetic variance not explained by markers.",
            within=(0, 1),
            show_default=f"{ASSUMED_WEIGHT:g}, with a note",
        ),
    ] = None,
    repeatability: Annotated[
        float | None,
        option(
            "Rows of --pheno are repeated records; the repeatability, at least the heritability.",
            within=(0, 1),
        ),
    ] = None,
    weight: Annotated[
        str | None,
        option("Column of --pheno with weights, which divide the residual variances."),
    ] = None,
    preconditioner: Annotated[
        Preconditioner, option("Preconditioner of the conjugate gradients.")
    ] = Preconditioner.diagonal,
    tolerance: Annotated[
        float | None,
        option(
            "Stop at this squared relative residual.",
            within=(1e-30, 1),
            show_default="1e-13, or 1e-10 to cross-validate",
        ),
    ] = None,
    max_iterations: Annotated[
        int, option("Maximum number of iterations.", within=(1, 10**9))
    ] = 5000,
    with_reliability: Annotated[
        bool,
        option(
            "Also write reliabilities of breeding values: exact up to 4,000 samples or "
            "animals, otherwise from 200 random draws.",
            "--reliability",
        ),
    ] = False,
    effects: Annotated[Path | None, option("Also write variant effects to this file.")] = None,
    cross_validate: Annotated[
        int | None,
        option(
            "Report the accuracy of predictions of held-out samples instead.",
            within=(2, 10**9),
            metavar="FOLDS",
        ),
    ] = None,
    repeats: Annotated[int, option("Repeats of the cross-validation.", within=(1, 10**6))] = 1,
    filters: io.Filters,
    contigs: io.ContigsOption = io.Contigs.autosomes,
    seed: SeedOption = 0,
    backend: BackendOption = BackendName.auto,
) -> None:
    """Predict breeding values by best linear unbiased prediction.

    Samples without a phenotype get predictions, but do not contribute to the fit. Notes on standard
    error list the assumptions. If the solver does not reach the tolerance, CONVERGED is no in the
    tables, and the exit status is 3.
    """
    from genoviz.analyses.genotypes.prediction.blup_training import Training
    from genoviz.analyses.genotypes.sex_chromosomes import note_left_out

    table_only(effects, option="--effects")
    if cross_validate is not None and (output is not None or effects is not None):
        raise typer.BadParameter("--cross-validate writes no table; leave out -o and --effects")
    is_single_step = method in _SINGLE_STEP
    if is_single_step != (pedigree is not None):
        raise typer.BadParameter(
            "--pedigree and the single-step methods ssSNPBLUP and ssGTABLUP need each other"
        )
    if not (is_single_step or gamma is variance_base is polygenic_weight is None):
        raise typer.BadParameter("--gamma and --polygenic-weight have no effect without a pedigree")
    if repeats > 1 and cross_validate is None:
        raise typer.BadParameter("--repeats has no effect without --cross-validate; leave it out")
    if is_single_step and cross_validate is not None:
        raise typer.BadParameter("--cross-validate takes SNP-BLUP or GBLUP")
    if with_reliability and cross_validate is not None:
        raise typer.BadParameter("--reliability takes no --cross-validate")
    if repeatability is not None or weight is not None:
        if method is Method.gblup or cross_validate is not None:
            raise typer.BadParameter("--repeatability and --weight take SNP-BLUP or single step")
        if heritability == io.ESTIMATE:
            raise typer.BadParameter("--h2 estimate takes one record; see geno reml --repeated")
    common = {
        "contigs": contigs.value,
        "heritability": ASSUMED_HERITABILITY if heritability is None else heritability,
        "max_iterations": max_iterations,
        "backend": backend.value,
    }
    if tolerance is not None:
        common["tolerance"] = tolerance
    with show_progress() as bar:
        found = io.open_genotypes(genotypes, bar, filters)
        print_notes(*note_left_out(found, contigs.value))
        if is_single_step:
            name, columns, last = _solve_single_step(
                found,
                pedigree,
                genotypes,
                traits,
                bar,
                gamma=gamma,
                base=variance_base,
                with_reliability=with_reliability,
                form=method.value,
                polygenic_weight=ASSUMED_WEIGHT if polygenic_weight is None else polygenic_weight,
                preconditioner=preconditioner.value,
                repeatability=repeatability,
                weight=weight,
                seed=seed,
                **common,
            )
            write_predictions(columns, output, found, last, effects)
            _tell_assumed("heritability", heritability, ASSUMED_HERITABILITY)
            _tell_assumed("polygenic weight", polygenic_weight, ASSUMED_WEIGHT)
            _tell_assumed("repeatability", repeatability, None)
            _tell_end(f"trait {name}: {last.sentence}", last)
            return
        options = {"weight": weight, "is_repeated": repeatability is not None}
        taken = take_records(genotypes, found.samples, traits, **options)
        name, covariates = taken.name, taken.covariates
        phenotype = take_numbers(name, taken.trait)
        notes = Training(phenotype, covariates, covariate_names=taken.covariate_names).notes
        print_notes(*notes)
        if heritability == io.ESTIMATE:
            common["heritability"] = io.estimate_heritability(
                found, phenotype, bar, covariates=covariates, contigs=contigs.value, seed=seed,
                backend=backend.value,
            )  # fmt: skip
        if cross_validate is not None:
            from genoviz.analyses.genotypes.prediction.cross_validation import iter_cross_validate

            steps = iter_cross_validate(
                found,
                phenotype,
                covariates=covariates,
                folds=cross_validate,
                repeats=repeats,
                seed=seed,
                **common,
            )
            checked = io.last_result(steps, bar)
            end = "" if checked.is_converged else ", not converged"
            typer.echo(
                f"trait {name}: accuracy {checked.accuracy:.4f}, bias {checked.bias:.4f}{end}"
            )
            _tell_assumed("heritability", heritability, ASSUMED_HERITABILITY)
            _tell_end(f"largest squared relative residual {checked.residual:.2g}{end}", checked)
            return
        common["preconditioner"] = preconditioner.value
        if method is not Method.gblup:
            common |= {"samples": taken.animals, "weights": taken.weights}
            common["repeatability"] = repeatability
        steps = _iter_solve(method, found, phenotype, covariates=covariates, **common)
        last = io.last_prediction(steps, bar)
        columns = sample_columns(found.samples) | taken.columns_of(last)
        if with_reliability:
            common |= {"covariates": covariates, "seed": seed}
            columns |= io.tell_reliability(found, phenotype, bar, **common)
    write_predictions(columns, output, found, last, effects)
    _tell_assumed("heritability", heritability, ASSUMED_HERITABILITY)
    _tell_assumed("repeatability", repeatability, None)
    _tell_end(f"trait {name}: {last.sentence}", last)


def _iter_solve(method: Method, *arguments: Any, **options: Any) -> Iterator[BlupSnapshot]:
    from genoviz.analyses.genotypes.prediction.gblup import iter_gblup
    from genoviz.analyses.genotypes.prediction.snp_blup import iter_snp_blup

    solve = iter_gblup if method is Method.gblup else iter_snp_blup
    return solve(*arguments, **options)


def _solve_single_step(
    genotypes: Genotypes,
    path: Path,
    genotypes_path: Path,
    traits: TraitOptions,
    bar: ProgressBar,
    *,
    gamma: str | None,
    base: io.VarianceBase | None,
    with_reliability: bool,
    weight: str | None,
    seed: int,
    **options: Any,
) -> tuple[str, dict[str, Any], BlupSnapshot]:
    """Return the trait, columns for all animals of a pedigree, and the last snapshot.

    Groups of unknown parents have rows after those of animals, and a column says which these are.
    """
    import numpy as np

    from genoviz.analyses.genotypes.prediction.metafounders import heritability_in_gamma
    from genoviz.analyses.genotypes.prediction.single_step import iter_single_step
    from genoviz.errors import FileFormatError
    from genoviz.model.genotypes.genotypes import SampleTable

    of_products = {key: options[key] for key in ("contigs", "backend")}
    pedigree = io.take_pedigree(path, gamma, genotypes, **of_products)
    if not np.isin(pedigree.ids, genotypes.samples.ids).any():
        raise FileFormatError(path, f"has none of the {genotypes.n_samples:,} genotyped samples, "
                                    f"such as {str(genotypes.samples.ids[0])!r}")  # fmt: skip
    animals, is_repeated = SampleTable.from_ids(pedigree.ids), options["repeatability"] is not None
    taken = take_records(genotypes_path, animals, traits, weight=weight, is_repeated=is_repeated)
    values, of_values = take_numbers(taken.name, taken.trait), taken.covariates
    if options["heritability"] == io.ESTIMATE:
        shared = of_products | {"seed": seed}
        number = {animal: k for k, animal in enumerate(pedigree.ids.tolist())}
        rows = [number.get(sample, -1) for sample in genotypes.samples.ids.tolist()]
        own = np.where(np.array(rows) >= 0, values[rows], np.nan)
        shared["covariates"] = None if of_values is None else of_values[rows]
        options["heritability"] = io.estimate_heritability(genotypes, own, bar, **shared)
        base = io.VarianceBase.genotypes if gamma is not None else base
    share = io.tell_base(pedigree, base, genotypes, **of_products)
    if share != 1:
        given = options["heritability"], share
        options["heritability"] = heritability_in_gamma(*given)
        print_notes(f"the heritability in A^Gamma is {options['heritability']:.4g}")
        if is_repeated:
            options["repeatability"] = heritability_in_gamma(*given, options["repeatability"])
    options |= taken.options
    last = io.last_prediction(iter_single_step(genotypes, pedigree, values, **options), bar)
    print_notes(*last.notes)
    columns = {
        "#ID": pedigree.ids,
        "HAS_GENOTYPES": np.isin(pedigree.ids, genotypes.samples.ids).astype(int),
        **taken.columns_of(last),
    }
    if with_reliability:
        options |= {"samples": options["animals"], "pedigree": pedigree, "seed": seed}
        columns |= io.tell_reliability(genotypes, values, bar, **options)
    if len(pedigree.groups):
        columns = with_groups(columns, pedigree.groups, last.group_effects)
    return taken.name, columns, last


def _tell_assumed(what: str, given: float | str | None, assumed: float | None) -> None:
    """Tell what a number is that predictions depend on, and whether somebody chose it."""
    if given == io.ESTIMATE or (given is None and assumed is None):
        return
    if given is None:
        option = what.replace(" ", "-")
        print_notes(f"{what} {assumed:g} is assumed, not estimated; --{option} sets it")
    else:
        print_notes(f"{what} {given:g}, as given")


def _tell_end(sentence: str, result: BlupSnapshot | CrossValidation) -> None:
    remedy = "raise --max-iterations or --tolerance"
    io.tell_end(sentence, is_converged=result.is_converged, remedy=remedy)
