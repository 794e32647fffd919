"""Derivatives of logistic models on one GPU; the contract is in this folder's ``__init__``.

Weights and residuals are matrices of variants by samples, so all sums over samples are matrix
products. The product of weights with the pairwise products of columns gives the covariates' part of
every Hessian at once.
"""

import cupy
import numpy as np

from genoviz.kernels.cuda_source import load_module
from genoviz.kernels.logistic_derivatives import MAX_LOGIT

THREADS_PER_BLOCK = 256
MAX_BLOCKS = 1 << 16
COMPILE_OPTIONS = ((f"-DMAX_LOGIT={MAX_LOGIT}",),)


def derivatives(dosages, rows, phenotype, columns, coefficients):
    """Return gradients and negative Hessians."""
    c = len(columns)
    coefficients = cupy.asarray(coefficients)
    # First the logits without the dosage's term, later the weights.
    weights = cupy.ascontiguousarray(coefficients[:, :c] @ columns)
    tile, residuals = _weigh(dosages, rows, phenotype, coefficients[:, c].copy(), weights)
    gradients = cupy.empty((len(rows), c + 1))
    gradients[:, :c] = residuals @ columns.T
    gradients[:, c] = cupy.einsum("mn,mn->m", residuals, tile)
    first, second = np.triu_indices(c)
    hessians = cupy.empty((len(rows), c + 1, c + 1))
    hessians[:, first, second] = weights @ (columns[first] * columns[second]).T
    hessians[:, second, first] = hessians[:, first, second]
    weights *= tile
    hessians[:, :c, c] = hessians[:, c, :c] = weights @ columns.T
    hessians[:, c, c] = cupy.einsum("mn,mn->m", weights, tile)
    return gradients.get(), hessians.get()


def penalties(dosages, rows, phenotype, columns, coefficients, inverses):
    """Return log likelihoods, and the contributions of Firth's penalty to gradients."""
    c = len(columns)
    tile = dosages[cupy.asarray(rows)]
    is_called = ~cupy.isnan(tile)
    tile = cupy.where(is_called, tile, 0.0)
    coefficients = cupy.asarray(coefficients)
    logits = coefficients[:, :c] @ columns + coefficients[:, c:] * tile
    logits = cupy.clip(logits, -MAX_LOGIT, MAX_LOGIT)
    small = cupy.exp(-cupy.abs(logits))
    terms = phenotype * logits - cupy.maximum(logits, 0.0) - cupy.log1p(small)
    fitted = cupy.where(logits > 0, 1.0, small) / (1 + small)
    first, second = np.triu_indices(c)
    twice = np.where(first == second, 1.0, 2.0)
    pull = cupy.asarray(inverses[:, first, second] * twice) @ (columns[first] * columns[second])
    pull += cupy.asarray(2 * inverses[:, :c, c]) @ columns * tile
    pull += cupy.asarray(inverses[:, c, c])[:, None] * tile**2
    pull *= is_called * fitted * (1 - fitted) * (0.5 - fitted)
    pulls = cupy.empty((len(rows), c + 1))
    pulls[:, :c] = pull @ columns.T
    pulls[:, c] = cupy.einsum("mn,mn->m", pull, tile)
    return (terms * is_called).sum(1).get(), pulls.get()


def _weigh(dosages, rows, phenotype, slopes, weights):
    """Return dosages and residuals, 0 where a genotype is missing; fill the weights."""
    tile, residuals = cupy.empty_like(weights), cupy.empty_like(weights)
    n_blocks = min(-(-weights.size // THREADS_PER_BLOCK), MAX_BLOCKS)
    module = load_module(__package__, "logistic_derivatives.cu", options=COMPILE_OPTIONS[0])
    sizes = (np.int64(size) for size in weights.shape)
    module.get_function("weigh")(
        (n_blocks,),
        (THREADS_PER_BLOCK,),
        (dosages, cupy.asarray(rows), phenotype, slopes, *sizes, tile, residuals, weights),
    )
    return tile, residuals
