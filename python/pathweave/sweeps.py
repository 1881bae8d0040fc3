"""Sweeps: all runs of a plan, here, on the workers of an executor, or on a Ray cluster."""

from __future__ import annotations

import concurrent.futures
import html
import json
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pathweave import _arguments as arguments
from pathweave import _native, sweep_tables
from pathweave import schedulers as _schedulers
from pathweave._errors import InputError, Interrupted, PathweaveError, needed, warn
from pathweave._progress import Bar, bar
from pathweave._unite import unite
from pathweave._work import Task, code, parquet, program, work, write_part
from pathweave.comparison import checked_jobs
from pathweave.tables import Table, Tabular, taken

if TYPE_CHECKING:
    import altair
    import pyarrow

FORMAT = 2
TASK_RUNS = 200
"""So many runs are a task, unless the caller says otherwise."""


class WorkerLostError(PathweaveError, RuntimeError):
    """A worker died. The finished runs are in the folder, and the same call continues with the other runs."""


class Sweep(Tabular):
    """The runs of a plan, in a folder. Once all are finished, it is a table like `Table`.

    The columns are ``run``, ``scenario``, ``variant``, ``seed``, ``status``, ``reason``, ``digest``, ``at_NAME`` for each parameter, and
    every metric of docs/experiments.md that a run has. A parameter whose values are numbers with one unit is a column of numbers, with
    the unit at the end of its name: ``at_buffer_kb``.

    Attributes:
        folder: The folder. ``parts/`` has what workers wrote; ``runs.parquet`` has all runs in their order, once all of them are finished.
        made: Number of runs that this call made.
    """

    def __init__(self, plan: _native.Plan, folder: Path, made: int) -> None:
        """Objects are made by `sweep`."""
        self._plan = plan
        self.folder = folder
        self.made = made

    def __len__(self) -> int:
        """The number of runs in the plan."""
        return len(self._plan)

    @property
    def done(self) -> int:
        """Number of finished runs."""
        return len(finished(self.folder))

    @property
    def complete(self) -> bool:
        """Whether all runs are finished."""
        return (self.folder / "runs.parquet").exists()

    @property
    def path(self) -> Path:
        """The file with all runs, for polars, DuckDB and the like.

        Raises:
            InputError: If runs are missing.
        """
        if not self.complete:
            runs = _native.counted(len(self), "run")
            raise InputError(f"{self.folder}: {len(self) - self.done} of {runs} not made yet")
        return self.folder / "runs.parquet"

    @property
    def columns(self) -> list[str]:
        """The columns' names, with their units at the end."""
        names: list[str] = parquet().read_schema(self.path).names
        return names

    def _cells(self, name: str, rows: range) -> list[Any]:
        found = parquet().read_table(self.path, columns=[name]).column(0)
        cells: list[Any] = taken(found, rows).to_pylist()
        return cells

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Arrow's stream of all runs."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def _known(self, name: object) -> str:
        _ = self.path  # An unfinished sweep is no matter of the name.
        try:
            return super()._known(sweep_tables.in_sweep(self, "column", name))
        except InputError as error:
            raise (error if isinstance(error, TypeError) else KeyError(str(error))) from None

    def to_arrow(self) -> pyarrow.Table:
        """All runs as a table of pyarrow."""
        table: pyarrow.Table = parquet().read_table(self.path)
        return table

    def claims(self) -> list[dict[str, Any]]:
        """The plan's claims with their verdicts and every comparison, as in the lines of ``pathweave reproduce --jsonl``."""
        lines, _ = self._plan.judge(self._records())
        return [json.loads(line) for line in lines]

    def table(self) -> str:
        """The claims in words, as the command prints them."""
        _, text = self._plan.judge(self._records())
        return text

    def to_html(self, path: str | Path) -> Path:
        """Writes the sweep's page, which works offline."""
        return arguments.save(path, self._plan.page(self._records()))

    @property
    def verdict(self) -> str:
        """Whether several paths are worse than one anywhere in the sweep, in sentences, as the command says it; empty without schedulers
        or without plain TCP.

        Each point is judged by its goodput, completion time or delay, as in a comparison.
        """
        return " ".join((self._plan.answer(self._records()) or "").split("\n")).strip()

    @arguments.named
    def summary(self, metric: str = "goodput_mbps") -> Table:
        """A row for each scheduler at each point: the mean of the seeds with its 95 % interval.

        ``runs`` is the number of runs with a value. Like all tables of a sweep, it has the columns ``at_NAME``, and calls a scheduler
        ``variant``.

        Args:
            metric: A column that is a number.
        """
        return sweep_tables.summary(self, metric)

    @arguments.named
    def differences(self, against: str, metric: str = "goodput_mbps") -> Table:
        """A metric of each scheduler minus that of `against` at each point, seed by seed, with its 95 % interval (Student's t).

        The columns are the point's, then ``metric``, ``variant``, ``against``, ``seeds``, ``difference``, ``low``, ``high`` and
        ``significant``, which is ``None`` with one seed.

        Args:
            against: A scheduler of the plan, or ``tcp-path0``, ...
            metric: A column that is a number.
        """
        return sweep_tables.differences(self, against, metric)

    @arguments.named
    def best(self, metric: str = "goodput_mbps", *, plain_tcp: bool = True) -> Table:
        """A row for each point: the best scheduler, and whether it is significantly better than the second one.

        The columns are the point's, then:

        - ``metric``, ``best``, ``mean``: the best scheduler, and the mean of its seeds.
        - ``second``: the scheduler with the next best mean; ``None`` if there is no other.
        - ``seeds``, ``difference``, ``low``, ``high``: the metric of ``best`` minus that of ``second``, seed by seed, with its 95 %
          interval.
        - ``significant``: whether that interval leaves out zero; ``None`` with one seed.
        - ``level_with``: every scheduler whose difference from ``best`` is not significant, so that these seeds leave open which
          one is better; names between commas, empty if ``best`` is alone.

        A scheduler with more runs that have a value ranks before those with fewer.

        Args:
            metric: A column of which more or less is better.
            plain_tcp: Whether plain TCP on each path takes part, like a scheduler. ``False`` compares schedulers alone.
        """
        return sweep_tables.best(self, metric, arguments.truth("plain_tcp", plain_tcp))

    @arguments.named
    def plot(
        self,
        x: str | None = None,
        y: str = "goodput_mbps",
        kind: Literal["lines", "heatmap", "wins"] = "lines",
        *,
        rows: str | None = None,
    ) -> altair.TopLevelMixin:
        """A chart over the plan's parameters (``pip install pathweave[plot]``). ``chart.save("plot.html", inline=True)`` works offline.

        Args:
            x: The parameter on the x axis: its column's name, with or without ``at_``, or its name in the plan (default: the first one
                with several values).
            y: The metric; a column that is a number.
            kind: ``"lines"``: means of the seeds with 95 % intervals, a line for each scheduler; ``"heatmap"``: means as colours;
                ``"wins"``: the best scheduler of each point, and how far it is ahead of the second, for metrics of which more or less
                is better. A pale cell with ``~`` is a lead that is not significant, or unknown with one seed (`best`).
            rows: The parameter on the y axis of ``"heatmap"`` and ``"wins"``, and of the panels of ``"lines"`` (default: the second one
                with several values). If more parameters have several values, means are taken over these, without intervals.
        """
        from pathweave.sweep_plots import sweep_chart

        columns = dict(zip(self._plan.plan_parameters, self._plan.parameters, strict=True))
        x, rows = (name if name is None else columns.get(name, name.removeprefix("at_")) for name in (x, rows))
        return sweep_chart(self, x, y, kind, rows)

    def _records(self) -> str:
        """The finished runs as lines of JSON, which the native module reads."""
        lines = []
        fixed = {"run", "scenario", "variant", "seed", "status", "digest"}
        for row in self.to_arrow().to_pylist():
            record: dict[str, Any] = {name: row[name] for name in fixed}
            record["point"] = {name: row[f"at_{name}"] for name in self._plan.parameters}
            if row["reason"] is not None:
                record["reason"] = row["reason"]
            names = set(row) - fixed - {"reason"} - {f"at_{name}" for name in self._plan.parameters}
            record["metrics"] = {name: row[name] for name in names if row[name] is not None}
            lines.append(json.dumps(record))
        return "\n".join(lines)

    def __repr__(self) -> str:
        """The plan's name, how many of its runs are finished, and the first rows."""
        about = f"<Sweep {self._plan.name}: {self.done} of {_native.counted(len(self), 'run')} in {self.folder}>"
        return f"{about}\n{super().__repr__()}" if self.complete else about

    def _repr_html_(self) -> str:
        """The first rows, once all runs are finished."""
        return super()._repr_html_() if self.complete else f"<p>{html.escape(repr(self))}</p>"


