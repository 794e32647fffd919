"""Predictions from packed genotypes: SNP-BLUP, cross-validation, single step, and simulation."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.rows import Row, make_row, median_seconds
from genoviz import (
    Genotypes,
    cross_validate,
    drop_genotypes,
    gblup,
    iter_snp_blup,
    simulate_genotypes,
    simulate_pedigree,
    simulate_trait,
    single_step,
    snp_blup,
)
from genoviz.analyses.genotypes.products import GenotypeMatrix
from genoviz.analyses.genotypes.selection import select_samples

TABLE = "Predictions from packed genotypes, float64"
SIZES = ((20_000, 50_000), (100_000, 50_000))
SMALL = (4_000, 20_000)
DENSE_NOTE = "peer: NumPy inflates the matrix, builds G and solves, 1 run"


def measure(backend: str) -> list[Row]:
    """Return times of iterations, of whole evaluations, and of simulating what they need."""
    rows = [_simulation()] if backend == "cpu" else []
    for size in SIZES:
        rows.append(_iteration(simulate_genotypes(*size, n_contigs=20, seed=1), backend))
    return rows + _evaluations(backend) + _single_step(backend)


def _row(case: str, seconds: float, *, peer: float | None = None, note: str = "") -> Row:
    return make_row(
        TABLE, case, ours=seconds, peer=peer, unit="s", higher_is_better=False, note=note
    )


def _simulation() -> Row:
    n, m = 100_000, 10_000
    seconds = median_seconds(lambda: simulate_genotypes(n, m, n_populations=4), n_runs=3)
    note = f"{n * m / seconds / 1e9:.2f} billion genotypes a second"
    return _row(f"simulate {n:,} samples at {m:,} linked variants", seconds, note=note)


def _iteration(genotypes: Genotypes, backend: str) -> Row:
    """Measure iterations of SNP-BLUP beside the two products that each consists of."""
    phenotype = simulate_trait(genotypes, seed=1, backend=backend).phenotype
    options = {"tolerance": 1e-300, "max_iterations": 12, "backend": backend}
    *_, last = iter_snp_blup(genotypes, phenotype, **options)
    *_, last = iter_snp_blup(genotypes, phenotype, **options)
    matrix = GenotypeMatrix(genotypes, backend=backend)
    effects, values = np.ones(genotypes.n_variants), np.ones(genotypes.n_samples)
    products = median_seconds(
        lambda: (matrix.multiply(effects), matrix.multiply_transposed(values)), n_runs=9
    )
    note = f"the two products alone take {products:.3f} s"
    size = f"{genotypes.n_samples:,} x {genotypes.n_variants:,}"
    return _row(f"SNP-BLUP, {size}: one iteration", last.seconds / last.iteration, note=note)


def _evaluations(backend: str) -> list[Row]:
    genotypes = simulate_genotypes(*SMALL, n_contigs=20, seed=1)
    phenotype = simulate_trait(genotypes, seed=1, backend=backend).phenotype
    start = time.perf_counter()
    expected = _solve_dense(genotypes, phenotype)
    dense = time.perf_counter() - start
    size = f"{SMALL[0]:,} x {SMALL[1]:,}"
    rows = []
    for name, blup in (("SNP-BLUP", snp_blup), ("GBLUP", gblup)):
        found = blup(genotypes, phenotype, backend=backend)
        np.testing.assert_allclose(found.breeding_values, expected, atol=1e-4)
        seconds = median_seconds(lambda blup=blup: blup(genotypes, phenotype, backend=backend))
        note = f"{found.iteration} iterations to 1e-13; {DENSE_NOTE}"
        rows.append(_row(f"{name}, {size}", seconds, peer=dense, note=note))
    seconds = median_seconds(
        lambda: cross_validate(genotypes, phenotype, backend=backend), n_runs=3
    )
    return [*rows, _row(f"cross-validation in 5 folds, {size}", seconds)]


def _solve_dense(genotypes: Genotypes, phenotype: np.ndarray) -> np.ndarray:
    """Return breeding values at a heritability of 1/2, as one does without packed products."""
    z = genotypes.dosages(slice(None)).astype(np.float64)
    frequencies = z.mean(axis=0) / 2
    z -= 2 * frequencies
    relationships = z @ z.T / (2 * (frequencies * (1 - frequencies)).sum())
    variances = relationships + np.eye(len(z))
    ones = np.ones(len(z))
    by_phenotype, by_ones = np.linalg.solve(variances, np.column_stack([phenotype, ones])).T
    intercept = ones @ by_phenotype / (ones @ by_ones)
    return relationships @ (by_phenotype - intercept * by_ones)


def _single_step(backend: str) -> list[Row]:
    pedigree = simulate_pedigree(1_000, 9, seed=1)
    founders = simulate_genotypes(1_000, 4_000, n_contigs=20, seed=2)
    everybody = drop_genotypes(pedigree, founders, seed=3)
    phenotype = simulate_trait(everybody, seed=4, backend=backend).phenotype
    genotypes = select_samples(everybody, np.arange(7_000, 10_000))
    rows = []
    for form in ("ssSNPBLUP", "ssGTABLUP"):
        start = time.perf_counter()
        found = single_step(genotypes, pedigree, phenotype, form=form, backend=backend)
        seconds = time.perf_counter() - start
        note = f"{found.iteration} iterations to 1e-13, {found.seconds:.2f} s of it"
        rows.append(
            _row(f"{form}, 10,000 animals, 3,000 genotyped at 4,000 variants", seconds, note=note)
        )
    return rows
