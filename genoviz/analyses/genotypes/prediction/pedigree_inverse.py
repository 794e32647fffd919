"""Inbreeding, and the inverse of the pedigree relationships A, which is sparse."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from genoviz.backend import load_kernel
from genoviz.model.genotypes.pedigree import Pedigree

if TYPE_CHECKING:
    from scipy.sparse import csc_array


def inbreeding(pedigree: Pedigree) -> np.ndarray:
    """Return inbreeding coefficients: float64, shape (n_animals,); 0 for unknown parents.

    References
    ----------
    Meuwissen and Luo 1992, Computing inbreeding coefficients in large populations,
    doi:10.1186/1297-9686-24-4-305
    """
    coefficients = np.zeros(len(pedigree))
    kernel = load_kernel("pedigree_inbreeding", "cpu")
    kernel.inbreeding(pedigree.sires, pedigree.dams, coefficients)
    return coefficients


def relationship_inverse(pedigree: Pedigree) -> csc_array:
    """Return A^-1 by Henderson's rules, inbreeding included.

    Each animal adds ``t t' / d``, with 1 for itself and -1/2 for each parent in t, and d the
    variance of what it does not have from its parents.

    Returns
    -------
    scipy.sparse.csc_array
        float64, shape (n_animals, n_animals), symmetric.

    References
    ----------
    Henderson 1976, A simple method for computing the inverse of a numerator relationship matrix
    used in prediction of breeding values, doi:10.2307/2529339
    Quaas 1976, Computing the diagonal elements and inverse of a large numerator relationship
    matrix, doi:10.2307/2529279
    """
    return inverse_of(pedigree.sires, pedigree.dams, mendelian_variances(pedigree))


def mendelian_variances(pedigree: Pedigree) -> np.ndarray:
    """Return the variance of each animal's Mendelian sampling, in units of the genetic one.

    float64, shape (n_animals,): 1 for a founder, 1/2 for progeny of two parents, less where these
    are inbred.
    """
    # An unknown parent counts as one of coefficient -1, the last of the array.
    coefficients = np.append(inbreeding(pedigree), -1.0)
    return 0.5 - 0.25 * (coefficients[pedigree.sires] + coefficients[pedigree.dams])


def inverse_of(sires: np.ndarray, dams: np.ndarray, variances: np.ndarray) -> csc_array:
    """Return A^-1 of animals with these parents (-1 for none) and Mendelian variances."""
    from scipy.sparse import csr_array, diags_array

    n = len(sires)
    animals = np.arange(n)
    has_sire, has_dam = sires >= 0, dams >= 0
    rows = np.concatenate([animals, animals[has_sire], animals[has_dam]])
    columns = np.concatenate([animals, sires[has_sire], dams[has_dam]])
    shares = np.where(np.arange(len(rows)) < n, 1.0, -0.5)
    sampling = csr_array((shares, (rows, columns)), shape=(n, n))
    return (sampling.T @ diags_array(1 / variances) @ sampling).tocsc()
