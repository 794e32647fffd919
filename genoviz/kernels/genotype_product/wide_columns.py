"""Which columns of a dense matrix have numbers too far apart in size for integers."""

SMALL = 2.0**-14
"""A number this much smaller than the largest of its column keeps 1e-12 of itself, just so."""
MAX_SMALL = 1 / 16
"""Up to which share of a column's numbers, zeros left out, may be smaller."""


def find_wide_columns(dense, weights=None):
    """Return which columns are wide, as the contract in this folder's ``__init__`` says.

    Parameters
    ----------
    dense
        float64 or float32, shape (rows, k), of NumPy or CuPy.
    weights
        float64 (rows,): the largest magnitude that a code of the row counts, or None.

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
