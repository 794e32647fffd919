"""p-values and results as words."""

from __future__ import annotations

import math

import numpy as np


def p_text(minus_log10_p: float) -> str:
    """Return a p-value from its -log10, however small it is.

    Examples
    --------
    >>> p_text(0.0), p_text(1.5), p_text(7.301), p_text(412.4), p_text(float("nan"))
    ('1', '0.0316', '5.0e-8', '4.0e-413', 'not tested')
    """
    if math.isnan(minus_log10_p):
        return "not tested"
    if minus_log10_p < 3:
        return f"{10**-minus_log10_p:.3g}"
    exponent = -math.floor(minus_log10_p) - (minus_log10_p % 1 > 0)
    mantissa = 10 ** (-minus_log10_p - exponent)
    if round(mantissa, 1) >= 10:
        mantissa, exponent = 1.0, exponent + 1
    return f"{mantissa:.1f}e{exponent}"


def p_texts(minus_log10_p: np.ndarray) -> list[str]:
    """Return p-values as words."""
    return [p_text(value) for value in minus_log10_p.tolist()]


def inflation_text(lambda_gc: float) -> str:
    """Return a genomic inflation factor as words.

    Examples
    --------
    >>> inflation_text(1.0214), inflation_text(float("nan"))
    ('λ = 1.021', 'no λ, as no variant is tested')
    """
    return "no λ, as no variant is tested" if math.isnan(lambda_gc) else f"λ = {lambda_gc:.3f}"
