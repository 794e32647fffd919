"""Pairs of related samples as rows of a table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from genoviz.analyses.genotypes.relatives import RelatedPairs
from genoviz_app.pages.genotypes.samples.relationship_view import degree_of
from genoviz_app.parts.remote_table import Column

PAIR_COLUMNS = (
    Column("Sample 1", share=92),
    Column("Sample 2", share=92),
    Column("Related", is_number=True, share=58, format="0.000"),
    Column("Degree", share=66),
)


@dataclass(frozen=True, eq=False)
class PairRows:
    """Related pairs.

    Attributes
    ----------
    pairs
        The pairs; numbers count the samples of the matrix.
    ids
        str: names of these samples.
    """

    pairs: RelatedPairs
    ids: np.ndarray
    noun = "pairs"
    hidden = ()

    def __len__(self) -> int:
        return len(self.pairs.first)

    def find(self, text: str) -> np.ndarray:
        """Return the pairs of which a sample's ID has a text."""
        found = np.char.find(np.char.lower(self.ids), text.strip().lower()) >= 0
        return found[self.pairs.first] | found[self.pairs.second]

    def key(self, column: str) -> np.ndarray:
        """Return what a column is sorted by."""
        if column == "Sample 1":
            return self.ids[self.pairs.first]
        if column == "Sample 2":
            return self.ids[self.pairs.second]
        return self.pairs.relationship

    def frame(self, rows: np.ndarray) -> pd.DataFrame:
        """Return some pairs."""
        relationship = self.pairs.relationship[rows]
        return pd.DataFrame(
            {
                "Sample 1": self.ids[self.pairs.first[rows]],
                "Sample 2": self.ids[self.pairs.second[rows]],
                "Related": relationship,
                "Degree": np.char.replace(degree_of(relationship), " degree", ""),
            }
        )
