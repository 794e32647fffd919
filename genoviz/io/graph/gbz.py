"""Reading of pangenome graphs from GBZ files, versions 1 to 3.

References
----------
SERIALIZATION.md of jltsiren/gbwtgraph and of jltsiren/gbwt.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from os import PathLike
from pathlib import Path
from types import ModuleType

from genoviz.backend import Backend, load_kernel
from genoviz.errors import FileFormatError
from genoviz.generators import in_one_go, report
from genoviz.io.files.file_source import Source, find_source
from genoviz.io.graph.cache import load_graph, store_graph
from genoviz.io.graph.gbz_graph import Progress, build_graph
from genoviz.io.graph.gbz_open import iter_open
from genoviz.io.graph.gfa import GfaProgress
from genoviz.model import PangenomeGraph


def iter_read_gbz(
    path: str | PathLike[str],
    *,
    sequences: bool = True,
    segments: bool = True,
    cache: bool = True,
    backend: Backend = "cpu",
) -> Iterator[GfaProgress]:
    """Yield the progress of reading a GBZ file; the last report has the graph.

    Versions 1 to 3 are supported. Paths have the names of the corresponding GFA: haplotypes are
    walks, ``sample#haplotype#contig:start-end``, and generic paths have their own name. Links are
    those that paths use. The file is checked against its own counts, the reverse paths, and, with
    sequences, its stable name; information without redundancy cannot be checked.

    Parameters
    ----------
    path
        The file.
    sequences
        Whether to keep the sequences of the nodes, one byte per base.
    segments
        Whether nodes are the original segments, as in the GFA, or the stored nodes of up to
        1,024 bp, which aligned reads refer to. Without a node-to-segment translation in the file,
        there is no difference.
    cache
        Whether to cache the graph in the user's cache folder, and to reuse it if the file is
        unchanged.
    backend
        Where to decode the paths: ``"auto"``, ``"cpu"`` or ``"cuda"``.

    Raises
    ------
    FileFormatError
        If the file cannot be read, does not follow the format, or is damaged.
    BackendError
        If the backend is unknown or cannot be used.

    References
    ----------
    Sirén, Paten 2022: GBZ file format for pangenome graphs.
    https://doi.org/10.1093/bioinformatics/btac656
    """
    path, kernel = Path(path), load_kernel("gbwt", backend)
    source = find_source(path) if cache and segments else None
    parsing = _parse_file(path, sequences, segments, kernel)
    yield from iter_read_saved(path, source, parsing, sequences=sequences)


def iter_read_saved(
    path: Path,
    source: Source | None,
    parsing: Generator[Progress, None, PangenomeGraph],
    *,
    sequences: bool,
) -> Iterator[GfaProgress]:
    """Load the cached graph of a source, or read and cache it; yields the progress.

    Without a source, the cache is not used.
    """
    if source:
        loading = load_graph(source, sequences=sequences)
        graph = yield from report(
            loading, lambda step: GfaProgress("Opening the saved graph", *step)
        )
        if graph:
            yield GfaProgress("Done", source.size, source.size, graph)
            return
    try:
        graph = yield from report(parsing, lambda step: GfaProgress(*step))
    except MemoryError as error:
        raise FileFormatError(path, "holds more than this machine has memory for") from error
    if source:
        storing = store_graph(source, graph)
        yield from report(
            storing, lambda step: GfaProgress("Saving the graph for next time", *step)
        )
    n_bytes = path.stat().st_size if path.is_file() else 1
    yield GfaProgress("Done", n_bytes, n_bytes, graph)


@in_one_go(iter_read_gbz)
def read_gbz(last: GfaProgress) -> PangenomeGraph:
    """Return the graph of a GBZ file; see :func:`iter_read_gbz`."""
    return last.graph


def _parse_file(
    path: Path, sequences: bool, segments: bool, kernel: ModuleType
) -> Generator[Progress, None, PangenomeGraph]:
    opened = yield from iter_open(path, kernel, sequences=sequences, segments=segments)
    nodes = yield from opened.iter_nodes()
    rest = opened.reader, opened.index, opened.names, opened.record_starts
    notes = opened.notes
    del opened  # its nodes and links, before the paths take most of the memory
    return (yield from build_graph(*rest, nodes, notes, kernel))
