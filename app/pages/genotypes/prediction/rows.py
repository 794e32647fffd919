"""Breeding values as rows of a table, the highest first."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from genoviz_app.pages.genotypes.prediction.numbers import rank_high
from genoviz_app.parts.remote_table import Column

COLUMNS = (
    Column("Rank", is_number=True, share=56),
    Column("Sample", share=110),
    Column("Value", is_number=True, share=80, format="0.0000"),
    Column("Trait", is_number=True, share=80, format="0.0000"),
    Column("SNPs", share=50),
)


@dataclass(frozen=True, eq=False)
class BreedingRows:
    """Those who have a breeding value; row 0 has the highest.

    Attributes
    ----------
    ids
        str, shape (n,).
    values, phenotype
        float64, shape (n,); a phenotype may be NaN.
    is_genotyped
        bool, shape (n,).
    """

    ids: np.ndarray
    values: np.ndarray
    phenotype: np.ndarray
    is_genotyped: np.ndarray
    noun = "samples"

    @cached_property
    def order(self) -> np.ndarray:
        """int64: who is in each row."""
        return np.argsort(self.ranks, kind="stable")

    @cached_property
    def ranks(self) -> np.ndarray:
        """int64, from 1."""
        return rank_high(self.values)

    @property
    def hidden(self) -> tuple[str, ...]:
        """Columns that have nothing to say."""
        return ("SNPs",) if self.is_genotyped.all() else ()

    def __len__(self) -> int:
        return len(self.ids)

    def find(self, text: str) -> np.ndarray:
        """Return the rows whose name has a text, bool."""
        names = np.char.lower(self.ids[self.order].astype(str))
        return np.char.find(names, text.strip().lower()) >= 0

    def key(self, column: str) -> np.ndarray:
        """Return what a column is sorted by."""
        keys = {
            "Rank": self.ranks,
            "Sample": self.ids,
            "Value": self.values,
            "Trait": self.phenotype,
            "SNPs": self.is_genotyped,
        }
        return keys[column][self.order]

    def frame(self, rows: np.ndarray) -> pd.DataFrame:
        """Return some rows."""
        chosen = self.order[rows]
        return pd.DataFrame(
            {
                "Rank": self.ranks[chosen],
                "Sample": self.ids[chosen],
                "Value": self.values[chosen],
                "Trait": self.phenotype[chosen],
                "SNPs": np.where(self.is_genotyped[chosen], "yes", "no"),
            }
        )
