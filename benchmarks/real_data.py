"""Real graphs for benchmarks, from the folder that ``GENOVIZ_TEST_DATA`` names."""

from __future__ import annotations

import os
from pathlib import Path

DEFAULT_FOLDER = Path(__file__).parents[2] / "shared" / "data"


def find_real_data(name: str) -> Path | None:
    """Return a file of real data, or None where it is absent."""
    path = Path(os.environ.get("GENOVIZ_TEST_DATA", DEFAULT_FOLDER)) / name
    return path if path.exists() else None
