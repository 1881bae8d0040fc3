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


def test_the_blocks_of_the_documentation_run_word_for_word_in_their_order(tmp_path, monkeypatch):
    for module in ("altair", "gymnasium", "pandas", "polars", "ray", "vl_convert"):
        pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs/python.md").read_text(), re.DOTALL)
    assert len(blocks) >= 8
    names = {}
    try:
        for block in blocks:
            exec(block, names)
    finally:
        for name in pathweave.registered():
            pathweave.unregister(name)
        sys.modules["ray"].shutdown()
    # What the text says that they write, and nothing outside of their folder.
    assert {path.name for path in tmp_path.iterdir()} >= {
        "page.html",
        "plan.toml",
        "shares.html",
        "sweep",
        "sweep-on-ray",
    }
    assert (tmp_path / "sweep/runs.parquet").read_bytes() == (tmp_path / "sweep-on-ray/runs.parquet").read_bytes()
    assert not re.search(r"[\"' ]/\w", "".join(blocks))
