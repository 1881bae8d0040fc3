"""Public functions with wrong input of each kind: the error names the argument, what it was given and what is allowed."""

import math
import re

import pytest

import pathweave
from pathweave import Scenario

SHORT = {"duration": 0.2, "measure_from": 0, "progress": False}
NOTHING = object()
NUMBERS = [5, 1.5, -1, math.nan]
OTHERS = [None, [], {}, NOTHING, b"x", "nonsense"]
PLAN = 'format = 1\nname = "small"\nscenarios = ["wifi-lte"]\nschedulers = ["minrtt"]\nseeds = 1\nset = { duration = "200ms" }\n'


@pytest.fixture(scope="module")
def results():
    return pathweave.compare("wifi-lte", schedulers="minrtt", seeds=1, **SHORT)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.toml").write_text(PLAN)


def named(value):
    """A class that would be a scheduler with these parameters."""
    return type("A", (), {"decide": lambda self, view: None, "parameters": value})


def compare(**given):
    return pathweave.compare(**{"scenario": "wifi-lte", "schedulers": "minrtt", "seeds": 1, **SHORT, **given})


def sweep(**given):
    return pathweave.sweep(**{"plan": "plan.toml", "out": "out", "progress": False, **given})


# What is called, the word that the error must have, and the values that are right.
CALLS = {
    "compare.scenario": (lambda value, _: compare(scenario=value), "scenario|nonsense", []),
    "compare.scenarios": (lambda value, _: compare(scenario=[value]), "scenario|nonsense", []),
    "compare.schedulers": (lambda value, _: compare(schedulers=value), "scheduler", [None]),
    "compare.schedulers[]": (lambda value, _: compare(schedulers=[value]), "scheduler", []),
    "compare.schedulers{}": (lambda value, _: compare(schedulers={"mine": value}), "scheduler 'mine'", []),
    "compare.seeds": (lambda value, _: compare(seeds=value), "seeds", [5]),
    "compare.seeds[]": (lambda value, _: compare(seeds=[value]), "seeds", [5]),
    "compare.against": (lambda value, _: compare(against=value), "against", [None]),
    "compare.why": (lambda value, _: compare(why=value), "why", [None]),
    "compare.jobs": (lambda value, _: compare(jobs=value), "jobs", [None, 5]),
    "compare.progress": (lambda value, _: compare(progress=value), "progress", [None]),
    "compare.set": (lambda value, _: compare(set=value), "set", [None, {}]),
    "compare.set{}": (lambda value, _: compare(set={"path.lte.loss": value}), "loss", []),
    "compare.duration": (lambda value, _: compare(duration=value), "duration", [5, 1.5]),
    "compare.rate": (lambda value, _: compare(rate=value), "rate", []),
    "compare.receive_buffer": (lambda value, _: compare(receive_buffer=value), "receive_buffer", []),
    "run.scheduler": (lambda value, _: pathweave.run("wifi-lte", value, duration=0.2, measure_from=0), "scheduler", []),
    "run.seed": (lambda value, _: pathweave.run("wifi-lte", seed=value, duration=0.2, measure_from=0), "seed", [5]),
    "algorithms": (lambda value, _: pathweave.algorithms(value), "what", []),
    "explain.scheduler": (
        lambda value, _: pathweave.explain("wifi-lte", value, duration=0.2, measure_from=0),
        "scheduler",
        [],
    ),
    "explain.seed": (
        lambda value, _: pathweave.explain("wifi-lte", seed=value, duration=0.2, measure_from=0),
        "seed",
        [5],
    ),
    "explain.start": (
        lambda value, _: pathweave.explain("wifi-lte", start=value, duration=0.2, measure_from=0),
        "start",
        [None],
    ),
    "explain.end": (
        lambda value, _: pathweave.explain("wifi-lte", end=value, duration=0.2, measure_from=0),
        "end",
        [None],
    ),
    "validate.file": (lambda value, _: pathweave.validate(value), "file|nonsense", []),
    "validate.only": (lambda value, _: pathweave.validate("plan.toml", only=value), "only|plan.toml", []),
    "sweep.plan": (lambda value, _: sweep(plan=value), "plan|nonsense", []),
    "sweep.executor": (lambda value, _: sweep(executor=value), "executor", [None]),
    "sweep.schedulers": (lambda value, _: sweep(schedulers=value), "scheduler", [None, [], {}]),
    "sweep.quick": (lambda value, _: sweep(quick=value), "quick", []),
    "sweep.shard": (lambda value, _: sweep(shard=value), "shard", []),
    "sweep.shard[]": (lambda value, _: sweep(shard=(value, 2)), "shard", []),
    "sweep.resume": (lambda value, _: sweep(resume=value), "resume", []),
    "sweep.task_runs": (lambda value, _: sweep(task_runs=value), "task_runs", [5]),
    "sweep.in_flight": (lambda value, _: sweep(in_flight=value), "in_flight", [None, 5]),
    "sweep.jobs": (lambda value, _: sweep(jobs=value), "jobs", [None, 5]),
    "reproduce": (lambda value, _: pathweave.reproduce(value), "experiments", []),
    "reproduce.source": (lambda value, _: pathweave.reproduce("cp/fig5", source=value), "source", []),
    "from_file": (lambda value, _: Scenario.from_file(value), "path|nonsense", []),
    "from_toml": (lambda value, _: Scenario.from_toml(value), "text|scenario.toml", []),
    "builtin": (lambda value, _: Scenario.builtin(value), "name", []),
    "set": (lambda value, _: Scenario.builtin("wifi-lte").set(value, "1"), "key|nonsense|setting", []),
    "path[]": (lambda value, _: Scenario.builtin("wifi-lte").path[value], "wifi, lte", []),
    "register": (lambda value, _: pathweave.register(value, "mine"), "scheduler 'mine'", []),
    "register.name": (lambda value, _: pathweave.register(named([]), value), "name|scheduler", ["nonsense"]),
    "parameters": (lambda value, _: pathweave.register(named(value), "mine"), "parameters", [[]]),
    "parameters[]": (lambda value, _: pathweave.register(named([value]), "mine"), "parameters", []),
    "series_of": (lambda value, of: of.series_of(value, 1), "scheduler", []),
    "series_of.seed": (lambda value, of: of.series_of("minrtt", value), "seed", []),
    "differences": (lambda value, of: of.differences(value), "against", []),
    "differences.metric": (lambda value, of: of.differences("minrtt", value), "metric", []),
    "column": (lambda value, of: of.runs.column(value), "column", []),
    "head": (lambda value, of: of.runs.head(value), "n = ", [5]),
    "run": (lambda value, of: of.run(value), "number", []),
    "table": (lambda value, of: of.table(value), "columns", [5, -1]),
    "to_csv": (lambda value, of: of.to_csv(value), "path", ["nonsense"]),
    "to_jsonl": (lambda value, of: of.to_jsonl(value), "path", ["nonsense"]),
    "to_html": (lambda value, of: of.to_html(value), "path", ["nonsense"]),
    "where": (lambda value, of: of.where(scheduler=value), "scheduler", []),
    "where.seed": (lambda value, of: of.where(seed=value), "seed", []),
    "plot": (lambda value, of: of.plot(value), "metric", [None]),
    "plot.kind": (lambda value, of: of.plot(kind=value), "kind", []),
    "plot.against": (lambda value, of: of.plot(kind="paired", against=value), "against", [None]),
    "plot.seed": (lambda value, of: of.plot(kind="series", seed=value), "seed", [None]),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_error_names_the_argument_and_what_is_allowed(name, results):
    if name.startswith("plot"):
        pytest.importorskip("altair")
    call, word, right = CALLS[name]
    refused = 0
    for value in [*NUMBERS, *OTHERS]:
        if any(value is one or (value == one and type(value) is type(one)) for one in right):
            continue
        with pytest.raises((pathweave.InputError, KeyError)) as wrong:
            call(value, results)
        text = str(wrong.value)
        refused += 1
        assert re.search(word, text), f"{value!r}: {text}"
        assert "--" not in text, text
        for internal in (
            "not supported",
            "is not an instance",
            "has no attribute",
            "not iterable",
            "cannot be interpreted",
        ):
            assert internal not in text, text
    assert refused >= 5


@pytest.fixture(autouse=True)
def nothing_stays_registered():
    yield
    for name in pathweave.registered():
        pathweave.unregister(name)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: pathweave.compare(sceduler="minrtt"),
            r"compare\(\) has no argument sceduler \(did you mean schedulers\?\); there are: scenario, schedulers, seeds, ",
        ),
        (lambda: pathweave.run(seeds=3), r"run\(\) has no argument seeds \(did you mean seed\?\)"),
        (lambda: pathweave.explain(strt="1s"), r"explain\(\) has no argument strt \(did you mean start\?\)"),
        (lambda: pathweave.compare(durationn=1), r"durationn is not a setting \(did you mean duration\?\)$"),
        (
            lambda: pathweave.compare(receive_bufer_kb=1),
            r"receive_bufer_kb is not a setting \(did you mean receive_buffer\?\)$",
        ),
        (
            lambda: pathweave.compare(buffer="1MB"),
            r"\(did you mean receive_buffer, send_buffer or send_buffer_tuning\?\)$",
        ),
        (lambda: pathweave.compare(colour=1), r"colour is not a setting; dir\(scenario\), .* list them"),
        (
            lambda: pathweave.compare("wifi-lte", ["minrtt"]),
            r"compare\(\) too many positional arguments; there are: scenario, and by name schedulers=, seeds=, .*, and settings",
        ),
        (
            lambda: pathweave.sweep("plan.toml"),
            r"sweep\(\) missing a required .*'out'; there are: plan, and by name out=, ",
        ),
        (
            lambda: pathweave.sweep("plan.toml", outt="x"),
            r"sweep\(\) has no argument outt \(did you mean out\?\); there are: plan",
        ),
        (
            lambda: pathweave.validate(),
            r"validate\(\) missing a required .*'file'; there are: file, and by name only=, jobs=",
        ),
    ],
)
def test_a_misspelt_keyword_is_a_type_error_with_the_nearest_name(call, text):
    with pytest.raises(TypeError, match=text):
        call()


