"""Dosages of files, and hard calls of them, as PLINK 2 makes them.

The dosage of ALT is rounded to 1/16384, as PLINK 2 stores it. A hard call is the nearest whole
dosage, or missing if the dosage is farther than 0.1 from it (``--hard-call-threshold``, by
default).

Dosages are uint16 in units of 1/16384: up to 32768, ``MISSING_DOSAGE``, or ``WRONG_DOSAGE`` for
numbers that are out of range. ``KINDS`` has a code for each of them: 0 to 2 for a whole dosage,
``CALLED`` more for another one that is called, or ``UNCERTAIN``, ``NONE`` (missing in the file) or
``WRONG``.

References
----------
https://www.cog-genomics.org/plink/2.0/input#hard_call_threshold
"""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np

from genoviz.io.files.content import MAX_BYTES_IN_MEMORY
from genoviz.io.files.file_source import cache_folder
from genoviz.model.genotypes.dosages import COPY, MISSING_DOSAGE, StoredDosages
from genoviz.model.temporary_file import TemporaryFile

DOSAGE_FIELDS = {
    "DS": "0 to 2, or 0 to 1 if the genotype is haploid",
    "HDS": "0 to 1 for each haplotype",
    "GP": "probabilities that sum to 1",
}
"""Fields of VCF with dosages, the preferred first, and the numbers that they need."""
GROUP = "dosages"
NOT_TAKEN = "dosages, which are not taken"
CALLED, UNCERTAIN, NONE, WRONG = 3, 6, 7, 8
DOSAGES = np.array([0, 1, 2, 0, 1, 2, -1, -1, -1], np.int8)
"""Hard call of each code, -1 if missing."""
WRONG_DOSAGE = MISSING_DOSAGE - 1
_MAX_DISTANCE = COPY // 10


