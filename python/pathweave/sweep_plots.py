"""Charts of sweeps, made by Altair."""

from __future__ import annotations

from itertools import pairwise
from math import exp, log
from typing import TYPE_CHECKING, Any

from pathweave._altair import altair
from pathweave._arguments import one_of
from pathweave._errors import InputError
from pathweave._looks import WIDTH, Looks
from pathweave.plots import (
    Row,
    by_scenario,
    inline,
    interval,
    label_of,
    panels,
    scales,
    tips,
    titled,
    with_scales,
)
from pathweave.sweep_tables import judged, numbers, parameters, points, values, winner

if TYPE_CHECKING:
    from pathweave.sweeps import Sweep


def sweep_chart(sweep: Sweep, x: str | None, y: str, kind: str, rows: str | None) -> altair.TopLevelMixin:
    """The chart of `Sweep.plot`."""
    one_of("kind", kind, ("lines", "heatmap", "wins"))
    metrics, names = numbers(sweep), parameters(sweep)
    one_of("y", y, metrics)
    more_is_better = kind == "wins" and judged("y", y, metrics, "kind = wins")
    varied = [name for name in names if len({*sweep.column(f"at_{name}")}) > 1] or names
    if not varied:
        raise InputError("x: this plan has no parameters")
    x = one_of("x", varied[0] if x is None else x, names)
    others = [name for name in varied if name != x]
    rows = one_of("rows", rows, names) if rows is not None else next(iter(others), None)
    keys = [x] if rows is None or rows == x else [x, rows]
    pooled = [name for name in varied if name not in keys]
    found = _wins_of(sweep, keys, y, more_is_better, pooled) if kind == "wins" else _means(sweep, keys, y)
    if not found:
        raise InputError(f"y = {y}: no run has a value")
    who = looks(sweep)
    if kind == "heatmap":
        chart = by_scenario(found, lambda part: _heatmap(part, keys, y, who), f"{titled(y)}: {_mean_over(pooled)}")
        return chart.resolve_scale(color="independent") if isinstance(chart, altair.VConcatChart) else chart
    if kind == "wins":
        color = who.color(found, title="best")
        return by_scenario(found, lambda part: _wins(part, keys, color), _about_wins(found, y, pooled))
    encoded = who.lines(found)
    ends = ("mean",) if pooled else ("mean", "low", "high")
    of_y = scales(found, dict.fromkeys((row["scenario"] for row in found), y), ends)

    def lines(part: list[Row]) -> Any:
        return _lines(part, keys, y, of_y[part[0]["scenario"]], who, encoded, not pooled)

    return by_scenario(found, lines, with_scales(_about_lines(found, pooled), of_y))


def _label(variant: str, paths: list[str]) -> str:
    """The name of a scheduler in a chart: plain TCP by its path's name."""
    number = variant.removeprefix("tcp-path")
    plain = number != variant and number.isdigit() and int(number) < len(paths)
    return label_of(variant, paths[int(number)] if plain else None)


def looks(sweep: Sweep) -> Looks:
    """The schedulers in the order of the plan."""
    variants, paths = list(dict.fromkeys(sweep.column("variant"))), sweep._plan.path_names()
    scenarios = dict.fromkeys(sweep.column("scenario"))
    names = {_label(variant, paths.get(scenario, [])): variant for variant in variants for scenario in scenarios}
    return Looks(variants, names, names)


def _means(sweep: Sweep, keys: list[str], metric: str) -> list[Row]:
    """The mean and its interval of each scenario, point and scheduler."""
    paths = sweep._plan.path_names()
    found = []
    for point in points(sweep, keys, metric):
        for variant, sample in point.samples.items():
            if own := values(sample):
                mean, low, high = interval(own)
                label = _label(variant, paths.get(point.scenario, []))
                about = {"mean": mean, "low": low, "high": high, "runs": len(own)}
                found.append({"scenario": point.scenario, "scheduler": label, **point.at, **about})
    return sorted(found, key=lambda row: tuple(row[key] for key in keys))


