"""Meta-analysis as in the papers: variant by variant, file by file, allele by allele."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

OTHER = {"A": "T", "C": "G", "G": "C", "T": "A"}


def sign_of(row: dict, first: dict) -> int:
    """Return 1 for the same alleles, -1 for swapped ones, 0 if they do not match."""
    a1, a2 = row["a1"].upper(), row["a2"].upper()
    wanted = first["a1"].upper(), first["a2"].upper()
    ways = [(a1, a2)]
    if a1 in OTHER and a2 in OTHER and OTHER[a1] != a2:
        ways.append((OTHER[a1], OTHER[a2]))
    for one, two in ways:
        if (one, two) == wanted:
            return 1
        if (two, one) == wanted:
            return -1
    return 0


def is_usable(row: dict) -> bool:
    numbers = row["beta"], row["se"]
    return all(value is not None and math.isfinite(value) for value in numbers) and row["se"] > 0


def meta_analyse(files: list[list[dict]], *, genomic_control: bool = False) -> list[dict]:
    """Return a row for each variant of any file, in order of appearance."""
    found: list[tuple[dict, list]] = []
    for number, rows in enumerate(files):
        rows = [row for row in rows if is_usable(row)]
        inflation = np.median([(row["beta"] / row["se"]) ** 2 for row in rows]) / stats.chi2.median(
            1
        )
        factor = math.sqrt(max(1, inflation)) if genomic_control else 1
        for row in rows:
            fitting = [
                (values, sign_of(row, first))
                for first, values in found
                if (row["contig"], row["position"]) == (first["contig"], first["position"])
                and sign_of(row, first)
            ]
            if not fitting:
                found.append((row, [None] * len(files)))
                fitting = [(found[-1][1], 1)]
            ((values, sign),) = fitting
            values[number] = (sign * row["beta"], row["se"] * factor, row["n"])
    return [{"first": first, **combine(values)} for first, values in found]


def combine(studies: list) -> dict:
    known = [each for each in studies if each is not None]
    beta, se = [each[0] for each in known], [each[1] for each in known]
    w, df = [1 / s**2 for s in se], len(known) - 1
    mean = sum(a * b for a, b in zip(w, beta, strict=True)) / sum(w)
    q = sum(a * (b - mean) ** 2 for a, b in zip(w, beta, strict=True))
    tau2 = max(0, (q - df) / (sum(w) - sum(a**2 for a in w) / sum(w))) if df else 0
    v = [1 / (s**2 + tau2) for s in se]
    random = sum(a * b for a, b in zip(v, beta, strict=True)) / sum(v)
    signs = "".join(
        "?" if e is None else "+" if e[0] > 0 else "-" if e[0] < 0 else "0" for e in studies
    )
    return {
        "N_FILES": len(known), "OBS_CT": sum(each[2] for each in known), "DIRECTION": signs,
        "BETA": mean, "SE": sum(w) ** -0.5, "STAT": mean * sum(w) ** 0.5,
        "NEG_LOG10_P": -(stats.norm.logsf(abs(mean) * sum(w) ** 0.5) + math.log(2)) / math.log(10),
        "Q": q if df else None, "Q_P": stats.chi2.sf(q, df) if df else None,
        "I2": (max(0, (q - df) / q) * 100 if q else 0) if df else None,
        "TAU2": tau2, "BETA_RANDOM": random, "SE_RANDOM": sum(v) ** -0.5,
        "NEG_LOG10_P_RANDOM":
            -(stats.norm.logsf(abs(random) * sum(v) ** 0.5) + math.log(2)) / math.log(10),
    }  # fmt: skip
