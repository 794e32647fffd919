"""The paths of a GBWT, read from its compressed records all at once.

A GBWT is a Burrows-Wheeler transform of paths in a graph. Each orientation of a node has a record,
and record 0 is the endmarker, from which all sequences start. A *visit* of a record is one passage
of a sequence: visits are sorted by the record that the sequence comes from, then as they were
there. The body of a record says where each visit goes on to, as runs of (edge, length); the visits
that take edge ``(v, w)`` become ``rank(v, w)`` and the following visits of ``w``, in order.

::

    sequence 0  ─►  v: | edge 0 x 3 | edge 1 x 2 |        visits 0 1 2 of v are visits 7 8 9 of w,
                          │             │                 3 4 are visits 0 1 of x
                    w: ...7 8 9    x: 0 1 ...

All visits of all records stand in one row: records of forward nodes by ascending node, then those
of reverse nodes by descending node. In this row most visits go on further right and not far away,
so that the row is cut into blocks. In a block each visit from outside begins a *segment*, the
others belong to the segment of the visit before them, and a segment ends where its sequence leaves
the block or goes back. One pass over a block gives its segments without knowing whose they are.
They are then strung together, from the starts of the sequences on, and a second pass puts the
steps of each where they belong. Sequence 2 i + 1 is read too, and has to be sequence 2 i backwards.

Arguments
---------
================ ================= ============================================================
data             uint8 (n_bytes,)  the records, one after the other
record_bytes     int64             record r is ``data[record_bytes[r]:record_bytes[r + 1]]``;
                 (n_records + 1,)  record 0 is the endmarker, 2 s + 1 the forward and 2 s + 2 the
                                   reverse orientation of node slot s
alphabet_offset  int               odd; record r >= 1 is the GBWT node ``r + alphabet_offset``
sizes            int64             out: visits of each record by its place: slot s forward at s,
                 (n_records - 1,)  reverse at ``n_records - 2 - s``
record_starts    int64             first visit of each record by its place in the row, and the
                 (n_records,)      number of all visits
handles          uint32            what a visit of each record writes, by its place; ``NO_STEP``
                 (n_records - 1,)  for nothing
starts           int64             first visit of each sequence, -1 for an empty sequence; the
                 (n_sequences,)    number of sequences is even
================ ================= ============================================================

``measure_records`` returns the first record that does not follow the format, or -1.
``iter_decode_paths`` is a generator of ``(stage, n_done, n_total)`` visits, with a stage of
``DECODE_STAGES``, and returns a `DecodedPaths`. The records must have been measured; that visits
lead to visits, each to its own, is checked here, and ``fault`` says what was found.

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
    """The paths: sequences 0, 2, 4 and so on; arrays of the backend.

    ``path_offsets`` is int64, shape (n_sequences // 2 + 1,), ``steps`` uint32, shape (n_steps,);
    both are None if there is a ``fault``, an index of `FAULTS`.
    """

    path_offsets: Any
    steps: Any
    fault: int
