"""Exports of the listed hits: tables, BED6, Cas-OFFinder output, and a figure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from genoviz.analyses.figures import TrackFigure, track_figure_bytes
from genoviz.analyses.figures.parts import Box, Line, Part, Text, clip_text, text_width
from genoviz.analyses.figures.tracks import round_positions
from genoviz.analyses.graph.picture.legend import short_number
from genoviz.analyses.graph.picture.palettes import LIGHT, blend
from genoviz.analyses.offtargets.cuts import cut_sites
from genoviz.analyses.offtargets.differences import KINDS
from genoviz.analyses.offtargets.path_hits import reference_columns
from genoviz.analyses.offtargets.scores import cctop_scores, mit_scores
from genoviz.errors import GenovizError
from genoviz.io.offtargets.hit_table import HitTable, is_no_repeat
from genoviz.io.offtargets.output import HitFormat, iter_rows, write_tables
from genoviz.io.text.text_file import iter_write_text
from genoviz.model.columns import iter_row_slices
from genoviz.model.offtargets.hits import OffTargetHits
from genoviz_app.pages.offtargets.hits.bulge_kinds import kinds_of, short_kind
from genoviz_app.pages.offtargets.hits.filter import FoundHits
from genoviz_app.pages.offtargets.hits.heat_maps import Differences, find_differences
from genoviz_app.pages.offtargets.hits.place_bins import (
    CONTIGS,
    PlaceBins,
    PlaceView,
    colour_of,
    make_place_bins,
)
from genoviz_app.pages.offtargets.search.guide_groups import MixedHits
from genoviz_app.pages.offtargets.search.running import SearchResult
from genoviz_app.pages.offtargets.search.words import lost_words
from genoviz_app.pages.offtargets.state import OffTargetState
from genoviz_app.parts.file_button import ExportMenu, Prepare, Writer, file_stem
from genoviz_app.parts.words import n_words

CAS_OFFINDER = "txt"
FORMATS = {
    "TSV": "tsv", "CSV": "csv", "Parquet": "parquet", "BED": "bed", "Cas-OFFinder": CAS_OFFINDER
}  # fmt: skip
TABLES = ("tsv", "csv", "parquet")
FIGURES = {"PNG": "png", "SVG": "svg"}
SCALE, WIDTH, EDGE = 2.0, 1200.0, 18.0
NAMES, ROW, CELL, NARROW = 116.0, 15.0, 20.0, 26.0
SMALL, TITLE, N_TICKS = 11.0, 15.0, 8
BAR = "#e6ebf2"


def export_menu(
    state: OffTargetState, shown_view: Callable[[], PlaceView | None], **look: Any
) -> ExportMenu:
    """Return a menu that downloads the listed hits, or figures of them.

    Parameters
    ----------
    shown_view
        Returns the view of the figure of places, or None.
    """

    def prepare_of(ending: str) -> Prepare:
        def prepare() -> tuple[str, Writer]:
            found = state.found
            if found is None:
                raise GenovizError("there are no hits; search first")
            part = f"_of_{words}" if (words := found.result.searched_words) else ""
            name = f"{file_stem(f'offtargets{part}_{found.result.genome.title}')}.{ending}"
            if ending in FIGURES.values():
                view = shown_view()
                return name, lambda path: write_figure(path, found, view)
            return name, lambda path: iter_write_found(path, found)

        return prepare

    files = {f"Listed hits ({name})": ending for name, ending in FORMATS.items()}
    files |= {f"Figures of the listed hits ({name})": ending for name, ending in FIGURES.items()}
    return ExportMenu(
        state.session, {label: prepare_of(ending) for label, ending in files.items()}, **look
    )


def iter_write_found(path: Path, found: FoundHits) -> Iterator[Path]:
    """Write all listed hits in their order; the file extension selects the format.

    Yields the path repeatedly.
    """
    result, ending = found.result, path.suffix.removeprefix(".")
    query = result.query
    form: HitFormat = ending
    if ending == CAS_OFFINDER:
        form = "bulge" if query.dna_bulge or query.rna_bulge else "v2"
    counts = np.zeros(len(query.guides), np.int64)
    for part in iter_row_slices(len(found)):
        guide_ids = result.hits.guide_ids[found.rows[part]]
        counts += np.bincount(guide_ids, minlength=len(counts))

    def iter_tables() -> Iterator[HitTable]:
        for ids, rows, hits in _iter_parts(found):
            columns = _scores_of(result, rows)
            if ending in TABLES:
                columns = columns_of(found, rows, hits)
            table = HitTable(hits, [query.guides[number].name for number in ids], columns)
            if form == "bulge":
                table = table.of_guides(is_no_repeat(hits.guides, counts[ids]))
            yield table

    if form == "parquet":
        write_tables(iter_tables(), path, format=form)
        yield path
        return
    for _ in iter_write_text(path, iter_rows(iter_tables(), form)):
        yield path


def _iter_parts(found: FoundHits) -> Iterator[tuple[list[int], np.ndarray, OffTargetHits]]:
    """Yield the guide numbers, the rows of some hits, and these hits, by length.

    There is at least one part.
    """
    hits, n = found.result.hits, max(len(found), 1)
    if not isinstance(hits, MixedHits):
        for part in iter_row_slices(n):
            rows = found.rows[part]
            yield list(range(len(hits.guides))), rows, hits.take(rows)
        return
    for number, group in enumerate(hits.groups):
        is_of_group = np.zeros(len(hits.guides), bool)
        is_of_group[group.ids] = True
        for part in iter_row_slices(n):
            rows = found.rows[part]
            rows = rows[is_of_group[hits.guide_ids[rows]]]
            _, of_group = [*hits.take(rows).iter_groups()][number]
            yield group.ids.tolist(), rows, of_group


def columns_of(found: FoundHits, rows: np.ndarray, hits: OffTargetHits) -> dict[str, np.ndarray]:
    """Return additional columns of hit tables: cuts, scores, seed, genes, haplotypes."""
    result, genes = found.result, found.genes
    columns = {"cut_site": cut_sites(hits)} if result.query.pam.letters else {}
    if result.cfd is not None:
        scores = {"mit": mit_scores(hits), "cctop": cctop_scores(hits)}
        columns |= _scores_of(result, rows) | scores
    if result.query.pam.letters:
        columns["seed_mismatches"] = result.seeds[rows].astype(np.int64)
    if genes is not None:
        columns["gene"] = np.array(genes.names(rows), np.str_)
        columns["gene_distance"] = genes.annotation.distances[rows]
        columns["class"] = np.array(genes.labels(rows), np.str_)
    return columns if result.sites is None else columns | graph_columns(result, rows)


def _scores_of(result: SearchResult, rows: np.ndarray) -> dict[str, np.ndarray]:
    return {} if result.cfd is None else {"cfd": result.cfd[rows]}


def graph_columns(result: SearchResult, rows: np.ndarray) -> dict[str, np.ndarray]:
    """Return table columns of hits on a graph; -1 mismatches: no such place in the reference."""
    sites = result.sites
    columns = {
        "haplotypes": sites.n_with[rows],
        "of_haplotypes": sites.n_of_chromosome[rows],
        "places": sites.found.n_places[rows],
    }
    if sites.reference is not None:
        columns |= reference_columns(sites.reference.sites, rows)
    return columns


def write_figure(path: Path, found: FoundHits, view: PlaceView | None) -> None:
    """Write the figure of the listed hits; the file extension selects the format.

    Parameters
    ----------
    view
        View of the figure of places; None for all contigs.
    """
    if view is None:
        longest = int(np.diff(found.result.genome.planes.offsets).max(initial=1))
        view = PlaceView(CONTIGS, 0.0, float(longest), round(WIDTH))
    figure = draw_hits(found, make_place_bins(found, view), find_differences(found))
    path.write_bytes(track_figure_bytes(figure, path.suffix))


def draw_hits(found: FoundHits, bins: PlaceBins, differences: Differences) -> TrackFigure:
    """Return the figure of hits."""
    result = found.result
    n_guides = len(result.query.guides)
    title = f"Off-targets of {n_words(n_guides, 'guide')} in {result.genome.title}"
    caption = caption_of(found)
    sheet = Sheet()
    sheet.text(EDGE, 26, title, TITLE)
    sheet.text(EDGE, 44, clip_text(caption, SMALL, WIDTH - 2 * EDGE))
    top = draw_places(sheet, bins, 62) + 34
    bottoms = draw_kinds(sheet, found, top), draw_differences(sheet, differences, top)
    height = max(bottoms) + EDGE
    return TrackFigure(
        round(WIDTH * SCALE), math.ceil(height * SCALE), SCALE, title, caption, LIGHT.ground,
        LIGHT.ink, (), tuple(sheet.parts),
    )  # fmt: skip


def caption_of(found: FoundHits) -> str:
    """Return a caption on how the hits were found and how many are drawn."""
    query, n, total = found.result.query, len(found), len(found.result)
    bulges = f", DNA bulge {query.dna_bulge} and RNA bulge {query.rna_bulge} nt"
    listed = n_words(n, "hit") if n == total else f"{n:,} of {n_words(total, 'hit')}"
    place = "" if found.result.sites is None else "; each at its first position on the paths"
    lost = lost_words(found.result)
    words = found.result.searched_words
    of_part = f" of {words}" if words else ""
    maximum = f"{query.max_mismatches} mismatch{'es' * (query.max_mismatches != 1)}"
    return (
        f"PAM {query.pam}, up to {maximum}"
        f"{bulges if query.dna_bulge or query.rna_bulge else ''}; {listed}{of_part}{place}"
        f"{f'; {lost}' if lost else ''}. "
        "Colour: fewest mismatches; depth of colour: hits."
    )


class Sheet:
    """Parts of a print figure, with lengths in CSS pixels (1/96 inch)."""

    def __init__(self) -> None:
        self.parts: list[Part] = []

    def text(
        self, x: float, y: float, text: str, size: float = SMALL, anchor: str = "start"
    ) -> None:
        """Add text."""
        self.parts.append(Text(x * SCALE, y * SCALE, text, size * SCALE, LIGHT.ink, anchor))

    def box(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        """Add a filled rectangle with a minimum width that keeps it visible."""
        self.parts.append(
            Box(x * SCALE, y * SCALE, max(width * SCALE, 1.5), height * SCALE, colour)
        )

    def line(self, x: float, y: float, x1: float, y1: float) -> None:
        """Add a thin line."""
        self.parts.append(Line(x * SCALE, y * SCALE, x1 * SCALE, y1 * SCALE, SCALE, LIGHT.faint))


def draw_places(sheet: Sheet, bins: PlaceBins, top: float) -> float:
    """Draw bins in rows, and an axis; return the lower edge."""
    left, right, (start, end) = EDGE + NAMES, WIDTH - EDGE, (bins.view.start, bins.view.end)
    high = max(bins.rows, default=0) + 0.5
    bottom = top + (high - min(bins.rows, default=0) + 0.5) * ROW

    def to_x(positions: np.ndarray) -> list[float]:
        places = left + (np.asarray(positions, float) - start) / (end - start) * (right - left)
        return np.clip(places, left, right).tolist()

    def add(columns: dict, colours: list[str]) -> None:
        edges = to_x(columns["left"]), to_x(columns["right"])
        ends = [(high - np.asarray(columns[name], float)) * ROW for name in ("top", "bottom")]
        for x0, x1, y0, y1, colour in zip(*edges, *(e.tolist() for e in ends), colours,
                                          strict=True):  # fmt: skip
            if x1 > x0:
                sheet.box(x0, top + y0, x1 - x0, y1 - y0, colour)

    add(bins.bars, [BAR] * len(bins.bars["left"]))
    columns = bins.columns
    pairs = zip(columns["colour"], columns["alpha"], strict=True)
    add(columns, [blend((LIGHT.ground, colour), alpha) for colour, alpha in pairs])
    for level, name in bins.rows.items():
        sheet.text(left - 6, top + (high - level) * ROW + 4, name, SMALL, "end")
    sheet.line(left, bottom + 3, right, bottom + 3)
    ticks = round_positions(int(start), int(end), N_TICKS)
    names = bins.names or {at - 1.0: f"{at:,}" for at in ticks}
    for x, name in zip(to_x(np.array(list(names))), names.values(), strict=True):
        if x + text_width(name, SMALL) / 2 <= WIDTH:
            sheet.text(x, bottom + 18, name, SMALL, "middle")
    label = " ".join(filter(None, bins.labels)).replace("\n", "; ")
    sheet.text((left + right) / 2, bottom + 34, label, SMALL, "middle")
    return bottom + 40


def draw_kinds(sheet: Sheet, found: FoundHits, top: float) -> float:
    """Draw the table of hits by bulge and mismatches; return the lower edge."""
    counts = found.kind_counts
    left, maximum = EDGE + NAMES, max(float(np.log1p(counts).max(initial=0)), 1.0)
    sheet.text(left, top - 10, "Hits by bulge and mismatches")
    for row, name in enumerate(kinds_of(found.result.query).values()):
        y = top + row * CELL
        sheet.text(left - 6, y + 14, short_kind(name) or "No bulge", SMALL, "end")
        for level, n in enumerate(counts[row].tolist()):
            x = left + level * 2 * CELL
            colour = blend((LIGHT.ground, colour_of(level)), 0.1 + 0.7 * math.log1p(n) / maximum)
            sheet.box(x + 1, y + 1, 2 * CELL - 2, CELL - 2, colour)
            sheet.text(x + CELL, y + 14, short_number(n), SMALL, "middle")
    bottom = top + counts.shape[0] * CELL
    for level in range(counts.shape[1]):
        sheet.text(left + (2 * level + 1) * CELL, bottom + 14, str(level), SMALL, "middle")
    return bottom + 20


def draw_differences(sheet: Sheet, differences: Differences, top: float) -> float:
    """Draw the heat map of mismatch types by position; return the lower edge."""
    counts, maximum = differences.kinds.counts, max(int(differences.kinds.counts.max(initial=0)), 1)
    width = min(NARROW, (WIDTH / 2 - 2 * EDGE - 60) / max(counts.shape[1], 1))
    left = WIDTH - EDGE - width * counts.shape[1]
    sheet.text(left, top - 10, f"Mismatches by kind and position, up to {short_number(maximum)}")
    for row, kind in enumerate(KINDS):
        sheet.text(left - 6, top + row * ROW + 11, f"{kind[0]} > {kind[2]}", SMALL, "end")
        for column, n in enumerate(counts[row].tolist()):
            colour = blend(LIGHT.ramps["depth"], math.log1p(n) / math.log1p(maximum)) if n else BAR
            sheet.box(left + column * width, top + row * ROW, width - 1, ROW - 1, colour)
    bottom = top + len(KINDS) * ROW
    step = -(-counts.shape[1] // 24) or 1
    for column in range(0, counts.shape[1], step):
        name = differences.columns[column]
        sheet.text(left + (column + 0.5) * width, bottom + 13, name, SMALL, "middle")
    axis = differences.axis.replace("′", "'")
    sheet.text(left, bottom + 29, axis)
    return bottom + 34
