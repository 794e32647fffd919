"""``genoviz geno freq``, ``grm``, ``king`` and ``pca``: what a cohort is like."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
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
from genoviz.cli.genotypes.tables import (
    numbered_columns,
    sample_columns,
    write_table,
)
from genoviz.cli.output_kinds import TableOption, choose_kind, table_only
from genoviz.cli.results import name_of_output, print_notes, print_results, show_progress
from genoviz.errors import n_words

if TYPE_CHECKING:
    from genoviz.analyses.genotypes.relationships import RelationshipMatrix


class GrmMethod(StrEnum):
    """How relationships are scaled."""

    vanraden = "vanraden"
    gcta = "gcta"


@ignores("without --pairs", lambda given: not given["pairs"], "at_least")
@with_examples(
    "genoviz geno grm herd.bed -o herd.grm.bin",
    "genoviz geno grm cohort.bed --method gcta --maf 0.01 -o grm.npy --pairs relatives.tsv",
)
def grm(
    genotypes: io.GenotypesArgument,
    *,
    output: Annotated[
        Path,
        option(
            "Output file: .grm.bin (GCTA format, with .grm.id and .grm.N.bin for the number "
            "of variants of each pair), .npy, or .tsv; .npy and .tsv are in sample order.",
            "-o",
            "--output",
        ),
    ],
    method: Annotated[
        GrmMethod,
        option("Matrix: VanRaden's first method, or the mean over standardised variants (GCTA)."),
    ] = GrmMethod.vanraden,
    pairs: Annotated[
        Path | None, option("Also write a table of related pairs to this file.")
    ] = None,
    at_least: Annotated[
        float, option("Minimum relationship of related pairs.", within=(-10, 10))
    ] = 0.05,
    filters: io.Filters,
    contigs: io.ContigsOption = io.Contigs.autosomes,
    scheduler: SchedulerOption = None,
    backend: BackendOption = BackendName.auto,
) -> None:
    """Compute the genomic relationship matrix of the samples from autosomal variants."""
    from genoviz.analyses.genotypes.relationships import iter_relationship_matrix
    from genoviz.analyses.genotypes.relatives import relatives
    from genoviz.analyses.genotypes.sex_chromosomes import note_left_out
    from genoviz.io.genotypes.relationship_files import ENDINGS, write_relationships

    choose_kind(output, {ending: (ending,) for ending in ENDINGS}, default=None, binary=ENDINGS)
    table_only(pairs, option="--pairs")
    with show_progress() as bar:
        found = io.open_genotypes(genotypes, bar, filters)
        print_notes(*note_left_out(found, contigs.value))
        steps = iter_relationship_matrix(
            found,
            method=method.value,
            contigs=contigs.value,
            scheduler=scheduler,
            backend=backend.value,
        )
        matrix = io.last_result(steps, bar)
        write_relationships(matrix.values, matrix.samples, matrix.pair_variants, output)
    sentences = [
        f"{n_words(len(matrix.samples), 'sample')}, "
        f"{n_words(matrix.n_variants, 'variant')}{_shared(matrix)}",
        f"wrote {name_of_output(output)}",
    ]
    if pairs is not None:
        related = relatives(matrix, at_least=at_least)
        ids = matrix.samples.ids
        columns = {"#IID1": ids[related.first], "IID2": ids[related.second]}
        write_table(columns | {"RELATIONSHIP": related.relationship}, pairs)
        sentences.append(
            f"{n_words(len(related.first), 'pair')} of at least {at_least:g} in "
            f"{name_of_output(pairs)}"
        )
    print_results({}, sentences, as_json=False)


def _shared(matrix: RelationshipMatrix) -> str:
    """Return how many variants the pairs have, where that differs."""
    if matrix.n_shared is None:
        return ""
    return f", of which a pair has {matrix.n_shared.min():,} to {matrix.n_shared.max():,}"


@with_examples(
    "genoviz geno king cohort.bed --at-least 0.0442 -o relatives.tsv",
    "genoviz geno king cohort.bed --at-least 0.0884 -o relatives.tsv --unrelated unrelated.txt",
)
def king(
    genotypes: io.GenotypesArgument,
    *,
    output: TableOption = None,
    at_least: Annotated[
        float | None,
        option(
            "Minimum kinship of pairs in the output: 0.354 for duplicates, 0.177 for first "
            "degree, 0.0884 for second, 0.0442 for third.",
            within=(-1e6, 0.5),
            show_default="all pairs",
        ),
    ] = None,
    unrelated: Annotated[
        Path | None,
        option(
            "Also write a set of samples without pairs of this kinship to this file: FID "
            "and IID on each line, as read by --keep."
        ),
    ] = None,
    filters: io.Filters,
    contigs: io.ContigsOption = io.Contigs.autosomes,
) -> None:
    """Compute kinship coefficients that are robust to population structure (KING-robust).

    KINSHIP is 0.5 for duplicates, 0.25 for parent and child, and 0 or less for unrelated samples.
    NSNP is the number of variants at which both samples have a genotype. HETHET and IBS0 are the
    fractions of these at which both are heterozygous, or homozygous for different alleles.
    """
    import numpy as np

    from genoviz.analyses.genotypes.kinship import iter_king_kinship, unrelated_samples
    from genoviz.analyses.genotypes.sex_chromosomes import note_left_out

    table_only(unrelated, option="--unrelated")
    if unrelated is not None and at_least is None:
        raise typer.BadParameter("--unrelated needs --at-least")
    with show_progress() as bar:
        found = io.open_genotypes(genotypes, bar, filters)
        print_notes(*note_left_out(found, contigs.value))
        steps = iter_king_kinship(found, at_least=at_least, contigs=contigs.value)
        pairs = io.last_result(steps, bar)
    samples = found.samples
    one, other = samples.take(pairs.first), samples.take(pairs.second)
    columns = {
        "#FID1": one.family_ids,
        "IID1": one.ids,
        "FID2": other.family_ids,
        "IID2": other.ids,
    }
    n_variants = np.maximum(pairs.n_variants, 1)
    columns |= {
        "NSNP": pairs.n_variants,
        "HETHET": pairs.n_both_heterozygous / n_variants,
        "IBS0": pairs.n_opposite / n_variants,
        "KINSHIP": pairs.kinship,
    }
    write_table(columns, output)
    if unrelated is not None:
        kept = unrelated_samples(pairs, found.n_samples, at_least=at_least)
        write_table(sample_columns(samples.take(kept)), unrelated)
        print_notes(f"{len(kept):,} of {n_words(found.n_samples, 'sample')} are in "
                    f"{name_of_output(unrelated)}")  # fmt: skip


@with_examples(
    "genoviz geno freq cohort.bed -o freq.tsv",
    "genoviz geno freq cohort.vcf.gz --region 21:9400000-9500000",
    "genoviz geno freq cohort --samples samples.tsv -o freq.tsv.gz",
)
def freq(
    genotypes: io.GenotypesArgument,
    *,
    output: TableOption = None,
    samples: Annotated[
        Path | None,
        option("Also write missing rates, heterozygosity and F of samples to this file."),
    ] = None,
    filters: io.Filters,
    nonfounders: Annotated[
        bool,
        option("Include samples with known parents in Hardy-Weinberg tests.", "--nonfounders"),
    ] = False,
    hard_calls: io.HardCallsOption = False,
    scheduler: SchedulerOption = None,
    backend: BackendOption = BackendName.auto,
) -> None:
    """Count alleles and genotypes of each variant.

    A1_FREQ is the frequency of A1: column 5 of a .bim file, the alternative allele of a VCF. HWE_P
    is the p value of the exact Hardy-Weinberg test of samples without a known parent. Males have
    one copy of X and Y, and all samples have one copy of MT. On X, HWE_P uses females and males; on
    Y and MT it is NA.

    If the file has dosages (imputed genotypes), A1_FREQ and MAF are their means, and there are two
    more columns: OBS_CT is the number of allele copies with a dosage, and MACH_R2 the variance of
    the dosages over that expected from the frequency (1: certain; NA on X and MT). The other
    columns count hard calls.
    """
    from genoviz.analyses.genotypes.sample_statistics import iter_sample_statistics
    from genoviz.analyses.genotypes.sex_chromosomes import note_counted
    from genoviz.analyses.genotypes.statistics import iter_variant_statistics

    table_only(samples, option="--samples")
    with show_progress() as bar:
        found = io.open_genotypes(genotypes, bar, filters, dosages=not hard_calls)
        print_notes(*note_counted(found, nonfounders=nonfounders))
        steps = iter_variant_statistics(
            found, nonfounders=nonfounders, scheduler=scheduler, backend=backend.value
        )
        counts = io.last_result(steps, bar)
        hwe_p = io.last_result(counts.iter_hwe_p(), bar)
        if samples is not None:
            steps = iter_sample_statistics(found, counts=counts.counts, backend=backend.value)
            of_samples = io.last_result(steps, bar)
    hom1, missing, het, hom2 = counts.counts.T
    columns = found.variants.columns | {
        "A1_FREQ": counts.a1_frequency,
        "MAF": counts.minor_allele_frequency,
        "HOM_A1": hom1,
        "HET": het,
        "HOM_A2": hom2,
        "MISSING": missing,
        "HWE_P": hwe_p,
    }
    if counts.dosage_sums is not None:
        columns |= {"OBS_CT": counts.n_alleles, "MACH_R2": counts.dosage_sums.mach_r2}
    write_table(columns, output)
    if samples is not None:
        values = {
            "MISSING_RATE": of_samples.missing_rate,
            "HETEROZYGOSITY": of_samples.heterozygosity,
            "F": of_samples.inbreeding,
        }
        write_table(sample_columns(found.samples) | values, samples)


@with_examples(
    "genoviz geno pca cohort.bed --maf 0.01 -o pca.tsv",
    "genoviz geno pca cohort.bed -k 4 --loadings loadings.tsv.gz",
)
def pca(
    genotypes: io.GenotypesArgument,
    *,
    output: TableOption = None,
    components: Annotated[
        int, option("Number of components.", "-k", "--components", within=(1, 10_000))
    ] = 10,
    iterations: Annotated[
        int, option("Maximum number of products with the relationship matrix.", within=(1, 10_000))
    ] = 100,
    tolerance: Annotated[
        float, option("Stop at this residual of each component, |Gu - lu| / l.", within=(0, 1))
    ] = 1e-4,
    loadings: Annotated[Path | None, option("Also write variant loadings to this file.")] = None,
    filters: io.Filters,
    contigs: io.ContigsOption = io.Contigs.autosomes,
    seed: SeedOption = 0,
    backend: BackendOption = BackendName.auto,
) -> None:
    """Compute principal components of the samples, by block Lanczos on packed genotypes.

    Eigenvalues, explained variance and residuals are printed to standard error. If the tolerance is
    not reached, the exit status is 3.
    """
    from genoviz.analyses.genotypes.components import iter_principal_components
    from genoviz.analyses.genotypes.sex_chromosomes import note_left_out

    table_only(loadings, option="--loadings")
    with show_progress() as bar:
        found = io.open_genotypes(genotypes, bar, filters)
        print_notes(*note_left_out(found, contigs.value))
        steps = iter_principal_components(
            found,
            n_components=components,
            n_iterations=iterations,
            tolerance=tolerance,
            contigs=contigs.value,
            seed=seed,
            backend=backend.value,
        )
        result = io.last_result(steps, bar)
    write_table(sample_columns(found.samples) | numbered_columns("PC", result.scores), output)
    if loadings is not None:
        columns = found.variants.columns
        write_table(columns | numbered_columns("PC", result.loadings), loadings)
    print_notes(*result.notes)
    pairs = zip(result.eigenvalues, result.explained, strict=True)
    print_notes(*(f"PC{k}: eigenvalue {value:.4g}, {part:.2%} of the variance"
                  for k, (value, part) in enumerate(pairs, 1)))  # fmt: skip
    remedy = "raise --iterations or --tolerance"
    io.tell_end(result.sentence, is_converged=result.is_converged, remedy=remedy)
