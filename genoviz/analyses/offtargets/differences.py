"""How off-target hits differ from their guides: in the seed, in the PAM, and by kind and place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numba import njit

from genoviz.errors import ParameterError
from genoviz.model.offtargets.hits import AlignedLetters, OffTargetHits
from genoviz.model.offtargets.protospacer import Protospacer, find_protospacer

SEED_LENGTH = 12
"""Letters of a protospacer beside the PAM in which mismatches weigh most (Cas9), nt."""
KINDS = tuple(f"{guide}>{site}" for guide in "ACGT" for site in "ACGT" if guide != site)
"""The kinds of mismatches: base of the guide, base of the genome on the guide's strand."""
OTHER_PAM = "other"
MAX_PAMS = 200
_ROWS_AT_ONCE = 1 << 17
_GAP, _LOWER = np.uint8(45), np.uint8(32)
_KIND_OF = np.full((256, 256), -1, np.int8)
for _kind, _name in enumerate(KINDS):
    _KIND_OF[ord(_name[0]), ord(_name[2])] = _kind


@dataclass(frozen=True, eq=False)
class PamClasses:
    """The PAMs that hits have.

    Attributes
    ----------
    names
        The PAMs: the letters found where the pattern is degenerate, N where it allows any letter;
        the most frequent first, then ``other`` for those beyond the first 200.
    ids
        unsigned int, shape (n_hits,): the PAM of each hit; uint8 for guides of one length.
    """

    names: tuple[str, ...]
    ids: np.ndarray

    def __post_init__(self) -> None:
        self.ids.flags.writeable = False

    def count(self, rows: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Return the number of hits with each PAM; int64, shape (n_names,)."""
        return np.bincount(self.ids[rows], minlength=len(self.names))


@dataclass(frozen=True, eq=False)
class MismatchKinds:
    """Mismatches of hits by kind and by position in the protospacer.

    Attributes
    ----------
    counts
        int64, shape (12, n_positions): of each of `KINDS`, 5' to 3' of the guide.
    n_hits
        The number of hits examined.
    n_others
        Mismatches with letters other than A, C, G and T, which are in no cell.
    """

    counts: np.ndarray
    n_hits: int
    n_others: int
    kinds: tuple[str, ...] = field(default=KINDS)


def count_seed_mismatches(hits: OffTargetHits, *, length: int = SEED_LENGTH) -> np.ndarray:
    """Return mismatches among the letters of the protospacer nearest to the PAM; uint8, (n,).

    Parameters
    ----------
    hits
        The result of `find_offtargets`. Letters are counted along the guide: a DNA bulge takes no
        place of the seed; an RNA bulge takes one, but is no mismatch.
    length
        Letters of the seed, nt.

    Raises
    ------
    ParameterError
        If the length is less than 1.

    Examples
    --------
    >>> from genoviz import Sequences, find_offtargets
    >>> genome = Sequences.from_records([("c", "GACCTGTCGCTGACGCTGGAA")])
    >>> hits = find_offtargets(["TACCTGTCGCTGACTCNNN"], genome, "N" * 17 + "GG", max_mismatches=2)
    >>> count_seed_mismatches(hits).tolist()
    [1]
    """
    if length < 1:
        raise ParameterError(f"the seed has {length} letters, needs 1 at least")
    found = np.zeros(len(hits), np.uint8)
    starts, stops = _spans(hits)
    is_first = _is_pam_first(hits)
    for part, rows, letters in _iter_letters(hits):
        owners = rows.guide_ids
        _fill_seeds(letters.guides, letters.sites, letters.lengths, starts[owners], stops[owners],
                    length, is_first, found[part])  # fmt: skip
    return found


def classify_pams(hits: OffTargetHits) -> PamClasses:
    """Return the PAM of each hit where the pattern is degenerate: NGG or NAG of NRG.

    Examples
    --------
    >>> from genoviz import Sequences, find_offtargets
    >>> genome = Sequences.from_records([("c", "GACCTGTCTAGCGACCTGTCTGG")])
    >>> hits = find_offtargets(["GACCTGTCNNN"], genome, "NNNNNNNNNRG", max_mismatches=0)
    >>> pams = classify_pams(hits)
    >>> [pams.names[number] for number in pams.ids]
    ['NAG', 'NGG']
    """
    motif = _motif(hits)
    is_first = _is_pam_first(hits)
    choices = np.flatnonzero([letter not in "ACGTN" for letter in motif])[:8]
    numbers: dict[int, int] = {}
    ids, n_hits = np.zeros(len(hits), np.int32), np.zeros(0, np.int64)
    for part, _, letters in _iter_letters(hits) if len(choices) else ():
        codes = np.zeros(part.stop - part.start, np.uint64)
        for place in choices.tolist():
            # Count from the end with the PAM, because bulges change the length of lines.
            at = place if is_first else letters.lengths - len(motif) + place
            found = letters.sites[np.arange(len(letters.sites)), at] & ~_LOWER
            codes = codes << np.uint64(8) | found
        different, which, counts = np.unique(codes, return_inverse=True, return_counts=True)
        of_part = np.array([numbers.setdefault(int(code), len(numbers)) for code in different])
        ids[part] = of_part[which]
        n_hits = np.pad(n_hits, (0, len(numbers) - len(n_hits)))
        n_hits[of_part] += counts
    if not len(choices) and len(hits):
        numbers, n_hits = {0: 0}, np.array([len(hits)])
    names = [_pam_name(motif, choices.tolist(), code) for code in numbers]
    order = np.lexsort((names, -n_hits))
    ranks = np.empty(len(names), np.int64)
    ranks[order] = np.arange(len(names))
    names = [names[k] for k in order.tolist()]
    if len(names) > MAX_PAMS:
        names = [*names[:MAX_PAMS], OTHER_PAM]
    ranks = np.append(np.minimum(ranks, MAX_PAMS), 0).astype(np.uint8)
    return PamClasses(tuple(names), ranks[ids])


def count_mismatch_kinds(hits: OffTargetHits) -> MismatchKinds:
    """Return mismatches of hits by kind (base of guide and genome) and position in the guide.

    Examples
    --------
    >>> from genoviz import Sequences, find_offtargets
    >>> genome = Sequences.from_records([("c", "GACCTGTCGCTGACGCTGGAA")])
    >>> hits = find_offtargets(["TACCTGTCGCTGACTCNNN"], genome, "N" * 17 + "GG", max_mismatches=2)
    >>> kinds = count_mismatch_kinds(hits)
    >>> [(KINDS[kind], int(place) + 1) for kind, place in zip(*kinds.counts.nonzero())]
    [('T>G', 1), ('T>G', 15)]
    """
    starts, stops = _spans(hits)
    counts = np.zeros((len(KINDS) + 1, int((stops - starts).max(initial=0))), np.int64)
    for _, rows, letters in _iter_letters(hits):
        owners = rows.guide_ids
        _add_kinds(letters.guides, letters.sites, letters.lengths, starts[owners], stops[owners],
                   _KIND_OF, counts)  # fmt: skip
    return MismatchKinds(counts[:-1], len(hits), int(counts[-1].sum()))


def _iter_letters(hits: OffTargetHits) -> Iterator[tuple[slice, OffTargetHits, AlignedLetters]]:
    for first in range(0, len(hits), _ROWS_AT_ONCE):
        part = slice(first, min(first + _ROWS_AT_ONCE, len(hits)))
        rows = hits if part == slice(0, len(hits)) else hits.take(part)
        yield part, rows, rows.aligned_letters()


def _places(hits: OffTargetHits) -> list[Protospacer]:
    return [find_protospacer(hits.pattern, guide) for guide in hits.guides]


def _spans(hits: OffTargetHits) -> tuple[np.ndarray, np.ndarray]:
    """Return the first letter of each guide's protospacer, and the one after its last; int64."""
    places = _places(hits)
    starts = np.array([place.start for place in places], np.int64)
    return starts, np.array([place.stop for place in places], np.int64)


def _is_pam_first(hits: OffTargetHits) -> bool:
    return find_protospacer(hits.pattern, "N" * len(hits.pattern)).is_pam_first


def _motif(hits: OffTargetHits) -> str:
    """Return the pattern's letters of the PAM; its place may differ by guide."""
    if _is_pam_first(hits):
        return hits.pattern[: min((place.start for place in _places(hits)), default=0)]
    return hits.pattern[max((place.stop for place in _places(hits)), default=0) :]


def _pam_name(motif: str, choices: list[int], code: int) -> str:
    letters = list(motif)
    for place in reversed(choices):
        letters[place] = chr(code & 255)
        code >>= 8
    return "".join(letters)


@njit(nogil=True, cache=True)
def _fill_seeds(guides, sites, lengths, starts, stops, length, is_first, found):
    """Count lower-case letters of sites among the ``length`` letters of guides next to the PAM."""
    for row in range(len(lengths)):
        first = starts[row] if is_first else max(stops[row] - length, starts[row])
        stop = min(starts[row] + length, stops[row]) if is_first else stops[row]
        k, n = 0, 0
        for column in range(lengths[row]):
            if guides[row, column] == _GAP:
                continue
            if first <= k < stop and sites[row, column] & _LOWER and sites[row, column] != _GAP:
                n += 1
            k += 1
        found[row] = n


@njit(nogil=True, cache=True)
def _add_kinds(guides, sites, lengths, starts, stops, kind_of, counts):
    """Add the mismatches of hits to a table of kinds and positions; the last row has the others."""
    for row in range(len(lengths)):
        k = 0
        for column in range(lengths[row]):
            letter, base = guides[row, column], sites[row, column]
            if letter == _GAP:
                continue
            if starts[row] <= k < stops[row] and base & _LOWER and base != _GAP:
                kind = kind_of[letter, base & ~_LOWER]
                counts[kind, k - starts[row]] += 1
            k += 1
