"""Find the columns of a dense matrix whose range of magnitudes is too large for integers."""

SMALL = 2.0**-14
"""An entry this much smaller than its column's largest just keeps a relative error of 1e-12."""
MAX_SMALL = 1 / 16
"""Maximum share of smaller entries among the nonzero entries of a column."""


def find_wide_columns(dense, weights=None):
    """Return which columns are wide, as defined by the contract in this folder's ``__init__``.

    Parameters
    ----------
    dense
        float64 or float32, shape (rows, k), of NumPy or CuPy.
    weights
        float64 (rows,): the largest magnitude of a value in the row, or None.

    Returns
    -------
    array
        bool (k,), of the same module.
    """
    sizes = abs(dense)
    if weights is not None:
        sizes = sizes * weights[:, None]
    largest = sizes.max(0)
    n_small = ((sizes < SMALL * largest) & (sizes > 0)).sum(0)
    return ~(largest < float("inf")) | (n_small > MAX_SMALL * (sizes > 0).sum(0))
