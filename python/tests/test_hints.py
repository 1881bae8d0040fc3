"""What the package says to callers whose call is legal but does nothing, or nearly right."""

import importlib
import sys
import warnings

import pytest
from sweeping import plan_of

import pathweave
from pathweave import PathweaveWarning, Scenario

SHORT = {"schedulers": "minrtt", "seeds": 1, "duration": 0.5, "measure_from": 0}
RATE = r"wifi-lte: path.wifi.rate does not reach the data, which goes to the client: .* Set path.wifi.down.rate too: "


def silent(call):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call()


def test_a_setting_that_does_not_reach_the_data_is_warned_of():
    def download(**settings):
        return pathweave.compare("wifi-lte", direction="download", **SHORT, **settings)

    scenario = Scenario.builtin("wifi-lte")
    scenario.path["wifi"].rate_mbps = 5
    scenario.connection.direction = "download"
    for call in (
        lambda: download(set={"path.wifi.rate": "5Mbps"}),
        lambda: pathweave.compare(scenario, **SHORT),
        lambda: pathweave.run(scenario, duration=0.5, measure_from=0),
        lambda: pathweave.explain(scenario, duration=0.5, measure_from=0),
    ):
        with pytest.warns(PathweaveWarning, match=RATE) as found:
            call()
        assert str(found[0].message).endswith('scenario.path["wifi"].down.rate')
        assert found[0].filename == __file__
    with pytest.warns(PathweaveWarning) as both:
        download(rate_mbps=5)
    assert [str(one.message).split("the scenario has ")[1].split(" = ")[0] for one in both] == [
        "path.wifi.down.rate",
        "path.lte.down.rate",
    ]
    with pytest.warns(PathweaveWarning, match="path.loss does not reach the data, .* has path.wifi.down.loss = 0 "):
        download(loss="1%")
    scenario.path["wifi"].down.rate_mbps = 5
    silent(lambda: pathweave.compare(scenario, **SHORT))
    silent(lambda: pathweave.compare("wifi-lte", rate_mbps=5, **SHORT))
    silent(lambda: download(delay_ms=5))


def test_an_axis_that_does_not_reach_the_data_is_warned_of(tmp_path):
    text = plan_of(["minrtt"], 1, "500ms", [("rate", [5, 30], "path.wifi.rate", "{}Mbps")])
    text = text.replace("set = {", 'set = { "connection.direction" = "download",', 1)
    with pytest.warns(PathweaveWarning, match="small: wifi-lte: path.wifi.rate does not reach the data") as found:
        pathweave.sweep(text, out=tmp_path / "one")
    assert len(found) == 1
    silent(lambda: pathweave.sweep(text.replace("wifi.rate", "wifi.down.rate"), out=tmp_path / "two"))


def test_a_scheduler_among_the_settings_is_warned_of(tmp_path):
    scenario = Scenario.builtin("wifi-lte")
    scenario.connection.scheduler = "blest"
    where = r"Name schedulers by schedulers, scheduler of explain, or schedulers of a plan"
    for call in (
        lambda: pathweave.compare(set={"connection.scheduler": "blest"}, **SHORT),
        lambda: pathweave.compare(scenario, **SHORT),
        lambda: pathweave.explain(scenario, duration=0.5, measure_from=0),
    ):
        with pytest.warns(PathweaveWarning, match=f"connection.scheduler does not reach the measured .*{where}$"):
            call()
    text = plan_of(["minrtt"], 1, "500ms", [("rule", ["blest", "ecf"], "connection.scheduler", "{}")])
    with pytest.warns(PathweaveWarning, match="small: wifi-lte: connection.scheduler does not reach") as found:
        pathweave.sweep(text, out=tmp_path / "one")
    assert len(found) == 1


def test_a_link_of_a_scenario_in_long_form_is_named():
    scenario = Scenario.from_toml(Scenario.builtin("wifi-lte").to_toml())
    with pytest.raises(
        pathweave.ScenarioError,
        match=r"unknown setting `rate`; .* set link\.wifi\.up\.rate and link\.wifi\.down\.rate$",
    ):
        scenario.path["wifi"].rate_mbps = 5
    scenario.link["wifi"].up.rate_mbps = 5
    scenario.check()


def test_a_keyword_that_is_no_setting_names_the_argument():
    with pytest.raises(
        pathweave.ArgumentError, match=r"compare\(\) has no argument scheduler \(did you mean schedulers"
    ):
        pathweave.compare(scheduler="minrtt")
    with pytest.raises(pathweave.ArgumentError, match=r"has no argument schedulers \(did you mean scheduler\?\)"):
        pathweave.run(schedulers="minrtt")
    with pytest.raises(pathweave.ArgumentError, match="path is not a setting"):
        pathweave.compare(path="wifi")
    with pytest.raises(pathweave.ScenarioError, match=r"`receive_buffer` \(did you mean `connection.receive_buffer`"):
        pathweave.compare(set={"receive_buffer": "60KB"})


def test_a_plans_setting_is_suggested_by_its_whole_name(tmp_path, small_plan):
    text = small_plan.replace('"connection.receive_buffer"', '"receive_buffer"')
    with pytest.raises(pathweave.ScenarioError, match=r"plan:\d+: .*\(did you mean `connection.receive_buffer`\?\)"):
        pathweave.sweep(text, out=tmp_path)


