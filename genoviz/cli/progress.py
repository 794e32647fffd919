"""Progress bars with rate and time left, on standard error, where that is a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from genoviz.cli.stopping import tidied


class ProgressBar:
    """One bar that shows one stage after another.

    Parameters
    ----------
    progress
        rich's display, or None to show nothing.
    """

    def __init__(self, progress: object | None) -> None:
        self._progress = progress
        self._task = None
        self._stage = ""

    def update(self, stage: str, n_done: float, n_total: float | None, unit: str) -> None:
        """Show how far a stage is; ``n_total`` None for a stage of unknown length."""
        if self._progress is None:
            return
        if stage != self._stage:
            if self._task is not None:
                self._progress.remove_task(self._task)
            self._task = self._progress.add_task(stage, total=n_total, unit=unit)
            self._stage = stage
        self._progress.update(self._task, completed=n_done, total=n_total)


@contextmanager
def show_progress() -> Iterator[ProgressBar]:
    """Show a bar until the block ends, then take it away."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield ProgressBar(None)
        return
    from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn

    class RateColumn(ProgressColumn):
        """How much a second."""

        def render(self, task):
            """Return the rate of a task as text."""
            unit = task.fields["unit"]
            return f"{quantity(task.speed, unit)}/s" if task.speed and unit else ""

    with (
        Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            RateColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
        ) as progress,
        tidied(progress.stop),
    ):
        yield ProgressBar(progress)


def quantity(value: float, unit: str) -> str:
    """Return a number with three digits, a prefix and its unit.

    Examples
    --------
    >>> quantity(121_000, "B"), quantity(61_700_000, "updates"), quantity(950, "updates")
    ('121 kB', '61.7 M updates', '950 updates')
    """
    prefix = ""
    for factor, larger in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= factor * 0.9995:
            value, prefix = value / factor, larger
            break
    space = " " if prefix and len(unit) > 1 else ""
    return f"{value:.3g} {prefix}{space}{unit}"
