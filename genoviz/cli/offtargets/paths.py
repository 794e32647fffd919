"""Guides searched on all paths of a graph, and the columns of what they find there."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from genoviz.cli.common_options import option
from genoviz.cli.graph.construct import read_haplotypes
from genoviz.cli.graph.reading import read_graph
from genoviz.cli.offtargets.query import Answer, Query
from genoviz.cli.results import ProgressBar
from genoviz.cli.sequences.kmer_index import is_graph
from genoviz.errors import FileFormatError

if TYPE_CHECKING:
    import numpy as np

    from genoviz.analyses.graph.phase_sets import PossiblePaths
    from genoviz.analyses.offtargets.annotation import HitAnnotations
    from genoviz.analyses.offtargets.path_hits import PathPlanes
    from genoviz.analyses.offtargets.request import SearchOptions
    from genoviz.model import Annotations
    from genoviz.model.offtargets.hits import OffTargetHits


VcfOption = Annotated[
    Path | None,
    option(
        "Phased genotypes of --genome (VCF, BCF): all haplotypes are searched at once.", "--vcf"
    ),
]

PopulationsOption = Annotated[
    Path | None,
    option(
        "Table of samples (first column) and populations (last): tables get each one's share.",
        "--populations",
    ),
]


def open_paths(path: Path, bar: ProgressBar, *, cache: bool) -> PathPlanes:
    """Return the paths of a graph; notes go to standard error."""
    from genoviz.analyses.offtargets.path_hits import PathPlanes

    return PathPlanes.of(read_graph(path, bar, cache=cache, sequences=True))


def check_vcf(genome: Path, vcf: Path | None, samples: str | None) -> None:
    """Refuse --samples without --vcf, and --vcf where no file of sequences is searched."""
    if vcf is None and samples is not None:
        raise typer.BadParameter("--samples are those of --vcf, which is not given")
    if vcf is not None and (genome.is_dir() or is_graph(genome)):
        raise typer.BadParameter("--vcf needs a --genome that is one FASTA or 2bit file")


def open_haplotypes(
    query: Query, vcf: Path, bar: ProgressBar, samples: str | None, reference: str | None
) -> tuple[PathPlanes, PossiblePaths | None, str]:
    """Return a genome and the haplotypes of a VCF file as paths, and what they are compared to.

    Between these is which paths are combinations of phase sets; None where there are none.
    """
    from genoviz.analyses.graph.construct import REFERENCE
    from genoviz.analyses.offtargets.path_hits import PathPlanes

    window = max(len(search.pattern) for search in query.searches) + query.dna_bulge
    graph, possible = read_haplotypes(query.genome, vcf, bar, samples=samples, window=window)
    return PathPlanes.of(graph), possible, reference or REFERENCE


def read_populations(path: Path) -> dict[str, str]:
    """Return the population of each sample of a table with tabs, commas or blanks."""
    found: dict[str, str] = {}
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise FileFormatError(path, "cannot be read, needs a table of text") from error
    for number, line in enumerate(lines, start=1):
        cells = re.split(r"\t|,| +", line.strip())
        if not line.strip() or line.startswith("##") or (number == 1 and _is_header(cells)):
            continue
        if len(cells) < 2:
            needed = f"{cells[0]!r} has no population, needs a sample and its population"
            raise FileFormatError(path, needed, line=number)
        found[cells[0]] = cells[-1]
    return found


def _is_header(cells: list[str]) -> bool:
    return cells[0].startswith("#") or cells[0].lower() in ("sample", "iid", "sample_id")


def search_paths(
    query: Query,
    planes: PathPlanes,
    bar: ProgressBar,
    options: SearchOptions,
    reference: str | None,
    possible: PossiblePaths | None = None,
) -> list[Answer]:
    """Return what each search of a query finds on the paths of a graph.

    Parameters
    ----------
    query, planes, bar, options
        As of `run_searches`.
    reference
        The sample or path that sites are compared with; None for the usual one, if there is one.
    possible
        Which paths are combinations of phase sets, if any are.
    """
    from genoviz.analyses.offtargets.carriers import find_possible_sites
    from genoviz.analyses.offtargets.pangenome import iter_hits_on_graph
    from genoviz.analyses.offtargets.path_hits import PlacedHits
    from genoviz.analyses.offtargets.reference import compare_with_reference, find_reference_paths

    chosen, answers = reference or planes.usual_reference, []
    if chosen:
        find_reference_paths(planes.graph, chosen)
    for search in query.searches:
        options = replace(options, max_mismatches=search.max_mismatches)
        asked = planes.graph, search.guides, search.pattern, options
        for progress in iter_hits_on_graph(*asked):
            bar.update(f"Paths: {progress.stage}", progress.fraction, 1.0, "")
        found, known = progress.result, None
        if possible is not None:
            found, known = find_possible_sites(found, possible)
        compared = compare_with_reference(found, chosen) if chosen else None
        hits = PlacedHits.of(found, planes)
        counts = hits.count_by_mismatches()
        about = {"sites": found, "reference": compared, "possible": known}
        answers.append(Answer(search, counts, hits, **about))
    return answers


def find_genes(
    answer: Answer, hits: OffTargetHits, annotations: Annotations, *, by_place: bool
) -> tuple[HitAnnotations, np.ndarray]:
    """Return the genes of sites, and where genes are known at all; bool, shape (n,).

    ``by_place`` is whether hits are the sites at each of their places, not at their first.
    """
    from genoviz.analyses.offtargets.annotation import annotate_hits
    from genoviz.analyses.offtargets.path_hits import annotate_sites, annotations_on_paths

    if not by_place:
        return annotate_sites(hits, answer.sites, annotations)
    on_paths, has_genes = annotations_on_paths(hits.planes, annotations)
    return annotate_hits(hits, on_paths), has_genes[hits.contig_ids]


def gene_columns(found: HitAnnotations, is_known: np.ndarray) -> dict[str, np.ndarray]:
    """Return the gene of each hit, how far it is, and what the hit lies in."""
    import numpy as np

    return {
        "gene": np.where(is_known, np.array(found.gene_names(), np.str_), ""),
        "gene_distance": np.where(is_known, found.distances, -1),
        "class": np.where(is_known, np.array(found.class_labels(), np.str_), "unknown"),
    }


def site_columns(
    answer: Answer, populations: dict[str, str] | None, *, of_people: bool
) -> dict[str, np.ndarray]:
    """Return the haplotypes of the sites on a graph, and what the reference has there.

    Parameters
    ----------
    answer
        What a search found.
    populations
        The population of each sample, whose shares are given; or None.
    of_people
        Whether shares are those of the samples' haplotypes, without the genome's own.
    """
    import numpy as np

    from genoviz.analyses.graph.construct import REFERENCE
    from genoviz.analyses.offtargets.carriers import group_shares, haplotype_names
    from genoviz.analyses.offtargets.path_hits import reference_columns, reference_letters

    sites, reference, possible = answer.sites, answer.reference, answer.possible
    parsed = sites.graph.parsed_path_names if of_people else ()
    without = [path for path, name in enumerate(parsed) if name.sample == REFERENCE]
    doubts = {}
    if possible is not None:
        doubts = {"without": [*without, *possible.paths], "doubtful": possible.doubtful}
    options = {"without": without} | doubts
    counts, n_haplotypes, names = haplotype_names(sites, **options)
    columns = {
        "n_haplotypes": counts,
        "of_haplotypes": np.full(len(counts), n_haplotypes, np.int64),
        "frequency": counts / max(n_haplotypes, 1),
        "haplotypes": names,
        "places": sites.n_places,
    }
    if of_people:
        none = np.zeros(len(counts), np.int64), np.full(len(counts), "")
        n_possible, samples = none if possible is None else (possible.counts, possible.samples)
        columns |= {"n_possible": n_possible, "possible": samples}
    if populations is not None:
        columns |= group_shares(sites, populations, **doubts)
    if reference is not None:
        columns |= reference_columns(reference, np.arange(len(counts)))
        columns["reference_site"] = reference_letters(sites, reference)
    return columns