def test_a_text_is_a_plan_and_no_file(tmp_path, small_plan, swept):
    made = pathweave.sweep(small_plan, out=tmp_path / "text")
    assert made["digest"] == swept["digest"]
    for call in (
        lambda: pathweave.compare(Scenario.builtin("wifi-lte").to_toml()),
        lambda: Scenario.from_file(Scenario.builtin("wifi-lte").to_toml()),
    ):
        with pytest.raises(pathweave.InputError, match=r"this is a text of several lines, .*from_toml takes a text$"):
            call()
    with pytest.raises(pathweave.InputError, match="file = .*: this is a text of several lines, not a file's name$"):
        pathweave.validate("{}\n{}")


def test_a_sweep_calls_a_scenario_as_a_comparison_does(tmp_path):
    (tmp_path / "my-file.toml").write_text(Scenario.builtin("wifi-lte").to_toml().replace('"wifi-lte"', '"home"'))
    text = plan_of(["minrtt"], 1, "500ms", []).replace("wifi-lte", "my-file.toml")
    (tmp_path / "plan.toml").write_text(text)
    made = pathweave.sweep(tmp_path / "plan.toml", out=tmp_path / "out")
    assert {*made["scenario"]} == {"home"} == {*pathweave.compare(tmp_path / "my-file.toml", **SHORT).scenarios}


def test_the_best_scheduler_without_plain_tcp(swept_by_one):
    everything, schedulers = swept_by_one.best(), swept_by_one.best(plain_tcp=False)
    assert schedulers.columns == everything.columns
    for row in schedulers:
        assert {row["best"], row["second"]} == {"minrtt", "blest"}
    with pytest.raises(pathweave.ArgumentError, match="plain_tcp = 1"):
        swept_by_one.best(plain_tcp=1)


def test_only_comparisons_have_the_parts_of_the_time(swept):
    said = r"does not record this; .*: time_window_full_s is a column of pathweave.compare\(...\).runs"
    for call in (
        lambda: swept.best("window_full_s"),
        lambda: swept.summary("time_window_full_s"),
    ):
        with pytest.raises(pathweave.InputError, match=said):
            call()
    with pytest.raises(KeyError, match=said):
        swept["time_window_full_s"]
    with pytest.raises(KeyError, match="did you mean goodput_mbps"):
        swept["goodput"]


def test_a_chart_takes_the_plans_own_name_and_points_at_series(results, swept_by_one):
    pytest.importorskip("altair")
    assert swept_by_one.plot(x="buffer").to_dict() == swept_by_one.plot(x="buffer_kb").to_dict()
    for metric in ("cwnd", "cwnd_segments"):
        with pytest.raises(pathweave.InputError, match=r'this is a series over time: plot\("cwnd_segments", kind="ser'):
            results.plot(metric)


@pytest.mark.parametrize(
    ("missing", "call", "said"),
    [
        ("polars", lambda table: table.to_polars(), "to_polars needs polars .*: pip install polars"),
        (
            "pandas",
            lambda table: table.to_pandas(),
            "to_pandas needs pandas and pyarrow .*: pip install pandas pyarrow",
        ),
        (
            "pyarrow",
            lambda table: table.to_pandas(),
            "to_pandas needs pandas and pyarrow .*: pip install pandas pyarrow",
        ),
        ("pyarrow", lambda table: table.to_arrow(), "to_arrow needs pyarrow .*: pip install pyarrow"),
        ("pyarrow.parquet", lambda _: pathweave.sweep("x", out="x"), r"pip install 'pathweave\[sweep\]'"),
    ],
)
def test_a_package_that_is_missing_is_named_with_what_brings_it(monkeypatch, results, missing, call, said):
    imported = importlib.import_module

    def import_module(name, package=None):
        if name == missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return imported(name, package)

    monkeypatch.setattr(importlib, "import_module", import_module)
    with pytest.raises(pathweave.InputError, match=said):
        call(results.runs)


def test_values_of_which_some_have_a_unit_are_numbers(tmp_path):
    text = plan_of(["minrtt"], 1, "500ms", [("loss", ["0", "0.5%"], "path.lte.loss", "{}")])
    assert pathweave.sweep(text, out=tmp_path)["at_loss_percent"][::3] == [0, 0.5]


def test_a_value_of_the_right_type_is_shown_without_its_type(results):
    with pytest.raises(pathweave.InputError, match=r"^scheduler = 'mirtt' \(did you mean minrtt\?\): allowed: "):
        results.where(scheduler="mirtt")
    with pytest.raises(pathweave.InputError, match=r"^seed = '1' \(str\) .*: allowed: 1, 2"):
        results.where(seed="1")


def test_a_bar_that_cannot_be_shown_is_warned_of(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.std", None)
    with pytest.warns(
        PathweaveWarning, match=r"progress = True: a bar needs tqdm: pip install 'pathweave\[progress\]'"
    ):
        pathweave.compare("wifi-lte", progress=True, **SHORT)
    silent(lambda: pathweave.compare("wifi-lte", **SHORT))