def test_a_misspelt_metric_or_kind_names_the_nearest_one(results):
    pytest.importorskip("altair")
    with pytest.raises(
        pathweave.InputError, match=r"metric = goodput \(did you mean goodput_mbps\?\): allowed: goodput_mbps, "
    ):
        results.plot("goodput")
    with pytest.raises(
        pathweave.InputError, match=r"kind = rankings \(did you mean ranking\?\): allowed: ranking, paired"
    ):
        results.plot(kind="rankings")
    with pytest.raises(pathweave.InputError, match=r"column = shed \(did you mean seed\?\)"):
        results.where(shed=1)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: pathweave.sweep("plam.toml", out="out"),
            r"plan = plam.toml: there is no such file in .* \(did you mean plan.toml\?\)",
        ),
        (lambda: pathweave.validate("nowhere/x.jsonl"), r"file = nowhere/x.jsonl: there is no such file in "),
        (lambda: pathweave.sweep(".", out="out"), r"plan = \.: this is a folder"),
        (
            lambda: Scenario.from_file("plan.tml"),
            r"path = plan.tml: there is no such file in .* \(did you mean plan.toml\?\)",
        ),
        (
            lambda: compare(scenario="nowhere.toml"),
            r"scenario = nowhere.toml: there is no such file; a scenario is a file or one of",
        ),
        (lambda: compare(receive_buffer_kb=-128), r"^receive_buffer_kb = -128: allowed: a fixed size"),
        (lambda: compare(receive_buffer="many"), r"^receive_buffer = many: allowed: "),
        (
            lambda: compare(duration=None),
            r"^duration = None: allowed: a time .*, a number of seconds or datetime.timedelta$",
        ),
        (lambda: compare(loss=None), r"^loss = None: allowed: a probability"),
        (
            lambda: compare(schedulers="blest:delt=0.1"),
            r"^schedulers: blest:delt=0.1: unknown setting `delt` \(did you mean `delta`\?\)",
        ),
        (
            lambda: compare(schedulers="blest:x=1"),
            r"^schedulers: blest:x=1: unknown setting `x`; there are: lambda, delta, mptcp, ",
        ),
        (lambda: compare(schedulers="blest:delta=abc"), r"^schedulers: blest:delta=abc: delta = abc: allowed: "),
        (
            lambda: pathweave.compare("wifi-lte", seeds=1, duration=5),
            r"^duration = 5s: allowed: more than measure_from, which is 10s in this",
        ),
        (
            lambda: pathweave.arena("weave", against="minrt", points="sized-tuning/1"),
            r"^against: unknown scheduler `minrt`; did you mean `minrtt`",
        ),
        (lambda: pathweave.arena("weave", only="evalution"), r"only = evalution: .*did you mean `evaluation`\?"),
        (lambda: pathweave.reproduce("cp/fig5"), r"The package has none: .* source='CLONE/experiments'"),
    ],
)
def test_an_error_is_in_the_callers_own_words(call, text):
    with pytest.raises(pathweave.InputError, match=text):
        call()