def _wins_of(sweep: Sweep, keys: list[str], metric: str, more_is_better: bool, pooled: list[str]) -> list[Row]:
    """The best scheduler of each scenario and point, and its lead."""
    paths = sweep._plan.path_names()
    found = []
    for point in points(sweep, keys, metric):
        won = winner(point, more_is_better)
        if won is None:
            continue
        best, second, named = won["best"], won["second"], paths.get(point.scenario, [])
        own, other = (values(point.samples[name]) if name is not None else [] for name in (best, second))
        base = abs(sum(other) / len(other)) if other else 0.0
        # Runs with other parameters are not a sample of one distribution.
        significant = None if pooled else won["significant"]
        unclear = second is not None and not pooled and significant is not True
        ahead = abs(won["mean"] - sum(other) / len(other)) / base if base else None
        found.append(
            {
                "scenario": point.scenario,
                "scheduler": _label(best, named),
                **point.at,
                "mean": won["mean"],
                "runs": len(own),
                "second": _label(second, named) if second is not None else "",
                "ahead": ahead,
                "significant": {None: "unknown", True: "yes", False: "no"}[significant],
                "shown": ("" if ahead is None else f"+{ahead:.0%}") + (" ~" if unclear else ""),
                "strength": 0.25 if unclear else 0.75,
            }
        )
    return sorted(found, key=lambda row: tuple(row[key] for key in keys))


def _mean_over(pooled: list[str]) -> str:
    """What a mean is taken over: the seeds, and every value of the parameters that the chart does not show."""
    names = " and ".join(titled(name).split(", ")[0] for name in pooled)
    return f"mean over every {names}" if pooled else "mean of the seeds"


def _about_lines(rows: list[Row], pooled: list[str]) -> str:
    # Runs with other parameters are not a sample of one distribution, so their mean has no interval.
    if pooled:
        return _mean_over(pooled)
    most = max(row["runs"] for row in rows)
    return f"mean of {most} seeds and its 95 % interval" if most > 1 else "one seed"


def _about_wins(rows: list[Row], metric: str, pooled: list[str]) -> list[str]:
    unknown = all(row["significant"] == "unknown" for row in rows)
    mark = "" if pooled else f"; pale, ~: {'significance unknown' if unknown else 'not significant'}"
    return [f"{titled(metric)}: {_mean_over(pooled)}", f"in percent: lead over the second{mark}"]


def _lines(
    rows: list[Row],
    keys: list[str],
    metric: str,
    scale: altair.Scale,
    who: Looks,
    encoded: dict[str, Any],
    intervals: bool,
) -> Any:
    x = keys[0]
    numeric = isinstance(rows[0][x], int | float) and not isinstance(rows[0][x], bool)
    tip = tips("mean", "low", "high", "runs", of=("scheduler", *keys))
    if len(keys) == 2:
        rows = [{**row, "panel": f"{titled(keys[1])}: {_shown(row[keys[1]])}"} for row in rows]
    place: dict[str, Any]
    if numeric:
        values = sorted({row[x] for row in rows})
        logarithmic = _is_wide(values)
        rows = _apart(rows, x, who, logarithmic)
        # Vega leaves out most labels of a logarithmic axis, unless it is told each.
        labels: dict[str, Any] = {"labelExpr": "format(datum.value, ',.12~r')"} if logarithmic else {}
        axis = altair.Axis(values=values, labelOverlap="greedy", **labels)
        wide = altair.Scale(type="log" if logarithmic else "linear", zero=False, nice=False, padding=8)
        title = f"{titled(x)} (logarithmic)" if logarithmic else titled(x)
        place = {"x": altair.X("place:Q", title=title, axis=axis, scale=wide)}
    else:
        place = {"x": altair.X(f"{x}:N", title=titled(x), sort=None, axis=altair.Axis(labelAngle=0))}
        place["xOffset"] = altair.XOffset("scheduler:N", sort=who.order)
    base = altair.Chart(inline(rows)).encode(tooltip=tip, **place, **encoded)
    y: dict[str, Any] = {"title": titled(metric), "scale": scale}
    layers: list[Any] = [base.mark_line(point=True).encode(y=altair.Y("mean:Q", **y))]
    if intervals:
        whole = altair.value([1, 0])
        ranges = base.mark_rule(opacity=0.6, strokeWidth=1.5, clip=True).encode(y=altair.Y("low:Q", **y), y2="high:Q")
        layers.insert(0, ranges.encode(strokeDash=whole))
    lines = altair.layer(*layers).properties(width=WIDTH, height=240 if len(keys) == 1 else 160)
    if len(keys) == 1:
        return lines
    return lines.facet(
        row=panels("panel", list(dict.fromkeys(row["panel"] for row in sorted(rows, key=lambda row: row[keys[1]]))))
    )


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


WIDE = 8
"""From this ratio of the largest to the smallest value, an axis is logarithmic, so that small values are not squeezed together."""


def _is_wide(values: list[float]) -> bool:
    return values[0] > 0 and values[-1] >= WIDE * values[0]


