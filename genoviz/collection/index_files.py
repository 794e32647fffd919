"""K-mer indexes of several files, one index each, built here or by Dask workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from genoviz.analyses.sequences.fm_index import build_fm_index
from genoviz.backend import Backend, Scheduler
from genoviz.errors import GenovizError, ParameterError
from genoviz.io.files.content import unreadable
from genoviz.io.files.file_source import Source
from genoviz.io.sequences.fm_index import write_fm_index
from genoviz.io.sequences.reader import read_sequences


@dataclass(frozen=True)
class IndexFile:
    """Result of indexing one file.

    Attributes
    ----------
    sequences, path
        The sequence file and the index file.
    n_contigs, total_length
        Number of sequences and their total length, bp.
    n_bytes
        Size of the index file.
    problem
        Why there is no index, or "".
    """

    sequences: Path
    path: Path
    n_contigs: int = 0
    total_length: int = 0
    n_bytes: int = 0
    problem: str = ""


def iter_build_index_files(
    sequences: Sequence[str | PathLike[str]],
    paths: Sequence[str | PathLike[str]],
    *,
    sample_rate: int = 1,
    table_k: int | None = None,
    scheduler: Scheduler = None,
    backend: Backend = "auto",
) -> Iterator[IndexFile]:
    """Index the sequences of each file and yield each result as soon as it is written.

    Each index is that of `build_fm_index` and is written atomically. A failure of one file does
    not stop the others.

    Parameters
    ----------
    sequences
        FASTA files, plain or gzipped, or 2bit files.
    paths
        Index file to write for each.
    sample_rate, table_k
        As for `build_fm_index`.
    scheduler
        Address of a Dask scheduler, or a client. Each worker builds one index at a time and reads
        and writes the files under the same paths.
    backend
        Where to compute.

    Raises
    ------
    ParameterError
        If the numbers of files and paths differ, or two paths are equal.
    ClusterError
        If the scheduler does not answer or disconnects; finished indexes are kept.
    """
    jobs = [
        (Path(each).absolute(), Path(path).absolute()) for each, path in _pairs(sequences, paths)
    ]
    options = sample_rate, table_k, backend
    if scheduler is None:
        yield from (_build(*job, *options) for job in jobs)
        return
    from genoviz.cluster.blocks import iter_results

    blocks = []
    for job in jobs:
        try:
            blocks.append((*job, Source.of(job[0])))
        except OSError as error:
            problem = str(unreadable(job[0], error))
            yield IndexFile(*job, problem=problem)
    if not blocks:
        return
    for _, found in iter_results(build_at_worker, blocks, scheduler=scheduler, common=options):
        yield _seen(found)


def _pairs(
    sequences: Sequence[str | PathLike[str]], paths: Sequence[str | PathLike[str]]
) -> Iterator[tuple]:
    if len(sequences) != len(paths) or len(set(map(Path, paths))) != len(paths):
        raise ParameterError(
            f"there are {len(sequences):,} files of sequences and {len(set(map(Path, paths))):,} "
            "different files to write, needs one for each"
        )
    return zip(sequences, paths, strict=True)


def build_at_worker(
    sequences: Path,
    path: Path,
    source: Source,
    sample_rate: int,
    table_k: int | None,
    backend: Backend,
) -> IndexFile:
    """Index a file on a worker; the path must be the same file there as at the caller."""
    try:
        here = Source.of(sequences)
    except OSError:
        return IndexFile(sequences, path, problem=f"{sequences} is not there for a worker")
    if (here.size, here.sha256) != (source.size, source.sha256):
        return IndexFile(sequences, path, problem=f"{sequences} is another file for a worker")
    return _build(sequences, path, sample_rate, table_k, backend)


def _build(
    sequences: Path, path: Path, sample_rate: int, table_k: int | None, backend: Backend
) -> IndexFile:
    try:
        options = {"sample_rate": sample_rate, "table_k": table_k, "backend": backend}
        index = build_fm_index(read_sequences(sequences), **options)
        write_fm_index(index, path)
    except GenovizError as error:
        return IndexFile(sequences, path, problem=str(error))
    sizes = index.text.n_contigs, index.text.total_length
    return IndexFile(sequences, path, *sizes, path.stat().st_size)


def _seen(found: IndexFile) -> IndexFile:
    """Return a worker's result, or a problem if its file is not visible here."""
    if found.problem:
        return found
    try:
        is_here = found.path.stat().st_size == found.n_bytes
    except OSError:
        is_here = False
    if is_here:
        return found
    problem = (
        f"{found.path} was written by a worker, and is not seen here: needs a folder that both see"
    )
    return IndexFile(found.sequences, found.path, problem=problem)
