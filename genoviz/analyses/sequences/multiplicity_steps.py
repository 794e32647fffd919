"""Multiplicities of k-mers along contigs as steps: where one lasts, and what it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from genoviz.analyses.sequences.multiplicity_track import MultiplicityTrack, find_contig

_STRETCH = 1 << 24


@dataclass(frozen=True, eq=False)
class MultiplicitySteps:
    """Stretches of a contig at each base of which a k-mer begins that occurs equally often.

    Attributes
    ----------
    contig
        Number of the contig.
    starts, ends
        int64, shape (n,): 0-based half-open, bp.
    multiplicities
        int64, shape (n,): never 0; where no k-mer begins there is no step.
    """

    contig: int
    starts: np.ndarray
    ends: np.ndarray
    multiplicities: np.ndarray


def iter_multiplicity_steps(
    track: MultiplicityTrack, contig: str | int | None = None
) -> Iterator[MultiplicitySteps]:
    """Yield the steps of a contig, or of all in order; some 16 million bases at a time.

    Raises
    ------
    ParameterError
        If there is no such contig.
    """
    text = track.text
    contigs = range(text.n_contigs) if contig is None else [find_contig(text, contig)]
    for rank in contigs:
        length = int(text.contig_lengths[rank])
        for first in range(0, length, _STRETCH):
            values = track.cut(rank, first, min(first + _STRETCH, length))
            changes = np.flatnonzero(values[1:] != values[:-1]) + 1
            starts = np.concatenate([[0], changes])
            ends = np.append(changes, len(values))
            kept = values[starts] > 0
            yield MultiplicitySteps(
                rank,
                first + starts[kept],
                first + ends[kept],
                values[starts[kept]].astype(np.int64),
            )
