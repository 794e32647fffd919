"""Features of contigs: genes, repeats, or any named intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from genoviz.errors import ParameterError, n_words
from genoviz.model.byte_strings import ByteStrings

NO_COLOUR = -1


def is_gene_type(name: str) -> bool:
    """Return whether rows of this type are genes.

    Examples
    --------
    >>> [is_gene_type(name) for name in ("gene", "tRNA_gene", "pseudogene", "mRNA")]
    [True, True, True, False]
    """
    return name.lower().endswith("gene")


@dataclass(frozen=True, eq=False, repr=False)
class Categories(Sequence):
    """A text column with few distinct values; items are texts.

    Parameters
    ----------
    names
        The distinct texts.
    codes
        int32, shape (n,): index into ``names`` of each item.
    """

    names: tuple[str, ...]
    codes: np.ndarray

    def __post_init__(self) -> None:
        self.codes.flags.writeable = False

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, index: int) -> str:
        return self.names[self.codes[index]]

    def __iter__(self) -> Iterator[str]:
        return (self.names[code] for code in self.codes.tolist())

    def __repr__(self) -> str:
        return f"Categories({len(self):,} of {len(self.names):,})"


@dataclass(frozen=True, eq=False, repr=False)
class Annotations:
    """Intervals on contigs, 0-based half-open, one per row; may be empty.

    Parameters
    ----------
    contigs
        The contig of each row, as in the file.
    starts, ends
        int64, shape (n,), bp.
    names
        Name of each row, or "".
    types
        Type of each row as GFF has it (``gene``, ``exon``), or "".
    strands
        int8, shape (n,): 1, -1, or 0 when not given.
    scores
        float64, shape (n,): nan when not given.
    colours
        int32, shape (n,): 0xRRGGBB, or -1 when not given.
    block_offsets
        int64, shape (n + 1,): row ``i`` has ``blocks[block_offsets[i]:block_offsets[i + 1]]``.
    blocks
        int64, shape (n_blocks, 2): start and end on the contig; none when the file has none.
    notes
        What a reader left out or changed, one sentence each.
    genes
        int64, shape (n,): rows with the same number are one gene or parts of it; -1 if unknown,
        which None is for all rows.

    Raises
    ------
    ParameterError
        If columns differ in length, or an interval ends before it starts.
    """

    contigs: Categories
    starts: np.ndarray
    ends: np.ndarray
    names: ByteStrings
    types: Categories
    strands: np.ndarray
    scores: np.ndarray
    colours: np.ndarray
    block_offsets: np.ndarray
    blocks: np.ndarray
    notes: tuple[str, ...] = ()
    genes: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.genes is None:
            object.__setattr__(self, "genes", np.full(len(self.starts), -1, np.int64))
        arrays = (self.starts, self.ends, self.strands, self.scores, self.colours, self.genes)
        for array in (*arrays, self.block_offsets, self.blocks):
            array.flags.writeable = False
        lengths = {len(column) for column in (self.contigs, self.names, self.types, *arrays)}
        if lengths != {len(self.block_offsets) - 1}:
            raise ParameterError(f"columns of annotations have {sorted(lengths)} rows, need one")
        if (self.ends < self.starts).any() or (self.starts < 0).any():
            raise ParameterError("annotations need 0 <= start <= end")

    def __len__(self) -> int:
        return len(self.starts)

    def __repr__(self) -> str:
        return f"Annotations({len(self):,} on {n_words(len(self.contigs.names), 'contig')})"

    def blocks_of(self, row: int) -> np.ndarray:
        """Return start and end of each block of a row; int64, shape (n_blocks, 2)."""
        return self.blocks[self.block_offsets[row] : self.block_offsets[row + 1]]

    def colour_of(self, row: int) -> str | None:
        """Return the colour of a row as ``#rrggbb``, or None when not given."""
        colour = int(self.colours[row])
        return None if colour == NO_COLOUR else f"#{colour:06x}"


def join_annotations(parts: Sequence[Annotations]) -> Annotations:
    """Return the concatenated rows of several annotations.

    Raises
    ------
    ParameterError
        If there are none to join.
    """
    if not parts:
        raise ParameterError("there are no annotations to join")
    if len(parts) == 1:
        return parts[0]
    n_blocks = np.cumsum([0, *(len(part.blocks) for part in parts[:-1])])
    shifted = [part.block_offsets[1:] + n for part, n in zip(parts, n_blocks, strict=True)]
    n_bytes = np.cumsum([0, *(len(part.names.data) for part in parts[:-1])])
    name_ends = [part.names.offsets[1:] + n for part, n in zip(parts, n_bytes, strict=True)]
    zero = np.zeros(1, np.int64)
    columns = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ("starts", "ends", "strands", "scores", "colours", "blocks")
    }
    n_rows = np.cumsum([0, *(len(part) for part in parts[:-1])])
    genes = [
        np.where(part.genes < 0, -1, part.genes + n) for part, n in zip(parts, n_rows, strict=True)
    ]
    return Annotations(
        contigs=_join_categories([part.contigs for part in parts]),
        types=_join_categories([part.types for part in parts]),
        names=ByteStrings(
            np.concatenate([part.names.data for part in parts]), np.concatenate([zero, *name_ends])
        ),
        block_offsets=np.concatenate([zero, *shifted]),
        notes=tuple(note for part in parts for note in part.notes),
        genes=np.concatenate(genes),
        **columns,
    )


def _join_categories(parts: Sequence[Categories]) -> Categories:
    names = tuple(dict.fromkeys(name for part in parts for name in part.names))
    code_of = {name: code for code, name in enumerate(names)}
    codes = [
        np.array([code_of[name] for name in part.names], np.int32)[part.codes]
        if part.names
        else part.codes
        for part in parts
    ]
    return Categories(names, np.concatenate(codes))
