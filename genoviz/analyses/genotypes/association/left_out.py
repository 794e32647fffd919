"""The chromosomes that mixed models leave out in turn: their variants, and products with these."""

from __future__ import annotations

from typing import Literal

import numpy as np

from genoviz.analyses.genotypes.products import GenotypeMatrix
from genoviz.backend import Backend
from genoviz.errors import ParameterError
from genoviz.model.genotypes.chromosomes import chromosome_names
from genoviz.model.genotypes.genotypes import Genotypes

LeaveOut = Literal["chromosome", "none"]
LEAVE_OUT = ("chromosome", "none")


class Chromosome:
    """A chromosome whose variants are left out of the relationships when they are tested.

    Attributes
    ----------
    name
        Name of the chromosome.
    rows
        int64: indices of its variants.
    genotypes, counts, matrix
        Packed genotypes, samples of each code, and Z, the centred dosages of its variants.
    scale
        2 sum p(1 - p).
    squares
        float64: sums of squares of the columns of Z.
    """

    def __init__(
        self,
        name: str,
        rows: np.ndarray,
        genotypes: Genotypes,
        counts: np.ndarray,
        backend: Backend,
    ) -> None:
        first, last = int(rows[0]), int(rows[-1]) + 1
        taken = slice(first, last) if last - first == len(rows) else rows
        self.name, self.rows, self.counts = name, rows, counts[rows]
        self.genotypes = genotypes.take_variants(taken)
        self.matrix = GenotypeMatrix(self.genotypes, counts=self.counts, backend=backend)
        p = self.matrix.frequencies
        self.scale = float(2 * (p * (1 - p)).sum())
        self.squares = (self.counts * self.matrix.values**2).sum(1)

    def take(self, variants: slice | np.ndarray, backend: Backend) -> GenotypeMatrix:
        """Return Z of some of the variants."""
        return GenotypeMatrix(
            self.genotypes.take_variants(variants), counts=self.counts[variants], backend=backend
        )


def split_chromosomes(
    genotypes: Genotypes, counts: np.ndarray, leave_out: LeaveOut, backend: Backend
) -> list[Chromosome]:
    """Return the chromosomes to leave out in turn, or all variants as one."""
    if leave_out == "none":
        groups = {"": np.arange(genotypes.n_variants)}
    else:
        groups = _group_chromosomes(genotypes)
    found = [Chromosome(k, rows, genotypes, counts, backend) for k, rows in groups.items()]
    total = sum(each.scale for each in found)
    minimum = 0.0 if leave_out == "none" else max(each.scale for each in found)
    if not total - minimum > 1e-9 * total:
        raise ParameterError(
            "relationships need variants that vary on another chromosome than the tested one; "
            "leave-out 'none' (no LOCO) takes those of the same chromosome"
        )
    return found


def _group_chromosomes(genotypes: Genotypes) -> dict[str, np.ndarray]:
    """Return the variants of each chromosome, by its first contig: ``1`` and ``chr1`` are one."""
    ids = genotypes.variants.contig_ids
    used = np.unique(ids)
    contigs = [genotypes.variants.contigs[k] for k in used.tolist()]
    names = np.array(chromosome_names(contigs, genotypes.n_autosomes), np.str_)
    firsts = np.unique(names, return_index=True)[1]
    return {
        contigs[k]: np.flatnonzero(np.isin(ids, used[names == names[k]]))
        for k in np.sort(firsts).tolist()
    }
