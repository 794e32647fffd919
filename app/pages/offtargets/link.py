"""Links to the page: the search, and the filter and order of its hits."""

from __future__ import annotations

from dataclasses import dataclass

from genoviz.analyses.offtargets.differences import SEED_LENGTH
from genoviz.errors import ParameterError, check_choice
from genoviz.model.offtargets.protospacer import BulgeType
from genoviz_app.opening.genome_files import OpenGenome
from genoviz_app.pages.offtargets.hits.bulge_kinds import KIND_SIZES, kinds_of
from genoviz_app.pages.offtargets.hits.filter import HitFilter
from genoviz_app.pages.offtargets.hits.listing import COLUMNS
from genoviz_app.pages.offtargets.hits.order import REFERENCE, HitOrder
from genoviz_app.pages.offtargets.hits.regions import parse_place, place_text
from genoviz_app.pages.offtargets.search.genes import CLASSES
from genoviz_app.pages.offtargets.search.query import (
    MAX_BULGE,
    MAX_MISMATCHES,
    OffTargetQuery,
    Pam,
    parse_guides,
)
from genoviz_app.pages.offtargets.search.running import SearchResult
from genoviz_app.session.address import Address

MAX_DIGITS = 10
NO_REFERENCE = "-"
STRANDS = {"+": 1, "-": -1}
DOWNWARDS = "-"
HIT_KEYS = (
    *("guide", "mismatches", "bulge", "strand", "cfd", "seed", "pam", "class"),
    *("in", "reference", "sort"),
)
SORTABLE = tuple(column.title for column in COLUMNS if column.is_sortable)


@dataclass(frozen=True)
class LinkedHits:
    """Filter and order of hits as in a link: ``guide:1;mismatches:0-2;sort:-CFD``."""

    text: str

    @property
    def _said(self) -> dict[str, str]:
        return dict(part.partition(":")[::2] for part in self.text.split(";") if part)

    def reference_of(self, genome: OpenGenome) -> str:
        """Return the reference of the link, or else the default one; may be ""."""
        if not genome.is_graph:
            return ""
        name = self._said.get("reference", "")
        known = (*genome.planes.references, NO_REFERENCE)
        return name.removeprefix(NO_REFERENCE) if name in known else genome.planes.usual_reference

    @property
    def order(self) -> HitOrder:
        """The sort order; raises `ParameterError` if there is no such column."""
        text = self._said.get("sort", "")
        column = text.removeprefix(DOWNWARDS)
        column = REFERENCE if column == "In ref." else column  # name in old links
        if not text:
            return HitOrder()
        if column not in SORTABLE:
            raise ParameterError(f"sort is {text!r}, needs one of {', '.join(SORTABLE)}")
        return HitOrder(column, text.startswith(DOWNWARDS))

    def resolve(self, result: SearchResult) -> HitFilter:
        """Return the filter; raises `ParameterError` if the result has no such item."""
        said = self._said
        for name in said.keys() - set(HIT_KEYS):
            raise ParameterError(f"hits have {name!r}, need one of {', '.join(HIT_KEYS)}")
        contig, stretch = parse_place(said.get("in", ""), result)
        strand = said.get("strand", "")
        if strand and strand not in STRANDS:
            raise ParameterError(f"strand is {strand!r}, needs + or -")
        return HitFilter(
            guide=_find_guide(said.get("guide", ""), result),
            mismatches=_parse_limits(said.get("mismatches", "")),
            kind=_parse_kind(said.get("bulge", ""), result.query),
            strand=STRANDS.get(strand, 0),
            contig=contig,
            stretch=stretch,
            min_cfd=_parse_number(said.get("cfd", "")),
            max_seed=_parse_seed(said.get("seed", "")),
            pam=_find_name("pam", said.get("pam", ""), result.pams.names),
            site_class=_find_name("class", said.get("class", ""), CLASSES),
        )


