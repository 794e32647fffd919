"""Phased variants: edits of a genome, and the haplotypes that carry each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genoviz.errors import ParameterError, n_words
from genoviz.model.byte_strings import ByteStrings
from genoviz.model.columns import check_arrays, freeze_arrays


@dataclass(frozen=True, eq=False, repr=False)
class PhasedVariants:
    """Distinct edits of a genome's sequences, sorted by sequence and position, with carriers.

    An edit replaces a stretch of the genome by other bases; either may be empty. Common prefixes
    and suffixes of REF and ALT are trimmed.

    Parameters
    ----------
    samples
        Names of the samples. Haplotype ``sample * ploidy + copy`` is one of the copies that a
        sample has of each sequence.
    ploidy
        Maximum number of copies of a sample.
    n_copies
        int8, shape (n_sequences, n_samples): copies of each sequence of the genome.
    contig_ids
        int32, shape (n_edits,): index of the sequence in the genome.
    starts, ends
        int64, shape (n_edits,): the replaced stretch, 0-based half-open, bp.
    inserted
        The replacement bases, in upper case.
    carrier_offsets, carriers
        int64, shape (n_edits + 1,), and int32: edit ``i`` is on the haplotypes
        ``carriers[carrier_offsets[i]:carrier_offsets[i + 1]]``, ascending.
    notes
        What was left out or treated specially, one sentence each.
    phase_sets
        int64, shape (n_carriers,): phase set of each carrier, within which a sample's copies are
        consistent; None if all are phased together.

    Raises
    ------
    ParameterError
        If the arrays do not match.
    """

    samples: tuple[str, ...]
    ploidy: int
    n_copies: np.ndarray
    contig_ids: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    inserted: ByteStrings
    carrier_offsets: np.ndarray
    carriers: np.ndarray
    notes: tuple[str, ...] = ()
    phase_sets: np.ndarray | None = None

    def __post_init__(self) -> None:
        freeze_arrays(self)
        n = len(self.starts)
        expected = {
            "n_copies": (np.int8, (len(self.n_copies), len(self.samples))),
            "contig_ids": (np.int32, (n,)),
            "starts": (np.int64, (n,)),
            "ends": (np.int64, (n,)),
            "carrier_offsets": (np.int64, (n + 1,)),
            "carriers": (np.int32, (len(self.carriers),)),
        }
        if self.phase_sets is not None:
            expected["phase_sets"] = (np.int64, (len(self.carriers),))
        check_arrays(self, expected)
        if len(self.inserted) != n:
            raise ParameterError(
                f"{n_words(n, 'edit has', 'edits have')} bases for {len(self.inserted):,}"
            )

    def __len__(self) -> int:
        return len(self.starts)

    def __repr__(self) -> str:
        return (
            f"PhasedVariants({n_words(len(self), 'edit')}, {n_words(len(self.samples), 'sample')})"
        )
