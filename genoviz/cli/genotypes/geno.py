"""``genoviz geno``: what is computed from genotypes that stay packed."""

from __future__ import annotations

import typer

from genoviz.cli.common_options import examples, help_of
from genoviz.cli.genotypes import blup as geno_blup
from genoviz.cli.genotypes import freq as geno_freq
from genoviz.cli.genotypes import grm as geno_grm
from genoviz.cli.genotypes import gwas as geno_gwas
from genoviz.cli.genotypes import pca as geno_pca
from genoviz.cli.genotypes import product as geno_product
from genoviz.cli.genotypes import simulate as geno_simulate

EXAMPLES = examples(
    "genoviz geno freq cohort.bed -o freq.tsv",
    "genoviz geno pca cohort.bed --maf 0.01 -o pca.tsv",
    "genoviz geno gwas cohort.bed --pheno traits.csv --trait height -o gwas.tsv.gz",
    "genoviz geno blup cohort.bed --pheno traits.csv --trait yield --cross-validate 5",
)


def register(cli: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(
        help="Genotypes of a cohort or a herd: quality, relationships, associations, prediction.",
        epilog=EXAMPLES,
        rich_markup_mode="rich",
        no_args_is_help=True,
    )
    for name, module in (
        ("freq", geno_freq),
        ("grm", geno_grm),
        ("pca", geno_pca),
        ("gwas", geno_gwas),
        ("blup", geno_blup),
        ("product", geno_product),
        ("simulate", geno_simulate),
    ):
        command = getattr(module, name)
        group.command(name, help=help_of(command), epilog=module.EXAMPLES, no_args_is_help=True)(
            command
        )
    cli.add_typer(group, name="geno")
