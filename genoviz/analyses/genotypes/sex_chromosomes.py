"""Variants of X, Y and mitochondria: numbers of copies by sex, and notes on their treatment.

Males have one copy of X and of Y, everybody has one of the mitochondrial genome, and only males
have Y. As in PLINK 2, a sample of unknown sex counts as not male.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from genoviz.analyses.genotypes.products import allele_counts
from genoviz.analyses.genotypes.selection import select_samples
from genoviz.backend import Backend
from genoviz.errors import ParameterError, check_choice, n_words
from genoviz.model.columns import distinct
from genoviz.model.genotypes.chromosomes import DIPLOID, HUMAN_AUTOSOMES, Kind
from genoviz.model.genotypes.genotypes import Genotypes

Contigs = Literal["autosomes", "all"]
CONTIGS = ("autosomes", "all")

_FIRST_BITS = np.uint8(0b01_01_01_01)


def take_autosomes(
    genotypes: Genotypes, contigs: Contigs = "autosomes"
) -> tuple[Genotypes, slice | np.ndarray]:
    """Return the variants of autosomes and pseudoautosomal regions, and which these are.

    Parameters
    ----------
    genotypes
        The genotypes.
    contigs
        ``"all"`` includes X, Y and mitochondria, as they are in the file.

    Raises
    ------
    ParameterError
        If ``contigs`` is unknown, or there are variants but none is autosomal.
    """
    check_choice("contigs", contigs, CONTIGS)
    kept = slice(None) if contigs == "all" else _of_kinds(genotypes, DIPLOID)
    if isinstance(kept, slice) and kept == slice(None):
        return genotypes, kept
    taken = genotypes.take_variants(kept)
    if not taken.n_variants:
        raise ParameterError(
            f"all {n_words(genotypes.n_variants, 'variant is', 'variants are')} of X, Y or "
            "mitochondria, and autosomes "
            'alone are taken; contigs "all" takes these too'
        )
    return replace(taken, notes=genotypes.notes), kept


def spread_rows(values: np.ndarray, kept: slice | np.ndarray, n: int) -> np.ndarray:
    """Expand values of kept variants to all n rows; 0 for the others."""
    if len(values) == n:
        return values
    spread = np.zeros((n, *values.shape[1:]), values.dtype)
    spread[kept] = values
    return spread


def variants_of(genotypes: Genotypes, *kinds: Kind) -> np.ndarray:
    """Return the numbers of the variants of some kinds: int64."""
    return np.flatnonzero(np.isin(genotypes.kinds, kinds))


def haploid_samples(genotypes: Genotypes, kind: Kind) -> np.ndarray:
    """Return which samples have one copy at variants of a kind: bool, shape (n_samples,)."""
    if kind in (Kind.X, Kind.Y):
        return genotypes.samples.is_male
    return np.full(genotypes.n_samples, kind == Kind.MT)


def count_groups(
    genotypes: Genotypes, is_tested: np.ndarray, backend: Backend
) -> tuple[np.ndarray, ...]:
    """Return the four tables of `VariantStatistics`; int64, shape (n_variants, 4) each."""
    counts = allele_counts(genotypes, backend=backend)
    tested = counts.copy()
    if not is_tested.all():
        tested = _counts_of(genotypes, slice(None), is_tested, backend)
    haploid, tested_males = np.zeros_like(counts), np.zeros_like(counts)
    samples = genotypes.samples
    for kind in (Kind.X, Kind.Y, Kind.MT):
        rows = variants_of(genotypes, kind)
        if not len(rows):
            continue
        haploid[rows] = _counts_of(genotypes, rows, haploid_samples(genotypes, kind), backend)
        if kind == Kind.Y:
            counts[rows] = haploid[rows]
        tested[rows] = -1
        if kind == Kind.X:
            for found, who in ((tested, samples.is_female), (tested_males, samples.is_male)):
                found[rows] = _counts_of(genotypes, rows, is_tested & who, backend)
    return counts, haploid, tested, tested_males


def _counts_of(
    genotypes: Genotypes, variants: np.ndarray | slice, who: np.ndarray, backend: Backend
) -> np.ndarray:
    """Return the number of given samples with each code at some variants: int64 (m, 4)."""
    part = genotypes.take_variants(variants)
    if not who.any():
        return np.zeros((part.n_variants, 4), np.int64)
    return allele_counts(part if who.all() else select_samples(part, who), backend=backend)


def as_linked(genotypes: Genotypes) -> Genotypes:
    """Recode genotypes by actual copy numbers for linkage, as in PLINK 1.9.

    At X, males have zero or one A1. At Y, all samples except males are missing. Heterozygous calls
    of males at X and Y are missing. Without such variants the genotypes are returned unchanged.
    Linkage is that of hard calls.
    """
    others = variants_of(genotypes, Kind.X, Kind.Y)
    if not len(others):
        return genotypes
    packed = np.array(genotypes.packed)
    for kind in (Kind.X, Kind.Y):
        rows = others[genotypes.kinds[others] == kind]
        is_haploid = _packed_mask(haploid_samples(genotypes, kind))
        low, high = packed[rows] & _FIRST_BITS, packed[rows] >> 1 & _FIRST_BITS
        is_het, is_one = (high & ~low) * np.uint8(3), ~(high | low) & _FIRST_BITS
        found = packed[rows] ^ is_het & is_haploid  # 10, heterozygous, becomes 01, missing
        if kind == Kind.X:
            found |= is_one << 1 & is_haploid  # 00, twice A1, becomes 10, once
        if kind == Kind.Y:
            found = found & is_haploid | ~is_haploid & _FIRST_BITS
        packed[rows] = found
    return replace(genotypes, packed=packed, stored_dosages=None)


def describe_chromosomes(genotypes: Genotypes) -> tuple[str, ...]:
    """Return a sentence on the contigs treated as X, Y, XY and MT; empty if there are none.

    Examples
    --------
    >>> from genoviz import simulate_genotypes
    >>> describe_chromosomes(simulate_genotypes(5, 4, seed=1))
    ()
    """
    kinds, contigs = genotypes.kinds, genotypes.variants.contigs
    said, is_by_number = [], False
    for kind in (Kind.X, Kind.Y, Kind.XY, Kind.MT):
        rows = np.flatnonzero(kinds == kind)
        contig_ids = distinct(genotypes.variants.contig_ids[rows]).tolist()
        names = [contigs[k] for k in contig_ids]
        is_by_number |= any(name[-1:].isdigit() and "PAR" not in name.upper() for name in names)
        if names:
            other = "" if names == [kind.name] else f" ({', '.join(names)})"
            verb = ("" if said else " variants are") if len(rows) != 1 or said else " variant is"
            said.append(f"{len(rows):,}{verb} of {kind.name}{other}")
    if not said:
        return ()
    sexes = genotypes.samples.sexes
    n_male, n_female = int((sexes == 1).sum()), int((sexes == 2).sum())
    who = f"{n_male:,} male, {n_female:,} female"
    if n_male + n_female < len(sexes):
        who += f", {len(sexes) - n_male - n_female:,} of unknown sex, counted as not male"
    species = ""
    if is_by_number:
        n = genotypes.n_autosomes or HUMAN_AUTOSOMES
        species = f"; numbers are read as of {n_words(n, 'autosome')}"
        species += ", as in humans" if genotypes.n_autosomes is None else ""
    return (f"{', '.join(said)}{species}; samples: {who}.",)


def note_counted(genotypes: Genotypes, *, nonfounders: bool = False) -> tuple[str, ...]:
    """Return notes on how samples count in statistics of variants that are not autosomal."""
    said = []
    if len(variants_of(genotypes, Kind.X, Kind.Y, Kind.MT)):
        said.append(
            "Males have one copy of X and Y, others none of Y, all have one of MT; Hardy-Weinberg "
            "tests of X are of females and males, and there are none of Y and MT."
        )
    n_founders = int(genotypes.samples.is_founder.sum())
    if not nonfounders and n_founders < genotypes.n_samples:
        said.append(
            f"Hardy-Weinberg tests are of the {n_founders:,} founders among "
            f"{n_words(genotypes.n_samples, 'sample')}, those without a known parent."
        )
    return tuple(said)


def note_left_out(genotypes: Genotypes, contigs: Contigs = "autosomes") -> tuple[str, ...]:
    """Return a note on the variants that an autosomal analysis leaves out; empty if none."""
    n = len(variants_of(genotypes, Kind.X, Kind.Y, Kind.MT))
    if not n:
        return ()
    if contigs == "all":
        how = "is taken as it is" if n == 1 else "are taken as they are"
        return (f"{n_words(n, 'variant')} of X, Y or MT {how} in the file.",)
    are = n_words(n, "variant of X, Y or MT is", "variants of X, Y or MT are")
    return (f"{are} left out: autosomes and XY alone are taken.",)


def _of_kinds(genotypes: Genotypes, kinds: tuple[Kind, ...]) -> slice | np.ndarray:
    """Return the variants of some kinds, as a slice (without copying) if possible."""
    is_in = np.isin(genotypes.kinds, kinds)
    if is_in.all():
        return slice(None)
    found = np.flatnonzero(is_in)
    if len(found) and found[-1] - found[0] + 1 == len(found):
        return slice(int(found[0]), int(found[-1]) + 1)
    return found


def _packed_mask(is_in: np.ndarray) -> np.ndarray:
    """Return a mask with both bits of some samples set: uint8, shape ((n_samples + 3) // 4,)."""
    bits = np.zeros(-(-len(is_in) // 4) * 4, np.uint8)
    bits[: len(is_in)] = is_in * 3
    return (bits.reshape(-1, 4) << np.array([0, 2, 4, 6], np.uint8)).sum(1).astype(np.uint8)
