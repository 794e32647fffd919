"""Statistics, relationships, components, associations and linkage of genotypes, against PLINK 2.

Both begin with the same .bed file, in the cache of the system, and use all cores. PLINK's time is
that of the whole program, which also writes its tables; ours ends with the arrays.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.rows import Row, make_row, median_seconds
from genoviz import (
    Genotypes,
    associate,
    principal_components,
    prune_by_linkage,
    read_genotypes,
    relationship_matrix,
    sample_statistics,
    simulate_genotypes,
    variant_statistics,
    write_plink,
)

TITLE = "Analyses of genotypes, against PLINK 2"
N_SAMPLES, N_VARIANTS, N_COVARIATES = 5_000, 50_000, 12
Analysis = tuple[str, Callable[[Genotypes], object], tuple[str, ...]]


def measure(backend: str = "cpu") -> list[Row]:
    """Return the times of analyses, and of PLINK 2 where it is installed."""
    with tempfile.TemporaryDirectory() as folder:
        prefix = Path(folder) / "simulated"
        simulated = simulate_genotypes(
            N_SAMPLES, N_VARIANTS, n_contigs=20, seed=1, missing_rate=0.002, n_populations=3
        )
        write_plink(simulated, prefix)
        phenotype, covariates = _write_tables(simulated, prefix)
        return [
            _measure_one(prefix, analysis)
            for analysis in _analyses(prefix, phenotype, covariates, backend)
        ]


def _analyses(
    prefix: Path, phenotype: np.ndarray, covariates: np.ndarray, backend: str
) -> list[Analysis]:
    tables = ("--pheno", f"{prefix}.pheno", "--covar", f"{prefix}.covar")
    glm = (*tables, "--glm", "hide-covar")

    def statistics(genotypes: Genotypes) -> object:
        variants = variant_statistics(genotypes, backend=backend)
        sample_statistics(genotypes, counts=variants.counts, backend=backend)
        return variants.hwe_p

    return [
        (
            "frequencies",
            lambda genotypes: variant_statistics(genotypes, backend=backend).a1_frequency,
            ("--freq",),
        ),
        (
            "missing, exact Hardy-Weinberg, inbreeding",
            statistics,
            ("--missing", "--hardy", "--het"),
        ),
        (
            "relationships as GCTA's, float64",
            lambda genotypes: relationship_matrix(genotypes, method="gcta", backend=backend),
            ("--make-rel", "bin", "square"),
        ),
        (
            "relationships as GCTA's, float32 blocks",
            lambda genotypes: relationship_matrix(
                genotypes, method="gcta", dtype=np.float32, backend=backend
            ),
            ("--make-rel", "bin", "square"),
        ),
        (
            "10 components",
            lambda genotypes: principal_components(genotypes, backend=backend),
            ("--pca", "approx", "10"),
        ),
        (
            f"linear association, {N_COVARIATES} covariates",
            lambda genotypes: associate(
                genotypes, phenotype, covariates=covariates, backend=backend
            ),
            (*glm, "--pheno-name", "trait"),
        ),
        (
            "logistic association of 2,000 variants, 12 covariates",
            lambda genotypes: associate(
                genotypes.take_variants(slice(0, 2_000)),
                (phenotype > 0) + 1.0,
                covariates=covariates,
                model="logistic",
                backend=backend,
            ),
            (*glm, "no-firth", "--pheno-name", "case", "--extract", f"{prefix}.first"),
        ),
        (
            "pruning by linkage, 50 variants",
            prune_by_linkage,
            ("--indep-pairwise", "50", "5", "0.2"),
        ),
    ]


def _measure_one(prefix: Path, analysis: Analysis) -> Row:
    case, ours, arguments = analysis
    ours(read_genotypes(f"{prefix}.bed").take_variants(slice(0, 300)))  # compiles
    seconds = median_seconds(lambda: ours(read_genotypes(f"{prefix}.bed")), n_runs=2, n_warm_ups=0)
    peer = None
    if shutil.which("plink2") is not None:
        peer = _plink_seconds(prefix, arguments)
    return make_row(
        TITLE,
        f"{case}, {N_SAMPLES:,} x {N_VARIANTS:,}",
        ours=seconds,
        peer=peer,
        unit="s",
        higher_is_better=False,
        note=f"plink2 {' '.join(part for part in arguments if '/' not in part)}",
    )


@cache
def _plink_seconds(prefix: Path, arguments: tuple[str, ...]) -> float:
    return median_seconds(lambda: _run_plink(prefix, arguments), n_runs=1, n_warm_ups=0)


def _run_plink(prefix: Path, arguments: tuple[str, ...]) -> None:
    command = ["plink2", "--bfile", str(prefix), *arguments, "--out", f"{prefix}.out"]
    subprocess.run(command, check=True, capture_output=True)


def _write_tables(genotypes: Genotypes, prefix: Path) -> tuple[np.ndarray, np.ndarray]:
    """Write a trait, its cases and covariates for PLINK, and return trait and covariates."""
    generator = np.random.default_rng(2)
    covariates = generator.normal(size=(N_SAMPLES, N_COVARIATES))
    phenotype = generator.normal(size=N_SAMPLES) + covariates[:, 0]
    names = zip(genotypes.samples.family_ids, genotypes.samples.ids, strict=True)
    ids = [f"{family}\t{name}" for family, name in names]
    traits = np.column_stack([phenotype, (phenotype > 0) + 1.0])
    headers = {"pheno": ["trait", "case"], "covar": [f"C{k}" for k in range(N_COVARIATES)]}
    for ending, columns in (("pheno", traits), ("covar", covariates)):
        lines = ["\t".join(["#FID", "IID", *headers[ending]])]
        lines += [
            "\t".join([who, *map(str, row)]) for who, row in zip(ids, columns.tolist(), strict=True)
        ]
        prefix.with_suffix(f".{ending}").write_text("\n".join(lines) + "\n")
    prefix.with_suffix(".first").write_text("\n".join(genotypes.variants.ids[:2_000]) + "\n")
    return phenotype, covariates
