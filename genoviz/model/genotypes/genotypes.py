"""Genotypes of samples at biallelic variants, 2 bits each, as in a PLINK 1 .bed file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from genoviz.errors import ParameterError, n_words
from genoviz.model.genotypes.chromosomes import (
    check_autosomes,
    chromosome_kinds,
    chromosome_numbers,
)
from genoviz.model.genotypes.dosages import COPY, MISSING_DOSAGE, StoredDosages

MISSING_CODE, HETEROZYGOUS_CODE = 1, 2
MALE, FEMALE = 1, 2
DOSAGES = np.array([2, -1, 1, 0], np.int8)
"""Dosage (count of allele A1) of each 2-bit code of a .bed file; -1 if missing."""


@dataclass(frozen=True, eq=False, repr=False)
class SampleTable:
    """The samples, in the order of the genotypes.

    Parameters
    ----------
    family_ids, ids
        str, shape (n_samples,): FID (``"0"`` for none) and IID; each pair is unique.
    father_ids, mother_ids
        str, shape (n_samples,): IIDs within the same family, ``"0"`` if unknown.
    sexes
        uint8, shape (n_samples,): 1 male, 2 female, 0 unknown.
    """

    family_ids: np.ndarray
    ids: np.ndarray
    father_ids: np.ndarray
    mother_ids: np.ndarray
    sexes: np.ndarray

    def __post_init__(self) -> None:
        _check_lengths(self, len(self.ids), "samples")

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def is_male(self) -> np.ndarray:
        """Whether samples are known to be male: bool, shape (n_samples,)."""
        return self.sexes == MALE

    @property
    def is_female(self) -> np.ndarray:
        """Whether samples are known to be female: bool, shape (n_samples,)."""
        return self.sexes == FEMALE

    @property
    def is_founder(self) -> np.ndarray:
        """Whether neither parent is known, as in PLINK: bool, shape (n_samples,)."""
        return (self.father_ids == "0") & (self.mother_ids == "0")

    @classmethod
    def from_ids(cls, ids: np.ndarray) -> SampleTable:
        """Return samples with these IIDs and nothing else known."""
        ids = np.asarray(ids, np.str_)
        none = np.full(len(ids), "0")
        return cls(none, ids, none, none, np.zeros(len(ids), np.uint8))

    def take(self, indices: np.ndarray) -> SampleTable:
        """Return the samples with these indices, in this order."""
        return SampleTable(*(getattr(self, name)[indices] for name in self.__dataclass_fields__))


@dataclass(frozen=True, eq=False, repr=False)
class VariantTable:
    """The variants, in the order of the genotypes.

    Parameters
    ----------
    contigs
        Distinct names of the contigs (chromosomes).
    contig_ids
        int32, shape (n_variants,): the contig of each variant.
    positions
        int64, shape (n_variants,): first base of the variant, 0-based; -1 if unknown. PLINK and VCF
        files and tables use 1-based positions.
    ids
        str, shape (n_variants,): such as rs numbers; ``"."`` for none.
    allele1, allele2
        str, shape (n_variants,): A1, which dosages count, and A2 (columns 5 and 6 of a .bim file).
    centimorgans
        float64, shape (n_variants,): 0 if unknown.
    """

    contigs: tuple[str, ...]
    contig_ids: np.ndarray
    positions: np.ndarray
    ids: np.ndarray
    allele1: np.ndarray
    allele2: np.ndarray
    centimorgans: np.ndarray

    def __post_init__(self) -> None:
        _check_lengths(self, len(self.ids), "variants")

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, indices: np.ndarray) -> VariantTable:
        """Return the variants with these indices, in this order; the contigs are unchanged."""
        names = [name for name in self.__dataclass_fields__ if name != "contigs"]
        return VariantTable(self.contigs, *(getattr(self, name)[indices] for name in names))

    def label(self, variant: int) -> str:
        """Return the ID of a variant, or contig:position (1-based) if it has none."""
        name = str(self.ids[variant])
        contig = self.contigs[self.contig_ids[variant]]
        return name if name not in (".", "") else f"{contig}:{self.positions[variant] + 1}"

    def full_name(self, variant: int) -> str:
        """Return contig:position:A2:A1 of a variant, which in VCF is CHROM:POS:REF:ALT."""
        contig, position = self.contigs[self.contig_ids[variant]], self.positions[variant] + 1
        return f"{contig}:{position}:{self.allele2[variant]}:{self.allele1[variant]}"

    def in_region(self, contig: str, start: int, end: int) -> np.ndarray:
        """Return the indices of variants with start <= position < end, int64, by position."""
        if contig not in self.contigs:
            return np.empty(0, np.int64)
        is_in = self.contig_ids == self.contigs.index(contig)
        is_in &= (self.positions >= start) & (self.positions < end)
        found = np.flatnonzero(is_in)
        return found[np.argsort(self.positions[found], kind="stable")]

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """Table columns of the variants, with PLINK's names; POS is 1-based, as in VCF."""
        return {
            "#CHROM": np.array(self.contigs or ("0",))[self.contig_ids],
            "POS": self.positions + 1,
            "ID": self.ids,
            "A1": self.allele1,
            "A2": self.allele2,
        }

    @cached_property
    def is_sorted(self) -> bool:
        """Whether variants are sorted by contig and position."""
        steps = np.diff(self.contig_ids)
        return bool((steps >= 0).all() and (np.diff(self.positions)[steps == 0] >= 0).all())


