"""``genoviz geno freq``: allele frequencies, missing genotypes and Hardy-Weinberg tests."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from genoviz.cli.common_options import BackendName, BackendOption, examples
from genoviz.cli.genotypes import inputs as io
from genoviz.cli.genotypes.tables import sample_columns, variant_columns, write_table
from genoviz.cli.output_kinds import TableOption, table_only
from genoviz.cli.progress import show_progress
from genoviz.cli.results import print_notes

EXAMPLES = examples(
    "genoviz geno freq cohort.bed -o freq.tsv",
    "genoviz geno freq cohort.vcf.gz --region 21:9400000-9500000",
    "genoviz geno freq cohort --samples samples.tsv -o freq.tsv.gz",
)


def freq(
    genotypes: io.GenotypesArgument,
    output: TableOption = None,
    samples: Annotated[
        Path | None,
        typer.Option(help="Also write missing genotypes, heterozygosity and F of the samples."),
    ] = None,
    maf: io.MafOption = 0.0,
    max_missing: io.MissingOption = 1.0,
    max_sample_missing: io.SampleMissingOption = 1.0,
    hwe: io.HweOption = 0.0,
    region: io.RegionOption = None,
    keep: io.KeepOption = None,
    autosomes: io.AutosomesOption = None,
    nonfounders: Annotated[
        bool,
        typer.Option(
            "--nonfounders", help="Test Hardy-Weinberg proportions of those with known parents too."
        ),
    ] = False,
    backend: BackendOption = BackendName.auto,
) -> None:
    """Count alleles and genotypes of each variant.

    A1_FREQ is the frequency of A1, column 5 of a .bim file and the alternative allele of a VCF;
    HWE_P is the exact test's p, of samples without a known parent. Of X and Y males count with one
    copy, and all samples of MT; at X, HWE_P is of females and males, and it is NA at Y and MT.
    """
    from genoviz.analyses.genotypes.sex_chromosomes import note_counted
    from genoviz.analyses.genotypes.statistics import (
        iter_sample_statistics,
        iter_variant_statistics,
    )

    table_only(samples, option="--samples")
    filters = io.Filters(maf, max_missing, max_sample_missing, hwe, region, keep, autosomes)
    with show_progress() as bar:
        found = io.open_genotypes(genotypes, bar, filters)
        print_notes(*note_counted(found, nonfounders=nonfounders))
        steps = iter_variant_statistics(found, nonfounders=nonfounders, backend=backend.value)
        counts = io.last_result(steps, bar)
        hwe_p = io.last_result(counts.iter_hwe_p(), bar)
        if samples is not None:
            steps = iter_sample_statistics(found, backend=backend.value)
            of_samples = io.last_result(steps, bar)
    hom1, missing, het, hom2 = counts.counts.T
    columns = variant_columns(found.variants) | {
        "A1_FREQ": counts.a1_frequency,
        "MAF": counts.minor_allele_frequency,
        "HOM_A1": hom1,
        "HET": het,
        "HOM_A2": hom2,
        "MISSING": missing,
        "HWE_P": hwe_p,
    }
    write_table(columns, output)
    if samples is not None:
        values = {
            "MISSING_RATE": of_samples.missing_rate,
            "HETEROZYGOSITY": of_samples.heterozygosity,
            "F": of_samples.inbreeding,
        }
        write_table(sample_columns(found.samples) | values, samples)
