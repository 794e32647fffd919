"""Where kernels run, and on which threads: the only module that knows backends by name.

``"cpu"`` is Numba on all cores, ``"cuda"`` is CuPy on an NVIDIA GPU, and ``"auto"`` is
``"cuda"`` when a GPU can be used and ``"cpu"`` otherwise.

The threads of Numba's parallel kernels are chosen before the first of them starts. Its
``workqueue`` layer aborts the process when two Python threads run kernels at once, and GNU
OpenMP's threads spin while they wait, which halves the speed on busy cores. TBB is therefore used
if it is installed, and OpenMP otherwise.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import platform
import sys
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from genoviz.errors import BackendError, ParameterError

Backend = Literal["auto", "cpu", "cuda"]
Scheduler = Any
"""Where work is shared out to other machines: the address of a scheduler of Dask, or a client of
``distributed``; None for this process alone. See `genoviz.cluster`."""
BACKENDS: tuple[str, ...] = ("auto", "cpu", "cuda")
VARIABLE = "NUMBA_THREADING_LAYER"
LAYERS = "threadsafe"
KNOWN_LAYERS = ("default", "safe", "threadsafe", "forksafe", "tbb", "omp", "workqueue")
BLAS_PAUSE = ("OPENBLAS_THREAD_TIMEOUT", "16")
"""The variable that OpenBLAS reads, when it is loaded, and the logarithm of cycles, to base 2."""
TBB = Path(sys.prefix) / "lib" / "libtbb.so.12"
_POOLS = {"tbb": "numba.np.ufunc.tbbpool", "omp": "numba.np.ufunc.omppool"}
_NAMES = {"tbb": "TBB", "omp": "OpenMP"}

GPU_SPEED = 32
"""Comparisons or products of a GPU per second, relative to the cores of one worker, roughly."""

_GPU_IS_LOST = threading.Event()


def cuda_is_available() -> bool:
    """Return whether CuPy is installed and sees a GPU that has not failed."""
    return not gpu_is_lost() and _sees_gpu()


def gpu_is_lost() -> bool:
    """Return whether the GPU has failed; a process that lost it cannot use it again."""
    return _GPU_IS_LOST.is_set()


@cache
def _sees_gpu() -> bool:
    # Importing CuPy just to find no GPU would take a tenth of a command's start-up time.
    if not _has_driver():
        return False
    try:
        import cupy
    except ImportError:
        return False
    return bool(cupy.cuda.is_available())


def _has_driver() -> bool:
    """Return whether the driver of NVIDIA GPUs can be loaded."""
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    return True


def resolve_backend(backend: Backend = "auto") -> Literal["cpu", "cuda"]:
    """Return ``"cpu"`` or ``"cuda"`` for what the user asked for.

    Raises
    ------
    BackendError
        If ``backend`` is unknown, or is ``"cuda"`` and no GPU can be used.
    """
    if backend not in BACKENDS:
        raise BackendError(f"backend is {backend!r}, needs one of {', '.join(BACKENDS)}")
    if backend == "cpu":
        return "cpu"
    if cuda_is_available():
        return "cuda"
    if backend == "cuda":
        if gpu_is_lost():
            raise BackendError(
                "the GPU has failed and is not used any more by this process; choose backend "
                "'cpu', or start it again"
            )
        raise BackendError(
            "backend 'cuda' needs an NVIDIA GPU and CuPy, and none can be used here; "
            "install genoviz[cuda12] or genoviz[cuda13], or choose backend 'cpu'"
        )
    return "cpu"


def size_of_task(cpu_size: int, backend: Backend) -> int:
    """Return the size of a worker's task that takes some seconds there, from its size on a CPU.

    A submitting machine need not have the workers' GPUs, so ``"auto"`` follows what it has.
    """
    has_gpu = backend == "cuda" or (backend == "auto" and cuda_is_available())
    return cpu_size * GPU_SPEED if has_gpu else cpu_size


def load_kernel(name: str, backend: Backend = "auto") -> ModuleType:
    """Return the module of kernel ``name`` (a folder of ``genoviz.kernels``) for a backend."""
    if resolve_backend(backend) == "cpu":
        return importlib.import_module(f"genoviz.kernels.{name}.cpu")
    return importlib.import_module(f"genoviz.kernels.{name}.cuda")


def array_module(backend: Backend = "auto") -> ModuleType:
    """Return the array module of a backend's kernels: NumPy or CuPy."""
    return importlib.import_module("numpy" if resolve_backend(backend) == "cpu" else "cupy")


def to_device(array: Any, backend: Backend = "auto") -> Any:
    """Return an array in the memory of a backend; a GPU array is returned unchanged.

    CuPy's own ``asarray`` copies through pinned memory, which it keeps, so that a large array would
    need its size on the host a second time.
    """
    if resolve_backend(backend) == "cpu" or hasattr(array, "__cuda_array_interface__"):
        return array
    placed = array_module(backend).empty(array.shape, array.dtype)
    placed.set(array)
    return placed


