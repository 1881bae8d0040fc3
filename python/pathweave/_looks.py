"""The schedulers of charts: one order, and for each a colour and dashes that follow from its name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pathweave import _native
from pathweave._altair import altair

WIDTH = 380
"""Width of a chart's axes, in pixels: it fits a notebook, a window of 500 pixels and a printed page."""

_DARK = ("dark", "carbong90", "carbong100")
"""Vega's themes with a dark ground."""


def _is_dark() -> bool:
    """Whether Altair's theme has a dark ground."""
    theme = altair.theme.get()
    used: dict[str, Any] = dict(theme()) if theme is not None else {}
    return used.get("usermeta", {}).get("embedOptions", {}).get("theme") in _DARK


def legend_of(labels: Iterable[str], **more: Any) -> altair.Legend:
    """A legend below the chart, with as many columns as there is room for."""
    columns = max(1, WIDTH // (6 * max(map(len, labels), default=0) + 30))
    return altair.Legend(orient="bottom", columns=columns, labelLimit=0, **more)


def line_legend(labels: Iterable[str]) -> altair.Legend:
    """A legend with symbols as strong as lines."""
    return legend_of(labels, symbolOpacity=1, symbolStrokeWidth=2.5)


class Looks:
    """The schedulers of a comparison or a sweep in the order of all of its charts, with what sets each apart."""

    def __init__(self, names: Iterable[str], labels: Mapping[str, str], order: Iterable[str]) -> None:
        """Looks for the schedulers `names`.

        Args:
            names: All schedulers that were run; the looks follow from these.
            labels: The name of the scheduler behind each label of the charts.
            order: The labels in the order of the charts.
        """
        names = list(names)
        found = _native.looks(names)
        dark = _is_dark()
        of_name = {name: (found[i][dark], found[i][2] or [1, 0]) for i, name in enumerate(names)}
        self.order = list(order)
        self._looks = {label: of_name[labels[label]] for label in self.order}

    def sorted(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The rows of each scenario in the order of their schedulers, otherwise as they were."""
        scenarios = list(dict.fromkeys(row["scenario"] for row in rows))
        return sorted(rows, key=lambda row: (scenarios.index(row["scenario"]), self.order.index(row["scheduler"])))

    def of(self, rows: Iterable[dict[str, Any]]) -> list[str]:
        """The labels that these rows have, in order."""
        there = {row["scheduler"] for row in rows}
        return [label for label in self.order if label in there]

    def color(
        self, rows: Iterable[dict[str, Any]], legend: bool = True, title: str | None = None, channel: Any = altair.Color
    ) -> Any:
        """The colours of the schedulers that these rows have."""
        shown = self.of(rows)
        scale = altair.Scale(domain=shown, range=[self._looks[label][0] for label in shown])
        below = line_legend(shown) if legend else None
        return channel("scheduler:N", sort=shown, scale=scale, title=title, legend=below)

    def lines(self, rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
        """The colours and dashes of lines."""
        rows = list(rows)
        shown = self.of(rows)
        dashes = [self._looks[label][1] for label in shown]
        found: dict[str, Any] = {"color": self.color(rows)}
        if any(dash != [1, 0] for dash in dashes):
            scale = altair.Scale(domain=shown, range=dashes)
            found["strokeDash"] = altair.StrokeDash(
                "scheduler:N", sort=shown, scale=scale, title=None, legend=line_legend(shown)
            )
        return found
