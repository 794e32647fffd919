"""Reads of SAM, BAM and CRAM files as intervals: their aligned blocks.

A read is split at deletions (D) and skipped regions (N) of its CIGAR. Insertions and clipped bases
do not consume the reference. The depth therefore equals that of ``bedtools genomecov -split`` and,
with the default flags, that of ``samtools depth``.

References
----------
SAM specification, section 1.4, https://samtools.github.io/hts-specs/SAMv1.pdf
"""

from __future__ import annotations

import contextlib
import re
import sys
from array import array
from collections.abc import Callable, Generator, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from genoviz.errors import FileFormatError, n_words
from genoviz.io.files.compiled_errors import quiet_htslib
from genoviz.io.files.content import missing
from genoviz.io.files.optional import import_reader
from genoviz.io.intervals.index_files import READ_ENDINGS, check_index, find_index
from genoviz.io.text.encoding import check_whole_text
from genoviz.model import ByteStrings, Intervals, PathRegion

EXCLUDE_FLAGS = 1796
_BATCH = 1 << 16
_MAX_KEPT = 64
_UNMAPPED, _REVERSE = 4, 16
_NO_CONTIGS = "its header has no @SQ lines, needs those of the contigs that reads are aligned to"
_UNCLEAR = ("/dev/fd/", "does not have a valid header")  # what the library says of such files
_OPERATION = re.compile(r"(\d+)([MIDNSHP=XB])")
# Fields to decode from CRAM (flag, contig, position, quality, CIGAR); none needs the reference.
_CRAM_FIELDS = b"required_fields=0x3f"

Progress = tuple[str, int, int]


def read_blocks(
    path: Path,
    kind: str,
    *,
    find_region: Callable[[tuple[str, ...]], PathRegion] | None = None,
    exclude_flags: int = EXCLUDE_FLAGS,
    min_quality: int = 0,
    blocks: bool = True,
    names: bool = False,
    reference: Path | None = None,
    cuts: str = "DN",
    reads_of_blocks: list[np.ndarray] | None = None,
) -> Generator[Progress, None, Intervals]:
    """Return the blocks of the reads of a file; yields progress.

    Parameters
    ----------
    path
        The file.
    kind
        ``"sam"``, ``"bam"`` or ``"cram"``.
    find_region
        Function that is given the contigs and returns the region to read, using the index if there
        is one. None reads everything.
    exclude_flags
        Skip reads with any of these bits: unmapped (4), secondary (256), failed (512), duplicate
        (1024).
    min_quality
        Minimum mapping quality.
    blocks
        Whether to split reads at D and N, and to skip those without an aligned base (151I, 151S);
        otherwise each read is one interval from its first base to its last, possibly empty.
    names
        Whether to keep the reads' names.
    reference
        FASTA file of a CRAM; rarely needed.
    cuts
        CIGAR operations at which reads are split.
    reads_of_blocks
        List that receives one array: the read number of each block. Not available with a region.

    Raises
    ------
    FileFormatError
        If the file cannot be read or is damaged.
    """
    pysam = import_reader("pysam", "SAM, BAM and CRAM files")
    if kind == "sam":
        check_whole_text(path, b"@")
    n_bytes = path.stat().st_size if path.exists() else 0
    index = None if find_region is None else find_index(path, READ_ENDINGS[kind])
    notes = () if index is None else check_index(index, path)
    with quiet_htslib(pysam), _open(pysam, path, kind, reference, index) as file:
        taken = _Taken(exclude_flags, min_quality, blocks, names, cuts)
        contigs = _contigs_of(path, file)
        lengths = np.array(file.lengths, np.int64)
        region = None if find_region is None else find_region(contigs)
        try:
            reads = iter(_fetch(file, path, contigs, region, index is not None))
            while taken.take(islice(reads, _BATCH)):
                yield "Reading reads", _bytes_done(file, kind, n_bytes), n_bytes
        except (OSError, ValueError) as error:
            by = f" by its index {index.name}" if index else ""
            reason = "the next line is not a whole read" if kind == "sam" else error
            raise FileFormatError(
                path, f"cannot be read{by} beyond read {taken.n_seen:,}: {reason}"
            ) from error
    found = taken.intervals(contigs, lengths, notes)
    if reads_of_blocks is not None:
        reads_of_blocks.append(taken.read_of)
    return found if region is None else found.within(region.path, region.start, region.end)


