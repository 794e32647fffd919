"""A k-mer index in the dashboard, with a report on its construction."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from genoviz.analyses.sequences.fm_index import iter_build_fm_index
from genoviz.analyses.sequences.pangenome_index import iter_build_pangenome_index
from genoviz.io.files.reading_rules import RULES
from genoviz.io.sequences.fm_index import is_fm_index
from genoviz.io.sequences.pangenome_index import iter_read_any_index
from genoviz.io.sequences.reader import iter_read_sequences
from genoviz.model import PangenomeGraph
from genoviz.model.sequences.fm_index import FMIndex
from genoviz.model.sequences.pangenome_index import PangenomeIndex
from genoviz_app.opening.apart import iter_apart
from genoviz_app.opening.files import OpeningProgress
from genoviz_app.opening.memory import MEMORY

READING = "Reading"
INDEX_ENDING = ".gvfm"


@dataclass(frozen=True)
class BlockSizes:
    """Summary of the sizes of suffix blocks.

    Attributes
    ----------
    n_blocks, n_suffixes
        Number of non-empty blocks, and total number of suffixes.
    median, largest
        Number of suffixes per block.
    """

    n_blocks: int
    n_suffixes: int
    median: int
    largest: int

    @classmethod
    def of(cls, sizes: np.ndarray | None) -> BlockSizes | None:
        """Summarise block sizes; None if there are none."""
        filled = np.sort(sizes[sizes > 0]) if sizes is not None else ()
        if not len(filled):
            return None
        return cls(len(filled), int(filled.sum()), int(filled[len(filled) // 2]), int(filled[-1]))


@dataclass(frozen=True)
class BuildReport:
    """Report on how an index was built or read.

    Attributes
    ----------
    seconds
        Duration of each stage by name, in order.
    tied_fractions
        Share of the suffixes still tied after each sorting round.
    n_symbols
        Length of the sorted text; 0 while it is read.
    stage, fraction
        The current stage, and the share of it that is done; "" at the end.
    is_read
        Whether the index was read from a file rather than built.
    blocks
        The sorted blocks; None before.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    tied_fractions: tuple[float, ...] = ()
    n_symbols: int = 0
    stage: str = ""
    fraction: float | None = None
    is_read: bool = False
    blocks: BlockSizes | None = None

    @property
    def total_seconds(self) -> float:
        """Total duration."""
        return sum(self.seconds.values())


@dataclass(frozen=True)
class BuildingProgress(OpeningProgress):
    """Progress of building an index."""

    report: BuildReport | None = None


@dataclass(frozen=True, eq=False)
class BuiltIndex:
    """An index, shared between tabs.

    Attributes
    ----------
    index
        The index.
    report
        How it was built or read.
    pangenome
        For a graph: the mapping from the index to paths and nodes; None for a genome.
    graph
        The graph, or None; that of an index file has neither edges nor bases.
    notes
        What a reader treated specially.
    """

    index: FMIndex
    report: BuildReport
    pangenome: PangenomeIndex | None = None
    graph: PangenomeGraph | None = None
    notes: tuple[str, ...] = ()

    @property
    def n_bytes(self) -> int:
        """Size of all arrays, in memory or in the mapped file."""
        return (self.pangenome or self.index).n_bytes


def iter_build_file(path: Path) -> Iterator[BuildingProgress | None]:
    """Build the index of a FASTA or 2bit file, or read one; the last has the `BuiltIndex`."""
    if is_fm_index(path):
        yield from _iter_read_index(path)
        return
    start, sequences = time.perf_counter(), None
    # Building runs kernels, which take turns with those of all tabs; reading does not.
    for progress in iter_apart(_iter_sequences, path, max_bytes=MEMORY.max_file):
        if progress is None:
            yield None
            continue
        sequences = progress.opened
        report = BuildReport({READING: time.perf_counter() - start}, stage=READING)
        yield BuildingProgress(progress.text, progress.fraction, report=report)
    reading = {READING: time.perf_counter() - start}
    for progress in iter_build_fm_index(sequences):
        report = _report_of(progress, reading, sequences.total_length)
        built = None
        if progress.index is not None:
            built = BuiltIndex(progress.index, report, notes=sequences.notes)
        yield BuildingProgress(_say(progress), progress.fraction, built, report)


def _iter_sequences(path: Path) -> Iterator[OpeningProgress]:
    for progress in iter_read_sequences(path):
        fraction = progress.n_bytes / max(progress.n_bytes_total, 1)
        yield OpeningProgress(f"Reading {path.name}", fraction, progress.sequences)


def _iter_read_index(path: Path) -> Iterator[BuildingProgress]:
    """Read an index and check all of it, because a damaged one could crash the server."""
    yield BuildingProgress(f"Reading {path.name}")
    start = time.perf_counter()
    for progress in iter_read_any_index(path, mmap=RULES.snapshots):
        fraction = progress.n_bytes_done / max(progress.n_bytes_total, 1)
        seconds = {READING: time.perf_counter() - start}
        report = BuildReport(seconds, stage=READING, fraction=fraction, is_read=True)
        yield BuildingProgress(f"Reading {path.name}", fraction, report=report)
    found, pangenome, graph = progress.index, None, None
    if isinstance(found, PangenomeIndex):
        found, pangenome, graph = found.index, found, found.graph
    report = BuildReport(seconds, n_symbols=found.text.n_symbols, is_read=True)
    yield BuildingProgress("Ready", 1.0, BuiltIndex(found, report, pangenome, graph))


def iter_build_graph(graph: PangenomeGraph) -> Iterator[BuildingProgress]:
    """Build the index of the paths of a graph; the last has the `BuiltIndex`."""
    for progress in iter_build_pangenome_index(graph):
        report = _report_of(progress, {}, int(graph.path_lengths.sum()))
        built = None
        if progress.index is not None:
            whole = progress.index
            built = BuiltIndex(whole.index, report, whole, graph, graph.notes)
        yield BuildingProgress(_say(progress), progress.fraction, built, report)


def _report_of(progress: Any, reading: dict[str, float], n_bases: int) -> BuildReport:
    return BuildReport(
        {**reading, **progress.seconds},
        tuple(progress.tied_fractions),
        n_bases,
        "" if progress.index is not None else progress.stage,
        progress.fraction,
        blocks=BlockSizes.of(progress.block_sizes),
    )


def _say(progress: Any) -> str:
    return f"Building the index: {progress.stage[:1].lower()}{progress.stage[1:]}"
