"""Guides searched on all paths of a graph, and the columns of tables of sites."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from genoviz.cli.common_options import option
from genoviz.cli.graph.construct import read_haplotypes
from genoviz.cli.graph.reading import is_graph, read_graph
from genoviz.cli.offtargets.query import Answer, Query, Search
from genoviz.cli.output_kinds import BED
from genoviz.cli.results import ProgressBar, print_notes
from genoviz.errors import FileFormatError

if TYPE_CHECKING:
    import numpy as np

    from genoviz.analyses.graph.phase_sets import PossiblePaths
    from genoviz.analyses.offtargets.annotation import HitAnnotations
    from genoviz.analyses.offtargets.pangenome import SpooledSites
    from genoviz.analyses.offtargets.path_hits import PathPlanes
    from genoviz.analyses.offtargets.request import SearchOptions
    from genoviz.cli.offtargets.results import Extras
    from genoviz.io.offtargets.hit_table import HitTable
    from genoviz.model import Annotations
    from genoviz.model.offtargets.hits import OffTargetHits

TABLES = ("csv", "tsv", "parquet")
ENDINGS = {"bed": BED, "csv": (".csv",), "tsv": (".tsv",), "parquet": (".parquet",)}

VcfOption = Annotated[
    Path | None,
    option("Phased genotypes of --genome (VCF, BCF), to search all haplotypes.", "--vcf"),
]

PopulationsOption = Annotated[
    Path | None,
    option(
        "Table of samples (first column) and populations (last), to add the frequency "
        "in each population to tables.",
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
    """Return the population of each sample of a table with tabs, commas, semicolons or blanks."""
    from genoviz.io.text.encoding import read_utf8
    from genoviz.io.text.tables import find_separator, split_fields

    found: dict[str, str] = {}
    for number, line in enumerate(read_utf8(path).splitlines(), start=1):
        line = line.strip()
        cells = split_fields(line, find_separator(line))
        if not line or line.startswith("##") or (number == 1 and _is_header(cells)):
            continue
        if len(cells) < 2:
            needed = f"{cells[0]!r} has no population, needs a sample and its population"
            raise FileFormatError(path, needed, line=number)
        sample, population = cells[0], cells[-1]
        if found.setdefault(sample, population) != population:
            told = f"sample {sample!r} is of {population!r} here and of {found[sample]!r} above"
            raise FileFormatError(path, f"{told}, needs one population", line=number)
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
) -> list[PathAnswer]:
    """Return what each search of a query finds on the paths of a graph; hits are spooled.

    Parameters
    ----------
    query, planes, bar, options
        As of `run_searches`.
    reference
        The sample or path that sites are compared with; None for the usual one, if there is one.
    possible
        Which paths are combinations of phase sets, if any are.
    """
    from genoviz.analyses.offtargets.pangenome import iter_spooled_on_graph
    from genoviz.analyses.offtargets.pieces import RUN_HITS
    from genoviz.analyses.offtargets.reference import find_reference_paths

    chosen, answers = reference or planes.usual_reference, []
    if chosen:
        find_reference_paths(planes.graph, chosen)
    maximum = RUN_HITS // len(query.searches)
    for search in query.searches:
        options = replace(options, max_mismatches=search.max_mismatches)
        asked = planes.graph, search.guides, search.pattern, options
        for progress in iter_spooled_on_graph(*asked, max_in_memory=maximum):
            bar.update(f"Paths: {progress.stage}", progress.fraction, 1.0, "")
        answers.append(PathAnswer(search, progress, planes, chosen, possible))
    return answers


class PathAnswer:
    """What a search found on the paths of a graph, of some guides after the other.

    Attributes
    ----------
    search
        What was searched for.
    counts
        int64, shape (n_guides, n): sites of each guide by mismatches, once all parts were given.
    rows
        What is to be said of each guide, as of ``about``.
    """

    def __init__(
        self,
        search: Search,
        found: SpooledSites,
        planes: PathPlanes,
        reference: str,
        possible: PossiblePaths | None,
    ) -> None:
        import numpy as np

        self.search, self._found, self._planes = search, found, planes
        self._reference, self._possible = reference, possible
        self.counts = np.zeros((len(search.guides), 1), np.int64)
        self.rows: list[dict] = []

    def iter_parts(self, about: Callable[[Answer], list[dict]] | None = None) -> Iterator[Answer]:
        """Yield the answers for some guides after the other, once only."""
        import numpy as np

        from genoviz.analyses.offtargets.carriers import find_possible_sites
        from genoviz.analyses.offtargets.path_hits import PlacedHits
        from genoviz.analyses.offtargets.reference import (
            ReferenceVisits,
            compare_with_reference,
            find_reference_paths,
        )

        chosen, visits = self._reference, None
        if chosen:
            graph = self._planes.graph
            visits = ReferenceVisits.of(graph, find_reference_paths(graph, chosen))
        for first, found in self._found.iter_guides():
            known = compared = None
            if self._possible is not None:
                found, known = find_possible_sites(found, self._possible)
            if chosen:
                compared = compare_with_reference(found, chosen, visits=visits)
            hits = PlacedHits.of(found, self._planes)
            counts, stop = hits.count_by_mismatches(), first + len(hits.guides)
            n_new = counts.shape[1] - self.counts.shape[1]
            self.counts = np.pad(self.counts, ((0, 0), (0, max(n_new, 0))))
            self.counts[first:stop, : counts.shape[1]] = counts
            part = Answer(_take(self.search, slice(first, stop)), counts, hits, None, found)
            part = replace(part, reference=compared, possible=known)
            self.rows += about(part) if about is not None else []
            yield part


def _take(search: Search, guides: slice) -> Search:
    ids = None if search.ids is None else search.ids[guides]
    limits = search.max_mismatches[guides]
    return replace(search, guides=search.guides[guides], max_mismatches=limits, ids=ids)


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
    options = {"without": without, "by_contig": of_people} | doubts
    counts, n_haplotypes, names = haplotype_names(sites, **options)
    columns = {
        "n_haplotypes": counts,
        "of_haplotypes": n_haplotypes,
        "frequency": counts / np.maximum(n_haplotypes, 1),
        "haplotypes": names,
        "places": sites.n_places,
    }
    if of_people:
        none = np.zeros(len(counts), np.int64), np.full(len(counts), "")
        n_possible, samples = none if possible is None else (possible.counts, possible.samples)
        columns |= {"n_possible": n_possible, "possible": samples}
    if populations is not None:
        columns |= group_shares(sites, populations, by_contig=of_people, **doubts)
    if reference is not None:
        columns |= reference_columns(reference, np.arange(len(counts)))
        columns["reference_site"] = reference_letters(sites, reference)
    return columns


def iter_tables_of_sites(
    answer: Answer,
    form: str,
    extras: Extras,
    annotations: Annotations | None,
    *,
    is_first: bool,
) -> Iterator[HitTable]:
    """Yield the sites on a graph, at each place, or once with their haplotypes."""
    from genoviz.analyses.offtargets.pangenome import PLACES_IN_MEMORY
    from genoviz.analyses.offtargets.path_hits import PlacedHits
    from genoviz.io.offtargets.hit_table import HitTable

    by_place, parts = extras.every_place or form not in TABLES, iter([answer.hits])
    if by_place:
        parts = PlacedHits.iter_everywhere(answer.sites, answer.hits.planes, PLACES_IN_MEMORY)
    for hits in parts:
        columns = score_columns(hits, form, extras.scores)
        if annotations is not None:
            found, is_known = find_genes(answer, hits, annotations, by_place=by_place)
            print_notes(*found.notes if is_first else ())
            columns |= gene_columns(found, is_known)
        if not by_place:
            columns |= site_columns(answer, extras.populations, of_people=extras.of_people)
        yield HitTable(hits, answer.search.ids, columns)
        is_first = False


def score_columns(hits: OffTargetHits, form: str, scores: bool) -> dict[str, np.ndarray]:
    """Return what a format has of each hit by itself, with its scores if these are wanted."""
    from genoviz.analyses.offtargets.cuts import cut_sites
    from genoviz.analyses.offtargets.differences import count_seed_mismatches
    from genoviz.analyses.offtargets.scores import cctop_scores, cfd_scores, mit_scores

    columns: dict[str, np.ndarray] = {}
    if form in TABLES:
        columns["cut_site"] = cut_sites(hits)
    if scores and form in ENDINGS:
        columns["cfd"] = cfd_scores(hits)
    if scores and form in TABLES:
        columns |= {"mit": mit_scores(hits), "cctop": cctop_scores(hits)}
    if form in TABLES and {*hits.pattern} != {"N"}:
        columns["seed_mismatches"] = count_seed_mismatches(hits).astype("int64")
    return columns
