"""Polygenic scores: weighted sums of allele dosages."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from genoviz.analyses.genotypes.code_values import frequencies_of_counts
from genoviz.analyses.genotypes.dosage_blocks import CentredDosages, iter_dosage_blocks
from genoviz.analyses.genotypes.products import GenotypeMatrix, allele_counts
from genoviz.analyses.genotypes.sample_statistics import IS_MISSING, sums_of_codes
from genoviz.analyses.genotypes.sex_chromosomes import Contigs, take_autosomes
from genoviz.analyses.genotypes.variant_blocks import product_blocks
from genoviz.backend import Backend, array_module, to_host
from genoviz.errors import ParameterError, n_words
from genoviz.generators import Progress, in_one_go
from genoviz.model.genotypes.genotypes import MISSING_CODE, Genotypes

WHAT = "Scoring"
_COMPLEMENT = {"A": "T", "C": "G", "G": "C", "T": "A"}


@dataclass(frozen=True, eq=False)
class SampleScores:
    """Polygenic scores of samples.

    Attributes
    ----------
    sums
        float64, shape (n_samples, k): weighted sums of the dosages of the named alleles; missing
        genotypes are replaced by the mean.
    averages
        float64, shape (n_samples, k): the sums divided by twice the number of variants.
    n_alleles
        int64, shape (n_samples,): twice the number of variants with a genotype in the sample.
    dosage_sums
        float64, shape (n_samples,): sum of the dosages of the named alleles, without missing
        genotypes.
    n_variants
        Number of variants used.
    notes
        Which rows were skipped and why, and how many are ambiguous, one sentence each.
    """

    sums: np.ndarray
    averages: np.ndarray
    n_alleles: np.ndarray
    dosage_sums: np.ndarray
    n_variants: int
    notes: tuple[str, ...] = ()


def iter_score(
    genotypes: Genotypes,
    ids: Sequence[str],
    alleles: Sequence[str],
    weights: np.ndarray,
    *,
    contigs: Contigs = "autosomes",
    backend: Backend = "auto",
) -> Iterator[Progress]:
    """Score samples by weights of alleles; the last step has the `SampleScores`.

    Each row of weights names a variant by ID and one of its alleles, A1 or A2, as in ``plink2
    --score``. Rows are skipped if there is no such variant, the allele matches neither of its
    alleles, or no sample has a genotype. Alleles are never complemented. Notes count the rows whose
    allele matches only as a complement, and the strand-ambiguous variants (A/T and C/G).

    Parameters
    ----------
    genotypes
        The genotypes, with stored dosages. Missing ones are replaced by the mean of the variant.
    ids, alleles
        Variant ID and allele of each row, n_rows each.
    weights
        Numbers, shape (n_rows,) or (n_rows, k).
    contigs
        ``"autosomes"``: skip variants of X, Y and mitochondria; ``"all"``: include them, with the
        dosages of the file.
    backend
        Where to compute.

    Raises
    ------
    ParameterError
        If shapes do not match, a weight is not a number, an ID occurs twice or belongs to several
        variants, or no row can be used.
    """
    weights = np.asarray(weights, np.float64)
    weights = weights[:, None] if weights.ndim == 1 else weights
    if weights.ndim != 2 or len(weights) != len(ids) or len(alleles) != len(ids):
        raise ParameterError(
            f"{len(ids):,} IDs, {len(alleles):,} alleles and weights of shape {weights.shape} do "
            "not fit each other"
        )
    if not np.isfinite(weights).all():
        row = int(np.flatnonzero(~np.isfinite(weights).all(1))[0])
        raise ParameterError(f"a weight of {str(ids[row])!r} is not a number")
    taken, _ = take_autosomes(genotypes, contigs)
    rows, variants, counts, is_a1, notes = _match(genotypes, taken, ids, alleles, backend)
    if not len(rows):
        raise ParameterError(
            f"none of {n_words(len(ids), 'row')} counts. {' '.join(notes)}".rstrip(".")
        )
    part = taken.take_variants(variants)
    signed = weights[rows] * np.where(is_a1, 1.0, -1.0)[:, None]
    n = genotypes.n_samples
    totals = np.zeros((n, weights.shape[1])), np.zeros(n, np.int64), np.zeros(n)
    has_stored = part.has_stored_dosages
    for add, is_in in ((_add_calls, ~has_stored), (_add_dosages, has_stored)):
        some = np.flatnonzero(is_in)
        if len(some):
            steps = add(part.take_variants(some), counts[some], is_a1[some], signed[some], backend)
            for total, of_some in zip(totals, (yield from steps), strict=True):
                total += of_some
    sums, n_called, dosages = totals
    sums += 2 * weights[rows][~is_a1].sum(0)
    result = SampleScores(
        sums=sums,
        averages=sums / (2 * len(rows)),
        n_alleles=2 * n_called,
        dosage_sums=dosages,
        n_variants=len(rows),
        notes=notes,
    )
    yield Progress(WHAT, 1.0, result)


@in_one_go(iter_score)
def score(last: Progress) -> SampleScores:
    """Return polygenic scores of samples; see `iter_score`.

    Examples
    --------
    >>> from genoviz import simulate_genotypes
    >>> genotypes = simulate_genotypes(4, 50, seed=1)
    >>> ids, a2 = genotypes.variants.ids[:3], genotypes.variants.allele2[:3]
    >>> found = score(genotypes, ids, a2, np.array([1.0, 1.0, 1.0]))
    >>> (found.sums[:, 0] == 6 - genotypes.dosages(slice(3)).sum(1)).all()
    np.True_
    """
    return last.result


Sums = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Sums of dosages of A1 times weights, missing ones the mean; genotypes of each sample; and sums of
the dosages of the named alleles."""


