"""Division of a GFA text into tasks, and the threads that run them."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from genoviz.io.text import line_errors

BLOCK = 1 << 20
_TASKS_PER_THREAD = 4

Progress = tuple[str, int, int]


@dataclass
class TextTasks:
    """A text, its source, and the threads that process it."""

    path: Path
    data: np.ndarray
    pool: ThreadPoolExecutor
    n_threads: int
    words: np.ndarray = field(init=False)
    notes: list[str] = field(default_factory=list)
    n_jumps: int = 0

    def __post_init__(self) -> None:
        self.words = self.data[: len(self.data) & ~7].view(np.uint64)

    def run(
        self,
        stage: str,
        bounds: np.ndarray,
        positions: np.ndarray,
        call: Callable[[int, int], object],
    ) -> Generator[Progress, None, list]:
        """Call ``call(first, last)`` for consecutive ``bounds``, in all threads.

        Yields the progress if ``positions`` gives the bytes done at each bound.
        """
        results = []
        batch = self.n_threads * _TASKS_PER_THREAD
        firsts, lasts = bounds[:-1].tolist(), bounds[1:].tolist()
        for start in range(0, len(firsts), batch):
            stop = min(start + batch, len(firsts))
            results += self.pool.map(call, firsts[start:stop], lasts[start:stop])
            yield stage, int(positions[stop]), len(self.data)
        return results

    def tasks(self, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return bounds that group items starting at ``starts`` into tasks of one text block."""
        bounds = np.searchsorted(starts, np.arange(0, len(self.data), BLOCK))
        bounds = np.unique(np.append(bounds, (0, len(starts))))
        return bounds, np.append(starts, len(self.data))[bounds]

    def refuse(self, results: list[int], explain: Callable[[bytes], str]) -> None:
        """Raise the error of the first wrong line in ``results``, if there is one."""
        wrong = [position for position in results if position >= 0]
        if wrong:
            raise line_errors.wrong_line(self.path, self.data, min(wrong), explain)
