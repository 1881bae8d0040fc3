"""Sweeps whose driver, worker or node is lost go on with what is missing."""

import concurrent.futures
import hashlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import polars
import pytest
from sweeping import PLAN, RULE, digest, spawn

import pathweave

DRIVER = """
import sys
import pathweave
made = pathweave.sweep(sys.argv[1], out=sys.argv[2], task_runs=4, progress=False)
print(made.made)
"""


def many(plan, seeds):
    plan.write_text(PLAN.replace("seeds = 3", f"seeds = {seeds}"))
    return 8 * seeds


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_driver_that_is_killed_goes_on(plan, tmp_path, how):
    runs = many(plan, 100)
    out = tmp_path / "out"
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, str(plan), str(out)], stderr=subprocess.PIPE, text=True)
    wait_for(lambda: len(list((out / "parts").glob("part-*"))) >= 5)
    driver.send_signal(how)
    _, said = driver.communicate(timeout=60)
    assert driver.returncode != 0
    if how == signal.SIGINT:
        assert "Interrupted: stopped" in said
    kept = len(pathweave.sweeps.finished(out))
    assert 20 <= kept < runs
    rest = pathweave.sweep(plan, out=out)
    assert rest.made == runs - kept
    whole = pathweave.sweep(plan, out=tmp_path / "whole")
    assert digest(rest) == digest(whole)


def wait_for(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.05)


def test_a_worker_process_that_is_killed(plan, tmp_path):
    runs = many(plan, 100)
    out = tmp_path / "out"
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=spawn()) as processes:
        killed = processes.submit(os.getpid).result()
        watch = concurrent.futures.ThreadPoolExecutor(1)
        watch.submit(lambda: (wait_for((out / "parts").exists), time.sleep(0.3), os.kill(killed, signal.SIGKILL)))
        with pytest.raises(pathweave.WorkerLostError, match="goes on with the rest"):
            pathweave.sweep(plan, out=out, executor=processes, task_runs=4)
    kept = len(pathweave.sweeps.finished(out))
    rest = pathweave.sweep(plan, out=out)
    assert rest.made == runs - kept
    assert rest.complete


RAY = """
import sys, threading, time
from pathlib import Path
import ray
from ray.cluster_utils import Cluster
import pathweave

plan, out, tasks = sys.argv[1], sys.argv[2], int(sys.argv[3])

class Shortest:
    def decide(self, view):
        free = [s for s in view.candidates if s.has_space]
        return min(free, key=lambda s: s.srtt_ms, default=None)

cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
ray.init(address=cluster.address, log_to_driver=False)
assert sum(node["Alive"] for node in ray.nodes()) == 3

at_the_kill = []

def kill():
    while len(list((Path(out) / "parts").glob("part-*"))) < tasks // 2:
        time.sleep(0.02)
    cluster.remove_node(nodes[0], allow_graceful=False)
    at_the_kill.append(len(pathweave.sweeps.finished(Path(out))))

threading.Thread(target=kill, daemon=True).start()
try:
    made = pathweave.sweep(plan, out=out, executor="ray", schedulers=[Shortest], task_runs=20, progress=False)
    dead = not nodes[0].any_processes_alive()
    Path(out, "said").write_text(f"{made.made} {made.complete} {at_the_kill[0] < made.made} {dead}")
finally:
    ray.shutdown()
    cluster.shutdown()
"""


def test_a_ray_cluster_of_three_nodes_loses_one_halfway(plan, tmp_path):
    pytest.importorskip("ray")
    runs = many(plan, 60)
    plan.write_text(plan.read_text().replace('"blest"', '"shortest"'))
    out = tmp_path / "out"
    environment = os.environ | {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    done = subprocess.run(
        [sys.executable, "-c", RAY, str(plan), str(out), str(runs // 20)],
        capture_output=True,
        text=True,
        timeout=240,
        env=environment,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert (out / "said").read_text() == f"{runs} True True True"
    # Nothing is lost and nothing is there twice.
    parts = [polars.read_parquet(part)["run"].to_list() for part in (out / "parts").glob("part-*")]
    assert sorted(run for part in parts for run in part) == list(range(runs))
    namespace = {}
    exec(textwrap.dedent(RULE), namespace)
    here = pathweave.sweep(plan, out=tmp_path / "here", schedulers={"shortest": namespace["Shortest"]})
    made = Path(out) / "runs.parquet"
    assert hashlib.sha256(made.read_bytes()).hexdigest() == digest(here)
