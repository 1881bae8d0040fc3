"""Sweeps: the same rows however they are cut and wherever they run, and after every kind of interruption."""

import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys

import polars
import pyarrow.parquet
import pytest
from sweeping import PLAN, RULE, RUNS, digest, spawn

import pathweave


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """The sweep as this process makes it."""
    folder = tmp_path_factory.mktemp("here")
    (folder / "plan.toml").write_text(PLAN)
    return pathweave.sweep(folder / "plan.toml", out=folder / "out")


def test_rows_are_the_commands(here, command, tmp_path, plan):
    subprocess.run([command, "sweep", str(plan), "--out", str(tmp_path / "out")], check=True, capture_output=True)
    theirs = [json.loads(line) for line in (tmp_path / "out/runs.jsonl").read_text().splitlines()]
    mine = here.to_arrow().to_pylist()
    assert len(mine) == len(theirs) == RUNS == here.made
    for row, record in zip(mine, theirs, strict=True):
        assert (row["run"], row["digest"]) == (record["run"], record["digest"])
        assert row["at_buffer_kb"] == record["point"]["buffer_kb"] in (40, 400)
        assert {name: row[name] for name in record["metrics"]} == record["metrics"]
    assert here.to_polars().height == RUNS
    assert polars.scan_parquet(here.path).filter(polars.col("variant") == "blest").collect().height == 6


TYPED = (
    PLAN.split("[[claim]]")[0].replace("[40, 400]", '["200KB", "50KB"]').replace('"{}KB"', '"{}"')
    + """
[[parameter]]
name = "pr"
values = [true, false]
set = { "connection.pr" = "{}" }

[[parameter]]
name = "loss"
values = [0, 0.5]
set = { "path.lte.loss" = "{}%" }

[[parameter]]
name = "congestion"
values = ["lia", "cubic"]
set = { "connection.congestion" = "{}" }
"""
)


def test_parameters_have_the_types_of_their_values(plan, tmp_path):
    plan.write_text(TYPED.replace("seeds = 3", "seeds = 1"))
    made = pathweave.sweep(plan, out=tmp_path / "out")
    assert made.columns[7:11] == ["at_buffer_kb", "at_pr", "at_loss_percent", "at_congestion"]
    assert [str(made.to_arrow().schema.field(name).type) for name in made.columns[7:11]] == [
        "int64",
        "bool",
        "double",
        "string",
    ]
    assert (made[0]["at_buffer_kb"], made[0]["at_pr"], made[0]["at_loss_percent"]) == (200, True, 0.0)
    frame = made.to_pandas()
    assert list(frame.groupby("at_buffer_kb")["goodput_mbps"].mean().index) == [50, 200]
    [row] = json.loads(made.head(1).to_pandas().to_json(orient="records"))
    assert row["at_congestion"] == "lia"
    # Claims and pages read what the table has.
    assert made.claims() == []


def test_the_commands_table_has_the_same_columns_and_rows(plan, tmp_path):
    plan.write_text(TYPED.replace("seeds = 3", "seeds = 1"))
    made = pathweave.sweep(plan, out=tmp_path / "out")
    out = tmp_path / "theirs"
    call = [sys.executable, "-m", "pathweave", "sweep", str(plan), "--out", str(out), "--parquet"]
    subprocess.run(call, check=True, capture_output=True)
    theirs = pyarrow.parquet.read_table(out / "runs.parquet")
    mine = made.to_arrow()
    assert theirs.schema.remove_metadata() == mine.schema.remove_metadata()
    assert theirs.to_pylist() == mine.to_pylist()


def test_claims_are_decided(here, command, tmp_path, plan):
    [claim] = here.claims()
    assert (claim["claim_id"], claim["verdict"]) == ("more", "holds")
    assert "holds      more: More buffer is more goodput" in here.table()
    assert "<!doctype html>" in here.to_html(tmp_path / "page.html").read_text()


