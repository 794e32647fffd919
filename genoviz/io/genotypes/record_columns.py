"""Genotypes of files with a record for each variant, in columns as they are read."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from genoviz.io.genotypes.dosages import (
    CALLED,
    DOSAGES,
    KINDS,
    NONE,
    UNCERTAIN,
    DosageRows,
    dosage_notes,
)
from genoviz.io.text import spaced_lines
from genoviz.model import packing_loops
from genoviz.model.genotypes.genotypes import Genotypes, SampleTable, VariantTable

_PLURAL = {"s": "s", "are": "are", "count": "count"}
_SINGULAR = {"s": "", "are": "is", "count": "counts"}
_HAPLOID = ([2, 3], [0, 0])
_HALF_CALL = ([1, 1, 2, 3], [2, 3, 1, 1])
_POLYPLOID = ([0], [0])


@dataclass
class RecordColumns:
    """The records read so far.

    Attributes
    ----------
    path, samples
        The file, for errors, and its samples.
    takes_dosages
        Whether to keep dosages that differ from hard calls.
    splits
        Whether to split records with several ALT into one variant each.
    contigs
        Index of each contig by name.
    contig_ids, positions
        Contig and position of each variant.
    texts
        IDs, ALT and REF of the variants, in parts: ``StringDType`` (3, n).
    packed
        The genotypes at 2 bits, variant-major.
    n_multiallelic, n_without
        Numbers of records with more than two alleles, which are left out or split, and without
        genotypes.
    n_unscaled
        Number of records of X, Y and MT whose DS may be of one copy or two, which are left out.
    n_dosages, n_uncertain
        Numbers of variants with dosages, and of hard calls that are missing because their dosage is
        too far from a whole number.
    n_of_kind
        int64, shape (4, 4): genotypes by first and second allele, each from -2 (none) and -1
        (unknown) on; genotypes with three or more alleles are counted at 0, 0.
    """

    path: Path
    samples: SampleTable
    takes_dosages: bool = True
    splits: bool = False
    contigs: dict[str, int] = field(default_factory=dict)
    contig_ids: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    texts: list[np.ndarray] = field(default_factory=list)
    packed: bytearray = field(default_factory=bytearray)
    n_multiallelic: int = 0
    n_without: int = 0
    n_unscaled: int = 0
    n_dosages: int = 0
    n_uncertain: int = 0
    n_of_kind: np.ndarray = field(default_factory=lambda: np.zeros((4, 4), np.int64))
    _new_texts: list[tuple[str, str, str]] = field(default_factory=list)
    _new_calls: list[np.ndarray] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._stored = DosageRows(self.path, len(self.samples))

    def add_dosages(
        self, place: tuple[str, int], texts: tuple[str, str, str], dosages: np.ndarray
    ) -> None:
        """Add a variant as `add_variant`, with hard calls of its dosages: uint16 (n_samples,)."""
        kinds = KINDS.take(dosages)
        n_of_kind = np.bincount(kinds, minlength=NONE + 1)
        has_others = bool(n_of_kind[CALLED:NONE].any())
        self.n_uncertain += int(n_of_kind[UNCERTAIN])
        self.n_dosages += has_others
        self.add_variant(place, texts, DOSAGES.take(kinds), dosages if has_others else None)

    def add_variant(
        self,
        place: tuple[str, int],
        texts: tuple[str, str, str],
        calls: np.ndarray,
        dosages: np.ndarray | None = None,
    ) -> None:
        """Add a variant: contig and position; ID, ALT and REF; int8 hard calls, -1 if missing.

        Dosages, uint16, are given if they differ from the hard calls.
        """
        self._new_calls.append(calls)
        self._new_texts.append(texts)
        self.contig_ids.append(self.contigs.setdefault(place[0], len(self.contigs)))
        self.positions.append(place[1])
        if dosages is None or not self.takes_dosages:
            self._stored.skip()
        else:
            self._stored.add(dosages[None])

    def pack(self) -> None:
        """Pack the genotypes added so far at 2 bits each."""
        if not self._new_calls:
            return
        self.packed += packing_loops.pack_dosages(np.stack(self._new_calls)).data
        self.texts.append(np.array(self._new_texts, np.dtypes.StringDType()).T)
        self._new_calls.clear()
        self._new_texts.clear()

    def genotypes(self, notes: tuple[str, ...] = ()) -> Genotypes:
        """Return all variants as genotypes; ``notes`` stand before those on records."""
        self.pack()
        variants = VariantTable(
            tuple(self.contigs),
            np.array(self.contig_ids, np.int32),
            np.array(self.positions, np.int64),
            *(_joined([part[k] for part in self.texts]) for k in range(3)),
            np.zeros(len(self.positions)),
        )
        packed = np.frombuffer(self.packed, np.uint8).reshape(
            len(variants), (len(self.samples) + 3) // 4
        )
        stored, notes = self._stored.finish(), notes + self.notes()
        return Genotypes(packed, self.samples, variants, notes, stored_dosages=stored)

    def notes(self) -> tuple[str, ...]:
        """Return notes on what was left out or treated specially."""
        n_haploid, n_half, n_polyploid = (
            int(self.n_of_kind[kinds].sum()) for kinds in (_HAPLOID, _HALF_CALL, _POLYPLOID)
        )
        done = "split, a variant for each ALT" if self.splits else "left out"
        sentences = [
            (self.n_multiallelic, "variant{s} of more than two alleles {are} " + done),
            (self.n_without, "record{s} without genotypes (GT) {are} left out"),
            (
                self.n_unscaled,
                "record{s} of X, Y and MT with DS but without GT {are} left out: DS of a haploid "
                "genotype is from 0 to 1, and else from 0 to 2",
            ),
            (n_haploid, "haploid genotype{s} {count} as homozygous"),
            (n_half, "half-call{s}, such as ./1, {count} as missing"),
            (n_polyploid, "genotype{s} of three or more alleles {are} missing"),
            (
                self.n_uncertain,
                "hard call{s} {are} missing, as the dosage is farther than 0.1 from a whole number",
            ),
        ]
        forms = (_PLURAL, _SINGULAR)
        notes = tuple(f"{n:,} {text.format(**forms[n == 1])}." for n, text in sentences if n)
        return notes + dosage_notes(self.n_dosages, are_taken=self.takes_dosages)


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    """Join texts at fixed width, or as variable-length strings if that saves memory."""
    if not parts:
        return np.empty(0, np.str_)
    texts = np.concatenate(parts)
    width = int(np.strings.str_len(texts).max())
    fits = 4 * width * len(texts) <= spaced_lines.MAX_FIXED_BYTES
    return texts.astype(f"U{width}") if fits else texts