def _contigs_of(path: Path, file: Any) -> tuple[str, ...]:
    try:
        return tuple(file.references)
    except UnicodeDecodeError as error:
        found = "has a contig whose name is not UTF-8, needs UTF-8"
        raise FileFormatError(path, found) from error


@contextlib.contextmanager
def _no_second_error() -> Iterator[None]:
    """Keep Python from writing that a file that could not be opened could not be closed either."""
    before = sys.unraisablehook, sys.excepthook
    sys.unraisablehook = sys.excepthook = lambda *_: None
    try:
        yield
    finally:
        sys.unraisablehook, sys.excepthook = before


@contextlib.contextmanager
def _open(
    pysam: Any, path: Path, kind: str, reference: Path | None, index: Path | None
) -> Iterator[Any]:
    # No threads: with them, the library may wait forever for the rest of a truncated file.
    options: dict[str, Any] = {} if index is None else {"index_filename": str(index)}
    if kind == "cram":
        options["format_options"] = [_CRAM_FIELDS]
        if reference is not None:
            options["reference_filename"] = str(reference)
    mode = {"sam": "r", "bam": "rb", "cram": "rc"}[kind]
    try:
        with path.open("rb") as opened:
            # By name, the library would find and use an index that has not been validated.
            name = str(path) if index else f"/dev/fd/{opened.fileno()}"
            with _no_second_error():
                file = pysam.AlignmentFile(name, mode, **options)
    except FileNotFoundError:
        raise missing(path) from None
    except (OSError, ValueError) as error:
        reason = _NO_CONTIGS if "no sequences defined" in str(error) else error
        if any(words in str(error) for words in _UNCLEAR):
            reason = "it is damaged, cut off, or has another format"
        raise FileFormatError(path, f"cannot be read as {kind.upper()}: {reason}") from error
    try:
        yield file
    finally:
        # After an error the library also fails to close, with a message that hides the first.
        with contextlib.suppress(OSError, ValueError):
            file.close()


def _fetch(
    file: Any, path: Path, contigs: tuple[str, ...], region: PathRegion | None, by_index: bool
) -> Iterator:
    if region is None:
        return file.fetch(until_eof=True)
    if region.path not in contigs:
        known = ", ".join(contigs[:3]) or "none at all"
        raise FileFormatError(path, f"has no contig {region.path!r}, it has {known}")
    if by_index:
        length = file.lengths[contigs.index(region.path)]
        # An overhanging read ends beyond its contig but starts on it.
        return file.fetch(region.path, min(region.start, length), min(region.end, length))
    return (read for read in file.fetch(until_eof=True) if read.reference_name == region.path)


def _bytes_done(file: Any, kind: str, n_bytes: int) -> int:
    """Return the number of BAM bytes read, from virtual offsets."""
    if kind != "bam":
        return 0
    return min(file.tell() >> 16, n_bytes)