@arguments.named
def sweep(
    plan: str | Path,
    *,
    out: str | Path,
    executor: concurrent.futures.Executor | Literal["ray"] | None = None,
    schedulers: Iterable[str | type] | Mapping[str, type] | None = None,
    quick: bool = False,
    shard: tuple[int, int] = (1, 1),
    resume: bool = True,
    replace: bool = False,
    task_runs: int = TASK_RUNS,
    in_flight: int | None = None,
    jobs: int | None = None,
    progress: bool | None = None,
) -> Sweep:
    """Makes all runs of a plan (docs/experiments.md) that are not in the folder yet.

    Runs are made in tasks. A worker writes the runs of a task as one Parquet file, whole or not at all. If a driver
    or a worker is killed, only its unfinished tasks are lost, and the same call continues with the rest. When all
    runs are done, ``runs.parquet`` has them in order: the same bytes for any executor, number of workers and size of
    tasks, and after any interruption.

    Args:
        plan: The plan's file, or the text of a plan, which has several lines. Files that a text names are in the current folder.
        out: The folder for the results, which all workers must see; it is created if it does not exist.
        executor: Where tasks run: any `concurrent.futures.Executor`; ``"ray"``: the cluster that ``ray.init`` connected to, or this
            machine; without it, all cores of this process.
        schedulers: Schedulers in Python that the plan names: classes, or names and classes. Registered schedulers
            need not be listed.
        quick: Whether the smaller sweep of the plan's table ``[quick]`` is made.
        shard: ``(i, n)``: makes only part i of n, counted from 1, for job arrays. Each part has files of its own in
        the same folder.
        resume: Whether runs that are in the folder count; otherwise they are an error.
        replace: Whether runs of a plan, program or scheduler that has changed since are removed from the folder, so that all runs are
            made again. Without it they are an error.
        task_runs: Number of runs in a task.
        in_flight: Number of tasks that the executor has at once (default: twice its workers).
        jobs: Number of runs at once if there is no executor (default: one per processor).
        progress: Whether a bar with rate and remaining time is shown; the default is that of `compare`.

    Raises:
        ScenarioError: If the plan, or a scenario that it names, is wrong.
        InputError: If the folder has runs of another plan, of another version of the program or of other schedulers in Python.
        WorkerLostError: If the executor lost a worker and does not start another one (Ray does start one).
        Interrupted: If Ctrl-C was pressed; ``results`` has the sweep so far.
    """
    parquet()
    arguments.whole("task_runs", task_runs, "a whole number from 1")
    if in_flight is not None:
        arguments.whole("in_flight", in_flight, "a whole number from 1, or None: twice the workers")
    jobs = checked_jobs(jobs)
    quick, resume, replace = (
        arguments.truth(name, value) for name, value in (("quick", quick), ("resume", resume), ("replace", replace))
    )
    if executor not in (None, "ray") and not hasattr(executor, "submit"):
        raise arguments.wrong("executor", executor, "None, 'ray', or a concurrent.futures.Executor")
    part = _checked(shard)
    if isinstance(schedulers, str):
        raise arguments.wrong(
            "schedulers", schedulers, "classes, or a dictionary of names and classes; the plan has the other names"
        )
    _, own = _schedulers.entries(schedulers if schedulers is not None else ())
    if isinstance(plan, str) and arguments.is_text(plan):
        ready = _native.Plan.parse("plan", plan, None, quick, own)
    else:
        ready = _native.Plan.read(arguments.existing("plan", plan), quick, own)
    warn(ready.name, ready.warnings())
    used = tuple(one for one in own if _is_used(ready, one))
    folder = arguments.file("out", out).resolve()
    (folder / "parts").mkdir(parents=True, exist_ok=True)
    with _alone(folder, part):
        _begin(folder, ready, used, resume, replace)
        done = finished(folder)
        wanted = [run for run in ready.shard(*part) if run not in done]
        tasks = [
            Task(folder, tuple(wanted[i : i + task_runs]), ready.hash, program(), used, 1)
            for i in range(0, len(wanted), task_runs)
        ]
        made = 0
        with bar(progress, ready.name) as shown:
            shown.total = len(wanted)
            try:
                if executor is None:
                    made = _here(ready, folder, tasks, jobs, shown)
                elif executor == "ray":
                    made = _on_ray(tasks, in_flight, shown)
                else:
                    made = _on_executor(executor, tasks, in_flight, shown)
            except KeyboardInterrupt:
                so_far = Sweep(ready, folder, made)
                runs = _native.counted(len(ready), "run")
                text = f"stopped: {so_far.done} of {runs} are finished; the same call goes on with the rest"
                raise Interrupted(text, so_far) from None
        if len(finished(folder)) == len(ready):
            unite(folder, len(ready))
    return Sweep(ready, folder, made)


