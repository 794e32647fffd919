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
    "genoviz.analyses.fm_index": (
        "BuildProgress",
        "build_fm_index",
        "invert_bwt",
        "iter_build_fm_index",
    ),
    "genoviz.analyses.fold": ("Fold",),
    "genoviz.analyses.genotypes.association": (
        "AssociationScan",
        "associate",
        "iter_associate",
    ),
    "genoviz.analyses.genotypes.components": (
        "PrincipalComponents",
        "iter_principal_components",
        "principal_components",
    ),
    "genoviz.analyses.genotypes.filters": (
        "FilterOptions",
        "FilteredGenotypes",
        "filter_genotypes",
    ),
    "genoviz.analyses.genotypes.hardy_weinberg": ("hardy_weinberg_p",),
    "genoviz.analyses.genotypes.linkage": (
        "iter_linkage_windows",
        "iter_prune_by_linkage",
        "linkage",
        "prune_by_linkage",
    ),
    "genoviz.analyses.genotypes.relationships": (
        "RelationshipMatrix",
        "iter_relationship_matrix",
        "relationship_matrix",
    ),
    "genoviz.analyses.genotypes.relatives": (
        "RelatedPairs",
        "relatives",
    ),
    "genoviz.analyses.genotypes.simulate_genotypes": (
        "iter_simulate_genotypes",
        "simulate_genotypes",
    ),
    "genoviz.analyses.genotypes.simulate_traits": ("SimulatedTrait", "simulate_trait"),
    "genoviz.analyses.genotypes.statistics": (
        "SampleStatistics",
        "VariantStatistics",
        "sample_statistics",
        "variant_statistics",
    ),
    "genoviz.analyses.genotypes.selection": (
        "genotypes_in_region",
        "pack_dosages",
        "select_samples",
    ),
    "genoviz.analyses.genotypes.blup_run": ("BlupSnapshot",),
    "genoviz.analyses.genotypes.gblup": ("gblup", "iter_gblup"),
    "genoviz.analyses.genotypes.snp_blup": ("iter_snp_blup", "snp_blup"),
    "genoviz.analyses.genotypes.pedigree_inverse": ("inbreeding", "relationship_inverse"),
    "genoviz.analyses.genotypes.simulate_pedigree": ("drop_genotypes", "simulate_pedigree"),
    "genoviz.analyses.genotypes.single_step": ("iter_single_step", "single_step"),
    "genoviz.analyses.genotypes.cross_validation": (
        "CrossValidation",
        "cross_validate",
        "iter_cross_validate",
    ),
    "genoviz.analyses.index_text": ("make_index_text",),
    "genoviz.analyses.interval_coverage": ("IntervalCoverage", "coverage_fraction"),
    "genoviz.analyses.interval_pairs": (
        "NearestIntervals",
        "OverlapPairs",
        "iter_overlap_pairs",
        "nearest_intervals",
    ),
    "genoviz.analyses.intervals": ("count_overlaps", "total_overlaps"),
    "genoviz.analyses.kmer_list": ("KmerList",),
    "genoviz.analyses.kmer_repeats": ("KmerRepeats", "iter_kmer_repeats", "make_kmer_repeats"),
    "genoviz.analyses.kmer_spectrum": ("DistinctKmers", "KmerSpectrum"),
    "genoviz.analyses.kmer_hits": (
        "HitContexts",
        "KmerHits",
        "hit_contexts",
        "locate_kmer",
        "locate_kmers",
    ),
    "genoviz.analyses.kmer_queries": ("count_kmers", "iter_count_kmers", "kmer_rows"),
    "genoviz.analyses.kmer_trace": ("BwtWindow", "KmerTrace", "bwt_window", "trace_kmer"),
    "genoviz.analyses.kmers": ("Kmer", "PackedKmers", "parse_kmers"),
    "genoviz.analyses.layout": ("iter_path_sgd_layout", "path_sgd_layout"),
    "genoviz.analyses.layout_options": ("LayoutOptions",),
    "genoviz.analyses.layout_run": ("LayoutSnapshot",),
    "genoviz.analyses.multiplicity_track": ("MultiplicityBins", "MultiplicityTrack"),
    "genoviz.analyses.genotypes.products": ("GenotypeMatrix", "allele_counts"),
    "genoviz.analyses.pangenome_index": (
        "PangenomeIndex",
        "build_pangenome_index",
        "iter_build_pangenome_index",
    ),
    "genoviz.analyses.pangenome_offtargets": (
        "PathOffTargetsProgress",
        "find_offtargets_on_graph",
        "iter_find_offtargets_on_graph",
    ),
    "genoviz.analyses.path_offtargets": ("PathOffTargets",),
    "genoviz.analyses.path_places": ("PathPlaces",),
    "genoviz.analyses.pangenome_queries": ("PathHits", "count_per_path", "locate_on_paths"),
    "genoviz.analyses.genome_planes": ("make_genome_planes",),
    "genoviz.analyses.offtarget_counts": (
        "count_offtargets",
        "find_closest_offtargets",
        "iter_count_offtargets",
    ),
    "genoviz.analyses.offtarget_hits": ("OffTargetHits",),
    "genoviz.analyses.offtarget_annotation": ("HitAnnotations", "annotate_hits"),
    "genoviz.analyses.offtarget_cuts": ("cut_sites",),
    "genoviz.analyses.haplotype_risks": ("HaplotypeRisks", "haplotype_risks"),
    "genoviz.analyses.offtarget_reference": ("ReferenceSites", "compare_with_reference"),
    "genoviz.analyses.offtarget_scores": ("cctop_scores", "cfd_scores", "mit_scores"),
    "genoviz.analyses.offtarget_summaries": ("GuideSummaries", "summarise_guides"),
    "genoviz.analyses.offtargets": (
        "find_offtargets",
        "guide_with_pam",
        "guides_without_pam",
        "iter_find_offtargets",
        "stream_offtargets",
    ),
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
    "genoviz.analyses.multiplicity_steps": ("MultiplicitySteps", "iter_multiplicity_steps"),
    "genoviz.analyses.path_sequences": ("path_sequences",),
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
    "genoviz.analyses.stress": (
        "iter_path_stress",
        "iter_sampled_path_stress",
        "path_stress",
        "sampled_path_stress",
    ),
    "genoviz.analyses.stress_results": ("PathStress", "StressProgress"),
    "genoviz.errors": (
        "BackendError",
        "DownloadError",
        "FileFormatError",
        "GenovizError",
        "ParameterError",
    ),
    "genoviz.io.annotations": ("read_annotations",),
    "genoviz.io.big_files": ("BigWig",),
    "genoviz.io.bigwig_writer": ("write_bigwig",),
    "genoviz.io.fasta": ("write_fasta", "write_node_list"),
    "genoviz.io.fm_index": (
        "IndexFileProgress",
        "iter_read_fm_index",
        "iter_verify_fm_index",
        "iter_write_fm_index",
        "read_fm_index",
        "verify_fm_index",
        "write_fm_index",
    ),
    "genoviz.io.genome_planes": (
        "PlanesProgress",
        "iter_read_genome_planes",
        "read_genome_planes",
    ),
    "genoviz.io.genome_sequences": ("iter_read_genome", "read_genome"),
    "genoviz.io.genotypes": ("GenotypesProgress", "iter_read_genotypes", "read_genotypes"),
    "genoviz.io.gfa": ("GfaProgress", "iter_read_gfa", "read_gfa", "write_gfa"),
    "genoviz.io.guide_files": ("GuideList", "read_guides"),
    "genoviz.io.hit_table": ("HitTable",),
    "genoviz.io.interval_writer": ("write_bed", "write_bedgraph"),
    "genoviz.io.intervals": (
        "IntervalProgress",
        "intervals_from_table",
        "iter_read_intervals",
        "map_contigs",
        "read_intervals",
    ),
    "genoviz.io.node_table": ("read_node_table",),
    "genoviz.io.offtarget_input": ("OffTargetInput", "read_offtarget_input"),
    "genoviz.io.offtarget_output": ("write_offtargets",),
    "genoviz.io.layout_files": ("read_layout", "write_layout"),
    "genoviz.io.pedigree": ("read_pedigree",),
    "genoviz.io.phenotypes": ("read_phenotypes",),
    "genoviz.io.plink_writer": ("write_plink",),
    "genoviz.io.genotype_arrays": ("write_dosages",),
    "genoviz.io.vcf_writer": ("write_vcf",),
    "genoviz.io.sequences": ("SequencesProgress", "iter_read_sequences", "read_sequences"),
    "genoviz.model.fm_index": ("FMIndex",),
    "genoviz.model.genotypes": ("Genotypes", "SampleTable", "VariantTable"),
    "genoviz.model.pedigree": ("Pedigree",),
    "genoviz.model.phenotypes": ("PhenotypeTable",),
    "genoviz.model.traits": ("Trait", "read_trait"),
    "genoviz.model": (
        "Annotations",
        "ByteStrings",
        "GraphLayout",
        "Incidence",
        "IndexText",
        "Intervals",
        "PangenomeGraph",
        "PathName",
        "PathRegion",
        "Sequences",
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
