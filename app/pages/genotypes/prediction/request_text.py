"""Text form of prediction requests in links."""

from __future__ import annotations

import math
from typing import Any
from urllib.parse import quote, unquote

from genoviz.errors import ParameterError
from genoviz_app.pages.genotypes.prediction.blup_steps import (
    GBLUP,
    PRECONDITIONERS,
    SINGLE_STEP,
    SNP_BLUP,
    BlupRequest,
)

TOLERANCES = {"1e-13 (the paper's)": 1e-13, "1e-10": 1e-10, "1e-8": 1e-8, "1e-6": 1e-6}
METHODS = {SNP_BLUP: SNP_BLUP, GBLUP: GBLUP, **{name: title for title, name in SINGLE_STEP.items()}}
SHARE = (0.05, 0.95)
"""The range of heritability and of the polygenic weight."""

BASES = {
    "Metafounders (A^Γ)": "metafounders",
    "Unrelated founders": "founders",
    "Genotypes (geno reml)": "genotypes",
}
_TEXTS = ("covariances", "gamma")
NAMES = {
    "method": "method",
    "h2": "heritability",
    "reml": "is_estimated",
    "with": "others",
    "covariances": "covariances",
    "gamma": "gamma",
    "base": "base",
    "weight": "polygenic_weight",
    "preconditioner": "preconditioner",
    "stop": "tolerance",
}


def write_request(request: BlupRequest) -> str:
    """Return the text form of a request; "" for the default one.

    Examples
    --------
    >>> write_request(BlupRequest("Single-step (ssSNPBLUP)", heritability=0.3, tolerance=1e-8))
    'method:ssSNPBLUP;h2:0.3;stop:1e-08'
    >>> write_request(BlupRequest("Single-step (ssSNPBLUP)", others=("fat", "a;b"), gamma="0.5"))
    'method:ssSNPBLUP;with:fat,a%3Bb;gamma:0.5'
    """
    usual, said = BlupRequest(), []
    for short, name in NAMES.items():
        value = getattr(request, name)
        if value != getattr(usual, name):
            said.append(f"{short}:{_write(name, value)}")
    return ";".join(said)


def _write(name: str, value: Any) -> str:
    if name == "others":
        return ",".join(quote(trait, safe=" ") for trait in value)
    if name in _TEXTS:
        return quote(value, safe="/:. ,")
    return SINGLE_STEP.get(value, value) if isinstance(value, str) else f"{value:.10g}"


def read_request(text: str) -> BlupRequest:
    """Parse the request of a link.

    Raises
    ------
    ParameterError
        If a setting or its value is unknown.
    """
    found: dict[str, Any] = {}
    for part in filter(None, text.split(";")):
        short, _, value = part.partition(":")
        if short not in NAMES:
            raise ParameterError(f"blup names {short!r}, needs {', '.join(NAMES)}")
        found[NAMES[short]] = _read(short, value)
    return BlupRequest(**found)


def _read(short: str, text: str) -> Any:
    if short == "method":
        return _choose(short, text, METHODS)
    if short == "with":
        return tuple(unquote(name) for name in text.split(",") if name)
    if short in _TEXTS:
        return unquote(text)
    if short == "base":
        return _choose(short, text, {name: name for name in BASES.values()})
    if short == "reml":
        return _choose(short, text, {"1": True})
    if short == "preconditioner":
        return _choose(short, text, {name: name for name in PRECONDITIONERS.values()})
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if short == "stop":
        texts = {f"{tolerance:g}": tolerance for tolerance in TOLERANCES.values()}
        written = next((name for name in texts if texts[name] == value), text)
        return _choose(short, written, texts)
    if not SHARE[0] <= value <= SHARE[1]:
        raise ParameterError(f"{short} is {text!r}, needs a number from {SHARE[0]} to {SHARE[1]}")
    return value


def _choose(short: str, text: str, values: dict[str, Any]) -> Any:
    if text not in values:
        raise ParameterError(f"{short} is {text!r}, needs {', '.join(values)}")
    return values[text]
