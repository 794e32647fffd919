"""The chromosomes that mixed models leave out in turn: their variants, and products with these."""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from typing import Any, Literal

import numpy as np

from genoviz.analyses.genotypes.matrix_parts import module_of
from genoviz.analyses.genotypes.prediction.conjugate_gradient import iter_conjugate_gradient
from genoviz.analyses.genotypes.products import GenotypeMatrix
from genoviz.analyses.genotypes.variances.covariances import MAX_SOLVING
from genoviz.backend import Backend, resolve_backend, to_device, to_host
from genoviz.errors import ParameterError
from genoviz.generators import Progress
from genoviz.model.columns import distinct
from genoviz.model.genotypes.chromosomes import chromosome_names
from genoviz.model.genotypes.genotypes import Genotypes

LeaveOut = Literal["chromosome", "none"]
LEAVE_OUT = ("chromosome", "none")
_ROUGH, _CLOSER = 1e-11, 0.01
"""Least squared relative residual from rough products alone, and what they have to bring it to."""


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
    places
        The rows as a slice if they are contiguous.
    of
        Genotypes and counts of all chromosomes.
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
        self.places = slice(first, last) if last - first == len(rows) else rows
        self.name, self.rows, self.counts = name, rows, counts[rows]
        self.genotypes = genotypes.take_variants(self.places)
        self.of = genotypes, counts
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
    used = distinct(ids)
    contigs = [genotypes.variants.contigs[k] for k in used.tolist()]
    names = np.array(chromosome_names(contigs, genotypes.n_autosomes), np.str_)
    firsts = np.unique(names, return_index=True)[1]
    return {
        contigs[k]: np.flatnonzero(np.isin(ids, used[names == names[k]]))
        for k in np.sort(firsts).tolist()
    }


def find_owners(chromosomes: list[Chromosome]) -> np.ndarray:
    """Return the chromosome of each variant: int64."""
    owners = np.empty(sum(len(each.rows) for each in chromosomes), np.int64)
    for k, each in enumerate(chromosomes):
        owners[each.rows] = k
    return owners


class Relationships:
    """Products with the relationships from all variants, or from all chromosomes but one.

    On a CPU, all chromosomes are multiplied at once, and there are rough products too: float32
    takes half the time. On a GPU, each chromosome's genotypes are in its memory.
    """

    def __init__(self, chromosomes: list[Chromosome], takes_all: bool, backend: Backend) -> None:
        self._chromosomes, self._backend = chromosomes, backend
        self._scale = sum(each.scale for each in chromosomes)
        self._takes_all = takes_all
        self._parts = self._rough_parts = [
            (each.matrix, {k: slice(None)}) for k, each in enumerate(chromosomes)
        ]
        if resolve_backend(backend) == "cpu":
            genotypes, counts = chromosomes[0].of
            places = {k: each.places for k, each in enumerate(chromosomes)}
            self._parts, self._rough_parts = (
                [(GenotypeMatrix(genotypes, counts=counts, dtype=dtype, backend=backend), places)]
                for dtype in (np.float64, np.float32)
            )

    def place(self, columns: np.ndarray) -> Any:
        """Return columns in the memory of the device."""
        return to_device(columns, self._backend)

    def multiply_all(self, columns: Any) -> Any:
        """Return the relationships from all variants times columns, where these are."""
        there = self.place(columns)
        total = sum(_square(matrix, there) for matrix, _ in self._parts) / self._scale
        return to_host(total) if isinstance(columns, np.ndarray) else total

    def multiply_each(self, columns: Any, owners: np.ndarray, *, is_rough: bool) -> Any:
        """Return the product for each column, leaving out the variants of its chromosome.

        The columns are on the device.
        """
        module = module_of(columns)
        total = module.zeros_like(columns)
        for matrix, places in self._rough_parts if is_rough else self._parts:
            effects = matrix.multiply_transposed(columns)
            for column, owner in enumerate(owners.tolist()):
                if owner in places and not self._takes_all:
                    effects[places[owner], column] = 0.0
            total += matrix.multiply(effects)
        left_out = [0.0 if self._takes_all else each.scale for each in self._chromosomes]
        total /= module.asarray(self._scale - np.array(left_out)[owners])
        return total


def _square(matrix: GenotypeMatrix, columns: Any) -> Any:
    return matrix.multiply(matrix.multiply_transposed(columns))


