"""Animals and their parents."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numba import njit

from genoviz.errors import ParameterError

_SIGNS = frozenset({"", ".", "-", "--", "*", "?", "N/A", "n/a", "NaN"})
_WORDS = frozenset({"na", "nan", "null", "none", "unknown", "unk", "missing"})
_ZERO = re.compile(r"-?0+(\.0*)?")
_MINUS_NINE = re.compile(r"-0*9(\.0*)?")
_GROUP = re.compile(r"-(0*[1-9]\d*)(\.0*)?")
_MAX_NAMED = 8


def is_unknown_parent(name: str) -> bool:
    """Return whether a name stands for an unknown parent.

    Such names are those of PLINK (``0``; ``-9`` is its missing value), BLUPF90 and DMU (``0``, in
    herd books of some digits), ASReml and nadiv (``0``, ``*``, ``NA``) and R: the empty text, zeros
    alone, ``.``, ``-``, ``*``, ``?``, ``-9``, and NA, N/A, NaN, null, none, unknown, unk and
    missing in lower or upper case, or capitalised.

    Examples
    --------
    >>> [is_unknown_parent(name) for name in ("0", "00", "*", "Unknown", "007", "Nan")]
    [True, True, True, True, False, False]
    """
    if name in _SIGNS or _ZERO.fullmatch(name) or _MINUS_NINE.fullmatch(name):
        return True
    lower = name.lower()
    is_written_so = name in (lower, name.upper()) or (len(name) > 3 and name == name.capitalize())
    return lower in _WORDS and is_written_so


@dataclass(frozen=True, eq=False, repr=False)
class Pedigree:
    """Animals with their parents; parents come before their progeny.

    Unknown parents may belong to groups with different mean breeding values, such as those born in
    one decade or country.

    Parameters
    ----------
    ids
        str, shape (n,): unique names.
    sires, dams
        int64, shape (n,): numbers of the parents, -1 for an unknown parent, and -2 - g for one of
        group g.
    notes
        What was added or changed when the pedigree was made, one sentence each.
    groups
        str, shape (n_groups,): unique names of the groups of unknown parents.
    gamma
        float64, shape (n_groups, n_groups): the relationships of groups that are metafounders, as
        in `with_gamma`; None if groups have fixed effects.

    Raises
    ------
    ParameterError
        If lengths differ, a parent does not come before its progeny, or a group has no name; if
        gamma is not symmetric and positive definite, or has 2 or more on its diagonal.

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
    groups: np.ndarray = field(default_factory=lambda: np.array([], np.str_))
    gamma: np.ndarray | None = None

    def __post_init__(self) -> None:
        n = len(self.ids)
        for name in ("sires", "dams"):
            parents = getattr(self, name)
            if parents.shape != (n,) or parents.dtype != np.int64:
                raise ParameterError(
                    f"{name} are {parents.dtype} of shape {parents.shape}, need int64 of ({n},)"
                )
            lowest = -1 - len(self.groups)
            wrong = np.flatnonzero((parents < lowest) | (parents >= np.arange(n)))
            if len(wrong):
                row = int(wrong[0])
                unknown = "-1" if lowest == -1 else f"{lowest} to -1"
                raise ParameterError(
                    f"{name}: animal {row:,} has parent {int(parents[row]):,}, needs {unknown} or "
                    "one that comes before it"
                )
        if self.gamma is not None:
            _check_gamma(self.gamma, len(self.groups))

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        n_founders = int(np.count_nonzero((self.sires < 0) & (self.dams < 0)))
        groups = f", {len(self.groups):,} groups" if len(self.groups) else ""
        return f"Pedigree({len(self):,} animals, {n_founders:,} founders{groups})"

    def with_gamma(self, gamma: np.ndarray | float) -> Pedigree:
        """Return this pedigree with its groups of unknown parents as metafounders.

        A metafounder stands for all unknown parents of its group. Its relationship with itself is
        that of two gametes of the group. It is 0 for an unrelated base, and equals 8 times the
        variance of its allele frequencies about 1/2. In a pedigree without groups, all unknown
        parents become one group; otherwise those without a group stay unrelated, and a note says
        so.

        Parameters
        ----------
        gamma
            float64, shape (n_groups, n_groups): relationships within and across groups, in the
            order of ``groups``; a number if there is one group.

        Raises
        ------
        ParameterError
            If it is not symmetric and positive definite, or has 2 or more on its diagonal.

        References
        ----------
        Legarra, Christensen, Vitezica, Aguilar and Misztal 2015, Ancestral relationships using
        metafounders: finite ancestral populations and across population relationships,
        doi:10.1534/genetics.115.177014
        """
        matrix = np.atleast_2d(np.asarray(gamma, np.float64))
        if len(self.groups):
            n = int(np.count_nonzero(self.sires == -1) + np.count_nonzero(self.dams == -1))
            notes = [f"{n:,} unknown parents are of no group, and unrelated to all."] if n else []
            return replace(self, gamma=matrix, notes=(*self.notes, *notes))
        sires, dams = (np.where(column < 0, -2, column) for column in (self.sires, self.dams))
        return replace(self, sires=sires, dams=dams, groups=np.array(["-1"]), gamma=matrix)

    @classmethod
    def from_parents(
        cls, ids: Sequence[str], sire_ids: Sequence[str], dam_ids: Sequence[str]
    ) -> Pedigree:
        """Return the pedigree of animals whose parents are named.

        Animals that come after their parents keep their order. Parents without a row of their own
        are founders, before all others; a note counts them. `is_unknown_parent` defines the names
        of unknown parents. Negative numbers are groups of unknown parents, as in the files of DMU
        and MiX99; a note names them. They are sorted as numbers, -1 first.

        Raises
        ------
        ParameterError
            If an animal occurs twice, is its own ancestor, or is named like an unknown parent or a
            group; if -9, an unknown parent in PLINK, occurs together with groups.
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
        codes = {
            name: f"-{int(found[1])}"
            for name in parents
            if name not in unknown and (found := _GROUP.fullmatch(name))
        }
        _check_codes(ids, sire_ids, dam_ids, unknown, codes)
        groups = sorted({*codes.values()}, key=int, reverse=True)
        no_animals = unknown | codes.keys()
        added = [name for name in parents if name not in known and name not in no_animals]
        names = added + ids
        number_of = {name: number for number, name in enumerate(names)}
        if len(number_of) < len(names):
            twice = next(name for k, name in enumerate(names) if number_of[name] != k)
            raise ParameterError(f"animal {twice!r} is there twice, needs one row")
        number_of.update(dict.fromkeys(unknown, -1))
        number_of.update((name, -2 - groups.index(code)) for name, code in codes.items())
        none = [-1] * len(added)
        sires, dams = (
            np.array(none + [number_of[name] for name in column], np.int64)
            for column in (sire_ids, dam_ids)
        )
        order = order_by_descent(sires, dams, lambda animal: names[animal])
        places = np.empty(len(names), np.int64)
        places[order] = np.arange(len(order))
        return cls(
            np.array(names, np.str_)[order],
            *(_renumber(column[order], places) for column in (sires, dams)),
            (*_note_added(len(added)), *_note_groups(groups)),
            np.array(groups, np.str_),
        )


def order_by_descent(sires: np.ndarray, dams: np.ndarray, name: Callable[[int], str]) -> np.ndarray:
    """Return animals with parents first, otherwise in their order: int64, shape (n,).

    Parameters
    ----------
    sires, dams
        int64, shape (n,): numbers of the parents; negative if there is none.
    name
        Returns the name of an animal, for messages.

    Raises
    ------
    ParameterError
        If an animal is its own ancestor.
    """
    order = _sort(sires, dams)
    if len(order) < len(sires):
        raise ParameterError(_explain_cycle(name, sires, dams, order))
    return order


def _check_gamma(gamma: np.ndarray, n_groups: int) -> None:
    """Raise if gamma cannot be the relationships of metafounders."""
    if gamma.shape != (n_groups, n_groups) or gamma.dtype != np.float64:
        raise ParameterError(
            f"gamma is {gamma.dtype} of shape {gamma.shape}, needs float64 of "
            f"({n_groups}, {n_groups}) for {n_groups:,} group{'s' * (n_groups != 1)} of unknown "
            "parents"
        )
    if not np.isfinite(gamma).all() or not np.allclose(gamma, gamma.T, rtol=1e-6):
        raise ParameterError("gamma is not symmetric")
    if np.linalg.eigvalsh(gamma)[0] <= 0:
        raise ParameterError("gamma is not positive definite")
    maximum = float(np.diag(gamma).max())
    if maximum >= 2:
        raise ParameterError(f"gamma has {maximum:g} on its diagonal, needs less than 2")


def _renumber(parents: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return parents by their new numbers; unknown parents are unchanged."""
    is_known = parents >= 0
    renumbered = parents.copy()
    renumbered[is_known] = places[parents[is_known]]
    return renumbered