def write_hits(chosen: HitFilter, order: HitOrder, result: SearchResult) -> str:
    """Return filter and order for a link; "" for all hits in the default order."""
    said = {
        "guide": str(chosen.guide + 1) if chosen.guide >= 0 else "",
        "mismatches": "-".join(map(str, chosen.mismatches)) if chosen.mismatches else "",
        "bulge": _write_kind(chosen.kind),
        "strand": {1: "+", -1: "-"}.get(chosen.strand, ""),
        "cfd": f"{chosen.min_cfd:g}" if chosen.min_cfd else "",
        "seed": str(chosen.max_seed) if chosen.max_seed >= 0 else "",
        "pam": result.pams.names[chosen.pam] if chosen.pam >= 0 else "",
        "class": CLASSES[chosen.site_class] if chosen.site_class >= 0 else "",
        "in": place_text(chosen, result),
        "reference": _write_reference(result),
        "sort": "" if order == HitOrder() else f"{DOWNWARDS * order.is_descending}{order.column}",
    }
    return ";".join(f"{name}:{value}" for name, value in said.items() if value)


def write_search(query: OffTargetQuery) -> dict[str, str]:
    """Return the address fields of a search; empty if it is too long."""
    text = query.linked_guides
    if not text:
        return {}
    limits = f"{query.max_mismatches},{query.dna_bulge},{query.rna_bulge}"
    return {"guides": text, "pam": str(query.pam), "limits": limits}


def read_search(link: Address) -> OffTargetQuery | None:
    """Parse the search of a link; None without guides; raises `ParameterError`."""
    if not link.guides:
        return None
    guides = parse_guides(link.guides.replace(";", "\n"))
    words = link.limits.split(",") if link.limits else ["4", "0", "0"]
    if len(words) != 3 or not all(map(_is_number, words)):
        raise ParameterError(f"limits is {link.limits!r}, needs mismatches, DNA and RNA bulge")
    maximum, dna, rna = map(int, words)
    if maximum > MAX_MISMATCHES or max(dna, rna) > MAX_BULGE:
        raise ParameterError(
            f"limits is {link.limits!r}, needs {MAX_MISMATCHES} mismatches and bulges of "
            f"{MAX_BULGE} nt at most"
        )
    return OffTargetQuery.of(guides, Pam.parse(link.pam or "-NGG"), maximum, dna, rna)


def _is_number(text: str) -> bool:
    """Return whether a text is a non-negative integer of limited length."""
    return text.isascii() and text.isdigit() and len(text) < MAX_DIGITS


def _find_guide(text: str, result: SearchResult) -> int:
    if not text:
        return -1
    n_guides = len(result.query.guides)
    if not _is_number(text) or not 1 <= int(text) <= n_guides:
        raise ParameterError(f"guide is {text!r}, needs a number from 1 to {n_guides:,}")
    return int(text) - 1


def _parse_limits(text: str) -> tuple[int, int] | None:
    if not text:
        return None
    low, _, high = text.partition("-")
    are_numbers = _is_number(low) and _is_number(high)
    if not are_numbers or not int(low) <= int(high) <= MAX_MISMATCHES:
        raise ParameterError(f"mismatches is {text!r}, needs such as 0-3")
    return int(low), int(high)


def _parse_seed(text: str) -> int:
    if not text:
        return -1
    if not _is_number(text) or int(text) > SEED_LENGTH:
        raise ParameterError(f"seed is {text!r}, needs mismatches from 0 to {SEED_LENGTH}")
    return int(text)


def _find_name(what: str, text: str, known: tuple[str, ...]) -> int:
    if not text:
        return -1
    if text not in known:
        needed = f"needs one of {', '.join(known[:8])}" if known else "and there are no hits"
        raise ParameterError(f"{what} is {text!r}, {needed}")
    return known.index(text)


def _parse_kind(text: str, query: OffTargetQuery) -> int:
    if not text:
        return -1
    known = {_write_kind(kind): kind for kind in kinds_of(query)}
    check_choice("bulge", text, known)
    return known[text]


def _write_reference(result: SearchResult) -> str:
    """Return the reference of hits on a graph if it is not the default one."""
    if result.sites is None:
        return ""
    answer = result.sites.reference
    name = "" if answer is None else answer.name
    return "" if name == result.genome.planes.usual_reference else name or NO_REFERENCE


def _write_kind(number: int) -> str:
    if number < 0:
        return ""
    kind, size = divmod(number, KIND_SIZES)
    return f"{BulgeType(kind).label}{size or ''}"


def _parse_number(text: str) -> float:
    try:
        value = float(text or 0)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ParameterError(f"cfd is {text!r}, needs a number from 0 to 1")
    return value
