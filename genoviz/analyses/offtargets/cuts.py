"""Cut sites of nucleases at off-target hits."""

from __future__ import annotations

import numpy as np

from genoviz.analyses.offtargets.scores import LENGTH, has_scores
from genoviz.model.offtargets.hits import OffTargetHits
from genoviz.model.offtargets.protospacer import find_protospacer

CUT_BEFORE_PAM = 3
CUT_BEHIND_PAM = 18


def pam_lengths(hits: OffTargetHits) -> np.ndarray:
    """Return the PAM length of each guide; int64, shape (n_guides,).

    A 20 nt guide with an SpCas9 PAM has 3, even if the guide spells out the PAM. For other guides
    see `find_protospacer`.
    """
    if has_scores(hits.pattern):
        return np.full(len(hits.guides), len(hits.pattern) - LENGTH)
    places = [find_protospacer(hits.pattern, guide) for guide in hits.guides]
    return np.array([len(hits.pattern) - place.length for place in places], np.int64)


def cut_sites(hits: OffTargetHits, *, distance: int | None = None) -> np.ndarray:
    """Return the position that each hit is cut before; int64, shape (n,), 0-based on the contig.

    Parameters
    ----------
    hits
        Result of `find_offtargets`.
    distance
        bp from the PAM into the protospacer. None is 3 if the PAM follows the protospacer (Cas9,
        doi:10.1126/science.1225829), and 18 if it precedes it (Cas12a, on the strand with the PAM;
        the other strand is cut after 23, doi:10.1016/j.cell.2015.09.038).

    Examples
    --------
    >>> from genoviz import Sequences, find_offtargets
    >>> genome = Sequences.from_records([("c", "GACCTGTCGCTGACGCTGGAA")])
    >>> cut_sites(find_offtargets(["GACCTGTCGCTGACGCNNN"], genome, "N" * 17 + "GG",
    ...                           max_mismatches=0)).tolist()
    [13]
    """
    if distance is None:
        distance = CUT_BEHIND_PAM if hits.is_pam_first else CUT_BEFORE_PAM
    inward = np.where((hits.strands > 0) == hits.is_pam_first, 1, -1)
    cuts = hits.pam_ends + inward * (pam_lengths(hits)[hits.guide_ids] + distance)
    return cuts - hits.planes.offsets[hits.contig_ids]
