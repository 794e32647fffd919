"""Genomics kernels for CPU and GPU.

The public names below are imported when they are first used, so ``import genoviz`` is immediate.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from genoviz.backend import prepare_threading_layer

__version__ = "0.2.0"

_MODULES = {
    "genoviz.analyses.graph.query.annotate": ("PlacedAnnotations", "place_annotations"),
    "genoviz.analyses.graph.construct": ("construct_graph", "iter_construct_graph"),
    "genoviz.analyses.graph.query.chromosomes": ("Chromosomes", "find_chromosomes"),
    "genoviz.collection.index_files": ("IndexFile", "iter_build_index_files"),
    "genoviz.collection.layouts": ("iter_layout_collection", "layout_collection"),
    "genoviz.collection.members": ("GraphCollection", "GraphMember", "read_collection"),
    "genoviz.collection.reading": ("read_member",),
    "genoviz.collection.records": ("LayoutPlan", "MemberLayout"),
    "genoviz.analyses.graph.picture.colouring": ("ColourChoice", "Colouring", "make_colouring"),
    "genoviz.analyses.intervals.coverage_index": ("CoverageBins", "CoverageIndex", "DepthSteps"),
    "genoviz.analyses.intervals.depth_steps": ("depth_steps",),
    "genoviz.analyses.graph.picture.detail": ("Detail", "find_detail"),
    "genoviz.analyses.graph.picture.drawing": ("LayoutDrawing", "Viewport"),
    "genoviz.analyses.graph.query.extract": ("extract_nodes", "extract_region"),
    "genoviz.analyses.figures": ("FigureOptions", "figure_bytes", "make_figure"),
    "genoviz.analyses.graph.query.find": ("Finding", "find"),
    "genoviz.analyses.sequences.copy_spectrum": (
        "CopySpectrum", "absent_stretches", "copy_spectrum", "iter_copy_spectrum",
    ),
    "genoviz.analyses.sequences.kmer_sets": (
        "GcSpectrum", "KmerSets", "blocks_of", "compare_kmers", "gc_spectrum", "iter_compare_kmers",
        "iter_gc_spectrum",
    ),
    "genoviz.analyses.sequences.kmer_parts": ("KmerPart", "iter_kmer_parts"),
    "genoviz.analyses.sequences.fm_index": (
        "BuildProgress", "build_fm_index", "invert_bwt", "iter_build_fm_index",
    ),
    "genoviz.analyses.sequences.index_blocks": ("build_index_in_parts",),
    "genoviz.analyses.graph.picture.fold": ("Fold",),
    "genoviz.analyses.genotypes.association.firth": ("FirthFit", "firth_logistic"),
    "genoviz.analyses.genotypes.association.fine_mapping": (
        "FineMapping", "fine_map", "fine_map_summary", "iter_fine_map",
    ),
    "genoviz.analyses.genotypes.association.single_effects": ("CredibleSet", "FineMappingOptions"),
    "genoviz.analyses.genotypes.association.meta_analysis": ("MetaAnalysis", "meta_analyse"),
    "genoviz.analyses.genotypes.association.scan": (
        "AssociationScan", "associate", "iter_associate",
    ),
    "genoviz.analyses.genotypes.association.set_tests": (
        "SetTests", "associate_sets", "iter_associate_sets",
    ),
    "genoviz.analyses.genotypes.association.set_statistics": ("SetStatistics", "set_statistics"),
    "genoviz.analyses.genotypes.association.mixed_sets": (
        "iter_mixed_associate_sets", "mixed_associate_sets",
    ),
    "genoviz.analyses.genotypes.association.mixed": (
        "MixedScan", "iter_mixed_associate", "mixed_associate",
    ),
    "genoviz.analyses.genotypes.association.mixed_logistic": (
        "MixedLogisticScan", "iter_mixed_logistic_associate", "mixed_logistic_associate",
    ),
    "genoviz.analyses.genotypes.association.logistic_null": ("LogisticNull",),
    "genoviz.analyses.genotypes.components": (
        "PrincipalComponents", "iter_principal_components", "principal_components",
    ),
    "genoviz.analyses.genotypes.filters": (
        "FilterOptions", "FilteredGenotypes", "filter_genotypes",
    ),
    "genoviz.analyses.genotypes.hardy_weinberg": ("hardy_weinberg_p",),
    "genoviz.analyses.genotypes.clumping": ("Clumps", "clump", "iter_clump"),
    "genoviz.analyses.genotypes.haplotypes": ("haplotype_r2",),
    "genoviz.analyses.genotypes.kinship": (
        "KinshipPairs", "iter_king_kinship", "king_kinship", "unrelated_samples",
    ),
    "genoviz.analyses.genotypes.linkage": (
        "LinkedPairs", "iter_linkage_windows", "iter_linked_pairs", "iter_prune_by_linkage",
        "linkage", "linked_pairs", "prune_by_linkage",
    ),
    "genoviz.analyses.genotypes.scores": ("SampleScores", "iter_score", "score"),
    "genoviz.analyses.genotypes.relationships": (
        "RelationshipMatrix", "iter_relationship_matrix", "relationship_matrix",
    ),
    "genoviz.analyses.genotypes.variances.correlation_results": ("CorrelationSnapshot",),
    "genoviz.analyses.genotypes.variances.correlations": (
        "correlate", "correlate_of_relationships",
        "iter_correlate", "iter_correlate_of_relationships",
    ),
    "genoviz.analyses.genotypes.variances.estimate": (
        "iter_reml", "iter_reml_of_relationships", "reml", "reml_of_relationships",
    ),
    "genoviz.analyses.genotypes.variances.variance_results": ("VarianceSnapshot",),
    "genoviz.io.genotypes.relationship_files": ("read_relationships",),
    "genoviz.analyses.genotypes.relatives": ("RelatedPairs", "relatives"),
    "genoviz.analyses.simulation.genotypes": (
        "drop_genotypes", "iter_simulate_genotypes", "simulate_genotypes", "simulate_pedigree",
    ),
    "genoviz.analyses.simulation.traits": ("SimulatedTrait", "simulate_trait"),
    "genoviz.analyses.genotypes.sample_statistics": ("SampleStatistics", "sample_statistics"),
    "genoviz.analyses.genotypes.statistics": ("VariantStatistics", "variant_statistics"),
    "genoviz.analyses.genotypes.selection": (
        "condition_columns", "genotypes_in_region", "pack_dosages", "select_samples", "sets_of_ids",
        "sets_of_regions",
    ),
    "genoviz.analyses.genotypes.prediction.blup_run": ("BlupSnapshot",),
    "genoviz.analyses.genotypes.prediction.gblup": ("gblup", "iter_gblup"),
    "genoviz.analyses.genotypes.prediction.snp_blup": ("iter_snp_blup", "snp_blup"),
    "genoviz.analyses.genotypes.prediction.pedigree_inverse": (
        "inbreeding", "relationship_inverse",
    ),
    "genoviz.analyses.genotypes.prediction.metafounders": (
        "base_share", "estimate_gamma", "heritability_in_gamma",
    ),
    "genoviz.analyses.genotypes.prediction.mixed_model": (
        "iter_solve_mixed_model", "solve_mixed_model",
    ),
    "genoviz.analyses.genotypes.prediction.mixed_solution": ("MixedSolution",),
    "genoviz.analyses.genotypes.prediction.multi_trait": (
        "MultiTraitSnapshot", "iter_multi_trait", "multi_trait",
    ),
    "genoviz.analyses.genotypes.parentage": ("iter_parentage_conflicts", "parentage_conflicts"),
    "genoviz.analyses.genotypes.prediction.preparation": (
        "iter_prepare_mixed_model", "iter_prepare_single_step", "prepare_single_step",
    ),
    "genoviz.analyses.genotypes.prediction.quality": ("control_quality", "iter_control_quality"),
    "genoviz.analyses.genotypes.prediction.reliability": (
        "ReliabilitySnapshot", "iter_reliability", "reliability",
    ),
    "genoviz.analyses.genotypes.prediction.single_step": ("iter_single_step", "single_step"),
    "genoviz.analyses.genotypes.prediction.cross_validation": (
        "CrossValidation", "cross_validate", "iter_cross_validate",
    ),
    "genoviz.analyses.sequences.index_text": ("make_index_text",),
    "genoviz.analyses.intervals.coverage": ("IntervalCoverage", "coverage_fraction"),
    "genoviz.analyses.intervals.pairs": (
        "NearestIntervals", "OverlapPairs", "iter_overlap_pairs", "nearest_intervals",
    ),
    "genoviz.analyses.intervals.count": ("count_overlaps", "total_overlaps"),
    "genoviz.analyses.sequences.kmer_list": ("KmerList",),
    "genoviz.analyses.sequences.kmer_repeats": (
        "KmerRepeats", "iter_kmer_repeats", "make_kmer_repeats",
    ),
    "genoviz.analyses.sequences.kmer_spectrum": (
        "DistinctKmers", "KmerSpectrum", "iter_read_spectrum", "read_spectrum",
    ),
    "genoviz.analyses.sequences.shared_counts": ("iter_shared_counts", "shared_counts"),
    "genoviz.analyses.sequences.shared_spectrum": ("iter_shared_spectrum", "shared_spectrum"),
    "genoviz.analyses.sequences.kmer_hits": (
        "HitContexts", "KmerHits", "hit_contexts", "locate_kmer", "locate_kmers",
    ),
    "genoviz.analyses.sequences.kmer_queries": ("count_kmers", "iter_count_kmers", "kmer_rows"),
    "genoviz.analyses.sequences.kmer_trace": ("BwtWindow", "KmerTrace", "bwt_window", "trace_kmer"),
    "genoviz.analyses.sequences.kmers": ("Kmer", "PackedKmers", "parse_kmers"),
    "genoviz.analyses.graph.layout.path_sgd": ("iter_path_sgd_layout", "path_sgd_layout"),
    "genoviz.analyses.graph.layout.levels": ("MultilevelDesign",),
    "genoviz.analyses.graph.layout.multilevel": (
        "MultilevelOptions", "iter_multilevel_layout", "multilevel_layout",
    ),
    "genoviz.analyses.graph.layout.guides": ("GuidedGraph", "guide_graph"),
    "genoviz.analyses.figures.paths": ("make_path_figure",),
    "genoviz.analyses.graph.picture.rasterize": ("rasterize",),
    "genoviz.analyses.graph.query.path_rows": ("PathRows", "find_path_rows"),
    "genoviz.analyses.graph.query.sharing": (
        "NodePresence",
        "PangenomeGrowth",
        "PathSimilarity",
        "find_presence",
        "pangenome_growth",
        "path_similarity",
    ),
    "genoviz.analyses.graph.layout.defects": ("LayoutDefects", "count_defects"),
    "genoviz.analyses.graph.layout.near_stress": (
        "DistanceStress", "NearStress", "near_stress", "stress_by_distance",
    ),
    "genoviz.analyses.graph.layout.options": ("LayoutOptions",),
    "genoviz.analyses.graph.layout.run": ("LayoutSnapshot",),
    "genoviz.analyses.sequences.multiplicity_track": ("MultiplicityBins", "MultiplicityTrack"),
    "genoviz.analyses.genotypes.products": ("GenotypeMatrix", "allele_counts"),
    "genoviz.analyses.sequences.pangenome_index": (
        "build_pangenome_index", "iter_build_pangenome_index",
    ),
    "genoviz.analyses.sequences.genome_model": ("GenomeModel", "fit_genome_model"),
    "genoviz.analyses.sequences.path_sequences": ("count_sequences", "locate_sequence"),
    "genoviz.analyses.sequences.path_repeats": ("PathRepeats", "PathTrack", "make_path_repeats"),
    "genoviz.analyses.offtargets.pangenome": (
        "PathOffTargetsProgress", "find_offtargets_on_graph", "iter_find_offtargets_on_graph",
    ),
    "genoviz.analyses.offtargets.carriers": ("find_possible_sites",),
    "genoviz.analyses.offtargets.paths": ("PathOffTargets",),
    "genoviz.analyses.offtargets.path_places": ("PathPlaces",),
    "genoviz.analyses.sequences.pangenome_queries": (
        "PathHits", "count_per_path", "locate_on_paths",
    ),
    "genoviz.analyses.offtargets.genome_planes": ("make_genome_planes",),
    "genoviz.analyses.offtargets.counts": (
        "count_offtargets", "find_closest_offtargets", "iter_count_offtargets",
    ),
    "genoviz.analyses.offtargets.hits": ("OffTargetHits",),
    "genoviz.analyses.offtargets.annotation": ("HitAnnotations", "annotate_hits"),
    "genoviz.analyses.offtargets.cuts": ("cut_sites",),
    "genoviz.analyses.offtargets.haplotype_risks": ("HaplotypeRisks", "haplotype_risks"),
    "genoviz.analyses.offtargets.reference": ("ReferenceSites", "compare_with_reference"),
    "genoviz.analyses.offtargets.candidates": ("GuideCandidates", "find_guides"),
    "genoviz.analyses.offtargets.design": ("GuideDesign", "design_guides"),
    "genoviz.analyses.offtargets.guide_properties": (
        "cloning_oligos", "microhomology_scores", "rule_set_1_scores",
    ),
    "genoviz.analyses.offtargets.scores": ("cctop_scores", "cfd_scores", "mit_scores"),
    "genoviz.analyses.offtargets.summaries": ("GuideSummaries", "summarise_guides"),
    "genoviz.analyses.offtargets.finding": (
        "find_offtargets",
        "guide_with_pam",
        "guides_without_pam",
        "iter_find_offtargets",
        "stream_offtargets",
    ),
    "genoviz.analyses.graph.query.path_depth": (
        "IntervalDepths",
        "PlacedIntervals",
        "depths_of_intervals",
        "path_depth_along",
        "place_intervals",
    ),
    "genoviz.analyses.graph.query.path_positions": (
        "NodePosition",
        "NodeVisits",
        "PathSlice",
        "find_node_visits",
        "find_region_steps",
        "locate_position",
    ),
    "genoviz.analyses.graph.query.position_lift": (
        "LiftedPosition", "lift_position", "lift_positions",
    ),
    "genoviz.analyses.graph.query.regions": ("resolve_region",),
    "genoviz.analyses.graph.picture.drawn_nodes": ("MarkLayer",),
    "genoviz.analyses.graph.query.sequences": (
        "iter_node_records", "iter_region_records", "path_sequences", "region_sequence",
    ),
    "genoviz.analyses.intervals.signal_index": ("SignalBins", "SignalIndex"),
    "genoviz.analyses.simulation.genomes": ("iter_chromosome_sizes",),
    "genoviz.analyses.simulation.graphs": ("simulate_pangenome",),
    "genoviz.analyses.graph.sites.alleles": ("SiteAlleles", "site_alleles"),
    "genoviz.analyses.graph.sites.kinds": ("SiteKind",),
    "genoviz.analyses.graph.sites.search": ("find_sites", "iter_find_sites"),
    "genoviz.analyses.graph.query.statistics": ("graph_statistics", "iter_graph_statistics"),
    "genoviz.analyses.graph.query.statistics_results": ("GraphStatistics",),
    "genoviz.analyses.graph.sites.results": ("SitesProgress", "VariationSites"),
    "genoviz.analyses.graph.layout.stress": (
        "iter_path_stress",
        "iter_sampled_path_stress",
        "link_stress",
        "path_stress",
        "sampled_path_stress",
    ),
    "genoviz.analyses.graph.layout.stress_results": ("PathStress", "StressProgress"),
    "genoviz.errors": (
        "BackendError", "DownloadError", "FileFormatError", "GenovizError", "ParameterError",
    ),
    "genoviz.io.intervals.annotations": ("read_annotations",),
    "genoviz.io.intervals.big_files": ("BigWig",),
    "genoviz.io.intervals.bigwig_writer": ("write_bigwig",),
    "genoviz.io.graph.node_list": ("write_node_list",),
    "genoviz.io.sequences.fasta": ("write_fasta",),
    "genoviz.io.sequences.fastq": ("iter_fastq_blocks",),
    "genoviz.io.sequences.pangenome_index": (
        "iter_read_pangenome_index", "iter_write_pangenome_index", "read_pangenome_index",
        "write_pangenome_index",
    ),
    "genoviz.io.sequences.fm_index": (
        "IndexFileProgress", "iter_read_fm_index", "iter_verify_fm_index", "iter_write_fm_index",
        "iter_write_index_in_parts", "read_fm_index", "verify_fm_index", "write_fm_index",
        "write_index_in_parts",
    ),
    "genoviz.io.offtargets.genome_planes": (
        "PlanesProgress", "iter_read_genome_planes", "read_genome_planes",
    ),
    "genoviz.io.offtargets.genome_sequences": ("iter_read_genome", "read_genome"),
    "genoviz.io.genotypes.reader": ("GenotypesProgress", "iter_read_genotypes", "read_genotypes"),
    "genoviz.io.genotypes.phased_vcf": ("iter_read_phased_variants", "read_phased_variants"),
    "genoviz.io.graph.gbz": ("iter_read_gbz", "read_gbz"),
    "genoviz.io.graph.gbz_base": ("iter_read_gbz_base", "read_gbz_base"),
    "genoviz.io.graph.gbz_writer": ("write_gbz",),
    "genoviz.io.graph.gfa": ("GfaProgress", "iter_read_gfa", "read_gfa"),
    "genoviz.io.graph.gfa_writer": ("write_gfa",),
    "genoviz.io.graph.reader": ("iter_read_graph", "read_graph"),
    "genoviz.io.offtargets.guide_files": ("GuideList", "read_guides"),
    "genoviz.io.offtargets.hit_table": ("HitTable",),
    "genoviz.io.intervals.writer": ("write_bed", "write_bedgraph"),
    "genoviz.io.intervals.intervals": (
        "IntervalProgress",
        "intervals_from_table",
        "iter_read_intervals",
        "map_contigs",
        "read_intervals",
    ),
    "genoviz.io.graph.node_table": ("read_node_table",),
    "genoviz.io.offtargets.cas_offinder_input": ("OffTargetInput", "read_offtarget_input"),
    "genoviz.io.offtargets.output": ("write_offtargets",),
    "genoviz.io.graph.layout_files": ("read_layout", "write_layout"),
    "genoviz.io.genotypes.blupf90": ("Blupf90Run", "read_blupf90"),
    "genoviz.io.genotypes.mixblup": ("MixblupRun", "read_mixblup"),
    "genoviz.io.genotypes.pedigree": ("read_gamma", "read_pedigree"),
    "genoviz.io.genotypes.phenotypes": ("read_phenotypes",),
    "genoviz.io.genotypes.variant_tables": ("read_variant_sets",),
    "genoviz.io.genotypes.arrays": ("write_dosages",),
    "genoviz.io.genotypes.association_tables": ("read_associations",),
    "genoviz.io.genotypes.writers": ("write_plink", "write_vcf"),
    "genoviz.io.sequences.reader": ("SequencesProgress", "iter_read_sequences", "read_sequences"),
    "genoviz.model.sequences.fm_index": ("FMIndex", "IndexInParts", "IndexPart"),
    "genoviz.model.sequences.pangenome_index": ("PangenomeIndex",),
    "genoviz.model.genotypes.genotypes": ("Genotypes", "SampleTable", "VariantTable"),
    "genoviz.model.genotypes.genomic_rules": ("GenomicRules", "QualityRules"),
    "genoviz.model.genotypes.mixed_model": (
        "Descent", "MarkerEffects", "MatrixElements", "MixedModel", "ModelEffect",
        "PedigreeRelationships", "RandomEffects", "SingleStep",
    ),
    "genoviz.model.genotypes.pedigree": ("Pedigree",),
    "genoviz.model.genotypes.phenotypes": ("PhenotypeTable",),
    "genoviz.model.genotypes.traits": ("Trait", "read_trait"),
    "genoviz.model": (
        "Annotations", "ByteStrings", "GraphLayout", "Incidence", "IndexText", "Intervals",
        "PangenomeGraph", "PathName", "PathRegion", "Sequences",
    ),
    "genoviz.samples": ("get_sample", "list_samples"),
}  # fmt: skip
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
