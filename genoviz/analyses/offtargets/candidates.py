"""All guides of a region, with their PAMs, cut sites and surroundings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genoviz.analyses.offtargets.cuts import CUT_BEFORE_PAM, CUT_BEHIND_PAM
from genoviz.analyses.offtargets.guide_properties import CONTEXT, CONTEXT_BEFORE, FLANK
from genoviz.errors import ParameterError
from genoviz.model.offtargets.letters import LETTER_MASKS
from genoviz.model.sequences.bases import COMPLEMENTS

_PLAIN = np.isin(np.arange(256), list(b"ACGT"))


@dataclass(frozen=True, eq=False)
class GuideCandidates:
    """All guides of a region, sorted by cut site; arrays and tuples have the same length.

    Attributes
    ----------
    pam, is_pam_first
        The PAM in IUPAC letters, and whether it is at the 5' end.
    guides, pams
        Protospacers and their PAMs, 5' to 3'.
    starts, cuts
        int64, bp, 0-based: leftmost base of the site with its PAM, and the position that it is cut
        before; see `cut_sites`.
    strands
        int8: 1 or -1.
    contexts
        Target with flanks for `rule_set_1_scores`; "" at a contig end, and unless the guide has
        20 nt and is followed by a PAM of 3.
    flanks
        Input of `microhomology_scores`; "" at a contig end.
    """

    pam: str
    is_pam_first: bool
    guides: tuple[str, ...]
    pams: tuple[str, ...]
    starts: np.ndarray
    cuts: np.ndarray
    strands: np.ndarray
    contexts: tuple[str, ...]
    flanks: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.guides)


def find_guides(
    letters: np.ndarray,
    pam: str,
    *,
    length: int = 20,
    is_pam_first: bool = False,
    start: int = 0,
    end: int | None = None,
) -> GuideCandidates:
    """Return the guides that cut within a region, on both strands.

    Parameters
    ----------
    letters
        uint8, shape (n,): the contig, in upper case.
    pam, is_pam_first
        The PAM in IUPAC letters, and whether it is at the 5' end.
    length
        Guide length, nt; guides with letters other than A, C, G and T are skipped.
    start, end
        The region, 0-based half-open; the whole contig by default.

    Raises
    ------
    ParameterError
        If the length or the region is out of range.
    """
    end = len(letters) if end is None else end
    if length < 1:
        raise ParameterError(f"guides have {length} letters, need 1 at least")
    if not 0 <= start <= end <= len(letters):
        raise ParameterError(
            f"the region is {start:,} to {end:,}, needs to be within 0 to {len(letters):,}"
        )
    found = []
    width, distance = length + len(pam), CUT_BEHIND_PAM if is_pam_first else CUT_BEFORE_PAM
    inside = len(pam) + min(distance, length)
    turned = COMPLEMENTS[letters[::-1]]
    for strand, text in ((1, letters), (-1, turned)):
        firsts = _find_windows(text, pam, length, is_pam_first)
        cuts = firsts + (inside if is_pam_first else width - inside)
        starts = firsts
        if strand < 0:
            starts, cuts = len(text) - firsts - width, len(text) - cuts
        kept = (cuts >= start) & (cuts < end)
        rows = zip(cuts[kept], starts[kept], firsts[kept], strict=True)
        found += [(int(cut), int(at), strand, int(first), text) for cut, at, first in rows]
    found.sort(key=lambda row: row[:3])
    at_pam = (0, len(pam)) if is_pam_first else (length, width)
    at_guide = (len(pam), width) if is_pam_first else (0, length)
    fits_context = not is_pam_first and (length, len(pam)) == (20, 3)
    before, behind = CONTEXT_BEFORE, CONTEXT - CONTEXT_BEFORE
    return GuideCandidates(
        pam,
        is_pam_first,
        tuple(_cut(text, first + at_guide[0], first + at_guide[1]) for *_, first, text in found),
        tuple(_cut(text, first + at_pam[0], first + at_pam[1]) for *_, first, text in found),
        np.array([row[1] for row in found], np.int64),
        np.array([row[0] for row in found], np.int64),
        np.array([row[2] for row in found], np.int8),
        tuple(
            _cut(text, first - before, first + behind) if fits_context else ""
            for *_, first, text in found
        ),
        tuple(_cut(letters, row[0] - FLANK, row[0] + FLANK) for row in found),
    )


def _find_windows(text: np.ndarray, pam: str, length: int, is_pam_first: bool) -> np.ndarray:
    """Return the starts of windows with a matching PAM and only A, C, G, T elsewhere."""
    n = max(len(text) - length - len(pam) + 1, 0)
    fits = np.ones(n, bool)
    first = 0 if is_pam_first else length
    bases = np.where(_PLAIN[text], LETTER_MASKS[text], 0)
    for k, letter in enumerate(pam.encode()):
        fits &= (bases[first + k : first + k + n] & LETTER_MASKS[letter]) > 0
    wrong = np.append(0, np.cumsum(~_PLAIN[text]))
    first = len(pam) if is_pam_first else 0
    return np.flatnonzero(fits & (wrong[first + length :][:n] == wrong[first:][:n]))


def _cut(text: np.ndarray, first: int, last: int) -> str:
    """Return a range of letters; "" if it exceeds the text."""
    return text[first:last].tobytes().decode("latin-1") if 0 <= first <= last <= len(text) else ""
