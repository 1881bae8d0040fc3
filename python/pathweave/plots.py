"""Charts of comparisons and sweeps, made by Altair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from statistics import fmean
from typing import TYPE_CHECKING, Any

from pathweave import _native
from pathweave._altair import altair
from pathweave._arguments import listed, one_of, text, whole
from pathweave._errors import InputError
from pathweave._looks import WIDTH, Looks, legend_of

if TYPE_CHECKING:
    from pathweave.results import Results

PATHS = ["#2f6f9f", "#e3a44a", "#57a18b", "#b57bb0"]
"""The colours of paths, in their order, as on the pages."""

_UNITS = {
    **{unit: unit for unit in ("s", "ms", "us", "bytes", "segments", "packets")},
    **{"kbps": "kbit/s", "mbps": "Mbit/s", "gbps": "Gbit/s", "percent": "%"},
    **{"kb": "KB", "mb": "MB", "gb": "GB", "kib": "KiB", "mib": "MiB", "gib": "GiB"},
}

Row = dict[str, Any]


def titled(column: str) -> str:
    """A column's name in words, with its unit at the end: ``message_delay_ms_p99`` is ``message delay p99, ms``."""
    words = column.split("_")
    units = [word for word in words if word in _UNITS]
    rest = " ".join(word for word in words if word not in _UNITS)
    return f"{rest}, {_UNITS[units[-1]]}" if units and rest else column.replace("_", " ")


def interval(values: list[float]) -> tuple[float, float, float]:
    """The mean and its 95 % interval, as in the tables of results. With one value, the interval has no width."""
    found = _native.estimate(values)
    if found is None:
        raise ValueError("there are no values")
    return found


def results_chart(
    results: Results,
    metric: str | None,
    kind: str,
    against: str | None,
    seed: int | None,
    schedulers: str | Iterable[str] | None,
) -> altair.TopLevelMixin:
    """The chart of `Results.plot`."""
    one_of("kind", kind, ("ranking", "paired", "cdf", "series", "shares"))
    if against is not None:
        text("against", against, "a scheduler of these results")
    who = Drawn(results, _chosen(results, schedulers), against if kind == "paired" else None)
    if kind == "shares":
        return _shares(results, who)
    if kind == "series":
        return _series(results, metric, seed, who)
    if metric is not None:
        allowed = numbers_of(results.runs, results.runs.columns)
        of_series = [] if metric in allowed else {*results.series["quantity"]} - {*allowed}
        for quantity in (name for name in of_series if metric in (name, name.rpartition("_")[0])):
            raise InputError(f'metric = {metric}: this is a series over time: plot("{quantity}", kind="series")')
        one_of("metric", metric, allowed)
    metrics = {name: metric or by for name, by in _ranked_by(results).items()}
    if kind == "paired":
        return _paired(results, metrics, against, who)
    return _ranking(results, metrics, who) if kind == "ranking" else _cdf(results, metrics, who)


def numbers_of(rows: Iterable[Row], columns: list[str]) -> list[str]:
    """The columns whose values are numbers."""
    kinds: dict[str, set[type]] = {name: set() for name in columns}
    for row in rows:
        for name in columns:
            kinds[name].add(type(row[name]))
    # A metric that no run has is a number too.
    return [
        name
        for name, found in kinds.items()
        if found <= {int, float, type(None)} and name not in ("seed", "run", "reason", "plain_tcp")
    ]


def _ranked_by(results: Results) -> dict[str, str]:
    """The column of `Results.runs` that ranks, for each scenario."""
    columns: dict[Any, Any] = {"delay_p99_ms": "message_delay_ms_p99"}
    return {row["scenario"]: columns.get(row["judged_by"], row["judged_by"]) for row in results.summary}


def label_of(scheduler: str, path: str | None) -> str:
    """How a scheduler is called in charts: plain TCP by its path's name."""
    return f"plain TCP, {path}" if path else scheduler


