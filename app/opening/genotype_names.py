"""Grouping of genotype files: parts of a set, uploads, and companion tables."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from genoviz.errors import FileFormatError
from genoviz.io.files.replace_file import replace_file
from genoviz.io.genotypes.bgen import read_bgen_header

if TYPE_CHECKING:
    from genoviz_app.server.tab import Tab

REST_SECONDS = 0.7
PARTS = {
    ".bed": (".bed", ".bim", ".fam"),
    ".pgen": (".pgen", ".pvar", ".psam"),
    ".bgen": (".bgen", ".sample"),
}
PACKED_VARIANTS = ".pvar.zst"
WHOLE = (".vcf", ".vcf.gz", ".vcf.bgz", ".bcf", ".npz", ".npy", ".parquet")
TABLE_ENDINGS = (
    ".phen", ".pheno", ".pheno.csv", ".pheno.tsv", ".pheno.txt", ".phen.csv", ".phen.tsv",
)  # fmt: skip
OTHER_TABLES = (".csv", ".tsv", ".txt", ".cov", ".covar", ".psam")


class Arrivals:
    """Uploaded files that have not been opened yet.

    Parameters
    ----------
    session
        The session of the uploads.

    Attributes
    ----------
    names
        Names of the files, in order of arrival.
    """

    def __init__(self, session: Tab) -> None:
        self._session = session
        self._came_at = 0.0
        self.names: list[str] = []

    def keep(self, contents: Mapping[str, bytes | str]) -> None:
        """Keep files until the tab closes; the problem with those before is no longer shown."""
        self._session.forget_problem()
        for name, content in contents.items():
            path = self.path(Path(name).name)
            with replace_file(path) as file:  # an open file of this name may be mapped
                file.write(content.encode() if isinstance(content, str) else content)
            if path.name not in self.names:
                self.names.append(path.name)
        self._came_at = time.monotonic()

    @property
    def are_complete(self) -> bool:
        """Whether there are files, and no new ones have arrived for a while."""
        return bool(self.names) and time.monotonic() - self._came_at > REST_SECONDS

    @property
    def sets(self) -> FileSets:
        """What to open of them."""
        return find_sets(self.path(""), self.names)

    def path(self, name: str) -> Path:
        """Return the path of a file."""
        return self._session.upload_path(name)

    def forget(self) -> None:
        """Discard all of them."""
        self.names = []


@dataclass(frozen=True)
class FileSets:
    """What can be opened from several uploads.

    Attributes
    ----------
    genotypes
        Names of the files to open as genotypes, with all parts present.
    tables
        Names of the phenotype tables.
    awaited
        Sentences on missing parts.
    """

    genotypes: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    awaited: tuple[str, ...] = ()


def is_table(name: str) -> bool:
    """Return whether a file is a phenotype table, by its ending.

    Examples
    --------
    >>> is_table("mice.pheno.csv"), is_table("mice.bed"), is_table("people.PSAM")
    (True, False, True)
    """
    return name.lower().endswith((*TABLE_ENDINGS, *OTHER_TABLES))


def companion_table(path: Path) -> Path | None:
    """Return the phenotype table with the same name beside genotypes, or None."""
    stem = path.name
    for ending in (*WHOLE, *PARTS):
        stem = stem.removesuffix(ending)
    beside = (path.with_name(stem + ending) for ending in TABLE_ENDINGS)
    return next((table for table in beside if table.is_file()), None)


def _has_part(folder: Path, stem: str, part: str) -> bool:
    if part == ".sample" and _names_samples(folder / f"{stem}.bgen"):
        return True
    is_packed = part == ".pvar" and (folder / f"{stem}{PACKED_VARIANTS}").is_file()
    return is_packed or (folder / f"{stem}{part}").is_file()


def _names_samples(path: Path) -> bool:
    """Return whether a BGEN file needs no .sample file; one that is damaged is told when read."""
    try:
        return read_bgen_header(path).has_ids
    except FileFormatError:
        return path.is_file()


def find_sets(folder: Path, names: Sequence[str]) -> FileSets:
    """Return what to open, given the files that have arrived in a folder."""
    genotypes, tables, awaited = [], [], []
    for name in names:
        packed = PACKED_VARIANTS if name.lower().endswith(PACKED_VARIANTS) else ""
        stem = name[: -len(packed)] if packed else Path(name).stem
        ending = packed.removesuffix(".zst") or Path(name).suffix.lower()
        first = next((first for first, parts in PARTS.items() if ending in parts), "")
        if ending == ".psam" and not (folder / f"{stem}.pgen").is_file():
            first = ""
        if first:
            missing = [part for part in PARTS[first] if not _has_part(folder, stem, part)]
            if missing:
                needed = " and ".join(f"{stem}{part}" for part in missing)
                awaited.append(f"{name} is here; {needed} {'are' if missing[1:] else 'is'} needed.")
            elif f"{stem}{first}" not in genotypes:
                genotypes.append(f"{stem}{first}")
        elif is_table(name):
            tables.append(name)
        else:
            genotypes.append(name)
    waits = () if genotypes else tuple(awaited[-1:])
    return FileSets(tuple(genotypes), tuple(tables), waits)
