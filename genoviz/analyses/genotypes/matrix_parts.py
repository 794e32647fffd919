"""Parts of a genotype matrix by variants, on the CPU or GPU that multiplies them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from genoviz.backend import (
    Backend,
    array_module,
    check_devices,
    load_kernel,
    resolve_backend,
    to_host,
)
from genoviz.errors import ParameterError
from genoviz.model.genotypes.genotypes import Genotypes

KERNEL = "genotype_product"
CARD_SHARE = 0.8
"""Share of a GPU's free memory that packed genotypes may use."""


def split_variants(
    n_variants: int, devices: Sequence[int] | None, backend: Backend
) -> list[tuple[slice, int | None]]:
    """Return the variants of each GPU, split evenly; all variants if no devices are given.

    Raises
    ------
    ParameterError
        If devices are given for the CPU, or do not exist.
    """
    if devices is None:
        return [(slice(0, n_variants), None)]
    check_devices(devices, backend)
    edges = [n_variants * k // len(devices) for k in range(len(devices) + 1)]
    return [
        (slice(*ends), device) for *ends, device in zip(edges, edges[1:], devices, strict=False)
    ]


def module_of(array: Any) -> Any:
    """Return the module of an array: NumPy or CuPy."""
    if isinstance(array, np.ndarray):
        return np
    import cupy

    return cupy


def rows_of(packed: Any) -> Any:
    """Return packed genotypes as a contiguous array; those on a GPU stay there."""
    if not isinstance(packed, np.ndarray) and hasattr(packed, "__cuda_array_interface__"):
        import cupy

        return cupy.asarray(packed)
    return np.ascontiguousarray(packed)


class MatrixPart:
    """Some variants of a matrix, in the memory of their device.

    Parameters
    ----------
    genotypes
        The packed genotypes.
    variants
        Which of them.
    device
        Number of a GPU, or None for the current one or the CPU.
    matrix_unit, backend
        As in `GenotypeMatrix`.
    """

    def __init__(
        self,
        genotypes: Genotypes,
        variants: slice,
        device: int | None,
        matrix_unit: bool,
        backend: Backend,
    ) -> None:
        self.variants = variants
        self._n_samples, self._device = genotypes.n_samples, device
        self._kernel, self._module = load_kernel(KERNEL, backend), array_module(backend)
        self._packed = rows_of(genotypes.packed[variants])
        self._options = {"matrix_unit": matrix_unit} if self._module is np else {}
        if self._module is not np:
            with self._on_device():
                self._packed = _sent_where_it_fits(self._packed)
        self._values: Any = None

    def keep_values(self, values: np.ndarray) -> None:
        """Store the values of the codes: float64, shape (n_variants of the matrix, 4)."""
        with self._on_device():
            self._values = self._module.asarray(values[self.variants])

    def count_codes(self) -> np.ndarray:
        """Return the number of samples with each code: int64, shape (n_variants, 4)."""
        with self._on_device():
            return to_host(self._kernel.count_codes(self._packed, self._n_samples))

    def multiply(self, right: Any) -> Any:
        """Return this part's contribution to Z @ right, given the full right side."""
        return self._multiply(self._kernel.multiply, right[self.variants])

    def multiply_transposed(self, left: Any) -> Any:
        """Return the part's rows of Z.T @ left."""
        return self._multiply(self._kernel.multiply_transposed, left)

    def _multiply(self, multiply: Any, dense: Any) -> Any:
        with self._on_device():
            if module_of(dense) is not np:
                dense = self._module.asarray(dense)
            product = multiply(self._packed, self._n_samples, self._values, dense, **self._options)
            if self._device is not None:
                self._module.cuda.get_current_stream().synchronize()
        return product

    def _on_device(self) -> AbstractContextManager:
        return nullcontext() if self._device is None else self._module.cuda.Device(self._device)


class FiveCodesPart(MatrixPart):
    """All variants of a matrix, five per byte and sample: 80 % of the size, on the CPU.

    Missing genotypes count as dosage 0.

    Raises
    ------
    ParameterError
        If the backend is not the CPU.
    """

    def __init__(self, genotypes: Genotypes, backend: Backend) -> None:
        if resolve_backend(backend) != "cpu":
            raise ParameterError("packing '5codes' needs backend 'cpu', and the backend is 'cuda'")
        super().__init__(genotypes, slice(0, genotypes.n_variants), None, False, "cpu")
        self._counts = super().count_codes()
        self._five_codes = self._kernel.pack_five_codes(self._packed, self._n_samples)
        self._packed = None

    def count_codes(self) -> np.ndarray:
        """Return the number of samples with each code: int64, shape (n_variants, 4)."""
        return self._counts

    def multiply(self, right: Any) -> Any:
        """Return Z @ right."""
        return self._look_up(self._kernel.multiply_five_codes, right)

    def multiply_transposed(self, left: Any) -> Any:
        """Return Z.T @ left."""
        return self._look_up(self._kernel.multiply_five_codes_transposed, left)

    def _look_up(self, multiply: Any, dense: Any) -> Any:
        return multiply(self._five_codes, len(self._values), self._values, dense)


def _sent_where_it_fits(packed: np.ndarray) -> Any:
    """Return an array on the current GPU, or unchanged on the host if it does not fit."""
    import cupy

    free = cupy.cuda.Device().mem_info[0] + cupy.get_default_memory_pool().free_bytes()
    return cupy.asarray(packed) if packed.nbytes <= CARD_SHARE * free else packed
