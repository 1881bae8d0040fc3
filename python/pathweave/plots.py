"""Charts of comparisons and sweeps, made by Altair."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from pathweave import _native
from pathweave._altair import altair
from pathweave._arguments import one_of, text, whole
from pathweave._errors import InputError

if TYPE_CHECKING:
    from pathweave.results import Results

WIDTH = 480
"""Width of a chart's axes, in pixels: it fits a notebook, half a wide screen and a printed page."""

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
    results: Results, metric: str | None, kind: str, against: str | None, seed: int | None
) -> altair.TopLevelMixin:
    """The chart of `Results.plot`."""
    one_of("kind", kind, ("ranking", "paired", "cdf", "series", "shares"))
    if kind == "shares":
        return _shares(results)
    if kind == "series":
        return _series(results, metric, seed)
    if metric is not None:
        allowed = numbers_of(results.runs, results.runs.columns)
        of_series = [] if metric in allowed else {*results.series["quantity"]} - {*allowed}
        for quantity in (name for name in of_series if metric in (name, name.rpartition("_")[0])):
            raise InputError(f'metric = {metric}: this is a series over time: plot("{quantity}", kind="series")')
        one_of("metric", metric, allowed)
    metrics = {name: metric or by for name, by in _ranked_by(results).items()}
    if kind == "paired":
        return _paired(results, metrics, against)
    return _ranking(results, metrics) if kind == "ranking" else _cdf(results, metrics)


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


def _labels(results: Results) -> dict[tuple[str, str], str]:
    """How a scheduler is called in charts: plain TCP by its path's name."""
    return {
        (row["scenario"], row["scheduler"]): f"plain TCP, {row['plain_tcp']}" if row["plain_tcp"] else row["scheduler"]
        for row in results.summary
    }


def _measured(results: Results, metrics: dict[str, str]) -> list[Row]:
    """The runs that have the metric of their scenario, the best schedulers first."""
    labels = _labels(results)
    order = list(labels)
    found = [
        {
            "scenario": row["scenario"],
            "scheduler": labels[key],
            "seed": row["seed"],
            metric: row[metric],
            "place": order.index(key),
        }
        for row in results.runs
        if row["status"] != "failed"
        and (key := (row["scenario"], row["scheduler"])) in labels
        and row[metric := metrics[row["scenario"]]] is not None
    ]
    if not found:
        raise InputError(f"metric = {', '.join({*metrics.values()})}: no run has a value")
    return sorted(found, key=lambda row: row["place"])


def by_scenario(rows: list[Row], chart: Callable[[list[Row]], Any]) -> altair.TopLevelMixin:
    """A chart for each scenario, one below the other."""
    names = list(dict.fromkeys(row["scenario"] for row in rows))
    charts = [chart([row for row in rows if row["scenario"] == name]).properties(title=name) for name in names]
    made: altair.TopLevelMixin = charts[0] if len(charts) == 1 else altair.vconcat(*charts)
    return made


def inline(rows: list[Row]) -> altair.InlineData:
    """Rows as the data of a chart, which has them inside."""
    return altair.InlineData(values=rows)


def tips(*columns: str, of: tuple[str, ...] = ("scheduler",)) -> list[altair.Tooltip]:
    """What is shown beside the pointer: names as they are, numbers with four digits."""
    return [altair.Tooltip(f"{name}:N") for name in of] + [
        altair.Tooltip(f"{name}:Q", format=".4g") for name in columns
    ]


def _order(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(row["scheduler"] for row in rows))


def _ranking(results: Results, metrics: dict[str, str]) -> altair.TopLevelMixin:
    def chart(rows: list[Row]) -> Any:
        metric, means = metrics[rows[0]["scenario"]], []
        for name in _order(rows):
            mean, low, high = interval([row[metric] for row in rows if row["scheduler"] == name])
            means.append({"scheduler": name, "mean": mean, "low": low, "high": high})
        y = altair.Y("scheduler:N", sort=_order(rows), title=None)
        title = f"{titled(metric)}: mean, 95 % interval, seeds"
        tip = tips("mean", "low", "high")
        ranges = (
            altair.Chart(inline(means))
            .mark_rule(strokeWidth=2)
            .encode(y=y, x=altair.X("low:Q", title=title), x2="high:Q", tooltip=tip)
        )
        seeds = (
            altair.Chart(inline(rows))
            .mark_point(opacity=0.5)
            .encode(y=y, x=altair.X(f"{metric}:Q", title=title), tooltip=["scheduler:N", "seed:Q", f"{metric}:Q"])
        )
        ticks = altair.Chart(inline(means)).mark_tick(thickness=3, size=16).encode(y=y, x="mean:Q", tooltip=tip)
        return altair.layer(ranges, seeds, ticks).properties(width=WIDTH)

    return by_scenario(_measured(results, metrics), chart)


