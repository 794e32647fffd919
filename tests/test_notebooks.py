"""The notebooks run from top to bottom, and are kept without outputs."""

from __future__ import annotations

import pytest

from tests.conftest import ROOT
from tests.waiting import PATIENCE

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_kept_without_outputs(path):
    notebook = nbformat.read(path, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in cells), (
        "python notebooks/strip_outputs.py removes them"
    )


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path, tmp_path, monkeypatch):
    monkeypatch.setenv("GENOVIZ_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("GENOVIZ_SAMPLES_URL", "http://127.0.0.1:9")
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook,
        timeout=2 * PATIENCE,
        kernel_name="python3",
        resources={"metadata": {"path": path.parent}},
    )
    client.execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert [output.text for output in outputs if output.get("name") == "stderr"] == []
    assert sum(output.output_type == "display_data" for output in outputs) >= 5
