"""Contigs that two files name differently: chr1 and 1, chrM and MT."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from genoviz.errors import ParameterError
from genoviz.model.intervals.intervals import Intervals

_MITOCHONDRIAL = ("chrM", "M", "chrMT", "MT")
_SHOWN = 4


def map_contigs(intervals: Intervals, names: Iterable[str]) -> Intervals:
    """Return the intervals with their contigs named as in ``names``, and notes on what changed.

    A contig whose name is not among ``names`` takes the one that differs by the prefix ``chr``,
    or is another name of the mitochondrion (chrM, M, chrMT, MT). A contig keeps its name where
    ``intervals`` already has one of the new name (both X and chrX), for these may be different,
    or where several of ``names`` would do. The notes name the contigs that are renamed, and say
    when none is in ``names`` under any name.

    Examples
    --------
    >>> genes = Intervals.from_columns(["1", "MT", "GL0"], [0, 0, 0], [9, 9, 9])
    >>> genes = map_contigs(genes, ["chr1", "chr2", "chrM"])
    >>> genes.contigs
    ('chr1', 'chrM', 'GL0')
    >>> genes.notes[0]
    'Contigs are renamed: 1 to chr1, MT to chrM.'
    """
    wanted = dict.fromkeys(names)
    if isinstance(names, str):
        raise ParameterError(f"names is the text {names!r}, needs a sequence of names")
    present = set(intervals.contigs)
    new_names, unknown, unclear = [], [], []
    renamed: dict[str, str] = {}
    for name in intervals.contigs:
        candidates = [other for other in aliases(name) if other in wanted]
        if name in wanted or not candidates:
            new_names.append(name)
            if name not in wanted:
                unknown.append(name)
        elif len(candidates) > 1 or candidates[0] in present or candidates[0] in renamed.values():
            new_names.append(name)
            unclear.append(name)
        else:
            renamed[name] = candidates[0]
            new_names.append(candidates[0])
    notes = list(intervals.notes)
    if renamed:
        pairs = [f"{old} to {new}" for old, new in renamed.items()]
        notes.append(f"Contigs are renamed: {_list(pairs)}.")
    if unclear:
        notes.append(f"Contigs keep their names, for another may be meant: {_list(unclear)}.")
    if len(unknown) == len(intervals.contigs) > 0 and wanted:
        notes.append(f"No contig is known there: {_list(unknown)} here, {_list([*wanted])} there.")
    return replace(intervals, contigs=tuple(new_names), notes=tuple(notes))


def aliases(name: str) -> tuple[str, ...]:
    """Return what else a contig may be called.

    Examples
    --------
    >>> aliases("chr1"), aliases("X"), aliases("MT")
    (('1',), ('chrX',), ('chrM', 'M', 'chrMT'))
    """
    if name in _MITOCHONDRIAL:
        return tuple(other for other in _MITOCHONDRIAL if other != name)
    return (name[3:],) if name.startswith("chr") and len(name) > 3 else (f"chr{name}",)


def _list(items: list[str]) -> str:
    shown = ", ".join(items[:_SHOWN])
    return shown if len(items) <= _SHOWN else f"{shown} and {len(items) - _SHOWN:,} more"
