"""Charts show the runs' own numbers, names of paths, units and intervals, and work offline."""

import math
import re
import statistics
import subprocess
import sys

import pytest
from sweeping import plan_of

import pathweave

pytest.importorskip("altair")
from pathweave import plots, sweep_plots, sweep_tables

KINDS = ("ranking", "paired", "cdf", "series", "shares")


def data(chart):
    return list(chart.to_dict()["datasets"].values())


def with_key(chart, key):
    [found] = [rows for rows in data(chart) if key in rows[0]]
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_plain_tcp_has_its_paths_name_and_axes_have_units(results, kind):
    text = results.plot(kind=kind).to_json()
    assert "plain TCP, lte" in text
    assert "tcp-path" not in text
    assert "share of the sent bytes" in text if kind == "shares" else "goodput, Mbit/s" in text


def test_a_ranking_has_every_seed_and_the_interval_of_the_summary(results):
    chart = results.plot()
    assert [layer["mark"]["type"] for layer in chart.to_dict()["layer"]] == ["rule", "point", "tick"]
    assert len(with_key(chart, "goodput_mbps")) == 16
    rows = {row["scheduler"]: row for row in with_key(chart, "low")}
    for wanted in results.summary:
        row = rows[f"plain TCP, {wanted['plain_tcp']}" if wanted["plain_tcp"] else wanted["scheduler"]]
        width = wanted["goodput_high_mbps"] - wanted["goodput_low_mbps"]
        assert row["mean"] == pytest.approx(wanted["goodput_mbps"])
        assert row["high"] - row["low"] == pytest.approx(width, rel=2e-3)


def test_pairs_are_the_differences(results):
    chart = results.plot("goodput_mbps", "paired", against="minrtt")
    rows = {row["scheduler"]: row for row in with_key(chart, "difference")}
    [blest] = [row for row in results.differences("minrtt") if row["scheduler"] == "blest"]
    assert {key: rows["blest"][key] for key in ("difference", "low", "high")} == {
        key: blest[key] for key in ("difference", "low", "high")
    }
    assert set(rows) == {"blest", "plain TCP, wifi", "plain TCP, lte"}


def test_a_distribution_rises_from_none_to_all(results):
    rows = [row for row in with_key(results.plot(kind="cdf"), "fraction") if row["scheduler"] == "minrtt"]
    assert [row["fraction"] for row in rows] == [0, 0.25, 0.5, 0.75, 1]
    assert [row["goodput_mbps"] for row in rows[1:]] == sorted(
        row["goodput_mbps"] for row in results.where(scheduler="minrtt")
    )


def test_series_are_those_of_one_seed(results):
    rows = [row for row in with_key(results.plot("srtt_ms", "series", seed=3), "time_s") if row["scheduler"] == "blest"]
    wanted = [
        row["value"] for row in results.series_of("blest", 3) if row["quantity"] == "srtt_ms" and row["path"] == "lte"
    ]
    assert [row["value"] for row in rows if row["of"].endswith("lte")][: len(wanted)] == wanted
    with pytest.raises(pathweave.InputError, match="seed = 9: allowed: 1, 2, 3, 4"):
        results.plot(kind="series", seed=9)


def test_shares_add_up_to_one(results):
    rows = with_key(results.plot(kind="shares"), "share")
    for name in {row["scheduler"] for row in rows}:
        mine = {row["path"]: row["share"] for row in rows if row["scheduler"] == name}
        assert set(mine) == {"wifi", "lte"}
        assert sum(mine.values()) == pytest.approx(1)


def test_several_scenarios_are_one_below_the_other():
    both = pathweave.compare(["wifi-lte", "wlan-3g"], schedulers="minrtt", seeds=2, duration=0.5, measure_from=0)
    for kind in KINDS:
        parts = both.plot(kind=kind).to_dict()["vconcat"]
        assert [part["title"]["text"] for part in parts] == ["wifi-lte", "wlan-3g"]


@pytest.mark.parametrize("kind", ["lines", "heatmap", "wins"])
def test_a_sweeps_points_are_numbers_in_order(swept, kind):
    chart = swept.plot(kind=kind)
    text = chart.to_json()
    assert "plain TCP, wifi" in text
    assert "tcp-path" not in text
    assert "goodput, Mbit/s" in text
    [rows] = data(chart)
    assert [row["buffer_kb"] for row in rows] == sorted(row["buffer_kb"] for row in rows)
    assert {row["buffer_kb"] for row in rows} == {50.0, 200.0}
    assert {row["loss_percent"] for row in rows} == {0, 1}


