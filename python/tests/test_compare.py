"""Comparisons: the same as the command's, as tables, texts and pages."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import polars
import pyarrow
import pytest

import pathweave

ROOT = Path(__file__).parents[2]
SHORT = {"duration": "2s", "measure_from": "0s"}


@pytest.fixture(scope="module")
def results() -> pathweave.Results:
    return pathweave.compare("wifi-lte", schedulers=["minrtt", "blest"], seeds=3, **SHORT)


def as_command(command):
    """The comparison of `results`."""
    settings = [word for key, value in SHORT.items() for word in ("--set", f"{key}={value}")]
    return [command, "compare", "wifi-lte", "--schedulers", "minrtt,blest", "--seeds", "3", *settings]


def test_the_order_is_that_of_schedulers_and_seeds_with_plain_tcp_last(results):
    rows = [(row["scheduler"], row["seed"]) for row in results.runs.rows()]
    wanted = ["minrtt", "blest", "tcp-path0", "tcp-path1"]
    assert rows == [(name, seed) for name in wanted for seed in (1, 2, 3)]
    assert results.complete
    assert results.problems == []


def test_digests_are_those_of_the_command(results, command, tmp_path):
    lines = tmp_path / "runs.jsonl"
    subprocess.run([*as_command(command), "--jsonl", str(lines)], check=True, capture_output=True)
    theirs = [json.loads(line) for line in lines.read_text().splitlines()]
    mine = [results.run(number) for number in range(len(results))]
    assert mine == theirs


def test_the_lines_of_json_are_those_of_the_runs(results, tmp_path):
    results.to_jsonl(tmp_path / "runs.jsonl")
    lines = (tmp_path / "runs.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [results.run(number) for number in range(12)]


def test_jobs_do_not_matter(results):
    one = pathweave.compare("wifi-lte", schedulers="minrtt,blest", seeds=3, jobs=1, **SHORT)
    assert one.runs.column("digest") == results.runs.column("digest")


def test_every_metric_is_a_column(results):
    def leaves(value, name):
        if isinstance(value, dict):
            for key, inner in value.items():
                yield from leaves(inner, f"{name}_{key}" if name else key)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for key in value[0]:
                yield f"{name}_{key}", [one[key] for one in value]
        else:
            yield name, value

    row = results.runs.rows()[0]
    found = dict(leaves(results.run(0)["metrics"], ""))
    assert len(found) > 20
    assert {name: row[name] for name in found} == found


def test_tables_are_taken_over_by_other_libraries(results):
    for table in (results.runs, results.series, results.summary, results.differences("minrtt")):
        frame = polars.DataFrame(table)
        assert frame.height == len(table) > 0
        assert frame.columns == table.columns
        assert pyarrow.table(table).num_rows == len(table)
    assert results.runs.to_polars()["goodput_mbps"].to_list() == results.runs.column("goodput_mbps")
    assert len(results.runs.to_pandas()) == 12
    import duckdb

    runs = results.runs.to_arrow()
    assert duckdb.sql("select count(*) from runs where scheduler = 'blest'").fetchall() == [(3,)]
    assert runs.num_rows == 12


def test_a_column_that_is_not_there_is_an_error_that_lists_those_there_are(results):
    with pytest.raises(KeyError, match="goodput_mbps"):
        results.runs.column("goodput")
    with pytest.raises(KeyError, match=r"column = goodput_mbp \(did you mean goodput_mbps\?\): allowed: scenario, "):
        results.runs.column("goodput_mbp")


def test_series_are_those_of_the_runs(results):
    frame = results.series.to_polars()
    run = results.run(0)
    one = frame.filter((polars.col("scheduler") == "minrtt") & (polars.col("seed") == 1))
    goodput = one.filter(polars.col("quantity") == "goodput_mbps")
    assert goodput["value"].to_list() == run["series"]["goodput_mbps"]
    assert goodput["time_s"].to_list() == pytest.approx([0.1 * i for i in range(20)])
    srtt = one.filter((polars.col("quantity") == "srtt_ms") & (polars.col("path") == "lte"))
    assert srtt["value"].to_list() == run["series"]["subflows"][1]["srtt_ms"]
    assert len(results.series_of("minrtt", 1)) == one.height


def test_paired_differences_are_those_of_the_seeds(results):
    rows = {row["scheduler"]: row for row in results.differences("minrtt").rows()}
    by = {(row["scheduler"], row["seed"]): row["goodput_mbps"] for row in results.runs.rows()}
    pairs = [by["blest", seed] - by["minrtt", seed] for seed in (1, 2, 3)]
    blest = rows["blest"]
    assert blest["difference"] == pytest.approx(sum(pairs) / 3)
    assert blest["low"] <= blest["difference"] <= blest["high"]
    assert blest["seeds"] == 3
    with pytest.raises(pathweave.InputError, match="allowed: .*goodput_mbps"):
        results.differences("minrtt", "speed")
    with pytest.raises(pathweave.InputError, match="allowed: blest, minrtt"):
        results.differences("linux")
    with pytest.raises(pathweave.InputError, match=r"did you mean `goodput_mbps`\? Allowed: "):
        results.differences("minrtt", "goodput_mbp")
    with pytest.raises(pathweave.InputError, match=r"did you mean `blest`\? Allowed: "):
        results.differences("blst")


def test_the_answer_is_the_commands(results, command):
    shown = subprocess.run(as_command(command), check=True, capture_output=True, text=True).stdout
    # All but the command's last line, which is about its page.
    assert results.table().strip() == "\n".join(shown.splitlines()[:-1]).strip()
    assert str(results) == results.table()


def test_pages_and_files(results, tmp_path):
    pages = results.to_html(tmp_path / "page.html")
    text = pages[0].read_text()
    assert "<!doctype html>" in text
    assert results.verdict.split()[0] in text
    assert all(page.exists() for page in pages)
    results.to_csv(tmp_path / "table.csv")
    assert (tmp_path / "table.csv").read_text().startswith("scenario,scheduler,")
    with pytest.raises(pathweave.OutputError):
        results.to_html(tmp_path / "nowhere" / "page.html")


def test_a_notebook_shows_the_answer_and_the_ranked_table(results):
    shown = results._repr_html_()
    assert results.verdict.split(",")[0].replace("'", "&#x27;") in shown
    assert shown.count("<tr>") == 5
    assert "<script" not in shown
    assert "&lt;" in pathweave.tables.html_table(["<a>"], [{"<a>": "<b>"}], 1)


def test_several_scenarios():
    both = pathweave.compare(["wifi-lte", "wlan-3g"], schedulers="minrtt", seeds=1, **SHORT)
    assert both.scenarios == ["wifi-lte", "wlan-3g"]
    assert both.verdict.startswith("wifi-lte: ")


def test_seeds_can_be_named():
    results = pathweave.compare("wifi-lte", schedulers="minrtt", seeds=[100, 7], **SHORT)
    assert [row["seed"] for row in results.where(scheduler="minrtt")] == [100, 7]


@pytest.mark.parametrize("seeds", [0, -1, [], [1, 1], [-1], True, [2**64]])
def test_seeds_that_are_none(seeds):
    with pytest.raises(pathweave.InputError, match="seed"):
        pathweave.compare("wifi-lte", seeds=seeds)


def test_one_run():
    one = pathweave.run("wifi-lte", "blest:delta=0.02", seed=2, **SHORT)
    assert (one["scheduler"], one["seed"], one["status"]) == ("blest:delta=0.02", 2, "completed")


def test_settings_by_their_last_word():
    one = pathweave.run(
        "wifi-lte", duration="1s", measure_from="0s", receive_buffer="60KB", loss="1%", set={"path.lte.delay": "5ms"}
    )
    overrides = one["manifest"]["overrides"]
    wanted = {
        "duration": "1s",
        "measure_from": "0s",
        "connection.receive_buffer": "60KB",
        "path.loss": "1%",
        "path.lte.delay": "5ms",
    }
    assert overrides == wanted
    with pytest.raises(
        TypeError, match=r"bandwidth is not a setting; dir\(scenario\), .*docs/scenarios.md explains them"
    ):
        pathweave.compare("wifi-lte", bandwidth="1Mbps")
    with pytest.raises(TypeError, match=r"receive_bufer is not a setting \(did you mean receive_buffer\?\)"):
        pathweave.compare("wifi-lte", receive_bufer="60KB")


def test_other_threads_go_on_while_runs_are_made():
    counted = [0]
    stop = threading.Event()

    def count():
        while not stop.wait(0.005):
            counted[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    pathweave.compare("wifi-lte", schedulers="minrtt", seeds=4, progress=False)
    stop.set()
    thread.join()
    assert counted[0] >= 5


INTERRUPTED = """
import csv, json, os, signal, sys, threading
import pathweave
threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    pathweave.compare("wifi-lte", schedulers="all", seeds=3000, progress=False)
except pathweave.Interrupted as stopped:
    results = stopped.results
    assert 0 < len(results) < results._native.planned
    assert not results.complete
    assert len(results.runs) == len(results)
    print("kept", len(results), results.summary.column("scheduler")[0])
    planned = results._native.planned
    said = f"Stopped early: {len(results)} of {planned} runs are finished."
    assert results.verdict.startswith(said), results.verdict
    assert said in str(results) and said in results._repr_html_()
    [page, *_] = results.to_html(sys.argv[1] + "/page.html")
    assert f'<div class="verdict worse"><p>{said}</p>' in page.read_text()
    results.to_csv(sys.argv[1] + "/table.csv")
    rows = list(csv.DictReader(open(sys.argv[1] + "/table.csv")))
    assert sum(int(row["runs"]) for row in rows) == len(results)
    assert sum(int(row["planned"]) for row in rows) == planned
    assert len(rows) == len(pathweave.algorithms()) + 2
    results.to_jsonl(sys.argv[1] + "/runs.jsonl")
    lines = [json.loads(line) for line in open(sys.argv[1] + "/runs.jsonl")]
    assert lines.pop() == {"stopped": {"finished": len(results), "planned": planned}}
    assert len(lines) == len(results)
