"""User input of k-mers: parsing, validation, packing, and counting of a few at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from genoviz.errors import ParameterError
from genoviz.model.sequences.fm_index import LINE_ROWS, FMIndex

LETTERS = "-ACMGRSVTWYHKDBN"
"""Letter of each set of bases; the index is a sum of A 1, C 2, G 4, T 8."""
NOT_A_LETTER = 255
MAX_BRANCHES = 4096
"""Default maximum of occurring sequences that an IUPAC k-mer may match."""
STRANDS = ("forward", "both", "canonical")
_BYTE_ORDER_MARK = "\ufeff"
MAX_LETTERS = 5_000
"""Takes some 20 milliseconds."""
_COMPLEMENTS = str.maketrans("ACGT", "TGCA")


def _set_table() -> np.ndarray:
    table = np.full(256, NOT_A_LETTER, np.uint8)
    for bases, letter in enumerate(LETTERS[1:], start=1):
        table[ord(letter)] = table[ord(letter.lower())] = bases
    table[ord("U")] = table[ord("u")] = table[ord("T")]
    return table


_SETS = _set_table()


@dataclass(frozen=True)
class Kmer:
    """A k-mer entered by a user.

    Attributes
    ----------
    letters
        A C G T and IUPAC codes, in upper case; U is read as T.
    name
        Header of the FASTA record, or "".
    """

    letters: str
    name: str = ""

    @property
    def is_ambiguous(self) -> bool:
        """Whether it has IUPAC codes that match several sequences."""
        return not set(self.letters) <= set("ACGT")


def parse_kmers(text: str) -> tuple[Kmer, ...]:
    r"""Parse k-mers separated by spaces, commas or lines, or FASTA records.

    Lines that begin with ``;`` or ``#`` are comments. Digits and spaces within the sequence of a
    FASTA record are ignored, as in database output.

    Raises
    ------
    ParameterError
        If there is no k-mer, or a letter is no IUPAC code; the message says which and where.

    Examples
    --------
    >>> parse_kmers("acgu, NNK")
    (Kmer(letters='ACGT', name=''), Kmer(letters='NNK', name=''))
    >>> parse_kmers(">primer 1\nACG\nTT")
    (Kmer(letters='ACGTT', name='primer 1'),)
    """
    text = text.removeprefix(_BYTE_ORDER_MARK)
    lines = [line for line in text.splitlines() if not line.lstrip().startswith((";", "#"))]
    first = next((line.strip() for line in lines if line.strip()), "")
    if first.startswith(">"):
        found = _parse_fasta(lines)
    else:
        found = [("", word) for word in re.split(r"[\s,;]+", "\n".join(lines)) if word]
    if not found:
        raise ParameterError("there is no k-mer; write A C G T or IUPAC codes")
    if not _are_letters([word for _, word in found]):
        for i, (name, word) in enumerate(found):
            _check_letters(word, _say_which(i, name))
    letters = " ".join(word for _, word in found).upper().replace("U", "T").split(" ")
    return tuple(Kmer(word, name) for word, (name, _) in zip(letters, found, strict=True))


def _are_letters(words: list[str]) -> bool:
    """Return whether all words are non-empty and have known letters only, in one pass."""
    written = np.frombuffer("".join(words).encode("latin-1", "replace"), np.uint8)
    return all(words) and bool((_SETS[written] != NOT_A_LETTER).all())


def _parse_fasta(lines: list[str]) -> list[tuple[str, str]]:
    found: list[tuple[str, list[str]]] = []
    for line in lines:
        if line.lstrip().startswith(">"):
            found.append((line.strip()[1:].strip(), []))
        elif found:
            found[-1][1].append(re.sub(r"[\s\d]+", "", line))
    return [(name, "".join(parts)) for name, parts in found]


def _say_which(i: int, name: str = "") -> str:
    return f"k-mer {i + 1:,} ({name})" if name else f"k-mer {i + 1:,}"


def _check_letters(word: str, which: str) -> None:
    if not word:
        raise ParameterError(f"{which} has no letters; needs A C G T or IUPAC codes")
    try:
        sets = _SETS[np.frombuffer(word.encode("latin-1"), np.uint8)]
    except UnicodeEncodeError as error:
        raise _bad_letter(word, error.start, which) from None
    if sets.max() == NOT_A_LETTER:
        raise _bad_letter(word, int(sets.argmax()), which)


def _bad_letter(word: str, at: int, which: str) -> ParameterError:
    return ParameterError(
        f"{which}, position {at + 1:,}: {word[at]!r} stands for no base; "
        f"needs A C G T U or one of R Y S W K M B D H V N"
    )


@dataclass(frozen=True, eq=False, repr=False)
class PackedKmers:
    """K-mers of A C G T with two bits per base; the fastest to search.

    Parameters
    ----------
    words
        uint64, shape (n, n_words): word 0 has the last 32 bases, word 1 those before, and so on;
        the last base of a word is in its lowest bits. A is 0, C 1, G 2, T 3; unused bits are 0.
    lengths
        int32, shape (n,): number of bases, 1 to ``32 * n_words``.

    Raises
    ------
    ParameterError
        If the arrays do not match.
    """

    words: np.ndarray
    lengths: np.ndarray

    def __post_init__(self) -> None:
        words, lengths = self.words, self.lengths
        if words.dtype != np.uint64 or words.ndim != 2 or len(words) != len(lengths):
            raise ParameterError(
                f"words are {words.dtype} {words.shape}, need uint64 ({len(lengths)}, n_words)"
            )
        if lengths.dtype != np.int32 or lengths.ndim != 1:
            raise ParameterError(f"lengths are {lengths.dtype}, need int32 of one dimension")
        if len(lengths) and not 1 <= lengths.min() <= lengths.max() <= 32 * words.shape[1]:
            raise ParameterError(
                f"lengths are {lengths.min():,} to {lengths.max():,}, need 1 to "
                f"{32 * words.shape[1]:,}, the bases that words have room for"
            )

    def __len__(self) -> int:
        return len(self.lengths)

    def __repr__(self) -> str:
        return f"PackedKmers({len(self):,} k-mers)"


@dataclass(frozen=True, eq=False)
class KmerSets:
    """Concatenated k-mers as sets of bases.

    Attributes
    ----------
    sets
        uint8, shape (total_length,): sums of A 1, C 2, G 4, T 8.
    offsets
        int64, shape (n + 1,).
    """

    sets: np.ndarray
    offsets: np.ndarray


def read_kmer_sets(kmers: Sequence[str | bytes | Kmer]) -> KmerSets:
    """Return k-mers as sets of bases.

    Raises
    ------
    ParameterError
        If a k-mer is empty or has a letter that is no IUPAC code; the message says where.
    """
    try:
        words, joint = kmers, "".join(kmers).encode("latin-1")
    except (TypeError, UnicodeEncodeError):
        words, joint = _join_mixed(kmers)
    offsets = np.zeros(len(words) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, words), np.int64, len(words)), out=offsets[1:])
    sets = _SETS[np.frombuffer(joint, np.uint8)]
    if len(sets) and sets.max() == NOT_A_LETTER:
        at = int(sets.argmax())
        i = int(np.searchsorted(offsets, at, side="right")) - 1
        word = joint[offsets[i] : offsets[i + 1]].decode("latin-1")
        raise _bad_letter(word, at - int(offsets[i]), _say_which(i))
    if (offsets[1:] == offsets[:-1]).any():
        i = int((offsets[1:] == offsets[:-1]).argmax())
        raise ParameterError(f"{_say_which(i)} has no letters; needs A C G T or IUPAC codes")
    return KmerSets(sets, offsets)


def _join_mixed(kmers: Sequence[str | bytes | Kmer]) -> tuple[list[str], bytes]:
    words = [kmer.letters if isinstance(kmer, Kmer) else kmer for kmer in kmers]
    words = [word.decode("latin-1") if isinstance(word, bytes) else word for word in words]
    try:
        return words, "".join(words).encode("latin-1")
    except UnicodeEncodeError:
        for i, word in enumerate(words):
            _check_letters(word, _say_which(i))
        raise


def are_few(kmers: Sequence[Kmer]) -> bool:
    """Return whether k-mers are few, short, and without IUPAC codes."""
    n_letters = sum(len(kmer.letters) for kmer in kmers)
    return n_letters <= MAX_LETTERS and not any(kmer.is_ambiguous for kmer in kmers)


def turn(letters: str) -> str:
    """Return the reverse complement of a k-mer of A C G T."""
    return letters[::-1].translate(_COMPLEMENTS)


def count_few(
    index: FMIndex,
    kmers: Sequence[Kmer],
    *,
    strand: str = "both",
    check_line: Callable[[int], None] = lambda line: None,  # noqa: ARG005
) -> np.ndarray:
    """Return the counts of k-mers of A C G T, as `count_kmers`; int64, shape (n,).

    For a single look-up from the shell, without compiled code. The kernels count millions of
    k-mers per second, but loading Numba takes most of a second. The search is that of
    ``genoviz.kernels.fm_index``. ``check_line`` is called with each line of the index before use.
    """
    counts = []
    for kmer in kmers:
        turned = turn(kmer.letters)
        n = len(find_few_rows(index, kmer.letters, check_line))
        if strand != "forward" and turned != kmer.letters:
            n += len(find_few_rows(index, turned, check_line))
        counts.append(n)
    return np.array(counts, np.int64)


def find_few_rows(
    index: FMIndex,
    letters: str,
    check_line: Callable[[int], None] = lambda line: None,  # noqa: ARG005
) -> range:
    """Return the row range of a k-mer of A C G T; parameters as for `count_few`."""
    first, last = 0, index.n_symbols
    for letter in reversed(letters):
        symbol = "ACGT".index(letter)
        for row in (first, last):
            check_line(row // LINE_ROWS)
        first, last = (_next_row(index, symbol, row) for row in (first, last))
        if first >= last:
            return range(0)
    return range(first, last)


def locate_few_rows(index: FMIndex, rows: Sequence[int], max_steps: int) -> np.ndarray | None:
    """Return the text positions of rows, int64; None if that takes too many steps.

    The LF walk to the next sampled row is that of ``genoviz.kernels.fm_index``.
    """
    positions, n_left, exceptions = [], max_steps, index.text.exceptions
    for start in rows:
        row, n_steps, position = start, 0, -1
        while position < 0:
            if row % index.sample_rate == 0:
                position = int(index.samples[row // index.sample_rate])
                break
            symbol, n_before = _symbol_of(index, row)
            if symbol == NOT_A_LETTER:
                exception = int(index.exception_ids[n_before])
                is_last = exception == len(exceptions) - 1
                position = 0 if is_last else int(exceptions[exception]) + 1
                break
            row, n_steps, n_left = _next_row(index, symbol, row), n_steps + 1, n_left - 1
            if n_left < 0:
                return None
        positions.append(position + n_steps)
    return np.array(positions, np.int64)


def _symbol_of(index: FMIndex, row: int) -> tuple[int, int]:
    """Return the symbol of a row, or NOT_A_LETTER and the number of exceptions before it."""
    line, in_line = divmod(row, LINE_ROWS)
    words = index.lines[line].tolist()
    low, high, exception = (words[k] | words[k + 1] << 64 for k in (2, 4, 6))
    if not exception >> in_line & 1:
        return (low >> in_line & 1) | (high >> in_line & 1) << 1, 0
    # All rows except those that begin with a base are exceptions.
    n_bases = sum(
        _next_row(index, symbol, row) - int(index.super_counts[0, symbol]) for symbol in range(4)
    )
    return NOT_A_LETTER, row - n_bases


def _next_row(index: FMIndex, symbol: int, row: int) -> int:
    """Return the LF mapping: rows with smaller symbols plus occurrences before the row."""
    line, in_line = divmod(row, LINE_ROWS)
    words = index.lines[line].tolist()
    low, high, exception = (words[k] | words[k + 1] << 64 for k in (2, 4, 6))
    found = (low if symbol & 1 else ~low) & (high if symbol & 2 else ~high) & ~exception
    before = words[symbol >> 1] >> 32 * (symbol & 1) & 0xFFFFFFFF
    before += int(index.super_counts[line >> index.super_shift, symbol])
    return before + (found & ((1 << in_line) - 1)).bit_count()
