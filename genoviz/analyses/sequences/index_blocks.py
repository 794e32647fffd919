"""Block-wise construction of the index of sequences within a memory limit."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from genoviz.analyses.sequences.fm_index import check_options, default_table_k
from genoviz.analyses.sequences.index_text import make_index_text
from genoviz.backend import Backend, array_module, check_devices, load_kernel, resolve_backend
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
# Above this, a sparser cover is better: it takes less memory, which allows larger blocks.
FEW_BLOCKS = 12
# Python, Numba and compiled code, and the page cache of the file being written.
PROCESS_BYTES = 400 << 20
READING_BYTES_A_BASE = 2.3
PINNED_BYTES = 1 << 25
# Enough blocks to keep each of several GPUs busy to the end.
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
    """Return an index that is built block by block while it is written.

    The suffix array is never in memory as a whole. Sorted random suffixes split it into blocks;
    each block is collected from the text, sorted, written and dropped. The work is done as the
    parts are requested, as by `write_index_in_parts`. The file equals that of `build_fm_index`.
    The work runs on all CPU cores, or on GPUs, each of which builds blocks.

    Parameters
    ----------
    sequences
        Sequences, or their text, which needs a quarter of the memory.
    memory
        Bytes that the process may use in total, text included; with GPUs, bytes per GPU.
    sample_rate, table_k, super_shift
        As for `build_fm_index`.
    seed
        Seed of the random suffixes. It does not affect the index.
    devices
        Numbers of the GPUs to use; the current one by default.
    backend
        ``"cpu"``, ``"cuda"``, or ``"auto"``: GPUs if there are any.

    Raises
    ------
    ParameterError
        If an option is out of range, devices are given for the CPU or do not exist, or the memory
        is too small; the message says how much is needed.
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
    block_rows, cover_bits, n_bytes = _plan(text, table_k, memory, backend)
    shape = _Shape(super_shift, table_k, sample_rate)
    kernel = load_kernel("suffix_sort", backend if text.n_symbols else "cpu")
    if backend == "cpu" or text.n_symbols == 0:
        numbers = text.n_symbols, text.exceptions, block_rows, cover_bits, seed
        parts = _iter_parts(text, kernel.iter_sort_blocks(text.packed, *numbers), shape)
    else:
        if devices is not None and len(devices) > 1:
            # The same number for each GPU, with some slack: blocks split only at first bases.
            n_each = max(-(-text.n_symbols // (block_rows * len(devices))), BLOCKS_PER_GPU)
            even = 1 + int(1.03 * text.n_symbols / (n_each * len(devices)))
            block_rows = min(block_rows, even)
        parts = _iter_parts_of_gpus(text, block_rows, cover_bits, devices, shape, kernel)
    n_blocks = -(-text.n_symbols // max(block_rows, 1))
    return IndexInParts(text, super_shift, sample_rate, table_k, n_blocks, n_bytes, parts)


class _Shape(NamedTuple):
    """Options that determine the array shapes of an index."""

    super_shift: int
    table_k: int
    sample_rate: int


def _plan(text: IndexText, table_k: int, memory: int, backend: Backend) -> tuple[int, int, int]:
    """Return the rows per block, the cover, and the memory that both need."""
    n, kernel = text.n_symbols, load_kernel("suffix_sort", backend)
    is_on_cpu = backend == "cpu"
    fixed = 2 * 4**table_k * np.dtype(row_dtype(n)).itemsize + 16 * len(text.exceptions)
    if is_on_cpu:
        arrays = [value for value in vars(text).values() if isinstance(value, np.ndarray)]
        fixed += PROCESS_BYTES + sum(array.nbytes for array in arrays) + SLICE_ROWS * 12

    def needed(block_rows: int, cover_bits: int) -> int:
        return fixed + kernel.needed_bytes(n, block_rows, cover_bits)

    def max_rows(cover_bits: int) -> int:
        low, high = 0, n
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (
                (middle, high) if needed(middle, cover_bits) <= memory else (low, middle - 1)
            )
        return low

    fewest = max(-(-n // MAX_BLOCKS), 1)
    minimum = min(needed(fewest, cover_bits) for cover_bits in COVER_BITS)
    if is_on_cpu:
        minimum = max(minimum, PROCESS_BYTES + int(READING_BYTES_A_BASE * text.total_length))
    if minimum > memory:
        raise ParameterError(
            f"an index of {text.n_bases:,} bases needs {-(-minimum // 10**7) / 100:,.2f} GB of "
            f"memory at least, is allowed {memory / 10**9:g} GB"
        )
    # A cover costs a GPU as much time as its share of the text; more bases cost little.
    bits = COVER_BITS if is_on_cpu else [bits for bits in COVER_BITS if bits >= 9]
    choices = [(max_rows(cover_bits), cover_bits) for cover_bits in bits]
    rows, cover_bits = next(
        (choice for choice in choices if choice[0] * FEW_BLOCKS >= n), max(choices)
    )
    return max(rows, 1), cover_bits, max(needed(max(rows, 1), cover_bits), minimum)


def _fraction(stage: str, n_done: int, n_total: int) -> float:
    low, high = _ENDS[stage]
    return low + (high - low) * n_done / max(n_total, 1)


def _iter_parts(
    text: IndexText,
    steps: Iterator[tuple[str, int, int, np.ndarray | None]],
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
        rows = rows.view()
        rows.flags.writeable = False  # some are, and for others the kernels would compile anew
        kernel.add_lines(flagged, rows, n_done >> LINE_BITS, counts, super_shift, lines, *filled)
        kernel.add_starts(flagged, rows, n_done, tables["start_table"])
        return IndexPart(stage, fraction, {"lines": lines, "samples": rows[::sample_rate]})

    for stage, *numbers, rows in steps:
        fraction = _fraction(stage, *numbers)
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
    """Return the arrays that are not built in parts, empty."""
    shapes = shapes_of_index(text, *shape)
    return {
        name: np.zeros(size, dtype)
        for name, (dtype, size) in shapes.items()
        if name not in ("lines", "samples")
    }


# On GPUs: lines are made where the rows are, and those at the ends of blocks later ---------------


def _iter_parts_of_gpus(
    text: IndexText,
    block_rows: int,
    cover_bits: int,
    devices: Sequence[int] | None,
    shape: _Shape,
    kernel: ModuleType,
) -> Iterator[IndexPart]:
    """Yield lines, samples and tables of blocks that GPUs sort."""
    joined = _JoinedParts(text, shape)
    steps = kernel.iter_sort_blocks(
        *(text.packed, text.n_symbols, text.exceptions, block_rows, cover_bits, 0),
        devices=devices,
        finish=lambda on_gpu, rows, first: _PartOfGpu(on_gpu, rows, first, text, shape),
        table_k=shape.table_k,
    )
    table = yield from joined.iter_parts(steps)
    yield IndexPart("blocks", _ENDS["blocks"][1], joined.last())
    if table is not None:
        for starts in joined.iter_pieces(table):
            yield IndexPart("table", _ENDS["blocks"][1], {"start_table": starts})
        del joined.tables["start_table"]
    yield IndexPart("table", 1.0, joined.tables)


class _PartOfGpu:
    """Result of a block on its GPU: whole lines and samples, and its first and last rows."""

    def __init__(self, on_gpu: Any, rows: Any, first: int, text: IndexText, shape: _Shape) -> None:
        self.source = (on_gpu.packed, on_gpu.excepted, text.n_symbols, on_gpu.exceptions)
        self.samples = rows[-first % shape.sample_rate :: shape.sample_rate].copy()
        begin = -(-first // LINE_ROWS) * LINE_ROWS - first
        end = max((first + len(rows)) // LINE_ROWS * LINE_ROWS - first, begin)
        self.device, self.lines = rows.device, None
        self.head, self.tail = rows[:begin].get(), rows[end:].get()
        if begin < end:
            self.lines = load_kernel("fm_index", "cuda").LinesOfRows(self.source, rows[begin:end])


class _JoinedParts:
    """Joins the results of consecutive blocks from the GPUs."""

    def __init__(self, text: IndexText, shape: _Shape) -> None:
        self.tables, self._super_shift = _empty_tables(text, shape), shape.super_shift
        begin_lines = load_kernel("fm_index", "cpu").begin_lines
        _, self._counts = begin_lines(text.packed, text.n_symbols, text.exceptions)
        self._xp = array_module("cuda")
        self._rows, self._n_lines = np.empty(0, row_dtype(text.n_symbols)), 0
        self._part: _PartOfGpu | None = None
        self._streams: dict[int, Any] = {}
        # Pinning takes as long as copying, so two buffers of a few MB are pinned and reused.
        pinned = self._xp.cuda.alloc_pinned_memory(2 * PINNED_BYTES)
        self._pinned = np.frombuffer(pinned, np.uint8, 2 * PINNED_BYTES).reshape(2, -1)

    def iter_parts(
        self, steps: Generator[tuple[str, int, int, _PartOfGpu | None], None, Any]
    ) -> Generator[IndexPart, None, Any]:
        """Yield lines and samples of blocks in order; return the value returned by the steps."""
        while True:
            try:
                stage, n_done, n_total, part = next(steps)
            except StopIteration as end:
                return end.value
            fraction = _fraction(stage, n_done, n_total)
            yield IndexPart(stage, fraction)
            for arrays in self._iter_arrays(part) if part is not None else ():
                yield IndexPart(stage, fraction, arrays)

    def _iter_arrays(self, part: _PartOfGpu) -> Iterator[dict[str, np.ndarray]]:
        self._part = part
        for samples in self.iter_pieces(part.samples):
            yield {"samples": samples}
        self._rows = np.concatenate([self._rows, part.head])
        if len(self._rows) >= LINE_ROWS:
            rows, self._rows = np.split(self._rows, [len(self._rows) // LINE_ROWS * LINE_ROWS])
            yield {"lines": self._make_lines(rows)}
        self._rows = np.concatenate([self._rows, part.tail])
        if part.lines is not None:
            with self._on(part.device):
                self._add(part.lines)
            for lines in self.iter_pieces(part.lines.lines):
                yield {"lines": lines}

    def last(self) -> dict[str, np.ndarray]:
        """Return the final lines."""
        return {} if self._part is None else {"lines": self._make_lines(self._rows, is_last=True)}

    @contextmanager
    def _on(self, device: Any) -> Iterator[Any]:
        """Use a GPU through a stream with a higher priority than the sorting stream."""
        with device:
            if device.id not in self._streams:
                stream = self._xp.cuda.Stream(non_blocking=True, priority=-1)
                self._streams[device.id] = stream
            with self._streams[device.id] as stream:
                yield stream

    def _make_lines(self, rows: np.ndarray, *, is_last: bool = False) -> np.ndarray:
        of_rows = load_kernel("fm_index", "cuda").LinesOfRows
        with self._on(self._part.device):
            made = of_rows(self._part.source, self._xp.asarray(rows), is_last)
            self._add(made)
            return made.lines.get()

    def _add(self, made: Any) -> None:
        """Append lines."""
        ids, n_before = made.exception_ids.get(), self._counts[4]
        self.tables["exception_ids"][n_before : n_before + len(ids)] = ids
        before = self._n_lines, self._super_shift, self._counts, self.tables["super_counts"]
        made.add_counts(*before)
        self._n_lines += len(made.lines)

    def iter_pieces(self, array: Any) -> Iterator[np.ndarray]:
        """Yield a GPU array in pieces, each until the next is asked for; copy one ahead."""
        n_rows = max(self._pinned.shape[1] * len(array) // max(array.nbytes, 1), 1)
        ahead = None
        for number, first in enumerate(range(0, len(array) + n_rows, n_rows)):
            copying, ahead = ahead, None
            if first < len(array):
                piece = array[first : first + n_rows]
                found = self._pinned[number % 2, : piece.nbytes].view(piece.dtype)
                with self._on(array.device) as stream:
                    piece.get(out=found.reshape(piece.shape), blocking=False)
                    ahead = found.reshape(piece.shape), stream.record()
            if copying is not None:
                copying[1].synchronize()
                yield copying[0]
