"""All tests."""

import os

# Before NumPy is loaded. Threads of a linear algebra library wait for the next product by spinning,
# which takes as long again as the products of tests, and here there are processes for all cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
