"""The threads that Numba's parallel kernels run on, chosen before the first of them starts.

Numba's ``workqueue`` layer aborts the process when two Python threads run kernels at once, and
GNU OpenMP's threads spin while they wait, which halves the speed on busy cores. So TBB is used
where it is installed, and OpenMP where it is not.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import sys
from pathlib import Path

VARIABLE = "NUMBA_THREADING_LAYER"
LAYERS = "threadsafe"
KNOWN_LAYERS = ("default", "safe", "threadsafe", "forksafe", "tbb", "omp", "workqueue")
TBB = Path(sys.prefix) / "lib" / "libtbb.so.12"
_POOLS = {"tbb": "numba.np.ufunc.tbbpool", "omp": "numba.np.ufunc.omppool"}
_NAMES = {"tbb": "TBB", "omp": "OpenMP"}


def prepare_threading_layer() -> None:
    """Let Numba choose among the layers that may be used from several threads.

    Numba looks for TBB where the system's loader looks, which is not where its wheel is
    installed: so it is loaded here. A choice by the user's ``NUMBA_THREADING_LAYER`` is kept.
    """
    with contextlib.suppress(OSError):
        ctypes.CDLL(str(TBB), mode=ctypes.RTLD_GLOBAL)
    if VARIABLE in os.environ:
        return
    os.environ[VARIABLE] = LAYERS
    if "numba" in sys.modules:
        sys.modules["numba"].config.THREADING_LAYER = LAYERS


def find_fault_of_layer() -> str | None:
    """Return why the user's choice of a layer cannot be, in a sentence, or None where it can."""
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
