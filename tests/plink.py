"""PLINK 1.9 and 2 as oracles: run on files, their tables read back."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from genoviz import Genotypes, read_genotypes
from tests.conftest import real_data

COMMON = ("--allow-no-sex", "--threads", "1", "--memory", "2000")


class Plink:
    """A program that is run in a folder of its own."""

    def __init__(self, program: str, folder: Path) -> None:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
        self.program, self.folder = program, folder

    def __call__(
        self,
        files: Path,
        *arguments: str,
        species: tuple[str, ...] = ("--chr-set", "40", "--allow-extra-chr"),
    ) -> None:
        """Run it on PLINK 1 files of this prefix; all contigs count as autosomes up to 40."""
        command = [
            self.program,
            "--bfile",
            str(files),
            *species,
            *COMMON,
        ]
        shown = subprocess.run(
            [*command, *arguments, "--out", str(self.folder / "out")],
            capture_output=True,
            text=True,
            check=False,
        )
        assert shown.returncode == 0, shown.stdout + shown.stderr

    def table(self, ending: str) -> dict[str, np.ndarray]:
        """Return a table of its output: a str array for each column of the header."""
        lines = (self.folder / f"out.{ending}").read_text().splitlines()
        rows = np.array([line.split() for line in lines])
        return {name.lstrip("#"): rows[1:, at] for at, name in enumerate(rows[0])}

    def column(self, ending: str, name: str) -> np.ndarray:
        """Return a column as float64, NaN for NA."""
        return numbers(self.table(ending)[name])

    def matrix(self, ending: str) -> np.ndarray:
        """Return a table without a header as float64."""
        return np.loadtxt(self.folder / f"out.{ending}", ndmin=2)

    def lines(self, ending: str) -> list[str]:
        """Return the lines of a file of its output."""
        return (self.folder / f"out.{ending}").read_text().split()


def numbers(texts: np.ndarray) -> np.ndarray:
    """Return texts as float64, NaN for NA."""
    return np.array([np.nan if text in ("NA", "nan") else float(text) for text in texts])


def plink_files(name: str) -> Path:
    """Return the prefix of a real data set in PLINK 1 files, or skip the test."""
    return Path(str(real_data(f"genotypes/{name}.bed")).removesuffix(".bed"))


def write_table(path: Path, ids: tuple, columns: dict[str, np.ndarray]) -> Path:
    """Write a phenotype or covariate table for samples of (family_ids, ids); NA for NaN."""
    rows = [["#FID", "IID", *columns]]
    for number, (family, name) in enumerate(zip(*ids, strict=True)):
        values = [column[number] for column in columns.values()]
        rows.append([family, name, *("NA" if v != v else f"{v:.17g}" for v in values)])
    path.write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))
    return path


def read_real(files: Path) -> Genotypes:
    """Return the genotypes of PLINK 1 files of this prefix."""
    return read_genotypes(f"{files}.bed")