def _checked(shard: tuple[int, int]) -> tuple[int, int]:
    allowed = "a pair (i, n) of whole numbers, with i from 1 to n"
    if not isinstance(shard, tuple | list) or len(shard) != 2:
        raise arguments.wrong("shard", shard, allowed)
    parts = arguments.whole("shard", shard[1], allowed)
    return arguments.whole("shard", shard[0], allowed, 1, parts), parts


def finished(folder: Path) -> set[int]:
    """The numbers of the runs that are in the parts of a folder."""
    numbers: set[int] = set()
    for part in sorted((folder / "parts").glob("part-*.parquet")):
        numbers.update(parquet().read_table(part, columns=["run"]).column("run").to_pylist())
    return numbers


def _is_used(plan: _native.Plan, one: _schedulers.Description) -> bool:
    """Whether the plan's text names a scheduler, so that others may change without a new sweep."""
    return one.name in plan.pack()


def _begin(
    folder: Path, plan: _native.Plan, own: Iterable[_schedulers.Description], resume: bool, replace: bool
) -> None:
    """Writes the hashes of plan, program and schedulers into a new folder, or compares them with those that are there. With `replace`,
    runs with other hashes are removed."""
    header = {
        "sweep_format": FORMAT,
        "plan": plan.name,
        "plan_hash": plan.hash,
        "program": program(),
        "schedulers": {one.name: code(one) for one in own},
        "runs": len(plan),
    }
    file = folder / "sweep.json"
    if file.exists():
        if not resume and not replace:
            raise InputError(f"{file}: runs are there already; resume=True goes on with them")
        reason = _changed(json.loads(file.read_text(encoding="utf-8")), header)
        if reason is None:
            return
        if not replace:
            text = f"{file}: these runs cannot be continued: {reason}; use another folder, or replace=True"
            raise InputError(text)
        for old in (*(folder / "parts").glob("part-*.parquet"), folder / "runs.parquet"):
            old.unlink(missing_ok=True)
    _write(folder / "plan.json", plan.pack())
    _write(file, json.dumps(header, indent=1))


