"""A million runs, and questions to their Parquet file by polars and by DuckDB.

    python python/examples/million_rows.py [SEEDS] [FOLDER]

Each point of a grid of two parameters is a short transfer over two paths, with three schedulers and plain TCP on each path, and 2000
seeds make a million runs of it. Neither polars nor DuckDB reads more than the columns that a question needs. The same call goes on with
a folder whose sweep was stopped.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import duckdb
import polars

import pathweave

PLAN = """format = 1
name = "short-transfers"
scenarios = ["wifi-lte"]
schedulers = ["minrtt", "blest", "redundant"]
seeds = {seeds}
set = {{ "connection.workload" = "transfer:size=30KB", duration = "10s", measure_from = "0s" }}

[[parameter]]
name = "loss"
values = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
set = {{ "path.wifi.loss" = "{{}}%" }}

[[parameter]]
name = "delay"
values = [5, 10, 15, 20, 30, 40, 50, 60, 80, 100]
set = {{ "path.lte.delay" = "{{}}ms" }}
"""
# Points, and the three schedulers with plain TCP on two paths.
RUNS_PER_SEED = 10 * 10 * 5

TAILS = """
    select variant, at_loss_percent as loss, quantile_cont(completion_s, 0.99) as tail_s
    from read_parquet($file) group by all order by loss, variant
"""


def sweep(folder: Path, seeds: int) -> pathweave.Sweep:
    """Makes the runs that are not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    plan = folder / "plan.toml"
    plan.write_text(PLAN.format(seeds=seeds))
    return pathweave.sweep(plan, out=folder / "runs", task_runs=2000)


def tails_by_polars(file: Path) -> polars.DataFrame:
    """The completion time that one transfer in a hundred exceeds, by scheduler and loss, over all delays."""
    tail_s = polars.col("completion_s").quantile(0.99, interpolation="linear").alias("tail_s")
    by = [polars.col("variant").cast(polars.String), polars.col("at_loss_percent").alias("loss")]
    return polars.scan_parquet(file).group_by(by).agg(tail_s).sort("loss", "variant").collect()


def tails_by_duckdb(file: Path) -> polars.DataFrame:
    """The same question in SQL."""
    rows = duckdb.execute(TAILS, {"file": str(file)}).fetchall()
    return polars.DataFrame(rows, schema=["variant", "loss", "tail_s"], orient="row")


def main() -> None:
    """Makes the runs, and asks."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(tempfile.mkdtemp(prefix="pathweave-"))
    start = time.monotonic()
    made = sweep(folder, seeds)
    took = time.monotonic() - start
    print(
        f"{len(made)} runs in {made.path} ({made.path.stat().st_size / 1e6:.1f} MB); {made.made} of them made in {took:.0f} s"
    )
    for name, question in (("polars", tails_by_polars), ("DuckDB", tails_by_duckdb)):
        start = time.monotonic()
        answer = question(made.path)
        print(f"{name}: {time.monotonic() - start:.2f} s")
        print(answer.pivot("variant", index="loss", values="tail_s"))


if __name__ == "__main__":
    main()
