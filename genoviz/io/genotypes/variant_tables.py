"""Tables with one row per variant: scan results, allele weights, ID lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from genoviz.errors import FileFormatError, ParameterError
from genoviz.io.genotypes.phenotypes import MISSING
from genoviz.io.intervals.annotations import read_annotations
from genoviz.io.text.encoding import check_text, read_lines, words_of
from genoviz.io.text.tables import drop_empty_rows, read_fields, split_fields, unify_separator
from genoviz.io.text.text_file import read_bytes
from genoviz.model import Intervals

if TYPE_CHECKING:
    import polars

ID_TITLES = ("ID", "SNP", "rsID", "MarkerName", "variant", "variant_id", "marker")
P_TITLES = ("P", "pval", "p_value", "pvalue", "p-value", "p_wald", "P_BOLT_LMM")
LOG_P_TITLES = ("NEG_LOG10_P", "LOG10_P", "LOG10P", "MLOG10P", "minus_log10_p", "neg_log_pvalue")
"""Columns of -log10 p; by each of these names, programs write the positive number."""
FEATURES = (".gff", ".gff3", ".gff2", ".gtf")
COMPRESSIONS = (".gz", ".bgz", ".bgzf")
"""Endings of files of features, and those after them."""
ALLELE_TITLES = ("A1", "effect_allele", "allele", "tested_allele", "ALT")


@dataclass(frozen=True, eq=False)
class VariantValues:
    """A table with a header and a row for each variant.

    Attributes
    ----------
    path
        The file, for errors.
    titles
        Names of the columns, without a leading ``#``.
    frame
        All fields as text.
    lines
        int64, shape (n_rows,): line number of each row.
    """

    path: Path
    titles: tuple[str, ...]
    frame: polars.DataFrame
    lines: np.ndarray

    def __len__(self) -> int:
        return len(self.lines)

    def find(self, name: str | None, usual: Sequence[str], what: str) -> str:
        """Return the title of a column: the requested one, or the first usual one.

        Raises
        ------
        FileFormatError
            If there is no such column.
        """
        found = self.first(usual if name is None else (name,))
        if found is not None:
            return found
        needed = repr(name) if name is not None else f"{', '.join(usual[:-1])} or {usual[-1]}"
        raise FileFormatError(
            self.path, f"has columns {', '.join(self.titles)}, needs {needed} for {what}"
        )

    def first(self, names: Sequence[str]) -> str | None:
        """Return the title of the first column of these names, in any case; None if none is."""
        by_lower = {title.lower(): title for title in reversed(self.titles)}
        for each in names:
            if each in self.titles or each.lower() in by_lower:
                return each if each in self.titles else by_lower[each.lower()]
        return None

    def texts(self, title: str) -> list[str]:
        """Return a column as text, "" for empty fields."""
        return [text or "" for text in self.frame[title].to_list()]

    def numbers(self, title: str) -> np.ndarray:
        """Return a column as float64, NaN for empty fields and NA.

        Raises
        ------
        FileFormatError
            If a field is not a number.
        """
        import polars

        texts = self.frame[title].cast(polars.String).str.strip_chars()
        numbers = texts.cast(polars.Float64, strict=False)
        values = numbers.fill_null(np.nan).to_numpy(writable=True)
        others = numbers.is_null() & ~texts.fill_null("").is_in(MISSING)
        for row in others.arg_true().to_list():
            try:
                values[row] = float(texts[row])
            except ValueError:
                self.refuse(row, f"column {title} has {self.frame[title][row]!r}, needs a number")
        return values

    def p_values(self, title: str) -> tuple[np.ndarray, np.ndarray]:
        """Return a column as p and -log10 p, float64; NaN for empty fields and NA.

        The second tells p apart that float64 has as 0: by a column of `LOG_P_TITLES`, or by the
        digits, as of 3e-400.

        Raises
        ------
        FileFormatError
            If a field is not a number from 0 to 1.
        """
        p = self.numbers(title)
        wrong = np.flatnonzero((p < 0) | (p > 1))
        if len(wrong):
            self.refuse(int(wrong[0]), f"p is {p[wrong[0]]:g}, needs to be 0 to 1")
        with np.errstate(divide="ignore"):
            logs = -np.log10(p)
        zeros = np.flatnonzero(p == 0)
        if len(zeros):
            column = self.first(LOG_P_TITLES)
            for row in zeros.tolist() if column is None else ():
                digits = Decimal(self.frame[title][row].strip())
                logs[row] = np.inf if digits == 0 else -float(digits.log10())
            if column is not None:
                found = self.numbers(column)[zeros]
                logs[zeros] = np.where(found > 0, found, np.inf)
        return p, logs

    def refuse(self, row: int, found: str) -> None:
        """Raise `FileFormatError` about a row."""
        raise FileFormatError(self.path, found, line=self._line(row))

    def _line(self, row: int) -> int:
        return int(self.lines[row])


def read_variant_table(path: str | PathLike[str]) -> VariantValues:
    """Return a table with a header and fields separated by tabs, commas, semicolons or blanks.

    Lines of ``##`` and ``#name=value`` above the header are comments. The file may be gzipped.

    Raises
    ------
    FileFormatError
        If it is not such a table, rows differ in length, or two columns have the same name.
    """
    path = Path(path)
    check_text(path)
    text, n_comments = read_bytes(path).tobytes(), 0
    while text.startswith((b"##", b"\n", b"\r\n")) or _is_setting(text):
        text = text.partition(b"\n")[2]
        n_comments += 1
    text, separator = unify_separator(text)
    frame = read_fields(
        path, text, separator, n_comments, n_skipped=1,
        if_empty="has no row below its header, needs one a variant",
    )  # fmt: skip
    header = text.partition(b"\n")[0].decode("utf-8", "replace").strip("\r")
    titles = split_fields(header, separator)
    titles[0] = titles[0].removeprefix("#")
    repeated = [title for k, title in enumerate(titles) if title in titles[:k]]
    if repeated:
        found = f"column {repeated[0]!r} is there twice, needs a name of its own"
        raise FileFormatError(path, found, line=n_comments + 1)
    frame.columns = titles
    frame, lines = drop_empty_rows(frame, n_comments + 2)
    return VariantValues(path, tuple(titles), frame, lines)


def _is_setting(text: bytes) -> bool:
    line = text.partition(b"\n")[0]
    return line.startswith(b"#") and b"=" in line and b"\t" not in line


def read_id_list(path: str | PathLike[str]) -> set[str]:
    """Return the IDs of a list: the first field of each line, without a header.

    Raises
    ------
    FileFormatError
        If the file cannot be read, or is empty.
    """
    return {words[0] for words in map(words_of, read_lines(path)) if words}


def read_sets(
    path: str | PathLike[str], features: Sequence[str] = ()
) -> Intervals | dict[str, list[str]]:
    """Return the regions of sets with their names, or the IDs of the variants of each set.

    Parameters
    ----------
    path
        BED, GFF or GTF file of regions, or a table for `read_variant_sets`.
    features
        Types of the features of GFF and GTF that are sets; none of them: ``gene``.

    Raises
    ------
    FileFormatError
        If the file cannot be read, or has no sets.
    ParameterError
        If there are types, but the file has none.
    """
    path = Path(path)
    has_types = has_features(path)
    if features and not has_types:
        raise ParameterError("types of features need a GFF or GTF file of sets")
    if not has_types and _ending_of(path) != ".bed":
        return read_variant_sets(path)
    found = read_annotations(path)
    types = (features or ["gene"]) if has_types else [*found.types.names]
    is_kept = np.array([name in types for name in found.types.names], bool)
    kept = np.flatnonzero(is_kept[found.types.codes])
    if not len(kept):
        what = f"features of type {' or '.join(types)}" if has_types else "regions"
        raise FileFormatError(path, f"has no {what}, needs one at least")
    return Intervals(
        contigs=found.contigs.names,
        contig_ids=found.contigs.codes[kept],
        starts=found.starts[kept],
        ends=found.ends[kept],
        names=found.names.take(kept),
        notes=found.notes,
    )


def has_features(path: Path) -> bool:
    """Return whether a file has features of several types, by its name."""
    return _ending_of(path) in FEATURES


def _ending_of(path: Path) -> str:
    endings = [ending.lower() for ending in path.suffixes if ending.lower() not in COMPRESSIONS]
    return endings[-1] if endings else ""


def read_variant_sets(path: str | PathLike[str]) -> dict[str, list[str]]:
    """Return the IDs of the variants of each set, from lines of a set and a variant.

    Fields are separated by tabs or blanks; further fields are ignored. Lines of ``#``, and a first
    line whose second field is the usual title of IDs, are skipped. The file may be gzipped.

    Raises
    ------
    FileFormatError
        If the file cannot be read, a line has fewer than two fields, or there are no sets.
    """
    path = Path(path)
    titles, sets = {title.lower() for title in ID_TITLES}, {}
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [each.strip() for each in (line.split("\t") if "\t" in line else words_of(line))]
        if len(fields) < 2 or not fields[0] or not fields[1]:
            found = f"has {line.strip()[:40]!r}, needs the name of a set and the ID of a variant"
            raise FileFormatError(path, found, line=number)
        if sets or fields[1].lower() not in titles:
            sets.setdefault(fields[0], []).append(fields[1])
    if not sets:
        raise FileFormatError(path, "has no sets, needs lines of a set and a variant")
    return sets
