"""``genoviz geno multiblup``: breeding values of several traits, which inform each other."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from genoviz.cli.common_options import BackendName, BackendOption, ignores, option, with_examples
from genoviz.cli.genotypes import inputs as io
from genoviz.cli.genotypes.tables import sample_columns, write_table
from genoviz.cli.genotypes.trait_options import TraitOptions, take_records, take_together
from genoviz.cli.output_kinds import TableOption, table_only
from genoviz.cli.results import print_notes, show_progress

if TYPE_CHECKING:
    import numpy as np

    from genoviz.analyses.genotypes.prediction.multi_trait import MultiTraitSnapshot
    from genoviz.model.genotypes.genotypes import Genotypes
    from genoviz.model.genotypes.pedigree import Pedigree


class Form(StrEnum):
    """Equations of single step, which have the same solution."""

    ss_snp_blup = "ssSNPBLUP"
    ss_gta_blup = "ssGTABLUP"


_PERMANENT = "permanent"


@ignores("without a --pedigree", lambda given: not given["pedigree"], "polygenic_weight")
@with_examples(
    "genoviz geno multiblup herd.bed --pedigree herd.ped --pheno milk.csv --trait fat "
    "--with protein --covariances covariances.tsv -o values.tsv",
    "genoviz geno multiblup --pedigree herd.ped --pheno milk.csv --trait fat --with protein "
    "--covariances covariances.tsv -o values.tsv",
)
def multiblup(
    genotypes: io.SomeGenotypesArgument = None,
    *,
    output: TableOption = None,
    traits: TraitOptions,
    others: Annotated[
        list[str] | None,
        option("Another trait (repeatable).", "--with", metavar="TRAIT", show_default="one trait"),
    ] = None,
    pedigree: Annotated[
        Path | None,
        option(
            "Pedigree: animal, sire and dam on each line; alone, or with genotypes for "
            "single-step. Without a pedigree, SNP-BLUP predicts samples from genotypes."
        ),
    ] = None,
    covariances: Annotated[
        Path,
        option(
            "Table as written by geno reml --with: #COMPONENT (genotypes, residual), "
            "TRAIT1, TRAIT2 and COVARIANCE. With the component permanent, rows of --pheno "
            "are repeated records."
        ),
    ],
    gamma: io.GammaOption = None,
    variance_base: io.VarianceBaseOption = None,
    form: Annotated[Form, option("Form of the single-step equations.", case_sensitive=False)] = (
        Form.ss_snp_blup
    ),
    polygenic_weight: Annotated[
        float,
        option(
            "Polygenic weight: the fraction of the genetic variance not explained by markers.",
            within=(0, 1),
        ),
    ] = 0.2,
    weight: Annotated[
        str | None,
        option("Column of --pheno with weights, which divide the residual covariances."),
    ] = None,
    tolerance: Annotated[
        float, option("Stop at this squared relative residual.", within=(1e-30, 1))
    ] = 1e-13,
    max_iterations: Annotated[
        int, option("Maximum number of iterations.", within=(1, 10**9))
    ] = 5000,
    effects: Annotated[
        Path | None, option("Also write variant effects on each trait to this file.")
    ] = None,
    filters: io.Filters,
    contigs: io.ContigsOption = io.Contigs.autosomes,
    backend: BackendOption = BackendName.auto,
) -> None:
    """Predict breeding values of several traits together.

    Predictions use genotypes, a pedigree or both, and the covariances between traits. An animal may
    lack some or all traits. The output has columns for each trait, and rows for groups of unknown
    parents. If the solver does not reach the tolerance, CONVERGED is no, and the exit status is 3.
    """
    from genoviz.analyses.genotypes.prediction.multi_trait import iter_multi_trait
    from genoviz.analyses.genotypes.sex_chromosomes import note_left_out
    from genoviz.io.genotypes.covariance_files import covariance_matrix, read_components
    from genoviz.model.genotypes.genotypes import SampleTable

    table_only(effects, option="--effects")
    if genotypes is None and pedigree is None:
        raise typer.BadParameter("needs genotypes, --pedigree, or both")
    if genotypes is None and traits.pheno is None:
        raise typer.BadParameter("--pheno is needed where there are no genotypes")
    if genotypes is None and effects is not None:
        raise typer.BadParameter("--effects are of genotypes")
    if pedigree is None and gamma is not None:
        raise typer.BadParameter("--gamma takes a --pedigree")
    if variance_base is not None and gamma is None:
        raise typer.BadParameter("--variance-base takes --gamma")
    with show_progress() as bar:
        found = animals = None
        if genotypes is not None:
            found = io.open_genotypes(genotypes, bar, filters)
            print_notes(*note_left_out(found, contigs.value))
        if pedigree is not None:
            animals = io.take_pedigree(
                pedigree, gamma, found, contigs=contigs.value, backend=backend.value
            )
        samples = found.samples if animals is None else SampleTable.from_ids(animals.ids)
        components = read_components(covariances, ("genotypes", "residual", _PERMANENT))
        recorded = take_records(
            genotypes or Path(), samples, traits, weight=weight,
            is_repeated=_PERMANENT in components,
        )  # fmt: skip
        names, values = take_together(recorded, traits, others or [])
        matrices = {
            name: covariance_matrix(covariances, name, pairs, names)
            for name, pairs in components.items()
        }
        if animals is not None:
            matrices["genotypes"] /= io.tell_base(
                animals, variance_base, found, contigs=contigs.value, backend=backend.value
            )
        steps = iter_multi_trait(
            found, animals, values, form=form.value,
            genetic=matrices["genotypes"], residual=matrices["residual"],
            permanent=matrices.get(_PERMANENT), covariates=recorded.covariates,
            animals=recorded.animals, weights=recorded.weights, polygenic_weight=polygenic_weight,
            contigs=contigs.value, tolerance=tolerance, max_iterations=max_iterations,
            backend=backend.value,
        )  # fmt: skip
        last = io.last_prediction(steps, bar)
    print_notes(*last.notes)
    write_table(_columns(found, animals, names, last), output)
    if effects is not None:
        of_traits = {f"EFFECT_{name}": last.effects[:, k] for k, name in enumerate(names)}
        write_table(_with_end(found.variants.columns | of_traits, last), effects)
    io.tell_end(
        f"trait{'s' * (len(names) > 1)} {', '.join(names)}: {last.sentence}",
        is_converged=last.is_converged,
        remedy="raise --max-iterations or --tolerance",
    )


def _columns(
    genotypes: Genotypes | None,
    pedigree: Pedigree | None,
    names: list[str],
    last: MultiTraitSnapshot,
) -> dict[str, Any]:
    import numpy as np

    n_groups = len(last.group_effects)

    def with_groups(values: np.ndarray, of_groups: np.ndarray) -> np.ndarray:
        return np.append(values, of_groups) if n_groups else values

    none = np.full(n_groups, np.nan)
    columns: dict[str, Any] = {}
    if pedigree is None:
        columns |= sample_columns(genotypes.samples)
    else:
        columns["#ID"] = with_groups(pedigree.ids, pedigree.groups)
    if n_groups:
        columns["IS_GROUP"] = np.repeat([0, 1], [len(pedigree), n_groups])
    if pedigree is not None and genotypes is not None:
        has = np.isin(pedigree.ids, genotypes.samples.ids).astype(int)
        columns["HAS_GENOTYPES"] = with_groups(has, np.zeros(n_groups, int))
    for k, name in enumerate(names):
        columns[f"BREEDING_VALUE_{name}"] = with_groups(
            last.breeding_values[:, k], last.group_effects[:, k]
        )
        if last.permanent_effects is not None:
            columns[f"PERMANENT_EFFECT_{name}"] = with_groups(last.permanent_effects[:, k], none)
    return _with_end(columns, last)


def _with_end(columns: dict[str, Any], last: MultiTraitSnapshot) -> dict[str, Any]:
    import numpy as np

    n_rows = len(next(iter(columns.values())))
    return columns | {"CONVERGED": np.full(n_rows, "yes" if last.is_converged else "no")}
