"""The variants of a scan as rows of a table, the strongest association first."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from genoviz.model.genotypes.genotypes import VariantTable
from genoviz_app.pages.genotypes.quality.rows import VariantRows
from genoviz_app.parts.remote_table import Column

if TYPE_CHECKING:
    from genoviz.analyses.genotypes.association.association import AssociationScan

COLUMNS = (
    Column("Variant", share=120),
    Column("Contig", share=56),
    Column("Position", is_number=True, share=90),
    Column("A1", share=44),
    Column("A2", share=44),
    Column("A1 freq.", is_number=True, share=66, format="0.000"),
    Column("β", is_number=True, share=76, format="0.0000"),
    Column("SE", is_number=True, share=70, format="0.0000"),
    Column("−log₁₀ p", is_number=True, share=72, format="0.00"),
)


@dataclass(frozen=True, eq=False)
class ScanRows:
    """Tested variants and their results; row 0 has the smallest p-value.

    Attributes
    ----------
    variants, scan
        What was tested, and what came of it.
    """

    variants: VariantTable
    scan: AssociationScan
    noun = "variants"
    hidden = ()

    @cached_property
    def order(self) -> np.ndarray:
        """int64: the variant of each row."""
        tested = np.flatnonzero(~np.isnan(self.scan.minus_log10_p))
        return tested[np.argsort(-self.scan.minus_log10_p[tested], kind="stable")]

    def __len__(self) -> int:
        return len(self.order)

    def find(self, text: str) -> np.ndarray:
        """Return the rows at a place, or whose ID has a text; bool."""
        return VariantRows(self.variants, None, self.order).find(text)[self.order]

    def strong(self, least: float) -> np.ndarray:
        """Return which rows have a -log10 p of at least this, bool."""
        return self.scan.minus_log10_p[self.order] >= least

    def key(self, column: str) -> np.ndarray:
        """Return what a column is sorted by."""
        variants, scan = self.variants, self.scan
        keys = {
            "Variant": variants.ids,
            "Contig": variants.contig_ids,
            "Position": variants.positions,
            "A1": variants.allele1,
            "A2": variants.allele2,
            "A1 freq.": scan.a1_frequency,
            "β": scan.beta,
            "SE": scan.standard_error,
            "−log₁₀ p": scan.minus_log10_p,
        }
        return keys[column][self.order]

    def frame(self, rows: np.ndarray) -> pd.DataFrame:
        """Return some rows; positions are counted from 1."""
        variants, scan, chosen = self.variants, self.scan, self.order[rows]
        return pd.DataFrame(
            {
                "Variant": [variants.label(variant) for variant in chosen.tolist()],
                "Contig": np.array(variants.contigs, object)[variants.contig_ids[chosen]],
                "Position": variants.positions[chosen] + 1,
                "A1": variants.allele1[chosen],
                "A2": variants.allele2[chosen],
                "A1 freq.": scan.a1_frequency[chosen],
                "β": scan.beta[chosen],
                "SE": scan.standard_error[chosen],
                "−log₁₀ p": scan.minus_log10_p[chosen],
            }
        )
