"""Every notebook runs from its first cell to its last."""

import os
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(notebook, tmp_path):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    for module in ("polars", "altair", "ray") if notebook.stem == "sweep-on-ray" else ("polars", "altair"):
        pytest.importorskip(module)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    cells = nbformat.read(notebook, as_version=4)
    assert all(not cell.get("outputs") for cell in cells.cells), "notebooks are kept without outputs"
    done = nbclient.NotebookClient(
        cells, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    shown = [output for cell in done.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("text/html" in output.get("data", {}) for output in shown)
