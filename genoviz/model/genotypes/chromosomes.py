"""Chromosome type of a contig: autosome, X, Y, pseudoautosomal region, or mitochondrion.

All code that treats these differently uses this module, so that names have one meaning.

References
----------
https://www.cog-genomics.org/plink/2.0/data#irreg_output (the codes of PLINK)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum

import numpy as np

from genoviz.errors import ParameterError, n_words

HUMAN_AUTOSOMES = 22
MAX_DIGITS = 9

_PREFIX = re.compile(r"^(chromosome|chrom|chr)_?(?=.)", re.IGNORECASE)


class Kind(IntEnum):
    """Chromosome type; contigs with unknown names count as autosomes."""

    AUTOSOME = 0
    X = 1
    Y = 2
    XY = 3
    MT = 4


DIPLOID = (Kind.AUTOSOME, Kind.XY)
"""Types with two copies in both sexes."""

_KIND_OF_NAME = {
    "X": Kind.X,
    "Y": Kind.Y,
    **dict.fromkeys(("XY", "PAR", "PAR1", "PAR2"), Kind.XY),
    **dict.fromkeys(("MT", "M", "MITO"), Kind.MT),
}
_KINDS_OF_CODES = (Kind.X, Kind.Y, Kind.XY, Kind.MT)


def chromosome_kinds(contigs: Sequence[str], n_autosomes: int | None = None) -> np.ndarray:
    """Return the kind of each contig: uint8, shape (n_contigs,), values of `Kind`.

    Names are recognised in any case, with or without ``chr``: X, Y, XY or PAR1 and PAR2, MT or M.
    So are PLINK's numbers, which follow those of the autosomes: in humans 23 is X, 24 Y, 25 XY and
    26 MT.

    Parameters
    ----------
    contigs
        Names.
    n_autosomes
        Number of autosomes, as ``--autosome-num`` of PLINK; if None, 22 as in humans.

    Raises
    ------
    ParameterError
        If a number exceeds that of MT, so that it is not a chromosome of the species.

    Examples
    --------
    >>> chromosome_kinds(["22", "23", "chrX", "chr24", "par1", "26", "M", "scaffold_9"]).tolist()
    [0, 1, 1, 2, 3, 4, 4, 0]
    >>> chromosome_kinds(["23", "29", "30", "X"], 29).tolist()
    [0, 0, 1, 1]
    """
    n = HUMAN_AUTOSOMES if n_autosomes is None else n_autosomes
    return np.array([_kind_of(name, n, n_autosomes is None) for name in contigs], np.uint8)


def chromosome_names(contigs: Sequence[str], n_autosomes: int | None = None) -> list[str]:
    """Return a name of each contig that is the same for all spellings of a chromosome.

    ``chr1``, ``01`` and ``1`` become ``1``; sex chromosomes and mitochondria become X, Y, XY or MT.

    Parameters
    ----------
    contigs, n_autosomes
        As in `chromosome_kinds`.

    Raises
    ------
    ParameterError
        As `chromosome_kinds`.

    Examples
    --------
    >>> chromosome_names(["chr1", "01", "23", "x", "PAR1", "chrM", "scaffold_9"])
    ['1', '1', 'X', 'X', 'XY', 'MT', 'scaffold_9']
    """
    kinds = chromosome_kinds(contigs, n_autosomes).tolist()
    return [
        Kind(kind).name if kind != Kind.AUTOSOME else _without_prefix(contig)
        for contig, kind in zip(contigs, kinds, strict=True)
    ]


def letter_names(contigs: Sequence[str], n_autosomes: int | None = None) -> tuple[str, ...]:
    """Return the names with which other files refer to contigs: X for PLINK's code 23.

    Only codes of sex chromosomes and mitochondria are replaced, and only if the name is free.

    Examples
    --------
    >>> letter_names(["1", "chr22", "23", "26"])
    ('1', 'chr22', 'X', 'MT')
    >>> letter_names(["23", "X"]), letter_names(["23"], 29)
    (('23', 'X'), ('23',))
    """
    names = []
    for contig in contigs:
        try:
            own = chromosome_names([contig], n_autosomes)[0]
        except ParameterError:  # not a chromosome of the species
            own = contig
        is_code = own in Kind.__members__ and _without_prefix(contig).isdigit()
        names.append(own if is_code and own not in {*contigs, *names} else contig)
    return tuple(names)


def find_chromosome(
    name: str, contigs: Sequence[str], n_autosomes: int | None = None
) -> str | None:
    """Return the unique contig that is the same chromosome by another name.

    Examples
    --------
    >>> find_chromosome("chrX", ["1", "22", "23"]), find_chromosome("26", ["1", "MT"])
    ('23', 'MT')
    >>> find_chromosome("X", ["1", "2"]), find_chromosome("7", ["chr7"])
    (None, 'chr7')
    """
    own_name = _own_name(name, n_autosomes)
    found = [contig for contig in contigs if _own_name(contig, n_autosomes) == own_name]
    return found[0] if len(found) == 1 else None


def chromosome_numbers(contigs: Sequence[str], n_autosomes: int | None = None) -> np.ndarray:
    """Return the first contig that is the same chromosome as each: int32, shape (n_contigs,).

    Examples
    --------
    >>> chromosome_numbers(["chr1", "2", "01", "X", "23"]).tolist()
    [0, 1, 0, 3, 3]
    """
    first: dict[str, int] = {}
    names = [_own_name(contig, n_autosomes) for contig in contigs]
    return np.array([first.setdefault(name, k) for k, name in enumerate(names)], np.int32)


def _own_name(contig: str, n_autosomes: int | None) -> str:
    try:
        return chromosome_names([contig], n_autosomes)[0]
    except ParameterError:  # not a chromosome of the species
        return _without_prefix(contig)


def check_autosomes(n_autosomes: int | None) -> None:
    """Raise `ParameterError` if the number of autosomes is implausible."""
    if n_autosomes is not None and n_autosomes < 1:
        raise ParameterError(f"n_autosomes is {n_autosomes}, needs to be 1 or more")


def _without_prefix(contig: str) -> str:
    name = _PREFIX.sub("", contig)
    return (name.lstrip("0") or "0") if name.isascii() and name.isdigit() else name


def _kind_of(contig: str, n_autosomes: int, is_default: bool) -> Kind:
    name = _PREFIX.sub("", contig).upper()
    name = name.lstrip("0") or name
    if not (name.isascii() and name.isdigit()):
        return _KIND_OF_NAME.get(name, Kind.AUTOSOME)
    # Python refuses to parse thousands of digits.
    beyond = int(name[:MAX_DIGITS]) - n_autosomes
    if beyond <= 0:
        return Kind.AUTOSOME
    if beyond > len(_KINDS_OF_CODES):
        whose = "humans" if is_default else f"a species of {n_words(n_autosomes, 'autosome')}"
        raise ParameterError(
            f"contig {contig!r} is not a chromosome of {whose}, whose numbers end with "
            f"{n_autosomes + len(_KINDS_OF_CODES)} (MT): needs the species' number of autosomes "
            "(--autosomes; on the page, Autosomes of the species), such as 29 for cattle"
        )
    return _KINDS_OF_CODES[beyond - 1]