def to_host(array: Any) -> Any:
    """Return an array of any backend as a NumPy array; a NumPy array is returned unchanged."""
    return array.get() if hasattr(array, "get") else array


def check_devices(devices: Sequence[int], backend: Backend) -> None:
    """Check numbers of GPUs.

    Raises
    ------
    ParameterError
        If devices are given for the CPU, or do not exist.
    """
    if resolve_backend(backend) == "cpu":
        raise ParameterError("devices are numbers of GPUs, and the backend is 'cpu'")
    import cupy

    n_devices = cupy.cuda.runtime.getDeviceCount()
    wrong = [device for device in devices if not 0 <= device < n_devices]
    if wrong or not len(devices):
        found = wrong[0] if wrong else "empty"
        raise ParameterError(f"devices is {found}, needs numbers of GPUs from 0 to {n_devices - 1}")


def use_device(device: int | None) -> contextlib.AbstractContextManager:
    """Return a context in which CuPy uses a GPU, by a stream of its own."""
    stack = contextlib.ExitStack()
    if device is not None:
        import cupy

        stack.enter_context(cupy.cuda.Device(device))
        stack.enter_context(cupy.cuda.Stream(non_blocking=True))
    return stack


def describe_backend(backend: Backend = "auto") -> str:
    """Return a backend in words, e.g. ``"CPU, 2 threads"`` or ``"GPU NVIDIA H200"``."""
    if resolve_backend(backend) == "cpu":
        import numba

        n_threads = numba.config.NUMBA_NUM_THREADS
        return f"CPU, {n_threads} {'thread' if n_threads == 1 else 'threads'}"
    return f"GPU {_gpu_name()}"


@cache
def _gpu_name() -> str:
    import cupy

    return cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["name"].decode()


def explain_gpu_failure(error: BaseException | None) -> str:
    """Return what an error of CuPy means, as one sentence; "" for any other error.

    If the GPU has failed, ``"auto"`` means the CPU from now on.
    """
    if not type(error).__module__.startswith("cupy"):
        return ""
    import cupy

    try:
        cupy.cuda.runtime.deviceSynchronize()
    except Exception:  # whatever a driver throws whose GPU is gone
        _GPU_IS_LOST.set()
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        return (
            f"The GPU has failed ({reason}): what it was computing is lost, all else goes on, and "
            "what is started from now on runs on the CPU."
        )
    if isinstance(error, MemoryError):
        with contextlib.suppress(Exception):  # it is as full as before
            cupy.get_default_memory_pool().free_all_blocks()
        return (
            "There is not enough memory on the GPU for this: wait until others' jobs have ended, "
            "or choose the CPU."
        )
    return ""


def limit_gpu_memory(n_bytes: int) -> None:
    """Limit the GPU memory of this process and its child processes.

    Work that needs more raises an error, and memory of other processes is not affected.
    """
    os.environ["CUPY_GPU_MEMORY_LIMIT"] = str(n_bytes)  # for pools that are made from now on
    cupy = sys.modules.get("cupy")
    if cupy is not None and cupy.cuda.is_available():
        cupy.get_default_memory_pool().set_limit(size=n_bytes)


def describe_machine() -> str:
    """Return the names of the CPU and, if there is one, the GPU, for benchmark tables."""
    cpu = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        models = [line for line in cpuinfo.read_text().splitlines() if "model name" in line]
        if models:
            cpu = f"{len(models)} cores of {models[0].split(':', 1)[1].strip()}"
    return f"{cpu}; {describe_backend('cuda')}" if cuda_is_available() else cpu


def prepare_threading_layer() -> None:
    """Let Numba choose among the threading layers that several threads may use.

    Threads of OpenBLAS spin for some tenths of a second after each product, and when NumPy is
    imported, on cores that kernels need; they are to sleep after some 20 microseconds.

    Numba searches TBB on the system's library path, which does not include its wheel, so TBB is
    loaded here. The user's ``NUMBA_THREADING_LAYER`` takes precedence.
    """
    os.environ.setdefault(*BLAS_PAUSE)
    with contextlib.suppress(OSError):
        ctypes.CDLL(str(TBB), mode=ctypes.RTLD_GLOBAL)
    if VARIABLE in os.environ:
        return
    os.environ[VARIABLE] = LAYERS
    if "numba" in sys.modules:
        sys.modules["numba"].config.THREADING_LAYER = LAYERS


def find_fault_of_layer() -> str | None:
    """Return why the user's choice of a layer is unusable, in a sentence; None if it is valid."""
    chosen = os.environ.get(VARIABLE, LAYERS)
    if chosen.lower() not in KNOWN_LAYERS:
        return f"{VARIABLE} is {chosen!r}, needs to be one of {', '.join(KNOWN_LAYERS)}, or unset"
    pool = _POOLS.get(chosen.lower())
    if pool is not None:
        try:
            importlib.import_module(pool)
        except ImportError as error:
            name = _NAMES[chosen.lower()]
            return f"{VARIABLE} is {chosen!r}, but {name} cannot be loaded ({error}); unset it"
    return None