@pytest.mark.parametrize("task_runs", [1, 7, 1000])
def test_how_it_is_cut_does_not_show(here, plan, tmp_path, task_runs):
    other = pathweave.sweep(plan, out=tmp_path / "out", task_runs=task_runs, jobs=1)
    assert digest(other) == digest(here)


def test_executors_and_shards(here, plan, tmp_path):
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        assert digest(pathweave.sweep(plan, out=tmp_path / "threads", executor=threads, task_runs=5)) == digest(here)
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=spawn()) as processes:
        first = pathweave.sweep(plan, out=tmp_path / "cut", executor=processes, task_runs=5, shard=(1, 2))
        assert (first.made, first.done, first.complete) == (12, 12, False)
        with pytest.raises(pathweave.InputError, match="12 of 24 runs not made yet"):
            _ = first.path
        second = pathweave.sweep(plan, out=tmp_path / "cut", executor=processes, task_runs=5, shard=(2, 2))
    assert (second.made, second.complete) == (12, True)
    assert digest(second) == digest(here)


def test_what_is_there_is_not_made_again(here, plan, tmp_path):
    first = pathweave.sweep(plan, out=tmp_path / "out", task_runs=5)
    again = pathweave.sweep(plan, out=tmp_path / "out", task_runs=3)
    assert (first.made, again.made) == (RUNS, 0)
    for part in sorted((tmp_path / "out/parts").iterdir())[1:3]:
        part.unlink()
    (tmp_path / "out/runs.parquet").unlink()
    assert pathweave.sweep(plan, out=tmp_path / "out").made == 10
    assert digest(again) == digest(here)
    with pytest.raises(pathweave.InputError, match="resume=True goes on with them"):
        pathweave.sweep(plan, out=tmp_path / "out", resume=False)


