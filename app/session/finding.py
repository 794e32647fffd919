"""Search of all that a tab has open by text, and summaries of what is at a place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from genoviz.analyses.graph.query.annotate import PlacedAnnotations
from genoviz.analyses.graph.query.find import find, find_prefix
from genoviz.errors import ParameterError
from genoviz.model import Intervals, PangenomeGraph, PathRegion
from genoviz.model.columns import distinct
from genoviz.model.genotypes.chromosomes import letter_names
from genoviz.model.genotypes.genotypes import Genotypes, VariantTable
from genoviz.model.graph.path_region import split_region
from genoviz.model.intervals.annotations import is_gene_type
from genoviz.model.intervals.intervals import aliases
from genoviz_app.opening.track_features import drawn_rows
from genoviz_app.opening.track_files import TrackFile
from genoviz_app.parts.words import n_words, write_place
from genoviz_app.session.graph_places import parse_path
from genoviz_app.session.lit_sets import LitSet

if TYPE_CHECKING:
    from genoviz_app.opening.overviews import Chromosome
    from genoviz_app.session.session import Session

_PLACE = re.compile(r"(?P<name>.+):(?P<start>\d[\d,]{0,23})(?:-(?P<end>\d[\d,]{0,23}))?")
BASES = re.compile(r"[ACGTN]+")
GUIDE_LENGTHS = range(17, 26)
SHORTEST_KMER, LONGEST_KMER = 3, 100_000
MAX_CHOICES, MAX_SUGGESTIONS = 12, 10
MAX_IDS = 500_000
NO_NODES = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class Found:
    """A search result.

    Attributes
    ----------
    kind
        Kind of result: "node", "region", "gene", "feature", "SNP", "k-mer" or "guide"; or
        "chromosome", which is not open.
    title
        Text to show for it.
    region
        Its location; None for nodes, and for searches on a page of their own.
    nodes
        int64: its nodes on the graph.
    source, text
        For a chromosome: what opens it, and what to search in it then.
    """

    kind: str
    title: str
    region: PathRegion | None = None
    nodes: np.ndarray = field(default_factory=lambda: NO_NODES)
    source: str = ""
    text: str = ""

    @property
    def place(self) -> str:
        """The location in words."""
        if self.region is not None:
            words = write_place(self.region)
            stretch = "" if self.title == words else f"{words}, "
            return f"{stretch}{self.region.length:,} bp"
        return n_words(len(self.nodes), "node") if len(self.nodes) > 1 else ""


@dataclass(frozen=True, eq=False)
class Openings:
    """What a tab has open, for questions that are answered in other threads."""

    graph: PangenomeGraph | None
    annotations: PlacedAnnotations | None
    tracks: tuple[TrackFile, ...]
    variants: VariantTable | None
    lit: tuple[LitSet, ...]
    closed: tuple[Chromosome, ...] = ()
    """Chromosomes of the genome that are not open."""

    @classmethod
    def of(cls, session: Session) -> Openings:
        """Return what a tab has open now."""
        opened, genotypes = session.opened, session.genotypes.opened
        source = "" if opened is None else opened.source
        closed = (each for each in session.chromosomes if str(each.served.path) != source)
        return cls(
            None if opened is None else opened.graph,
            session.annotation_files.placed,
            tuple(session.tracks.files),
            None if genotypes is None else _with_letter_names(genotypes.genotypes),
            session.highlights.sets,
            tuple(closed),
        )


def _with_letter_names(genotypes: Genotypes) -> VariantTable:
    """Return the variants with the contig names of tracks and graphs: X instead of 23."""
    variants = genotypes.variants
    return replace(variants, contigs=letter_names(variants.contigs, genotypes.n_autosomes))


def find_everywhere(there: Openings, text: str) -> tuple[Found, ...]:
    """Return up to `MAX_CHOICES` + 1 possible meanings of a text, the likeliest first.

    Positions are 1-based and ends inclusive.

    Raises
    ------
    ParameterError
        If the text has the form of a position but nothing is there; the message says why.
    """
    written = text.strip()
    if not written:
        return ()
    text = _count_from_zero(there, written)
    found: list[Found] = []
    complaint: ParameterError | None = None
    if there.graph is not None:
        try:
            found += _find_on_graph(there, text)
        except ParameterError as error:
            complaint = ParameterError(str(error).replace(text, written))
    found += _find_variants(there, text)
    if not any(each.region is not None for each in found):
        found += _find_in_tracks(there, text)
    chromosomes = _find_chromosomes(there, text, written, found)
    found = [*chromosomes, *found] if there.graph is None else [*found, *chromosomes]
    letters = text.upper()
    if BASES.fullmatch(letters) and SHORTEST_KMER <= len(letters) <= LONGEST_KMER:
        found.append(Found("k-mer", letters))
        if len(letters) in GUIDE_LENGTHS:
            found.append(Found("guide", letters))
    if not found and complaint is not None:
        raise complaint
    return tuple(found[: MAX_CHOICES + 1])


def _count_from_zero(there: Openings, text: str) -> str:
    """Convert a 1-based inclusive region to the library's 0-based one; names are unchanged."""
    place, graph = _PLACE.fullmatch(text), there.graph
    is_name = graph is not None and (text in graph.path_names or graph.node_names.find(text) >= 0)
    # Names of HLA contigs end like positions: HLA-DRB1*15:01:01:01.
    is_name |= any(text in track.data.contig_lengths for track in there.tracks)
    if place is None or is_name:
        return text
    start = int(place["start"].replace(",", ""))
    if start == 0:
        raise ParameterError(f"{text!r} begins at 0, and the first base is 1")
    return f"{place['name']}:{start - 1}-{place['end'] or start}"


