"""``genoviz geno simulate``: make up genotypes and a trait."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from genoviz.cli.common_options import SeedOption, examples
from genoviz.cli.genotypes.inputs import last_result
from genoviz.cli.genotypes.tables import sample_columns, write_table
from genoviz.cli.progress import show_progress
from genoviz.cli.results import print_notes
from genoviz.cli.streams import refuse_standard_output

EXAMPLES = examples(
    "genoviz geno simulate -n 2000 -m 10000 -o cohort",
    "genoviz geno simulate -n 100000 -m 50000 --populations 5 --trait-heritability 0.3 -o large",
)


def simulate(
    output: Annotated[
        Path,
        typer.Option("-o", "--output", help="Prefix of the .bed, .bim, .fam and .pheno.tsv files."),
    ],
    samples: Annotated[int, typer.Option("-n", "--samples", min=1, max=10**9, help="Samples.")],
    variants: Annotated[int, typer.Option("-m", "--variants", min=1, max=10**9, help="Variants.")],
    contigs: Annotated[int, typer.Option(min=1, max=10**9, help="Contigs.")] = 1,
    populations: Annotated[int, typer.Option(min=1, max=10**6, help="Populations.")] = 1,
    fst: Annotated[float, typer.Option(min=0, max=0.9, help="How far these differ.")] = 0.1,
    missing: Annotated[float, typer.Option(min=0, max=1, help="Part of missing genotypes.")] = 0.0,
    heritability: Annotated[
        float, typer.Option("--trait-heritability", min=0, max=1, help="Of the trait.")
    ] = 0.5,
    causal: Annotated[
        int, typer.Option(min=1, max=10**9, help="Variants with an effect on it.")
    ] = 100,
    seed: SeedOption = 0,
) -> None:
    """Make random genotypes with linkage and populations, and a trait, as PLINK files."""
    from genoviz.analyses.simulation.genotypes import iter_simulate_genotypes
    from genoviz.analyses.simulation.traits import simulate_trait
    from genoviz.io.genotypes.writers import write_plink

    refuse_standard_output("-o", output, "PLINK's genotypes are several files")
    with show_progress() as bar:
        steps = iter_simulate_genotypes(
            samples,
            variants,
            n_contigs=contigs,
            n_populations=populations,
            fst=fst,
            missing_rate=missing,
            seed=seed,
        )
        genotypes = last_result(steps, bar)
        bar.update("Trait", 0, None, "")
        n_causal = min(causal, variants)
        trait = simulate_trait(genotypes, heritability=heritability, n_causal=n_causal, seed=seed)
        bar.update("Writing", 0, None, "")
        write_plink(genotypes, output)
        values = {"trait": trait.phenotype, "breeding_value": trait.breeding_values}
        write_table(sample_columns(genotypes.samples) | values, Path(f"{output}.pheno.tsv"))
    if genotypes.n_autosomes:
        print_notes(
            f"other commands need --autosomes {genotypes.n_autosomes} to read these contigs"
        )
    typer.echo(f"wrote {output}.bed, .bim, .fam and .pheno.tsv: {genotypes!r}")