"""


def test_ctrl_c_keeps_what_is_finished_and_says_everywhere_what_is_missing(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("kept ")


PATHS = """
import os, signal, threading
import pathweave
threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    pathweave.compare(["wifi-lte", "wlan-3g"], schedulers="minrtt", seeds=3000, progress=False)
except pathweave.Interrupted as stopped:
    results = stopped.results
    assert set(results.runs["scenario"]) == {"wifi-lte"}
    print(results.path_names("wlan-3g"), len(results.paths) == 2 * len(results))
"""


def test_the_paths_of_a_scenario_that_ctrl_c_left_out_have_names():
    done = subprocess.run([sys.executable, "-c", PATHS], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.returncode) == ("['wlan', '3g'] True\n", 0), done.stderr


def test_a_signal_handler_that_raises_is_not_lost():
    class Alarm(Exception):
        pass

    def ring(*_):
        raise Alarm

    before = signal.signal(signal.SIGUSR1, ring)
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGUSR1))
    timer.start()
    try:
        with pytest.raises(Alarm):
            pathweave.compare("wifi-lte", schedulers="all", seeds=3000, progress=False)
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_progress_is_shown_by_tqdm(capsys):
    pytest.importorskip("tqdm")
    pathweave.compare("wifi-lte", schedulers="minrtt", seeds=3, progress=True, **SHORT)
    assert "runs" in capsys.readouterr().err
