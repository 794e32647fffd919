"""CUDA sources: ``.cu`` files compiled at run time, and the capabilities of the current card."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import cupy

STANDARD = "-std=c++17"


def read_source(package: str, filename: str) -> str:
    """Return the text of a ``.cu`` file in a package."""
    return resources.files(package).joinpath(filename).read_text(encoding="utf-8")


def load_module(package: str, filename: str, *, options: tuple[str, ...] = ()) -> cupy.RawModule:
    """Compile a ``.cu`` file with NVRTC for the current device, once per device.

    Parameters
    ----------
    package
        The package that holds the file, as the importing module's ``__package__``.
    filename
        Name of the ``.cu`` file. It must not include our own headers, because CuPy's compilation
        cache would not notice a change in one.
    options
        Options for NVRTC in addition to ``-std=c++17``, such as ``"--fmad=false"`` or ``"-DN=8"``.
    """
    import cupy

    return _load_for_device(package, filename, options, cupy.cuda.Device().id)


@cache
def _load_for_device(
    package: str, filename: str, options: tuple[str, ...], device: int
) -> cupy.RawModule:
    import cupy

    with cupy.cuda.Device(device):
        module = cupy.RawModule(code=read_source(package, filename), options=(STANDARD, *options))
        module.compile()
    return module


def make_launcher(
    module: cupy.RawModule, n_threads: int, blocks_per_multiprocessor: int
) -> Callable[..., None]:
    """Return a function that launches a kernel of a module over some items, if there are any.

    Threads run a grid-stride loop over the items, with as many threads as fit on the card; with
    ``is_limited=False``, each thread takes one item.
    """
    max_blocks = card_attribute("MultiProcessorCount") * blocks_per_multiprocessor

    def launch(name: str, n_items: int, arguments: tuple, *, is_limited: bool = True) -> None:
        n_blocks = -(-int(n_items) // n_threads)
        if is_limited:
            n_blocks = min(n_blocks, max_blocks)
        if n_blocks > 0:
            module.get_function(name)((n_blocks,), (n_threads,), arguments)

    return launch


def fetch(array: cupy.ndarray) -> Any:
    """Return an array of the current GPU as a NumPy array, after pending work is done.

    A copy to pageable memory waits inside the driver, which blocks other threads' calls for other
    GPUs. Synchronising the stream first blocks only the calling thread.
    """
    import cupy

    cupy.cuda.get_current_stream().synchronize()
    return array.get()


def card_attribute(name: str) -> Any:
    """Return a CUDA attribute of the current GPU, such as ``"MaxSharedMemoryPerBlockOptin"``."""
    import cupy

    return _attributes(cupy.cuda.Device().id)[name]


def count_resident_threads() -> int:
    """Return how many threads the current card runs at a time."""
    names = "MultiProcessorCount", "MaxThreadsPerMultiProcessor"
    return card_attribute(names[0]) * card_attribute(names[1])


@cache
def _attributes(device: int) -> dict[str, Any]:
    import cupy

    card = cupy.cuda.Device(device)
    return {**card.attributes, "ComputeCapability": card.compute_capability}
