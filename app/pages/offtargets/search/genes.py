"""Genes of the page: the annotation file, the genes of hits, and guides designed for a gene."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import param

from genoviz.analyses.offtargets.annotation import (
    HitAnnotations,
    SiteClass,
    annotate_hits,
    find_gene_parts,
)
from genoviz.analyses.offtargets.candidates import find_guides
from genoviz.analyses.offtargets.design import GuideDesign, design_guides
from genoviz.analyses.offtargets.path_hits import (
    PathPlanes,
    annotate_sites,
)
from genoviz.analyses.offtargets.targets import (
    Target,
    find_gene_target,
    find_region_target,
    reference_of,
)
from genoviz.errors import GenovizError, ParameterError
from genoviz.io.intervals.annotations import read_annotations
from genoviz.model import Annotations
from genoviz.model.columns import column_on_disk, iter_row_slices
from genoviz.model.graph.path_region import split_region
from genoviz.model.intervals.annotations import join_annotations
from genoviz.model.offtargets.hits import OffTargetHits
from genoviz_app.opening.companions import AnnotationFile
from genoviz_app.opening.files import (
    FileCache,
    OpeningProgress,
)
from genoviz_app.opening.genome_files import OpenGenome
from genoviz_app.opening.index_files import GRAPH_SOURCE
from genoviz_app.opening.opening_files import OpeningFile
from genoviz_app.pages.offtargets.search.query import Pam
from genoviz_app.pages.offtargets.search.running import SearchResult
from genoviz_app.parts.words import n_words

N_KEPT_FILES = 3
N_BEST, MAX_CANDIDATES = 20, 50_000
DESIGN_LENGTH, DESIGN_MISMATCHES = 20, 3

UNKNOWN = len(SiteClass)

CLASSES = (*(kind.label for kind in SiteClass), "unknown")

"""Classes of hits; the last is for paths of a graph without known genes."""


@dataclass(frozen=True, eq=False)
class HitGenes:
    """The genes of a search's hits.

    Attributes
    ----------
    result, file
        The annotated result, and the annotation file.
    annotation
        The gene of each hit.
    classes
        uint8, shape (n_hits,): index into ``CLASSES`` of each hit.
    """

    result: SearchResult
    file: AnnotationFile
    annotation: HitAnnotations = field(repr=False)
    classes: np.ndarray = field(repr=False)

    @property
    def exon_counts(self) -> np.ndarray:
        """Number of hits of each guide in exons; int64, shape (n_guides,)."""
        guides = self.result.hits.guide_ids[self.classes == SiteClass.EXON]
        return np.bincount(guides, minlength=len(self.result.query.guides))

    def labels(self, rows: np.ndarray) -> list[str]:
        """Return the class names of hits."""
        return np.array(CLASSES, object)[self.classes[rows]].tolist()

    def names(self, rows: np.ndarray) -> list[str]:
        """Return the gene that contains each hit, or the nearest one; "" if unknown."""
        names = np.array(self.annotation.gene_names(rows), object)
        return np.where(self.classes[rows] == UNKNOWN, "", names).tolist()


def find_genes(result: SearchResult, file: AnnotationFile) -> HitGenes:
    """Annotate the hits of a search with genes.

    On a graph, a hit gets the genes at its first position on a path with annotations.
    """
    planes = result.genome.planes
    if not isinstance(planes, PathPlanes):
        found = _annotate(result.hits, file.annotations)
        return HitGenes(result, file, found, found.classes)
    found, is_there = annotate_sites(result.hits, result.sites.found, file.annotations)
    return HitGenes(result, file, found, np.where(is_there, found.classes, UNKNOWN))


def _annotate(hits: OffTargetHits, annotations: Annotations) -> HitAnnotations:
    """Return the genes of hits, found some hits at a time; long columns are on disk."""
    parts = find_gene_parts(annotations)
    first = annotate_hits(hits.take(slice(0)), parts)
    names = ("gene_ids", "distances", "classes", "n_genes")
    columns = {name: column_on_disk(len(hits), getattr(first, name).dtype) for name in names}
    for rows in iter_row_slices(len(hits)):
        found = annotate_hits(hits.take(rows), parts)
        for name, column in columns.items():
            column[rows] = getattr(found, name)
    return replace(first, **columns)


def iter_read_genes(path: Path) -> Iterator[OpeningProgress]:
    """Read annotations; the last progress has the result."""
    yield OpeningProgress(f"Reading {path.name}")
    annotations = read_annotations(path)
    if not len(annotations):
        raise GenovizError(f"{path.name} has no genes; needs rows of BED, GFF3 or GTF")
    yield OpeningProgress("Ready", 1.0, annotations)


GENES = FileCache(iter_read_genes, N_KEPT_FILES)

"""The annotations of all files and all tabs."""


def _iter_open(path: Path, *, source: str = "", title: str) -> Iterator[OpeningProgress | None]:
    for step in GENES.iter_read(path):
        if isinstance(step, Annotations):
            yield OpeningProgress("Ready", 1.0, AnnotationFile(source, title, step))
        else:
            yield step


class GeneFiles(OpeningFile):
    """The annotation files of a tab, for the genes of hits."""

    opened = param.ClassSelector(class_=AnnotationFile, allow_None=True, doc="The file.")
    contents = "genes"
    iter_open = staticmethod(_iter_open)

    def open_uploaded(self, name: str) -> None:
        """Open an earlier upload by name."""
        path = self._session.upload_path(name)
        self.begin(_iter_open(path, title=name), name)

    def use_annotations(self) -> None:
        """Use all annotations of the open graph."""
        files = self._session.annotation_files.files
        if files:
            self.cancel()
            joined = join_annotations([file.annotations for file in files])
            self.opened = AnnotationFile(GRAPH_SOURCE, "annotations of the graph", joined)

    @property
    def at_hand(self) -> Annotations | None:
        """The annotations in use, or else those of the open graph, if any."""
        files = self._session.annotation_files.files if self.opened is None else (self.opened,)
        return join_annotations([file.annotations for file in files]) if files else None

    def close(self) -> None:
        """Stop using annotations."""
        self.cancel()
        self.opened = None


@dataclass(frozen=True, eq=False)
class BestGuides:
    """The best guides of a gene or region, names and bases, with a message on their quality."""

    guides: list[tuple[str, str]]
    words: str


def find_best_guides(
    genome: OpenGenome, text: str, genes: Annotations | None, pam: Pam, reference: str
) -> BestGuides | str:
    """Design guides for a gene, or for ``CONTIG:START-END`` (1-based).

    Returns a message instead if the gene or region does not exist, or has no guides or too many.
    """
    try:
        return _find_best(genome, text, genes, pam, reference)
    except GenovizError as error:
        return str(error)


def _find_best(
    genome: OpenGenome, text: str, genes: Annotations | None, pam: Pam, reference: str
) -> BestGuides:
    planes = genome.planes
    target = _find_target(genome, text, genes, reference)
    found = find_guides(
        target.letters, pam.letters, length=DESIGN_LENGTH, is_pam_first=pam.is_first,
        start=target.start, end=target.end,
    )  # fmt: skip
    if not len(found):
        raise ParameterError(f"{text} has no guide of {DESIGN_LENGTH} nt with the PAM {pam}")
    if len(found) > MAX_CANDIDATES:
        raise ParameterError(
            f"{text} has {n_words(len(found), 'guide')}, needs {MAX_CANDIDATES:,} at most: take "
            "a part"
        )
    is_graph = isinstance(planes, PathPlanes)
    designed = design_guides(
        found, planes.graph if is_graph else planes, contig=target.contig,
        max_mismatches=DESIGN_MISMATCHES,
        reference=reference_of(target, planes, reference or None) if is_graph else None,
    )  # fmt: skip
    # A region would be cut off before the numbers, by which its guides differ.
    stem, of = ("region", text) if target.gene is None else (target.gene.name,) * 2
    best = designed.order[:N_BEST].tolist()
    stem = "".join(stem.split())
    names = [f"{stem}.{rank}" for rank in range(1, len(best) + 1)]
    guides = [(name, found.guides[row]) for name, row in zip(names, best, strict=True)]
    return BestGuides(guides, _best_words(designed, names[0], of))


def _find_target(
    genome: OpenGenome, text: str, genes: Annotations | None, reference: str
) -> Target:
    place = None if text in genome.planes.names else split_region(text)
    if place is not None:
        contig, start, end = place
        first = max(start - 1, 0)
        text = f"{contig}:{first}-{start if end is None else end}"
    target = find_region_target(text, genome.planes, reference or None)
    if target is None and genes is not None:
        target, _ = find_gene_target(text, genome.planes, genes, reference or None)
        if target is None:
            raise ParameterError(f"the genes that are open have no {text!r} on what is searched")
    if target is None:
        raise ParameterError(f"no genes are open to find {text!r} in: open some under Genes")
    return target


def _best_words(designed: GuideDesign, name: str, of: str) -> str:
    """Return a message on the ranking of guides and the quality of the best one."""
    best, n = int(designed.order[0]), len(designed.order)
    counts, worst = designed.counts[best], float(designed.worst_cfd[best])
    by, says = "by ", []
    is_copy = worst >= 1 and designed.of_haplotypes
    if designed.of_haplotypes:
        by = "by haplotypes that have the target, then by "
        n_with = int(designed.n_haplotypes[best])
        says.append(f"target in {n_with:,} of {n_words(designed.of_haplotypes, 'haplotype')}")
    if is_copy:
        says.append("in some of them twice, and both copies are cut")
    elif not np.isnan(worst):
        where = " in any of them" if designed.of_haplotypes else ""
        says.append(f"highest CFD of an off-target{where} {worst:.3g}")
    n_sites = n_words(int(counts.sum()), "other site")
    says.append(f"{n_sites} with up to {len(counts) - 1} mismatches")
    return (
        f"the best {min(n, N_BEST)} of {n_words(n, 'guide')} of {of}, {by}the worst off-target. "
        f"{name}: {', '.join(says)}"
    )
