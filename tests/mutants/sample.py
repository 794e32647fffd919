"""Samples mutants from each layer, in proportion to its size."""

from __future__ import annotations

import io
import math
import tokenize
from hashlib import sha256
from pathlib import Path

from tests.mutants.mutations import Mutant, find_mutants

LAYERS = (
    "genoviz/kernels",
    "genoviz/io",
    "genoviz/model",
    "genoviz/analyses",
    "genoviz/cli",
    "app",
)
# Hardware that most test machines lack: an NVIDIA GPU, and matrix units.
LEFT_OUT = ("cuda", "cpu_amx")
FEWEST_OF_A_LAYER = 12


def list_sources(root: Path, layer: str) -> list[Path]:
    files = sorted((root / layer).rglob("*.py"))
    return [path for path in files if not path.stem.startswith(LEFT_OUT)]


def count_code_lines(source: bytes) -> int:
    """Return the number of lines that are not blank, comments or docstrings."""
    lines: set[int] = set()
    previous = tokenize.NEWLINE
    skipped = (tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)
    for token in tokenize.tokenize(io.BytesIO(source).readline):
        is_docstring = token.type == tokenize.STRING and previous == tokenize.NEWLINE
        if token.type not in (*skipped, tokenize.NEWLINE) and not is_docstring:
            lines.update(range(token.start[0], token.end[0] + 1))
        if token.type not in skipped:
            previous = token.type
    return len(lines)


def share_out(number: int, lines: dict[str, int]) -> dict[str, int]:
    """Return the number of mutants by layer, by lines of code, with a minimum."""
    fewest = min(FEWEST_OF_A_LAYER, number // len(lines))
    shares = {
        layer: max(fewest, int(number * n / sum(lines.values()))) for layer, n in lines.items()
    }
    largest = max(lines, key=lambda layer: lines[layer])
    shares[largest] += number - sum(shares.values())
    return shares


def draw_mutants(
    root: Path, number: int, seed: int, layers: tuple[str, ...] = LAYERS, only: str = ""
) -> list[Mutant]:
    """Return a sample that is stable under small changes of the code.

    Each mutant gets a random number from its key and ``seed``, and the smallest numbers of a layer
    are taken. They are weighted so that each file is sampled in proportion to its lines of code
    (Efraimidis and Spirakis 2006, doi:10.1016/j.ipl.2005.11.003).
    """
    ranked: dict[str, list[tuple[float, Mutant]]] = {}
    lines: dict[str, int] = {}
    for layer in layers:
        for path in list_sources(root, layer):
            name = path.relative_to(root).as_posix()
            if not name.startswith(only):
                continue
            source = path.read_bytes()
            mutants, n_lines = find_mutants(name, source), count_code_lines(source)
            lines[layer] = lines.get(layer, 0) + n_lines
            ranked.setdefault(layer, []).extend(
                (_wait(mutant, seed) * len(mutants) / n_lines, mutant) for mutant in mutants
            )
    drawn = []
    for layer, share in share_out(number, lines).items():
        ranked[layer].sort(key=lambda pair: (pair[0], pair[1].key))
        drawn += [mutant for _, mutant in ranked[layer][:share]]
    return sorted(drawn, key=lambda mutant: (mutant.path, mutant.start, mutant.kind))


def _wait(mutant: Mutant, seed: int) -> float:
    """Return an exponential random number."""
    word = sha256(f"{seed} {mutant.key}".encode()).digest()[:8]
    return -math.log((int.from_bytes(word) + 1) / (2**64 + 1))
