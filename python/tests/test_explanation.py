"""Explanations, validation and the papers' experiments are the command's."""

import json
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

import pathweave

ROOT = Path(__file__).parents[2]


def test_an_explanation_is_the_commands(command, tmp_path):
    mine = pathweave.explain("wlan-3g", "blest", start="2s", end="2.1s", seed=3, receive_buffer="200KB")
    call = [command, "explain", "wlan-3g", "--scheduler", "blest", "--from", "2s", "--to", "2.1s", "--seed", "3"]
    call += ["--set", "connection.receive_buffer=200KB"]
    assert subprocess.run(call, capture_output=True, text=True, check=True).stdout == str(mine)
    lines = subprocess.run([*call, "--jsonl", "-"], capture_output=True, text=True, check=True).stdout.splitlines()
    assert [json.loads(line) for line in lines[1:]] == mine.entries
    assert mine.about["seed"] == 3
    assert "<!doctype html>" in mine.to_html(tmp_path / "explain.html").read_text()


def test_an_explanation_says_what_it_is_of():
    found = pathweave.explain("wlan-3g", "blest", start="2s", end="2.1s", seed=3)
    decisions = sum(entry["kind"] == "decision" for entry in found.entries)
    wanted = (
        f"<Explanation of blest on wlan-3g, seed 3, 2 s to 2.1 s: {len(found.entries)} events, "
        f"{decisions} decisions among them; print() shows them, entries has them>"
    )
    assert repr(found) == wanted


def test_a_span_that_is_none(command):
    with pytest.raises(pathweave.InputError) as wrong:
        pathweave.explain("wlan-3g", "blest", start="2 parsecs")
    call = [command, "explain", "wlan-3g", "--scheduler", "blest", "--from", "2 parsecs"]
    shown = subprocess.run(call, capture_output=True, text=True).stderr
    assert shown.replace("--from", "start") == f"error: {wrong.value}\n"


def test_a_period_in_numbers_is_the_same_as_in_text():
    texts = pathweave.explain("wlan-3g", "blest", start="2s", end="2.1s")
    assert str(pathweave.explain("wlan-3g", "blest", start=2, end=timedelta(seconds=2.1))) == str(texts)


def test_experiments_that_are_not_here_say_where_they_are(tmp_path):
    with pytest.raises(
        pathweave.InputError, match=r"source = .*/nowhere: no experiments here.*source='CLONE/experiments'"
    ):
        pathweave.reproduce("cp/fig5", out=tmp_path, source=tmp_path / "nowhere")


def test_a_rule_in_python_is_explained():
    class Mine:
        def decide(self, view):
            free = [s for s in view.candidates if s.has_space]
            return pathweave.Assign(free[0], reason="the first of {free}", terms={"free": len(free)}) if free else None

    said = str(pathweave.explain("wifi-lte", Mine, start="1s", end="1.1s"))
    assert "the first of 1" in said or "the first of 2" in said


def test_validation_is_the_commands(command):
    file = ROOT / "validation/guard-6.12.jsonl"
    first = next(json.loads(line)["id"] for line in file.read_text().splitlines() if not line.startswith("#"))
    mine = pathweave.validate(file, only=first)
    shown = subprocess.run([command, "validate", str(file), "--only", first], capture_output=True, text=True)
    assert shown.stdout == mine.text
    assert [row["id"] for row in mine.rows] == [first]
    with pytest.raises(pathweave.InputError, match="no scenario"):
        pathweave.validate(file, only="no such scenario")


def test_a_papers_experiment(tmp_path):
    claims = pathweave.reproduce("cp/fig5", out=tmp_path, source=ROOT / "experiments", quick=True)
    assert {claim["experiment"] for claim in claims} == {"cp/fig5"}
    assert {claim["verdict"] for claim in claims} <= {"holds", "partly", "fails"}
    with pytest.raises(pathweave.InputError, match=r"did you mean cp/fig\d.*there are: .*cp/fig5"):
        pathweave.reproduce("cp/fig99", source=ROOT / "experiments")


def test_a_wait_without_a_reason_is_told_as_such() -> None:
    class Silent:
        """Waits although subflows have window space, and says nothing."""

        def decide(self, view: pathweave.View) -> pathweave.Assign | None:
            busy = any(subflow.in_flight_segments for subflow in view.subflows)
            best = min(view.subflows, key=lambda subflow: subflow.srtt_ms or 0.0)
            return None if busy else pathweave.Assign(best, 1)

    said = str(pathweave.explain("wifi-lte", Silent, start="1s", end="1.1s"))
    assert "because the rule gave no reason" in said
    assert "no subflow has window space" not in said