class _Taken:
    """The reads collected so far.

    Each distinct CIGAR is parsed once, except long ones, which rarely repeat.
    """

    def __init__(
        self, exclude_flags: int, min_quality: int, blocks: bool, names: bool, cuts: str
    ) -> None:
        self.exclude_flags, self.min_quality = exclude_flags, min_quality
        self.blocks, self.cuts = blocks, cuts
        self.read_of = np.empty(0, np.int64)
        self.n_seen = 0
        self.contig_ids, self.starts, self.cigars = array("i"), array("q"), array("q")
        self.strands = array("b")
        self.names: list[str] | None = [] if names else None
        self.ranks: dict[str, int] = {}
        self.block_counts, self.block_table = array("q"), array("q")

    def take(self, reads: Iterator[Any]) -> bool:
        """Collect a batch of reads; return whether there were any."""
        add_contig, add_start = self.contig_ids.append, self.starts.append
        add_cigar, add_strand = self.cigars.append, self.strands.append
        find_rank, names = self.ranks.get, self.names
        unwanted, min_quality = self.exclude_flags | _UNMAPPED, self.min_quality
        n_before = self.n_seen
        for read in reads:
            self.n_seen += 1
            flag = read.flag
            if flag & unwanted or (min_quality and read.mapping_quality < min_quality):
                continue
            cigar = read.cigarstring
            if cigar is None:
                continue
            rank = find_rank(cigar)
            add_cigar(self._enter(cigar) if rank is None else rank)
            add_contig(read.reference_id)
            add_start(read.reference_start)
            add_strand(-1 if flag & _REVERSE else 1)
            if names is not None:
                names.append(read.query_name or "")
        return self.n_seen > n_before

    def _enter(self, cigar: str) -> int:
        rank = len(self.block_counts)
        found = cut_cigar(cigar, blocks=self.blocks, cuts=self.cuts)
        self.block_counts.append(len(found))
        for block in found:
            self.block_table.extend(block)
        if len(cigar) <= _MAX_KEPT:
            self.ranks[cigar] = rank
        return rank

    def intervals(
        self, contigs: tuple[str, ...], lengths: np.ndarray, notes: tuple[str, ...]
    ) -> Intervals:
        """Return the blocks, or whole reads."""
        counts = _as_array(self.block_counts, np.int64)
        table = _as_array(self.block_table, np.int64).reshape(-1, 2)
        cigars = _as_array(self.cigars, np.int64)
        n_of_read = counts[cigars]
        self.read_of = read_of = np.repeat(np.arange(len(cigars)), n_of_read)
        rank_in_read = np.arange(len(read_of)) - (np.cumsum(n_of_read) - n_of_read)[read_of]
        rows = (np.cumsum(counts) - counts)[cigars][read_of] + rank_in_read
        starts = _as_array(self.starts, np.int64)[read_of] + table[rows, 0]
        return Intervals(
            contigs,
            _as_array(self.contig_ids, np.int32)[read_of],
            starts,
            starts + table[rows, 1],
            strands=_as_array(self.strands, np.int8)[read_of],
            names=None if self.names is None else ByteStrings.from_texts(self.names).take(read_of),
            contig_lengths=lengths,
            notes=(self._note(int((table[rows, 1] == 0).sum() + (n_of_read == 0).sum())), *notes),
            n_reads=int((n_of_read > 0).sum()),
        )

    def _note(self, n_without_base: int) -> str:
        """Return a note; ``n_without_base`` reads have no aligned base."""
        rules = [f"-F {self.exclude_flags}"]
        if self.min_quality:
            rules.append(f"-q {self.min_quality}")
        rules.append(
            f"CIGAR cut at {' and '.join(self.cuts)}" if self.blocks else "from first base to last"
        )
        rules.append("mates not merged")
        n_taken = len(self.starts)
        taken = f"{n_taken:,} of {n_words(self.n_seen, 'read')} are taken"
        if n_without_base:
            if n_without_base == 1:
                have, count_as = "has", "covers nothing" if self.blocks else "is an empty interval"
            else:
                have, count_as = "have", "cover nothing" if self.blocks else "are empty intervals"
            taken += f", of which {n_without_base:,} {have} no aligned base and {count_as}"
        return f"Reads: {', '.join(rules)}; {taken}."


def _as_array(values: array, dtype: type) -> np.ndarray:
    return np.frombuffer(values, dtype) if len(values) else np.empty(0, dtype)


def cut_cigar(cigar: str, *, blocks: bool = True, cuts: str = "DN") -> list[tuple[int, int]]:
    """Return offset and length of each block of a CIGAR, in reference bp.

    Parameters
    ----------
    cigar
        As SAM writes it.
    blocks
        Whether to split; otherwise there is one block, of length 0 if no base is aligned, as in
        bedtools.
    cuts
        CIGAR operations to split at.

    Examples
    --------
    >>> cut_cigar("5S10M2I10M100N8M3D4M")
    [(0, 20), (120, 8), (131, 4)]
    >>> cut_cigar("5S10M2I10M100N8M3D4M", blocks=False)
    [(0, 135)]
    >>> cut_cigar("5S10M2I10M100N8M3D4M", cuts="N")
    [(0, 20), (120, 15)]
    """
    found: list[tuple[int, int]] = []
    at = begin = 0
    for length, operation in _OPERATION.findall(cigar):
        if operation in "M=X":
            at += int(length)
        elif operation in "DN":
            is_cut = blocks and operation in cuts
            if is_cut and at > begin:
                found.append((begin, at - begin))
            at += int(length)
            if is_cut:
                begin = at
    if at > begin or not blocks:
        found.append((begin, at - begin))
    return found
