"""What charts show: all names of equal schedulers, those that were chosen, and scales that can be compared."""

import re

import pytest
from sweeping import plan_of
from test_plots import KINDS, compiled, data, every, with_key

import pathweave

pytest.importorskip("altair")
from pathweave import plots, sweep_plots


@pytest.fixture(scope="module")
def equal():
    """Messages that fit on the first path, so that three schedulers send the same packets."""
    stream = pathweave.Scenario.builtin("wifi-lte")
    stream.connection.workload = "cbr:rate=1Mbps:message=5KiB"
    schedulers = ["minrtt", "blest", "ecf", "redundant"]
    return pathweave.compare(stream, schedulers=schedulers, seeds=3, duration=2, measure_from=1)


def names(chart):
    return {row["scheduler"] for rows in data(chart) for row in rows if "scheduler" in row}


@pytest.mark.parametrize("kind", KINDS)
def test_equal_schedulers_are_drawn_once_with_all_their_names(equal, kind):
    [row] = [row for row in equal.summary if row["same_packets_as"]]
    assert (row["scheduler"], row["same_packets_as"]) == ("minrtt", "blest, ecf")
    chart = equal.plot(kind=kind, against="redundant" if kind == "paired" else None)
    wanted = {"minrtt = blest = ecf", "redundant", "plain TCP, wifi", "plain TCP, lte"}
    assert names(chart) == wanted - ({"redundant"} if kind == "paired" else set())
    assert "minrtt = blest = ecf" in compiled(chart)


def test_the_one_to_compare_with_comes_first_among_its_equals(equal):
    chart = equal.plot(kind="paired", against="ecf")
    assert names(chart) == {"redundant", "plain TCP, wifi", "plain TCP, lte"}
    assert "difference to ecf = minrtt = blest" in chart.to_json()
    rows = {row["scheduler"]: row["difference"] for row in with_key(chart, "difference")}
    wanted = {row["scheduler"]: row["difference"] for row in equal.differences("ecf", "message_delay_ms_p99")}
    assert rows["redundant"] == wanted["redundant"] != 0


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_chosen_schedulers_are_drawn(results, equal, kind):
    against = "tcp-path1" if kind == "paired" else None
    for chosen in (["minrtt", "tcp-path0"], "minrtt, tcp-path0"):
        chart = results.plot(kind=kind, against=against, schedulers=chosen)
        assert names(chart) == {"minrtt", "plain TCP, wifi"}
    assert names(equal.plot(kind=kind, against=against, schedulers=["blest"])) == {"blest = minrtt = ecf"}
    with pytest.raises(pathweave.InputError, match=r"schedulers = minrt \(did you mean minrtt\?\): allowed: "):
        results.plot(kind=kind, schedulers=["minrt"])
    with pytest.raises(pathweave.InputError, match=r"schedulers = \[\]: allowed: a list of minrtt"):
        results.plot(kind=kind, schedulers=[])
    with pytest.raises(pathweave.ArgumentError, match=r"schedulers = 3 \(int\): allowed: a list of minrtt"):
        results.plot(kind=kind, schedulers=3)


def domains(chart, channel):
    """The ends of the scales of a channel, for each part of the chart."""
    spec = chart.to_dict()
    for part in spec.get("vconcat", [spec]):
        found = {
            tuple(one[channel]["scale"]["domain"]) for one in every(part, "encoding") if "scale" in one.get(channel, {})
        }
        [only] = found
        yield only


def rows_of(name, values):
    return [{"scenario": name, "mean": value} for value in values]


def test_scenarios_of_one_quantity_share_a_scale_unless_they_are_too_unlike():
    rows = [*rows_of("a", [3.0, 8.0]), *rows_of("b", [2.0]), *rows_of("c", [5.0])]
    same = dict.fromkeys("abc", "goodput_mbps")
    found = plots.scales(rows, same, ("mean",))
    assert {name: scale.domain for name, scale in found.items()} == {name: [0.0, 8.0] for name in "abc"}
    assert plots.with_scales("mean", found) == ["mean"]
    unlike = plots.scales([*rows, *rows_of("d", [0.5])], dict.fromkeys("abcd", "goodput_mbps"), ("mean",))
    assert {name: scale.domain[1] for name, scale in unlike.items()} == {"a": 8.0, "b": 2.0, "c": 5.0, "d": 0.5}
    assert plots.with_scales("mean", unlike) == ["mean", "scales differ by scenario"]
    others = plots.scales(rows, {**same, "c": "completion_s"}, ("mean",))
    assert {name: scale.domain[1] for name, scale in others.items()} == {"a": 8.0, "b": 8.0, "c": 5.0}


