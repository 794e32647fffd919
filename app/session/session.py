"""State of one browser tab: its open files, and the region and highlights that pages share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import param

from genoviz.errors import GenovizError
from genoviz_app.opening.companions import OpenAnnotations, OpenLayout
from genoviz_app.opening.files import check_path, find_sample
from genoviz_app.opening.genome_files import GenomeFiles
from genoviz_app.opening.genotype_files import GenotypeFiles
from genoviz_app.opening.genotype_names import is_table
from genoviz_app.opening.graph_files import GraphFiles, OpenGraph
from genoviz_app.opening.index_files import IndexFiles
from genoviz_app.opening.overviews import Chromosome, genome_of
from genoviz_app.opening.served_files import (
    FileKind,
    ServedGraph,
    file_kind,
    is_part_of_genotypes,
    is_plink_bed,
)
from genoviz_app.opening.track_files import TrackFiles
from genoviz_app.server.tab import Tab
from genoviz_app.session.address import Region
from genoviz_app.session.highlights import Highlights
from genoviz_app.session.layout_runs import LayoutRuns

GRAPH_IS_COMING = "The graph is being opened …"
PAGES_OF_KINDS = {
    FileKind.TRACK: ("tracks", "tracks"),
    FileKind.SEQUENCES: ("indexes", "kmers"),
    FileKind.GENOTYPES: ("genotypes", "genotypes"),
}
"""What opens files of a kind, and the page that shows them; of others it is the first one."""
KINDS_OF_SAMPLES = {
    "gfa": FileKind.GRAPH, "bed": FileKind.TRACK, "genome": FileKind.SEQUENCES,
    "genotypes": FileKind.GENOTYPES,
}  # fmt: skip
UPLOAD_ENDINGS = (
    "in .gfa, .gbz, .lay, .tsv, .bed, .gff3, .gtf, .fa or .vcf (also with .gz), .2bit, .gvfm, "
    ".bam, .bw or that of another kind of file that a page shows"
)
OF_TABLES = (
    "a table of traits is opened on the Genotypes page, and one of values of nodes with Colour by: "
    "Own table on the Pangenome page"
)


class Session(Tab):
    """One browser tab.

    Pages follow the open files, `region`, `picked` and the highlights (`highlights`), and write to
    the last three. `poll` updates the session from its jobs; it is called some twenty times per
    second.

    Parameters
    ----------
    files
        Graphs that the server was started with, offered to everybody.
    options
        Permitted folders, and limits; see `Tab`.
    """

    opened = param.ClassSelector(class_=OpenGraph, allow_None=True, doc="The graph that is open.")
    layout = param.ClassSelector(
        class_=OpenLayout, allow_None=True, doc="The layout that was read for it."
    )
    annotation_files = param.ClassSelector(
        class_=OpenAnnotations, default=OpenAnnotations(), doc="Annotations that are open."
    )
    region = param.ClassSelector(class_=Region, allow_None=True, doc="The stretch that pages show.")
    unclear = param.String(doc="A place of a link that several contigs have; then empty again.")
    is_split = param.Boolean(doc="Whether another page is beside or below the layout.")
    wanted_page = param.String(doc="Slug of a page that a button leads to; empty once it is shown.")
    picked = param.ClassSelector(
        class_=np.ndarray, default=np.empty(0, np.int64), doc="Nodes that a person has picked."
    )

    def __init__(self, *, files: tuple[ServedGraph, ...] = (), **options: Any) -> None:
        super().__init__(**options)
        self.files, self.chromosomes = files, tuple(map(Chromosome, genome_of(files)))
        self.will_open = False  # a graph, once the browser has the page
        self.graphs = GraphFiles(self)
        self.tracks = TrackFiles(self)
        self.indexes = IndexFiles(self)
        self.genomes = GenomeFiles(self)
        self.genotypes = GenotypeFiles(self)
        self.highlights = Highlights(self)
        self.runs = LayoutRuns(self)
        self.hand_over: Callable[[str, bytes], None] = lambda _name, _content: None

    @property
    def genome(self) -> tuple[ServedGraph, ...]:
        """The graphs of a genome that the server offers, with their layouts if known."""
        return tuple(each.served for each in self.chromosomes)

    @property
    def contents(self) -> tuple[Any, ...]:
        """The contents of the files that are open in the tab."""
        indexes, genomes = self.indexes.opened, self.genomes.opened
        genotypes = self.genotypes.opened
        found = (
            self.opened and self.opened.graph,
            *(file.data for file in self.tracks.files),
            indexes and indexes.built,
            genomes and genomes.genome,
            genotypes and genotypes.genotypes,
        )
        return tuple(content for content in found if content is not None)

    def open(
        self,
        source: str,
        *,
        region: Region | None = None,
        needs_region: bool = True,
        companions: tuple[str, ...] = (),
    ) -> None:
        """Start opening a sample by name or a file on the server by path.

        What is no graph, nor belongs to one, is shown on the page that it is of.

        Parameters
        ----------
        source
            Name of a sample, or path of a graph, or of a layout or annotations of the open graph.
        region
            Region of a graph to show.
        needs_region
            Whether to complain if the graph lacks it.
        companions
            Layout and annotations to open after the graph; by default those that the server was
            started with.
        """
        sample = find_sample(source)
        kind = file_kind(source) if sample is None else KINDS_OF_SAMPLES[sample.kind]
        if sample is None and self._is_plink(source):
            kind = FileKind.GENOTYPES
        if kind in PAGES_OF_KINDS:
            files, self.wanted_page = PAGES_OF_KINDS[kind]
            getattr(self, files).open(source if sample is None else sample.name)
            return
        if sample is None and kind is None and is_table(source) and not source.endswith(".txt"):
            self.forget_problem()
            self.complain(f"{Path(source).name} was not opened: {OF_TABLES}.")
            return
        self.graphs.open(
            source, kind, region=region, needs_region=needs_region, companions=companions
        )

    def _is_plink(self, source: str) -> bool:
        """Return whether a path belongs to PLINK genotypes; other files are not read."""
        if is_part_of_genotypes(source):
            return True
        try:
            is_bed = source.lower().strip().endswith(".bed")
            return is_bed and is_plink_bed(check_path(source, self.folders))
        except GenovizError:
            return False  # opening it reports the problem

    def open_upload(self, name: str, content: bytes | str) -> None:
        """Start opening an uploaded file, which is kept until the tab closes."""
        name = Path(name).name
        kind = FileKind.GENOTYPES if is_part_of_genotypes(name) else file_kind(name)
        if kind is None:
            advice = f"its name needs to end {UPLOAD_ENDINGS}"
            if is_table(name):
                advice = OF_TABLES
            self.problem = f"{name} was not opened: {advice}."
            return
        if kind in PAGES_OF_KINDS:
            files, self.wanted_page = PAGES_OF_KINDS[kind]
            if kind is FileKind.GENOTYPES:
                self.genotypes.open_uploads({name: content})
            else:
                getattr(self, files).open_upload(name, content)
            return
        self.graphs.open_upload(name, content)

    @property
    def awaits_graph(self) -> bool:
        """Whether a graph is being opened, or will be once the browser has the page."""
        return self.graphs.is_opening or self.will_open

    def without_graph(self, words: str) -> str:
        """Return what to say while no graph is open: ``words``, unless one is being opened."""
        return GRAPH_IS_COMING if self.awaits_graph else words

    @property
    def opens_files(self) -> bool:
        """Whether a file of any kind is being opened."""
        lists = (self.graphs, self.tracks, self.indexes, self.genomes, self.genotypes)
        return any(files.is_opening for files in lists)

    def close(self) -> None:
        """Cancel the jobs of the tab, remove its uploads, and free its graph."""
        super().close()
        self.graphs.forget()
