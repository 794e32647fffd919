"""``genoviz geno product`` and ``simulate``."""

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
from genoviz.cli.genotypes.inputs import last_result
from genoviz.cli.genotypes.tables import (
    numbered_columns,
    sample_columns,
    write_table,
)
from genoviz.cli.intervals.options import OutputOption
from genoviz.cli.output_kinds import TABLE, choose_kind
from genoviz.cli.results import print_notes, refuse_standard_output, show_progress

if TYPE_CHECKING:
    import numpy as np


class Scale(StrEnum):
    """What a genotype counts as."""

    raw = "raw"
    centred = "centred"
    standardised = "standardised"


@with_examples(
    "genoviz geno product herd.bed effects.tsv -o breeding_values.tsv",
    "genoviz geno product herd.bed residuals.npy --transpose -o gradient.npy",
    "genoviz geno product cohort.bed scores.tsv --scale raw",
)
def product(
    genotypes: io.GenotypesArgument,
    matrix: Annotated[
        Path,
        typer.Argument(
            metavar="MATRIX",
            help="Dense matrix: .npy, or a table of numbers without header, with one row per "
            "variant (per sample with --transpose).",
        ),
    ],
    output: OutputOption = None,
    transpose: Annotated[
        bool, option("Multiply by the transposed genotype matrix.", "--transpose")
    ] = False,
    scale: Annotated[
        Scale,
        option(
            "Dosages of A1: raw, centred by twice the frequency, or also divided by the "
            "standard deviation."
        ),
    ] = Scale.centred,
    autosomes: io.AutosomesOption = None,
    scheduler: SchedulerOption = None,
    backend: BackendOption = BackendName.auto,
) -> None:
    """Multiply the genotype matrix (samples by variants) by a dense matrix.

    A missing genotype counts as the mean. Variants of X, Y and MT are used as coded in the file. A
    .npy output has only the numbers; a table also names the sample or variant of each row.
    """
    import numpy as np

    from genoviz.analyses.genotypes.block_products import iter_product
    from genoviz.analyses.genotypes.sex_chromosomes import note_left_out
    from genoviz.io.files.replace_file import replace_file

    writes = {"NumPy": (".npy",), "table": TABLE}
    kind = choose_kind(output, writes, default="table", binary=("NumPy",))
    dense = _read_dense(matrix)
    with show_progress() as bar:
        found = io.open_genotypes(genotypes, bar, io.Filters(autosomes=autosomes))
        print_notes(*note_left_out(found, "all"))
        steps = iter_product(
            found,
            dense,
            transpose=transpose,
            centre=scale is not Scale.raw,
            standardise=scale is Scale.standardised,
            scheduler=scheduler,
            backend=backend.value,
        )
        result = io.last_result(steps, bar)
    if kind == "NumPy":
        with replace_file(output) as file:
            np.save(file, result)
        return
    rows = found.variants.columns if transpose else sample_columns(found.samples)
    write_table(rows | numbered_columns("V", result.reshape(len(result), -1)), output)


def _read_dense(path: Path) -> np.ndarray:
    """Return a matrix of numbers; those of a table may be NaN or infinite, too."""
    import numpy as np

    from genoviz.errors import FileFormatError
    from genoviz.io.text.tables import read_numbers

    if path.suffix != ".npy":
        return read_numbers(path, are_finite=False)
    try:
        found = _read_npy(path)
    except ValueError as error:
        what = str(error).splitlines()[0]
        raise FileFormatError(path, f"is not a matrix of numbers: {what}") from error
    if found.dtype.kind not in "fiu" or found.ndim not in (1, 2):
        raise FileFormatError(path, f"has {found.dtype} of shape {found.shape}, needs numbers")
    return found.astype(np.float64)


def _read_npy(path: Path) -> np.ndarray:
    """Return the array of a .npy file, which has nothing else in it."""
    import numpy as np

    from genoviz.errors import FileFormatError, n_words

    with path.open("rb") as file:
        start = file.read(len(np.lib.format.MAGIC_PREFIX))
        if start and start != np.lib.format.MAGIC_PREFIX:
            raise FileFormatError(path, "is not a .npy file, needs a matrix of numbers in one")
        file.seek(0)
        try:
            found = np.load(file, allow_pickle=False)
        except EOFError as error:
            raise FileFormatError(path, "the file is empty, needs a matrix of numbers") from error
        n_more = path.stat().st_size - file.tell()
    if n_more:
        found = f"has {n_words(n_more, 'byte')} more than its matrix, so it is damaged"
        raise FileFormatError(path, found)
    return found


@ignores("with one population", lambda given: given["populations"] == 1, "fst")
@with_examples(
    "genoviz geno simulate -n 2000 -m 10000 -o cohort",
    "genoviz geno simulate -n 100000 -m 50000 --populations 5 --trait-heritability 0.3 -o large",
)
def simulate(
    output: Annotated[
        Path,
        option("Prefix of the output files .bed, .bim, .fam and .pheno.tsv.", "-o", "--output"),
    ],
    samples: Annotated[int, option("Number of samples.", "-n", "--samples", within=(1, 10**9))],
    variants: Annotated[int, option("Number of variants.", "-m", "--variants", within=(1, 10**9))],
    contigs: Annotated[int, option("Number of contigs.", within=(1, 10**9))] = 1,
    populations: Annotated[int, option("Number of populations.", within=(1, 10**6))] = 1,
    fst: Annotated[float, option("F_ST between the populations.", within=(0, 0.9))] = 0.1,
    missing: Annotated[float, option("Fraction of missing genotypes.", within=(0, 1))] = 0.0,
    heritability: Annotated[
        float, option("Heritability of the trait.", "--trait-heritability", within=(0, 1))
    ] = 0.5,
    causal: Annotated[
        int, option("Number of variants with an effect on the trait.", within=(1, 10**9))
    ] = 100,
    seed: SeedOption = 0,
) -> None:
    """Simulate genotypes with linkage and populations, and a trait, as PLINK files."""
    from genoviz.analyses.simulation.genotypes import iter_simulate_genotypes
    from genoviz.analyses.simulation.traits import simulate_trait
    from genoviz.io.genotypes.plink_files import ENDINGS
    from genoviz.io.genotypes.writers import write_plink

    refuse_standard_output("-o", output, "PLINK's genotypes are several files")
    choose_kind(output, {"PLINK": ENDINGS}, default="PLINK")
    prefix = output.with_suffix("") if output.suffix in ENDINGS else output
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
        write_plink(genotypes, prefix)
        values = {"trait": trait.phenotype, "breeding_value": trait.breeding_values}
        write_table(sample_columns(genotypes.samples) | values, Path(f"{prefix}.pheno.tsv"))
    if genotypes.n_autosomes:
        print_notes(
            f"other commands need --autosomes {genotypes.n_autosomes} to read these contigs"
        )
    typer.echo(f"wrote {prefix}.bed, .bim, .fam and .pheno.tsv: {genotypes!r}")
