"""Quality thresholds: which data pass, and their text form in links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from genoviz.errors import ParameterError


@dataclass(frozen=True)
class Thresholds:
    """Thresholds for variants and samples; with the defaults, everything passes.

    Attributes
    ----------
    min_maf
        Minimum minor allele frequency, 0 to 0.5.
    max_variant_missing, max_sample_missing
        Maximum missing rate, 0 to 1.
    min_hwe_p
        Minimum p-value of the test for Hardy-Weinberg equilibrium.
    """

    min_maf: float = 0.0
    max_variant_missing: float = 1.0
    max_sample_missing: float = 1.0
    min_hwe_p: float = 0.0


LIMITS = {
    "min_maf": (0.0, 0.5),
    "max_variant_missing": (0.0, 1.0),
    "max_sample_missing": (0.0, 1.0),
    "min_hwe_p": (0.0, 1.0),
}
LINK_NAMES = {
    "maf": "min_maf",
    "missing": "max_variant_missing",
    "hwe": "min_hwe_p",
    "samples": "max_sample_missing",
}


def passing_variants(statistics: Any, thresholds: Thresholds) -> np.ndarray:
    """Return which variants pass, bool, shape (n_variants,).

    A variant without genotypes has no frequency, and passes only without a minimum frequency.
    """
    passes = statistics.missing_rate <= thresholds.max_variant_missing
    if thresholds.min_maf > 0:
        passes &= statistics.minor_allele_frequency >= thresholds.min_maf
    return passes & ~(statistics.hwe_p < thresholds.min_hwe_p)


def passing_samples(statistics: Any, thresholds: Thresholds) -> np.ndarray:
    """Return which samples pass, bool, shape (n_samples,)."""
    return ~(statistics.missing_rate > thresholds.max_sample_missing)


def write_thresholds(thresholds: Thresholds) -> str:
    """Return the text form of thresholds for links; "" for none.

    Examples
    --------
    >>> write_thresholds(Thresholds(min_maf=0.05, min_hwe_p=1e-6))
    'maf:0.05;hwe:1e-06'
    """
    nothing = Thresholds()
    said = {
        short: getattr(thresholds, name)
        for short, name in LINK_NAMES.items()
        if getattr(thresholds, name) != getattr(nothing, name)
    }
    return ";".join(f"{short}:{value:.10g}" for short, value in said.items())


def read_thresholds(text: str) -> Thresholds:
    """Parse the thresholds of a link.

    Raises
    ------
    ParameterError
        If a threshold does not exist or is out of range.
    """
    found: dict[str, float] = {}
    for part in filter(None, text.split(";")):
        short, _, value = part.partition(":")
        if short not in LINK_NAMES:
            raise ParameterError(f"kept names {short!r}, needs {', '.join(LINK_NAMES)}")
        found[LINK_NAMES[short]] = read_threshold(LINK_NAMES[short], value)
    return Thresholds(**found)


def read_threshold(name: str, text: str, *, scale: float = 1.0) -> float:
    """Parse a threshold; an empty text is the default.

    Parameters
    ----------
    name
        Name of a field of `Thresholds`.
    text
        The number.
    scale
        Unit of the number: 0.01 for per cent.

    Raises
    ------
    ParameterError
        If it is not a number within the range.
    """
    if not text.strip():
        return getattr(Thresholds(), name)
    low, high = LIMITS[name]
    try:
        value = float(text.strip().rstrip("%")) * scale
    except ValueError:
        value = np.nan
    if not low <= value <= high:
        raise ParameterError(
            f"the threshold is {text.strip()!r}, needs a number from {low / scale:g} to "
            f"{high / scale:g}"
        )
    return value