def _add_calls(
    genotypes: Genotypes,
    counts: np.ndarray,
    is_a1: np.ndarray,
    weights: np.ndarray,
    backend: Backend,
) -> Generator[Progress, None, Sums]:
    """Return the sums over variants, of hard calls; ``counts`` are those of their genotypes."""
    n, k = genotypes.n_samples, weights.shape[1]
    columns = np.column_stack([weights, np.where(is_a1, 1.0, -1.0)])
    sums, missing = np.zeros((n, k + 1)), np.zeros((n, k + 2))
    for block in product_blocks(genotypes, backend=backend):
        part = genotypes.take_variants(block)
        matrix = GenotypeMatrix(part, centre=False, missing="zero", backend=backend)
        sums += matrix.multiply(columns[block])
        yield Progress(WHAT, 0.7 * block.stop / genotypes.n_variants)
    holed = np.flatnonzero(counts[:, MISSING_CODE])
    part = genotypes.take_variants(holed)
    means = 2 * frequencies_of_counts(counts[holed])[:, None]
    columns = np.column_stack([weights[holed] * means, np.ones(len(holed)), ~is_a1[holed]])
    for block in product_blocks(part, backend=backend):
        packed = np.ascontiguousarray(part.packed[block])
        missing += sums_of_codes(packed, n, IS_MISSING, columns[block], backend)
        yield Progress(WHAT, 0.7 + 0.3 * block.stop / len(holed))
    n_missing = np.rint(missing[:, k:]).astype(np.int64)
    dosages = np.rint(sums[:, k]) + 2.0 * (int((~is_a1).sum()) - n_missing[:, 1])
    return sums[:, :k] + missing[:, :k], len(counts) - n_missing[:, 0], dosages


def _add_dosages(
    genotypes: Genotypes, _: np.ndarray, is_a1: np.ndarray, weights: np.ndarray, backend: Backend
) -> Generator[Progress, None, Sums]:
    """Return the sums over variants, of stored dosages."""
    xp = array_module(backend)
    sums = xp.zeros((genotypes.n_samples, weights.shape[1]))
    n_called, dosages = xp.zeros(genotypes.n_samples, np.int64), xp.zeros(genotypes.n_samples)
    for block, values in iter_dosage_blocks(genotypes, backend=backend):
        found, signs = CentredDosages.of(values), xp.asarray(np.where(is_a1[block], 1.0, -1.0))
        is_there = ~found.is_missing
        filled = found.values + xp.asarray(found.means)[:, None]
        sums += filled.T @ xp.asarray(weights[block])
        n_called += is_there.sum(0)
        dosages += signs @ xp.where(is_there, filled, 0.0)
        dosages += 2.0 * is_there[xp.asarray(~is_a1[block])].sum(0)
        yield Progress(WHAT, (int(block[-1]) + 1) / genotypes.n_variants)
    return tuple(map(to_host, (sums, n_called, dosages)))


def _match(
    genotypes: Genotypes,
    taken: Genotypes,
    ids: Sequence[str],
    alleles: Sequence[str],
    backend: Backend,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, tuple[str, ...]]:
    """Return the usable rows, their variants and counts of genotypes, if they name A1; notes."""
    row_of = {str(name): row for row, name in enumerate(ids)}
    if len(row_of) < len(ids):
        seen: set[str] = set()
        twice = next(str(name) for name in ids if str(name) in seen or seen.add(str(name)))
        raise ParameterError(f"{twice!r} is there twice, needs to be there once")
    found = np.array([row_of.get(name, -1) for name in taken.variants.ids.tolist()], np.int64)
    variants = np.flatnonzero(found >= 0)
    rows = found[variants]
    if len(rows) and np.bincount(rows).max() > 1:
        name = ids[int(np.bincount(rows).argmax())]
        raise ParameterError(f"{str(name)!r} is the ID of several variants, needs to be of one")
    named = np.array([str(alleles[row]) for row in rows.tolist()], np.str_)
    a1, a2 = taken.variants.allele1[variants], taken.variants.allele2[variants]
    is_a1, is_a2 = named == a1, named == a2
    fits = is_a1 | is_a2
    other = np.array([_COMPLEMENT.get(allele, "") for allele in named.tolist()], np.str_)
    is_other = ~fits & ((other == a1) | (other == a2))
    complement = np.array([_COMPLEMENT.get(allele, "") for allele in a1.tolist()], np.str_)
    is_ambiguous = complement == a2
    part = taken.take_variants(variants)
    counts = allele_counts(part, backend=backend)
    called = counts[:, [0, 2, 3]].any(1)
    for block, dosages in iter_dosage_blocks(part):
        called[block] = ~np.isnan(dosages).all(1)
    is_used = fits & called
    n_absent = len(ids) - len(rows)
    everywhere = {*genotypes.variants.ids.tolist()}
    n_unknown = sum(str(name) not in everywhere for name in ids)
    sentences = (
        (n_unknown, "that name no variant, and do not count"),
        (n_absent - n_unknown, "that name a variant of X, Y or MT, and do not count"),
        (int((~fits).sum()), "that name an allele that their variant lacks, and do not count"),
        (int(is_other.sum()), "of these that would fit on the other strand"),
        (int((fits & ~called).sum()), "of variants without any genotype, which do not count"),
        (int((is_used & is_ambiguous).sum()),
         "that count at variants of A and T or C and G, of unknown strand"),
    )  # fmt: skip
    notes = tuple(f"Rows {what}: {n:,} of {len(ids):,}." for n, what in sentences if n)
    return rows[is_used], variants[is_used], counts[is_used], is_a1[is_used], notes
