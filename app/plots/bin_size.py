"""Round sizes of bins."""

from __future__ import annotations


def round_size(wanted: float) -> int:
    """Return the smallest of 1, 2, 5, 10, 20, ... that is at least ``wanted``.

    Examples
    --------
    >>> [round_size(x) for x in (0.3, 1.5, 2.1, 700)]
    [1, 2, 5, 1000]
    """
    power = 1
    while True:
        for step in (1, 2, 5):
            if step * power >= wanted:
                return step * power
        power *= 10
