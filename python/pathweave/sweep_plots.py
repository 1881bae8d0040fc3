"""Charts of sweeps, made by Altair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair

from pathweave._arguments import one_of
from pathweave._errors import InputError
from pathweave.plots import WIDTH, Row, by_scenario, inline, interval, tips, titled

if TYPE_CHECKING:
    from pathweave.sweeps import Sweep


def more_is_better(metric: str) -> bool:
    """Whether a larger value is better: of rates, benefits and fairness, and of nothing else."""
    return metric.endswith(("mbps", "benefit", "fairness"))


def sweep_chart(sweep: Sweep, x: str | None, y: str, kind: str, rows: str | None) -> altair.TopLevelMixin:
    """The chart of `Sweep.plot`."""
    one_of("kind", kind, ("lines", "heatmap", "wins"))
    parameters = [name.removeprefix("at_") for name in sweep.columns if name.startswith("at_")]
    schema = sweep.to_arrow().schema
    numbers = [field.name for field in schema if str(field.type) == "double" and not field.name.startswith("at_")]
    one_of("y", y, numbers)
    varied = [name for name in parameters if len({*sweep.column(f"at_{name}")}) > 1] or parameters
    if not varied:
        raise InputError("x: this plan has no parameters")
    x = one_of("x", varied[0] if x is None else x, parameters)
    others = [name for name in varied if name != x]
    rows = one_of("rows", rows, parameters) if rows is not None else next(iter(others), None)
    keys = [x] if kind == "lines" or rows is None else [x, rows]
    means = _means(sweep, keys, y)
    if not means:
        raise InputError(f"y = {y}: no run has a value")
    made = {"lines": _lines, "heatmap": _heatmap, "wins": _wins}[kind]
    return by_scenario(means, lambda part: made(part, keys, y))


def _means(sweep: Sweep, keys: list[str], metric: str) -> list[Row]:
    """The mean and its interval of each scenario, point and scheduler."""
    names = ["scenario", *(f"at_{key}" for key in keys), "variant", metric]
    groups: dict[tuple[Any, ...], list[float]] = {}
    for *group, value in zip(*(sweep.column(name) for name in names), strict=True):
        if value is not None:
            groups.setdefault(tuple(group), []).append(value)
    numeric = [all(_number(group[1 + i]) is not None for group in groups) for i in range(len(keys))]
    found = []
    for (scenario, *point, variant), values in groups.items():
        mean, low, high = interval(values)
        at = {
            key: _number(value) if numeric[i] else str(value)
            for i, (key, value) in enumerate(zip(keys, point, strict=True))
        }
        found.append(
            {
                "scenario": scenario,
                "scheduler": variant,
                **at,
                "mean": mean,
                "low": low,
                "high": high,
                "runs": len(values),
            }
        )
    return sorted(found, key=lambda row: tuple(row[key] for key in keys))


def _number(value: object) -> float | None:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def _lines(rows: list[Row], keys: list[str], metric: str) -> Any:
    kind = "Q" if isinstance(rows[0][keys[0]], float) else "N"
    base = altair.Chart(inline(rows)).encode(
        x=altair.X(f"{keys[0]}:{kind}", title=titled(keys[0]), sort=None),
        color=altair.Color("scheduler:N", title=None),
        tooltip=tips("mean", "low", "high", "runs", of=("scheduler", keys[0])),
    )
    title = f"{titled(metric)}: mean, 95 % interval"
    ranges = base.mark_rule(opacity=0.6).encode(y=altair.Y("low:Q", title=title), y2="high:Q")
    lines = base.mark_line(point=True).encode(y=altair.Y("mean:Q", title=title))
    return altair.layer(ranges, lines).properties(width=WIDTH, height=280)


def _axes(keys: list[str]) -> dict[str, Any]:
    x = altair.X(f"{keys[0]}:O", title=titled(keys[0]))
    return (
        {"x": x}
        if len(keys) == 1
        else {"x": x, "y": altair.Y(f"{keys[1]}:O", title=titled(keys[1]), sort="descending")}
    )


def _heatmap(rows: list[Row], keys: list[str], metric: str) -> Any:
    tip = tips("mean", "runs", of=("scheduler", *keys))
    cells = (
        altair.Chart(inline(rows))
        .mark_rect()
        .encode(
            **_axes(keys),
            color=altair.Color("mean:Q", title=titled(metric), scale=altair.Scale(scheme="viridis")),
            tooltip=tip,
        )
    )
    return cells.properties(width=WIDTH // 2).facet(facet=altair.Facet("scheduler:N", title=None), columns=2)


def _wins(rows: list[Row], keys: list[str], metric: str) -> Any:
    points: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        points.setdefault(tuple(row[key] for key in keys), []).append(row)
    won = []
    for found in points.values():
        best, *rest = sorted(found, key=lambda row: row["mean"], reverse=more_is_better(metric))
        ahead = abs(best["mean"] - rest[0]["mean"]) / abs(rest[0]["mean"]) if rest and rest[0]["mean"] else 0.0
        won.append({**best, "ahead": ahead, "second": rest[0]["scheduler"] if rest else ""})
    tip = [*tips(of=("scheduler", "second", *keys)), altair.Tooltip("ahead:Q", format=".1%")]
    base = altair.Chart(inline(won)).encode(**_axes(keys), tooltip=tip)
    cells = base.mark_rect(opacity=0.7).encode(color=altair.Color("scheduler:N", title=f"best {titled(metric)}"))
    texts = base.mark_text(color="black").encode(text=altair.Text("ahead:Q", format="+.0%"))
    return altair.layer(cells, texts).properties(width=WIDTH)