def test_a_changed_plan_or_program_is_refused(plan, tmp_path, monkeypatch):
    pathweave.sweep(plan, out=tmp_path / "out")
    plan.write_text(PLAN.replace("More buffer", "A larger buffer"))
    assert pathweave.sweep(plan, out=tmp_path / "out").made == 0
    plan.write_text(PLAN.replace("seeds = 3", "seeds = 4"))
    with pytest.raises(
        pathweave.InputError, match="cannot be continued: the plan or a scenario that it names has changed since"
    ):
        pathweave.sweep(plan, out=tmp_path / "out")
    more = pathweave.sweep(plan, out=tmp_path / "out", replace=True)
    assert (more.made, len(more), more.complete, more.shape[0]) == (len(more), RUNS // 3 * 4, True, len(more))
    assert pathweave.sweep(plan, out=tmp_path / "out", replace=True).made == 0, "nothing has changed"
    plan.write_text(PLAN)
    with pytest.raises(pathweave.InputError, match="or replace=True"):
        pathweave.sweep(plan, out=tmp_path / "out")
    assert pathweave.sweep(plan, out=tmp_path / "out", replace=True).made == RUNS
    monkeypatch.setattr(pathweave.sweeps, "program", lambda: "another")
    with pytest.raises(pathweave.InputError, match="another version of this program"):
        pathweave.sweep(plan, out=tmp_path / "out")


def test_a_wrong_plan_is_said_with_its_line(plan, tmp_path, command):
    plan.write_text(PLAN.replace("[40, 400]", "[40, 40]"))
    with pytest.raises(pathweave.ScenarioError) as wrong:
        pathweave.sweep(plan, out=tmp_path / "out")
    shown = subprocess.run([command, "sweep", str(plan), "--out", str(tmp_path / "o")], capture_output=True, text=True)
    assert shown.stderr == f"error: {wrong.value}\n"
    assert wrong.value.line == 10


def test_schedulers_in_python_reach_workers_and_may_not_change(plan, tmp_path, monkeypatch):
    plan.write_text(PLAN.replace('"blest"', '"shortest"'))
    module = tmp_path / "my_rules.py"
    module.write_text(RULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    import my_rules

    with concurrent.futures.ProcessPoolExecutor(2, mp_context=spawn()) as processes:
        made = pathweave.sweep(
            plan, out=tmp_path / "out", executor=processes, schedulers=[my_rules.Shortest], task_runs=6
        )
    rows = made.to_polars().filter(polars.col("variant") == "shortest")
    assert rows["status"].unique().to_list() == ["completed"]
    module.write_text(RULE.replace("default=None", "default=None)  # or (None"))
    import importlib
    import linecache

    linecache.clearcache()
    importlib.reload(my_rules)
    with pytest.raises(pathweave.InputError, match="a scheduler in Python has changed since"):
        pathweave.sweep(plan, out=tmp_path / "out", schedulers=[my_rules.Shortest])


def test_a_second_driver_waits_outside(plan, tmp_path):
    import fcntl

    (tmp_path / "out").mkdir()
    with (tmp_path / "out/driver-1-of-1.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(pathweave.InputError, match="another driver"):
            pathweave.sweep(plan, out=tmp_path / "out")


def test_a_task_that_is_given_out_again_is_not_made_again(here, plan, tmp_path):
    """A worker can be lost between writing its part and saying so: Ray gives its task to another one."""
    from pathweave import _work

    made = pathweave.sweep(plan, out=tmp_path / "out", task_runs=RUNS)
    task = _work.Task(
        made.folder,
        tuple(range(RUNS)),
        json.loads((made.folder / "sweep.json").read_text())["plan_hash"],
        _work.program(),
        (),
        1,
    )
    part = _work.part_of(made.folder, task.runs)
    before = part.stat().st_mtime_ns
    assert _work.work(task) == RUNS
    assert part.stat().st_mtime_ns == before
    part.unlink()
    assert _work.work(task) == RUNS
    assert part.exists()


class Counting(concurrent.futures.ThreadPoolExecutor):
    """Knows how many tasks it had at once."""

    waiting = most = 0

    def submit(self, function, /, *arguments):
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        future = super().submit(function, *arguments)
        future.add_done_callback(self.finished)
        return future

    def finished(self, _):
        self.waiting -= 1


def test_no_more_tasks_are_given_out_than_workers_soon_begin(plan, tmp_path, capsys):
    pytest.importorskip("tqdm")
    with Counting(2) as threads:
        made = pathweave.sweep(plan, out=tmp_path / "out", executor=threads, task_runs=1, progress=True)
    assert made.complete
    assert threads.most == 4
    # So many of all, how long it took, what is left, and how many a second.
    shown = capsys.readouterr().err
    assert re.search(rf"small: 100%.*{RUNS}/{RUNS} \[\d\d:\d\d<\d\d:\d\d, +[\d.]+ runs/s\]", shown)
    with Counting(2) as threads:
        pathweave.sweep(plan, out=tmp_path / "few", executor=threads, task_runs=1, in_flight=1)
    assert threads.most == 1


HELPED = """
LIMIT = 3
def usable(subflows):
    return [s for s in subflows if s.in_flight_segments < LIMIT]
class Base:
    def decide(self, view):
        return min(usable(view.candidates), key=lambda s: s.srtt_ms, default=None)
class Helped(Base):
    pass
"""


@pytest.mark.parametrize(
    ("old", "new"), [("LIMIT = 3", "LIMIT = 4"), ("< LIMIT", "<= LIMIT"), ("s.srtt_ms", "s.rtt_variation_ms")]
)
def test_what_a_scheduler_calls_and_names_is_part_of_its_code(tmp_path, monkeypatch, old, new):
    from pathweave import _work, schedulers

    monkeypatch.syspath_prepend(str(tmp_path))

    def code_of(text, name):
        (tmp_path / f"{name}.py").write_text(text)
        module = __import__(name)
        return _work.code(schedulers.describe(module.Helped, "helped"))

    name = hashlib.sha256(new.encode()).hexdigest()[:8]
    first = code_of(HELPED, f"a{name}")
    assert code_of(HELPED + "UNRELATED = 1\n", f"b{name}") == first
    assert code_of(HELPED.replace(old, new), f"c{name}") != first


def test_all_digests_are_those_of_the_command(plan, command, tmp_path):
    """From `compare`, from a sweep by Ray, and from the command: same scenario and seed, same digest."""
    ray = pytest.importorskip("ray")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        made = pathweave.sweep(plan, out=tmp_path / "out", executor="ray", task_runs=8)
    finally:
        ray.shutdown()
    settings = {"duration": "1s", "measure_from": "0s", "receive_buffer": "40KB"}
    compared = pathweave.compare("wifi-lte", schedulers="minrtt,blest", seeds=3, **settings)
    lines = tmp_path / "runs.jsonl"
    call = [command, "compare", "wifi-lte", "--schedulers", "minrtt,blest", "--seeds", "3", "--jsonl", str(lines)]
    for setting in ("duration=1s", "measure_from=0s", "connection.receive_buffer=40KB"):
        call += ["--set", setting]
    subprocess.run(call, check=True, capture_output=True)
    by_command = {(run["scheduler"], run["seed"]): run["digest"] for run in map(json.loads, lines.open())}
    by_python = {(row["scheduler"], row["seed"]): row["digest"] for row in compared.runs.rows()}
    by_ray = {(r["variant"], r["seed"]): r["digest"] for r in made.to_arrow().to_pylist() if r["at_buffer_kb"] == 40}
    assert len(by_command) == 12
    assert by_command == by_python == by_ray


def test_the_command_makes_shards_as_the_documentation_says(plan, command, tmp_path):
    """GNU parallel's call, without GNU parallel."""
    out = tmp_path / "sweep"
    shards = [
        subprocess.Popen(
            [command, "sweep", str(plan), "--out", str(out), "--resume", "--shard", f"{i}/4"], stdout=subprocess.PIPE
        )
        for i in range(1, 5)
    ]
    assert [shard.wait(60) for shard in shards] == [0] * 4
    subprocess.run([command, "sweep", str(plan), "--out", str(out), "--resume"], check=True, capture_output=True)
    subprocess.run([command, "sweep", str(plan), "--out", str(tmp_path / "whole")], check=True, capture_output=True)
    assert (out / "runs.jsonl").read_bytes() == (tmp_path / "whole/runs.jsonl").read_bytes()


class Sometimes:
    """Fails in the runs with the small buffer."""

    def decide(self, view):
        if view.send_window_bytes < 50_000:
            raise RuntimeError("not with so little")
        free = [s for s in view.candidates if s.has_space]
        return min(free, key=lambda s: s.srtt_ms, default=None)


def test_failed_runs_are_null_and_are_in_no_mean(plan, tmp_path):
    plan.write_text(PLAN.replace('"blest"', '"sometimes"'))
    runs = pathweave.sweep(plan, out=tmp_path / "out", schedulers={"sometimes": Sometimes}).to_polars()
    failed = runs.filter(polars.col("status") == "failed")
    assert 0 < failed.height < runs.height
    measured = [name for name in runs.columns if name.endswith(("_mbps", "_s", "_ms"))]
    assert measured
    assert all(failed[name].null_count() == failed.height for name in measured)
    # The example of docs/python.md.
    means = runs.group_by("at_buffer_kb", "variant").agg(polars.col("goodput_mbps").mean())
    for buffer, variant, mean in means.iter_rows():
        here = (polars.col("at_buffer_kb") == buffer) & (polars.col("variant") == variant)
        whole = runs.filter(here & (polars.col("status") != "failed"))["goodput_mbps"].to_list()
        assert mean == (pytest.approx(sum(whole) / len(whole)) if whole else None)
