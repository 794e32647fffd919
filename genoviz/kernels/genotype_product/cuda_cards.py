"""Capabilities of a card, and the product compiled for it."""

import hashlib
import os
import tempfile
from functools import cache
from pathlib import Path

import cupy
from cupy.cuda import nvrtc

from genoviz.kernels.cuda_source import STANDARD, card_attribute, load_module, read_source

SOURCE = "integer_product.cu"
WARPGROUP_OPTIONS = ("-arch=sm_90a",)


def uses_warpgroups():
    """Return whether warpgroups (four warps) multiply together: on Hopper only."""
    return card_attribute("ComputeCapability") == "90"


def load_integer_product(n_blocks):
    """Return the compiled product for ``n_blocks`` blocks of 8 columns of digits."""
    options = (f"-DN_BLOCKS={n_blocks}",)
    if uses_warpgroups():
        return _load_for_warpgroups(options, cupy.cuda.Device().id)
    return load_module(__package__, SOURCE, options=options)


@cache
def _load_for_warpgroups(options, device):
    """Compile for sm_90a, which CuPy cannot name; store the result in CuPy's cache."""
    source = read_source(__package__, SOURCE)
    options = (STANDARD, *options, *WARPGROUP_OPTIONS)
    key = hashlib.sha256(repr((source, options, nvrtc.getVersion())).encode()).hexdigest()
    folder = Path(os.environ.get("CUPY_CACHE_DIR", "~/.cupy/kernel_cache")).expanduser()
    path = folder / f"genoviz_{key}.cubin"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(_compile(source, options))
        Path(file.name).replace(path)
    with cupy.cuda.Device(device):
        module = cupy.RawModule(path=str(path))
        module.compile()
    return module


def _compile(source, options):
    program = nvrtc.createProgram(source, SOURCE, (), ())
    try:
        nvrtc.compileProgram(program, options)
        return nvrtc.getCUBIN(program)
    finally:
        nvrtc.destroyProgram(program)