def test_lines_are_the_means_of_the_seeds(swept):
    [rows] = data(swept.plot(x="loss_percent", rows="buffer_kb"))
    runs = swept.rows()
    for row in rows:
        if row["scheduler"] == "minrtt":
            here = [
                one["goodput_mbps"]
                for one in runs
                if one["variant"] == "minrtt"
                and one["at_loss_percent"] == row["loss_percent"]
                and one["at_buffer_kb"] == row["buffer_kb"]
            ]
            assert len(here) == row["runs"] == 2
            assert row["mean"] == pytest.approx(sum(here) / 2)
            # Student's t with one degree of freedom is 12.706 (Fisher and Yates).
            assert row["high"] - row["mean"] == pytest.approx(12.706 * abs(here[0] - here[1]) / 2, rel=1e-4)


MANY = ["roundrobin", "ecf", "minrtt", "blest"]


@pytest.fixture(scope="module")
def compared():
    """Four schedulers in two scenarios."""
    return pathweave.compare(["wifi-lte", "wlan-3g"], schedulers=MANY, seeds=2, duration=2, measure_from=0)


def every(spec, key):
    """What a specification has under this key, in any of its parts."""
    if isinstance(spec, dict):
        yield from ([spec[key]] if key in spec else [])
        yield from (found for part in spec.values() for found in every(part, key))
    if isinstance(spec, list):
        yield from (found for part in spec for found in every(part, key))


def scales(chart, channels=("color", "stroke", "fill", "strokeDash")):
    """The scales that give schedulers their looks: a dictionary from label to look for each."""
    for encoding in every(chart.to_dict(), "encoding"):
        for channel in channels:
            found = encoding.get(channel, {})
            found = found.get("condition", found)
            if found.get("field") == "scheduler":
                yield dict(zip(found["scale"]["domain"], map(str, found["scale"]["range"]), strict=True))


def orders(chart):
    """The orders in which schedulers stand on axes, in legends and in panels."""
    spec = chart.to_dict()
    channels = [channel for encoding in every(spec, "encoding") for channel in encoding.values()]
    for channel in [*channels, *every(spec, "facet")]:
        if isinstance(channel, dict) and channel.get("field") == "scheduler" and "sort" in channel:
            yield channel["sort"]


def in_this_order(names, whole):
    return names == [name for name in whole if name in names]


def test_a_scheduler_has_one_colour_in_all_charts(compared, results, swept, swept_by_one):
    charts = [made.plot(kind=kind) for made in (compared, results) for kind in KINDS if kind != "shares"]
    charts += [sweep.plot(kind=kind) for sweep in (swept, swept_by_one) for kind in ("lines", "wins")]
    colours, dashes = {}, {}
    for chart in charts:
        looks = list(scales(chart, ("color", "stroke", "fill")))
        assert looks
        for look in looks:
            for label, colour in look.items():
                assert colours.setdefault(label, colour) == colour, label
        for look in scales(chart, ("strokeDash",)):
            for label, dash in look.items():
                assert dashes.setdefault(label, dash) == dash, label
    assert {*MANY, "plain TCP, wifi", "plain TCP, 3g"} <= {*colours}
    assert len({colours[name] for name in [*MANY, "plain TCP, wifi", "plain TCP, lte"]}) == 6


def test_all_charts_of_the_same_results_have_one_order(compared, results, swept):
    for made, kinds in ((compared, KINDS), (results, KINDS), (swept, ("lines", "heatmap", "wins"))):
        found = [order for kind in kinds for order in orders(made.plot(kind=kind))]
        whole = max(found, key=len)
        assert all(in_this_order(order, whole) for order in found), found
        paths = list(every(made.plot(kind="shares").to_dict(), "color")) if made is not swept else []
        assert len({str(path["sort"]) for path in paths}) <= 1


def test_one_scenario_has_the_order_of_its_ranking_and_a_sweep_that_of_its_plan(results, swept_by_one):
    ranked = [f"plain TCP, {row['plain_tcp']}" if row["plain_tcp"] else row["scheduler"] for row in results.summary]
    assert next(orders(results.plot())) == ranked
    plan = ["minrtt", "blest", "plain TCP, wifi", "plain TCP, lte"]
    assert next(orders(swept_by_one.plot())) == plan
    assert next(orders(swept_by_one.plot(kind="heatmap"))) == plan