def test_two_settings_that_do_not_fit_are_told_when_both_are_set():
    scenario = Scenario.builtin("wifi-lte")
    scenario.duration = 5
    with pytest.raises(
        pathweave.ScenarioError, match="duration = 5s: allowed: more than measure_from, which is 10s"
    ) as wrong:
        scenario.check()
    assert wrong.value.problem == "conflict"
    scenario.measure_from = 1
    scenario.check()


def test_a_name_in_other_letters_is_near():
    with pytest.raises(KeyError, match=r"'LTE' \(did you mean lte\?\); there are: wifi, lte"):
        Scenario.builtin("wifi-lte").path["LTE"]


def test_rows_that_no_run_can_have_are_a_mistake(results):
    with pytest.raises(
        pathweave.InputError, match=r"scheduler = 'mirtt' \(did you mean minrtt\?\): allowed: 'minrtt', 'tcp"
    ):
        results.where(scheduler="mirtt")
    assert results.where(status="failed") == []
    assert len(results.where(scheduler="minrtt", seed=1)) == 1


def test_a_truth_value_is_no_number_of_columns(results):
    with pytest.raises(pathweave.ArgumentError, match="columns = True: allowed: a whole number"):
        results.table(True)


def test_only_the_engines_errors_are_translated():
    assert str(pathweave.InputError("my --seeds.toml")) == "my --seeds.toml"
    with pytest.raises(pathweave.InputError, match="^start"):
        pathweave.explain("wifi-lte", start="2 parsecs", duration=0.2, measure_from=0)


def test_arguments_of_numpy_are_numbers():
    import numpy

    made = pathweave.compare("wifi-lte", schedulers="minrtt", seeds=numpy.arange(3, 5), jobs=numpy.int64(1), **SHORT)
    assert made.runs["seed"][:2] == [3, 4]


def test_a_file_that_cannot_be_written_is_an_output_error(results, tmp_path):
    nowhere = tmp_path / "nowhere" / "file"
    for write in (results.to_csv, results.to_jsonl, results.to_html):
        with pytest.raises(pathweave.OutputError, match="nowhere"):
            write(nowhere)
