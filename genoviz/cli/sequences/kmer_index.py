"""What the commands of ``genoviz bwt`` read: an index, or sequences or a graph to index; k-mers."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from genoviz.cli.common_options import (
    MAX_COUNT,
    MAX_LENGTH,
    BackendName,
    option,
    parse_devices,
)
from genoviz.cli.graph.reading import is_graph, read_graph
from genoviz.cli.intervals.options import as_file
from genoviz.cli.results import ProgressBar, print_notes

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from typing import Any

    import numpy as np

    from genoviz.analyses.sequences.kmer_repeats import KmerRepeats
    from genoviz.analyses.sequences.kmers import Kmer
    from genoviz.analyses.sequences.path_repeats import PathRepeats
    from genoviz.model import PangenomeGraph, Sequences
    from genoviz.model.sequences.fm_index import FMIndex
    from genoviz.model.sequences.pangenome_index import PangenomeIndex


_MEMORY = re.compile(r"(\d+(?:\.\d+)?)([MGT])i?B?", re.IGNORECASE)
_UNITS = {"M": 10**6, "G": 10**9, "T": 10**12}


class StrandName(StrEnum):
    """Which strands of the sequences k-mers are looked for on."""

    forward = "forward"
    both = "both"
    canonical = "canonical"


class PathGrouping(StrEnum):
    """What paths of a graph are counted by."""

    path = "path"
    haplotype = "haplotype"
    sample = "sample"


IndexOrGraphArgument = Annotated[
    Path,
    typer.Argument(
        metavar="INDEX",
        help="Index (.gvfm); or FASTA, 2bit or a graph (GFA, GBZ), indexed in memory; - is "
        "standard input.",
    ),
]
KmersArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="KMER", help="K-mers of any length; may have IUPAC codes."),
]
KmerFileOption = Annotated[
    Path | None,
    option(
        "File of k-mers: FASTA, or one per line; - is standard input.", "--file", show_default=False
    ),
]
StrandOption = Annotated[
    StrandName,
    option(
        "Search the forward strand, or both; canonical searches both, and reports the "
        "strand of the lexicographically smaller of k-mer and reverse complement.",
        "--strand",
    ),
]
MaxBranchesOption = Annotated[
    int,
    option(
        "Maximum number of occurring sequences that an IUPAC k-mer may match.",
        within=(1, MAX_COUNT),
    ),
]
CheckOption = Annotated[
    bool,
    option(
        "Check the index for damage: for a few k-mers only the parts read, otherwise "
        "the whole file. --no-check opens a large index faster.",
        "--check/--no-check",
    ),
]
KOption = Annotated[int, option("Length of k-mers.", "-k", within=(1, MAX_LENGTH))]
CountMemoryOption = Annotated[
    str | None,
    option(
        "Memory limit (900M, 16G); less memory needs more passes.",
        metavar="SIZE",
        show_default="4G",
    ),
]
CanonicalOption = Annotated[
    bool, option("Count a k-mer and its reverse complement as one.", "--canonical")
]


def is_index(path: Path) -> bool:
    """Return whether a file is an index of k-mers."""
    from genoviz.io.sequences.fm_index import is_fm_index

    return is_fm_index(path)


def is_reads(path: Path) -> bool:
    """Return whether a file is FASTQ."""
    if not path.is_file() or path.stat().st_size == 0:
        return False
    from genoviz.io.sequences.fastq import is_fastq

    return is_fastq(path)


def opener_of_reads(files: list[Path]) -> Callable[[], Iterator[tuple[float, np.ndarray]]]:
    """Return what opens the reads of FASTQ files anew, each time it is called."""
    import numpy as np

    from genoviz.io.sequences.fastq import iter_fastq_blocks

    def open_blocks() -> Iterator[tuple[float, np.ndarray]]:
        for number, file in enumerate(files):
            for share, letters in iter_fastq_blocks(file):
                yield (number + share) / len(files), letters
            # The last read may lack its newline.
            yield (number + 1) / len(files), np.frombuffer(b"\n", np.uint8)

    return open_blocks


def read_sequences(path: Path, bar: ProgressBar) -> Sequences:
    """Return the sequences of a file; notes go to standard error."""
    from genoviz.io.sequences.reader import iter_read_sequences

    for progress in iter_read_sequences(path):
        bar.update(progress.stage, progress.n_bytes, progress.n_bytes_total, "B")
    print_notes(*progress.sequences.notes)
    return progress.sequences


def read_spelled(path: Path, bar: ProgressBar) -> Sequences:
    """Return the sequences of a file, or of the paths of a graph."""
    if not is_graph(path):
        return read_sequences(path, bar)
    from genoviz.analyses.graph.query.sequences import path_sequences

    return path_sequences(read_spelled_graph(path, bar))


def has_paths(path: Path) -> bool:
    """Return whether a file is a graph, or an index of the paths of one."""
    if is_graph(path):
        return True
    from genoviz.io.sequences.fm_index import has_paths

    return is_index(path) and has_paths(path)


def open_index(path: Path, bar: ProgressBar, *, backend: str, check: bool = True) -> FMIndex:
    """Return the index of a file, or that of its sequences."""
    from genoviz.io.sequences.fm_index import is_fm_index, iter_read_fm_index, read_fm_index

    if is_fm_index(path):
        if not check:
            return read_fm_index(path)
        for step in iter_read_fm_index(path):
            bar.update("Checking the index", step.n_bytes_done, step.n_bytes_total, "B")
        return step.index
    from genoviz.analyses.sequences.fm_index import iter_build_fm_index

    for progress in iter_build_fm_index(read_sequences(path, bar), backend=backend):
        bar.update(f"Index: {progress.stage}", progress.fraction, 1.0, "")
    return progress.index


def open_in_parts(path: Path) -> tuple[FMIndex, Callable[[int], None]] | None:
    """Return an index of which only what is read is checked, and what checks a line, if it can."""
    from genoviz.io.sequences.fm_index import is_fm_index, read_index_in_parts

    return read_index_in_parts(path) if is_fm_index(path) else None


def open_pangenome(
    path: Path, bar: ProgressBar, longest: int = 0, *, backend: str, check: bool = True
) -> PangenomeIndex:
    """Return the index of paths of a file, or that of a graph for k-mers of up to some length."""
    if is_index(path):
        from genoviz.io.sequences import pangenome_index as file

        if not check:
            return file.read_pangenome_index(path)
        for step in file.iter_read_pangenome_index(path):
            bar.update("Checking the index", step.n_bytes_done, step.n_bytes_total, "B")
        return step.index
    from genoviz.analyses.sequences.pangenome_index import DEFAULT_MAX_K, iter_build_pangenome_index

    graph = read_spelled_graph(path, bar)
    max_k = max(DEFAULT_MAX_K, longest)
    for progress in iter_build_pangenome_index(graph, max_k=max_k, backend=backend):
        bar.update(f"Index: {progress.stage}", progress.fraction, 1.0, "")
    return progress.index


def read_spelled_graph(path: Path, bar: ProgressBar) -> PangenomeGraph:
    """Return a graph with paths and sequences; how many nodes have none is noted."""
    from genoviz.analyses.sequences.pangenome_index import check_paths

    graph = read_graph(path, bar, cache=True, sequences=True)
    check_paths(graph)
    n = int((graph.node_sequences.lengths != graph.node_lengths).sum())
    if n:
        print_notes(f"{n:,} of {graph.n_nodes:,} nodes have no sequence ('*'), and match nothing")
    return graph


def open_repeats(
    path: Path, bar: ProgressBar, longest: int, *, backend: str
) -> KmerRepeats | PathRepeats:
    """Return what tells of all k-mers of an index; an index may have it in its file."""
    from genoviz.analyses.sequences.kmer_repeats import KmerRepeats, iter_kmer_repeats
    from genoviz.io.sequences.fm_index import is_fm_index, read_extra_arrays

    path = as_file(path)
    pangenome = None
    if has_paths(path):
        from genoviz.analyses.sequences.path_repeats import PathRepeats

        pangenome = open_pangenome(path, bar, longest, backend=backend)
        index = pangenome.index
    else:
        index = open_index(path, bar, backend=backend)
    lcp: np.ndarray | None = None
    if is_fm_index(path):
        lcp = read_extra_arrays(path).get("lcp")
    if lcp is not None and index.suffix_array is not None:
        repeats = KmerRepeats(index.text, index.suffix_array, lcp)
    else:
        for progress in iter_kmer_repeats(index, backend=backend):
            bar.update(progress.stage, 0, None, "")
        repeats = progress.repeats
    return repeats if pangenome is None else PathRepeats(pangenome, repeats)


def counted(steps: Generator[float, None, Any], bar: ProgressBar) -> Any:
    """Return what a count returns, and show how far it is."""
    bar.update("Counting", 0.0, 1.0, "")
    while True:
        try:
            bar.update("Counting", next(steps), 1.0, "")
        except StopIteration as end:
            return end.value


def read_kmers(given: list[str] | None, file: Path | None) -> tuple[Kmer, ...]:
    """Return the k-mers of the command line, then those of a file."""
    from genoviz.analyses.sequences.kmers import parse_kmers
    from genoviz.errors import FileFormatError, ParameterError

    if not given and file is None:
        raise typer.BadParameter("give a KMER, or --file")
    found: tuple[Kmer, ...] = ()
    if given:
        found = parse_kmers("\n".join(given))
    if file is not None:
        from genoviz.io.text.encoding import read_utf8

        text = read_utf8(as_file(file))
        try:
            found += parse_kmers(text)
        except ParameterError as error:
            raise FileFormatError(file, str(error)) from error
    return found


def kmer_labels(kmers: tuple[Kmer, ...]) -> list[str]:
    """Return name and letters of k-mers, as the first two columns of a line."""
    return [f"{kmer.name.replace(chr(9), ' ') or '.'}\t{kmer.letters}" for kmer in kmers]


def iter_encoded(lines: Iterator[str], size: int = 1 << 16) -> Iterator[bytes]:
    """Yield lines without their ends as text, many at a time."""
    kept: list[str] = []
    for line in lines:
        kept.append(line)
        if len(kept) == size:
            yield ("\n".join(kept) + "\n").encode()
            kept = []
    if kept:
        yield ("\n".join(kept) + "\n").encode()


def parse_limits(
    memory: str | None, devices: str | None, *, lcp: bool, backend: BackendName
) -> dict[str, Any]:
    """Return what an index is built within; nothing if at once. What does not fit is refused."""
    if memory is None:
        if devices is not None:
            raise typer.BadParameter("--devices needs --memory: GPUs share an index block by block")
        return {}
    if lcp:
        raise typer.BadParameter("--lcp needs all rows at once; leave out --memory")
    on_gpus = backend is BackendName.cuda
    if devices is not None and not on_gpus:
        raise typer.BadParameter("--devices needs --backend cuda")
    limits = {"memory": parse_size(memory), "devices": parse_devices(devices)}
    return limits | {"backend": "cuda" if on_gpus else "cpu"}


def parse_read_memory(memory: str | None) -> int:
    """Return the bytes within which reads are counted."""
    from genoviz.analyses.sequences.kmer_parts import DEFAULT_MEMORY

    return DEFAULT_MEMORY if memory is None else parse_size(memory)


def parse_size(memory: str) -> int:
    """Return the bytes of a size as 4G or 900M."""
    found = _MEMORY.fullmatch(memory.strip())
    if found is None:
        raise typer.BadParameter(f"--memory is {memory!r}, needs a number and M or G, as 4G")
    return int(float(found[1]) * _UNITS[found[2].upper()])
