"""Scenarios as objects, and what is said of mistakes in them."""

import copy
import pickle
import re
import subprocess
from datetime import timedelta
from pathlib import Path
from random import Random

import numpy
import pytest

import pathweave
from pathweave import Scenario, ScenarioError

ROOT = Path(__file__).parents[2]
SMALL = """format = 1
name = "small"
duration = "2s"

[[path]]
name = "one"
rate = "8Mbps"
delay = "20ms"

[[path]]
rate = "4Mbps"
delay = "30ms"
down = { rate = "1Mbps" }
"""


def test_settings_are_attributes():
    scenario = Scenario.from_toml(SMALL)
    assert scenario.name == "small"
    named = scenario.copy()
    named.name = "renamed"
    assert (named.name, named.check()) == ("renamed", None)
    assert scenario.path.names[0] == "one"
    scenario.path["one"].loss = "1%"
    scenario.path[1].down.rate = "2Mbps"
    scenario.path.queue = "50packets"
    scenario.connection.receive_buffer = "60KB"
    scenario.connection.pr = True
    scenario.duration = "1s"
    assert scenario.path["one"].loss == "1%"
    assert scenario.path[1].down.rate == "2Mbps"
    assert scenario.path[1].rate == "4Mbps"
    assert scenario.path[0].queue == "50packets"
    assert scenario.duration == "1s"
    assert dict(scenario.overrides)["connection.pr"] == "true"
    scenario.check()


def test_what_a_file_does_not_say_is_its_default():
    scenario = Scenario.from_toml(SMALL)
    assert scenario.path["one"].overhead == 14
    assert scenario.path["one"].loss in ("0", "0%", 0)
    assert scenario.path["one"].backup is False
    assert scenario.connection[0].receive_buffer == "auto 128KiB..6MiB"
    assert scenario.trace_start == "seeded"
    assert "receive_buffer" in dir(scenario.connection[0])


def test_numbers_are_settings_by_clear_rules():
    scenario = Scenario.from_toml(SMALL)
    scenario.duration = 12
    scenario.measure_from = timedelta(milliseconds=1500)
    one = scenario.path["one"]
    one.delay = 0.03
    one.rate_mbps = 2.5
    one.queue_packets = numpy.int64(50)
    one.loss = numpy.float64(0.01)
    one.keep_order = numpy.True_
    scenario.path[1].delay_ms = 1e-3
    scenario.path[1].loss_percent = 2
    scenario.path[1].down.rate_kbps = 500
    scenario.connection.receive_buffer_kb = 200.0
    assert scenario.overrides == [
        ("duration", "12s"),
        ("measure_from", "1500000us"),
        ("path.one.delay", "0.03s"),
        ("path.one.rate", "2.5Mbps"),
        ("path.one.queue", "50packets"),
        ("path.one.loss", "0.01"),
        ("path.one.keep_order", "true"),
        ("path.1.delay", "0.001ms"),
        ("path.1.loss", "2%"),
        ("path.1.down.rate", "500kbps"),
        ("connection.receive_buffer", "200KB"),
    ]
    scenario.check()


def test_a_number_is_the_same_run_as_its_text():
    numbers = pathweave.run(
        "wifi-lte", duration=1, measure_from=timedelta(), receive_buffer_kb=60, set={"path.lte.delay_s": 0.005}
    )
    texts = pathweave.run(
        "wifi-lte", duration="1s", measure_from="0s", receive_buffer="60KB", set={"path.lte.delay": "5ms"}
    )
    assert numbers["digest"] == texts["digest"]


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), [], {}, object(), b"12s"])
def test_what_is_no_setting_is_a_type_error_that_names_what_is(value):
    with pytest.raises(
        TypeError, match="duration = .*: allowed: a time above zero such as 10ms or 1.5s, a number of sec"
    ):
        Scenario.builtin("wifi-lte").duration = value


def test_a_number_that_needs_its_unit():
    scenario = Scenario.builtin("wifi-lte")
    with pytest.raises(ScenarioError, match="^path.rate = 8: allowed: a rate such as 8Mbps"):
        scenario.path.rate = 8
    with pytest.raises(ScenarioError, match="^duration = -5s: allowed: a time above zero"):
        scenario.duration = -5
    with pytest.raises(TypeError, match="path.delay_ms = '30ms'.*allowed: a number, in ms"):
        scenario.path.delay_ms = "30ms"
    assert scenario.overrides == []


def test_a_copy_is_its_own():
    one = Scenario.builtin("wifi-lte")
    other = one.copy()
    other.duration = "1s"
    assert one.overrides == []
    results = pathweave.compare(one, schedulers="minrtt", seeds=1, duration="1s", measure_from="0s")
    assert one.overrides == []
    assert results.run(0)["manifest"]["overrides"] == {"duration": "1s", "measure_from": "0s"}


