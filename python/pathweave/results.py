"""What came out of runs: tables, the answer, and pages."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pathweave import _arguments as arguments
from pathweave import _native
from pathweave._errors import InputError, OutputError, hint
from pathweave.tables import Columns, Table

if TYPE_CHECKING:
    import altair


class Results:
    """All runs of a comparison.

    >>> import pathweave
    >>> results = pathweave.compare("wlan-3g", schedulers="minrtt,blest", seeds=2, duration="12s")
    >>> len(results.runs)
    8
    >>> results.summary.columns[:3]
    ['scenario', 'scheduler', 'same_packets_as']
    """

    def __init__(self, native: _native.RunSet) -> None:
        """Made by `compare`."""
        self._native = native

    def __len__(self) -> int:
        """How many runs are finished."""
        return len(self._native)

    def __getattr__(self, name: str) -> Any:
        """Nothing: says where the tables are."""
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        names = [one for one in dir(type(self)) if not one.startswith("_")]
        raise AttributeError(
            f"Results has no {name}{hint(name, names)}; its tables are runs, summary, paths and series"
        )

    @property
    def complete(self) -> bool:
        """Whether every run that was planned is finished."""
        return len(self._native) == self._native.planned

    @property
    def scenarios(self) -> list[str]:
        """The names of the scenarios."""
        return self._native.scenarios()

    @property
    def runs(self) -> Table:
        """A row for each run: scenario, scheduler, seed, status, reason, digest and every metric.

        Metrics have the names of docs/results-format.md with ``_`` in place of dots, and units at the end. A metric
        by path is a list with one element for each path. ``plain_tcp`` is the path of a run of plain TCP, else
        ``None``.
        """
        return Table(self._native.runs())

    def path_names(self, scenario: str) -> list[str]:
        """The names of a scenario's paths, in the order of lists by path."""
        arguments.one_of("scenario", scenario, self.scenarios)
        return self._native.path_names(scenario)

    @property
    def paths(self) -> Table:
        """The metrics by path as a long table: a row for each run and path.

        ``run`` is the number of the row in `runs`. The other columns are the lists of `runs`, without ``per_path_`` and ``by_path_``.

        >>> import pathweave
        >>> results = pathweave.compare("wifi-lte", schedulers="minrtt", seeds=1, duration="12s")
        >>> results.paths[["run", "scheduler", "path"]].head(2).rows()
        [{'run': 0, 'scheduler': 'minrtt', 'path': 'wifi'}, {'run': 0, 'scheduler': 'minrtt', 'path': 'lte'}]
        """
        rows = self.runs.rows()
        names = {scenario: self.path_names(scenario) for scenario in {row["scenario"] for row in rows}}
        lists = [name for name in self.runs.columns if name.startswith("per_path_") or "_by_path" in name]
        places = [(run, row, path) for run, row in enumerate(rows) for path in range(len(names[row["scenario"]]))]
        columns: dict[str, list[Any]] = {"run": [run for run, _, _ in places]}
        for name in ("scenario", "scheduler", "seed", "status"):
            columns[name] = [row[name] for _, row, _ in places]
        columns["path"] = [names[row["scenario"]][path] for _, row, path in places]
        for name in lists:
            values = [row[name][path] if path < len(row[name]) else None for _, row, path in places]
            columns[name.removeprefix("per_path_").replace("_by_path", "")] = values
        return Table(Columns(columns))

    @property
    def series(self) -> Table:
        """The series over time as a long table: a row for each run, quantity, place and step.

        ``run`` is the number of the row in `runs`. ``time_s`` is the step's start. ``quantity`` says what ``value`` is:
        ``goodput_mbps``, ``path_mbps``, ``out_of_order_bytes``, ``cwnd_segments``, ``in_flight_segments``, ``srtt_ms``,
        ``queue_bytes``, ``capacity_mbps``, and what a scheduler carries along. ``connection``, ``path`` and ``link`` name
        the object of the value, unless the value is for the whole run.
        """
        return Table(self._native.series())

    @arguments.named
    def series_of(self, scheduler: str, seed: int) -> Table:
        """`series` of one scheduler's runs with one seed."""
        arguments.one_of("scheduler", scheduler, list(dict.fromkeys(self.runs.column("scheduler"))))
        number = arguments.whole("seed", seed, "a seed of these runs", 0, 2**64 - 1)
        if number not in self.runs.column("seed"):
            seeds = ", ".join(map(str, dict.fromkeys(self.runs.column("seed"))))
            raise InputError(f"seed = {number}: allowed: {seeds}")
        return Table(self._native.series(scheduler, number))

    @property
    def summary(self) -> Table:
        """A row for each scheduler of each scenario, the best first: means with 95 % intervals, and the paired difference.

        ``judged_by`` is the column that ranks: ``goodput_mbps``; ``completion_s`` of transfers that have a size; ``delay_p99_ms`` of
        messages and pages, if some run delivers what is offered. ``difference`` is that column minus the one of ``reference``, seed
        by seed; ``difference_low`` and ``difference_high`` are its 95 % interval. Runs that failed are counted in ``failed``, and are
        in no mean. Schedulers without a measurement have no row; `verdict` names them.
        """
        return Table(self._native.summary())

    @arguments.named
    def differences(self, against: str, metric: str = "goodput_mbps") -> Table:
        """A metric of each scheduler minus that of `against`, seed by seed, with its 95 % interval (Student's t).

        Args:
            against: A scheduler or ``tcp-path0``, ... of these results.
            metric: A column of `runs` that is a number.

        >>> import pathweave
        >>> results = pathweave.compare("wifi-lte", schedulers="minrtt,blest", seeds=3, duration="12s")
        >>> results.differences("minrtt").column("scheduler")
        ['blest', 'tcp-path0', 'tcp-path1']
        """
        row = "a scheduler of these results, or tcp-path0, tcp-path1, ..."
        metric = arguments.text("metric", metric, "a column of runs that is a number")
        return Table(self._native.differences(arguments.text("against", against, row), metric))

    @property
    def verdict(self) -> str:
        """The answer in sentences; with several scenarios, a paragraph for each. Missing runs and failed schedulers come first.

        It compares the best scheduler with plain TCP on its best path, and names (or counts, if there are many) the schedulers that
        are within 1 % of the best or not significantly worse. If there are several seeds and all runs finished, the others are
        significantly worse by more than 1 %. It does not name the second scheduler: that is the second row of `summary` whose
        ``plain_tcp`` is ``None``. `differences` compares any two.
        """
        answers = [(name, answer) for name, answer in self._native.verdicts() if answer]
        if len(answers) == 1:
            return answers[0][1]
        return "\n\n".join(f"{name}: {answer}" for name, answer in answers)

    @property
    def problems(self) -> list[str]:
        """A line for each run that stalled or failed, and for each warning."""
        return self._native.problems()

    def where(self, **columns: object) -> list[dict[str, Any]]:
        """The rows of `runs` whose columns have these values, as dictionaries.

        Raises:
            InputError: If there is no such column, or no run of this scenario, scheduler, controller or seed.

        >>> import pathweave
        >>> results = pathweave.compare("wifi-lte", schedulers="minrtt", seeds=2, duration="12s")
        >>> [row["seed"] for row in results.where(scheduler="minrtt")]
        [1, 2]
        """
        for name, value in columns.items():
            arguments.one_of("column", name, self.runs.columns)
            # No run may have a status, and runs that were stopped lack some: neither is a mistake of the caller.
            if self.complete and name in ("scenario", "scheduler", "congestion", "seed"):
                there = [*dict.fromkeys(self.runs.column(name))]
                if value not in there:
                    near = hint(value, map(str, there)) if isinstance(value, str) else ""
                    given = repr(value) if type(value) is type(there[0]) else arguments.shown(value)
                    raise InputError(f"{name} = {given}{near}: allowed: {', '.join(map(repr, there))}")
        return [row for row in self.runs.rows() if all(row[name] == value for name, value in columns.items())]

    def run(self, number: int) -> dict[str, Any]:
        """The whole result of a run, as in a line of docs/results-format.md.

        >>> import pathweave
        >>> results = pathweave.compare("wifi-lte", schedulers="minrtt", seeds=1, duration="12s")
        >>> results.run(0)["manifest"]["overrides"]
        {'duration': '12s'}
        """
        allowed = f"a whole number from 0 to {len(self) - 1}"
        found: dict[str, Any] = json.loads(
            self._native.json(arguments.whole("number", number, allowed, 0, len(self) - 1))
        )
        return found

    def table(self, columns: int = 80) -> str:
        """The answer and the ranked tables as the command prints them, this many characters wide, and at least 80."""
        return self._native.text(max(80, arguments.whole("columns", columns, "a whole number", least=-(2**63))))

    def to_csv(self, path: str | Path) -> None:
        """Writes the numbers of the tables as comma-separated values."""
        arguments.save(path, self._native.csv())

    def to_jsonl(self, path: str | Path) -> None:
        """Writes each run as a line of JSON, as the command's ``--jsonl``. After Ctrl-C, a last line says so."""
        where = arguments.file("path", path)
        try:
            self._native.write_jsonl(where)
        except OSError as error:
            raise OutputError(f"{where}: {error}") from error

    def to_html(self, path: str | Path) -> list[Path]:
        """Writes a page that works offline, and pages with decisions beside it. Returns the paths of all pages.

        Raises:
            OutputError: If a file cannot be written.
        """
        where = arguments.file("path", path)
        return [where, *self._native.write_page(where)]

    @arguments.named
    def plot(
        self,
        metric: str | None = None,
        kind: Literal["ranking", "paired", "cdf", "series", "shares"] = "ranking",
        *,
        against: str | None = None,
        seed: int | None = None,
        schedulers: str | Iterable[str] | None = None,
    ) -> altair.TopLevelMixin:
        """A chart, with paths and units by name (``pip install pathweave[plot]``). ``chart.save("plot.html", inline=True)`` works offline.

        Args:
            metric: A column of `runs` that is a number (default: the one that ranks); for ``"series"`` a quantity of `series`
                (default: ``goodput_mbps``).
            kind: ``"ranking"``: mean, 95 % interval and seeds of each scheduler; ``"paired"``: differences to one scheduler, seed by
                seed, with 95 % intervals; ``"cdf"``: the fraction of the seeds at or below each value; ``"series"``: one seed over time;
                ``"shares"``: bytes sent by path.
            against: For ``"paired"``, the scheduler to compare with (default: the reference of `summary`).
            seed: For ``"series"`` (default: the first one).
            schedulers: Those that are drawn, as a list of names or ``"minrtt,blest"`` (default: all).

        Schedulers that sent the same packets are drawn once, with all their names: ``minrtt = blest``.

        >>> import pathweave
        >>> results = pathweave.compare("wifi-lte", schedulers="minrtt,blest", seeds=1, duration="12s")
        >>> chart = results.plot("srtt_ms", kind="series", schedulers=["minrtt", "blest"])
        """
        from pathweave.plots import results_chart

        return results_chart(self, metric, kind, against, seed, schedulers)

    def __str__(self) -> str:
        """The answer and the tables."""
        return self.table()

    def __repr__(self) -> str:
        """The number of runs, and the scenarios."""
        stopped = "" if self.complete else f" (of {self._native.planned})"
        return f"<Results of {_native.counted(len(self), 'run')}{stopped}: {', '.join(self.scenarios)}>"

    def _repr_html_(self) -> str:
        """For notebooks: the answer, the ranked table, and bars."""
        return summary_html(self)