def _chosen(results: Results, schedulers: object) -> list[str] | None:
    """The argument `schedulers` of a chart: names of these results, or ``None`` for all."""
    if schedulers is None:
        return None
    there = list(dict.fromkeys(results.runs.column("scheduler")))
    allowed = f"a list of {', '.join(there)}"
    given = schedulers.split(",") if isinstance(schedulers, str) else listed("schedulers", schedulers, allowed)
    names = [name.strip() if isinstance(name, str) else name for name in given]
    if not names:
        raise InputError(f"schedulers = []: allowed: {allowed}")
    return [one_of("schedulers", name, there) for name in names]


class Drawn(Looks):
    """The schedulers that a chart of a comparison draws. Those that sent the same packets are drawn once, as one."""

    def __init__(self, results: Results, chosen: list[str] | None, against: str | None) -> None:
        """The chosen schedulers (``None``: all), by their place in the ranking; with several scenarios, by the mean of their places."""
        runs = results.runs
        columns = (runs.column(name) for name in ("scenario", "scheduler", "plain_tcp"))
        own = {(scenario, name): label_of(name, path) for scenario, name, path in zip(*columns, strict=True)}
        first, places, names = [against, *(chosen or [])], dict[str, list[int]](), dict[str, str]()
        self.labels = dict(own)
        """The label of each scheduler of each scenario: of equal ones, all their names."""
        self.ranked = {(row["scenario"], row["scheduler"]) for row in results.summary}
        equal = set[tuple[str, str]]()
        for scenario in results.scenarios:
            for place, row in enumerate(row for row in results.summary if row["scenario"] == scenario):
                same = row["same_packets_as"].split(", ") if row["same_packets_as"] else []
                group = sorted(
                    [row["scheduler"], *same], key=lambda one: first.index(one) if one in first else len(first)
                )
                label = " = ".join(own[scenario, one] for one in group)
                self.labels.update({(scenario, one): label for one in group})
                equal.update((scenario, one) for one in same)
                places.setdefault(label, []).append(place)
                names.setdefault(label, row["scheduler"])
        wanted = {*own} if chosen is None else {key for key in own if key[1] in chosen}
        kept = {(scenario, self.labels[scenario, name]) for scenario, name in wanted}
        self.keys = {key for key in own if key not in equal and (key[0], self.labels[key]) in kept}
        """Scenario and name of each scheduler that is drawn."""
        for (_, name), label in self.labels.items():
            names.setdefault(label, name)
        unranked = [label for label in dict.fromkeys(self.labels.values()) if label not in places]
        order = [*sorted(places, key=lambda label: fmean(places[label])), *unranked]
        super().__init__(dict.fromkeys(name for _, name in own), names, order)


def _measured(results: Results, metrics: dict[str, str], who: Drawn) -> list[Row]:
    """The runs that have the metric of their scenario, in the order of the schedulers."""
    found = [
        {"scenario": row["scenario"], "scheduler": who.labels[key], "seed": row["seed"], metric: row[metric]}
        for row in results.runs
        if row["status"] != "failed"
        and (key := (row["scenario"], row["scheduler"])) in who.keys & who.ranked
        and row[metric := metrics[row["scenario"]]] is not None
    ]
    if not found:
        raise InputError(f"metric = {', '.join({*metrics.values()})}: no run has a value")
    return who.sorted(found)


def by_scenario(rows: list[Row], chart: Callable[[list[Row]], Any], about: str | list[str]) -> altair.TopLevelMixin:
    """A chart for each scenario, one below the other. `about` says what is drawn."""
    names = list(dict.fromkeys(row["scenario"] for row in rows))

    def titled_chart(name: str) -> Any:
        title = altair.TitleParams(name, subtitle=about, anchor="start", frame="group", offset=8)
        return chart([row for row in rows if row["scenario"] == name]).properties(title=title)

    charts = [titled_chart(name) for name in names]
    made: altair.TopLevelMixin = charts[0] if len(charts) == 1 else altair.vconcat(*charts)
    return made


ALIKE = 4
"""Scenarios share a scale if the largest values of none are more than this many times those of another."""

SIGNED = ("aggregation_benefit", "completion_lead_s")
"""The metrics that can be negative."""


