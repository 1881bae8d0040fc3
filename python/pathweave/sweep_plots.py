"""Charts of sweeps, made by Altair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pathweave import _native
from pathweave._altair import altair
from pathweave._arguments import one_of
from pathweave._errors import InputError
from pathweave.plots import WIDTH, Row, by_scenario, inline, interval, tips, titled

if TYPE_CHECKING:
    from pathweave.sweeps import Sweep


def sweep_chart(sweep: Sweep, x: str | None, y: str, kind: str, rows: str | None) -> altair.TopLevelMixin:
    """The chart of `Sweep.plot`."""
    one_of("kind", kind, ("lines", "heatmap", "wins"))
    parameters = [name.removeprefix("at_") for name in sweep.columns if name.startswith("at_")]
    schema = sweep.to_arrow().schema
    numbers = [field.name for field in schema if str(field.type) == "double" and not field.name.startswith("at_")]
    one_of("y", y, numbers)
    if kind == "wins" and _native.better(y) is None:
        better = ", ".join(name for name in numbers if _native.better(name))
        raise InputError(f"y = {y}: neither more nor less of it is better; allowed with kind = wins: {better}")
    varied = [name for name in parameters if len({*sweep.column(f"at_{name}")}) > 1] or parameters
    if not varied:
        raise InputError("x: this plan has no parameters")
    x = one_of("x", varied[0] if x is None else x, parameters)
    others = [name for name in varied if name != x]
    rows = one_of("rows", rows, parameters) if rows is not None else next(iter(others), None)
    keys = [x] if rows is None or rows == x else [x, rows]
    means = _means(sweep, keys, y)
    if not means:
        raise InputError(f"y = {y}: no run has a value")
    made = {"lines": _lines, "heatmap": _heatmap, "wins": _wins}[kind]
    pooled = [name for name in varied if name not in keys]
    return by_scenario(means, lambda part: made(part, keys, y, pooled))


def _label(variant: str, paths: list[str]) -> str:
    """The name of a scheduler in a chart: plain TCP by its path's name."""
    number = variant.removeprefix("tcp-path")
    plain = number != variant and number.isdigit() and int(number) < len(paths)
    return f"plain TCP, {paths[int(number)]}" if plain else variant


def _means(sweep: Sweep, keys: list[str], metric: str) -> list[Row]:
    """The mean and its interval of each scenario, point and scheduler."""
    names = ["scenario", *(f"at_{key}" for key in keys), "variant", metric]
    groups: dict[tuple[Any, ...], list[float]] = {}
    for *group, value in zip(*(sweep.column(name) for name in names), strict=True):
        if value is not None:
            groups.setdefault(tuple(group), []).append(value)
    paths = sweep._plan.path_names()
    found = []
    for (scenario, *point, variant), values in groups.items():
        mean, low, high = interval(values)
        at = dict(zip(keys, point, strict=True))
        found.append(
            {
                "scenario": scenario,
                "scheduler": _label(variant, paths.get(scenario, [])),
                **at,
                "mean": mean,
                "low": low,
                "high": high,
                "runs": len(values),
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


def _axes(keys: list[str]) -> dict[str, Any]:
    x = altair.X(f"{keys[0]}:O", title=titled(keys[0]), axis=altair.Axis(labelAngle=0))
    return (
        {"x": x}
        if len(keys) == 1
        else {"x": x, "y": altair.Y(f"{keys[1]}:O", title=titled(keys[1]), sort="descending")}
    )


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
    return cells.properties(width=WIDTH // 2, height=altair.Step(32)).facet(
        facet=altair.Facet("scheduler:N", title=None), columns=2
    )


def _wins(rows: list[Row], keys: list[str], metric: str, pooled: list[str]) -> Any:
    points: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        points.setdefault(tuple(row[key] for key in keys), []).append(row)
    won = []
    for found in points.values():
        best, *rest = sorted(found, key=lambda row: row["mean"], reverse=_native.better(metric) == "more")
        ahead = abs(best["mean"] - rest[0]["mean"]) / abs(rest[0]["mean"]) if rest and rest[0]["mean"] else 0.0
        won.append({**best, "ahead": ahead, "second": rest[0]["scheduler"] if rest else ""})
    tip = [*tips(of=("scheduler", "second", *keys)), altair.Tooltip("ahead:Q", format=".1%")]
    base = altair.Chart(inline(won)).encode(**_axes(keys), tooltip=tip)
    cells = base.mark_rect(opacity=0.7).encode(
        color=altair.Color("scheduler:N", title=["best", *_mean_of(metric, pooled).split(": ")])
    )
    texts = base.mark_text(color="black").encode(text=altair.Text("ahead:Q", format="+.0%"))
    return altair.layer(cells, texts).properties(width=WIDTH, height=altair.Step(32))