def _find_on_graph(there: Openings, text: str) -> list[Found]:
    findings = find(there.graph, text, annotations=there.annotations, limit=MAX_CHOICES + 1)
    return [
        Found(
            "gene" if f.kind == "annotation" else f.kind,
            write_place(f.region) if f.kind == "region" else f.label,
            f.region,
            f.nodes,
        )
        for f in findings
    ]


def _find_variants(there: Openings, text: str) -> list[Found]:
    variants = there.variants
    if variants is None:
        return []
    found = np.flatnonzero(variants.ids == text)[:MAX_CHOICES]
    places = []
    for variant in found.tolist():
        contig = str(variants.contigs[variants.contig_ids[variant]])
        position = int(variants.positions[variant])
        region = PathRegion(contig, position, position + 1) if position >= 0 else None
        places.append(Found("SNP", text, region))
    return places


def _find_in_tracks(there: Openings, text: str) -> list[Found]:
    """Return matching contigs and regions of the tracks, or else features by name."""
    is_contig = any(text in track.data.contig_lengths for track in there.tracks)
    place = None if is_contig else split_region(text)
    name, start, end = (text, 0, None) if place is None else place
    for track in there.tracks:
        lengths = track.data.contig_lengths
        contig = next((n for n in (name, *aliases(name)) if n in lengths), None)
        if contig is None:
            continue
        last = lengths[contig] if place is None else start + 1 if end is None else end
        last = min(last, lengths[contig])
        if start < last:
            region = PathRegion(contig, start, last)
            return [Found("region", write_place(region), region)]
    found = []
    for track in there.tracks:
        table = track.data.features
        row = table.find(text) if table is not None else None
        if row is not None:
            found.append(Found("feature", table.name_of(row), table.region_of(row)))
    return found


def _find_chromosomes(there: Openings, text: str, written: str, found: list[Found]) -> list[Found]:
    """Return closed chromosomes with a matching contig, path or feature location."""
    place = split_region(text)
    wanted = {text if place is None else place[0]: written}
    if place is None:
        regions = (each.region for each in found if each.kind == "feature")
        wanted |= {region.path: write_place(region) for region in regions}
    chromosomes = []
    for chromosome in there.closed:
        own, facts = chromosome.served.name, chromosome.facts
        for name, words in wanted.items():
            names = (name, *aliases(name))
            is_own = own in names
            if is_own or (facts is not None and any(map(facts.has_path, names))):
                source = str(chromosome.served.path)
                words = "" if is_own and words == name else words
                chromosomes.append(Found("chromosome", f"Open {own}", source=source, text=words))
                break
    return chromosomes


def suggest(there: Openings, text: str) -> tuple[tuple[str, str], ...]:
    """Return names with this prefix and their kinds: genes, contigs, paths, nodes, SNPs."""
    text = text.strip()
    if not text or ":" in text:
        return ()
    found: dict[str, str] = {}
    for name, kind in _iter_names(there, text):
        found.setdefault(name, kind)
        if len(found) == MAX_SUGGESTIONS:
            break
    return tuple(found.items())