_SHOWN = {
    "scheduler": "scheduler",
    "delay_p99_ms": "delay p99, ms",
    "delay_p50_ms": "delay p50, ms",
    "longest_gap_ms": "longest gap, ms",
    "goodput_mbps": "goodput, Mbit/s",
    "completion_s": "time, s",
    "difference": "difference",
    "aggregation_benefit": "benefit",
}


def summary_html(results: Results) -> str:
    """The answer and the ranked table of each scenario as HTML without scripts."""
    parts = []
    for scenario, answer in results._native.verdicts():
        rows = [row for row in results.summary.rows() if row["scenario"] == scenario]
        parts.append(f"<h4>{html.escape(scenario)}</h4>")
        if answer:
            parts.append(f"<p>{html.escape(answer)}</p>")
        if not rows:
            continue
        ranked_by: str = rows[0]["judged_by"]
        head = [name for name in _SHOWN if any(row[name] is not None for row in rows)]
        of_a_run: str = "message_delay_ms_p99" if ranked_by == "delay_p99_ms" else ranked_by
        parts.append("<table><thead><tr>" + "".join(f"<th>{html.escape(_SHOWN[n])}</th>" for n in head))
        parts.append("<th></th></tr></thead><tbody>")
        seeds: dict[str, list[float]] = {}
        for run in results.where(scenario=scenario):
            if run[of_a_run] is not None and run["status"] != "failed":
                seeds.setdefault(run["scheduler"], []).append(run[of_a_run])
        most = max((value for values in seeds.values() for value in values), default=0.0) or 1.0
        for row in rows:
            cells = "".join(f"<td>{html.escape(_cell(name, row))}</td>" for name in head)
            plot = _bar(row[ranked_by] or 0.0, seeds.get(row["scheduler"], []), most, bool(row["plain_tcp"]))
            parts.append(f"<tr>{cells}<td>{plot}</td></tr>")
        most_seeds = max(row["runs"] - row["failed"] for row in rows)
        reference = next((row["reference"] for row in rows if row["reference"]), None)
        parts.append("</tbody></table>")
        if reference:
            parts.append(
                f"<p><small>Bars are means of {_native.counted(most_seeds, 'seed')}, circles are seeds, grey is plain TCP; "
                f"difference to {html.escape(reference)} seed by seed, with the 95&nbsp;% interval (~: not significant).</small></p>"
            )
    return "".join(parts)


