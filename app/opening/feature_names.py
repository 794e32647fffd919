"""Names of features, sorted: a name, or those that begin so, are found among millions at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genoviz.model import ByteStrings

KEY_BYTES = 24
ROWS_PER_SLICE = 1 << 14


@dataclass(frozen=True, eq=False)
class FeatureNames:
    """The names of features, in any case of the letters A to Z.

    Attributes
    ----------
    names
        As the file has them.
    keys
        Bytes, shape (n,): the first bytes of each name in lower case, sorted.
    rows
        int64, shape (n,): the row of each key; ascending among equal keys.

    Examples
    --------
    >>> names = FeatureNames.of(ByteStrings.from_texts(["BRCA2", "brca1", "TP53"]))
    >>> names.find("Brca1"), names.find("tp"), names.find("x"), names.beginning("BR", limit=5)
    (1, 2, None, ['brca1', 'BRCA2'])
    """

    names: ByteStrings
    keys: np.ndarray
    rows: np.ndarray

    @classmethod
    def of(cls, names: ByteStrings) -> FeatureNames:
        """Return the names, sorted."""
        keys = np.zeros((len(names), KEY_BYTES), np.uint8)
        columns = np.arange(KEY_BYTES)
        padded = np.append(names.data, np.zeros(KEY_BYTES, np.uint8))
        for first in range(0, len(names), ROWS_PER_SLICE):
            some = slice(first, first + ROWS_PER_SLICE)
            starts, lengths = names.offsets[:-1][some], names.lengths[some]
            letters = padded[starts[:, None] + columns]
            letters[columns >= lengths[:, None]] = 0
            letters += 32 * ((letters >= 65) & (letters <= 90)).astype(np.uint8)
            keys[some] = letters
        texts = keys.view(f"S{KEY_BYTES}").ravel()
        order = np.argsort(texts, kind="stable")
        return cls(names, texts[order], order)

    def find(self, text: str) -> int | None:
        """Return the first row of a name, in any case; else one whose name begins so, or None."""
        wanted = text.strip().lower()
        if not wanted:
            return None
        found = self._beginning(text.strip())
        row = next((row for row in found if self.names[row].lower() == wanted), None)
        return row if row is not None else next(iter(found), None)

    def beginning(self, text: str, *, limit: int) -> list[str]:
        """Return different names that begin so, in the order of the alphabet."""
        found: dict[str, None] = {}
        text = text.strip()
        for row in self._beginning(text) if text else ():
            found.setdefault(self.names[row])
            if len(found) == limit:
                break
        return [name for name in found if name != "."]

    def _beginning(self, text: str) -> list[int]:
        """Return rows of names that begin so, by key; a few thousand at most."""
        wanted = text.lower()
        key = text.encode().lower()[:KEY_BYTES]
        low = int(np.searchsorted(self.keys, key, "left"))
        high = int(np.searchsorted(self.keys, key + b"\xff" * (KEY_BYTES - len(key)), "right"))
        rows = self.rows[low : min(high, low + 5000)].tolist()
        if len(wanted) <= KEY_BYTES and wanted.isascii():
            return rows
        return [row for row in rows if self.names[row].lower().startswith(wanted)]
