"""Where kernels run: this is the only module that knows backends by name.

``"cpu"`` is Numba on all cores, ``"cuda"`` is CuPy on an NVIDIA GPU, and ``"auto"`` is
``"cuda"`` when a GPU can be used and ``"cpu"`` otherwise.
"""

from __future__ import annotations

import importlib
import platform
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Literal

from genoviz.errors import BackendError, ParameterError

Backend = Literal["auto", "cpu", "cuda"]
BACKENDS: tuple[str, ...] = ("auto", "cpu", "cuda")


@cache
def cuda_is_available() -> bool:
    """Tell whether CuPy is installed and sees a GPU."""
    try:
        import cupy
    except ImportError:
        return False
    return bool(cupy.cuda.is_available())


def resolve_backend(backend: Backend = "auto") -> Literal["cpu", "cuda"]:
    """Return ``"cpu"`` or ``"cuda"`` for what the user asked for.

    Raises
    ------
    BackendError
        If ``backend`` is unknown, or is ``"cuda"`` where no GPU can be used.
    """
    if backend not in BACKENDS:
        raise BackendError(f"backend is {backend!r}, needs one of {', '.join(BACKENDS)}")
    if backend == "cpu":
        return "cpu"
    if cuda_is_available():
        return "cuda"
    if backend == "cuda":
        raise BackendError(
            "backend 'cuda' needs an NVIDIA GPU and CuPy, and none can be used here; "
            "install genoviz[cuda12] or genoviz[cuda13], or choose backend 'cpu'"
        )
    return "cpu"


def load_kernel(name: str, backend: Backend = "auto") -> ModuleType:
    """Return the module of kernel ``name`` (a folder of ``genoviz.kernels``) for a backend."""
    if resolve_backend(backend) == "cpu":
        return importlib.import_module(f"genoviz.kernels.{name}.cpu")
    return importlib.import_module(f"genoviz.kernels.{name}.cuda")


def array_module(backend: Backend = "auto") -> ModuleType:
    """Return the module whose arrays a backend's kernels take: NumPy or CuPy."""
    return importlib.import_module("numpy" if resolve_backend(backend) == "cpu" else "cupy")


def check_devices(devices: Sequence[int], backend: Backend) -> None:
    """Check numbers of GPUs.

    Raises
    ------
    ParameterError
        If devices are named for the CPU, or there are none of some number.
    """
    if resolve_backend(backend) == "cpu":
        raise ParameterError("devices are numbers of GPUs, and the backend is 'cpu'")
    import cupy

    n_devices = cupy.cuda.runtime.getDeviceCount()
    wrong = [device for device in devices if not 0 <= device < n_devices]
    if wrong or not len(devices):
        found = wrong[0] if wrong else "empty"
        raise ParameterError(f"devices is {found}, needs numbers of GPUs from 0 to {n_devices - 1}")


def describe_backend(backend: Backend = "auto") -> str:
    """Return a backend in words, e.g. ``"CPU, 2 threads"`` or ``"GPU NVIDIA H200"``."""
    if resolve_backend(backend) == "cpu":
        import numba

        n_threads = numba.config.NUMBA_NUM_THREADS
        return f"CPU, {n_threads} {'thread' if n_threads == 1 else 'threads'}"
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
    return f"GPU {properties['name'].decode()}"


def describe_machine() -> str:
    """Return the processor and, where there is one, the GPU, as benchmark tables name them."""
    cpu = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        models = [line for line in cpuinfo.read_text().splitlines() if "model name" in line]
        if models:
            cpu = f"{len(models)} cores of {models[0].split(':', 1)[1].strip()}"
    return f"{cpu}; {describe_backend('cuda')}" if cuda_is_available() else cpu
