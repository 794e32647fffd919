"""Who descends from whom."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit

from genoviz.errors import ParameterError

_SIGNS = frozenset({"", ".", "-", "--", "*", "?", "-9", "N/A", "n/a", "NaN"})
_WORDS = frozenset({"na", "nan", "null", "none", "unknown", "unk", "missing"})
_ZERO = re.compile(r"0+(\.0*)?")
_GROUP = re.compile(r"-\d+(\.0*)?")


def is_unknown_parent(name: str) -> bool:
    """Return whether a name stands for a parent that is not known.

    These do, as in the files of PLINK (``0``; ``-9`` is its missing value), BLUPF90 and DMU (``0``,
    in herd books of some digits), ASReml and nadiv (``0``, ``*``, ``NA``) and R: the empty text,
    zeros alone, ``.``, ``-``, ``*``, ``?``, ``-9``, and NA, N/A, NaN, null, none, unknown, unk and
    missing in lower or upper case; words may have a capital.

    Examples
    --------
    >>> [is_unknown_parent(name) for name in ("0", "00", "*", "Unknown", "007", "Nan")]
    [True, True, True, True, False, False]
    """
    if name in _SIGNS or _ZERO.fullmatch(name):
        return True
    lower = name.lower()
    is_written_so = name in (lower, name.upper()) or (len(name) > 3 and name == name.capitalize())
    return lower in _WORDS and is_written_so


@dataclass(frozen=True, eq=False, repr=False)
class Pedigree:
    """Animals with their parents; parents come before their progeny.

    Parameters
    ----------
    ids
        str, shape (n,): names, each once.
    sires, dams
        int64, shape (n,): numbers of the parents, -1 where not known.
    notes
        What was added or changed on the way, one sentence each.

    Raises
    ------
    ParameterError
        If lengths differ, or a parent does not come before its progeny.

    Examples
    --------
    >>> pedigree = Pedigree.from_parents(["calf", "cow"], ["bull", "0"], ["cow", "0"])
    >>> pedigree.ids.tolist(), pedigree.sires.tolist(), pedigree.dams.tolist()
    (['bull', 'cow', 'calf'], [-1, -1, 0], [-1, -1, 1])
    """

    ids: np.ndarray
    sires: np.ndarray
    dams: np.ndarray
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.ids)
        for name in ("sires", "dams"):
            parents = getattr(self, name)
            if parents.shape != (n,) or parents.dtype != np.int64:
                raise ParameterError(
                    f"{name} are {parents.dtype} of shape {parents.shape}, need int64 of ({n},)"
                )
            wrong = np.flatnonzero((parents < -1) | (parents >= np.arange(n)))
            if len(wrong):
                row = int(wrong[0])
                raise ParameterError(
                    f"{name}: animal {row:,} has parent {int(parents[row]):,}, needs -1 or one "
                    "that comes before it"
                )

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        n_founders = int(np.count_nonzero((self.sires < 0) & (self.dams < 0)))
        return f"Pedigree({len(self):,} animals, {n_founders:,} founders)"

    @classmethod
    def from_parents(
        cls, ids: Sequence[str], sire_ids: Sequence[str], dam_ids: Sequence[str]
    ) -> Pedigree:
        """Return the pedigree of animals whose parents are named.

        Animals that come after their parents stay in their order. Parents without a row of their
        own are founders, before all others; a note counts them. What stands for a parent that is
        not known, `is_unknown_parent` says.

        Raises
        ------
        ParameterError
            If an animal is there twice, is its own ancestor or is named like a parent that is not
            known; if a parent is a negative number, which stands for a group of unknown parents in
            the files of DMU and MiX99.
        """
        ids, sire_ids, dam_ids = (
            [str(name) for name in names] for names in (ids, sire_ids, dam_ids)
        )
        if not len(ids) == len(sire_ids) == len(dam_ids):
            lengths = f"{len(ids):,}, {len(sire_ids):,} and {len(dam_ids):,}"
            raise ParameterError(f"ids, sires and dams have lengths {lengths}, need one length")
        known = set(ids)
        parents = dict.fromkeys([*sire_ids, *dam_ids])
        unknown = {name for name in parents if is_unknown_parent(name)}
        _check_codes(ids, sire_ids, dam_ids, unknown)
        added = [name for name in parents if name not in known and name not in unknown]
        names = added + ids
        number_of = {name: number for number, name in enumerate(names)}
        if len(number_of) < len(names):
            twice = next(name for k, name in enumerate(names) if number_of[name] != k)
            raise ParameterError(f"animal {twice!r} is there twice, needs one row")
        number_of.update(dict.fromkeys(unknown, -1))
        none = [-1] * len(added)
        sires, dams = (
            np.array(none + [number_of[name] for name in column], np.int64)
            for column in (sire_ids, dam_ids)
        )
        order = _sort(sires, dams)
        if len(order) < len(names):
            raise ParameterError(_explain_cycle(names, sires, dams, order))
        places = np.full(len(names) + 1, -1, np.int64)
        places[order] = np.arange(len(order))
        note = f"{len(added):,} parents without a row of their own are founders."
        if len(added) == 1:
            note = "1 parent without a row of its own is a founder."
        return cls(
            np.array(names, np.str_)[order],
            places[sires[order]],
            places[dams[order]],
            (note,) if added else (),
        )


def _check_codes(
    ids: list[str], sire_ids: list[str], dam_ids: list[str], unknown: set[str]
) -> None:
    """Refuse codes that are both an animal and no parent, and those of groups of parents."""
    both = next((name for name in ids if name in unknown), None)
    if both is not None:
        raise ParameterError(
            f"animal {both!r} is named like a parent that is not known, needs another name"
        )
    for what, column in (("sire", sire_ids), ("dam", dam_ids)):
        for name, parent in zip(ids, column, strict=True):
            if _GROUP.fullmatch(parent) and parent not in unknown:
                raise ParameterError(
                    f"animal {name!r} has the {what} {parent!r}; negative numbers are groups of "
                    "unknown parents, which are not supported: write 0 for a parent that is not "
                    "known"
                )


def _explain_cycle(names: list[str], sires: np.ndarray, dams: np.ndarray, order: np.ndarray) -> str:
    """Return the sentence on an animal that is its own ancestor."""
    is_open = np.ones(len(names), bool)
    is_open[order] = False
    seen: dict[int, int] = {}
    animal = int(np.argmax(is_open))
    while animal not in seen:
        seen[animal] = len(seen)
        sire = int(sires[animal])
        animal = sire if sire >= 0 and is_open[sire] else int(dams[animal])
    cycle = [names[number] for number, rank in seen.items() if rank >= seen[animal]]
    loop = " < ".join([*cycle[:4], "..."])
    return f"animal {cycle[0]!r} is its own ancestor ({loop}), needs parents born before it"


@njit(nogil=True, cache=True)
def _sort(sires, dams):
    """Return animals with parents first, else in their order; without those of cycles.

    A walk goes down from each animal to parents that are not placed yet.
    """
    n = len(sires)
    order = np.empty(n, np.int64)
    state = np.zeros(n, np.uint8)
    stack = np.empty(n, np.int64)
    n_placed = 0
    for animal in range(n):
        depth = 0
        if state[animal] == 0:
            stack[0] = animal
            state[animal] = 1
            depth = 1
        while depth > 0:
            top = stack[depth - 1]
            waits_for = np.int64(-1)
            for parent in (sires[top], dams[top]):
                if parent >= 0 and state[parent] < 2:
                    waits_for = parent
                    break
            if waits_for < 0:
                state[top] = 2
                order[n_placed] = top
                n_placed += 1
                depth -= 1
            elif state[waits_for] == 1:
                return order[:n_placed]
            else:
                state[waits_for] = 1
                stack[depth] = waits_for
                depth += 1
    return order[:n_placed]