def _apart(rows: list[Row], x: str, who: Looks, logarithmic: bool) -> list[Row]:
    """Rows with a `place` on the x axis: schedulers stand beside each other, so that no interval hides another."""
    to, back = (log, exp) if logarithmic else (float, float)
    values, names = sorted({to(row[x]) for row in rows}), who.of(rows)
    gaps = [b - a for a, b in pairwise(values)]
    step = min(0.008 * (values[-1] - values[0]), 0.6 * min(gaps, default=0) / len(names))
    shift = {name: step * (i - (len(names) - 1) / 2) for i, name in enumerate(names)}
    return [{**row, "place": back(to(row[x]) + shift[row["scheduler"]])} for row in rows]


CELL = 32
"""Height of a row of cells, in pixels."""
LETTER = 6
"""Width of a letter in a cell, in pixels."""


def _axes(keys: list[str]) -> dict[str, Any]:
    x = altair.X(f"{keys[0]}:O", title=titled(keys[0]), axis=altair.Axis(labelAngle=0, labelOverlap="greedy"))
    return (
        {"x": x}
        if len(keys) == 1
        else {"x": x, "y": altair.Y(f"{keys[1]}:O", title=titled(keys[1]), sort="descending")}
    )


def _height(keys: list[str]) -> Any:
    """The height of cells: one row, or as many as the second parameter has values. Vega has a step only along an axis."""
    return CELL if len(keys) == 1 else altair.Step(CELL)


def _fits(texts: list[str], width: float) -> bool:
    """Whether a cell is wide enough for each of these texts."""
    return LETTER * max(map(len, texts)) + 4 <= width


def _cut(name: str, width: float) -> str:
    """A name as far as a cell is wide enough for it; nothing if that says too little."""
    room = int((width - 4) // LETTER)
    # What tells one plain TCP from another is the path.
    name = name if len(name) <= room else name.removeprefix("plain ")
    return name if len(name) <= room else f"{name[: room - 1]}…" if room >= 4 else ""


def _number(value: float) -> str:
    size = abs(value)
    return (
        f"{value:.0f}"
        if size >= 99.95
        else f"{value:.1f}"
        if size >= 9.995
        else f"{value:.2g}"
        if size < 0.1
        else f"{value:.2f}"
    )


def _heatmap(rows: list[Row], keys: list[str], metric: str, who: Looks) -> Any:
    rows = [{**row, "shown": _number(row["mean"])} for row in rows]
    columns = len({row[keys[0]] for row in rows})
    shown = [row["shown"] for row in rows]
    panel = {"columns": 2, "width": WIDTH // 2}
    if not _fits(shown, WIDTH / 2 / columns) and _fits(shown, WIDTH / columns):
        panel = {"columns": 1, "width": WIDTH}
    base = altair.Chart().encode(**_axes(keys), tooltip=tips("mean", "runs", of=("scheduler", *keys)))
    means = [row["mean"] for row in rows]
    low, high = min(means), max(means)
    scale = altair.Scale(scheme="viridis", domain=[low, high])
    layers = [
        base.mark_rect().encode(
            color=altair.Color("mean:Q", title=titled(metric), scale=scale, legend=altair.Legend(orient="bottom"))
        )
    ]
    if _fits(shown, panel["width"] / columns):
        # At this place of the colours, black and white have the same contrast.
        pale = f"datum.mean >= {low + 0.43 * (high - low)}"
        ink = altair.condition(pale, altair.value("black"), altair.value("white"))
        layers.append(base.mark_text().encode(text="shown:N", color=ink))
    cells = altair.layer(*layers, data=inline(rows)).properties(width=panel["width"], height=_height(keys))
    return cells.facet(facet=altair.Facet("scheduler:N", title=None, sort=who.of(rows)), columns=panel["columns"])


def _wins(rows: list[Row], keys: list[str], color: altair.Color) -> Any:
    width = WIDTH / len({row[keys[0]] for row in rows})
    rows = [
        {**row, "words": "\n".join(t for t in (_cut(row["scheduler"], width), row["shown"]) if t and _fits([t], width))}
        for row in rows
    ]
    tip = [*tips(of=("scheduler", "second", "significant", *keys)), altair.Tooltip("ahead:Q", format=".1%")]
    base = altair.Chart(inline(rows)).encode(**_axes(keys), tooltip=tip)
    # Pale colours are mixed with white on dark ground too, so that black letters can be read.
    ground = base.mark_rect(color="white")
    cells = base.mark_rect().encode(color=color, opacity=altair.Opacity("strength:Q", scale=None, legend=None))
    # Two lines are centred as one is.
    up = altair.ExprRef("indexof(datum.words, '\\n') < 0 ? 0 : -6.5")
    letters = base.mark_text(color="black", lineBreak="\n", lineHeight=13, baseline="middle", dy=up).encode(
        text="words:N"
    )
    return altair.layer(ground, cells, letters).properties(width=WIDTH, height=_height(keys))
