"""``genoviz geno finemap``: which variants of a region have the effects."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from genoviz.cli.common_options import BackendName, BackendOption, option, with_examples
from genoviz.cli.genotypes import inputs as io
from genoviz.cli.genotypes.tables import write_table
from genoviz.cli.genotypes.trait_options import TraitOptions, take_covariates, take_trait
from genoviz.cli.output_kinds import TableOption, table_only
from genoviz.cli.results import print_notes, show_progress
from genoviz.errors import n_words

if TYPE_CHECKING:
    from genoviz.analyses.genotypes.association.fine_mapping import FineMapping
    from genoviz.model.genotypes.genotypes import Genotypes


@with_examples(
    "genoviz geno finemap cohort.bed --region 21:9400000-9500000 --pheno traits.csv -o pip.tsv",
    "genoviz geno finemap cohort.bed --region 2:5M-6M --pheno traits.csv --covar pcs.tsv "
    "--sets sets.tsv -o pip.tsv",
)
def finemap(
    genotypes: io.GenotypesArgument,
    *,
    output: TableOption = None,
    credible_sets: Annotated[
        Path | None, option("Also write the credible sets to this file, one per row.", "--sets")
    ] = None,
    traits: TraitOptions,
    effects: Annotated[
        int, option("Maximum number of single effects.", "--effects", within=(1, 1000))
    ] = 10,
    coverage: Annotated[
        float, option("Minimum probability of a credible set.", within=(1e-6, 1 - 1e-9))
    ] = 0.95,
    min_purity: Annotated[
        float,
        option("Minimum absolute correlation between variants of a credible set.", within=(0, 1)),
    ] = 0.5,
    max_iterations: Annotated[
        int, option("Maximum number of iterations.", within=(1, 10**6))
    ] = 100,
    filters: io.Filters,
    backend: BackendOption = BackendName.auto,
) -> None:
    """Fine-map a region with the sum of single effects model (SuSiE).

    PIP is the posterior probability that a variant has an effect, EFFECT the posterior mean effect
    per A1 allele, and SET the number of its credible set. A credible set contains the variant of
    one effect with the probability of --coverage. In --sets, variants without an ID are named
    CONTIG:POS:A2:A1. If the fit does not converge, the exit status is 3.
    """
    from genoviz.analyses.genotypes.association.fine_mapping import iter_fine_map
    from genoviz.analyses.genotypes.association.single_effects import FineMappingOptions
    from genoviz.analyses.genotypes.sex_chromosomes import note_left_out

    table_only(credible_sets, option="--sets")
    options = FineMappingOptions(
        n_effects=effects, coverage=coverage, min_purity=min_purity, max_iterations=max_iterations
    )
    with show_progress() as bar:
        found = io.open_genotypes(genotypes, bar, filters)
        print_notes(*note_left_out(found, "all"))
        name, taken = take_trait(genotypes, found.samples, traits)
        if taken.is_binary:
            print_notes(f"trait {name} has two values and is explained as a number")
        covariates, names = take_covariates(genotypes, found.samples, traits)
        steps = iter_fine_map(
            found,
            taken.values,
            covariates=covariates,
            covariate_names=names,
            options=options,
            backend=backend.value,
        )
        mapping = io.last_result(steps, bar)
    write_table(_variant_columns(found, mapping), output)
    if credible_sets is not None:
        write_table(_set_columns(found, mapping), credible_sets)
    n, n_iterations = len(mapping.credible_sets), len(mapping.bounds)
    print_notes(*mapping.notes)
    io.tell_end(
        f"trait {name}: {n_words(mapping.n_samples, 'sample')}, "
        f"{n_words(found.n_variants, 'variant')}, {n} credible "
        f"set{'s' * (n != 1)} after {n_iterations} iteration{'s' * (n_iterations != 1)}",
        is_converged=mapping.is_converged,
        remedy="raise --max-iterations",
    )


def _variant_columns(genotypes: Genotypes, mapping: FineMapping) -> dict[str, Any]:
    import numpy as np

    sets = np.full(genotypes.n_variants, "NA", "U12")
    for number, each in reversed([*enumerate(mapping.credible_sets, 1)]):
        sets[each.variants] = str(number)
    columns = {"PIP": mapping.inclusion, "EFFECT": mapping.effects, "SET": sets}
    return genotypes.variants.columns | columns


def _set_columns(genotypes: Genotypes, mapping: FineMapping) -> dict[str, Any]:
    import numpy as np

    sets, variants = mapping.credible_sets, genotypes.variants
    names = variants.ids.tolist()
    for row in {row for each in sets for row in each.variants.tolist()}:
        names[row] = variants.full_name(row) if names[row] in (".", "") else names[row]
    members = [",".join(names[row] for row in each.variants.tolist()) for each in sets]
    return {
        "#SET": np.arange(1, len(sets) + 1),
        "N_VARIANTS": np.array([len(each.variants) for each in sets], np.int64),
        "PROBABILITY": np.array([each.probability for each in sets], np.float64),
        "PURITY": np.array([each.purity for each in sets], np.float64),
        "LOG10_BF": np.array([each.log10_bayes_factor for each in sets], np.float64),
        "PRIOR_VARIANCE": mapping.prior_variances[[each.effect for each in sets]],
        "VARIANTS": np.array(members, np.str_),
    }
