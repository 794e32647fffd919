"""Kinds of files by their names, and the files that a server is started with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from genoviz.collection.members import GraphMember
from genoviz.collection.records import MemberLayout, read_record
from genoviz.errors import ParameterError
from genoviz.io.sequences.fm_index import is_fm_index
from genoviz_app.opening.genotype_names import is_table
from genoviz_app.opening.served_collections import NO_MEMBERS, InCollection


class FileKind(StrEnum):
    """What a file holds, as far as its name tells."""

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
    FileKind.GENOTYPES: (".vcf", ".bcf", ".pgen", ".npz", ".npy"),
}
COMPRESSED = (".gz", ".bgz")
GRAPH_ENDING = re.compile(r"(\.gfa|\.gbz)?(\.gz|\.db)?$")
PLINK_PARTS = (".bim", ".fam", ".pvar", ".pvar.zst")
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
"""What is read besides by who names it: parts, tables, and other endings of the same formats; and
graphs that are not read, of which the reader says what to do."""
MAX_NAME_BYTES = 200


@dataclass(frozen=True)
class ServedGraph:
    """A graph that the server offers, and the files that open with it.

    Attributes
    ----------
    path
        The graph.
    companions
        Its layout and its annotations, in the order in which they were given.
    member
        What it is of its collection; None where it is of none.
    """

    path: Path
    companions: tuple[Path, ...] = ()
    member: InCollection | None = None

    @property
    def name(self) -> str:
        """That in its collection, such as of a chromosome; "" where it is of none."""
        return "" if self.member is None else self.member.name

    @property
    def layout(self) -> Path | None:
        """The first of its layouts, or None."""
        layouts = (each for each in self.companions if file_kind(each.name) is FileKind.LAYOUT)
        return next(layouts, None)

    @property
    def annotations(self) -> tuple[Path, ...]:
        """Those of its companions that are annotations."""
        kinds = ((each, file_kind(each.name)) for each in self.companions)
        return tuple(each for each, kind in kinds if kind is FileKind.ANNOTATIONS)

    def record(self) -> MemberLayout | None:
        """Return what is known of the layout that its collection has of it now, or None."""
        if self.member is None:
            return None
        return read_record(GraphMember(self.name, self.path), self.member.place)

    def with_layout(self, *, is_there: bool) -> ServedGraph:
        """Return it with the layout that its collection has of it, or without."""
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
        The table that was given after them, or None.
    """

    path: Path
    phenotypes: Path | None = None


def file_kind(name: str) -> FileKind | None:
    """Return what a file holds by the ending of its name, or None if no kind has that ending.

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
    """Return whether a file is one that genoviz reads, by the ending of its name.

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
    """Return whether a file is one that genoviz reads, by its name, or as an index by its bytes."""
    return is_genomic_name(path.name) or is_fm_index(path)


def safe_name(name: str) -> str:
    r"""Return the name under which an upload is kept, whatever it is called where it comes from.

    Examples
    --------
    >>> safe_name("../../etc/cron.d/a.gfa"), safe_name("C:\\a.bed"), safe_name("..")
    ('a.gfa', 'a.bed', 'upload')
    """
    last = name.replace("\\", "/").rpartition("/")[2]
    kept = "".join(letter if letter.isprintable() else "_" for letter in last)
    while len(kept.encode()) > MAX_NAME_BYTES:
        kept = kept[1:]  # the ending says what it is
    return "upload" if kept in ("", ".", "..") else kept


def split_tracks(paths: Iterable[Path]) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Return the files that are tracks of their own, and the others, both in order.

    Reads and signals are always tracks; annotations are before the first graph.

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
    """Return the files of sequences and of their indexes, and the others, both in order.

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


def is_plink_bed(path: Path) -> bool:
    """Return whether a file is a .bed of PLINK, which has genotypes, and not one of intervals."""
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
    """Return the genotypes, each with the table that follows it, and the other files, in order.

    The parts of PLINK's genotypes (.bim, .fam, .pvar) may be named too.

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
        elif path.name.lower().endswith(PLINK_PARTS):
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

    ``members`` are those of a collection; annotations that follow it are of all of them.

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
    """Return what opens with a graph: of one of a collection what follows any of these too."""
    if graph.member is None:
        return graph.companions
    others = (each for each in found if each.member and each.member.source == graph.member.source)
    shared = (path for each in others for path in each.annotations)
    own = (path for path in graph.companions if path not in graph.annotations)
    return (*own, *dict.fromkeys(shared))
