"""Decode all paths of a GBWT from its compressed records, in parallel.

A GBWT is a Burrows-Wheeler transform of paths in a graph. Each orientation of a node has a record,
and record 0 is the endmarker, where all sequences start. A *visit* of a record is one passage of a
sequence through it. Visits are sorted by the record that the sequence comes from, then by their
order there. The body of a record gives the successor of each visit, as runs of (edge, length). The
visits that take edge ``(v, w)`` become visits ``rank(v, w)`` and following of ``w``, in order.

::

    sequence 0  ─►  v: | edge 0 x 3 | edge 1 x 2 |        visits 0 1 2 of v are visits 7 8 9 of w,
                          │             │                 3 4 are visits 0 1 of x
                    w: ...7 8 9    x: 0 1 ...

The visits of all records form one row: records of forward nodes in ascending order of nodes, then
those of reverse nodes in descending order. Most successors are a short way to the right in this
row, so it is cut into blocks. In a block, each visit that is entered from outside begins a
*segment*; any other visit belongs to the segment of its predecessor. A segment ends where its
sequence leaves the block or goes back. A first pass over a block finds its segments without knowing
their sequences. The segments are then linked from the starts of the sequences on, and a second pass
writes the steps of each segment to their places. Sequence 2 i + 1 is read too, and must be the
reverse of sequence 2 i.

Arguments
---------
================ ================= ============================================================
data             uint8 (n_bytes,)  the records, one after the other
record_bytes     int64             record r is ``data[record_bytes[r]:record_bytes[r + 1]]``;
                 (n_records + 1,)  record 0 is the endmarker, 2 s + 1 the forward and 2 s + 2 the
                                   reverse orientation of node slot s
alphabet_offset  int               odd; record r >= 1 is the GBWT node ``r + alphabet_offset``
sizes            int64             out: visits of each record by place: forward slot s at place s,
                 (n_records - 1,)  reverse at ``n_records - 2 - s``
record_starts    int64             first visit of each record by its place in the row, and the
                 (n_records,)      number of all visits
handles          uint32            handle that a visit of each record writes, by place; ``NO_STEP``
                 (n_records - 1,)  for none
starts           int64             first visit of each sequence, -1 for an empty sequence; the
                 (n_sequences,)    number of sequences is even
================ ================= ============================================================

``measure_records`` returns the first record that violates the format, or -1. ``iter_decode_paths``
is a generator of ``(stage, n_done, n_total)`` in visits, with a stage of ``DECODE_STAGES``, and
returns a `DecodedPaths`. The records must have been measured. That successors exist and are
distinct is checked here, and ``fault`` says what is wrong.

References
----------
Sirén, Garrison, Novak, Paten, Durbin 2020: Haplotype-aware graph indexes.
https://doi.org/10.1093/bioinformatics/btz575
"""

from typing import Any, NamedTuple

NO_STEP = 0xFFFFFFFF
DECODE_STAGES = ("Following paths", "Writing paths")
FAULTS = (
    "",
    "a record of the GBWT leads beyond another one",
    "two visits of a node in the GBWT go on to the same place",
    "the sequences of the GBWT do not reach all of it, or run in circles",
    "a path and its reverse are not the same in the GBWT",
)


class DecodedPaths(NamedTuple):
    """The decoded paths: sequences 0, 2, 4 and so on; arrays of the backend.

    ``path_offsets`` is int64, shape (n_sequences // 2 + 1,), ``steps`` uint32, shape (n_steps,);
    both are None if there is a ``fault``, an index of `FAULTS`.
    """

    path_offsets: Any
    steps: Any
    fault: int
