"""The hits that are listed as files: tables, BED6, rows as Cas-OFFinder's, and figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from genoviz.analyses.offtargets.cuts import cut_sites
from genoviz.analyses.offtargets.scores import cctop_scores, mit_scores
from genoviz.errors import GenovizError
from genoviz.io.offtargets.output import HitFormat, HitTable, write_tables
from genoviz.model.offtargets.hits import OffTargetHits
from genoviz_app.pages.offtargets.hits.figure_export import write_figure
from genoviz_app.pages.offtargets.hits.hit_filter import FoundHits
from genoviz_app.pages.offtargets.hits.place_bins import PlaceView
from genoviz_app.pages.offtargets.search.guide_groups import MixedHits
from genoviz_app.pages.offtargets.search.search import SearchResult
from genoviz_app.pages.offtargets.state import OffTargetState
from genoviz_app.parts.file_button import file_button, file_stem

CAS_OFFINDER = "txt"
FORMATS = {
    "TSV": "tsv", "CSV": "csv", "Parquet": "parquet", "BED": "bed", "Cas-OFFinder": CAS_OFFINDER
}  # fmt: skip
TABLES = ("tsv", "csv", "parquet")
FIGURES = {"PNG": "png", "SVG": "svg"}


def export_buttons(
    state: OffTargetState, shown_view: Callable[[], PlaceView | None], **look: Any
) -> list[Any]:
    """Return buttons that hand the listed hits, or the figures of them, to the browser.

    Parameters
    ----------
    shown_view
        Returns what the figure of places shows, or None.
    """

    def prepare_of(ending: str) -> Callable[[], tuple[str, Callable[[Path], None]]]:
        def prepare() -> tuple[str, Callable[[Path], None]]:
            found = state.found
            if found is None:
                raise GenovizError("there are no hits; search first")
            name = f"{file_stem(f'offtargets_{found.result.genome.title}')}.{ending}"
            if ending in FIGURES.values():
                view = shown_view()
                return name, lambda path: write_figure(path, found, view)
            return name, lambda path: write_found(path, found)

        return prepare

    return [
        file_button(state.session, label, prepare_of(ending), **look)
        for label, ending in (FORMATS | FIGURES).items()
    ]


def write_found(path: Path, found: FoundHits) -> None:
    """Write all hits that are listed, in their order; the ending of the name tells how."""
    result, ending = found.result, path.suffix.removeprefix(".")
    query = result.query
    form: HitFormat = ending
    if ending == CAS_OFFINDER:
        form = "bulge" if query.dna_bulge or query.rna_bulge else "v2"
    tables = []
    for ids, rows, hits in _iter_groups(result, found.rows):
        columns = _scores_of(result, rows)
        if ending in TABLES:
            columns = columns_of(found, rows, hits)
        tables.append(HitTable(hits, [query.guides[number].name for number in ids], columns))
    write_tables(tables, path, format=form)


def _iter_groups(
    result: SearchResult, rows: np.ndarray
) -> Iterator[tuple[list[int], np.ndarray, OffTargetHits]]:
    """Yield numbers of the guides of each length, their hits among rows, and these hits."""
    hits = result.hits.take(rows)
    if not isinstance(hits, MixedHits):
        yield list(range(len(hits.guides))), rows, hits
        return
    for group, (places, part) in zip(hits.groups, hits.iter_groups(), strict=True):
        yield group.ids.tolist(), rows[places], part


def columns_of(found: FoundHits, rows: np.ndarray, hits: OffTargetHits) -> dict[str, np.ndarray]:
    """Return what tables of hits have beside the hits: cuts, scores, seed, genes, haplotypes."""
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
    """Return what tables say of hits on a graph; -1 mismatches: the reference has no such place."""
    sites = result.sites
    columns = {
        "haplotypes": sites.n_with[rows],
        "of_haplotypes": np.full(len(rows), sites.n_haplotypes, np.int64),
        "places": sites.found.n_places[rows],
    }
    if sites.reference is not None:
        reference = sites.reference.sites
        columns["in_reference"] = reference.is_present[rows].astype(np.int64)
        columns["reference_mismatches"] = reference.mismatches[rows].astype(np.int64)
        columns["reference_pam_misfits"] = reference.pam_misfits[rows].astype(np.int64)
    return columns
