"""The genome for off-target searches: read once as bit planes, and shared between tabs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import param

from genoviz.analyses.offtargets.genome_planes import make_genome_planes
from genoviz.analyses.offtargets.path_hits import PathPlanes
from genoviz.errors import GenovizError
from genoviz.io.offtargets.genome_planes import iter_read_genome_planes
from genoviz.model.offtargets.genome_planes import GenomePlanes
from genoviz.model.sequences.index_text import IndexText
from genoviz.model.sequences.sequences import Sequences
from genoviz_app.opening.files import FileCache, OpeningProgress
from genoviz_app.opening.graph_files import OpenGraph
from genoviz_app.opening.index_files import BUILDERS, GRAPH_SOURCE, OpenIndex
from genoviz_app.opening.memory import sequences_bytes
from genoviz_app.opening.opening_files import OpeningFile

N_KEPT_GENOMES = 3
INDEX_ENDING = ".gvfm"


@dataclass(frozen=True, eq=False)
class Genome:
    """A genome, shared between tabs.

    Attributes
    ----------
    planes
        The sequences, or the paths of a graph.
    notes
        What a reader treated specially.
    """

    planes: GenomePlanes | PathPlanes
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class OpenGenome:
    """A genome that is open in a tab.

    Attributes
    ----------
    source
        Sample name, path, or ``"graph"`` for reopening it; "" for an upload.
    title
        Name shown to users.
    genome
        The genome.
    """

    source: str
    title: str
    genome: Genome = field(repr=False)

    @property
    def planes(self) -> GenomePlanes | PathPlanes:
        """The sequences."""
        return self.genome.planes

    @property
    def is_graph(self) -> bool:
        """Whether it is the paths of a graph."""
        return isinstance(self.planes, PathPlanes)


def iter_read_genome(path: Path) -> Iterator[OpeningProgress]:
    """Read a FASTA or 2bit file, or its cached planes; the last progress has the `Genome`."""
    if path.name.lower().endswith(INDEX_ENDING):
        raise GenovizError(f"{path.name} is an index; sequences are needed (FASTA or 2bit)")
    for progress in iter_read_genome_planes(path, make_genome_planes):
        fraction = progress.n_bytes / max(progress.n_bytes_total, 1)
        yield OpeningProgress(f"{path.name}: {progress.stage.lower()}", fraction)
    if not progress.planes.n_bases:
        raise GenovizError(f"{path.name} has no bases; a genome is needed")
    yield OpeningProgress("Ready", 1.0, Genome(progress.planes, progress.notes))


def sequences_of(text: IndexText) -> Sequences:
    """Return the sequences of an index's text."""
    lengths = text.contig_lengths
    parts = [text.cut(contig, 0, int(length)) for contig, length in enumerate(lengths.tolist())]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    bases = np.concatenate([np.empty(0, np.uint8), *parts])
    return Sequences(tuple(map(str, text.contig_names)), offsets, bases, np.asarray(text.masked))


GENOMES = FileCache(iter_read_genome, N_KEPT_GENOMES, estimate=sequences_bytes(3))
"""The genomes of all files and all tabs."""


def iter_open_genome(
    path: Path, *, source: str = "", title: str
) -> Iterator[OpeningProgress | None]:
    """Open the genome of a file; the last progress has the `OpenGenome`."""
    return GENOMES.iter_opened(path, partial(OpenGenome, source, title))


class GenomeFiles(OpeningFile):
    """The genome that a tab has open for off-target searches."""

    opened = param.ClassSelector(class_=OpenGenome, allow_None=True, doc="The genome that is open.")
    pool = BUILDERS
    contents = "sequences"
    iter_open = staticmethod(iter_open_genome)

    def open_graph(self, graph: OpenGraph) -> None:
        """Use the paths of a graph."""
        self.begin(_iter_use_graph(graph), graph.title)

    def follow(self, index: OpenIndex) -> None:
        """Use the sequences whose index is open elsewhere in the tab."""
        if index.source == GRAPH_SOURCE or index.built.graph is not None:
            return
        if index.source and not index.source.lower().endswith(INDEX_ENDING):
            self.open(index.source)
        else:
            self.begin(_iter_use_text(index), index.title)


def _iter_use_text(index: OpenIndex) -> Iterator[OpeningProgress]:
    yield OpeningProgress(f"Reading {index.title}")
    genome = Genome(make_genome_planes(sequences_of(index.built.index.text)), index.built.notes)
    yield OpeningProgress("Ready", 1.0, OpenGenome("", index.title, genome))


def _iter_use_graph(graph: OpenGraph) -> Iterator[OpeningProgress]:
    yield OpeningProgress(f"Reading {graph.title}")
    genome = Genome(PathPlanes.of(graph.graph))
    title = f"paths of {graph.title}"
    yield OpeningProgress("Ready", 1.0, OpenGenome(GRAPH_SOURCE, title, genome))
