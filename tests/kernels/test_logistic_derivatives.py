"""Derivatives of logistic models against those of single samples, on each backend."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from genoviz.backend import array_module, load_kernel
from genoviz.kernels.logistic_derivatives.cpu import TILE


def derivatives(backend, dosages, rows, phenotype, columns, coefficients):
    """Return gradients and Hessians by the kernel of a backend."""
    xp = array_module(backend)
    kernel = load_kernel("logistic_derivatives", backend)
    dosages, phenotype, columns = (xp.asarray(part) for part in (dosages, phenotype, columns))
    return kernel.derivatives(dosages, rows, phenotype, columns, coefficients)


def sample_by_sample(dosages, phenotype, columns, coefficients):
    """Return the gradient and the Hessian of one variant, as sums over its samples."""
    k = len(coefficients)
    gradient, hessian = np.zeros(k), np.zeros((k, k))
    for dosage, y, column in zip(dosages, phenotype, columns.T, strict=True):
        if np.isnan(dosage):
            continue
        x = np.append(column, dosage)
        fitted = 1 / (1 + np.exp(-np.clip(x @ coefficients, -40, 40)))
        gradient += (y - fitted) * x
        hessian += fitted * (1 - fitted) * np.outer(x, x)
    return gradient, hessian


@given(
    st.integers(1, 20),
    st.one_of(st.integers(1, 40), st.integers(TILE - 1, TILE + 1)),
    st.integers(1, 4),
    st.sampled_from([0.1, 1.0, 50.0]),
    st.integers(0, 99),
)
@settings(max_examples=20)
def test_derivatives_are_sums_over_samples(backend, m, n, c, size, seed):
    rng = np.random.default_rng(seed)
    dosages = rng.choice([0.0, 1, 2, np.nan], (m, n), p=[0.5, 0.3, 0.1, 0.1])
    phenotype = rng.integers(0, 2, n).astype(float)
    columns = rng.normal(size=(c, n))
    rows = np.flatnonzero(rng.random(m) < 0.8)
    coefficients = size * rng.normal(size=(len(rows), c + 1))
    if not len(rows):
        return
    found = derivatives(backend, dosages, rows, phenotype, columns, coefficients)
    for gradient, hessian, row, b in zip(*found, rows, coefficients, strict=True):
        expected = sample_by_sample(dosages[row], phenotype, columns, b)
        np.testing.assert_allclose(gradient, expected[0], rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(hessian, expected[1], rtol=1e-10, atol=1e-10)


def test_fitted_values_are_exact_wherever_they_are(backend):
    logits = np.concatenate([np.linspace(-45, 45, 4001), [0.0, -1e300, 1e300]])
    gradients, _ = derivatives(
        backend,
        np.zeros((1, 1)),
        np.zeros(len(logits), np.int64),
        np.zeros(1),
        np.ones((1, 1)),
        np.column_stack([logits, np.zeros(len(logits))]),
    )
    expected = -1 / (1 + np.exp(-np.clip(logits, -40, 40)))
    np.testing.assert_allclose(gradients[:, 0], expected, rtol=1e-15)


@given(
    st.integers(1, 20),
    st.one_of(st.integers(1, 40), st.integers(TILE - 1, TILE + 1)),
    st.integers(1, 4),
    st.sampled_from([0.1, 1.0, 50.0]),
    st.integers(0, 99),
)
@settings(max_examples=20)
def test_penalties_are_sums_over_samples(backend, m, n, c, size, seed):
    rng = np.random.default_rng(seed)
    dosages = rng.choice([0.0, 1, 2, np.nan], (m, n), p=[0.5, 0.3, 0.1, 0.1])
    phenotype = rng.integers(0, 2, n).astype(float)
    columns = rng.normal(size=(c, n))
    rows = np.flatnonzero(rng.random(m) < 0.8)
    coefficients = size * rng.normal(size=(len(rows), c + 1))
    inverses = rng.normal(size=(len(rows), c + 1, c + 1))
    inverses += inverses.transpose(0, 2, 1)
    xp, kernel = array_module(backend), load_kernel("logistic_derivatives", backend)
    on_device = (xp.asarray(part) for part in (dosages, phenotype, columns))
    dosages_there, *others = on_device
    found = kernel.penalties(dosages_there, rows, *others, coefficients, inverses)
    for likelihood, pull, row, b, inverse in zip(*found, rows, coefficients, inverses, strict=True):
        wanted, sums = 0.0, np.zeros(c + 1)
        for dosage, y, column in zip(dosages[row], phenotype, columns.T, strict=True):
            if np.isnan(dosage):
                continue
            x = np.append(column, dosage)
            logit = np.clip(x @ b, -40, 40)
            fitted = 1 / (1 + np.exp(-logit))
            wanted += y * logit - np.logaddexp(0, logit)
            # 1 - p loses its digits beside a large p.
            weight = fitted / (1 + np.exp(logit))
            sums += weight * (x @ inverse @ x) * (0.5 - fitted) * x
        np.testing.assert_allclose(likelihood, wanted, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(pull, sums, rtol=1e-9, atol=1e-9)
