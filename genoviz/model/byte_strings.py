"""Many short byte strings in two arrays: node names, node sequences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from genoviz.errors import ParameterError, n_words


@dataclass(frozen=True, eq=False, repr=False)
class ByteStrings:
    """Immutable sequence of strings over one buffer; item ``i`` is text.

    Parameters
    ----------
    data
        uint8, shape (n_bytes,): all strings, one after the other.
    offsets
        int64, shape (n + 1,): string ``i`` is ``data[offsets[i]:offsets[i + 1]]``.

    Examples
    --------
    >>> names = ByteStrings.from_texts(["s1", "s2", "chr1"])
    >>> names[2], len(names), names.find("s2"), names.find("s9")
    ('chr1', 3, 1, -1)
    """

    data: np.ndarray
    offsets: np.ndarray

    def __post_init__(self) -> None:
        for array in (self.data, self.offsets):
            array.flags.writeable = False
        if self.data.dtype != np.uint8 or self.offsets.dtype != np.int64:
            raise ParameterError("ByteStrings need uint8 data and int64 offsets")
        if len(self.offsets) == 0 or self.offsets[-1] != len(self.data):
            raise ParameterError("ByteStrings need offsets from 0 to the length of the data")

    @classmethod
    def from_texts(cls, texts: Iterable[str | bytes]) -> ByteStrings:
        """Return the strings of ``texts``."""
        encoded = [text.encode() if isinstance(text, str) else bytes(text) for text in texts]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(text) for text in encoded], out=offsets[1:])
        return cls(np.frombuffer(b"".join(encoded), np.uint8).copy(), offsets)

    @classmethod
    def from_integers(cls, first: int, n: int) -> ByteStrings:
        """Return the decimal names ``first, first + 1, ...`` (``first`` >= 0)."""
        values = np.arange(first, first + n, dtype=np.int64)
        n_digits = np.ones(n, np.int64)
        power = 10
        while n and power <= first + n - 1:
            n_digits += values >= power
            power *= 10
        offsets = np.zeros(n + 1, np.int64)
        np.cumsum(n_digits, out=offsets[1:])
        data = np.empty(offsets[-1], np.uint8)
        for digit in range(int(n_digits.max(initial=0))):
            has_digit = n_digits > digit
            data[offsets[1:][has_digit] - 1 - digit] = values[has_digit] % 10 + ord("0")
            values //= 10
        return cls(data, offsets)

    @classmethod
    def join(cls, parts: Sequence[ByteStrings]) -> ByteStrings:
        """Return the strings of all parts, one after the other."""
        before = np.cumsum([0, *(len(part.data) for part in parts)])
        starts = [part.offsets[:-1] + n for part, n in zip(parts, before[:-1], strict=True)]
        offsets = np.concatenate([*starts, before[-1:]])
        return cls(np.concatenate([part.data for part in parts]), offsets)

    def take(self, indices: np.ndarray) -> ByteStrings:
        """Return the strings at ``indices``, integers of any order."""
        starts, stops = self.offsets[:-1][indices], self.offsets[1:][indices]
        offsets = np.zeros(len(starts) + 1, np.int64)
        np.cumsum(stops - starts, out=offsets[1:])
        data = np.empty(offsets[-1], np.uint8)
        from genoviz.model.graph_loops import copy_strings

        copy_strings(self.data, starts, stops, data)
        return ByteStrings(data, offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> str:
        index = range(len(self))[index]
        return self.data[self.offsets[index] : self.offsets[index + 1]].tobytes().decode()

    def __iter__(self) -> Iterator[str]:
        return (self[index] for index in range(len(self)))

    def __repr__(self) -> str:
        return f"ByteStrings({n_words(len(self), 'string')}, {n_words(len(self.data), 'byte')})"

    @property
    def lengths(self) -> np.ndarray:
        """Length of each string in bytes; int64, shape (n,)."""
        return np.diff(self.offsets)

    @cached_property
    def _by_length(self) -> dict[int, np.ndarray]:
        """Indices of the strings of each length, in order."""
        lengths = self.lengths
        order = np.argsort(lengths, kind="stable")
        values, starts = np.unique(lengths[order], return_index=True)
        return dict(zip(values.tolist(), np.split(order, starts[1:]), strict=True))

    def find(self, text: str | bytes) -> int:
        """Return the index of the first string that equals ``text``, or -1."""
        wanted = np.frombuffer(text.encode() if isinstance(text, str) else text, np.uint8)
        candidates = self._by_length.get(len(wanted), np.empty(0, np.int64))
        for position, byte in enumerate(wanted):
            candidates = candidates[self.data[self.offsets[candidates] + position] == byte]
        return int(candidates[0]) if len(candidates) else -1
