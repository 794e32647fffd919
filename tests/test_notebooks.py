"""The notebooks run from top to bottom, and are kept without outputs."""

from __future__ import annotations

import pytest

from tests.conftest import ROOT
from tests.waiting import PATIENCE

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
# What a notebook measures is large, for its reader's sake; here it is small.
SMALLER = {
    "01_pangenome_layout": ("[1_000, 10_000, 30_000, 100_000]", "[30_000, 100_000]"),
    "02_intervals_coverage": ("(2, 1_000_000)", "(2, 20_000)"),
    "05_genotypes": ("simulate_genotypes(4_000,", "simulate_genotypes(500,"),
}
# Modules stay imported from notebook to notebook; names and what was added to the path do not.
FORGET = "import sys\nsys.path[:] = [path for path in sys.path if path != '..']\n%reset -f"


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_kept_without_outputs(path):
    cells = code_cells(nbformat.read(path, as_version=4))
    assert not any(cell.outputs or cell.execution_count for cell in cells), (
        "python notebooks/strip_outputs.py removes them"
    )


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """A kernel that runs one notebook after the other."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GENOVIZ_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("GENOVIZ_SAMPLES_URL", "http://127.0.0.1:9")
        client = nbclient.NotebookClient(
            nbformat.v4.new_notebook(),
            timeout=2 * PATIENCE,
            kernel_name="python3",
            resources={"metadata": {"path": ROOT / "notebooks"}},
        )
        with client.setup_kernel():
            yield client


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path, client):
    notebook = nbformat.read(path, as_version=4)
    cells = code_cells(notebook)
    assert "hv.extension(" in cells[0].source, "what another one has shown stays shown"
    if path.stem in SMALLER:
        large, small = SMALLER[path.stem]
        (measuring,) = (cell for cell in cells if large in cell.source)
        measuring.source = measuring.source.replace(large, small)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(FORGET))
    client.nb = notebook
    client.execute(cleanup_kc=False)
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    assert [output.text for output in outputs if output.get("name") == "stderr"] == []
    assert sum(output.output_type == "display_data" for output in outputs) >= 5