def test_written_out_it_is_the_same_scenario():
    scenario = Scenario.builtin("wlan-3g").set("duration", "1s").set("measure_from", "0s")
    again = Scenario.from_toml(scenario.to_toml())
    digests = [pathweave.run(one)["digest"] for one in (scenario, again, pickle.loads(pickle.dumps(scenario)))]
    assert len(set(digests)) == 1


def test_a_file_and_its_traces(tmp_path):
    examples = ROOT / "scenarios/examples"
    for file in sorted(examples.glob("*.toml")):
        scenario = Scenario.from_file(file)
        scenario.check()
    copied = pickle.loads(pickle.dumps(scenario))
    assert copied.name == scenario.name


def test_a_file_without_a_folder_is_no_built_in_scenario(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("wifi-lte").write_text(SMALL)
    assert Scenario.from_file("wifi-lte").name == "small"


@pytest.mark.parametrize(
    ("change", "key", "value"),
    [
        ({"path.one.loss": "200%"}, "loss", "200%"),
        ({"path.one.los": "1%"}, "los", "1%"),
        ({"connection.receive_buffer": "60 parsecs"}, "receive_buffer", "60 parsecs"),
        ({"path.two.loss": "1%"}, "path.two.loss", "1%"),
        ({"duration": "0s"}, "duration", "0s"),
    ],
)
def test_a_wrong_override_is_said_as_the_command_says_it_without_the_option(change, key, value, command, tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    [(name, text)] = change.items()
    with pytest.raises(ScenarioError) as wrong:
        Scenario.from_file(file).set(name, text)
    shown = subprocess.run([command, "compare", str(file), "--set", f"{name}={text}"], capture_output=True, text=True)
    assert shown.returncode == 2
    assert shown.stderr == f"error: --set: {wrong.value}\n"
    assert (wrong.value.key, wrong.value.value) == (key, value)
    assert wrong.value.file is None
    assert wrong.value.allowed
    with pytest.raises(ScenarioError, match=re.escape(str(wrong.value))):
        pathweave.compare(file, schedulers="minrtt", set=change)


def test_a_wrong_file_is_said_with_its_line(command, tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(SMALL.replace('"20ms"', '"20 parsecs"'))
    with pytest.raises(ScenarioError) as wrong:
        pathweave.compare(file, schedulers="minrtt", seeds=1)
    shown = subprocess.run([command, "compare", str(file)], capture_output=True, text=True)
    assert shown.stderr == f"error: {str(wrong.value).removeprefix('scenario = ')}\n"
    error = wrong.value
    assert (error.file, error.line, error.key, error.value) == (str(file), 8, "delay", "20 parsecs")
    assert error.problem == "value"
    assert SMALL.replace("20ms", "20 parsecs").splitlines()[7][error.columns[0] - 1 : error.columns[1] - 1] in (
        '"20 parsecs"',
        "20 parsecs",
    )
    assert "a time" in error.allowed


def test_text_that_is_no_toml():
    with pytest.raises(ScenarioError) as wrong:
        Scenario.from_toml("format = ", name="mine.toml")
    assert (wrong.value.problem, wrong.value.file, wrong.value.line) == ("syntax", "mine.toml", 1)


@pytest.mark.parametrize("name", ["nowhere.toml", "wifi-3g"])
def test_a_scenario_that_is_not_there(name, command):
    with pytest.raises(pathweave.InputError) as wrong:
        pathweave.compare(name)
    shown = subprocess.run([command, "compare", name], capture_output=True, text=True)
    assert shown.stderr == f"error: {str(wrong.value).removeprefix('scenario = ')}\n"
    with pytest.raises(pathweave.InputError, match="wifi-lte"):
        Scenario.builtin(name)


@pytest.mark.parametrize("schedulers", ["minrtt,fastest", "blest:delta=7", "blest:gamma=1", "minrtt:loss=1%", "", ","])
def test_a_wrong_scheduler_is_said_as_the_command_says_it(schedulers, command):
    with pytest.raises(pathweave.InputError) as wrong:
        pathweave.compare("wifi-lte", schedulers=schedulers)
    shown = subprocess.run([command, "compare", "wifi-lte", "--schedulers", schedulers], capture_output=True, text=True)
    assert shown.returncode == 2
    assert shown.stderr.replace("--schedulers", "schedulers") == f"error: {wrong.value}\n"


def test_attributes_that_are_no_settings():
    scenario = Scenario.builtin("wifi-lte")
    with pytest.raises(AttributeError, match="duration"):
        _ = scenario.length
    with pytest.raises(AttributeError, match="delay"):
        _ = scenario.path["lte"].latency
    with pytest.raises(ScenarioError, match="unknown setting `latency`"):
        scenario.path["lte"].latency = "1ms"
    with pytest.raises(KeyError, match="wifi, lte"):
        _ = scenario.path["3g"]
    with pytest.raises(KeyError):
        _ = scenario.path[2]


def test_a_value_that_is_put_right_before_the_run():
    scenario = Scenario.builtin("wifi-lte")
    before = scenario.overrides
    with pytest.raises(ScenarioError):
        scenario.path["lte"].loss = "often"
    assert scenario.overrides == before
    scenario.check()


class Mine:
    """The first subflow with room."""

    def decide(self, view):
        return next((s for s in view.candidates if s.has_space), None)


def test_a_scenario_may_name_a_registered_scheduler(tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(SMALL + '\n[[connection]]\nscheduler = "mine"\n\n[scheduler.mine]\nreceive_buffer = "60KB"\n')
    with pytest.raises(ScenarioError, match="mine"):
        Scenario.from_file(file).check()
    pathweave.register(Mine, "mine")
    try:
        scenario = Scenario.from_file(file)
        scenario.check()
        assert scenario.connection[0].scheduler == "mine"
        assert 'scheduler = "mine"' in scenario.to_toml()
        scenario.path["one"].loss = "1%"
        set_later = Scenario.from_toml(SMALL)
        set_later.connection.scheduler = "mine"
        results = pathweave.compare(scenario, schedulers="minrtt,mine", seeds=1)
        assert [row["status"] for row in results.where(scheduler="mine")] == ["completed"]
        copied = pickle.loads(pickle.dumps(scenario))
        assert pathweave.run(copied, "mine")["digest"] == results.where(scheduler="mine")[0]["digest"]
    finally:
        pathweave.unregister("mine")
    given = pathweave.compare(file, schedulers={"mine": Mine}, seeds=1)
    assert given.where(scheduler="mine")[0]["status"] == "completed"


def test_no_input_ends_in_anything_but_a_typed_exception():
    """Mutilated scenarios, settings and calls: nothing else is raised, above all no panic, which would be no `Exception`."""
    random = Random(1)
    text = (ROOT / "crates/lab/scenarios/wifi-lte.toml").read_text()
    junk = [
        "-1",
        "1e400",
        "NaN",
        "",
        "\0",
        "'",
        '"""',
        "[[",
        "9" * 40,
        "0x",
        "1s",
        "{}",
        "true",
        "wifi",
        "auto 1..0",
        "ü",
        "-0%",
    ]
    tried = refused = 0

    def attempt(work):
        nonlocal tried, refused
        tried += 1
        try:
            work()
        except (pathweave.InputError, UnicodeEncodeError):
            refused += 1

    for _ in range(400):
        at, end = sorted(random.randrange(len(text)) for _ in range(2))
        cut = text[:at] + random.choice(junk) + text[min(end, at + random.randrange(40)) :]
        attempt(lambda cut=cut: Scenario.from_toml(cut).check())
    keys = [
        f"{kind}{key}"
        for kind in ("", "path.", "path.lte.", "connection.")
        for key in pathweave._native.Document.settings(kind.split(".")[0])
    ]
    for key in keys:
        for value in random.sample(junk, 4):
            attempt(lambda key=key, value=value: Scenario.builtin("wifi-lte").set(key, value).check())
    for value in junk:
        attempt(lambda value=value: pathweave.compare(value, seeds=1))
        attempt(lambda value=value: pathweave.compare("wifi-lte", schedulers=value, seeds=1, **TINY))
        attempt(lambda value=value: pathweave.compare("wifi-lte", schedulers="minrtt", against=value, seeds=1, **TINY))
        attempt(lambda value=value: pathweave.explain("wifi-lte", value, **TINY))
        attempt(lambda value=value: pathweave.explain("wifi-lte", start=value, **TINY))
    assert tried > 700
    assert refused > tried / 2


TINY = {"duration": "100ms", "measure_from": "0s"}


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (lambda: Scenario("wifi-lte"), r"use Scenario\.builtin\('wifi-lte'\), Scenario\.from_file"),
        (lambda: Scenario(3), r"document = 3 \(int\): allowed: use Scenario\.builtin\(NAME\)"),
        (lambda: Scenario.from_toml("home.toml"), r"this is a file's name; Scenario\.from_file reads files"),
    ],
)
def test_a_scenario_is_made_by_its_functions(wrong, text):
    with pytest.raises(pathweave.InputError, match=text):
        wrong()


def test_settings_of_all_elements_say_how_one_is_read():
    scenario = Scenario.builtin("wifi-lte")
    with pytest.raises(AttributeError, match=r"may differ: read scenario\.connection\['bulk'\]\.receive_buffer$"):
        _ = scenario.connection.receive_buffer
    with pytest.raises(AttributeError, match=r"in brackets: scenario\.path\['wifi'\]$"):
        _ = scenario.path.wifi
    with pytest.raises(AttributeError, match=r"no setting rat \(did you mean rate\?\)"):
        _ = scenario.path.rat
    assert copy.copy(scenario.path).names == ["wifi", "lte"]
