"""Genes at the hits of off-targets: the file that they are of, and what it says of each hit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import param

from genoviz.analyses.offtargets.annotation import HitAnnotations, SiteClass, annotate_hits
from genoviz.analyses.offtargets.path_hits import (
    PathPlanes,
    annotate_sites,
)
from genoviz.errors import GenovizError
from genoviz.io.intervals.annotations import read_annotations
from genoviz.model import Annotations
from genoviz.model.intervals.annotations import join_annotations
from genoviz_app.opening.companions import AnnotationFile
from genoviz_app.opening.files import (
    FileCache,
    OpeningProgress,
    iter_after_writing,
    iter_open_source,
)
from genoviz_app.opening.index_files import GRAPH_SOURCE
from genoviz_app.opening.opening_files import OpeningFiles
from genoviz_app.pages.offtargets.search.running import SearchResult

N_KEPT_FILES = 3

UNKNOWN = len(SiteClass)

CLASSES = (*(kind.label for kind in SiteClass), "unknown")

"""What hits lie in; the last is for those on paths of a graph of which no genes are known."""


@dataclass(frozen=True, eq=False)
class HitGenes:
    """The genes of the hits of a search.

    Attributes
    ----------
    result, file
        What was annotated, by what.
    annotation
        The gene of each hit.
    classes
        uint8, shape (n_hits,): which of ``CLASSES`` each hit is in.
    """

    result: SearchResult
    file: AnnotationFile
    annotation: HitAnnotations = field(repr=False)
    classes: np.ndarray = field(repr=False)

    @property
    def exon_counts(self) -> np.ndarray:
        """Hits in exons of each guide; int64, shape (n_guides,)."""
        guides = self.result.hits.guide_ids[self.classes == SiteClass.EXON]
        return np.bincount(guides, minlength=len(self.result.query.guides))

    def labels(self, rows: np.ndarray) -> list[str]:
        """Return which of ``CLASSES`` hits are in."""
        return np.array(CLASSES, object)[self.classes[rows]].tolist()

    def names(self, rows: np.ndarray) -> list[str]:
        """Return the gene that hits are in or nearest to; "" where none is known."""
        names = np.array(self.annotation.gene_names(rows), object)
        return np.where(self.classes[rows] == UNKNOWN, "", names).tolist()


def find_genes(result: SearchResult, file: AnnotationFile) -> HitGenes:
    """Return the genes at the hits of a search.

    On a graph, a hit's genes are those at its first place on a path that has annotations.
    """
    planes = result.genome.planes
    if not isinstance(planes, PathPlanes):
        found = annotate_hits(result.hits, file.annotations)
        return HitGenes(result, file, found, found.classes)
    found, is_there = annotate_sites(result.hits, result.sites.found, file.annotations)
    return HitGenes(result, file, found, np.where(is_there, found.classes, UNKNOWN))


def iter_read_genes(path: Path) -> Iterator[OpeningProgress]:
    """Read annotations; the last progress has them."""
    yield OpeningProgress(f"Reading {path.name}")
    annotations = read_annotations(path)
    if not len(annotations):
        raise GenovizError(f"{path.name} has no genes; needs rows of BED, GFF3 or GTF")
    yield OpeningProgress("Ready", 1.0, annotations)


GENES = FileCache(iter_read_genes, N_KEPT_FILES)

"""The annotations of all files and all tabs."""


class GeneFiles(OpeningFiles):
    """The genes that a tab names hits by."""

    opened = param.ClassSelector(class_=AnnotationFile, allow_None=True, doc="The file.")

    def open(self, source: str) -> None:
        """Open a sample by name, or annotations on the server by path."""
        steps = iter_open_source(source, self._session.folders, _iter_open)
        self.begin(steps, Path(source).name or "genes")

    def open_upload(self, name: str, content: bytes | str) -> None:
        """Open an uploaded file, which is kept until the tab closes."""
        path = self._session.upload_path(Path(name).name)
        self.begin(iter_after_writing(path, content, _iter_open(path, "", path.name)), path.name)

    def open_uploaded(self, name: str) -> None:
        """Open a file that was uploaded before, by its name."""
        path = self._session.upload_path(name)
        self.begin(_iter_open(path, "", name), name)

    def use_annotations(self) -> None:
        """Take all annotations of the open graph."""
        files = self._session.annotation_files.files
        if files:
            self.cancel()
            joined = join_annotations([file.annotations for file in files])
            self.opened = AnnotationFile(GRAPH_SOURCE, "annotations of the graph", joined)

    def close(self) -> None:
        """Name hits by no genes."""
        self.cancel()
        self.opened = None


def _iter_open(path: Path, source: str, title: str) -> Iterator[OpeningProgress | None]:
    for step in GENES.iter_read(path):
        if isinstance(step, Annotations):
            yield OpeningProgress("Ready", 1.0, AnnotationFile(source, title, step))
        else:
            yield step
