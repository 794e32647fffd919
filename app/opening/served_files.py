"""Classification of files by name, and the files that a server is started with."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from genoviz.analyses.graph.layout.stress_results import PathStress
from genoviz.collection.members import GraphMember
from genoviz.collection.records import MemberLayout, read_record
from genoviz.errors import ParameterError
from genoviz.io.sequences.fm_index import is_fm_index
from genoviz_app.opening.genotype_names import is_table
from genoviz_app.opening.served_collections import NO_MEMBERS, InCollection


class FileKind(StrEnum):
    """Kind of file content, by file name."""

    GRAPH = "graph"
    LAYOUT = "layout"
    ANNOTATIONS = "annotations"
    TRACK = "track"
    SEQUENCES = "sequences"
    GENOTYPES = "genotypes"


ENDINGS = {
    FileKind.GRAPH: (".gfa", ".gbz", ".gbz.db"),
    FileKind.LAYOUT: (".lay", ".tsv", ".layout", ".json"),
    FileKind.ANNOTATIONS: (".bed", ".gff", ".gff3", ".gtf"),
    FileKind.TRACK: (
        *(".bam", ".cram", ".sam", ".bw", ".bigwig", ".bb", ".bigbed", ".bedgraph", ".bdg", ".bg"),
        *(".narrowpeak", ".broadpeak", ".parquet", ".arrow"),
    ),
    FileKind.SEQUENCES: (".fa", ".fasta", ".fna", ".2bit", ".gvfm"),
    FileKind.GENOTYPES: (".vcf", ".bcf", ".pgen", ".bgen", ".npz", ".npy"),
}
COMPRESSED = (".gz", ".bgz")
GRAPH_ENDING = re.compile(r"(\.gfa|\.gbz)?(\.gz|\.db)?$")
PLINK_PARTS = (".bim", ".fam", ".pvar", ".pvar.zst", ".sample")
PLINK_MAGIC = b"\x6c\x1b"
TABLES = (".csv", ".tsv", ".txt", ".phen", ".pheno", ".cov", ".covar", ".psam", ".ped")
OTHERS = (
    *(
        *PLINK_PARTS,
        *TABLES,
        ".genome",
        ".chrom.sizes",
        ".fai",
        ".bed3",
        ".bed4",
        ".bed6",
        ".bed12",
    ),
    *(".fas", ".fsa", ".ffn", ".frn", ".mfa", ".seq", ".rgfa", ".gfa1"),
    *(".gfaz", ".vg", ".xg", ".pg", ".og"),
)
"""Other files that may be named: parts, tables, alternative endings of the same formats, and
unsupported graph formats, for which the reader suggests a remedy."""
MAX_NAME_BYTES = 200


@dataclass(frozen=True)
class ServedGraph:
    """A graph that the server offers, with the files that open with it.

    Attributes
    ----------
    path
        The graph: a file, or one of its chromosomes (see `GraphMember.at`).
    companions
        Its layout and annotations, in the order given.
    member
        Its membership in a collection; None without one.
    """

    path: Path
    companions: tuple[Path, ...] = ()
    member: InCollection | None = None

    @property
    def name(self) -> str:
        """Its name in its collection, such as a chromosome; "" without one."""
        return "" if self.member is None else self.member.name

    @property
    def title(self) -> str:
        """What users read of it."""
        return GraphMember.at(self.path).title

    @property
    def layout(self) -> Path | None:
        """Its first layout, or None."""
        layouts = (each for each in self.companions if file_kind(each.name) is FileKind.LAYOUT)
        return next(layouts, None)

    @property
    def annotations(self) -> tuple[Path, ...]:
        """Its companions that are annotations."""
        kinds = ((each, file_kind(each.name)) for each in self.companions)
        return tuple(each for each, kind in kinds if kind is FileKind.ANNOTATIONS)

    def record(self) -> MemberLayout | None:
        """Return the current record of its layout in the collection, or None."""
        if self.member is None:
            return None
        member = replace(GraphMember.at(self.path), name=self.name)
        return read_record(member, self.member.place)

    def stress_of(self, layout: Path) -> PathStress | None:
        """Return the path stress of a layout if it is that of the record, or None.

        The record does not have the number of terms, so this is 0, nor their median.
        """
        if self.member is None or layout.resolve() != self.member.place:
            return None
        record = self.record()
        if record is None or None in (record.stress, record.stress_low, record.stress_high):
            return None
        interval = record.stress_low, record.stress_high
        return PathStress(record.stress, *interval, math.nan, 0, 0, False, "steps")

    def with_layout(self, *, is_there: bool) -> ServedGraph:
        """Return it with or without the layout in its collection."""
        place = self.member.place
        others = tuple(each for each in self.companions if each.resolve() != place)
        return replace(self, companions=(place, *others) if is_there else others)


@dataclass(frozen=True)
class ServedGenotypes:
    """Genotypes that the server offers.

    Attributes
    ----------
    path
        The genotypes.
    phenotypes
        The table given after them, or None.
    """

    path: Path
    phenotypes: Path | None = None


def file_kind(name: str) -> FileKind | None:
    """Return the kind of a file by its ending, or None if the ending is unknown.

    Examples
    --------
    >>> file_kind("chr6.GFA.gz"), file_kind("genes.gff3"), file_kind("reads.fastq")
    (<FileKind.GRAPH: 'graph'>, <FileKind.ANNOTATIONS: 'annotations'>, None)
    """
    name = name.lower()
    for compressed in COMPRESSED:
        name = name.removesuffix(compressed)
    return next((kind for kind, endings in ENDINGS.items() if name.endswith(endings)), None)


def is_genomic_name(name: str) -> bool:
    """Return whether genoviz reads a file, by its ending.

    Examples
    --------
    >>> [is_genomic_name(name) for name in ("a.gfa.gz", "a.fam", "pheno.csv", "passwd", "id.key")]
    [True, True, True, False, False]
    """
    short = name.lower()
    for compressed in COMPRESSED:
        short = short.removesuffix(compressed)
    return file_kind(name) is not None or short.endswith(OTHERS)


def is_genomic_file(path: Path) -> bool:
    """Return whether genoviz reads a file, by its name, or for an index by its bytes."""
    return is_genomic_name(path.name) or is_fm_index(path)


def safe_name(name: str) -> str:
    r"""Return a safe file name for an upload.

    Examples
    --------
    >>> safe_name("../../etc/cron.d/a.gfa"), safe_name("C:\\a.bed"), safe_name("..")
    ('a.gfa', 'a.bed', 'upload')
    """
    last = name.replace("\\", "/").rpartition("/")[2]
    kept = "".join(letter if letter.isprintable() else "_" for letter in last)
    while len(kept.encode()) > MAX_NAME_BYTES:
        kept = kept[1:]  # keep the ending, which determines the kind
    return "upload" if kept in ("", ".", "..") else kept


def split_tracks(paths: Iterable[Path]) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Split files into tracks and others, both in order.

    Reads and signals are always tracks; annotations are tracks before the first graph.

    Examples
    --------
    >>> tracks, others = split_tracks(map(Path, ["a.bed", "b.gfa", "b.bed", "c.bam"]))
    >>> [path.name for path in tracks], [path.name for path in others]
    (['a.bed', 'c.bam'], ['b.gfa', 'b.bed'])
    """
    tracks, others = [], []
    for path in paths:
        kind = file_kind(path.name)
        is_track = kind is FileKind.TRACK or (kind is FileKind.ANNOTATIONS and not others)
        (tracks if is_track else others).append(path)
    return tuple(tracks), tuple(others)


