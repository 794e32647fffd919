"""``genoviz`` and ``python -m genoviz``: the command line."""

from __future__ import annotations

from genoviz.cli.main import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
