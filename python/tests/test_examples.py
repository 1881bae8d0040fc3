"""The examples and the blocks of docs/python.md run. (The example that learns is in test_gym.py.)"""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

import pathweave

ROOT = Path(__file__).parents[2]


def example(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / f"python/examples/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_questions_to_many_rows(tmp_path):
    pytest.importorskip("duckdb")
    many = example("million_rows")
    made = many.sweep(tmp_path, 3)
    assert len(made) == 3 * many.RUNS_PER_SEED
    by_polars, by_duckdb = many.tails_by_polars(made.path), many.tails_by_duckdb(made.path)
    assert by_polars.rows() == [(variant, loss, pytest.approx(tail)) for variant, loss, tail in by_duckdb.rows()]
    tails = {(variant, loss): tail for variant, loss, tail in by_polars.rows()}
    assert len(tails) == 50
    # Loss costs plain TCP on that path time.
    assert tails["tcp-path0", 9] > tails["tcp-path0", 0]


def test_the_blocks_of_the_documentation(tmp_path, monkeypatch):
    pytest.importorskip("ray")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    (tmp_path / "plan.toml").write_text(
        'format = 1\nname = "small"\nscenarios = ["wifi-lte"]\nschedulers = ["minrtt"]\nseeds = 2\n'
        'set = { duration = "1s", measure_from = "0s" }\n'
        '[[parameter]]\nname = "buffer"\nvalues = [40, 400]\nset = { "connection.receive_buffer" = "{}KB" }\n'
    )
    text = (ROOT / "docs/python.md").read_text().replace('"/shared/sweep"', '"sweep"').replace("seeds=20)", "seeds=2)")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) >= 4
    names = {"pathweave": pathweave}
    try:
        for block in blocks:
            exec(block, names)
    finally:
        for name in pathweave.registered():
            pathweave.unregister(name)
        sys.modules["ray"].shutdown()
