"""Pairs of related samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genoviz.analyses.genotypes.relationships import RelationshipMatrix

_ROWS = 256


@dataclass(frozen=True, eq=False)
class RelatedPairs:
    """Pairs of samples, the closest first.

    Attributes
    ----------
    first, second
        int64, shape (n_pairs,): numbers of samples, first < second.
    relationship
        float64, shape (n_pairs,): about 1 for twins, 0.5 for parents and full siblings, 0.25 for
        half siblings.
    """

    first: np.ndarray
    second: np.ndarray
    relationship: np.ndarray

    def __len__(self) -> int:
        return len(self.first)


def relatives(matrix: RelationshipMatrix, *, at_least: float = 0.05) -> RelatedPairs:
    """Return the pairs of samples with at least this relationship.

    Examples
    --------
    >>> from genoviz import SampleTable
    >>> samples = SampleTable.from_ids(["a", "b", "c"])
    >>> values = np.array([[1, 0.5, 0], [0.5, 1, 0.25], [0, 0.25, 1]])
    >>> relatives(RelationshipMatrix(values, samples, "vanraden", 100)).second.tolist()
    [1, 2]
    """
    firsts, seconds, found = [], [], []
    for top in range(0, len(matrix.values), _ROWS):
        rows = matrix.values[top : top + _ROWS]
        first, second = np.nonzero(rows >= at_least)
        is_above = second > first + top
        first, second = first[is_above], second[is_above]
        firsts.append(first + top)
        seconds.append(second)
        found.append(rows[first, second])
    order = np.argsort(-_joined(found, np.float64), kind="stable")
    return RelatedPairs(
        _joined(firsts, np.int64)[order],
        _joined(seconds, np.int64)[order],
        _joined(found, np.float64)[order],
    )


def _joined(parts: list[np.ndarray], dtype: type) -> np.ndarray:
    return np.concatenate([np.empty(0, dtype), *parts])
