"""``python -m tests.house`` prints the counts of the code base with their limits."""

from __future__ import annotations

import sys

from tests.house.rooms import LIMITS, measure_rooms
from tests.house.walks import ROOT, find_files

if __name__ == "__main__":
    numbers = measure_rooms(ROOT) | {
        f"files entered: {name}": len(files) for name, files in find_files().items()
    }
    for what, number in numbers.items():
        limit = f"  at most {LIMITS[what]:,}" if what in LIMITS else ""
        sys.stdout.write(f"{what:42}{number:8,}{limit}\n")
