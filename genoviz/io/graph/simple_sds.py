"""The containers of simple-sds files: vectors, packed integers, sets of integers and strings.

A file is a sequence of *elements*, unsigned little-endian 64-bit integers. Every size in a file is
checked against the rest of the file before memory of that size is allocated.

References
----------
Simple-SDS serialization format: SERIALIZATION.md of jltsiren/simple-sds
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numba import njit

from genoviz.errors import FileFormatError
from genoviz.io.files.optional import import_reader
from genoviz.io.files.reading_rules import RULES, show_bytes
from genoviz.io.graph.packed_letters import PackedLetters, integer_at
from genoviz.model import ByteStrings
from genoviz.model.columns import iter_row_slices

ZSTD_MAGIC = 0xFD2FB528
_MAX_PACKED = 1 << 17  # Zstandard packs 128 kB of one byte into four bytes.
_FREE_BYTES = 256 << 20
_SLICE = 16 << 20


@dataclass
class ElementReader:
    """Reads one container after the other; ``at`` is the next element.

    Parameters
    ----------
    path
        The file, for error messages.
    content
        uint8, shape (n_bytes,): all of it.
    """

    path: Path
    content: np.ndarray
    at: int = 0

    def __post_init__(self) -> None:
        self.words = self.content[: len(self.content) & ~7].view("<u8")

    def refuse(self, found: str) -> FileFormatError:
        """Return the error for what was found."""
        return FileFormatError(self.path, found)

    def damaged(self, what: str) -> FileFormatError:
        """Return the error for a damaged container."""
        return self.refuse(f"{what} is damaged near byte {8 * self.at:,}, needs the whole file")

    def element(self) -> int:
        """Return the next element."""
        return int(self.elements(1)[0])

    def halves(self) -> tuple[int, int]:
        """Return the two halves of the next element."""
        value = self.element()
        return value & 0xFFFFFFFF, value >> 32

    def elements(self, n: int) -> np.ndarray:
        """Return the next elements, as a view of the file; uint64."""
        if n > len(self.words) - self.at:
            raise self.refuse(
                f"ends after {len(self.content):,} bytes, within what it holds (truncated or "
                "damaged file), needs the whole file"
            )
        self.at += n
        return self.words[self.at - n : self.at]

    def skip_option(self) -> None:
        """Skip an optional structure."""
        self.elements(self.element())

    def byte_vector(self) -> np.ndarray:
        """Return a vector of bytes; uint8."""
        n = self.element()
        return self.elements((n + 7) >> 3).view(np.uint8)[:n]

    def bits(self, what: str, expected: int | None = None) -> tuple[np.ndarray, int]:
        """Return the elements of a raw bit vector, and its number of bits."""
        n = self.element()
        n_words = self.element()
        if n_words != (n + 63) >> 6 or n != (n if expected is None else expected):
            raise self.damaged(what)
        words = self.elements(n_words)
        if n & 63 and int(words[-1]) >> (n & 63):
            raise self.damaged(what)
        return words, n

    def packed(self, what: str) -> tuple[np.ndarray, int, int]:
        """Return the elements of an integer vector, its length and its width in bits."""
        n, width = self.element(), self.element()
        if not 1 <= width <= 64:
            raise self.damaged(what)
        return self.bits(what, n * width)[0], n, width

    def integers(self, what: str) -> np.ndarray:
        """Return an integer vector; int64."""
        words, n, width = self.packed(what)
        bits = np.unpackbits(words.view(np.uint8), count=n * width, bitorder="little")
        places = np.int64(1) << np.arange(width, dtype=np.int64)
        return bits.reshape(n, width).astype(np.int64) @ places

    def integer_set(self, what: str) -> tuple[np.ndarray, int]:
        """Return the ascending values of a sparse vector, and its length."""
        length, n_ones = self.element(), self.element()
        high, n_bits = self.bits(what)
        for _ in range(3):
            self.skip_option()
        low, n, width = self.packed(what)
        values = np.empty(n, np.int64)
        if n != n_ones or length > 1 << 62 or (n and width > 62):
            raise self.damaged(what)
        if n and not _join_parts(high, n_bits, low, width, length, values):
            raise self.damaged(what)
        return values, length

    def strings(self, what: str) -> ByteStrings:
        """Return an array of strings."""
        data, offsets = self.letters(what)
        return ByteStrings(data[:], offsets)

    def letters(
        self, what: str, *, is_compressed: bool = False, wants: bool = True
    ) -> tuple[np.ndarray | PackedLetters | None, np.ndarray]:
        """Return the letters of an array of strings, and where each begins and the last ends.

        A slice of the letters is uint8. With ``wants=False`` there are none.
        """
        starts, _ = self.integer_set(what)
        if len(starts) and starts[0] != 0:
            raise self.damaged(what)
        if is_compressed:
            n_bytes = self.element()
            packed = self.byte_vector()
            data = self._unpacked(what, packed, n_bytes) if wants else None
        else:
            alphabet = self.byte_vector()
            words, n_bytes, width = self.packed(what)
            if width > 8 or len(alphabet) > 256:
                raise self.damaged(what)
            data = PackedLetters(words, width, alphabet, n_bytes, self.damaged(what))
            data = data if wants else None
        if (len(starts) == 0 and n_bytes) or (len(starts) and starts[-1] > n_bytes):
            raise self.damaged(what)
        return data, np.append(starts, n_bytes)

    def _unpacked(self, what: str, packed: np.ndarray, n_bytes: int) -> np.ndarray:
        """Return the bytes decompressed by Zstandard."""
        self.check_ratio(n_bytes, len(packed))
        if n_bytes > len(packed) * _MAX_PACKED:
            raise self.damaged(what)
        zstandard = import_reader("zstandard", "GBZ files of version 2 and 3")
        data = np.empty(n_bytes, np.uint8)
        n_done = 0
        try:
            with zstandard.ZstdDecompressor().stream_reader(packed.data) as stream:
                while n_read := stream.readinto(data[n_done : n_done + _SLICE].data):
                    n_done += n_read
                extra = stream.read(1)
        except zstandard.ZstdError as error:
            raise self.refuse(f"{what} cannot be decompressed ({error})") from error
        if n_done != n_bytes or extra:
            raise self.damaged(what)
        return data

    def zstandard_bytes(self, what: str, n_bytes: int) -> np.ndarray:
        """Return a compressed vector of ``n_bytes``; its size may precede it."""
        if self.at + 1 < len(self.words) and int(self.words[self.at]) == n_bytes:
            after = int(self.words[self.at + 1]) & 0xFFFFFFFF
            if after != ZSTD_MAGIC:
                self.at += 1
        return self._unpacked(what, self.byte_vector(), n_bytes)

    def check_ratio(self, n_bytes: int, n_packed: int) -> None:
        """Refuse extreme compression ratios in a process that must survive any file."""
        maximum, ratio = RULES.max_text_bytes, RULES.max_ratio
        if n_bytes > _FREE_BYTES and (
            (maximum is not None and n_bytes > maximum)
            or (ratio is not None and n_bytes > ratio * max(n_packed, 1))
        ):
            raise self.refuse(
                f"holds {show_bytes(n_bytes)} in {show_bytes(n_packed)}, more than this server "
                "takes, and is not read further"
            )


@njit(nogil=True, cache=True)
def _join_parts(high, n_bits, low, width, length, values):
    """Decode values from unary high parts and binary low parts; return whether they fit."""
    n, bit, last = 0, 0, np.int64(0)
    for k in range(len(high)):
        word = high[k]
        for shift in range(min(64, n_bits - bit)):
            if (word >> np.uint64(shift)) & np.uint64(1):
                if n == len(values):
                    return False
                bucket = np.int64(bit + shift - n)
                if bucket > length >> np.int64(width):
                    return False
                value = (bucket << np.int64(width)) + np.int64(integer_at(low, width, n))
                if value < last or value > length:
                    return False
                values[n] = last = value
                n += 1
        bit += 64
    return n == len(values)


# Writing ----------------------------------------------------------------------------------------


def sds_header(tag: int, version: int) -> bytes:
    """Return the element with which a structure begins."""
    return np.array([tag, version], "<u4").tobytes()


def sds_element(value: int) -> bytes:
    """Return an element."""
    return int(value).to_bytes(8, "little")


def sds_bytes(content: bytes | np.ndarray) -> list[bytes | memoryview]:
    """Return a vector of bytes."""
    return [sds_element(len(content)), memoryview(content), bytes(-len(content) % 8)]


def _sds_bits(words: np.ndarray, n: int) -> list[bytes | memoryview]:
    return [sds_element(n), sds_element(len(words)), words.astype("<u8", copy=False).data]


def sds_integers(values: np.ndarray, width: int | None = None) -> list[bytes]:
    """Return an integer vector."""
    width = width or max(int(values.max(initial=0)).bit_length(), 1)
    words = np.zeros((len(values) * width + 63) >> 6, np.uint64)
    _pack(values if values.dtype == np.uint8 else values.astype(np.uint64), width, words)
    return [sds_element(len(values)), sds_element(width), *_sds_bits(words, len(values) * width)]


def sds_integer_set(values: np.ndarray, length: int) -> list[bytes]:
    """Return a sparse vector of rising values."""
    n = len(values)
    width = max(int(length // max(n, 1)).bit_length() - 1, 1)
    n_buckets = (length >> width) + 1 if n else 0
    ones = (values >> width) + np.arange(n)
    n_bits = n + n_buckets
    words = np.zeros((n_bits + 63) >> 6, np.uint64)
    np.bitwise_or.at(words, ones >> 6, np.uint64(1) << (ones & 63).astype(np.uint64))
    low = sds_integers(values & ((1 << width) - 1), width)
    return [
        sds_element(length),
        sds_element(n),
        *_sds_bits(words, n_bits),
        *map(sds_element, (0, 0, 0)),
        *low,
    ]


def sds_strings(strings: ByteStrings) -> list[bytes]:
    """Return an array of strings."""
    is_used, ranks = np.zeros(256, np.bool_), np.empty(len(strings.data), np.uint8)
    # In slices, as indices of each letter take eight times its memory.
    for part in iter_row_slices(len(ranks)):
        is_used[strings.data[part]] = True
    places = (np.cumsum(is_used) - 1).astype(np.uint8)
    for part in iter_row_slices(len(ranks)):
        ranks[part] = places[strings.data[part]]
    alphabet = np.flatnonzero(is_used).astype(np.uint8)
    parts = sds_integer_set(strings.offsets[:-1], int(strings.offsets[-1]) + 1)
    return [*parts, *sds_bytes(alphabet.tobytes()), *sds_integers(ranks)]


@njit(nogil=True, cache=True)
def _pack(values, width, words):
    for i in range(len(values)):
        bit, value = i * width, np.uint64(values[i])
        word, shift = bit >> 6, np.uint64(bit & 63)
        words[word] |= value << shift
        if shift + np.uint64(width) > np.uint64(64):
            words[word + 1] |= value >> (np.uint64(64) - shift)


# Compiled with genoviz/io/graph/packed_letters.py: c37c602623099bde
