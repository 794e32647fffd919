"""Highlights in links: as text, with their colours, and back.

A highlight is its noun, its title, a letter for its content, and its content, with ``!`` between.
``p`` is for places, ``e`` for places that are all occurrences, ``n`` for nodes, and ``s`` for
samples; all are listed with commas between. Many places or nodes follow a capital letter, as
differences in base 36, some three letters a place:

    P, E   chr1:21.first.gap.gap…-30.first…    places of 21 bp and of 30 bp on chr1; a gap is
                                               between two starts
    N      first.nodes.gap.nodes…              runs of the numbers that name nodes

``k`` is for a question, such as ``both:GATTACA``, whose answer is too large for a link; the tab
that opens the link finds it again.

A last part, if any, is the number of the colour, then ``h`` if the highlight is hidden. The colour
is omitted if a tab that opens the link chooses the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote, unquote
from weakref import WeakKeyDictionary

import numpy as np

from genoviz.errors import ParameterError
from genoviz.model import Intervals, PangenomeGraph, PathRegion
from genoviz.model.columns import distinct
from genoviz_app.parts.words import shorten
from genoviz_app.session.lit_sets import COLOURS, Highlight, LitSet

MAX_PLAIN, MAX_PLACES, MAX_NODES = 40, 2000, 5000
LONGEST = 2000
NUMBERS = re.compile(r"[0-9a-z]{1,9}(\.[0-9a-z]{1,9})*")
WHOLE_NAME = re.compile("0|[1-9][0-9]{0,12}")
LOOK = re.compile(f"([0-{len(COLOURS) - 1}]?)(h?)")
QUESTION = "k"
KINDS = ("p", "e", "n", "s", QUESTION, "P", "E", "N")

_WRITTEN: WeakKeyDictionary[LitSet, str] = WeakKeyDictionary()


def write_lits(sets: Iterable[LitSet]) -> tuple[str, ...]:
    """Return highlights with their looks; those that are too large are omitted."""
    texts: list[str] = []
    for lit in sets:
        text = write_lit(lit)
        if text:
            is_usual = lit.colour == COLOURS[len(texts) % len(COLOURS)]
            look = ("" if is_usual else f"{COLOURS.index(lit.colour)}") + "h" * lit.is_hidden
            texts.append(f"{text}!{look}" if look else text)
    return tuple(texts)


def write_lit(lit: LitSet) -> str:
    """Return a highlight without its look; "" if it is too large, or its graph is not open.

    Examples
    --------
    >>> gene = Highlight.of_region(PathRegion("chr1", 9, 20), "GENE1", "gene")
    >>> write_lit(LitSet(gene, 1, "#ff3ea5", ""))
    'gene!GENE1!p!chr1:9-20'
    """
    text = _WRITTEN.get(lit)
    if text is None:
        text = _write(lit.highlight, lit.graph) or _write_question(lit.highlight)
        _WRITTEN[lit] = text
    return text


def parse_lit(
    text: str, graph: PangenomeGraph | None, number: int = 0
) -> tuple[Highlight, str, bool]:
    """Parse a highlight from a link; return it, its colour, and whether it is hidden.

    Parameters
    ----------
    text
        The highlight, as `write_lits` returns it.
    graph
        The open graph, or None.
    number
        Its index among the highlights of the link.

    Raises
    ------
    ParameterError
        If the text is invalid, or the graph lacks its nodes.

    Examples
    --------
    >>> highlight, _, is_hidden = parse_lit("hit!TA!P!chr1:2.9.a.z!h", None)
    >>> highlight.intervals.starts, is_hidden
    (array([ 9, 19, 54]), True)
    """
    parts = text.split("!")
    look = LOOK.fullmatch(parts[4] if len(parts) > 4 else "")
    if not 4 <= len(parts) <= 5 or parts[2] not in KINDS or not parts[3] or look is None:
        raise ParameterError(
            f"{shorten(text, 60)!r} is nothing that could be lit up, needs a noun, a title, one of "
            f"{', '.join(KINDS[:-1])} and {KINDS[-1]}, and names or places, with ! between"
        )
    noun, title, kind = unquote(parts[0]), unquote(parts[1]), parts[2]
    items = [unquote(item) for item in parts[3].split(",")][:MAX_PLACES]
    if kind == QUESTION:
        highlight = Highlight(title, noun, question=items[0])
    elif kind == "s":
        highlight = Highlight(title, noun, samples=tuple(items))
    elif kind in "nN":
        names = _unpack_names(items[0]) if kind == "N" else items
        nodes = _find_nodes(title, names, graph)
        highlight = Highlight(title, noun, nodes=nodes, graph=graph)
    else:
        places = _unpack_places(items) if kind in "PE" else _read_places(items)
        highlight = Highlight(title, noun, places, is_everywhere=kind in "eE")
    return highlight, COLOURS[int(look[1] or number % len(COLOURS))], bool(look[2])


def _write(highlight: Highlight, graph: PangenomeGraph | None) -> str:
    n, places, nodes = len(highlight), highlight.intervals, highlight.nodes
    is_far = highlight.n_found > n or (nodes is not None and highlight.graph is not graph)
    if is_far or n > (MAX_PLACES if nodes is None else MAX_NODES):
        return ""
    if places is not None:
        kind = "e" if highlight.is_everywhere else "p"
        is_packed = n > MAX_PLAIN or bool((places.starts >= places.ends).any())
        items = _pack_places(places) if is_packed else _write_places(places)
    elif nodes is not None:
        kind, items = "n", [graph.node_names[node] for node in nodes.tolist()]
        is_packed = n > MAX_PLAIN and all(map(WHOLE_NAME.fullmatch, items))
        items = [_pack_names(items)] if is_packed else items
    else:
        kind, items, is_packed = "s", list(highlight.samples), False
    content = ",".join(map(_quote, items))
    kind = kind.upper() if is_packed else kind
    text = "!".join((_quote(highlight.noun), _quote(highlight.title), kind, content))
    return text if content and len(text) <= LONGEST else ""


def _write_question(highlight: Highlight) -> str:
    parts = (_quote(highlight.noun), _quote(highlight.title), QUESTION, _quote(highlight.question))
    text = "!".join(parts)
    return text if highlight.question and len(text) <= LONGEST else ""


def _write_places(places: Intervals) -> list[str]:
    columns = (places.contig_ids.tolist(), places.starts.tolist(), places.ends.tolist())
    rows = zip(*columns, strict=True)
    return [f"{places.contigs[contig]}:{start}-{end}" for contig, start, end in rows]


def _read_places(items: list[str]) -> Intervals:
    regions = [PathRegion.parse(item) for item in items]
    return _on_contigs([(region.path, region.start, region.end) for region in regions])


def _pack_places(places: Intervals) -> list[str]:
    lengths, items = places.ends - places.starts, []
    for contig in distinct(places.contig_ids).tolist():
        here = places.contig_ids == contig
        groups = []
        for length in distinct(lengths[here]).tolist():
            starts = np.sort(places.starts[here & (lengths == length)])
            groups.append(_pack([length, *np.diff(starts, prepend=0).tolist()]))
        items.append(f"{places.contigs[contig]}:{'-'.join(groups)}")
    return items


def _unpack_places(items: list[str]) -> Intervals:
    rows = []
    for item in items:
        contig, _, groups = item.rpartition(":")
        for group in groups.split("-"):
            length, *gaps = _unpack(group)
            starts = np.cumsum(np.array(gaps, np.int64)).tolist()
            rows += [(contig, start, start + length) for start in starts]
    return _on_contigs(rows[:MAX_PLACES])


def _on_contigs(rows: list[tuple[str, int, int]]) -> Intervals:
    contigs = tuple(dict.fromkeys(contig for contig, _, _ in rows))
    number = {contig: i for i, contig in enumerate(contigs)}
    return Intervals(
        contigs,
        np.array([number[contig] for contig, _, _ in rows], np.int32),
        np.array([start for _, start, _ in rows], np.int64),
        np.array([end for _, _, end in rows], np.int64),
    )


def _pack_names(names: list[str]) -> str:
    numbers = distinct(np.array(names, np.int64))
    firsts = np.flatnonzero(np.diff(numbers, prepend=-2) > 1)
    n_nodes = np.diff(firsts, append=len(numbers))
    ends = numbers[firsts] + n_nodes
    gaps = numbers[firsts] - np.concatenate([[0], ends[:-1]])
    return _pack(np.stack([gaps, n_nodes], axis=1).ravel().tolist())


def _unpack_names(text: str) -> list[str]:
    names, end = [], 0
    numbers = _unpack(text)
    for gap, n_nodes in zip(numbers[::2], numbers[1::2], strict=False):
        first, end = end + gap, end + gap + n_nodes
        names += map(str, range(first, min(end, first + MAX_NODES - len(names))))
    return names


def _find_nodes(title: str, names: list[str], graph: PangenomeGraph | None) -> np.ndarray:
    nodes = [-1 if graph is None else graph.node_names.find(name) for name in names]
    if -1 in nodes:
        raise ParameterError(f"{title} has node {names[nodes.index(-1)]!r}, which is not here")
    return np.array(nodes, np.int64)


def _pack(numbers: list[int]) -> str:
    return ".".join(np.base_repr(number, 36).lower() for number in numbers)


def _unpack(text: str) -> list[int]:
    if not NUMBERS.fullmatch(text):
        raise ParameterError(f"{shorten(text, 60)!r} in the link needs numbers with dots between")
    return [int(number, 36) for number in text.split(".")]


def _quote(text: str) -> str:
    return quote(text, safe="/:# ")
