"""What the seeds of a sweep say at each point: means, differences, and which scheduler is best."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pathweave import _native
from pathweave._arguments import one_of, text
from pathweave._errors import InputError
from pathweave.tables import Columns, Table

if TYPE_CHECKING:
    from pathweave.sweeps import Sweep

Sample = dict[tuple[Any, ...], float | None]
"""The values of a scheduler at a point, by what else tells its runs apart: the seed, and parameters that the point does not have."""


@dataclass(frozen=True)
class Point:
    """All runs at one point of a scenario.

    Attributes:
        scenario: The scenario's name.
        at: The parameters' values, by name.
        samples: The values of each scheduler, in the order of the plan.
    """

    scenario: str
    at: dict[str, Any]
    samples: dict[str, Sample]


def numbers(sweep: Sweep) -> list[str]:
    """The metrics of a sweep."""
    schema = sweep.to_arrow().schema
    return [field.name for field in schema if str(field.type) == "double" and not field.name.startswith("at_")]


def parameters(sweep: Sweep) -> list[str]:
    """The names of a sweep's parameters."""
    return [name.removeprefix("at_") for name in sweep.columns if name.startswith("at_")]


def judged(argument: str, metric: str, names: Iterable[str], of: str) -> bool:
    """Whether more of a metric is better; `InputError` if neither more nor less is."""
    better = _native.better(metric)
    if better is None:
        known = ", ".join(name for name in names if _native.better(name))
        raise InputError(f"{argument} = {metric}: neither more nor less of it is better; allowed with {of}: {known}")
    return better == "more"


def in_sweep(sweep: Sweep, argument: str, name: Any) -> Any:
    """A column's name as it is; `InputError` if only comparisons have the column, such as the parts of the time."""
    if isinstance(name, str) and name not in sweep.columns:
        of_runs = next((one for one in (name, f"time_{name}") if one in _native.run_metrics()), None)
        if of_runs is not None:
            raise InputError(
                f"{argument} = {name}: a sweep does not record this; a comparison at one of the points does: {of_runs} is a column of "
                "pathweave.compare(...).runs"
            )
    return name


def points(sweep: Sweep, keys: list[str], metric: str) -> list[Point]:
    """The runs of a sweep by scenario and by the values of these parameters, in the order of the plan."""
    others = [name for name in parameters(sweep) if name not in keys]
    names = ["scenario", *(f"at_{key}" for key in keys), "variant", *(f"at_{name}" for name in others), "seed", metric]
    found: dict[tuple[Any, ...], Point] = {}
    for row in zip(*(sweep.column(name) for name in names), strict=True):
        scenario, at, variant = row[0], row[1 : 1 + len(keys)], row[1 + len(keys)]
        point = found.setdefault((scenario, *at), Point(scenario, dict(zip(keys, at, strict=True)), {}))
        point.samples.setdefault(variant, {})[row[2 + len(keys) : -1]] = row[-1]
    return list(found.values())


def values(sample: Sample) -> list[float]:
    """The values that there are."""
    return [value for value in sample.values() if value is not None]


def ranked(point: Point, more_is_better: bool) -> list[str]:
    """The schedulers with a value, the best first: most runs with a value, then the best mean."""

    def rank(name: str) -> tuple[int, float]:
        found = values(point.samples[name])
        mean = sum(found) / len(found)
        return -len(found), -mean if more_is_better else mean

    return sorted((name for name, sample in point.samples.items() if values(sample)), key=rank)


def beside(one: Sample, other: Sample) -> dict[str, Any]:
    """The difference of two schedulers' values, run by run."""
    both = [(value, other.get(run)) for run, value in one.items()]
    pairs = [(a, b) for a, b in both if a is not None and b is not None]
    found = _native.difference(pairs)
    mean, low, high, significant, _ = found if found is not None else (None, None, None, None, False)
    return {"seeds": len(pairs), "difference": mean, "low": low, "high": high, "significant": significant}


def summary(sweep: Sweep, metric: str) -> Table:
    """The table of `Sweep.summary`."""

    def rows(point: Point) -> Iterator[dict[str, Any]]:
        for name, sample in point.samples.items():
            found = values(sample)
            mean, low, high = _native.estimate(found) or (None, None, None)
            ends = (low, high) if len(found) > 1 else (None, None)
            yield {"variant": name, "runs": len(found), "mean": mean, "low": ends[0], "high": ends[1]}

    return _table(sweep, metric, rows)


def differences(sweep: Sweep, against: str, metric: str) -> Table:
    """The table of `Sweep.differences`."""
    one_of("against", text("against", against, "a scheduler of this sweep"), [*dict.fromkeys(sweep.column("variant"))])

    def rows(point: Point) -> Iterator[dict[str, Any]]:
        for name, sample in point.samples.items():
            if name != against:
                yield {"variant": name, "against": against, **beside(sample, point.samples.get(against, {}))}

    return _table(sweep, metric, rows)


def best(sweep: Sweep, metric: str, plain_tcp: bool) -> Table:
    """The table of `Sweep.best`."""
    left_out = set() if plain_tcp else {*sweep._plan.plain_tcp}
    more = judged("metric", one_of("metric", in_sweep(sweep, "metric", metric), numbers(sweep)), numbers(sweep), "best")

    def rows(point: Point) -> Iterator[dict[str, Any]]:
        samples = {name: sample for name, sample in point.samples.items() if name not in left_out}
        won = winner(replace(point, samples=samples), more)
        if won is not None:
            yield won

    return _table(sweep, metric, rows)


def winner(point: Point, more_is_better: bool) -> dict[str, Any] | None:
    """The best scheduler of a point beside the second one; ``None`` if no scheduler has a value."""
    names = ranked(point, more_is_better)
    if not names:
        return None
    samples = point.samples
    first, second = names[0], names[1] if len(names) > 1 else None
    to_others = {name: beside(samples[first], samples[name]) for name in names[1:]}
    own = values(samples[first])
    return {
        "best": first,
        "mean": sum(own) / len(own),
        "second": second,
        **(to_others[second] if second is not None else beside({}, {})),
        "level_with": ", ".join(name for name, found in to_others.items() if found["significant"] is False),
    }


def _table(sweep: Sweep, metric: str, rows: Callable[[Point], Iterator[dict[str, Any]]]) -> Table:
    """A table with the rows of each point, which begin with the point."""
    one_of("metric", in_sweep(sweep, "metric", metric), numbers(sweep))
    found = [
        {
            "scenario": point.scenario,
            **{f"at_{name}": value for name, value in point.at.items()},
            "metric": metric,
            **row,
        }
        for point in points(sweep, parameters(sweep), metric)
        for row in rows(point)
    ]
    names = list(found[0]) if found else ["scenario", "metric"]
    return Table(Columns({name: [row[name] for row in found] for name in names}))
