"""What the current NVIDIA card can do."""

from __future__ import annotations

from functools import cache
from typing import Any


def card_attribute(name: str) -> Any:
    """Return what CUDA tells of the current card, such as ``"MaxSharedMemoryPerBlockOptin"``."""
    import cupy

    return _attributes(cupy.cuda.Device().id)[name]


@cache
def _attributes(device: int) -> dict[str, Any]:
    import cupy

    card = cupy.cuda.Device(device)
    return {**card.attributes, "ComputeCapability": card.compute_capability}
