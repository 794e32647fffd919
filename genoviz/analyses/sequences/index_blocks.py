"""Building the index of sequences block by block, within a given memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from genoviz.analyses.sequences.fm_index import check_options, default_table_k
from genoviz.analyses.sequences.index_text import make_index_text
from genoviz.backend import (
    Backend,
    array_module,
    check_devices,
    load_kernel,
    resolve_backend,
    use_device,
)
from genoviz.errors import ParameterError
from genoviz.kernels.fm_index import LINE_BITS, SUPER_SHIFT
from genoviz.kernels.suffix_sort import COVER_BITS, row_dtype
from genoviz.model.sequences.fm_index import (
    LINE_ROWS,
    LINE_WORDS,
    IndexInParts,
    IndexPart,
    shapes_of_index,
)
from genoviz.model.sequences.index_text import IndexText
from genoviz.model.sequences.sequences import Sequences

SLICE_ROWS = 1 << 22
MAX_BLOCKS = 128
# With more blocks, a cover of fewer suffixes leaves more memory to each, and that is worth more.
FEW_BLOCKS = 12
# Python, Numba and its compiled loops; and what the system keeps of the file while it is written.
PROCESS_BYTES = 400 << 20
READING_BYTES_A_BASE = 2.3
# Of a GPU's lines, which begin and end at whole ones of these; the rows between are few.
ALIGNED_LINE_BITS = 6
PINNED_BYTES = 1 << 25
# So many blocks keep each of several GPUs busy to the end.
BLOCKS_PER_GPU = 4
_ENDS = {"cover": (0.0, 0.12), "splitters": (0.12, 0.17), "blocks": (0.17, 0.99)}


def build_index_in_parts(
    sequences: Sequences | IndexText,
    *,
    memory: int,
    sample_rate: int = 1,
    table_k: int | None = None,
    super_shift: int = SUPER_SHIFT,
    seed: int = 0,
    devices: Sequence[int] | None = None,
    backend: Backend = "cpu",
) -> IndexInParts:
    """Return the index of sequences, to be built block by block while it is written.

    The suffix array is never in memory: suffixes chosen at random and sorted cut it into blocks,
    and each is collected from the text, sorted, written and forgotten. The work is done as the
    parts are asked for, as `write_index_in_parts` does; the file is the same as that of
    `build_fm_index`. On all cores, or on GPUs, of which each makes blocks.

    Parameters
    ----------
    sequences
        Sequences, or the text of them, which needs a quarter of the memory.
    memory
        Bytes that the process may take in all, with the text; of each GPU's memory, with GPUs.
    sample_rate, table_k, super_shift
        As of `build_fm_index`.
    seed
        Of the random suffixes. It does not change the index.
    devices
        Numbers of GPUs that work on it together; by default the current one.
    backend
        ``"cpu"``, ``"cuda"``, or ``"auto"``: GPUs where there are any.

    Raises
    ------
    ParameterError
        If an option is out of range, devices are named for the CPU or are not there, or the memory
        is not enough; says how much is.
    BackendError
        As `genoviz.backend.resolve_backend`.

    References
    ----------
    Kärkkäinen 2007, Fast BWT in small space by blockwise suffix sorting,
    doi:10.1016/j.tcs.2007.07.018.

    Examples
    --------
    >>> genome = Sequences.from_records([("chr1", "GATTACATTACAN")])
    >>> index = build_index_in_parts(genome, memory=10**9)
    >>> [part.stage for part in index.parts][-1]
    'table'
    """
    check_options(sample_rate, table_k, super_shift)
    text = sequences
    if not isinstance(text, IndexText):
        text = make_index_text(text)
    if table_k is None:
        table_k = default_table_k(text.n_symbols)
    backend = resolve_backend(backend)
    if devices is not None:
        check_devices(devices, backend)
    kernel = load_kernel("suffix_sort", backend)
    block_rows, cover_bits, n_bytes = _plan(text, table_k, memory, kernel)
    shape = _Shape(super_shift, table_k, sample_rate)
    if backend == "cpu":
        rows = _iter_rows(text, block_rows, cover_bits, seed, kernel)
        parts = _iter_parts(text, rows, shape)
    else:
        if devices is not None and len(devices) > 1:
            even = -(-text.n_symbols // (BLOCKS_PER_GPU * len(devices)))
            block_rows = min(block_rows, max(even, 1))
        parts = _iter_parts_of_gpus(text, block_rows, cover_bits, devices, shape, kernel)
    n_blocks = -(-text.n_symbols // max(block_rows, 1))
    return IndexInParts(text, super_shift, sample_rate, table_k, n_blocks, n_bytes, parts)


class _Shape(NamedTuple):
    """What decides of the shapes of an index."""

    super_shift: int
    table_k: int
    sample_rate: int


def _plan(text: IndexText, table_k: int, memory: int, kernel: ModuleType) -> tuple[int, int, int]:
    """Return how many rows a block may have, which cover to take, and the memory of both."""
    n = text.n_symbols
    is_on_cpu = kernel is load_kernel("suffix_sort", "cpu")
    fixed = 2 * 4**table_k * np.dtype(row_dtype(n)).itemsize + 16 * len(text.exceptions)
    if is_on_cpu:
        arrays = [value for value in vars(text).values() if isinstance(value, np.ndarray)]
        fixed += PROCESS_BYTES + sum(array.nbytes for array in arrays) + SLICE_ROWS * 12

    def needed(block_rows: int, cover_bits: int) -> int:
        return fixed + kernel.needed_bytes(n, block_rows, cover_bits)

    def most_rows(cover_bits: int) -> int:
        low, high = 0, n
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (
                (middle, high) if needed(middle, cover_bits) <= memory else (low, middle - 1)
            )
        return low

    fewest = max(-(-n // MAX_BLOCKS), 1)
    least = min(needed(fewest, cover_bits) for cover_bits in COVER_BITS)
    if is_on_cpu:
        least = max(least, PROCESS_BYTES + int(READING_BYTES_A_BASE * text.total_length))
    if least > memory:
        raise ParameterError(
            f"an index of {text.n_bases:,} bases needs {-(-least // 10**7) / 100:,.2f} GB of "
            f"memory at least, is allowed {memory / 10**9:g} GB"
        )
    # A cover takes a GPU as long as its share of the text, and more bases hardly anything.
    bits = COVER_BITS if is_on_cpu else [bits for bits in COVER_BITS if bits >= 9]
    choices = [(most_rows(cover_bits), cover_bits) for cover_bits in bits]
    rows, cover_bits = next(
        (choice for choice in choices if choice[0] * FEW_BLOCKS >= n), max(choices)
    )
    return max(rows, 1), cover_bits, max(needed(max(rows, 1), cover_bits), least)


def _iter_rows(
    text: IndexText, block_rows: int, cover_bits: int, seed: int, kernel: ModuleType
) -> Iterator[tuple[str, float, np.ndarray | None]]:
    steps = kernel.iter_sort_blocks(
        text.packed, text.n_symbols, text.exceptions, block_rows, cover_bits, seed
    )
    for stage, n_done, n_total, rows in steps:
        low, high = _ENDS[stage]
        yield stage, low + (high - low) * n_done / max(n_total, 1), rows


def _iter_parts(
    text: IndexText,
    steps: Iterator[tuple[str, float, np.ndarray | None]],
    shape: _Shape,
) -> Iterator[IndexPart]:
    """Yield lines, samples and tables of the rows of the suffix array."""
    kernel = load_kernel("fm_index", "cpu")
    super_shift, _, sample_rate = shape
    tables = _empty_tables(text, shape)
    flagged, counts = kernel.begin_lines(text.packed, text.n_symbols, text.exceptions)
    kept = np.empty(max(SLICE_ROWS, sample_rate), row_dtype(text.n_symbols))
    n_kept, n_done, fraction = 0, 0, 0.0

    def part(stage: str, rows: np.ndarray, n_lines: int) -> IndexPart:
        lines = np.empty((n_lines, LINE_WORDS), np.uint64)
        filled = tables["super_counts"], tables["exception_ids"]
        first_line = n_done >> LINE_BITS
        kernel.add_lines(flagged, rows, first_line, counts, super_shift, lines, *filled)
        kernel.add_starts(flagged, rows, n_done, tables["start_table"])
        return IndexPart(stage, fraction, {"lines": lines, "samples": rows[::sample_rate]})

    for stage, fraction, rows in steps:
        yield IndexPart(stage, fraction)
        n_taken = 0
        while rows is not None and n_taken < len(rows):
            taken = rows[n_taken : n_taken + len(kept) - n_kept]
            kept[n_kept : n_kept + len(taken)] = taken
            n_taken += len(taken)
            n_kept += len(taken)
            if n_kept == len(kept):
                yield part(stage, kept, n_kept >> LINE_BITS)
                n_done += n_kept
                n_kept = 0
    yield part("blocks", kept[:n_kept], (n_kept >> LINE_BITS) + 1)
    yield IndexPart("table", 1.0, tables)


def _empty_tables(text: IndexText, shape: _Shape) -> dict[str, np.ndarray]:
    """Return the arrays that are not there in parts."""
    shapes = shapes_of_index(text, *shape)
    return {
        name: np.zeros(size, dtype)
        for name, (dtype, size) in shapes.items()
        if name not in ("lines", "samples")
    }


# On GPUs: lines are made where the rows are; the host makes those at the ends of blocks ----------


def _iter_parts_of_gpus(
    text: IndexText,
    block_rows: int,
    cover_bits: int,
    devices: Sequence[int] | None,
    shape: _Shape,
    kernel: ModuleType,
) -> Iterator[IndexPart]:
    """Yield lines, samples and tables of blocks that GPUs sort."""
    edge = _Edge(text, shape)
    steps = kernel.iter_sort_blocks(
        *(text.packed, text.n_symbols, text.exceptions, block_rows, cover_bits, 0),
        devices=devices,
        finish=lambda on_gpu, rows, first: _PartOfGpu(on_gpu, rows, first, text, shape),
        start_table=edge.tables["start_table"],
    )
    for stage, n_done, n_total, part in steps:
        low, high = _ENDS[stage]
        fraction = low + (high - low) * n_done / max(n_total, 1)
        yield IndexPart(stage, fraction)
        if part is not None:
            for arrays in edge.add(part):
                yield IndexPart(stage, fraction, arrays)
    yield IndexPart("blocks", _ENDS["blocks"][1], edge.last())
    yield IndexPart("table", 1.0, edge.tables)


class _PartOfGpu:
    """What a block becomes on its GPU: whole lines and samples; its first and last rows as such."""

    def __init__(self, on_gpu: Any, rows: Any, first: int, text: IndexText, shape: _Shape) -> None:
        unit = LINE_ROWS << min(shape.super_shift, ALIGNED_LINE_BITS)
        begin, end = -(-first // unit) * unit, (first + len(rows)) // unit * unit
        self.first_line, self.device = begin // LINE_ROWS, rows.device
        rate = shape.sample_rate
        self.samples, self.lines = rows[-first % rate :: rate].copy(), None
        if begin >= end:
            self.head, self.tail = rows.get(), rows[:0].get()
            return
        self.head, self.tail = rows[: begin - first].get(), rows[end - first :].get()
        exceptions = on_gpu.exceptions
        source = (on_gpu.packed, on_gpu.excepted, text.n_symbols, exceptions)
        of_rows = load_kernel("fm_index", "cuda").LinesOfRows
        self.lines = of_rows(source, rows[begin - first : end - first])


class _Edge:
    """Where lines end that are done, and what comes before the next."""

    def __init__(self, text: IndexText, shape: _Shape) -> None:
        self.shape, self.tables = shape, _empty_tables(text, shape)
        self._cpu = load_kernel("fm_index", "cpu")
        self._text, self._counts = self._cpu.begin_lines(
            text.packed, text.n_symbols, text.exceptions
        )
        self._rows = np.empty(0, row_dtype(text.n_symbols))
        self._n_lines = 0
        # The system locks what GPUs copy to, which takes as long as copying itself: a few MB.
        pinned = array_module("cuda").cuda.alloc_pinned_memory(PINNED_BYTES)
        self._pinned = np.frombuffer(pinned, np.uint8, PINNED_BYTES)

    def add(self, part: _PartOfGpu) -> Iterator[dict[str, np.ndarray]]:
        """Yield the lines and samples of a block that comes next."""
        tables, super_shift = self.tables, self.shape.super_shift
        with use_device(part.device.id):
            for samples in self._pieces(part.samples):
                yield {"samples": samples}
            self._rows = np.concatenate([self._rows, part.head])
            unit = 1 << min(super_shift, ALIGNED_LINE_BITS)
            while len(self._rows) >= unit * LINE_ROWS:
                rows, self._rows = np.split(self._rows, [unit * LINE_ROWS])
                yield self._make_lines(rows, unit)
            if part.lines is not None:
                ids, n_before = part.lines.exception_ids.get(), self._counts[4]
                tables["exception_ids"][n_before : n_before + len(ids)] = ids
                before = (part.first_line, super_shift, self._counts, tables["super_counts"])
                part.lines.add_counts(*before)
                self._n_lines = part.first_line + len(part.lines.lines)
                self._rows = part.tail
                for lines in self._pieces(part.lines.lines):
                    yield {"lines": lines}

    def _pieces(self, array: Any) -> Iterator[np.ndarray]:
        """Yield an array of a GPU piece by piece, each in place of the one before."""
        row_bytes = array.nbytes // max(len(array), 1)
        for first in range(0, len(array), PINNED_BYTES // max(row_bytes, 1)):
            piece = array[first : first + PINNED_BYTES // row_bytes]
            found = self._pinned[: piece.nbytes].view(piece.dtype).reshape(piece.shape)
            piece.get(out=found)
            yield found

    def last(self) -> dict[str, np.ndarray]:
        """Return the last lines."""
        return self._make_lines(self._rows, len(self._rows) // LINE_ROWS + 1)

    def _make_lines(self, rows: np.ndarray, n_lines: int) -> dict[str, np.ndarray]:
        lines = np.empty((n_lines, LINE_WORDS), np.uint64)
        filled = self.tables["super_counts"], self.tables["exception_ids"]
        before = self._n_lines, self._counts, self.shape.super_shift
        self._cpu.add_lines(self._text, rows, *before, lines, *filled)
        self._n_lines += n_lines
        return {"lines": lines}