def _iter_names(there: Openings, text: str) -> Iterator[tuple[str, str]]:
    graph, wanted = there.graph, text.lower()
    if graph is not None and graph.node_names.find(text) >= 0:
        yield text, "node"
    if there.annotations is not None:
        names = there.annotations.annotations.names
        rows = find_prefix(names, text)
        rows = rows[np.argsort(names.lengths[rows], kind="stable")][: 20 * MAX_SUGGESTIONS]
        for row in rows.tolist():
            yield names[row], "gene"
    for track in there.tracks:
        if track.data.features is not None:
            for name in track.data.features.names_beginning(text, limit=MAX_SUGGESTIONS):
                yield name, "feature"
    if graph is not None and graph.n_paths <= MAX_IDS:
        contigs = (name.contig for name in graph.parsed_path_names)
        for contig in dict.fromkeys(contigs):
            if contig and contig.lower().startswith(wanted):
                yield contig, "contig"
    for path in () if graph is None else graph.path_names:
        if wanted in path.lower():
            yield path, "path"
    for chromosome in there.closed:
        if chromosome.served.name.lower().startswith((wanted, f"chr{wanted}")):
            yield chromosome.served.name, "chromosome"
    for chromosome in there.closed:
        facts = chromosome.facts
        for path in () if facts is None else facts.find_paths(text, MAX_SUGGESTIONS):
            yield path, f"path of {chromosome.served.name}"
    for track in there.tracks:
        for contig in track.data.contigs:
            if contig.lower().startswith(wanted):
                yield contig, "contig"
    if graph is not None and graph.n_nodes <= MAX_IDS:
        for row in find_prefix(graph.node_names, text)[:MAX_SUGGESTIONS].tolist():
            yield graph.node_names[row], "node"
    if there.variants is not None and len(there.variants.ids) <= MAX_IDS:
        ids = np.asarray(there.variants.ids, np.str_)
        for row in np.flatnonzero(np.char.startswith(ids, text))[:MAX_SUGGESTIONS].tolist():
            yield str(ids[row]), "SNP"


def also_here(there: Openings, region: PathRegion) -> str:
    """Summarise what else is at a place: ``3 tracks, 12 genes, 2 SNPs``; may be empty."""
    places = list(_names_of(there.graph, region))
    n_tracks = sum(any(_touches(t.data.intervals, *p) for p in places) for t in there.tracks)
    counts = [(n_tracks, "track")]
    placed = there.annotations
    if placed is not None and region.path in placed.graph.path_names:
        path = placed.graph.path_names.index(region.path)
        is_here = (placed.paths == path) & (placed.starts < region.end)
        rows = distinct(placed.rows[is_here & (placed.ends > region.start)])
        drawn, types = drawn_rows(placed.annotations), placed.annotations.types
        is_gene = len(drawn) > 0 and (not types[drawn[0]] or is_gene_type(types[drawn[0]]))
        counts.append((int(np.isin(rows, drawn).sum()), "gene" if is_gene else "annotation"))
    if there.variants is not None:
        n_variants = max(len(there.variants.in_region(*place)) for place in places)
        counts.append((n_variants, "SNP"))
    words = [n_words(n, noun) for n, noun in counts if n]
    for lit in there.lit:
        stretches = lit.stretches(region.path)
        n = int(((stretches[:, 0] < region.end) & (stretches[:, 1] > region.start)).sum())
        words += [f"{n:,} of {lit.title}"] if n else []
    return ", ".join(words)


def _names_of(graph: PangenomeGraph | None, region: PathRegion) -> Iterator[tuple[str, int, int]]:
    """Yield the notations of a place that a file may use: on the path, or on its contig."""
    parsed = parse_path(graph, region.path)
    for name, first in (
        (region.path, 0),
        (parsed.whole, parsed.start),
        (parsed.contig, parsed.start),
    ):
        if name == region.path and first:
            continue
        for other in (name, *aliases(name)):
            yield other, region.start + first, region.end + first


def _touches(intervals: Intervals, contig: str, start: int, end: int) -> bool:
    if contig not in intervals.contigs:
        return False
    is_here = intervals.contig_ids == intervals.contigs.index(contig)
    return bool((is_here & (intervals.starts < end) & (intervals.ends > start)).any())
