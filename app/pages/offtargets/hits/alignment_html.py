"""Alignments of hits as HTML: dots for matches, coloured letters for differences."""

from __future__ import annotations

import itertools
from functools import lru_cache
from html import escape

from genoviz.model.offtargets.hits import Alignment
from genoviz.model.offtargets.protospacer import Protospacer, find_protospacer
from genoviz_app.pages.offtargets.search.query import OffTargetQuery

BASE_COLOURS = {"A": "#3fa356", "C": "#2f8fd0", "G": "#c98420", "T": "#dc4f4a"}
OTHER_COLOUR, DOT, GAP = "#9a6fd0", "·", "−"


@lru_cache(maxsize=8)
def protospacers_of(query: OffTargetQuery) -> list[Protospacer]:
    """Return the interval of the protospacer in each guide, read-only."""
    places: list[Protospacer] = [Protospacer(0, 0, False)] * len(query.guides)
    for group in query.groups:
        for number, guide in zip(group.ids.tolist(), group.guides, strict=True):
            places[number] = find_protospacer(group.pattern, guide)
    return places


def aligned_protospacer(place: Protospacer, alignment: Alignment) -> slice:
    """Return the interval of the protospacer in an alignment, including gaps."""
    n_gaps = alignment.guide.count("-")
    if place.is_pam_first:
        return slice(place.start, None)
    return slice(0, place.stop + n_gaps)


def dots_html(alignment: Alignment, place: Protospacer) -> str:
    """Return one line: dots for matches, letters for mismatches, marked bulges, and the PAM."""
    part = aligned_protospacer(place, alignment)
    pairs = list(zip(alignment.guide[part], alignment.site[part], strict=True))
    parts = []
    for is_plain, group in itertools.groupby(pairs, key=_is_plain):
        group = list(group)
        parts.append(DOT * len(group) if is_plain else "".join(map(_mark, group)))
    pam = alignment.site[: part.start] if place.is_pam_first else alignment.site[part.stop :]
    pam_html = f'<b style="opacity:0.75">{escape(pam)}</b>' if pam else ""
    pieces = (pam_html, "".join(parts)) if place.is_pam_first else ("".join(parts), pam_html)
    return f'<code style="font-size:11px">{"&nbsp;".join(filter(None, pieces))}</code>'


def _is_plain(pair: tuple[str, str]) -> bool:
    guide, site = pair
    return site.isupper() and guide != "-"


def _mark(pair: tuple[str, str]) -> str:
    guide, site = pair
    if site == "-":
        return f'<b style="color:{OTHER_COLOUR}" title="the guide has {guide} more">{GAP}</b>'
    letter = site.upper()
    colour = BASE_COLOURS.get(letter, OTHER_COLOUR)
    line = ";text-decoration:underline" if guide == "-" else ""
    return f'<b style="color:{colour}{line}">{letter}</b>'


def stacked_html(alignment: Alignment, place: Protospacer) -> str:
    """Return three lines: guide, matches and site."""
    part = aligned_protospacer(place, alignment)
    first, stop = part.start or 0, part.stop if part.stop is not None else len(alignment.guide)
    top, middle, bottom = [], [], []
    for index, (guide, site) in enumerate(zip(alignment.guide, alignment.site, strict=True)):
        is_pam = not first <= index < stop
        is_plain = is_pam or _is_plain((guide, site))
        top.append(GAP if guide == "-" else guide)
        middle.append(" " if not is_plain or is_pam else "|")
        letter = escape(site) if is_plain else _mark((guide, site))
        bottom.append(f"<i>{letter}</i>" if is_pam else letter)
        if is_pam:
            top[-1] = f"<i>{top[-1]}</i>"
    lines = ("".join(line) for line in (top, middle, bottom))
    labels = ("guide 5′ ", "         ", "site  5′ ")
    ends = (" 3′", "", " 3′")
    return "\n".join(
        f"<u>{label}</u>{line}<u>{end}</u>"
        for label, line, end in zip(labels, lines, ends, strict=True)
    )
