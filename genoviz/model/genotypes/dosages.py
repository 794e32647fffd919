"""Conversion of dosages from any numeric type."""

from __future__ import annotations

import numpy as np

from genoviz.errors import ParameterError


def to_int8(dosages: np.ndarray, first_variant: int = 0) -> np.ndarray:
    """Return dosages as int8 with -1 for missing, in the same shape (n_samples, m).

    Parameters
    ----------
    dosages
        Integers or floats: 0, 1, 2; negative or NaN where missing.
    first_variant
        Number of the first column, for errors.

    Raises
    ------
    ParameterError
        If a number is invalid.

    Examples
    --------
    >>> to_int8(np.array([[0.0, np.nan], [2.0, -9.0]])).tolist()
    [[0, -1], [2, -1]]
    """
    if dosages.dtype.kind not in "iuf":
        raise ParameterError(f"dosages are {dosages.dtype}, need integers or floats")
    is_missing = dosages < 0
    if dosages.dtype.kind == "f":
        is_missing |= np.isnan(dosages)
    is_wrong = ~(is_missing | (dosages == 0) | (dosages == 1) | (dosages == 2))
    if is_wrong.any():
        sample, variant = np.argwhere(is_wrong)[0].tolist()
        raise ParameterError(
            f"the dosage of sample {sample:,} at variant {first_variant + variant:,} is "
            f"{dosages[sample, variant]}, needs to be 0, 1 or 2, or negative or NaN for missing"
        )
    return np.where(is_missing, -1, dosages).astype(np.int8)
