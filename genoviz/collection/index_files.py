"""Indexes of k-mers of several files, as of samples: a file for each, made here or by workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from genoviz.analyses.sequences.fm_index import build_fm_index
from genoviz.backend import Backend, Scheduler
from genoviz.errors import FileFormatError, GenovizError, ParameterError
from genoviz.io.files.file_source import Source
from genoviz.io.sequences.fm_index import write_fm_index
from genoviz.io.sequences.reader import read_sequences


@dataclass(frozen=True)
class IndexFile:
    """What came of the index of one file.

    Attributes
    ----------
    sequences, path
        The file of sequences, and that of the index.
    n_contigs, total_length
        Of the sequences, bp.
    n_bytes
        Of the index.
    problem
        Why there is none, or "".
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
    """Index the sequences of each file, and yield what came of it as soon as it is written.

    Each index is that of `build_fm_index`, and its file is there as a whole or not at all. One
    that fails does not keep the others from being made.

    Parameters
    ----------
    sequences
        Files of FASTA, plain or gzipped, or 2bit.
    paths
        The file to write for each.
    sample_rate, table_k
        As of `build_fm_index`.
    scheduler
        The address of a scheduler of Dask, or a client: its workers make one index each at a time.
        They read and write the files under the same paths.
    backend
        What is computed on.

    Raises
    ------
    ParameterError
        If there are not as many paths as files, or two are the same.
    ClusterError
        If the scheduler does not answer or goes away; indexes that were written stay.
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
            problem = str(FileFormatError(job[0], f"cannot be read: {error.strerror or error}"))
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
    """Index a file that is the same here as where it was asked for."""
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
    """Return what a worker says, or that its file is not seen here."""
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