def _paired(results: Results, metrics: dict[str, str], against: str | None) -> altair.TopLevelMixin:
    references = {row["scenario"]: row["reference"] for row in results.summary if row["reference"]}
    if against is not None:
        references = dict.fromkeys(metrics, text("against", against, "a scheduler of these results"))
    if not references:
        raise InputError("against: no row to compare with; name a scheduler")
    labels = _labels(results)
    rows = [
        {**row, "scheduler": labels[key], "against": labels.get((scenario, reference), reference)}
        for scenario, reference in references.items()
        for row in results.differences(reference, metrics[scenario])
        if row["scenario"] == scenario
        and row["difference"] is not None
        and (key := (scenario, row["scheduler"])) in labels
    ]
    if not rows:
        compared = ", ".join(dict.fromkeys(references.values()))
        raise InputError(f"against = {compared}: no other scheduler has a value with the same seed")

    def chart(rows: list[Row]) -> Any:
        y = altair.Y("scheduler:N", sort=altair.EncodingSortField("difference", order="descending"), title=None)
        title = f"{titled(rows[0]['metric'])}: difference to {rows[0]['against']}, seed by seed, 95 % interval"
        tip = tips("difference", "low", "high", "seeds", of=("scheduler", "significant"))
        base = altair.Chart(inline(rows)).encode(y=y, tooltip=tip)
        zero = altair.Chart(inline([{"zero": 0}])).mark_rule(strokeDash=[4, 3], color="grey").encode(x="zero:Q")
        ranges = base.mark_rule(strokeWidth=2).encode(x=altair.X("low:Q", title=title), x2="high:Q")
        points = base.mark_point(filled=True, size=60).encode(x=altair.X("difference:Q", title=title))
        return altair.layer(zero, ranges, points).properties(width=WIDTH)

    return by_scenario(rows, chart)


def _cdf(results: Results, metrics: dict[str, str]) -> altair.TopLevelMixin:
    def chart(rows: list[Row]) -> Any:
        metric, points = metrics[rows[0]["scenario"]], []
        for name in _order(rows):
            values = sorted(row[metric] for row in rows if row["scheduler"] == name)
            points.append({"scheduler": name, metric: values[0], "fraction": 0.0})
            points += [
                {"scheduler": name, metric: value, "fraction": (i + 1) / len(values)} for i, value in enumerate(values)
            ]
        return (
            altair.Chart(inline(points))
            .mark_line(interpolate="step-after")
            .encode(
                x=altair.X(f"{metric}:Q", title=titled(metric), scale=altair.Scale(zero=False)),
                y=altair.Y("fraction:Q", title="fraction of the seeds", axis=altair.Axis(format="%")),
                color=altair.Color("scheduler:N", sort=_order(rows), title=None),
                order="fraction:Q",
            )
            .properties(width=WIDTH, height=240)
        )

    return by_scenario(_measured(results, metrics), chart)


def _series(results: Results, metric: str | None, seed: int | None = None) -> altair.TopLevelMixin:
    seeds = list(dict.fromkeys(results.runs.column("seed")))
    chosen = seeds[0] if seed is None and seeds else whole("seed", seed, ", ".join(map(str, seeds)), 0, 2**64 - 1)
    if chosen not in seeds:
        raise InputError(f"seed = {chosen}: allowed: {', '.join(map(str, seeds))}")
    labels = _labels(results)
    everything = [row for row in results.series if row["seed"] == chosen]
    quantity = "goodput_mbps" if metric is None else metric
    one_of("metric", quantity, list(dict.fromkeys(row["quantity"] for row in everything)))
    rows = [
        {
            "scenario": row["scenario"],
            "scheduler": labels.get((row["scenario"], row["scheduler"]), row["scheduler"]),
            "time_s": row["time_s"],
            "value": row["value"],
            "of": " ".join(filter(None, (row["connection"], row["path"] or row["link"]))),
        }
        for row in everything
        if row["quantity"] == quantity and row["value"] is not None
    ]

    rows = _with_ends(rows, {name: results._native.step_s(name) or 0.0 for name in results.scenarios})

    def chart(rows: list[Row]) -> Any:
        places = list(dict.fromkeys(row["of"] for row in rows))
        lines = (
            altair.Chart(inline(rows))
            .mark_line(interpolate="step-after")
            .encode(
                x=altair.X("time_s:Q", title=f"time, s (seed {chosen})"),
                y=altair.Y("value:Q", title=titled(quantity)),
                color=altair.Color("scheduler:N", sort=list(labels.values()), title=None),
            )
        )
        if places == [""]:
            return lines.properties(width=WIDTH, height=200)
        return lines.properties(width=WIDTH, height=120).facet(row=altair.Row("of:N", sort=places, title=None))

    return by_scenario(rows, chart)


def _with_ends(rows: list[Row], steps: dict[str, float]) -> list[Row]:
    """Values over time with one more row at the end of each series, where its last step ends."""
    last = {(row["scenario"], row["scheduler"], row["of"]): row for row in rows}
    return rows + [{**row, "time_s": row["time_s"] + steps[row["scenario"]]} for row in last.values()]


def _shares(results: Results) -> altair.TopLevelMixin:
    labels = _labels(results)
    rows = [
        {
            "scenario": row["scenario"],
            "scheduler": labels[row["scenario"], row["scheduler"]],
            "path": path,
            "share": share,
            "place": place,
        }
        for row in results.summary
        for place, (path, share) in enumerate(
            zip(results.path_names(row["scenario"]), row["share_by_path"], strict=False)
        )
    ]
    if not rows:
        raise InputError("kind = shares: no run has delivered anything")

    def chart(rows: list[Row]) -> Any:
        paths = list(dict.fromkeys(row["path"] for row in rows))
        return (
            altair.Chart(inline(rows))
            .mark_bar()
            .encode(
                y=altair.Y("scheduler:N", sort=_order(rows), title=None),
                x=altair.X(
                    "share:Q",
                    title="share of the sent bytes by path",
                    axis=altair.Axis(format="%"),
                    scale=altair.Scale(domain=[0, 1]),
                ),
                color=altair.Color("path:N", sort=paths, title="path"),
                order="place:Q",
                tooltip=["scheduler:N", "path:N", altair.Tooltip("share:Q", format=".1%")],
            )
            .properties(width=WIDTH)
        )

    return by_scenario(rows, chart)
