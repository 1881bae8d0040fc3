"""Every notebook runs from its first cell to its last, and the outputs that are stored in it are today's."""

import importlib.util
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1]
NOTEBOOKS = sorted((FOLDER / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_its_outputs_are_todays(notebook, tmp_path):
    nbformat = pytest.importorskip("nbformat")
    for module in ("altair", "nbclient", "polars", "vl_convert", *(["ray"] if notebook.stem == "sweep-on-ray" else [])):
        pytest.importorskip(module)
    spec = importlib.util.spec_from_file_location("notebooks", FOLDER / "notebooks.py")
    notebooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(notebooks)
    stored = nbformat.read(notebook, as_version=4)
    pictures = [cell.outputs for cell in stored.cells if "plot(" in cell.source]
    assert all("image/png" in output["data"] for outputs in pictures for output in outputs), "charts are pictures"
    today = notebooks.shown(notebooks.executed(notebook, tmp_path.resolve()))
    assert today == notebooks.shown(stored), "if the change is meant: cargo xtask python --bless"
    assert any("text/html" in output.get("data", {}) for output in today)
