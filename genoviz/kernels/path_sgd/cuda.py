"""Path-guided SGD on one GPU; the contract is in this folder's ``__init__``.

Arrays are CuPy arrays. ``Variant`` selects compile-time designs of the kernel: layouts use its
defaults unless asked otherwise, the other designs are those of Li et al. 2024.
"""

from __future__ import annotations

from dataclasses import dataclass

import cupy
import numpy as np

from genoviz.kernels.cuda_source import card_attribute, count_resident_threads, load_module

THREADS_PER_BLOCK = 256
WARP = 32
NODES_PER_UPDATE_IN_FLIGHT = 4
WINDOWS = (1, 2, 4, 8, 16, 32)
STATE_WORDS = 12
"""Words of ``rng_states`` for each thread; half of them are used."""
RUN = np.dtype(
    [
        ("n_points", np.int64),
        ("n_records", np.int64),
        ("n_updates", np.int64),
        ("space", np.int64),
        ("exact_space", np.int64),
        ("theta", np.float64),
        ("eta", np.float64),
        ("is_cooling", np.int32),
    ],
    align=True,
)


@dataclass(frozen=True)
class Variant:
    """A design of the kernel.

    Attributes
    ----------
    node_arrays
        Four coordinate arrays instead of one record per node. ``points`` are copied into them and
        back, which takes about 1 % of the time of an iteration.
    warp_merge
        All lanes of a warp take the same branch.
    rng
        0: SplitMix64 in registers; 1: XORWOW states in memory, coalesced; 2: strided.
    reuse
        Updates for each pair of steps read; the b sides rotate among the lanes.
    float32
        float32 coordinates.
    """

    node_arrays: bool = False
    warp_merge: bool = True
    rng: int = 0
    reuse: int = 1
    float32: bool = False

    def options(self, window: int, record_words: int) -> tuple[str, ...]:
        """Return the compile options."""
        return (
            f"-DREAL={'float' if self.float32 else 'double'}",
            f"-DPOSITION={'unsigned int' if record_words == 2 else 'long long'}",
            f"-DWINDOW={window}",
            f"-DNODE_ARRAYS={int(self.node_arrays)}",
            f"-DWARP_MERGE={int(self.warp_merge)}",
            f"-DRNG={self.rng}",
            f"-DREUSE={self.reuse}",
        )


STANDARD = Variant()
COMPILE_OPTIONS = (
    *(STANDARD.options(window, 2) for window in WINDOWS),
    STANDARD.options(32, 4),
    Variant(node_arrays=True, warp_merge=False, rng=2, float32=True).options(1, 2),
    Variant(rng=1, reuse=4).options(32, 2),
)


def count_workers(n_nodes: int, window: int) -> int:
    """Return the number of workers for a graph: with few nodes, stale reads spoil the layout."""
    n_threads = min(count_resident_threads(), n_nodes // NODES_PER_UPDATE_IN_FLIGHT)
    return max(n_threads // window, 1)


def make_updates(
    points,
    paths,
    zipf,
    space,
    eta,
    is_cooling,
    n_updates,
    states,
    window,
    *,
    variant=STANDARD,
    rng_states=None,
):
    """Make about ``n_updates`` updates with ``window`` lanes per state; return the number made."""
    records, path_starts, block_paths = paths
    zeta, zipf_factor, theta, exact_space = zipf
    module = load_module(
        __package__, "path_sgd.cu", options=variant.options(window, records.shape[1])
    )
    n_threads = len(states) * window
    n_multiprocessors = card_attribute("MultiProcessorCount")
    n_block = THREADS_PER_BLOCK
    while n_block > WARP and n_threads // n_block < n_multiprocessors:
        n_block //= 2
    n_block = min(n_block, n_threads)
    n_done = cupy.zeros(1, np.uint64)
    arranged = points
    if variant.node_arrays:
        # x of all left ends, their y, x of all right ends, their y
        arranged = cupy.ascontiguousarray(points.reshape(-1, 2, 2).transpose(1, 2, 0))
    run = (points.size // 2, len(records), n_updates, space, exact_space, theta, eta, is_cooling)
    module.get_function("make_updates")(
        (n_threads // n_block,),
        (n_block,),
        (
            arranged,
            records,
            path_starts,
            block_paths,
            zeta,
            zipf_factor,
            np.array(run, RUN),
            states,
            0 if rng_states is None else rng_states,
            n_done,
        ),
    )
    if variant.node_arrays:
        points[:] = arranged.transpose(2, 0, 1).reshape(points.shape)
    return int(n_done[0])
