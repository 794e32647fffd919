"""Decode packed genotypes to a dense block on one GPU; see the contract in ``__init__``."""

import cupy
import numpy as np

from genoviz.kernels.cuda_source import card_attribute, load_module

THREADS_PER_BLOCK = 256
BLOCKS_PER_MULTIPROCESSOR = 32
TYPES = {"float32": "float", "float64": "double"}
COMPILE_OPTIONS = tuple((f"-DVALUE={name}",) for name in TYPES.values())


def decode(packed, n_samples, values):
    """Return the value of each genotype."""
    packed, values = (cupy.ascontiguousarray(cupy.asarray(part)) for part in (packed, values))
    out = cupy.empty((len(packed), n_samples), values.dtype)
    n_blocks = min(-(-packed.size // THREADS_PER_BLOCK), _max_blocks())
    if out.size:
        options = (f"-DVALUE={TYPES[values.dtype.name]}",)
        module = load_module(__package__, "genotype_decode.cu", options=options)
        module.get_function("decode")(
            (n_blocks,),
            (THREADS_PER_BLOCK,),
            (packed, values, np.int64(len(packed)), np.int64(n_samples), out),
        )
    return out


def _max_blocks():
    return card_attribute("MultiProcessorCount") * BLOCKS_PER_MULTIPROCESSOR
