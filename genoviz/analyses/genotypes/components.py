"""Principal components of genotypes, by a randomised block Lanczos method."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass

import numpy as np

from genoviz.analyses.genotypes.block_products import BlockProducts
from genoviz.analyses.genotypes.code_values import frequencies_of_counts
from genoviz.analyses.genotypes.products import allele_counts
from genoviz.analyses.genotypes.sex_chromosomes import Contigs, spread_rows, take_autosomes
from genoviz.backend import Backend
from genoviz.errors import ParameterError, n_words
from genoviz.generators import Progress, in_one_go
from genoviz.model.genotypes.genotypes import Genotypes

DEPENDENT = 1e-7
"""Columns this much shorter than the longest, or than the product, are rounding errors."""
OVERSAMPLING = 10
USUAL_ITERATIONS = 10
"""Enough for most data; the progress bar advances by a tenth of the rest at each iteration."""
WHAT = "Principal components"


class BlockLanczos:
    """A fully orthogonalised Krylov basis, extended by the products of its newest columns.

    Multiply `newest` by the matrix, `add` the product, and repeat. All sums over rows are products
    of tall matrices.

    Parameters
    ----------
    n_rows
        Number of rows of the matrix, which must be positive semidefinite.
    n_values
        Number of eigenvalues to find.
    n_columns
        Number of columns of the random start.
    seed
        Seed of the random start.

    Attributes
    ----------
    newest
        float64, shape (n_rows, k): orthonormal; k is 0 once the Krylov space is exhausted.
    residuals
        float64: |A u - l u| / l of each eigenvalue found.

    References
    ----------
    Musco and Musco 2015, Randomized block Krylov methods for stronger and faster approximate
    singular value decomposition, arXiv:1504.05477.
    """

    def __init__(self, n_rows: int, n_values: int, n_columns: int, seed: int) -> None:
        start = np.random.default_rng(seed).standard_normal((n_rows, min(n_columns, n_rows)))
        self.newest = _orthonormal(_orthonormal(start, 0.0), 0.0)
        self.residuals = np.empty(0)
        self._n_values = n_values
        self._blocks: list[np.ndarray] = []
        self._inside = np.empty((0, 0))
        self._values, self._rotation = np.empty(0), np.empty((0, 0))

    def add(self, image: np.ndarray) -> None:
        """Add the product of the matrix with `newest` to the basis."""
        width = self.newest.shape[1]
        self._blocks.append(self.newest)
        across = np.vstack([block.T @ image for block in self._blocks])
        size = len(across)
        inside = np.zeros((size, size))
        inside[: size - width, : size - width] = self._inside
        inside[:, size - width :] = across
        inside[size - width :] = across.T
        inside[size - width :, size - width :] = (across[-width:] + across[-width:].T) / 2
        self._inside = inside
        values, rotation = np.linalg.eigh(inside)
        order = np.argsort(-values)[: self._n_values]
        order = order[values[order] > 1e-10 * max(values[-1], 0)]
        self._values, self._rotation = values[order], rotation[:, order]
        outside = self._outside(image)
        last = self._rotation[-width:]
        squares = np.einsum("ai,ab,bi->i", last, outside.T @ outside, last)
        self.residuals = np.sqrt(np.maximum(squares, 0)) / self._values
        smallest = DEPENDENT * max(values[-1], 0)
        newest = _orthonormal(self._outside(outside), smallest)
        newest = _orthonormal(self._outside(newest), 0.5)
        self.newest = newest[:, : len(image) - size]

    def _outside(self, columns: np.ndarray) -> np.ndarray:
        """Return the part of columns that is orthogonal to the basis."""
        left = columns.copy()
        for block in self._blocks:
            left -= block @ (block.T @ left)
        return left

    @property
    def eigenvalues(self) -> np.ndarray:
        """The largest positive eigenvalues, descending."""
        return self._values

    def vectors(self) -> np.ndarray:
        """Return their eigenvectors, with signs such that the largest entry is positive."""
        vectors = np.zeros((len(self.newest), len(self._values)))
        row = 0
        for block in self._blocks:
            vectors += block @ self._rotation[row : row + block.shape[1]]
            row += block.shape[1]
        largest = np.abs(vectors).argmax(0)
        return vectors * np.sign(vectors[largest, np.arange(vectors.shape[1])])


def _orthonormal(columns: np.ndarray, smallest: float) -> np.ndarray:
    """Return an orthonormal basis of the columns, ignoring directions below ``smallest``.

    Uses the Gram matrix, which is fast but loses half the digits; a second pass restores them.
    """
    values, rotation = np.linalg.eigh(columns.T @ columns)
    largest = values.max(initial=0)
    is_long = values > max(smallest**2, DEPENDENT**2 * largest)
    return columns @ (rotation[:, is_long] / np.sqrt(values[is_long]))


@dataclass(frozen=True, eq=False)
class PrincipalComponents:
    """Principal components of genotypes, the largest first.

    Attributes
    ----------
    scores
        float64, shape (n_samples, n_components): orthogonal columns. ``scores @ scores.T`` is the
        best approximation of the relationship matrix at this rank.
    eigenvalues
        float64, shape (n_components,): of the relationship matrix; equal to the sum of squares of
        each column of scores.
    explained
        float64, shape (n_components,): share of the total variance.
    loadings
        float64, shape (n_variants, n_components): unit vectors; 0 for constant or excluded
        variants.
    residuals
        float64, shape (n_components,): residual of each eigenpair, |G u - l u| / l.
    n_iterations
        Number of multiplications by G.
    is_converged
        Whether all residuals are within the tolerance.
    notes
        A sentence if the genotypes have fewer components than were asked for.
    """

    scores: np.ndarray
    eigenvalues: np.ndarray
    explained: np.ndarray
    loadings: np.ndarray
    residuals: np.ndarray
    n_iterations: int
    is_converged: bool
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.eigenvalues)

    @property
    def residual(self) -> float:
        """The largest residual; 0 if there are no components."""
        return float(self.residuals.max(initial=0.0))

    @property
    def sentence(self) -> str:
        """Accuracy of the components, in words."""
        plural = "s" * (self.n_iterations != 1)
        words = f"{self.n_iterations} iteration{plural}, largest residual {self.residual:.2g}"
        if self.is_converged:
            return words
        return f"{words}, not converged: the last components may be far off"


def iter_principal_components(
    genotypes: Genotypes,
    *,
    n_components: int = 10,
    n_iterations: int = 100,
    tolerance: float = 1e-4,
    contigs: Contigs = "autosomes",
    seed: int = 0,
    backend: Backend = "auto",
) -> Iterator[Progress]:
    """Compute principal components; the last step has the `PrincipalComponents`.

    They are those of G = Z Z' / m over the m variable variants. Z are the dosages less 2p, divided
    by sqrt(2p(1 - p)), and 0 where missing. A random start of n_components + 10 columns is
    multiplied by G repeatedly (block Lanczos with full reorthogonalisation) until the residuals
    are within the tolerance.

    Parameters
    ----------
    genotypes
        The genotypes; preferably of unlinked variants, see `prune_by_linkage`.
    n_components
        Number of components; fewer are returned, with a note, if there are fewer samples or
        variants.
    n_iterations
        Maximum number of multiplications by G, at least 1. 10 are usual; 25 are needed if
        neighbouring eigenvalues are close, as in samples without structure.
    tolerance
        Largest residual |G u - l u| / l at which to stop, 0 or more. The relative error of an
        eigenvalue is about its square. If the tolerance is not reached, the result says so.
    contigs
        ``"autosomes"``: leave out variants of X, Y and mitochondria; ``"all"``: use them as they
        are in the file, with two copies in males too.
    seed
        Seed of the random start.
    backend
        Where to compute.

    Raises
    ------
    ParameterError
        If a number is out of range, or no variant varies.

    References
    ----------
    Halko et al. 2011, Finding structure with randomness, doi:10.1137/090771806. Musco and Musco
    2015, Randomized block Krylov methods, arXiv:1504.05477. Patterson et al. 2006, Population
    structure and eigenanalysis, doi:10.1371/journal.pgen.0020190.
    """
    if n_components < 1 or n_iterations < 1:
        name = "n_components" if n_components < 1 else "n_iterations"
        raise ParameterError(f"{name} is {min(n_components, n_iterations)}, needs to be 1 or more")
    if not tolerance >= 0:
        raise ParameterError(f"tolerance is {tolerance:g}, needs to be 0 or more")
    yield Progress(WHAT, 0.0)
    n_variants = genotypes.n_variants
    genotypes, kept = take_autosomes(genotypes, contigs)
    counts = allele_counts(genotypes, backend=backend)
    p = frequencies_of_counts(counts)
    n_varied = int(((p > 0) & (p < 1)).sum())
    if not n_varied:
        raise ParameterError(
            f"none of {n_words(genotypes.n_variants, 'variant')} varies among "
            f"{genotypes.n_samples:,} "
            "samples; components need one that does"
        )
    products = BlockProducts(genotypes, counts, backend)
    n_columns = n_components + OVERSAMPLING
    lanczos = BlockLanczos(genotypes.n_samples, n_components, n_columns, seed)
    shown, is_converged, n_done = 0.0, False, 0
    while not is_converged and n_done < n_iterations:
        share = (1 - shown) / USUAL_ITERATIONS
        image = yield from _applied(products, lanczos.newest, shown, share)
        lanczos.add(image / n_varied)
        shown, n_done = shown + share, n_done + 1
        is_converged = not lanczos.newest.shape[1] or lanczos.residuals.max() <= tolerance
    vectors, eigenvalues = lanczos.vectors(), lanczos.eigenvalues
    loadings = []
    for done, rows in products.iter_transposed(vectors):
        loadings.append(rows)
        yield Progress(WHAT, shown + (1 - shown) * done)
    lengths = np.sqrt(eigenvalues * n_varied)
    squares = (counts * products.values**2).sum()
    found, notes = len(eigenvalues), ()
    if found < n_components:
        notes = (
            f"The genotypes have {n_words(found, 'principal component')}, fewer than "
            f"{n_components:,}.",
        )
    result = PrincipalComponents(
        scores=vectors * np.sqrt(eigenvalues),
        eigenvalues=eigenvalues,
        explained=eigenvalues * n_varied / squares,
        loadings=spread_rows(np.concatenate(loadings) / lengths, kept, n_variants),
        residuals=lanczos.residuals,
        n_iterations=n_done,
        is_converged=bool(is_converged),
        notes=notes,
    )
    yield Progress(WHAT, 1.0, result)


@in_one_go(iter_principal_components)
def principal_components(last: Progress) -> PrincipalComponents:
    """Return the first principal components; see `iter_principal_components`."""
    return last.result


def _applied(
    products: BlockProducts, columns: np.ndarray, start: float, share: float
) -> Generator[Progress, None, np.ndarray]:
    """Return Z Z' @ columns, reading each block of variants once for both products."""
    image = np.zeros_like(columns)
    for done, part in products.iter_squared(columns):
        image += part
        yield Progress(WHAT, start + share * done)
    return image
