"""The genotype matrix as a linear operator on packed data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike

from genoviz.analyses.genotypes.code_values import (
    frequencies_of_counts,
    spare_missing,
    values_of_codes,
)
from genoviz.analyses.genotypes.matrix_parts import (
    KERNEL,
    FiveCodesPart,
    MatrixPart,
    module_of,
    rows_of,
    split_variants,
)
from genoviz.analyses.genotypes.variant_blocks import iter_tasks, variants_at_a_time
from genoviz.backend import Backend, Scheduler, load_kernel, to_host
from genoviz.errors import ParameterError, check_choice
from genoviz.generators import Progress, iter_slices, last_of
from genoviz.model.genotypes.genotypes import MISSING_CODE, Genotypes

MISSING = ("mean", "zero")
PACKINGS = ("2bit", "5codes")


def allele_counts(genotypes: Genotypes, *, backend: Backend = "auto") -> np.ndarray:
    """Return the number of samples with each 2-bit code.

    Returns
    -------
    numpy.ndarray
        int64, shape (n_variants, 4): homozygous A1, missing, heterozygous, homozygous A2.
    """
    return last_of(iter_allele_counts(genotypes, backend=backend)).result


def iter_allele_counts(
    genotypes: Genotypes, *, scheduler: Scheduler = None, backend: Backend = "auto"
) -> Iterator[Progress]:
    """Count the codes in blocks of variants; the last step has all counts."""
    counts = np.empty((genotypes.n_variants, 4), np.int64)
    if scheduler is not None:
        common = genotypes.n_samples, backend
        tasks = iter_tasks(_count_block, genotypes, common=common, scheduler=scheduler)
        for done, block, found in tasks:
            counts[block] = found
            yield Progress("counting genotypes", done)
        yield Progress("counting genotypes", 1.0, counts)
        return
    kernel = load_kernel(KERNEL, backend)

    def count(first: int, stop: int) -> None:
        packed = rows_of(genotypes.packed[first:stop])
        counts[first:stop] = to_host(kernel.count_codes(packed, genotypes.n_samples))

    first_size = variants_at_a_time(genotypes, backend=backend)
    for n_done, _ in iter_slices(count, genotypes.n_variants, first_size=first_size):
        yield Progress("counting genotypes", n_done / genotypes.n_variants)
    yield Progress("counting genotypes", 1.0, counts)


def _count_block(packed: np.ndarray, n_samples: int, backend: Backend) -> np.ndarray:
    return allele_counts(Genotypes.unnamed(packed, np.zeros(n_samples, np.uint8)), backend=backend)


class GenotypeMatrix:
    """The dosage matrix Z, samples by variants, multiplied without unpacking it.

    A dosage counts allele A1. On a GPU, the packed genotypes stay in its memory while this object
    lives, if they fit; otherwise each product transfers them in blocks.

    Parameters
    ----------
    genotypes
        The packed genotypes.
    centre
        Whether to subtract 2p, for p the frequency of A1 at the variant; ``"half"`` subtracts 1,
        as if all frequencies were 1/2.
    standardise
        Whether to divide columns by sqrt(2p(1 - p)); constant columns become 0.
    missing
        Value of a missing genotype before centring: ``"mean"`` is 2p, ``"zero"`` is 0.
    frequencies
        float64, shape (n_variants,): p, from 0 to 1; by default from the called genotypes.
    counts
        Result of `allele_counts`, if already known; otherwise it is computed.
    packing
        ``"2bit"``: the packed genotypes themselves; ``"5codes"``: a copy with five variants of a
        sample in a byte. The latter is for CPUs, and requires that no genotype is missing unless
        ``missing`` is ``"zero"``.
    dtype
        float64 or float32: of dense matrices, sums and products.
    matrix_unit
        Whether to use the CPU's matrix unit (AMX), if any, for products with packing ``"2bit"``, as
        sums of integers; otherwise lookup tables are used. GPUs have their own method.
    devices
        Numbers of GPUs, each with a part of the variants; only the current one if None.
    backend
        ``"auto"``, ``"cpu"`` or ``"cuda"``.

    Attributes
    ----------
    shape
        (n_samples, n_variants).
    frequencies
        float64, shape (n_variants,); 0 if no genotype is called.
    values
        float64, shape (n_variants, 4): value of each 2-bit code of each variant.

    Raises
    ------
    ParameterError
        If an option is unknown or incompatible with the genotypes.

    References
    ----------
    Freudenberg et al. 2023, Accelerated matrix-vector multiplications for matrices involving
    genotype covariates with applications in genomic prediction, doi:10.3389/fgene.2023.1220408
    """

    def __init__(
        self,
        genotypes: Genotypes,
        *,
        centre: bool | Literal["half"] = True,
        standardise: bool = False,
        missing: Literal["mean", "zero"] = "mean",
        frequencies: np.ndarray | None = None,
        counts: np.ndarray | None = None,
        packing: Literal["2bit", "5codes"] = "2bit",
        dtype: DTypeLike = np.float64,
        matrix_unit: bool = True,
        devices: Sequence[int] | None = None,
        backend: Backend = "auto",
    ) -> None:
        check_choice("missing", missing, MISSING)
        check_choice("packing", packing, PACKINGS)
        self.dtype = np.dtype(dtype)
        if self.dtype not in (np.float64, np.float32):
            raise ParameterError(f"dtype is {self.dtype}, needs float64 or float32")
        self.shape = genotypes.n_samples, genotypes.n_variants
        self._parts = _make_parts(genotypes, packing, missing, matrix_unit, devices, backend)
        self._threads = [ThreadPoolExecutor(1) for _ in self._parts[1:] and self._parts]
        if counts is None:
            counts = np.concatenate(self._run(lambda part: part.count_codes()))
        if frequencies is None:
            self.frequencies = frequencies_of_counts(counts)
        else:
            self.frequencies = _check_frequencies(frequencies, genotypes.n_variants)
        self.values = values_of_codes(
            self.frequencies, centre=centre, standardise=standardise, missing=missing
        )
        values = spare_missing(self.values, counts)
        for part in self._parts:
            part.keep_values(values)

    def __repr__(self) -> str:
        return f"GenotypeMatrix({self.shape[0]:,} x {self.shape[1]:,}, {self.dtype})"

    @property
    def T(self) -> TransposedGenotypeMatrix:
        """The transpose, as a view."""
        return TransposedGenotypeMatrix(self)

    def multiply(self, right: Any) -> Any:
        """Return Z @ right.

        Parameters
        ----------
        right
            Shape (n_variants,) or (n_variants, k): a NumPy array or, on a GPU, a CuPy array.

        Returns
        -------
        array
            Shape (n_samples,) or (n_samples, k), in the memory of ``right``.

        Raises
        ------
        ParameterError
            If ``right`` has the wrong shape.
        """
        columns = self._check_dense(right, self.shape[1], "variants")
        first, *others = self._run(lambda part: part.multiply(columns))
        for other in others:
            first = first + module_of(first).asarray(other)
        return first.reshape(self.shape[0], *right.shape[1:])

    def multiply_transposed(self, left: Any) -> Any:
        """Return Z.T @ left.

        Parameters
        ----------
        left
            Shape (n_samples,) or (n_samples, k): a NumPy array or, on a GPU, a CuPy array.

        Returns
        -------
        array
            Shape (n_variants,) or (n_variants, k), in the memory of ``left``.

        Raises
        ------
        ParameterError
            If ``left`` has the wrong shape.
        """
        columns = self._check_dense(left, self.shape[0], "samples")
        products = self._run(lambda part: part.multiply_transposed(columns))
        module = module_of(columns)
        product = products[0]
        if len(products) > 1:
            product = module.concatenate([module.asarray(rows) for rows in products])
        return product.reshape(self.shape[1], *left.shape[1:])

    def __matmul__(self, right: Any) -> Any:
        return self.multiply(right)

    def _check_dense(self, dense: Any, n_rows: int, what: str) -> Any:
        """Return a dense matrix in the form that the kernels need."""
        if dense.ndim not in (1, 2) or len(dense) != n_rows:
            raise ParameterError(
                f"the dense matrix has shape {dense.shape}, needs ({n_rows},) or ({n_rows}, k) "
                f"for {n_rows:,} {what}"
            )
        columns = dense if dense.ndim == 2 else dense[:, None]
        return module_of(dense).ascontiguousarray(columns, self.dtype)

    def _run(self, function: Callable[[MatrixPart], Any]) -> list[Any]:
        """Return the result of a function for each part; GPUs run concurrently."""
        if len(self._parts) == 1:
            return [function(self._parts[0])]
        tasks = [
            thread.submit(function, part)
            for thread, part in zip(self._threads, self._parts, strict=True)
        ]
        return [task.result() for task in tasks]


class TransposedGenotypeMatrix:
    """The transpose of a `GenotypeMatrix`, as a view.

    Attributes
    ----------
    T
        The matrix that this is the transpose of.
    shape
        (n_variants, n_samples).
    """

    def __init__(self, matrix: GenotypeMatrix) -> None:
        self.T = matrix
        self.shape = matrix.shape[::-1]
        self.dtype = matrix.dtype

    def multiply(self, right: Any) -> Any:
        """Return Z.T @ right."""
        return self.T.multiply_transposed(right)

    def multiply_transposed(self, left: Any) -> Any:
        """Return Z @ left."""
        return self.T.multiply(left)

    def __matmul__(self, right: Any) -> Any:
        return self.multiply(right)


def _make_parts(
    genotypes: Genotypes,
    packing: str,
    missing: str,
    matrix_unit: bool,
    devices: Sequence[int] | None,
    backend: Backend,
) -> list[MatrixPart]:
    splits = split_variants(genotypes.n_variants, devices, backend)
    if packing == "2bit":
        return [
            MatrixPart(genotypes, variants, device, matrix_unit, backend)
            for variants, device in splits
        ]
    part = FiveCodesPart(genotypes, backend)
    n_missing = part.count_codes()[:, MISSING_CODE].sum()
    if n_missing and missing != "zero":
        raise ParameterError(
            f"packing '5codes' has no place for missing genotypes, and there are {n_missing:,}: "
            "it needs missing 'zero'"
        )
    return [part]


def _check_frequencies(frequencies: np.ndarray, n_variants: int) -> np.ndarray:
    found = np.asarray(frequencies, np.float64)
    if found.shape != (n_variants,):
        raise ParameterError(f"frequencies have shape {found.shape}, need ({n_variants},)")
    wrong = found[~((found >= 0) & (found <= 1))]
    if len(wrong):
        raise ParameterError(f"frequencies have {wrong[0]}, need values from 0 to 1")
    return found
