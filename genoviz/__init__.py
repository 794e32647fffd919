"""Genomics kernels for CPU and GPU.

The public names below are imported when they are first used, so ``import genoviz`` is immediate.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from genoviz.threading_layer import prepare_threading_layer

__version__ = "0.1.0"

_MODULES = {
    "genoviz.analyses.annotate": ("PlacedAnnotations", "place_annotations"),
    "genoviz.analyses.colouring": ("ColourChoice", "Colouring", "make_colouring"),
    "genoviz.analyses.coverage_index": ("CoverageBins", "CoverageIndex", "DepthSteps"),
    "genoviz.analyses.depth_steps": ("depth_steps",),
    "genoviz.analyses.detail": ("Detail", "find_detail"),
    "genoviz.analyses.drawing": ("LayoutDrawing", "Viewport"),
    "genoviz.analyses.extract": ("extract_nodes", "extract_region"),
    "genoviz.analyses.figures": ("FigureOptions", "figure_bytes", "make_figure"),
    "genoviz.analyses.find": ("Finding", "find"),
    "genoviz.analyses.fold": ("Fold",),
    "genoviz.analyses.interval_coverage": ("IntervalCoverage", "coverage_fraction"),
    "genoviz.analyses.interval_pairs": (
        "NearestIntervals",
        "OverlapPairs",
        "iter_overlap_pairs",
        "nearest_intervals",
    ),
    "genoviz.analyses.intervals": ("count_overlaps", "total_overlaps"),
    "genoviz.analyses.layout": ("iter_path_sgd_layout", "path_sgd_layout"),
    "genoviz.analyses.layout_options": ("LayoutOptions",),
    "genoviz.analyses.layout_run": ("LayoutSnapshot",),
    "genoviz.analyses.path_depth": (
        "IntervalDepths",
        "PlacedIntervals",
        "depths_of_intervals",
        "path_depth_along",
        "place_intervals",
    ),
    "genoviz.analyses.path_positions": (
        "NodePosition",
        "NodeVisits",
        "PathSlice",
        "find_node_visits",
        "find_region_steps",
        "locate_position",
    ),
    "genoviz.analyses.position_lift": ("LiftedPosition", "lift_position", "lift_positions"),
    "genoviz.analyses.regions": ("resolve_region",),
    "genoviz.analyses.marks": ("MarkLayer",),
    "genoviz.analyses.sequences": (
        "iter_node_records",
        "iter_region_records",
        "region_sequence",
    ),
    "genoviz.analyses.signal_index": ("SignalBins", "SignalIndex"),
    "genoviz.analyses.simulate": ("simulate_pangenome",),
    "genoviz.analyses.site_alleles": ("SiteAlleles", "site_alleles"),
    "genoviz.analyses.site_kinds": ("SiteKind",),
    "genoviz.analyses.sites": ("find_sites", "iter_find_sites"),
    "genoviz.analyses.statistics": ("graph_statistics", "iter_graph_statistics"),
    "genoviz.analyses.statistics_results": ("GraphStatistics",),
    "genoviz.analyses.variation_sites": ("SitesProgress", "VariationSites"),
    "genoviz.analyses.stress": ("PathStress", "path_stress", "sampled_path_stress"),
    "genoviz.errors": (
        "BackendError",
        "DownloadError",
        "FileFormatError",
        "GenovizError",
        "ParameterError",
    ),
    "genoviz.io.annotations": ("read_annotations",),
    "genoviz.io.big_files": ("BigWig", "write_bigwig"),
    "genoviz.io.fasta": ("write_fasta", "write_node_list"),
    "genoviz.io.gfa": ("GfaProgress", "iter_read_gfa", "read_gfa", "write_gfa"),
    "genoviz.io.interval_writer": ("write_bed", "write_bedgraph"),
    "genoviz.io.intervals": (
        "IntervalProgress",
        "intervals_from_table",
        "iter_read_intervals",
        "map_contigs",
        "read_intervals",
    ),
    "genoviz.io.node_table": ("read_node_table",),
    "genoviz.io.layout_files": ("read_layout", "write_layout"),
    "genoviz.model": (
        "Annotations",
        "ByteStrings",
        "GraphLayout",
        "Incidence",
        "Intervals",
        "PangenomeGraph",
        "PathName",
        "PathRegion",
    ),
    "genoviz.samples": ("get_sample", "list_samples"),
}
prepare_threading_layer()

_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(["__version__", *_MODULE_OF])


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"genoviz has no {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})