def test_a_scheduler_of_ones_own_has_a_colour_that_no_other_has():
    @pathweave.scheduler("first-free")
    class First:
        def decide(self, view):
            return next((s for s in view.candidates if s.has_space), None)

    made = pathweave.compare(
        "wifi-lte", schedulers=["minrtt", First, "blest", "ecf"], seeds=1, duration=2, measure_from=0
    )
    # Other tests list the schedulers that there are.
    pathweave.unregister("first-free")
    [look] = scales(made.plot(kind="series"), ("color",))
    assert {"minrtt", "first-free", "blest", "ecf"} < {*look}
    assert len({*look.values()}) == len(look) == 6
    for kind in ("ranking", "cdf"):
        assert all(part.items() <= look.items() for part in scales(made.plot(kind=kind), ("color",)))


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize(("theme", "ground", "least"), [("default", "#ffffff", 3), ("dark", "#333333", 2.5)])
def test_colours_stand_out_from_the_ground(results, theme, ground, least):
    altair = pytest.importorskip("altair")
    with altair.theme.enable(theme):
        [look] = {tuple(look.items()) for look in scales(results.plot(), ("color",))}
    for label, colour in look:
        light, dark = sorted((luminance(colour), luminance(ground)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= least, label


def test_the_keys_of_lines_are_as_strong_as_the_lines(swept):
    for kind in ("lines", "wins"):
        assert {key["symbolOpacity"] for key in every(swept.plot(kind=kind).to_dict(), "legend") if key} == {1}


def test_cells_of_heatmaps_have_numbers_that_can_be_read(swept):
    chart = swept.plot(kind="heatmap")
    [rows] = data(chart)
    for row in rows:
        assert float(row["shown"]) == pytest.approx(row["mean"], rel=0.006, abs=0.0006)
        assert f">{row['shown']}<" in compiled(chart)
    [inks] = [part["encoding"]["color"] for part in chart.to_dict()["spec"]["layer"] if part["mark"]["type"] == "text"]
    assert (inks["condition"]["value"], inks["value"]) == ("black", "white")
    low, high = min(row["mean"] for row in rows), max(row["mean"] for row in rows)
    edge = float(inks["condition"]["test"].split(">=")[1])
    # The colour at the edge has the same contrast with black and with white.
    svg = viridis((edge - low) / (high - low))
    assert 1.05 / (luminance(svg) + 0.05) == pytest.approx((luminance(svg) + 0.05) / 0.05, rel=0.08)


def viridis(place):
    """The colour at a place of Vega's scale, as it draws it."""
    altair = pytest.importorskip("altair")
    scale = altair.Scale(scheme="viridis", domain=[0, 1])
    chart = altair.Chart(plots.inline([{"x": place}])).mark_rect().encode(color=altair.Color("x:Q", scale=scale))
    red, green, blue = re.search(r'fill="rgb\((\d+), (\d+), (\d+)\)"', compiled(chart)).groups()
    return f"#{int(red):02x}{int(green):02x}{int(blue):02x}"


def test_narrow_cells_have_no_numbers(tmp_path):
    delays = list(range(5, 105, 5))
    (tmp_path / "plan.toml").write_text(
        plan_of(["minrtt"], 1, "300ms", [("delay_ms", delays, "path.lte.delay", "{}ms")])
    )
    narrow = pathweave.sweep(tmp_path / "plan.toml", out=tmp_path / "out")
    assert "text" not in [part["mark"]["type"] for part in narrow.plot(kind="heatmap").to_dict()["spec"]["layer"]]
    [cells] = data(narrow.plot(kind="wins"))
    assert len(cells) == 20
    assert {cell["words"] for cell in cells} == {""}


def test_intervals_do_not_hide_each_other(swept, tmp_path):
    [rows] = data(swept.plot())
    assert len({(row["place"], row["panel"]) for row in rows}) == len(rows)
    assert all(abs(row["place"] - row["buffer_kb"]) <= 0.05 * (200 - 50) for row in rows)
    names = plan_of(["minrtt"], 2, "300ms", [("by", ["reno", "cubic"], "connection.congestion", "{}")])
    (tmp_path / "plan.toml").write_text(names)
    chart = pathweave.sweep(tmp_path / "plan.toml", out=tmp_path / "out").plot()
    assert all("xOffset" in encoding for encoding in every(chart.to_dict(), "encoding"))
    assert compiled(chart).count("<path") > 5


def point(**samples):
    """A point at which schedulers have these values, seed by seed."""
    return sweep_tables.Point("s", {"x": 1.0}, {name: dict(enumerate(values)) for name, values in samples.items()})


def best_by(metric, **samples):
    return sweep_tables.winner(point(**samples), sweep_tables.judged("y", metric, [metric], "this"))["best"]


def test_wins_are_by_rates_that_are_high_and_times_that_are_short():
    assert best_by("completion_s", fast=[4.0, 4.5], slow=[5.0, 5.5]) == "fast"
    assert best_by("goodput_mbps", fast=[4.0, 4.5], slow=[5.0, 5.5]) == "slow"


# Directions as a network's user sees them: more of the bound, or of a lead, is better; of duplicates less is.
@pytest.mark.parametrize(
    ("metric", "wanted"),
    [
        ("bound_share", "slow"),
        ("completion_lead_s", "slow"),
        ("fairness", "slow"),
        ("duplicate_share", "fast"),
        ("price_per_gb", "fast"),
        ("path1_srtt_ms", "fast"),
    ],
)
def test_wins_are_by_the_direction_of_the_metric(metric, wanted):
    assert best_by(metric, fast=[4.0], slow=[5.0]) == wanted


def compiled(chart):
    """The chart as Vega draws it; a specification that Vega refuses raises."""
    altair, vl_convert = pytest.importorskip("altair"), pytest.importorskip("vl_convert")
    return vl_convert.vegalite_to_svg(chart.to_dict(), vl_version=altair.SCHEMA_VERSION.rsplit(".", 1)[0])


@pytest.mark.parametrize("kind", ["lines", "heatmap", "wins"])
@pytest.mark.parametrize(
    ("sweep", "axes"),
    [
        ("swept_by_one", {}),
        ("swept", {}),
        ("swept", {"x": "loss_percent"}),
        ("swept", {"x": "buffer_kb", "rows": "buffer_kb"}),
    ],
)
def test_every_kind_is_drawn_with_one_and_with_two_parameters(sweep, axes, kind, request):
    chart = request.getfixturevalue(sweep).plot(kind=kind, **axes)
    steps(chart.to_dict())
    # Lines, cells and the marks of axes are paths.
    assert compiled(chart).count("<path") > 5


def steps(spec):
    """A height that is a step needs a y axis: Vega refuses others."""
    for part in [spec, spec.get("spec", {})]:
        if isinstance(part.get("height"), dict):
            layers = part.get("layer", [part])
            assert all("y" in layer["encoding"] for layer in layers), part["height"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_a_comparison_is_drawn(results, kind):
    assert compiled(results.plot(kind=kind)).count("<path") > 2


def test_cells_of_one_parameter_are_one_row(swept_by_one):
    for kind in ("heatmap", "wins"):
        spec = swept_by_one.plot(kind=kind).to_dict()
        assert (spec.get("spec") or spec)["height"] == sweep_plots.CELL


def test_a_lead_that_is_not_significant_is_marked(swept):
    [cells] = data(swept.plot(kind="wins"))
    table = {(row["at_buffer_kb"], row["at_loss_percent"]): row for row in swept.best()}
    assert len(cells) == len(table) == 4
    for cell in cells:
        row = table[cell["buffer_kb"], cell["loss_percent"]]
        assert cell["significant"] == ("yes" if row["significant"] else "no")
        assert cell["shown"].endswith(" ~") is (not row["significant"])
        assert (cell["strength"] < 0.5) is (not row["significant"])
    [pooled] = data(swept.plot(kind="wins", x="buffer_kb", rows="buffer_kb"))
    assert {row["significant"] for row in pooled} == {"unknown"}
    assert not any("~" in row["shown"] for row in pooled)


def test_no_scheduler_wins_by_a_metric_that_describes_the_run(swept):
    with pytest.raises(
        pathweave.InputError,
        match="y = in_flight_segments: neither more nor less of it is better; allowed with kind = wins: .*goodput_mbps",
    ):
        swept.plot(y="in_flight_segments", kind="wins")


OWN = """format = 1
name = "my own name"
duration = "500ms"
measure_from = "0s"
[[path]]
name = "fibre"
rate = "10Mbps"
delay = "5ms"
[[path]]
name = "radio"
rate = "5Mbps"
delay = "20ms"
"""


def test_a_sweep_over_a_scenarios_file_names_its_paths(tmp_path, small_plan):
    (tmp_path / "own.toml").write_text(OWN)
    text = small_plan.replace('"wifi-lte"', '"own.toml"').replace("path.lte.loss", "path.radio.loss")
    (tmp_path / "plan.toml").write_text(text)
    shown = pathweave.sweep(tmp_path / "plan.toml", out=tmp_path / "out").plot().to_json()
    assert "plain TCP, fibre" in shown
    assert "plain TCP, radio" in shown
    assert "tcp-path" not in shown


@pytest.mark.parametrize("what", ["results", "swept"])
def test_without_altair_the_error_says_what_to_install(what, request, tmp_path):
    """In a process of its own, in which Altair cannot be imported."""
    request.getfixturevalue("swept")
    calls = {
        "results": "pathweave.compare('wifi-lte', schedulers='minrtt', seeds=1, duration=0.2, measure_from=0).plot()",
        "swept": f"pathweave.sweep({str(tmp_path / 'plan.toml')!r}, out={str(tmp_path / 'out')!r}).plot()",
    }
    (tmp_path / "plan.toml").write_text(request.getfixturevalue("small_plan"))
    text = f"import sys; sys.modules['altair'] = None\nimport pathweave\n{calls[what]}"
    done = subprocess.run([sys.executable, "-P", "-c", text], capture_output=True, text=True, timeout=120)
    assert "InputError: plots are made by Altair: pip install 'pathweave[plot]'" in done.stderr


def test_each_scenario_is_ranked_by_its_own_measure():
    stream = pathweave.Scenario.builtin("wifi-lte")
    stream.connection.workload = "cbr:rate=1Mbps:message=5KiB"
    bulk = pathweave.Scenario.builtin("wlan-3g")
    both = pathweave.compare([bulk, stream], schedulers=["minrtt", "blest"], seeds=2, duration=2, measure_from=0)
    judged = {row["scenario"]: (row["judged_by"], row["reference"]) for row in both.summary}
    assert {by for by, _ in judged.values()} == {"goodput_mbps", "delay_p99_ms"}
    for kind in ("ranking", "paired", "cdf"):
        first, second = (part for part in both.plot(kind=kind).to_dict()["vconcat"])
        assert "goodput, Mbit/s" in str(first)
        assert "message delay p99, ms" in str(second)
        assert "goodput" not in str(second)


def test_an_empty_metric_is_no_default(results):
    with pytest.raises(pathweave.InputError, match="metric = : allowed: "):
        results.plot("", kind="series")


def test_the_last_step_of_a_series_has_its_length(results):
    rows = [row for row in with_key(results.plot(kind="series"), "time_s") if row["scheduler"] == "minrtt"]
    step = results.run(0)["series"]["step_s"]
    times = sorted(row["time_s"] for row in rows)
    assert times[-1] - times[-2] == pytest.approx(step)
    short = {"duration": step, "measure_from": 0}
    one = pathweave.compare("wifi-lte", schedulers="minrtt", seeds=1, **short).plot(kind="series")
    rows = [row for row in with_key(one, "time_s") if row["scheduler"] == "minrtt"]
    assert [row["time_s"] for row in rows] == pytest.approx([0, step])


def test_a_wrong_axis_is_named(swept):
    with pytest.raises(
        pathweave.InputError, match=r"x = buffer \(did you mean buffer_kb\?\): allowed: buffer_kb, loss_percent"
    ):
        swept.plot(x="buffer")
    with pytest.raises(pathweave.InputError, match=r"y = goodput \(did you mean goodput_mbps\?\)"):
        swept.plot(y="goodput")


def test_a_mean_over_other_parameters_has_no_interval_and_says_so(swept):
    text = swept.plot(x="buffer_kb", rows="buffer_kb").to_json()
    assert "mean over every loss" in text
    assert "interval" not in text


# Table of Fisher and Yates: degrees of freedom and the 97.5 % quantile.
@pytest.mark.parametrize(
    ("freedom", "wanted"), [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (9, 2.262), (29, 2.045), (120, 1.980)]
)
def test_students_t_is_that_of_the_tables(freedom, wanted):
    values = [float(i % 3) for i in range(freedom + 1)]
    mean, low, high = plots.interval(values)
    error = statistics.stdev(values) / math.sqrt(len(values))
    assert mean == pytest.approx(statistics.fmean(values))
    assert (high - mean) / error == pytest.approx(wanted, rel=1e-3)
    assert (mean - low) / error == pytest.approx(wanted, rel=1e-3)


def test_titles_have_units():
    assert plots.titled("message_delay_ms_p99") == "message delay p99, ms"
    assert plots.titled("completion_s") == "completion, s"
    assert plots.titled("aggregation_benefit") == "aggregation benefit"
    assert plots.interval([3.0]) == (3.0, 3.0, 3.0)
    assert plots.interval([3.0, 3.0]) == (3.0, 3.0, 3.0)


def test_a_saved_chart_works_offline(results, swept, tmp_path):
    pytest.importorskip("vl_convert")
    for name, chart in {"a": results.plot(), "b": swept.plot()}.items():
        chart.save(tmp_path / f"{name}.html", inline=True)
        page = (tmp_path / f"{name}.html").read_text()
        assert not re.search(r"<(script|link)[^>]*(src|href)=", page)
        assert len(page) > 500_000