def scales(
    rows: list[Row], metrics: dict[str, str], ends: tuple[str, ...], signed: bool = False, zero: bool = True
) -> dict[str, altair.Scale]:
    """For each scenario, the scale of the values `ends`: one for all scenarios that have the same metric.

    Scenarios whose values are too small or too large for that have scales of their own. What cannot be negative begins at zero,
    and intervals that go below are cut off.
    """
    found = {}
    for metric in {metrics[row["scenario"]] for row in rows}:
        values: dict[str, list[float]] = {}
        for row in rows:
            if metrics[row["scenario"]] == metric:
                here = values.setdefault(row["scenario"], [0.0] if zero else [])
                here += [row[end] for end in ends if row.get(end) is not None]
        sizes = [max(map(abs, here)) for here in values.values()]
        together = [[*values]] if max(sizes) <= ALIKE * min(sizes) else [[name] for name in values]
        for names in together:
            everything = [value for name in names for value in values[name]]
            low, high = min(everything), max(everything)
            low = low if signed or metric in SIGNED else max(low, 0.0)
            scale = altair.Scale(domain=[low, high], nice=True) if low < high else altair.Scale(zero=zero)
            found.update(dict.fromkeys(names, scale))
    return found


def _beside(labels: list[str]) -> int:
    """The width of axes beside these labels: long ones take from it, so that the chart is as wide as others."""
    return max(WIDTH // 2, WIDTH - 6 * max(0, max(map(len, labels)) - len("plain TCP, wifi")))


def with_scales(about: str, used: dict[str, altair.Scale]) -> list[str]:
    """What is drawn, and that the scenarios' scales differ."""
    domains = {str(scale.to_dict()) for scale in used.values()}
    return [about, "scales differ by scenario"] if len(domains) > 1 else [about]


def inline(rows: list[Row]) -> altair.InlineData:
    """Rows as the data of a chart, which has them inside."""
    return altair.InlineData(values=rows)


def tips(*columns: str, of: tuple[str, ...] = ("scheduler",)) -> list[altair.Tooltip]:
    """What is shown beside the pointer: names as they are, numbers with four digits."""
    return [altair.Tooltip(f"{name}:N") for name in of] + [
        altair.Tooltip(f"{name}:Q", format=".4g") for name in columns
    ]


def panels(column: str, values: list[str]) -> altair.Row:
    """Panels one below the other, each with its value above it."""
    header = altair.Header(labelOrient="top", labelAnchor="start", labelFontWeight="bold", title=None)
    return altair.Row(f"{column}:N", sort=values, header=header)


def _seeds(rows: list[Row]) -> int:
    """The most runs of a scheduler in a scenario."""
    return max(Counter((row["scenario"], row["scheduler"]) for row in rows).values())


def _ranking(results: Results, metrics: dict[str, str], who: Drawn) -> altair.TopLevelMixin:
    measured = _measured(results, metrics, who)
    color = who.color(measured, legend=False)
    samples: dict[tuple[str, str], list[float]] = {}
    for row in measured:
        samples.setdefault((row["scenario"], row["scheduler"]), []).append(row[metrics[row["scenario"]]])
    all_means = [
        {"scenario": scenario, "scheduler": name, "least": min(values), "most": max(values)}
        | dict(zip(("mean", "low", "high"), interval(values), strict=True))
        for (scenario, name), values in samples.items()
    ]
    of_x = scales(all_means, metrics, ("low", "high", "least", "most"))

    def chart(rows: list[Row]) -> Any:
        scenario = rows[0]["scenario"]
        metric, means = metrics[scenario], [row for row in all_means if row["scenario"] == scenario]
        y = altair.Y("scheduler:N", sort=who.of(rows), title=None, axis=altair.Axis(labelLimit=0))
        x: dict[str, Any] = {"title": titled(metric), "scale": of_x[scenario]}
        tip = tips("mean", "low", "high")
        ranges = (
            altair.Chart(inline(means))
            .mark_rule(strokeWidth=2, clip=True)
            .encode(y=y, x=altair.X("low:Q", **x), x2="high:Q", color=color, tooltip=tip)
        )
        seeds = (
            altair.Chart(inline(rows))
            .mark_point(opacity=0.7)
            .encode(
                y=y,
                x=altair.X(f"{metric}:Q", **x),
                color=color,
                tooltip=["scheduler:N", "seed:Q", f"{metric}:Q"],
            )
        )
        ticks = (
            altair.Chart(inline(means))
            .mark_tick(thickness=3, size=16)
            .encode(y=y, x="mean:Q", color=color, tooltip=tip)
        )
        return altair.layer(ranges, seeds, ticks).properties(width=_beside(who.of(measured)))

    count = _seeds(measured)
    about = f"tick: mean of {count} seeds; line: its 95 % interval; circle: a seed" if count > 1 else "one seed"
    return by_scenario(measured, chart, with_scales(about, of_x))


def _paired(results: Results, metrics: dict[str, str], against: str | None, who: Drawn) -> altair.TopLevelMixin:
    references = {row["scenario"]: row["reference"] for row in results.summary if row["reference"]}
    if against is not None:
        references = dict.fromkeys(metrics, against)
    if not references:
        raise InputError("against: no row to compare with; name a scheduler")
    labels = who.labels
    rows = [
        {**row, "scheduler": labels[key], "against": labels.get((scenario, reference), reference)}
        for scenario, reference in references.items()
        for row in results.differences(reference, metrics[scenario])
        if row["scenario"] == scenario
        and row["difference"] is not None
        and (key := (scenario, row["scheduler"])) in who.keys & who.ranked
        and labels[key] != labels.get((scenario, reference))
    ]
    if not rows:
        compared = ", ".join(dict.fromkeys(references.values()))
        raise InputError(f"against = {compared}: no other scheduler has a value with the same seed")
    color, width = who.color(rows, legend=False), _beside(who.of(rows))
    of_x = scales(rows, metrics, ("low", "high", "difference"), signed=True)

    def chart(rows: list[Row]) -> Any:
        scale = of_x[rows[0]["scenario"]]
        y = altair.Y("scheduler:N", sort=who.of(rows), title=None, axis=altair.Axis(labelLimit=0))
        title = f"{titled(rows[0]['metric'])}: difference to {rows[0]['against']}"
        tip = tips("difference", "low", "high", "seeds", of=("scheduler", "significant"))
        base = altair.Chart(inline(rows)).encode(y=y, color=color, tooltip=tip)
        zero = altair.Chart(inline([{"zero": 0}])).mark_rule(strokeDash=[4, 3], color="grey").encode(x="zero:Q")
        ranges = base.mark_rule(strokeWidth=2).encode(x=altair.X("low:Q", title=title, scale=scale), x2="high:Q")
        full = altair.condition(
            "datum.significant", who.color(rows, legend=False, channel=altair.Fill), altair.value("white")
        )
        points = base.mark_point(filled=True, size=60, strokeWidth=2, opacity=1).encode(
            x=altair.X("difference:Q", title=title, scale=scale),
            fill=full,
            stroke=who.color(rows, legend=False, channel=altair.Stroke),
        )
        return altair.layer(zero, ranges, points).properties(width=width)

    if all(row["low"] is None for row in rows):
        about = "one seed, so there are no intervals"
    else:
        about = "seed by seed, with 95 % intervals; white points: not significant"
    return by_scenario(who.sorted(rows), chart, with_scales(about, of_x))


def _cdf(results: Results, metrics: dict[str, str], who: Drawn) -> altair.TopLevelMixin:
    measured = _measured(results, metrics, who)
    lines = who.lines(measured)
    of_x = scales(measured, metrics, (*dict.fromkeys(metrics.values()),), zero=False)

    def chart(rows: list[Row]) -> Any:
        metric, points = metrics[rows[0]["scenario"]], []
        for name in who.of(rows):
            values = sorted(row[metric] for row in rows if row["scheduler"] == name)
            points.append({"scheduler": name, metric: values[0], "fraction": 0.0})
            points += [
                {"scheduler": name, metric: value, "fraction": (i + 1) / len(values)} for i, value in enumerate(values)
            ]
        return (
            altair.Chart(inline(points))
            .mark_line(interpolate="step-after")
            .encode(
                x=altair.X(f"{metric}:Q", title=titled(metric), scale=of_x[rows[0]["scenario"]]),
                y=altair.Y("fraction:Q", title="fraction of the seeds", axis=altair.Axis(format="%")),
                order="fraction:Q",
                tooltip=tips(metric, "fraction"),
                **lines,
            )
            .properties(width=WIDTH, height=240)
        )

    count = _seeds(measured)
    about = f"the fraction of {count} seeds with at most this value" if count > 1 else "one seed"
    return by_scenario(measured, chart, with_scales(about, of_x))


def _series(results: Results, metric: str | None, seed: int | None, who: Drawn) -> altair.TopLevelMixin:
    seeds = list(dict.fromkeys(results.runs.column("seed")))
    chosen = seeds[0] if seed is None and seeds else whole("seed", seed, ", ".join(map(str, seeds)), 0, 2**64 - 1)
    if chosen not in seeds:
        raise InputError(f"seed = {chosen}: allowed: {', '.join(map(str, seeds))}")
    labels = who.labels
    everything = [row for row in results.series if row["seed"] == chosen]
    quantity = "goodput_mbps" if metric is None else metric
    one_of("metric", quantity, list(dict.fromkeys(row["quantity"] for row in everything)))
    rows = [
        {
            "scenario": row["scenario"],
            "scheduler": labels[row["scenario"], row["scheduler"]],
            "time_s": row["time_s"],
            "value": row["value"],
            "of": " ".join(filter(None, (row["connection"], row["path"] or row["link"]))),
        }
        for row in everything
        if row["quantity"] == quantity and row["value"] is not None and (row["scenario"], row["scheduler"]) in who.keys
    ]

    rows = _with_ends(rows, {name: results._native.step_s(name) or 0.0 for name in results.scenarios})

    lines = who.lines(rows)

    def chart(rows: list[Row]) -> Any:
        places = list(dict.fromkeys(row["of"] for row in rows))
        drawn = (
            altair.Chart(inline(rows))
            .mark_line(interpolate="step-after", strokeWidth=1.5)
            .encode(
                x=altair.X("time_s:Q", title="time, s"),
                y=altair.Y("value:Q", title=titled(quantity)),
                tooltip=tips("time_s", "value"),
                **lines,
            )
        )
        if places == [""]:
            return drawn.properties(width=WIDTH, height=200)
        return drawn.properties(width=WIDTH, height=120).facet(row=panels("of", places))

    return by_scenario(who.sorted(rows), chart, f"seed {chosen}")


def _with_ends(rows: list[Row], steps: dict[str, float]) -> list[Row]:
    """Values over time with one more row at the end of each series, where its last step ends."""
    last = {(row["scenario"], row["scheduler"], row["of"]): row for row in rows}
    return rows + [{**row, "time_s": row["time_s"] + steps[row["scenario"]]} for row in last.values()]


def _shares(results: Results, who: Drawn) -> altair.TopLevelMixin:
    rows = [
        {
            "scenario": row["scenario"],
            "scheduler": who.labels[row["scenario"], row["scheduler"]],
            "path": path,
            "share": share,
            "place": place,
        }
        for row in results.summary
        if (row["scenario"], row["scheduler"]) in who.keys
        for place, (path, share) in enumerate(
            zip(results.path_names(row["scenario"]), row["share_by_path"], strict=False)
        )
    ]
    if not rows:
        raise InputError("kind = shares: no run has delivered anything")
    paths = list(dict.fromkeys(path for scenario in results.scenarios for path in results.path_names(scenario)))
    width = _beside(who.of(rows))
    scale = altair.Scale(domain=paths, range=[PATHS[place % len(PATHS)] for place in range(len(paths))])

    def chart(rows: list[Row]) -> Any:
        return (
            altair.Chart(inline(rows))
            .mark_bar()
            .encode(
                y=altair.Y("scheduler:N", sort=who.of(rows), title=None, axis=altair.Axis(labelLimit=0)),
                x=altair.X(
                    "share:Q",
                    title="share of the sent bytes by path",
                    axis=altair.Axis(format="%"),
                    scale=altair.Scale(domain=[0, 1]),
                ),
                color=altair.Color("path:N", sort=paths, scale=scale, title="path", legend=legend_of(paths)),
                order="place:Q",
                tooltip=["scheduler:N", "path:N", altair.Tooltip("share:Q", format=".1%")],
            )
            .properties(width=width)
        )

    return by_scenario(who.sorted(rows), chart, "mean of the seeds")