class Solving:
    """Products with P in the models of all chromosomes, by conjugate gradients.

    Parameters
    ----------
    relationships
        Those of the chromosomes.
    basis
        float64, shape (n, c): orthonormal, spans the fixed effects.
    variances
        float64, shape (2,): genetic and residual variance.
    """

    def __init__(
        self, relationships: Relationships, basis: np.ndarray, variances: np.ndarray
    ) -> None:
        self._relationships, self._variances = relationships, variances.tolist()
        self._basis = relationships.place(basis)

    def __call__(
        self,
        columns: np.ndarray,
        owners: np.ndarray,
        tolerance: float,
        what: str,
        start: float,
        share: float,
    ) -> Generator[Progress, None, tuple[np.ndarray, np.ndarray]]:
        """Return P @ columns, each in the model of its chromosome, and their residuals.

        Equations are solved with rough products. Their residuals, from fine products, are solved
        for in turn until their squared relative norms are within the tolerance; with fine products
        once rough ones get no closer.
        """
        right = self._relationships.place(columns)
        solution, rest, is_rough = module_of(right).zeros_like(right), right.copy(), True
        squares = _squares(rest)
        limits, done = tolerance * squares, 0.0
        while len(places := np.flatnonzero(squares > limits)):
            before, limit, mine = squares[places], limits[places], owners[places]
            # Scaled, because float32 has no very small or large numbers.
            norms = module_of(right).asarray(np.sqrt(before))
            for step in iter_conjugate_gradient(
                partial(self._multiply, owners=mine, is_rough=is_rough),
                _take(rest, places) / norms,
                lambda column: column.copy(),
                tolerance=np.maximum(limit / (2 * before), _ROUGH if is_rough else 0),
                max_iterations=MAX_SOLVING,
            ):
                left = (step.residuals[-1] * before / limit).max()
                done = max(done, 1 + np.log(max(left, 1)) / np.log(tolerance))
                yield Progress(what, start + share * done)
            found = _take(solution, places) + norms * step.solution
            (image,) = self._multiply(found, owners=mine, is_rough=False)
            image = _take(right, places) - image
            after = _squares(image)
            is_closer = after < before
            _put(solution, found, places, is_closer)
            _put(rest, image, places, is_closer)
            squares[places[is_closer]] = after[is_closer]
            if not ((after <= limit) | (is_rough & (after < _CLOSER * before))).all():
                if not is_rough:
                    raise ParameterError(
                        f"the model without variants is not solved after {MAX_SOLVING} steps"
                    )
                is_rough = False
        return to_host(solution), to_host(rest)

    def _multiply(self, columns: Any, *, owners: np.ndarray, is_rough: bool) -> tuple[Any]:
        """Return V @ columns, each in the model of its chromosome."""
        related = self._relationships.multiply_each(columns, owners, is_rough=is_rough)
        related -= self._basis @ (self._basis.T @ related)
        related *= self._variances[0]
        related += self._variances[1] * columns
        return (related,)


class WeightedSolving(Solving):
    """Products with P in models scaled by roots of weights S, which each chromosome has of its own.

    With V = W^-1 + K v, the scaled SVS has residual variance 1, and SX are its fixed effects.

    Parameters
    ----------
    relationships
        Those of the chromosomes.
    basis
        float64, shape (n, c): orthonormal, spans the fixed effects.
    variance
        That of the random effect.
    weights
        float64, shape (n, n_chromosomes).
    """

    def __init__(
        self, relationships: Relationships, basis: np.ndarray, variance: float, weights: np.ndarray
    ) -> None:
        super().__init__(relationships, basis, np.array([variance, 1.0]))
        self.roots = np.sqrt(weights)
        inner = [np.linalg.inv((column[:, None] * basis).T @ basis) for column in weights.T]
        self._parts = basis, self.roots, np.array(inner)
        self._parts_there = tuple(map(relationships.place, self._parts))

    def take(self, columns: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """Return S @ columns, each of its chromosome, without fixed effects."""
        return _project(*self._parts, self.roots[:, owners] * columns, owners)

    def relate(self, columns: np.ndarray) -> np.ndarray:
        """Return K v S @ columns, one of each chromosome."""
        there = self._relationships.place(self.roots * columns)
        owners = np.arange(columns.shape[1])
        related = self._relationships.multiply_each(there, owners, is_rough=False)
        return self._variances[0] * to_host(related)

    def fix(self, columns: np.ndarray) -> np.ndarray:
        """Return (X'WX)^-1 X' @ columns, one of each chromosome: float64, shape (c, k)."""
        basis, _, inner = self._parts
        return np.einsum("kij,jk->ik", inner, basis.T @ columns)

    def _multiply(self, columns: Any, *, owners: np.ndarray, is_rough: bool) -> tuple[Any]:
        """Return SVS @ columns, each in the model of its chromosome."""
        roots = self._parts_there[1][:, module_of(columns).asarray(owners)]
        related = self._relationships.multiply_each(roots * columns, owners, is_rough=is_rough)
        related = _project(*self._parts_there, roots * related, owners)
        related *= self._variances[0]
        related += self._variances[1] * columns
        return (related,)


def _project(basis: Any, roots: Any, inner: Any, columns: Any, owners: np.ndarray) -> Any:
    """Return columns without what SX explains of each; inner are (X'WX)^-1, (chromosomes, c, c)."""
    module = module_of(columns)
    owners = module.asarray(owners)
    mine = roots[:, owners]
    shares = module.einsum("kij,jk->ik", inner[owners], basis.T @ (mine * columns))
    return columns - mine * (basis @ shares)


def _squares(columns: Any) -> np.ndarray:
    """Return the sum of squares of each column, on the host."""
    return to_host((columns * columns).sum(axis=0))


def _take(columns: Any, places: np.ndarray) -> Any:
    """Return some columns, contiguous."""
    module = module_of(columns)
    return module.ascontiguousarray(columns[:, module.asarray(places)])


def _put(columns: Any, found: Any, places: np.ndarray, is_put: np.ndarray) -> None:
    """Replace some of the columns at the places."""
    for k in np.flatnonzero(is_put).tolist():
        columns[:, places[k]] = found[:, k]
