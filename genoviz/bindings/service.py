"""The process behind a handle of ``genoviz.h``; it holds genotypes and answers calls.

The compiled library starts it as ``python -m genoviz.bindings.service``, with a socket as file
descriptor 3 and shared memory as file descriptor 4; ``genoviz.c`` defines the protocol.
"""

from __future__ import annotations

import math
import mmap
import os
import signal
import socket
import sys
import traceback
from collections.abc import Iterator
from dataclasses import replace
from typing import IO, Any

import numpy as np

from genoviz.errors import GenovizError, ParameterError, n_words

SOCKET, MEMORY = 3, 4
OF_MATRIX = ("centre", "standardise", "missing", "packing", "dtype", "backend")
NUMBERS = ("heritability", "repeatability", "polygenic_weight", "tolerance", "max_iterations")
WORDS = ("contigs", "preconditioner")
METHODS = ("SNP-BLUP", "GBLUP", "ssSNPBLUP", "ssGTABLUP")
TAKEN = ("phenotype", "covariates", "weights", "records", "sires", "dams", "genotyped", "gamma")
OF_COLUMNS = ("covariates", "gamma")
OF_SOLUTION = (
    "effects", "breeding_values", "fixed_effects", "permanent_effects", "group_effects",
    "residuals", "is_converged", "iterations", "seconds",
)  # fmt: skip


class Stopped(Exception):
    """The progress callback of the caller asked to stop."""


