"""All tests."""

import os

# Must be set before NumPy is imported. Threads of the BLAS library busy-wait between products,
# which doubles the CPU time, and worker processes already use all cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
