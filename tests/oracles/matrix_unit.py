"""The instructions used by ``cpu_amx.py`` in NumPy, for processors without AMX."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest

from genoviz.kernels.genotype_product import cpu, cpu_integers
from genoviz.kernels.genotype_product.cpu_amx import CODE_1, CODE_2, LINE, STATES, TILE_BYTES

COUNTS = {STATES: [0, 1, 1, 2], CODE_1: [0, 1, 0, 0], CODE_2: [0, 0, 1, 0]}


def count(kind, codes, byte):
    """Return the counts encoded by 256 codes, 64 bytes from an offset; int8, shape (64, 4)."""
    line = codes.reshape(-1)[byte : byte + LINE]
    assert len(line) == LINE
    return np.array(COUNTS[kind], np.int8)[line[:, None] >> [0, 2, 4, 6] & 3]


def find_codes(kind, codes, byte, _ahead):
    return int(count(kind, codes, byte).any())


def spread_row(kind, codes, byte, _ahead, tiles, place, step):
    for t, row in enumerate(count(kind, codes, byte).T):
        tiles[place + t * step : place + t * step + LINE] = row


def spread_columns(kind, codes, byte, row_bytes, _ahead, tiles, place, step):
    of_variants = np.array([count(kind, codes, byte + k * row_bytes).ravel() for k in range(4)])
    for t in range(16):
        samples = [64 * group + 4 * t + j for group in range(4) for j in range(4)]
        tiles[place + t * step : place + t * step + LINE] = of_variants[:, samples].T.ravel()


def multiply_tiles(
    by_sample, n_tiles, genotypes, n_between, digits, n_steps, sums, n_groups, _shapes
):
    def tile(values, at):
        return values[at : at + TILE_BYTES].reshape(16, LINE).astype(np.int32)

    for group in range(n_groups):
        for step in range(n_steps):
            own = group * (n_steps * TILE_BYTES + n_between) + step * TILE_BYTES
            for k in range(n_tiles):
                pair = (
                    tile(genotypes, own),
                    tile(digits, (step * n_tiles + k) * TILE_BYTES),
                )
                left, right = pair[::-1] if by_sample else pair
                right = right.reshape(16, 16, 4).transpose(0, 2, 1).reshape(LINE, 16)
                at = 256 * (group * n_tiles + k)
                sums[at : at + 256] += (left @ right).ravel()


@contextmanager
def in_numpy():
    """Replace the matrix unit's instructions by NumPy during a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cpu, "has_amx", lambda: True)
        for name in ("find_codes", "spread_row", "spread_columns", "multiply_tiles"):
            patch.setattr(cpu_integers, name, globals()[name])
        # The callers run uncompiled; their code is the same.
        for name in ("_has_codes", "_spread", "_add_steps", "_add_products"):
            patch.setattr(cpu_integers, name, getattr(cpu_integers, name).py_func)
        yield
