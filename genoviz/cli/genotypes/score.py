"""``genoviz geno score``: samples are scored by weights of alleles."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from genoviz.cli.common_options import BackendName, BackendOption, option, with_examples
from genoviz.cli.genotypes import inputs as io
from genoviz.cli.genotypes.tables import sample_columns, write_table
from genoviz.cli.output_kinds import TableOption
from genoviz.cli.results import print_notes, show_progress
from genoviz.errors import n_words


@with_examples(
    "genoviz geno score cohort.bed weights.tsv -o scores.tsv",
    "genoviz geno score cohort.bed PGS000018.txt.gz --weight effect_weight -o scores.tsv",
)
def score(
    genotypes: io.GenotypesArgument,
    weights: Annotated[
        Path,
        typer.Argument(
            metavar="WEIGHTS",
            help="Table with a header: variant IDs, an allele of each variant, and its weights.",
        ),
    ],
    output: TableOption = None,
    *,
    id_column: Annotated[
        str | None, option("Column of WEIGHTS with variant IDs.", show_default="ID, SNP, rsID...")
    ] = None,
    allele_column: Annotated[
        str | None,
        option("Column of WEIGHTS with the counted allele.", show_default="A1, effect_allele..."),
    ] = None,
    weight: Annotated[
        list[str] | None,
        option(
            "Column of WEIGHTS with weights (repeatable).",
            show_default="all columns behind the allele",
        ),
    ] = None,
    filters: io.Filters,
    contigs: io.ContigsOption = io.Contigs.autosomes,
    hard_calls: io.HardCallsOption = False,
    backend: BackendOption = BackendName.auto,
) -> None:
    """Compute scores of samples: sums of allele dosages times weights.

    NAME_SUM is the sum, and NAME_AVG the sum divided by twice the number of variants, as in plink2
    --score; a missing genotype counts as the mean. Dosages of imputed genotypes
    are used as they are. ALLELE_CT is twice the number of the sample's
    genotypes, and DOSAGE_SUM the sum of the dosages. An allele may be A1 or A2 of the variant.
    Skipped rows are reported on standard error.
    """
    import numpy as np

    from genoviz.analyses.genotypes.scores import iter_score
    from genoviz.analyses.genotypes.sex_chromosomes import note_left_out
    from genoviz.errors import FileFormatError
    from genoviz.io.genotypes.variant_tables import ALLELE_TITLES, ID_TITLES, read_variant_table

    with show_progress() as bar:
        table = read_variant_table(weights)
        ids = table.find(id_column, ID_TITLES, "the IDs of variants (--id-column)")
        allele = table.find(allele_column, ALLELE_TITLES, "alleles (--allele-column)")
        names = [table.find(name, (), "weights (--weight)") for name in weight or ()]
        names = names or [*table.titles[table.titles.index(allele) + 1 :]]
        if not names:
            raise FileFormatError(weights, f"has no column behind {allele}, needs one of weights")
        values = np.column_stack([table.numbers(name) for name in names])
        holed = np.flatnonzero(~np.isfinite(values).all(1))
        if len(holed):
            table.refuse(int(holed[0]), "has a weight that is missing or infinite")
        found = io.open_genotypes(genotypes, bar, filters, dosages=not hard_calls)
        print_notes(*note_left_out(found, contigs.value))
        steps = iter_score(
            found,
            table.texts(ids),
            table.texts(allele),
            values,
            contigs=contigs.value,
            backend=backend.value,
        )
        scores = io.last_result(steps, bar)
    columns = sample_columns(found.samples)
    columns |= {"ALLELE_CT": scores.n_alleles, "DOSAGE_SUM": scores.dosage_sums}
    columns |= {f"{name}_AVG": scores.averages[:, k] for k, name in enumerate(names)}
    columns |= {f"{name}_SUM": scores.sums[:, k] for k, name in enumerate(names)}
    write_table(columns, output)
    print_notes(
        *scores.notes,
        f"{n_words(scores.n_variants, 'variant counts', 'variants count')}, with "
        f"{', '.join(names)}",
    )
