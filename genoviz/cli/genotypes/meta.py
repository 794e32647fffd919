"""``genoviz geno meta``: associations of several studies are combined."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from genoviz.cli.common_options import option, with_examples
from genoviz.cli.genotypes.inputs import AutosomesOption
from genoviz.cli.genotypes.tables import write_frame
from genoviz.cli.output_kinds import TableOption
from genoviz.cli.results import print_notes, show_progress

if TYPE_CHECKING:
    import polars

    from genoviz.cli.results import ProgressBar


@with_examples(
    "genoviz geno meta a.tsv.gz b.tsv.gz -o meta.tsv.gz",
    "genoviz geno meta a.PHENO1.glm.linear b.assoc.linear --genomic-control --random -o meta.tsv",
)
def meta(
    inputs: Annotated[
        list[Path],
        typer.Argument(
            metavar="SCANS...",
            help="Tables with a header, from genoviz geno gwas, PLINK, REGENIE...",
        ),
    ],
    *,
    output: TableOption = None,
    random: Annotated[
        bool, option("Also compute random effects (DerSimonian-Laird).", "--random")
    ] = False,
    genomic_control: Annotated[
        bool,
        option(
            "Multiply standard errors of each file by the root of its lambda GC, if above 1.",
            "--genomic-control",
        ),
    ] = False,
    min_files: Annotated[
        int | None,
        option(
            "Leave out variants in fewer files.",
            within=(1, 10_000),
            show_default="2, or 1 for one file",
        ),
    ] = None,
    autosomes: AutosomesOption = None,
) -> None:
    """Combine the associations of several studies by inverse-variance meta-analysis.

    Variants match by chromosome, position and alleles; swapped alleles change the sign of the
    effect, and alleles of the other strand match unless they are A/T or C/G. BETA is the effect of
    A1, which is that of the first file with the variant. DIRECTION has a sign for each file, ? if
    it lacks the variant. Q, Q_P and I2 (per cent) measure heterogeneity. What is left out, and
    lambda GC of each file, are printed to standard error.
    """
    from genoviz.analyses.genotypes.association.meta_analysis import meta_analyse

    with show_progress() as bar:
        found = meta_analyse(
            _iter_tables(inputs, bar),
            random_effects=random,
            genomic_control=genomic_control,
            min_files=min_files,
            n_autosomes=autosomes,
        )
    write_frame(found.frame, output)
    print_notes(*found.notes)
    for path, inflation in zip(inputs, found.lambdas, strict=True):
        used = ", standard errors are corrected" if genomic_control and inflation > 1 else ""
        print_notes(f"{path.name}: lambda GC {inflation:.4f}{used}")
    n = found.frame.height
    print_notes(f"{n:,} variant{'s' * (n != 1)} of {len(inputs)} file{'s' * (len(inputs) != 1)}")


def _iter_tables(paths: list[Path], bar: ProgressBar) -> Iterator[tuple[str, polars.DataFrame]]:
    from genoviz.io.genotypes.association_tables import read_associations

    for number, path in enumerate(paths):
        bar.update("Reading", number, len(paths), "files")
        yield path.name, read_associations(path)
