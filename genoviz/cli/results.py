"""What commands print: sentences for people or JSON for programs, notes, and progress bars.

Standard input and output may be files of a command, too: what ``-`` stands for, and pipes that
nobody reads on.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from genoviz.cli.stopping import tidied
from genoviz.errors import n_words

if TYPE_CHECKING:
    from genoviz.analyses.graph.layout.defects import LayoutDefects
    from genoviz.analyses.graph.layout.stress import PathStress
    from genoviz.model import PangenomeGraph
    from genoviz.model.temporary_file import TemporaryFolder

DASH = "-"
STANDARD_OUTPUT = Path("/dev/stdout")
_COPY_NAME = "standard input"  # messages name files
_copies: set[Path] = set()
_folders: list[TemporaryFolder] = []
_taken: set[Path] = set()


def is_dash(value: object) -> bool:
    """Return whether a file is given as ``-``."""
    return str(value) == DASH


def is_standard_output(path: Path | None) -> bool:
    """Return whether an output is standard output."""
    return path is not None and Path(path) == STANDARD_OUTPUT


def name_of_output(path: Path) -> str:
    """Return an output as sentences name it."""
    return "standard output" if is_standard_output(path) else str(path)


def take_standard_output(is_taken: bool) -> None:
    """Note whether standard output is a file of this command, with no place for sentences."""
    _taken.clear()
    if is_taken:
        _taken.add(STANDARD_OUTPUT)


def is_standard_output_taken() -> bool:
    """Return whether standard output is a file that the command writes."""
    return bool(_taken)


def refuse_standard_output(option: str, output: Path, why: str) -> None:
    """Refuse ``-`` for what cannot go through a pipe."""
    if is_standard_output(output):
        raise typer.BadParameter(f"{option} - is standard output, but {why}; name a file")


def as_file(path: Path) -> Path:
    """Return the path of a file with what ``-`` or a pipe brings; it is removed at the end."""
    if not is_dash(path) and (not path.exists() or path.is_file() or path.is_dir()):
        return path
    if is_dash(path) and sys.stdin is None:
        raise OSError("standard input is closed, needs to be open or a file to read")
    from genoviz.model.temporary_file import TemporaryFolder

    folder = TemporaryFolder("genoviz-copies")
    _folders.append(folder)
    copy = folder.path / (_COPY_NAME if is_dash(path) else path.name)
    with copy.open("wb") as file:
        if is_dash(path):
            shutil.copyfileobj(sys.stdin.buffer, file)
        else:
            with path.open("rb") as pipe:
                shutil.copyfileobj(pipe, file)
    _copies.add(copy)
    return copy


def remove_copies() -> None:
    """Remove what pipes brought."""
    for folder in _folders:
        folder.remove()


def is_copy(path: Path) -> bool:
    """Return whether a file is what a pipe brought, which no cache needs to keep."""
    return path in _copies


@contextlib.contextmanager
def until_nobody_reads() -> Iterator[None]:
    """Go on in silence where the reader of standard output or error has gone."""
    try:
        yield
    except BrokenPipeError:
        silence_broken_streams()


def silence_broken_streams() -> None:
    """Let what is written from now on to a pipe without a reader go nowhere.

    Else Python complains at its end, when it writes out what it still has.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
        except (AttributeError, OSError, ValueError):
            continue


def quietly(function: Callable) -> Callable:
    """Return a function that ends the program without an error where nobody reads on."""

    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except (BrokenPipeError, SystemExit) as error:
            # rich makes an end of its own of a broken pipe
            broken = (type(error), type(error.__context__))
            if BrokenPipeError not in broken:
                raise
            silence_broken_streams()
            raise typer.Exit from None

    return call


def print_results(results: dict[str, Any], sentences: Iterable[str], *, as_json: bool) -> None:
    """Print results on standard output, as JSON or in sentences.

    Where a file that was written is standard output itself, they go to standard error.
    """
    if as_json:
        sentences = [json.dumps(_plain(results), indent=2, allow_nan=False)]
    with until_nobody_reads():
        for sentence in sentences:
            typer.echo(sentence, err=is_standard_output_taken())


def print_notes(*notes: str) -> None:
    """Print on standard error what the user should know of a file or a result."""
    with until_nobody_reads():
        for note in notes:
            if note:
                typer.echo(f"note: {note}", err=True)


def describe_graph(graph: PangenomeGraph) -> tuple[dict[str, int], str]:
    """Return the sizes of a graph, and the same in words."""
    sizes = {
        "n_nodes": graph.n_nodes,
        "n_edges": graph.n_links,
        "n_paths": graph.n_paths,
        "n_steps": graph.n_steps,
        "total_length": graph.total_length,
    }
    nouns = ("node", "edge", "path", "step")
    words = [n_words(size, noun) for size, noun in zip(sizes.values(), nouns, strict=False)]
    return sizes, ", ".join([*words, f"{graph.total_length:,} bp"])


def describe_stress(stress: PathStress) -> str:
    """Return a path stress in words."""
    if stress.n_terms == 0:
        return "path stress: none, for no path has two ends at a distance"
    name = f"path stress by {stress.weighting}"
    if stress.is_exact:
        return f"{name} {stress.mean:.6g} (exact, {n_words(stress.n_terms, 'term')})"
    return (
        f"{name} {stress.mean:.4g}, 95 % interval {stress.ci_low:.4g} to "
        f"{stress.ci_high:.4g}, median {stress.median:.4g} ({n_words(stress.n_terms, 'sample')})"
    )


def describe_defects(defects: LayoutDefects) -> str:
    """Return torn joints, folds and crossings in words."""
    crossings = "not counted" if defects.n_crossings is None else f"{defects.n_crossings:,}"
    return (
        f"torn joints {defects.n_torn:,} of {defects.n_joints:,}, "
        f"folds {defects.n_folds:,} of {n_words(defects.n_turns, 'turn')}, crossings {crossings}"
    )


def _plain(value: Any) -> Any:
    """Return ``value`` in what JSON knows; a number that is not finite is null."""
    if dataclasses.is_dataclass(value):
        return _plain(dataclasses.asdict(value))
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


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

    def update(
        self, stage: str, n_done: float, n_total: float | None, unit: str, detail: str = ""
    ) -> None:
        """Show how far a stage is; ``n_total`` None for a stage of unknown length.

        ``detail`` stands beside the stage, and may change while it goes on.
        """
        if self._progress is None:
            return
        if stage != self._stage:
            if self._task is not None:
                self._progress.remove_task(self._task)
            self._task = self._progress.add_task(stage, total=n_total, unit=unit)
            self._stage = stage
        shown = f"{stage} {detail}" if detail else stage
        self._progress.update(self._task, completed=n_done, total=n_total, description=shown)


@contextmanager
def show_progress() -> Iterator[ProgressBar]:
    """Show a bar until the block ends, then take it away."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield ProgressBar(None)
        return
    from rich.console import Console
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
            console=Console(stderr=True),
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
