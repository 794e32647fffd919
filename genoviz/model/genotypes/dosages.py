"""Dosages that are not whole, and conversion of dosages from any numeric type."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from genoviz.errors import ParameterError, n_words

COPY = 1 << 14
"""Units of a stored dosage for one copy of allele A1."""
MISSING_DOSAGE = (1 << 16) - 1


@dataclass(frozen=True, eq=False, repr=False)
class StoredDosages:
    """Dosages of the variants at which they differ from hard calls, as in PLINK 2's .pgen.

    Parameters
    ----------
    values
        uint16, shape (k, n): dosages of A1 in units of 1/16384, up to 32768; 65535 is missing. May
        be memory-mapped.
    rows
        int64, shape (n_variants,): row of each variant in ``values``; -1 if its dosages are its
        hard calls.
    columns
        int64, shape (n_samples,): column of each sample in ``values``; None if they are in order.
    """

    values: np.ndarray
    rows: np.ndarray
    columns: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or self.values.dtype != np.uint16:
            found = f"{self.values.dtype} of {n_words(self.values.ndim, 'dimension')}"
            raise ParameterError(f"stored dosages are {found}, need uint16 of 2")
        if len(self.rows) and int(self.rows.max()) >= len(self.values):
            found = (
                f"{n_words(len(self.values), 'row')}, and a variant has row "
                f"{int(self.rows.max()):,}"
            )
            raise ParameterError(f"stored dosages have {found}")

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self.values.shape[1] if self.columns is None else len(self.columns)

    def read(self, variants: np.ndarray) -> np.ndarray:
        """Return the dosages of variants that have a row: uint16, shape (m, n_samples)."""
        rows = self.rows[variants]
        if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and (np.diff(rows) == 1).all():
            rows = slice(int(rows[0]), int(rows[-1]) + 1)
        found = self.values[rows]
        return found if self.columns is None else found.take(self.columns, axis=1)

    def take_variants(self, indices: np.ndarray | slice) -> StoredDosages | None:
        """Return those of some variants, without copying dosages; None if there are none."""
        rows = self.rows[indices]
        return replace(self, rows=rows) if (rows >= 0).any() else None

    def take_samples(self, indices: np.ndarray) -> StoredDosages:
        """Return those of some samples, without copying dosages."""
        columns = indices if self.columns is None else self.columns[indices]
        return replace(self, columns=columns)


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
