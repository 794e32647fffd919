"""Properties of guide sequences: efficiency, repair outcome, hairpins, base edits, oligos."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from genoviz.errors import check_choice

CONTEXT_BEFORE, CONTEXT_BEHIND = 4, 3
"""Flanking bases of a 20 nt protospacer with its 3 nt PAM that efficiency depends on."""
CONTEXT = CONTEXT_BEFORE + 20 + 3 + CONTEXT_BEHIND
FLANK = 30
"""Bases on each side of a cut that are searched for microhomologies."""
MIN_STEM, MIN_LOOP = 3, 3
TERMINATOR = "TTTT"
"""Terminates transcription by RNA polymerase III."""
EDITS = {"cytosine": ("C", 4, 8), "adenine": ("A", 4, 7)}
"""Base changed by an editor, and its window in the protospacer, 1-based from the 5' end.

Cytosine: Komor et al. 2016, doi:10.1038/nature17946. Adenine: Gaudelli et al. 2017,
doi:10.1038/nature24644.
"""
OVERHANGS = "CACC", "AAAC"
"""Of oligonucleotides for vectors cut with BbsI or BsmBI; Ran et al. 2013,
doi:10.1038/nprot.2013.143."""

_INTERCEPT, _GC_LOW, _GC_HIGH, _GC_BEST = 0.597636154, -0.202625894, -0.166587752, 10
# 1-based position in the context, letters found there, and their weight.
_WEIGHTS = """
G2 -0.275377128  A3 -0.323887456  C3 0.172128871   C4 -0.100666209  C5 -0.20180294
G5 0.245956633   A6 0.036440041   C6 0.098376835   C7 -0.741181291  G7 -0.393264397
A12 -0.466099015 A15 0.085376945  C15 -0.013813972 A16 0.272620512  C16 -0.119022648
T16 -0.285944222 A17 0.097454592  G17 -0.17554617  C18 -0.345795451 G18 -0.678096426
A19 0.22508903   C19 -0.507794051 G20 -0.417373597 T20 -0.054306959 G21 0.379899366
T21 -0.090712644 C22 0.057823319  T22 -0.530567296 T23 -0.877007428 C24 -0.876235846
G24 0.278916259  T24 -0.403102218 A25 -0.077300704 C25 0.287935617  T25 -0.221637217
G28 -0.689016682 T28 0.117877577  C29 -0.160445304 G30 0.386342585
GT2 -0.625778696  GC5 0.300043317   AA6 -0.834836245  TA6 0.760627772   GG7 -0.490816749
GG12 -1.516907439 TA12 0.7092612    TC12 0.496298609  TT12 -0.586873894 GG13 -0.334563735
GA14 0.76384993   GC14 -0.53702517  TG17 -0.798146133 GG19 -0.66680873  TC19 0.353183252
CC20 0.748072092  TG20 -0.367266772 AC21 0.568209132  CG21 0.329072074  GA21 -0.836456755
GG21 -0.782207584 TC22 -1.029692957 CG23 0.856197823  CT23 -0.463207679 AA24 -0.579492389
AG24 0.649075537  AG25 -0.077300704 CG25 0.287935617  TG25 -0.221637217 GT27 0.117877577
GG29 -0.697740024
"""
_TURN = str.maketrans("ACGT", "TGCA")


def _letters(texts: Sequence[str], length: int) -> np.ndarray:
    """Return texts as letters, uint8, shape (n, length); 0 for texts of another length."""
    rows = [text.upper().encode("latin-1", "replace") for text in texts]
    rows = [row if len(row) == length else bytes(length) for row in rows]
    return np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), length)


def rule_set_1_scores(contexts: Sequence[str]) -> np.ndarray:
    """Return the predicted SpCas9 efficiency by Rule Set 1; float64, 0 to 1, shape (n,).

    A logistic regression on single letters, adjacent pairs, and the GC content of the protospacer.
    It was trained on 1,841 guides by the loss of cell-surface markers of human and mouse cells that
    express the guide from a U6 promoter.

    Parameters
    ----------
    contexts
        30 bases of each target, 5' to 3' along the guide: 4 before the protospacer, its 20, the PAM
        NGG, and 3 after it. Other lengths or letters other than A, C, G and T give NaN.

    References
    ----------
    Doench et al. 2014, doi:10.1038/nbt.3026

    Examples
    --------
    >>> rule_set_1_scores(["TATAGCTGCGATCTGAGGTAGGGAGGGACC"]).round(4).tolist()
    [0.7131]
    """
    letters = _letters(contexts, CONTEXT)
    is_gc = np.isin(letters[:, CONTEXT_BEFORE : CONTEXT_BEFORE + 20], list(b"GC"))
    excess = is_gc.sum(axis=1) - _GC_BEST
    sums = _INTERCEPT + np.where(excess > 0, _GC_HIGH, _GC_LOW) * np.abs(excess)
    words = _WEIGHTS.split()
    for word, weight in zip(words[::2], words[1::2], strict=True):
        motif, place = word.rstrip("0123456789"), int(word.lstrip("ACGT")) - 1
        found = np.ones(len(letters), bool)
        for k, letter in enumerate(motif.encode()):
            found &= letters[:, place + k] == letter
        sums += float(weight) * found
    is_known = np.isin(letters, list(b"ACGT")).all(axis=1)
    return np.where(is_known, 1 / (1 + np.exp(-sums)), np.nan)


def microhomology_scores(flanks: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return scores of microhomology-mediated repair and the share of frameshifts.

    Two equal stretches of at least 2 bases, one on each side of the cut, can be joined, which
    deletes one of them and the bases between. Each pair adds ``100 exp(-deleted / 20)`` times the
    length of the stretch, counting G and C twice. A stretch within a longer one of the same
    deletion is not counted separately.

    Parameters
    ----------
    flanks
        30 bases before and 30 after each cut. Other lengths or letters other than A, C, G and T
        give NaN.

    Returns
    -------
    microhomology
        float64, shape (n,): the sum.
    out_of_frame
        float64, shape (n,), 0 to 100: share of the sum from deletions that are not multiples of
        3 bp; NaN if the sum is 0.

    References
    ----------
    Bae et al. 2014, doi:10.1038/nmeth.3015
    """
    letters = _letters(flanks, 2 * FLANK)
    weights = 1 + np.isin(letters, list(b"GC"))
    sums = np.zeros((2, len(letters)))
    for shift in range(1, 2 * FLANK):
        factor = 100 * round(float(np.exp(-shift / 20)), 3)
        found = factor * _sum_stretches(letters, weights, shift)
        sums[int(shift % 3 != 0)] += found
    total = sums.sum(axis=0)
    with np.errstate(invalid="ignore"):
        shares = 100 * sums[1] / total
    is_known = np.isin(letters, list(b"ACGT")).all(axis=1)
    return np.where(is_known, total, np.nan), np.where(is_known & (total > 0), shares, np.nan)


