"""Measures the Python package beside the command, for docs/performance.md.

    cargo xtask python --measure                     # builds both, and makes all measurements
    python python/measure.py --command target/release/pathweave overhead decisions

What is compared is measured in turn, so that other work on the machine meets both sides alike, and medians of rounds are printed.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]

SWEEP = """format = 1
name = "short-runs"
scenarios = ["wifi-lte"]
schedulers = ["minrtt", "blest"]
seeds = {seeds}
set = {{ duration = "{duration}", measure_from = "0s" }}
"""
# Two schedulers, and plain TCP on two paths.
RUNS_PER_SEED = 4


def timed(command: list[str], **environment: str) -> tuple[float, float, str]:
    """Wall time, processor time (both s) and standard output of a program."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=os.environ | environment)
    # 1: some of the runs stalled, because a run of half a second can lose its handshake.
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def python(text: str, *arguments: str) -> list[str]:
    """A program in Python, with the installed package."""
    return [sys.executable, "-P", "-c", textwrap.dedent(text), *arguments]


def overhead(options: argparse.Namespace) -> None:
    """`compare` of the default scenario by Python and by the command: whole programs, with their starts."""
    seeds = str(options.seeds)
    by_command = [options.command, "compare", "wifi-lte", "--seeds", seeds]
    by_python = python(
        "import sys, pathweave; print(pathweave.compare('wifi-lte', seeds=int(sys.argv[1]), progress=False))", seeds
    )
    ratios: dict[str, list[float]] = {"wall time": [], "processor time": []}
    for _ in range(options.rounds):
        mine, theirs = timed(by_python), timed(by_command)
        ratios["wall time"].append(mine[0] / theirs[0])
        ratios["processor time"].append(mine[1] / theirs[1])
        print(
            f"  Python {mine[0]:.1f} s ({mine[1]:.1f} s of processors), command {theirs[0]:.1f} s ({theirs[1]:.1f} s)"
        )
    for name, values in ratios.items():
        print(f"compare, wifi-lte, {seeds} seeds: Python's {name} over the command's: {statistics.median(values):.3f}")


RAY = """
    import pathlib, sys, time, ray, pathweave
    plan, out, rounds = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    # Both workers start, and read the package.
    ray.get([ray.remote(lambda: (time.sleep(2), __import__("pathweave"))[0]).remote() for _ in range(2)])
    print("ready", flush=True)
    for line in sys.stdin:
        start = time.monotonic()
        made = pathweave.sweep(plan, out=out / line.strip(), executor="ray", progress=False)
        assert made.complete
        print(time.monotonic() - start, flush=True)
"""

HERE = """
    import sys, time, pathweave
    start = time.monotonic()
    made = pathweave.sweep(sys.argv[1], out=sys.argv[2], jobs=2, progress=False)
    assert made.complete
    print(time.monotonic() - start)
"""