@dataclass(frozen=True, eq=False, repr=False)
class Genotypes:
    """Genotypes at 2 bits, variant-major.

    A dosage is the count of allele A1 (column 5 of a .bim file), 0, 1 or 2, or missing.

    Parameters
    ----------
    packed
        uint8, shape (n_variants, (n_samples + 3) // 4), C order; may be memory-mapped. Two bits per
        sample, the lowest first: 0 homozygous A1, 1 missing, 2 heterozygous, 3 homozygous A2.
        Padding bits are arbitrary.
    samples, variants
        The sample and variant tables.
    notes
        What a reader left out or treated specially, one sentence each.
    n_autosomes
        Number of autosomes of the species, which determines the numbers of X, Y, XY and MT; if
        None, 22 as in humans. See `genoviz.model.genotypes.chromosomes`.
    stored_dosages
        Dosages of the variants at which they differ from the hard calls in ``packed``, such as
        those of imputed genotypes. None if there are none.

    Raises
    ------
    ParameterError
        If the arrays do not match, or no species has so many autosomes.

    Examples
    --------
    >>> genotypes = Genotypes(
    ...     np.array([[0b11_10_01_00]], np.uint8), SampleTable.from_ids(["a", "b", "c", "d"]),
    ...     VariantTable(("1",), *(np.array([value]) for value in (0, 41, "rs1", "A", "G", 0.0))))
    >>> genotypes
    Genotypes(4 samples, 1 variant)
    >>> genotypes.dosages(slice(0, 1)).tolist()
    [[2], [-1], [1], [0]]
    """

    packed: np.ndarray
    samples: SampleTable
    variants: VariantTable
    notes: tuple[str, ...] = ()
    n_autosomes: int | None = None
    stored_dosages: StoredDosages | None = None

    def __post_init__(self) -> None:
        check_autosomes(self.n_autosomes)
        shape = (len(self.variants), (len(self.samples) + 3) // 4)
        if self.packed.shape != shape or self.packed.dtype != np.uint8:
            raise ParameterError(
                f"packed genotypes are {self.packed.dtype} of shape {self.packed.shape}, need "
                f"uint8 of shape {shape} for {shape[0]} variants of "
                f"{n_words(len(self.samples), 'sample')}"
            )
        if (stored := self.stored_dosages) is not None:
            found, needed = (len(stored.rows), stored.n_samples), (shape[0], len(self.samples))
            if found != needed:
                raise ParameterError(
                    f"stored dosages are of {found[0]} variants and {found[1]} samples, need "
                    f"{needed[0]} and {needed[1]}"
                )

    def __repr__(self) -> str:
        n_samples, n_variants = f"{self.n_samples:,}", f"{self.n_variants:,}"
        return (
            f"Genotypes({n_samples} sample{'s' * (self.n_samples != 1)}, "
            f"{n_variants} variant{'s' * (self.n_variants != 1)})"
        )

    @classmethod
    def unnamed(
        cls,
        packed: np.ndarray,
        sexes: np.ndarray,
        contigs: tuple[str, ...] = ("1",),
        contig_ids: np.ndarray | None = None,
        n_autosomes: int | None = None,
    ) -> Genotypes:
        """Return genotypes without names of samples and variants.

        Parameters
        ----------
        packed, n_autosomes
            As for `Genotypes`.
        sexes
            As for `SampleTable`.
        contigs, contig_ids
            As for `VariantTable`; without ``contig_ids``, all variants are on the first contig.
        """
        n = len(packed)
        ids = np.zeros(n, np.int32) if contig_ids is None else contig_ids
        none, names = np.full(len(sexes), "0"), np.full(n, ".")
        samples = SampleTable(none, none, none, none, sexes)
        positions = np.full(n, -1, np.int64)
        variants = VariantTable(contigs, ids, positions, names, names, names, np.zeros(n))
        return cls(packed, samples, variants, n_autosomes=n_autosomes)

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.samples)

    @property
    def n_variants(self) -> int:
        """Number of variants."""
        return len(self.variants)

    @cached_property
    def kinds(self) -> np.ndarray:
        """Chromosome type of each variant: uint8, shape (n_variants,), values of `Kind`.

        Raises
        ------
        ParameterError
            If a contig with variants is not a chromosome of the species.
        """
        contigs, contig_ids = self.variants.contigs, self.variants.contig_ids
        kinds = np.zeros(len(contigs), np.uint8)
        used = np.flatnonzero(np.bincount(contig_ids, minlength=len(contigs)))
        kinds[used] = chromosome_kinds([contigs[k] for k in used.tolist()], self.n_autosomes)
        return kinds[contig_ids]

    @cached_property
    def chromosome_ids(self) -> np.ndarray:
        """Chromosome of each variant: int32, shape (n_variants,), the first contig that is it.

        Contigs ``1``, ``01`` and ``chr1`` of a file are one chromosome.
        """
        numbers = chromosome_numbers(self.variants.contigs, self.n_autosomes)
        return numbers[self.variants.contig_ids]

    @cached_property
    def has_stored_dosages(self) -> np.ndarray:
        """Whether a variant has other dosages than its hard calls: bool, shape (n_variants,)."""
        if self.stored_dosages is None:
            return np.zeros(self.n_variants, bool)
        return self.stored_dosages.rows >= 0

    @property
    def hard_called(self) -> Genotypes:
        """The same genotypes without stored dosages, so that all analyses use hard calls."""
        return replace(self, stored_dosages=None)

    def split_by_dosages(self, variants: slice | np.ndarray) -> list[slice | np.ndarray]:
        """Return the indices of variants without and with stored dosages; no part is empty."""
        if self.stored_dosages is None:
            return [variants]
        numbers = np.arange(self.n_variants)[variants]
        has_stored = self.has_stored_dosages[numbers]
        parts = [numbers[~has_stored], numbers[has_stored]]
        return [part for part in parts if len(part)]

    def dosages(self, variants: slice | np.ndarray) -> np.ndarray:
        """Return the hard calls of some variants: int8, shape (n_samples, m), -1 if missing."""
        rows = np.asarray(self.packed[variants])
        codes = (rows[:, :, None] >> np.array([0, 2, 4, 6], np.uint8)) & 3
        codes = codes.reshape(len(rows), 4 * rows.shape[1])
        return DOSAGES[codes[:, : self.n_samples]].T

    def exact_dosages(self, variants: np.ndarray) -> np.ndarray:
        """Return the dosages of variants: float64, shape (n_samples, m), NaN if missing.

        Parameters
        ----------
        variants
            int64, shape (m,): indices of the variants.
        """
        found = self.dosages(variants).astype(np.float64)
        found[found < 0] = np.nan
        stored = np.flatnonzero(self.has_stored_dosages[variants])
        if len(stored):
            values = self.stored_dosages.read(variants[stored]).T
            found[:, stored] = np.where(values == MISSING_DOSAGE, np.nan, values / COPY)
        return found

    def take_variants(self, indices: np.ndarray | slice) -> Genotypes:
        """Return some variants, in this order; a slice, or consecutive indices, make a view."""
        if isinstance(indices, np.ndarray) and indices.dtype == np.int64 and len(indices):
            if 0 <= indices[0] <= indices[-1] < self.n_variants and (np.diff(indices) == 1).all():
                indices = slice(indices[0], indices[-1] + 1)
        stored = self.stored_dosages
        stored = None if stored is None else stored.take_variants(indices)
        return replace(
            self,
            packed=self.packed[indices],
            variants=self.variants.take(indices),
            notes=(),
            stored_dosages=stored,
        )


def _check_lengths(table: SampleTable | VariantTable, n: int, what: str) -> None:
    for name in table.__dataclass_fields__:
        if name != "contigs" and len(getattr(table, name)) != n:
            raise ParameterError(f"{name} has {len(getattr(table, name))} of {n} {what}")
