"""Comparisons: schedulers on scenarios."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, TypedDict

from pathweave import _arguments as arguments
from pathweave import _native
from pathweave import schedulers as _schedulers
from pathweave._errors import ArgumentError, InputError, Interrupted, ScenarioError, hint, warn
from pathweave._progress import bar
from pathweave.results import Results
from pathweave.scenario import UNITS, Scenario, Setting, put, without_unit

AnyScenario = Scenario | str | Path
"""A scenario, the name of a built-in one, or a file."""

DEFAULT_SEEDS = 5


@arguments.named
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
            text has names between commas; ``"all"`` is every scheduler. The default is ``minrtt``, ``linux``, ``roundrobin``,
            ``redundant``, ``blest``, ``ecf``, ``cp``, ``dpsaf``, ``rems``, ``weave`` and all that are registered.
        seeds: The number of seeds (1, 2, ...), or the seeds themselves.
        against: The row that all others are compared with: a scheduler or ``tcp-path0``, ... (default: plain TCP on
            its best path).
        why: The scheduler whose time is explained (default: the slowest that uses several paths).
        jobs: Number of runs at once (default: one per processor). Results do not depend on it.
        progress: Whether a bar is shown. The default is yes on a terminal and in a notebook, if tqdm is installed.
        set: Overrides by their full names: ``{"path.lte.loss": "1%"}``. Values are those of `Scenario`'s attributes.
        **settings: Overrides by their last word: ``duration=15`` is the scenario's, ``receive_buffer="60KB"`` every
            connection's, ``loss="1%"`` every path's. A run must be longer than the scenario's ``measure_from``, the time before which
            nothing is measured; ``measure_from=2`` sets it.

    Returns:
        All runs.

    Raises:
        ScenarioError: If a scenario, a setting or a scheduler's entry is wrong; nothing was run then.
        InputError: If something else in the call is wrong; `ArgumentError`, which is a `TypeError` too, for a wrong type and for a
            keyword that does not exist.
        Interrupted: If Ctrl-C was pressed; ``results`` has the finished runs.

    >>> import pathweave
    >>> results = pathweave.compare("wifi-lte", schedulers=["minrtt", "blest"], seeds=2, duration="12s")
    >>> sorted(set(results.runs.column("scheduler")))
    ['blest', 'minrtt', 'tcp-path0', 'tcp-path1']
    """
    check_keywords(compare, settings)
    documents = [document_of(one, set, settings) for one in _list(scenario)]
    row = "a scheduler's name, or tcp-path0, tcp-path1, ..."
    named = (arguments.optional_text("against", against, row), arguments.optional_text("why", why, row))
    return _compared(documents, schedulers, seed_list(seeds), named, checked_jobs(jobs), progress)


def _compared(
    documents: list[_native.Document],
    schedulers: str | Iterable[str | type] | Mapping[str, type] | None,
    seeds: list[int],
    named: tuple[str | None, str | None],
    jobs: int | None,
    progress: bool | None,
) -> Results:
    names, own = _schedulers.entries(schedulers)
    for document in documents:
        warn(document.name(), document.warnings())
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


@arguments.named
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
    check_keywords(run, settings)
    documents = [document_of(scenario, set, settings)]
    return _compared(documents, [scheduler], [one_seed(seed)], (None, None), None, False).run(0)


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
    return _native.listing(arguments.one_of("what", what, ("schedulers", "controllers")))


SEEDS = "a whole number from 1, or a list of the seeds themselves"
SEED = "a whole number from 0 to 2^64 - 1"


def seed_list(seeds: int | Iterable[int]) -> list[int]:
    """The seeds 1, 2, ... up to a number, or the seeds that are given."""
    if isinstance(seeds, Integral):
        return list(range(1, arguments.whole("seeds", seeds, SEEDS) + 1))
    found = [one_seed(seed, "seeds") for seed in arguments.listed("seeds", seeds, SEEDS)]
    if not found:
        raise InputError(f"seeds = []: allowed: {SEEDS}, one at least")
    if len({*found}) < len(found):
        raise InputError("seeds: each seed once")
    return found


def one_seed(seed: object, argument: str = "seed") -> int:
    """The number of a seed."""
    return arguments.whole(argument, seed, SEED, 0, 2**64 - 1)


def checked_jobs(jobs: int | None) -> int | None:
    """The number of threads; raises `InputError` if it is not a number of at least 1."""
    return None if jobs is None else arguments.whole("jobs", jobs, "a whole number from 1, or None: one per processor")


SCENARIOS = "a Scenario, the name of a built-in one, a file's path, or a list of these"


def _list(scenario: AnyScenario | Iterable[AnyScenario]) -> list[AnyScenario]:
    if isinstance(scenario, Scenario | str | Path):
        return [scenario]
    found = arguments.listed("scenario", scenario, SCENARIOS)
    if not found:
        raise InputError(f"scenario = []: allowed: {SCENARIOS}")
    return found


def opened(scenario: AnyScenario) -> Scenario:
    """A copy of a scenario, which later changes by the caller do not reach."""
    if isinstance(scenario, Scenario):
        return scenario.copy()
    if isinstance(scenario, Path):
        return Scenario.from_file(scenario)
    name = arguments.text("scenario", scenario, SCENARIOS)
    if arguments.is_text(name):
        arguments.existing("scenario", name, "pathweave.Scenario.from_toml")
    try:
        return Scenario(_native.Document.open(name))
    except ScenarioError:
        raise
    except InputError as error:
        raise InputError(f"scenario = {error}") from None


def document_of(
    scenario: AnyScenario, overrides: Mapping[str, Setting] | None, settings: Mapping[str, Setting]
) -> _native.Document:
    """A scenario with these settings, for the native module."""
    if overrides is not None and not isinstance(overrides, Mapping):
        raise arguments.wrong("set", overrides, "a dictionary of settings such as {'path.lte.loss': '1%'}, or None")
    own = opened(scenario)
    for key, value in (overrides or {}).items():
        own.set(key, value)
    for key, value in settings.items():
        put(own._document, _place(key), value, key)
    return own._document


KINDS = (("", ""), ("connection", "connection."), ("path", "path."))


TABLES = frozenset(("format", "node", "link", "path", "connection", "traffic", "scheduler"))
"""What a scenario file has beside its settings: no keywords. Schedulers are arguments."""


def _place(key: str) -> str:
    """The full key of a setting that is named by its last word."""
    for kind, prefix in KINDS:
        settings = {*_native.Document.settings(kind)} - TABLES
        if without_unit(key, settings)[0] in settings:
            return f"{prefix}{key}"
    known = sorted({name for kind, _ in KINDS for name in _native.Document.settings(kind)} - TABLES)
    word, _, unit = key.rpartition("_")
    near = hint(word if unit in UNITS and word else key, known)
    rest = (
        ""
        if near
        else "; dir(scenario), dir(scenario.connection) and dir(scenario.path) list them, docs/scenarios.md explains them"
    )
    raise ArgumentError(f"{key} is not a setting{near}{rest}")


def check_keywords(function: Callable[..., Any], settings: Mapping[str, Setting]) -> None:
    """Raises `ArgumentError`, which is a `TypeError`, for a keyword that is neither an argument of the function nor a setting."""
    named = [name for name in inspect.signature(function).parameters if name != "settings"]
    for key in settings:
        try:
            _place(key)
        except ArgumentError as error:
            near = hint(key, named)
            there_are = f"there are: {', '.join(named)}, and settings"
            problem = f"{function.__name__}() has no argument {key}{near}; {there_are}" if near else str(error)
            raise ArgumentError(problem) from None