def _kinds() -> np.ndarray:
    """Return the code of each dosage: uint8, shape (65536,)."""
    dosages = np.arange(MISSING_DOSAGE + 1)
    nearest = np.minimum((dosages + COPY // 2) // COPY, 2)
    distance = np.abs(dosages - nearest * COPY)
    kinds = (nearest + CALLED * (distance > 0)).astype(np.uint8)
    kinds[distance > _MAX_DISTANCE] = UNCERTAIN
    kinds[MISSING_DOSAGE], kinds[WRONG_DOSAGE] = NONE, WRONG
    return kinds


KINDS = _kinds()
_OF_CALL = np.array([MISSING_DOSAGE, 0, COPY, 2 * COPY], np.uint16)
_MAX_SUM_ERROR = 0.1


class DosageRows:
    """The dosages of variants as they are read.

    Many are written to an unnamed file in the cache folder, which is mapped, so that the memory
    holds only those in use.

    Parameters
    ----------
    path
        The file that is read, for errors.
    n_samples
        Number of samples.
    """

    def __init__(self, path: Path, n_samples: int) -> None:
        self._path, self._n_samples = path, n_samples
        self._rows: list[int] = []
        self._parts: list[np.ndarray] = []
        self._n_kept = self._n_held = 0
        self._file: TemporaryFile | None = None

    def skip(self, n: int = 1) -> None:
        """Count variants whose dosages are their hard calls."""
        self._rows += [-1] * n

    def add(self, dosages: np.ndarray) -> None:
        """Keep dosages of variants: uint16, shape (m, n_samples)."""
        self._rows += range(self._n_kept, self._n_kept + len(dosages))
        self._n_kept += len(dosages)
        self._parts.append(dosages)
        self._n_held += dosages.nbytes
        if self._n_held > MAX_BYTES_IN_MEMORY:
            self._write()

    def finish(self) -> StoredDosages | None:
        """Return the dosages of all variants; None if all are hard calls."""
        if not self._n_kept:
            return None
        if self._file is None:
            values = np.concatenate(self._parts)
        else:
            self._write()
            with self._file as file:
                values = file.map(np.uint16).reshape(self._n_kept, self._n_samples)
        return StoredDosages(values, np.array(self._rows, np.int64))

    def _write(self) -> None:
        if self._file is None:
            self._file = TemporaryFile(cache=cache_folder(GROUP), path=self._path)
        for part in self._parts:
            self._file.append(part)
        self._parts.clear()
        self._n_held = 0


def dosage_notes(n_variants: int, *, are_taken: bool = False) -> tuple[str, ...]:
    """Return a note on the number of variants that have dosages; empty for none."""
    if not n_variants:
        return ()
    who = "variant has" if n_variants == 1 else "variants have"
    if are_taken:
        uses = "frequencies, scores and association (except its mixed model) use them"
        return (f"{n_variants:,} {who} dosages: {uses}, everything else uses hard calls.",)
    return (f"{n_variants:,} {who} {NOT_TAKEN}: genotypes are those that were called.",)


def dosages_of_calls(calls: np.ndarray) -> np.ndarray:
    """Return the dosages of hard calls (0, 1, 2, or -1 for missing): uint16."""
    return _OF_CALL.take(calls + 1)


def read_field(name: str, values: np.ndarray, is_haploid: np.ndarray | None) -> np.ndarray:
    """Return the dosages that a field of a VCF record has for the samples: uint16, shape (n,).

    Parameters
    ----------
    name
        A key of ``DOSAGE_FIELDS``.
    values
        float32, shape (n, 1) for DS, (n, 1 or 2) for HDS, (n, 2 or 3) for GP; NaN for a number that
        is missing or not there.
    is_haploid
        bool, shape (n,): which genotypes have one copy; None if the record has no genotypes.
    """
    # Numbers are written with a few digits, of which float32 keeps six. A number that is missing is
    # a NaN of htslib's, which warns where it is cast.
    with np.errstate(invalid="ignore"):
        values = np.round(values.astype(np.float64), 6)
    is_missing = np.isnan(values).all(1)
    if is_haploid is None:
        is_haploid = np.isnan(values[:, -1]) & ~is_missing & (values.shape[1] > 1)
    if name == "DS":
        dosages = np.where(is_haploid, 2.0, 1.0) * values[:, 0]
    elif name == "HDS":
        values = np.where((values >= 0) & (values <= 1), values, np.nan)
        of_two = values.sum(1) if values.shape[1] == 2 else np.nan
        dosages = np.where(is_haploid, 2 * values[:, 0], of_two)
    else:
        none, one, two = np.pad(values, ((0, 0), (0, 1)), constant_values=np.nan).T[:3]
        two = np.where(is_haploid & np.isnan(two), 0.0, two)
        total = none + one + two
        is_right = (np.minimum(none, np.minimum(one, two)) >= 0) & (
            abs(total - 1) <= _MAX_SUM_ERROR
        )
        is_right &= ~is_haploid | (two == 0)
        copies = np.where(is_haploid, 2 * one, one + 2 * two)
        dosages = np.divide(copies, total, out=np.full(len(total), np.nan), where=is_right)
    scaled = np.floor(dosages * COPY + 0.5)
    is_right = (scaled >= 0) & (scaled <= 2 * COPY)
    found = np.where(is_right, scaled, WRONG_DOSAGE).astype(np.uint16)
    found[is_missing] = MISSING_DOSAGE
    return found


def read_triples(content: bytes) -> np.ndarray:
    """Return the dosages of genotypes of BGEN's layout 1: uint16.

    Each has three probabilities, uint16: of two, one and no REF. All are 0 if it is missing.
    """
    parts = np.frombuffer(content, "<u2").reshape(-1, 3).astype(np.int64)
    total = parts.sum(1)
    dosages = _scaled(2 * parts[:, 2] + parts[:, 1], np.maximum(total, 1))
    dosages[total == 0] = MISSING_DOSAGE
    return dosages


def read_copies(
    stored: np.ndarray, ploidies: np.ndarray, n_bits: int, *, is_phased: bool
) -> np.ndarray:
    """Return the dosages of genotypes of BGEN's layout 2, at a variant of two alleles: uint16.

    Parameters
    ----------
    stored
        uint8: as many numbers for each genotype as it has copies, of ``n_bits`` each.
    ploidies
        uint8, shape (n,): copies. The dosages of genotypes other than of one or two mean nothing.
    n_bits
        Bits of each number, 1 to 32.
    is_phased
        Whether numbers are the probabilities of REF in each copy, else of two and of one REF.
    """
    if (ploidies == 2).all():
        if n_bits == 8:
            return _byte_dosages(is_phased).take(stored.view("<u2"))
        pairs = _read_bits(stored, 2 * len(ploidies), n_bits).reshape(-1, 2)
        return _read_pairs(pairs[:, 0], pairs[:, 1], n_bits, is_phased)
    starts = np.cumsum(ploidies, dtype=np.int64)
    values = np.append(_read_bits(stored, int(starts[-1]), n_bits), [0, 0])
    starts -= ploidies
    is_haploid = ploidies == 1
    # One copy counts as two equal ones.
    second = values[starts + ~is_haploid]
    return _read_pairs(values[starts], second, n_bits, is_haploid | is_phased)


def _read_bits(stored: np.ndarray, n_values: int, n_bits: int) -> np.ndarray:
    """Return numbers of 1 to 32 bits, the lowest bit first, as int64."""
    if n_bits in (8, 16, 32):
        return stored.view(f"<u{n_bits // 8}").astype(np.int64)
    at = np.arange(n_values, dtype=np.int64) * n_bits
    padded = np.append(stored, np.zeros(5, np.uint8)).astype(np.int64)
    first = at >> 3
    word = sum(padded[first + k] << 8 * k for k in range(5))
    return word >> (at & 7) & ((1 << n_bits) - 1)


@functools.cache
def _byte_dosages(is_phased: bool) -> np.ndarray:
    """Return the dosage of each pair of bytes, the first one in the low bits of the index."""
    pairs = np.arange(1 << 16)
    return _read_pairs(pairs & 255, pairs >> 8, 8, is_phased)


def _read_pairs(
    first: np.ndarray, second: np.ndarray, n_bits: int, is_phased: bool | np.ndarray
) -> np.ndarray:
    """Return the dosages of genotypes of two numbers each, as `read_copies`."""
    one = (1 << n_bits) - 1
    of_reference = np.where(is_phased, first + second, 2 * first + second)
    dosages = _scaled(np.maximum(2 * one - of_reference, 0), one)
    dosages[~np.asarray(is_phased) & (first + second > one)] = WRONG_DOSAGE
    return dosages


def _scaled(dosages: np.ndarray, one: int | np.ndarray) -> np.ndarray:
    """Return dosages in units of 1/``one`` in those of 1/16384: uint16."""
    return ((dosages * COPY + one // 2) // one).astype(np.uint16)
