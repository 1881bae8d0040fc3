"""What came out of runs: tables, the answer, and pages."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pathweave import _native

if TYPE_CHECKING:
    import altair
    import pandas
    import polars
    import pyarrow


class Table:
    """A table of columns, which other libraries take over without a copy.

    The table has Arrow's interface for Python, so ``polars.DataFrame(table)``, ``pyarrow.table(table)``, DuckDB and
    pandas read it. None of these is required: `rows` and `column` return plain Python values.
    """

    def __init__(self, native: _native.Table) -> None:
        """Made by `Results`."""
        self._native = native

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Arrow's stream of its rows."""
        return self._native.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self._native)

    @property
    def columns(self) -> list[str]:
        """The columns' names, with their units at the end."""
        return self._native.columns

    def rows(self) -> list[dict[str, Any]]:
        """Each row as a dictionary."""
        return self._native.rows()

    def column(self, name: str) -> list[Any]:
        """A column as a list.

        Raises:
            KeyError: If no column has this name; the text lists all names.
        """
        return self._native.column(name)

    def to_polars(self) -> polars.DataFrame:
        """The table as a data frame of polars."""
        import polars

        return polars.DataFrame(self)

    def to_pandas(self) -> pandas.DataFrame:
        """The table as a data frame of pandas, made by pyarrow."""
        return self.to_arrow().to_pandas()

    def to_arrow(self) -> pyarrow.Table:
        """The table as a table of pyarrow."""
        import pyarrow

        return pyarrow.table(self)

    def __repr__(self) -> str:
        """Its size and its columns."""
        return f"<Table of {_native.counted(len(self), 'row')}: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        """The first rows."""
        return _html_table(self.columns, self.rows()[:20], len(self))


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

    @property
    def series(self) -> Table:
        """The series over time: a row for each run, quantity, place and step.

        ``time_s`` is the step's start. ``quantity`` says what ``value`` is: ``goodput_mbps``, ``path_mbps``,
        ``out_of_order_bytes``, ``cwnd_segments``, ``in_flight_segments``, ``srtt_ms``, ``queue_bytes``, ``capacity_mbps``, and what a
        scheduler carries along. ``connection``, ``path`` and ``link`` name the object of the value, unless the value
        is for the whole run.
        """
        return Table(self._native.series())

    def series_of(self, scheduler: str, seed: int) -> Table:
        """`series` of one scheduler's runs with one seed."""
        return Table(self._native.series(scheduler, seed))

    @property
    def summary(self) -> Table:
        """A row for each scheduler of each scenario, the best first: means with 95 % intervals, and the paired difference.

        ``judged_by`` is the column that ranks: ``goodput_mbps``; ``completion_s`` of transfers that have a size; ``delay_p99_ms`` of
        messages and pages, if some run delivers what is offered. ``difference`` is that column minus the one of ``reference``, seed
        by seed; ``difference_low`` and ``difference_high`` are its 95 % interval. Runs that failed are counted in ``failed``, and are
        in no mean. Schedulers without a measurement have no row; `verdict` names them.
        """
        return Table(self._native.summary())

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
        return Table(self._native.differences(against, metric))

    @property
    def verdict(self) -> str:
        """The answer in sentences; with several scenarios, a paragraph for each. Missing runs and failed schedulers come first."""
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

        >>> import pathweave
        >>> results = pathweave.compare("wifi-lte", schedulers="minrtt", seeds=2, duration="12s")
        >>> [row["seed"] for row in results.where(scheduler="minrtt")]
        [1, 2]
        """
        return [row for row in self.runs.rows() if all(row[name] == value for name, value in columns.items())]

    def run(self, number: int) -> dict[str, Any]:
        """The whole result of a run, as in a line of docs/results-format.md.

        >>> import pathweave
        >>> results = pathweave.compare("wifi-lte", schedulers="minrtt", seeds=1, duration="12s")
        >>> results.run(0)["manifest"]["overrides"]
        {'duration': '12s'}
        """
        found: dict[str, Any] = json.loads(self._native.json(number))
        return found

    def table(self, columns: int = 80) -> str:
        """The answer and the ranked tables as the command prints them, this many characters wide."""
        return self._native.text(max(columns, 80))

    def to_csv(self, path: str | Path) -> None:
        """Writes the numbers of the tables as comma-separated values."""
        Path(path).write_text(self._native.csv(), encoding="utf-8")

    def to_jsonl(self, path: str | Path) -> None:
        """Writes each run as a line of JSON, as the command's ``--jsonl``. After Ctrl-C, a last line says so."""
        self._native.write_jsonl(Path(path))

    def to_html(self, path: str | Path) -> list[Path]:
        """Writes a page that works offline, and pages with decisions beside it. Returns the paths of all pages.

        Raises:
            OutputError: If a file cannot be written.
        """
        return [Path(path), *self._native.write_page(Path(path))]

    def plot(self, metric: str = "goodput_mbps") -> altair.TopLevelMixin:
        """A chart of a metric by scheduler: a point for each seed and the mean (``pip install pathweave[plot]``).

        Args:
            metric: A column of `runs` that is a number.
        """
        import altair

        rows = [row for row in self.runs.rows() if row.get(metric) is not None and row["status"] != "failed"]
        kept = ("scenario", "scheduler", "seed", metric)
        data = altair.InlineData(values=[{name: row[name] for name in kept} for row in rows])
        order = self.summary.column("scheduler")
        base = altair.Chart(data).encode(
            y=altair.Y("scheduler:N", sort=order, title=None),
            x=altair.X(f"{metric}:Q", title=metric),
        )
        seeds = base.mark_point(opacity=0.5).encode(tooltip=["scheduler:N", "seed:Q", f"{metric}:Q"])
        means = base.mark_tick(thickness=3, size=16).encode(x=altair.X(f"mean({metric}):Q", title=metric))
        chart = altair.layer(seeds, means, data=data)
        if len(self.scenarios) > 1:
            return chart.facet(row="scenario:N")
        return chart.properties(title=self.scenarios[0] if self.scenarios else "")

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
        ranked_by = rows[0]["judged_by"]
        head = [name for name in _SHOWN if any(row[name] is not None for row in rows)]
        of_a_run = {"delay_p99_ms": "message_delay_ms_p99"}.get(ranked_by, ranked_by)
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


def _html_table(columns: list[str], rows: list[dict[str, Any]], total: int) -> str:
    def cell(value: Any) -> str:
        return f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)

    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell(row[name]))}</td>" for name in columns) + "</tr>" for row in rows
    )
    more = f"<p><small>{len(rows)} of {_native.counted(total, 'row')}</small></p>" if total > len(rows) else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
