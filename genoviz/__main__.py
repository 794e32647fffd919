"""``genoviz`` and ``python -m genoviz``: the command line."""

from __future__ import annotations

from genoviz.cli.main import main as run
from genoviz.numba_start import on_one_piece, start_light

__all__ = ["main"]


def main() -> None:
    """Run the command line in a process of its own."""
    start_light()
    on_one_piece(run)()


if __name__ == "__main__":
    main()