def throughput(options: argparse.Namespace) -> None:
    """Runs per second of a sweep of short runs: by the command, by Python and by Ray, on two cores each."""
    runs = options.runs
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder, "plan.toml")
        plan.write_text(SWEEP.format(seeds=runs // RUNS_PER_SEED, duration="500ms"))
        workers = subprocess.Popen(
            python(RAY, str(plan), folder, str(options.rounds)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"},
        )
        assert workers.stdin
        assert workers.stdout
        assert workers.stdout.readline() == "ready\n"
        rates: dict[str, list[float]] = {"command": [], "Python": [], "Ray": []}
        for number in range(options.rounds):
            wall, _, _ = timed([options.command, "sweep", str(plan), "--out", f"{folder}/c{number}", "--jobs", "2"])
            rates["command"].append(runs / wall)
            rates["Python"].append(runs / float(timed(python(HERE, str(plan), f"{folder}/p{number}"))[2]))
            workers.stdin.write(f"r{number}\n")
            workers.stdin.flush()
            rates["Ray"].append(runs / float(workers.stdout.readline()))
            print("  " + ", ".join(f"{name} {values[-1]:.0f} runs/s" for name, values in rates.items()))
            same = {Path(folder, f"{one}{number}/runs.parquet").read_bytes() for one in "pr"}
            assert len(same) == 1, "Ray's runs are not Python's"
        workers.stdin.close()
        workers.wait()
    for name, values in rates.items():
        ratio = statistics.median(a / b for a, b in zip(values, rates["Python"], strict=True))
        print(f"sweep of {runs} runs of 0.5 s, {name}: {statistics.median(values):.0f} runs/s, {ratio:.2f} of Python's")


MEMORY = """
    import os, pathlib, sys, threading, time, pathweave
    def megabytes():
        [line] = [line for line in open("/proc/self/status") if line.startswith("VmRSS")]
        return int(line.split()[1]) / 1e3
    def watch(count, runs):
        # After each tenth of the runs.
        while (done := count()) < runs:
            tenth = done * 10 // runs
            if tenth > len(seen):
                seen.append(megabytes())
            time.sleep(0.02)
    seen = []
    how, plan, out, runs = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), int(sys.argv[4])
    if how == "sweep":
        count = lambda: 200 * len(list((out / "parts").glob("part-*")))
        threading.Thread(target=watch, args=(count, runs), daemon=True).start()
        pathweave.sweep(plan, out=out, progress=False)
    else:
        for i in range(runs // 1000):
            pathweave.compare("wifi-lte", schedulers="minrtt,blest", seeds=range(250 * i, 250 * i + 250),
                              progress=False, duration="50ms", measure_from="0s").summary
            if i * 10 % (runs // 1000) == 0:
                seen.append(megabytes())
    print(" ".join(f"{one:.0f}" for one in [*seen, megabytes()]))
"""


def memory(options: argparse.Namespace) -> None:
    """Resident memory while very many runs are made: by one sweep, and by one `compare` after the other."""
    runs = options.memory_runs
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder, "plan.toml")
        plan.write_text(SWEEP.format(seeds=runs // RUNS_PER_SEED, duration="50ms"))
        for how, said in (("sweep", "one sweep"), ("compare", "compare of 1000 runs, again and again")):
            wall, _, shown = timed(python(MEMORY, how, str(plan), f"{folder}/out", str(runs)))
            print(f"{runs} runs of 50 ms by {said}: {wall:.0f} s; MB after each tenth: {shown.strip()}")


DECISIONS = """
    import sys, time, pathweave
    class Port:
        asked = 0
        def decide(self, view):
            Port.asked += 1
            free = [s for s in view.candidates if s.has_space]
            best = min(free, key=lambda s: s.srtt_ms, default=None)
            return best and pathweave.Assign(best, best.window_space, reason="lowest srtt with window space")
    def took(scheduler, seed):
        start = time.process_time()
        digest = pathweave._native.Single(document, *scheduler).run(seed)
        return time.process_time() - start, digest
    from pathweave import comparison, schedulers
    document = comparison.document_of("wifi-lte", None, {})
    native, own = ("minrtt", []), ("port", [schedulers.describe(Port, "port")])
    rust = python = 0.0
    for seed in range(1, int(sys.argv[1]) + 1):
        (a, x), (b, y) = took(native, seed), took(own, seed)
        rust, python = rust + a, python + b
        assert x.count("digest") == 1 and x[x.index('"digest"'):][:45] == y[y.index('"digest"'):][:45]
    print(rust, python, Port.asked)
"""


def decisions(options: argparse.Namespace) -> None:
    """The same rule in Rust and in Python, which send the same packets."""
    _, _, shown = timed(python(DECISIONS, str(options.seeds // 10 or 1)))
    rust, own, asked = map(float, shown.split())
    print(
        f"minrtt on wifi-lte, {asked:.0f} decisions: {1e6 * rust / asked:.1f} µs of the run a decision in Rust, "
        f"{1e6 * own / asked:.1f} µs in Python: {1e6 * (own - rust) / asked:.1f} µs more, {own / rust:.2f} times the run"
    )


def install(options: argparse.Namespace) -> None:
    """`pip install .` in a clone, in a new environment, with nothing built before, and the size of the wheel."""
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder, "clone")
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        tools = [["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "."]]
        programs = [[sys.executable, "-m", "venv", f"{folder}/pip"]]
        if shutil.which("uv"):
            programs.append(["uv", "venv", "--quiet", f"{folder}/uv"])
        for program in programs:
            subprocess.run(program, check=True)
            environment = Path(program[-1])
            pip = [str(environment / "bin/python"), *tools[0]]
            uv = ["uv", "pip", "install", "--quiet", "--python", str(environment / "bin/python"), str(clone)]
            start = time.monotonic()
            target = {"CARGO_TARGET_DIR": f"{folder}/target-{environment.name}"}
            called = uv if environment.name == "uv" else pip
            subprocess.run(called, check=True, cwd=clone, env=os.environ | target)
            print(f"{environment.name} install of a clone, nothing built before: {time.monotonic() - start:.0f} s")
        wheel = ["wheel", "--quiet", "--disable-pip-version-check", "--no-deps", "-w", folder, "."]
        target = {"CARGO_TARGET_DIR": f"{folder}/target-pip"}
        subprocess.run(
            [f"{folder}/pip/bin/python", "-m", "pip", *wheel], check=True, cwd=clone, env=os.environ | target
        )
        [built] = Path(folder).glob("*.whl")
        print(f"wheel: {built.stat().st_size / 1e6:.2f} MB")


MEASUREMENTS: dict[str, Callable[[argparse.Namespace], None]] = {
    "overhead": overhead,
    "throughput": throughput,
    "memory": memory,
    "decisions": decisions,
    "install": install,
}


def main() -> None:
    """Makes those that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("measurements", nargs="*", default=list(MEASUREMENTS), metavar="|".join(MEASUREMENTS))
    parser.add_argument("--command", default=str(ROOT / "target/release/pathweave"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--memory-runs", type=int, default=100_000)
    options = parser.parse_args()
    for name in options.measurements:
        if name not in MEASUREMENTS:
            parser.error(f"{name}: allowed: {', '.join(MEASUREMENTS)}")
    print(f"load average before: {os.getloadavg()[0]:.1f}")
    for name in options.measurements:
        MEASUREMENTS[name](options)
        sys.stdout.flush()
    print(f"load average after: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
