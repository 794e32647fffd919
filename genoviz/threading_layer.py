"""The threads that Numba's parallel kernels run on, chosen before the first of them starts.

Numba's ``workqueue`` layer aborts the process when two Python threads run kernels at once, and
GNU OpenMP's threads spin while they wait, which halves the speed on busy cores. So TBB is used
where it is installed, and OpenMP where it is not.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from pathlib import Path

VARIABLE = "NUMBA_THREADING_LAYER"
LAYERS = "threadsafe"
TBB = Path(sys.prefix) / "lib" / "libtbb.so.12"


def prepare_threading_layer() -> None:
    """Let Numba choose among the layers that may be used from several threads.

    Numba looks for TBB where the system's loader looks, which is not where its wheel is
    installed: so it is loaded here. A choice by the user's ``NUMBA_THREADING_LAYER`` is kept.
    """
    if VARIABLE in os.environ:
        return
    with contextlib.suppress(OSError):
        ctypes.CDLL(str(TBB), mode=ctypes.RTLD_GLOBAL)
    os.environ[VARIABLE] = LAYERS
    if "numba" in sys.modules:
        sys.modules["numba"].config.THREADING_LAYER = LAYERS