def _note_added(n: int) -> list[str]:
    if n == 1:
        return ["1 parent without a row of its own is a founder."]
    return [f"{n:,} parents without a row of their own are founders."] if n else []


def _note_groups(groups: list[str]) -> list[str]:
    if not groups:
        return []
    names, n_more = ", ".join(groups[:_MAX_NAMED]), len(groups) - _MAX_NAMED
    more = f" and {n_more:,} more" if n_more > 0 else ""
    number = f"{len(groups):,} group{'s' * (len(groups) != 1)}"
    return [f"Unknown parents are of {number}: {names}{more}."]


def _check_codes(
    ids: list[str],
    sire_ids: list[str],
    dam_ids: list[str],
    unknown: set[str],
    codes: dict[str, str],
) -> None:
    """Raise for a code that is both an animal and an unknown parent, or for -9 beside groups."""
    both = next((name for name in ids if name in unknown or name in codes), None)
    if both is not None:
        known = "a group of unknown parents" if both in codes else "a parent that is not known"
        raise ParameterError(f"animal {both!r} is named like {known}, needs another name")
    nines = {name for name in unknown if _MINUS_NINE.fullmatch(name)} if codes else set()
    for what, column in (("sire", sire_ids), ("dam", dam_ids)) if nines else ():
        for name, parent in zip(ids, column, strict=True):
            if parent in nines:
                raise ParameterError(
                    f"animal {name!r} has the {what} '-9', which is an unknown parent of no group "
                    f"or, as '{next(iter(codes))}', a group of unknown parents: write 0 for the "
                    "one, or another number for the other"
                )


def _explain_cycle(
    name: Callable[[int], str], sires: np.ndarray, dams: np.ndarray, order: np.ndarray
) -> str:
    """Return the sentence about an animal that is its own ancestor."""
    is_open = np.ones(len(sires), bool)
    is_open[order] = False
    seen: dict[int, int] = {}
    animal = int(np.argmax(is_open))
    while animal not in seen:
        seen[animal] = len(seen)
        sire = int(sires[animal])
        animal = sire if sire >= 0 and is_open[sire] else int(dams[animal])
    cycle = [name(number) for number, rank in seen.items() if rank >= seen[animal]]
    loop = " < ".join([*cycle[:4], "..."])
    return f"animal {cycle[0]!r} is its own ancestor ({loop}), needs parents born before it"


@njit(nogil=True, cache=True)
def _sort(sires, dams):
    """Return animals with parents first, otherwise in order; animals of cycles are left out.

    A depth-first walk goes from each animal to parents that are not placed yet.
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
