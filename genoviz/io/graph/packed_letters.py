"""Letters that a simple-sds file holds as packed numbers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numba
import numpy as np
from numba import njit

from genoviz.errors import FileFormatError

_SLICE = 16 << 20


@dataclass(frozen=True)
class PackedLetters:
    """Letters in a file, as numbers of an alphabet; a slice of them is decoded when it is taken.

    All letters of a human pangenome take 8 GB, and those of a chromosome a tenth.
    """

    words: np.ndarray
    width: int
    alphabet: np.ndarray
    n_letters: int
    damage: FileFormatError

    def __len__(self) -> int:
        return self.n_letters

    def __getitem__(self, part: slice) -> np.ndarray:
        """Return some letters; uint8. Raises if one is not in the alphabet."""
        first, stop, _ = part.indices(self.n_letters)
        data = np.empty(max(stop - first, 0), np.uint8)
        if not _translate(self.words, self.width, self.alphabet, first, data):
            raise self.damage
        return data


@njit(nogil=True, cache=True, inline="always")
def integer_at(words, width, i):
    """Return integer ``i`` of packed integers; uint64."""
    bit = i * width
    word, shift = bit >> 6, np.uint64(bit & 63)
    value = words[word] >> shift
    if shift + np.uint64(width) > np.uint64(64):
        value |= words[word + 1] << (np.uint64(64) - shift)
    return value & (~np.uint64(0) >> np.uint64(64 - width))


def _translate(
    words: np.ndarray, width: int, alphabet: np.ndarray, first: int, data: np.ndarray
) -> bool:
    """Map packed numbers from one on to letters, in all threads; return whether all have one."""
    letters = np.zeros(1 << width, np.uint8)  # of each number that can be packed
    n_known = min(len(alphabet), len(letters))
    letters[:n_known] = alphabet[:n_known]
    places = range(0, len(data), _SLICE)
    with ThreadPoolExecutor(numba.config.NUMBA_NUM_THREADS) as pool:
        return all(
            pool.map(
                lambda place: (
                    _translate_part(
                        words, width, letters, first + place, data[place : place + _SLICE]
                    )
                    < n_known
                ),
                places,
            )
        )


@njit(nogil=True, cache=True)
def _translate_part(words, width, letters, first, data):
    """Fill ``data``, at least one; return the highest number. A word's bits are shifted out."""
    highest = np.uint64(0)
    size, mask = np.uint64(width), np.uint64(len(letters) - 1)
    word, shift = (first * width) >> 6, np.uint64(first * width & 63)
    held, n_held = words[word] >> shift, np.uint64(64) - shift
    for i in range(len(data)):
        if n_held >= size:
            number = held & mask
            held >>= size
            n_held -= size
        else:
            word += 1
            following = words[word]
            number = (held | (following << n_held)) & mask
            held = following >> (size - n_held)
            n_held += np.uint64(64) - size
        highest = max(highest, number)
        data[i] = letters[number]
    return highest
