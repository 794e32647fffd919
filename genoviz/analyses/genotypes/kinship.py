"""KING-robust kinship, and selection of unrelated samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from genoviz.analyses.genotypes.sex_chromosomes import Contigs, take_autosomes
from genoviz.backend import load_kernel
from genoviz.errors import ParameterError
from genoviz.generators import Progress, in_one_go
from genoviz.model import packing_loops
from genoviz.model.genotypes.genotypes import Genotypes

WHAT = "Kinship"
_BLOCK_VARIANTS = 1 << 14
_WORDS_OF_STEP = 1 << 26
_TILE_WORDS = 1 << 16
_HOM1, _HET, _HOM2 = 0, 1, 2


@dataclass(frozen=True, eq=False)
class KinshipPairs:
    """Kinship of pairs of samples.

    Attributes
    ----------
    first, second
        int64, shape (n_pairs,): sample indices, first < second, sorted by first and second.
    n_variants
        int64, shape (n_pairs,): variants with genotypes in both samples.
    n_both_heterozygous, n_opposite
        int64, shape (n_pairs,): of these, variants at which both are heterozygous, and at which
        they are homozygous for different alleles (IBS0).
    kinship
        float64, shape (n_pairs,): about 0.5 for duplicates and twins, 0.25 for parent and child
        and for full siblings, 0.125 for second degree, 0 or less for unrelated pairs; NaN if
        either sample has no heterozygous genotype.
    """

    first: np.ndarray
    second: np.ndarray
    n_variants: np.ndarray
    n_both_heterozygous: np.ndarray
    n_opposite: np.ndarray
    kinship: np.ndarray

    def __len__(self) -> int:
        return len(self.first)


def iter_king_kinship(
    genotypes: Genotypes, *, at_least: float | None = None, contigs: Contigs = "autosomes"
) -> Iterator[Progress]:
    """Compute the kinship of all pairs of samples; the last step has the `KinshipPairs`.

    The KING-robust between-family estimator, as ``plink2 --make-king-table``. N1 and N2 are the
    heterozygous counts of the two samples at the variants with genotypes in both::

        kinship = (both heterozygous - 2 opposite) / (2 min) + 1/2 - (N1 + N2) / (4 min),
        min = min(N1, N2)

    The estimator uses no allele frequencies, so it is robust to population structure. Memory is
    3/8 of a byte per genotype, plus the pairs that are kept.

    Parameters
    ----------
    genotypes
        The genotypes.
    at_least
        Minimum kinship of the pairs to keep; all if None.
    contigs
        As for `iter_relationship_matrix`.

    Raises
    ------
    ParameterError
        If ``contigs`` is unknown, or there are no autosomal variants.

    References
    ----------
    Manichaikul et al. 2010, Robust relationship inference in genome-wide association studies,
    doi:10.1093/bioinformatics/btq559.
    """
    genotypes, _ = take_autosomes(genotypes, contigs)
    yield Progress(WHAT, 0.0)
    kernel = load_kernel("linkage", "cpu")
    n, m = genotypes.n_samples, genotypes.n_variants
    planes = np.zeros((n, 3, (m + 63) // 64), np.uint64)
    for start in range(0, m, _BLOCK_VARIANTS):
        stop = min(start + _BLOCK_VARIANTS, m)
        turned = packing_loops.transpose(np.ascontiguousarray(genotypes.packed[start:stop]), n)
        planes[:, :, start // 64 : -(-stop // 64)] = kernel.make_planes(turned, stop - start)
        yield Progress(WHAT, 0.1 * stop / m)
    parts = [_empty()]
    n_words = max(planes.shape[2], 1)
    side = max(16, min(1024, _TILE_WORDS // n_words))
    n_done, n_since = 0, 0
    for rows in _slices(n, side):
        for columns in _slices(n, side):
            if columns.stop <= rows.start + 1:
                continue
            first, second = (
                each.ravel()
                for each in np.meshgrid(
                    np.arange(rows.start, rows.stop),
                    np.arange(columns.start, columns.stop),
                    indexing="ij",
                )
            )
            is_above = first < second
            pairs = first[is_above], second[is_above]
            found = _kinship(*pairs, kernel.joint_counts(planes, *pairs))
            parts.append(found if at_least is None else _filtered(found, at_least))
            n_done += len(pairs[0])
            n_since += len(pairs[0]) * n_words
            if n_since > _WORDS_OF_STEP:
                n_since = 0
                yield Progress(WHAT, 0.1 + 0.9 * n_done / (n * (n - 1) / 2))
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.lexsort((columns[1], columns[0]))
    yield Progress(WHAT, 1.0, KinshipPairs(*(column[order] for column in columns)))


@in_one_go(iter_king_kinship)
def king_kinship(last: Progress) -> KinshipPairs:
    """Return the kinship of all pairs of samples; see `iter_king_kinship`.

    Examples
    --------
    >>> from genoviz import simulate_genotypes
    >>> len(king_kinship(simulate_genotypes(5, 400, seed=1)))
    10
    """
    return last.result


def unrelated_samples(pairs: KinshipPairs, n_samples: int, *, at_least: float) -> np.ndarray:
    """Return samples such that no two are related: int64, ascending.

    Greedy: while pairs remain, drop the relative of a sample that has no other relatives. If every
    sample has several, drop the one with the most. The set is large but not always maximum. Ties
    drop the last sample.

    Parameters
    ----------
    pairs
        All pairs with at least this kinship; others are ignored.
    n_samples
        Number of samples in the genotypes.
    at_least
        Kinship threshold: 0.177 for first degree, 0.0884 for second, 0.0442 for third.

    Raises
    ------
    ParameterError
        If a sample index is out of range.
    """
    if len(pairs) and pairs.second.max() >= n_samples:
        raise ParameterError(
            f"a pair has sample {pairs.second.max():,}, needs to be below {n_samples:,}"
        )
    is_related = pairs.kinship >= at_least
    first, second = pairs.first[is_related], pairs.second[is_related]
    relatives: list[set[int]] = [set() for _ in range(n_samples)]
    for one, other in zip(first.tolist(), second.tolist(), strict=True):
        relatives[one].add(other)
        relatives[other].add(one)
    n_relatives = np.array([len(each) for each in relatives])
    is_kept = np.ones(n_samples, bool)
    while n_samples and n_relatives.max() > 0:
        has_one = n_relatives == 1
        if has_one.any():
            gone = max(relatives[int(has_one.argmax())])
        else:
            gone = n_samples - 1 - int(n_relatives[::-1].argmax())
        is_kept[gone], n_relatives[gone] = False, 0
        for other in relatives[gone]:
            relatives[other].remove(gone)
            n_relatives[other] -= 1
    return np.flatnonzero(is_kept)


def _empty() -> tuple[np.ndarray, ...]:
    return (*(np.empty(0, np.int64) for _ in range(5)), np.empty(0))


def _kinship(first: np.ndarray, second: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the columns of `KinshipPairs` from the joint counts of pairs."""
    both = counts[:, _HET, _HET]
    opposite = counts[:, _HOM1, _HOM2] + counts[:, _HOM2, _HOM1]
    ones, others = counts[:, _HET].sum(1), counts[:, :, _HET].sum(1)
    fewer = np.minimum(ones, others)
    with np.errstate(divide="ignore", invalid="ignore"):
        kinship = (both - 2 * opposite) / (2 * fewer) + 0.5 - (ones + others) / (4 * fewer)
    kinship[fewer == 0] = np.nan
    return first, second, counts.sum((1, 2)), both, opposite, kinship


def _filtered(columns: tuple[np.ndarray, ...], at_least: float) -> tuple[np.ndarray, ...]:
    is_in = columns[-1] >= at_least
    return tuple(column[is_in] for column in columns)


def _slices(n: int, size: int) -> Iterator[slice]:
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))
