"""``genoviz geno convert``: genotypes from one kind of file to another, or some of them."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from genoviz.cli.common_options import option, with_examples
from genoviz.cli.genotypes import inputs as io
from genoviz.cli.output_kinds import choose_kind
from genoviz.cli.results import print_notes, print_results, refuse_standard_output, show_progress
from genoviz.errors import n_words

if TYPE_CHECKING:
    import numpy as np

    from genoviz.model.genotypes.genotypes import Genotypes


class NewIds(StrEnum):
    """Which variants are named anew."""

    none = "none"
    missing = "missing"
    all = "all"


@with_examples(
    "genoviz geno convert cohort.vcf.gz -o cohort",
    "genoviz geno convert cohort.vcf.gz --split-alleles --new-ids missing -o cohort",
    "genoviz geno convert cohort.bed --extract kept.txt --remove relatives.txt -o small.bed",
    "genoviz geno convert cohort.bed --region 21:9400000-9500000 -o region.vcf.gz",
)
def convert(
    genotypes: io.GenotypesArgument,
    *,
    output: Annotated[
        Path,
        option(
            "Output: prefix of .bed, .bim and .fam, or one of these files; .vcf or .vcf.gz; "
            ".npz or .parquet (dosages of A1).",
            "-o",
            "--output",
        ),
    ],
    split_alleles: Annotated[
        bool,
        option(
            "Split multiallelic VCF records into one variant per ALT, with all other "
            "alleles as REF; by default they are skipped.",
            "--split-alleles",
        ),
    ] = False,
    new_ids: Annotated[
        NewIds,
        option(
            "Set variant IDs to CONTIG:POS:A2:A1, for all variants or those without an ID.",
            "--new-ids",
        ),
    ] = NewIds.none,
    filters: io.Filters,
) -> None:
    """Convert genotypes to another file format, optionally filtered.

    Alleles are not swapped: A1 of PLINK is ALT of VCF, even if it is the major allele. Column 6 of
    a .fam file is kept. A sample-major .bed file is written variant-major. Hard calls are written,
    without phase and dosages. Fields of VCF other than genotypes, and phenotypes of .psam and
    .sample files, are left out. A note tells what the output has no place for.
    """
    from genoviz.io.genotypes.arrays import write_dosages
    from genoviz.io.genotypes.plink_files import ENDINGS, plink_paths
    from genoviz.io.genotypes.writers import write_plink, write_vcf

    refuse_standard_output("-o", output, "genotypes are written to files")
    kinds = {"PLINK": ENDINGS, "VCF": (".vcf",), "NumPy": (".npz",), "Parquet": (".parquet",)}
    kind = choose_kind(output, kinds, default="PLINK", binary=("PLINK", "NumPy", "Parquet"))
    with show_progress() as bar:
        found = io.open_genotypes(genotypes, bar, filters, split_alleles=split_alleles)
        found = _with_ids(found, new_ids)
        bar.update("Writing", 0, None, "")
        phenotype, n_told = _read_phenotype(genotypes, found)
        if kind == "PLINK":
            if n_told:
                fam = plink_paths(genotypes)[2].name
                print_notes(f"column 6 of {fam} has {n_words(n_told, 'word')}, read as -9")
            written = [path.name for path in write_plink(found, output, phenotype=phenotype)]
        else:
            (write_vcf if kind == "VCF" else write_dosages)(found, output)
            written = [output.name]
            _tell_lost(found, kind, phenotype, n_told)
    print_results({}, [f"wrote {', '.join(written)}: {found!r}"], as_json=False)


def _tell_lost(genotypes: Genotypes, kind: str, phenotype: np.ndarray | None, n_told: int) -> None:
    """Tell what is known of samples and variants and has no place in a kind of file."""
    import numpy as np

    samples, lost = genotypes.samples, []
    if kind != "NumPy":
        families = samples.family_ids
        if ((families != "0") & (families != samples.ids)).any():
            lost.append("family IDs")
        if not samples.is_founder.all():
            lost.append("parents")
        if samples.sexes.any():
            lost.append("sexes")
    if kind == "VCF" and genotypes.variants.centimorgans.any():
        lost.append("centimorgans")
    is_missing = phenotype is None or np.isnan(phenotype) | np.isin(phenotype, (0, -9))
    if n_told or not np.all(is_missing):
        lost.append("phenotypes")
    if lost:
        print_notes(f"{kind} files have no place for {', '.join(lost)}, which are left out")


def _with_ids(genotypes: Genotypes, new_ids: NewIds) -> Genotypes:
    import numpy as np

    variants = genotypes.variants
    if new_ids is NewIds.none:
        return genotypes
    is_named_anew = np.full(len(variants), new_ids is NewIds.all) | np.isin(variants.ids, (".", ""))
    ids = variants.ids.tolist()
    for row in np.flatnonzero(is_named_anew).tolist():
        ids[row] = variants.full_name(row)
    n_repeated = len(ids) - len({*ids})
    if n_repeated:
        has = n_words(n_repeated, "variant has", "variants have")
        print_notes(f"{has} an ID that another one before has, too")
    print_notes(f"named anew: {int(is_named_anew.sum()):,} of {n_words(len(ids), 'variant')}")
    return replace(genotypes, variants=replace(variants, ids=np.array(ids, np.str_)))


def _read_phenotype(path: Path, genotypes: Genotypes) -> tuple[np.ndarray | None, int]:
    """Return column 6 of the .fam file that genotypes come from, and the number of words in it.

    It is None if there is no such file.
    """
    import numpy as np

    from genoviz.io.genotypes.plink_files import ENDINGS, plink_paths
    from genoviz.io.genotypes.sample_tables import read_fam_lines

    bed, _, fam = plink_paths(path)
    if path.suffix not in ENDINGS and (path.is_file() or not bed.is_file()):
        return None, 0
    lines = read_fam_lines(fam)
    keys = zip(lines.texts(0).tolist(), lines.texts(1).tolist(), strict=True)
    of_sample = dict(zip(keys, lines.texts(5).tolist(), strict=True))
    samples = genotypes.samples
    kept = zip(samples.family_ids.tolist(), samples.ids.tolist(), strict=True)
    phenotype, n_told = np.full(len(samples), np.nan), 0
    for row, key in enumerate(kept):
        try:
            phenotype[row] = float(of_sample[key])
        except ValueError:
            n_told += of_sample[key].upper() not in ("NA", "NAN", ".")
    return phenotype, n_told
