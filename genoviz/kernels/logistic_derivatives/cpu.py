"""Derivatives of logistic models on all cores; the contract is in this folder's ``__init__``.

Samples are processed in tiles that fit in the cache; a group of variants shares a tile of columns.
"""

import math

import numpy as np
from numba import get_num_threads, njit, prange

from genoviz.kernels.instructions import number_of_bits
from genoviz.kernels.logistic_derivatives import MAX_LOGIT

TILE = 512
MAX_AT_ONCE = 8
LOG2_E = math.log2(math.e)
# ln 2 in two parts; the first has so few bits that small multiples of it are exact.
LOG_2, LOG_2_REST = 0.6931471803691238, 1.9082149292705877e-10
EXPONENT_BITS, EXPONENT_OF_ONE = 52, 1023
T12, T11, T10, T9, T8, T7, T6, T5, T4, T3, T2 = (1 / math.factorial(k) for k in range(12, 1, -1))


def derivatives(dosages, rows, phenotype, columns, coefficients):
    """Return gradients and negative Hessians."""
    n_rows, k = coefficients.shape
    gradients, hessians = np.zeros((n_rows, k)), np.zeros((n_rows, k, k))
    n_threads = get_num_threads()
    n_rounds = -(-n_rows // (MAX_AT_ONCE * n_threads))
    size = -(-n_rows // (n_rounds * n_threads))
    _add_groups(dosages, rows, phenotype, columns, coefficients, size, gradients, hessians)
    upper = np.triu_indices(k, 1)
    hessians[:, *upper] = hessians.transpose(0, 2, 1)[:, *upper]
    return gradients, hessians


def penalties(dosages, rows, phenotype, columns, coefficients, inverses):
    """Return log likelihoods, and the contributions of Firth's penalty to gradients."""
    likelihoods, pulls = np.zeros(len(rows)), np.zeros(coefficients.shape)
    _add_penalties(dosages, rows, phenotype, columns, coefficients, inverses, likelihoods, pulls)
    return likelihoods, pulls


@njit(nogil=True, cache=True, parallel=True)
def _add_penalties(dosages, rows, phenotype, columns, coefficients, inverses, likelihoods, pulls):
    for row in prange(len(rows)):
        room, called, pull = np.empty(TILE), np.empty(TILE), np.empty(TILE)
        logits, hat = np.empty(TILE), np.empty(TILE)
        for first in range(0, len(phenotype), TILE):
            here = slice(first, min(first + TILE, len(phenotype)))
            tile = room[: here.stop - first]
            _fill_dosages(dosages[rows[row], here], tile, called)
            _fill_logits(tile, columns, here, coefficients[row], logits)
            _fill_hat(tile, columns, here, inverses[row], pull, hat)
            likelihoods[row] += _weigh_hat(phenotype[here], called, logits, hat, pull)
            for k in range(len(columns)):
                pulls[row, k] += _dot(columns[k, here], pull)
            pulls[row, -1] += _dot(tile, pull)


@njit(nogil=True, cache=True, fastmath={"contract"})
def _fill_hat(tile, columns, here, inverse, room, hat):
    """Write x'Ax of the samples of a tile."""
    c = len(columns)
    for i in range(len(tile)):
        hat[i] = inverse[c, c] * tile[i] * tile[i]
    for a in range(c):
        column = columns[a, here]
        for i in range(len(tile)):
            room[i] = 2.0 * inverse[a, c] * tile[i] + inverse[a, a] * column[i]
        for b in range(a):
            other, twice = columns[b, here], 2.0 * inverse[a, b]
            for i in range(len(tile)):
                room[i] += twice * other[i]
        for i in range(len(tile)):
            hat[i] += room[i] * column[i]


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _weigh_hat(phenotype, called, logits, hat, pull):
    """Write h (1/2 - p), and return the log likelihood.

    Each 1 + exp(-|logit|) is at most 2, so a tile's product of them needs only one logarithm.
    """
    total, product = 0.0, 1.0
    for i in range(len(phenotype)):
        logit = min(max(logits[i], -MAX_LOGIT), MAX_LOGIT)
        small = _exp(-abs(logit))
        product *= 1.0 + called[i] * small
        total += called[i] * (phenotype[i] * logit - max(logit, 0.0))
        fitted = (1.0 if logit > 0 else small) / (1.0 + small)
        pull[i] = called[i] * hat[i] * fitted * (1.0 - fitted) * (0.5 - fitted)
    return total - math.log(product)


@njit(nogil=True, cache=True, parallel=True)
def _add_groups(dosages, rows, phenotype, columns, coefficients, size, gradients, hessians):
    for group in prange((len(rows) + size - 1) // size):
        some = slice(group * size, min(len(rows), (group + 1) * size))
        _add_group(
            dosages,
            rows[some],
            phenotype,
            columns,
            coefficients[some],
            gradients[some],
            hessians[some],
        )


@njit(nogil=True, cache=True)
def _add_group(dosages, rows, phenotype, columns, coefficients, gradients, hessians):
    room, called = np.empty(TILE), np.empty(TILE)
    residuals, weights = np.empty(TILE), np.empty(TILE)
    for first in range(0, len(phenotype), TILE):
        here = slice(first, min(first + TILE, len(phenotype)))
        for row in range(len(rows)):
            tile = room[: here.stop - first]
            _fill_dosages(dosages[rows[row], here], tile, called)
            _fill_logits(tile, columns, here, coefficients[row], weights)
            _weigh(phenotype[here], called, residuals, weights)
            _add_sums(tile, columns, here, residuals, weights, gradients[row], hessians[row])


@njit(nogil=True, cache=True)
def _fill_dosages(dosages, tile, called):
    """Write dosages, 0 if missing, and flags of those that are called."""
    for i in range(len(tile)):
        is_called = dosages[i] == dosages[i]
        tile[i] = dosages[i] if is_called else 0.0
        called[i] = 1.0 if is_called else 0.0


@njit(nogil=True, cache=True, fastmath={"contract"})
def _fill_logits(tile, columns, here, coefficients, logits):
    for i in range(len(tile)):
        logits[i] = coefficients[-1] * tile[i]
    for k in range(len(columns)):
        column = columns[k, here]
        for i in range(len(tile)):
            logits[i] += coefficients[k] * column[i]


@njit(nogil=True, cache=True, error_model="numpy")
def _weigh(phenotype, called, residuals, weights):
    """Write residuals, and weights in the place of logits."""
    for i in range(len(phenotype)):
        fitted = 1.0 / (1.0 + _exp(-weights[i]))
        residuals[i] = called[i] * (phenotype[i] - fitted)
        weights[i] = called[i] * (fitted * (1.0 - fitted))


@njit(nogil=True, cache=True, fastmath={"contract"})
def _exp(x):
    """Return exp(x) for |x| <= MAX_LOGIT, without calls, so that loops vectorise."""
    x = min(max(x, -MAX_LOGIT), MAX_LOGIT)
    power = np.floor(x * LOG2_E + 0.5)
    r = x - power * LOG_2 - power * LOG_2_REST
    value = ((((T12 * r + T11) * r + T10) * r + T9) * r + T8) * r + T7
    value = (((((value * r + T6) * r + T5) * r + T4) * r + T3) * r + T2) * r * r + r + 1.0
    exponent = np.int64(np.int32(power)) + EXPONENT_OF_ONE
    return value * number_of_bits(exponent << EXPONENT_BITS)


@njit(nogil=True, cache=True)
def _add_sums(tile, columns, here, residuals, weights, gradient, hessian):
    """Add a tile's sums to a gradient and a triangle of a Hessian; overwrites the residuals."""
    c = len(columns)
    gradient[c] += _dot(tile, residuals)
    for i in range(c):
        gradient[i] += _dot(columns[i, here], residuals)
    weighted = residuals
    for i in range(c):
        _multiply(columns[i, here], weights, weighted)
        hessian[c, i] += _dot(tile, weighted)
        for j in range(i + 1):
            hessian[i, j] += _dot(columns[j, here], weighted)
    _multiply(tile, weights, weighted)
    hessian[c, c] += _dot(tile, weighted)


@njit(nogil=True, cache=True)
def _multiply(column, weights, weighted):
    for i in range(len(column)):
        weighted[i] = column[i] * weights[i]


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _dot(column, values):
    total = 0.0
    for i in range(len(column)):
        total += column[i] * values[i]
    return total


# Compiled with genoviz/kernels/instructions.py: f472b1a8f9207066