def _sum_stretches(letters: np.ndarray, weights: np.ndarray, shift: int) -> np.ndarray:
    """Return the weights of stretches repeated at this distance across the cut."""
    n = len(letters)
    total, length, weight = np.zeros(n), np.zeros(n, np.int64), np.zeros(n)
    first, last = max(FLANK - shift, 0), min(FLANK, 2 * FLANK - shift)
    whole = np.zeros(n, bool)
    for place in range(first, last):
        is_same = letters[:, place] == letters[:, place + shift]
        total += np.where(~is_same & (length >= 2), weight, 0)
        length = np.where(is_same, length + 1, 0)
        weight = np.where(is_same, weight + weights[:, place], 0)
    total += np.where(length >= 2, weight, 0)
    # As in the paper, a stretch must be shorter than a flank; one as long counts as two.
    whole = length == FLANK
    total += np.where(whole, weight - weights[:, first] - weights[:, last - 1], 0)
    return total


def longest_stems(guides: Sequence[str]) -> np.ndarray:
    """Return the longest stem that each guide can form with itself, bp; int64, shape (n,).

    A stem is a stretch with its reverse complement downstream and a loop of at least 3 nt between;
    0 if there is none of 3 bp.
    """
    found = np.zeros(len(guides), np.int64)
    for row, guide in enumerate(guides):
        text, maximum = guide.upper(), (len(guide) - MIN_LOOP) // 2
        for length in range(maximum, MIN_STEM - 1, -1):
            last = len(text) - 2 * length - MIN_LOOP
            if any(
                text[first : first + length][::-1].translate(_TURN)
                in text[first + length + MIN_LOOP :]
                for first in range(last + 1)
            ):
                found[row] = length
                break
    return found


def edited_places(guides: Sequence[str], editor: str) -> list[str]:
    """Return the positions that a base editor changes in each protospacer, such as ``"4,7"``.

    Parameters
    ----------
    guides
        Protospacers of 20 nt, 5' to 3'; others give no positions.
    editor
        A key of `EDITS`.
    """
    check_choice("the editor", editor, EDITS)
    letter, first, last = EDITS[editor]
    return [
        ",".join(str(k) for k in range(first, last + 1) if guide[k - 1].upper() == letter)
        if len(guide) == 20
        else ""
        for guide in guides
    ]


def cloning_oligos(guides: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return forward and reverse cloning oligos of guides, 5' to 3', with `OVERHANGS`.

    A guide that does not begin with G gets a leading G, which the U6 promoter needs.

    Examples
    --------
    >>> cloning_oligos(["ACGTACGTACGTACGTACGT"])
    (['CACCGACGTACGTACGTACGTACGT'], ['AAACACGTACGTACGTACGTACGTC'])
    """
    inserts = [guide if guide.startswith("G") else f"G{guide}" for guide in map(str.upper, guides)]
    forward = [OVERHANGS[0] + insert for insert in inserts]
    return forward, [OVERHANGS[1] + insert[::-1].translate(_TURN) for insert in inserts]
