"""Tables of sample data: phenotypes, covariates, populations."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from genoviz.errors import ParameterError, n_words
from genoviz.model.genotypes.genotypes import SampleTable


class RowOrderError(ParameterError):
    """A table names none of the samples but has as many rows, so row order could be used."""


@dataclass(frozen=True, eq=False, repr=False)
class PhenotypeTable:
    """Columns of numbers and categories, one row per sample.

    Parameters
    ----------
    sample_ids
        str, shape (n,): IIDs, unique within a family unless records are repeated.
    names
        Unique names of the columns, in order.
    columns
        By name, shape (n,): float64 with NaN for missing values, or str (categories) with ``""``.
    family_ids
        str, shape (n,): FIDs, if known.
    notes
        What a reader or :meth:`align` treated specially, one sentence each.
    source
        Name of the file it was read from, if any.
    id_title
        Title of the column of sample_ids in the file.

    Raises
    ------
    ParameterError
        If names and columns do not match, or columns have different lengths.

    Examples
    --------
    >>> table = PhenotypeTable(
    ...     np.array(["b", "a"]), ("height", "group"),
    ...     {"height": np.array([1.8, 1.6]), "group": np.array(["x", "y"])})
    >>> table
    PhenotypeTable(2 samples, 2 columns)
    >>> aligned = table.align(SampleTable.from_ids(["a", "b", "c"]))
    >>> aligned.columns["height"].tolist(), aligned.columns["group"].tolist()
    ([1.6, 1.8, nan], ['y', 'x', ''])
    >>> aligned.notes
    ('2 of 3 samples are in the table.',)
    """

    sample_ids: np.ndarray
    names: tuple[str, ...]
    columns: Mapping[str, np.ndarray]
    family_ids: np.ndarray | None = None
    notes: tuple[str, ...] = ()
    source: str = ""
    id_title: str = ""

    def __post_init__(self) -> None:
        if sorted(self.names) != sorted(self.columns):
            raise ParameterError(f"names are {list(self.names)}, columns {list(self.columns)}")
        for name, values in self.columns.items():
            if len(values) != len(self):
                raise ParameterError(
                    f"column {name!r} has {len(values)} of {n_words(len(self), 'sample')}"
                )
        if self.family_ids is not None and len(self.family_ids) != len(self):
            raise ParameterError(
                f"family_ids has {len(self.family_ids)} of {n_words(len(self), 'sample')}"
            )

    def __len__(self) -> int:
        return len(self.sample_ids)

    def __repr__(self) -> str:
        n_columns = len(self.names)
        return (
            f"PhenotypeTable({len(self):,} sample{'s' * (len(self) != 1)}, "
            f"{n_columns} column{'s' * (n_columns != 1)})"
        )

    @property
    def numeric_names(self) -> tuple[str, ...]:
        """Names of the columns of numbers."""
        return tuple(name for name in self.names if self.columns[name].dtype.kind == "f")

    @property
    def category_names(self) -> tuple[str, ...]:
        """Names of the columns of categories."""
        return tuple(name for name in self.names if self.columns[name].dtype.kind != "f")

    def align(self, samples: SampleTable, *, by_row_order: bool = False) -> PhenotypeTable:
        """Return the table in sample order, with missing values for samples without a row.

        Rows are matched by FID and IID, or by IID alone if the table has no FID, or no pair of both
        that a sample has. Notes say how many samples have a row, if not all, and whether the title
        of the sample column is itself a sample.

        Parameters
        ----------
        samples
            Samples of the genotypes.
        by_row_order
            Whether to match a table without any of the sample names by row order, if it has as many
            rows as there are samples; a note says so.

        Raises
        ------
        RowOrderError
            If it names none of the samples but has as many rows, and ``by_row_order`` is not set.
        ParameterError
            If it names none of the samples, and the number of rows differs; or if it names samples
            that only their FID tells apart.
        """
        rows = self._find_rows(samples)
        n_found = int(np.count_nonzero(rows >= 0))
        note = f"{n_found:,} of {n_words(len(samples), 'sample')} are in the table."
        if n_found == 0 and len(self) > 0 and len(samples) > 0:
            said = _explain_strangers(self.sample_ids, samples.ids)
            if len(self) != len(samples):
                needed = "; ".join(["needs a column with their IDs", *self._untitled(samples)])
                raise ParameterError(f"no {said}; {needed.removesuffix('.')}")
            if not by_row_order:
                raise RowOrderError(
                    f"no {said}; as there are {len(self):,} of either, rows can be taken in the "
                    "order of the samples, where that is asked for"
                )
            rows = np.arange(len(self))
            note = f"No {said}; as there are {len(self):,} of either, rows are taken in the order "
            note += "of the samples."
        columns = {name: _take(values, rows) for name, values in self.columns.items()}
        notes = () if n_found == len(samples) else (note,)
        return replace(
            self,
            sample_ids=samples.ids,
            columns=columns,
            family_ids=samples.family_ids,
            notes=(*self.notes, *notes, *self._untitled(samples)),
        )

    def find_owners(self, samples: SampleTable) -> tuple[PhenotypeTable, np.ndarray]:
        """Return the rows that belong to the samples, and the sample index of each row.

        Rows are matched as by :meth:`align`. A sample may have any number of rows, whose order is
        kept. A note counts the rows without a sample.

        Raises
        ------
        ParameterError
            If no row belongs to any of the samples, or to several that only their FID tells apart.

        Examples
        --------
        >>> table = PhenotypeTable(
        ...     np.array(["b", "a", "x", "b"]), ("fat",), {"fat": np.array([4.0, 3.8, 5.0, 4.2])})
        >>> taken, owners = table.find_owners(SampleTable.from_ids(["a", "b"]))
        >>> taken.columns["fat"].tolist(), owners.tolist(), taken.notes
        ([4.0, 3.8, 4.2], [1, 0, 1], ('1 of 4 records is of no sample.',))
        """
        owners = self._find_owners(samples)
        rows = np.flatnonzero(owners >= 0)
        n_strange = len(self) - len(rows)
        if not len(rows) and len(self) and len(samples):
            raise ParameterError(
                f"no {_explain_strangers(self.sample_ids, samples.ids)}; needs a column with their "
                "IDs"
            )
        verb = "is" if n_strange == 1 else "are"
        note = f"{n_strange:,} of {n_words(len(self), 'record')} {verb} of no sample."
        taken = replace(
            self,
            sample_ids=self.sample_ids[rows],
            columns={name: values[rows] for name, values in self.columns.items()},
            family_ids=None if self.family_ids is None else self.family_ids[rows],
            notes=(*self.notes, *[note] * (n_strange > 0)),
        )
        return taken, owners[rows]

    def beside(self, other: PhenotypeTable, *, mark: str) -> PhenotypeTable:
        """Return the table with the columns of another one with the same rows appended.

        Duplicate column names get the suffix ``mark``.
        """
        columns, known = dict(self.columns), {name.lower() for name in self.names}
        for name in other.names:
            columns[name + mark * (name.lower() in known)] = other.columns[name]
        return replace(self, names=tuple(columns), columns=columns)

    def _find_owners(self, samples: SampleTable) -> np.ndarray:
        """Return the sample of each row, or -1: int64, shape (n,)."""
        if self.family_ids is not None:
            owners = _look_up(_pairs_of(samples), _pairs(self.family_ids, self.sample_ids))
            if (owners >= 0).any():
                return owners
        owners = _look_up(samples.ids.tolist(), self.sample_ids.tolist())
        is_owner = np.isin(samples.ids, self.sample_ids)
        _check_unique(samples.ids[is_owner], samples, "the genotypes")
        return owners

    def _untitled(self, samples: SampleTable) -> list[str]:
        """Return a note if the first line is probably the row of a sample, not a header."""
        title = self.id_title
        if title not in samples.ids.tolist() or title in self.sample_ids.tolist():
            return []
        return [
            f"{self.source}: the first line is taken for the header, though its field {title!r} is "
            "the ID of a sample; put a line with the names of the columns above it."
        ]

    def _find_rows(self, samples: SampleTable) -> np.ndarray:
        """Return the row of each sample, or -1: int64, shape (n_samples,)."""
        if self.family_ids is not None:
            rows = _look_up(_pairs(self.family_ids, self.sample_ids), _pairs_of(samples))
            if (rows >= 0).any():
                return rows
        rows = _look_up(self.sample_ids.tolist(), samples.ids.tolist())
        matched = samples.ids[rows >= 0]
        _check_unique(matched, samples, "the genotypes")
        is_matched = np.isin(self.sample_ids, matched)
        _check_unique(self.sample_ids[is_matched], self, "the table")
        return rows


def _check_unique(ids: np.ndarray, among: SampleTable | PhenotypeTable, where: str) -> None:
    """Refuse an ID that stands for samples of several families."""
    names, counts = np.unique(ids, return_counts=True)
    if not (counts > 1).any():
        return
    name, families = names[counts > 1][0], among.family_ids
    own = among.ids if isinstance(among, SampleTable) else among.sample_ids
    if families is None:
        raise ParameterError(f"sample {name!s} has several rows in {where}, needs one")
    known = ", ".join(dict.fromkeys(families[own == name].tolist()))
    raise ParameterError(
        f"{name!s} is the IID of several samples of {where} (FID {known}); they can be matched "
        "only by a column FID with these families in the table"
    )


def _pairs(families: np.ndarray, ids: np.ndarray) -> list[tuple[str, str]]:
    return list(zip(families.tolist(), ids.tolist(), strict=True))


def _pairs_of(samples: SampleTable) -> list[tuple[str, str]]:
    return _pairs(samples.family_ids, samples.ids)


def _explain_strangers(found: np.ndarray, wanted: np.ndarray) -> str:
    return (
        f"sample of the table, such as {str(found[0])!r}, is among those of the genotypes, such "
        f"as {str(wanted[0])!r}"
    )


def _look_up(keys: Iterable[Hashable], wanted: Iterable[Hashable]) -> np.ndarray:
    row_of = {key: row for row, key in enumerate(keys)}
    return np.array([row_of.get(key, -1) for key in wanted], np.int64)


def _take(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return values of rows, missing for -1."""
    missing = np.nan if values.dtype.kind == "f" else ""
    if len(values) == 0:
        return np.full(len(rows), missing, values.dtype)
    return np.where(rows >= 0, values[rows], np.array(missing, values.dtype))