def _changed(found: dict[str, Any], header: dict[str, Any]) -> str | None:
    """What of a folder's header is not as it would be now, in words."""
    reasons = {
        "plan_hash": "the plan or a scenario that it names has changed since",
        "schedulers": "a scheduler in Python has changed since",
        "program": "another version of this program made them",
    }
    return next((reason for key, reason in reasons.items() if found.get(key) != header[key]), None)


def _write(path: Path, text: str) -> None:
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    new.write_text(text, encoding="utf-8")
    os.replace(new, path)


@contextmanager
def _alone(folder: Path, shard: tuple[int, int]) -> Generator[None, None, None]:
    """A lock, so that only one driver works on a shard of a folder and no run is made twice."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    path = folder / f"driver-{shard[0]}-of-{shard[1]}.lock"
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(f"{path}: another driver works on this shard") from None
        yield


def _here(plan: _native.Plan, folder: Path, tasks: list[Task], jobs: int | None, shown: Bar) -> int:
    """Makes the runs on all cores of this process. Runs that are finished when Ctrl-C is pressed are kept."""
    made = 0
    for task in tasks:
        table, interrupted = plan.run(list(task.runs), jobs, _Steps(shown))
        write_part(folder, table)
        made += len(table)
        if interrupted is not None:
            raise interrupted
    return made


class _Steps:
    """Lets several calls move one bar, whose total is the sum of theirs."""

    def __init__(self, shown: Bar) -> None:
        self._shown = shown
        self.total = 0

    def __call__(self, finished: int, /) -> None:
        self._shown(finished)


def _on_executor(executor: concurrent.futures.Executor, tasks: list[Task], in_flight: int | None, shown: Bar) -> int:
    """Makes the runs on the workers of an executor. The executor gets no more tasks at a time than it can soon begin."""
    most = in_flight or 2 * int(getattr(executor, "_max_workers", None) or os.cpu_count() or 1)
    waiting: set[concurrent.futures.Future[int]] = set()
    left = iter(tasks)
    made = 0
    try:
        while True:
            waiting.update(executor.submit(work, task) for task in _next(left, most - len(waiting)))
            if not waiting:
                return made
            done, waiting = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                count = future.result()
                made += count
                shown(count)
    except concurrent.futures.BrokenExecutor as lost:
        raise WorkerLostError(
            f"a worker died: {lost}; the same call with a new executor goes on with the rest"
        ) from lost
    finally:
        for future in waiting:
            future.cancel()


def _on_ray(tasks: list[Task], in_flight: int | None, shown: Bar) -> int:
    """Makes the runs on a Ray cluster. If a worker or a node dies, Ray starts its tasks again elsewhere."""
    needed("ray", "Ray is not installed", "'pathweave[ray]'")
    import ray
    import ray.exceptions

    if not ray.is_initialized():
        ray.init(log_to_driver=False)
    remote: Callable[[Task], Any] = ray.remote(num_cpus=1, max_retries=-1)(work).remote
    made, left = 0, iter(tasks)
    waiting: list[Any] = []
    try:
        while True:
            # More workers may have come.
            most = in_flight or 2 * max(1, int(ray.cluster_resources().get("CPU", 1)))
            waiting.extend(remote(task) for task in _next(left, most - len(waiting)))
            if not waiting:
                return made
            done, waiting = ray.wait(waiting, timeout=5.0)
            for reference in done:
                count: int = ray.get(reference)
                made += count
                shown(count)
    except ray.exceptions.RayTaskError as failed:
        raise failed.as_instanceof_cause() from None
    finally:
        for reference in waiting:
            ray.cancel(reference)


def _next(tasks: Iterator[Task], most: int) -> Iterator[Task]:
    for _ in range(most):
        task = next(tasks, None)
        if task is None:
            return
        yield task