def _bar(mean: float, seeds: list[float], most: float, plain: bool) -> str:
    """The mean as a bar, and each seed as a circle, in colours that can be seen on light and on dark pages."""
    wide, high, colour = 240, 16, "#888888" if plain else "#4a7fc9"
    shapes = f'<rect x="4" y="5" width="{wide * mean / most:.1f}" height="6" fill="{colour}"/>'
    for value in seeds:
        x = 4 + wide * value / most
        shapes += f'<circle cx="{x:.1f}" cy="8" r="3" fill="none" stroke="#d9822b" stroke-opacity="0.8"/>'
    return f'<svg width="{wide + 8}" height="{high}" role="img" aria-label="mean {mean:.2f}">{shapes}</svg>'


def _cell(name: str, row: dict[str, Any]) -> str:
    value = row[name]
    if name == "scheduler":
        words = [value] + [row["same_packets_as"]] * bool(row["same_packets_as"])
        return f"{' = '.join(words)}{' (' + row['plain_tcp'] + ')' if row['plain_tcp'] else ''}"
    if name == "difference" and value is not None:
        low, high = row["difference_low"], row["difference_high"]
        margin = "" if low is None else f" ±{(high - low) / 2:.2f}{'' if row['significant'] else ' ~'}"
        return f"{value:+.2f}{margin}"
    return "–" if value is None else f"{value:.2f}"
