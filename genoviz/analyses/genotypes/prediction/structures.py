"""How levels of random effects are related, as equations have it: inverses, or their products."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from genoviz.analyses.genotypes.prediction.markers import Markers
from genoviz.analyses.genotypes.prediction.pedigree_inverse import (
    MAX_INVERTED,
    relationship_inverse,
)
from genoviz.analyses.genotypes.prediction.preconditioners import variant_preconditioner
from genoviz.analyses.genotypes.prediction.preparation import prepare_single_step
from genoviz.analyses.genotypes.prediction.single_step_parts import (
    SingleStepParts,
    check_form,
    iter_factorise,
)
from genoviz.backend import Backend
from genoviz.errors import ParameterError, n_words
from genoviz.generators import last_of
from genoviz.model.genotypes.mixed_model import (
    Descent,
    MarkerEffects,
    PedigreeRelationships,
    SingleStep,
    Structure,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def structure_inverse(structure: Structure, n_levels: int) -> csr_array:
    """Return the inverse of the covariances of levels, in units of their variance.

    Raises
    ------
    ParameterError
        If covariances of more than 6,000 levels are to be inverted.
    """
    from scipy.sparse import coo_array, csr_array, diags_array, eye_array

    if structure is None:
        return eye_array(n_levels, format="csr")
    if isinstance(structure, Descent):
        row = np.arange(len(structure.animals))
        has = structure.parents >= 0
        rows = np.concatenate([row, row[has[:, 0]], row[has[:, 1]]])
        columns = np.concatenate(
            [structure.animals, structure.parents[has[:, 0], 0], structure.parents[has[:, 1], 1]]
        )
        own = np.ones(len(row))
        shares = [np.full(has[:, k].sum(), -structure.shares[k]) for k in (0, 1)]
        data = np.concatenate([own, *shares])
        sampling = csr_array((data, (rows, columns)), shape=(len(row), n_levels))
        return (sampling.T @ diags_array(structure.precisions) @ sampling).tocsr()
    if isinstance(structure, PedigreeRelationships):
        return _ancestry_inverse(structure, n_levels)
    is_off = structure.rows != structure.columns
    rows = np.concatenate([structure.rows, structure.columns[is_off]])
    columns = np.concatenate([structure.columns, structure.rows[is_off]])
    data = np.concatenate([structure.values, structure.values[is_off]])
    matrix = coo_array((data, (rows, columns)), shape=(n_levels, n_levels)).tocsr()
    if structure.is_inverse:
        return matrix
    if n_levels > MAX_INVERTED:
        raise ParameterError(
            f"covariances are of {n_levels:,} levels, can be inverted of at most {MAX_INVERTED:,}"
        )
    there = np.flatnonzero(matrix.diagonal())
    dense = np.zeros((n_levels, n_levels))
    dense[np.ix_(there, there)] = np.linalg.inv(matrix[there][:, there].toarray())
    return csr_array(dense)


def _ancestry_inverse(structure: PedigreeRelationships, n_levels: int) -> csr_array:
    from scipy.sparse import diags_array

    pedigree = structure.pedigree
    n_animals, n_groups = len(pedigree), len(pedigree.groups)
    if n_levels != n_animals + n_groups:
        raise ParameterError(
            f"an effect has {n_words(n_levels, 'level')}, and its pedigree "
            f"{n_words(n_animals + n_groups, 'animal')} "
            "and groups"
        )
    inverse = relationship_inverse(pedigree, has_inbreeding=structure.has_inbreeding)
    added = np.repeat([0.0, structure.group_ridge], [n_animals, n_groups])
    return (inverse + diags_array(added)).tocsr()


class GenomicRows:
    """What random effects with a `SingleStep` add to the left side, which is not built.

    In the form ssSNPBLUP, effects of variants are unknowns after all others.
    """

    def __init__(
        self,
        structure: SingleStep,
        inverse: np.ndarray,
        places: np.ndarray,
        start: int,
        backend: Backend,
    ) -> None:
        check_form(structure.form)
        if structure.rules is not None:
            structure = prepare_single_step(structure, backend=backend).structure
        weight = structure.polygenic_weight
        self._parts = SingleStepParts(
            structure.genotypes,
            structure.pedigree,
            None,
            1.0,
            weight,
            backend,
            genomic_weight=structure.genomic_weight,
            constant=structure.constant,
            omega=structure.omega,
            has_ancestry=structure.has_ancestry,
            frequencies=structure.frequencies,
            has_inbreeding=structure.has_inbreeding,
        )
        if len(places) != self._parts.n_rows:
            raise ParameterError(
                f"an effect has {n_words(len(places), 'level')}, and its pedigree "
                f"{self._parts.n_rows:,} "
                "animals and groups"
            )
        places = places if structure.levels is None else places[structure.levels]
        self._inverse, self._places = inverse, places
        self._width = places.shape[1]
        self._eliminated = None
        self._has_ancestry = structure.has_ancestry
        if structure.form == "ssGTABLUP":
            self._eliminated = last_of(iter_factorise(self._parts))
            self.span = slice(start, start)
            return
        self._rough = np.linalg.pinv(inverse)
        self.span = slice(start, start + self._parts.n_variants * self._width)
        self._precondition = variant_preconditioner(
            "diagonal",
            self._parts.markers,
            np.arange(len(self._parts.genotyped)),
            self._parts.ridge,
            scale=self._parts.genotyped_inverse.diagonal.mean() / weight,
        )

    def begin(self, right_side: np.ndarray) -> None:
        """Leave the right side as it is: effects of variants have none."""

    def fill(self, direction: np.ndarray) -> np.ndarray:
        """Return solutions as they are."""
        return direction

    def add(self, image: np.ndarray, direction: np.ndarray) -> None:
        """Add the product with solutions."""
        values = direction[self._places]
        if self._eliminated is not None:
            image[self._places] += self._eliminated.multiply(values)[0] @ self._inverse
            return
        effects = direction[self.span].reshape(-1, self._width)
        animals, variants = self._parts.multiply(values, effects)
        image[self._places] += animals @ self._inverse
        image[self.span] += (variants @ self._inverse).ravel()

    def add_dense(self, matrix: np.ndarray) -> None:
        """Add to the left side, without effects of variants, which are eliminated."""
        inverse = self._parts.dense_inverse()
        for (k, m), value in np.ndenumerate(self._inverse):
            if value:
                matrix[np.ix_(self._places[:, k], self._places[:, m])] += value * inverse

    def add_blocks(self, blocks: np.ndarray) -> None:
        """Add roughly the blocks of traits of each level."""
        n_traits = blocks.shape[1]
        if self._eliminated is None:
            diagonal = self._parts.diagonal(self._parts.weight)
        else:
            diagonal = self._eliminated.diagonal()
        if not self._has_ancestry:  # others have no equation, and the solution 0
            diagonal = diagonal * np.isin(np.arange(len(diagonal)), self._parts.genotyped)
        for first in range(0, self._width, n_traits):
            own = slice(first, first + n_traits)
            rows = self._places[:, first] // n_traits
            blocks[rows] += diagonal[:, None, None] * self._inverse[own, own]

    def precondition(self, residual: np.ndarray) -> np.ndarray:
        """Return roughly the effects of variants for a right side."""
        if self._eliminated is not None:
            return residual
        return (self._precondition(residual.reshape(-1, self._width)) @ self._rough).ravel()

    def read(self, solution: np.ndarray) -> np.ndarray:
        """Return the effects of variants."""
        if self._eliminated is not None:
            return self._eliminated.multiply(solution[self._places])[1]
        return solution[self.span].reshape(-1, self._width)


class MarkerRows:
    """Random effects with `MarkerEffects`: their levels are Z times effects of variants.

    Only these are unknowns, after all others. Equations of the levels are 0 = 0, which conjugate
    gradients leave alone, and their solutions are filled in.
    """

    def __init__(
        self,
        structure: MarkerEffects,
        inverse: np.ndarray,
        places: np.ndarray,
        start: int,
        backend: Backend,
    ) -> None:
        genotypes = structure.genotypes
        if len(places) != genotypes.n_samples:
            raise ParameterError(
                f"an effect has {n_words(len(places), 'level')}, and its genotypes are of "
                f"{n_words(genotypes.n_samples, 'sample')}"
            )
        self._markers = Markers(genotypes, backend)
        self._matrix = self._markers.matrix
        self._inverse, self._places = inverse, places
        self._width = places.shape[1]
        self.span = slice(start, start + genotypes.n_variants * self._width)

    def begin(self, right_side: np.ndarray) -> None:
        """Move the right side of levels to effects of variants, in place."""
        self._gather(right_side)

    def fill(self, direction: np.ndarray) -> np.ndarray:
        """Return solutions with those of the levels."""
        filled = direction.copy()
        filled[self._places] = self._matrix.multiply(self.read(direction))
        return filled

    def add(self, image: np.ndarray, direction: np.ndarray) -> None:
        """Add the product with solutions, and move that of levels to effects of variants."""
        self._gather(image)
        ridge = self._markers.scale * self._inverse
        image[self.span] += (self.read(direction) @ ridge).ravel()

    def _gather(self, image: np.ndarray) -> None:
        values = np.ascontiguousarray(image[self._places])
        image[self.span] += self._matrix.multiply_transposed(values).ravel()
        image[self._places] = 0.0

    def add_blocks(self, blocks: np.ndarray) -> None:
        """Take what records say of levels in the mean; their blocks have no meaning after that."""
        n_traits = blocks.shape[1]
        rows = self._places[:, ::n_traits] // n_traits
        mean = np.zeros_like(self._inverse)
        for k, own in enumerate(range(0, self._width, n_traits)):
            place = slice(own, own + n_traits)
            mean[place, place] = blocks[rows[:, k]].mean(axis=0)
            blocks[rows[:, k]] += self._inverse[place, place]
        squares = (self._markers.counts * self._matrix.values**2).sum(axis=1)
        own_blocks = squares[:, None, None] * mean + self._markers.scale * self._inverse
        self._inverses = np.linalg.pinv(own_blocks, hermitian=True)

    def precondition(self, residual: np.ndarray) -> np.ndarray:
        """Return roughly the effects of variants for a right side."""
        return np.einsum("mij,mj->mi", self._inverses, residual.reshape(-1, self._width)).ravel()

    def read(self, solution: np.ndarray) -> np.ndarray:
        """Return the effects of variants."""
        return solution[self.span].reshape(-1, self._width)
