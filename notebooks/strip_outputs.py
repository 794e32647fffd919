"""Removes outputs and execution counts from the notebooks that are named, or from all."""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat


def strip_outputs(path: Path) -> None:
    """Rewrite a notebook without its outputs."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    notebook.metadata = {"language_info": {"name": "python"}}
    nbformat.write(notebook, path)


if __name__ == "__main__":
    here = Path(__file__).parent
    for path in map(Path, sys.argv[1:]) if sys.argv[1:] else sorted(here.glob("*.ipynb")):
        strip_outputs(path)
