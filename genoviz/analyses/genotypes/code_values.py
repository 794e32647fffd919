"""Numeric values of the 2-bit genotype codes in a matrix."""

from __future__ import annotations

from typing import Literal

import numpy as np

from genoviz.model.genotypes.genotypes import HETEROZYGOUS_CODE, MISSING_CODE


def frequencies_of_counts(counts: np.ndarray) -> np.ndarray:
    """Return the frequency of A1 among the called genotypes, 0 if there are none.

    Parameters
    ----------
    counts
        int64, shape (n_variants, 4): samples of each code, from `allele_counts`.
    """
    n_called = counts[:, [0, 2, 3]].sum(1)
    return (2 * counts[:, 0] + counts[:, 2]) / np.maximum(2 * n_called, 1)


def values_of_codes(
    frequencies: np.ndarray,
    *,
    centre: bool | Literal["half"] = True,
    standardise: bool = False,
    missing: Literal["mean", "zero"] = "mean",
) -> np.ndarray:
    """Return the numeric value of each 2-bit code of each variant.

    Parameters
    ----------
    frequencies
        float64, shape (n_variants,): of A1.
    centre, standardise, missing
        As in `GenotypeMatrix`.

    Returns
    -------
    numpy.ndarray
        float64, shape (n_variants, 4).
    """
    means = 2 * frequencies
    values = np.tile(np.array([2.0, 0.0, 1.0, 0.0]), (len(means), 1))
    if missing == "mean":
        values[:, MISSING_CODE] = means
    if centre:
        values -= 1.0 if centre == "half" else means[:, None]
    if standardise:
        deviations = np.sqrt(means * (1 - frequencies))
        is_varied = deviations > 0
        values[is_varied] /= deviations[is_varied, None]
        values[~is_varied] = 0
    return values


def spare_missing(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return values that avoid work for missing genotypes at variants without any.

    There, the missing code gets the heterozygous value, which needs no separate product.

    Parameters
    ----------
    values
        float64, shape (n_variants, 4).
    counts
        int64, shape (n_variants, 4): samples of each code, as of `allele_counts`.
    """
    spared = values.copy()
    has_none = counts[:, MISSING_CODE] == 0
    spared[has_none, MISSING_CODE] = values[has_none, HETEROZYGOUS_CODE]
    return spared
