"""Variants of several association tables, matched by contig, position and alleles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from genoviz.errors import ParameterError, n_words
from genoviz.model.genotypes.chromosomes import chromosome_names

if TYPE_CHECKING:
    import polars

COLUMNS = ("contig", "position", "id", "a1", "a2", "beta", "se", "n")
KEY = ["contig", "position", "alleles"]
PLACE = ["contig", "position"]
_COMPLEMENTS = {"A": "T", "C": "G", "G": "C", "T": "A"}


class VariantSites:
    """Variants of all files so far: key, and names as in the first file.

    Parameters
    ----------
    n_autosomes
        As in `meta_analyse`.
    """

    def __init__(self, n_autosomes: int | None = None) -> None:
        self._n_autosomes = n_autosomes
        self.contigs: dict[str, int] = {}
        self.contig_names: list[str] = []
        self.frame: polars.DataFrame | None = None

    def __len__(self) -> int:
        return 0 if self.frame is None else self.frame.height

    def number_contigs(self, names: list[str]) -> dict[str, int]:
        """Return the number of each contig; ``chr1``, ``01`` and ``1`` are the same, 0 is none."""
        found = {}
        for name, short in zip(names, chromosome_names(names, self._n_autosomes), strict=True):
            if short == "0":
                continue
            if short not in self.contigs:
                self.contigs[short] = len(self.contig_names)
                self.contig_names.append(name)
            found[name] = self.contigs[short]
        return found

    def place(self, keyed: polars.DataFrame) -> polars.DataFrame:
        """Return the index, sign and strand of the site of each row; unknown sites are added."""
        import polars as pl

        own = ["id", "a1", "a2", "sign", "is_flipped"]
        if self.frame is None:
            self.frame = keyed.select(*KEY, *own)
            return keyed.select(
                pl.int_range(pl.len(), dtype=pl.UInt32).alias("row"), own[3], own[4]
            )
        known = self.frame.select(*KEY, *own[3:]).with_row_index("row")
        joined = keyed.select(KEY).join(known, on=KEY, how="left", maintain_order="left")
        is_new = joined["row"].is_null()
        added = keyed.filter(is_new).select(*KEY, *own)
        rows = joined["row"].to_numpy(writable=True)
        rows[is_new.to_numpy()] = len(self) + np.arange(added.height)
        self.frame = pl.concat([self.frame, added])
        return pl.DataFrame(
            {
                "row": rows.astype(np.uint32),
                "sign": joined["sign"].fill_null(keyed["sign"]),
                "is_flipped": joined["is_flipped"].fill_null(keyed["is_flipped"]),
            }
        )

    def complete(self, rows: polars.DataFrame) -> polars.DataFrame:
        """Return the rows without A2 that fit one site, with its other allele."""
        import polars as pl

        if self.frame is None:
            return rows.clear()
        near = self.frame.select(*PLACE, "a1", "a2").join(rows, on=PLACE, how="semi")
        swapped = near.select(*PLACE, pl.col("a2").alias("a1"), pl.col("a1").alias("a2"))
        others = pl.concat([near, swapped]).unique([*PLACE, "a1"], keep="none")
        return rows.drop("a2").join(others, on=[*PLACE, "a1"], maintain_order="left")


def take_usable(
    name: str, table: polars.DataFrame, sites: VariantSites
) -> tuple[polars.DataFrame, list[str]]:
    """Return the rows that can be used, with numbers for contigs, and notes on others."""
    import polars as pl

    absent = [title for title in COLUMNS if title not in table.columns]
    if absent:
        raise ParameterError(f"{name} has no column {absent[0]}, needs {', '.join(COLUMNS)}")
    table = table.select(COLUMNS).with_columns(pl.col("contig", "id").cast(pl.String))
    numbers = sites.number_contigs(
        table["contig"].unique(maintain_order=True).drop_nulls().to_list()
    )
    a1, a2, weight = pl.col("a1"), pl.col("a2"), pl.col("se").cast(pl.Float64) ** -2
    table = table.with_columns(
        pl.col("position").cast(pl.Int64),
        pl.col("contig").replace_strict(numbers, default=None, return_dtype=pl.UInt32),
        *(pl.col(title).cast(pl.String).str.to_uppercase() for title in ("a1", "a2")),
        *(pl.col(title).cast(pl.Float64) for title in ("beta", "se", "n")),
    )
    tests = {
        "no position": pl.col("contig").is_not_null() & (pl.col("position") > 0),
        "no alleles": a1.is_not_null() & (a2.is_null() | (a1 != a2)),
        "no effect": pl.col("beta").is_finite(),
        "no standard error above 0": (pl.col("se") > 0) & weight.is_finite() & (weight > 0),
    }
    notes, n_before = [], table.height
    for lacking, test in tests.items():
        table = table.filter(test.fill_null(value=False))
        lost, n_before = n_before - table.height, table.height
        if lost:
            rows = n_words(lost, "row has", "rows have")
            notes.append(f"{name}: {rows} {lacking}; left out")
    return table, notes


def with_keys(usable: polars.DataFrame) -> polars.DataFrame:
    """Return rows with the alleles that all files agree on, and the sign of the effect of these.

    A SNP that is not ambiguous has exactly one of A and T; of its two strands the one with A
    counts.
    """
    import polars as pl

    a1, a2 = pl.col("a1"), pl.col("a2")
    is_snp = a1.is_in([*_COMPLEMENTS]) & a2.is_in([*_COMPLEMENTS])
    is_ambiguous = is_snp & (a1.replace(_COMPLEMENTS) == a2)
    is_flipped = is_snp & ~is_ambiguous & ((a1 == "T") | (a2 == "T"))
    first = pl.when(is_flipped).then(a1.replace(_COMPLEMENTS)).otherwise(a1)
    second = pl.when(is_flipped).then(a2.replace(_COMPLEMENTS)).otherwise(a2)
    is_sorted = first < second
    low, high = (
        pl.when(is_sorted).then(each).otherwise(other)
        for each, other in ((first, second), (second, first))
    )
    return usable.with_columns(
        pl.concat_str([low, high], separator="/").alias("alleles"),
        pl.when(is_sorted).then(1).otherwise(-1).cast(pl.Int8).alias("sign"),
        is_flipped.alias("is_flipped"),
    )
