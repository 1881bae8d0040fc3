"""Why a scheduler did what it did, how close the engine is to Linux, and what the papers' experiments say."""

from __future__ import annotations

import concurrent.futures
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from numbers import Real
from pathlib import Path
from typing import Any, Literal

from pathweave import _arguments as arguments
from pathweave import _native
from pathweave import schedulers as _schedulers
from pathweave._errors import InputError, hint, warn
from pathweave.comparison import AnyScenario, check_keywords, checked_jobs, document_of, one_seed
from pathweave.scenario import Setting, written
from pathweave.sweeps import sweep


class Explanation:
    """The decisions of one run between two times."""

    def __init__(self, native: _native.Explanation) -> None:
        """Objects are made by `explain`."""
        self._native = native

    @property
    def about(self) -> dict[str, Any]:
        """Scenario, scheduler, seed, times, and the paths' names."""
        found: dict[str, Any] = json.loads(self._native.json())
        return found

    @property
    def entries(self) -> list[dict[str, Any]]:
        """The events in order of time. ``kind`` says what happened, ``time_s`` when (in seconds); positions in the
        stream are in bytes."""
        return [json.loads(line) for line in self._native.entries()]

    def to_html(self, path: str | Path) -> Path:
        """Writes a page that works offline."""
        return arguments.save(path, self._native.page())

    def __str__(self) -> str:
        """The text that the command prints."""
        return self._native.text()

    def __repr__(self) -> str:
        """The run, the times, and how many events and decisions there are."""
        about, entries = self.about, self.entries
        decisions = sum(entry["kind"] == "decision" for entry in entries)
        run = f"{about['scheduler']} on {about['scenario']}, seed {about['seed']}, {about['from_s']:g} s to {about['to_s']:g} s"
        counts = f"{_native.counted(len(entries), 'event')}, {_native.counted(decisions, 'decision')} among them"
        return f"<Explanation of {run}: {counts}; print() shows them, entries has them>"


@arguments.named
def explain(
    scenario: AnyScenario = "wifi-lte",
    scheduler: str | type = "minrtt",
    *,
    seed: int = 1,
    start: str | float | timedelta | None = None,
    end: str | float | timedelta | None = None,
    set: Mapping[str, Setting] | None = None,
    **settings: Setting,
) -> Explanation:
    """Every decision of one run between two times, with its reason.

    Args:
        scenario: As in `compare`.
        scheduler: A name with parameters, or a class.
        seed: The run's seed.
        start: Start of the period to show, such as ``"2s"``, or a number of seconds (default: the start of the run).
        end: End of the period to show, in the same forms (default: 200 ms after ``start``).
        set: Overrides, as in `compare`.
        **settings: Overrides by their last word, as in `compare`.

    >>> import pathweave
    >>> explanation = pathweave.explain("wlan-3g", "blest", start="2s", end="2.1s")
    >>> any(entry["kind"] == "decision" for entry in explanation.entries)
    True
    """
    names, own = _schedulers.entries([scheduler])
    check_keywords(explain, settings)
    document = document_of(scenario, set, settings)
    period = (_time("start", start), _time("end", end))
    warn(document.name(), document.warnings())
    return Explanation(_native.explain(document, names or "", one_seed(seed), *period, own))


def _time(argument: str, value: str | float | timedelta | None) -> str | None:
    """A time in a run, as the native module reads it."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, Real | timedelta):
        raise arguments.wrong(argument, value, "a time such as '2s', a number of seconds, datetime.timedelta or None")
    return written(argument, value) + ("" if isinstance(value, timedelta) else "s")


@dataclass(frozen=True)
class Validation:
    """The engine compared with measurements of Linux.

    Attributes:
        rows: For each scenario ``id``, ``linux_median``, ``ours_median`` (completion in s of sized runs, else goodput in Mbit/s),
            ``difference`` (a fraction), ``linux_iqr``, ``unit``.
        holds: Whether the limits hold.
        text: The tables that the command prints.
    """

    rows: list[dict[str, Any]]
    holds: bool
    text: str

    def __str__(self) -> str:
        """The tables."""
        return self.text


@arguments.named
def validate(file: str | Path, *, only: str | None = None, jobs: int | None = None) -> Validation:
    """Runs the scenarios that were measured with Linux, as ``pathweave validate``.

    Args:
        file: The measurements, such as ``validation/linux-6.12.jsonl`` of the repository.
        only: Text that the ids of the scenarios must contain.
        jobs: Number of runs at once.

    Raises:
        InputError: If the file cannot be read, or no scenario is left.
    """
    part = arguments.optional_text("only", only, "a part of the scenarios' ids")
    lines, text, holds = _native.validate(arguments.existing("file", file), part, checked_jobs(jobs))
    return Validation([json.loads(line) for line in lines], holds, text)


@arguments.named
def reproduce(
    experiments: str | Iterable[str],
    *,
    out: str | Path = "pathweave-reproduction",
    source: str | Path = "experiments",
    quick: bool = False,
    executor: concurrent.futures.Executor | Literal["ray"] | None = None,
    progress: bool | None = None,
) -> list[dict[str, Any]]:
    """Makes experiments of the papers and decides their claims.

    Args:
        experiments: ``PAPER/ID``, one or several, such as ``"cp/fig5"``; ``PAPER`` for all of a paper.
        out: The folder for the runs. Each experiment is a sweep in a folder of its own, and continues if it was
            interrupted.
        source: The folder with the experiments, ``experiments`` of the repository.
        quick: Whether smaller and shorter experiments are made.
        executor: As in `sweep`.
        progress: As in `sweep`.

    Returns:
        Each claim with ``experiment``, ``verdict`` and every comparison, as in the lines of ``pathweave reproduce --jsonl``.

    Raises:
        InputError: If there is no such experiment.
    """
    wanted = (
        [experiments] if isinstance(experiments, str) else arguments.listed("experiments", experiments, _EXPERIMENTS)
    )
    if not wanted:
        raise InputError(f"experiments = []: allowed: {_EXPERIMENTS}")
    folder, made_in = arguments.file("source", source), arguments.file("out", out)
    known = {f"{file.parent.name}/{file.stem}": file for file in sorted(folder.glob("*/[!_]*.toml"))}
    if not known:
        raise InputError(
            f"source = {folder.resolve()}: no experiments here. The package has none: they are the folder experiments of a clone of "
            "Pathweave's repository, and source='CLONE/experiments' names it"
        )
    claims = []
    for name in wanted:
        arguments.text("experiments", name, _EXPERIMENTS)
        chosen = {one: file for one, file in known.items() if name in (one, one.split("/")[0])}
        if not chosen:
            near = hint(name, {*known, *(one.split("/")[0] for one in known)})
            raise InputError(f"{name}: there is no such paper or experiment{near}; there are: {', '.join(known)}")
        for one, file in chosen.items():
            runs = made_in / f"{one}{'-quick' if quick else ''}"
            made = sweep(file, out=runs, executor=executor, quick=quick, progress=progress)
            claims += [{"experiment": one, **claim} for claim in made.claims()]
    return claims


_EXPERIMENTS = "an experiment such as 'cp/fig5', a paper such as 'cp', or a list of these"
