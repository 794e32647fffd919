"""A genome as bit planes, cached in the user's cache folder for fast reopening."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from genoviz.generators import in_one_go, report
from genoviz.io.files import file_source
from genoviz.io.files.array_cache import Entry, load_entry, store_entry
from genoviz.io.files.file_source import Source, entry_folder
from genoviz.io.offtargets.genome_sequences import find_genome_files, iter_read_genome
from genoviz.model import ByteStrings, Sequences
from genoviz.model.offtargets.genome_planes import GenomePlanes

FORMAT = "genoviz genome planes"
VERSION = 2
GROUP = "genomes"

_NUMBERS = ("low", "high", "other", "letter_positions", "letters", "offsets", "masked")
_TEXTS = ("names", "descriptions")

Progress = tuple[int, int]


@dataclass(frozen=True)
class PlanesProgress:
    """Progress of reading a genome.

    Attributes
    ----------
    stage
        Current stage, e.g. ``"Reading sequences"``.
    n_bytes, n_bytes_total
        Bytes processed in this stage, and their total.
    planes
        The genome, in the last report only.
    notes
        What was treated specially, in the last report only.
    """

    stage: str
    n_bytes: int
    n_bytes_total: int
    planes: GenomePlanes | None = None
    notes: tuple[str, ...] = ()


def iter_read_genome_planes(
    path: str | PathLike[str],
    make_planes: Callable[[Sequences], GenomePlanes],
    *,
    cache: bool = True,
) -> Iterator[PlanesProgress]:
    """Yield the progress of reading a genome; the last report has its planes.

    Parameters
    ----------
    path
        A file of sequences (FASTA, plain or gzipped, or 2bit), or a folder of such files.
    make_planes
        `genoviz.make_genome_planes`.
    cache
        Whether to store the planes in the user's cache folder, and to memory-map them from there if
        no file has changed. Genomes below 1 MB are not cached.

    Raises
    ------
    FileFormatError
        If there are no sequences, or a file cannot be read.
    """
    path = Path(path)
    files, notes = find_genome_files(path)
    sources = _find_sources(files) if cache else None
    if sources:
        loading = load_entry(_folder(path), _facts(sources, notes))
        entry = yield from _report("Opening the saved genome", loading)
        planes = entry and _to_planes(entry)
        if planes is not None:
            n_bytes = sum(source.size for source in sources)
            yield PlanesProgress("Done", n_bytes, n_bytes, planes, tuple(entry.facts["notes"]))
            return
    for progress in iter_read_genome(path):
        if progress.sequences is None:
            yield PlanesProgress(progress.stage, progress.n_bytes, progress.n_bytes_total)
    n_bytes, sequences = progress.n_bytes_total, progress.sequences
    del progress
    yield PlanesProgress("Packing the genome", 0, n_bytes)
    planes, notes_of_all = make_planes(sequences), sequences.notes
    del sequences
    if sources and _find_sources(files) == sources:
        facts = _facts(sources, notes) | {"notes": list(notes_of_all)}
        storing = store_entry(_folder(path), Entry(facts, _to_arrays(planes)))
        yield from _report("Saving the genome for next time", storing)
    yield PlanesProgress("Done", n_bytes, n_bytes, planes, notes_of_all)


@in_one_go(iter_read_genome_planes)
def read_genome_planes(last: PlanesProgress) -> GenomePlanes:
    """Return the planes of a genome; see :func:`iter_read_genome_planes`."""
    return last.planes


def _find_sources(files: list[Path]) -> list[Source] | None:
    """Return the sources, or None if they are too small to cache or cannot be cached."""
    try:
        if sum(file.stat().st_size for file in files) < file_source.MIN_BYTES:
            return None
        return [Source.of(file) for file in files if file.is_file()]
    except OSError:
        return None


def _folder(path: Path) -> Path:
    return entry_folder(GROUP, path.resolve())


def _facts(sources: list[Source], notes: tuple[str, ...]) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "sources": [asdict(source) for source in sources],
        "notes_of_folder": list(notes),
    }


def _to_arrays(planes: GenomePlanes) -> dict[str, np.ndarray]:
    arrays = {name: getattr(planes, name) for name in _NUMBERS}
    for name in _TEXTS:
        texts = ByteStrings.from_texts(getattr(planes, name))
        arrays |= {f"{name}_data": texts.data, f"{name}_offsets": texts.offsets}
    return arrays


def _to_planes(entry: Entry) -> GenomePlanes | None:
    arrays = entry.arrays
    try:
        texts = {
            name: tuple(ByteStrings(arrays[f"{name}_data"], arrays[f"{name}_offsets"]))
            for name in _TEXTS
        }
        return GenomePlanes(**{name: arrays[name] for name in _NUMBERS}, **texts)
    # As with any damaged cache entry, a new one replaces it.
    except Exception:
        return None


def _report(
    stage: str, steps: Generator[Progress, None, Any]
) -> Generator[PlanesProgress, None, Any]:
    return report(steps, lambda step: PlanesProgress(stage, *step))
