"""The genotypes and the phenotype table of a tab; read once and shared between tabs."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import param

from genoviz.errors import FileFormatError, GenovizError, ParameterError
from genoviz.model.genotypes.chromosomes import HUMAN_AUTOSOMES
from genoviz.model.genotypes.genotypes import Genotypes
from genoviz.model.genotypes.phenotypes import RowOrderError
from genoviz_app.opening.files import (
    FileCache,
    OpeningProgress,
    check_path,
    find_sample,
    iter_open_source,
)
from genoviz_app.opening.genotype_names import PARTS, Arrivals, companion_table, is_table
from genoviz_app.opening.memory import MAX_DOSAGE_BYTES, dosages_bytes, genotypes_bytes, table_bytes
from genoviz_app.opening.opening_files import OpeningFile
from genoviz_app.server.jobs import describe_problem
from genoviz_app.server.tab import Tab

if TYPE_CHECKING:
    from genoviz.model.genotypes.phenotypes import PhenotypeTable

N_KEPT_GENOTYPES, N_KEPT_TABLES = 3, 6


@dataclass(frozen=True, eq=False)
class OpenGenotypes:
    """Genotypes that are open in a tab.

    Attributes
    ----------
    source
        Sample name or path for reopening them; "" for an upload.
    title
        Name shown to users.
    genotypes
        The genotypes, possibly memory-mapped.
    own_table
        The phenotypes in their .fam file, or None.
    """

    source: str
    title: str
    genotypes: Genotypes = field(repr=False)
    own_table: OpenPhenotypes | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False)
class OpenPhenotypes:
    """A table of phenotypes that is open in a tab.

    Attributes
    ----------
    source
        Path for reopening it; "" for an upload, and for a companion of the genotypes.
    title
        Name shown to users.
    table
        Its columns, in the order of the samples of the open genotypes; in file order if none are
        open.
    is_upload
        Whether it was uploaded in this tab.
    whole
        All rows of the file, if ``table`` is restricted to the samples.
    """

    source: str
    title: str
    table: PhenotypeTable = field(repr=False)
    is_upload: bool = False
    whole: PhenotypeTable | None = field(default=None, repr=False)


WithTable = tuple[OpenGenotypes, OpenPhenotypes | None, str]
"""Genotypes, their companion table or None, and what is wrong with it."""


def _iter_genotypes(path: Path) -> Iterator[OpeningProgress]:
    from genoviz.io.genotypes.reader import iter_read_genotypes

    for step in iter_read_genotypes(path, dosages=dosages_bytes(path) <= MAX_DOSAGE_BYTES):
        if step.genotypes is not None:
            _check_something_there(path, step.genotypes)
        yield OpeningProgress(step.stage, step.n_done / max(step.n_total, 1), step.genotypes)


def _check_something_there(path: Path, genotypes: Genotypes) -> None:
    """Reject genotypes without anything to show."""
    for n, noun in ((genotypes.n_variants, "variant"), (genotypes.n_samples, "sample")):
        if n == 0:
            left_out = "".join(f"; {note.removesuffix('.')}" for note in genotypes.notes)
            raise FileFormatError(path, f"has no {noun}, needs at least one{left_out}")


def _iter_table(path: Path) -> Iterator[OpeningProgress]:
    from genoviz.io.genotypes.phenotypes import read_phenotypes

    yield OpeningProgress(f"Reading {path.name}")
    yield OpeningProgress("Ready", 1.0, read_phenotypes(path))


def _is_apart(path: Path) -> bool:
    """Return False for PLINK genotypes, which are mapped rather than read."""
    return path.suffix not in PARTS[".bed"]


GENOTYPES = FileCache(
    _iter_genotypes, N_KEPT_GENOTYPES, estimate=genotypes_bytes, is_apart=_is_apart
)
"""The genotypes of all tabs."""

TABLES = FileCache(_iter_table, N_KEPT_TABLES, estimate=table_bytes)
"""The tables of phenotypes of all tabs."""


class GenotypeFiles(OpeningFile):
    """The genotypes that a tab has open, and the phenotypes of their samples.

    A table with the genotypes' name (``mice.bed``, ``mice.pheno.csv``) is opened with them; without
    one, column 6 of their .fam file is used. Its columns are added to those of any other table.
    """

    opened = param.ClassSelector(class_=OpenGenotypes, allow_None=True, doc="The genotypes.")
    phenotypes = param.ClassSelector(class_=OpenPhenotypes, allow_None=True, doc="The table.")
    strangers = param.ClassSelector(
        class_=OpenPhenotypes, allow_None=True,
        doc="A table that names no sample of the genotypes, but has as many rows.",
    )  # fmt: skip
    awaited = param.String(doc="Which uploads are awaited yet; empty for none.")

    def __init__(self, session: Tab, **params: Any) -> None:
        super().__init__(session, **params)
        self._waiting: deque[tuple[Iterator[Any], str]] = deque()
        self._arrivals = Arrivals(session)
        self._early: OpenPhenotypes | None = None

    def open(self, source: str, *, phenotypes: str = "") -> None:
        """Open a sample by name or a file on the server by path, followed by a table."""
        if is_table(source):
            self.open_phenotypes(source)
            return
        self._forget_waiting()
        self.awaited = ""
        if phenotypes:
            self._wait(self._iter_open_table(phenotypes), Path(phenotypes).name)
        with_companion = not phenotypes or find_sample(source) is not None
        iter_open = partial(iter_open_genotypes, with_companion=with_companion)
        steps = iter_open_source(source, self._session.folders, iter_open)
        self.begin(steps, Path(source).name or "genotypes")

    def open_phenotypes(self, source: str) -> None:
        """Open a table on the server by path, after any genotypes that are being opened."""
        self._enqueue(self._iter_open_table(source), Path(source).name or "phenotypes")

    def open_uploads(self, contents: Mapping[str, bytes | str]) -> None:
        """Keep uploaded files until the tab closes; they are opened once no more arrive."""
        self._arrivals.keep(contents)
        self._session.watched[self] = None
        self.awaited = " ".join(self._arrivals.sets.awaited)
        self.opening = OpeningProgress(f"{', '.join(self._arrivals.names)} came")

    def _open_arrivals(self) -> None:
        found, path = self._arrivals.sets, self._arrivals.path
        self._arrivals.forget()
        self.opening = None
        self.awaited = " ".join(found.awaited)
        for name in found.genotypes:
            self.begin(iter_open_genotypes(path(name), title=name), name)
        for name in found.tables:
            self._enqueue(iter_open_table(path(name), title=name, is_upload=True), name)

    @property
    def is_opening(self) -> bool:
        """Whether a file is being opened or queued."""
        return super().is_opening or bool(self._waiting or self._arrivals.names)

    @property
    def phenotypes_source(self) -> str:
        """Path for reopening the table; "" for none, and for a companion of the genotypes."""
        return "" if self.phenotypes is None else self.phenotypes.source

    def stop(self) -> None:
        """Cancel the current opening and clear the queue; open files stay open."""
        self._forget_waiting()
        self.cancel()

    def _wait(self, steps: Iterator[Any], title: str) -> None:
        self._waiting.append((steps, title))
        self._session.watched[self] = None

    def _forget_waiting(self) -> None:
        self._waiting.clear()
        self._arrivals.forget()

    def look(self) -> None:
        """Open files that have arrived, one after another."""
        if self._arrivals.are_complete:
            self._open_arrivals()
        elif self._job is None and self._waiting:
            self.begin(*self._waiting.popleft(), keeps_problem=True)
        if not (self._waiting or self._arrivals.names):
            self._session.watched.pop(self, None)

    def keep(self, opened: OpenPhenotypes | WithTable) -> None:
        """Store what was opened: a table if it matches, or genotypes with their table."""
        if isinstance(opened, OpenPhenotypes):
            self._keep_table(opened)
            return
        genotypes, table, problem = opened
        self._session.complain(problem)
        if table is None and self.opened is None:
            table = self.phenotypes  # opened before the genotypes
        if table is None and self._early is not None:
            table, _ = fit(self._early, genotypes)
        elif table is not None:
            table = self._fit_or_complain(table, genotypes)
        if table is None and genotypes.own_table is not None:
            table = self._fit_or_complain(genotypes.own_table, genotypes)
        self._early = None
        if self.strangers is not None and strangers_of(self.strangers, genotypes) is None:
            self.strangers = None
        self.param.update(opened=genotypes, phenotypes=table)

    def _keep_table(self, opened: OpenPhenotypes) -> None:
        if self.opened is None:
            self.phenotypes = opened
            if not self.awaited:
                self.awaited = f"{opened.title} is here; genotypes of its samples are needed."
            return
        table, problem = fit(opened, self.opened)
        self.strangers = strangers_of(opened, self.opened)
        if table is not None:
            self.phenotypes = table
        elif opened.is_upload:
            self._early = opened
            self._session.complain(f"{problem}; it is kept for genotypes to come.")
        else:
            self._session.complain(f"{problem}.")

    def take_by_row_order(self) -> None:
        """Match the rows of the unmatched table with the samples by order."""
        table, self.strangers = self.strangers, None
        if table is not None and self.opened is not None:
            self.phenotypes = fit(table, self.opened, by_row_order=True)[0]

    def set_autosomes(self, n_autosomes: int) -> None:
        """Interpret contig numbers for a species with this number of autosomes."""
        opened = self.opened
        if opened is None or n_autosomes == (opened.genotypes.n_autosomes or HUMAN_AUTOSOMES):
            return
        genotypes = replace(opened.genotypes, n_autosomes=n_autosomes)
        self.opened = replace(opened, genotypes=genotypes)

    def _fit_or_complain(
        self, table: OpenPhenotypes, genotypes: OpenGenotypes
    ) -> OpenPhenotypes | None:
        fitted, problem = fit(table, genotypes)
        self.strangers = strangers_of(table, genotypes)
        if problem:
            self._session.complain(f"{problem}.")
        return fitted

    def _enqueue(self, steps: Iterator[Any], title: str) -> None:
        if super().is_opening:
            self._wait(steps, title)
        else:
            self.begin(steps, title)

    def _iter_open_table(self, source: str) -> Iterator[OpeningProgress | None]:
        path = check_path(source, self._session.folders)
        yield from iter_open_table(path, source=str(path), title=path.name)


def iter_open_genotypes(
    path: Path, *, source: str = "", title: str, with_companion: bool = True
) -> Iterator[OpeningProgress | None]:
    """Open genotypes, and their companion table if it is sound; the last progress has both."""
    table_path = companion_table(path) if with_companion else None
    table, problem = None, ""
    if table_path is not None:
        try:
            for step in iter_open_table(table_path, title=table_path.name):
                table = step.opened if step is not None else None
        except GenovizError as error:
            problem = describe_problem(error)
    try:
        yield from GENOTYPES.iter_opened(
            path,
            lambda read: (OpenGenotypes(source, title, read, _own_table(path)), table, problem),
        )
    except GenovizError as error:
        if not problem:
            raise
        raise GenovizError(f"{describe_problem(error)}\n{problem}") from error


def _own_table(path: Path) -> OpenPhenotypes | None:
    """Return the phenotypes in a .fam file of genotypes; None if there are none."""
    from genoviz.io.genotypes.phenotypes import read_own_phenotypes

    if path.suffix not in PARTS[".bed"]:
        return None
    fam = path.with_suffix(".fam")
    table = read_own_phenotypes(fam)
    return None if table is None else OpenPhenotypes("", fam.name, table)


def iter_open_table(
    path: Path, *, source: str = "", title: str, is_upload: bool = False
) -> Iterator[OpeningProgress | None]:
    """Open a table of phenotypes; the last progress has the `OpenPhenotypes`."""
    return TABLES.iter_opened(path, lambda table: OpenPhenotypes(source, title, table, is_upload))


def strangers_of(table: OpenPhenotypes, genotypes: OpenGenotypes) -> OpenPhenotypes | None:
    """Return a table that matches the samples by row order only, otherwise None."""
    try:
        table.table.align(genotypes.genotypes.samples)
    except RowOrderError:
        return table
    except ParameterError:
        pass
    return None


def fit(
    table: OpenPhenotypes, genotypes: OpenGenotypes, *, by_row_order: bool = False
) -> tuple[OpenPhenotypes | None, str]:
    """Return a table aligned to the samples of genotypes; None and the reason if none match."""
    samples, own = genotypes.genotypes.samples, genotypes.own_table
    try:
        aligned = table.table.align(samples, by_row_order=by_row_order)
    except RowOrderError as error:
        return None, f"{table.title}: {error}: press Take rows in order, in the sidebar"
    except ParameterError as error:
        return None, f"{table.title}: {error}"
    if own is not None and own.title != table.title:
        aligned = aligned.beside(own.table.align(samples), mark=f" ({own.title})")
    return replace(table, table=aligned, whole=table.table), ""
