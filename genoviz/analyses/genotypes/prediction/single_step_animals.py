"""ssGTABLUP: equations of all animals, for which a matrix of variants is factorised."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from genoviz.analyses.genotypes.prediction.conjugate_gradient import GradientStep, Products
from genoviz.analyses.genotypes.prediction.preconditioners import Preconditioner, read_values
from genoviz.analyses.genotypes.prediction.single_step_parts import SingleStepParts
from genoviz.errors import ParameterError

MAX_VARIANTS = 20_000
_COLUMNS_AT_ONCE = 64

Factor = tuple[np.ndarray, bool]


def iter_factorise(parts: SingleStepParts) -> Iterator[Factor | None]:
    """Factorise K = Z'BZ / w + ridge I, with B = A_gg^-1; yield None before each part of the work.

    The last item is the Cholesky factor as `scipy.linalg.cho_solve` takes it.

    Raises
    ------
    ParameterError
        If there are more than 20,000 variants.
    """
    from scipy.linalg import cho_factor

    n = parts.n_variants
    if n > MAX_VARIANTS:
        raise ParameterError(
            f"form 'ssGTABLUP' factorises a matrix of {n:,} x {n:,} variants, can do at most "
            f"{MAX_VARIANTS:,}; form 'ssSNPBLUP' has the same solution and no such matrix"
        )
    matrix = np.empty((n, n))
    samples = np.arange(len(parts.genotyped))
    for first in range(0, n, _COLUMNS_AT_ONCE):
        yield None
        variants = np.arange(first, min(n, first + _COLUMNS_AT_ONCE))
        columns = read_values(parts.markers.genotypes, parts.matrix.values, variants, samples).T
        solved = parts.genotyped_inverse.multiply(columns) / parts.weight
        matrix[:, variants] = parts.matrix.multiply_transposed(solved)
    matrix[np.diag_indices(n)] += parts.ridge
    yield cho_factor(matrix, lower=True, overwrite_a=True)


class AnimalEquations:
    """The equations of ssGTABLUP.

    With the inverse of the genomic relationships as B / w - T'T, where T = L^-1 Z'B / w, LL' = K
    (Woodbury), B = A_gg^-1 for the rows of genotyped animals, and l the variance ratio::

        (P + l (A^-1 + (1/w - 1) B - T'T)) u = Py

    The effects of variants are K^-1 Z'B u / w, which comes by the way.
    """

    def __init__(
        self, parts: SingleStepParts, factor: Factor, preconditioner: Preconditioner
    ) -> None:
        self.training = parts.training
        self.right_side = self.training.project(self.training.phenotype)
        self._parts = parts
        self._factor = factor
        self._diagonal = np.ones(parts.n_animals) if preconditioner == "none" else parts.diagonal()

    def multiply(self, direction: np.ndarray) -> Products:
        """Return the left side times breeding values, and the effects of these."""
        from scipy.linalg import cho_solve

        parts, weight = self._parts, self._parts.weight
        of_values = parts.genotyped_inverse.multiply(direction[parts.genotyped])
        projected = parts.matrix.multiply_transposed(of_values / weight)
        effects = cho_solve(self._factor, projected, check_finite=False)
        genomic = parts.genotyped_inverse.multiply(parts.matrix.multiply(effects))
        animals = parts.inverse @ direction
        animals[parts.genotyped] += (1 / weight - 1) * of_values - genomic / weight
        return self.training.project(direction) + parts.ratio * animals, effects

    def precondition(self, residual: np.ndarray) -> np.ndarray:
        """Return roughly the breeding values for a right side."""
        return residual / self._diagonal

    def read(self, step: GradientStep) -> tuple[np.ndarray, np.ndarray]:
        """Return effects and breeding values."""
        effects = step.images[0] if step.images else np.zeros(self._parts.n_variants)
        return effects, step.solution
