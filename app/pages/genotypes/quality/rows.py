"""Variants and samples as table rows, with their quality measures."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from genoviz.model.genotypes.genotypes import SampleTable, VariantTable
from genoviz_app.parts.column_widths import ALLELE, IDENTIFIER, POSITION
from genoviz_app.parts.remote_table import Column

VARIANT_COLUMNS = (
    Column("Variant", share=130, min_width=IDENTIFIER),
    Column("Contig", share=70, min_width=40),
    Column("Position", is_number=True, share=90, min_width=POSITION),
    Column("A1", share=56, min_width=ALLELE),
    Column("A2", share=56, min_width=ALLELE),
    Column("A1 freq.", is_number=True, share=76, format="0.0000"),
    Column("MAF", is_number=True, share=70, format="0.0000"),
    Column("Missing %", is_number=True, share=80, format="0.00"),
    Column("Het. %", is_number=True, share=70, format="0.00"),
    Column("HWE −log₁₀ p", is_number=True, share=100, format="0.00"),
    Column("Kept", share=56),
)
SAMPLE_COLUMNS = (
    Column("Sample", share=130, min_width=IDENTIFIER),
    Column("Family", share=90),
    Column("Sex", share=60),
    Column("Missing %", is_number=True, share=80, format="0.00"),
    Column("Het. %", is_number=True, share=80, format="0.00"),
    Column("F", is_number=True, share=80, format="0.0000"),
    Column("Kept", share=56),
)
SEXES = np.array(["", "male", "female"])
YES, NO = "yes", "no"
PLACE = re.compile(r"^\s*(\S+):([\d,]+)(?:-([\d,]+))?\s*$")
SMALLEST = 1e-300


def minus_log10(p: np.ndarray) -> np.ndarray:
    """Return −log10 of probabilities, float64; 0 counts as 1e-300."""
    return -np.log10(np.maximum(p, SMALLEST))


@dataclass(frozen=True, eq=False)
class VariantRows:
    """Variants, with statistics and whether they pass the thresholds.

    Attributes
    ----------
    variants
        The variants.
    statistics
        Their `VariantStatistics`.
    is_kept
        bool, shape (n_variants,).
    """

    variants: VariantTable
    statistics: Any
    is_kept: np.ndarray
    noun = "variant"
    hidden = ()

    def __len__(self) -> int:
        return len(self.variants)

    def find(self, text: str) -> np.ndarray:
        """Return a mask of the variants in ``chr:start-end`` (1-based), or whose ID has a text."""
        place = PLACE.match(text)
        if place is not None and place[1] in self.variants.contigs:
            start = int(place[2].replace(",", "")) - 1
            end = int(place[3].replace(",", "")) if place[3] else start + 1
            found = np.zeros(len(self), bool)
            found[self.variants.in_region(place[1], start, end)] = True
            return found
        if text.strip() in self.variants.contigs:
            return self.variants.contig_ids == self.variants.contigs.index(text.strip())
        return np.char.find(np.char.lower(self.variants.ids), text.strip().lower()) >= 0

    def key(self, column: str) -> np.ndarray:
        """Return the sort key of a column."""
        variants, statistics = self.variants, self.statistics
        if column == "Contig":
            return variants.contig_ids
        if column == "Position":
            return variants.positions
        if column in ("Variant", "A1", "A2"):
            return {"Variant": variants.ids, "A1": variants.allele1, "A2": variants.allele2}[column]
        if column == "Kept":
            return self.is_kept
        return variant_measures(statistics)[column]

    def frame(self, rows: np.ndarray) -> pd.DataFrame:
        """Return some variants, with 1-based positions."""
        variants = self.variants
        contigs = np.array(variants.contigs, object)
        columns = {
            "Variant": [variants.label(row) for row in rows.tolist()],
            "Contig": contigs[variants.contig_ids[rows]],
            "Position": variants.positions[rows] + 1,
            "A1": variants.allele1[rows],
            "A2": variants.allele2[rows],
        }
        measures = variant_measures(self.statistics)
        columns |= {name: values[rows] for name, values in measures.items()}
        columns["Kept"] = np.where(self.is_kept[rows], YES, NO)
        return pd.DataFrame(columns)


def variant_measures(statistics: Any) -> dict[str, np.ndarray]:
    """Return the measures of variants for the table, float64 by column."""
    return {
        "A1 freq.": statistics.a1_frequency,
        "MAF": statistics.minor_allele_frequency,
        "Missing %": 100 * statistics.missing_rate,
        "Het. %": 100 * statistics.heterozygosity,
        "HWE −log₁₀ p": minus_log10(statistics.hwe_p),
    }


@dataclass(frozen=True, eq=False)
class SampleRows:
    """Samples, with statistics and whether they pass the thresholds.

    Attributes
    ----------
    samples
        The samples.
    statistics
        Their `SampleStatistics`.
    is_kept
        bool, shape (n_samples,).
    """

    samples: SampleTable
    statistics: Any
    is_kept: np.ndarray
    noun = "sample"

    def __len__(self) -> int:
        return len(self.samples)

    @property
    def hidden(self) -> tuple[str, ...]:
        """The columns of families and sexes, if all are unknown."""
        families, ids = self.samples.family_ids, self.samples.ids
        has_families = bool(((families != "0") & (families != ids)).any())
        names = {"Family": has_families, "Sex": bool(self.samples.sexes.any())}
        return tuple(name for name, is_known in names.items() if not is_known)

    def find(self, text: str) -> np.ndarray:
        """Return a mask of the samples whose ID contains a text."""
        return np.char.find(np.char.lower(self.samples.ids), text.strip().lower()) >= 0

    def key(self, column: str) -> np.ndarray:
        """Return the sort key of a column."""
        samples = self.samples
        others = {
            "Sample": samples.ids,
            "Family": samples.family_ids,
            "Sex": samples.sexes,
            "Kept": self.is_kept,
        }
        return others[column] if column in others else sample_measures(self.statistics)[column]

    def frame(self, rows: np.ndarray) -> pd.DataFrame:
        """Return some samples."""
        samples = self.samples
        measures = sample_measures(self.statistics)
        return pd.DataFrame(
            {
                "Sample": samples.ids[rows],
                "Family": samples.family_ids[rows],
                "Sex": SEXES[np.minimum(samples.sexes[rows], 2)],
                **{name: values[rows] for name, values in measures.items()},
                "Kept": np.where(self.is_kept[rows], YES, NO),
            }
        )


def sample_measures(statistics: Any) -> dict[str, np.ndarray]:
    """Return the measures of samples for the table, float64 by column."""
    return {
        "Missing %": 100 * statistics.missing_rate,
        "Het. %": 100 * statistics.heterozygosity,
        "F": statistics.inbreeding,
    }
