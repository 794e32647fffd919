"""Tables of associations: PLINK's, and those with columns of known names."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from genoviz.errors import FileFormatError
from genoviz.io.genotypes.phenotypes import MISSING
from genoviz.io.genotypes.variant_tables import (
    ALLELE_TITLES,
    ID_TITLES,
    VariantValues,
    read_variant_table,
)

if TYPE_CHECKING:
    import polars

_CONTIG_TITLES = ("CHROM", "CHR", "chromosome", "contig")
_POSITION_TITLES = ("POS", "BP", "position", "base_pair_location", "GENPOS", "ps")
_BETA_TITLES = ("BETA", "effect", "log_odds")
_ODDS_TITLES = ("OR", "odds_ratio")
_SE_TITLES = ("SE", "LOG(OR)_SE", "standard_error", "stderr")
_STATISTIC_TITLES = ("STAT", "T_STAT", "Z_STAT", "T_OR_F_STAT", "Z_OR_F_STAT")
_COUNT_TITLES = ("OBS_CT", "NMISS", "N", "sample_size", "n_total")
_ALLELE_PAIRS = (
    ("A1", "OMITTED"), ("A1", "AX"), ("A1", "A2"), ("A1", "other_allele"),
    ("effect_allele", "other_allele"), ("effect_allele", "non_effect_allele"),
    ("tested_allele", "other_allele"), ("EA", "NEA"), ("ALLELE1", "ALLELE0"),
)  # fmt: skip
"""Titles of the allele of the effect and of the other one, where both have a column."""


def read_associations(path: str | PathLike[str]) -> polars.DataFrame:
    """Return the effects of a table of associations, as `meta_analyse` takes them.

    Read are tables of ``geno gwas``, ``.glm.*`` of PLINK 2, ``.assoc.linear`` and
    ``.assoc.logistic`` of PLINK 1.9, and others with columns of usual names, also gzipped. Of
    several tests (column TEST), the rows of ADD count. Odds ratios become their logarithms, and
    the standard error (SE) is that of the logarithm; without SE, it is the effect divided by the
    statistic. Where PLINK 2 names no omitted allele, A2 is the one of REF and ALT that is not A1.

    Returns
    -------
    polars.DataFrame
        ``contig``, ``id``, ``a1``, ``a2``: text; ``position``: int64, 1-based; ``beta``, ``se``,
        ``n``: float64. Null or NaN is missing; in tables of PLINK 1.9 all of ``a2`` is.

    Raises
    ------
    FileFormatError
        If a column is absent, or a field is not such a number.
    """
    import polars

    table = read_variant_table(path)
    if (test := table.first(("TEST",))) is not None:
        is_additive = table.frame[test].str.to_uppercase() == "ADD"
        if not is_additive.any():
            raise FileFormatError(table.path, f"column {test} has no row of ADD, needs some")
        rows = np.flatnonzero(is_additive.fill_null(value=False).to_numpy())
        table = VariantValues(table.path, table.titles, table.frame[rows], table.lines[rows])
    contig = table.find(None, _CONTIG_TITLES, "contigs")
    position = table.find(None, _POSITION_TITLES, "positions")
    positions = _whole_numbers(table, position)
    beta, se = _read_effects(table)
    a1, a2 = _read_alleles(table)
    names, count = table.first((*ID_TITLES, "rs")), table.first(_COUNT_TITLES)
    nothing = polars.Series([None], dtype=polars.String).new_from_index(0, len(table))
    return polars.DataFrame(
        {
            "contig": _texts(table, contig),
            "position": positions,
            "id": nothing if names is None else _texts(table, names),
            "a1": a1,
            "a2": nothing if a2 is None else a2,
            "beta": beta,
            "se": se,
            "n": np.full(len(table), np.nan) if count is None else table.numbers(count),
        }
    )


def _whole_numbers(table: VariantValues, title: str) -> polars.Series:
    import polars

    values = table.numbers(title)
    wrong = np.flatnonzero((values % 1 != 0) & ~np.isnan(values) | (np.abs(values) > 2**53))
    if len(wrong):
        table.refuse(int(wrong[0]), f"column {title} has {values[wrong[0]]:g}, needs whole numbers")
    return polars.Series(values, nan_to_null=True).cast(polars.Int64)


def _read_effects(table: VariantValues) -> tuple[np.ndarray, np.ndarray]:
    """Return effects and their standard errors: float64."""
    title, odds = table.first(_BETA_TITLES), table.first(_ODDS_TITLES)
    if title is None and odds is None:
        title = table.find(None, (*_BETA_TITLES, *_ODDS_TITLES), "effects")
    beta = np.full(len(table), np.nan) if title is None else table.numbers(title)
    if odds is not None and np.isnan(beta).any():
        ratios = table.numbers(odds)
        wrong = np.flatnonzero(ratios < 0)
        if len(wrong):
            table.refuse(int(wrong[0]), f"{odds} is {ratios[wrong[0]]:g}, needs to be at least 0")
        with np.errstate(divide="ignore"):
            beta = np.where(np.isnan(beta), np.log(ratios), beta)
    error, statistic = table.first(_SE_TITLES), table.first(_STATISTIC_TITLES)
    if error is not None:
        se = table.numbers(error)
        wrong = np.flatnonzero(se < 0)
        if len(wrong):
            table.refuse(int(wrong[0]), f"{error} is {se[wrong[0]]:g}, needs to be at least 0")
        return beta, se
    if statistic is None:
        table.find(None, (*_SE_TITLES, *_STATISTIC_TITLES), "standard errors")
    with np.errstate(divide="ignore", invalid="ignore"):
        return beta, np.abs(beta / table.numbers(statistic))


def _read_alleles(table: VariantValues) -> tuple[polars.Series, polars.Series | None]:
    """Return the alleles of the effects and the others; None where the table has none."""
    for titles in _ALLELE_PAIRS:
        pair = [table.first((title,)) for title in titles]
        if None not in pair:
            return _alleles(table, pair[0]), _alleles(table, pair[1])
    a1 = _alleles(table, table.find(None, ALLELE_TITLES, "the alleles of effects"))
    if table.first(("REF",)) is None or table.first(("ALT",)) is None:
        return a1, None
    import polars

    ref, alt = _alleles(table, table.first(("REF",))), _alleles(table, table.first(("ALT",)))
    columns = polars.DataFrame({"a1": a1, "ref": ref, "alt": alt})
    a2 = columns.select(
        polars.when(polars.col("a1") == polars.col("alt")).then("ref")
        .when(polars.col("a1") == polars.col("ref")).then("alt")
    )  # fmt: skip
    return a1, a2.to_series()


def _alleles(table: VariantValues, title: str) -> polars.Series:
    """Return a column of alleles; null for missing ones, and for lists of several."""
    texts = _texts(table, title)
    return texts.set(texts.str.contains(",") | (texts == "0"), None)


def _texts(table: VariantValues, title: str) -> polars.Series:
    texts = table.frame[title].str.strip_chars()
    return texts.set(texts.is_in(MISSING), None)
