"""Phased genotypes of VCF and BCF files, as edits of a genome and the haplotypes with them.

References
----------
VCF specification 4.3, https://samtools.github.io/hts-specs/VCFv4.3.pdf
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from genoviz.errors import FileFormatError, ParameterError
from genoviz.generators import last_of
from genoviz.io.genotypes.vcf import opened_vcf
from genoviz.model import ByteStrings, Sequences
from genoviz.model.genotypes.phased import PhasedVariants
from genoviz.model.intervals.intervals import aliases

_STEP_GENOTYPES = 1 << 20
_PLAIN = re.compile(r"[ACGTN]+", re.IGNORECASE)
_UNKNOWN, _NO_MORE = -1, -2
_SHOWN_BASES = 20
_MANY = 127
_MAX_WINDOW = 255
"""Upper limit of the genome window of a guide."""
_NO_SET = -1
_FAR = -(1 << 40)
_SENTENCES = {
    "symbolic": "alleles without their bases, such as <DEL>, are left out",
    "missing": "unknown alleles read as the genome does",
    "unphased": "genotypes of two alleles are not phased: each is a phase set of its own",
    "without": "records without genotypes (GT) are left out",
    "partly": "copies are not in all records, as of a male's X, and read as the genome elsewhere",
}

Edit = tuple[int, int, int, bytes]


class _PhaseSets:
    """Distances between heterozygous variants of different phase sets (PS) of a sample.

    The relative phase of two sets is unknown, and genotype columns are used as written. This
    matters only in windows with a variant of both sets, so comparing each heterozygous variant with
    the previous one is enough. Genotypes without a set share one.
    """

    def __init__(self, columns: np.ndarray) -> None:
        n_samples = len(columns)
        self._contig, self._columns = -1, columns
        self._ends = np.full(n_samples, _FAR)
        self._sets = np.full(n_samples, _NO_SET, np.int64)
        self._deleted = np.zeros(n_samples, np.int64)
        self._numbers: dict[str, int] = {}
        self.n_near, self.shortest = 0, _MAX_WINDOW + 1

    def add(self, contig: int, record: Any, alleles: np.ndarray, differs: np.ndarray) -> None:
        """Process a record: the alleles of the selected samples, and which are heterozygous."""
        if contig != self._contig:
            self._contig = contig
            self._ends[:] = _FAR
        sets = _sets_of(record, self._columns, self._numbers)
        start = record.POS - 1
        windows = np.maximum(start - self._ends - self._deleted + 2, 1)
        near = windows[differs & (sets != self._sets) & (windows <= _MAX_WINDOW)]
        self.n_near += len(near)
        self.shortest = min(self.shortest, int(near.min(initial=self.shortest)))
        self._ends[differs], self._sets[differs] = start + len(record.REF), sets[differs]
        self._deleted[differs] = 0
        shorter = [0, *(max(len(record.REF) - len(other), 0) for other in record.ALT)]
        lost = np.array(shorter)[alleles.max(axis=1, initial=0)]
        self._deleted += np.where(differs, 0, lost)

    def note(self) -> tuple[str, ...]:
        """Return a note if different sets are close enough to matter."""
        if not self.n_near:
            return ()
        return (
            f"{self.n_near:,} times two phase sets (PS) of a sample are so near that a window has "
            f"alleles of both (of {self.shortest} bases at least); which of these are together is "
            "not known, and they are taken as they are written.",
        )


def _sets_of(record: Any, columns: np.ndarray, numbers: dict[str, int]) -> np.ndarray:
    """Return the phase set of each sample in a record, 0 for none; int64, (n_samples,)."""
    if "PS" not in record.FORMAT:
        return np.zeros(len(columns), np.int64)
    values = np.asarray(record.format("PS"))
    values = values.reshape(len(values), -1)[columns, 0]
    if values.dtype.kind != "i":
        names = values.astype(str).tolist()
        numbers.setdefault(".", 0)
        return np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64)
    return np.where(values == np.iinfo(np.int32).min, 0, values.astype(np.int64) + 1)


@dataclass(frozen=True)
class PhasedProgress:
    """Progress of reading phased genotypes.

    Attributes
    ----------
    stage
        Current stage.
    n_bytes, n_bytes_total
        Number of bytes read, and size of the file.
    variants
        The variants, in the last report only.
    """

    stage: str
    n_bytes: int
    n_bytes_total: int
    variants: PhasedVariants | None = None


def read_phased_variants(
    path: str | PathLike[str],
    genome: Sequences,
    *,
    samples: Sequence[str] | None = None,
    phase_sets: bool = False,
) -> PhasedVariants:
    """Return the phased genotypes of a file; see `iter_read_phased_variants`."""
    reading = iter_read_phased_variants(path, genome, samples=samples, phase_sets=phase_sets)
    return last_of(reading).variants


def iter_read_phased_variants(
    path: str | PathLike[str],
    genome: Sequences,
    *,
    samples: Sequence[str] | None = None,
    phase_sets: bool = False,
) -> Iterator[PhasedProgress]:
    """Yield the progress of reading phased genotypes; the last report has them.

    All ALT alleles of a record are used. Haploid and homozygous genotypes need no phase. Contig
    names match with or without ``chr``.

    Parameters
    ----------
    path
        VCF or BCF, plain or compressed.
    genome
        The sequences that the file refers to.
    samples
        Names of the samples to read; None for all.
    phase_sets
        Whether to read phase sets (PS); an unphased genotype is then a set of its own. Otherwise
        all sets of a sample are treated as one, and a note says where that matters.

    Raises
    ------
    FileFormatError
        If the file is damaged or neither VCF nor BCF, a heterozygous genotype is unphased but must
        be phased, or REF differs from the genome.
    ParameterError
        If there is no such sample.
    """
    path = Path(path)
    with opened_vcf(path) as vcf:
        names = [str(name) for name in vcf.samples.ids]
        chosen = names if samples is None else list(dict.fromkeys(samples))
        if absent := set(chosen) - set(names):
            raise ParameterError(f"{path.name} has no sample {min(absent)!r}")
        columns = np.array([names.index(name) for name in chosen], np.int64)
        reading = _Reading(path, genome, tuple(chosen), columns, keeps_sets=phase_sets)
        if not phase_sets and "##FORMAT=<ID=PS," in vcf.reader.raw_header:
            reading.phase_sets = _PhaseSets(columns)
        step = max(1, _STEP_GENOTYPES // max(len(names), 1))
        for number, record in enumerate(vcf.iter_records(), start=1):
            reading.add(record)
            if number % step == 0:
                yield PhasedProgress("Reading variants", vcf.n_read(), vcf.n_bytes)
    yield PhasedProgress("Reading variants", vcf.n_bytes, vcf.n_bytes, reading.variants())


@dataclass
class _Reading:
    """The records read so far."""

    path: Path
    genome: Sequences
    samples: tuple[str, ...]
    columns: np.ndarray
    contigs: dict[str, int] = field(default_factory=dict)
    carriers: dict[Edit, list[tuple[np.ndarray, np.ndarray]]] = field(default_factory=dict)
    n_copies: dict[int, np.ndarray] = field(default_factory=dict)
    fewest: dict[int, np.ndarray] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    phase_sets: _PhaseSets | None = None
    keeps_sets: bool = False
    sets: dict[Edit, list[np.ndarray]] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    n_records: int = 0

    def add(self, record: Any) -> None:
        """Add a record of cyvcf2."""
        # cyvcf2 crashes on a GT without values, which may occur if GT is not the first field.
        if record.FORMAT[:1] != ["GT"]:
            self.counts["without"] += 1
            return
        contig = self._find(record)
        found = record.genotype.array(_NO_MORE)[self.columns]
        alleles, is_phased = found[:, :-1], found[:, -1] > 0
        differs, sets = self._check_phase(record, alleles, is_phased)
        if self.phase_sets is not None:
            self.phase_sets.add(contig, record, alleles, differs)
        copies = (alleles != _NO_MORE).sum(axis=1).astype(np.int8)
        self.n_copies[contig] = np.maximum(self.n_copies.get(contig, 0), copies)
        # Unknown genotypes are often written as a single dot.
        known = np.where((alleles >= 0).any(axis=1), copies, np.int8(_MANY))
        self.fewest[contig] = np.minimum(self.fewest.get(contig, np.int8(_MANY)), known)
        self.counts["missing"] += int((alleles == _UNKNOWN).sum())
        for number, other in enumerate(record.ALT, start=1):
            rows, copy = np.nonzero(alleles == number)
            if not len(rows) or other == "*":  # deleted by another record
                continue
            if not _PLAIN.fullmatch(other):
                self.counts["symbolic"] += len(rows)
                continue
            edit = _trim(contig, record.POS - 1, record.REF.upper(), other.upper())
            found = rows.astype(np.int32), copy.astype(np.int8)
            self.carriers.setdefault(edit, []).append(found)
            if self.keeps_sets:
                self.sets.setdefault(edit, []).append(sets[rows])

    def _find(self, record: Any) -> int:
        """Return the sequence of a record, after checking its REF."""
        name = record.CHROM
        if name not in self.contigs:
            known = [each for each in (name, *aliases(name)) if each in self.genome.names]
            if not known:
                raise FileFormatError(
                    self.path,
                    f"has records on {name}, and the genome has no such sequence; it has "
                    f"{', '.join(self.genome.names[:3])}",
                )
            self.contigs[name] = self.genome.find(known[0])
        contig, start = self.contigs[name], record.POS - 1
        length, reference = int(self.genome.lengths[contig]), record.REF.upper()
        stop = min(max(start, 0) + len(reference), length)
        there = self.genome.cut(contig, min(max(start, 0), length), stop).tobytes().decode()
        if there != reference:
            self._refuse(
                record,
                f"REF is {_shorten(reference)}, and the genome has {_shorten(there) or 'nothing'} "
                "there; needs the genome that the variants were found in",
            )
        return contig

    def _check_phase(
        self, record: Any, alleles: np.ndarray, is_phased: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return which genotypes are heterozygous, bool, and all phase sets, if they are used.

        Heterozygous genotypes must be phased if sets are not used.
        """
        if alleles.max(initial=_NO_MORE) > len(record.ALT):
            self._refuse(record, "a genotype has an allele that the record has not")
        # An unknown allele counts as reference, although its partner's copy is then arbitrary.
        values = np.maximum(alleles, 0)
        highest = values.max(axis=1, keepdims=True)
        differs = (np.where(alleles == _NO_MORE, highest, values) != highest).any(axis=1)
        unphased = np.flatnonzero(differs & ~is_phased)
        if self.keeps_sets:
            self.n_records += 1
            sets = _sets_of(record, self.columns, self.numbers)
            sets[unphased] = -self.n_records
            self.counts["unphased"] += len(unphased)
            return differs, sets
        if len(unphased):
            sample = self.samples[unphased[0]]
            written = "/".join("." if a < 0 else str(a) for a in alleles[unphased[0]].tolist())
            self._refuse(
                record, f"the genotype of {sample}, {written}, is not phased; needs one such as 0|1"
            )
        return differs, None

    def _refuse(self, record: Any, found: str) -> None:
        raise FileFormatError(self.path, f"{record.CHROM}:{record.POS:,}: {found}")

    def variants(self) -> PhasedVariants:
        """Return everything that was read."""
        ploidy = max((int(each.max(initial=0)) for each in self.n_copies.values()), default=0)
        ploidy = max(ploidy, 1)
        # A sample without a record on a sequence has its usual number of copies there.
        usual = np.maximum.reduce([np.ones(len(self.samples), np.int8), *self.n_copies.values()])
        n_copies = np.array(
            [self.n_copies.get(contig, usual) for contig in range(len(self.genome))], np.int8
        ).reshape(len(self.genome), len(self.samples))
        self.counts["partly"] = sum(
            int((self.fewest[contig] < maximum).sum()) for contig, maximum in self.n_copies.items()
        )
        edits = sorted(self.carriers)
        carriers, sets = [], [np.empty(0, np.int64)]
        for edit in edits:
            given = [rows * np.int32(ploidy) + k for rows, k in self.carriers[edit]]
            found, firsts = np.unique(np.concatenate(given), return_index=True)
            carriers.append(found)
            if self.keeps_sets:
                sets.append(np.concatenate(self.sets[edit])[firsts])
        phase_sets = np.concatenate(sets)
        has_several = len(phase_sets) > 0 and bool((phase_sets != phase_sets[0]).any())
        offsets = np.append(0, np.cumsum([len(each) for each in carriers])).astype(np.int64)
        places = np.array([edit[:3] for edit in edits], np.int64).reshape(-1, 3)
        notes = [
            f"{self.counts[kind]:,} {text}."
            for kind, text in _SENTENCES.items()
            if self.counts[kind]
        ]
        notes += self.phase_sets.note() if self.phase_sets is not None else ()
        return PhasedVariants(
            self.samples,
            ploidy,
            n_copies,
            places[:, 0].astype(np.int32),
            places[:, 1].copy(),
            places[:, 2].copy(),
            ByteStrings.from_texts(edit[3] for edit in edits),
            offsets,
            np.concatenate([np.empty(0, np.int32), *carriers]).astype(np.int32),
            tuple(notes),
            phase_sets if has_several else None,
        )


def _trim(contig: int, start: int, reference: str, other: str) -> Edit:
    """Return an allele without the bases shared with REF, trimming the end first."""
    # T to TCCT inserts behind T, not before it, where the record before may insert.
    n = min(len(reference), len(other)) - (reference == other[:1])
    n_last = next((k for k in range(n) if reference[-1 - k] != other[-1 - k]), n)
    reference, other = reference[: len(reference) - n_last], other[: len(other) - n_last]
    n = min(len(reference), len(other))
    n_first = next((k for k in range(n) if reference[k] != other[k]), n)
    end = start + len(reference)
    return contig, start + n_first, end, other[n_first:].encode()


def _shorten(bases: str) -> str:
    return bases if len(bases) <= _SHOWN_BASES else f"{bases[:_SHOWN_BASES]}..."