def split_sequences(paths: Iterable[Path]) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Split files into sequences or k-mer indexes, and others, both in order.

    Examples
    --------
    >>> sequences, others = split_sequences(map(Path, ["a.gfa", "b.fa.gz"]))
    >>> [path.name for path in sequences], [path.name for path in others]
    (['b.fa.gz'], ['a.gfa'])
    """
    paths = list(paths)
    is_sequences = [file_kind(path.name) is FileKind.SEQUENCES for path in paths]
    found = tuple(path for path, is_it in zip(paths, is_sequences, strict=True) if is_it)
    return found, tuple(path for path, is_it in zip(paths, is_sequences, strict=True) if not is_it)


def is_part_of_genotypes(name: str) -> bool:
    """Return whether a name is that of a part of genotypes which no other format has.

    Examples
    --------
    >>> [is_part_of_genotypes(name) for name in ("herd.bim", "herd.bed", "herd.pvar.zst")]
    [True, False, True]
    """
    return name.lower().endswith(PLINK_PARTS)


def is_plink_bed(path: Path) -> bool:
    """Return whether a .bed file has PLINK genotypes rather than intervals."""
    if path.suffix.lower() != ".bed":
        return False
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(2) == PLINK_MAGIC
    except (OSError, ValueError):
        return False


def split_genotypes(
    paths: Iterable[Path],
) -> tuple[tuple[ServedGenotypes, ...], tuple[Path, ...]]:
    """Split files into genotypes, each with the table after it, and others, in order.

    Other parts of PLINK genotypes (.bim, .fam, .pvar, .sample) may be given too.

    Examples
    --------
    >>> found, others = split_genotypes(map(Path, ["a.vcf.gz", "a.csv", "b.gfa", "b.tsv"]))
    >>> str(found[0].phenotypes), [path.name for path in others]
    ('a.csv', ['b.gfa', 'b.tsv'])
    """
    found: list[ServedGenotypes] = []
    others: list[Path] = []
    follows_genotypes = False
    for path in paths:
        if file_kind(path.name) is FileKind.GENOTYPES or is_plink_bed(path):
            found.append(ServedGenotypes(path))
            follows_genotypes = True
        elif is_part_of_genotypes(path.name):
            continue
        elif follows_genotypes and is_table(path.name):
            found[-1] = ServedGenotypes(found[-1].path, path)
        else:
            others.append(path)
            follows_genotypes = False
    return tuple(found), tuple(others)


def group_files(
    paths: Iterable[Path], members: Mapping[Path, InCollection] = NO_MEMBERS
) -> tuple[ServedGraph, ...]:
    """Return the graphs among files, each with the layouts and annotations that follow it.

    ``members``, by resolved path, belong to a collection; annotations after one apply to all.

    Raises
    ------
    ParameterError
        If a layout or annotations come before the first graph.

    Examples
    --------
    >>> [graph.companions for graph in group_files([Path("a.gfa"), Path("a.lay"), Path("b.gfa")])]
    [(PosixPath('a.lay'),), ()]
    """
    groups: list[tuple[Path, list[Path]]] = []
    for path in paths:
        kind = file_kind(path.name)
        if kind in (None, FileKind.GRAPH):
            groups.append((path, []))
        elif groups:
            groups[-1][1].append(path)
        else:
            raise ParameterError(
                f"{path.name} holds the {kind} of a graph, and none comes before it; "
                "give the graph first"
            )
    found = [
        ServedGraph(path, tuple(companions), members.get(path.resolve()))
        for path, companions in groups
    ]
    return tuple(replace(graph, companions=_companions(graph, found)) for graph in found)


def _companions(graph: ServedGraph, found: Iterable[ServedGraph]) -> tuple[Path, ...]:
    """Return the companions of a graph; members of a collection share annotations."""
    if graph.member is None:
        return graph.companions
    others = (each for each in found if each.member and each.member.source == graph.member.source)
    shared = (path for each in others for path in each.annotations)
    own = (path for path in graph.companions if path not in graph.annotations)
    return (*own, *dict.fromkeys(shared))
