"""Comparisons: schedulers on scenarios."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypedDict

from pathweave import _native
from pathweave import schedulers as _schedulers
from pathweave._errors import InputError, Interrupted, hint
from pathweave._progress import bar
from pathweave.results import Results
from pathweave.scenario import Scenario, Setting

AnyScenario = Scenario | str | Path
"""A scenario, the name of a built-in one, or a file."""

DEFAULT_SEEDS = 5


def compare(
    scenario: AnyScenario | Iterable[AnyScenario] = "wifi-lte",
    *,
    schedulers: str | Iterable[str | type] | Mapping[str, type] | None = None,
    seeds: int | Iterable[int] = DEFAULT_SEEDS,
    against: str | None = None,
    why: str | None = None,
    jobs: int | None = None,
    progress: bool | None = None,
    set: Mapping[str, Setting] | None = None,
    **settings: Setting,
) -> Results:
    """Runs schedulers on scenarios and compares them with plain TCP on each path, seed by seed.

    Runs use all cores and do not hold the interpreter's lock. Results are those of the command ``pathweave compare``, digest
    for digest.

    Args:
        scenario: One or several scenarios, names of built-in ones, or files.
        schedulers: Names, with parameters after colons (``"blest:delta=0.02"``), classes, or a dictionary of names and classes; a
            text is as after the command's ``--schedulers``. The default is the command's schedulers and all that are registered.
        seeds: The number of seeds (1, 2, ...), or the seeds themselves.
        against: The row that all others are compared with: a scheduler or ``tcp-path0``, ... (default: plain TCP on
            its best path).
        why: The scheduler whose time is explained (default: the slowest that uses several paths).
        jobs: Number of runs at once (default: one per processor). Results do not depend on it.
        progress: Whether a bar is shown. The default is yes on a terminal and in a notebook, if tqdm is installed.
        set: Overrides, written as after ``--set``: ``{"path.lte.loss": "1%"}``.
        **settings: Overrides by their last word: ``duration="5s"`` is the scenario's, ``receive_buffer="60KB"`` every
            connection's, ``loss="1%"`` every path's.

    Returns:
        All runs.

    Raises:
        ScenarioError: If a scenario, a setting or a scheduler's entry is wrong; nothing was run then.
        InputError: If something else in the call is wrong.
        Interrupted: If Ctrl-C was pressed; ``results`` has the finished runs.

    >>> import pathweave
    >>> results = pathweave.compare("wifi-lte", schedulers=["minrtt", "blest"], seeds=2, duration="12s")
    >>> sorted(set(results.runs.column("scheduler")))
    ['blest', 'minrtt', 'tcp-path0', 'tcp-path1']
    """
    documents = [document_of(one, set, settings) for one in _list(scenario)]
    return _compared(documents, schedulers, seed_list(seeds), (against, why), checked_jobs(jobs), progress)


def _compared(
    documents: list[_native.Document],
    schedulers: str | Iterable[str | type] | Mapping[str, type] | None,
    seeds: list[int],
    named: tuple[str | None, str | None],
    jobs: int | None,
    progress: bool | None,
) -> Results:
    names, own = _schedulers.entries(schedulers)
    with bar(progress, "runs") as shown:
        native, interrupted = _native.compare(
            documents,
            schedulers=names,
            against=named[0],
            why=named[1],
            seeds=seeds,
            jobs=jobs,
            own=own,
            progress=shown,
        )
    results = Results(native)
    if interrupted is not None:
        if not isinstance(interrupted, KeyboardInterrupt):
            raise interrupted
        runs = _native.counted(native.planned, "run")
        text = f"stopped: {len(results)} of {runs} are finished, and are this exception's results"
        raise Interrupted(text, results) from None
    return results


def run(
    scenario: AnyScenario = "wifi-lte",
    scheduler: str | type = "minrtt",
    *,
    seed: int = 1,
    set: Mapping[str, Setting] | None = None,
    **settings: Setting,
) -> dict[str, Any]:
    """Makes one run and returns its whole result, as in a line of docs/results-format.md.

    Plain TCP on each path is run with the same seed too, for the ``aggregation_benefit``.

    >>> import pathweave
    >>> result = pathweave.run("wifi-lte", "minrtt", seed=7, duration="12s")
    >>> result["status"], result["seed"], len(result["digest"])
    ('completed', 7, 32)
    """
    documents = [document_of(scenario, set, settings)]
    return _compared(documents, [scheduler], seed_list([seed]), (None, None), None, False).run(0)


class Parameter(TypedDict):
    """A parameter of an algorithm in a listing."""

    name: str
    takes: str
    unit: str
    default: str
    description: str


class Listed(TypedDict):
    """An algorithm in a listing."""

    name: str
    source: str
    summary: str
    parameters: list[Parameter]


def algorithms(what: Literal["schedulers", "controllers"] = "schedulers") -> list[Listed]:
    """The built-in schedulers or congestion controllers with their parameters, as ``pathweave list`` has them.

    >>> import pathweave
    >>> [one["name"] for one in pathweave.algorithms()][:2]
    ['minrtt', 'roundrobin']
    """
    if what not in ("schedulers", "controllers"):
        raise InputError(f"what = {what}{hint(what, ('schedulers', 'controllers'))}: allowed: schedulers, controllers")
    return _native.listing(what)


def seed_list(seeds: int | Iterable[int]) -> list[int]:
    """The seeds 1, 2, ... up to a number, or the seeds that are given."""
    if isinstance(seeds, bool) or (isinstance(seeds, int) and seeds < 1):
        raise InputError(f"seeds = {seeds}: allowed: a whole number from 1, or the seeds themselves")
    found = list(range(1, seeds + 1)) if isinstance(seeds, int) else list(seeds)
    if not found or any(isinstance(seed, bool) or not 0 <= seed < 2**64 for seed in found):
        raise InputError(f"seeds = {found}: allowed: whole numbers from 0 to 2^64 - 1, one at least")
    if len({*found}) < len(found):
        raise InputError("seeds: each seed once")
    return found


def checked_jobs(jobs: int | None) -> int | None:
    """The number of threads; raises `InputError` if it is not a number of at least 1."""
    if jobs is not None and jobs < 1:
        raise InputError(f"jobs = {jobs}: allowed: a whole number from 1")
    return jobs


def _list(scenario: AnyScenario | Iterable[AnyScenario]) -> list[AnyScenario]:
    if isinstance(scenario, Scenario | str | Path):
        return [scenario]
    return list(scenario)


def opened(scenario: AnyScenario) -> Scenario:
    """A copy of a scenario, which later changes by the caller do not reach."""
    if isinstance(scenario, Scenario):
        return scenario.copy()
    if isinstance(scenario, Path):
        return Scenario.from_file(scenario)
    return Scenario(_native.Document.open(scenario))


def document_of(
    scenario: AnyScenario, overrides: Mapping[str, Setting] | None, settings: Mapping[str, Setting]
) -> _native.Document:
    """A scenario with these settings, for the native module."""
    own = opened(scenario)
    for key, value in (overrides or {}).items():
        own.set(key, value)
    for key, value in settings.items():
        own.set(_place(key), value)
    return own._document


def _place(key: str) -> str:
    """The full key of a setting that is named by its last word."""
    for kind, prefix in (("", ""), ("connection", "connection."), ("path", "path.")):
        if key in _native.Document.settings(kind):
            return f"{prefix}{key}"
    known = sorted({name for kind in ("", "connection", "path") for name in _native.Document.settings(kind)})
    raise InputError(f"{key} is not a setting{hint(key, known)}; there are: {', '.join(known)}")
