"""``python -m pathweave`` and the console script are the command."""

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import pathweave

MODULE = [sys.executable, "-P", "-m", "pathweave"]
SHORT = ["--seeds", "1", "--schedulers", "minrtt", "--set", "duration=500ms", "--set", "measure_from=0s"]


def run(*arguments, cwd=None):
    return subprocess.run([*MODULE, *arguments], capture_output=True, text=True, timeout=120, cwd=cwd)


def test_the_script_is_beside_the_interpreter():
    script = shutil.which("pathweave", path=str(Path(sys.executable).parent))
    assert script is not None
    shown = subprocess.run([script, "list", "schedulers", "--json"], capture_output=True, text=True, check=True)
    assert shown.stdout == run("list", "schedulers", "--json").stdout
    assert [one["name"] for one in json.loads(shown.stdout)] == [one["name"] for one in pathweave.algorithms()]


def test_compare_has_the_digests_of_python(tmp_path):
    done = run("compare", "wifi-lte", *SHORT, "--jsonl", "runs.jsonl", "--report", "page.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "minrtt" in done.stdout
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    results = pathweave.compare("wifi-lte", schedulers="minrtt", seeds=1, duration=0.5, measure_from=0)
    lines = map(json.loads, (tmp_path / "runs.jsonl").read_text().splitlines())
    assert [line["digest"] for line in lines] == results.runs["digest"]


def test_explain_and_mistakes(tmp_path):
    shown = run("explain", "wifi-lte", "--scheduler", "minrtt", "--to", "100ms")
    assert (shown.returncode, "minrtt" in shown.stdout) == (0, True)
    wrong = run("compare", "wifi-lte", "--schedulers", "minrt")
    assert (wrong.returncode, "did you mean `minrtt`?" in wrong.stderr) == (2, True)
    usage = run("compare", "--sceduler", "minrtt")
    assert (usage.returncode, "Usage: pathweave compare" in usage.stderr) == (2, True)


def test_validate_is_that_of_python():
    file = Path(__file__).parents[2] / "validation/guard-6.12.jsonl"
    first = next(json.loads(line)["id"] for line in file.read_text().splitlines() if not line.startswith("#"))
    shown = run("validate", str(file), "--only", first)
    assert shown.stdout == pathweave.validate(file, only=first).text


def test_a_sweep_goes_on_with_its_own_runs_only(tmp_path, small_plan):
    """The program is the package, not the interpreter, which other packages have too."""
    (tmp_path / "plan.toml").write_text(small_plan)
    call = ("sweep", "plan.toml", "--out", "out", "--resume")
    assert run(*call, cwd=tmp_path).returncode == 0
    file = tmp_path / "out/runs-1-of-1.jsonl"
    head, *runs = file.read_text().splitlines()
    from pathweave import _work

    assert json.loads(head)["program"] == _work.program()
    assert json.loads(runs[0])["point"] == {"buffer_kb": 200, "loss_percent": 0}
    assert run(*call, cwd=tmp_path).returncode == 0
    file.write_text("\n".join([head.replace(_work.program(), "0.1.0 another"), *runs, ""]))
    refused = run(*call, cwd=tmp_path)
    assert (refused.returncode, "another version of this program made them" in refused.stderr) == (2, True)


def test_ctrl_c_ends_it(tmp_path):
    call = [*MODULE, "compare", "wifi-lte", "--schedulers", "minrtt", "--seeds", "3000", "--jsonl", "runs.jsonl"]
    running = subprocess.Popen(call, stderr=subprocess.PIPE, text=True, cwd=tmp_path, stdout=subprocess.PIPE)
    lines = tmp_path / "runs.jsonl"
    end = time.monotonic() + 60
    while not (lines.exists() and lines.stat().st_size):
        assert time.monotonic() < end
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert (running.returncode, "Stopped early" in said) == (130, True)


def test_ctrl_c_ends_a_command_that_does_not_listen(tmp_path):
    """``explain`` of a long run."""
    call = [*MODULE, "explain", "wifi-lte", "--scheduler", "minrtt", "--set", "duration=3000s", "--to", "3000s"]
    running = subprocess.Popen(call, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    time.sleep(1.5)
    assert running.poll() is None
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=10)
    assert running.returncode == -signal.SIGINT


@pytest.mark.parametrize("arguments", [["perf"], ["perf", "--help"], ["emulate", "wifi-lte", "--", "true"]])
def test_commands_with_real_packets_say_what_to_install(arguments):
    shown = run(*arguments)
    assert shown.returncode == 2
    assert "perf and emulate are in the archive and the Debian package of a release" in shown.stderr
    assert "cargo install --path crates/cli --features tun" in shown.stderr
