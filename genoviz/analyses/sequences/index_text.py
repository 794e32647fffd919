"""Sequences as the text that an index of k-mers stands on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from genoviz.analyses.offtargets.pack_bases import find_pieces, pack_bases
from genoviz.model.sequences.index_text import BASES_PER_WORD, IndexText
from genoviz.model.sequences.sequences import Sequences, cut_stretches


def make_index_text(sequences: Sequences) -> IndexText:
    """Return the text to index: bases in two bits, other letters as runs, contig ends marked.

    Examples
    --------
    >>> text = make_index_text(Sequences.from_records([("chr1", "ACNNRGT"), ("chr2", "T")]))
    >>> text.symbols().tolist(), text.run_lengths.tolist()
    ([0, 1, 4, 2, 3, 4, 3, 4], [3, 0, 0])
    >>> text.find(0, 5), text.find(0, 3), text.cut(0, 1, 6).tobytes()
    (3, -1, b'CNNRG')
    """
    bases, offsets = sequences.bases, sequences.offsets
    pieces = cut_stretches(find_pieces(bases), offsets)
    found = _find_exceptions(pieces, offsets)
    shifts = np.concatenate([[0], np.cumsum(found.lengths - 1)]).astype(np.int64)
    exceptions = found.starts - shifts[:-1]
    n_symbols = int(exceptions[-1]) + 1 if len(exceptions) else 0
    packed = np.empty(n_symbols // BASES_PER_WORD + 2, np.uint64)
    pack_bases(bases, exceptions, shifts, n_symbols, packed)
    return IndexText(
        packed,
        n_symbols,
        exceptions,
        found.lengths,
        sequences.names,
        sequences.lengths,
        sequences.masked,
        np.concatenate([[0], np.cumsum(found.n_pieces)]).astype(np.int64),
        bases[pieces[:, 0]],
        pieces[:, 1] - pieces[:, 0],
    )


class _Exceptions(NamedTuple):
    """Runs of other letters and ends of sequences in the order of the text; each int64, (n,)."""

    starts: np.ndarray
    lengths: np.ndarray
    n_pieces: np.ndarray


def _find_exceptions(pieces: np.ndarray, offsets: np.ndarray) -> _Exceptions:
    begins_run = np.ones(len(pieces), bool)
    begins_run[1:] = pieces[1:, 0] != pieces[:-1, 1]
    begins_run |= offsets[np.searchsorted(offsets, pieces[:, 0])] == pieces[:, 0]
    rows = np.flatnonzero(begins_run)
    starts, stops = pieces[rows, 0], pieces[np.append(rows, len(pieces))[1:] - 1, 1]

    # An end comes after the runs of its own sequence and before those of the next.
    places = np.searchsorted(starts, offsets[1:], side="left")
    return _Exceptions(
        np.insert(starts, places, offsets[1:]),
        np.insert(stops - starts, places, 0),
        np.insert(np.diff(np.append(rows, len(pieces))), places, 0),
    )
