"""Conflicts of parents and progeny: loci where they are homozygous for different alleles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from genoviz.analyses.genotypes.variant_blocks import variant_blocks
from genoviz.errors import ParameterError
from genoviz.generators import Progress, in_one_go
from genoviz.model.genotypes.genotypes import Genotypes

_BLOCK_GENOTYPES = 1 << 24


@dataclass(frozen=True, eq=False)
class ParentageConflicts:
    """How often parents and progeny are homozygous for different alleles.

    Attributes
    ----------
    of_pairs
        int64, shape (n_pairs,): at how many variants.
    of_variants
        int64, shape (n_variants,): in how many pairs.
    """

    of_pairs: np.ndarray
    of_variants: np.ndarray


def iter_parentage_conflicts(
    genotypes: Genotypes, progeny: np.ndarray, parents: np.ndarray
) -> Iterator[Progress]:
    """Count in blocks of variants; the last step has the result of `parentage_conflicts`."""
    progeny, parents = np.asarray(progeny, np.int64), np.asarray(parents, np.int64)
    both = np.concatenate([progeny, parents])
    if progeny.shape != parents.shape or progeny.ndim != 1:
        raise ParameterError(
            f"progeny has shape {progeny.shape}, and parents {parents.shape}, need the same (n,)"
        )
    if len(both) and not 0 <= both.min() <= both.max() < genotypes.n_samples:
        raise ParameterError(
            f"pairs are of samples {both.min()} to {both.max()}, there are 0 to "
            f"{genotypes.n_samples - 1}"
        )
    of_pairs = np.zeros(len(progeny), np.int64)
    of_variants = np.zeros(genotypes.n_variants, np.int64)
    for block in variant_blocks(genotypes, n_values=_BLOCK_GENOTYPES) if len(progeny) else ():
        dosages = np.ascontiguousarray(genotypes.dosages(block))
        step = max(1, _BLOCK_GENOTYPES // dosages.shape[1])
        for first in range(0, len(progeny), step):
            pairs = slice(first, first + step)
            own, of_parent = dosages[progeny[pairs]], dosages[parents[pairs]]
            # Of 0 and 2, in either order; of two heterozygotes the sum is 2 too.
            is_conflict = (own + of_parent == 2) & (own != 1)
            of_pairs[pairs] += is_conflict.sum(axis=1)
            of_variants[block] += is_conflict.sum(axis=0)
        yield Progress("comparing parents and progeny", block.stop / genotypes.n_variants)
    found = ParentageConflicts(of_pairs, of_variants)
    yield Progress("comparing parents and progeny", 1.0, found)


@in_one_go(iter_parentage_conflicts)
def parentage_conflicts(last: Progress) -> ParentageConflicts:
    """Return the numbers of opposite homozygotes of pairs of parent and progeny.

    Mendelian inheritance allows none, so many of them mean a wrong parent, a wrong sample, or, at
    one variant in many pairs, a poor variant. Missing genotypes are no conflict.

    Parameters
    ----------
    genotypes
        Genotypes of autosomes.
    progeny, parents
        int64, shape (n_pairs,): samples.

    Raises
    ------
    ParameterError
        If a sample is out of range.

    References
    ----------
    Wiggans et al. 2009, Selection of single-nucleotide polymorphisms and quality of genotypes used
    in genomic evaluation of dairy cattle in the United States and Canada,
    doi:10.3168/jds.2008-1758
    """
    return last.result
