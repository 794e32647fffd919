"""Reading FASTA and 2bit, packing bases, and opening an index that is kept in a file.

The peers return text as it is; ours also has it in upper case, knows what was soft-masked, and has
checked each letter.
"""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.human_like import make_human_like
from benchmarks.real_data import find_real_data
from benchmarks.rows import Row, make_row, median_seconds
from genoviz.analyses.sequences.fm_index import build_fm_index
from genoviz.analyses.sequences.index_text import make_index_text
from genoviz.io.sequences.fasta import write_fasta
from genoviz.io.sequences.fm_index import read_fm_index, verify_fm_index, write_fm_index
from genoviz.io.sequences.reader import read_sequences
from genoviz.model.sequences.sequences import Sequences

READING = "Reading sequences, against pysam and py2bit"
N_BASES = 250_000_000
N_CONTIGS = 5
MASKED = 0.5
MASKED_LENGTH = 300
UNKNOWN = 10_000
TWO_BIT = "genomes/sacCer3.2bit"


def measure(backend: str = "cpu") -> list[Row]:
    """Return the rates of reading and packing, and the times of index files; CPU only."""
    if backend != "cpu":
        return []
    records = make_records()
    with tempfile.TemporaryDirectory() as folder:
        rows = measure_fasta(Path(folder) / "genome.fa", records)
        if (path := find_real_data(TWO_BIT)) is not None:
            rows.append(measure_two_bit(path))
        sequences = Sequences.from_records(records)
        seconds = median_seconds(lambda: make_index_text(sequences))
        rows.append(
            make_row("Packing sequences", _size(), ours=N_BASES / seconds / 1e9, unit="GB/s")
        )
        return rows + measure_index_file(Path(folder) / "genome.gvfm", sequences)


def make_records() -> list[tuple[str, np.ndarray]]:
    """Return contigs with soft-masked stretches, and N at their beginnings."""
    generator = np.random.default_rng(1)
    letters = make_human_like(N_BASES)
    n_stretches = int(N_BASES * MASKED / MASKED_LENGTH)
    for start in generator.integers(0, N_BASES - MASKED_LENGTH, n_stretches).tolist():
        letters[start : start + MASKED_LENGTH] |= 32
    contigs = np.array_split(letters, N_CONTIGS)
    for contig in contigs:
        contig[:UNKNOWN] = ord("N")
    return [(f"chr{number}", contig) for number, contig in enumerate(contigs, start=1)]


def measure_fasta(path: Path, records: list[tuple[str, np.ndarray]]) -> list[Row]:
    """Return the rates of a plain and a gzipped file."""
    rows = []
    for file in (path, path.with_name(f"{path.name}.gz")):
        write_fasta(records, file)
        seconds = median_seconds(lambda file=file: read_sequences(file))
        peer = None
        if importlib.util.find_spec("pysam") is not None:
            peer = median_seconds(lambda file=file: _read_by_pysam(file), n_runs=3)
        rows.append(
            make_row(
                READING,
                f"FASTA{file.suffix.removeprefix('.fa')}, {_size()}",
                ours=N_BASES / seconds / 1e9,
                peer=None if peer is None else N_BASES / peer / 1e9,
                unit="Gbases/s",
                note="pysam.FastxFile, the sequences as str",
            )
        )
    return rows


def _read_by_pysam(path: Path) -> int:
    import pysam

    with pysam.FastxFile(str(path)) as file:
        return sum(len(record.sequence) for record in file)


def measure_two_bit(path: Path) -> Row:
    """Return the rate of a 2bit file."""
    n_bases = read_sequences(path).total_length
    seconds = median_seconds(lambda: read_sequences(path))
    peer = None
    if importlib.util.find_spec("py2bit") is not None:
        peer = median_seconds(lambda: _read_by_py2bit(path))
    return make_row(
        READING,
        f"2bit, {n_bases:,} bases",
        ours=n_bases / seconds / 1e9,
        peer=None if peer is None else n_bases / peer / 1e9,
        unit="Gbases/s",
        note="py2bit on one thread, the sequences as str with soft masking",
    )


def _read_by_py2bit(path: Path) -> int:
    import py2bit

    file = py2bit.open(str(path), True)
    return sum(len(file.sequence(name)) for name in file.chroms())


def measure_index_file(path: Path, sequences: Sequences) -> list[Row]:
    """Return the times of writing, opening and checking an index."""
    index = build_fm_index(sequences, backend="cpu")
    writing = median_seconds(lambda: write_fm_index(index, path), n_runs=3, n_warm_ups=0)
    opening = median_seconds(lambda: read_fm_index(path))
    checking = median_seconds(lambda: verify_fm_index(path), n_runs=3)
    case = f"{_size()}, {path.stat().st_size / 1e6:,.0f} MB"
    return [
        make_row("Index files", f"{what}, {case}", ours=seconds * 1e3, unit="ms", note=note)
        for what, seconds, note in (
            ("writing", writing, "until the disk has it"),
            ("opening", opening, "mapped to memory; small sections are checked"),
            ("checking every byte", checking, "CRC-32, in the cache of the system"),
        )
    ]


def _size() -> str:
    return f"{N_BASES:,} bases"