class Service:
    """The genotypes, the input of a solution, and the last solution.

    Parameters
    ----------
    requests, answers
        The two directions of the socket.
    memory
        File descriptor of the shared memory with the arrays.
    """

    def __init__(self, requests: IO[bytes], answers: IO[bytes], memory: int) -> None:
        self._requests, self._answers, self._memory = requests, answers, memory
        self._shared: np.ndarray | None = None
        self._put: dict[str, np.ndarray] = {}
        self._results: dict[str, np.ndarray] = {}
        self._matrix: Any = None
        self._genotypes: Any = None
        self._backend: Any = "auto"

    def run(self) -> None:
        """Answer requests until there are no more."""
        while line := self._requests.readline():
            name, *numbers = line.decode().split()
            try:
                answer = getattr(self, f"_answer_{name}")(*(int(number) for number in numbers))
                self._say("ok", *(answer or ()))
            except Stopped:
                self._say("error", "stopped")
            except (GenovizError, OSError, MemoryError) as error:
                self._say("error", str(error) or "there is no memory left")
            except Exception as error:
                traceback.print_exc()
                self._say("error", f"{type(error).__name__}: {error}")

    def _say(self, *words: object) -> None:
        line = " ".join(" ".join(map(str, words)).split())
        self._answers.write(os.fsencode(line) + b"\n")
        self._answers.flush()

    def _tell(self, what: str, done: float) -> None:
        self._say("told", f"{done:.6f}", what)
        if self._requests.readline() != b"go\n":
            raise Stopped

    def _text(self, length: int) -> str:
        return os.fsdecode(self._requests.read(length))

    def _share(self, first: int, shape: tuple[int, ...], dtype: type = np.float64) -> np.ndarray:
        """Return an array in the shared memory, from a byte offset, in Fortran order."""
        n_bytes = first + math.prod(shape) * np.dtype(dtype).itemsize
        if n_bytes == first:
            return np.empty(shape, dtype, order="F")
        if self._shared is None or len(self._shared) < n_bytes:
            size = os.fstat(self._memory).st_size
            self._shared = np.frombuffer(mmap.mmap(self._memory, size), np.uint8)
        return self._shared[first:n_bytes].view(dtype).reshape(shape, order="F")

    def _answer_open(self, n_path: int, n_options: int) -> tuple[int, int]:
        from genoviz.io.genotypes.reader import iter_read_genotypes

        path, options = self._text(n_path), self._text(n_options)
        for step in iter_read_genotypes(path, dosages=False):
            self._tell(step.stage, step.n_done / max(step.n_total, 1))
        return self._take(step.genotypes, options)

    def _answer_pack(self, n_samples: int, n_variants: int, n_options: int) -> tuple[int, int]:
        from genoviz.model.genotypes.genotypes import Genotypes

        options = self._text(n_options)
        shared = self._share(0, (-(-n_samples // 4), n_variants), np.uint8)
        genotypes = Genotypes.unnamed(shared.T.copy(), np.zeros(n_samples, np.uint8))
        return self._take(genotypes, options)

    def _take(self, genotypes: Any, text: str) -> tuple[int, int]:
        from genoviz.analyses.genotypes.products import GenotypeMatrix

        options: dict[str, Any] = read_options(text, OF_MATRIX)
        for name in ("centre", "standardise"):
            if name in options:
                options[name] = is_yes(name, options[name])
        if options.get("dtype", "float64") not in ("float64", "float32"):
            raise ParameterError(f"dtype is {options['dtype']}, needs float64 or float32")
        self._backend = options.get("backend", "auto")
        self._genotypes, self._matrix = genotypes, GenotypeMatrix(genotypes, **options)
        self._results = {"frequencies": self._matrix.frequencies}
        return self._matrix.shape

    def _answer_multiply(self, n_columns: int) -> None:
        self._multiply(self._matrix, n_columns)

    def _answer_multiply_transposed(self, n_columns: int) -> None:
        self._multiply(self._matrix.T, n_columns)

    def _multiply(self, matrix: Any, n_columns: int) -> None:
        n_y, n_x = matrix.shape
        x = self._share(0, (n_x, n_columns))
        self._share(x.nbytes, (n_y, n_columns))[:] = matrix @ x

    def _answer_put(self, n_rows: int, n_columns: int, n_name: int) -> None:
        name = self._text(n_name)
        if name not in TAKEN:
            raise ParameterError(f"nothing is called {name!r}; there are {', '.join(TAKEN)}")
        if n_columns != 1 and name not in OF_COLUMNS and n_rows:
            raise ParameterError(f"{name} has {n_words(n_columns, 'column')}, needs 1")
        self._put.pop(name, None)
        if n_rows:
            values = self._share(0, (n_rows, n_columns)).copy()
            self._put[name] = values if name in OF_COLUMNS else values[:, 0]

    def _answer_solve(self, n_options: int) -> None:
        of_matrix = {"frequencies": self._results["frequencies"]}
        self._results = of_matrix
        last = None
        for snapshot in self._iter_solve(self._text(n_options)):
            last = snapshot
            self._tell(snapshot.sentence, share_done(snapshot.residuals, self._tolerance))
        permanent = last.permanent_effects
        found = {
            "permanent_effects": np.empty(0) if permanent is None else permanent,
            "is_converged": np.array([last.is_converged]),
            "iterations": np.array([last.iteration]),
            "seconds": np.array([last.seconds]),
        }
        found = {name: found.get(name, getattr(last, name, None)) for name in OF_SOLUTION}
        self._results = {**of_matrix, **found}

    def _iter_solve(self, text: str) -> Iterator[Any]:
        options: dict[str, Any] = read_options(text, ("method", *NUMBERS, *WORDS))
        for name in NUMBERS:
            if name in options:
                options[name] = read_number(name, options[name])
        self._tolerance = options.get("tolerance", 1e-13)
        method = options.pop("method", METHODS[0])
        if method not in METHODS:
            raise ParameterError(f"method is {method}, needs one of {', '.join(METHODS)}")
        if "phenotype" not in self._put:
            raise ParameterError("no phenotype was put")
        put = dict(self._put)
        phenotype = put.pop("phenotype")
        options.update(
            {name: put.pop(name) for name in ("covariates", "weights") if name in put},
            backend=self._backend,
        )
        of_pedigree = {
            name: put.pop(name) for name in ("sires", "dams", "genotyped") if name in put
        }
        numbered = {name: to_whole(name, values) for name, values in of_pedigree.items()}
        if "records" in put:
            records = to_whole("records", put.pop("records"))
            if len(records) and records.min() < 1:
                raise ParameterError(f"a record is of number {records.min()}, needs 1 or more")
            options["animals" if method in METHODS[2:] else "samples"] = records - 1
        return self._iter_method(method, phenotype, options, numbered, put.get("gamma"))

    def _iter_method(
        self,
        method: str,
        phenotype: np.ndarray,
        options: dict[str, Any],
        numbered: dict[str, np.ndarray],
        gamma: np.ndarray | None,
    ) -> Iterator[Any]:
        from genoviz.analyses.genotypes.prediction.gblup import iter_gblup
        from genoviz.analyses.genotypes.prediction.single_step import iter_single_step
        from genoviz.analyses.genotypes.prediction.snp_blup import iter_snp_blup

        if method in METHODS[2:]:
            pedigree, genotypes = make_pedigree(self._genotypes, **numbered)
            pedigree = pedigree if gamma is None else pedigree.with_gamma(gamma)
            return iter_single_step(genotypes, pedigree, phenotype, form=method, **options)
        unknown = {"GBLUP": ("weights", "samples", "repeatability")}.get(method, ())
        refused = [name for name in (*unknown, "polygenic_weight") if name in options]
        refused += ["gamma"] * (gamma is not None)
        if refused or numbered:
            named = "records" if refused == ["samples"] else (*refused, *numbered)[0]
            raise ParameterError(f"{method} takes no {named}")
        solve = iter_gblup if method == "GBLUP" else iter_snp_blup
        return solve(self._genotypes, phenotype, **options)

    def _answer_size(self, n_name: int) -> tuple[int]:
        return (self._find(self._text(n_name)).size,)

    def _answer_get(self, n_name: int) -> None:
        found = self._find(self._text(n_name))
        self._share(0, found.shape)[:] = found

    def _find(self, name: str) -> np.ndarray:
        if name in self._results:
            return self._results[name]
        if name in OF_SOLUTION:
            raise ParameterError(f"there are no {name}: nothing was solved")
        known = ", ".join(("frequencies", *OF_SOLUTION))
        raise ParameterError(f"nothing is called {name!r}; there are {known}")


def read_options(text: str, known: tuple[str, ...]) -> dict[str, str]:
    """Parse options of the form NAME=VALUE."""
    options = {}
    for word in text.split():
        name, sign, value = word.partition("=")
        if not sign or name not in known:
            raise ParameterError(
                f"{word!r} is no option; there are {', '.join(known)}, each =VALUE"
            )
        options[name] = value
    return options


def is_yes(name: str, value: str) -> bool:
    """Return whether an option is yes."""
    if value not in ("yes", "no"):
        raise ParameterError(f"{name} is {value}, needs yes or no")
    return value == "yes"


def read_number(name: str, value: str) -> float | int:
    """Return the number of an option."""
    try:
        return int(value) if name == "max_iterations" else float(value)
    except ValueError:
        kind = "a whole number" if name == "max_iterations" else "a number"
        raise ParameterError(f"{name} is {value}, needs {kind}") from None


def to_whole(name: str, values: np.ndarray) -> np.ndarray:
    """Return numbers of samples or animals as int64."""
    wrong = values[~(np.abs(values) < 2**53) | (values % 1 != 0)]
    if len(wrong):
        raise ParameterError(f"{name} have {wrong[0]}, need whole numbers")
    return values.astype(np.int64)


def share_done(residuals: np.ndarray, tolerance: float) -> float:
    """Return the share of convergence, on the logarithmic scale of the residual."""
    reached, aim = max(float(residuals[-1]), 1e-300), max(tolerance, 1e-300)
    if reached <= aim:
        return 1.0
    return min(max(math.log(reached) / math.log(aim), 0.0), 1.0) if aim < 1 else 0.0


def make_pedigree(
    genotypes: Any,
    sires: np.ndarray | None = None,
    dams: np.ndarray | None = None,
    genotyped: np.ndarray | None = None,
) -> tuple[Any, Any]:
    """Return the pedigree of numbers from 1, and genotypes whose samples are its animals."""
    from genoviz.model.genotypes.pedigree import Pedigree

    for name, numbers in (("sires", sires), ("dams", dams), ("genotyped", genotyped)):
        if numbers is None:
            raise ParameterError(f"no {name} were put")
    if len(sires) != len(dams):
        raise ParameterError(f"there are {len(sires):,} sires and {len(dams):,} dams")
    n_groups = max(-int(min(sires.min(), dams.min())), 0)
    numbers = np.arange(1, len(sires) + 1)
    wrong = np.flatnonzero(np.maximum(sires, dams) >= numbers)
    if len(wrong):
        animal = int(numbers[wrong[0]])
        parent = int(max(sires[wrong[0]], dams[wrong[0]]))
        raise ParameterError(
            f"animal {animal:,} has parent {parent:,}, needs parents before their progeny"
        )
    ids = numbers.astype(np.str_)
    # Unknown parents (0) become -1, and groups (-1 and below) become -2 and below.
    groups = np.array([f"-{group}" for group in range(1, n_groups + 1)], np.str_)
    pedigree = Pedigree(ids, sires - 1, dams - 1, groups=groups)
    if len(genotyped) != genotypes.n_samples:
        raise ParameterError(
            f"genotyped has {len(genotyped):,} numbers, needs one for each of "
            f"{n_words(genotypes.n_samples, 'sample')}"
        )
    wrong = genotyped[(genotyped < 1) | (genotyped > len(ids))]
    if len(wrong):
        raise ParameterError(
            f"genotyped has animal {int(wrong[0]):,}, needs numbers from 1 to {len(ids):,}"
        )
    samples = replace(genotypes.samples, ids=ids[genotyped - 1])
    return pedigree, replace(genotypes, samples=samples)


def main() -> None:
    """Serve the process that started this one, until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupted caller closes the socket
    with socket.socket(fileno=SOCKET) as both:
        requests, answers = both.makefile("rb"), both.makefile("wb")
        try:
            Service(requests, answers, MEMORY).run()
        except (BrokenPipeError, ConnectionResetError):
            sys.exit(1)


if __name__ == "__main__":
    main()