@pytest.mark.parametrize(("metric", "least"), [("goodput_mbps", 0.0), ("aggregation_benefit", -1.0)])
def test_an_interval_ends_at_zero_only_if_the_quantity_cannot_be_negative(metric, least):
    rows = [{"scenario": "a", "mean": 2.0, "low": -1.0, "high": 5.0}]
    ends = ("mean", "low", "high")
    assert plots.scales(rows, {"a": metric}, ends)["a"].domain == [least, 5.0]
    assert plots.scales(rows, {"a": metric}, ends, signed=True)["a"].domain == [-1.0, 5.0]


@pytest.mark.parametrize("kind", ["ranking", "paired", "cdf"])
def test_bars_of_two_scenarios_can_be_compared(kind):
    slower = pathweave.Scenario.builtin("wifi-lte")
    slower.name = "slower"
    slower.path["lte"].rate = "5Mbps"
    made = pathweave.compare(
        ["wifi-lte", slower], schedulers=["minrtt", "roundrobin"], seeds=2, duration=2, measure_from=1
    )
    chart = made.plot(kind=kind, against="minrtt" if kind == "paired" else None)
    first, second = domains(chart, "x")
    assert first == second
    assert "scales differ" not in chart.to_json()


def test_a_wide_range_of_a_parameter_is_drawn_logarithmically(tmp_path):
    values = [64, 150, 400, 1000, 2000]
    text = plan_of(["minrtt", "blest"], 2, "300ms", [("buffer_kb", values, "connection.receive_buffer", "{}KB")])
    (tmp_path / "plan.toml").write_text(text)
    chart = pathweave.sweep(tmp_path / "plan.toml", out=tmp_path / "out").plot()
    places = [encoding["x"] for encoding in every(chart.to_dict(), "encoding")]
    assert {place["scale"]["type"] for place in places} == {"log"}
    assert {place["title"] for place in places} == {"buffer, KB (logarithmic)"}
    assert all(f">{value:,}</text>" in compiled(chart) for value in values)
    [rows] = data(chart)
    # Schedulers stand beside each other: each at its place, near the value, and as far apart everywhere.
    shifts = {(row["scheduler"], round(row["place"] / row["buffer_kb"], 6)) for row in rows}
    assert len(shifts) == 4
    assert all(0.9 < shift < 1.1 for _, shift in shifts)


@pytest.mark.parametrize("values", [[100, 400, 700], [0, 1, 100]])
def test_other_ranges_are_drawn_as_they_are(tmp_path, values):
    text = plan_of(["minrtt"], 1, "300ms", [("delay_ms", values, "path.lte.delay", "{}ms")])
    (tmp_path / "plan.toml").write_text(text)
    chart = pathweave.sweep(tmp_path / "plan.toml", out=tmp_path / "out").plot()
    assert {encoding["x"]["scale"]["type"] for encoding in every(chart.to_dict(), "encoding")} == {"linear"}
    assert "logarithmic" not in chart.to_json()


@pytest.mark.parametrize(
    ("name", "columns", "wanted"),
    [
        ("redundant", 2, "redundant"),
        ("redundant", 6, "redundant"),
        ("redundant", 8, "redund…"),
        ("redundant", 20, ""),
        ("plain TCP, wifi", 2, "plain TCP, wifi"),
        ("plain TCP, wifi", 5, "TCP, wifi"),
    ],
)
def test_a_cell_has_the_winners_name_as_far_as_there_is_room(name, columns, wanted):
    cell = {"scheduler": name, "shown": "", "strength": 1, "second": "", "significant": "yes", "ahead": None}
    rows = [{**cell, "x": number} for number in range(columns)]
    chart = sweep_plots._wins(rows, ["x"], plots.altair.Color("scheduler:N"))
    [cells] = data(chart)
    assert {row["words"] for row in cells} == {wanted}


def fixed_width(chart):
    """How wide the chart is when it is drawn, in pixels."""
    return float(re.search(r'<svg[^>]* width="([0-9.]+)"', compiled(chart)).group(1))


def test_charts_fit_a_window_of_500_pixels(results, equal, swept, swept_by_one):
    charts = [made.plot(kind=kind) for made in (results, equal) for kind in KINDS]
    charts += [sweep.plot(kind=kind) for sweep in (swept, swept_by_one) for kind in ("lines", "heatmap", "wins")]
    assert max(map(fixed_width, charts)) <= 500 - 2 * 8
    legends = [legend for chart in charts for legend in every(chart.to_dict(), "legend") if legend]
    assert {legend["orient"] for legend in legends} == {"bottom"}
