"""Charts of sweeps, made by Altair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pathweave._altair import altair
from pathweave._arguments import one_of
from pathweave._errors import InputError
from pathweave.plots import WIDTH, Row, by_scenario, inline, interval, tips, titled
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
    made = {"lines": _lines, "heatmap": _heatmap, "wins": _wins}[kind]
    return by_scenario(found, lambda part: made(part, keys, y, pooled))


def _label(variant: str, paths: list[str]) -> str:
    """The name of a scheduler in a chart: plain TCP by its path's name."""
    number = variant.removeprefix("tcp-path")
    plain = number != variant and number.isdigit() and int(number) < len(paths)
    return f"plain TCP, {paths[int(number)]}" if plain else variant


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


def _mean_of(metric: str, pooled: list[str]) -> str:
    """What a mean is taken over: the seeds, and every value of the parameters that the chart does not show."""
    names = " and ".join(titled(name).split(", ")[0] for name in pooled)
    return f"{titled(metric)}: mean" + (f" over every {names}" if pooled else "")


def _lines(rows: list[Row], keys: list[str], metric: str, pooled: list[str]) -> Any:
    numeric = isinstance(rows[0][keys[0]], int | float) and not isinstance(rows[0][keys[0]], bool)
    kind = "Q" if numeric else "N"
    base = altair.Chart(inline(rows)).encode(
        x=altair.X(f"{keys[0]}:{kind}", title=titled(keys[0]), sort=None),
        color=altair.Color("scheduler:N", title=None),
        tooltip=tips("mean", "low", "high", "runs", of=("scheduler", *keys)),
    )
    # Runs with other parameters are not a sample of one distribution, so their mean has no interval.
    title = (_mean_of(metric, pooled) + ("" if pooled else ", 95 % interval")).split(": ")
    layers = [base.mark_line(point=True).encode(y=altair.Y("mean:Q", title=title))]
    if not pooled:
        ranges = base.mark_area(opacity=0.15) if numeric else base.mark_rule(opacity=0.6)
        layers.insert(0, ranges.encode(y=altair.Y("low:Q", title=title), y2="high:Q"))
    lines = altair.layer(*layers).properties(width=WIDTH, height=240 if len(keys) == 1 else 160)
    if len(keys) == 1:
        return lines
    values = sorted({row[keys[1]] for row in rows})
    return lines.facet(row=altair.Row(f"{keys[1]}:O", sort=values, title=titled(keys[1])))


CELL = 32
"""Height of a row of cells, in pixels."""


def _axes(keys: list[str]) -> dict[str, Any]:
    x = altair.X(f"{keys[0]}:O", title=titled(keys[0]), axis=altair.Axis(labelAngle=0))
    return (
        {"x": x}
        if len(keys) == 1
        else {"x": x, "y": altair.Y(f"{keys[1]}:O", title=titled(keys[1]), sort="descending")}
    )


def _height(keys: list[str]) -> Any:
    """The height of cells: one row, or as many as the second parameter has values. Vega has a step only along an axis."""
    return CELL if len(keys) == 1 else altair.Step(CELL)


def _heatmap(rows: list[Row], keys: list[str], metric: str, pooled: list[str]) -> Any:
    tip = tips("mean", "runs", of=("scheduler", *keys))
    cells = (
        altair.Chart(inline(rows))
        .mark_rect()
        .encode(
            **_axes(keys),
            color=altair.Color(
                "mean:Q", title=_mean_of(metric, pooled).split(": "), scale=altair.Scale(scheme="viridis")
            ),
            tooltip=tip,
        )
    )
    return cells.properties(width=WIDTH // 2, height=_height(keys)).facet(
        facet=altair.Facet("scheduler:N", title=None), columns=2
    )


def _wins(rows: list[Row], keys: list[str], metric: str, pooled: list[str]) -> Any:
    tip = [*tips(of=("scheduler", "second", "significant", *keys)), altair.Tooltip("ahead:Q", format=".1%")]
    base = altair.Chart(inline(rows)).encode(**_axes(keys), tooltip=tip)
    unknown = all(row["significant"] == "unknown" for row in rows)
    mark = [] if pooled else ["~: significance unknown" if unknown else "~: lead not significant"]
    cells = base.mark_rect().encode(
        color=altair.Color("scheduler:N", title=["best", *_mean_of(metric, pooled).split(": "), *mark]),
        opacity=altair.Opacity("strength:Q", scale=None, legend=None),
    )
    texts = base.mark_text(color="black").encode(text="shown:N")
    return altair.layer(cells, texts).properties(width=WIDTH, height=_height(keys))
